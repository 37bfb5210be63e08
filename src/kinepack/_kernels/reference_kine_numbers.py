"""The lossless decoder of `kine` in plain Python: docs/codecs/kine.md as a program, and the oracle of the kernel."""

from __future__ import annotations

from math import isqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels._binding import Buffer
from kinepack._kernels._kine import DYADIC, NumberModel
from kinepack._kernels.reference_coders import Decoder, probability, squash, stretch, updated
from kinepack._kernels.reference_kine_experts import (
    HISTORY,
    LARGEST,
    LAW_MOST,
    MOST_MOVE,
    SOLVED,
    SWEPT,
    UNIT_BITS,
    Expert,
    Ruled,
    laws,
)
from kinepack._kernels.reference_kine_noise import DYADIC_STATES, STATE_RATE, Noise
from kinepack._kernels.reference_kine_ranks import (
    TENS,
    clamp,
    log2,
    plain,
    power_of,
    quotient,
    rank_of,
    scaled,
    value_of,
)
from kinepack.errors import Corrupt

ONE, MOST_PLACE = 1 << 30, 1 << 26
LEAST, MOST = 16, 65520
FIRST_STATES = 64
PRIOR_STATES = FIRST_STATES + DYADIC_STATES
STEPS, WEIGH_RATE, WEIGHT_LIMIT = 6, 22, 1 << 20
"""Decisions away from the prediction that have weights of their own."""
LAW_DECIMALS, ANGLE_BITS = 9, 20
TAILS = [(ONE - (i << 45) // isqrt((1024 + i * i) << 30)) // 2 for i in range(1025)]


def decode_numbers(data: Buffer, frames: int, model: NumberModel) -> NDArray[np.int64]:
    """The mirror of `kine_numbers_encode`, slowly."""
    coder = Decoder(data)
    segment = _Segment(model.prior)
    channels: list[_Number | Noise] = []
    for digits, scale, decimals, role in zip(*(row.tolist() for row in model[:4]), strict=True):
        if digits >= DYADIC:
            channels.append(Noise(digits - DYADIC, segment.states[FIRST_STATES:]))
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
        self.laws = dict(laws(prior[3 * count :])) if prior else {}
        self.players: dict[int, _Number] = {}
        self.predicted: list[_Number] = []
        self.weights = [[1 << 16] + [0] * len(SOLVED) for _ in range(1 + 5 * STEPS)]

    def add(self, digits: int, scale: int, decimals: int, role: int) -> _Number:
        known = self.learned and role < 64 and decimals <= LAW_DECIMALS
        law = self.laws.get(role) if known else None
        if law and all(r in self.players for r in law.roles):
            ruled: Ruled | None = Ruled(law, [self.players[r] for r in law.roles])
        else:
            ruled = None
        number = _Number(digits, scale, decimals, self.predicted[::-1], self, ruled)
        self.predicted.append(number)
        if known:
            self.players[role] = number
        return number


def _chance(part: int, whole: int) -> int:
    return min(max((part << 16) // whole if whole > 0 and part > 0 else 0, LEAST), MOST)


def _uniform(coder: Decoder, count: int) -> int:
    base = 0
    while count > 1:
        width = (count - 1).bit_length() - 1
        half = 1 << width
        if half * 2 == count:
            return base + plain(coder, width + 1)
        coarse = max(0, width - 40)
        if not coder.code_bit(_chance((count - half) >> coarse, count >> coarse)):
            return base + plain(coder, width)
        base, count = base + half, count - half
    return base


class _End(NamedTuple):
    """Of the ranks that are left: the rank, and the shares below it of the mixture and of each distribution."""

    rank: int
    share: int
    parts: list[int]


class _Number:
    """A channel of predicted numbers; `before` are the earlier ones, the nearest first."""

    def __init__(
        self, digits: int, scale: int, decimals: int, before: list[_Number], segment: _Segment, ruled: Ruled | None
    ) -> None:
        self.digits, self.scale, self.decimals, self.before = digits, scale, decimals, before
        self.segment, self.ruled = segment, ruled
        self.last = self.first = self.place = self.place_before = self.seen = self.angle = self.told_by = 0
        self.moves = [0] * HISTORY
        self.experts = [Expert(outlook, self) for outlook in (SOLVED if segment.learned else SWEPT)]
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
        self.told_by = clamp(scaled(moved * TENS[self.decimals], shift), MOST_MOVE) if self.seen else 0

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
            angle = quotient(clamp(value, 1 << 38) << ANGLE_BITS, TENS[self.decimals])
            self.angle = clamp(angle, LAW_MOST)
        self.last = value

    def _normalised(self, value: int, most: int) -> int:
        return clamp(scaled(clamp(value, 1 << 46), self.scale - UNIT_BITS), most)

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
            edge = rank_of(clamp(center + step if up else center - step, LARGEST), self.digits)
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
            weights[i] = clamp(weights[i] + (o * ((bit << 16) - p) >> WEIGH_RATE), WEIGHT_LIMIT)
        return bit

    def _first(self, coder: Decoder) -> int:
        width = self._width(coder) if self.segment.learned else coder.code_direct(6)
        if not width:
            return 0
        size = 1 << width - 1 | plain(coder, width - 1)
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
        grid = TENS[power_of(abs(value), self.digits)]
        for i, (place, scale) in enumerate(zip(self.places, self.scales, strict=True)):
            miss = abs(value - place)
            far, near = 16 * min(miss, 1 << 49), scale
            shift = max(0, (far | near).bit_length() - 31)
            near, far = (near >> shift) ** 2, (far >> shift) ** 2
            density = log2(near + 1) - quotient(3 * log2(near + far + 1), 2) - 256 * shift
            self.credits[i] = (self.credits[i] * 13 >> 4) + density
            seen = min(max(16 * miss, 5 * grid), 1 << 54)
            self.spreads[i] += quotient(seen - self.spreads[i], self._age(i))
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
