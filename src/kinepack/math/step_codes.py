"""Quantiser steps as small integers: quarters of an octave."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

STEP_CODES = 1024
"""Codes run from 0 to 1023, steps from 2^-128 to 2^127.75."""
_QUARTERS = np.array([1.0, 1.189207115002721, 1.4142135623730951, 1.681792830507429])
_MIDDLE = 128


def step_codes(steps: ArrayLike) -> NDArray[np.uint16]:
    """Codes of quantiser steps, rounded down to a quarter of an octave."""
    quarters = np.floor(4 * np.log2(np.maximum(np.asarray(steps, float), 1e-300)) + 1e-9)
    return np.asarray(np.clip(quarters + 4 * _MIDDLE, 0, STEP_CODES - 1), np.uint16)


def steps_of(codes: ArrayLike) -> NDArray[np.float64]:
    """The mirror of `step_codes`: 2^(code / 4 - 128), from a table so that every machine has the same bits."""
    values = np.asarray(codes, np.int64)
    return np.asarray(np.ldexp(_QUARTERS[values & 3], (values >> 2) - _MIDDLE))
