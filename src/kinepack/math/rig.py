"""Rewriting a clip onto another kind of rig without moving it.

Every function keeps joint origins (up to rounding), channel order where it can, and names; `scaled` and
`resample` change the unit and the frames.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from kinepack.errors import UsageError
from kinepack.math import rotation
from kinepack.math.tables import euler_axes, tables_of
from kinepack.model import Channel, Clip, Joint, Skeleton

Array = NDArray[np.float64]
Column = tuple[Channel, Array]
Rewrite = Callable[[int], list[Column] | None]
"""The new rotation channels of a joint, or None to keep what it has."""

_Q, _V = ("qx", "qy", "qz", "qw"), ("vx", "vy", "vz")


def to_quaternions(clip: Clip) -> Clip:
    """Every animated rotation as a unit quaternion whose sign does not jump; axis frames and tips stay."""

    def rewrite(joint: int) -> list[Column] | None:
        turns = _turns(clip, joint)
        return None if turns is None else _columns(joint, _Q, rotation.continuous(turns))

    return _rebuilt(clip, clip.skeleton.joints, rewrite)


def to_euler(clip: Clip, order: str | Mapping[str, str] | None = "zxy", *, rests: bool = False) -> Clip:
    """Every animated rotation as three Euler angles without jumps, in the skeleton's angle unit.

    `order` is one order for all joints, or one by joint name (others keep theirs), or None to keep all.
    Joints that have that form already keep their exact numbers. With `rests`, joints that only have a rest
    rotation other than none get constant channels too, for formats that know no other rotations.
    """
    skeleton = clip.skeleton
    orders = [_order_for(joint, order) for joint in skeleton.joints]
    joints = [dataclasses.replace(j, order=o) for j, o in zip(skeleton.joints, orders, strict=True)]

    def rewrite(joint: int) -> list[Column] | None:
        old, new = skeleton.joints[joint].order, orders[joint]
        if new == old and len(euler_axes(skeleton.channels_of(joint), old)) == 3:
            return None
        turns = _turns(clip, joint)
        rest = skeleton.joints[joint].rest
        if turns is None and rests and any(rest[:3]):
            turns = np.tile(rest, (clip.frames, 1))
        return None if turns is None else _columns(joint, _euler_kinds(new), _euler_values(clip, turns, new))

    return _rebuilt(clip, joints, rewrite)


def to_plain(clip: Clip) -> Clip:
    """No axis frames, no bone tips, translations that replace the offset: the rig that BVH and glTF know.

    A tip that is no child's origin becomes an end site. Rotations of joints that had an axis frame keep their
    family, Euler ones with all three axes; other joints keep their exact numbers. Measured points are now the
    origins.
    """
    joints = [_plain_joint(clip.skeleton, index) for index in range(len(clip.skeleton.joints))]

    def rewrite(joint: int) -> list[Column] | None:
        turns = _turns(clip, joint)
        if turns is None or not any(clip.skeleton.joints[joint].axis_deg):
            return None
        frame = _frame_quaternion(clip.skeleton.joints[joint])
        turns = rotation.multiply(rotation.multiply(frame, turns), rotation.conjugate(frame))
        return _in_family(clip, joint, turns)

    plain = _rebuilt(_replacing_offsets(clip), joints, rewrite)
    return dataclasses.replace(plain, skeleton=dataclasses.replace(plain.skeleton, translation="replace"))


def scaled(clip: Clip, unit_cm: float) -> Clip:
    """The same motion with lengths told in units of `unit_cm` centimetres."""
    if not (np.isfinite(unit_cm) and unit_cm > 0):
        raise UsageError(f"centimetres per unit must be positive, not {unit_cm}")
    factor = clip.unit_cm / unit_cm
    joints = tuple(_scaled_joint(joint, factor) for joint in clip.skeleton.joints)
    channels = tuple(_scaled_limit(c, factor) if c.kind[0] == "t" else c for c in clip.skeleton.channels)
    values = clip.values.copy()
    values[:, clip.skeleton.select("t")] *= factor
    skeleton = dataclasses.replace(clip.skeleton, joints=joints, channels=channels, unit_cm=float(unit_cm))
    return dataclasses.replace(clip, skeleton=skeleton, values=values)


def resample(clip: Clip, fps: float) -> Clip:
    """The clip at `fps` frames a second over the time from its first frame to its last.

    Rotations go along the shortest arc between neighbouring frames, all else along straight lines. Euler
    joints with fewer than three axes are interpolated angle by angle, since an arc would leave their reach.
    """
    if not (np.isfinite(fps) and fps > 0):
        raise UsageError(f"frames a second must be positive, not {fps}")
    if abs(fps * clip.frame_time - 1) < 1e-12:
        return clip
    count = int(np.floor((clip.frames - 1) * clip.frame_time * fps + 1e-9)) + 1
    at = np.minimum(np.arange(count) / (fps * clip.frame_time), clip.frames - 1)
    before = np.minimum(at.astype(np.intp), max(clip.frames - 2, 0))
    after, amount = np.minimum(before + 1, clip.frames - 1), at - before
    values = clip.values.copy()
    for joint, kinds in _partial_euler(clip.skeleton):
        own = [clip.skeleton.channels_of(joint)[kind] for kind in kinds]
        per_unit = clip.skeleton.radians_per_angle
        values[:, own] = np.unwrap(values[:, own] * per_unit, axis=0) / per_unit
    values = between(clip.skeleton, values[before], values[after], amount=amount)
    straight = dataclasses.replace(clip, values=values, frame_time=1 / fps)

    def rewrite(joint: int) -> list[Column] | None:
        own = clip.skeleton.channels_of(joint)
        if "qx" in own:
            return _columns(joint, _Q, rotation.continuous(values[:, [own[k] for k in _Q]]))
        turns = _turns(clip, joint)
        if turns is None or len(euler_axes(own, "xyz")) < 3:
            return None
        return _in_family(clip, joint, rotation.slerp(turns[before], turns[after], amount))

    return _rebuilt(straight, clip.skeleton.joints, rewrite)


def between(skeleton: Skeleton, start: Array, end: Array, *, amount: Array) -> Array:
    """[n, channels], [n, channels], [n] in 0..1 -> [n, channels] on the way from `start` to `end`.

    Quaternions and rotation vectors go along the shortest arc, each Euler angle the shorter way round, all else along
    straight lines.
    """
    moves, angles, full = end - start, skeleton.select("r"), 2 * np.pi / skeleton.radians_per_angle
    moves[:, angles] -= full * np.ceil(moves[:, angles] / full - 0.5)
    values = start + moves * amount[:, None]
    for joint in range(len(skeleton.joints)):
        own = skeleton.channels_of(joint)
        if "qx" in own:
            q = [own[k] for k in _Q]
            values[:, q] = rotation.slerp(start[:, q], end[:, q], amount)
        elif "vx" in own:
            v = [own[k] for k in _V]
            one, other = (rotation.rotvec_to_quaternion(part[:, v]) for part in (start, end))
            values[:, v] = rotation.unwound_rotvec(rotation.slerp(one, other, amount))
    return values


# One joint's rotation M as quaternions, and back into channels.


def _turns(clip: Clip, joint: int) -> Array | None:
    """[frames, 4] what the joint's rotation channels say, without the axis frame; None if it has none."""
    own = clip.skeleton.channels_of(joint)
    if "qx" in own:
        return rotation.normalize(clip.values[:, [own[k] for k in _Q]])
    if "vx" in own:
        return rotation.rotvec_to_quaternion(clip.values[:, [own[k] for k in _V]])
    axes = euler_axes(own, clip.skeleton.joints[joint].order)
    if not axes:
        return None
    angles = clip.values[:, [own["r" + axis] for axis in axes]] * clip.skeleton.radians_per_angle
    return rotation.euler_to_quaternion(angles, axes)


def _in_family(clip: Clip, joint: int, turns: Array) -> list[Column]:
    """Channels of the kind the joint has already, Euler ones with all three axes."""
    own, order = clip.skeleton.channels_of(joint), clip.skeleton.joints[joint].order
    if "qx" in own:
        return _columns(joint, _Q, rotation.continuous(turns))
    if "vx" in own:
        return _columns(joint, _V, rotation.quaternion_to_rotvec(turns))
    return _columns(joint, _euler_kinds(order), _euler_values(clip, turns, order))


def _euler_values(clip: Clip, turns: Array, order: str) -> Array:
    return rotation.unwrap_euler(rotation.quaternion_to_euler(turns, order)) / clip.skeleton.radians_per_angle


def _euler_kinds(order: str) -> tuple[str, ...]:
    return tuple("r" + axis for axis in order)


def _columns(joint: int, kinds: tuple[str, ...], values: Array) -> list[Column]:
    return [(Channel(joint, kind), values[:, position]) for position, kind in enumerate(kinds)]


def _rebuilt(clip: Clip, joints: list[Joint] | tuple[Joint, ...], rewrite: Rewrite) -> Clip:
    """The clip with rewritten rotation channels, each joint's where its first one was (or at the end)."""
    replaced = {index: columns for index in range(len(joints)) if (columns := rewrite(index)) is not None}
    pending = dict(replaced)
    result: list[Column] = []
    for index, channel in enumerate(clip.skeleton.channels):
        if channel.kind[0] not in "rqv" or channel.joint not in replaced:
            result.append((channel, clip.values[:, index]))
        elif channel.joint in pending:
            result += pending.pop(channel.joint)
    for columns in pending.values():
        result += columns
    channels = tuple(_with_limit(clip.skeleton, joints, channel) for channel, _ in result)
    values = np.stack([column for _, column in result], axis=1) if result else np.empty((clip.frames, 0))
    skeleton = dataclasses.replace(clip.skeleton, joints=tuple(joints), channels=channels)
    return dataclasses.replace(clip, skeleton=skeleton, values=values)


def _with_limit(skeleton: Skeleton, joints: list[Joint] | tuple[Joint, ...], channel: Channel) -> Channel:
    """A rewritten channel takes over the limit of the old one only if it still means the same angle."""
    old = skeleton.channels_of(channel.joint).get(channel.kind)
    if channel.kind[0] != "r" or old is None or channel.limit is not None:
        return channel
    before, after = skeleton.joints[channel.joint], joints[channel.joint]
    same = (before.order, before.axis_deg) == (after.order, after.axis_deg)
    return dataclasses.replace(channel, limit=skeleton.channels[old].limit) if same else channel


def _order_for(joint: Joint, order: str | Mapping[str, str] | None) -> str:
    chosen = order if isinstance(order, str) else (order or {}).get(joint.name, joint.order)
    if len(rotation.axes_of(chosen)) != 3:
        raise UsageError(f"a joint's rotation order needs three axes, not {chosen!r}")
    return chosen.lower()


def _partial_euler(skeleton: Skeleton) -> list[tuple[int, tuple[str, ...]]]:
    """Joints with one or two Euler channels, and their kinds."""
    found = [(j, euler_axes(skeleton.channels_of(j), "xyz")) for j in range(len(skeleton.joints))]
    return [(joint, _euler_kinds(axes)) for joint, axes in found if len(axes) in (1, 2)]


# Plain rigs.


def _frame_quaternion(joint: Joint) -> Array:
    return rotation.euler_to_quaternion(np.radians(joint.axis_deg[::-1]), "zyx")


def _plain_joint(skeleton: Skeleton, index: int) -> Joint:
    joint, tip = skeleton.joints[index], skeleton.tips[index]
    offsets = skeleton.offsets[skeleton.parents == index]
    apart = np.linalg.norm(offsets - tip, axis=1) > 1e-9 * max(1.0, float(np.linalg.norm(tip)))
    sites = joint.end_sites
    if tip.any() and apart.all():
        sites = (*sites, (float(tip[0]), float(tip[1]), float(tip[2])))
    rest = joint.rest
    if any(joint.axis_deg):
        frame = _frame_quaternion(joint)
        x, y, z, w = rotation.multiply(rotation.multiply(frame, rest), rotation.conjugate(frame)).tolist()
        rest = (x, y, z, w)
    return dataclasses.replace(
        joint, axis_deg=(0.0, 0.0, 0.0), rest=rest, direction=(0.0, 0.0, 0.0), length=0.0, end_sites=sites
    )


def _replacing_offsets(clip: Clip) -> Clip:
    """Values as a skeleton whose translations replace the offset would have them."""
    if clip.skeleton.translation == "replace":
        return clip
    values, channel = clip.values.copy(), tables_of(clip.skeleton).translation_channel
    joints, axes = np.nonzero(channel >= 0)
    values[:, channel[joints, axes]] += clip.skeleton.offsets[joints, axes]
    return clip.with_values(values)


# Units.


def _scaled_joint(joint: Joint, factor: float) -> Joint:
    def times(vector: tuple[float, float, float]) -> tuple[float, float, float]:
        return (vector[0] * factor, vector[1] * factor, vector[2] * factor)

    sites = tuple(times(site) for site in joint.end_sites)
    return dataclasses.replace(joint, offset=times(joint.offset), length=joint.length * factor, end_sites=sites)


def _scaled_limit(channel: Channel, factor: float) -> Channel:
    limit = channel.limit
    return channel if limit is None else dataclasses.replace(channel, limit=(limit[0] * factor, limit[1] * factor))
