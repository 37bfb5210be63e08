"""The optimum of FDF and n_d in a small fraction of the exhaustive evaluations: the open question of 000, section 7.

A table changes slowly with FDF, and a column's released indices do not depend on the other columns but through it. So
the clip is indexed at a few anchors only. From an anchor, the size at any FDF near it is a sum over columns, and DEF is
that of poses whose first FDF columns are the source's, on every so-many-th frame. The settings that promise most are
then measured exactly, and the best of them is followed to its neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kinepack.codecs.base import Progress
from kinepack.search.bap import N_D, Evaluator, Found, Goal, Indexed, Point, best_of, valid
from kinepack.transforms.indexing import SPARSE, STILL

ANCHOR_SHARES = (0.0, 0.3, 0.55, 0.75, 0.88, 0.96)
"""FDF of the anchors as shares of the columns; denser where few columns are left and the table follows them."""
SAMPLES = 200
"""Frames on which DEF is estimated."""
PROMISING = 10
SLACK = 1.004
"""How far over the budget an estimated size may be and still be measured."""
STEPS = 12


def fast(
    evaluator: Evaluator,
    *,
    f: float = 1.0,
    goal: Goal = "merit",
    n_d: tuple[int, ...] = N_D,
    progress: Progress | None = None,
) -> Found:
    """The best setting found; `tried` are the exact evaluations."""
    report = progress or (lambda share: None)
    estimates = _estimates(evaluator, n_d, lambda share: report(0.5 * share))
    budget = SLACK * f * evaluator.original_bytes
    promising = sorted((p for p in estimates if p.bytes <= budget), key=lambda p: p.score(goal))
    chosen = {(p.fdf, p.n_d) for p in promising[:PROMISING]}
    chosen |= {(p.fdf, p.n_d) for p in _largest(promising)}
    for number, setting in enumerate(sorted(chosen) or [(1, n_d[-1])]):
        evaluator(*setting)
        report(0.5 + 0.4 * (number + 1) / max(len(chosen), 1))
    _follow(evaluator, f, goal, sorted(n_d))
    report(1.0)
    tried = list(evaluator.tried.values())
    return Found(best_of(tried, evaluator, f, goal), tried)


def _largest(points: list[Point]) -> list[Point]:
    """The point of most exact columns, where DEF is least: estimates are worst at the budget's edge."""
    return sorted(points, key=lambda p: (-p.fdf, p.def_cm))[:2]


def _estimates(evaluator: Evaluator, n_d: tuple[int, ...], progress: Progress) -> list[Point]:
    """Size and DEF of every FDF at every n_d, from anchors at three n_d."""
    width = evaluator.width
    fdfs = sorted({max(1, round(share * width)) for share in ANCHOR_SHARES if round(share * width) < max(width, 2)})
    rows = sorted({n_d[0], n_d[len(n_d) // 2], n_d[-1]})
    curves: dict[int, dict[int, _Estimate]] = {}
    for number, anchor_rows in enumerate(rows):
        curves[anchor_rows] = {}
        for anchor, end in zip(fdfs, [*fdfs[1:], max(width, 2)], strict=True):
            coded = evaluator.indexed(anchor, anchor_rows)
            curves[anchor_rows] |= _near(evaluator, coded, range(anchor, end))
        progress((number + 1) / len(rows))
    return [_between(evaluator, curves, fdf, n) for n in n_d for fdf in curves[rows[0]]]


@dataclass(frozen=True)
class _Estimate:
    motion: int
    """Bytes of the rows, without tables."""
    table: int
    """Bytes of one table with its header."""
    def_cm: float


def _near(evaluator: Evaluator, coded: Indexed, fdfs: range) -> dict[int, _Estimate]:
    frames = evaluator.clip.frames
    sample = slice(0, None, max(1, frames // SAMPLES))
    source, poses = evaluator.clip.values[sample], coded.poses[sample].astype(np.float64)
    costs, found = _column_bytes(coded), {}
    for fdf in fdfs:
        poses[:, :fdf] = source[:, :fdf]
        motion = 4 * (frames - 1) * fdf + int(costs[fdf - coded.how.fdf :].sum())
        header = -(-(evaluator.width - fdf) // 4) if evaluator.k else 0
        table = ((2 if coded.how.half else 4) << coded.how.bits) + header
        found[fdf] = _Estimate(motion, table, evaluator.displacement(poses, sample))
    return found


def _column_bytes(coded: Indexed) -> NDArray[np.float64]:
    """[width - anchor's FDF] bytes of each indexed column's flags and indices."""
    total = np.zeros(coded.found[0].modes.shape if coded.found else 0)
    for stretch in coded.found:
        released = stretch.rows.released.sum(axis=0, dtype=np.int64) * coded.how.index_bytes
        total += np.where(stretch.modes == STILL, 0, released)
        total += (stretch.modes == SPARSE) * len(stretch.rows.released) / 8
    return total


def _between(evaluator: Evaluator, curves: dict[int, dict[int, _Estimate]], fdf: int, n_d: int) -> Point:
    """Between the n_d of two anchors DEF is a straight line over log n_d."""
    rows = sorted(curves)
    near = [curves[r][fdf] for r in rows]
    tables = -(-(evaluator.clip.frames - 1) // n_d)
    motion = np.interp(n_d, rows, [e.motion for e in near])
    error = np.interp(np.log(n_d), np.log(rows), [e.def_cm for e in near])
    return Point(fdf, n_d, int(motion + tables * near[0].table + 4 * evaluator.width), float(error))


def _follow(evaluator: Evaluator, f: float, goal: Goal, n_d: list[int]) -> None:
    """Neighbours of the best setting so far, until none is better."""
    for _ in range(STEPS):
        best = _best_setting(evaluator, f, goal)
        if best is None:
            return
        at = n_d.index(best[1])
        near, wide = n_d[max(at - 1, 0) : at + 2], n_d[max(at - 2, 0) : at + 3]
        around = [*((best[0] + step, n) for step in (-1, 1) for n in near), *((best[0], n) for n in wide)]
        for fdf, n in around:
            if 1 <= fdf < evaluator.width:
                evaluator(fdf, n)
        if _best_setting(evaluator, f, goal) == best:
            return


def _best_setting(evaluator: Evaluator, f: float, goal: Goal) -> tuple[int, int] | None:
    tried = [(p.score(goal), key) for key, p in evaluator.tried.items() if valid(p, evaluator, f)]
    return min(tried)[1] if tried else None
