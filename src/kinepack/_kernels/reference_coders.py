"""The entropy coders in plain Python: docs/kernels.md as a program, and the oracle of the kernels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels._binding import Buffer
from kinepack._kernels._coders import DEFAULT_MIXING, Mixing
from kinepack.errors import Corrupt, Truncated

IMPLICIT_BYTES = 4
BUCKETS = 31
LOG2: list[int] = [round(4096 * math.log2(1 + i / 64)) for i in range(65)]
SQUASH: list[int] = [round(65536 / (1 + 2.0 ** -(i / 4 - 12))) for i in range(97)]


class Encoder:
    """The interval [low, low + range) below the bytes already written."""

    def __init__(self) -> None:
        self.out, self.low, self.range = bytearray(), 0, 0xFFFFFFFF

    def narrow(self, offset: int, range_: int) -> None:
        self.low, self.range = self.low + offset, range_
        if self.low >> 32:
            self.carry()
        while self.range < 1 << 24:
            self.out.append(self.low >> 24)
            self.low, self.range = (self.low << 8) & 0xFFFFFFFF, self.range << 8

    def carry(self) -> None:
        self.low &= 0xFFFFFFFF
        i = len(self.out) - 1
        while self.out[i] == 255:
            self.out[i] = 0
            i -= 1
        self.out[i] += 1

    def code_bit(self, p1: int, bit: int) -> int:
        bound = (self.range * p1) >> 16
        self.narrow(0 if bit else bound, bound if bit else self.range - bound)
        return bit

    def code_direct(self, width: int, value: int) -> int:
        for part in (width - 16, 16) if width > 16 else (width,):
            width -= part
            step = self.range >> part
            self.narrow(step * ((value >> width) & ((1 << part) - 1)), step)
        return value

    def finish(self) -> bytes:
        if self.low + self.range > 1 << 32:
            self.carry()
        elif self.low:
            self.out.append((self.low + 0xFFFFFF) >> 24)
        return bytes(self.out)


class Decoder:
    """Mirrors Encoder: its coding methods take the same arguments, and ignore the value to code."""

    def __init__(self, data: Buffer) -> None:
        self.data, self.position, self.range, self.code = bytes(data), 0, 0xFFFFFFFF, 0
        for _ in range(4):
            self.code = (self.code << 8) | self.byte()
        if self.code == 0xFFFFFFFF:
            raise Corrupt("the first four bytes are outside the range")

    def byte(self) -> int:
        if self.position >= len(self.data) + IMPLICIT_BYTES:
            raise Truncated("the data ends too early")
        self.position += 1
        return self.data[self.position - 1] if self.position <= len(self.data) else 0

    def narrow(self, offset: int, range_: int) -> None:
        self.code, self.range = self.code - offset, range_
        while self.range < 1 << 24:
            self.code, self.range = (self.code << 8) | self.byte(), self.range << 8

    def code_bit(self, p1: int, _bit: int = 0) -> int:
        bound = (self.range * p1) >> 16
        bit = int(self.code < bound)
        self.narrow(0 if bit else bound, bound if bit else self.range - bound)
        return bit

    def slot(self, step: int, total: int) -> int:
        if self.code // step >= total:
            raise Corrupt("the code is in the unused end of the range")
        return self.code // step

    def code_direct(self, width: int, _value: int = 0) -> int:
        value = 0
        for part in (width - 16, 16) if width > 16 else (width,):
            step = self.range >> part
            slot = self.slot(step, 1 << part)
            self.narrow(step * slot, step)
            value = (value << part) | slot
        return value

    def finish(self) -> None:
        if self.position < len(self.data) + IMPLICIT_BYTES - 1:
            raise Corrupt("bytes are left over")


# ---- adaptive probabilities and their mixing


def probability(state: int) -> int:
    return min(max(state >> 16, 16), 65520)


def updated(state: int, rate: int, bit: int) -> int:
    p, n = state >> 10, state & 1023
    distance = (1 << 22) - 1 - p if bit else p
    young = n + 1 < 1 << rate
    move = (distance * (131072 // (2 * n + 3))) >> 16 if young else distance >> rate
    return ((p + move if bit else p - move) << 10) | (n + young)


def log2(x: int) -> int:
    exponent = x.bit_length() - 1
    mantissa = x << (15 - exponent)
    index, fraction = (mantissa >> 9) & 63, mantissa & 511
    return exponent * 4096 + LOG2[index] + (((LOG2[index + 1] - LOG2[index]) * fraction) >> 9)


def stretch(p: int) -> int:
    return log2(p) - log2(65536 - p)


def squash(x: int) -> int:
    if abs(x) >= 12 * 4096:
        return 16 if x < 0 else 65520
    index, fraction = divmod(x + 12 * 4096, 1024)
    return SQUASH[index] + (((SQUASH[index + 1] - SQUASH[index]) * fraction) >> 10)


class BinModel:
    """States addressed by context and bin, and mixer weights addressed by weight set."""

    def __init__(self, states: NDArray[np.uint32], weight_sets: int, inputs: int, mixing: Mixing) -> None:
        self.states = [[int(state) for state in row] for row in states]
        weight = mixing.weight or 65536 // inputs
        self.weights = [[weight] * inputs for _ in range(weight_sets)]
        self.mixing = mixing

    def code(self, coder: Encoder | Decoder, contexts: list[int], bin_: int, weight_set: int, bit: int) -> int:
        if len(contexts) == 1:
            bit = coder.code_bit(probability(self.states[contexts[0]][bin_]), bit)
        else:
            bit = self._code_mixed(coder, contexts, bin_, self.weights[weight_set], bit)
        for context in contexts:
            self.states[context][bin_] = updated(self.states[context][bin_], self.mixing.rate, bit)
        return bit

    def _code_mixed(
        self, coder: Encoder | Decoder, contexts: list[int], bin_: int, weights: list[int], bit: int
    ) -> int:
        inputs = [stretch(probability(self.states[context][bin_])) for context in contexts]
        mixed = squash(sum(w * x for w, x in zip(weights, inputs, strict=True)) >> 16)
        bit = coder.code_bit(mixed, bit)
        for i, x in enumerate(inputs):
            learned = weights[i] + ((x * ((bit << 16) - mixed)) >> self.mixing.mix_rate)
            weights[i] = min(max(learned, -(1 << 20)), 1 << 20)
        return bit


def _context_rows(contexts: Any, count: int) -> list[list[int]]:
    if contexts is None:
        return [[0]] * count
    return [[int(c) for c in np.atleast_1d(row)] for row in np.asarray(contexts)]


def _code_bits(
    coder: Encoder | Decoder, bits: list[int], states: NDArray[np.uint32], contexts: Any, mixing: Mixing
) -> list[int]:
    rows = _context_rows(contexts, len(bits))
    model = BinModel(states[:, None], len(states), len(rows[0]) if rows else 1, mixing)
    return [model.code(coder, row, 0, row[0], bit) for row, bit in zip(rows, bits, strict=True)]


def encode_bits(
    bits: Any, states: NDArray[np.uint32], *, contexts: Any = None, mixing: Mixing = DEFAULT_MIXING
) -> bytes:
    encoder = Encoder()
    _code_bits(encoder, [int(bit) for bit in bits], states, contexts, mixing)
    return encoder.finish()


def decode_bits(
    data: Buffer,
    count: int,
    states: NDArray[np.uint32],
    *,
    contexts: Any = None,
    mixing: Mixing = DEFAULT_MIXING,
) -> NDArray[np.uint8]:
    decoder = Decoder(data)
    bits = _code_bits(decoder, [0] * count, states, contexts, mixing)
    decoder.finish()
    return np.array(bits, np.uint8)


# ---- integers


def _encode_integer(model: BinModel, encoder: Encoder, contexts: list[int], escape: int, value: int) -> None:
    def put(bin_: int, bit: bool | int) -> None:
        model.code(encoder, contexts, bin_, bin_, int(bit))

    put(0, value != 0)
    if value == 0:
        return
    put(1, value < 0)
    rest = abs(value) - 1
    for i in range(escape):
        put(2 + i, rest > i)
        if rest <= i:
            return
    number = rest - escape + 1
    width = number.bit_length() - 1
    for i in range(min(width + 1, BUCKETS)):
        put(2 + escape + i, width > i)
    if width:
        put(2 + escape + BUCKETS + width - 1, (number >> (width - 1)) & 1)
    if width > 1:
        encoder.code_direct(width - 1, number & ((1 << (width - 1)) - 1))


def _decode_integer(model: BinModel, decoder: Decoder, contexts: list[int], escape: int) -> int:
    def get(bin_: int) -> int:
        return model.code(decoder, contexts, bin_, bin_, 0)

    if not get(0):
        return 0
    sign, magnitude, width = (-1 if get(1) else 1), 1, 0
    while magnitude <= escape and get(1 + magnitude):
        magnitude += 1
    if magnitude <= escape:
        return sign * magnitude
    while width < BUCKETS and get(2 + escape + width):
        width += 1
    number = 2 | get(2 + escape + BUCKETS + width - 1) if width else 1
    if width > 1:
        number = (number << (width - 1)) | decoder.code_direct(width - 1)
    value = sign * (magnitude + number - 1)
    if not -(1 << 31) <= value < 1 << 31:
        raise Corrupt("an integer is over 32 bits")
    return value


def encode_integers(
    values: Any,
    states: NDArray[np.uint32],
    *,
    escape: int,
    contexts: Any = None,
    mixing: Mixing = DEFAULT_MIXING,
) -> bytes:
    encoder, rows = Encoder(), _context_rows(contexts, len(values))
    model = BinModel(states, states.shape[1], len(rows[0]) if rows else 1, mixing)
    for row, value in zip(rows, values, strict=True):
        _encode_integer(model, encoder, row, escape, int(value))
    return encoder.finish()


def decode_integers(
    data: Buffer,
    count: int,
    states: NDArray[np.uint32],
    *,
    escape: int,
    contexts: Any = None,
    mixing: Mixing = DEFAULT_MIXING,
) -> NDArray[np.int32]:
    decoder, rows = Decoder(data), _context_rows(contexts, count)
    model = BinModel(states, states.shape[1], len(rows[0]) if rows else 1, mixing)
    values = [_decode_integer(model, decoder, row, escape) for row in rows]
    decoder.finish()
    return np.array(values, np.int32)


# ---- symbols


class Frequencies:
    """Counts of one context."""

    def __init__(self, alphabet: int, increment: int, limit: int) -> None:
        self.counts, self.increment, self.limit = [1] * alphabet, increment, limit

    def learn(self, symbol: int) -> None:
        self.counts[symbol] += self.increment
        while sum(self.counts) > self.limit:
            self.counts = [(count + 1) >> 1 for count in self.counts]

    def find(self, slot: int) -> int:
        symbol = 0
        while slot >= self.counts[symbol]:
            slot -= self.counts[symbol]
            symbol += 1
        return symbol


def _narrow_symbol(coder: Encoder | Decoder, table: Frequencies, symbol: int | None) -> int:
    total = sum(table.counts)
    step = coder.range // total
    if symbol is None:
        assert isinstance(coder, Decoder)
        symbol = table.find(coder.slot(step, total))
    coder.narrow(step * sum(table.counts[:symbol]), step * table.counts[symbol])
    table.learn(symbol)
    return symbol


def encode_symbols(
    symbols: Any,
    alphabet: int,
    *,
    contexts: Any = None,
    context_count: int = 1,
    increment: int = 32,
    limit: int = 65536,
) -> bytes:
    encoder = Encoder()
    tables = [Frequencies(alphabet, increment, limit) for _ in range(context_count)]
    for (context,), symbol in zip(_context_rows(contexts, len(symbols)), symbols, strict=True):
        _narrow_symbol(encoder, tables[context], int(symbol))
    return encoder.finish()


def decode_symbols(
    data: Buffer,
    count: int,
    alphabet: int,
    *,
    contexts: Any = None,
    context_count: int = 1,
    increment: int = 32,
    limit: int = 65536,
) -> NDArray[np.uint16]:
    decoder = Decoder(data)
    tables = [Frequencies(alphabet, increment, limit) for _ in range(context_count)]
    symbols = [_narrow_symbol(decoder, tables[c], None) for (c,) in _context_rows(contexts, count)]
    decoder.finish()
    return np.array(symbols, np.uint16)
