"""Entropy coding kernels: adaptive binary range coder, integer binarisation and adaptive symbols."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels._binding import (
    Buffer,
    as_array,
    check,
    check_count,
    check_shape,
    data_pointer,
    encode_growing,
    lib,
    pointer,
)
from kinepack.errors import UsageError

MAX_INPUTS = 3


class Mixing(NamedTuple):
    """Adaptation of the binary coder: rate shifts of the states and of the mixer, and the first weights."""

    rate: int = 5
    mix_rate: int = 20
    weight: int = 0
    """Initial mixer weight, 65536 is one; 0 means 65536 / inputs."""


DEFAULT_MIXING = Mixing()


class _Contexts(NamedTuple):
    array: NDArray[np.int32] | None
    inputs: int

    def check_range(self, count: int) -> None:
        if self.array is not None and self.array.size:
            low, high = int(self.array.min()), int(self.array.max())
            if low < 0 or high >= count:
                raise UsageError(f"contexts are {low}..{high}, there are {count}")


def _contexts(contexts: Any, count: int) -> _Contexts:
    if contexts is None:
        return _Contexts(None, 1)
    array = as_array(contexts, np.int32, "contexts")
    inputs = 1 if array.ndim == 1 else array.shape[-1]
    check_shape(array, "contexts", (count,) if array.ndim == 1 else (count, inputs))
    if not 1 <= inputs <= MAX_INPUTS:
        raise UsageError(f"a value has 1 to {MAX_INPUTS} contexts, not {inputs}")
    return _Contexts(array, inputs)


def _weights(inputs: int, sets: int, mixing: Mixing) -> NDArray[np.int32] | None:
    if inputs == 1:
        return None
    return np.full(sets * inputs, mixing.weight or 65536 // inputs, np.int32)


def integer_bins(escape: int) -> int:
    """Adaptive states that one context of the integer coder owns."""
    if not 0 <= escape <= 255:
        raise UsageError(f"escape is {escape}, must be in 0..255")
    return int(lib.kp_integer_bins(escape))


def encode_bits(
    bits: Any, states: NDArray[np.uint32], *, contexts: Any = None, mixing: Mixing = DEFAULT_MIXING
) -> bytes:
    """Codes bits [n] (0 or 1) with contexts [n] or [n, 1..3] into a copy of states [contexts]."""
    source = as_array(bits, np.uint8, "bits", (None,))
    chosen = _contexts(contexts, len(source))
    chosen.check_range(len(states))

    def call(out: Any, capacity: int, size: Any) -> int:
        model, weights = states.copy(), _weights(chosen.inputs, len(states), mixing)
        return int(
            lib.kp_encode_bits(
                pointer(source), len(source), pointer(chosen.array), chosen.inputs, pointer(model),
                len(model), pointer(weights), mixing.rate, mixing.mix_rate, out, capacity, size,
            )
        )  # fmt: skip

    return encode_growing("encode_bits", len(source) // 8 + 64, call)


def decode_bits(
    data: Buffer,
    count: int,
    states: NDArray[np.uint32],
    *,
    contexts: Any = None,
    mixing: Mixing = DEFAULT_MIXING,
) -> NDArray[np.uint8]:
    """The mirror of `encode_bits`."""
    bits = np.empty(check_count(count), np.uint8)
    chosen = _contexts(contexts, count)
    chosen.check_range(len(states))
    model, weights = states.copy(), _weights(chosen.inputs, len(states), mixing)
    source, size = data_pointer(data)
    status = lib.kp_decode_bits(
        source, size, pointer(bits), count, pointer(chosen.array), chosen.inputs, pointer(model),
        len(model), pointer(weights), mixing.rate, mixing.mix_rate,
    )  # fmt: skip
    check(status, "decode_bits")
    return bits


def encode_integers(
    values: Any,
    states: NDArray[np.uint32],
    *,
    escape: int,
    contexts: Any = None,
    mixing: Mixing = DEFAULT_MIXING,
) -> bytes:
    """Codes int32 values [n] with contexts [n] or [n, 1..3]; states is [contexts, integer_bins(escape)]."""
    source = as_array(values, np.int32, "values", (None,))
    chosen = _contexts(contexts, len(source))
    check_shape(states, "states", (None, integer_bins(escape)))
    chosen.check_range(len(states))

    def call(out: Any, capacity: int, size: Any) -> int:
        model, weights = states.copy(), _weights(chosen.inputs, states.shape[1], mixing)
        return int(
            lib.kp_encode_integers(
                pointer(source), len(source), pointer(chosen.array), chosen.inputs, pointer(model),
                len(model), pointer(weights), escape, mixing.rate, mixing.mix_rate, out, capacity, size,
            )
        )  # fmt: skip

    return encode_growing("encode_integers", len(source) * 2 + 64, call)


def decode_integers(
    data: Buffer,
    count: int,
    states: NDArray[np.uint32],
    *,
    escape: int,
    contexts: Any = None,
    mixing: Mixing = DEFAULT_MIXING,
) -> NDArray[np.int32]:
    """The mirror of `encode_integers`."""
    values = np.empty(check_count(count), np.int32)
    chosen = _contexts(contexts, count)
    check_shape(states, "states", (None, integer_bins(escape)))
    chosen.check_range(len(states))
    model, weights = states.copy(), _weights(chosen.inputs, states.shape[1], mixing)
    source, size = data_pointer(data)
    status = lib.kp_decode_integers(
        source, size, pointer(values), count, pointer(chosen.array), chosen.inputs, pointer(model),
        len(model), pointer(weights), escape, mixing.rate, mixing.mix_rate,
    )  # fmt: skip
    check(status, "decode_integers")
    return values


def encode_symbols(
    symbols: Any,
    alphabet: int,
    *,
    contexts: Any = None,
    context_count: int = 1,
    increment: int = 32,
    limit: int = 65536,
) -> bytes:
    """Codes symbols [n] below `alphabet` (at most 32768) with one adaptive frequency table per context."""
    source = as_array(symbols, np.uint16, "symbols", (None,))
    chosen = _symbol_contexts(contexts, len(source), context_count)
    tables = _tables(context_count, alphabet)

    def call(out: Any, capacity: int, size: Any) -> int:
        return int(
            lib.kp_encode_symbols(
                pointer(source), len(source), pointer(chosen.array), context_count, alphabet, increment,
                limit, pointer(tables), out, capacity, size,
            )
        )  # fmt: skip

    return encode_growing("encode_symbols", len(source) + 64, call)


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
    """The mirror of `encode_symbols`."""
    symbols = np.empty(check_count(count), np.uint16)
    chosen = _symbol_contexts(contexts, count, context_count)
    tables = _tables(context_count, alphabet)
    source, size = data_pointer(data)
    status = lib.kp_decode_symbols(
        source, size, pointer(symbols), count, pointer(chosen.array), context_count, alphabet, increment,
        limit, pointer(tables),
    )  # fmt: skip
    check(status, "decode_symbols")
    return symbols


def _symbol_contexts(contexts: Any, count: int, context_count: int) -> _Contexts:
    chosen = _contexts(contexts, count)
    if chosen.inputs != 1:
        raise UsageError("a symbol has one context")
    chosen.check_range(context_count)
    return chosen


def _tables(context_count: int, alphabet: int) -> NDArray[np.uint32]:
    if not 1 <= alphabet <= 32768 or context_count < 1:
        raise UsageError(f"alphabet is {alphabet}, contexts are {context_count}; wanted 1..32768 and at least 1")
    return np.empty(context_count * (alphabet + 1), np.uint32)
