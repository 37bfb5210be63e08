"""The setup of a `kine` stream: everything that its segments share, as range-coded integers.

setup  = mark, size of the first part (varint), first part, second part
first  = head, form and order of each turn, then for each track: still, exponent, offset, number of links
second = for each link: distance to the earlier moving track, weight
A setup with branches has the size of the second part (varint) before it, and the branches after it; one with knots
has these and their size (varint) after the mark.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels import decode_integers, decode_varints, encode_integers, encode_varints, integer_bins
from kinepack.entropy.models import IntegerModel
from kinepack.errors import Corrupt

MARK, BRANCHED, KNOTTED = 0x80, 1, 2
"""First byte since version 3, before a zero: a size in more bytes than it needs, as no earlier setup starts."""
HEAD = 3
BRANCH, KNOT_RUN, MOST_A_BYTE = 5, 2, 1024
"""Numbers of a branch and of a run of knots, and how many of either a byte may hold."""
LARGEST_ANCHOR, LARGEST_FRAME = 1 << 20, 1 << 30
CLASSES = 6
FORM, ORDER, FIELDS, LINKS, CONTEXTS = 1, 3, 5, 29, 41
"""Where contexts start: forms and orders by root or not, fields and links by the track's class."""
ESCAPE = 14
MODEL = IntegerModel(escape=ESCAPE)
BINS = integer_bins(ESCAPE)
LARGEST_EXPONENT = 200
BENT = 16
"""Added to the shift of a setup whose blocks are bent."""
MOST_LAYERS = 4

Links = list[list[tuple[int, int]]]
Integers = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Rig:
    """What the coding of a setup takes from the skeleton."""

    turn_roots: Integers
    """[turns] 1 where the turn is a root's."""
    classes: NDArray[np.uint8]
    """[tracks]"""
    states: NDArray[np.uint32]
    """[CONTEXTS, BINS] first states, from the prior."""
    angles: tuple[int, ...] = ()
    """Numbers of each joint's Euler angles, one or three."""


class Branch(NamedTuple):
    """From a frame on the Euler angles of an item are those nearest to the anchors."""

    item: int
    """Among the rig's `angles`."""
    frame: int
    anchors: tuple[int, ...]
    """One or three, in quarter turns."""


@dataclass(frozen=True, eq=False)
class KineSetup:
    """Integers only; their meaning is in docs/codecs/kine.md."""

    unit: int
    """Frames that block lengths are multiples of."""
    scale: int
    """64 log2 of the nominal error in cm."""
    shift: int
    """Binary digits of link weights."""
    forms: Integers
    """[turns, 2] form and order."""
    active: Integers
    """[tracks] whether a track has coefficients."""
    exponents: Integers
    """[tracks] quarter octaves that a track's step is finer than the skeleton suggests."""
    offsets: Integers
    """[tracks]"""
    links: Links
    """For each active track: (earlier active track, weight)."""
    hold: int = 1
    """Frames that a key is held, 1 to 8."""
    lead: int = 1
    """Frames that the first key is held, 1 to `hold`."""
    layers: int = 1
    """1 to MOST_LAYERS."""
    branches: tuple[Branch, ...] = ()
    """By item and frame."""
    bent: bool = False
    """Whether blocks begin with a line and a parabola."""
    knots: tuple[tuple[int, int], ...] = ()
    """Gaps between knots and how often each comes in a row, if frames lie between them."""


def integers_of(setup: KineSetup, rig: Rig) -> tuple[Integers, Integers, Integers, Integers]:
    """Values and contexts of the first part, values and contexts of the second."""
    counts = np.zeros(len(setup.active), np.int32)
    counts[setup.active.astype(bool)] = [len(own) for own in setup.links]
    timing = setup.unit + 64 * (setup.hold - 1) + 512 * (setup.lead - 1) + 4096 * (setup.layers - 1)
    head = [timing, setup.scale, setup.shift + BENT * setup.bent]
    first = np.concatenate([head, setup.forms.ravel(), 1 - setup.active, setup.exponents, setup.offsets, counts])
    flat = [(track - j, w) for track, own in enumerate(setup.links) for j, w in own]
    second = np.array(flat, np.int32).reshape(-1)
    classes = rig.classes[setup.active.astype(bool)]
    return first.astype(np.int32), _first_contexts(rig), second, _link_contexts(classes, [len(o) for o in setup.links])


def _first_contexts(rig: Rig) -> Integers:
    forms = rig.turn_roots[:, None] + [FORM, ORDER]
    fields = FIELDS + CLASSES * np.arange(4)[:, None] + rig.classes
    return np.concatenate([np.zeros(HEAD), forms.ravel(), fields.ravel()]).astype(np.int32)


def _link_contexts(classes: NDArray[np.uint8], counts: list[int]) -> Integers:
    own = np.repeat(classes.astype(np.int32), counts)
    return np.asarray((LINKS + own[:, None] + [0, CLASSES]).reshape(-1), np.int32)


def pack_setup(setup: KineSetup, rig: Rig) -> bytes:
    first, contexts, second, link_contexts = integers_of(setup, rig)
    coded, links = _encode(first, contexts, rig), _encode(second, link_contexts, rig)
    mark = bytes([MARK + BRANCHED * bool(setup.branches) + KNOTTED * bool(setup.knots), 0])
    head = mark + (_sized(_pack_knots(setup.knots)) if setup.knots else b"") + _sized(coded)
    return head + (_sized(links) + _pack_branches(setup.branches) if setup.branches else links)


def _sized(part: bytes) -> bytes:
    return bytes(encode_varints([len(part)])) + part


def is_version_3(data: bytes) -> bool:
    return len(data) > 1 and data[0] in range(MARK, MARK + 4) and data[1] == 0


def unpack_setup(data: bytes, rig: Rig) -> KineSetup:
    """Inverse of `pack_setup`, and of that of earlier versions; every field is checked."""
    flags = data[0] - MARK if is_version_3(data) else 0
    knots, rest = _parts(data[2:]) if flags & KNOTTED else (b"", data[2:] if is_version_3(data) else data)
    coded, rest = _parts(rest)
    turns, tracks = len(rig.turn_roots), len(rig.classes)
    first = _decode(coded, _first_contexts(rig), rig)
    forms, fields = first[HEAD : HEAD + 2 * turns].reshape(turns, 2), first[HEAD + 2 * turns :].reshape(4, tracks)
    active, exponents, offsets, counts = 1 - fields[0], fields[1], fields[2], fields[3]
    timing, scale, shift = (int(n) for n in first[:HEAD])
    unit, hold, lead = (timing - 1) % 64 + 1, (timing - 1) // 64 % 8 + 1, (timing - 1) // 512 % 8 + 1
    layers, branched = (timing - 1) // 4096 + 1, bool(flags & BRANCHED)
    sound = (
        timing >= 1
        and lead <= hold
        and layers <= MOST_LAYERS
        and abs(scale) <= 64 * 40
        and 0 <= shift % BENT <= 12
        and 0 <= shift // BENT <= is_version_3(data)
        and bool(((forms >= 0) & (forms < [5, 6])).all())
        and bool(((active == 0) | (active == 1)).all())
        and bool((np.abs(exponents) <= LARGEST_EXPONENT).all())
        and bool(((counts >= 0) & (counts <= 16 * active)).all())
    )
    if not sound:
        raise Corrupt("the codec's setup holds a number out of its range")
    second, third = _parts(rest) if branched else (rest, b"")
    links = _unpack_links(second, counts[active.astype(bool)], rig, rig.classes[active.astype(bool)])
    branches = _unpack_branches(third, rig.angles) if branched else ()
    shift, bent = shift % BENT, shift >= BENT
    runs = _unpack_knots(knots) if flags & KNOTTED else ()
    return KineSetup(
        unit, scale, shift, forms, active, exponents, offsets, links, hold, lead, layers, branches, bent, runs
    )


def _pack_knots(runs: tuple[tuple[int, int], ...]) -> bytes:
    """A varint of the number of runs, then integers: gap and how often it comes, both less 1."""
    return _pack_rows(np.array(runs, np.int32) - 1)


def _unpack_knots(data: bytes) -> tuple[tuple[int, int], ...]:
    rows = _unpack_rows(data, KNOT_RUN) + 1
    frames = sum(gap * count for gap, count in rows.tolist())
    if not len(rows) or rows.min() < 1 or frames >= LARGEST_FRAME:
        raise Corrupt("the codec's setup holds knots out of range")
    return tuple((gap, count) for gap, count in rows.tolist())


def _pack_rows(rows: NDArray[np.int32]) -> bytes:
    """A varint of their number, then integers, each column with a context of its own."""
    states, contexts = MODEL.states(rows.shape[1]), np.tile(np.arange(rows.shape[1], dtype=np.int32), len(rows))
    values = np.ascontiguousarray(rows.ravel(), np.int32)
    coded = encode_integers(values, states, escape=ESCAPE, contexts=contexts, mixing=MODEL.mixing)
    return bytes(encode_varints([len(rows)])) + coded


def _unpack_rows(data: bytes, width: int) -> NDArray[np.int64]:
    (count,), used = decode_varints(data, 1)
    if count > MOST_A_BYTE * len(data):
        raise Corrupt("the codec's setup is too short for what it says to hold")
    contexts, states = np.tile(np.arange(width, dtype=np.int32), int(count)), MODEL.states(width)
    values = decode_integers(data[used:], len(contexts), states, escape=ESCAPE, contexts=contexts, mixing=MODEL.mixing)
    return values.reshape(-1, width).astype(np.int64)


def _pack_branches(branches: tuple[Branch, ...]) -> bytes:
    """A varint of their number, then integers: item, frame and three anchors, less those of the branch before."""
    rows = np.array([[b.item, b.frame, *b.anchors, 0, 0][:BRANCH] for b in branches], np.int32)
    steps = np.diff(rows, axis=0, prepend=0)
    steps[:, 1:] = np.where(steps[:, :1] > 0, rows[:, 1:], steps[:, 1:])  # from nothing at a new item
    return _pack_rows(steps)


def _unpack_branches(data: bytes, angles: tuple[int, ...]) -> tuple[Branch, ...]:
    steps = _unpack_rows(data, BRANCH)
    branches, at = list[Branch](), [0] * BRANCH
    for step in steps.tolist():
        at = [at[0] + step[0], *(step[1:] if step[0] else (a + b for a, b in zip(at[1:], step[1:], strict=True)))]
        item, frame, *anchors = at
        new = step[0] > 0 or not branches or step[1] > 0
        sound = step[0] >= 0 and item < len(angles) and new and 0 <= frame < LARGEST_FRAME
        if not sound or max(map(abs, anchors)) > LARGEST_ANCHOR:
            raise Corrupt("the codec's setup holds a branch out of range")
        branches.append(Branch(item, frame, tuple(anchors[: angles[item]])))
    return tuple(branches)


def _encode(values: Integers, contexts: Integers, rig: Rig) -> bytes:
    return encode_integers(values, rig.states, escape=ESCAPE, contexts=contexts, mixing=MODEL.mixing)


def _decode(data: bytes, contexts: Integers, rig: Rig) -> Integers:
    count = len(contexts)
    return decode_integers(data, count, rig.states, escape=ESCAPE, contexts=contexts, mixing=MODEL.mixing)


def _parts(data: bytes) -> tuple[bytes, bytes]:
    size = 0
    for at, byte in enumerate(data[:5]):
        size |= (byte & 127) << 7 * at
        if byte < 128:
            break
    else:
        raise Corrupt("the codec's setup is cut short")
    if size > len(data) - at - 1:
        raise Corrupt("the codec's setup is cut short")
    return data[at + 1 : at + 1 + size], data[at + 1 + size :]


def _unpack_links(data: bytes, counts: Integers, rig: Rig, classes: NDArray[np.uint8]) -> Links:
    contexts = _link_contexts(classes, counts.tolist())
    flat = _decode(data, contexts, rig).reshape(-1, 2)
    links, at = [], 0
    for track, count in enumerate(counts):
        own = [(track - int(back), int(weight)) for back, weight in flat[at : at + count]]
        if any(not 0 <= j < track or abs(w) > 1 << 20 for j, w in own):
            raise Corrupt("a track is predicted from one that does not exist")
        links.append(own)
        at += count
    return links
