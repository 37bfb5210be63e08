"""The native kernels agree with the plain Python oracle: bytes and integers exactly, kinematics within 1e-12."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kinepack import _kernels
from kinepack._kernels import Globals, Mixing, reference
from kinepack.entropy.models import BinaryModel, IntegerModel
from kinepack.errors import BitstreamError

WAVELETS = tuple(_kernels.WAVELETS)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def outcome(function: Any, *args: Any, **kwargs: Any) -> Any:
    """What a decoder returns, or the class of what it raises."""
    try:
        result = function(*args, **kwargs)
    except BitstreamError as error:
        return type(error)
    return [np.asarray(part).tolist() for part in (result if isinstance(result, tuple) else (result,))]


@pytest.mark.parametrize("inputs", [1, 2, 3])
@pytest.mark.parametrize("rate", [1, 5, 10])
def test_bits(rng: np.random.Generator, inputs: int, rate: int) -> None:
    bits = (rng.random(3000) < 0.03).astype(np.uint8)
    contexts = rng.integers(0, 4, (3000, inputs))
    options: dict[str, Any] = {"contexts": contexts, "mixing": Mixing(rate, 16)}
    states = BinaryModel(initial=(0.1, 0.5, 0.9, 0.0)).states(4)
    data = _kernels.encode_bits(bits, states, **options)
    assert data == reference.encode_bits(bits, states, **options)
    assert reference.decode_bits(data, 3000, states, **options).tolist() == bits.tolist()


@pytest.mark.parametrize("inputs", [1, 2, 3])
@pytest.mark.parametrize("escape", [0, 3, 14])
def test_integers(rng: np.random.Generator, inputs: int, escape: int) -> None:
    values = np.rint(rng.standard_cauchy(800) * 5).clip(-(2**31), 2**31 - 1).astype(np.int32)
    values[:4] = 0, 2**31 - 1, -(2**31), -(2**31) + 1
    options: dict[str, Any] = {"contexts": rng.integers(0, 3, (800, inputs)), "escape": escape}
    states = IntegerModel(escape=escape, zero=0.8).states(3)
    data = _kernels.encode_integers(values, states, **options)
    assert data == reference.encode_integers(values, states, **options)
    assert reference.decode_integers(data, 800, states, **options).tolist() == values.tolist()


@pytest.mark.parametrize("alphabet", [1, 2, 77, 300])
def test_symbols(rng: np.random.Generator, alphabet: int) -> None:
    symbols, contexts = rng.integers(0, alphabet, 1500), rng.integers(0, 2, 1500)
    options: dict[str, Any] = {"contexts": contexts, "context_count": 2, "increment": 50, "limit": 1000}
    data = _kernels.encode_symbols(symbols, alphabet, **options)
    assert data == reference.encode_symbols(symbols, alphabet, **options)
    assert reference.decode_symbols(data, 1500, alphabet, **options).tolist() == symbols.tolist()


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5, 9, 60, 400])
def test_decoders_judge_random_bytes_alike(rng: np.random.Generator, size: int) -> None:
    states, rows = BinaryModel().states(1), IntegerModel(escape=2).states(1)
    for fill in (None, 0, 255):
        data = bytes(rng.integers(0, 256, size).astype(np.uint8)) if fill is None else bytes([fill]) * size
        native, plain = (
            [
                outcome(module.decode_bits, data, 300, states),
                outcome(module.decode_integers, data, 90, rows, escape=2),
                outcome(module.decode_symbols, data, 90, 77),
                outcome(module.unpack_bits, data, 30, 13),
                outcome(module.decode_varints, data, 30),
            ]
            for module in (_kernels, reference)
        )
        assert native == plain


def test_bit_fields(rng: np.random.Generator) -> None:
    widths = rng.integers(0, 33, 500).astype(np.uint8)
    values = [int(rng.integers(0, 2 ** int(width))) for width in widths]
    data = _kernels.pack_bits(values, widths)
    assert data == reference.pack_bits(values, widths)
    assert _kernels.unpack_bits(data, 500, widths).tolist() == values
    assert reference.unpack_bits(data, 500, widths).tolist() == values


def test_varints(rng: np.random.Generator) -> None:
    values = np.array([0, 127, 128, 2**64 - 1, 2**63, *rng.integers(0, 2**40, 50)], np.uint64)
    data = _kernels.encode_varints(values)
    assert data == reference.encode_varints(values)
    assert outcome(_kernels.decode_varints, data, 55) == outcome(reference.decode_varints, data, 55)


@pytest.mark.parametrize("wavelet", WAVELETS)
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 6, 7, 8, 13, 50, 101])
def test_lifting(rng: np.random.Generator, wavelet: str, rows: int) -> None:
    values = rng.normal(size=(rows, 3))
    for levels in (0, 1, 2, 6):
        expected = reference.lifting_forward(values, wavelet, levels=levels)
        np.testing.assert_allclose(
            _kernels.lifting_forward(values, wavelet, levels=levels), expected, rtol=0, atol=1e-12
        )
        expected = reference.lifting_inverse(values, wavelet, levels=levels)
        np.testing.assert_allclose(
            _kernels.lifting_inverse(values, wavelet, levels=levels), expected, rtol=1e-12, atol=1e-12
        )


@pytest.mark.parametrize("rows", [1, 2, 3, 8, 101])
def test_reversible_lifting(rng: np.random.Generator, rows: int) -> None:
    values = rng.integers(-(2**31), 2**31, (rows, 3)).astype(np.int32)
    for levels in (0, 1, 5):
        forward = _kernels.lifting_forward_int(values, levels=levels)
        assert np.array_equal(forward, reference.lifting_forward_int(values, levels=levels))
        inverse = _kernels.lifting_inverse_int(values, levels=levels)
        assert np.array_equal(inverse, reference.lifting_inverse_int(values, levels=levels))


def test_kinematics(rng: np.random.Generator) -> None:
    frames, joints, channels = 6, 40, 50
    parents = np.array([-1] + [int(rng.integers(-1, j)) for j in range(1, joints)], np.int32)
    frame, rest = np.linalg.qr(rng.normal(size=(2, joints, 3, 3)))[0]
    channel = rng.permutation(np.r_[0:channels, np.full(6 * joints - channels, -1)]).reshape(2, joints, 3)
    values = rng.normal(0, 90, (frames, channels))
    program: dict[str, Any] = {"axis_id": rng.integers(0, 3, (joints, 3)), "frame": frame}
    program["angle_scale"] = np.pi / 180
    local = _kernels.local_rotations(values, channel[0], rest=rest, **program)
    np.testing.assert_allclose(
        local, reference.local_rotations(values, channel[0], rest=rest, **program), rtol=0, atol=1e-12
    )
    moves, tips = rng.normal(size=(frames, joints, 3)), rng.normal(size=(joints, 3))
    for scales in (None, 1 + 0.1 * rng.normal(size=moves.shape)):
        ours = _kernels.forward_kinematics(parents, local, translations=moves, scales=scales, tips=tips)
        theirs = reference.forward_kinematics(parents, local, translations=moves, scales=scales, tips=tips)
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)
    pose: Globals = _kernels.forward_kinematics(parents, local, translations=moves, tips=tips)
    program |= {"axis_channel": channel[0], "trans_channel": channel[1], "globals_": pose}
    np.testing.assert_allclose(
        _kernels.jacobian(parents, values, **program),
        reference.jacobian(parents, values, **program),
        rtol=0,
        atol=1e-12,
    )
