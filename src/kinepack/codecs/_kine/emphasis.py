"""Where errors weigh more: at feet that stand still, and at the peaks of a first try."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinepack.math.kinematics import positions_cm
from kinepack.model import Clip

Array = NDArray[np.float64]

FOOT_NAMES = ("foot", "feet", "toe", "ankle")
PLANTED_CM_S, PLANTED_CM = 20.0, 5.0
"""A planted foot is slower than this, and not higher than this above its lowest level."""
PEAK_GAIN, PEAK_POWER, MOST_EMPHASIS = 8.0, 4.0, 100.0


def planted(clip: Clip, points: Array) -> NDArray[np.bool_]:
    """[frames, joints] feet on the ground; up is the axis along which the body is furthest from its feet."""
    result = np.zeros(points.shape[:2], bool)
    feet = [i for i, j in enumerate(clip.skeleton.joints) if any(part in j.name.lower() for part in FOOT_NAMES)]
    if not feet or clip.frames < 2:
        return result
    rise = points.mean(axis=(0, 1)) - points[:, feet].mean(axis=(0, 1))
    up = int(np.argmax(np.abs(rise)))
    height = np.sign(rise[up]) * points[:, feet, up]
    speed = np.linalg.norm(np.gradient(points[:, feet], clip.frame_time, axis=0), axis=-1)
    result[:, feet] = (height - np.percentile(height, 1, axis=0) < PLANTED_CM) & (speed < PLANTED_CM_S)
    return result


def first_emphasis(clip: Clip, feet: float) -> Array | None:
    """[frames, joints] or None if all weigh alike."""
    if feet == 1:
        return None
    standing = planted(clip, positions_cm(clip))
    return np.where(standing, feet, 1.0) if standing.any() else None


def peak_emphasis(clip: Clip, copy: Clip, emphasis: Array | None) -> Array:
    """More weight where the copy's error is near its largest."""
    error = np.linalg.norm(positions_cm(copy) - positions_cm(clip), axis=-1)
    factor = 1 + PEAK_GAIN * (error / max(float(error.max()), 1e-12)) ** PEAK_POWER
    return np.asarray(np.minimum(factor if emphasis is None else emphasis * factor, MOST_EMPHASIS))
