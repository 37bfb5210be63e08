"""A fish that swims along a winding path: 3 s at 30 frames a second, a closed mesh of 1,022 vertices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinepack.model import MeshSequence
from kinepack.samples.curves import Array

_FRAMES, _RATE = 90, 30.0
_RINGS, _AROUND = 44, 20
_FIN_LONG, _FIN_WIDE = 7, 5
_LENGTH = 0.5
_SPEED = 0.55
_BEAT = 1.7
"""Metres, metres a second, tail beats a second."""
_DECIMALS = 6  # micrometres; hides the last bits in which machines' sines differ

Faces = NDArray[np.int32]


def fish() -> MeshSequence:
    """90 frames of 1,022 vertices in metres; the fish looks to +z at first, up is +y."""
    body, body_faces = _body()
    fins = [_pectoral_fin(side) for side in (1.0, -1.0)]
    along, up = _station(body), body[:, 1]
    frames = []
    for frame in range(_FRAMES):
        time = frame / _RATE
        rippled = body + _fin_ripple(along, up, time)[:, None] * np.array([1.0, 0.0, 0.0])
        flapped = [_flap(points, side, time) for (points, _), side in zip(fins, (1.0, -1.0), strict=True)]
        frames.append(_swim(np.concatenate([rippled, *flapped]), time))
    faces = _join([body_faces, *(f for _, f in fins)], [len(body), *(len(p) for p, _ in fins)])
    return MeshSequence(np.round(np.stack(frames), _DECIMALS).astype(np.float32), faces, 1 / _RATE, "fish")


# The fish at rest: x to its left, y up, z ahead; the nose at z = 0, the tail at z = -length.


def _body() -> tuple[Array, Faces]:
    """A stack of rings from nose to tail, each end closed by one vertex; [vertices, 3], [triangles, 3]."""
    station = 0.5 - 0.5 * np.cos(np.pi * (np.arange(_RINGS) + 0.7) / (_RINGS + 0.4))
    station = 0.45 * station + 0.55 * (np.arange(_RINGS) + 0.7) / (_RINGS + 0.4)
    angle = 2 * np.pi * np.arange(_AROUND) / _AROUND
    s, a = station[:, None], angle[None, :]
    half_height, half_width = _profile(station)
    upward = np.sin(a)
    x = half_width[:, None] * np.cos(a)
    y = half_height[:, None] * upward * np.where(upward > 0, 1.0, 0.88)
    y = (
        y
        + _dorsal(station)[:, None] * np.clip(upward, 0, 1) ** 14
        - _anal(station)[:, None] * np.clip(-upward, 0, 1) ** 14
    )
    fork = 0.13 * np.clip((s - 0.84) / 0.16, 0, 1) ** 1.5 * (np.abs(y) / 0.12) ** 1.6
    z = -s * _LENGTH * np.ones_like(a) - fork * _LENGTH
    rings = np.stack([x, y * _LENGTH / 0.5, z], axis=-1).reshape(-1, 3)
    ends = np.array([[0.0, -0.002, 0.0], [0.0, 0.0, -0.985 * _LENGTH]])
    return np.concatenate([rings, ends]), _ring_faces()


def _profile(station: Array) -> tuple[Array, Array]:
    """Half height and half width in metres of the rings at `station`, 0 at the nose and 1 at the tail."""
    s = station
    trunk = np.sqrt(np.clip(s, 0, 1)) * np.clip(1 - s / 0.97, 0, 1) ** 0.75
    tail = np.clip((s - 0.80) / 0.20, 0, 1)
    height = 0.118 * trunk + 0.012 + 0.085 * tail**1.1
    width = 0.072 * trunk * (1 - tail) ** 2 + 0.0022
    blunt = np.clip(s / 0.04, 0, 1) ** 0.5
    return height * blunt, width * blunt


def _dorsal(station: Array) -> Array:
    """Height of the fin on the back, metres."""
    rise, fall = np.clip((station - 0.26) / 0.10, 0, 1), np.clip((0.66 - station) / 0.30, 0, 1)
    result: Array = 0.055 * np.sqrt(rise) * fall**0.8
    return result


def _anal(station: Array) -> Array:
    """Height of the fin under the tail, metres."""
    rise, fall = np.clip((station - 0.60) / 0.05, 0, 1), np.clip((0.78 - station) / 0.13, 0, 1)
    result: Array = 0.034 * np.sqrt(rise) * fall
    return result


def _ring_faces() -> Faces:
    """Triangles, anticlockwise from outside: the tube's, then the two fans that close it."""
    ring, step = np.meshgrid(np.arange(_RINGS - 1), np.arange(_AROUND), indexing="ij")
    a, b = ring * _AROUND + step, ring * _AROUND + (step + 1) % _AROUND
    c, d = a + _AROUND, b + _AROUND
    tube = np.stack([a, c, b, b, c, d], axis=-1).reshape(-1, 3)
    around, after = np.arange(_AROUND), (np.arange(_AROUND) + 1) % _AROUND
    nose, tail = _RINGS * _AROUND, _RINGS * _AROUND + 1
    last = (_RINGS - 1) * _AROUND
    front = np.stack([np.full(_AROUND, nose), around, after], axis=-1)
    back = np.stack([np.full(_AROUND, tail), last + after, last + around], axis=-1)
    return np.concatenate([tube, front, back]).astype(np.int32)


def _pectoral_fin(side: float) -> tuple[Array, Faces]:
    """A thin closed blade behind the gill; `side` +1 left, -1 right. [vertices, 3], [triangles, 3]."""
    out, chord = np.meshgrid(np.linspace(0, 1, _FIN_LONG), np.linspace(-0.5, 0.5, _FIN_WIDE), indexing="ij")
    width = 0.042 * (0.55 + 0.9 * out - 1.05 * out**3)
    x = 0.028 + 0.085 * out
    z = -0.135 - 0.055 * out**1.3 - width * chord
    thickness = 0.0016 * (1 - 0.7 * out) * (1 - (2 * chord) ** 2) + 0.0004
    top = np.stack([x, -0.022 + thickness, z], axis=-1).reshape(-1, 3)
    bottom = np.stack([x, -0.022 - thickness, z], axis=-1).reshape(-1, 3)
    points = np.concatenate([top, bottom])
    points[:, 0] *= side
    faces = _blade_faces()
    return points, faces if side > 0 else faces[:, ::-1]


def _blade_faces() -> Faces:
    """Two sheets of a grid and the band that joins their rims."""
    grid = np.arange(_FIN_LONG * _FIN_WIDE).reshape(_FIN_LONG, _FIN_WIDE)
    a, b, c, d = grid[:-1, :-1], grid[1:, :-1], grid[:-1, 1:], grid[1:, 1:]
    top = np.stack([a, b, c, b, d, c], axis=-1).reshape(-1, 3)
    bottom = top[:, ::-1] + grid.size
    rim = np.concatenate([grid[:-1, 0], grid[-1, :-1], grid[:0:-1, -1], grid[0, :0:-1]])
    after = np.roll(rim, -1)
    band = np.concatenate(
        [
            np.stack([rim, rim + grid.size, after], -1),
            np.stack([after, rim + grid.size, after + grid.size], -1),
        ]
    )
    return np.concatenate([top, bottom, band]).astype(np.int32)


def _join(parts: list[Faces], sizes: list[int]) -> Faces:
    """The faces of several meshes whose vertices are put one after the other."""
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    return np.concatenate([faces + int(start) for faces, start in zip(parts, first, strict=True)]).astype(np.int32)


# Its motion.


def _station(points: Array) -> Array:
    """Where along the body a point is: 0 at the nose, 1 at the tail; [vertices]."""
    return np.clip(-points[:, 2] / _LENGTH, 0, None)


def _fin_ripple(along: Array, up: Array, time: float) -> Array:
    """Sideways waves, in metres, of the thin parts: back fin and tail tips; [vertices]."""
    height, _ = _profile(np.clip(along, 0, 1))
    beyond = np.clip(np.abs(up) - height, 0, None) + 0.25 * np.abs(up) * np.clip((along - 0.85) / 0.2, 0, 1)
    result: Array = 0.35 * beyond * np.sin(2 * np.pi * (_BEAT * time - 1.9 * along - 4 * np.abs(up)) - 0.6)
    return result


def _flap(points: Array, side: float, time: float) -> Array:
    """A pectoral fin turned about its root, its tip later than its base; [vertices, 3]."""
    out = (np.abs(points[:, 0]) - 0.028) / 0.085
    angle = np.radians(-38 + 24 * np.sin(2 * np.pi * (0.5 * _BEAT * time - 0.16 * out) + 0.4 * side))
    reach = np.abs(points[:, 0]) - 0.028
    lift = points[:, 1] + 0.022
    result = points.copy()
    result[:, 0] = side * (0.028 + np.cos(angle) * reach - np.sin(angle) * lift)
    result[:, 1] = -0.022 + np.sin(angle) * reach + np.cos(angle) * lift
    twist = 0.25 * np.sin(2 * np.pi * 0.5 * _BEAT * time + 1.2) * out
    result[:, 1] += twist * (points[:, 2] + 0.135 + 0.055 * out**1.3)
    return result


def _heading(travelled: Array) -> Array:
    """Direction of the path in radians from +z towards +x, after so many metres."""
    result: Array = 0.55 * np.sin(2 * np.pi * travelled / 2.1)
    return result


def _path(travelled: Array) -> tuple[Array, Array, Array]:
    """Position (x, y, z) [points, 3], heading [points] and bank [points] in radians, after so many metres."""
    grid = np.linspace(-1.0, 4.0, 5001)
    turn = _heading(grid)
    step = grid[1] - grid[0]
    x, z = np.cumsum(np.sin(turn)) * step, np.cumsum(np.cos(turn)) * step
    origin = np.searchsorted(grid, 0.0)
    x, z = x - x[origin], z - z[origin]
    y = 0.05 * np.sin(2 * np.pi * travelled / 1.7)
    place = np.stack([np.interp(travelled, grid, x), y, np.interp(travelled, grid, z)], axis=-1)
    bank = -0.16 * np.cos(2 * np.pi * travelled / 2.1)
    return place, _heading(travelled), bank


def _swim(points: Array, time: float) -> Array:
    """Bends the resting fish along its path and the wave that runs down its body; [vertices, 3]."""
    back = -points[:, 2]
    place, heading, bank = _path(_SPEED * time - back)
    s = back / _LENGTH
    size = _LENGTH * (0.018 + 0.005 * s + 0.085 * s * s)
    grow = 0.005 + 0.17 * s
    phase = 2 * np.pi * (_BEAT * time - 0.95 * s)
    sideways = size * np.sin(phase)
    slope = grow * np.sin(phase) - size / _LENGTH * 2 * np.pi * 0.95 * np.cos(phase)
    yaw = heading - np.arctan(slope)
    cos_bank, sin_bank = np.cos(bank), np.sin(bank)
    x = cos_bank * points[:, 0] - sin_bank * points[:, 1]
    y = sin_bank * points[:, 0] + cos_bank * points[:, 1]
    across = np.stack([np.cos(heading), np.zeros_like(heading), -np.sin(heading)], axis=-1)
    left = np.stack([np.cos(yaw), np.zeros_like(yaw), -np.sin(yaw)], axis=-1)
    result: Array = place + sideways[:, None] * across + x[:, None] * left
    result[:, 1] += y
    return result
