"""`sparse-indexing`: indices only where a parameter is released; decoding is look-ups and additions.

clip -> differences -> buckets and tables as in `bap-indexing` -> freeze and release -> flags, indices of the released

Chattopadhyay, Bhandarkar, Li: Model Dependent Power Aware Compression Algorithms for MPEG-4 Virtual Human Animation in
Mobile Computers, section 4. Deviations, besides those of `bap-indexing`:

1. The text of section 4.1 counts, not Figure 4: dropped differences accumulate, the sum's index is released when its
   normalised size passes T = K * level, and the sum starts again from zero. The deviation is the column's.
2. The paper does not say how dropped indices are stored. Here a stretch has one bit for each row of each sparse column,
   and the rows hold the indices of the released ones. Columns that never move take nothing, columns that are nearly
   always released keep an index in every row.
3. Tables are half floats unless a number is too large for them.
4. With `closed_loop` the accumulated value is the distance to what the decoder holds, and a release that would bring
   it no nearer is left out.
"""

from __future__ import annotations

import dataclasses
import struct
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels._bap import sparse_indexed_decode
from kinepack.codecs.bap_indexing import IndexingCodec, unpack_setup
from kinepack.codecs.base import (
    Layers,
    Progress,
    Stream,
    Window,
    decode_segments,
    width_of,
)
from kinepack.codecs.mpeg4_float import double_precision
from kinepack.errors import Corrupt, Truncated
from kinepack.limits import DEFAULT_LIMITS, Limits
from kinepack.model import Clip, Model
from kinepack.params import param
from kinepack.transforms.indexing import DENSE, SPARSE, Indexing, Stretch, stretches
from kinepack.transforms.levels import channel_levels
from kinepack.transforms.sparsing import thresholds

SETUP = struct.Struct("<BHIB")
"""b, FDF, n_d (0: all rows), whether tables are half floats."""
LARGEST_STEP = 60000.0
"""Differences from which on tables are single floats."""


@dataclass(frozen=True)
class SparseIndexing(IndexingCodec):
    """Indices of what is released, nothing of what is frozen."""

    id: ClassVar[str] = "sparse-indexing"
    title: ClassVar[str] = "sparse-indexing: indices where a parameter is released, nothing while it is frozen"

    k: float = param(
        0.1, "K: a parameter is released at K * level standard deviations", low=0.0, high=10.0, quality="lower"
    )

    def encode(self, source: Clip, progress: Progress | None = None) -> Stream:
        how = self.indexing(source)
        rule = thresholds(np.diff(source.values, axis=0), channel_levels(source.skeleton), self.k)
        setup = SETUP.pack(how.bits, how.fdf, how.rows_per_table, how.half)
        segments = self.indexed(source, how, _pack, rule)
        return Stream(source.skeleton, source.frames, source.frame_time, setup, segments, source.name)

    def indexing(self, source: Clip) -> Indexing:
        """Tables are half floats where differences allow."""
        half = bool(np.ptp(source.values, axis=0).max() < LARGEST_STEP)
        return dataclasses.replace(super().indexing(source), half=half)

    @classmethod
    def decode(cls, stream: Stream, window: Window | None = None, limits: Limits = DEFAULT_LIMITS) -> Model:
        bits, fdf, n_d, half = unpack_setup(SETUP, stream)
        width = width_of(stream.layout)
        if half > 1:
            raise Corrupt("the setup has no such table")

        def decode_one(run: Layers) -> NDArray[Any]:
            limits.charge("values", run.frames * width)
            rows = run.frames - 1
            if len(run.data[0]) < 4 * width + -(-rows // (n_d or max(rows, 1))) * ((2 if half else 4) << bits):
                raise Truncated("a segment is too short for its tables")
            poses = sparse_indexed_decode(
                run.data[0], run.frames, width, fdf=fdf, bits=bits, rows_per_table=n_d or max(rows, 1), half=bool(half)
            )
            return double_precision(poses)

        return decode_segments(stream, window, limits, decode_one)


def segment_size(rows: int, width: int, how: Indexing, found: list[Stretch]) -> int:
    """Bytes of a segment, without making it."""
    tables = len(stretches(rows, how.rows_per_table))
    size = 4 * width + tables * (table_bytes(how) + -(-(width - how.fdf) // 4)) + 4 * rows * how.fdf
    for stretch in found:
        kept = stretch.modes != 0
        size += -(-len(stretch.rows.released) * int(np.count_nonzero(stretch.modes == SPARSE)) // 8)
        size += how.index_bytes * int(np.count_nonzero(stretch.rows.released[:, kept]))
    return size


def table_bytes(how: Indexing) -> int:
    return (2 if how.half else 4) << how.bits


def _pack(first: NDArray[np.float64], found: list[Stretch], how: Indexing) -> bytes:
    """The first pose; then for each stretch its table, two bits of mode a column, and its rows."""
    parts = [first.astype("<f4").tobytes()]
    for stretch in found:
        parts.append(stretch.table.values.astype("<f2" if how.half else "<f4").tobytes())
        parts.append(_pack_modes(stretch.modes))
        parts.append(_pack_rows(stretch, how))
    return b"".join(parts)


def _pack_modes(modes: NDArray[np.uint8]) -> bytes:
    padded = np.pad(modes, (0, -len(modes) % 4)).reshape(-1, 4)
    packed: NDArray[np.uint8] = np.bitwise_or.reduce(padded << np.array([0, 2, 4, 6], np.uint8), axis=1)
    return packed.tobytes()


def _pack_rows(stretch: Stretch, how: Indexing) -> bytes:
    """Flags of all sparse columns, row by row; then of each row FDF floats, dense indices, released indices."""
    dense, sparse = stretch.modes == DENSE, stretch.modes == SPARSE
    indices = stretch.rows.indices.astype("<u1" if how.bits <= 8 else "<u2")
    released = stretch.rows.released[:, sparse].astype(bool)
    dense_indices, sparse_indices = indices[:, dense], indices[:, sparse]
    rows = (
        stretch.rows.deltas[row].astype("<f4").tobytes()
        + dense_indices[row].tobytes()
        + sparse_indices[row][released[row]].tobytes()
        for row in range(len(indices))
    )
    return np.packbits(released.ravel(), bitorder="little").tobytes() + b"".join(rows)
