"""BAP indexing: one look-up table for all differences of a stretch of motion (section 3, Chattopadhyay et al.)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels._bap import IndexedRows, bucket_sums, index_rows
from kinepack.transforms.sparsing import Thresholds, never

Array = NDArray[np.float64]

SELECTIVE = math.inf
"""The eta of selective averaging: only the lowest level in a bucket counts."""
STILL, DENSE, SPARSE = 0, 1, 2
"""Column modes: never released; an index in every row; a flag in every row and an index where it is set."""


@dataclass(frozen=True, eq=False)
class Table:
    """Values by index, ascending, and where one bucket ends and the next begins."""

    values: NDArray[np.float32]
    """[2^b]"""
    edges: Array
    """[2^b - 1]; bucket j holds what is above edge j - 1 and not above edge j."""

    def rounded_to_half(self) -> Table:
        """The table with values that half floats hold; the same table if one is too large for them."""
        with np.errstate(over="ignore"):
            half = self.values.astype(np.float16).astype(np.float32)
        return Table(half, self.edges) if np.isfinite(half).all() else self

    def nearest(self) -> Table:
        """The same values with edges half way between them."""
        wide = self.values.astype(np.float64)
        return Table(self.values, (wide[1:] + wide[:-1]) / 2)


def make_table(differences: Array, levels: NDArray[np.int64], *, bits: int, rqt: float, eta: float) -> Table:
    """Equal-frequency buckets of all numbers in `differences` [rows, columns], and what each stands for."""
    buckets = 1 << bits
    if not differences.size:
        return Table(np.zeros(buckets, np.float32), np.zeros(buckets - 1))
    edges = bucket_edges(differences.ravel(), buckets, rqt)
    sums, counts = bucket_sums(differences, levels.astype(np.int32), edges, level_count=int(levels.max()) + 1)
    values = _selective(sums, counts) if eta == SELECTIVE else _weighted(sums, counts, eta)
    return Table(_without_gaps(values, edges).astype(np.float32), edges)


def bucket_edges(numbers: Array, buckets: int, rqt: float) -> Array:
    """[buckets - 1] Section 3.1: the histogram of the numbers times RQT, rounded, cut into strips of equal area.

    Equal integers stay together: an integer belongs to the strip in which its first occurrence falls.
    """
    integers = np.sort(np.rint(numbers * rqt))
    cuts = -(-np.arange(1, buckets) * len(integers) // buckets)
    lower = integers[cuts - 1]
    upper = integers[np.searchsorted(integers, lower, side="right").clip(max=len(integers) - 1)]
    return np.asarray((lower + upper) / 2 / rqt)


def _weighted(sums: Array, counts: Array, eta: float) -> Array:
    """Eq. 1 from sums and counts [levels, buckets]: a number counts 1 / level^eta; NaN in empty buckets."""
    weights = np.maximum(np.arange(len(sums)), 1.0)[:, None] ** -eta
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((weights * sums).sum(axis=0) / (weights * counts).sum(axis=0))


def _selective(sums: Array, counts: Array) -> Array:
    """Eq. 1 for eta -> infinity: the plain mean of those numbers that have the lowest level in the bucket."""
    lowest = np.argmax(counts > 0, axis=0)[None]
    with np.errstate(invalid="ignore"):
        return np.asarray((np.take_along_axis(sums, lowest, 0) / np.take_along_axis(counts, lowest, 0))[0])


def _without_gaps(values: Array, edges: Array) -> Array:
    """Empty buckets, which no number of this stretch is in, get their lower edge, so that values ascend."""
    empty = np.isnan(values)
    values[empty] = np.concatenate([edges[:1], edges])[empty] if len(edges) else 0.0
    return np.maximum.accumulate(values)


@dataclass(frozen=True, eq=False)
class Stretch:
    """The rows of one table."""

    table: Table
    rows: IndexedRows
    modes: NDArray[np.uint8]
    """[width - fdf] STILL, DENSE or SPARSE."""


@dataclass(frozen=True)
class Indexing:
    """How a motion matrix is indexed: the paper's quality control parameters."""

    bits: int = 8
    rows_per_table: int = 0
    """n_d; 0 for all rows."""
    fdf: int = 0
    rqt: float = 10000.0
    eta: float = SELECTIVE
    closed_loop: bool = True
    half: bool = False
    """Tables hold half floats."""

    @property
    def index_bytes(self) -> int:
        return -(-self.bits // 8)


def stretches(rows: int, rows_per_table: int) -> list[tuple[int, int]]:
    """First row and the row after the last of each table."""
    step = rows_per_table or max(rows, 1)
    return [(a, min(a + step, rows)) for a in range(0, rows, step)]


def index_motion(
    x: Array, levels: NDArray[np.int64], how: Indexing, rule: Thresholds | None = None
) -> tuple[list[Stretch], NDArray[np.float32]]:
    """Tables and indices of x[1:], and the poses [rows + 1, width] that a decoder makes of them.

    Open loop, as in the papers, an index is the bucket of a difference of the source; closed loop it is the nearest
    value to the distance from what the decoder has, so that errors never add up.
    """
    differences = np.diff(x, axis=0)
    poses = np.empty(x.shape, np.float32)
    poses[0] = x[0]
    carry, found = np.zeros(x.shape[1]), []
    for first, last in stretches(len(differences), how.rows_per_table):
        table = _table(differences[first:last], levels, how)
        part = slice(first, last + 1)
        found.append(_index_stretch(x[part], poses[part], carry, table, how, rule))
    return found, poses


def _table(differences: Array, levels: NDArray[np.int64], how: Indexing) -> Table:
    numbers, own_levels = differences[:, how.fdf :], levels[how.fdf :]
    table = make_table(numbers, own_levels, bits=how.bits, rqt=how.rqt, eta=how.eta)
    table = table.rounded_to_half() if how.half else table
    return table.nearest() if how.closed_loop else table


def _index_stretch(
    x: Array, poses: NDArray[np.float32], carry: Array, table: Table, how: Indexing, rule: Thresholds | None
) -> Stretch:
    """Rows under a rule; columns whose flags would cost more than they save are not frozen."""
    free = never(x.shape[1])
    if rule is None:
        rows = _rows(x, poses, carry, table, how, free)
        return Stretch(table, rows, np.full(x.shape[1] - how.fdf, DENSE, np.uint8))
    rows = _rows(x, poses, carry.copy(), table, how, rule)
    modes = _modes(rows.released, how.index_bytes)
    threshold = rule.size.copy()
    threshold[how.fdf :][modes == DENSE] = -1.0
    rows = _rows(x, poses, carry, table, how, Thresholds(rule.mean, threshold))
    return Stretch(table, rows, modes)


def _rows(
    x: Array, poses: NDArray[np.float32], carry: Array, table: Table, how: Indexing, rule: Thresholds
) -> IndexedRows:
    return index_rows(
        x,
        poses,
        carry,
        fdf=how.fdf,
        edges=table.edges,
        table=table.values,
        mean=rule.mean,
        threshold=rule.size,
        closed=how.closed_loop,
    )


def _modes(released: NDArray[np.uint8], index_bytes: int) -> NDArray[np.uint8]:
    rows, count = len(released), released.sum(axis=0, dtype=np.int64)
    dense = 8 * index_bytes * count + rows >= 8 * index_bytes * rows
    return np.where(count == 0, STILL, np.where(dense, DENSE, SPARSE)).astype(np.uint8)
