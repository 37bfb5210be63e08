"""Prediction of tracks from earlier tracks: v = (I - W) u with W sparse and strictly lower triangular."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels._kine import Prediction

MOST = 6
"""Regressors a track may have."""
REGRESSOR_BITS = 14.0
"""What naming one and its weight costs."""
WEIGHT_LIMIT = 2047
RIDGE = 1e-9
"""So that regressors may be multiples of each other."""

Array = NDArray[np.float64]
Links = list[list[tuple[int, int]]]
"""For each track its regressors: (earlier track, weight in units of 2^-shift, in steps per step)."""


def fit_links(coefficients: Array, shift: int, *, most: int = MOST, bits: float = REGRESSOR_BITS) -> Links:
    """Greedy choice for [rows, tracks] in steps: a regressor stays while it saves more than the `bits` it costs."""
    coefficients = _relevant(coefficients)
    squares = coefficients**2
    return [_links_of(coefficients, squares, track, shift, most, bits) for track in range(coefficients.shape[1])]


def _relevant(coefficients: Array, most: int = 4000) -> Array:
    """Rows that hold most of the bits; the others only cost time."""
    kept = np.abs(coefficients).max(axis=1, initial=0) > 0.5
    rows = coefficients[kept]
    if len(rows) > most:
        rows = rows[np.linspace(0, len(rows) - 1, most).astype(int)]
    return np.ascontiguousarray(rows)


def _bits(residual: Array) -> float:
    return 0.5 * float(np.log2(1 + 3 * residual**2).sum())


def _links_of(rows: Array, squares: Array, track: int, shift: int, most: int, bits: float) -> list[tuple[int, int]]:
    wanted, chosen = rows[:, track], list[int]()
    best, links = _bits(wanted), list[tuple[int, int]]()
    residual = wanted
    while track and len(chosen) < most and best > bits:
        importance = 1 / (residual**2 + 0.3)
        gains = (importance * residual) @ rows[:, :track]
        energy = importance @ squares[:, :track] + 1e-9
        score = gains**2 / energy
        score[chosen] = 0
        candidate = int(np.argmax(score))
        weights, residual = _refit(rows, wanted, [*chosen, candidate], shift)
        cost = _bits(residual) + bits * len(weights)
        if cost >= best:
            break
        best, chosen = cost, [*chosen, candidate]
        links = [(j, w) for j, w in zip(chosen, weights, strict=True) if w]
    return sorted(links)


def _refit(rows: Array, wanted: Array, chosen: list[int], shift: int) -> tuple[list[int], Array]:
    """Weights, robustly by reweighting, rounded; and what they leave."""
    regressors = rows[:, chosen]
    weights: Array = np.zeros(len(chosen))
    for _ in range(3):
        importance = 1 / ((wanted - regressors @ weights) ** 2 + 0.3)
        normal = (regressors * importance[:, None]).T @ regressors
        normal += (1e-6 + RIDGE * normal.diagonal().max()) * np.eye(len(chosen))
        weights = np.asarray(np.linalg.solve(normal, (regressors * importance[:, None]).T @ wanted))
    levels = np.clip(np.round(weights * 2**shift), -WEIGHT_LIMIT, WEIGHT_LIMIT)
    return [int(w) for w in levels], wanted - regressors @ (levels / 2**shift)


def forward(signal: Array, links: Links, shift: int) -> Array:
    """[frames, tracks] in steps -> what the links leave."""
    result = signal.copy()
    for track, own in enumerate(links):
        for regressor, weight in own:
            result[:, track] -= weight / 2**shift * signal[:, regressor]
    return result


def to_prediction(links: Links, shift: int, steps: Array) -> Prediction:
    """The links as the decoder's kernel wants them, in the tracks' units."""
    counts = [len(own) for own in links]
    flat = [(track, j, w) for track, own in enumerate(links) for j, w in own]
    weights = [w / 2**shift * steps[track] / steps[j] for track, j, w in flat]
    return Prediction(
        np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32),
        np.array([j for _, j, _ in flat], np.uint32),
        np.array(weights, np.float64),
    )


def carry_metric(metric: NDArray[np.float32], links: Links, shift: int) -> NDArray[np.float32]:
    """M'HM with M = (I - W)⁻¹ for H [tracks, tracks, frames] in steps: what a residual's error does."""
    result = metric.copy()
    for track in range(len(links) - 1, -1, -1):
        for regressor, weight in links[track]:
            factor = np.float32(weight / 2**shift)
            result[:, regressor] += factor * result[:, track]
            result[regressor] += factor * result[track]
    return result
