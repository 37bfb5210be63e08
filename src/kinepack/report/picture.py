"""Pictures of a few frames: the original in grey, its copy in red over it."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinepack.errors import UsageError
from kinepack.math.kinematics import end_sites, forward_kinematics
from kinepack.model import Clip, MeshSequence, Model
from kinepack.report.drawing import figure, style

Array = NDArray[np.float64]

GREY, RED = "#8c8c8c", "#e03131"
_ELEVATION = np.radians(12.0)
_WIDTH = 9.0
"""Inches."""


def overlay_png(original: Model, copy: Model, frames: Sequence[int] | int = 10) -> bytes:
    """A strip of frames (given, or so many spread over the animation) as a PNG with a clear background."""
    if type(original) is not type(copy) or original.frames != copy.frames:
        raise UsageError("only two animations of the same kind and length can be drawn over each other")
    chosen = spread(original.frames, frames) if isinstance(frames, int) else np.asarray(frames, np.intp)
    if len(chosen) == 0 or chosen.min() < 0 or chosen.max() >= original.frames:
        raise UsageError(f"frames to draw must be inside 0 to {original.frames - 1}")
    with style():
        if isinstance(original, Clip) and isinstance(copy, Clip):
            drawn = _sticks(_segments(original, chosen), _segments(copy, chosen))
        else:
            assert isinstance(original, MeshSequence) and isinstance(copy, MeshSequence)
            drawn = _meshes(original, copy, chosen)
        buffer = io.BytesIO()
        drawn.savefig(buffer, format="png", dpi=150, transparent=True, metadata={"Software": None})
    return buffer.getvalue()


def spread(frames: int, count: int) -> NDArray[np.intp]:
    """Up to `count` different frames, from the first to the last."""
    return np.unique(np.linspace(0, frames - 1, max(count, 1)).round().astype(np.intp))


# Stick figures.


def _segments(clip: Clip, frames: NDArray[np.intp]) -> Array:
    """[frames, bones, 2, 3] both ends of every bone, cm."""
    part = clip.with_values(clip.values[frames])
    pose = forward_kinematics(part)
    if np.any(clip.skeleton.tips):  # ASF: a bone goes from its joint's origin to its own end
        shown = np.flatnonzero(clip.skeleton.bone_lengths > 0)
        pairs = np.stack([pose.origins[:, shown], pose.points[:, shown]], axis=2)
    else:
        below = np.flatnonzero(clip.skeleton.parents >= 0)
        sites = end_sites(part, pose)
        tops = np.concatenate([clip.skeleton.parents[below], sites.joints])
        ends = np.concatenate([pose.origins[:, below], sites.points], axis=1)
        pairs = np.stack([pose.origins[:, tops], ends], axis=2)
    return np.asarray(pairs * clip.unit_cm)


def _sticks(original: Array, copy: Array) -> Any:
    from matplotlib.collections import LineCollection

    up = _up_axis(original)
    camera, centre = _camera(original, up), _middle(original)
    centre[:, up] = 0
    flat = _side_by_side([_project(part, camera, centre) for part in (original, copy)], spacing=0.9)
    low, high = _bounds(flat[0])
    on_ground = bool(np.abs(original[..., up].min(axis=(1, 2))).min() < 10)
    low[1] = min(low[1], 0.0) if on_ground else low[1]
    drawn, axes = _canvas(low - 10, high + 10)
    for part, colour, width in zip(flat, (GREY, RED), (4.5, 1.4), strict=True):
        lines = list(part.reshape(-1, 2, 2))
        axes.add_collection(LineCollection(lines, colors=colour, linewidths=width, capstyle="round"))
    if on_ground:
        axes.plot([low[0] - 10, high[0] + 10], [0, 0], color=GREY, linewidth=0.8, zorder=0)
    return drawn


def _up_axis(segments: Array) -> int:
    """1 (y), or 2 (z) where a figure is much taller along z, as in recordings with z up."""
    extent = np.ptp(segments.reshape(len(segments), -1, 3), axis=1).mean(axis=0)
    return 2 if extent[2] > 1.5 * extent[1] and extent[2] > extent[0] else 1


# Meshes.


def _meshes(original: MeshSequence, copy: MeshSequence, frames: NDArray[np.intp]) -> Any:
    from matplotlib.collections import PolyCollection

    models = [np.asarray(m.vertices[frames] * m.unit_cm, np.float64) for m in (original, copy)]
    camera, centre = _camera(models[0], 1), _middle(models[0])
    flat = _side_by_side([_project(part, camera, centre) for part in models], spacing=1.08)
    low, high = _bounds(flat[0])
    margin = 0.01 * (high[0] - low[0])
    drawn, axes = _canvas(low - margin, high + margin)
    for frame in range(len(frames)):
        order, light = _shading(models[0][frame], original.faces, camera)
        tone = np.repeat(0.42 + 0.5 * light[order, None], 3, axis=1)
        grey = list(flat[0][frame][original.faces[order]])
        axes.add_collection(PolyCollection(grey, facecolors=tone, edgecolors=tone, linewidths=0.2))
        front, _ = _shading(models[1][frame], copy.faces, camera, front_only=True)
        red = list(flat[1][frame][copy.faces[front]])
        wire = PolyCollection(red, facecolors="none", edgecolors=RED, linewidths=0.18, alpha=0.7)
        axes.add_collection(wire)
    return drawn


def _shading(
    vertices: Array, faces: NDArray[np.int32], camera: Array, *, front_only: bool = False
) -> tuple[NDArray[np.intp], Array]:
    """Triangles from far to near, and how much light (0 to 1) each one gets."""
    corners = vertices[faces] @ camera.T
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal /= np.maximum(np.linalg.norm(normal, axis=-1, keepdims=True), 1e-12)
    order = np.argsort(corners[..., 2].mean(axis=1))
    if front_only:
        order = order[normal[order, 2] > 0]
    light = np.clip(normal @ np.array([0.2, 0.8, 0.56]), 0, 1)
    return order, light


# Shared.


def _middle(points: Array) -> Array:
    """[frames, ..., 3] -> [frames, 3]"""
    return np.asarray(points.reshape(len(points), -1, 3).mean(axis=1))


def _camera(points: Array, up_axis: int) -> Array:
    """[3, 3] rows: right, up and towards the viewer, who stands beside the way the animation goes."""
    up = np.eye(3)[up_axis]
    middle = _middle(points)
    way = middle[-1] - middle[0]
    way[up_axis] = 0
    if np.linalg.norm(way) < 0.1 * np.ptp(points.reshape(len(points), -1, 3), axis=1).max():
        way = np.eye(3)[(up_axis + 1) % 3]
    way = way / np.linalg.norm(way)
    # A quarter turned to the front shows both legs and both arms.
    toward = np.cos(0.45) * np.cross(way, up) + np.sin(0.45) * way
    right = np.cross(up, toward)
    toward = np.cos(_ELEVATION) * toward + np.sin(_ELEVATION) * up
    return np.stack([right, np.cross(toward, right), toward])


def _project(points: Array, camera: Array, centre: Array) -> Array:
    """[frames, ..., 3] -> [frames, points, 2] on the picture, each frame around its own centre."""
    flat = points.reshape(len(points), -1, 3) - centre[:, None]
    return np.asarray(flat @ camera[:2].T)


def _side_by_side(flat: Sequence[Array], *, spacing: float) -> list[Array]:
    """Frames moved apart by `spacing` times the width of the widest."""
    wide = max(float(np.ptp(part[..., 0], axis=1).max()) for part in flat)
    offsets = np.zeros((len(flat[0]), 1, 2))
    offsets[:, 0, 0] = np.arange(len(flat[0])) * wide * spacing
    return [part + offsets for part in flat]


def _bounds(flat: Array) -> tuple[Array, Array]:
    every = flat.reshape(-1, 2)
    return np.asarray(every.min(axis=0)), np.asarray(every.max(axis=0))


def _canvas(low: Array, high: Array) -> tuple[Any, Any]:
    """A figure and its bare axes for the rectangle from `low` to `high`, neither very tall nor very flat."""
    wide, tall = np.maximum(high - low, 1e-9)
    drawn = figure(_WIDTH, float(np.clip(_WIDTH * tall / wide, 1.0, 6.0)))
    axes = drawn.subplots()
    axes.set_axis_off()
    axes.set_aspect("equal")
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])
    return drawn, axes
