"""The segment decoder of `kine` in plain Python: docs/codecs/kine.md as a program, and the oracle of the kernel."""

from __future__ import annotations

import math

import numpy as np

from kinepack._kernels._binding import Buffer
from kinepack._kernels._kine import (
    BANDS,
    BINS,
    CONTEXTS,
    FEATURES,
    LEVELS,
    PHASES,
    ROWS,
    RUNS,
    Coefficients,
    SegmentModel,
)
from kinepack._kernels.reference_coders import Decoder, probability, squash, stretch, updated
from kinepack.errors import Corrupt

RATE, MIX_RATE, WEIGHT_LIMIT = 7, 20, 1 << 20
UNITS = (0, *range(1, 15), 16)
SMALL_LOGS = (0, 31, 44, 52, 58, 63, 67, 70)
BOUNDS = (4, 10, 19, 29, 41, 56, 81)
ENDS = BINS * CONTEXTS + BINS + ROWS
FIRST_ASKED = 2
Grid = list[list[int]]


def decode_segment(data: Buffer, frames: int, model: SegmentModel) -> Coefficients:
    """The mirror of `kine_encode`, slowly."""
    reader = _Reader(data, model)
    levels: Grid = []
    lengths: list[int] = []
    before: Grid | None = None
    while len(levels) < frames:
        code = reader.coder.code_direct(4)
        rows = min(UNITS[code] * model.unit if code else 1, frames - len(levels))
        block = _Block(rows, model, before)
        levels += block.read(reader)
        lengths.append(rows)
        before = block.logs if rows > 1 else None
    reader.coder.finish()
    return Coefficients(np.array(levels, np.int32).reshape(frames, model.tracks), np.array(lengths, np.uint32))


class _Reader:
    """Binary decisions of one segment."""

    def __init__(self, data: Buffer, model: SegmentModel) -> None:
        self.coder = Decoder(data)
        self.states = [int(s) for s in model.prior.states]
        self.weights = [int(w) for w in model.prior.weights]
        self.ends = model.ends

    def plain_state(self, index: int) -> int:
        bit = self.coder.code_bit(probability(self.states[index]))
        self.states[index] = self.learned(self.states[index], bit)
        return bit

    def learned(self, state: int, bit: int) -> int:
        if not self.ends:
            return updated(state, RATE, bit)
        p, n = state >> 10, state & 1023
        share = 131072 // (2 * n + 3) if n < (1 << RATE) - 1 else 1 << (16 - RATE)
        p += (((1 << 22) - 1 if bit else 0) - p) * share >> 16
        return p << 10 | min(n + 1, max(n, (1 << RATE) - 1))

    def odds(self, state: int) -> int:
        """Log odds in 1/4096; streams with ends take them from a table of 4096 even ones."""
        if not self.ends:
            return stretch(probability(state))
        i = state >> 20
        return 2 * round(2048 * math.log2((i + 0.5) / (4095.5 - i)))

    def mixed(self, bin: int, context: tuple[int, int, int]) -> int:
        """A bin's decision."""
        return self.from_three([bin * CONTEXTS + c for c in context], 3 * bin)

    def goes_on(self, context: tuple[int, int, int]) -> int:
        return self.from_three([ENDS + c for c in context], 3 * BINS)

    def from_three(self, places: list[int], weights: int) -> int:
        """One decision from three states, whose log odds are weighted and summed."""
        odds = [self.odds(self.states[p]) for p in places]
        own = self.weights[weights : weights + 3]
        p = squash(sum(w * s for w, s in zip(own, odds, strict=True)) >> 16)
        bit = self.coder.code_bit(p)
        for i, place in enumerate(places):
            weight = own[i] + ((odds[i] * ((bit << 16) - p)) >> MIX_RATE)
            self.weights[weights + i] = min(max(weight, -WEIGHT_LIMIT), WEIGHT_LIMIT)
            self.states[place] = self.learned(self.states[place], bit)
        return bit

    def level(self, context: tuple[int, int, int]) -> int:
        quiet = BINS * CONTEXTS + BINS + context[2] - LEVELS - RUNS
        if not (self.mixed(0, context) if context[0] else self.plain_state(quiet)):
            return 0
        size = 1
        if self.mixed(1, context):
            size = self.large(context) if self.mixed(2, context) else 2
        return -size if self.coder.code_direct(1) else size

    def larger(self, bucket: int, context: tuple[int, int, int]) -> int:
        if self.ends:
            return self.plain_state((3 + bucket) * CONTEXTS + context[0])
        return self.mixed(3 + bucket, context)

    def large(self, context: tuple[int, int, int]) -> int:
        bucket = 0
        while bucket < BINS - 4 and self.larger(bucket, context):
            bucket += 1
        if bucket == BINS - 4:
            raise Corrupt("a level is too large")
        if bucket == 0:
            return 3
        top = self.plain_state(BINS * CONTEXTS + bucket)
        low = self.coder.code_direct(bucket - 1) if bucket > 1 else 0
        return 2 + ((1 << bucket) | (top << (bucket - 1)) | low)


class _Block:
    """One block's rows and what the model knows of them so far."""

    def __init__(self, rows: int, model: SegmentModel, before: Grid | None) -> None:
        self.rows, self.model, self.before = rows, model, before
        self.logs: Grid = [[0] * model.tracks for _ in range(rows)]
        self.runs = [0] * model.tracks
        self.weights = [int(w) for w in model.prior.model]

    def read(self, reader: _Reader) -> Grid:
        used = reader.coder.code_direct(self.rows.bit_length())
        if used > self.rows:
            raise Corrupt("a block has more rows than frames")
        levels: Grid = [[0] * self.model.tracks for _ in range(self.rows)]
        going = list(range(self.model.tracks))
        for row in range(used):
            mean, band = 0, self.band(row)
            asks = self.model.ends and (row == 0 or (row >= FIRST_ASKED and band != self.band(row - 1)))
            for track in list(going):
                context = self.context(row, track, mean, band)
                if asks and not reader.goes_on(context):
                    going.remove(track)
                    continue
                value = reader.level(context)
                levels[row][track] = value
                log = _log(abs(value))
                self.logs[row][track] = log
                self.runs[track] += _toward_zero(16 * log - self.runs[track], 4)
                mean += _toward_zero(16 * log - mean, 8)
        return levels

    def band(self, row: int) -> int:
        f = 1 + row * 32 * self.model.unit // self.rows
        e = f.bit_length() - 1
        return min(2 * e + ((f >> (e - 1)) & 1 if e else 0), BANDS - 1)

    def context(self, row: int, track: int, mean: int, band: int) -> tuple[int, int, int]:
        own = [self.logs[row - i][track] if row >= i else 0 for i in (1, 2, 3)]
        left = [self.logs[row][track - i] if track >= i else 0 for i in (1, 2)]
        run, past, phase = self.runs[track] >> 4, 0, min(row, 3)
        if self.before is not None:
            at = row * len(self.before) // self.rows
            past = self.before[at][track] + self.before[min(at + 1, len(self.before) - 1)][track]
            phase += 4
        inputs = (*own, *left, mean >> 4, run, past, self.model.quality)
        weights = self.weights[phase * FEATURES : (phase + 1) * FEATURES]
        total = sum(w * f for w, f in zip(weights, inputs, strict=True))
        total += 16 * self.weights[PHASES * FEATURES + int(self.model.classes[track]) * BANDS + band]
        level = min(max(total, 0) >> 10, LEVELS - 1)
        amplitude = sum(run >= bound for bound in BOUNDS)
        return (
            level,
            LEVELS + amplitude * 9 + _step(own[0]) * 3 + _step(own[1]),
            LEVELS + RUNS + band * 9 + _step(left[0]) * 3 + _step(left[1]),
        )


def _log(magnitude: int) -> int:
    if magnitude < 8:
        return SMALL_LOGS[magnitude]
    e = magnitude.bit_length() - 1
    mantissa = (magnitude >> (e - 4) if e > 4 else magnitude << (4 - e)) & 15
    return min(25 + 16 * e + mantissa, 255)


def _step(log: int) -> int:
    return 0 if log == 0 else 1 if log == 31 else 2


def _toward_zero(value: int, divisor: int) -> int:
    return value // divisor if value >= 0 else -(-value // divisor)
