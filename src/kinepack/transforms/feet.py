"""Which joints are feet, and when they stand still: what metrics measure and codecs protect.

A foot is planted in a frame when it is slower than PLANTED_CM_S and within PLANTED_CM of its own lowest level
(1st percentile of its height). Up is the coordinate axis, with sign, nearest to the mean direction from the feet
to the middle of the body, so that y-up and z-up files both work.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kinepack.model import Skeleton

Array = NDArray[np.float64]

FOOT_NAMES = ("foot", "feet", "toe", "ankle")
PLANTED_CM_S = 20.0
"""Of all three coordinates."""
PLANTED_CM = 5.0
"""Above the foot's lowest level."""


def named_feet(skeleton: Skeleton) -> list[int]:
    """Joints that are called like a part of a foot."""
    return [i for i, j in enumerate(skeleton.joints) if any(part in j.name.lower() for part in FOOT_NAMES)]


def leaves_of(skeleton: Skeleton) -> list[int]:
    """Joints without children."""
    return sorted(set(range(len(skeleton.joints))) - set(skeleton.parents.tolist()))


def feet_of(skeleton: Skeleton, points: Array) -> list[int]:
    """Joints with a foot's name; else the two leaves that are lowest on average, y being up."""
    lowest = sorted(leaves_of(skeleton), key=lambda leaf: float(points[:, leaf, 1].mean()))[:2]
    return named_feet(skeleton) or sorted(lowest)


def up_axis(points: Array, feet: Sequence[int]) -> tuple[int, float]:
    """Axis and sign, from points [frames, joints, 3]."""
    rise = points.mean(axis=(0, 1)) - points[:, feet].mean(axis=(0, 1))
    axis = int(np.argmax(np.abs(rise)))
    return (axis, float(np.sign(rise[axis]))) if rise[axis] else (1, 1.0)


def find_planted(points_cm: Array, feet: Sequence[int], frame_time: float) -> NDArray[np.bool_]:
    """[frames, feet] of points [frames, joints, 3]; one frame alone has no speed, so height decides."""
    axis, sign = up_axis(points_cm, feet)
    height = sign * points_cm[:, feet, axis]
    speed = np.zeros(height.shape)
    if len(height) > 1:
        speed = np.linalg.norm(np.gradient(points_cm[:, feet], frame_time, axis=0), axis=-1)
    low = height - np.percentile(height, 1, axis=0) < PLANTED_CM
    return np.asarray(low & (speed < PLANTED_CM_S))
