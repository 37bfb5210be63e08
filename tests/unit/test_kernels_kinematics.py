"""Sines, rotations, forward kinematics and derivatives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from kinepack import _kernels
from kinepack._kernels import Globals
from kinepack.errors import UsageError

PARENTS = np.array([-1, 0, 1, 1, 3], np.int32)
AXIS_CHANNEL = np.array([[3, 4, 5], [6, -1, -1], [7, -1, 8], [-1, -1, -1], [9, 10, 11]], np.int32)
AXIS_ID = np.array([[2, 0, 1], [0, 0, 0], [1, 0, 2], [0, 0, 0], [0, 1, 0]], np.int32)
TRANS_CHANNEL = np.array([[0, 1, 2], [-1] * 3, [-1] * 3, [12, -1, -1], [-1] * 3], np.int32)


class Rig:
    """Five joints, thirteen channels, an oblique frame for each joint."""

    def __init__(self) -> None:
        rng = np.random.default_rng(3)
        self.frame = np.linalg.qr(rng.normal(size=(5, 3, 3)))[0]
        self.offsets, self.tips = rng.normal(size=(5, 3)), rng.normal(size=(5, 3))
        self.values = rng.normal(0, 1.5, (4, 13))

    def pose(self, values: Any) -> Globals:
        local = _kernels.local_rotations(values, AXIS_CHANNEL, axis_id=AXIS_ID, frame=self.frame)
        moves = np.tile(self.offsets, (len(values), 1, 1))
        moves[:, 0] += values[:, :3]
        moves[:, 3, 0] += values[:, 12]
        return _kernels.forward_kinematics(PARENTS, local, translations=moves, tips=self.tips)

    def jacobian(self, **options: Any) -> Any:
        return _kernels.jacobian(
            PARENTS,
            self.values,
            axis_channel=AXIS_CHANNEL,
            axis_id=AXIS_ID,
            trans_channel=TRANS_CHANNEL,
            globals_=self.pose(self.values),
            frame=self.frame,
            **options,
        )


def test_sincos_is_within_an_ulp() -> None:
    angles = np.random.default_rng(0).uniform(-1e5, 1e5, 20000)
    angles = np.concatenate([angles, np.arange(-1000, 1000) * (math.pi / 2), [1e-300, 0.0]])
    sines, cosines = _kernels.sincos(angles)
    expected = np.array([math.sin(a) for a in angles]), np.array([math.cos(a) for a in angles])
    assert np.all(np.abs(sines - expected[0]) <= np.spacing(np.abs(expected[0])))
    assert np.all(np.abs(cosines - expected[1]) <= np.spacing(np.abs(expected[1])))


def test_sincos_out_of_range_is_nan() -> None:
    for part in _kernels.sincos([1e6, -1e6, math.inf, -math.inf, math.nan, 1e300]):
        assert np.all(np.isnan(part))


def test_axes_turn_the_right_way() -> None:
    one = _kernels.local_rotations([[90.0]], [[0, -1, -1]], axis_id=[[2, 0, 0]], angle_scale=math.pi / 180)
    np.testing.assert_allclose(one[0, 0] @ [1, 0, 0], [0, 1, 0], atol=1e-15)


def test_a_joint_without_channels_keeps_its_rest_rotation() -> None:
    rest = np.arange(9.0).reshape(1, 3, 3)
    out = _kernels.local_rotations(np.zeros((2, 1)), [[-1, -1, -1]], axis_id=[[0, 0, 0]], rest=rest)
    assert np.array_equal(out, np.stack([rest, rest]))


def test_jacobian_matches_finite_differences() -> None:
    rig, step = Rig(), 1e-6
    found = rig.jacobian()
    for channel in range(13):
        nudge = np.zeros(13)
        nudge[channel] = step
        high, low = rig.pose(rig.values + nudge).points, rig.pose(rig.values - nudge).points
        np.testing.assert_allclose(found[..., channel], (high - low) / (2 * step), atol=1e-7)


def test_jacobian_of_chosen_channels() -> None:
    rig = Rig()
    assert np.array_equal(rig.jacobian(channels=[7, 0, 12]), rig.jacobian()[..., [7, 0, 12]])


@pytest.mark.parametrize("parents", [[0], [-2], [-1, 1], [-1, 2, 0]])
def test_parents_come_first(parents: list[int]) -> None:
    joints = len(parents)
    with pytest.raises(UsageError):
        _kernels.forward_kinematics(parents, np.zeros((1, joints, 3, 3)), translations=np.zeros((1, joints, 3)))


def test_channels_and_axes_are_checked() -> None:
    for channel, axis in ((5, 0), (-2, 0), (0, 3), (0, -1)):
        with pytest.raises(UsageError):
            _kernels.local_rotations(np.zeros((1, 5)), [[channel, -1, -1]], axis_id=[[axis, 0, 0]])
    with pytest.raises(UsageError):
        Rig().jacobian(channels=[13])
