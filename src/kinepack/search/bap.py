"""Quality control parameters of sparse-indexing: FDF and n_d by exhaustive search and by a fast one (000, section 5.2).

The optimum minimises the figure of merit M = T * DEF (Eq. 10), or DEF alone as for Table 2, among the points whose file
is within the fraction f of the original (Eq. 8). The fast search is an answer to the paper's open question.
"""

from __future__ import annotations

import dataclasses
import multiprocessing
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kinepack.codecs.bap_indexing import BapIndexing
from kinepack.codecs.bap_indexing import segment_size as indexed_size
from kinepack.codecs.base import Progress
from kinepack.codecs.sparse_indexing import SparseIndexing
from kinepack.codecs.sparse_indexing import segment_size as sparse_size
from kinepack.errors import TargetUnreachable
from kinepack.math.kinematics import positions_cm
from kinepack.model import Clip
from kinepack.transforms.bap_sizes import original_file_size
from kinepack.transforms.indexing import Indexing, Stretch, index_motion, stretches
from kinepack.transforms.levels import channel_levels
from kinepack.transforms.sparsing import thresholds

Goal = Literal["merit", "def"]
N_D = tuple(range(30, 121, 10))
"""Rows a table, as in Figure 5."""


@dataclass(frozen=True)
class Point:
    """One setting and what it gives."""

    fdf: int
    n_d: int
    bytes: int
    """T: the segment, without the container and the few bytes of setup."""
    def_cm: float

    @property
    def merit(self) -> float:
        """Eq. 10, byte cm."""
        return self.bytes * self.def_cm

    def score(self, goal: Goal) -> tuple[float, int]:
        return (self.merit if goal == "merit" else self.def_cm), self.bytes


@dataclass(frozen=True, eq=False)
class Evaluator:
    """T and DEF of a clip at any FDF and n_d, everything else fixed. K = 0 is indexing without sparsing."""

    clip: Clip
    k: float = 0.1
    bits: int = 8
    closed_loop: bool = True
    tried: dict[tuple[int, int], Point] = field(default_factory=dict)

    @property
    def width(self) -> int:
        return int(self.clip.values.shape[1])

    @property
    def original_bytes(self) -> int:
        return original_file_size(self.clip.frames, self.width)

    @cached_property
    def _points(self) -> NDArray[np.float64]:
        return positions_cm(self.clip)

    @cached_property
    def _levels(self) -> NDArray[np.int64]:
        return channel_levels(self.clip.skeleton)

    @cached_property
    def _rule(self) -> Any:
        return thresholds(np.diff(self.clip.values, axis=0), self._levels, self.k) if self.k else None

    def __call__(self, fdf: int, n_d: int) -> Point:
        if (fdf, n_d) not in self.tried:
            self.tried[fdf, n_d] = self._measure(fdf, n_d)
        return self.tried[fdf, n_d]

    def indexed(self, fdf: int, n_d: int) -> Indexed:
        """The clip indexed at a setting."""
        kind = SparseIndexing(self.bits, n_d, fdf, k=self.k) if self.k else BapIndexing(self.bits, n_d, fdf)
        how = dataclasses.replace(kind.indexing(self.clip), closed_loop=self.closed_loop)
        found, poses = index_motion(self.clip.values, self._levels, how, self._rule)
        return Indexed(how, found, poses)

    def _measure(self, fdf: int, n_d: int) -> Point:
        coded, rows = self.indexed(fdf, n_d), self.clip.frames - 1
        if self.k:
            size = sparse_size(rows, self.width, coded.how, list(coded.found))
        else:
            tables = len(stretches(rows, n_d))
            size = indexed_size(rows, self.width, fdf=fdf, bits=self.bits, tables=tables)
        return Point(fdf, n_d, size, self.displacement(coded.poses))

    def displacement(self, poses: NDArray[Any], frames: slice = slice(None)) -> float:
        """DEF over some frames: poses [those frames, columns]."""
        moved = positions_cm(self.clip.with_values(poses)) - self._points[frames]
        return float(np.sqrt((moved**2).sum(-1)).sum() / len(moved))


@dataclass(frozen=True, eq=False)
class Indexed:
    """What the encoder makes of a clip."""

    how: Indexing
    found: Sequence[Stretch]
    poses: NDArray[np.float32]


@dataclass(frozen=True)
class Found:
    """The best valid point, and all that were tried."""

    best: Point
    tried: Sequence[Point]

    @property
    def evaluations(self) -> int:
        return len(self.tried)


def valid(point: Point, evaluator: Evaluator, f: float) -> bool:
    """Eq. 8, and not the original itself: some column is indexed."""
    return point.bytes <= f * evaluator.original_bytes and point.fdf < evaluator.width


def exhaustive(
    evaluator: Evaluator,
    *,
    f: float = 1.0,
    goal: Goal = "merit",
    n_d: Sequence[int] = N_D,
    workers: int = 1,
    progress: Progress | None = None,
) -> Found:
    """Every FDF from 1 to m - 1 at every n_d. More than one worker needs an importable main module."""
    grid = [(fdf, rows) for rows in n_d for fdf in range(1, max(evaluator.width, 2))]
    points = []
    for number, point in enumerate(_measured(evaluator, grid, workers)):
        points.append(point)
        if progress:
            progress((number + 1) / len(grid))
    return Found(best_of(points, evaluator, f, goal), points)


def best_of(points: Iterable[Point], evaluator: Evaluator, f: float, goal: Goal) -> Point:
    candidates = [point for point in points if valid(point, evaluator, f)]
    if not candidates:
        smallest = min(points, key=lambda point: point.bytes)
        share = smallest.bytes / evaluator.original_bytes
        raise TargetUnreachable(
            f"no setting is within f = {f:g}", hint=f"the smallest file is {share:.3f} of the original"
        )
    return min(candidates, key=lambda point: point.score(goal))


def _measured(evaluator: Evaluator, grid: Sequence[tuple[int, int]], workers: int) -> Iterator[Point]:
    if workers <= 1:
        yield from (evaluator(*setting) for setting in grid)
        return
    context = multiprocessing.get_context("spawn")
    with context.Pool(workers, _start_worker, (evaluator,)) as pool:
        yield from pool.imap(_work, grid, chunksize=4)


_worker: list[Evaluator] = []


def _start_worker(evaluator: Evaluator) -> None:
    _worker[:] = [evaluator]


def _work(setting: tuple[int, int]) -> Point:
    return _worker[0](*setting)
