"""Clips that loop: their end must still meet their beginning after decoding."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinepack.math.kinematics import positions_cm
from kinepack.model import Clip

Array = NDArray[np.float64]

NEAR, FAR = 1.5, 4.0
"""A loop's first pose is at most so many steps from its last, and between them it goes further away than that."""
SHORTEST = 16
"""Frames."""
TRIES = ((4.0, 1.0), (16.0, 1.0), (64.0, 1.0), (64.0, 0.5), (64.0, 0.2))
"""Weight of the first and last frame, and share of the wished error, in turn until the seam holds."""


def is_loop(clip: Clip) -> bool:
    """Whether the first pose comes again after the last, or is the last."""
    if clip.frames < SHORTEST:
        return False
    points = positions_cm(clip)
    away, first, last = (_lengths(points[a] - points[b]) for a, b in ((slice(None), [0]), ([1], [0]), ([-1], [-2])))
    step = max(first[0], last[0])
    return bool(away[-1] <= NEAR * step and away.max() > FAR * step)


def seam_and_inside(clip: Clip, copy: Clip) -> tuple[float, float]:
    """How far the error of a joint changes over the seam at most, and between any two frames inside, in cm."""
    error = positions_cm(copy) - positions_cm(clip)
    return float(_lengths(error[:1] - error[-1:])[0]), float(_lengths(np.diff(error, axis=0)).max())


def with_ends(emphasis: Array | None, shape: tuple[int, int], weight: float) -> Array:
    """[frames, joints] emphasis with more weight on the first and the last frame."""
    result = np.ones(shape) if emphasis is None else emphasis.copy()
    result[[0, -1]] *= weight
    return result


def _lengths(moves: Array) -> Array:
    """[n] the longest of the joints' moves [n, joints, 3]."""
    return np.asarray(np.linalg.norm(moves, axis=-1).max(axis=-1))
