"""Rewritten rigs do not move."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from test_math_kinematics import chain, mixed_rig

from kinepack.errors import UsageError
from kinepack.math import rig
from kinepack.math.kinematics import end_sites, forward_kinematics, positions_cm
from kinepack.model import Channel, Clip, Joint, Skeleton

REWRITES: list[Callable[[Clip], Clip]] = [
    rig.to_quaternions,
    rig.to_euler,
    lambda clip: rig.to_euler(clip, None),
    lambda clip: rig.to_euler(clip, {"asf": "xzy"}, rests=True),
    rig.to_plain,
    lambda clip: rig.to_euler(rig.to_plain(clip), "yzx", rests=True),
    lambda clip: rig.to_plain(rig.to_quaternions(clip)),
]


@pytest.mark.parametrize("rewrite", REWRITES)
def test_poses_stay(rewrite: Callable[[Clip], Clip]) -> None:
    clip = mixed_rig()
    before, after = forward_kinematics(clip), forward_kinematics(rewrite(clip))
    np.testing.assert_allclose(after.origins, before.origins, atol=1e-12)
    np.testing.assert_allclose(after.rotations, before.rotations, atol=1e-12)


def kinds(clip: Clip, joint: str) -> list[str]:
    index = clip.skeleton.index(joint)
    return [c.kind for c in clip.skeleton.channels if c.joint == index]


def test_families() -> None:
    clip = mixed_rig()
    assert kinds(rig.to_quaternions(clip), "asf") == ["qx", "qy", "qz", "qw"]
    euler = rig.to_euler(clip, "zxy", rests=True)
    assert kinds(euler, "asf") == kinds(euler, "still") == ["rz", "rx", "ry"]
    assert kinds(rig.to_euler(clip), "still") == []
    assert not len(euler.skeleton.select("qv"))


def test_channels_keep_their_places() -> None:
    assert [c.kind for c in rig.to_quaternions(mixed_rig()).skeleton.channels][:8] == [
        "tx",
        "tz",
        "ty",
        "qx",
        "qy",
        "qz",
        "qw",
        "qx",
    ]


def test_what_is_right_already_is_untouched() -> None:
    clip = mixed_rig()
    np.testing.assert_array_equal(rig.to_euler(clip, None).values[:, :6], clip.values[:, :6])
    plain = rig.to_plain(clip)
    assert rig.to_plain(plain) == plain


def test_plain_rigs_have_end_sites_at_leaf_tips() -> None:
    clip = Clip(chain(), [[0, 0, 0, 30, 40]])
    plain = rig.to_plain(clip)
    assert not plain.skeleton.tips.any() and not any(any(j.axis_deg) for j in plain.skeleton.joints)
    assert plain.skeleton.translation == "replace"
    assert [len(j.end_sites) for j in plain.skeleton.joints] == [0, 2]  # the one it had, and the tip
    np.testing.assert_allclose(end_sites(plain).points[:, 1], forward_kinematics(clip).points[:, 1], atol=1e-12)


def test_orders_are_checked() -> None:
    with pytest.raises(UsageError):
        rig.to_euler(mixed_rig(), "zx")


def test_limits_stay_only_where_the_angle_means_the_same() -> None:
    joint = Joint("bone", -1, axis_deg=(10, 0, 0), order="zyx")
    clip = Clip(Skeleton((joint,), (Channel(0, "rx", limit=(-5, 5)),)), [[1.0]])
    assert [c.limit for c in rig.to_euler(clip, None).skeleton.channels] == [None, None, (-5, 5)]
    assert [c.limit for c in rig.to_euler(clip, "xyz").skeleton.channels] == [None] * 3
    assert [c.limit for c in rig.to_plain(clip).skeleton.channels] == [None] * 3


def test_scaled_keeps_centimetres() -> None:
    clip = mixed_rig()
    larger = rig.scaled(clip, 2.54)
    assert larger.unit_cm == 2.54
    np.testing.assert_allclose(positions_cm(larger), positions_cm(clip), atol=1e-12)
    with pytest.raises(UsageError):
        rig.scaled(clip, 0)


def test_resampling_hits_old_frames_and_halves_arcs() -> None:
    clip = mixed_rig()
    double = rig.resample(clip, 2 * clip.fps)
    assert double.frames == 7 and double.fps == pytest.approx(2 * clip.fps)
    np.testing.assert_allclose(forward_kinematics(double).points[::2], forward_kinematics(clip).points, atol=1e-9)
    assert rig.resample(clip, clip.fps) is clip
    assert rig.resample(clip.slice(0, 1), 24).frames == 1
    with pytest.raises(UsageError):
        rig.resample(clip, -1)


def test_resampling_takes_the_short_way_round() -> None:
    clip = Clip(chain(), [[0, 0, 0, 170, 0], [0, 0, 0, -170, 0]], frame_time=1.0)
    middle = forward_kinematics(rig.resample(clip, 2.0)).points[1, 0]
    np.testing.assert_allclose(middle, [-2, 0, 0], atol=1e-9)
