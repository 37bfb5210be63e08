"""Adaptive range coding of bits, integers and symbols. docs/kernels.md specifies the streams.

A stream does not store its count, contexts or model: the decoder is given the same ones. Each value has one
context, or two or three whose predictions are mixed. Contexts are numbered from 0; `context_count` defaults
to the largest plus one and matters only for a BinaryModel with one initial probability per context.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kinepack import _kernels
from kinepack._kernels import Buffer
from kinepack.entropy.models import BinaryModel, IntegerModel, SymbolModel
from kinepack.errors import UsageError

_BITS, _INTEGERS, _SYMBOLS = BinaryModel(), IntegerModel(), SymbolModel()


def encode_bits(
    bits: ArrayLike,
    contexts: ArrayLike | None = None,
    *,
    context_count: int | None = None,
    model: BinaryModel = _BITS,
) -> bytes:
    """Bits [n] (0 or 1) with contexts [n] or [n, 2..3]."""
    states = model.states(_count(contexts, context_count))
    return _kernels.encode_bits(bits, states, contexts=contexts, mixing=model.mixing)


def decode_bits(
    data: Buffer,
    count: int,
    contexts: ArrayLike | None = None,
    *,
    context_count: int | None = None,
    model: BinaryModel = _BITS,
) -> NDArray[np.uint8]:
    """The mirror of `encode_bits`: uint8 [count]."""
    states = model.states(_count(contexts, context_count))
    return _kernels.decode_bits(data, count, states, contexts=contexts, mixing=model.mixing)


def encode_integers(
    values: ArrayLike,
    contexts: ArrayLike | None = None,
    *,
    context_count: int | None = None,
    model: IntegerModel = _INTEGERS,
) -> bytes:
    """int32 values [n] with contexts [n] or [n, 2..3]."""
    states = model.states(_count(contexts, context_count))
    return _kernels.encode_integers(values, states, escape=model.escape, contexts=contexts, mixing=model.mixing)


def decode_integers(
    data: Buffer,
    count: int,
    contexts: ArrayLike | None = None,
    *,
    context_count: int | None = None,
    model: IntegerModel = _INTEGERS,
) -> NDArray[np.int32]:
    """The mirror of `encode_integers`: int32 [count]."""
    states = model.states(_count(contexts, context_count))
    return _kernels.decode_integers(data, count, states, escape=model.escape, contexts=contexts, mixing=model.mixing)


def encode_symbols(
    symbols: ArrayLike,
    contexts: ArrayLike | None = None,
    *,
    context_count: int | None = None,
    model: SymbolModel = _SYMBOLS,
) -> bytes:
    """Symbols [n] below model.alphabet with contexts [n]."""
    return _kernels.encode_symbols(
        symbols,
        model.alphabet,
        contexts=contexts,
        context_count=_count(contexts, context_count),
        increment=model.increment,
        limit=model.limit,
    )


def decode_symbols(
    data: Buffer,
    count: int,
    contexts: ArrayLike | None = None,
    *,
    context_count: int | None = None,
    model: SymbolModel = _SYMBOLS,
) -> NDArray[np.uint16]:
    """The mirror of `encode_symbols`: uint16 [count]."""
    return _kernels.decode_symbols(
        data,
        count,
        model.alphabet,
        contexts=contexts,
        context_count=_count(contexts, context_count),
        increment=model.increment,
        limit=model.limit,
    )


def _count(contexts: ArrayLike | None, context_count: int | None) -> int:
    """Contexts in the model. The number is no part of the stream: unused contexts cost nothing."""
    if context_count is not None:
        if context_count < 1:
            raise UsageError(f"context_count is {context_count}, must be at least 1")
        return context_count
    array = np.asarray(() if contexts is None else contexts)
    return int(array.max()) + 1 if array.size and array.max() >= 0 else 1
