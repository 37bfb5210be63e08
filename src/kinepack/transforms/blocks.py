"""Orthonormal DCT-II over blocks of frames, and the choice of block lengths."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Basis = Callable[[int], NDArray[np.float32]]

LONGEST_BLOCK = 16
"""Units; a block of one less is only at the end, where it is a longest one cut short."""
CUT_RATIO, CUT_STEPS = 5.0, 2.0
"""A jump is so much larger than the moves around it, and so many steps a track."""
BLOCK_BITS = 40.0
"""Side information and lost context at the start of a block."""


@lru_cache(maxsize=64)
def dct_basis(length: int) -> NDArray[np.float64]:
    """[rows, frames], orthonormal; row k has frequency k / 2 cycles a block."""
    frames, rows = np.arange(length), np.arange(length)[:, None]
    basis = np.sqrt(2 / length) * np.cos(np.pi * (2 * frames + 1) * rows / (2 * length))
    basis[0] = np.sqrt(1 / length)
    basis.setflags(write=False)
    return np.asarray(basis)


@lru_cache(maxsize=64)
def dct_basis32(length: int) -> NDArray[np.float32]:
    basis = dct_basis(length).astype(np.float32)
    basis.setflags(write=False)
    return basis


LEAST_BENT = 8
"""Frames that a bent block has at least; shorter ones are plain."""


@lru_cache(maxsize=64)
def bent_basis(length: int) -> NDArray[np.float64]:
    """[rows, frames], orthonormal: a constant, a line, a parabola, then cosines made orthogonal to all rows before.

    Slopes at the ends of a block, which cosines have not, then cost two rows and not a long tail.
    """
    basis = dct_basis(length).copy()
    if length < LEAST_BENT:
        return dct_basis(length)
    angles = np.pi * np.arange(1, length) / (2 * length)
    for first in (1, 2):
        cosines = basis[first::2].copy()
        # What each has of a straight line (odd rows) or a parabola (even ones), up to a factor.
        shares = (np.cos(angles) / np.sin(angles) ** 2)[first - 1 :: 2]
        tails = np.cumsum((shares**2)[::-1])[::-1]
        # Row j: cosine j less what it has of the shape's tail from j on.
        left = np.cumsum((shares[:, None] * cosines)[::-1], axis=0)[::-1]
        across = cosines[:-1] - (shares / tails)[:-1, None] * left[:-1]
        basis[first] = left[0] / np.sqrt(tails[0])
        basis[first + 2 :: 2] = across * np.sqrt(tails[:-1] / tails[1:])[:, None]
    basis.setflags(write=False)
    return basis


@lru_cache(maxsize=64)
def bent_basis32(length: int) -> NDArray[np.float32]:
    basis = bent_basis(length).astype(np.float32)
    basis.setflags(write=False)
    return basis


def rate_proxy(coefficients: NDArray[np.floating]) -> float:
    """Bits of coefficients given in steps, without knowing the coder."""
    return 0.6 * float(np.log2(1 + 2.5 * np.square(coefficients)).sum())


def choose_runs(
    signal: NDArray[np.float32], unit: int, *, grid: int, longest: int, basis: Basis = dct_basis32
) -> tuple[float, list[list[int]]]:
    """Bits, and block lengths of each run of [frames, tracks] between cuts; a frame alone goes with the next."""
    places = [0, *find_cuts(signal), len(signal)]
    runs: list[list[int]] = []
    alone, bits = False, 0.0
    for start, stop in pairwise(places):
        cost, lengths = choose_blocks(signal[start:stop], unit, grid=grid, longest=longest, basis=basis)
        bits += cost
        if alone:
            runs[-1] += lengths
        else:
            runs.append(lengths)
        alone = lengths == [1] and not alone
    return bits, runs


def choose_blocks(
    signal: NDArray[np.float32], unit: int, *, grid: int, longest: int, basis: Basis = dct_basis32
) -> tuple[float, list[int]]:
    """Block lengths that tile [frames, tracks] (in steps) at least cost, by dynamic programming over `grid` units."""
    frames, grid = len(signal), min(grid, longest)
    ends = [min(i * unit * grid, frames) for i in range(-(-frames // (unit * grid)) + 1)]
    least, back = [0.0] + [np.inf] * (len(ends) - 1), [0] * len(ends)
    for stop in range(1, len(ends)):
        for start in range(max(0, stop - longest // grid), stop):
            if (stop - start) * grid == LONGEST_BLOCK - 1 and stop < len(ends) - 1:
                continue
            part = signal[ends[start] : ends[stop]]
            cost = least[start] + BLOCK_BITS + rate_proxy(basis(len(part)) @ part)
            if cost < least[stop]:
                least[stop], back[stop] = cost, start
    lengths, stop = [], len(ends) - 1
    while stop:
        lengths.append(ends[stop] - ends[back[stop]])
        stop = back[stop]
    return least[-1], lengths[::-1]


def find_cuts(signal: NDArray[np.floating]) -> list[int]:
    """Frames of [frames, tracks] (in steps) before which the pose jumps, as after a T-pose put in front."""
    moves = np.abs(np.diff(signal, axis=0)).sum(axis=1)
    if len(moves) < 2:
        return []
    padded = np.pad(moves, 2)
    around = np.max([padded[i : i + len(moves)] for i in (0, 1, 3, 4)], axis=0)
    cuts = np.flatnonzero((moves > CUT_RATIO * around) & (moves > CUT_STEPS * signal.shape[1]))
    return [int(t) + 1 for t in cuts]


def group_blocks(lengths: list[int], frames: float) -> list[list[int]]:
    """Runs of blocks of about `frames` frames each (0: one run), to be decoded on their own."""
    groups: list[list[int]] = [[]]
    for length in lengths:
        if frames and groups[-1] and sum(groups[-1]) + length / 2 > frames:
            groups.append([])
        groups[-1].append(length)
    return groups
