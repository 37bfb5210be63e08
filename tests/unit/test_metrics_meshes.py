"""Mesh metrics by hand on a few triangles."""

from __future__ import annotations

import numpy as np
import pytest

from kinepack.errors import UsageError
from kinepack.metrics import METRICS, bits_per_value, bpvf, d_f, measure_all, metrics_for
from kinepack.metrics.meshes import MeshPair
from kinepack.metrics.sted import spatial, temporal
from kinepack.model import MeshSequence

IDS = ["d_a", "d_f_max", "kg", "sted", "vertex_max", "vertex_rms"]


def square(frames: int = 4, speed: float = 0.0) -> MeshSequence:
    """A square of side 2 about the origin, moving along x."""
    corners = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]], float)
    vertices = corners + (speed * np.arange(frames))[:, None, None] * [1, 0, 0]
    return MeshSequence(vertices, np.array([[0, 1, 2], [0, 2, 3]]), frame_time=0.1)


def moved(mesh: MeshSequence, shift: object) -> MeshSequence:
    return mesh.with_vertices(mesh.vertices + np.asarray(shift))


def test_all_are_registered() -> None:
    assert metrics_for(MeshSequence) == IDS
    mesh = square(speed=1.0)
    assert measure_all(mesh, mesh) == dict.fromkeys(IDS, 0.0)


def test_a_shift_by_hand() -> None:
    """Every vertex is off by 0.5: spread about the centroid √2 each, diagonal √8, four vertices a frame."""
    mesh = square(speed=0.5)
    found = measure_all(mesh, moved(mesh, [0, 0.5, 0]))
    assert found["kg"] == pytest.approx(100 * 0.5 / np.sqrt(2))
    # Along x the frames are at -0.75, -0.25, 0.25, 0.75 about their average.
    assert found["d_a"] == pytest.approx(100 * 0.5 / np.sqrt((0.75**2 + 0.25**2) / 2))
    assert found["d_f_max"] == pytest.approx(np.sqrt(4 * 0.25))
    assert found["vertex_max"] == found["vertex_rms"] == pytest.approx(100 * 0.5 / np.sqrt(8))
    assert found["sted"] == pytest.approx(0, abs=1e-7)


def test_d_f_is_per_frame() -> None:
    mesh, shift = square(), np.zeros((4, 4, 3))
    shift[2, 1] = [3, 4, 0]
    np.testing.assert_allclose(d_f(mesh, moved(mesh, shift)), [0, 0, 5, 0])


def test_still_meshes_have_no_d_a_scale() -> None:
    mesh = square()
    assert METRICS["d_a"].measure(mesh, moved(mesh, [0, 0, 1])) == float("inf")
    assert METRICS["d_a"].measure(mesh, mesh) == 0


def test_units_are_told_apart() -> None:
    mesh = square(speed=0.5)
    centimetres = MeshSequence(mesh.vertices * 100, mesh.faces, mesh.frame_time, unit_cm=1.0)
    assert max(measure_all(mesh, centimetres).values()) < 1e-4


def test_sted_ignores_what_is_even() -> None:
    mesh = square(speed=0.5)
    for even in (mesh.vertices * 1.5, mesh.vertices + np.array([0, 3, 0]), mesh.vertices[..., [1, 0, 2]]):
        assert spatial(MeshPair(mesh, mesh.with_vertices(even))) == pytest.approx(0, abs=1e-7)


def test_spatial_sted_by_hand() -> None:
    """One edge of an equilateral triangle grows by 20 %: its ends see 0.2 and 0 with equal weight."""
    corners = np.array([[0, 0, 0], [1, 0, 0], [0.5, np.sqrt(0.75), 0]])
    longer = np.array([[-0.1, 0, 0], [1.1, 0, 0], [0.5, np.sqrt(1 - 0.36), 0]])
    faces = np.array([[0, 1, 2]])
    pair = MeshPair(MeshSequence(corners[None], faces), MeshSequence(longer[None], faces))
    assert spatial(pair) == pytest.approx((0.1 + 0.1 + 0) / 3, abs=1e-6)
    assert temporal(pair) == 0


def test_sted_hears_trembling() -> None:
    mesh = square(frames=30)
    tremble = np.where(np.arange(30) % 3 == 0, 0.02, 0.0)[:, None, None] * [0, 0, 1]
    drift = (0.02 * np.arange(30))[:, None, None] * np.array([0, 0, 1])
    shaken, drifted = (temporal(MeshPair(mesh, moved(mesh, shift))) for shift in (tremble, drift))
    assert shaken > 1e-4
    assert drifted < 1e-6


def test_what_cannot_be_compared() -> None:
    mesh = square()
    with pytest.raises(UsageError, match="4 frames and the copy 2"):
        METRICS["kg"].measure(mesh, mesh.slice(0, 2))
    fewer = MeshSequence(mesh.vertices[:, :3], np.array([[0, 1, 2]]))
    with pytest.raises(UsageError, match="4 vertices and the copy 3"):
        METRICS["kg"].measure(mesh, fewer)


def test_rates() -> None:
    assert bpvf(8, square()) == 4
    assert bits_per_value(6, square()) == 1
