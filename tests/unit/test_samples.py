"""The samples are what they say: same numbers every time, planted feet, a closed mesh."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kinepack
from kinepack.math.kinematics import forward_kinematics
from kinepack.model import Clip
from kinepack.samples import fish, human


@pytest.fixture(scope="module")
def walker() -> Clip:
    return human()


def test_human_has_the_skeleton_of_the_papers(walker: Clip) -> None:
    assert (walker.frames, walker.values.shape[1], len(walker.skeleton.joints)) == (900, 62, 31)
    assert walker.fps == pytest.approx(120)
    assert walker.unit_cm == pytest.approx(2.54 / 0.45)


def test_samples_are_deterministic(walker: Clip) -> None:
    assert human() == walker
    assert fish() == fish()


def test_human_is_an_acclaim_rig(walker: Clip, tmp_path: Path) -> None:
    assert kinepack.write(walker, tmp_path / "human.amc") == []
    again = kinepack.read(tmp_path / "human.amc")
    assert isinstance(again, Clip)
    assert np.array_equal(again.values, walker.values)
    assert [j.name for j in again.skeleton.joints] == [j.name for j in walker.skeleton.joints]


@pytest.mark.parametrize("foot", ["lfoot", "rfoot"])
def test_planted_feet_do_not_slide(walker: Clip, foot: str) -> None:
    ball = forward_kinematics(walker).points[:, walker.skeleton.index(foot)] * walker.unit_cm
    planted = ball[:, 1] < ball[:, 1].min() + 0.3
    both = planted[1:] & planted[:-1]
    speed = np.linalg.norm(np.diff(ball, axis=0), axis=1) / walker.frame_time
    assert both.mean() > 0.5
    assert np.median(speed[both]) < 2.0
    assert np.percentile(speed[both], 90) < 20.0


def test_nothing_goes_below_the_ground_and_the_jump_leaves_it(walker: Clip) -> None:
    heights = forward_kinematics(walker).points[..., 1] * walker.unit_cm
    assert heights.min() > 0
    assert heights.min(axis=1).max() > 20


def test_angles_have_no_jumps(walker: Clip) -> None:
    assert np.abs(np.diff(walker.values, axis=0)).max() < 10


def test_fish_is_closed_and_faces_outward() -> None:
    mesh = fish()
    assert (mesh.frames, mesh.vertices.shape[1]) == (90, 1022)
    edges = np.concatenate([mesh.faces[:, [0, 1]], mesh.faces[:, [1, 2]], mesh.faces[:, [2, 0]]])
    directed = {tuple(edge) for edge in edges.tolist()}
    assert len(directed) == len(edges)
    assert all((b, a) in directed for a, b in directed)
    for vertices in mesh.vertices.astype(np.float64):
        a, b, c = (vertices[mesh.faces[:, corner]] for corner in range(3))
        assert np.einsum("ij,ij->", a, np.cross(b, c)) > 0
