"""Lossless mode of `kine`: every channel as the decimals it was printed in.

The setup and how it is read back: exact_numbers.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels._kine import DYADIC, NumberModel, kine_numbers_encode
from kinepack.codecs._kine.exact_layout import CONSTANT, COPY, DECIMAL, ODD, RAW, Array, coded_channels, with_extras
from kinepack.codecs._kine.exact_numbers import MOST_SCALE, Setup, pack_setup, roles_of
from kinepack.codecs._kine.rigs import rig_number
from kinepack.codecs.base import Segment, Stream, segment_ranges
from kinepack.entropy.kine_exact_prior import exact_prior
from kinepack.model import Clip
from kinepack.transforms import decimals as decimal

LEARNING = 8
"""Segments are this many times longer than lossy ones: predictors learn anew in each."""
NOISE = 1e-10
"""Degrees below this are rounding noise of a calculation in radians."""


class ExactChannel(NamedTuple):
    """How one channel is written, and its whole numbers if it is coded."""

    mode: int
    decimals: int = 0
    digits: int = 0
    numbers: NDArray[np.int64] | None = None


def encode_exact(source: Clip, seconds: float) -> Stream:
    channels = channels_of(source.values)
    modes = np.array([channel.mode for channel in channels], np.uint8)
    coded = [channel for channel in channels if channel.numbers is not None]
    numbers = np.array([channel.numbers for channel in coded], np.int64).reshape(-1, source.frames).T
    places = np.array([channel.decimals for channel in coded], np.uint8)
    digits = np.array([channel.digits for channel in coded], np.uint8)
    twins = np.array(_twins(source.values))
    rig = rig_number(source.skeleton)
    setup = Setup(rig, modes, places, digits, _scales(numbers), twins, source.values[0, modes == CONSTANT])
    model = NumberModel(digits, setup.scales, places, roles_of(rig, modes), exact_prior())
    on_grid = decimal.inverse(numbers, places.astype(np.int32))[:, modes[coded_channels(modes)] >= ODD]
    given = source.values[:, modes >= ODD]
    odd = given.view(np.int64) != np.ascontiguousarray(on_grid).view(np.int64)
    segments = []
    for start, stop in segment_ranges(source, LEARNING * seconds):
        data = kine_numbers_encode(numbers[start:stop], model)
        raw = source.values[start:stop, modes == RAW]
        segments.append(Segment(start, stop - start, with_extras(data, raw, odd[start:stop], given[start:stop])))
    return Stream(source.skeleton, source.frames, source.frame_time, pack_setup(setup), segments, source.name)


def channels_of(values: Array) -> list[ExactChannel]:
    """How the columns of values [frames, channels] are written."""
    twins = _twins(values)
    return [_analyse(column, first < n) for n, (column, first) in enumerate(zip(values.T, twins, strict=True))]


def _twins(values: Array) -> list[int]:
    """[channels] the first channel with the same bits, which may be the channel itself."""
    first: dict[bytes, int] = {}
    return [first.setdefault(column.tobytes(), number) for number, column in enumerate(values.T)]


def _analyse(column: Array, repeated: bool) -> ExactChannel:
    column = np.ascontiguousarray(column)
    if repeated:
        return ExactChannel(COPY)
    if (column.view(np.int64) == column.view(np.int64)[0]).all():
        return ExactChannel(CONSTANT)
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
