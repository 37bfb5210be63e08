"""Principal components of vertex trajectories, by blocks: the sequence may be larger than memory.

A trajectory is a vertex's path, 3F numbers: x, y, z of frame 0, of frame 1, … (Eq. 1, Sattler 2005).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
BLOCK_VALUES = 1 << 22
"""Numbers of the source held at a time as float64."""


@dataclass(frozen=True, eq=False)
class Decomposition:
    """T ≈ mean + weights @ basis, components by falling variance."""

    mean: Array
    """[3F]"""
    basis: Array
    """[c, 3F], orthonormal rows"""
    weights: NDArray[np.float32] | Array
    """[V, c]"""
    scales: Array
    """[c] singular values: the norm of each column of `weights`"""
    lost: float
    """Sum of squares that the components left out carry."""


def vertex_blocks(vertices: NDArray[np.float32]) -> Iterator[tuple[slice, Array]]:
    """Ranges of vertices and their trajectories [n, 3F]."""
    frames, count, _ = vertices.shape
    size = max(1, BLOCK_VALUES // (3 * frames))
    for start in range(0, count, size):
        part = slice(start, min(start + size, count))
        yield part, trajectories(vertices, part)


def trajectories(vertices: NDArray[np.float32], part: slice = slice(None)) -> Array:
    """[n, 3F] of a range of vertices."""
    chosen = vertices[:, part].transpose(1, 0, 2)
    return np.asarray(chosen.reshape(len(chosen), -1), np.float64)


def frame_blocks(vertices: NDArray[np.float32]) -> Iterator[tuple[slice, Array]]:
    """Ranges of trajectory entries and their columns [V, n]."""
    frames, count, _ = vertices.shape
    size = max(1, BLOCK_VALUES // (3 * count))
    for start in range(0, frames, size):
        stop = min(start + size, frames)
        columns = vertices[start:stop].transpose(1, 0, 2).reshape(count, -1)
        yield slice(3 * start, 3 * stop), np.asarray(columns, np.float64)


def decompose(vertices: NDArray[np.float32], most: int, *, floor: float = 0.0) -> Decomposition:
    """At most `most` components whose singular value exceeds `floor`; the covariance is of the smaller of (3F, V)."""
    frames, count, _ = vertices.shape
    mean = np.empty(3 * frames)
    for columns, part in frame_blocks(vertices):
        mean[columns] = part.mean(axis=0)
    tall = 3 * frames <= count
    values, vectors, total = _eigen(_covariance(vertices, mean) if tall else _gram(vertices, mean))
    keep = min(most, int((values > max(floor**2, 1e-13 * total)).sum()))
    scales, chosen = np.sqrt(values[:keep]), vectors[:, :keep]
    if tall:
        basis = _signed(np.ascontiguousarray(chosen.T))
        weights = project(vertices, basis, mean)
    else:
        basis = _signed(_long_vectors(vertices, mean, chosen / scales))
        weights = project(vertices, basis, mean)
    return Decomposition(mean, basis, weights, scales, max(0.0, total - float(values[:keep].sum())))


def project(vertices: NDArray[np.float32], basis: Array, mean: Array) -> Array:
    """Least-squares weights [V, c] of the trajectories on rows that need not be orthonormal."""
    dual = np.linalg.pinv(basis) if len(basis) else basis.T
    weights = np.empty((vertices.shape[1], len(basis)))
    for part, block in vertex_blocks(vertices):
        weights[part] = (block - mean) @ dual
    return weights


def _covariance(vertices: NDArray[np.float32], mean: Array) -> Array:
    """[3F, 3F]"""
    total = np.zeros((len(mean), len(mean)))
    for _, block in vertex_blocks(vertices):
        centred = block - mean
        total += centred.T @ centred
    return total


def _gram(vertices: NDArray[np.float32], mean: Array) -> Array:
    """[V, V]: the same eigenvalues as the covariance, for F >> V (section 3.2)."""
    total = np.zeros((vertices.shape[1],) * 2)
    for columns, block in frame_blocks(vertices):
        centred = block - mean[columns]
        total += centred @ centred.T
    return total


def _long_vectors(vertices: NDArray[np.float32], mean: Array, short: Array) -> Array:
    """[c, 3F] eigenvectors of the covariance from those of the Gram matrix over their singular values."""
    out = np.empty((short.shape[1], len(mean)))
    for columns, block in frame_blocks(vertices):
        out[:, columns] = short.T @ (block - mean[columns])
    return out


def _eigen(matrix: Array) -> tuple[Array, Array, float]:
    """Eigenvalues, falling, their vectors as columns, and the trace."""
    values, vectors = np.linalg.eigh(matrix)
    return np.maximum(values[::-1], 0.0), vectors[:, ::-1], float(np.trace(matrix))


def _signed(rows: Array) -> Array:
    """Rows turned so that their largest entry is positive: an eigenvector's sign is the library's whim."""
    if not rows.size:
        return rows
    largest = np.abs(rows).argmax(axis=1)
    return rows * np.where(rows[np.arange(len(rows)), largest] < 0, -1.0, 1.0)[:, None]
