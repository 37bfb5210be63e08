"""Curves over time that the samples are drawn with. Times in seconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinepack.math.rotation import axis_matrix, matrix_to_euler

Array = NDArray[np.float64]


def smooth(values: Array, sigma: float, rate: float) -> Array:
    """`values[frames, ...]` through a Gaussian of `sigma` seconds; the ends are held."""
    reach = int(np.ceil(3 * sigma * rate))
    offsets = np.arange(-reach, reach + 1)
    weights = np.exp(-0.5 * (offsets / (sigma * rate)) ** 2)
    weights /= weights.sum()
    padded = np.concatenate([values[:1].repeat(reach, axis=0), values, values[-1:].repeat(reach, axis=0)])
    result = np.zeros_like(values)
    for shift, weight in enumerate(weights):
        result += weight * padded[shift : shift + len(values)]
    return result


def keyed(times: Array, keys: Sequence[tuple[float, float]], sigma: float = 0.06) -> Array:
    """Straight lines through (time, value) keys, their corners rounded off; [frames]."""
    at, values = np.array(keys).T
    return smooth(np.interp(times, at, values), sigma, 1 / (times[1] - times[0]))


def hermite(times: Array, keys: Sequence[tuple[float, float, float]]) -> Array:
    """The piecewise cubic through (time, value, slope) keys, constant outside them; [frames]."""
    at, value, slope = np.array(keys).T
    left = np.clip(np.searchsorted(at, times, side="right") - 1, 0, len(at) - 2)
    span = at[left + 1] - at[left]
    s = np.clip((times - at[left]) / span, 0, 1)
    result: Array = (
        value[left] * (1 + 2 * s) * (1 - s) ** 2
        + slope[left] * span * s * (1 - s) ** 2
        + value[left + 1] * s**2 * (3 - 2 * s)
        + slope[left + 1] * span * s**2 * (s - 1)
    )
    return result


def ease(times: Array, start: float, stop: float) -> Array:
    """0 before `start`, 1 after `stop`, a cubic between; [frames]."""
    s = np.clip((times - start) / (stop - start), 0, 1)
    result: Array = s * s * (3 - 2 * s)
    return result


def lower_envelope(values: Array, reach: int) -> Array:
    """The smallest of the `2 reach + 1` values around each; smoothed that far it stays below `values`."""
    padded = np.pad(values, reach, mode="edge")
    result: Array = np.lib.stride_tricks.sliding_window_view(padded, 2 * reach + 1).min(axis=1)
    return result


def noise(seed: int, shape: tuple[int, ...]) -> Array:
    """Nearly normal noise of unit variance, the same with every numpy version (only its raw bits are)."""
    raw = np.random.PCG64(seed).random_raw(int(np.prod(shape)) * 4)
    parts = (np.asarray(raw, np.uint64) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    result: Array = (parts.reshape(*shape, 4).sum(axis=-1) - 2) * np.sqrt(3.0)
    return result


def rotation(axis: int, angle_deg: Any) -> Array:
    """Matrices [..., 3, 3] that turn about x (0), y (1) or z (2)."""
    return axis_matrix(axis, np.radians(angle_deg))


def zyx_angles_deg(matrix: Array) -> Array:
    """(rx, ry, rz) [..., 3] with matrix = Rz Ry Rx."""
    return np.degrees(matrix_to_euler(matrix, "zyx")[..., ::-1])
