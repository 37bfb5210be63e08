"""The lossless decoder of `kine` in plain Python: docs/codecs/kine.md as a program, and the oracle of the kernel."""

from __future__ import annotations

from bisect import bisect_right
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels._binding import Buffer
from kinepack._kernels._kine import DYADIC, NumberModel
from kinepack._kernels.reference_coders import Decoder, probability, updated
from kinepack.errors import Corrupt

HISTORY = 16
NEAR = (0, 60, 6, 6, 6, 2)
"""Earlier channels that each predictor looks at; the last two look at products as well."""
SWEEPS, FORGET = (2, 1, 3, 3, 3, 3), (9, 9, 8, 5, 9, 8)
EXPERTS = len(NEAR)
YOUNG, YOUNG_SWEEPS = 128, 4
UNIT_BITS, WEIGHT_BITS, PRODUCT_SHIFT = 14, 18, 22
MOST_WEIGHT, MOST_MOVE, MOST_PLACE = 1 << 21, 1 << 22, 1 << 26
RIDGE, LARGEST, ONE = 1 << 14, 1 << 52, 1 << 30
LEAST, MOST = 16, 65520
DYADIC_BITS, DYADIC_UNIT, DYADIC_SHIFT, DYADIC_RATE = 22, 521102079011, 28, 5
TENS: list[int] = [10**k for k in range(16)]
TAILS = [(ONE - (i << 45) // isqrt((1024 + i * i) << 30)) // 2 for i in range(1025)]


def decode_numbers(data: Buffer, frames: int, model: NumberModel) -> NDArray[np.int64]:
    """The mirror of `kine_numbers_encode`, slowly."""
    coder = Decoder(data)
    predicted: list[_Number] = []
    channels: list[_Number | _Noise] = []
    for digits, scale in zip(model.digits.tolist(), model.scales.tolist(), strict=True):
        if digits >= DYADIC:
            channels.append(_Noise(digits - DYADIC))
        else:
            predicted.append(_Number(digits, scale, predicted[::-1]))
            channels.append(predicted[-1])
    rows = [[channel.read(coder) for channel in channels] for _ in range(frames)]
    coder.finish()
    return np.array(rows, np.int64).reshape(frames, len(channels))


def _clamp(value: int, most: int) -> int:
    return min(max(value, -most), most)


def _scaled(value: int, shift: int) -> int:
    return value << -shift if shift <= 0 else (value + (1 << shift - 1)) >> shift


def _quotient(value: int, divisor: int) -> int:
    """Towards zero."""
    return value // divisor if value >= 0 else -(-value // divisor)


def _signed64(value: int) -> int:
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def _log2(value: int) -> int:
    width = value.bit_length()
    return 256 * (width - 1) + (value >> width - 9 if width > 9 else value << 9 - width) - 256


def _power(magnitude: int, digits: int) -> int:
    return max(0, bisect_right(TENS, magnitude) - digits) if digits else 0


def rank_of(value: int, digits: int) -> int:
    magnitude = abs(value)
    power = _power(magnitude, digits)
    if power:
        magnitude = magnitude // TENS[power] + power * (TENS[digits] - TENS[digits - 1])
    return -magnitude if value < 0 else magnitude


def value_of(rank: int, digits: int) -> int:
    magnitude = abs(rank)
    if digits and magnitude >= TENS[digits]:
        decade = TENS[digits] - TENS[digits - 1]
        power = (magnitude - TENS[digits - 1]) // decade
        magnitude = (magnitude - power * decade) * TENS[power]
    return -magnitude if rank < 0 else magnitude


def _chance(part: int, whole: int) -> int:
    return min(max((part << 16) // whole if whole > 0 and part > 0 else 0, LEAST), MOST)


def _uniform(coder: Decoder, count: int) -> int:
    base = 0
    while count > 1:
        width = (count - 1).bit_length() - 1
        half = 1 << width
        if half * 2 == count:
            return base + _plain(coder, width + 1)
        coarse = max(0, width - 40)
        if not coder.code_bit(_chance((count - half) >> coarse, count >> coarse)):
            return base + _plain(coder, width)
        base, count = base + half, count - half
    return base


def _plain(coder: Decoder, width: int) -> int:
    value = 0
    while width:
        part = min(width, 16)
        value, width = value << part | coder.code_direct(part), width - part
    return value


class _Expert:
    """One least-squares predictor of a channel."""

    def __init__(self, which: int, before: int) -> None:
        self.which, self.near = which, min(before, NEAR[which])
        self.curved = self.near if which >= 4 else 0
        order = (1 if which else HISTORY) + self.near * (2 if which == 2 else 1) + self.curved * (self.curved + 1) // 2
        self.weights, self.target = [0] * order, [0] * order
        self.normal = [[RIDGE * (i == j) for j in range(order)] for i in range(order)]

    def look(self, own: _Number, before: list[_Number]) -> None:
        x = own.moves[: 1 if self.which else HISTORY]
        for other in before[: self.near]:
            x += other.moves[: 2 if self.which == 2 else 1]
        for i in range(self.curved):
            for j in range(i, self.curved):
                a, b = before[i], before[j]
                moved = a.place * b.place - a.place_before * b.place_before
                x.append(_clamp(moved >> PRODUCT_SHIFT, MOST_MOVE))
        self.features = x
        total = sum(w * f for w, f in zip(self.weights, x, strict=True))
        self.guess = _clamp(own.last + _scaled(total, WEIGHT_BITS + UNIT_BITS - own.scale), LARGEST)

    def learn(self, move: int, spread: int, seen: int) -> None:
        largest = abs(move)
        for feature in self.features:
            largest |= abs(feature)
        shift = max(largest.bit_length() - UNIT_BITS, spread.bit_length() - 9)
        x, y = [_scaled(f, shift) for f in self.features], _scaled(move, shift)
        forget, order = FORGET[self.which], range(len(x))
        for i in order:
            self.normal[i] = [r + x[i] * x[j] - (r >> forget) for j, r in enumerate(self.normal[i])]
            self.target[i] += x[i] * y - (self.target[i] >> forget)
        for _ in range(SWEEPS[self.which] + (YOUNG_SWEEPS if seen < YOUNG else 0)):
            for i in order:
                told = sum(r * w for r, w in zip(self.normal[i], self.weights, strict=True))
                left = _signed64((self.target[i] << WEIGHT_BITS) - told)
                self.weights[i] = _clamp(self.weights[i] + _quotient(left, self.normal[i][i] + 1), MOST_WEIGHT)


class _Number:
    """A channel of predicted numbers; `before` are the earlier ones, the nearest first."""

    def __init__(self, digits: int, scale: int, before: list[_Number]) -> None:
        self.digits, self.scale, self.before = digits, scale, before
        self.last = self.first = self.place = self.place_before = self.seen = 0
        self.moves = [0] * HISTORY
        self.experts = [_Expert(which, len(before)) for which in range(EXPERTS)]
        self.spreads, self.credits = [16 << scale] * (2 * EXPERTS), [0] * (2 * EXPERTS)

    def read(self, coder: Decoder) -> int:
        if self.seen:
            for expert in self.experts:
                expert.look(self, self.before)
            self._mix()
            rank = self._rank(coder)
        else:
            rank = self._first(coder)
        if abs(rank) > rank_of(LARGEST, self.digits):
            raise Corrupt("a number is too large")
        value, move = value_of(rank, self.digits), 0
        if self.seen:
            move = self._normalised(value - self.last, MOST_MOVE)
            self._judge(value)
            for i, expert in enumerate(self.experts):
                expert.learn(move, self._normalised(self.spreads[2 * i + 1] >> 4, MOST_MOVE), self.seen)
        else:
            self.first = value
        self.seen += 1
        self.moves = [move, *self.moves[:-1]]
        self.place_before, self.place = self.place, self._normalised(value - self.first, MOST_PLACE)
        self.last = value
        return value

    def _normalised(self, value: int, most: int) -> int:
        return _clamp(_scaled(_clamp(value, 1 << 46), self.scale - UNIT_BITS), most)

    def _mix(self) -> None:
        most = max(self.credits)
        less = [most - credit for credit in self.credits]
        self.best = self.credits.index(most)
        self.shares = [(512 - (n & 255)) << 3 >> (n >> 8) if n < 13 * 256 else 0 for n in less]
        self.places = [self.experts[i // 2].guess for i in range(2 * EXPERTS)]
        self.scales = [s + (s >> 2) if i % 2 else s for i, s in enumerate(self.spreads)]

    def _below(self, rank: int) -> int:
        edge, total = value_of(rank - 1, self.digits) + value_of(rank, self.digits), 0
        for share, place, scale in zip(self.shares, self.places, self.scales, strict=True):
            distance = edge - 2 * place
            part = _tail(min(abs(distance), 1 << 49) * 8192 // scale)
            total += share * (part if distance < 0 else ONE - part)
        return total

    def _rank(self, coder: Decoder) -> int:
        most = rank_of(LARGEST, self.digits)
        low, high, below_low, below_high = -most, most + 1, 0, sum(self.shares) * ONE
        center, step = self.places[self.best], max(1, self.scales[self.best] >> 4)

        def split(middle: int) -> int:
            nonlocal low, high, below_low, below_high
            share = self._below(middle)
            bit = coder.code_bit(_chance(below_high - share, below_high - below_low))
            if bit:
                low, below_low = middle, share
            else:
                high, below_high = middle, share
            return bit

        up = split(max(rank_of(center, self.digits), low + 1))
        while step < LARGEST:
            edge = rank_of(_clamp(center + step if up else center - step, LARGEST), self.digits)
            if low < edge < high and split(edge) != up:
                break
            step *= 2
        for _ in range(3):
            if high - low > 1:
                split(low + (high - low) // 2)
        return low + _uniform(coder, high - low)

    @staticmethod
    def _first(coder: Decoder) -> int:
        width = coder.code_direct(6)
        if not width:
            return 0
        size = 1 << width - 1 | _plain(coder, width - 1)
        return -size if coder.code_direct(1) else size

    def _judge(self, value: int) -> None:
        grid = TENS[_power(abs(value), self.digits)]
        for i, (place, scale) in enumerate(zip(self.places, self.scales, strict=True)):
            miss = abs(value - place)
            far, near = 16 * min(miss, 1 << 49), scale
            shift = max(0, (far | near).bit_length() - 31)
            near, far = (near >> shift) ** 2, (far >> shift) ** 2
            density = _log2(near + 1) - _quotient(3 * _log2(near + far + 1), 2) - 256 * shift
            self.credits[i] = (self.credits[i] * 13 >> 4) + density
            seen = min(max(16 * miss, 5 * grid), 1 << 54)
            age = min(self.seen + 1, 20 if i % 2 else 4)
            self.spreads[i] += _quotient(seen - self.spreads[i], age)
        most = max(self.credits)
        self.credits = [credit - most for credit in self.credits]


def _tail(z: int) -> int:
    if z >= 32 << 10:
        return (1 << 48) // (min(z, 1 << 23) ** 2 + 786432)
    base, following = TAILS[z >> 5], TAILS[(z >> 5) + 1]
    return base - ((base - following) * (z & 31) >> 5)


class _Noise:
    """A channel of multiples of 2^-68 rad, printed as degrees."""

    def __init__(self, digits: int) -> None:
        self.digits, self.states = digits, [1 << 31] * (1 + DYADIC_BITS + DYADIC_BITS**2)

    def read(self, coder: Decoder) -> int:
        if not self._bit(coder, 0):
            return 0
        zeros = self._unary(coder, 1, DYADIC_BITS - 2)
        width = self._unary(coder, 1 + DYADIC_BITS * (1 + zeros), DYADIC_BITS - 2 - zeros)
        half = 1 << width - 1 | _plain(coder, width - 1) if width else 0
        negative = coder.code_direct(1)
        product: int = (2 * half + 1 << zeros) * DYADIC_UNIT
        grid = TENS[_power(product >> DYADIC_SHIFT, self.digits)]
        value = ((product >> DYADIC_SHIFT - 1) // grid + 1) // 2 * grid
        return -value if negative else value

    def _bit(self, coder: Decoder, at: int) -> int:
        bit = coder.code_bit(probability(self.states[at]))
        self.states[at] = updated(self.states[at], DYADIC_RATE, bit)
        return bit

    def _unary(self, coder: Decoder, at: int, most: int) -> int:
        found = 0
        while found < most and self._bit(coder, at + found):
            found += 1
        return found
