"""Lossless mode of `kine`: every channel as the decimals it was printed in.

setup = 0, 0, zlib of: modes; for coded channels decimals, digits and scales; channels that copies repeat; constants
"""

from __future__ import annotations

import zlib
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels._kine import DYADIC, NumberModel, kine_numbers_decode, kine_numbers_encode
from kinepack.codecs._kine.exact_layout import (
    CONSTANT,
    COPY,
    DECIMAL,
    MARK,
    ODD,
    RAW,
    Array,
    ExactSynthesis,
    coded_channels,
    inflate,
    with_extras,
)
from kinepack.codecs._kine.exact_past import PastSynthesis
from kinepack.codecs.base import Segment, Stream, segment_ranges
from kinepack.limits import Limits
from kinepack.model import Clip
from kinepack.transforms import decimals as decimal

LEARNING = 8
"""Segments are this many times longer than lossy ones: predictors learn anew in each."""
MOST_DIGITS, MOST_SCALE = 15, 40
MODES = (CONSTANT, DECIMAL, RAW, COPY, DECIMAL + ODD)
NOISE = 1e-10
"""Degrees below this are rounding noise of a calculation in radians."""


class ExactChannel(NamedTuple):
    """How one channel is written, and its whole numbers if it is coded."""

    mode: int
    decimals: int = 0
    digits: int = 0
    numbers: NDArray[np.int64] | None = None


def encode_exact(source: Clip, seconds: float) -> Stream:
    twins = _twins(source.values)
    channels = [
        _analyse(column, first < n) for n, (column, first) in enumerate(zip(source.values.T, twins, strict=True))
    ]
    modes = np.array([channel.mode for channel in channels], np.uint8)
    coded = [channel for channel in channels if channel.numbers is not None]
    numbers = np.array([channel.numbers for channel in coded], np.int64).reshape(-1, source.frames).T
    places = np.array([channel.decimals for channel in coded], np.uint8)
    model = NumberModel(np.array([channel.digits for channel in coded], np.uint8), _scales(numbers))
    constants = source.values[0, modes == CONSTANT].astype("<f8")
    parts = [modes, places, *model, np.array(twins, "<u4")[modes == COPY], constants]
    setup = bytes([MARK, 0]) + zlib.compress(b"".join(part.tobytes() for part in parts), 9)
    on_grid = decimal.inverse(numbers, places.astype(np.int32))[:, modes[coded_channels(modes)] >= ODD]
    given = source.values[:, modes >= ODD]
    odd = given.view(np.int64) != np.ascontiguousarray(on_grid).view(np.int64)
    segments = []
    for start, stop in segment_ranges(source, LEARNING * seconds):
        data = kine_numbers_encode(numbers[start:stop], model)
        raw = source.values[start:stop, modes == RAW]
        segments.append(Segment(start, stop - start, with_extras(data, raw, odd[start:stop], given[start:stop])))
    return Stream(source.skeleton, source.frames, source.frame_time, setup, segments, source.name)


class NumberSynthesis(ExactSynthesis):
    def __init__(self, data: bytes, width: int) -> None:
        super().__init__(inflate(data[2:], width * 12))
        self.modes = self.take(np.uint8, width)
        self.coded = coded_channels(self.modes)
        count = int(self.coded.sum())
        self.places = self.take(np.uint8, count).astype(np.int32)
        self.model = NumberModel(self.take(np.uint8, count), self.take(np.int8, count))
        self.take_repeats()
        digits, scales = self.model
        self.check(
            bool(np.isin(self.modes, MODES).all())
            and self.places.max(initial=0) <= decimal.MOST_DECIMALS
            and digits.max(initial=0) <= DYADIC + MOST_DIGITS
            and not (digits == DYADIC).any()
            and scales.min(initial=0) >= 0
            and scales.max(initial=0) <= MOST_SCALE
        )

    def numbers(self, data: bytes, frames: int, limits: Limits) -> Array:
        return decimal.inverse(kine_numbers_decode(data, frames, self.model, limits), self.places)


@lru_cache(maxsize=64)
def exact_synthesis_of(setup: bytes, width: int) -> ExactSynthesis:
    """Deflated data never starts with 0, so that the second byte tells the versions apart."""
    return NumberSynthesis(setup, width) if setup[1:2] == b"\0" else PastSynthesis(setup, width)


def _twins(values: Array) -> list[int]:
    """[channels] the first channel with the same bits, which may be the channel itself."""
    first: dict[bytes, int] = {}
    return [first.setdefault(column.tobytes(), number) for number, column in enumerate(values.T)]


def _analyse(column: Array, repeated: bool) -> ExactChannel:
    column = np.ascontiguousarray(column)
    if (column.view(np.int64) == column.view(np.int64)[0]).all():
        return ExactChannel(CONSTANT)
    if repeated:
        return ExactChannel(COPY)
    found = decimal.dyadic(column) if np.abs(column).max() < NOISE else None
    digits = DYADIC if found else 0
    found = found or decimal.forward(column)
    if found is None:
        return ExactChannel(RAW)
    restored = decimal.inverse(found.numbers, np.array(found.decimals, np.int32))
    odd = bool((restored.view(np.int64) != column.view(np.int64)).any())
    return ExactChannel(DECIMAL + ODD * odd, found.decimals, found.digits + digits, found.numbers)


def _scales(numbers: NDArray[np.int64]) -> NDArray[np.int8]:
    """log2 of each channel's typical move."""
    moves = np.abs(np.diff(numbers, axis=0)).astype(np.float64)
    if not moves.size:
        return np.zeros(numbers.shape[1], np.int8)
    typical = 1.5 * np.where(np.median(moves, axis=0) > 0, np.median(moves, axis=0), moves.mean(axis=0))
    return np.clip(np.round(np.log2(np.maximum(typical, 1))), 0, MOST_SCALE).astype(np.int8)
