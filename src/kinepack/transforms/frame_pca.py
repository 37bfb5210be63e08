"""Principal components of whole frames: a frame is its centroid, the mean shape and weighted eigenshapes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FramePca:
    """frame f ≈ centroids[f] + mean + weights[f] @ shapes."""

    centroids: Array
    """[F, 3]"""
    mean: Array
    """[3V]"""
    shapes: Array
    """[c, 3V], orthonormal rows"""
    weights: Array
    """[F, c]"""


def analyse_frames(vertices: NDArray[np.float32], components: int) -> FramePca:
    """Eigenvectors of the F x F matrix of products of frames (Alexa and Mueller 2000)."""
    frames = np.asarray(vertices, np.float64)
    centroids = frames.mean(axis=1)
    moved = (frames - centroids[:, None]).reshape(len(frames), -1)
    mean = moved.mean(axis=0)
    moved -= mean
    values, vectors = np.linalg.eigh(moved @ moved.T)
    values, vectors = values[::-1], vectors[:, ::-1]
    usable = int((values > max(1e-13 * values[0], 1e-300)).sum())
    count = min(components, usable)
    scales = np.sqrt(values[:count])
    shapes = (vectors[:, :count] / scales).T @ moved
    return FramePca(centroids, mean, shapes, vectors[:, :count] * scales)


def synthesise_frames(weights: Array, shapes: Array, *, mean: Array, centroids: Array) -> NDArray[np.float32]:
    """[F, 3V]; a frame's numbers do not depend on which other frames are asked for."""
    with np.errstate(all="ignore"):  # a corrupt stream may overflow; model_from tells
        frames = (weights[:, None] @ shapes)[:, 0] + mean
        frames += np.tile(centroids, (1, shapes.shape[1] // 3))
        return frames.astype(np.float32)
