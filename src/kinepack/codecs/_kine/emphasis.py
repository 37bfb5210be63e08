"""Where errors weigh more: at feet that stand still, and at the peaks of a first try."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinepack.math.kinematics import positions_cm
from kinepack.model import Clip
from kinepack.transforms.feet import feet_of, find_planted

Array = NDArray[np.float64]

PEAK_GAIN, PEAK_POWER, MOST_EMPHASIS = 8.0, 4.0, 100.0


def planted(clip: Clip, points: Array) -> NDArray[np.bool_]:
    """[frames, joints] feet on the ground; one frame alone has none."""
    result = np.zeros(points.shape[:2], bool)
    if clip.frames > 1:
        feet = feet_of(clip.skeleton, points)
        result[:, feet] = find_planted(points, feet, clip.frame_time)
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
