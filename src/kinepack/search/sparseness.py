"""K from the motion's statistics in place of 0.1: the open question of 004, section 4.

What a parameter is off by while it is frozen is known from its differences alone: the sum not yet released. Their signs
are independent, so a joint is displaced by about the root of the sum of squares of what each moves it by, which the
derivatives of its position at a few poses tell. That predicts DEF at any K without encoding or forward kinematics,
and K for a wanted displacement by bisection.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kinepack.errors import UsageError
from kinepack.math.kinematics import jacobian
from kinepack.model import Clip
from kinepack.transforms.levels import channel_levels
from kinepack.transforms.sparsing import thresholds

Array = NDArray[np.float64]

POSES = 24
"""Frames at which derivatives are taken."""
LARGEST_K = 2.0
CANCELLING = 0.9
"""Mean size of a sum of a few vectors of random sign over the root of the sum of their squares."""
BISECTIONS = 14


@dataclass(frozen=True, eq=False)
class Sparseness:
    """What sparsing a clip at any K is expected to cost."""

    differences: Array
    """[rows, columns]"""
    levels: NDArray[np.int64]
    """[columns]"""
    arms: Array
    """[poses, joints, columns] cm that a joint moves by one unit of a column."""

    @staticmethod
    def of(clip: Clip) -> Sparseness:
        frames = np.unique(np.linspace(0, clip.frames - 1, POSES).astype(int))
        arms = np.linalg.norm(jacobian(clip, frames), axis=2) * clip.unit_cm
        return Sparseness(np.diff(clip.values, axis=0), channel_levels(clip.skeleton), arms)

    def held_back(self, k: float) -> Array:
        """[rows, columns] what each parameter is off by."""
        rule = thresholds(self.differences, self.levels, k)
        held, sums = np.empty_like(self.differences), np.zeros(len(self.levels))
        for row, difference in zip(held, self.differences, strict=True):
            sums += difference
            sums[rule.passed(sums)] = 0
            row[:] = sums
        return held

    def def_cm(self, k: float) -> float:
        """Expected displacement error per frame."""
        stretches = np.array_split(self.held_back(k), len(self.arms))
        squares = (part**2 @ (arms**2).T for part, arms in zip(stretches, self.arms, strict=True))
        displacement = sum(float(np.sqrt(square).sum()) for square in squares)
        return CANCELLING * displacement / (len(self.differences) + 1)


def choose_k(clip: Clip, joint_cm: float = 0.1) -> float:
    """The K whose expected displacement is `joint_cm` on average over the joints; at most 2."""
    if not joint_cm > 0:
        raise UsageError(f"a displacement must be positive, not {joint_cm}")
    statistics, wanted = Sparseness.of(clip), joint_cm * len(clip.skeleton.joints)
    low, high = 0.0, LARGEST_K
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if statistics.def_cm(middle) <= wanted else (low, middle)
    return low
