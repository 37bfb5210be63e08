"""Between clips and BAP integers: H-Anim rigs directly, CMU rigs by name (relabel) or by rotation (true).

Relabel puts each CMU degree of freedom's value under one BAP's name. It loses only the rounding to 1e-5
rad and 1 mm, but the pose differs on an H-Anim body, since ASF bones turn in frames of their own. True
takes each bone's rotation C M C⁻¹ in its parent's frame and decomposes it about the axes that the BAPs of
its joint have; what they cannot reach is a residual, which is measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kinepack.errors import UnsupportedContent, UsageError
from kinepack.formats.bap_table import Bap, baps, by_channel, by_cmu, skeleton_of
from kinepack.math import rig, rotation
from kinepack.math.kinematics import local_transforms
from kinepack.model import Clip, Skeleton

Array = NDArray[np.float64]
LARGEST = 2**31 - 1
"""Bound on a BAP's absolute value, as in 32-bit readers."""


@dataclass
class BapTrack:
    """Whole numbers [frames] by BAP number, and what they could not hold."""

    values: dict[int, NDArray[np.int64]] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    rounding: float = 0.0
    """Largest change by rounding, in steps of 1e-5 rad or 1 mm."""

    def set(self, bap: Bap, physical: Array) -> None:
        """Rounds values in rad, mm or an extension's unit that have the parameter's own sign."""
        exact = physical * bap.per_unit
        rounded = np.rint(exact)
        if np.abs(rounded).max() > LARGEST:
            raise UnsupportedContent(f"{bap.name} is too large for a BAP")
        self.rounding = max(self.rounding, float(np.abs(rounded - exact).max()))
        self.values[bap.index] = rounded.astype(np.int64)


def clip_of(
    indices: list[int], values: NDArray[np.int64], frame_time: float, name: str, *, notes: Mapping[str, str]
) -> Clip:
    """A clip on the humanoid from whole numbers [frames, parameters]."""
    chosen = [baps()[index - 1] for index in indices]
    signs = np.array([bap.sign for bap in chosen], np.int64)
    per_unit = np.array([bap.per_unit for bap in chosen])
    return Clip(skeleton_of(indices, notes), values * signs / per_unit, frame_time, name)


def is_cmu(skeleton: Skeleton) -> bool:
    """Whether bones have the names of the CMU skeleton."""
    return any((skeleton.joints[c.joint].name, c.kind) in by_cmu() for c in skeleton.channels if c.joint >= 0)


def to_baps(clip: Clip, mapping: str = "relabel") -> BapTrack:
    """The clip's parameters: its own if its joints are H-Anim's, else a CMU skeleton's by `mapping`."""
    by_rotation = mapping == "true"
    track = _own(clip) if not is_cmu(clip.skeleton) else _true(clip) if by_rotation else _relabel(clip)
    if track.rounding > 1e-4:  # less is the noise of 1e5 * (n / 1e5)
        track.lost.append("angles are rounded to 1e-5 rad, translations to 1 mm")
    if not track.values:
        raise UnsupportedContent("BAP holds bodies with H-Anim or CMU joint names only")
    return track


def _physical(clip: Clip, channel: int) -> Array:
    """A channel in rad, mm or as it is."""
    kind, values = clip.skeleton.channels[channel].kind, clip.values[:, channel]
    if kind[0] == "r":
        return np.asarray(values * clip.skeleton.radians_per_angle)
    return np.asarray(values * (clip.unit_cm * 10)) if kind[0] == "t" else values


def _own(clip: Clip) -> BapTrack:
    """Parameters of an H-Anim rig; rotations in another form than Rz Ry Rx are rewritten first."""
    track, names = BapTrack(), [joint.name for joint in clip.skeleton.joints]
    clip = _as_zyx(clip, track)
    ignored = 0
    for index, channel in enumerate(clip.skeleton.channels):
        joint = names[channel.joint] if channel.joint >= 0 else ""
        bap = by_channel().get((joint, channel.name or channel.kind))
        physical = _physical(clip, index)
        if bap is not None:
            track.set(bap, physical * bap.sign)
        elif np.any(physical):
            ignored += 1
    if ignored:
        track.lost.append(f"{ignored} channels that no BAP is for")
    return track


def _as_zyx(clip: Clip, track: BapTrack) -> Clip:
    skeleton = clip.skeleton
    wrong = [j.name for i, j in enumerate(skeleton.joints) if _needs_rewrite(skeleton, i)]
    if wrong:
        track.lost.append("rotations in another form than Rz Ry Rx were rewritten, the pose stays")
        clip = rig.to_euler(rig.to_plain(clip), dict.fromkeys(wrong, "zyx"))
    return clip


def _needs_rewrite(skeleton: Skeleton, joint: int) -> bool:
    own, order = skeleton.channels_of(joint), skeleton.joints[joint].order
    turns = [axis for axis in order if f"r{axis}" in own]
    return "qx" in own or "vx" in own or turns != sorted(turns, reverse=True) or any(skeleton.joints[joint].axis_deg)


# CMU by name.


def _relabel(clip: Clip) -> BapTrack:
    track, ignored = BapTrack(), 0
    for index, channel in enumerate(clip.skeleton.channels):
        name = clip.skeleton.joints[channel.joint].name if channel.joint >= 0 else ""
        bap = by_cmu().get((name, channel.kind))
        if bap is None:
            ignored += 1
        else:
            track.set(bap, _physical(clip, index))
    if ignored:
        track.lost.append(f"{ignored} channels that no BAP is for")
    track.lost.append("relabelled: CMU values under BAP names, so the pose on an H-Anim body differs")
    return track


def from_bap(clip: Clip, skeleton: Skeleton) -> Clip:
    """A relabelled BAP clip back on its CMU skeleton; degrees of freedom that the clip lacks are zero."""
    if not is_cmu(skeleton):
        raise UsageError("the skeleton's bones do not have CMU names")
    track = _own(clip)
    values = np.zeros((clip.frames, len(skeleton.channels)))
    for index, channel in enumerate(skeleton.channels):
        name = skeleton.joints[channel.joint].name if channel.joint >= 0 else ""
        bap = by_cmu().get((name, channel.kind))
        if bap is None or bap.index not in track.values:
            continue
        unit = skeleton.unit_cm * 10 if channel.kind[0] == "t" else skeleton.radians_per_angle
        values[:, index] = track.values[bap.index] / bap.per_unit / unit
    return Clip(skeleton, values, clip.frame_time, clip.name)


# CMU by rotation.


@dataclass
class _Group:
    """Bones whose rotations multiply to those of a chain of H-Anim joints."""

    bones: list[str] = field(default_factory=list)
    joints: list[str] = field(default_factory=list)


def _groups() -> list[_Group]:
    """From the table: a bone belongs to every joint that one of its degrees of freedom is called by."""
    groups: list[_Group] = []
    for (bone, kind), bap in by_cmu().items():
        if kind[0] != "r":
            continue
        group = next((g for g in groups if bone in g.bones or bap.joint in g.joints), None)
        if group is None:
            groups.append(group := _Group())
        group.bones += [] if bone in group.bones else [bone]
        group.joints += [] if bap.joint in group.joints else [bap.joint]
    return groups


def _true(clip: Clip) -> BapTrack:
    track, places = BapTrack(), {joint.name: i for i, joint in enumerate(clip.skeleton.joints)}
    local = local_transforms(clip)
    for (bone, kind), bap in by_cmu().items():
        if kind[0] == "t" and bone in places:
            moved = local.translations[:, places[bone], "xyz".index(kind[1])]
            track.set(bap, moved * (clip.unit_cm * 10))
    for group in _groups():
        bones = sorted(places[bone] for bone in group.bones if bone in places)
        if bones:
            total = local.rotations[:, bones[0]]
            for place in bones[1:]:
                total = total @ local.rotations[:, place]
            _decompose(track, group, total)
    track.lost.append("rest poses of the two bodies differ: angles are relative to the CMU rest pose")
    return track


def _decompose(track: BapTrack, group: _Group, total: Array) -> None:
    """The group's parameters, each axis once, joints outward and Rz Ry Rx inside a joint."""
    chosen: dict[str, Bap] = {}
    for joint in group.joints:
        for axis in "zyx":
            bap = by_channel().get((joint, f"r{axis}"))
            if bap is not None:
                chosen.setdefault(axis, bap)
    order = "".join(chosen)
    angles = rotation.unwrap_euler(rotation.matrix_to_euler(total, order))
    for position, bap in enumerate(chosen.values()):
        track.set(bap, angles[:, position] * bap.sign)
    residual = np.degrees(rotation.angle_between(total, rotation.euler_to_matrix(angles, order)))
    if residual.max() > 0.01:
        numbers = f"up to {residual.max():.2f} degrees, {residual.mean():.2f} on average"
        track.lost.append(f"{' and '.join(group.bones)}: {numbers}, about axes that no BAP has")
