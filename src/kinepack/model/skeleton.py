"""The rig: joints, what each animated channel drives, and the unit of length."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kinepack.errors import UsageError

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]

KINDS = frozenset(
    ["tx", "ty", "tz", "rx", "ry", "rz", "qx", "qy", "qz", "qw", "vx", "vy", "vz", "sx", "sy", "sz", "scalar"]
)
"""Translations, Euler angles, quaternion parts, rotation-vector parts, scales, and free scalars."""


@dataclass(frozen=True)
class Channel:
    """One animated number: which joint it moves (-1: none) and how."""

    joint: int
    kind: str
    name: str = ""
    """Only for `scalar` channels, such as a morph target's weight."""
    limit: tuple[float, float] | None = None
    """Allowed range in the channel's own unit, as ASF files state it."""


@dataclass(frozen=True)
class Joint:
    """A node of the hierarchy. Its local transform is translate(offset) rotate(local) scale.

    `local` is C M C⁻¹: M from the joint's rotation channels, C the constant `axis` frame that ASF bones have
    (identity elsewhere); a joint without rotation channels has `rest` for M.
    """

    name: str
    parent: int
    """Index of the parent, -1 for a root; parents come before their children."""
    offset: Vector = (0.0, 0.0, 0.0)
    """From the parent's origin to this one's, in the parent's frame."""
    order: str = "xyz"
    """Euler angles as a matrix product, left to right: "zyx" is Rz Ry Rx."""
    axis_deg: Vector = (0.0, 0.0, 0.0)
    """Euler angles of the frame C = Rz Ry Rx (ASF `axis`), degrees."""
    rest: Quaternion = (0.0, 0.0, 0.0, 1.0)
    """Rotation (x, y, z, w) where no channel gives one."""
    rest_scale: Vector = (1.0, 1.0, 1.0)
    direction: Vector = (0.0, 0.0, 0.0)
    """ASF bones: from the origin to the bone's end. Zero where the joint's origin is what is measured."""
    length: float = 0.0
    """Scales `direction`."""
    end_sites: tuple[Vector, ...] = ()
    """BVH end sites: points that move with the joint but are not joints."""


@dataclass(frozen=True, eq=False)
class Skeleton:
    """Joints and channels. Immutable and hashable; two with equal content are equal."""

    joints: tuple[Joint, ...]
    channels: tuple[Channel, ...]
    unit_cm: float = 1.0
    """Centimetres per unit of length."""
    angle_unit: Literal["deg", "rad"] = "deg"
    """Unit of Euler channels. Rotation vectors are always radians."""
    translation: Literal["replace", "add"] = "replace"
    """Whether a translation channel takes the offset's place (BVH, glTF) or is added to it (ASF)."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """What a format needs to write back what it read, and no one else reads (`asf.mass`, `bvh.newline`)."""

    def __post_init__(self) -> None:
        _check(self)

    # Arrays, computed once.

    @cached_property
    def parents(self) -> NDArray[np.int32]:
        """[joints]"""
        return _frozen(np.array([j.parent for j in self.joints], np.int32))

    @cached_property
    def offsets(self) -> NDArray[np.float64]:
        """[joints, 3]"""
        return _frozen(np.array([j.offset for j in self.joints], float).reshape(-1, 3))

    @cached_property
    def tips(self) -> NDArray[np.float64]:
        """[joints, 3] from each joint's origin to the point whose position is measured."""
        return _frozen(np.array([np.multiply(j.direction, j.length) for j in self.joints], float).reshape(-1, 3))

    @cached_property
    def bone_lengths(self) -> NDArray[np.float64]:
        """[joints] length of the bone that ends at each joint's measured point, in units."""
        measured_at_tip = bool(np.any(self.tips))
        return _frozen(
            np.linalg.norm(self.tips if measured_at_tip else self.offsets * (self.parents >= 0)[:, None], axis=1)
        )

    @cached_property
    def channel_joints(self) -> NDArray[np.int32]:
        """[channels]"""
        return _frozen(np.array([c.joint for c in self.channels], np.int32))

    def channels_of(self, joint: int) -> dict[str, int]:
        """kind -> channel index of one joint's channels."""
        return self._by_joint.get(joint, {})

    @cached_property
    def _by_joint(self) -> dict[int, dict[str, int]]:
        table: dict[int, dict[str, int]] = {}
        for index, channel in enumerate(self.channels):
            if channel.kind != "scalar":
                table.setdefault(channel.joint, {})[channel.kind] = index
        return table

    def select(self, kinds: str) -> NDArray[np.intp]:
        """Indices of channels whose kind starts with one of the letters: "t", "r", "q", "v", "s" + axis."""
        return np.array([i for i, c in enumerate(self.channels) if c.kind != "scalar" and c.kind[0] in kinds], np.intp)

    def index(self, name: str) -> int:
        """The joint called `name`."""
        for index, joint in enumerate(self.joints):
            if joint.name == name:
                return index
        raise UsageError(
            f"the skeleton has no joint {name!r}", hint="joints: " + ", ".join(j.name for j in self.joints)
        )

    @property
    def radians_per_angle(self) -> float:
        """Factor from an Euler channel's unit to radians."""
        return float(np.pi / 180) if self.angle_unit == "deg" else 1.0

    def with_unit(self, unit_cm: float) -> Skeleton:
        return dataclasses.replace(self, unit_cm=float(unit_cm))

    # Identity.

    def to_json(self) -> str:
        """Canonical text: defaults left out, keys sorted, no spaces, shortest exact numbers."""
        return json.dumps(_plain(self), sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False)

    @staticmethod
    def from_json(text: str) -> Skeleton:
        """Inverse of `to_json`; raises UsageError on anything that is not a skeleton."""
        try:
            return _from_plain(json.loads(text))
        except (TypeError, KeyError, AttributeError, ValueError, OverflowError, RecursionError) as error:
            raise UsageError(f"not a skeleton: {error}") from None

    @cached_property
    def digest(self) -> bytes:
        """First 16 bytes of the SHA-256 of the canonical text."""
        return hashlib.sha256(self.to_json().encode()).digest()[:16]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Skeleton) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: self.__dict__[f.name] for f in dataclasses.fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array


def _check(skeleton: Skeleton) -> None:
    """The one place where a rig's invariants are enforced."""
    names = [j.name for j in skeleton.joints]
    if not np.isfinite(skeleton.unit_cm) or skeleton.unit_cm <= 0:
        raise UsageError(f"centimetres per unit must be positive, not {skeleton.unit_cm}")
    if skeleton.angle_unit not in ("deg", "rad") or skeleton.translation not in ("replace", "add"):
        raise UsageError("angle unit is deg or rad, translation is replace or add")
    for place in (*(j.parent for j in skeleton.joints), *(c.joint for c in skeleton.channels)):
        if isinstance(place, bool) or not isinstance(place, int | np.integer):
            raise UsageError(f"{place!r} is no number of a joint")
    for index, joint in enumerate(skeleton.joints):
        if not -1 <= joint.parent < index:
            raise UsageError(f"joint {joint.name!r} comes before its parent")
        if not isinstance(joint.order, str) or sorted(joint.order) != ["x", "y", "z"]:
            raise UsageError(f"joint {joint.name!r} has rotation order {joint.order!r}")
        numbers = [*joint.offset, *joint.axis_deg, *joint.rest, *joint.rest_scale, *joint.direction, joint.length]
        numbers += [v for site in joint.end_sites for v in site]
        if len(numbers) != 17 + 3 * len(joint.end_sites) or not np.all(np.isfinite(numbers)):
            raise UsageError(f"joint {joint.name!r} has a number that is missing or not finite")
    texts = [*names, *(c.name for c in skeleton.channels), *skeleton.notes, *skeleton.notes.values()]
    if any("\ud800" <= letter <= "\udfff" for text in texts if not text.isascii() for letter in text):
        raise UsageError("a name in the skeleton is not text that UTF-8 can hold")
    if len(set(names)) != len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise UsageError(f"two joints are called {twice!r}")
    _check_channels(skeleton)


def _check_channels(skeleton: Skeleton) -> None:
    seen: set[tuple[int, str, str]] = set()
    rotations: dict[int, set[str]] = {}
    for channel in skeleton.channels:
        key = (channel.joint, channel.kind, channel.name)
        if channel.kind not in KINDS or key in seen:
            raise UsageError(f"channel {channel.kind!r} of joint {channel.joint} is unknown or there twice")
        lowest = -1 if channel.kind == "scalar" else 0
        if not lowest <= channel.joint < len(skeleton.joints):
            raise UsageError(f"channel {channel.kind!r} names joint {channel.joint}, which does not exist")
        if channel.limit is not None and (len(channel.limit) != 2 or not np.all(np.isfinite(channel.limit))):
            raise UsageError(f"channel {channel.kind!r} of joint {channel.joint} has a limit that is no range")
        seen.add(key)
        if channel.kind[0] in "rqv":
            rotations.setdefault(channel.joint, set()).add(channel.kind)
    for joint, kinds in rotations.items():
        families = {k[0] for k in kinds}
        if len(families) > 1 or ("q" in families and len(kinds) != 4) or ("v" in families and len(kinds) != 3):
            raise UsageError(f"joint {skeleton.joints[joint].name!r} mixes or lacks rotation channels")


def _plain(skeleton: Skeleton) -> dict[str, Any]:
    """JSON-ready form with every field that holds its default left out."""

    def fields(value: Any) -> dict[str, Any]:
        pairs = ((f.name, getattr(value, f.name), f.default) for f in dataclasses.fields(value))
        return {name: plain for name, plain, default in pairs if plain != default}

    plain = fields(skeleton)
    plain["joints"] = [fields(j) for j in skeleton.joints]
    plain["channels"] = [fields(c) for c in skeleton.channels]
    plain["notes"] = dict(skeleton.notes)
    return plain if plain["notes"] else {k: v for k, v in plain.items() if k != "notes"}


def _from_plain(plain: dict[str, Any]) -> Skeleton:
    def floats(values: Any) -> tuple[float, ...]:
        return tuple(float(v) for v in values)

    joints = []
    for entry in plain.pop("joints"):
        vectors = {
            k: floats(entry.pop(k)) for k in ("offset", "axis_deg", "rest", "rest_scale", "direction") if k in entry
        }
        sites = tuple(floats(site) for site in entry.pop("end_sites", ()))
        joints.append(Joint(**vectors, **entry, end_sites=sites))  # type: ignore[arg-type]
    channels = []
    for entry in plain.pop("channels"):
        limit = entry.pop("limit", None)
        channels.append(Channel(**entry, limit=None if limit is None else floats(limit)))  # type: ignore[arg-type]
    return Skeleton(tuple(joints), tuple(channels), **plain)
