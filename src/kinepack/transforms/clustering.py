"""Clustered principal component analysis (section 3.2, Sattler 2005; Kambhatla and Leen 1997).

Lloyd's iteration whose distance is the squared reconstruction error from a cluster's own affine subspace.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Clustering:
    """Each point's cluster, and the sum of squared reconstruction errors."""

    index: NDArray[np.int32]
    error: float


@dataclass(frozen=True)
class Lloyd:
    """How the iteration runs."""

    components: int
    centred: bool = True
    """Off: subspaces go through the origin (Eq. 2), not through the cluster's mean."""
    iterations: int = 60
    tolerance: float = 1e-3
    """Step 5: stop when the error falls by less than this part of itself."""


@dataclass(frozen=True, eq=False)
class _Subspace:
    centre: Array
    basis: Array


def cluster(
    points: Array, k: int, *, how: Lloyd, seed: int, starts: int, step: Callable[[float], None] | None = None
) -> Clustering:
    """The best of `starts` seeded runs on points [n, d]; deterministic."""
    best: Clustering | None = None
    for number in range(starts):
        found = _run(points, k, how, np.random.default_rng([seed, number]))
        if best is None or found.error < best.error:
            best = found
        if step:
            step((number + 1) / starts)
    assert best is not None
    return best


def subspace(points: Array, components: int, *, centred: bool) -> tuple[Array, Array]:
    """Steps 3 and 4: mean [d] and up to `components` principal directions [c, d] of points [n, d]."""
    centre = points.mean(axis=0) if centred else np.zeros(points.shape[1])
    moved = points - centre
    if len(moved) < moved.shape[1]:
        values, vectors = np.linalg.eigh(moved @ moved.T)
        usable = values[::-1] > 1e-12 * max(values[-1], 1e-300)
        chosen = vectors[:, ::-1][:, usable][:, :components]
        basis = (chosen / np.sqrt(values[::-1][usable][:components])).T @ moved
    else:
        basis = np.linalg.eigh(moved.T @ moved)[1][:, ::-1][:, :components].T
    return centre, np.ascontiguousarray(basis)


def reconstruction_errors(points: Array, centre: Array, basis: Array) -> Array:
    """Step 2: squared distance [n] from the affine subspace."""
    moved = points - centre
    return np.asarray(np.maximum((moved * moved).sum(axis=1) - ((moved @ basis.T) ** 2).sum(axis=1), 0.0))


def _run(points: Array, k: int, how: Lloyd, random: np.random.Generator) -> Clustering:
    count, dimension = points.shape
    k = min(k, count)
    seeds = points[random.choice(count, k, replace=False)]
    spaces = [_Subspace(seed, np.empty((0, dimension))) for seed in seeds]
    index, error = _assign(points, spaces)
    for _ in range(how.iterations):
        index = _without_empty(index, points, spaces)
        spaces = [_Subspace(*subspace(points[index == j], how.components, centred=how.centred)) for j in range(k)]
        before = error
        index, error = _assign(points, spaces)
        if error <= 0 or before - error < how.tolerance * error:
            break
    return Clustering(_without_empty(index, points, spaces), error)


def _assign(points: Array, spaces: list[_Subspace]) -> tuple[NDArray[np.int32], float]:
    errors = np.stack([reconstruction_errors(points, s.centre, s.basis) for s in spaces])
    index = errors.argmin(axis=0)
    return index.astype(np.int32), float(errors[index, np.arange(len(points))].sum())


def _without_empty(index: NDArray[np.int32], points: Array, spaces: list[_Subspace]) -> NDArray[np.int32]:
    """An empty cluster takes the point that the others reconstruct worst, from a cluster that can spare it."""
    sizes = np.bincount(index, minlength=len(spaces))
    if sizes.all():
        return index
    index = index.copy()
    errors = np.empty(len(points))
    for j, space in enumerate(spaces):
        mine = index == j
        errors[mine] = reconstruction_errors(points[mine], space.centre, space.basis)
    for empty in np.flatnonzero(sizes == 0):
        spare = np.flatnonzero(sizes[index] > 1)
        worst = spare[errors[spare].argmax()]
        sizes[index[worst]] -= 1
        sizes[empty] += 1
        index[worst], errors[worst] = empty, -1.0
    return index
