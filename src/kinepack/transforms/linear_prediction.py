"""Linear prediction over time in whole numbers, so that every machine predicts the same."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Levels = NDArray[np.int64]
UNIT_BITS = 12
"""Coefficients are in 1 / 2^12."""
LARGEST = 1 << 17
"""Bound on a stored coefficient, so that sums stay below 2^63."""


def fit_predictors(levels: Levels, order: int) -> NDArray[np.int32]:
    """[columns, order] least-squares predictors of columns of levels [rows, columns]."""
    rows, columns = levels.shape
    found = np.zeros((columns, order), np.int32)
    if rows <= 2 * order:
        found[:, :1] = 1 << UNIT_BITS
        return found
    for column in range(columns):
        track = levels[:, column].astype(np.float64)
        past = np.stack([track[order - lag - 1 : rows - lag - 1] for lag in range(order)], axis=1)
        damping = 1e-9 * float((past**2).sum()) + 1e-9
        solved = np.linalg.solve(past.T @ past + damping * np.eye(order), past.T @ track[order:])
        found[column] = np.clip(np.rint(solved * (1 << UNIT_BITS)), -LARGEST, LARGEST)
    return found


def forward(levels: Levels, predictors: NDArray[np.int32]) -> Levels:
    """Residuals [rows, columns]; rows before the first count as zero."""
    residuals = np.empty_like(levels)
    for row in range(len(levels)):
        residuals[row] = levels[row] - _predict(levels, row, predictors)
    return residuals


def inverse(residuals: Levels, predictors: NDArray[np.int32]) -> Levels:
    """Inverse of `forward`; levels that no encoder makes are held to 2^32."""
    levels = np.empty_like(residuals)
    for row in range(len(residuals)):
        levels[row] = np.clip(residuals[row] + _predict(levels, row, predictors), -(1 << 32), 1 << 32)
    return levels


def _predict(levels: Levels, row: int, predictors: NDArray[np.int32]) -> Levels:
    order = min(row, predictors.shape[1])
    past = levels[row - order : row][::-1]
    total = (past * predictors.T[:order].astype(np.int64)).sum(axis=0)
    return np.asarray((total + (1 << UNIT_BITS - 1)) >> UNIT_BITS)
