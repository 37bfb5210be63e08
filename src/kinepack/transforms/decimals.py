"""Numbers as the decimal integers that they were printed as, exactly."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MOST_DECIMALS = 22
"""Powers of ten are exact floats up to here, so that a quotient by one is the float nearest to the decimal."""
MOST_POWER = 15
EXACT_SHARE = 0.95
"""Of a channel's numbers must be on one grid of decimals."""
LARGEST = float(1 << 51)
MOST_DIGITS = 9
"""Numbers with more significant digits than this are taken for ones of fixed decimals."""


class DecimalChannel(NamedTuple):
    """values = mantissas · 10^powers / 10^decimals, bit for bit."""

    mantissas: NDArray[np.int64]
    powers: NDArray[np.uint8]
    decimals: int


def forward(values: Array) -> DecimalChannel | None:
    """One channel, or None if it is not printed in decimals of moderate length.

    A few numbers may be off the grid, such as 1e-17 among degrees: they are told by comparing with `inverse`.
    """
    best, most = None, EXACT_SHARE
    for decimals in range(MOST_DECIMALS + 1):
        grid = np.rint(values * 10.0**decimals)
        if np.abs(grid).max() > LARGEST:
            break
        share = float((grid / 10.0**decimals == values).mean())
        if share > most or share == 1:
            best, most = (grid, decimals), share
        if share == 1:
            break
    return _split(best[0].astype(np.int64), best[1]) if best else None


def inverse(mantissas: NDArray[np.int64], powers: NDArray[np.uint8], decimals: NDArray[np.int32]) -> Array:
    """[frames, channels] of all channels, `decimals` [channels]."""
    whole = mantissas * np.array([10**k for k in range(MOST_POWER + 1)], np.int64)[powers]
    return np.asarray(whole / np.array([10.0**d for d in range(MOST_DECIMALS + 1)])[decimals])


def _split(grid: NDArray[np.int64], decimals: int) -> DecimalChannel:
    """Takes out the powers of ten that a fixed number of significant digits leaves, if there is such a number."""
    places = _digits(np.abs(grid))
    trailing = np.zeros(len(grid), np.int64)
    for power in range(1, MOST_POWER + 1):
        trailing[(grid % 10**power == 0) & (grid != 0)] = power
    significant = int((places - trailing)[grid != 0].max(initial=1))
    if significant > MOST_DIGITS:
        return DecimalChannel(grid, np.zeros(len(grid), np.uint8), decimals)
    powers = np.clip(places - significant, 0, MOST_POWER)
    # Zero is on every grid: it keeps the one of the number before it.
    latest = np.maximum.accumulate(np.where(grid != 0, np.arange(len(grid)), 0))
    powers = powers[latest]
    return DecimalChannel(grid // 10**powers, powers.astype(np.uint8), decimals)


def _digits(magnitudes: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.searchsorted(np.array([10**k for k in range(17)], np.int64), magnitudes, side="right").astype(np.int64)
