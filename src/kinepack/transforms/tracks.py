"""From a clip's channels to tracks, the smooth curves that `kine` codes, and back.

A joint that turns about three axes becomes a rotation vector (or heading and tilt, or its own Euler angles); all
other channels are tracks as they are. Angles are radians, lengths centimetres.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels._kine import PoseTables
from kinepack.errors import Corrupt
from kinepack.math import rotation
from kinepack.math.tables import euler_axes
from kinepack.model import Channel, Clip, Skeleton

Array = NDArray[np.float64]

VECTOR, EULER, HEADING_X, HEADING_Y, HEADING_Z = range(5)
FORMS = 5
ORDERS = tuple(permutations(range(3)))
"""In which order a turn's three numbers become tracks."""


@dataclass(frozen=True)
class Turn:
    """The rotation of a joint with three degrees of freedom or more numbers than that."""

    joint: int
    channels: tuple[int, ...]
    axes: str
    """Euler axes in the order of the matrix product; "q" for quaternions, "v" for rotation vectors."""
    rest: tuple[float, float, float, float]
    """Quaternion that rotation vectors start from."""

    @property
    def tracks(self) -> int:
        return 3


@dataclass(frozen=True)
class Plain:
    """A channel that is a track as it is."""

    joint: int
    channel: int
    kind: str
    to_track: float
    """Factor from the channel's unit to the track's."""
    rest: float
    """The channel's value where the track is zero."""

    @property
    def tracks(self) -> int:
        return 1


@dataclass(frozen=True)
class Slots:
    """Where a skeleton's tracks come from, in coding order: joints from the root on, then free scalars."""

    items: tuple[Turn | Plain, ...]
    turns: tuple[Turn, ...]

    @property
    def tracks(self) -> int:
        return len(self.of_tracks)

    @property
    def of_tracks(self) -> list[Turn | Plain]:
        """The item of each track."""
        return [item for item in self.items for _ in range(item.tracks)]


@dataclass(frozen=True)
class TurnForm:
    """How one turn is written: its form and the order of its tracks."""

    form: int = VECTOR
    order: int = 0


@lru_cache(maxsize=64)
def slots_of(skeleton: Skeleton) -> Slots:
    """The tracks of a skeleton, the same for encoder and decoder."""
    items: list[Turn | Plain] = []
    for joint in range(len(skeleton.joints)):
        own = skeleton.channels_of(joint)
        items += [_plain(skeleton, own[kind]) for kind in ("tx", "ty", "tz") if kind in own]
        items += _rotations(skeleton, joint)
        items += [_plain(skeleton, own[kind]) for kind in ("sx", "sy", "sz") if kind in own]
    items += [_plain(skeleton, i) for i, c in enumerate(skeleton.channels) if c.kind == "scalar"]
    return Slots(tuple(items), tuple(item for item in items if isinstance(item, Turn)))


def _plain(skeleton: Skeleton, channel: int) -> Plain:
    found = skeleton.channels[channel]
    if found.kind == "scalar":
        return Plain(found.joint, channel, found.kind, 1.0, 0.0)
    factor = {"t": skeleton.unit_cm, "r": skeleton.radians_per_angle}.get(found.kind[0], 1.0)
    return Plain(found.joint, channel, found.kind, factor, _rest(skeleton, found))


def _rest(skeleton: Skeleton, channel: Channel) -> float:
    """What a channel holds while its joint rests: its offset in the rig, no rotation, its rest scale."""
    joint, axis = skeleton.joints[channel.joint], "xyz".find(channel.kind[1])
    if channel.kind[0] == "t":
        return joint.offset[axis] if skeleton.translation == "replace" else 0.0
    return joint.rest_scale[axis] if channel.kind[0] == "s" else 0.0


def _rotations(skeleton: Skeleton, joint: int) -> list[Turn | Plain]:
    own, described = skeleton.channels_of(joint), skeleton.joints[joint]
    for family in ("qx qy qz qw", "vx vy vz"):
        if family[:2] in own:
            channels = tuple(own[kind] for kind in family.split())
            rest = described.rest if family[0] == "q" and any(described.rest) else rotation.IDENTITY
            return [Turn(joint, channels, family[0], rest)]
    axes = euler_axes(own, described.order)
    if len(axes) == 3:
        return [Turn(joint, tuple(own["r" + a] for a in axes), axes, rotation.IDENTITY)]
    return [_plain(skeleton, own["r" + a]) for a in axes]


# Turns as quaternions.


def turn_quaternions(clip: Clip, turn: Turn) -> Array:
    """[frames, 4] unit quaternions whose sign does not jump."""
    values = clip.values[:, turn.channels]
    if turn.axes == "q":
        turns = rotation.normalize(values)
    elif turn.axes == "v":
        turns = rotation.rotvec_to_quaternion(values)
    else:
        turns = rotation.euler_to_quaternion(values * clip.skeleton.radians_per_angle, turn.axes)
    return rotation.continuous(turns)


def _channels_from(turn: Turn, quaternions: Array, skeleton: Skeleton) -> Array:
    """[frames, channels of the turn], without jumps inside the run of frames."""
    if turn.axes == "q":
        return quaternions
    angles = rotation.unwrap_euler(rotation.quaternion_to_euler(quaternions, turn.axes))
    return angles / skeleton.radians_per_angle


# Forms of a turn. Each has its forward, its inverse, and the axes that its numbers turn about.


def _unwound_vector(quaternions: Array) -> Array:
    """[frames, 3] rotation vectors of continuous quaternions, of length 0..2π, so that passing π is no jump."""
    sign = -1.0 if quaternions[:, 3].sum() < 0 else 1.0
    axis, w = quaternions[:, :3] * sign, quaternions[:, 3] * sign
    sine = np.linalg.norm(axis, axis=1)
    tiny = sine < 1e-12
    factor = np.where(tiny, 2.0, 2 * np.arctan2(sine, w) / np.where(tiny, 1.0, sine))
    return np.asarray(axis * factor[:, None])


def _axis_quaternion(axis: int, angle: Array) -> Array:
    result = np.zeros((*angle.shape, 4))
    result[..., axis], result[..., 3] = np.sin(angle / 2), np.cos(angle / 2)
    return result


def forward_turn(clip: Clip, turn: Turn, form: int, quaternions: Array | None = None) -> Array:
    """[frames, 3] the numbers of a form, before ordering; `quaternions` if the turn's are known."""
    if form == EULER:
        return rotation.unwrap_euler(clip.values[:, turn.channels] * clip.skeleton.radians_per_angle)
    quaternions = turn_quaternions(clip, turn) if quaternions is None else quaternions
    if form == VECTOR:
        return _unwound_vector(rotation.multiply(rotation.conjugate(turn.rest), quaternions))
    axis = form - HEADING_X
    twist = np.zeros_like(quaternions)
    twist[:, axis], twist[:, 3] = quaternions[:, axis], quaternions[:, 3]
    heading = np.unwrap(2 * np.arctan2(twist[:, axis], twist[:, 3]))
    tilt = _unwound_vector(rotation.continuous(rotation.multiply(_axis_quaternion(axis, -heading), quaternions)))
    others = [a for a in range(3) if a != axis]
    return np.column_stack([heading, tilt[:, others]])


def inverse_turn(numbers: Array, turn: Turn, form: int) -> Array:
    """[frames, 4] quaternions of forward_turn's numbers; EULER goes to channels directly instead."""
    if form == VECTOR:
        return rotation.multiply(np.asarray(turn.rest), rotation.rotvec_to_quaternion(numbers))
    if form == EULER:
        return rotation.euler_to_quaternion(numbers, turn.axes)
    axis = form - HEADING_X
    tilt = np.zeros((len(numbers), 3))
    tilt[:, [a for a in range(3) if a != axis]] = numbers[:, 1:]
    return rotation.multiply(_axis_quaternion(axis, numbers[:, 0]), rotation.rotvec_to_quaternion(tilt))


def turn_axes(numbers: Array, turn: Turn, form: int) -> Array:
    """[frames, 3 numbers, 3] angular velocity per unit of each number, in the frame the turn rotates into."""
    if form == VECTOR:
        rest = rotation.quaternion_to_matrix(turn.rest)
        return np.asarray(rotation.rotvec_rates(numbers) @ rest.T)
    if form == EULER:
        return _euler_rates(numbers, turn.axes)
    axis = form - HEADING_X
    others = [a for a in range(3) if a != axis]
    tilt = np.zeros((len(numbers), 3))
    tilt[:, others] = numbers[:, 1:]
    turned = rotation.axis_matrix(axis, numbers[:, 0])
    rates = rotation.rotvec_rates(tilt)[:, others] @ np.swapaxes(turned, -1, -2)
    return np.concatenate([np.broadcast_to(np.eye(3)[axis], (len(numbers), 1, 3)), rates], axis=1)


def _euler_rates(angles: Array, axes: str) -> Array:
    """Row i is the axis of angle i carried by the angles before it."""
    before = np.broadcast_to(np.eye(3), (len(angles), 3, 3))
    rows = []
    for position, letter in enumerate(axes):
        axis = rotation.axes_of(letter)[0]
        rows.append(before[:, :, axis])
        before = before @ rotation.axis_matrix(axis, angles[:, position])
    return np.stack(rows, axis=1)


# All tracks of a clip.


def allowed_forms(skeleton: Skeleton, turn: Turn) -> tuple[int, ...]:
    """Forms that a turn may have."""
    if turn.axes == "v":
        return (VECTOR,)
    euler = (EULER,) if len(turn.axes) == 3 else ()
    root = (HEADING_X, HEADING_Y, HEADING_Z) if skeleton.parents[turn.joint] < 0 else ()
    return (VECTOR, *euler, *root)


def pose_tables(skeleton: Skeleton, forms: list[TurnForm]) -> PoseTables:
    """The inverse of all tracks as the kernel's tables."""
    turns: list[list[int]] = []
    plain: list[list[int]] = []
    at, turn_forms, items = 0, iter(forms), slots_of(skeleton).items
    for item in items:
        if isinstance(item, Plain):
            plain.append([at, item.channel])
            at += 1
            continue
        form = next(turn_forms)
        target = {"q": 1, "v": 2}.get(item.axes, 0)
        axes = rotation.axes_of(item.axes) if target == 0 else (0, 1, 2)
        channels = (*item.channels, 0)[:4]
        turns.append([form.form, *np.argsort(ORDERS[form.order]), target, *channels, *axes, at])
        at += 3
    rests = [item.rest for item in items if isinstance(item, Turn)]
    scales = [[1 / item.to_track, item.rest] for item in items if isinstance(item, Plain)]
    return PoseTables(
        np.array(turns, np.int32).reshape(-1, 13),
        np.array(rests, np.float64).reshape(-1, 4),
        np.array(plain, np.int32).reshape(-1, 2),
        np.array(scales, np.float64).reshape(-1, 2),
        1 / skeleton.radians_per_angle,
    )


def forward_tracks(clip: Clip, forms: list[TurnForm]) -> Array:
    """[frames, tracks]"""
    slots, turn_forms = slots_of(clip.skeleton), iter(forms)
    parts = []
    for item in slots.items:
        if isinstance(item, Turn):
            form = next(turn_forms)
            parts.append(forward_turn(clip, item, form.form)[:, ORDERS[form.order]])
        else:
            parts.append(plain_track(clip, item)[:, None])
    return np.ascontiguousarray(np.concatenate(parts, axis=1))


def plain_track(clip: Clip, item: Plain) -> Array:
    """[frames]; angles without jumps of whole turns."""
    track = (clip.values[:, item.channel] - item.rest) * item.to_track
    return np.unwrap(track) if item.kind[0] == "r" else track


def inverse_tracks(tracks: Array, skeleton: Skeleton, forms: list[TurnForm]) -> Array:
    """[frames, channels] of [frames, tracks]."""
    slots, turn_forms = slots_of(skeleton), iter(forms)
    if tracks.shape[1] != slots.tracks:
        raise Corrupt("the stream has another number of tracks than its skeleton")
    values = np.empty((len(tracks), len(skeleton.channels)))
    at = 0
    for item in slots.items:
        if isinstance(item, Plain):
            values[:, item.channel] = tracks[:, at] / item.to_track + item.rest
            at += 1
            continue
        form = next(turn_forms)
        numbers = np.empty((len(tracks), 3))
        numbers[:, ORDERS[form.order]] = tracks[:, at : at + 3]
        if form.form == EULER:
            values[:, item.channels] = numbers / skeleton.radians_per_angle
        elif item.axes == "v":
            values[:, item.channels] = numbers
        else:
            values[:, item.channels] = _channels_from(item, inverse_turn(numbers, item, form.form), skeleton)
        at += 3
    return values
