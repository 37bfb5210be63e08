"""How far joints are from where they should be, and how the motion between frames differs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinepack.math import rotation
from kinepack.math.kinematics import local_transforms
from kinepack.metrics.clip_pair import ClipPair, clip_metric
from kinepack.model import Clip, Skeleton

Array = NDArray[np.float64]

SHELL_CM = 3.0
"""Distance of the virtual vertices from their joint."""


def joint_error(original: Clip, copy: Clip) -> Array:
    """[frames, joints] distance between measured points, cm, in the order of the original's joints."""
    return ClipPair(original, copy).error


def shell_error(original: Clip, copy: Clip) -> Array:
    """[frames, joints] largest displacement of the three virtual vertices of each joint, cm."""
    return _shell(ClipPair(original, copy))


@clip_metric("def", "displacement error per frame, summed over joints", "cm")
def displacement_per_frame(pair: ClipPair) -> float:
    """Σ_i Σ_t |P_ti - P'_ti| / n (Eq. 8-9, Chattopadhyay et al.)."""
    return float(pair.error.sum() / pair.original.frames)


@clip_metric("e_x", "positional distortion, joints weighted by bone length", "cm")
def e_x(pair: ClipPair) -> float:
    """sqrt(1/n Σ_t Σ_i |x_i - x̂_i|² l_i / l) (section 3.1, Beaudoin et al. 2007)."""
    return float(np.sqrt((pair.error**2 @ pair.weights).mean()))


@clip_metric("joint_mean", "mean joint distance", "cm")
def joint_mean(pair: ClipPair) -> float:
    return float(pair.error.mean())


@clip_metric("joint_rms", "RMS joint distance", "cm")
def joint_rms(pair: ClipPair) -> float:
    return float(np.sqrt((pair.error**2).mean()))


@clip_metric("joint_p99", "99th percentile of joint distances", "cm")
def joint_p99(pair: ClipPair) -> float:
    return float(np.percentile(pair.error, 99))


@clip_metric("joint_max", "largest joint distance", "cm")
def joint_max(pair: ClipPair) -> float:
    return float(pair.error.max())


@clip_metric("shell_mean", "mean displacement 3 cm around each joint", "cm")
def shell_mean(pair: ClipPair) -> float:
    return float(_shell(pair).mean())


@clip_metric("shell_max", "largest displacement 3 cm around any joint", "cm")
def shell_max(pair: ClipPair) -> float:
    return float(_shell(pair).max())


@clip_metric("accel_rms", "RMS difference of joint acceleration", "cm/s²")
def accel_rms(pair: ClipPair) -> float:
    """Second difference of the error, since differencing is linear; 0 for fewer than three frames."""
    if pair.original.frames < 3:
        return 0.0
    accelerations = np.diff(pair.shift, n=2, axis=0) / pair.original.frame_time / pair.original.frame_time
    return float(np.sqrt((accelerations**2).sum(-1).mean()))


@clip_metric("angle_rms_deg", "RMS angle difference", "degrees")
def angle_rms_deg(pair: ClipPair) -> float:
    """Over Euler channels where both clips have the same ones, else over joints' local rotations."""
    if _same_euler_channels(pair.original.skeleton, pair.copy.skeleton):
        return _rms_deg(_channel_differences(pair))
    animated = sorted({c.joint for c in pair.original.skeleton.channels if c.kind[0] in "rqv"})
    if not animated:
        return 0.0
    ours = local_transforms(pair.original).rotations[:, animated]
    theirs = local_transforms(pair.copy).rotations[:, pair.matches[animated]]
    return _rms_deg(rotation.angle_between(ours, theirs))


def _shell(pair: ClipPair) -> Array:
    """[frames, joints] cm. A vertex sits at origin + 3 cm times a column of the joint's global matrix."""
    original, copy = pair.original_pose, pair.copy_pose
    shift = copy.origins * pair.copy.unit_cm - original.origins * pair.original.unit_cm
    vertices = shift[..., :, None] + SHELL_CM * (copy.rotations - original.rotations)
    return np.asarray(np.linalg.norm(vertices, axis=-2).max(axis=-1))


def _rms_deg(radians: Array) -> float:
    return float(np.degrees(np.sqrt((radians**2).mean()))) if radians.size else 0.0


def _same_euler_channels(ours: Skeleton, theirs: Skeleton) -> bool:
    """Whether the same column of both clips is the same angle, for every rotation channel."""
    return (
        not len(ours.select("qv"))
        and [(c.joint, c.kind) for c in ours.channels] == [(c.joint, c.kind) for c in theirs.channels]
        and [(j.name, j.order, j.axis_deg) for j in ours.joints]
        == [(j.name, j.order, j.axis_deg) for j in theirs.joints]
    )


def _channel_differences(pair: ClipPair) -> Array:
    """[frames, Euler channels] radians in [-π, π)."""
    columns = pair.original.skeleton.select("r")
    ours = pair.original.values[:, columns] * pair.original.skeleton.radians_per_angle
    theirs = pair.copy.values[:, columns] * pair.copy.skeleton.radians_per_angle
    return rotation.wrap(theirs - ours)
