"""A skeleton in few bytes: words deflated against a dictionary of common rigs, numbers range coded.

body      = words (block), forms (block), mantissas
words     = raw deflate of a JSON object: names, hierarchy, channels, notes, and how the number fields are coded
forms     = range coded integers: what each number is measured in
mantissas = range coded integers: the numbers, less what is expected of them (skeleton_numbers.py)
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from itertools import accumulate, chain, pairwise
from typing import Any

from kinepack.container.integers import pack_integers, unpack_integers
from kinepack.container.layout import ByteReader, ByteWriter
from kinepack.container.skeleton_numbers import (
    FORM_CONTEXTS,
    MANTISSA_CONTEXTS,
    WIDTHS,
    Coding,
    Field,
    Form,
    Row,
    coding_of,
    decode_field,
    encode_field,
)
from kinepack.errors import BitstreamError, Corrupt, UsageError
from kinepack.limits import Limits
from kinepack.model import Channel, Joint, Skeleton

FORM_STATES, MANTISSA_STATES = FORM_CONTEXTS * len(WIDTHS), MANTISSA_CONTEXTS * len(WIDTHS)
DEFAULTS: dict[str, Row] = {"rest": (0.0, 0.0, 0.0, 1.0), "rest_scale": (1.0, 1.0, 1.0)}
"""Of fields whose numbers are not 0 where the file is silent."""
JointRows = dict[str, list[Row]]


def encode_skeleton(skeleton: Skeleton) -> bytes | None:
    """None where these bytes would not give back the same skeleton: numbers or texts of a kind not thought of."""
    words = words_of(skeleton)
    forms, residuals, contexts, form_contexts = [], [], [], []
    for field, rows in _fields(skeleton, words):
        own, values, chosen = encode_field(field, rows)
        forms += own
        form_contexts += field.form_contexts()
        residuals += values
        contexts += chosen
    out = ByteWriter()
    out.block(_deflate(json.dumps(words, separators=(",", ":"), allow_nan=False, ensure_ascii=False).encode()))
    out.block(pack_integers(forms, form_contexts, FORM_STATES))
    data = bytes(out.data) + pack_integers(residuals, contexts, MANTISSA_STATES)
    try:
        return data if decode_skeleton(data, Limits()).to_json() == skeleton.to_json() else None
    except BitstreamError:
        return None


def decode_skeleton(data: bytes, limits: Limits) -> Skeleton:
    """Inverse of `encode_skeleton`."""
    source = ByteReader(data)
    text = _inflate(source.block(), 1000 * (limits.joints + limits.channels))
    try:
        words = json.loads(text)
        limits.charge("joints", len(words["names"]) + sum(words.get("sites", ())))
        limits.charge("channels", sum(len(kinds.split()) for kinds in words["kinds"]))
        rows = _numbers(words, source.block(), source.take(source.left))
        return _skeleton(words, rows)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, RecursionError, StopIteration):
        raise Corrupt("the skeleton in the file makes no sense") from None
    except UsageError as error:
        raise Corrupt(f"the skeleton in the file cannot be read: {error}") from None


# Words.


def words_of(skeleton: Skeleton) -> dict[str, Any]:
    """All but the numbers of the joints; what is empty is left out."""
    joints, channels = skeleton.joints, skeleton.channels
    groups = _groups(channels)
    of = [channels[start].joint for start, _ in groups]
    words = {
        "names": [j.name for j in joints],
        "up": [n - j.parent if j.parent >= 0 else 0 for n, j in enumerate(joints)],
        "mirror": _unless_all(0, mirrors([j.name for j in joints])),
        "orders": _unless_all("xyz", [j.order for j in joints]),
        "sites": _unless_all(0, [len(j.end_sites) for j in joints]),
        "of": [b - a for a, b in pairwise([0, *of])],
        "kinds": [" ".join(c.kind for c in channels[start:stop]) for start, stop in groups],
        "scalars": _unless_all("", [c.name for c in channels]),
        "limits": _unless_all([], [list(c.limit or ()) for c in channels]),
        "unit_cm": skeleton.unit_cm if skeleton.unit_cm != 1 else None,
        "angle_unit": skeleton.angle_unit if skeleton.angle_unit != "deg" else None,
        "translation": skeleton.translation if skeleton.translation != "replace" else None,
        "notes": dict(sorted(skeleton.notes.items())),
    }
    return {key: value for key, value in words.items() if value or key in ("names", "kinds")}


def _unless_all(default: Any, values: list[Any]) -> list[Any]:
    return [] if all(value == default for value in values) else values


def _groups(channels: Sequence[Channel]) -> list[tuple[int, int]]:
    """Stretches of channels of the same joint."""
    edges = [n for n, c in enumerate(channels) if not n or c.joint != channels[n - 1].joint]
    return list(pairwise([*edges, len(channels)])) if edges else []


_SIDES = [("left", "right"), ("Left", "Right"), ("LEFT", "RIGHT"), ("Lft", "Rgt"), ("l", "r"), ("L", "R")]


def mirrors(names: Sequence[str]) -> list[int]:
    """How far before each joint its partner on the other side stands; 0 where there is none."""
    at = {name: n for n, name in enumerate(names)}
    return [max((n - at[o] for o in _other_side(name) if at.get(o, n) < n), default=0) for n, name in enumerate(names)]


def _other_side(name: str) -> Iterator[str]:
    for pair in _SIDES:
        for here, there in (pair, pair[::-1]):
            if len(here) > 1:
                yield name.replace(here, there)
                continue
            if name.startswith(here):
                yield there + name[1:]
            if name.endswith(here):
                yield name[:-1] + there
            for mark in "_ .":
                yield name.replace(f"{mark}{here}{mark}", f"{mark}{there}{mark}")


@cache
def dictionary() -> bytes:
    return resources.files("kinepack.container").joinpath("skeletons.txt").read_bytes()


def _deflate(data: bytes) -> bytes:
    engines = [
        zlib.compressobj(9, zlib.DEFLATED, -15, 9, strategy, dictionary())
        for strategy in (zlib.Z_DEFAULT_STRATEGY, zlib.Z_FIXED)
    ]
    return min((e.compress(data) + e.flush() for e in engines), key=len)


def _inflate(packed: bytes, limit: int) -> bytes:
    engine = zlib.decompressobj(-15, dictionary())
    try:
        data = engine.decompress(packed, limit + 1)
    except zlib.error:
        raise Corrupt("the skeleton in the file cannot be decompressed") from None
    if len(data) > limit or not engine.eof or engine.unused_data:
        raise Corrupt("the skeleton in the file is not of its declared size")
    return data


# Numbers.


def _fields(skeleton: Skeleton, words: dict[str, Any]) -> Iterator[tuple[Field, list[Row]]]:
    """The fields to be coded; how goes into the words."""
    tips = _tips(words, _joint_rows(skeleton, "direction"), _joint_rows(skeleton, "length"))
    for name in WIDTHS:
        rows = _joint_rows(skeleton, name)
        exact = repr if name == "end_sites" else tuple  # an end site of -0.0 is told from one of 0.0, defaults are not
        silent = DEFAULTS.get(name, (0.0,) * WIDTHS[name])
        if all(exact(row) == exact(silent) for row in rows):
            continue
        partners = _partners(words, name)
        coding = coding_of(rows, partners, tips if name == "offset" else None)
        words[name] = list(coding)
        yield Field(name, coding, partners), rows


def _joint_rows(skeleton: Skeleton, name: str) -> list[Row]:
    if name == "length":
        return [(j.length,) for j in skeleton.joints]
    if name == "end_sites":
        return [site for j in skeleton.joints for site in j.end_sites]
    return [getattr(j, name) for j in skeleton.joints]


def _partners(words: dict[str, Any], name: str) -> list[int]:
    """[rows] of a field: the row of the joint on the other side, or -1."""
    joints = len(words["names"])
    steps = words.get("mirror") or [0] * joints
    if len(steps) != joints or not all(0 <= step <= n for n, step in enumerate(steps)):
        raise Corrupt("the skeleton's sides do not belong to its joints")
    if name != "end_sites":
        return [n - step if step else -1 for n, step in enumerate(steps)]
    counts = words.get("sites") or [0] * joints
    first = [0, *accumulate(counts)]
    if len(counts) != joints or min(counts, default=0) < 0:
        raise Corrupt("the skeleton's end sites do not belong to its joints")
    return [
        first[n - step] + site if step and site < counts[n - step] else -1
        for n, step in enumerate(steps)
        for site in range(counts[n])
    ]


def _tips(words: dict[str, Any], directions: list[Row], lengths: list[Row]) -> list[Row]:
    """[joints] from the parent's origin to the end of the parent's bone."""
    parents = [n - up if up else -1 for n, up in enumerate(words["up"])]
    zero = (0.0, 0.0, 0.0)
    return [tuple(d * lengths[p][0] for d in directions[p]) if p >= 0 else zero for p in parents]


def _numbers(words: dict[str, Any], forms: bytes, mantissas: bytes) -> JointRows:
    """All fields, those that are not in the file with their defaults."""
    fields = [Field(n, Coding(*words[n]), _partners(words, n)) for n in WIDTHS if n in words]
    contexts = [field.form_contexts() for field in fields]
    known = iter(unpack_integers(forms, list(chain(*contexts)), FORM_STATES))
    own = [[next(known) for _ in chosen] for chosen in contexts]
    places = [(field, place) for field, numbers in zip(fields, own, strict=True) for place in field.places(numbers)]
    residuals = iter(unpack_integers(mantissas, [field.context(place) for field, place in places], MANTISSA_STATES))
    rows = {n: [DEFAULTS.get(n, (0.0,) * WIDTHS[n])] * len(_partners(words, n)) for n in WIDTHS}
    for field, numbers in zip(fields, own, strict=True):
        tips = field.coding.form == Form.TIPS
        found = decode_field(field, numbers, residuals)
        rows[field.name] = _tips(words, rows["direction"], rows["length"]) if tips else found
    return rows


# The skeleton.


def _skeleton(words: dict[str, Any], rows: JointRows) -> Skeleton:
    count = len(words["names"])
    counts = words.get("sites") or [0] * count
    edges = list(accumulate(counts, initial=0))
    joints = []
    for n, up in zip(range(count), words["up"], strict=True):
        vectors: dict[str, Any] = {
            name: rows[name][n] for name in ("offset", "axis_deg", "rest", "rest_scale", "direction")
        }
        sites: Any = tuple(rows["end_sites"][edges[n] : edges[n + 1]])
        order = words["orders"][n] if "orders" in words else "xyz"
        length = rows["length"][n][0]
        parent = n - up if up else -1
        joints.append(Joint(str(words["names"][n]), parent, order=order, length=length, end_sites=sites, **vectors))
    return Skeleton(
        tuple(joints),
        tuple(_channels(words)),
        unit_cm=float(words.get("unit_cm", 1.0)),
        angle_unit=words.get("angle_unit", "deg"),
        translation=words.get("translation", "replace"),
        notes={str(key): str(value) for key, value in words.get("notes", {}).items()},
    )


def _channels(words: dict[str, Any]) -> Iterator[Channel]:
    number = 0
    for joint, kinds in zip(accumulate(words["of"]), words["kinds"], strict=True):
        for kind in kinds.split():
            name = words["scalars"][number] if "scalars" in words else ""
            low_high = words["limits"][number] if "limits" in words else ()
            limit = (float(low_high[0]), float(low_high[1])) if low_high else None
            yield Channel(int(joint), kind, str(name), limit)
            number += 1
