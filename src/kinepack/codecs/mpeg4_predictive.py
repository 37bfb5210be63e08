"""`mpeg4-predictive`: the predictive mode of MPEG-4 face and body animation as a real bitstream.

clip -> BAP integers -> levels: I value, then P differences in closed loop -> adaptive 16-bit arithmetic coder -> FBA

ISO/IEC 14496-2, predictive body coding, from public descriptions of it; the published text was not at hand.
Deviations:

1. Channels that no BAP is named after ride on free BAPs in a unit of their own (`formats.bap_carriers`).
2. The alternative step table is the default: with the standard's, ordinary elbows and shoulders are out of range.
3. A value that an I frame cannot hold is coded relative to an offset that is stored beside the FBA stream; a P
   difference out of range starts a new segment. The standard calls both an encoder error.
4. All four range tables are sent in every I frame: the standard's defaults are not known.
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
from kinepack.entropy import fba
from kinepack.entropy.bit_io import decode_varints, encode_varints, unzigzag, zigzag
from kinepack.errors import Corrupt, Truncated
from kinepack.formats.bap_carriers import TABLES, Carriers, carriers_of
from kinepack.formats.fba_stream import fba_stream, parameters
from kinepack.limits import DEFAULT_LIMITS, Limits
from kinepack.model import Clip, Model, Skeleton
from kinepack.params import param
from kinepack.transforms.fba_levels import Run, runs

SETUP = struct.Struct("<B")
"""Which step table."""


@dataclass(frozen=True)
class Mpeg4Predictive(Codec):
    """I and P frames of quantised body parameters in an FBA stream."""

    id: ClassVar[str] = "mpeg4-predictive"
    title: ClassVar[str] = "MPEG-4 body animation, predictive mode"
    sources: ClassVar[tuple[type, ...]] = (Clip,)

    bap_quant: int = param(1, "quantiser scale of the standard's table", low=1, high=31, quality="lower")
    steps: str = param("alternative", "step table", choices=TABLES)
    ranges: str = param(
        "fitted", "level ranges: as wide as the motion needs, or the widest", choices=("fitted", "widest")
    )
    segment_s: float = segment_setting()

    def encode(self, source: Clip, progress: Progress | None = None) -> Stream:
        carriers = carriers_of(source.skeleton)
        integers = carriers.to_integers(source.values)
        segments = []
        for start, stop in segment_ranges(source, self.segment_s):
            for run in self._runs(integers[start:stop], carriers):
                data = pack_run(run, carriers, quant=self.bap_quant, widest=self.ranges == "widest")
                segments.append(Segment(start + run.first, len(run.levels), data))
        setup = SETUP.pack(TABLES.index(self.steps))
        return Stream(source.skeleton, source.frames, source.frame_time, setup, segments, source.name)

    def _runs(self, integers: NDArray[np.int64], carriers: Carriers) -> list[Run]:
        steps = carriers.steps(self.steps).astype(np.int64) * fba.SCALES[self.bap_quant]
        return list(runs(integers, steps, fba.largest_level(self.bap_quant)))

    @classmethod
    def decode(cls, stream: Stream, window: Window | None = None, limits: Limits = DEFAULT_LIMITS) -> Model:
        return decode_runs(stream, window, limits)


def decode_runs(stream: Stream, window: Window | None, limits: Limits) -> Model:
    """The frame window of a stream of packed runs."""
    if len(stream.setup) < SETUP.size or stream.setup[0] >= len(TABLES):
        raise Truncated("the codec's setup names no step table")
    if not isinstance(stream.layout, Skeleton):
        raise Corrupt("the stream has no skeleton")
    carriers, width = carriers_of(stream.layout), width_of(stream.layout)

    def decode_one(run: Layers) -> NDArray[Any]:
        limits.charge("values", run.frames * width)
        integers = unpack_run(run.data[0], carriers, table=TABLES[stream.setup[0]], frames=run.frames)
        return carriers.to_values(integers)

    return decode_segments(stream, window, limits, decode_one)


def pack_run(run: Run, carriers: Carriers, *, quant: int, widest: bool) -> bytes:
    """Offsets (count, then channel and zigzag offset as varints), then the FBA stream."""
    channels = np.flatnonzero(run.offsets)
    pairs = np.stack([channels, zigzag(run.offsets[channels])], axis=1).astype(np.uint64)
    head = encode_varints(np.concatenate([[np.uint64(len(channels))], pairs.ravel()]))
    return head + fba_stream([run], carriers.numbers, quant=quant, widest=widest)


def unpack_run(data: bytes, carriers: Carriers, *, table: str, frames: int) -> NDArray[np.int64]:
    """[frames, channels] parameters; inverse of `pack_run`."""
    width = len(carriers.numbers)
    count, used = decode_varints(data, 1)
    if int(count[0]) > width:
        raise Corrupt("a segment has more offsets than channels")
    pairs, more = decode_varints(data[used:], 2 * int(count[0]))
    values = parameters(data[used + more :], carriers.numbers, table=table, frames=frames).astype(np.int64)
    if len(values) != frames:
        raise Truncated("an FBA stream has fewer frames than its segment")
    for channel, offset in zip(pairs[0::2].tolist(), unzigzag(pairs[1::2]).tolist(), strict=True):
        if channel >= width or abs(offset) >> 32:
            raise Corrupt("a segment offsets a channel that is not there")
        values[:, channel] += offset
    return values
