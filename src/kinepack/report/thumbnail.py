"""Small pictures of a clip as plain SVG: quick enough for hundreds on a page, and no plotting library needed."""

from __future__ import annotations

from html import escape

import numpy as np
from numpy.typing import NDArray

from kinepack.errors import KinepackError
from kinepack.library import LibraryClip
from kinepack.math.kinematics import forward_kinematics
from kinepack.model import Clip, Model

POSES = 6
HEIGHT = 100.0
MOST_DOTS = 250
"""Vertices drawn of a mesh."""

Array = NDArray[np.float64]


def strip_svg(clip: LibraryClip, poses: int = POSES) -> str:
    """A few poses side by side, seen from the front of the motion; only their frames are decoded."""
    frames = np.unique(np.linspace(0, clip.frames - 1, poses).round().astype(int))
    try:
        drawn = [_pose(clip[int(frame)]) for frame in frames]
    except KinepackError as error:
        return f"<p>{escape(error.message)}</p>"
    return _svg(_laid_out(drawn), f"{clip.name}, {len(frames)} poses", bones=drawn[0].ndim == 3)


def _pose(model: Model) -> Array:
    """[bones, 2 ends, 3] of a one-frame clip, or [vertices, 3] of a mesh."""
    if not isinstance(model, Clip):
        step = max(1, model.vertices.shape[1] // MOST_DOTS)
        return np.asarray(model.vertices[0, ::step], np.float64)
    pose, skeleton = forward_kinematics(model), model.skeleton
    if np.any(skeleton.tips):  # ASF: a bone goes from its joint's origin to its own end
        return np.stack([pose.origins[0], pose.points[0]], axis=1)
    below = np.flatnonzero(skeleton.parents >= 0)
    return np.stack([pose.origins[0, skeleton.parents[below]], pose.origins[0, below]], axis=1)


def _laid_out(drawn: list[Array]) -> list[Array]:
    """The poses on the plane, each around its own middle, all of one scale and next to each other."""
    extents = np.mean([np.ptp(pose.reshape(-1, 3), axis=0) for pose in drawn], axis=0)
    up = 2 if extents[2] > 1.5 * extents[1] and extents[2] > extents[0] else 1  # some recordings have z up
    flat = [np.stack([pose[..., 0] + 0.35 * pose[..., 3 - up], -pose[..., up]], axis=-1) for pose in drawn]
    low, high = min(p[..., 1].min() for p in flat), max(p[..., 1].max() for p in flat)
    wide = max(float(np.ptp(pose[..., 0])) for pose in flat)
    scale = HEIGHT / max(high - low, wide / 2, 1e-9)
    step = max(wide * scale * 1.1, HEIGHT * 0.35)
    placed = []
    for number, pose in enumerate(flat):
        middle = np.array([(pose[..., 0].max() + pose[..., 0].min()) / 2, low])
        placed.append((pose - middle) * scale + [step * (number + 0.5), 0])
    return placed


def _svg(placed: list[Array], title: str, *, bones: bool) -> str:
    right = max(float(pose[..., 0].max()) for pose in placed)
    left = min(float(pose[..., 0].min()) for pose in placed)
    tall = max(float(pose[..., 1].max()) for pose in placed)
    paths = "".join(f'<path d="{_lines(pose) if bones else _dots(pose)}"/>' for pose in placed)
    box = f"{left - 4:.0f} -4 {right - left + 8:.0f} {tall + 8:.0f}"
    return (
        f'<svg viewBox="{box}" role="img" aria-label="{escape(title, quote=True)}"><g fill="none" '
        f'stroke="var(--accent)" stroke-width="1.6" stroke-linecap="round">{paths}</g></svg>'
    )


def _lines(pose: Array) -> str:
    return "".join(f"M{a[0]:.1f} {a[1]:.1f}L{b[0]:.1f} {b[1]:.1f}" for a, b in pose if np.abs(a - b).max() > 0.05)


def _dots(pose: Array) -> str:
    return "".join(f"M{x:.1f} {y:.1f}h0" for x, y in pose)
