"""The predictive quantiser of MPEG-4 body animation: levels of values in I frames, of differences in P frames."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kinepack.transforms.sparsing import Thresholds

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Run:
    """An I frame and the P frames that follow it."""

    first: int
    offsets: Integers
    """[columns] taken off every value, so that the I frame is in range; mostly zero."""
    levels: Integers
    """[frames, columns] the first row of values, the others of differences."""


def quantize(values: Integers, steps: Integers) -> Integers:
    """Levels; half a step and less is zero."""
    size = np.abs(values)
    levels = np.where(2 * size <= steps, 0, (size + steps // 2) // steps)
    return np.where(values < 0, -levels, levels)


def runs(values: Integers, steps: Integers, largest: int, rule: Thresholds | None = None) -> Iterator[Run]:
    """Closed loop: a P frame codes the distance to what the decoder has. A level over `largest` starts a new run.

    With a rule, distances that do not pass it are frozen: their level is zero.
    """
    first = 0
    while first < len(values):
        offsets = np.where(np.abs(quantize(values[first], steps)) > largest, values[first], 0)
        levels = [quantize(values[first] - offsets, steps)]
        held = levels[0] * steps
        for row in values[first + 1 :]:
            missing = row - offsets - held
            level = quantize(missing, steps)
            if rule is not None:
                level = np.where(rule.passed(missing), level, 0)
            if np.abs(level).max() > largest:
                break
            levels.append(level)
            held = held + level * steps
        yield Run(first, offsets, np.array(levels))
        first += len(levels)


def open_runs(values: Integers, steps: Integers, largest: int, differences: NDArray[np.float64]) -> Iterator[Run]:
    """Open loop: P frames code the given differences [frames - 1, columns], whatever the decoder makes of them."""
    levels = quantize(np.rint(differences).astype(np.int64), steps)
    breaks = np.flatnonzero((np.abs(levels) > largest).any(axis=1)) + 1
    for first, last in zip([0, *breaks], [*breaks, len(values)], strict=True):
        offsets = np.where(np.abs(quantize(values[first], steps)) > largest, values[first], 0)
        start = quantize(values[first] - offsets, steps)
        yield Run(int(first), offsets, np.concatenate([start[None], levels[first : last - 1]]))
