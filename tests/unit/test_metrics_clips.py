"""Clip metrics by hand on a chain of two bones, and what must not change them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from kinepack.errors import UsageError
from kinepack.math import rig
from kinepack.metrics import (
    METRICS,
    bits_per_value,
    joint_error,
    kbit_per_s,
    measure_all,
    metrics_for,
    shell_error,
)
from kinepack.metrics.feet import planted_feet
from kinepack.model import Channel, Clip, Joint, MeshSequence, Skeleton

IDS = "accel_rms angle_rms_deg def e_x foot_drift foot_slide foot_slide_speed joint_max joint_mean joint_p99 joint_rms"
IDS = f"{IDS} shell_max shell_mean"


def chain(frames: int = 4) -> Clip:
    """Bones of 2 and 1 units along x, 10 cm a unit; the root moves, both turn about z; 100 frames/s."""
    joints = (
        Joint("upper", -1, direction=(1, 0, 0), length=2, order="zyx"),
        Joint("lower", 0, offset=(2, 0, 0), direction=(1, 0, 0), length=1, order="zyx"),
    )
    channels = tuple(Channel(j, k) for j, k in [(0, "tx"), (0, "ty"), (0, "tz"), (0, "rz"), (1, "rz")])
    return Clip(Skeleton(joints, channels, unit_cm=10.0), np.zeros((frames, 5)), frame_time=0.01)


def changed(clip: Clip, channel: int, amount: float, frame: int | None = None) -> Clip:
    values = clip.values.copy()
    values[slice(None) if frame is None else frame, channel] += amount
    return clip.with_values(values)


def value(id: str, original: Clip, copy: Clip) -> float:
    return METRICS[id].measure(original, copy)


def test_all_are_registered_with_unit_and_direction() -> None:
    assert metrics_for(Clip) == IDS.split()
    assert all(METRICS[id].better == "lower" and METRICS[id].unit and METRICS[id].title for id in IDS.split())


@pytest.mark.parametrize("frames", [1, 2, 4])
def test_a_perfect_copy_has_no_error(frames: int) -> None:
    clip = chain(frames)
    assert measure_all(clip, clip) == dict.fromkeys(IDS.split(), 0.0)


def test_a_shifted_root_shifts_every_joint() -> None:
    """3 cm everywhere: weights sum to one, so e_x is 3 too; the sum over two joints is 6."""
    clip = chain()
    found = measure_all(clip, changed(clip, 1, 0.3))
    three = ["e_x", "joint_mean", "joint_rms", "joint_p99", "joint_max", "shell_mean", "shell_max"]
    assert [found[id] for id in three] == pytest.approx([3.0] * 7)
    assert found["def"] == pytest.approx(6.0)
    assert found["angle_rms_deg"] == found["foot_slide"] == 0
    assert found["accel_rms"] == pytest.approx(0, abs=1e-8)


def test_a_bent_elbow_by_hand() -> None:
    """The lower bone (10 cm, a third of the length) turns by 90 degrees: its end moves by 10 √2 cm."""
    clip = chain()
    copy, moved = changed(clip, 4, 90.0), 10 * np.sqrt(2)
    np.testing.assert_allclose(joint_error(clip, copy), np.tile([0, moved], (4, 1)), atol=1e-12)
    found = measure_all(clip, copy)
    assert found["e_x"] == pytest.approx(np.sqrt(moved**2 / 3))
    assert found["def"] == pytest.approx(moved)
    assert found["joint_mean"] == pytest.approx(moved / 2)
    assert found["joint_rms"] == pytest.approx(np.sqrt(moved**2 / 2))
    assert found["joint_max"] == pytest.approx(moved)
    assert found["angle_rms_deg"] == pytest.approx(90 / np.sqrt(2))
    # Around the elbow, which stays, a vertex 3 cm off along x or y moves by 3 √2 cm.
    np.testing.assert_allclose(shell_error(clip, copy), np.tile([0, 3 * np.sqrt(2)], (4, 1)), atol=1e-12)
    assert found["shell_mean"] == pytest.approx(1.5 * np.sqrt(2))


def test_e_x_is_an_rms_over_time() -> None:
    clip = chain()
    assert value("e_x", clip, changed(clip, 0, 0.2, frame=1)) == pytest.approx(2 / np.sqrt(4))


def test_angles_differ_modulo_turns() -> None:
    clip = chain()
    assert value("angle_rms_deg", clip, changed(clip, 3, 359.0)) == pytest.approx(1 / np.sqrt(2))


def test_acceleration_by_hand() -> None:
    """One frame 1 cm off: second differences 1, -2 of both joints, over (0.01 s)²."""
    clip = chain()
    expected = np.sqrt((1 + 4) / 2) / 0.01**2
    assert value("accel_rms", clip, changed(clip, 0, 0.1, frame=1)) == pytest.approx(expected)


def test_units_are_told_apart() -> None:
    clip = chain()
    assert measure_all(clip, rig.scaled(clip, 1.0)) == pytest.approx(dict.fromkeys(IDS.split(), 0.0), abs=1e-6)


@pytest.mark.parametrize("rewrite", [rig.to_quaternions, rig.to_euler, rig.to_plain])
def test_other_rigs_are_compared_by_joint_name(rewrite: object) -> None:
    clip = chain()
    clip = clip.with_values(np.random.default_rng(1).normal(size=(4, 5)))
    found = measure_all(clip, rewrite(clip))  # type: ignore[operator]
    assert max(v for k, v in found.items() if k != "accel_rms") < 1e-5


def test_geodesic_angle_where_channels_differ() -> None:
    clip = chain()
    assert value("angle_rms_deg", clip, rig.to_quaternions(changed(clip, 4, 90.0))) == pytest.approx(90 / np.sqrt(2))


def test_tips_are_not_compared_with_origins() -> None:
    """Bending the last bone moves no origin, and only origins are in both rigs; they weigh by offset."""
    clip = chain()
    plain = rig.to_plain(changed(clip, 4, 90.0))
    assert value("joint_max", clip, plain) == pytest.approx(0, abs=1e-12)
    assert value("e_x", clip, rig.to_plain(changed(clip, 3, 90.0))) == pytest.approx(20 * np.sqrt(2))


def test_joint_order_does_not_matter() -> None:
    joints = (Joint("a", -1), Joint("b", 0, offset=(1, 0, 0)), Joint("c", 0, offset=(0, 1, 0)))
    one = Clip(Skeleton(joints, (Channel(0, "tx"),)), [[0.0]])
    two = Clip(Skeleton((joints[0], joints[2], joints[1]), (Channel(0, "tx"),)), [[0.0]])
    assert value("joint_max", one, two) == 0


def test_what_cannot_be_compared() -> None:
    clip = chain()
    with pytest.raises(UsageError, match="4 frames and the copy 3"):
        value("e_x", clip, clip.slice(0, 3))
    renamed = tuple(dataclasses.replace(j, name=j.name + "2") for j in clip.skeleton.joints)
    other = dataclasses.replace(clip, skeleton=dataclasses.replace(clip.skeleton, joints=renamed))
    with pytest.raises(UsageError, match="no joint 'upper' and lacks 1 more"):
        value("e_x", clip, other)
    mesh = MeshSequence(np.zeros((1, 3, 3)), np.array([[0, 1, 2]]))
    with pytest.raises(UsageError, match="metric 'e_x' measures Clip"):
        measure_all(mesh, mesh, ["e_x"])
    with pytest.raises(UsageError, match="clip and a mesh sequence"):
        measure_all(clip, mesh)


def test_extreme_frame_times_are_no_error() -> None:
    still = dataclasses.replace(chain(), frame_time=1e308)
    assert value("accel_rms", still, still.with_values(still.values + 1)) == 0


def walker(up: int = 1) -> Clip:
    """A root 100 cm over one foot that stands for 10 frames, then flies off; `up` is the vertical axis."""
    offset = [0.0, 0.0, 0.0]
    offset[up] = -100.0
    joints = (Joint("root", -1), Joint("LeftFoot", 0, offset=tuple(offset)))  # type: ignore[arg-type]
    channels = tuple(Channel(0, "t" + axis) for axis in "xyz")
    values = np.zeros((20, 3))
    values[10:, up] = 50 + 10 * np.arange(10)
    return Clip(Skeleton(joints, channels), values, frame_time=0.1)


@pytest.mark.parametrize("up", [1, 2])
def test_sliding_feet_by_hand(up: int) -> None:
    """Nine frames are planted (the tenth is already moving); the copy drifts by 1 cm a frame along x."""
    clip = walker(up)
    _, planted = planted_feet(clip)
    assert planted[:, 0].tolist() == [True] * 9 + [False] * 11
    values = clip.values.copy()
    values[:, 0] += np.arange(20)
    found = measure_all(clip, clip.with_values(values))
    assert found["foot_slide"] == pytest.approx(np.arange(9).mean())
    assert found["foot_drift"] == found["foot_slide"]
    assert found["foot_slide_speed"] == pytest.approx(10.0)


def test_a_foot_that_is_held_too_still_drifts_but_does_not_slide() -> None:
    clip = walker()
    values = clip.values.copy()
    values[:9, 0] = 0.5 * np.arange(9)
    original = clip.with_values(values)
    assert planted_feet(original)[1][:9].all()
    found = measure_all(original, clip)
    assert found["foot_slide"] == 0
    assert found["foot_drift"] == pytest.approx(0.5 * np.arange(9).mean())


def test_an_offset_or_a_lift_is_no_slide() -> None:
    clip = walker()
    for channel in (0, 1):
        found = measure_all(clip, changed(clip, channel, 5.0))
        assert found["foot_slide"] == found["foot_slide_speed"] == 0


def test_each_contact_starts_anew() -> None:
    clip = walker()
    values = np.concatenate([clip.values, clip.values])
    drift = np.where(np.arange(40) >= 20, 7.0, 0.0)[:, None] * [1, 0, 0]
    twice = clip.with_values(values)
    assert value("foot_slide", twice, clip.with_values(values + drift)) == 0


def test_rates() -> None:
    clip = chain(10)
    assert kbit_per_s(125, clip) == pytest.approx(10)
    assert bits_per_value(125, clip) == pytest.approx(20)
