"""`frame-drop`: the conventional lossy adaptation, P frames left out evenly, to compare sparsing with.

clip -> every so-many-th frame -> float differences between kept frames -> arithmetic coding; held or interpolated back

Chattopadhyay, Bhandarkar, Li: BAP Sparsing, section 3.2. Deviations:

1. Frames are dropped before prediction, so that those kept still decode; dropped after it, as the paper points out,
   a P frame takes all that follow with it.
2. `fill=interpolate` is ours: channel values on straight lines between kept frames, the last one kept too.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kinepack.codecs.base import (
    Codec,
    Layers,
    Progress,
    Segment,
    Stream,
    Window,
    decode_segments,
    segment_ranges,
    segment_setting,
    width_of,
)
from kinepack.codecs.mpeg4_float import double_precision, single_precision
from kinepack.entropy.float_frames import decode_poses, encode_poses
from kinepack.errors import Corrupt
from kinepack.limits import DEFAULT_LIMITS, Limits
from kinepack.model import Clip, Model
from kinepack.params import param

SETUP = struct.Struct("<BI")
"""Whether dropped frames are interpolated, and the kept share in units of 2^-20."""
UNIT = 1 << 20
FILLS = ("hold", "interpolate")


@dataclass(frozen=True)
class FrameDrop(Codec):
    """Fewer frames of float differences."""

    id: ClassVar[str] = "frame-drop"
    title: ClassVar[str] = "frames dropped evenly, the others as in mpeg4-float"
    sources: ClassVar[tuple[type, ...]] = (Clip,)

    drop: float = param(0.5, "share of the frames that is dropped", low=0.0, high=0.999, quality="lower")
    fill: str = param("hold", "what stands in for a dropped frame", choices=FILLS)
    segment_s: float = segment_setting()

    def encode(self, source: Clip, progress: Progress | None = None) -> Stream:
        poses, share = single_precision(source.values), max(1, round((1 - self.drop) * UNIT))
        interpolate = FILLS.index(self.fill)
        segments = [
            Segment(a, b - a, encode_poses(poses[a:b][_kept(b - a, share, interpolate)]))
            for a, b in segment_ranges(source, self.segment_s)
        ]
        setup = SETUP.pack(interpolate, share)
        return Stream(source.skeleton, source.frames, source.frame_time, setup, segments, source.name)

    @classmethod
    def decode(cls, stream: Stream, window: Window | None = None, limits: Limits = DEFAULT_LIMITS) -> Model:
        if len(stream.setup) != SETUP.size:
            raise Corrupt("the codec's setup is not of its size")
        interpolate, share = SETUP.unpack(stream.setup)
        width = width_of(stream.layout)
        if interpolate >= len(FILLS) or not 0 < share <= UNIT:
            raise Corrupt("the setup keeps an impossible share of the frames")

        def decode_one(run: Layers) -> NDArray[Any]:
            limits.charge("values", run.frames * width)
            kept = _kept(run.frames, share, interpolate)
            poses = double_precision(decode_poses(run.data[0], len(kept), width))
            return _fill(poses, kept, run.frames, interpolate)

        return decode_segments(stream, window, limits, decode_one)


def _kept(frames: int, share: int, interpolate: int) -> NDArray[np.int64]:
    """Frames at which the running share passes a whole number; always the first, the last to interpolate to."""
    whole = np.arange(frames, dtype=np.int64) * share // UNIT
    keep = np.diff(whole, prepend=-1) > 0
    keep[-1] |= bool(interpolate)
    return np.flatnonzero(keep)


def _fill(poses: NDArray[np.float64], kept: NDArray[np.int64], frames: int, interpolate: int) -> NDArray[np.float64]:
    """[frames, width] of the kept poses."""
    at = np.searchsorted(kept, np.arange(frames), side="right") - 1
    if not interpolate:
        return poses[at]
    after = np.minimum(at + 1, len(kept) - 1)
    span = np.maximum(kept[after] - kept[at], 1)
    share = ((np.arange(frames) - kept[at]) / span)[:, None]
    with np.errstate(over="ignore", invalid="ignore"):  # only numbers that are no clip's overflow; model_from tells
        return np.asarray(poses[at] * (1 - share) + poses[after] * share)
