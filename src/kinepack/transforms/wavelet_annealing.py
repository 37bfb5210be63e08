"""Optimised coefficient selection by simulated annealing (section 5, Algorithm 1, Beaudoin et al. 2007)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels import _wavelet
from kinepack.math.kinematics import forward_kinematics
from kinepack.math.pose_derivatives import moving_channels, native_rig
from kinepack.model import Clip
from kinepack.transforms import wavelet_window as wavelet

Array = NDArray[np.float64]
PATIENCE = 10
"""Successive failures after which the step is halved, as in the paper."""
MOST_ITERATIONS = 20_000
SEED = 20070528


class Search(NamedTuple):
    """What Algorithm 1 found."""

    kept: NDArray[np.bool_]
    """[frames, channels]"""
    iterations: int


def anneal(clip: Clip, coefficients: Array, counts: NDArray[np.int64], *, seed: int = SEED) -> Search:
    """From w = `counts` [channels] to the vector m with the same sum that minimises e_x, by Algorithm 1.

    Channels that move no measured point keep their counts: e_x does not know them.
    """
    frames = clip.frames
    order = magnitude_order(coefficients)
    moving = moving_channels(clip.skeleton)
    kept = counts.astype(np.uint32)
    iterations = 0
    if moving.any() and kept[moving].max(initial=0) > 1:
        found = _wavelet.anneal(
            native_rig(clip.skeleton),
            np.ascontiguousarray(coefficients.T),
            order,
            joints=np.where(moving, clip.skeleton.channel_joints, -1).astype(np.int32),
            levels=wavelet.depth(frames),
            targets=np.ascontiguousarray(forward_kinematics(clip).points),
            kept=kept,
            patience=PATIENCE,
            seed=seed,
            most=MOST_ITERATIONS,
        )
        kept, iterations = found.kept, found.iterations
    return Search(largest_of_each(order, kept), iterations)


def magnitude_order(coefficients: Array) -> NDArray[np.int32]:
    """[channels, frames] rows of each channel's coefficients, the largest (in the wavelets' norm) first."""
    sizes = np.abs(coefficients) * wavelet.row_norms(len(coefficients))[:, None]
    return np.ascontiguousarray(np.argsort(-sizes.T, axis=1, kind="stable").astype(np.int32))


def largest_of_each(order: NDArray[np.int32], counts: NDArray[np.integer]) -> NDArray[np.bool_]:
    """trunc(q_i, m_i) for every signal: [frames, channels]."""
    channels, frames = order.shape
    mask = np.zeros((frames, channels), bool)
    chosen = np.arange(frames)[None] < np.asarray(counts)[:, None]
    mask[order[chosen], np.broadcast_to(np.arange(channels)[:, None], order.shape)[chosen]] = True
    return mask
