"""The lossless decoder of `kine` in plain Python: docs/codecs/kine.md as a program, and the oracle of the kernel."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import combinations_with_replacement
from math import comb, isqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels._binding import Buffer
from kinepack._kernels._kine import DYADIC, NumberModel
from kinepack._kernels.reference_coders import Decoder, probability, squash, stretch, updated
from kinepack.errors import Corrupt

HISTORY = 16


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
YOUNG, YOUNG_SWEEPS, YOUNG_SOLVED = 128, 4, 160
UNIT_BITS, SWEPT_BITS, SOLVED_BITS, PRODUCT_SHIFT = 14, 18, 24, 22
MOST_SWEPT, MOST_SOLVED, MOST_MOVE, MOST_PLACE = 1 << 21, 1 << 30, 1 << 22, 1 << 26
SOLVED_LARGEST, SOLVED_NOISE, LARGE = 20, 15, 40
RIDGE, LARGEST, ONE = 1 << 14, 1 << 52, 1 << 30
LEAST, MOST = 16, 65520
DYADIC_BITS, DYADIC_UNIT, DYADIC_SHIFT, STATE_RATE = 22, 521102079011, 28, 5
DYADIC_STATES = 1 + DYADIC_BITS + DYADIC_BITS**2
FIRST_STATES = 64
PRIOR_STATES = FIRST_STATES + DYADIC_STATES
STEPS, WEIGH_RATE, WEIGHT_LIMIT = 6, 22, 1 << 20
"""Decisions away from the prediction that have weights of their own."""
LAW_ONE, LAW_WEIGHT_BITS, LAW_MOST, LAW_MOST_PRODUCT, LAW_DECIMALS, ANGLE_BITS = 24, 20, 1 << 28, 1 << 34, 9, 20
TENS: list[int] = [10**k for k in range(16)]
TAILS = [(ONE - (i << 45) // isqrt((1024 + i * i) << 30)) // 2 for i in range(1025)]


def decode_numbers(data: Buffer, frames: int, model: NumberModel) -> NDArray[np.int64]:
    """The mirror of `kine_numbers_encode`, slowly."""
    coder = Decoder(data)
    segment = _Segment(model.prior)
    channels: list[_Number | _Noise] = []
    for digits, scale, decimals, role in zip(*(row.tolist() for row in model[:4]), strict=True):
        if digits >= DYADIC:
            channels.append(_Noise(digits - DYADIC, segment.states[FIRST_STATES:]))
        else:
            channels.append(segment.add(digits, scale, decimals, role))
    rows = [[channel.read(coder) for channel in channels] for _ in range(frames)]
    coder.finish()
    return np.array(rows, np.int64).reshape(frames, len(channels))


class _Segment:
    """What channels share: the prior, first states, and who plays which role."""

    def __init__(self, prior: bytes) -> None:
        self.learned, count = bool(prior), PRIOR_STATES
        high = np.frombuffer(prior, "<u2", count).tolist() if prior else [1 << 15] * count
        low = list(prior[2 * count : 3 * count]) if prior else [0] * count
        self.states = [h << 16 | n for h, n in zip(high, low, strict=True)]
        self.laws = dict(_laws(prior[3 * count :])) if prior else {}
        self.players: dict[int, _Number] = {}
        self.predicted: list[_Number] = []
        self.weights = [[1 << 16] + [0] * len(SOLVED) for _ in range(1 + 5 * STEPS)]

    def add(self, digits: int, scale: int, decimals: int, role: int) -> _Number:
        known = self.learned and role < 64 and decimals <= LAW_DECIMALS
        law = self.laws.get(role) if known else None
        if law and all(r in self.players for r in law.roles):
            ruled: _Ruled | None = _Ruled(law, [self.players[r] for r in law.roles])
        else:
            ruled = None
        number = _Number(digits, scale, decimals, self.predicted[::-1], self, ruled)
        self.predicted.append(number)
        if known:
            self.players[role] = number
        return number


class Law(NamedTuple):
    """A polynomial without its constant in channels that play certain roles."""

    roles: list[int]
    degree: int
    weights: list[int]


def _laws(data: bytes) -> Iterator[tuple[int, Law]]:
    count, data = data[0], data[1:]
    for _ in range(count):
        role, inputs, degree, terms = data[:4]
        end = 4 + inputs + 4 * terms
        yield role, Law(list(data[4 : 4 + inputs]), degree, np.frombuffer(data[4 + inputs : end], "<i4").tolist())
        data = data[end:]


class _Ruled:
    """A channel's law and those that it follows."""

    def __init__(self, law: Law, inputs: list[_Number]) -> None:
        self.law, self.inputs, self.told = law, inputs, 0

    def moved(self) -> int:
        """How far the law has moved since it was last asked, in 2^-20 degrees."""
        angles, total = [channel.angle for channel in self.inputs], 0
        degrees = range(1, self.law.degree + 1)
        terms = (term for d in degrees for term in combinations_with_replacement(angles, d))
        for weight, (first, *others) in zip(self.law.weights, terms, strict=True):
            product = first
            for other in others:
                product = _clamp(product * other >> LAW_ONE, LAW_MOST_PRODUCT)
            total += weight * product
        told = _clamp(_signed64(total) >> LAW_WEIGHT_BITS, LAW_MOST_PRODUCT)
        moved, self.told = _clamp(told - self.told, LAW_MOST), told
        return moved


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


class _End(NamedTuple):
    """Of the ranks that are left: the rank, and the shares below it of the mixture and of each distribution."""

    rank: int
    share: int
    parts: list[int]


class _Expert:
    """One least-squares predictor of a channel."""

    def __init__(self, outlook: Outlook, own: _Number) -> None:
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

    def look(self, own: _Number) -> None:
        x, before = own.moves[: self.outlook.own], own.before
        for n, other in enumerate(before[: self.now]):
            x += other.moves[: 2 if n < self.then else 1]
        for a, b in combinations_with_replacement(before[: self.curved], 2):
            moved = a.place * b.place - a.place_before * b.place_before
            x.append(_clamp(moved >> PRODUCT_SHIFT, MOST_MOVE))
        for a, b, c in combinations_with_replacement(before[: self.cubic], 3):
            moved = _cube(a.place, b.place, c.place) - _cube(a.place_before, b.place_before, c.place_before)
            x.append(_clamp(moved, MOST_MOVE))
        self.features = x + [own.told_by] * self.ruled
        total = sum(w * f for w, f in zip(self.weights, self.features, strict=True))
        bits = SOLVED_BITS if own.segment.learned else SWEPT_BITS
        self.guess = _clamp(own.last + _scaled(total, bits + UNIT_BITS - own.scale), LARGEST)

    def learn_sweeping(self, move: int, spread: int, seen: int) -> None:
        """Before version 5."""
        shift = max(self._width(move) - UNIT_BITS, spread.bit_length() - 9)
        x, y = [_scaled(f, shift) for f in self.features], _scaled(move, shift)
        forget, order = self.outlook.forget, range(len(x))
        for i in order:
            self.normal[i] = [r + x[i] * x[j] - (r >> forget) for j, r in enumerate(self.normal[i])]
            self.target[i] += x[i] * y - (self.target[i] >> forget)
        for _ in range(self.outlook.sweeps + (YOUNG_SWEEPS if seen < YOUNG else 0)):
            for i in order:
                told = sum(r * w for r, w in zip(self.normal[i], self.weights, strict=True))
                left = _signed64((self.target[i] << SWEPT_BITS) - told)
                self.weights[i] = _clamp(self.weights[i] + _quotient(left, self.normal[i][i] + 1), MOST_SWEPT)

    def learn_solving(self, move: int, noise: int, seen: int, credit: int) -> None:
        shift = max(self._width(move) - SOLVED_LARGEST, noise.bit_length() - SOLVED_NOISE)
        x, y, forget = [_scaled(f, shift) for f in self.features], _scaled(move, shift), self.outlook.forget
        for i in range(len(x)):
            row = self.normal[i]
            self.normal[i] = [r + x[i] * x[j] - (r >> forget) for j, r in enumerate(row[: i + 1])]
            self.target[i] += x[i] * y - (self.target[i] >> forget)
        self.energy += y * y - (self.energy >> forget)
        trusted = credit >= -512
        every = (2 if trusted else 16) if len(x) > LARGE else (1 if trusted else 4)
        if seen < YOUNG_SOLVED:
            every = 1
        if seen % every == 0:
            self.weights = solve(self.normal, self.target, self.energy)

    def _width(self, move: int) -> int:
        """Of the largest feature or the move."""
        largest = abs(move)
        for feature in self.features:
            largest |= abs(feature)
        return largest.bit_length()


def _cube(a: int, b: int, c: int) -> int:
    return (a * b >> 16) * c >> 2 * PRODUCT_SHIFT - 16


def _exponent(squares: int) -> int:
    return (squares.bit_length() + 1) // 2


def _dot(a: list[int], b: list[int]) -> int:
    return sum(x * y for x, y in zip(a, b, strict=False))


def solve(normal: list[list[int]], target: list[int], energy: int) -> list[int]:
    """Weights in 2^-24 of what normal equations (the lower triangle) ask for, in fixed point."""
    ridge, one, order = 1 << 20, 1 << 30, range(len(target))
    exponents, own = [_exponent(normal[i][i] + 2 * ridge) for i in order], _exponent(energy + 2 * ridge)
    factor: list[list[int]] = []
    for i in order:
        row: list[int] = []
        for j in range(i):
            left = _signed64((normal[i][j] << 60 - exponents[i] - exponents[j]) - _dot(row, factor[j]))
            row.append(_clamp(_quotient(left, factor[j][j]), one))
        whole = normal[i][i] + ridge + (normal[i][i] >> 24) << 60 - 2 * exponents[i]
        factor.append([*row, isqrt(max(_signed64(whole - _dot(row, row)), 1 << 34))])
    y: list[int] = []
    for i in order:
        left = _signed64((target[i] << 60 - exponents[i] - own) - _dot(y, factor[i]))
        y.append(_clamp(_quotient(left, factor[i][i]), one))
    rest, weights = [n << 22 for n in y], [0] * len(y)
    for i in reversed(order):
        weight = _clamp(_quotient(_signed64(rest[i]), factor[i][i]), 1 << 31)
        for k in range(i):
            rest[k] -= factor[i][k] * weight
        weights[i] = _clamp(_scaled(weight, exponents[i] + 22 - own - SOLVED_BITS), MOST_SOLVED)
    return weights


class _Number:
    """A channel of predicted numbers; `before` are the earlier ones, the nearest first."""

    def __init__(
        self, digits: int, scale: int, decimals: int, before: list[_Number], segment: _Segment, ruled: _Ruled | None
    ) -> None:
        self.digits, self.scale, self.decimals, self.before = digits, scale, decimals, before
        self.segment, self.ruled = segment, ruled
        self.last = self.first = self.place = self.place_before = self.seen = self.angle = self.told_by = 0
        self.moves = [0] * HISTORY
        self.experts = [_Expert(outlook, self) for outlook in (SOLVED if segment.learned else SWEPT)]
        self.spreads, self.credits = [16 << scale] * (2 * len(self.experts)), [0] * (2 * len(self.experts))

    def read(self, coder: Decoder) -> int:
        if self.ruled:
            self._obey(self.ruled.moved())
        if self.seen:
            for expert in self.experts:
                expert.look(self)
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
            self._learn(value, move)
        else:
            self.first = value
        self._remember(value, move)
        return value

    def _obey(self, moved: int) -> None:
        shift = ANGLE_BITS + self.scale - UNIT_BITS
        self.told_by = _clamp(_scaled(moved * TENS[self.decimals], shift), MOST_MOVE) if self.seen else 0

    def _learn(self, value: int, move: int) -> None:
        for i, expert in enumerate(self.experts):
            noise = self._normalised(self.spreads[2 * i + 1] >> 4, MOST_MOVE)
            if self.segment.learned:
                noise += self._normalised(abs(value - expert.guess), MOST_MOVE) // 2
                expert.learn_solving(move, noise, self.seen, max(self.credits[2 * i : 2 * i + 2]))
            else:
                expert.learn_sweeping(move, noise, self.seen)

    def _remember(self, value: int, move: int) -> None:
        self.seen += 1
        self.moves = [move, *self.moves[:-1]]
        self.place_before, self.place = self.place, self._normalised(value - self.first, MOST_PLACE)
        if self.decimals <= LAW_DECIMALS:
            angle = _quotient(_clamp(value, 1 << 38) << ANGLE_BITS, TENS[self.decimals])
            self.angle = _clamp(angle, LAW_MOST)
        self.last = value

    def _normalised(self, value: int, most: int) -> int:
        return _clamp(_scaled(_clamp(value, 1 << 46), self.scale - UNIT_BITS), most)

    def _mix(self) -> None:
        most = max(self.credits)
        less = [most - credit for credit in self.credits]
        self.best = self.credits.index(most)
        self.shares = [(512 - (n & 255)) << 3 >> (n >> 8) if n < 13 * 256 else 0 for n in less]
        self.places = [self.experts[i // 2].guess for i in range(len(less))]
        self.scales = [s + (s >> 2) if i % 2 else s for i, s in enumerate(self.spreads)]

    def _below(self, rank: int) -> tuple[int, list[int]]:
        """Share of the mixture below the edge under a rank, and of each distribution in it."""
        edge = value_of(rank - 1, self.digits) + value_of(rank, self.digits)
        parts = []
        for place, scale in zip(self.places, self.scales, strict=True):
            distance = edge - 2 * place
            part = _tail(min(abs(distance), 1 << 49) * 8192 // scale)
            parts.append(part if distance < 0 else ONE - part)
        return sum(share * part for share, part in zip(self.shares, parts, strict=True)), parts

    def _rank(self, coder: Decoder) -> int:
        most, count = rank_of(LARGEST, self.digits), len(self.shares)
        low, high = _End(-most, 0, [0] * count), _End(most + 1, sum(self.shares) * ONE, [ONE] * count)
        center, step = self.places[self.best], max(1, self.scales[self.best] >> 4)

        def split(middle: int, decision: int) -> int:
            nonlocal low, high
            share, parts = self._below(middle)
            mixed = _chance(high.share - share, high.share - low.share)
            if self.segment.learned:
                bit = self._weighed(coder, decision, [mixed, *self._chances(low, parts, high)])
            else:
                bit = coder.code_bit(mixed)
            if bit:
                low = _End(middle, share, parts)
            else:
                high = _End(middle, share, parts)
            return bit

        up = split(max(rank_of(center, self.digits), low.rank + 1), 0)
        at = 0
        while step < LARGEST:
            edge = rank_of(_clamp(center + step if up else center - step, LARGEST), self.digits)
            if low.rank < edge < high.rank and split(edge, 1 + at + (0 if up else STEPS)) != up:
                break
            step, at = 2 * step, min(at + 1, STEPS - 1)
        for i in range(3):
            if high.rank - low.rank > 1:
                split(low.rank + (high.rank - low.rank) // 2, 1 + 2 * STEPS + 3 * at + i)
        return low.rank + _uniform(coder, high.rank - low.rank)

    def _chances(self, low: _End, parts: list[int], high: _End) -> list[int]:
        """What each predictor's two distributions say of a decision."""
        above = [(s + 1) * (h - p) for s, p, h in zip(self.shares, parts, high.parts, strict=True)]
        within = [(s + 1) * (h - n) for s, n, h in zip(self.shares, low.parts, high.parts, strict=True)]
        pairs = [(above[i] + above[i + 1], within[i] + within[i + 1]) for i in range(0, len(above), 2)]
        return [_chance(part, whole) if whole > 0 else 1 << 15 for part, whole in pairs]

    def _weighed(self, coder: Decoder, decision: int, chances: list[int]) -> int:
        """A bit by what the mixture and the predictors say, weighed on a logistic scale."""
        weights, odds = self.segment.weights[decision], [stretch(p) for p in chances]
        p = squash(sum(w * o for w, o in zip(weights, odds, strict=True)) >> 16)
        bit = coder.code_bit(p)
        for i, o in enumerate(odds):
            weights[i] = _clamp(weights[i] + (o * ((bit << 16) - p) >> WEIGH_RATE), WEIGHT_LIMIT)
        return bit

    def _first(self, coder: Decoder) -> int:
        width = self._width(coder) if self.segment.learned else coder.code_direct(6)
        if not width:
            return 0
        size = 1 << width - 1 | _plain(coder, width - 1)
        return -size if coder.code_direct(1) else size

    def _width(self, coder: Decoder) -> int:
        """Six bits, each by those above it."""
        states, node = self.segment.states, 1
        for _ in range(6):
            bit = coder.code_bit(probability(states[node]))
            states[node] = updated(states[node], STATE_RATE, bit)
            node = 2 * node + bit
        return node - FIRST_STATES

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
            self.spreads[i] += _quotient(seen - self.spreads[i], self._age(i))
        most = max(self.credits)
        self.credits = [credit - most for credit in self.credits]

    def _age(self, spread: int) -> int:
        """How many numbers a spread is the mean of."""
        if not self.segment.learned:
            return min(self.seen + 1, 20 if spread % 2 else 4)
        return min(1 + self.seen // 2, 20) if spread % 2 else 2 if self.seen < 30 else 4


def _tail(z: int) -> int:
    if z >= 32 << 10:
        return (1 << 48) // (min(z, 1 << 23) ** 2 + 786432)
    base, following = TAILS[z >> 5], TAILS[(z >> 5) + 1]
    return base - ((base - following) * (z & 31) >> 5)


def dyadic_value(multiple: int, digits: int) -> int:
    """As it is printed, on the grid of 10^-22."""
    product = multiple * DYADIC_UNIT
    grid = TENS[_power(product >> DYADIC_SHIFT, digits)]
    return ((product >> DYADIC_SHIFT - 1) // grid + 1) // 2 * grid


def multiple_of(value: int, digits: int) -> int:
    """The roundest multiple that is printed like this, or the nearest: what the encoder codes."""
    nearest, multiple = (abs(value) << 20) // (DYADIC_UNIT >> 9), 0
    for zeros in range(DYADIC_BITS - 2, -1, -1):
        multiple = ((nearest >> zeros) + 1) // 2 << zeros
        if multiple < 1 << DYADIC_BITS - 1 and dyadic_value(multiple, digits) == abs(value):
            break
    return -multiple if value < 0 else multiple


class _Noise:
    """A channel of multiples of 2^-68 rad, printed as degrees."""

    def __init__(self, digits: int, states: list[int]) -> None:
        self.digits, self.states = digits, states

    def read(self, coder: Decoder) -> int:
        if not self._bit(coder, 0):
            return 0
        zeros = self._unary(coder, 1, DYADIC_BITS - 2)
        width = self._unary(coder, 1 + DYADIC_BITS * (1 + zeros), DYADIC_BITS - 2 - zeros)
        half = 1 << width - 1 | _plain(coder, width - 1) if width else 0
        negative = coder.code_direct(1)
        value = dyadic_value(2 * half + 1 << zeros, self.digits)
        return -value if negative else value

    def _bit(self, coder: Decoder, at: int) -> int:
        bit = coder.code_bit(probability(self.states[at]))
        self.states[at] = updated(self.states[at], STATE_RATE, bit)
        return bit

    def _unary(self, coder: Decoder, at: int, most: int) -> int:
        found = 0
        while found < most and self._bit(coder, at + found):
            found += 1
        return found
