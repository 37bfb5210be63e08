"""`mpeg4-float`: what the BAP papers call MPEG-4; lossless in single precision.

clip -> float32 -> differences from frame to frame -> bytes -> adaptive arithmetic coding, one order-0 model

Chattopadhyay, Bhandarkar, Li: Model Dependent Power Aware Compression Algorithms for MPEG-4 Virtual Human Animation in
Mobile Computers, section 6.2; BAP Sparsing, section 2. Deviations:

1. The papers do not say how their floats enter the arithmetic coder. Bytes with one order-0 model give their sizes.
2. The coder is a 32-bit range coder with the adaptive counts of `entropy.models`, not the 16-bit one of the standard.
3. Where a float difference cannot bring the float back, the number itself is stored, so that nothing drifts.
4. Segments (`segment_s`) each begin with an I frame; the papers have one I frame for all.
"""

from __future__ import annotations

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
from kinepack.entropy.float_frames import decode_poses, encode_poses
from kinepack.errors import ConfigError
from kinepack.limits import DEFAULT_LIMITS, Limits
from kinepack.model import Clip, Model


@dataclass(frozen=True)
class Mpeg4Float(Codec):
    """Float differences through an adaptive arithmetic coder."""

    id: ClassVar[str] = "mpeg4-float"
    title: ClassVar[str] = "float32 frame differences, arithmetic coded: the BAP papers' MPEG-4"
    sources: ClassVar[tuple[type, ...]] = (Clip,)

    segment_s: float = segment_setting()

    def encode(self, source: Clip, progress: Progress | None = None) -> Stream:
        poses = single_precision(source.values)
        segments = [Segment(a, b - a, encode_poses(poses[a:b])) for a, b in segment_ranges(source, self.segment_s)]
        return Stream(source.skeleton, source.frames, source.frame_time, b"", segments, source.name)

    @classmethod
    def decode(cls, stream: Stream, window: Window | None = None, limits: Limits = DEFAULT_LIMITS) -> Model:
        width = width_of(stream.layout)

        def decode_one(run: Layers) -> NDArray[Any]:
            limits.charge("values", run.frames * width)
            return double_precision(decode_poses(run.data[0], run.frames, width))

        return decode_segments(stream, window, limits, decode_one)


def single_precision(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """The numbers as float32, if they all fit."""
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
    if not np.isfinite(single).all():
        raise ConfigError("a number is too large for single precision", hint="use zstd-float or raw")
    return single


def double_precision(poses: NDArray[np.float32]) -> NDArray[np.float64]:
    """Decoded floats; those a corrupt stream made signalling NaNs pass quietly, `model_from` refuses them."""
    with np.errstate(invalid="ignore"):
        return poses.astype(np.float64)
