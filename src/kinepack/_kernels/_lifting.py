"""Lifting wavelets along the first axis."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kinepack._kernels._binding import as_array, check, lib, pointer
from kinepack.errors import UsageError

WAVELETS = {"cubic": lib.KP_CUBIC, "cdf53": lib.KP_CDF53, "cdf97": lib.KP_CDF97}


def _wavelet(name: str) -> int:
    if name not in WAVELETS:
        raise UsageError(f"no wavelet is called {name!r}", hint=f"there are: {', '.join(WAVELETS)}")
    return int(WAVELETS[name])


def _levels(levels: int) -> int:
    if not 0 <= levels <= 40:
        raise UsageError(f"levels is {levels}, must be in 0..40")
    return levels


def lifting_forward(values: ArrayLike, wavelet: str, *, levels: int) -> NDArray[np.float64]:
    """Coefficients [rows, channels] of float64 values [rows, channels], coarse rows first."""
    data = as_array(values, np.float64, "values", (None, None)).copy()
    status = lib.kp_lifting_forward(
        pointer(data), *data.shape, _levels(levels), _wavelet(wavelet), pointer(np.empty_like(data))
    )
    check(status, "lifting_forward")
    return data


def lifting_inverse(coefficients: ArrayLike, wavelet: str, *, levels: int) -> NDArray[np.float64]:
    """The mirror of `lifting_forward`."""
    data = as_array(coefficients, np.float64, "coefficients", (None, None)).copy()
    status = lib.kp_lifting_inverse(
        pointer(data), *data.shape, _levels(levels), _wavelet(wavelet), pointer(np.empty_like(data))
    )
    check(status, "lifting_inverse")
    return data


def lifting_forward_int(values: ArrayLike, *, levels: int) -> NDArray[np.int32]:
    """Reversible 5/3 on int32 values [rows, channels]; arithmetic wraps modulo 2^32 and stays reversible."""
    data = as_array(values, np.int32, "values", (None, None)).copy()
    check(
        lib.kp_lifting_forward_int(pointer(data), *data.shape, _levels(levels), pointer(np.empty_like(data))),
        "lifting_forward_int",
    )
    return data


def lifting_inverse_int(coefficients: ArrayLike, *, levels: int) -> NDArray[np.int32]:
    """The mirror of `lifting_forward_int`."""
    data = as_array(coefficients, np.int32, "coefficients", (None, None)).copy()
    check(
        lib.kp_lifting_inverse_int(pointer(data), *data.shape, _levels(levels), pointer(np.empty_like(data))),
        "lifting_inverse_int",
    )
    return data
