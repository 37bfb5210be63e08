"""Predictors of the lossless mode of `kine`: what they look at, how they learn, and laws known before."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement
from math import comb
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kinepack._kernels.reference_kine_ranks import clamp, quotient, scaled, signed64
from kinepack._kernels.reference_kine_solve import SOLVED_BITS, solve

if TYPE_CHECKING:
    from kinepack._kernels.reference_kine_numbers import _Number as Number

HISTORY = 16
UNIT_BITS, SWEPT_BITS, PRODUCT_SHIFT = 14, 18, 22
MOST_SWEPT, MOST_MOVE, LARGEST = 1 << 21, 1 << 22, 1 << 52
SOLVED_LARGEST, SOLVED_NOISE, LARGE, RIDGE, RARE_BITS = 20, 15, 40, 1 << 14, 3
LAW_ONE, LAW_WEIGHT_BITS, LAW_MOST, LAW_MOST_PRODUCT = 24, 20, 1 << 28, 1 << 34


class Outlook(NamedTuple):
    """What a predictor looks at, how fast it forgets, how often it sweeps (before version 5)."""

    own: int
    """Own last moves."""
    now: int
    """Earlier channels, by their moves in this frame"""
    before: int
    """and in the one before."""
    curved: int
    """Earlier channels by products of two places"""
    cubic: int
    """and of three."""
    forget: int
    sweeps: int = 0


SWEPT = (
    Outlook(16, 0, 0, 0, 0, 9, 2), Outlook(1, 60, 0, 0, 0, 9, 1), Outlook(1, 6, 6, 0, 0, 8, 3),
    Outlook(1, 6, 0, 0, 0, 5, 3), Outlook(1, 6, 0, 6, 0, 9, 3), Outlook(1, 2, 0, 2, 0, 8, 3),
)  # fmt: skip
SOLVED = (
    Outlook(16, 0, 0, 0, 0, 9), Outlook(1, 60, 0, 0, 0, 9), Outlook(3, 8, 8, 0, 0, 8),
    Outlook(1, 6, 0, 0, 0, 5), Outlook(1, 6, 0, 6, 0, 9), Outlook(1, 2, 0, 2, 0, 8),
    Outlook(1, 6, 0, 6, 6, 10), Outlook(2, 12, 2, 0, 0, 7), Outlook(4, 20, 6, 0, 0, 9),
    Outlook(1, 3, 0, 3, 3, 10), Outlook(3, 4, 4, 4, 0, 8),
)  # fmt: skip
USUAL = [n * 3 << 20 for n in (1024, 500, 422, 392, 397, 357, 326, 293, 278, 246, 227, 201, 191, 168, 153, 137, 121)]
"""How moves of captured motion go with those before them: three frames of these begin the first predictor."""
YOUNG, YOUNG_SWEEPS, YOUNGEST, YOUNG_SOLVED = 128, 4, 64, 160


class Law(NamedTuple):
    """A polynomial without its constant in channels that play certain roles."""

    roles: list[int]
    degree: int
    weights: list[int]


def laws(data: bytes) -> Iterator[tuple[int, Law]]:
    count, data = data[0], data[1:]
    for _ in range(count):
        role, inputs, degree, terms = data[:4]
        end = 4 + inputs + 4 * terms
        yield role, Law(list(data[4 : 4 + inputs]), degree, np.frombuffer(data[4 + inputs : end], "<i4").tolist())
        data = data[end:]


class Ruled:
    """A channel's law and those that it follows."""

    def __init__(self, law: Law, inputs: list[Number]) -> None:
        self.law, self.inputs, self.told = law, inputs, 0

    def moved(self) -> int:
        """How far the law has moved since it was last asked, in 2^-20 degrees."""
        angles, total = [channel.angle for channel in self.inputs], 0
        degrees = range(1, self.law.degree + 1)
        terms = (term for d in degrees for term in combinations_with_replacement(angles, d))
        for weight, (first, *others) in zip(self.law.weights, terms, strict=True):
            product = first
            for other in others:
                product = clamp(product * other >> LAW_ONE, LAW_MOST_PRODUCT)
            total += weight * product
        told = clamp(signed64(total) >> LAW_WEIGHT_BITS, LAW_MOST_PRODUCT)
        moved, self.told = clamp(told - self.told, LAW_MOST), told
        return moved


class Expert:
    """One least-squares predictor of a channel."""

    def __init__(self, outlook: Outlook, own: Number) -> None:
        self.outlook, before = outlook, len(own.before)
        self.now, self.then = min(before, outlook.now), min(before, outlook.before)
        self.curved, self.cubic = min(before, outlook.curved), min(before, outlook.cubic)
        self.ruled = own.ruled is not None and outlook.own < HISTORY
        order = outlook.own + self.now + self.then + comb(self.curved + 1, 2) + comb(self.cubic + 2, 3) + self.ruled
        self.weights, self.target, self.energy = [0] * order, [0] * order, 0
        ridge = 0 if own.segment.learned else RIDGE
        self.normal = [[ridge * (i == j) for j in range(order)] for i in range(order)]
        if own.segment.learned and outlook.own == HISTORY:
            self.normal = [[USUAL[i - j] for j in range(i + 1)] for i in range(order)]
            self.target, self.energy = USUAL[1:], USUAL[0]

    def look(self, own: Number) -> None:
        x, before = own.moves[: self.outlook.own], own.before
        for n, other in enumerate(before[: self.now]):
            x += other.moves[: 2 if n < self.then else 1]
        for a, b in combinations_with_replacement(before[: self.curved], 2):
            moved = a.place * b.place - a.place_before * b.place_before
            x.append(clamp(moved >> PRODUCT_SHIFT, MOST_MOVE))
        for a, b, c in combinations_with_replacement(before[: self.cubic], 3):
            moved = cube(a.place, b.place, c.place) - cube(a.place_before, b.place_before, c.place_before)
            x.append(clamp(moved, MOST_MOVE))
        self.features = x + [own.told_by] * self.ruled
        total = sum(w * f for w, f in zip(self.weights, self.features, strict=True))
        bits = SOLVED_BITS if own.segment.learned else SWEPT_BITS
        self.guess = clamp(own.last + scaled(total, bits + UNIT_BITS - own.scale), LARGEST)

    def learn_sweeping(self, move: int, spread: int, seen: int) -> None:
        """Before version 5."""
        shift = max(self._width(move) - UNIT_BITS, spread.bit_length() - 9)
        x, y = [scaled(f, shift) for f in self.features], scaled(move, shift)
        forget, order = self.outlook.forget, range(len(x))
        for i in order:
            self.normal[i] = [r + x[i] * x[j] - (r >> forget) for j, r in enumerate(self.normal[i])]
            self.target[i] += x[i] * y - (self.target[i] >> forget)
        for _ in range(self.outlook.sweeps + (YOUNG_SWEEPS if seen < YOUNG else 0)):
            for i in order:
                told = sum(r * w for r, w in zip(self.normal[i], self.weights, strict=True))
                left = signed64((self.target[i] << SWEPT_BITS) - told)
                self.weights[i] = clamp(self.weights[i] + quotient(left, self.normal[i][i] + 1), MOST_SWEPT)

    def learn_solving(self, move: int, noise: int, seen: int, credit: int) -> None:
        shift = max(self._width(move) - SOLVED_LARGEST, noise.bit_length() - SOLVED_NOISE)
        x, y, forget = [scaled(f, shift) for f in self.features], scaled(move, shift), self.outlook.forget - RARE_BITS
        if seen % (1 << RARE_BITS) == 0:
            self.normal = [[n - (n >> forget) for n in row] for row in self.normal]
            self.target = [n - (n >> forget) for n in self.target]
            self.energy -= self.energy >> forget
        for i, f in enumerate(x):
            self.normal[i] = [n + f * x[j] for j, n in enumerate(self.normal[i][: i + 1])]
            self.target[i] += f * y
        self.energy += y * y
        if seen % _pause(len(x) > LARGE, seen, credit < -512) == 0:
            self.weights = solve(self.normal, self.target, self.energy)

    def _width(self, move: int) -> int:
        """Of the largest feature or the move."""
        largest = abs(move)
        for feature in self.features:
            largest |= abs(feature)
        return largest.bit_length()


def _pause(large: bool, seen: int, distrusted: bool) -> int:
    """Every so many numbers a predictor is solved."""
    if seen < YOUNG_SOLVED:
        return (2 if seen < YOUNGEST else 4) if large and distrusted else 1
    if large:
        return 16 if distrusted else 4
    return 4 if distrusted else 1


def cube(a: int, b: int, c: int) -> int:
    return (a * b >> 16) * c >> 2 * PRODUCT_SHIFT - 16
