"""ASF, the skeleton half of ASF/AMC: bones with a direction, a length, an axis frame, freedoms and limits.

Each bone is a joint at its start: its offset is the parent's direction times length, its `direction` and
`length` are its own, `axis` is the frame C of C M C⁻¹. "dof rx ry rz" turns about x first, so the matrix
product is Rz Ry Rx. What the model has no place for goes to `skeleton.notes` under "asf.".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from kinepack.errors import FormatError
from kinepack.formats.text import (
    BLANK,
    integer,
    lines_of,
    model_errors,
    number,
    shown,
    vector,
)
from kinepack.limits import Limits
from kinepack.math import rotation
from kinepack.model import Channel, Joint, Skeleton
from kinepack.model.skeleton import Vector

Line = tuple[int, str]
AngleUnit = Literal["deg", "rad"]
_DOFS = ("tx", "ty", "tz", "rx", "ry", "rz", "l")
_ROOT_ORDER = ("tx", "ty", "tz", "rx", "ry", "rz")
_PAIR = re.compile(r"\(\s*([^\s,()]+)\s*[\s,]\s*([^\s,()]+)\s*\)")
ENDLESS = float(np.finfo(np.float64).max)
"""Stands for an infinite limit, which the model's canonical text cannot hold."""


@dataclass
class Bone:
    """A bone as the file tells it; the root is one with zero length."""

    name: str = ""
    line: int = 0
    id: str = ""
    position: Vector = (0.0, 0.0, 0.0)
    direction: Vector | None = None
    length: float | None = None
    axis: str = "0 0 0 XYZ"
    axis_deg: Vector = (0.0, 0.0, 0.0)
    dofs: tuple[str, ...] = ()
    limits: list[tuple[float, float]] = field(default_factory=list)
    limits_text: str = ""
    limits_line: int = 0
    extra: list[str] = field(default_factory=list)


@dataclass
class Asf:
    """A whole file before the AMC has said in which order bones come and in which unit angles are."""

    file: str
    angle: AngleUnit = "deg"
    unit_cm: float = 2.54
    bones: dict[str, Bone] = field(default_factory=dict)
    """By name, the root first, then in file order."""
    parents: dict[str, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)


# Reading.


def read_asf(data: bytes, file: str, limits: Limits) -> Asf:
    """Parses and checks a whole ASF."""
    asf = Asf(file)
    sections = list(_sections(lines_of(data, file, limits)))
    # Axes and limits depend on the units and the hierarchy on the bones, wherever they stand.
    rank = {"units": 0, "root": 1, "bonedata": 2, "hierarchy": 3}
    for keyword, rest, line, body in sorted(sections, key=lambda section: rank.get(section[0], 4)):
        match keyword:
            case "version" | "name":
                if rest != {"version": "1.10"}.get(keyword):
                    asf.notes[f"asf.{keyword}"] = rest
            case "units":
                _read_units(asf, body)
            case "documentation":
                asf.notes["asf.documentation"] = "\n".join([rest, *(text for _, text in body)]).strip()
            case "root":
                _read_root(asf, body, line)
            case "bonedata":
                _read_bones(asf, body, limits)
            case "hierarchy":
                _read_hierarchy(asf, body)
            case _:
                kept = "\n".join([f":{keyword} {rest}".strip(), *(text for _, text in body if text)])
                asf.notes["asf.sections"] = "\n".join([*filter(None, [asf.notes.get("asf.sections")]), kept])
    _check_tree(asf)
    return asf


def _sections(lines: Sequence[str]) -> Iterator[tuple[str, str, int, list[Line]]]:
    """Keyword in lower case, rest of its line, line number, and the lines that follow without comments."""
    keyword, rest, start, body = "", "", 0, list[Line]()
    for index, raw in enumerate(lines, 1):
        text = raw.strip(BLANK)
        if text.startswith("#"):
            continue
        if not text.startswith(":"):
            body.append((index, text))
            continue
        if keyword:
            yield keyword, rest, start, body
        keyword, _, rest = text[1:].replace("\t", " ").partition(" ")
        keyword, rest, start, body = keyword.lower() or "?", rest.strip(BLANK), index, []
    if keyword:
        yield keyword, rest, start, body


def _read_units(asf: Asf, body: list[Line]) -> None:
    for line, text in body:
        match text.lower().split():
            case ["length", value]:
                length = number(value, asf.file, line)
                if not (length > 0 and np.isfinite(2.54 / length) and 2.54 / length > 0):
                    raise FormatError("the unit of length must be positive", file=asf.file, line=line)
                asf.unit_cm = 2.54 / length
            case ["angle", value] if value[:3] in ("deg", "rad"):
                asf.angle = "deg" if value[:3] == "deg" else "rad"
            case ["mass", value]:
                number(value, asf.file, line)
                asf.notes["asf.mass"] = value
            case []:
                pass
            case _:
                raise FormatError(f"{shown(text)} is not a unit", file=asf.file, line=line)


def _read_root(asf: Asf, body: list[Line], start: int) -> None:
    root = Bone("root", start, dofs=_ROOT_ORDER, direction=(0.0, 0.0, 0.0), length=0.0)
    order, angles = "XYZ", "0 0 0"
    for line, text in body:
        keyword, _, rest = text.replace("\t", " ").partition(" ")
        match keyword.lower():
            case "order":
                root.dofs = _dofs(rest, asf.file, line)
            case "axis":
                order = rest.strip(BLANK)
            case "position":
                root.position = vector(rest.split(), asf.file, line)
            case "orientation":
                angles = rest
            case "":
                continue
            case _:
                root.extra.append(text)
        _set_axis(asf, root, f"{angles} {order}", line)
    if "root" in asf.bones:
        raise FormatError("a second :root, or a bone called root", file=asf.file, line=start)
    asf.bones = {"root": root, **asf.bones}


def _dofs(text: str, file: str, line: int) -> tuple[str, ...]:
    dofs = tuple(text.lower().split())
    for dof in dofs:
        if dof not in _DOFS or dofs.count(dof) > 1:
            raise FormatError(f"{shown(dof)} is no degree of freedom, or there twice", file=file, line=line)
    return dofs


def _set_axis(asf: Asf, bone: Bone, text: str, line: int) -> None:
    bone.axis = " ".join(text.split())
    try:
        bone.axis_deg = axis_degrees(bone.axis, asf.angle, asf.file, line)
    except ValueError:
        raise FormatError(f"{shown(text)} is not an axis", file=asf.file, line=line) from None


def axis_degrees(text: str, angle: AngleUnit, file: str = "", line: int = 0) -> Vector:
    """The angles of C = Rz Ry Rx in degrees.

    The three numbers are about x, y and z whatever the letters; the letters say which turn comes first.
    """
    *angles, order = text.split()
    if sorted(order.lower()) != ["x", "y", "z"]:
        raise ValueError(text)
    about = vector(angles, file, line)
    if angle == "deg" and order.lower() == "xyz":
        return about
    if angle == "deg":
        about = np.radians(about).tolist()
    if order.lower() != "xyz":
        product = order.lower()[::-1]
        matrix = rotation.euler_to_matrix([about["xyz".index(axis)] for axis in product], product)
        about = rotation.matrix_to_euler(matrix, "zyx")[::-1].tolist()
    x, y, z = np.degrees(about).tolist()
    return x, y, z


def _read_bones(asf: Asf, body: list[Line], limits: Limits) -> None:
    bone: Bone | None = None
    for line, text in body:
        if not text:
            continue
        if text.lower() == "begin" and bone is None:
            bone = Bone(line=line)
            limits.charge("joints", len(asf.bones) + 1)
        elif bone is None:
            raise FormatError("'begin' is needed before a bone", file=asf.file, line=line)
        elif text.lower() == "end":
            _finish_bone(asf, bone, line)
            bone = None
        else:
            _describe(asf, bone, text, line)
    if bone is not None:
        raise FormatError("the file ends inside a bone", file=asf.file, line=body[-1][0])


def _describe(asf: Asf, bone: Bone, text: str, line: int) -> None:
    """One line of a bone's block."""
    keyword, _, rest = text.replace("\t", " ").partition(" ")
    match keyword.lower():
        case "id":
            bone.id = str(integer(rest.strip(BLANK), asf.file, line))
        case "name":
            bone.name = rest.strip(BLANK)
            if len(bone.name.split()) != 1:
                raise FormatError("a bone's name is one word", file=asf.file, line=line)
        case "direction":
            bone.direction = vector(rest.split(), asf.file, line)
        case "length":
            bone.length = number(rest.strip(BLANK), asf.file, line)
        case "axis":
            _set_axis(asf, bone, rest, line)
        case "dof":
            bone.dofs = _dofs(rest, asf.file, line)
        case "limits":
            bone.limits_text, bone.limits_line = rest.strip(BLANK), line
        case _ if keyword.startswith("(") and bone.limits_line:
            bone.limits_text += " " + text
        case _:
            bone.extra.append(text)


def _finish_bone(asf: Asf, bone: Bone, line: int) -> None:
    if not bone.name or bone.direction is None or bone.length is None:
        raise FormatError("a bone needs a name, a direction and a length", file=asf.file, line=line)
    if bone.name in asf.bones:
        raise FormatError(f"two bones are called {shown(bone.name)}", file=asf.file, line=bone.line)
    if bone.limits_line:
        bone.limits = parse_limits(bone.limits_text, asf.file, bone.limits_line)
        if len(bone.limits) != len(bone.dofs):
            counts = f"{len(bone.dofs)} degrees of freedom and {len(bone.limits)} limits"
            raise FormatError(f"bone {shown(bone.name)} has {counts}", file=asf.file, line=bone.limits_line)
    asf.bones[bone.name] = bone


def parse_limits(text: str, file: str, line: int) -> list[tuple[float, float]]:
    """ "(low high) (low high)" """
    if _PAIR.sub("", text).strip():
        raise FormatError("limits are written (low high)", file=file, line=line)
    return [(_bound(low, file, line), _bound(high, file, line)) for low, high in _PAIR.findall(text)]


def _bound(token: str, file: str, line: int) -> float:
    endless = re.fullmatch(r"([+-]?)(inf|infinity|1\.?#inf)", token.lower())
    if endless:
        return -ENDLESS if endless[1] == "-" else ENDLESS
    return number(token, file, line)


def _read_hierarchy(asf: Asf, body: list[Line]) -> None:
    for line, text in body:
        parent, *children = text.split() or [""]
        if not children and parent.lower() in ("begin", "end", ""):
            continue
        for name in (parent, *children):
            if name not in asf.bones:
                raise FormatError(f"{shown(name)} in the hierarchy is no bone", file=asf.file, line=line)
        for child in children:
            if child in asf.parents or child == "root":
                raise FormatError(f"bone {shown(child)} has two parents", file=asf.file, line=line)
            asf.parents[child] = parent


def _check_tree(asf: Asf) -> None:
    if "root" not in asf.bones:
        raise FormatError("there is no :root", file=asf.file)
    for name, bone in asf.bones.items():
        if name not in asf.parents and name != "root":
            raise FormatError(f"bone {shown(name)} is not in the hierarchy", file=asf.file, line=bone.line)


def _parents_first(asf: Asf) -> list[str]:
    """Bone names in file order as far as parents allow."""
    placed: dict[str, None] = {"root": None}
    for name in asf.bones:
        chain = dict[str, None]()
        while name not in placed:
            if name in chain:
                line = asf.bones[name].line
                raise FormatError(f"bone {shown(name)} is its own ancestor", file=asf.file, line=line)
            chain[name] = None
            name = asf.parents[name]
        placed.update(dict.fromkeys(reversed(chain)))
    return list(placed)


def to_skeleton(asf: Asf, amc_bones: Sequence[str], angle: AngleUnit, unit_cm: float | None) -> Skeleton:
    """The model's rig, its channels in the order of an AMC's bones, angles in the AMC's unit."""
    names = _parents_first(asf)
    index = {name: position for position, name in enumerate(names)}
    joints = [_joint(asf.bones[name], index.get(asf.parents.get(name, ""), -1), asf) for name in names]
    factor = 1.0 if angle == asf.angle else (180 / np.pi if angle == "deg" else np.pi / 180)
    channels = [c for name in amc_bones for c in _channels(asf.bones[name], index[name], factor)]
    notes = asf.notes | _bone_notes(asf, names, converted=angle != asf.angle)
    with model_errors(asf.file):
        unit = asf.unit_cm if unit_cm is None else float(unit_cm)
        return Skeleton(tuple(joints), tuple(channels), unit, angle, "add", notes)


def _joint(bone: Bone, parent: int, asf: Asf) -> Joint:
    above = asf.bones.get(asf.parents.get(bone.name, ""))
    offset = bone.position if above is None else tip(above.direction, above.length)
    turns = "".join(dof[1] for dof in reversed(bone.dofs) if dof[0] == "r")
    order = turns + "".join(axis for axis in "zyx" if axis not in turns)
    return Joint(
        bone.name,
        parent,
        offset,
        order,
        bone.axis_deg,
        direction=bone.direction or (0.0, 0.0, 0.0),
        length=bone.length or 0.0,
    )


def tip(direction: Vector | None, length: float | None) -> Vector:
    """A bone's end from its start."""
    x, y, z = direction or (0.0, 0.0, 0.0)
    scale = length or 0.0
    return x * scale, y * scale, z * scale


def _channels(bone: Bone, joint: int, factor: float) -> Iterator[Channel]:
    """`factor` takes the ASF's angle unit to the AMC's. The stretch `l` is a scalar that poses nothing."""
    for position, dof in enumerate(bone.dofs):
        limit = bone.limits[position] if bone.limits else None
        if limit == (-ENDLESS, ENDLESS):
            limit = None
        if limit is not None and dof[0] == "r" and factor != 1:
            limit = (_scaled(limit[0], factor), _scaled(limit[1], factor))
        yield Channel(joint, "scalar", "l", limit) if dof == "l" else Channel(joint, dof, limit=limit)


def _scaled(bound: float, factor: float) -> float:
    return bound if abs(bound) == ENDLESS else max(-ENDLESS, min(ENDLESS, bound * factor))


def _bone_notes(asf: Asf, names: list[str], *, converted: bool) -> dict[str, str]:
    """What joints cannot say: ids out of sequence, bone order, unknown lines, rewritten axes and limits."""
    notes: dict[str, str] = {"asf.angle": asf.angle} if converted else {}
    if list(asf.bones) != names:
        notes["asf.order"] = json.dumps(list(asf.bones)[1:])
    for position, (name, bone) in enumerate(asf.bones.items()):
        if name != "root" and bone.id != str(position):
            notes[f"asf.id.{name}"] = bone.id
        if bone.extra:
            notes[f"asf.extra.{name}"] = "\n".join(bone.extra)
        if asf.angle == "rad" or bone.axis.split()[-1].upper() != "XYZ":
            notes[f"asf.axis.{name}"] = bone.axis
        if converted and bone.limits:
            notes[f"asf.limits.{name}"] = bone.limits_text
    return notes
