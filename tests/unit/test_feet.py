"""Feet are found alike by the metrics and by the codecs."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from kinepack.codecs._kine.emphasis import first_emphasis, planted
from kinepack.codecs.wavelet_ik import effector_joints
from kinepack.math.kinematics import positions_cm
from kinepack.metrics.feet import planted_feet
from kinepack.model import Channel, Clip, Joint, Skeleton
from kinepack.samples import human
from kinepack.transforms.feet import feet_of, leaves_of, named_feet


def renamed(clip: Clip) -> Clip:
    """The clip, its joints called by their numbers."""
    joints = tuple(dataclasses.replace(j, name=f"node{i}") for i, j in enumerate(clip.skeleton.joints))
    return dataclasses.replace(clip, skeleton=dataclasses.replace(clip.skeleton, joints=joints))


def test_feet_without_names_are_the_lowest_leaves() -> None:
    joints = [Joint("hub", -1)] + [Joint(f"limb{i}", 0, offset=(i, h, 0)) for i, h in enumerate([5.0, -3.0, -4.0])]
    clip = Clip(Skeleton(tuple(joints), (Channel(0, "tx"),)), [[0.0]])
    points = np.array([[[0, 0, 0], [0, 5, 0], [1, -3, 0], [2, -4, 0]]], float)
    assert feet_of(clip.skeleton, points) == [2, 3]


@pytest.mark.parametrize("clip", [human().slice(200, 320), renamed(human().slice(200, 320))], ids=["named", "unnamed"])
def test_kine_protects_the_feet_that_are_measured(clip: Clip) -> None:
    feet, measured = planted_feet(clip)
    protected = planted(clip, positions_cm(clip))
    assert measured.any() and np.array_equal(protected[:, feet], measured)
    assert not np.delete(protected, feet, axis=1).any()
    emphasis = first_emphasis(clip, 1.5)
    assert emphasis is not None and np.array_equal(emphasis > 1, protected)


def test_one_frame_has_no_planted_feet_to_protect() -> None:
    clip = human().slice(200, 201)
    assert first_emphasis(clip, 1.5) is None


def test_wavelet_ik_corrects_named_feet_or_all_leaves() -> None:
    clip = human().slice(200, 202)
    assert effector_joints(clip.skeleton, "") == named_feet(clip.skeleton)
    assert effector_joints(renamed(clip).skeleton, "") == leaves_of(clip.skeleton)
