"""The text of an ASF, and rigs of other formats laid out as bones."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from kinepack.errors import FormatError, UnsupportedContent
from kinepack.formats.asf import ENDLESS, AngleUnit, axis_degrees, tip
from kinepack.formats.text import number_text, numbers_text, plain_euler, safe_name, shortest
from kinepack.model import Channel, Clip, Joint, Skeleton
from kinepack.model.skeleton import Vector


def write_asf(skeleton: Skeleton, dofs: Mapping[int, Sequence[int]]) -> str:
    """The text of an ASF; `dofs` has each joint's channel numbers."""
    notes, angle = skeleton.notes, skeleton.notes.get("asf.angle", skeleton.angle_unit)
    text = [f":version {notes.get('asf.version', '1.10')}"]
    text += [f":name {notes['asf.name']}"] if "asf.name" in notes else []
    text += [":units", *([f"  mass {notes['asf.mass']}"] if "asf.mass" in notes else [])]
    text += [f"  length {shortest(skeleton.unit_cm, 2.54)}", f"  angle {angle}"]
    if notes.get("asf.documentation"):
        text += [":documentation", *(f"   {line}" for line in notes["asf.documentation"].split("\n"))]
    text += [*_root_text(skeleton, dofs.get(0, ()), angle), ":bonedata"]
    for position, joint in enumerate(_written_order(skeleton), 1):
        text += _bone_text(skeleton, joint, dofs.get(joint, ()), position, angle)
    text += [":hierarchy", "  begin", *_hierarchy_text(skeleton), "  end"]
    text += notes["asf.sections"].split("\n") if "asf.sections" in notes else []
    return "\n".join(text) + "\n"


def _written_order(skeleton: Skeleton) -> list[int]:
    index = {joint.name: position for position, joint in enumerate(skeleton.joints)}
    try:
        noted = [index[name] for name in json.loads(skeleton.notes.get("asf.order", "[]"))]
    except (ValueError, KeyError, TypeError):
        noted = []
    plain = list(range(1, len(skeleton.joints)))
    return noted if sorted(noted) == plain else plain


def _axis_text(skeleton: Skeleton, joint: Joint, angle: str) -> str:
    """As read where that still says the same, else in the file's unit, x first."""
    unit: AngleUnit = "rad" if angle == "rad" else "deg"
    noted = skeleton.notes.get(f"asf.axis.{joint.name}", "")
    with contextlib.suppress(ValueError, FormatError):  # a note may come from anywhere
        if noted and axis_degrees(noted, unit) == joint.axis_deg:
            return noted
    return f"{numbers_text(joint.axis_deg if unit == 'deg' else np.radians(joint.axis_deg).tolist())} XYZ"


def _dof_words(skeleton: Skeleton, channels: Sequence[int]) -> list[str]:
    own = [skeleton.channels[index] for index in channels]
    return ["l" if channel.kind == "scalar" else channel.kind for channel in own]


def _root_text(skeleton: Skeleton, channels: Sequence[int], angle: str) -> list[str]:
    *angles, order = _axis_text(skeleton, skeleton.joints[0], angle).split()
    words = " ".join(_dof_words(skeleton, channels)).upper()
    position = numbers_text(skeleton.joints[0].offset)
    text = [
        f"   order {words}",
        f"   axis {order}",
        f"   position {position}",
        f"   orientation {' '.join(angles)}",
    ]
    extra = skeleton.notes.get("asf.extra.root", "")
    return [":root", *text, *(f"   {line}" for line in extra.split("\n") if line)]


def _bone_text(skeleton: Skeleton, index: int, channels: Sequence[int], position: int, angle: str) -> list[str]:
    joint, notes = skeleton.joints[index], skeleton.notes
    id_ = notes.get(f"asf.id.{joint.name}", str(position))
    text = ["  begin", *([f"    id {id_}"] if id_ else []), f"    name {joint.name}"]
    text += [f"    direction {numbers_text(joint.direction)}", f"    length {number_text(joint.length)}"]
    text.append(f"    axis {_axis_text(skeleton, joint, angle)}")
    if channels:
        text.append(f"    dof {' '.join(_dof_words(skeleton, channels))}")
    own = [skeleton.channels[c] for c in channels]
    if any(channel.limit is not None for channel in own):
        pairs = notes.get(f"asf.limits.{joint.name}") or " ".join(map(_limit_text, own))
        text.append(f"    limits {pairs}")
    extra = notes.get(f"asf.extra.{joint.name}", "").split("\n")
    return [*text, *(f"    {line}" for line in extra if line), "  end"]


def _limit_text(channel: Channel) -> str:
    endless = {-ENDLESS: "-inf", ENDLESS: "inf"}
    low, high = (endless.get(bound) or number_text(bound) for bound in channel.limit or endless)
    return f"({low} {high})"


def _hierarchy_text(skeleton: Skeleton) -> list[str]:
    children: dict[int, list[str]] = {}
    for joint in skeleton.joints[1:]:
        children.setdefault(joint.parent, []).append(joint.name)
    return [f"    {skeleton.joints[p].name} {' '.join(children[p])}" for p in sorted(children)]


# Rigs that are no bones yet.


@dataclass
class _Layout:
    """Bones under construction, and where each old channel went."""

    joints: list[Joint] = field(default_factory=list)
    of: dict[int, int] = field(default_factory=dict)
    """Old joint -> bone."""
    end: dict[int, int] = field(default_factory=dict)
    """Old joint -> the bone at whose end its children start; -1 where each child needs its own link."""
    taken: set[str] = field(default_factory=set)


def is_asf(skeleton: Skeleton) -> bool:
    """Whether the rig is laid out as ASF has it: one root, bones at their parent's end, Euler angles only."""
    joints = skeleton.joints
    if not joints or joints[0].name != "root" or any(j.parent < 0 for j in joints[1:]):
        return False
    if skeleton.translation != "add" or any(tip(joints[0].direction, joints[0].length)):
        return False
    return all(_fits(skeleton, index) for index in range(len(joints))) and _channels_fit(skeleton)


def _fits(skeleton: Skeleton, index: int) -> bool:
    joint = skeleton.joints[index]
    bare = Joint(joint.name, joint.parent, rest=joint.rest, rest_scale=joint.rest_scale, end_sites=joint.end_sites)
    if bare != Joint(joint.name, joint.parent) or (index and not _is_word(joint.name)):
        return False
    above = skeleton.joints[joint.parent] if joint.parent >= 0 else None
    turns = "".join(kind[1] for kind in skeleton.channels_of(index) if kind[0] == "r")
    order = turns[::-1] + "".join(axis for axis in "zyx" if axis not in turns)
    return order == joint.order and (above is None or joint.offset == tip(above.direction, above.length))


def _channels_fit(skeleton: Skeleton) -> bool:
    """Known kinds only, and a bone's channels side by side, as a line of AMC has them."""
    runs = [joint for joint, _ in groupby(skeleton.channels, lambda channel: channel.joint)]
    stretch = all(c.name == "l" and c.joint >= 0 for c in skeleton.channels if c.kind == "scalar")
    known = all(c.kind[0] in "tr" or c.kind == "scalar" for c in skeleton.channels)
    return known and stretch and len(set(runs)) == len(runs)


def _is_word(name: str) -> bool:
    return len(name.split()) == 1 and name.isprintable() and name[0] not in "#:(" and name != "root"


def as_bones(clip: Clip) -> tuple[Clip, list[str]]:
    """The same motion on bones; links without freedom lead to joints that do not start at a bone's end."""
    clip, lost = plain_euler(clip, "ASF", limits=True)
    old = clip.skeleton
    if sum(joint.parent < 0 for joint in old.joints) != 1:
        raise UnsupportedContent("ASF needs one root joint", hint="write it as BVH or npz")
    layout = _lay_out(old)
    added = len(layout.joints) - len(old.joints)
    if added:
        lost.append(f"{added} bones without freedom were added to keep joints in place")
    sites = sum(len(joint.end_sites) for joint in old.joints) - _kept_sites(old)
    if sites:
        lost.append(f"{sites} end sites that are no bone's end")
    renamed = [n for i, j in enumerate(old.joints) if (n := j.name) != layout.joints[layout.of[i]].name]
    if renamed:
        lost.append(f"{len(renamed)} joints were renamed: {', '.join(map(repr, renamed[:5]))}")
    columns = [c for joint in range(len(old.joints)) for c in _bone_columns(old, joint)]
    channels = [replace(old.channels[c], joint=layout.of[old.channels[c].joint]) for c in columns]
    values = _added_translations(clip)[:, columns]
    skeleton = Skeleton(tuple(layout.joints), tuple(channels), old.unit_cm, old.angle_unit, "add")
    return Clip(skeleton, values, clip.frame_time, clip.name), lost


def _kept_sites(old: Skeleton) -> int:
    """End sites that become a bone's end: the first one of joints without children, but for the root."""
    parents = {joint.parent for joint in old.joints}
    return sum(bool(joint.end_sites) for index, joint in enumerate(old.joints) if index and index not in parents)


def _lay_out(old: Skeleton) -> _Layout:
    layout, starts = _Layout(taken={"root"}), [list[Vector]() for _ in old.joints]
    for joint in old.joints[1:]:
        starts[joint.parent].append(joint.offset)
    for index, joint in enumerate(old.joints):
        parent = -1 if joint.parent < 0 else layout.end[joint.parent]
        if parent == -1 and joint.parent >= 0:
            parent = layout.of[joint.parent]
            if any(joint.offset):
                parent = _add(layout, f"{joint.name}_link", parent, reach=joint.offset)
        reach = _reach(starts[index], joint.end_sites) if index else None
        bone = _add(layout, joint.name if index else "root", parent, reach=reach, turns=_turns(old, index))
        if not index:
            layout.joints[0] = replace(layout.joints[0], offset=_root_offset(old))
        layout.of[index], layout.end[index] = bone, bone if reach else -1
    return layout


def _reach(starts: list[Vector], sites: Sequence[Vector]) -> Vector | None:
    """A bone's end: where all its children start, or its end site."""
    if not starts:
        return sites[0] if sites else None
    return starts[0] if len(set(starts)) == 1 else None


def _root_offset(old: Skeleton) -> Vector:
    own, offset = old.channels_of(0), old.joints[0].offset
    x, y, z = (0.0 if f"t{axis}" in own else value for axis, value in zip("xyz", offset, strict=True))
    return x, y, z


def _turns(skeleton: Skeleton, joint: int) -> str:
    """The order a reader will find: animated axes as they are, the others as it fills them in."""
    own = skeleton.channels_of(joint)
    turns = "".join(axis for axis in skeleton.joints[joint].order if f"r{axis}" in own)
    return turns + "".join(axis for axis in "zyx" if axis not in turns)


def _add(layout: _Layout, name: str, parent: int, *, reach: Vector | None, turns: str = "zyx") -> int:
    """Appends a bone that starts at its parent's end."""
    length = float(np.linalg.norm(reach)) if reach else 0.0
    x, y, z = (value / length for value in reach) if reach and length > 0 else (0.0, 0.0, 0.0)
    if layout.joints:
        name = safe_name(name, layout.taken, r"\s|^[#:(]|[^\w.+\-#:|()\[\]]")
    above = layout.joints[parent] if parent >= 0 else None
    offset = (0.0, 0.0, 0.0) if above is None else tip(above.direction, above.length)
    layout.joints.append(Joint(name, parent, offset, turns, direction=(x, y, z), length=length))
    return len(layout.joints) - 1


def _bone_columns(skeleton: Skeleton, joint: int) -> Iterable[int]:
    """Translations as they come, then rotations with the first to be applied first."""
    own = skeleton.channels_of(joint)
    yield from (index for kind, index in own.items() if kind[0] == "t")
    yield from (own[f"r{axis}"] for axis in reversed(skeleton.joints[joint].order) if f"r{axis}" in own)


def _added_translations(clip: Clip) -> NDArray[np.float64]:
    """Values with a bone's offset taken off its translations; the root's position moves into its channels."""
    values = clip.values.copy()
    for column in clip.skeleton.select("t"):
        channel = clip.skeleton.channels[column]
        if clip.skeleton.joints[channel.joint].parent >= 0:
            values[:, column] -= clip.skeleton.joints[channel.joint].offset["xyz".index(channel.kind[1])]
    return values
