"""Any symbols round-trip, near their entropy; any bytes decode or raise our errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from kinepack.entropy import bit_io, range_coder
from kinepack.entropy.models import BinaryModel, IntegerModel, SymbolModel
from kinepack.errors import BitstreamError

INT32 = st.one_of(st.integers(-20, 20), st.integers(-(2**31), 2**31 - 1))
MODELS = st.builds(
    IntegerModel,
    rate=st.integers(1, 10),
    escape=st.integers(0, 40),
    zero=st.floats(0, 1),
    mix_rate=st.integers(12, 30),
)


@st.composite
def with_contexts(draw: st.DrawFn, element: st.SearchStrategy[int]) -> tuple[list[int], Any]:
    values = draw(st.lists(element, max_size=60))
    inputs = draw(st.integers(0, 3))
    if inputs == 0:
        return values, None
    return values, draw(hnp.arrays(np.int32, (len(values), inputs), elements=st.integers(0, 3)))


@given(with_contexts(st.integers(0, 1)), st.integers(1, 10))
def test_bits_round_trip(case: tuple[list[int], Any], rate: int) -> None:
    bits, contexts = case
    model = BinaryModel(rate=rate)
    data = range_coder.encode_bits(bits, contexts, context_count=4, model=model)
    back = range_coder.decode_bits(data, len(bits), contexts, context_count=4, model=model)
    assert back.tolist() == bits


@given(with_contexts(INT32), MODELS)
def test_integers_round_trip(case: tuple[list[int], Any], model: IntegerModel) -> None:
    values, contexts = case
    data = range_coder.encode_integers(values, contexts, model=model)
    assert range_coder.decode_integers(data, len(values), contexts, model=model).tolist() == values


@given(st.data(), st.integers(1, 32768), st.integers(1, 4096))
def test_symbols_round_trip(data: st.DataObject, alphabet: int, increment: int) -> None:
    symbols = data.draw(st.lists(st.integers(0, alphabet - 1), max_size=60))
    limit = data.draw(st.integers(2 * alphabet, 65536))
    model = SymbolModel(alphabet, increment, limit)
    coded = range_coder.encode_symbols(symbols, model=model)
    assert range_coder.decode_symbols(coded, len(symbols), model=model).tolist() == symbols


@settings(max_examples=25, deadline=None)
@given(st.floats(0.0, 1.0), st.integers(0, 2**32))
def test_bits_cost_their_adaptive_entropy(p: float, seed: int) -> None:
    """The Krichevsky-Trofimov code is what averaging states should come near to."""
    bits = (np.random.default_rng(seed).random(1000) < p).astype(int)
    ones, zeros, ideal = 0.5, 0.5, 0.0
    for bit in bits.tolist():
        ideal -= math.log2((ones if bit else zeros) / (ones + zeros))
        ones, zeros = ones + bit, zeros + (1 - bit)
    cost = 8 * len(range_coder.encode_bits(bits, model=BinaryModel(rate=10)))
    assert cost <= 1.02 * ideal + 24


@settings(max_examples=25, deadline=None)
@given(st.floats(0.1, 200), st.integers(0, 2**32))
def test_integers_cost_about_their_entropy(spread: float, seed: int) -> None:
    values = np.rint(np.random.default_rng(seed).laplace(0, spread, 20_000)).astype(int)
    counts = np.unique(values, return_counts=True)[1] / len(values)
    entropy_bits = -float((counts * np.log2(counts)).sum()) * len(values)
    assert 8 * len(range_coder.encode_integers(values, model=IntegerModel(rate=7))) < 1.05 * entropy_bits + 500


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 300), st.integers(0, 2**32))
def test_symbols_cost_about_their_entropy(alphabet: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    odds = rng.dirichlet(np.ones(alphabet))
    symbols = rng.choice(alphabet, 20_000, p=odds)
    entropy_bits = -float((odds * np.log2(odds.clip(1e-300))).sum()) * len(symbols)
    coded = range_coder.encode_symbols(symbols, model=SymbolModel(alphabet))
    assert 8 * len(coded) < 1.05 * entropy_bits + 12 * alphabet + 64


@given(st.binary(max_size=80), st.integers(0, 300), MODELS)
def test_decoders_raise_only_our_errors(data: bytes, count: int, model: IntegerModel) -> None:
    contexts = np.arange(count) % 3
    calls: list[Any] = [
        lambda: range_coder.decode_bits(data, count, contexts),
        lambda: range_coder.decode_integers(data, count, contexts, model=model),
        lambda: range_coder.decode_integers(data, count, np.stack([contexts, contexts + 3], 1), model=model),
        lambda: range_coder.decode_symbols(data, count, contexts),
        lambda: bit_io.unpack_bits(data, count, contexts),
        lambda: bit_io.decode_varints(data, count),
    ]
    for call in calls:
        try:
            call()
        except BitstreamError:
            continue


@given(st.lists(INT32, min_size=1, max_size=40), st.data())
def test_truncated_streams_raise_only_our_errors(values: list[int], data: st.DataObject) -> None:
    coded = range_coder.encode_integers(values)
    short = coded[: data.draw(st.integers(0, len(coded)))]
    try:
        range_coder.decode_integers(short, len(values))
    except BitstreamError:
        assert len(short) < len(coded)


@given(st.lists(st.integers(0, 32).flatmap(lambda w: st.tuples(st.just(w), st.integers(0, 2**w - 1)))))
def test_bit_fields_round_trip(fields: list[tuple[int, int]]) -> None:
    widths, values = [w for w, _ in fields], [v for _, v in fields]
    data = bit_io.pack_bits(values, widths)
    assert len(data) == -(-sum(widths) // 8)
    assert bit_io.unpack_bits(data, len(values), widths).tolist() == values


@given(st.lists(st.integers(0, 2**64 - 1)), st.binary(max_size=4))
def test_varints_round_trip(values: list[int], after: bytes) -> None:
    source = np.array(values, np.uint64)
    data = bit_io.encode_varints(source)
    back, used = bit_io.decode_varints(data + after, len(values))
    assert back.tolist() == values
    assert used == len(data)


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_zigzag_round_trips(values: list[int]) -> None:
    assert bit_io.unzigzag(bit_io.zigzag(np.array(values, np.int64))).tolist() == values
