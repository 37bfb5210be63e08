"""Faces come back in every order and topology; damaged ones raise only our errors."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from numpy.typing import NDArray

from kinepack._kernels._faces import FACE_POLICIES, KEPT, WALKS, decode_faces, walk_faces
from kinepack.container.layout import StaticKind
from kinepack.container.static import pack_mesh, unpack_static
from kinepack.errors import KinepackError
from kinepack.limits import Limits
from kinepack.transforms.connectivity import cheapest_order, crowded_edges

Faces = NDArray[np.int32]
LIMITS = Limits(vertices=100_000, faces=100_000, bytes=1 << 24)


def sheet(rows: int, columns: int, *, wrap_rows: bool = False, wrap_columns: bool = False) -> Faces:
    """A grid, a cylinder or a torus."""
    y, x = np.mgrid[: rows - (not wrap_rows), : columns - (not wrap_columns)].reshape(2, -1)
    a, b = y * columns + x, y * columns + (x + 1) % columns
    c, d = (y + 1) % rows * columns + x, (y + 1) % rows * columns + (x + 1) % columns
    return np.concatenate([np.stack([a, b, c], 1), np.stack([b, d, c], 1)]).astype(np.int32)


def meshes() -> dict[str, tuple[Faces, int]]:
    random = np.random.default_rng(3)
    grid, torus = sheet(6, 9), sheet(7, 8, wrap_rows=True, wrap_columns=True)
    shuffled = random.permutation(54)[random.permutation(grid)].astype(np.int32)
    fan = np.stack([np.zeros(40), 1 + np.arange(40), 2 + np.arange(40)], 1).astype(np.int32)
    return {
        "none": (np.zeros((0, 3), np.int32), 5),
        "one": (np.array([[2, 0, 1]], np.int32), 3),
        "boundary": (grid, 54),
        "shuffled": (shuffled, 54),
        "cylinder": (sheet(5, 8, wrap_columns=True), 40),
        "handles": (torus, 56),
        "components": (np.concatenate([grid, torus + 60, fan + 130]).astype(np.int32), 200),
        "fan": (fan, 42),
        "non-manifold edge": (np.array([[0, 1, 2], [1, 0, 3], [0, 1, 4], [1, 0, 5]], np.int32), 6),
        "same face twice": (np.array([[0, 1, 2], [0, 1, 2], [2, 1, 0]], np.int32), 3),
        "degenerate": (np.array([[0, 0, 1], [1, 1, 1], [2, 1, 0]], np.int32), 3),
        "random": (random.integers(0, 30, (200, 3)).astype(np.int32), 30),
    }


CASES = pytest.mark.parametrize("name", list(meshes()))


def canonical(faces: Faces) -> list[tuple[int, ...]]:
    return sorted(min(tuple(np.roll(face, turn).tolist()) for turn in range(3)) for face in faces)


@CASES
def test_static_chunk_gives_back_order_and_corners(name: str) -> None:
    faces, vertices = meshes()[name]
    decoded = unpack_static(pack_mesh(faces, vertices, 2.5))
    assert isinstance(decoded, tuple)
    assert np.array_equal(decoded[0], faces)
    assert decoded[1:] == (vertices, 2.5)


@CASES
@pytest.mark.parametrize("policy", FACE_POLICIES)
def test_every_policy_decodes_what_it_says(name: str, policy: int) -> None:
    faces, vertices = meshes()[name]
    data, walked = walk_faces(faces, vertices, policy)
    assert np.array_equal(decode_faces(data, len(faces), vertices), walked)
    assert np.array_equal(walked, faces) if policy == KEPT else canonical(walked) == canonical(faces)


@CASES
def test_cheapest_order_is_the_same_surface_and_smaller(name: str) -> None:
    faces, vertices = meshes()[name]
    ordered = cheapest_order(faces, vertices)
    assert canonical(ordered) == canonical(faces)
    assert len(pack_mesh(ordered, vertices, 1.0)) <= len(pack_mesh(faces, vertices, 1.0))


def test_what_is_no_manifold_is_told() -> None:
    found = {name: crowded_edges(faces) for name, (faces, _) in meshes().items()}
    crowded = [name for name, count in found.items() if count]
    assert crowded == ["non-manifold edge", "same face twice", "degenerate", "random"]
    assert found["non-manifold edge"] == 1


def test_manifold_meshes_take_less_than_two_bits_a_face_beside_their_numbers() -> None:
    """Section 4.2 of Sattler 2005 allows 2T bits; the numbers of a torus follow its rows, so they cost little."""
    torus = sheet(40, 50, wrap_rows=True, wrap_columns=True)
    assert 8 * min(len(walk_faces(torus, 2000, policy)[0]) for policy in WALKS) < 2 * len(torus)


@CASES
def test_damaged_faces_raise_only_our_errors(name: str) -> None:
    faces, vertices = meshes()[name]
    for policy in FACE_POLICIES:
        data = walk_faces(faces, vertices, policy)[0]
        bodies = [data[:size] for size in range(len(data))]
        for bit in range(0, 8 * len(data), 3):
            flipped = bytearray(data)
            flipped[bit // 8] ^= 1 << bit % 8
            bodies.append(bytes(flipped))
        for body in bodies:
            with contextlib.suppress(KinepackError):
                decode_faces(body, len(faces), vertices)


def test_damaged_static_chunks_raise_only_our_errors() -> None:
    body = pack_mesh(cheapest_order(sheet(6, 9), 54), 54, 1.0)
    assert body[0] == StaticKind.CODED_MESH
    noise = np.random.default_rng(1)
    for _ in range(2000):
        bad = bytearray(body)
        bad[int(noise.integers(1, len(bad)))] = int(noise.integers(256))
        with contextlib.suppress(KinepackError):
            unpack_static(bytes(bad[: int(noise.integers(1, len(bad) + 1))]), LIMITS)
