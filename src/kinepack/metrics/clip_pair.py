"""Two clips side by side: joints matched, both poses computed once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinepack.errors import UsageError
from kinepack.math.kinematics import Pose, bone_weights, forward_kinematics
from kinepack.metrics.base import register
from kinepack.model import Clip

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ClipPair:
    """An original and its copy. All arrays follow the original's joints; lengths are centimetres.

    Joints are matched by name, and every joint of the original must be in the copy. Compared are the measured
    points; if only one of the rigs measures at bone tips, the origins.
    """

    original: Clip
    copy: Clip

    def __post_init__(self) -> None:
        check_frames(self.original, self.copy)
        _ = self.matches

    @cached_property
    def matches(self) -> NDArray[np.intp]:
        """[joints] index in the copy of each joint of the original."""
        places = {joint.name: index for index, joint in enumerate(self.copy.skeleton.joints)}
        missing = [j.name for j in self.original.skeleton.joints if j.name not in places]
        if missing:
            raise UsageError(
                f"the copy has no joint {missing[0]!r}" + (f" and lacks {len(missing) - 1} more" * (len(missing) > 1)),
                hint="joints are compared by name; convert one clip to the other's rig first",
            )
        return np.array([places[j.name] for j in self.original.skeleton.joints], np.intp)

    @cached_property
    def at_tips(self) -> bool:
        """Whether the measured points are compared, which for rigs without tips are the origins."""
        return bool(np.any(self.original.skeleton.tips)) == bool(np.any(self.copy.skeleton.tips))

    @cached_property
    def original_pose(self) -> Pose:
        return forward_kinematics(self.original)

    @cached_property
    def copy_pose(self) -> Pose:
        """The copy's pose with its joints in the original's order."""
        pose, order = forward_kinematics(self.copy), self.matches
        if np.array_equal(order, np.arange(pose.points.shape[1])):
            return pose
        return Pose(pose.rotations[:, order], pose.origins[:, order], pose.points[:, order])

    @cached_property
    def original_points(self) -> Array:
        """[frames, joints, 3] cm"""
        pose = self.original_pose
        return (pose.points if self.at_tips else pose.origins) * self.original.unit_cm

    @cached_property
    def copy_points(self) -> Array:
        """[frames, joints, 3] cm"""
        pose = self.copy_pose
        return (pose.points if self.at_tips else pose.origins) * self.copy.unit_cm

    @cached_property
    def shift(self) -> Array:
        """[frames, joints, 3] from the original's points to the copy's, cm."""
        return self.copy_points - self.original_points

    @cached_property
    def error(self) -> Array:
        """[frames, joints] distance, cm."""
        return np.asarray(np.linalg.norm(self.shift, axis=-1))

    @cached_property
    def weights(self) -> Array:
        """[joints] share of the bone that ends at each compared point in the total bone length."""
        skeleton = self.original.skeleton
        if self.at_tips or not np.any(skeleton.tips):
            return bone_weights(skeleton)
        lengths = np.linalg.norm(skeleton.offsets * (skeleton.parents >= 0)[:, None], axis=1)
        total = lengths.sum()
        return np.asarray(lengths / total if total > 0 else np.full(len(lengths), 1 / len(lengths)))


def check_frames(original: Any, copy: Any) -> None:
    """Raises UsageError unless both have as many frames."""
    if original.frames != copy.frames:
        raise UsageError(
            f"the original has {original.frames} frames and the copy {copy.frames}",
            hint="compare the same stretch of both: slice or resample one of them",
        )


def clip_metric(
    id: str, title: str, unit: str
) -> Callable[[Callable[[ClipPair], float]], Callable[[Clip, Clip], float]]:
    """Registers a function of a ClipPair and turns it into a function of (original, copy)."""
    return register(id, title, unit, source=Clip, pair=ClipPair)
