"""The 296 body animation parameters (BAPs) of MPEG-4, and a humanoid of average size whose joints they turn.

Angles are whole numbers of 1e-5 rad, translations of 1 mm; a sign says which way a positive value turns.
Rotations of one joint compose as Rz Ry Rx. Default ranges are known for twelve BAPs only and None for the
rest. The standard gives no body: offsets here are plain defaults in mm, y up, facing z, left hand at
positive x.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType

from kinepack.model import Channel, Joint, Skeleton
from kinepack.model.skeleton import Vector

PREDEFINED = 186
COUNT = 296
ROOT = "HumanoidRoot"


@dataclass(frozen=True)
class Bap:
    """One parameter. Numbers start at 1; 187 and up are extensions that each application defines."""

    index: int
    name: str
    joint: str
    parent: str
    kind: str
    """The model's channel kind: "rx", "ty", …, or "scalar" for an extension."""
    sign: int
    """+1 or -1: the channel's value is sign times the parameter."""
    group: int
    position: int
    """Place in the group, from 1."""
    step: int
    """Quantiser step of the standard."""
    step_alt: int
    """Quantiser step that ordinary motion fits in."""
    i_range: int | None
    p_range: int | None
    cmu: tuple[str, str] | None
    """The CMU bone and degree of freedom that is called by this parameter's name, if any."""

    @property
    def per_unit(self) -> float:
        """Parameter steps in one radian, one millimetre or one of an extension's own units."""
        return 1e5 if self.kind[0] == "r" else 1.0


@cache
def baps() -> tuple[Bap, ...]:
    """All parameters; number n is at position n - 1."""
    text = resources.files("kinepack.formats").joinpath("bap_table.csv").read_text("utf-8")
    return tuple(_bap(row) for row in csv.DictReader(text.splitlines()))


def _bap(row: Mapping[str, str]) -> Bap:
    sign, axis = row["axis"][:1], row["axis"][1:]
    bone, _, dof = row["cmu"].partition(".")
    return Bap(
        index=int(row["index"]),
        name=row["name"],
        joint=row["joint"],
        parent=row["parent"],
        kind="scalar" if not axis else axis if axis[0] == "t" else f"r{axis}",
        sign=-1 if sign == "-" else 1,
        group=int(row["group"]),
        position=int(row["position"]),
        step=int(row["step"]),
        step_alt=int(row["step_alt"]),
        i_range=int(row["i_range"]) if row["i_range"] else None,
        p_range=int(row["p_range"]) if row["p_range"] else None,
        cmu=(bone, dof) if bone else None,
    )


@cache
def by_channel() -> Mapping[tuple[str, str], Bap]:
    """(joint, kind) -> parameter; extensions by ("", name)."""
    keys = ((("", bap.name) if bap.kind == "scalar" else (bap.joint, bap.kind), bap) for bap in baps())
    return MappingProxyType(dict(keys))


@cache
def by_cmu() -> Mapping[tuple[str, str], Bap]:
    """(CMU bone, degree of freedom) -> parameter, 62 of them."""
    return MappingProxyType({bap.cmu: bap for bap in baps() if bap.cmu})


def skeleton_of(indices: Sequence[int], notes: Mapping[str, str] | None = None) -> Skeleton:
    """The humanoid with the given parameters, by number, as channels in that order; radians and mm."""
    joints = humanoid()
    places = {joint.name: place for place, joint in enumerate(joints)}
    chosen = [baps()[index - 1] for index in indices]
    channels = (
        Channel(-1, "scalar", bap.name) if bap.kind == "scalar" else Channel(places[bap.joint], bap.kind)
        for bap in chosen
    )
    return Skeleton(joints, tuple(channels), 0.1, "rad", "add", dict(notes or {}))


@cache
def humanoid() -> tuple[Joint, ...]:
    """Every joint that a parameter turns, parents first."""
    parents = {bap.joint: bap.parent for bap in baps() if bap.joint}
    children: dict[str, list[str]] = {}
    for name, parent in parents.items():
        children.setdefault(parent, []).append(name)
    order, joints = {ROOT: 0}, [Joint(ROOT, -1, order="zyx")]
    for joint in joints:  # grows while it runs: breadth first
        for name in children.get(joint.name, []):
            order[name] = len(joints)
            sites = (_mirrored(name, _TIPS),) if name[2:] in _TIPS or name in _TIPS else ()
            joints.append(Joint(name, order[joint.name], _offset(name), "zyx", end_sites=sites))
    return tuple(joints)


_OFFSETS: dict[str, Vector] = {
    "sacroiliac": (0, 0, 0), "hip": (90, -70, 0), "knee": (0, -420, 0), "ankle": (0, -410, 0),
    "subtalar": (0, -30, 0), "midtarsal": (0, -20, 60), "metatarsal": (0, -10, 60),
    "vl5": (0, 80, -20), "skullbase": (0, 20, 10),
    "sternoclavicular": (20, -20, 60), "acromioclavicular": (140, 20, -60), "shoulder": (30, -20, 0),
    "elbow": (0, -290, 0), "wrist": (0, -250, 0),
    "thumb1": (0, -25, 25), "thumb2": (0, -35, 20), "thumb3": (0, -30, 5),
}  # fmt: skip
_TIPS: dict[str, Vector] = {
    "skullbase": (0, 180, 0), "metatarsal": (0, 0, 60), "thumb3": (0, -25, 0),
    "index3": (0, -20, 0), "middle3": (0, -22, 0), "ring3": (0, -20, 0), "pinky3": (0, -18, 0),
}  # fmt: skip
_FINGERS = {"index": 24.0, "middle": 8.0, "ring": -8.0, "pinky": -24.0}
"""How far each is in front of the palm's middle."""
_PHALANGES: tuple[Vector, ...] = ((0, -15, 0.5), (0, -75, 0.5), (0, -40, 0), (0, -25, 0))
"""From the joint before; z is a share of the finger's distance in front."""
_VERTEBRAE = {"vl": 35.0, "vt": 22.0, "vc": 16.0}
"""Height of each, by region."""


def _offset(name: str) -> Vector:
    if name not in _OFFSETS and name[:2] in _VERTEBRAE:
        return (0.0, _VERTEBRAE[name[:2]], 0.0)
    finger, number = name[2:-1], name[-1]
    if finger in _FINGERS:
        x, y, share = _PHALANGES[int(number)]
        return (float(x), float(y), share * _FINGERS[finger])
    return _mirrored(name, _OFFSETS)


def _mirrored(name: str, table: Mapping[str, Vector]) -> Vector:
    """The table's vector for a joint; the right side's is the left one's mirror image."""
    x, y, z = table[name] if name in table else table[name[2:]]
    return (-float(x) if name.startswith("r_") and x else float(x), float(y), float(z))
