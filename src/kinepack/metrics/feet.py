"""Foot sliding: what a copy adds to the travel of feet that stand still in the original, and how they go astray.

A foot is planted in a frame when, in the original, it is slower than PLANTED_SPEED and within PLANTED_HEIGHT
of its own lowest level (1st percentile of its height). Up is the coordinate axis, with sign, nearest to the
mean direction from the feet to the middle of the body, so that y-up and z-up files both work.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kinepack.metrics.clip_pair import ClipPair, clip_metric
from kinepack.model import Clip, Skeleton

Array = NDArray[np.float64]

PLANTED_SPEED = 20.0
"""cm/s, of all three coordinates."""
PLANTED_HEIGHT = 5.0
"""cm above the foot's lowest level."""
FOOT_NAMES = ("foot", "feet", "toe", "ankle")


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


def feet_of(skeleton: Skeleton, points: Array) -> list[int]:
    """Joints with a foot's name; else the two leaves that are lowest on average, y being up."""
    named = [i for i, j in enumerate(skeleton.joints) if any(part in j.name.lower() for part in FOOT_NAMES)]
    if named:
        return named
    leaves = sorted(set(range(len(skeleton.joints))) - set(skeleton.parents.tolist()))
    return sorted(sorted(leaves, key=lambda leaf: float(points[:, leaf, 1].mean()))[:2])


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
    axis, sign = _up(points, feet)
    level = [a for a in range(3) if a != axis]
    planted = _planted(points[:, feet], sign * points[:, feet, axis], pair.original.frame_time)
    return _Footing(planted, points[:, feet][..., level], pair.copy_points[:, feet][..., level])


def _up(points: Array, feet: list[int]) -> tuple[int, float]:
    rise = points.mean(axis=(0, 1)) - points[:, feet].mean(axis=(0, 1))
    axis = int(np.argmax(np.abs(rise)))
    return (axis, float(np.sign(rise[axis]))) if rise[axis] else (1, 1.0)


def _planted(feet: Array, height: Array, frame_time: float) -> NDArray[np.bool_]:
    """[frames, feet]; one frame alone has no speed, so height decides."""
    speed = np.zeros(height.shape)
    if len(feet) > 1:
        speed = np.linalg.norm(np.gradient(feet, frame_time, axis=0), axis=-1)
    low = height - np.percentile(height, 1, axis=0) < PLANTED_HEIGHT
    return np.asarray(low & (speed < PLANTED_SPEED))


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
