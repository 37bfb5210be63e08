"""Forward kinematics by hand on small rigs, its derivatives, and real clips in two file formats."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kinepack.math import rotation
from kinepack.math.kinematics import (
    bone_weights,
    end_sites,
    forward_kinematics,
    jacobian,
    local_transforms,
    positions_cm,
)
from kinepack.model import Channel, Clip, Joint, Skeleton


def chain(*, tips: bool = True, **options: object) -> Skeleton:
    """Two bones of lengths 2 and 1 along x, each turning about z; the root also moves."""
    length = (2.0, 1.0) if tips else (0.0, 0.0)
    joints = (
        Joint("upper", -1, direction=(1, 0, 0), length=length[0], order="zyx"),
        Joint(
            "lower",
            0,
            offset=(2, 0, 0),
            direction=(1, 0, 0),
            length=length[1],
            order="zyx",
            end_sites=((1, 0, 0),),
        ),
    )
    kinds = [(0, "tx"), (0, "ty"), (0, "tz"), (0, "rz"), (1, "rz")]
    return Skeleton(joints, tuple(Channel(j, k) for j, k in kinds), **options)  # type: ignore[arg-type]


def mixed_rig() -> Clip:
    """All rotation families, axis frames, partial axes, tips and a rest rotation, in random poses."""
    joints = (
        Joint("root", -1, offset=(0.1, 0.2, 0.3), order="zxy"),
        Joint("asf", 0, offset=(1, 0, 0), axis_deg=(10, 20, 30), order="zyx", direction=(0, 1, 0), length=2),
        Joint("quaternion", 1, offset=(0, 2, 0), axis_deg=(-40, 5, 60), direction=(0.6, 0.8, 0), length=1),
        Joint("vector", 2, offset=(0.6, 0.8, 0), axis_deg=(0, 0, 90)),
        Joint(
            "still",
            3,
            offset=(0, 0, 1),
            axis_deg=(0, 45, 0),
            rest=(0.5, 0.5, 0.5, 0.5),
            direction=(1, 1, 0),
            length=1,
        ),
        Joint("hinge", 4, offset=(1, 1, 0), order="yxz", end_sites=((0, 0, 1), (1, 0, 0))),
    )
    kinds = [
        "0tx",
        "0tz",
        "0ty",
        "0rz",
        "0rx",
        "0ry",
        "1rx",
        "1rz",
        "2qw",
        "2qx",
        "2qy",
        "2qz",
        "3vx",
        "3vy",
        "3vz",
        "5ry",
        "5ty",
    ]
    channels = tuple(Channel(int(k[0]), k[1:]) for k in kinds)
    values = np.random.default_rng(7).normal(size=(4, len(channels)))
    values[:, [3, 4, 5, 6, 7, 15]] *= 50
    return Clip(Skeleton(joints, channels, translation="add"), values)


def differenced(clip: Clip) -> np.ndarray:
    columns, step = [], 1e-5
    for channel in range(clip.values.shape[1]):
        d = step * np.eye(clip.values.shape[1])[channel]
        ahead, behind = (forward_kinematics(clip.with_values(clip.values + s * d)).points for s in (1, -1))
        columns.append((ahead - behind) / (2 * step))
    return np.stack(columns, axis=-1)


def test_two_bones_by_hand() -> None:
    clip = Clip(chain(unit_cm=10.0), [[5, 0, 0, 90, -90], [0, 0, 0, 0, 90]])
    pose = forward_kinematics(clip)
    np.testing.assert_allclose(pose.origins, [[[5, 0, 0], [5, 2, 0]], [[0, 0, 0], [2, 0, 0]]], atol=1e-12)
    np.testing.assert_allclose(pose.points, [[[5, 2, 0], [6, 2, 0]], [[2, 0, 0], [2, 1, 0]]], atol=1e-12)
    np.testing.assert_allclose(positions_cm(clip), 10 * pose.points)
    sites = end_sites(clip)
    assert sites.joints.tolist() == [1]
    np.testing.assert_allclose(sites.points[:, 0], pose.points[:, 1], atol=1e-12)
    np.testing.assert_allclose(bone_weights(clip.skeleton), [2 / 3, 1 / 3])


def test_radians_and_huge_angles() -> None:
    degrees = Clip(chain(), [[0, 0, 0, 30, 40]])
    radians = Clip(chain(angle_unit="rad"), [[0, 0, 0, *np.radians([30, 40])]])
    turned = Clip(chain(), [[0, 0, 0, 30 + 360.0 * 10**6, 40]])
    expected = forward_kinematics(degrees).points
    np.testing.assert_allclose(forward_kinematics(radians).points, expected, atol=1e-12)
    np.testing.assert_allclose(forward_kinematics(turned).points, expected, atol=1e-6)


def test_translations_replace_or_add() -> None:
    joints = (Joint("root", -1), Joint("child", 0, offset=(1, 2, 3)))
    channels = (Channel(1, "ty"),)
    for mode, expected in (("replace", [1, 7, 3]), ("add", [1, 9, 3])):
        skeleton = Skeleton(joints, channels, translation=mode)  # type: ignore[arg-type]
        np.testing.assert_array_equal(forward_kinematics(Clip(skeleton, [[7.0]])).origins[0, 1], expected)


def test_axis_frames_conjugate() -> None:
    """C = Rz(90) turns the bone's own x axis into y: rx of the file turns about y."""
    skeleton = Skeleton((Joint("bone", -1, axis_deg=(0, 0, 90)),), (Channel(0, "rx"),))
    turned = local_transforms(Clip(skeleton, [[30.0]])).rotations[0, 0]
    np.testing.assert_allclose(turned, rotation.axis_matrix(1, np.radians(30)), atol=1e-15)


def test_quaternion_channels_are_normalised() -> None:
    skeleton = Skeleton((Joint("bone", -1),), tuple(Channel(0, k) for k in ("qx", "qy", "qz", "qw")))
    clip = Clip(skeleton, [[0, 0, 2, 2], [0, 0, 0, 0]])
    turned = local_transforms(clip).rotations[:, 0]
    np.testing.assert_allclose(turned, [rotation.axis_matrix(2, np.pi / 2), np.eye(3)], atol=1e-15)


def test_scales_reach_children_but_not_the_joint_itself() -> None:
    joints = (
        Joint("root", -1),
        Joint("child", 0, offset=(1, 0, 0), rest_scale=(2, 2, 2), direction=(1, 0, 0), length=1),
    )
    clip = Clip(Skeleton(joints, (Channel(0, "sx"), Channel(0, "rz"))), [[3.0, 90.0]])
    pose = forward_kinematics(clip)
    np.testing.assert_allclose(pose.origins[0], [[0, 0, 0], [0, 3, 0]], atol=1e-12)
    np.testing.assert_allclose(pose.points[0, 1], [0, 9, 0], atol=1e-12)
    assert local_transforms(Clip(chain(), np.zeros((1, 5)))).scales is None


def test_jacobian_by_hand() -> None:
    clip = Clip(chain(), [[0, 0, 0, 0, 90]])
    columns = jacobian(clip)
    assert columns.shape == (1, 2, 3, 5)
    np.testing.assert_allclose(columns[0, 1, :, 0], [1, 0, 0])
    np.testing.assert_allclose(columns[0, 1, :, 3], np.radians([-1, 2, 0]), atol=1e-12)
    np.testing.assert_allclose(columns[0, 1, :, 4], np.radians([-1, 0, 0]), atol=1e-12)
    np.testing.assert_array_equal(columns[0, 0, :, 4], 0)


def test_jacobian_matches_differences_for_every_family() -> None:
    clip = mixed_rig()
    np.testing.assert_allclose(jacobian(clip), differenced(clip), atol=1e-8)
    np.testing.assert_array_equal(jacobian(clip, [2, 0]), jacobian(clip)[[2, 0]])
    np.testing.assert_array_equal(jacobian(clip, 1), jacobian(clip)[1:2])


def test_jacobian_of_scaled_rigs() -> None:
    joints = (Joint("root", -1), Joint("child", 0, offset=(1, 2, 0)))
    channels = tuple(Channel(0, k) for k in ("sx", "sy", "rz", "tx"))
    clip = Clip(Skeleton(joints, channels), [[2.0, 0.0, 90.0, 5.0]])
    result = jacobian(clip)[0, 1]
    np.testing.assert_allclose(result[:, [0, 1, 3]], [[0, -2, 1], [1, 0, 0], [0, 0, 0]], atol=1e-8)
    np.testing.assert_allclose(result[:, 2], np.radians([-2, 0, 0]), atol=1e-8)


def test_asf_and_bvh_of_one_motion_agree(shared_data: Path) -> None:
    """The BVH has a T-pose first and lacks the thorax bone: all above it hangs lower by just that bone."""
    asf_amc = pytest.importorskip("kinepack.formats.asf_amc")
    bvh = pytest.importorskip("kinepack.formats.bvh")
    from kinepack.formats.base import ReadOptions
    from kinepack.formats.source import source_of

    places = [next(shared_data.glob(f"{f}/cmu/**/09_01.{e}")) for f, e in (("asfamc", "amc"), ("bvh", "bvh"))]
    first, second = (m.read(source_of(p), ReadOptions())[0] for m, p in zip((asf_amc, bvh), places, strict=True))
    ours, theirs = forward_kinematics(first), forward_kinematics(second)
    for mine, other in (
        ("lfemur", "LeftUpLeg"),
        ("rtoes", "RightToeBase"),
        ("thorax", "Spine1"),
        ("lradius", "LeftForeArm"),
    ):
        i, j = first.skeleton.index(mine), second.skeleton.index(other)
        np.testing.assert_allclose(ours.rotations[:, i], theirs.rotations[1:, j], atol=1e-5)
        thorax = first.skeleton.index("thorax")
        lost = (ours.points - ours.origins)[:, thorax] if mine == "lradius" else 0.0
        np.testing.assert_allclose(ours.origins[:, i] - lost, theirs.origins[1:, j], atol=1e-4)
