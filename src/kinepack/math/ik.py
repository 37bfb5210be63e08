"""Inverse kinematics: moves the joints of a few limbs so that end effectors reach targets, frame by frame.

Two solvers, both starting from the given pose and staying near it:
- "ccd": cyclic coordinate descent (Welman 1993): one angle at a time, from the effectors inward, is set to the
  value that brings all the effectors below it nearest to their targets;
- "dls": damped least squares, all angles of a limb at once, weighed by what a turn costs the whole pose; where a
  straight limb cannot reach, the root's position gives way too.

Frames do not know of each other, so a window of frames gets what the whole clip would.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels._wavelet import Motion
from kinepack.math.pose_derivatives import motion_of
from kinepack.math.tables import tables_of
from kinepack.model import Clip, Skeleton

Array = NDArray[np.float64]
SOLVERS = ("dls", "ccd")
DAMPING = 1e-3
"""Of damped least squares, as a fraction of the mean squared reach of a frame's chains."""
LARGEST_TURN = 0.5
"""Radians an angle may change in one step."""


@dataclass(frozen=True, eq=False)
class Chains:
    """The channels that may move, from the effectors inward, and which effectors each of them moves."""

    effectors: NDArray[np.intp]
    channels: NDArray[np.intp]
    joints: NDArray[np.intp]
    """[channels] the joint of each."""
    moves: NDArray[np.bool_]
    """[channels, effectors]"""
    turns: int
    """The first so many channels are angles; positions of roots follow."""


def chains_of(skeleton: Skeleton, effectors: Sequence[int]) -> Chains:
    """Euler angles between each effector and the first joint that also carries another limb, or a root.

    After them come the positions of the roots that carry effectors.
    """
    tables = tables_of(skeleton)
    chosen = np.array(sorted(effectors), np.intp)
    carried = tables.below[:, chosen]
    channels, joints = [], []
    for joint in range(len(skeleton.joints) - 1, -1, -1):
        if not carried[joint].any() or skeleton.parents[joint] < 0 or _forks(tables.below, chosen[carried[joint]]):
            continue
        own = [int(c) for c in tables.axis_channel[joint] if c >= 0][::-1]
        channels += own
        joints += [joint] * len(own)
    turns = len(channels)
    for root in np.flatnonzero((skeleton.parents < 0) & carried.any(axis=1)).tolist():
        own = [int(c) for c in tables.translation_channel[root] if c >= 0]
        channels += own
        joints += [root] * len(own)
    moves = carried[joints].reshape(-1, len(chosen))
    return Chains(chosen, np.array(channels, np.intp), np.array(joints, np.intp), moves, turns)


def solve(
    clip: Clip,
    effectors: Sequence[int],
    targets: Array,
    *,
    weights: Array | None = None,
    solver: str = "dls",
    steps: int = 4,
) -> Clip:
    """The clip with effectors' measured points moved toward targets [frames, effectors, 3], in the clip's unit.

    Effectors are in rising order; `weights` [frames, effectors] from 0 to 1 say how much each target counts.
    """
    chains = chains_of(clip.skeleton, effectors)
    values = clip.values.copy()
    counts = np.ones(targets.shape[:2]) if weights is None else weights
    step = _descend if solver == "ccd" else _least_squares
    limit = LARGEST_TURN / clip.skeleton.radians_per_angle
    for _ in range(steps if chains.turns else 0):
        turn = step(motion_of(clip.with_values(values)), chains, targets, counts)
        turn[:, : chains.turns] = np.clip(turn[:, : chains.turns], -limit, limit)
        values[:, chains.channels[: turn.shape[1]]] += turn
    return clip.with_values(values)


def _forks(below: NDArray[np.bool_], effectors: NDArray[np.intp]) -> bool:
    """Whether some of the effectors lie on different limbs."""
    nested = below[np.ix_(effectors, effectors)]
    return not bool((nested | nested.T).all())


def _least_squares(motion: Motion, chains: Chains, targets: Array, weights: Array) -> Array:
    """[frames, channels] of the step M⁻¹Jᵀ (J M⁻¹Jᵀ + λ I)⁻¹ r, M being what a turn costs the whole pose."""
    frames, count = len(targets), len(chains.effectors)
    cost = motion.diagonal()[:, chains.channels]
    typical = _total(cost[:, : chains.turns]) / chains.turns
    ease = 1 / (cost + 0.01 * typical[:, None] + 1e-12)
    columns = np.zeros((frames, count, 3, len(chains.channels)))
    for row, (channel, joint) in enumerate(zip(chains.channels, chains.joints, strict=True)):
        for effector in np.flatnonzero(chains.moves[row]):
            lever = motion.points[:, chains.effectors[effector]] - motion.origins[:, joint]
            axis = motion.axes[:, channel]
            columns[:, effector, :, row] = np.cross(axis, lever) if row < chains.turns else axis
    jacobian = (columns * weights[:, :, None, None]).reshape(frames, 3 * count, -1)
    eased = np.swapaxes(jacobian * ease[:, None], 1, 2)
    square = jacobian @ eased
    reach = np.trace(square, axis1=1, axis2=2)[:, None, None] / (3 * count)
    damped = square + (DAMPING * reach + 1e-12) * np.eye(3 * count)
    shift = (targets - motion.points[:, chains.effectors]) * weights[..., None]
    residual = shift.reshape(frames, 3 * count, 1)
    return np.asarray((eased @ np.linalg.solve(damped, residual))[..., 0])


def _descend(motion: Motion, chains: Chains, targets: Array, weights: Array) -> Array:
    """[frames, channels] of one sweep: every angle in turn takes its best value for all effectors it moves.

    Axes and origins of a joint do not depend on the angles after it, so those at the start of the sweep hold.
    """
    points = np.ascontiguousarray(motion.points[:, chains.effectors])
    turns = np.zeros((len(targets), chains.turns))
    for row, (channel, joint) in enumerate(zip(chains.channels[: chains.turns], chains.joints, strict=False)):
        moved = np.flatnonzero(chains.moves[row])
        axis = motion.axes[:, channel]
        per_unit = np.sqrt(_dot(axis, axis))
        axis = (axis / np.maximum(per_unit, 1e-300)[:, None])[:, None]
        origin = motion.origins[:, joint, None]
        arm, wanted = points[:, moved] - origin, targets[:, moved] - origin
        side = np.cross(axis, arm)
        along = _dot(axis, arm)[..., None] * axis
        wanted = wanted * weights[:, moved, None]
        sine, cosine = _total(_dot(side, wanted)), _total(_dot(arm - along, wanted))
        angle = np.where(np.hypot(sine, cosine) > 1e-12, np.arctan2(sine, cosine), 0.0)
        angle = np.clip(angle, -LARGEST_TURN, LARGEST_TURN)
        turned = along + np.cos(angle)[:, None, None] * (arm - along) + np.sin(angle)[:, None, None] * side
        points[:, moved] = origin + turned
        turns[:, row] = angle / np.maximum(per_unit, 1e-300)
    return turns


# NumPy sums in an order that depends on how an array lies in memory; these do not, so that a frame alone gets the
# same bits as among others.


def _dot(a: Array, b: Array) -> Array:
    """[..., 3] x [..., 3] -> [...]"""
    return np.asarray(a[..., 0] * b[..., 0] + a[..., 1] * b[..., 1] + a[..., 2] * b[..., 2])


def _total(values: Array) -> Array:
    """The sum over the last axis, one after the other."""
    return np.asarray(np.cumsum(values, axis=-1)[..., -1])
