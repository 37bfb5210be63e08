"""Poses and their first derivatives without a Jacobian matrix: what each channel turns or shifts, as tables."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels import _wavelet
from kinepack._kernels._wavelet import Motion, Rig
from kinepack.math import rotation
from kinepack.math.kinematics import Pose, bone_weights, forward_kinematics
from kinepack.math.tables import RigTables, tables_of
from kinepack.model import Clip, Skeleton

Array = NDArray[np.float64]
TURNS, SHIFTS = 1, 2


@lru_cache(maxsize=16)
def native_rig(skeleton: Skeleton) -> Rig:
    """The rig's tables for the kernels; distances weighted by bone length, in the rig's unit."""
    tables, joints = tables_of(skeleton), len(skeleton.joints)
    return Rig(
        parents=skeleton.parents,
        axis_channel=tables.axis_channel,
        axis_id=tables.axis_id,
        translation_channel=tables.translation_channel,
        scale_channel=tables.scale_channel,
        quaternion_channel=_spread(tables.quaternion_joints, tables.quaternion_channels, joints, 4),
        rotvec_channel=_spread(tables.rotvec_joints, tables.rotvec_channels, joints, 3),
        frame=tables.frame,
        rest=tables.rest,
        offsets=skeleton.offsets,
        rest_scale=tables.rest_scale,
        tips=skeleton.tips,
        weights=bone_weights(skeleton),
        channels=len(skeleton.channels),
        angle_scale=skeleton.radians_per_angle,
        adds_translation=skeleton.translation == "add",
    )


def motion_of(clip: Clip, weights: Array | None = None) -> Motion:
    """The clip's poses with what every channel does to them; scales are taken as fixed.

    `weights` [frames, joints] of the measured points are those of e_x by default.
    """
    skeleton, tables = clip.skeleton, tables_of(clip.skeleton)
    pose = forward_kinematics(clip)
    rig = native_rig(skeleton)
    axes = _wavelet.pose_axes(rig, clip.values, pose.rotations)
    _other_axes(clip, tables, pose, axes)
    kinds = channel_kinds(skeleton)
    return Motion(
        parents=skeleton.parents,
        kinds=kinds,
        channel_joints=skeleton.channel_joints,
        weights=np.ascontiguousarray(
            np.broadcast_to(rig.weights if weights is None else weights, pose.points.shape[:2])
        ),
        axes=axes,
        origins=np.ascontiguousarray(pose.origins),
        points=np.ascontiguousarray(pose.points),
    )


def channel_kinds(skeleton: Skeleton) -> NDArray[np.int32]:
    """[channels] 1 for rotations, 2 for translations, 0 for what moves no point or scales."""
    letters = {"r": TURNS, "q": TURNS, "v": TURNS, "t": SHIFTS}
    return np.array(
        [0 if c.kind == "scalar" or c.joint < 0 else letters.get(c.kind[0], 0) for c in skeleton.channels], np.int32
    )


def moving_channels(skeleton: Skeleton) -> NDArray[np.bool_]:
    """[channels] whether a channel moves any measured point of some weight."""
    tables, weights = tables_of(skeleton), bone_weights(skeleton)
    at_joint = np.any(skeleton.tips, axis=1)
    result = np.zeros(len(skeleton.channels), bool)
    for index, channel in enumerate(skeleton.channels):
        if channel.joint < 0 or channel.kind == "scalar":
            continue
        below = tables.below[channel.joint].copy()
        if channel.kind[0] != "t":  # a rotation or a scale leaves its own origin where it is
            below[channel.joint] = at_joint[channel.joint]
        result[index] = bool((weights[below] > 0).any())
    return result


def weighted_error(clip: Clip, targets: Array) -> float:
    """Σ_t Σ_i w_i |x_i - targets_i|² in the rig's unit squared."""
    shift = forward_kinematics(clip).points - targets
    return float(((shift**2).sum(-1) @ bone_weights(clip.skeleton)).sum())


def _spread(joints: NDArray[np.int32], channels: NDArray[np.int32], count: int, width: int) -> NDArray[np.int32]:
    table = np.full((count, width), -1, np.int32)
    table[joints] = channels
    return table


def _other_axes(clip: Clip, tables: RigTables, pose: Pose, axes: Array) -> None:
    """Angular velocity in object space per unit of quaternion and rotation-vector channels."""
    for joints, channels, rates in (
        (tables.quaternion_joints, tables.quaternion_channels, rotation.quaternion_rates),
        (tables.rotvec_joints, tables.rotvec_channels, rotation.rotvec_rates),
    ):
        for joint, own in zip(joints, channels, strict=True):
            parent = clip.skeleton.parents[joint]
            up = pose.rotations[:, parent] if parent >= 0 else np.eye(3)
            axes[:, own] = rates(clip.values[:, own]) @ np.swapaxes(up @ tables.frame[joint], -1, -2)
