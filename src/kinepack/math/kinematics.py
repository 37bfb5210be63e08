"""From channel values to poses: local transforms, forward kinematics and its derivatives.

A joint's local transform is T R S (see `kinepack.model.skeleton`), so a global matrix is that of the parent
times R S and a joint's origin is the parent's origin plus the parent's matrix times T.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinepack import _kernels
from kinepack.math import rotation
from kinepack.math.tables import RigTables, tables_of
from kinepack.model import Clip, Skeleton

Array = NDArray[np.float64]

LARGEST_ANGLE = 1e6
"""Radians from which on the kernels' sine and cosine are not defined."""


@dataclass(frozen=True, eq=False)
class LocalTransforms:
    """What each joint does in its parent's frame; lengths in the clip's unit."""

    rotations: Array
    """[frames, joints, 3, 3] C M C⁻¹."""
    translations: Array
    """[frames, joints, 3]"""
    scales: Array | None
    """[frames, joints, 3], or None when every scale is one."""


@dataclass(frozen=True, eq=False)
class Pose:
    """Where each joint is in object space; lengths in the clip's unit."""

    rotations: Array
    """[frames, joints, 3, 3] global matrices: rotations, times scales where the rig has any."""
    origins: Array
    """[frames, joints, 3]"""
    points: Array
    """[frames, joints, 3] the measured points: the bone's end where a joint has one, else its origin."""


@dataclass(frozen=True, eq=False)
class EndSites:
    """Points that move with a joint but are not joints."""

    joints: NDArray[np.int32]
    """[sites] the joint of each."""
    points: Array
    """[frames, sites, 3] in the clip's unit."""


def local_transforms(clip: Clip) -> LocalTransforms:
    """Rotations, translations and scales of every joint in its parent's frame."""
    tables = tables_of(clip.skeleton)
    rotations = _euler_rotations(clip, tables)
    _fill_other_families(clip.values, tables, rotations)
    return LocalTransforms(rotations, _translations(clip, tables), _scales(clip, tables))


def forward_kinematics(clip: Clip) -> Pose:
    """Global matrices, joint origins and measured points of every frame."""
    return compose(clip.skeleton, local_transforms(clip))


def compose(skeleton: Skeleton, local: LocalTransforms) -> Pose:
    """Local transforms carried down the hierarchy."""
    moved = _kernels.forward_kinematics(
        skeleton.parents,
        local.rotations,
        translations=local.translations,
        scales=local.scales,
        tips=skeleton.tips,
    )
    return Pose(moved.rotations, moved.origins, moved.points)


def positions_cm(clip: Clip) -> Array:
    """[frames, joints, 3] measured points in centimetres."""
    return np.asarray(forward_kinematics(clip).points * clip.unit_cm)


def end_sites(clip: Clip, pose: Pose | None = None) -> EndSites:
    """Positions of all end sites, in the order of their joints; `pose` saves computing it again."""
    pose = forward_kinematics(clip) if pose is None else pose
    pairs = [(index, site) for index, joint in enumerate(clip.skeleton.joints) for site in joint.end_sites]
    joints = np.array([index for index, _ in pairs], np.int32)
    offsets = np.array([site for _, site in pairs], float).reshape(-1, 3, 1)
    return EndSites(joints, pose.origins[:, joints] + (pose.rotations[:, joints] @ offsets)[..., 0])


def bone_weights(skeleton: Skeleton) -> Array:
    """[joints] l_i / Σ l: each bone's share in the total length; equal shares if no bone has a length."""
    lengths = skeleton.bone_lengths
    total = lengths.sum()
    return np.asarray(lengths / total if total > 0 else np.full(len(lengths), 1 / max(len(lengths), 1)))


# Local transforms.


def _euler_rotations(clip: Clip, tables: RigTables) -> Array:
    """[frames, joints, 3, 3]; joints without Euler channels get their rest rotation."""
    return _kernels.local_rotations(
        _moderate_angles(clip),
        tables.axis_channel,
        axis_id=tables.axis_id,
        angle_scale=clip.skeleton.radians_per_angle,
        frame=tables.frame if tables.has_frames else None,
        rest=tables.rest,
    )


def _moderate_angles(clip: Clip) -> Array:
    """The clip's values; whole turns leave angles that the kernels' sine and cosine would refuse."""
    columns = clip.skeleton.select("r")
    turn = 2 * np.pi / clip.skeleton.radians_per_angle
    if not len(columns) or np.abs(clip.values[:, columns]).max() < LARGEST_ANGLE * turn / (2 * np.pi):
        return clip.values
    values = clip.values.copy()
    values[:, columns] = np.fmod(values[:, columns], turn)
    return values


def _fill_other_families(values: Array, tables: RigTables, rotations: Array) -> None:
    """Writes the rotations of joints with quaternion or rotation-vector channels into `rotations`."""
    for joints, turns in (
        (tables.quaternion_joints, rotation.quaternion_to_matrix(values[:, tables.quaternion_channels])),
        (tables.rotvec_joints, rotation.rotvec_to_matrix(values[:, tables.rotvec_channels])),
    ):
        if len(joints):
            frame = tables.frame[joints]
            rotations[:, joints] = frame @ turns @ np.swapaxes(frame, -1, -2)


def _translations(clip: Clip, tables: RigTables) -> Array:
    channel, offsets = tables.translation_channel, clip.skeleton.offsets
    result = np.broadcast_to(offsets, (clip.frames, *offsets.shape)).copy()
    joints, axes = np.nonzero(channel >= 0)
    moves = clip.values[:, channel[joints, axes]]
    result[:, joints, axes] = moves if clip.skeleton.translation == "replace" else offsets[joints, axes] + moves
    return result


def _scales(clip: Clip, tables: RigTables) -> Array | None:
    if not tables.has_scale:
        return None
    result = np.broadcast_to(tables.rest_scale, (clip.frames, *tables.rest_scale.shape)).copy()
    joints, axes = np.nonzero(tables.scale_channel >= 0)
    result[:, joints, axes] = clip.values[:, tables.scale_channel[joints, axes]]
    return result


# Derivatives.


def jacobian(clip: Clip, frames: Any = None) -> Array:
    """[frames, joints, 3, channels] d point / d channel, lengths per unit of the channel.

    `frames` picks frames by index array or slice. Exact for rigs without scales; rigs with scales, and no
    others, are differenced, to about nine digits.
    """
    part = clip if frames is None else clip.with_values(np.atleast_2d(clip.values[frames]))
    tables = tables_of(clip.skeleton)
    if tables.has_scale:
        return _differenced_jacobian(part)
    pose = forward_kinematics(part)
    result = _kernels.jacobian(
        clip.skeleton.parents,
        _moderate_angles(part),
        axis_channel=tables.axis_channel,
        axis_id=tables.axis_id,
        trans_channel=tables.translation_channel,
        globals_=_kernels.Globals(pose.rotations, pose.origins, pose.points),
        angle_scale=clip.skeleton.radians_per_angle,
        frame=tables.frame if tables.has_frames else None,
    )
    if clip.skeleton.radians_per_angle != 1:
        result[..., clip.skeleton.select("r")] *= clip.skeleton.radians_per_angle
    _other_family_columns(part, tables, pose, result)
    return result


def _parent_matrices(skeleton: Skeleton, pose: Pose, joint: int) -> Array:
    """[frames, 3, 3], or [3, 3] for a root."""
    parent = skeleton.parents[joint]
    return pose.rotations[:, parent] if parent >= 0 else np.eye(3)


def _spin(tables: RigTables, pose: Pose, joint: int, axis: Array, column: Array) -> None:
    """column[frames, joints, 3] = axis x arm, for every point that turns with the joint."""
    moved = tables.below[joint]
    arms = pose.points[:, moved] - pose.origins[:, joint, None]
    column[:, moved] = np.cross(axis[:, None], arms)


def _other_family_columns(clip: Clip, tables: RigTables, pose: Pose, out: Array) -> None:
    for joints, channels, rates in (
        (tables.quaternion_joints, tables.quaternion_channels, rotation.quaternion_rates),
        (tables.rotvec_joints, tables.rotvec_channels, rotation.rotvec_rates),
    ):
        for joint, own in zip(joints, channels, strict=True):
            carry = _parent_matrices(clip.skeleton, pose, joint) @ tables.frame[joint]
            axes = rates(clip.values[:, own]) @ np.swapaxes(carry, -1, -2)
            for row, channel in enumerate(own):
                _spin(tables, pose, joint, axes[:, row], out[..., channel])


def _differenced_jacobian(clip: Clip) -> Array:
    """Central differences; exact but for rounding in translations and scales, in which points are linear."""
    columns = []
    for channel, described in enumerate(clip.skeleton.channels):
        per_unit = clip.skeleton.radians_per_angle if described.kind[0] == "r" else 1.0
        step = np.zeros(len(clip.skeleton.channels))
        step[channel] = 6e-6 / per_unit  # the cube root of the rounding unit balances both errors
        ahead, behind = (clip.with_values(clip.values + sign * step) for sign in (1, -1))
        rise = forward_kinematics(ahead).points - forward_kinematics(behind).points
        columns.append(rise / (2 * step[channel]))
    return np.stack(columns, axis=-1)
