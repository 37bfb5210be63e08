"""Lifting wavelets in plain numpy, one level after the other on split even and odd rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

CDF97 = (-1.586134342059924, -0.052980118572961, 0.882911075530934, 0.443506852043971)
CDF97_SCALE = 1.230174104914001


def _even_pairs(even: NDArray[Any], odds: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Left and right even neighbours of every odd row, mirrored at the end."""
    right = np.minimum(np.arange(odds) + 1, len(even) - 1)
    return even[:odds], even[right]


def _odd_pairs(odd: NDArray[Any], evens: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Left and right odd neighbours of every even row, mirrored at both ends."""
    index = np.arange(evens)
    return odd[np.maximum(index - 1, 0)], odd[np.minimum(index, len(odd) - 1)]


def lagrange(points: int, at: float) -> Floats:
    """Weights [points] that interpolate samples at 0, 1 .. at position `at`."""
    nodes = np.arange(points)
    others = [nodes[nodes != node] for node in nodes]
    return np.array([np.prod((at - o) / (n - o)) for n, o in zip(nodes, others, strict=True)])


def _cubic_prediction(even: Floats, odds: int) -> Floats:
    points = min(4, len(even))
    out = np.empty((odds, *even.shape[1:]))
    for i in range(odds):
        first = min(max(i - 1, 0), len(even) - points)
        weights = lagrange(points, i + 0.5 - first)
        out[i] = sum(w * row for w, row in zip(weights, even[first : first + points], strict=True))
    return out


def _sum(pair: tuple[NDArray[Any], NDArray[Any]]) -> NDArray[Any]:
    total: NDArray[Any] = pair[0] + pair[1]
    return total


def _forward_level(even: Floats, odd: Floats, wavelet: str) -> tuple[Floats, Floats]:
    if wavelet == "cdf97":
        for step, factor in enumerate(CDF97):
            if step % 2 == 0:
                odd = odd + factor * _sum(_even_pairs(even, len(odd)))
            else:
                even = even + factor * _sum(_odd_pairs(odd, len(even)))
        return even * (1 / CDF97_SCALE), odd * (CDF97_SCALE / 2)
    if wavelet == "cubic":
        odd = odd - _cubic_prediction(even, len(odd))
    else:
        odd = odd + -0.5 * _sum(_even_pairs(even, len(odd)))
    return even + 0.25 * _sum(_odd_pairs(odd, len(even))), odd


def _inverse_level(even: Floats, odd: Floats, wavelet: str) -> tuple[Floats, Floats]:
    if wavelet == "cdf97":
        even, odd = even * CDF97_SCALE, odd * (2 / CDF97_SCALE)
        for step, factor in reversed(list(enumerate(CDF97))):
            if step % 2 == 0:
                odd = odd - factor * _sum(_even_pairs(even, len(odd)))
            else:
                even = even - factor * _sum(_odd_pairs(odd, len(even)))
        return even, odd
    even = even - 0.25 * _sum(_odd_pairs(odd, len(even)))
    if wavelet == "cubic":
        return even, odd + _cubic_prediction(even, len(odd))
    return even, odd + 0.5 * _sum(_even_pairs(even, len(odd)))


def lifting_forward(values: Floats, wavelet: str, *, levels: int) -> Floats:
    rows, details = np.array(values, np.float64), []
    for _ in range(levels):
        if len(rows) < 2:
            break
        rows, detail = _forward_level(rows[::2], rows[1::2], wavelet)
        details.append(detail)
    return np.concatenate([rows, *reversed(details)])


def lifting_inverse(coefficients: Floats, wavelet: str, *, levels: int) -> Floats:
    rows, details = _split(np.array(coefficients, np.float64), levels)
    for detail in details:
        even, odd = _inverse_level(rows, detail, wavelet)
        rows = _interleave(even, odd)
    return rows


def _split(data: NDArray[Any], levels: int) -> tuple[NDArray[Any], list[NDArray[Any]]]:
    """The approximation, and the details from coarse to fine."""
    details = []
    for _ in range(levels):
        if len(data) < 2:
            break
        evens = len(data) - len(data) // 2
        details.append(data[evens:])
        data = data[:evens]
    return data, details[::-1]


def _interleave(even: NDArray[Any], odd: NDArray[Any]) -> NDArray[Any]:
    out = np.empty((len(even) + len(odd), *even.shape[1:]), even.dtype)
    out[::2], out[1::2] = even, odd
    return out


# ---- reversible 5/3: int64 inside, wrapped to 32 bits after each step


def _wrap(values: NDArray[np.int64]) -> NDArray[np.int64]:
    return values.astype(np.uint32).astype(np.int32).astype(np.int64)


def lifting_forward_int(values: Any, *, levels: int) -> NDArray[np.int32]:
    rows, details = np.array(values, np.int64), []
    for _ in range(levels):
        if len(rows) < 2:
            break
        even, odd = rows[::2], rows[1::2]
        odd = _wrap(odd - (_sum(_even_pairs(even, len(odd))) >> 1))
        rows = _wrap(even + ((_sum(_odd_pairs(odd, len(even))) + 2) >> 2))
        details.append(odd)
    return np.concatenate([rows, *reversed(details)]).astype(np.int32)


def lifting_inverse_int(coefficients: Any, *, levels: int) -> NDArray[np.int32]:
    rows, details = _split(np.array(coefficients, np.int64), levels)
    for odd in details:
        even = _wrap(rows - ((_sum(_odd_pairs(odd, len(rows))) + 2) >> 2))
        odd = _wrap(odd + (_sum(_even_pairs(even, len(odd))) >> 1))
        rows = _interleave(even, odd)
    return rows.astype(np.int32)
