"""Rotations: conventions, and the corners that formulas get wrong."""

from __future__ import annotations

import numpy as np
import pytest

from kinepack.errors import UsageError
from kinepack.math import rotation as r

X, Y, Z = np.eye(3)


def test_a_quarter_turn_about_z_takes_x_to_y() -> None:
    quarter = np.pi / 2
    for matrix in (
        r.euler_to_matrix([quarter], "z"),
        r.quaternion_to_matrix([0, 0, np.sin(quarter / 2), np.cos(quarter / 2)]),
        r.rotvec_to_matrix([0, 0, quarter]),
    ):
        np.testing.assert_allclose(matrix @ X, Y, atol=1e-15)


def test_orders_are_products_left_to_right() -> None:
    a, b, c = 0.3, -0.7, 1.1
    product = r.axis_matrix(2, a) @ r.axis_matrix(1, b) @ r.axis_matrix(0, c)
    np.testing.assert_allclose(r.euler_to_matrix([a, b, c], "zyx"), product, atol=1e-15)


def test_leading_shapes_are_kept() -> None:
    angles = np.zeros((2, 5, 3))
    assert r.euler_to_matrix(angles, "xyz").shape == (2, 5, 3, 3)
    assert r.matrix_to_euler(np.zeros((4, 3, 3)) + np.eye(3), "xy").shape == (4, 2)
    assert r.euler_to_quaternion(angles, "xyz").shape == (2, 5, 4)


@pytest.mark.parametrize("order", ["", "xx", "abc", "xyzx"])
def test_bad_orders_are_refused(order: str) -> None:
    with pytest.raises(UsageError):
        r.axes_of(order)


def test_angles_must_match_the_order() -> None:
    with pytest.raises(UsageError, match="needs 3 angles"):
        r.euler_to_matrix([1.0, 2.0], "xyz")


@pytest.mark.parametrize("axis", [X, Y, Z, (X + Y) / np.sqrt(2), (X - Z) / np.sqrt(2)])
def test_half_turns_survive(axis: np.ndarray) -> None:
    vector = r.matrix_to_rotvec(r.rotvec_to_matrix(axis * np.pi))
    assert np.linalg.norm(vector) == pytest.approx(np.pi)
    np.testing.assert_allclose(np.abs(vector @ axis), np.pi, atol=1e-12)


def test_tiny_rotations_keep_their_digits() -> None:
    tiny = np.array([1e-9, -2e-12, 3e-200])
    np.testing.assert_allclose(r.quaternion_to_rotvec(r.rotvec_to_quaternion(tiny)), tiny, rtol=1e-14)


def test_zero_and_extreme_quaternions_normalise() -> None:
    np.testing.assert_array_equal(r.normalize([0, 0, 0, 0]), r.IDENTITY)
    np.testing.assert_allclose(r.normalize([0, 3e-200, 0, 4e-200]), [0, 0.6, 0, 0.8])
    np.testing.assert_allclose(r.normalize([0, 3e200, 0, 4e200]), [0, 0.6, 0, 0.8])


def test_unwrap_follows_a_motion_through_gimbal_lock() -> None:
    time = np.linspace(0, 1, 200)
    smooth = np.stack([0.2 * time, 4 * time, -0.1 * time], axis=-1)  # the middle angle passes 90 and 180 degrees
    folded = r.matrix_to_euler(r.euler_to_matrix(smooth, "zxy"), "zxy")
    assert np.abs(np.diff(folded, axis=0)).max() > 1
    np.testing.assert_allclose(r.unwrap_euler(folded), smooth, atol=1e-9)


def test_continuous_takes_the_near_sign() -> None:
    q = r.euler_to_quaternion(np.linspace(0, 12, 50)[:, None], "y")
    flipped = q * np.where(np.arange(50) % 3 == 1, -1, 1)[:, None]
    np.testing.assert_allclose(r.continuous(flipped), q)


@pytest.mark.parametrize("length", [1.0, 0.25, 3.0])
def test_rates_are_derivatives(length: float) -> None:
    q, v, step = length * r.normalize([0.1, -0.5, 0.3, 0.7]), np.array([0.4, -1.1, 0.6]) * length, 1e-6

    def spin(to: np.ndarray, back: np.ndarray) -> np.ndarray:
        return r.matrix_to_rotvec(to @ back.T) / (2 * step)

    for k, row in enumerate(r.quaternion_rates(q)):
        d = step * np.eye(4)[k]
        np.testing.assert_allclose(row, spin(r.quaternion_to_matrix(q + d), r.quaternion_to_matrix(q - d)), atol=1e-8)
    for k, row in enumerate(r.rotvec_rates(v)):
        d = step * np.eye(3)[k]
        np.testing.assert_allclose(row, spin(r.rotvec_to_matrix(v + d), r.rotvec_to_matrix(v - d)), atol=1e-8)


def test_rotvec_rates_join_at_small_angles() -> None:
    below, above = (r.rotvec_rates(np.array([0.6, 0.8, 0]) * a) for a in (0.9999999e-3, 1.0000001e-3))
    np.testing.assert_allclose(below, above, atol=1e-9)
    np.testing.assert_array_equal(r.rotvec_rates(np.zeros(3)), np.eye(3))
