"""Which wavelet coefficients to keep, and how finely (section 4, Beaudoin et al. 2007)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kinepack.errors import ConfigError
from kinepack.math.step_codes import step_codes, steps_of
from kinepack.model import Skeleton
from kinepack.transforms import wavelet_window as wavelet

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
LARGEST_LEVEL = (1 << 31) - 1
CODED_LEVELS = 32_000
"""Quantiser levels to each side of zero when 16 bits span a signal's range."""


@dataclass(frozen=True, eq=False)
class Quantized:
    """What the stream holds of one run of frames."""

    levels: NDArray[np.int32]
    """[frames, signals]"""
    codes: NDArray[np.uint16]
    """[signals] step codes."""

    def values(self, scale: Array) -> Array:
        """[frames, signals] what a decoder makes of it."""
        return wavelet.inverse(self.levels * step_table(len(self.levels), self.codes, scale))


def channel_scale(skeleton: Skeleton) -> Array:
    """[channels] centimetres that one unit of a channel moves the end of the bone its joint drives.

    Angles in radians times bone length, as in the paper; a unit quaternion moves half as fast as the turn.
    """
    lengths = driven_lengths(skeleton) * skeleton.unit_cm
    typical = float(lengths.mean()) if len(lengths) else 1.0
    factor = {"t": skeleton.unit_cm, "r": skeleton.radians_per_angle, "q": 2.0, "v": 1.0, "s": 1.0}
    scale = []
    for channel in skeleton.channels:
        kind = channel.kind[0]
        if channel.kind == "scalar" or channel.joint < 0:
            scale.append(typical)
        else:
            scale.append(factor[kind] * (1.0 if kind == "t" else float(lengths[channel.joint])))
    return np.array(scale)


def driven_lengths(skeleton: Skeleton) -> Array:
    """[joints] length of the bone each joint drives: its own where bones have tips, else the longest to a child."""
    own = np.linalg.norm(skeleton.tips, axis=1)
    reach = own.copy()
    for child, joint in enumerate(skeleton.joints):
        span = max(float(np.linalg.norm(joint.offset)), float(own[child]))
        if joint.parent >= 0 and own[joint.parent] == 0:
            reach[joint.parent] = max(reach[joint.parent], span)
        for site in joint.end_sites:
            reach[child] = max(reach[child], float(np.linalg.norm(site)))
    used = reach[reach > 0]
    return np.where(reach > 0, reach, used.mean() if len(used) else 1.0)


def keep_largest(scores: Array, count: int) -> Mask:
    """The `count` largest scores, the earlier of equal ones."""
    mask = np.zeros(scores.size, bool)
    mask[np.argsort(-scores, axis=None, kind="stable")[: max(count, 0)]] = True
    return mask.reshape(scores.shape)


def standard_scores(coefficients: Array, scale: Array) -> Array:
    """[frames, signals] magnitude of what each coefficient adds to its signal, in centimetres."""
    return np.abs(coefficients) * scale * wavelet.row_norms(len(coefficients))[:, None]


def step_table(frames: int, codes: NDArray[np.uint16], scale: Array) -> Array:
    """[frames, signals] quantiser steps in the signals' units."""
    return wavelet.row_gains(frames)[:, None] * (steps_of(codes) / scale)


def quantize(
    coefficients: Array, kept: Mask, steps_cm: Array, scale: Array, *, codes: NDArray[np.uint16] | None = None
) -> Quantized:
    """Rounds the kept coefficients to steps [signals] in scaled units, or to those of `codes`."""
    wanted = np.where(kept, coefficients, 0.0)
    codes = limited_codes(wanted, steps_cm, scale) if codes is None else codes
    levels = np.round(wanted / step_table(len(coefficients), codes, scale))
    if np.abs(levels).max(initial=0) > LARGEST_LEVEL:
        raise ConfigError("the clip's numbers are too large for 32-bit coefficients")
    quantized = levels.astype(np.int32)
    return Quantized(quantized, _tidy(codes, quantized))


def limited_codes(values: Array, steps_cm: Array, scale: Array) -> NDArray[np.uint16]:
    """[signals] step codes, coarser than asked where levels would need more than 31 bits."""
    largest = np.abs(values / wavelet.row_gains(len(values))[:, None]).max(axis=0) * scale
    return step_codes(np.maximum(steps_cm, largest / (LARGEST_LEVEL // 2)))


def full_range_steps(coefficients: Array, kept: Mask, scale: Array) -> Array:
    """[signals] steps with which 16 bits span each signal's largest coefficient, as the paper's do."""
    largest = np.abs(coefficients * kept / wavelet.row_gains(len(coefficients))[:, None]).max(axis=0) * scale
    return np.asarray(np.maximum(largest / CODED_LEVELS * 2**0.25, 1e-30))


def _tidy(codes: NDArray[np.uint16], levels: NDArray[np.int32]) -> NDArray[np.uint16]:
    """A signal without coefficients repeats the step before it, which costs an entropy coder least."""
    used = np.flatnonzero(levels.any(axis=0))
    if not len(used):
        return np.zeros_like(codes)
    last = used[np.maximum(np.searchsorted(used, np.arange(len(codes)), side="right") - 1, 0)]
    return codes[last]
