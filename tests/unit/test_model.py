"""The model's invariants hold, and its identity survives text and pickling."""

from __future__ import annotations

import dataclasses
import json
import pickle

import numpy as np
import pytest

from kinepack.errors import UsageError
from kinepack.model import Channel, Clip, Joint, MeshSequence, Skeleton
from kinepack.testing import awkward_clips, awkward_meshes
from kinepack.testing.sources import chain


@pytest.mark.parametrize("clip", awkward_clips().values(), ids=lambda c: c.name)
def test_skeleton_survives_json_and_pickle(clip: Clip) -> None:
    assert Skeleton.from_json(clip.skeleton.to_json()) == clip.skeleton
    assert pickle.loads(pickle.dumps(clip)) == clip


def test_values_are_read_only_and_the_callers_array_is_not_touched() -> None:
    values = np.zeros((4, 6))
    clip = Clip(chain(1), values)
    values[0, 0] = 5
    assert clip.values[0, 0] == 0
    with pytest.raises(ValueError, match="read-only"):
        clip.values[0, 0] = 1


@pytest.mark.parametrize(
    ("joints", "channels", "reason"),
    [
        ((Joint("a", 0),), (), "before its parent"),
        ((Joint("a", -1), Joint("a", 0)), (), "two joints"),
        ((Joint("a", -1, (float("nan"), 0.0, 0.0)),), (), "not finite"),
        ((Joint("a", -1, order="xxz"),), (), "rotation order"),
        ((Joint("a", -1),), (Channel(0, "rw"),), "unknown"),
        ((Joint("a", -1),), (Channel(3, "rx"),), "does not exist"),
        ((Joint("a", -1),), (Channel(0, "rx"), Channel(0, "rx")), "twice"),
        ((Joint("a", -1),), (Channel(0, "qx"), Channel(0, "qy")), "lacks rotation"),
        ((Joint("a", -1), Joint("b", 0.0)), (), "no number of a joint"),  # type: ignore[arg-type]
        ((Joint("a", -1),), (Channel(0, "rx", limit=(0.0, float("inf"))),), "no range"),
    ],
)
def test_bad_rigs_are_refused(joints: tuple[Joint, ...], channels: tuple[Channel, ...], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        Skeleton(joints, channels)


@pytest.mark.parametrize("place", [True, 0.0, "0", None])
def test_joints_are_named_by_whole_numbers(place: object) -> None:
    """What JSON holds need not be one."""
    plain = json.loads(chain(2).to_json())
    for entries, key in (("joints", "parent"), ("channels", "joint")):
        changed = json.loads(json.dumps(plain))
        changed[entries][-1][key] = place
        with pytest.raises(UsageError):
            Skeleton.from_json(json.dumps(changed))


def test_names_that_no_file_can_hold_are_refused() -> None:
    with pytest.raises(UsageError, match="UTF-8"):
        Skeleton((Joint("\ud800", -1),), (Channel(0, "tx"),))
    with pytest.raises(UsageError, match="UTF-8"):
        Skeleton.from_json(chain(1).to_json().replace('"name":"', '"name":"\\udfff', 1))


def test_bad_clips_and_meshes_are_refused() -> None:
    with pytest.raises(UsageError, match="not a finite"):
        Clip(chain(1), np.full((2, 6), np.nan))
    with pytest.raises(UsageError, match="at least one frame"):
        Clip(chain(1), np.zeros((0, 6)))
    with pytest.raises(UsageError, match="frame time"):
        Clip(chain(1), np.zeros((1, 6)), 0.0)
    with pytest.raises(UsageError, match="no channels"):
        Clip(Skeleton((Joint("a", -1),), ()), np.zeros((1, 0)))
    with pytest.raises(UsageError, match="does not exist"):
        MeshSequence(np.zeros((1, 3, 3)), np.array([[0, 1, 3]]))


def test_slices_keep_everything_else() -> None:
    clip, mesh = awkward_clips()["prime-length"], awkward_meshes()["wave"]
    assert clip.slice(3, 9) == dataclasses.replace(clip, values=clip.values[3:9])
    assert mesh.slice(3, 9) == mesh.with_vertices(mesh.vertices[3:9])


def test_unit_is_part_of_the_clip() -> None:
    skeleton = chain().with_unit(2.54)
    assert Clip(skeleton, np.zeros((1, len(skeleton.channels)))).unit_cm == 2.54
    assert skeleton != chain()
