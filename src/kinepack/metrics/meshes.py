"""How far a mesh sequence's vertices are from where they should be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kinepack.errors import UsageError
from kinepack.metrics.base import register
from kinepack.metrics.clip_pair import check_frames
from kinepack.model import MeshSequence

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MeshPair:
    """An original and its copy, of the same vertex count; positions as float64 in the original's unit."""

    original: MeshSequence
    copy: MeshSequence

    def __post_init__(self) -> None:
        check_frames(self.original, self.copy)
        ours, theirs = self.original.vertices.shape[1], self.copy.vertices.shape[1]
        if ours != theirs:
            raise UsageError(f"the original has {ours} vertices and the copy {theirs}")

    @cached_property
    def original_vertices(self) -> Array:
        """[frames, vertices, 3]"""
        return self.original.vertices.astype(np.float64)

    @cached_property
    def copy_vertices(self) -> Array:
        """[frames, vertices, 3]"""
        return self.copy.vertices.astype(np.float64) * (self.copy.unit_cm / self.original.unit_cm)

    @cached_property
    def error(self) -> Array:
        """[frames, vertices] distance"""
        return np.asarray(np.linalg.norm(self.copy_vertices - self.original_vertices, axis=-1))

    @cached_property
    def diagonal(self) -> float:
        """Diagonal of the largest bounding box of any one frame of the original."""
        return float(np.linalg.norm(np.ptp(self.original.vertices.astype(np.float64), axis=1), axis=-1).max())


def mesh_metric(
    id: str, title: str, unit: str
) -> Callable[[Callable[[MeshPair], float]], Callable[[MeshSequence, MeshSequence], float]]:
    """Registers a function of a MeshPair and turns it into a function of (original, copy)."""
    return register(id, title, unit, source=MeshSequence, pair=MeshPair)


def d_f(original: MeshSequence, copy: MeshSequence) -> Array:
    """[frames] L2 norm of a frame's vertex errors, in the original's unit (section 3.3, Sattler 2005)."""
    return _frame_norms(MeshPair(original, copy))


@mesh_metric("kg", "KG error: distance relative to the spread about each frame's centroid", "%")
def kg(pair: MeshPair) -> float:
    """100 |B - B'| / |B - C(B)|, C(B) repeating the centroid of each frame (Karni and Gotsman 2004)."""
    return _percent_of_spread(pair, pair.original_vertices.mean(axis=1, keepdims=True))


@mesh_metric("d_a", "distortion relative to the motion about each vertex's average", "%")
def d_a(pair: MeshPair) -> float:
    """100 |B - B'| / |B - C(B)|, C(B) repeating the average of all frames (section 3.3, Sattler 2005)."""
    return _percent_of_spread(pair, pair.original_vertices.mean(axis=0, keepdims=True))


@mesh_metric("d_f_max", "vertex error norm of the worst frame", "units")
def d_f_max(pair: MeshPair) -> float:
    return float(_frame_norms(pair).max())


@mesh_metric("vertex_max", "largest vertex distance, of the bounding box diagonal", "%")
def vertex_max(pair: MeshPair) -> float:
    return 100 * ratio(float(pair.error.max()), pair.diagonal)


@mesh_metric("vertex_rms", "RMS vertex distance, of the bounding box diagonal", "%")
def vertex_rms(pair: MeshPair) -> float:
    return 100 * ratio(float(np.sqrt((pair.error**2).mean())), pair.diagonal)


def ratio(part: float, whole: float) -> float:
    """part / whole; no error relative to nothing is 0, any error relative to nothing is infinite."""
    if whole > 0:
        return part / whole
    return 0.0 if part == 0 else float("inf")


def _frame_norms(pair: MeshPair) -> Array:
    return np.asarray(np.sqrt((pair.error**2).sum(axis=1)))


def _percent_of_spread(pair: MeshPair, centre: Array) -> float:
    spread = float(np.linalg.norm(pair.original_vertices - centre))
    return 100 * ratio(float(np.linalg.norm(pair.error)), spread)
