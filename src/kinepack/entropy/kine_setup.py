"""The setup of a `kine` stream: everything that its segments share, as range-coded integers.

setup = size of the first part (varint), first part, second part
first  = head, form and order of each turn, then for each track: active, exponent, offset, number of links
second = for each link: distance to the earlier active track, weight
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels import encode_varints
from kinepack.entropy.models import IntegerModel
from kinepack.entropy.range_coder import decode_integers, encode_integers
from kinepack.errors import Corrupt

HEAD = 4
"""unit, scale, shift, finish"""
CONTEXTS = 9
LARGEST_EXPONENT = 200
_MODEL = IntegerModel()


@dataclass(frozen=True, eq=False)
class KineSetup:
    """Integers only; their meaning is in docs/codecs/kine.md."""

    unit: int
    """Frames that block lengths are multiples of."""
    scale: int
    """64 log2 of the nominal error in cm."""
    shift: int
    """Binary digits of link weights."""
    forms: NDArray[np.int32]
    """[turns, 2] form and order."""
    active: NDArray[np.int32]
    """[tracks] whether a track has coefficients."""
    exponents: NDArray[np.int32]
    """[tracks] quarter octaves that a track's step is finer than the skeleton suggests."""
    offsets: NDArray[np.int32]
    """[tracks]"""
    links: list[list[tuple[int, int]]]
    """For each active track: (earlier active track, weight)."""


def _first_contexts(turns: int, tracks: int) -> NDArray[np.int32]:
    per_track = np.repeat(np.arange(3, 7), tracks)
    return np.concatenate([np.zeros(HEAD), np.tile([1, 2], turns), per_track]).astype(np.int32)


def pack_setup(setup: KineSetup) -> bytes:
    counts = np.zeros(len(setup.active), np.int32)
    counts[setup.active.astype(bool)] = [len(own) for own in setup.links]
    head = [setup.unit, setup.scale, setup.shift, 0]
    # Inactive tracks are rare, so that "active" is coded as its opposite.
    first = np.concatenate(
        [head, setup.forms.ravel(), 1 - setup.active, setup.exponents, setup.offsets, counts]
    ).astype(np.int32)
    flat = [(track - j, w) for track, own in enumerate(setup.links) for j, w in own]
    contexts = _first_contexts(len(setup.forms), len(setup.active))
    coded = encode_integers(first, contexts, context_count=CONTEXTS, model=_MODEL)
    second = encode_integers(
        np.array(flat, np.int32).ravel(), np.array([7, 8] * len(flat), np.int32), context_count=CONTEXTS, model=_MODEL
    )
    return bytes(encode_varints([len(coded)])) + coded + second


def unpack_setup(data: bytes, turns: int, tracks: int) -> KineSetup:
    """Inverse of `pack_setup` for a skeleton's numbers of turns and tracks; every field is checked."""
    coded, second = _parts(data)
    contexts = _first_contexts(turns, tracks)
    first = decode_integers(coded, len(contexts), contexts, context_count=CONTEXTS, model=_MODEL)
    head, rest = first[:HEAD], first[HEAD:]
    forms, rest = rest[: 2 * turns].reshape(turns, 2), rest[2 * turns :].reshape(4, tracks)
    active, exponents, offsets, counts = 1 - rest[0], rest[1], rest[2], rest[3]
    unit, scale, shift = (int(n) for n in head[:3])
    sound = (
        1 <= unit <= 64 and abs(scale) <= 64 * 40 and 0 <= shift <= 12 and head[3] == 0
        and bool(((forms >= 0) & (forms < [5, 6])).all())
        and bool(((active == 0) | (active == 1)).all())
        and bool((np.abs(exponents) <= LARGEST_EXPONENT).all())
        and bool(((counts >= 0) & (counts <= 16) & (counts <= 16 * active)).all())
    )  # fmt: skip
    if not sound:
        raise Corrupt("the codec's setup holds a number out of its range")
    links = _unpack_links(second, counts[active.astype(bool)])
    return KineSetup(unit, scale, shift, forms, active, exponents, offsets, links)


def _parts(data: bytes) -> tuple[bytes, bytes]:
    size = at = 0
    for at, byte in enumerate(data[:5]):
        size |= (byte & 127) << 7 * at
        if byte < 128:
            break
    else:
        raise Corrupt("the codec's setup is cut short")
    start = at + 1
    if size > len(data) - start:
        raise Corrupt("the codec's setup is cut short")
    return data[start : start + size], data[start + size :]


def _unpack_links(data: bytes, counts: NDArray[np.int32]) -> list[list[tuple[int, int]]]:
    total = int(counts.sum())
    contexts = np.array([7, 8] * total, np.int32)
    flat = decode_integers(data, 2 * total, contexts, context_count=CONTEXTS, model=_MODEL).reshape(-1, 2)
    links, at = [], 0
    for track, count in enumerate(counts):
        own = [(track - int(back), int(weight)) for back, weight in flat[at : at + count]]
        if any(not 0 <= j < track or abs(w) > 1 << 20 for j, w in own):
            raise Corrupt("a track is predicted from one that does not exist")
        links.append(own)
        at += count
    return links
