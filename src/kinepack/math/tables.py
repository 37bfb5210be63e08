"""A rig as index arrays: which channel feeds which number of which joint."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kinepack.math import rotation
from kinepack.model import Skeleton

Array = NDArray[np.float64]
Indices = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class RigTables:
    """Read-only arrays of one skeleton; a channel index of -1 means that no channel gives the number."""

    axis_channel: Indices
    """[joints, 3] Euler channels in the order of the matrix product; those a joint lacks come last."""
    axis_id: Indices
    """[joints, 3] 0, 1 or 2: the coordinate axis of each."""
    quaternion_joints: Indices
    quaternion_channels: Indices
    """[joints with quaternions, 4]"""
    rotvec_joints: Indices
    rotvec_channels: Indices
    """[joints with rotation vectors, 3]"""
    translation_channel: Indices
    """[joints, 3]"""
    scale_channel: Indices
    """[joints, 3]"""
    frame: Array
    """[joints, 3, 3] the axis frame C."""
    has_frames: bool
    rest: Array
    """[joints, 3, 3] C rest C⁻¹."""
    rest_scale: Array
    """[joints, 3]"""
    has_scale: bool
    below: NDArray[np.bool_]
    """[joints, joints] below[j, i]: joint i is j or hangs from it."""


@lru_cache(maxsize=64)
def tables_of(skeleton: Skeleton) -> RigTables:
    """The tables of a skeleton, computed once for equal skeletons."""
    frame = rotation.euler_to_matrix(np.radians([j.axis_deg[::-1] for j in skeleton.joints] or np.empty((0, 3))), "zyx")
    rest = rotation.quaternion_to_matrix([j.rest for j in skeleton.joints] or np.empty((0, 4)))
    axis_channel, axis_id = _euler_tables(skeleton)
    quaternions, rotvecs = _family(skeleton, "qx qy qz qw"), _family(skeleton, "vx vy vz")
    scale_channel = _vector_table(skeleton, "s")
    rest_scale = np.array([j.rest_scale for j in skeleton.joints], float).reshape(-1, 3)
    tables = RigTables(
        axis_channel=axis_channel,
        axis_id=axis_id,
        quaternion_joints=quaternions[0],
        quaternion_channels=quaternions[1],
        rotvec_joints=rotvecs[0],
        rotvec_channels=rotvecs[1],
        translation_channel=_vector_table(skeleton, "t"),
        scale_channel=scale_channel,
        frame=frame,
        has_frames=any(any(j.axis_deg) for j in skeleton.joints),
        rest=frame @ rest @ np.swapaxes(frame, -1, -2),
        rest_scale=rest_scale,
        has_scale=bool((scale_channel >= 0).any() or (rest_scale != 1).any()),
        below=_below(skeleton),
    )
    for value in vars(tables).values():
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
    return tables


def _euler_tables(skeleton: Skeleton) -> tuple[Indices, Indices]:
    channel = np.full((len(skeleton.joints), 3), -1, np.int32)
    axis = np.zeros_like(channel)
    for index, joint in enumerate(skeleton.joints):
        own = skeleton.channels_of(index)
        for slot, letter in enumerate(euler_axes(own, joint.order)):
            channel[index, slot], axis[index, slot] = own["r" + letter], "xyz".index(letter)
    return channel, axis


def euler_axes(own: dict[str, int], order: str) -> str:
    """The letters of `order` that a joint with the channels `own` turns about."""
    return "".join(letter for letter in order if "r" + letter in own)


def _family(skeleton: Skeleton, kinds: str) -> tuple[Indices, Indices]:
    names = kinds.split()
    joints = [j for j in range(len(skeleton.joints)) if names[0] in skeleton.channels_of(j)]
    channels = [[skeleton.channels_of(j)[name] for name in names] for j in joints]
    return np.array(joints, np.int32), np.array(channels, np.int32).reshape(len(joints), len(names))


def _vector_table(skeleton: Skeleton, letter: str) -> Indices:
    rows = [[skeleton.channels_of(j).get(letter + axis, -1) for axis in "xyz"] for j in range(len(skeleton.joints))]
    return np.array(rows, np.int32).reshape(-1, 3)


def _below(skeleton: Skeleton) -> NDArray[np.bool_]:
    below = np.eye(len(skeleton.joints), dtype=bool)
    for child, joint in enumerate(skeleton.joints):
        if joint.parent >= 0:
            below[:, child] |= below[:, joint.parent]
    return below
