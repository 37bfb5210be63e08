"""Foot sliding: what a copy adds to the travel of feet that stand still in the original, and how they go astray.

Which joints are feet, and when they are planted, is told in `transforms.feet`, from the original alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kinepack.metrics.clip_pair import ClipPair, clip_metric
from kinepack.model import Clip
from kinepack.transforms.feet import feet_of, find_planted, up_axis

Array = NDArray[np.float64]


@clip_metric("foot_slide", "extra travel of planted feet since touchdown", "cm")
def foot_slide(pair: ClipPair) -> float:
    """Mean over planted frames of max(0, d' - d), d the horizontal distance from the touchdown."""
    steps = _footing(pair)
    if not steps.planted.any():
        return 0.0
    start = _touchdowns(steps.planted)
    original = _travel_since(steps.original, start)
    extra = np.maximum(_travel_since(steps.copy, start) - original, 0)
    return float(extra[steps.planted].mean())


@clip_metric("foot_drift", "how far planted feet go astray since touchdown", "cm")
def foot_drift(pair: ClipPair) -> float:
    """Mean over planted frames of |(x' - x'_0) - (x - x_0)|, horizontal, x_0 at touchdown: stillness counts too."""
    steps = _footing(pair)
    if not steps.planted.any():
        return 0.0
    start, feet = _touchdowns(steps.planted), np.arange(steps.planted.shape[1])
    astray = steps.copy - steps.original
    return float(np.linalg.norm(astray - astray[start, feet], axis=-1)[steps.planted].mean())


@clip_metric("foot_slide_speed", "extra speed of planted feet", "cm/s")
def foot_slide_speed(pair: ClipPair) -> float:
    """Mean over steps between two planted frames of max(0, v' - v), v the horizontal speed."""
    steps = _footing(pair)
    both = steps.planted[1:] & steps.planted[:-1]
    if not both.any():
        return 0.0
    extra = _step_lengths(steps.copy) - _step_lengths(steps.original)
    return float(np.maximum(extra, 0)[both].mean() / pair.original.frame_time)


def planted_feet(clip: Clip) -> tuple[list[int], NDArray[np.bool_]]:
    """Joints taken for feet, and [frames, feet] where they are planted."""
    pair = ClipPair(clip, clip)
    return feet_of(clip.skeleton, pair.original_points), _footing(pair).planted


@dataclass(frozen=True, eq=False)
class _Footing:
    planted: NDArray[np.bool_]
    """[frames, feet]"""
    original: Array
    """[frames, feet, 2] horizontal position, cm."""
    copy: Array


def _footing(pair: ClipPair) -> _Footing:
    points = pair.original_points
    feet = feet_of(pair.original.skeleton, points)
    axis, _ = up_axis(points, feet)
    level = [a for a in range(3) if a != axis]
    planted = find_planted(points, feet, pair.original.frame_time)
    return _Footing(planted, points[:, feet][..., level], pair.copy_points[:, feet][..., level])


def _touchdowns(planted: NDArray[np.bool_]) -> NDArray[np.intp]:
    """[frames, feet] the frame in which the contact that a frame belongs to began."""
    before = np.concatenate([np.zeros_like(planted[:1]), planted[:-1]])
    begins = np.where(planted & ~before, np.arange(len(planted))[:, None], 0)
    return np.asarray(np.maximum.accumulate(begins, axis=0))


def _travel_since(positions: Array, start: NDArray[np.intp]) -> Array:
    """[frames, feet] distance of each position from the one in frame `start`."""
    feet = np.arange(positions.shape[1])
    return np.asarray(np.linalg.norm(positions - positions[start, feet], axis=-1))


def _step_lengths(positions: Array) -> Array:
    """[frames - 1, feet]"""
    return np.asarray(np.linalg.norm(np.diff(positions, axis=0), axis=-1))
