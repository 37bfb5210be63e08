"""Wavelets along time by lifting: any length, no padding, as many coefficients as samples.

Wavelets:
- cubic: interpolating; odd samples are predicted by the cubic through four even neighbours (Deslauriers and
  Dubuc 1989), one-sided at the ends, so cubics leave no detail anywhere; away from the ends the update keeps
  mean and first moment.
- cdf53, cdf97: Cohen, Daubechies and Feauveau 1992, lifted after Daubechies and Sweldens 1998, mirrored at
  the ends.
- reversible53: cdf53 rounded to integers (int32 in, int32 out, lossless), as in JPEG 2000.

Low-pass filters have gain 1 at zero frequency, so a constant keeps its value in the coarsest band.
Coefficients lie along axis 0: approximation, coarsest details .. finest details (see `subband_sizes`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kinepack import _kernels
from kinepack.errors import ConfigError, UsageError

REVERSIBLE = "reversible53"
WAVELETS = (*_kernels.WAVELETS, REVERSIBLE)
MAX_LEVELS = 40
COARSEST = 4
"""Rows that `levels_for` leaves in the coarsest band, at least: what a cubic needs."""


def forward(values: ArrayLike, wavelet: str = "cubic", *, levels: int | None = None) -> NDArray[Any]:
    """Coefficients of values [frames, ...] (float64; int32 for reversible53); default levels: levels_for."""
    array, rows = _rows(values, wavelet)
    depth = _depth(len(array), levels)
    if wavelet == REVERSIBLE:
        return _kernels.lifting_forward_int(rows, levels=depth).reshape(array.shape)
    return _kernels.lifting_forward(rows, wavelet, levels=depth).reshape(array.shape)


def inverse(coefficients: ArrayLike, wavelet: str = "cubic", *, levels: int | None = None) -> NDArray[Any]:
    """The mirror of `forward`, given the same wavelet and levels."""
    array, rows = _rows(coefficients, wavelet)
    depth = _depth(len(array), levels)
    if wavelet == REVERSIBLE:
        return _kernels.lifting_inverse_int(rows, levels=depth).reshape(array.shape)
    return _kernels.lifting_inverse(rows, wavelet, levels=depth).reshape(array.shape)


def levels_for(frames: int) -> int:
    """The most levels that leave at least four rows in the coarsest band."""
    levels = 0
    while (frames := frames - frames // 2) >= COARSEST:
        levels += 1
    return levels


def subband_sizes(frames: int, levels: int | None = None) -> list[int]:
    """Rows of each band in storage order: approximation, coarsest details .. finest details."""
    details = []
    for _ in range(_depth(frames, levels)):
        details.append(frames // 2)
        frames -= frames // 2
    return [frames, *reversed(details)]


def synthesis_norms(frames: int, wavelet: str = "cubic", *, levels: int | None = None) -> NDArray[np.float64]:
    """Euclidean norm, per band, of the signal that one unit coefficient in the band's middle makes.

    Dividing a band's quantiser step by its norm gives every band the same share of the squared error.
    """
    sizes = subband_sizes(frames, levels)
    starts = np.cumsum([0, *sizes[:-1]])
    units = np.zeros((frames, len(sizes)))
    for band, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        if size:
            units[start + size // 2, band] = 1.0
    smooth = "cdf53" if wavelet == REVERSIBLE else wavelet
    signals: NDArray[np.float64] = inverse(units, smooth, levels=levels)
    return np.asarray(np.linalg.norm(signals, axis=0))


def _depth(frames: int, levels: int | None) -> int:
    depth = levels_for(frames) if levels is None else levels
    if not 0 <= depth <= MAX_LEVELS:
        raise ConfigError(f"levels is {depth}, must be in 0..{MAX_LEVELS}")
    return depth


def _rows(values: ArrayLike, wavelet: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """`values` and its view [frames, everything else]."""
    if wavelet not in WAVELETS:
        raise ConfigError(f"no wavelet is called {wavelet!r}", hint=f"there are: {', '.join(WAVELETS)}")
    array = np.asarray(values)
    if array.ndim == 0 or len(array) == 0:
        raise UsageError("a wavelet needs at least one frame")
    return array, array.reshape(len(array), int(np.prod(array.shape[1:])))
