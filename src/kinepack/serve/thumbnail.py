"""A small SVG of an animation: a few poses, the last one strongest. Drawn by attributes alone, no style, no script."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinepack.codecs.base import matrix_of
from kinepack.model import Clip, MeshSequence, Model
from kinepack.reader import ClipReader
from kinepack.report import picture

Array = NDArray[np.float64]

WIDTH, HEIGHT, MARGIN = 320, 200, 14
POSES = 5
BONE, GHOST, GROUND = "#e03131", "#8a949e", "#8a949e"
"""Readable on white and on near black."""
MOST_FACES, MOST_DOTS = 5000, 3000
EMPTY = (
    f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">'
    f'<path d="M160 74v52l-16 44M160 126l16 44M160 84l-26 26M160 84l26 26M172 52a12 12 0 1 1-24 0a12 12 0 1 1 24 0" '
    f'fill="none" stroke="{GHOST}" stroke-width="3" stroke-linecap="round" stroke-dasharray="2 7" opacity=".7"/></svg>'
)
"""Where there is nothing to draw."""


def thumbnail(clip: ClipReader) -> str:
    """SVG of one clip of an open file; only the segments of the drawn frames are read."""
    model = _poses(clip)
    return _sticks(model) if isinstance(model, Clip) else _mesh(model)


def _poses(clip: ClipReader) -> Model:
    """A few frames from the first to the last, as one short model."""
    frames = picture.spread(clip.frames, POSES if clip.frames > 1 else 1)
    runs = sum(entry.layer == 0 for entry in clip.record.segments)
    if runs == 1:
        whole = clip.decode()
        return _with_rows(whole, matrix_of(whole)[frames])
    parts = [clip.decode(int(frame), int(frame) + 1) for frame in frames]
    return _with_rows(parts[0], np.concatenate([matrix_of(part) for part in parts]))


def _with_rows(model: Model, rows: NDArray[np.floating]) -> Model:
    if isinstance(model, Clip):
        return model.with_values(rows)
    return model.with_vertices(rows.reshape(len(rows), -1, 3))


def _sticks(clip: Clip) -> str:
    bones = picture._segments(clip, np.arange(clip.frames))
    if not bones.size:
        return EMPTY
    up = picture._up_axis(bones)
    camera, centre = picture._camera(bones, up), picture._middle(bones)
    centre[:, up] = 0
    flat = picture._side_by_side([picture._project(bones, camera, centre)], spacing=0.62)[0]
    ground = bool(np.abs(bones[..., up].min(axis=(1, 2))).min() < 10)
    low, high = picture._bounds(flat)
    low[1] = min(low[1], 0.0) if ground else low[1]
    fitted, floor = _fit(flat, low, high)
    drawn = [_ground(floor)] if ground else []
    for number, pose in enumerate(fitted):
        last = number == len(fitted) - 1
        drawn.append(_pose(pose, BONE if last else GHOST, 3.4 if last else 2.4, (number + 2) / (len(fitted) + 1)))
    return _svg(drawn)


def _pose(pose: Array, colour: str, width: float, opacity: float) -> str:
    lines = "".join(f"M{a[0]:.1f} {a[1]:.1f}L{b[0]:.1f} {b[1]:.1f}" for a, b in pose.reshape(-1, 2, 2))
    style = f'fill="none" stroke-width="{width}" stroke-linecap="round" stroke-linejoin="round"'
    return f'<path d="{lines}" stroke="{colour}" opacity="{min(opacity, 1):.2f}" {style}/>'


def _ground(height: float) -> str:
    return f'<path d="M0 {height:.1f}H{WIDTH}" stroke="{GROUND}" stroke-width="1" opacity=".45"/>'


def _mesh(model: MeshSequence) -> str:
    """The last drawn frame, shaded; of a large mesh, dots."""
    points = np.asarray(model.vertices[len(model.vertices) // 2][None] * model.unit_cm, np.float64)
    camera, centre = picture._camera(points, 1), picture._middle(points)
    flat = picture._project(points, camera, centre)
    fitted = _fit(flat, *picture._bounds(flat))[0][0]
    if not 0 < len(model.faces) <= MOST_FACES:
        chosen = fitted[:: max(1, len(fitted) // MOST_DOTS)]
        dots = "".join(f"M{x:.1f} {y:.1f}h.01" for x, y in chosen)
        return _svg([f'<path d="{dots}" stroke="{BONE}" stroke-width="1.6" stroke-linecap="round" opacity=".7"/>'])
    order, light = picture._shading(points[0], model.faces, camera, front_only=True)
    return _svg([_triangle(fitted[model.faces[face]], light[face]) for face in order])


def _triangle(corners: Array, light: float) -> str:
    """Between a dark and a light tone of the accent."""
    dark, bright = np.array([122, 24, 24]), np.array([255, 150, 138])
    red, green, blue = (int(v) for v in dark + light * (bright - dark))
    colour = f"#{red:02x}{green:02x}{blue:02x}"
    (a, b), (c, d), (e, f) = corners
    return f'<path d="M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}L{e:.1f} {f:.1f}z" fill="{colour}" stroke="{colour}"/>'


def _fit(flat: Array, low: Array, high: Array) -> tuple[Array, float]:
    """Points of the picture with y down, in its middle; and the height of y = 0 there."""
    size = np.maximum(high - low, 1e-9)
    scale = float(min((WIDTH - 2 * MARGIN) / size[0], (HEIGHT - 2 * MARGIN) / size[1]))
    shift = np.array([WIDTH / 2, HEIGHT / 2]) - np.array([1, -1]) * scale * (low + high) / 2
    fitted = flat * np.array([scale, -scale]) + shift
    return fitted, float(shift[1])


def _svg(parts: list[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">'
        + "".join(parts)
        + "</svg>"
    )
