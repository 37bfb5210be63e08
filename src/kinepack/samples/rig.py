"""The 31-node, 62-degree-of-freedom human of the papers, with bone lengths of our own."""

from __future__ import annotations

from typing import NamedTuple

from kinepack.model import Channel, Joint, Skeleton
from kinepack.model.skeleton import Vector

UNIT_CM = 2.54 / 0.45
"""One unit of length in centimetres: the CMU recordings' unit, an inch over 0.45."""

ANKLE = (0.0, 1.2)
BALL = (2.16, 0.57)
HEEL = (-0.7, 0.0)
"""Points of a foot flat on the ground: (forward, up) from the ground below the ankle, in units."""

LEG_TILT_DEG = 16.2602
"""How far the legs of the rest pose are spread; makes the direction (0.28, -0.96, 0)."""


class _Bone(NamedTuple):
    name: str
    parent: str
    direction: Vector
    length: float
    axis_deg: Vector
    channels: str


_LEG: tuple[tuple[str, str, Vector, float, Vector, str], ...] = (
    ("hipjoint", "root", (0.8, -0.6, 0.0), 2.0, (0, 0, 0), ""),
    ("femur", "hipjoint", (0.28, -0.96, 0.0), 7.3, (0, 0, LEG_TILT_DEG), "rx ry rz"),
    ("tibia", "femur", (0.28, -0.96, 0.0), 7.5, (0, 0, LEG_TILT_DEG), "rx"),
    ("foot", "tibia", (0.0, -0.28, 0.96), 2.25, (-90, 0, LEG_TILT_DEG), "rx rz"),
    ("toes", "foot", (0.0, 0.0, 1.0), 1.0, (-90, 0, LEG_TILT_DEG), "rx"),
)
_ARM: tuple[tuple[str, str, Vector, float, Vector, str], ...] = (
    ("clavicle", "thorax", (0.96, 0.28, 0.0), 3.3, (0, 0, 0), "ry rz"),
    ("humerus", "clavicle", (1.0, 0.0, 0.0), 5.2, (0, 0, -90), "rx ry rz"),
    ("radius", "humerus", (1.0, 0.0, 0.0), 3.0, (0, 0, -90), "rx"),
    ("wrist", "radius", (1.0, 0.0, 0.0), 1.5, (0, 0, -90), "ry"),
    ("hand", "wrist", (1.0, 0.0, 0.0), 0.8, (0, 0, -90), "rx rz"),
    ("fingers", "hand", (1.0, 0.0, 0.0), 0.6, (0, 0, -90), "rx"),
    ("thumb", "wrist", (0.8, 0.0, 0.6), 0.8, (0, 0, -90), "rx rz"),
)
_SPINE: tuple[tuple[str, str, float], ...] = (
    ("lowerback", "root", 2.1),
    ("upperback", "lowerback", 2.1),
    ("thorax", "upperback", 2.1),
    ("lowerneck", "thorax", 1.6),
    ("upperneck", "lowerneck", 1.4),
    ("head", "upperneck", 1.7),
)
_MIDDLE = frozenset(["root", "thorax"])


def skeleton() -> Skeleton:
    """31 joints and 62 channels; the person faces +z, up is +y, the left is at +x."""
    bones = [*_limb("l", _LEG), *_limb("r", _LEG)]
    bones += [_Bone(name, parent, (0.0, 1.0, 0.0), length, (0, 0, 0), "rx ry rz") for name, parent, length in _SPINE]
    bones += [*_limb("l", _ARM), *_limb("r", _ARM)]
    joints = [Joint("root", -1, order="zyx")]
    channels = [Channel(0, kind) for kind in ("tx", "ty", "tz", "rx", "ry", "rz")]
    index = {"root": 0}
    for bone in bones:
        index[bone.name] = len(joints)
        channels += [Channel(len(joints), kind) for kind in bone.channels.split()]
        joints.append(_joint(bone, index[bone.parent], joints))
    return Skeleton(tuple(joints), tuple(channels), unit_cm=UNIT_CM, angle_unit="deg", translation="add")


def _limb(side: str, limb: tuple[tuple[str, str, Vector, float, Vector, str], ...]) -> list[_Bone]:
    """The bones of one side: the right one is the left's mirror image at x = 0."""
    sign = 1.0 if side == "l" else -1.0
    return [
        _Bone(
            side + name,
            parent if parent in _MIDDLE else side + parent,
            (sign * direction[0], direction[1], direction[2]),
            length,
            (axis[0], axis[1], sign * axis[2]),
            channels,
        )
        for name, parent, direction, length, axis, channels in limb
    ]


def _joint(bone: _Bone, parent: int, joints: list[Joint]) -> Joint:
    """As in ASF: a bone starts where its parent bone ends."""
    above = joints[parent]
    x, y, z = (above.length * part for part in above.direction)
    axis = (float(bone.axis_deg[0]), float(bone.axis_deg[1]), float(bone.axis_deg[2]))
    return Joint(
        bone.name,
        parent,
        offset=(x, y, z),
        order=_order(bone.channels),
        axis_deg=axis,
        direction=bone.direction,
        length=bone.length,
    )


def _order(channels: str) -> str:
    """ASF's: the last degree of freedom is the leftmost matrix; absent axes, which turn nothing, come after."""
    turns = "".join(kind[1] for kind in reversed(channels.split()))
    return turns + "".join(axis for axis in "zyx" if axis not in turns)
