"""Kinematics in plain numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinepack._kernels._kinematics import Floats, Globals


def axis_rotation(axis: int, angles: Floats) -> Floats:
    """Rotations [..., 3, 3] about coordinate axis 0, 1 or 2 by angles [...] in radians."""
    p, q = (axis + 1) % 3, (axis + 2) % 3
    out = np.zeros((*angles.shape, 3, 3))
    out[..., axis, axis] = 1.0
    out[..., p, p] = out[..., q, q] = np.cos(angles)
    out[..., q, p] = np.sin(angles)
    out[..., p, q] = -out[..., q, p]
    return out


def local_rotations(
    values: Floats,
    axis_channel: Any,
    *,
    axis_id: Any,
    angle_scale: float = 1.0,
    frame: Floats | None = None,
    rest: Floats | None = None,
) -> Floats:
    joints = len(axis_channel)
    out = np.tile(np.eye(3), (len(values), joints, 1, 1))
    for j in range(joints):
        factors = [(int(c), int(a)) for c, a in zip(axis_channel[j], axis_id[j], strict=True) if c >= 0]
        for channel, axis in factors:
            out[:, j] = out[:, j] @ axis_rotation(axis, values[:, channel] * angle_scale)
        if factors and frame is not None:
            out[:, j] = frame[j] @ out[:, j] @ frame[j].T
        elif not factors and rest is not None:
            out[:, j] = rest[j]
    return out


def forward_kinematics(
    parents: ArrayLike,
    rotations: Floats,
    *,
    translations: Floats,
    scales: Floats | None = None,
    tips: Floats | None = None,
) -> Globals:
    linear = rotations if scales is None else rotations * scales[..., None, :]
    matrices, origins, points = (
        np.empty_like(linear),
        np.empty_like(translations),
        np.empty_like(translations),
    )
    for j, parent in enumerate(np.asarray(parents).tolist()):
        if parent < 0:
            matrices[:, j], origins[:, j] = linear[:, j], translations[:, j]
        else:
            matrices[:, j] = matrices[:, parent] @ linear[:, j]
            moved = np.einsum("fab,fb->fa", matrices[:, parent], translations[:, j])
            origins[:, j] = origins[:, parent] + moved
        tip = np.zeros(3) if tips is None else tips[j]
        points[:, j] = origins[:, j] + matrices[:, j] @ tip
    return Globals(matrices, origins, points)


def jacobian(
    parents: ArrayLike,
    values: Floats,
    *,
    axis_channel: Any,
    axis_id: Any,
    trans_channel: Any,
    globals_: Globals,
    angle_scale: float = 1.0,
    frame: Floats | None = None,
) -> Floats:
    """All channels; a joint's columns reach the points of the joint and of all joints below it."""
    tree = np.asarray(parents).tolist()
    out = np.zeros((len(values), len(tree), 3, values.shape[1]))
    for j, parent in enumerate(tree):
        above = np.eye(3) if parent < 0 else globals_.rotations[:, parent]
        below = [n for n in range(len(tree)) if j in _ancestors(tree, n)]
        levers = globals_.points[:, below] - globals_.origins[:, j, None]
        prefix = np.broadcast_to(above, (len(values), 3, 3)) @ (np.eye(3) if frame is None else frame[j])
        for channel, axis in zip(axis_channel[j], axis_id[j], strict=True):
            if channel >= 0:
                out[..., channel][:, below] += np.cross(prefix[:, None, :, axis], levers)
                prefix = prefix @ axis_rotation(int(axis), values[:, channel] * angle_scale)
        for axis, channel in enumerate(trans_channel[j]):
            if channel >= 0:
                out[..., channel][:, below] += np.broadcast_to(above, (len(values), 3, 3))[:, None, :, axis]
    return out


def _ancestors(tree: list[int], joint: int) -> list[int]:
    """The joint itself and all joints above it."""
    chain = []
    while joint >= 0:
        chain.append(joint)
        joint = tree[joint]
    return chain
