"""Every spelling of a rotation says the same rotation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kinepack.math import rotation as r

ORDERS = ["".join(p) for n in (1, 2, 3) for p in itertools.permutations("xyz", n)]
SPECIAL = [0.0, np.pi / 2, -np.pi / 2, np.pi, -np.pi, 1e-12, np.pi / 2 - 1e-9, np.pi - 1e-9]
angle = st.one_of(st.sampled_from(SPECIAL), st.floats(-10, 10))
triples = arrays(np.float64, st.tuples(st.integers(1, 6), st.just(3)), elements=angle)
parts = st.floats(-1, 1).filter(lambda v: abs(v) > 1e-3)
quaternions = arrays(np.float64, st.tuples(st.integers(1, 6), st.just(4)), elements=parts)


def same(left: np.ndarray, right: np.ndarray, tolerance: float = 1e-12) -> None:
    np.testing.assert_allclose(left, right, atol=tolerance, rtol=0)


@pytest.mark.parametrize("order", ORDERS)
@given(angles=triples)
def test_euler_round_trip(order: str, angles: np.ndarray) -> None:
    matrix = r.euler_to_matrix(angles[:, : len(order)], order)
    same(r.euler_to_matrix(r.matrix_to_euler(matrix, order), order), matrix)
    same(r.quaternion_to_matrix(r.euler_to_quaternion(angles[:, : len(order)], order)), matrix)


@given(triples)
def test_matrix_round_trips(angles: np.ndarray) -> None:
    matrix = r.euler_to_matrix(angles, "zyx")
    same(matrix @ np.swapaxes(matrix, -1, -2), np.broadcast_to(np.eye(3), matrix.shape))
    same(r.quaternion_to_matrix(r.matrix_to_quaternion(matrix)), matrix)
    same(r.rotvec_to_matrix(r.matrix_to_rotvec(matrix)), matrix)


@given(triples)
def test_rotation_vectors_below_half_a_turn_come_back(vectors: np.ndarray) -> None:
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    vectors = vectors * np.minimum(1, 3.1 / np.maximum(length, 1e-300))
    same(r.quaternion_to_rotvec(r.rotvec_to_quaternion(vectors)), vectors, 1e-11)


@given(quaternions, quaternions)
def test_products_match_matrices(left: np.ndarray, right: np.ndarray) -> None:
    left, right = left[:1], right[:1]
    same(
        r.quaternion_to_matrix(r.multiply(left, right)),
        r.quaternion_to_matrix(left) @ r.quaternion_to_matrix(right),
    )
    same(r.multiply(r.normalize(left), r.conjugate(r.normalize(left))), np.array([r.IDENTITY]))


@given(quaternions, st.floats(0, 1))
def test_slerp_has_constant_speed(ends: np.ndarray, amount: float) -> None:
    start, end = ends[0], ends[-1]
    middle = r.quaternion_to_matrix(r.slerp(start, end, amount))
    first, last = r.quaternion_to_matrix(start), r.quaternion_to_matrix(end)
    whole = r.angle_between(first, last)
    same(r.angle_between(first, middle), amount * whole, 1e-7)
    same(r.angle_between(middle, last), (1 - amount) * whole, 1e-7)


@given(triples)
def test_unwrapping_keeps_rotations(angles: np.ndarray) -> None:
    matrix = r.euler_to_matrix(angles, "zxy")
    unwrapped = r.unwrap_euler(r.matrix_to_euler(matrix, "zxy"))
    same(r.euler_to_matrix(unwrapped, "zxy"), matrix)


@given(quaternions)
def test_continuity_only_flips_signs(sequence: np.ndarray) -> None:
    result = r.continuous(sequence)
    same(np.abs(result), np.abs(sequence))
    assert ((result[1:] * result[:-1]).sum(-1) >= 0).all()
