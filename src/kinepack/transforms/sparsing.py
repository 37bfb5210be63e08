"""BAP sparsing: freeze a parameter, add up what it misses, release the sum when it is large enough.

The text of both papers counts, not the pseudo-code of their figures: the dropped differences accumulate, the sum S is
released when |S - mean| / deviation passes T = K * level (Eq. 2 of 000, Eq. 1 of 004), then S starts from zero.
Mean and deviation are those of the column's differences.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Thresholds:
    """When a column is released: |S - mean| > size."""

    mean: Array
    """[columns]"""
    size: Array
    """[columns] T times the standard deviation; infinite for a column that never moves."""

    def passed(self, sums: NDArray[Any]) -> NDArray[np.bool_]:
        return np.abs(sums - self.mean) > self.size


def thresholds(differences: Array, levels: NDArray[np.int64], k: float) -> Thresholds:
    """T_k s_k of the columns of `differences` [rows, columns]."""
    if not len(differences):
        return Thresholds(np.zeros(len(levels)), np.full(len(levels), np.inf))
    size = k * levels * differences.std(axis=0)
    return Thresholds(differences.mean(axis=0), np.where(np.any(differences, axis=0), size, np.inf))


def never(columns: int) -> Thresholds:
    """Nothing is frozen."""
    return Thresholds(np.zeros(columns), np.full(columns, -1.0))


Number = TypeVar("Number", np.float32, np.float64)


def sparse_open(differences: NDArray[Number], rule: Thresholds) -> NDArray[Number]:
    """[rows, columns] released sums of the source's differences, zero where frozen; in their own precision."""
    released, sums = np.zeros_like(differences), np.zeros_like(differences[:1].sum(axis=0))
    for row, difference in zip(released, differences, strict=True):
        sums += difference
        passed = rule.passed(sums)
        row[passed] = sums[passed]
        sums[passed] = 0
    return released


def sparse_closed(poses: NDArray[np.float32], rule: Thresholds) -> NDArray[np.float32]:
    """[rows, columns] steps from what the decoder holds to poses[1:], zero where frozen.

    All in single precision, as in the decoder: a difference of two floats has trailing zeros that code well.
    """
    steps, held = np.zeros_like(poses[1:]), poses[0].copy()
    for row, target in zip(steps, poses[1:], strict=True):
        missing = target - held
        passed = rule.passed(missing)
        row[passed] = missing[passed]
        held += row
    return steps
