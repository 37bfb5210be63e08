"""Numbers as the decimal integers that they were printed as, exactly."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]

MOST_DECIMALS = 22
"""Powers of ten are exact floats up to here, so that a quotient by one is the float nearest to the decimal."""
MOST_POWER = 15
EXACT_SHARE, NOISE_SHARE = 0.75, 0.95
"""Of a channel's numbers must be on one grid of decimals, or be rounding noise."""
LARGEST = float(1 << 51)
MOST_DIGITS = 9
"""Numbers with more significant digits than this are taken for ones of fixed decimals."""


class DecimalChannel(NamedTuple):
    """values = numbers / 10^decimals, bit for bit but for odd ones."""

    numbers: Numbers
    digits: int
    """Significant digits that numbers are printed with, 0 if that is no bound."""
    decimals: int


def forward(values: Array) -> DecimalChannel | None:
    """One channel, or None if it is not printed in decimals of moderate length.

    Some numbers may be off the grid, such as 1e-14 among degrees: they are told by comparing with `inverse`.
    """
    best, most = None, EXACT_SHARE
    for decimals in range(MOST_DECIMALS + 1):
        grid = np.rint(values * 10.0**decimals)
        if np.abs(grid).max() > LARGEST:
            break
        share = float((grid / 10.0**decimals == values).mean())
        if share > most or share == 1:
            best, most = decimals, share
        if share == 1:
            break
    return on_grid(values, best) if best is not None else None


def on_grid(values: Array, decimals: int) -> DecimalChannel:
    grid = np.rint(values * 10.0**decimals)
    # Of those off the grid tiny ones are zeros, others repeat the number before them.
    good = (grid / 10.0**decimals == values) | (grid == 0)
    numbers = grid.astype(np.int64)[np.maximum.accumulate(np.where(good, np.arange(len(grid)), np.argmax(good)))]
    return DecimalChannel(numbers, _significant(numbers), decimals)


def inverse(numbers: Numbers, decimals: NDArray[np.int32]) -> Array:
    """[frames, channels] of all channels, `decimals` [channels]."""
    return np.asarray(numbers / np.array([10.0**d for d in range(MOST_DECIMALS + 1)])[decimals])


def _significant(numbers: Numbers) -> int:
    places, trailing = _digits(np.abs(numbers)), np.zeros(len(numbers), np.int64)
    for power in range(1, MOST_POWER + 1):
        trailing[(numbers % 10**power == 0) & (numbers != 0)] = power
    significant = int((places - trailing)[numbers != 0].max(initial=1))
    return significant if significant <= MOST_DIGITS and significant < places.max(initial=0) else 0


def _digits(magnitudes: Numbers) -> Numbers:
    return np.searchsorted(np.array([10**k for k in range(17)], np.int64), magnitudes, side="right").astype(np.int64)


NOISE_DECIMALS, NOISE_DIGITS = 22, 6
NOISE_UNIT, NOISE_SHIFT, NOISE_BITS = 521102079011, 28, 21
"""2^-68 rad in degrees on the grid of 10^-22, times 2^28; multiples of it are below 2^21."""


def dyadic(values: Array) -> DecimalChannel | None:
    """Rounding noise: small multiples of a power of two in radians, printed as degrees with six digits."""
    channel = on_grid(values, NOISE_DECIMALS)
    sizes = np.abs(channel.numbers)
    known = np.zeros(len(sizes), bool)
    nearest = np.rint(sizes * (2.0**NOISE_SHIFT / NOISE_UNIT)).astype(np.int64)
    for multiple in (nearest - 1, nearest, nearest + 1):
        known |= (multiple >= 0) & (multiple < 1 << NOISE_BITS) & (_printed(np.maximum(multiple, 0)) == sizes)
    if known.mean() < NOISE_SHARE or not known[0]:
        return None
    latest = np.maximum.accumulate(np.where(known, np.arange(len(known)), 0))
    return DecimalChannel(channel.numbers[latest], NOISE_DIGITS, NOISE_DECIMALS)


def _printed(multiples: Numbers) -> Numbers:
    """Sizes on the grid, as kine_numbers.c rounds them."""
    products = multiples * NOISE_UNIT
    powers = np.maximum(_digits(products >> NOISE_SHIFT) - NOISE_DIGITS, 0)
    grid = np.array([10**k for k in range(17)], np.int64)[powers]
    return ((products >> (NOISE_SHIFT - 1)) // grid + 1) // 2 * grid
