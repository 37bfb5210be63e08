"""How far a rig's points move per unit of each track: the metric's second derivative H = J'WJ.

J'WJ of points with weights W is the joint-space inertia of an articulated body that carries a mass W at each
point, so that the composite rigid body algorithm (Featherstone) gives all of it from one 6x6 matrix a joint.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kinepack.math.kinematics import Pose, bone_weights
from kinepack.math.tables import tables_of
from kinepack.model import Skeleton
from kinepack.transforms.tracks import ORDERS, Array, Plain, TurnForm, slots_of, turn_axes

SKIN_WEIGHT, SKIN = 0.25, 1 / 22
"""Points around each joint beside its measured point, so that nothing turns unseen: weight, and distance as a share of
the rig's longest chain, which is some 110 cm in a grown body."""
BODY_WEIGHT, BODY = 1.0, 1 / 11
"""The same where a body's surface is what counts."""
SHELL_CM = 3.0
SCALAR_CM = 100.0
"""Centimetres that a unit of a free scalar is taken for: one per cent is a centimetre."""


@dataclass(frozen=True, eq=False)
class Masses:
    """Points that ride on joints: joint [n], place in the joint's frame [n, 3] in cm, weight [n] or [frames, n]."""

    joints: NDArray[np.intp]
    places: Array
    weights: Array


def masses_of(skeleton: Skeleton, weighting: str) -> Masses:
    """The points of a metric: "joints" all alike, "bones" by length, "shell" three around each joint.

    "body" is "joints" with as much weight on points around them, as of a head, a hand or a foot.
    """
    count = len(skeleton.joints)
    own = bone_weights(skeleton) if weighting == "bones" else np.full(count, 1 / count)
    tips = skeleton.tips * skeleton.unit_cm
    chain = longest_chain_cm(skeleton)
    around = {"shell": (SHELL_CM, 1.0), "body": (BODY * chain, BODY_WEIGHT)}
    radius, share = around.get(weighting, (SKIN * chain, SKIN_WEIGHT))
    rows: list[tuple[int, Array, float]] = []
    for joint in range(count):
        if weighting != "shell":
            rows.append((joint, tips[joint], own[joint]))
        weight = share * (own[joint] if weighting == "shell" else 1 / count) / 3
        middle = np.zeros(3) if weighting == "shell" else tips[joint]
        rows += [(joint, middle + radius * axis, weight) for axis in np.eye(3)]
    joints, places, weights = zip(*rows, strict=True)
    return Masses(np.array(joints, np.intp), np.array(places), np.array(weights))


def longest_chain_cm(skeleton: Skeleton) -> float:
    """From a root to the furthest measured point, along the bones; 1 where all are at one place."""
    reach = np.zeros(len(skeleton.joints))
    for joint, parent in enumerate(skeleton.parents):
        if parent >= 0:
            reach[joint] = reach[parent] + np.linalg.norm(skeleton.offsets[joint])
    return float((reach + np.linalg.norm(skeleton.tips, axis=1)).max(initial=0) * skeleton.unit_cm) or 1.0


def composite_inertia(skeleton: Skeleton, pose: Pose, masses: Masses) -> Array:
    """[joints, frames, 6, 6] of everything that hangs from each joint, about the first root's origin."""
    origins = (pose.origins - pose.origins[:, :1]) * skeleton.unit_cm
    points = origins[:, masses.joints] + np.einsum("tnij,nj->tni", pose.rotations[:, masses.joints], masses.places)
    spin = np.zeros((*points.shape[:2], 3, 6))
    for a, (b, c) in enumerate([(1, 2), (2, 0), (0, 1)]):
        spin[..., b, c], spin[..., c, b] = points[..., a], -points[..., a]
        spin[..., a, 3 + a] = 1
    spin *= np.sqrt(masses.weights)[..., None, None]
    inertia = np.zeros((len(skeleton.joints), len(points), 6, 6))
    for joint in range(len(skeleton.joints)):
        own = spin[:, masses.joints == joint].reshape(len(points), -1, 6)
        inertia[joint] = np.swapaxes(own, -1, -2) @ own
    for joint in range(len(skeleton.joints) - 1, -1, -1):
        if skeleton.parents[joint] >= 0:
            inertia[skeleton.parents[joint]] += inertia[joint]
    return inertia


def track_twists(
    skeleton: Skeleton, pose: Pose, tracks: Array, forms: list[TurnForm]
) -> tuple[Array, NDArray[np.intp]]:
    """[tracks, frames, 6] angular and linear velocity per unit of each track, and the joint of each (-1: none)."""
    tables, slots = tables_of(skeleton), slots_of(skeleton)
    origins = (pose.origins - pose.origins[:, :1]) * skeleton.unit_cm
    twists, joints = np.zeros((slots.tracks, len(tracks), 6)), np.full(slots.tracks, -1, np.intp)
    turn_forms, at = iter(forms), 0
    for item in slots.items:
        width = 1 if isinstance(item, Plain) else 3
        parent = skeleton.parents[item.joint] if item.joint >= 0 else -1
        above = pose.rotations[:, parent] if parent >= 0 else np.broadcast_to(np.eye(3), (len(tracks), 3, 3))
        if not isinstance(item, Plain):
            form = next(turn_forms)
            numbers = np.empty((len(tracks), 3))
            numbers[:, ORDERS[form.order]] = tracks[:, at : at + 3]
            local = turn_axes(numbers, item, form.form)[:, ORDERS[form.order]]
            axes = np.einsum("tij,tkj->kti", above @ tables.frame[item.joint], local)
            twists[at : at + 3, :, :3] = axes
        elif item.kind[0] == "r":
            twists[at, :, :3] = _euler_axis(skeleton, pose, item, tracks, slots.items, at, above)
        elif item.kind[0] == "t":
            twists[at, :, 3:] = above[:, :, "xyz".index(item.kind[1])]
        if item.kind[0] in "rt" if isinstance(item, Plain) else True:
            joints[at : at + width] = item.joint
            spin = twists[at : at + width, :, :3]
            twists[at : at + width, :, 3:] -= np.cross(spin, origins[:, item.joint])
        at += width
    return twists, joints


def _euler_axis(
    skeleton: Skeleton, pose: Pose, item: Plain, tracks: Array, items: tuple[object, ...], at: int, above: Array
) -> Array:
    """[frames, 3] global axis of one of one or two Euler angles."""
    from kinepack.math.rotation import axis_matrix

    carry = above @ tables_of(skeleton).frame[item.joint]
    before = _same_joint_angle(item, items)
    if before is not None:
        carry = carry @ axis_matrix("xyz".index(before.kind[1]), tracks[:, at - 1])
    return np.asarray(carry[:, :, "xyz".index(item.kind[1])])


def _same_joint_angle(item: Plain, items: tuple[object, ...]) -> Plain | None:
    """The angle that is applied before `item` at the same joint."""
    index = items.index(item)
    found = items[index - 1] if index else None
    if isinstance(found, Plain) and found.joint == item.joint and found.kind[0] == "r":
        return found
    return None


def metric_matrix(skeleton: Skeleton, pose: Pose, tracks: Array, *, forms: list[TurnForm], masses: Masses) -> Array:
    """[tracks, tracks, frames] H, in cm² per unit of both tracks."""
    inertia = composite_inertia(skeleton, pose, masses)
    twists, joints = track_twists(skeleton, pose, tracks, forms)
    below = tables_of(skeleton).below
    result = np.zeros((len(twists), len(twists), len(tracks)))
    for track, joint in enumerate(joints):
        if joint < 0:
            continue
        force = np.einsum("tij,tj->ti", inertia[joint], twists[track])
        above = [a for a in range(track + 1) if joints[a] >= 0 and below[joints[a], joint]]
        coupling = np.einsum("ati,ti->at", twists[above], force)
        result[above, track] = result[track, above] = coupling
    _fill_scales(skeleton, pose, masses, result)
    return result


def _fill_scales(skeleton: Skeleton, pose: Pose, masses: Masses, result: Array) -> None:
    """Scales and scalars only have a diagonal: the mean reach of what a joint carries, or a constant."""
    tables, at = tables_of(skeleton), 0
    for item in slots_of(skeleton).items:
        if isinstance(item, Plain) and item.kind[0] == "s":
            reach = SCALAR_CM
            if item.kind != "scalar":
                carried = tables.below[item.joint][masses.joints]
                arms = (pose.origins[:, masses.joints[carried]] - pose.origins[:, [item.joint]]) * skeleton.unit_cm
                carry = masses.weights[..., carried]
                squares = ((arms**2).sum(-1) * carry).sum(-1) + carry.sum(-1)
                reach = float(np.sqrt(squares.mean() / 3))
            result[at, at] = reach**2
        at += 1 if isinstance(item, Plain) else 3
