"""Edges of the coders: empty input, wrong arguments, exact sizes and bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kinepack.entropy import bit_io, range_coder
from kinepack.entropy.models import BinaryModel, IntegerModel, SymbolModel
from kinepack.errors import ConfigError, Corrupt, Truncated, UsageError


def test_nothing_takes_no_bytes() -> None:
    assert range_coder.encode_bits([]) == range_coder.encode_integers([]) == range_coder.encode_symbols([]) == b""
    assert len(range_coder.decode_integers(b"", 0)) == 0
    assert bit_io.pack_bits([], 7) == bit_io.encode_varints([]) == b""


def test_a_constant_costs_almost_nothing() -> None:
    assert len(range_coder.encode_integers(np.zeros(10_000, np.int32))) < 12
    assert len(range_coder.encode_bits(np.ones(10_000, np.uint8))) < 12


def test_uniform_bits_cost_one_bit_each() -> None:
    bits = np.random.default_rng(1).integers(0, 2, 80_000)
    assert len(range_coder.encode_bits(bits, model=BinaryModel(rate=10))) <= 10_000 * 1.002


def test_mixing_beats_each_of_its_contexts() -> None:
    rng = np.random.default_rng(2)
    first, second = rng.integers(0, 8, (2, 40_000))
    odds = (first - 3.5) + (second - 3.5)
    bits = (rng.random(40_000) < 1 / (1 + np.exp(-odds))).astype(np.uint8)
    model = BinaryModel(rate=8)
    alone = [len(range_coder.encode_bits(bits, context, model=model)) for context in (first, second)]
    mixed = len(range_coder.encode_bits(bits, np.stack([first, second + 8], 1), model=model))
    assert mixed < 0.85 * min(alone)


def test_a_byte_too_many_is_corrupt() -> None:
    values = np.arange(-50, 50)
    data = range_coder.encode_integers(values)
    with pytest.raises(Corrupt):
        range_coder.decode_integers(data + b"\0\0", 100)


def test_a_short_stream_is_noticed() -> None:
    values = np.random.default_rng(0).integers(-1000, 1000, 500)
    data = range_coder.encode_integers(values)
    with pytest.raises((Truncated, Corrupt)):
        range_coder.decode_integers(data[: len(data) // 2], 500)


def test_contexts_are_checked() -> None:
    bad: list[Any] = [[-1, 0], [0], [[0] * 4] * 2, [0.5, 1.0], [2**40, 0]]
    for contexts in bad:
        with pytest.raises(UsageError):
            range_coder.encode_bits([0, 1], contexts, context_count=5)
    with pytest.raises(UsageError):
        range_coder.decode_integers(b"", 2, [0, 5], context_count=5)
    with pytest.raises(UsageError):
        range_coder.encode_symbols([1], [[0, 0]])


def test_values_are_checked() -> None:
    for values in ([2**31], [-(2**31) - 1], [0.5], [["a"]], 3):
        with pytest.raises(UsageError):
            range_coder.encode_integers(values)
    with pytest.raises(UsageError):
        range_coder.encode_bits([2])
    with pytest.raises(UsageError):
        range_coder.encode_symbols([4], model=SymbolModel(alphabet=4))
    with pytest.raises(UsageError):
        range_coder.decode_bits(b"", -1)


def test_models_are_checked() -> None:
    makers: list[Any] = [
        lambda: BinaryModel(rate=0),
        lambda: BinaryModel(rate=11),
        lambda: BinaryModel(mix_rate=31),
        lambda: BinaryModel(initial=()),
        lambda: BinaryModel(initial=(1.5,)),
        lambda: BinaryModel(initial=(0.1, 0.2)).states(3),
        lambda: IntegerModel(escape=256),
        lambda: IntegerModel(zero=-0.1),
        lambda: SymbolModel(alphabet=0),
        lambda: SymbolModel(alphabet=40_000),
        lambda: SymbolModel(increment=0),
        lambda: SymbolModel(alphabet=256, limit=300),
    ]
    for make in makers:
        with pytest.raises(ConfigError):
            make()


def test_bit_fields_are_msb_first() -> None:
    assert bit_io.pack_bits([1, 2, 3], [1, 2, 5]) == bytes([0b1_10_00011])
    assert bit_io.pack_bits([1], 1) == b"\x80"
    assert bit_io.unpack_bits(b"\x80", 0, 32).tolist() == []
    assert bit_io.unpack_bits(b"", 3, 0).tolist() == [0, 0, 0]


def test_bit_fields_are_checked() -> None:
    for values, widths in (([2], 1), ([1], 0), ([0], 33), ([0], -1), ([0, 0], [1]), ([-1], 8)):
        with pytest.raises(UsageError):
            bit_io.pack_bits(values, widths)
    with pytest.raises(Truncated):
        bit_io.unpack_bits(b"\0", 3, 3)
    with pytest.raises(Truncated):
        bit_io.unpack_bits(b"\0", 10**15, 3)


def test_varints_have_one_form() -> None:
    assert bit_io.encode_varints([0, 127, 128, 300]) == bytes([0, 127, 128, 1, 172, 2])
    for data in (b"\x80\x00", b"\xff" * 9 + b"\x02", b"\xff" * 10 + b"\x01"):
        with pytest.raises(Corrupt):
            bit_io.decode_varints(data, 1)
    with pytest.raises(Truncated):
        bit_io.decode_varints(b"\x80", 1)
    with pytest.raises(UsageError):
        bit_io.encode_varints([-1])


def test_zigzag_order() -> None:
    assert bit_io.zigzag([0, -1, 1, -2, 2]).tolist() == [0, 1, 2, 3, 4]
    extremes = np.array([-(2**63), 2**63 - 1])
    assert bit_io.unzigzag(bit_io.zigzag(extremes)).tolist() == extremes.tolist()
    for function in (bit_io.zigzag, bit_io.unzigzag):
        with pytest.raises(UsageError):
            function([0.5])
