"""Rows of numbers over time as quantised cosine coefficients, each coded from its neighbours in frequency."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels._mesh import Hierarchy, mesh_decode, mesh_encode

Array = NDArray[np.float64]
Levels = NDArray[np.int32]
ROUNDING = 0.36
LONGEST = 512
"""Frames of a transform: it is a product with a matrix of this order."""


@lru_cache(maxsize=8)
def cosines(frames: int) -> Array:
    """[frequency, frame] orthonormal DCT-II."""
    n = np.arange(frames)
    matrix = np.sqrt(2 / frames) * np.cos(np.pi * (n[None] + 0.5) * n[:, None] / frames)
    matrix[0] /= np.sqrt(2)
    return np.asarray(matrix)


def forward(rows: Array) -> Array:
    """[c, 3 frames] -> coefficients [3 c, frames]"""
    count, length = rows.shape
    frames = length // 3
    tracks = rows.reshape(count, frames, 3).transpose(0, 2, 1).reshape(3 * count, frames)
    return np.asarray(tracks @ cosines(frames).T)


def inverse(levels: Levels, step: float) -> Array:
    """Levels [3 c, frames] -> rows by frame [frames, c, 3]"""
    tracks = (levels * np.float64(step)) @ cosines(levels.shape[1])
    return np.ascontiguousarray(tracks.reshape(-1, 3, tracks.shape[1]).transpose(2, 0, 1))


def quantize(coefficients: Array, step: float) -> Levels:
    """Rounded with a dead zone."""
    return np.asarray(np.sign(coefficients) * np.floor(np.abs(coefficients) / step + ROUNDING), np.int32)


def encode_levels(levels: Levels) -> bytes:
    return mesh_encode(_line(levels.shape[1]), levels)


def decode_levels(data: bytes, rows: int, frames: int) -> Levels:
    return mesh_decode(_line(frames), data, rows)


@lru_cache(maxsize=8)
def _line(frames: int) -> Hierarchy:
    """Frequencies as a chain: each refers to the two below it, and to two more from further away."""
    positions = np.arange(frames)
    counts = np.minimum(positions, 4)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32)
    refs = np.concatenate([position - 1 - np.arange(min(position, 4)) for position in range(frames)])
    rings = np.minimum(positions, 2).astype(np.uint8)
    levels = np.minimum(1 + np.log2(1 + positions).astype(np.int64), 8).astype(np.uint8)
    return Hierarchy(positions.astype(np.uint32), starts, refs.astype(np.uint32), rings, levels)
