"""Hierarchical significance of each channel (Figure 2, Chattopadhyay et al.), for any rig by one rule.

The root has level 1 and every other joint one more than its parent, up to 5: hips come before knees before feet, and
K <= 0.2 keeps all thresholds K * level within 1, as section 5.1.2 has it. Channels that move no joint have level 5.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinepack.model import Skeleton

DEEPEST = 5


def joint_levels(skeleton: Skeleton) -> NDArray[np.int64]:
    """[joints]"""
    levels: list[int] = []
    for parent in skeleton.parents.tolist():
        levels.append(min(levels[parent] + 1, DEEPEST) if parent >= 0 else 1)
    return np.array(levels, np.int64)


def channel_levels(skeleton: Skeleton) -> NDArray[np.int64]:
    """[channels]"""
    joints = skeleton.channel_joints
    return np.where(joints >= 0, joint_levels(skeleton)[np.maximum(joints, 0)], DEEPEST)
