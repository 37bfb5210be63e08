"""`bap-indexing`: differences as indices into look-up tables; decoding is a look-up and an addition.

clip -> first pose + differences -> stretches of n_d rows -> equal-frequency buckets -> table by joint level -> indices

Chattopadhyay, Bhandarkar, Li: Model Dependent Power Aware Compression Algorithms for MPEG-4 Virtual Human Animation in
Mobile Computers, sections 2 and 3. Deviations:

1. `closed_loop` (on by default, off to match the paper) indexes the distance from what the decoder holds.
2. The last stretch holds the rows that are left; Eq. 5 counts n_d rows for it.
3. Levels come from the rule of `transforms.levels`; the paper's Figure 2 is not readable in its text.
4. n_d, b and FDF are stored once (7 bytes), not in every stretch's header: c_1 of Eq. 3 is zero.
5. Segments (`segment_s`) each begin with a pose of their own, so that they decode alone; by default there is one.
6. Poses accumulate in single precision, in the encoder as in the decoder.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels._bap import indexed_decode
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
from kinepack.errors import ConfigError, Corrupt, Truncated
from kinepack.limits import DEFAULT_LIMITS, Limits
from kinepack.model import Clip, Model
from kinepack.params import param
from kinepack.transforms.indexing import SELECTIVE, Indexing, Stretch, index_motion, stretches
from kinepack.transforms.levels import channel_levels
from kinepack.transforms.sparsing import Thresholds

SETUP = struct.Struct("<BHI")
"""b, FDF, n_d (0: all rows)."""
AVERAGING = ("selective", "weighted")
Pack = Callable[[NDArray[np.float64], list[Stretch], Indexing], bytes]
"""From the first pose and the tables and indices of a segment to its bytes."""


@dataclass(frozen=True)
class IndexingCodec(Codec):
    """What codecs of table look-ups share: their settings, and how segments are indexed."""

    sources: ClassVar[tuple[type, ...]] = (Clip,)

    bits: int = param(8, "b, bits of an index; stored in whole bytes", unit="bit", low=1, high=16)
    n_d: int = param(0, "rows that share a table, 0 for all", unit="frames", low=0, high=1 << 30)
    fdf: int = param(0, "leading columns that are kept as exact floats", low=0, high=65535)
    rqt: float = param(10000.0, "resolution quantisation term M", low=1.0, high=1e9)
    averaging: str = param("selective", "mean of a bucket: of its lowest level alone, or weighted", choices=AVERAGING)
    eta: float = param(2.0, "weighted: a number counts 1 / level^eta", low=0.0, high=64.0)
    closed_loop: bool = param(True, "carry quantisation errors forward; off to match the paper")
    segment_s: float = segment_setting()

    def indexing(self, source: Clip) -> Indexing:
        """The settings, for a clip that has the columns they name."""
        if self.fdf > source.values.shape[1]:
            raise ConfigError(f"fdf={self.fdf}, but the clip has {source.values.shape[1]} channels")
        eta = SELECTIVE if self.averaging == "selective" else self.eta
        return Indexing(self.bits, self.n_d, self.fdf, self.rqt, eta, self.closed_loop)

    def indexed(self, source: Clip, how: Indexing, pack: Pack, rule: Thresholds | None = None) -> list[Segment]:
        """The segments of a clip, written by `pack`; `rule` says which values are released."""
        single_precision(source.values)
        levels, segments = channel_levels(source.skeleton), []
        for start, stop in segment_ranges(source, self.segment_s):
            x = source.values[start:stop]
            found, _ = index_motion(x, levels, how, rule)
            segments.append(Segment(start, stop - start, pack(x[0], found, how)))
        return segments


@dataclass(frozen=True)
class BapIndexing(IndexingCodec):
    """Table look-ups in place of numbers."""

    id: ClassVar[str] = "bap-indexing"
    title: ClassVar[str] = "BAP-indexing: frame differences as indices into look-up tables"

    def encode(self, source: Clip, progress: Progress | None = None) -> Stream:
        how = self.indexing(source)
        setup = SETUP.pack(how.bits, how.fdf, how.rows_per_table)
        segments = self.indexed(source, how, _pack)
        return Stream(source.skeleton, source.frames, source.frame_time, setup, segments, source.name)

    @classmethod
    def decode(cls, stream: Stream, window: Window | None = None, limits: Limits = DEFAULT_LIMITS) -> Model:
        bits, fdf, n_d = unpack_setup(SETUP, stream)
        width = width_of(stream.layout)

        def decode_one(run: Layers) -> NDArray[Any]:
            limits.charge("values", run.frames * width)
            rows = run.frames - 1
            tables = len(stretches(rows, n_d))
            if len(run.data[0]) != segment_size(rows, width, fdf=fdf, bits=bits, tables=tables):
                raise Truncated("a segment is not of the size its settings give")
            poses = indexed_decode(
                run.data[0], run.frames, width, fdf=fdf, bits=bits, rows_per_table=n_d or max(rows, 1)
            )
            return double_precision(poses)

        return decode_segments(stream, window, limits, decode_one)


def unpack_setup(layout: struct.Struct, stream: Stream) -> Any:
    """The fields of a setup whose first two are b and FDF."""
    if len(stream.setup) != layout.size:
        raise Truncated("the codec's setup is not of its size")
    bits, fdf, *rest = layout.unpack(stream.setup)
    if not 1 <= bits <= 16 or fdf > width_of(stream.layout):
        raise Corrupt("the setup has impossible index bits or columns")
    return bits, fdf, *rest


def segment_size(rows: int, width: int, *, fdf: int, bits: int, tables: int) -> int:
    """Bytes of a segment with `rows` rows after the first pose."""
    return 4 * width + tables * (4 << bits) + rows * (4 * fdf + -(-bits // 8) * (width - fdf))


def _pack(first: NDArray[np.float64], found: list[Stretch], how: Indexing) -> bytes:
    """The first pose; then for each stretch its table, and for each row FDF floats and the indices."""
    dtype = "<u1" if how.bits <= 8 else "<u2"
    parts = [first.astype("<f4").tobytes()]
    for stretch in found:
        parts.append(stretch.table.values.astype("<f4").tobytes())
        floats = stretch.rows.deltas.astype("<f4").view(np.uint8)
        indices = stretch.rows.indices.astype(dtype).view(np.uint8)
        parts.append(np.concatenate([floats, indices], axis=1).tobytes())
    return b"".join(parts)
