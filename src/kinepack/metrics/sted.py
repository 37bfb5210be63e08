"""Spatiotemporal edge difference (Váša and Skala: A perception correlated comparison method, 2011).

Viewers see that a surface wrinkles or trembles rather than where it is. So the metric ignores positions and
reads how unevenly the lengths of edges change: edges of the mesh in each frame, and edges through time from a
vertex to itself in the next frame.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from kinepack.metrics.meshes import MeshPair, mesh_metric

Array = NDArray[np.float64]

TEMPORAL_WEIGHT = 0.136
"""c: how much trembling counts beside wrinkling. This and the next two are choices, see docs/metrics.md."""
WINDOW = 5
"""w: frames before and after that the deviation through time looks at."""
DIAGONALS_PER_SECOND = 1.0
"""Turns time into length: a time step is as long as a move at this speed, in bounding box diagonals."""


@mesh_metric("sted", "spatiotemporal edge difference", "")
def sted(pair: MeshPair) -> float:
    """sqrt(spatial² + c² temporal²)."""
    return float(np.hypot(spatial(pair), TEMPORAL_WEIGHT * temporal(pair)))


def spatial(pair: MeshPair) -> float:
    """Mean over frames and vertices of the deviation of relative length changes among a vertex's edges."""
    edges = _edges(pair.original.faces)
    if not len(edges):
        return 0.0
    count = pair.original.vertices.shape[1]
    used = np.bincount(edges.ravel(), minlength=count) > 0
    means = []
    for before, after in _frame_lengths(pair, edges):
        means.append(_deviation_about_vertices(before, after, edges, count)[used].mean())
    return float(np.mean(means))


def temporal(pair: MeshPair) -> float:
    """Mean over vertices and steps of the deviation of relative length changes among neighbouring steps."""
    if pair.original.frames < 2:
        return 0.0
    step = DIAGONALS_PER_SECOND * pair.diagonal * pair.original.frame_time
    before = _temporal_lengths(pair.original_vertices, step)
    change = _relative_change(before, _temporal_lengths(pair.copy_vertices, step))
    change -= change.mean(axis=0)  # deviations are the same, and their squares lose fewer digits
    weight = _window_sum(before)
    mean = _window_sum(before * change) / np.where(weight > 0, weight, 1.0)
    square = _window_sum(before * change**2) / np.where(weight > 0, weight, 1.0)
    return float(np.sqrt(np.maximum(square - mean**2, 0)).mean())


def _edges(faces: NDArray[np.int32]) -> NDArray[np.int32]:
    """[edges, 2], each edge once."""
    pairs = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    return np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)


def _frame_lengths(pair: MeshPair, edges: NDArray[np.int32]) -> Iterator[tuple[Array, Array]]:
    """Edge lengths of the original and the copy, frame by frame."""
    for original, copy in zip(pair.original_vertices, pair.copy_vertices, strict=True):
        yield _lengths(original, edges), _lengths(copy, edges)


def _lengths(vertices: Array, edges: NDArray[np.int32]) -> Array:
    return np.asarray(np.linalg.norm(vertices[edges[:, 0]] - vertices[edges[:, 1]], axis=1))


def _relative_change(before: Array, after: Array) -> Array:
    """|l' - l| / l, and 0 for edges without length, which weigh nothing."""
    return np.asarray(np.abs(after - before) / np.where(before > 0, before, np.inf))


def _deviation_about_vertices(before: Array, after: Array, edges: NDArray[np.int32], count: int) -> Array:
    """[vertices] standard deviation, weighted by edge length, over the edges that meet at each vertex."""
    change, ends = np.tile(_relative_change(before, after), 2), edges.T.ravel()
    weights = np.tile(before, 2)
    total = np.bincount(ends, weights, count)
    total = np.where(total > 0, total, 1.0)
    mean = np.bincount(ends, weights * change, count) / total
    # Deviations from the mean, not a difference of squares: that would turn rounding into wrinkles.
    square = np.bincount(ends, weights * (change - mean[ends]) ** 2, count) / total
    return np.asarray(np.sqrt(square))


def _temporal_lengths(vertices: Array, step: float) -> Array:
    """[frames - 1, vertices] length of the edge from a vertex to itself one frame on, time being `step`."""
    moved = np.linalg.norm(np.diff(vertices, axis=0), axis=-1)
    return np.asarray(np.hypot(moved, step))


def _window_sum(values: Array) -> Array:
    """[steps, ...] sums over WINDOW steps before and after, fewer at the ends."""
    total = np.concatenate([np.zeros_like(values[:1]), np.cumsum(values, axis=0)])
    steps = np.arange(len(values))
    return np.asarray(total[np.minimum(steps + WINDOW + 1, len(values))] - total[np.maximum(steps - WINDOW, 0)])
