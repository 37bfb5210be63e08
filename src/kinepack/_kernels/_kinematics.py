"""Rotations from Euler channels, forward kinematics and its Jacobian, on plain arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kinepack._kernels._binding import as_array, check, lib, pointer

Floats = NDArray[np.float64]
Integers = NDArray[np.int32]


class Globals(NamedTuple):
    """Forward kinematics: matrices [frames, joints, 3, 3], origins and points [frames, joints, 3]."""

    rotations: Floats
    origins: Floats
    points: Floats


def sincos(angles: ArrayLike) -> tuple[Floats, Floats]:
    """Sines and cosines of angles [n] in radians, the same bits everywhere; NaN from 1e6 radians on."""
    source = as_array(angles, np.float64, "angles", (None,))
    sines, cosines = np.empty_like(source), np.empty_like(source)
    check(lib.kp_sincos(pointer(source), len(source), pointer(sines), pointer(cosines)), "sincos")
    return sines, cosines


def _matrices(values: ArrayLike | None, name: str, joints: int) -> Floats | None:
    return None if values is None else as_array(values, np.float64, name, (joints, 3, 3))


def local_rotations(
    values: ArrayLike,
    axis_channel: ArrayLike,
    *,
    axis_id: ArrayLike,
    angle_scale: float = 1.0,
    frame: ArrayLike | None = None,
    rest: ArrayLike | None = None,
) -> Floats:
    """Local rotation matrices [frames, joints, 3, 3] of Euler joints.

    values [frames, channels] times `angle_scale` are radians. axis_channel [joints, 3] gives the channel (or
    -1) and axis_id [joints, 3] the axis (0, 1, 2) of each factor, left to right in the matrix product M. The
    result is C M C^T with C from frame [joints, 3, 3], or rest [joints, 3, 3] for a joint without channels;
    both default to the identity.
    """
    source = as_array(values, np.float64, "values", (None, None))
    channel = as_array(axis_channel, np.int32, "axis_channel", (None, 3))
    joints = len(channel)
    axis = as_array(axis_id, np.int32, "axis_id", (joints, 3))
    basis, still = _matrices(frame, "frame", joints), _matrices(rest, "rest", joints)
    out = np.empty((len(source), joints, 3, 3))
    status = lib.kp_local_rotations(
        len(source), joints, source.shape[1], pointer(source), angle_scale, pointer(channel), pointer(axis),
        pointer(basis), pointer(still), pointer(out),
    )  # fmt: skip
    check(status, "local_rotations")
    return out


def forward_kinematics(
    parents: ArrayLike,
    rotations: ArrayLike,
    *,
    translations: ArrayLike,
    scales: ArrayLike | None = None,
    tips: ArrayLike | None = None,
) -> Globals:
    """Global matrices, origins and measured points of every joint.

    parents [joints] come before their children, -1 is a root. rotations [frames, joints, 3, 3], translations
    and scales [frames, joints, 3] are local (translate, rotate, scale). tips [joints, 3] are the local points
    to measure, default the joint's origin.
    """
    tree = as_array(parents, np.int32, "parents", (None,))
    joints = len(tree)
    local = as_array(rotations, np.float64, "rotations", (None, joints, 3, 3))
    frames = len(local)
    shift = as_array(translations, np.float64, "translations", (frames, joints, 3))
    scale = None if scales is None else as_array(scales, np.float64, "scales", (frames, joints, 3))
    tip = None if tips is None else as_array(tips, np.float64, "tips", (joints, 3))
    out = Globals(np.empty_like(local), np.empty_like(shift), np.empty_like(shift))
    status = lib.kp_forward_kinematics(
        frames, joints, pointer(tree), pointer(local), pointer(shift), pointer(scale), pointer(tip),
        *(pointer(part) for part in out),
    )  # fmt: skip
    check(status, "forward_kinematics")
    return out


def jacobian(
    parents: ArrayLike,
    values: ArrayLike,
    *,
    axis_channel: ArrayLike,
    axis_id: ArrayLike,
    trans_channel: ArrayLike,
    globals_: Globals,
    angle_scale: float = 1.0,
    frame: ArrayLike | None = None,
    channels: ArrayLike | None = None,
) -> Floats:
    """d point / d channel [frames, joints, 3, channels]: per radian, or per unit for translations.

    Takes what `local_rotations` took, trans_channel [joints, 3] (channel of the local x, y, z translation, or
    -1) and the `globals_` of the same pose without scales. `channels` selects and orders the columns, default
    all.
    """
    tree = as_array(parents, np.int32, "parents", (None,))
    joints = len(tree)
    source = as_array(values, np.float64, "values", (None, None))
    frames, count = source.shape
    channel = as_array(axis_channel, np.int32, "axis_channel", (joints, 3))
    axis = as_array(axis_id, np.int32, "axis_id", (joints, 3))
    shift = as_array(trans_channel, np.int32, "trans_channel", (joints, 3))
    basis = _matrices(frame, "frame", joints)
    rotations = as_array(globals_.rotations, np.float64, "rotations", (frames, joints, 3, 3))
    origins = as_array(globals_.origins, np.float64, "origins", (frames, joints, 3))
    points = as_array(globals_.points, np.float64, "points", (frames, joints, 3))
    columns, column_of = _columns(channels, count)
    out, scratch = np.empty((frames, joints, 3, columns)), np.empty(9 * joints)
    status = lib.kp_jacobian(
        frames, joints, count, pointer(tree), pointer(source), angle_scale, pointer(channel), pointer(axis),
        pointer(basis), pointer(shift), pointer(rotations), pointer(origins), pointer(points),
        pointer(column_of), columns, pointer(scratch), pointer(out),
    )  # fmt: skip
    check(status, "jacobian")
    return out


def _columns(channels: ArrayLike | None, count: int) -> tuple[int, Integers]:
    """How many columns, and the column of each channel (-1: none)."""
    if channels is None:
        return count, np.arange(count, dtype=np.int32)
    chosen = as_array(channels, np.int32, "channels", (None,))
    column_of = np.full(count, -1, np.int32)
    if chosen.size and not 0 <= int(chosen.min()) <= int(chosen.max()) < count:
        check(lib.KP_ARGUMENT, "jacobian channels")
    column_of[chosen] = np.arange(len(chosen), dtype=np.int32)
    return len(chosen), column_of
