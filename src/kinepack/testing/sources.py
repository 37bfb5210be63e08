"""Small sources that break codecs which assume too much."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinepack.math.rig import between
from kinepack.model import Channel, Clip, Joint, MeshSequence, Skeleton


def chain(joints: int = 4, **details: Any) -> Skeleton:
    """A chain of hinges and ball joints with a moving root: 6 + 3 + 1 + 2 … channels."""
    bones = [Joint("root", -1, order="zyx")]
    channels = [Channel(0, kind) for kind in ("tx", "ty", "tz", "rz", "ry", "rx")]
    for number in range(1, joints):
        bones.append(Joint(f"joint{number}", number - 1, (0.0, 10.0, 0.5), order="zyx"))
        channels += [Channel(number, kind) for kind in (("rz", "ry", "rx"), ("rx",), ("rz", "rx"))[(number - 1) % 3]]
    return Skeleton(tuple(bones), tuple(channels), **details)


def awkward_clips() -> dict[str, Clip]:
    """Name -> clip: the cases every clip codec must survive."""
    skeleton, free = chain(), _quaternion_rig()
    channels = len(skeleton.channels)
    locked = _motion(50, channels)
    locked.setflags(write=False)
    return {
        "one-frame": Clip(skeleton, _motion(1, channels), name="one-frame"),
        "two-frames": Clip(skeleton, _motion(2, channels), name="two-frames"),
        "one-joint": Clip(chain(1), _motion(40, 6), 1 / 30, "one-joint"),
        "one-channel": Clip(Skeleton((Joint("hinge", -1),), (Channel(0, "rx"),)), _motion(64, 1), 1 / 60, "hinge"),
        "static": Clip(skeleton, np.full((33, channels), 12.5), name="static"),
        "all-zero": Clip(skeleton, np.zeros((20, channels)), name="zero"),
        "prime-length": Clip(skeleton, _motion(211, channels), 0.0083333, "prime"),
        "read-only": Clip(skeleton, locked, name="locked"),
        "wrapping": Clip(skeleton, _wrapping(90, channels), name="wrapping"),
        "noise": Clip(skeleton, np.random.default_rng(5).normal(0, 90, (60, channels)), name="noise"),
        "quaternions": Clip(free, _quaternion_motion(free, 75), 1 / 24, "quaternions"),
        "keyed": Clip(free, _keyed(free, (5, 5, 5, 24, 1, 7, 7, 13)), 1 / 120, "keyed"),
        "radians": Clip(chain(angle_unit="rad", unit_cm=100.0), _motion(60, channels) / 60, name="radians"),
    }


def surface(mesh: MeshSequence) -> list[list[int]]:
    """Faces from their lowest corner on, sorted: the same for meshes that differ in the order of faces alone."""
    return sorted(min([a, b, c], [b, c, a], [c, a, b]) for a, b, c in mesh.faces.tolist())


def awkward_meshes() -> dict[str, MeshSequence]:
    """Name -> mesh sequence: the cases every mesh codec must survive."""
    grid, faces = _grid(5, 7)
    wave = np.sin(np.arange(31)[:, None] / 5 + grid[None, :, 0])
    moving = np.repeat(grid[None], 31, axis=0)
    moving[:, :, 2] += wave
    single = np.zeros((9, 1, 3), np.float32)
    single[:, 0, 0] = np.arange(9)
    return {
        "one-frame": MeshSequence(grid[None], faces, name="one-frame"),
        "static": MeshSequence(np.repeat(grid[None], 12, axis=0), faces, name="static"),
        "wave": MeshSequence(moving, faces, 1 / 24, "wave"),
        "no-faces": MeshSequence(moving, np.zeros((0, 3), np.int32), name="points"),
        "one-vertex": MeshSequence(single, np.zeros((0, 3), np.int32), name="vertex"),
        "one-point-cloud": MeshSequence(np.ones((4, 6, 3), np.float32), np.array([[0, 1, 2]]), name="collapsed"),
    }


def _motion(frames: int, channels: int) -> NDArray[np.float64]:
    """Smooth curves with a little noise, deterministic."""
    noise = np.random.default_rng(7).normal(0, 0.01, (frames, channels))
    time, channel = np.arange(frames)[:, None], np.arange(channels)[None]
    return np.asarray(30 * np.sin(time / (9 + channel) + channel) + 0.1 * time + noise, np.float64)


def _wrapping(frames: int, channels: int) -> NDArray[np.float64]:
    """Angles that jump from 180 to -180 degrees."""
    turning = np.arange(frames)[:, None] * 11.0 + np.arange(channels)[None] * 40
    return np.asarray((turning + 180) % 360 - 180, np.float64)


def _quaternion_rig() -> Skeleton:
    """Two quaternion joints with offset, translation and scale channels and a free scalar."""
    joints = (Joint("root", -1), Joint("arm", 0, (0.0, 1.0, 0.0)), Joint("hand", 1, (0.5, 0.0, 0.0)))
    kinds = [(0, k) for k in ("tx", "ty", "tz", "qx", "qy", "qz", "qw")]
    kinds += [(1, k) for k in ("qx", "qy", "qz", "qw")] + [(2, k) for k in ("vx", "vy", "vz", "sx", "sy", "sz")]
    channels = tuple(Channel(joint, kind) for joint, kind in kinds)
    return Skeleton(joints, (*channels, Channel(-1, "scalar", "smile")), unit_cm=100.0)


def _quaternion_motion(skeleton: Skeleton, frames: int) -> NDArray[np.float64]:
    values = _motion(frames, len(skeleton.channels)) / 30
    for joint in (0, 1):
        parts = [skeleton.channels_of(joint)[kind] for kind in ("qx", "qy", "qz", "qw")]
        values[:, parts[3]] += 2
        values[:, parts] /= np.linalg.norm(values[:, parts], axis=1, keepdims=True)
    for kind in ("sx", "sy", "sz"):
        values[:, skeleton.channels_of(2)[kind]] = 1 + 0.1 * np.sin(np.arange(frames) / 11)
    return values


def _keyed(skeleton: Skeleton, gaps: tuple[int, ...]) -> NDArray[np.float64]:
    """Keys so many frames apart, and all other frames on the way from one to the next."""
    frames = np.concatenate([[0], np.cumsum(gaps)])
    keys, at = _quaternion_motion(skeleton, len(frames)), np.arange(frames[-1] + 1)
    before = np.minimum(np.searchsorted(frames, at, side="right") - 1, len(gaps) - 1)
    amount = (at - frames[before]) / np.array(gaps)[before]
    return between(skeleton, keys[before], keys[before + 1], amount=amount)


def _grid(rows: int, columns: int) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """A flat sheet of rows x columns vertices and its triangles."""
    y, x = np.mgrid[:rows, :columns]
    points = np.stack([x.ravel(), y.ravel(), np.zeros(x.size)], axis=1).astype(np.float32)
    corner = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    upper = np.stack([corner, corner + 1, corner + columns], axis=1)
    lower = np.stack([corner + 1, corner + columns + 1, corner + columns], axis=1)
    return points, np.concatenate([upper, lower]).astype(np.int32)
