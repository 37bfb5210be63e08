"""Setups of lossless streams with learning predictors.

Since version 5: 0, 1, size of the integers (varint), integers (rig; modes, decimals, digits, scales and distances of
copies of all channels), constants (float64). Versions 3 and 4: 0, 0, zlib of modes, decimals, digits, scales,
channels that copies repeat, constants.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels import decode_integers, decode_varints, encode_integers, encode_varints
from kinepack._kernels._kine import DYADIC, NO_ROLE, NumberModel, kine_numbers_decode
from kinepack.codecs._kine.exact_layout import (
    CONSTANT,
    COPY,
    DECIMAL,
    MARK,
    ODD,
    RAW,
    RAW_DEFLATE,
    Array,
    ExactSynthesis,
    coded_channels,
    inflate,
    pack_odd,
    unpack_odd,
)
from kinepack.codecs._kine.exact_past import PastSynthesis
from kinepack.codecs._kine.rigs import AMC, AMC_CHANNELS, NO_RIG
from kinepack.entropy.kine_exact_prior import exact_prior
from kinepack.entropy.models import IntegerModel
from kinepack.limits import Limits
from kinepack.transforms import decimals as decimal

MOST_DIGITS, MOST_SCALE = 15, 40
MODES = (CONSTANT, DECIMAL, RAW, COPY, DECIMAL + ODD)
MODEL = IntegerModel(rate=5, escape=14)
LATEST = 1
"""Second byte of a setup since version 5."""
FIELDS = 5
"""Of each channel: mode, decimals, digits, scale, distance of a copy; zero where they do not apply."""
USUAL_DECIMALS = 5


class Setup(NamedTuple):
    rig: int
    modes: NDArray[np.uint8]
    places: NDArray[np.uint8]
    """[coded channels] decimals"""
    digits: NDArray[np.uint8]
    scales: NDArray[np.int8]
    twins: NDArray[Any]
    """[channels] the channel that each repeats, where it is a copy."""
    constants: Array


def roles_of(rig: int, modes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """[coded channels] which channel of the rig each is."""
    every = np.arange(len(modes)) if rig == AMC else np.full(len(modes), NO_ROLE)
    return np.asarray(every[coded_channels(modes)], np.uint8)


def _expected(places: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Digits of numbers on so fine a grid, and the scale of moves of one size."""
    return np.where(places > 4, 6, 0), 10 * places // 3


def pack_setup(setup: Setup) -> bytes:
    rows = np.zeros((FIELDS, len(setup.modes)), np.int32)
    coded, copies = coded_channels(setup.modes), np.flatnonzero(setup.modes == COPY)
    places = setup.places.astype(np.int32)
    digits, scales = _expected(places)
    rows[0] = setup.modes - np.int32(DECIMAL)
    rows[1:4, coded] = places - USUAL_DECIMALS, setup.digits - digits, setup.scales - scales
    rows[4, copies] = copies - setup.twins[copies]
    values = np.concatenate([[setup.rig], rows.ravel()]).astype(np.int32)
    packed = encode_integers(
        values, _states(), escape=MODEL.escape, contexts=_contexts(rows.shape[1]), mixing=MODEL.mixing
    )
    return bytes([MARK, LATEST, *encode_varints([len(packed)])]) + packed + pack_odd(setup.constants)


def _states() -> NDArray[np.uint32]:
    return MODEL.states(1 + FIELDS)


def _contexts(width: int) -> NDArray[np.int32]:
    """The rig's, then a context of its own for each field of all channels."""
    return np.concatenate([[0], np.repeat(np.arange(1, 1 + FIELDS), width)]).astype(np.int32)


class LatestSynthesis(ExactSynthesis):
    wbits = RAW_DEFLATE

    def __init__(self, data: bytes, width: int) -> None:
        size, used = _size_of(data[2:])
        packed, rest = data[2 + used : 2 + used + size], data[2 + used + size :]
        super().__init__(rest)
        contexts = _contexts(width)
        values = decode_integers(
            packed, len(contexts), _states(), escape=MODEL.escape, contexts=contexts, mixing=MODEL.mixing
        )
        rig, rows = int(values[0]), values[1:].reshape(FIELDS, width).astype(np.int64)
        modes, places = rows[0] + DECIMAL, rows[1] + USUAL_DECIMALS
        self.check_ranges(
            bool(np.isin(modes, MODES).all()) and 0 <= places.min(initial=0) <= places.max(initial=0) <= 22
        )
        self.modes = modes.astype(np.uint8)
        self.coded = coded_channels(self.modes)
        self.places = places[self.coded].astype(np.int32)
        usual_digits, usual_scales = _expected(self.places)
        digits, scales = rows[2, self.coded] + usual_digits, rows[3, self.coded] + usual_scales
        self.check_ranges(rig in (NO_RIG, AMC) and (rig == NO_RIG or width == AMC_CHANNELS))
        self.check_ranges(_sound(digits, scales))
        roles = roles_of(rig, self.modes)
        self.model = NumberModel(
            digits.astype(np.uint8), scales.astype(np.int8), self.places.astype(np.uint8), roles, exact_prior()
        )
        copies = np.flatnonzero(self.modes == COPY)
        self.copies = (copies - rows[4, copies]).astype(np.intp)
        self.check_ranges(bool((self.copies >= 0).all()))
        self.constants = unpack_odd(self.take_rest(), int((self.modes == CONSTANT).sum()))
        self.check(True)

    def numbers(self, data: bytes, frames: int, limits: Limits) -> Array:
        return decimal.inverse(kine_numbers_decode(data, frames, self.model, limits), self.places)

    def parts(self, data: bytes) -> tuple[bytes, bytes]:
        size, used = _size_of(data)
        return data[used : used + size], data[used + size :]

    def odd_numbers(self, data: bytes, count: int) -> Array:
        return unpack_odd(data, count)


class DeflatedSynthesis(ExactSynthesis):
    """Of versions 3 and 4."""

    def __init__(self, data: bytes, width: int) -> None:
        super().__init__(inflate(data[2:], width * 12))
        self.modes = self.take(np.uint8, width)
        self.coded = coded_channels(self.modes)
        count = int(self.coded.sum())
        self.places = self.take(np.uint8, count).astype(np.int32)
        digits, scales = self.take(np.uint8, count), self.take(np.int8, count)
        unused = np.full(count, NO_ROLE, np.uint8)
        self.model = NumberModel(digits, scales, unused, unused, b"")
        self.take_repeats()
        self.check(
            bool(np.isin(self.modes, MODES).all())
            and self.places.max(initial=0) <= decimal.MOST_DECIMALS
            and _sound(digits, scales)
        )

    numbers = LatestSynthesis.numbers


def _sound(digits: NDArray[Any], scales: NDArray[Any]) -> bool:
    low, high = digits.min(initial=0) >= 0, digits.max(initial=0) <= DYADIC + MOST_DIGITS
    return bool(
        low
        and high
        and not (digits == DYADIC).any()
        and scales.min(initial=0) >= 0
        and scales.max(initial=0) <= MOST_SCALE
    )


def _size_of(data: bytes) -> tuple[int, int]:
    """A part's size, and how many bytes say it."""
    (size,), used = decode_varints(data, 1)
    return int(size), used


@lru_cache(maxsize=64)
def exact_synthesis_of(setup: bytes, width: int) -> ExactSynthesis:
    """Deflated data never starts with 0 or 1, so that the second byte tells the versions apart."""
    readers = {b"\0": DeflatedSynthesis, bytes([LATEST]): LatestSynthesis}
    return readers.get(setup[1:2], PastSynthesis)(setup, width)
