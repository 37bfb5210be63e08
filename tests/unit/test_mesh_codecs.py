"""The mesh codecs: sizes of the equations, errors that fall, random access, automatic k, large and odd meshes."""

from __future__ import annotations

import numpy as np
import pytest

import kinepack
from kinepack import samples
from kinepack.codecs.base import Topology, codec_from_spec
from kinepack.codecs.mesh_cpca import HEADER, MeshCpca, payload_parts
from kinepack.errors import ConfigError
from kinepack.metrics.base import METRICS
from kinepack.model import MeshSequence
from kinepack.testing import awkward_meshes, surface
from kinepack.transforms.clustering import Lloyd, cluster
from kinepack.transforms.joint_tree import STILL, grow_tree, motion_of, rotation_matrices, rotation_vectors, turns_of
from kinepack.transforms.mesh_pca import decompose, trajectories
from kinepack.transforms.mesh_weights import dequantize_weights, hierarchy_of, quantize_weights
from kinepack.transforms.skinning import fit_skin, skinned

CODECS = ("mesh-pca", "mesh-pca-lpc", "mesh-cpca", "kine-mesh")


@pytest.fixture(scope="module")
def fish() -> MeshSequence:
    mesh = samples.fish()
    assert isinstance(mesh, MeshSequence)
    return mesh


def error(mesh: MeshSequence, spec: str, metric: str = "d_a") -> float:
    codec = codec_from_spec(spec)
    return METRICS[metric].measure(mesh, codec.decode(codec.encode(mesh)))


@pytest.mark.parametrize("k", [1, 3, 7])
@pytest.mark.parametrize("c", [2, 5])
def test_cpca_bytes_are_those_of_equation_3(fish: MeshSequence, k: int, c: int) -> None:
    stream = MeshCpca(k=k, c=c, index="bits", starts=1).encode(fish)
    frames, vertices, _ = fish.vertices.shape
    bits = 18 * k * c * 3 * frames + 18 * c * vertices + 5 * vertices
    assert 0 <= stream.payload_bytes - HEADER.size - bits / 8 < 3


def test_cpca_bytes_are_those_of_equation_4_and_5(fish: MeshSequence) -> None:
    frames, vertices, _ = fish.vertices.shape
    k, c, c_star = 4, 6, 8
    plain = payload_parts(MeshCpca(k=k, c=c, q_c=16, q_w=14, starts=1).encode(fish))
    assert abs(plain["basis"] + plain["weights"] - (16 * k * c * 3 * frames + 14 * c * vertices) / 8) < 2
    twice = payload_parts(MeshCpca(k=k, c=c, c_star=c_star, q_c=16, q_w=14, starts=1).encode(fish))
    bits = 16 * k * c * c_star + 14 * 3 * frames * c_star + 14 * c * vertices
    assert abs(twice["basis"] + twice["weights"] - bits / 8) < 3
    assert twice["index"] < 5 * vertices / 8


def test_cpca_error_falls_with_k_and_c(fish: MeshSequence) -> None:
    by_k = [error(fish, f"mesh-cpca:k={k},c=3") for k in (1, 3, 9)]
    by_c = [error(fish, f"mesh-cpca:k=3,c={c}") for c in (1, 3, 6)]
    assert by_k == sorted(by_k, reverse=True)
    assert by_c == sorted(by_c, reverse=True)


def test_second_pca_costs_little_when_it_keeps_enough(fish: MeshSequence) -> None:
    whole = error(fish, "mesh-cpca:k=5,c=6")
    errors = [error(fish, f"mesh-cpca:k=5,c=6,c_star={star}") for star in (4, 8, 20)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1.2 * whole + 0.05


def test_means_and_index_modes_agree(fish: MeshSequence) -> None:
    codec = MeshCpca(k=4, c=4, means=True)
    a = codec.decode(codec.encode(fish))
    codec = MeshCpca(k=4, c=4, means=True, index="bits", segment_s=0.5)
    b = codec.decode(codec.encode(fish))
    assert np.array_equal(a.vertices, b.vertices)  # type: ignore[union-attr]


def test_automatic_k_stops_at_the_error_or_at_the_budget(fish: MeshSequence) -> None:
    seen: list[float] = []
    stream = MeshCpca(k=0, c=4, max_error=2.0).encode(fish, seen.append)
    assert METRICS["d_a"].measure(fish, MeshCpca.decode(stream)) <= 2.05
    assert seen == sorted(seen)
    assert MeshCpca(k=0, c=4, max_error=0.0, budget=30_000).encode(fish).payload_bytes <= 30_000


def test_more_starts_are_never_worse() -> None:
    points = np.random.default_rng(0).normal(size=(300, 6)) * np.array([9, 5, 3, 1, 1, 1])
    how = Lloyd(2)
    errors = [cluster(points, 5, how=how, seed=4, starts=n).error for n in (1, 3, 6)]
    assert errors == sorted(errors, reverse=True)


@pytest.mark.parametrize("shape", [(5, 200), (90, 20)])
def test_covariance_of_either_side_gives_the_same_components(shape: tuple[int, int]) -> None:
    frames, count = shape
    vertices = np.random.default_rng(2).normal(size=(frames, count, 3)).astype(np.float32)
    found = decompose(vertices, 400)
    whole = found.mean + found.weights @ found.basis
    np.testing.assert_allclose(whole, trajectories(vertices), atol=1e-5)
    np.testing.assert_allclose(found.basis @ found.basis.T, np.eye(len(found.basis)), atol=1e-8)


@pytest.mark.parametrize("name", list(awkward_meshes()))
@pytest.mark.parametrize("descend", [True, False])
def test_weights_decode_to_what_the_quantiser_says(name: str, descend: bool) -> None:
    mesh = awkward_meshes()[name]
    count = mesh.vertices.shape[1]
    tree = hierarchy_of(mesh.faces, count)
    assert sorted(tree.order.tolist()) == list(range(count))
    wanted = np.random.default_rng(1).normal(size=(count, 14)) * np.geomspace(300, 0.5, 14)
    levels, decoded = quantize_weights(tree, wanted, descend=descend)
    np.testing.assert_array_equal(dequantize_weights(tree, levels), decoded)
    if not descend:
        assert np.abs(decoded - wanted).max() < 0.56


def test_kine_mesh_error_falls_with_the_step(fish: MeshSequence) -> None:
    errors = [error(fish, f"kine-mesh:step={step}", "kg") for step in (10, 3, 1, 0.1, 0.01)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.02


def test_kine_mesh_beats_clustered_pca_by_far(fish: MeshSequence) -> None:
    ours = len(kinepack.compress(fish, "kine-mesh", target="kg<=1"))
    theirs = len(kinepack.compress(fish, "mesh-cpca:k=4", target="kg<=1"))
    assert 4 * ours < theirs


def arm(frames: int = 60) -> MeshSequence:
    """A tube of three rigid bones, blended at the joints, that waves and turns."""
    along, around = np.meshgrid(np.linspace(0, 3, 40), np.arange(12) * np.pi / 6, indexing="ij")
    rest = np.stack([along, 0.3 * np.cos(around), 0.3 * np.sin(around)], axis=2).reshape(-1, 3)
    bend = np.clip((rest[:, :1] - np.array([0.8, 1.8])) / 0.4, 0, 1)
    shares = np.stack([1 - bend[:, 0], bend[:, 0] - bend[:, 1], bend[:, 1]], axis=1)
    time = np.arange(frames) / 15
    angles = np.stack([0.5 * np.sin(time), 0.9 * np.sin(1.7 * time + 1), 0.8 * np.cos(2.3 * time)], axis=1)
    turns = rotation_matrices(np.pad(angles.reshape(-1, 1), ((0, 0), (1, 1)))).reshape(frames, 3, 3, 3)
    paths, above, joint = np.zeros((frames, len(rest), 3)), np.eye(3)[None], np.zeros((frames, 3))
    for bone in range(3):
        above = turns[:, bone] @ above
        moved = (rest - [bone, 0, 0]) @ above + joint[:, None]
        paths += shares[:, bone, None] * moved
        joint = joint + above[:, 0]
    quads = [
        [i * 12 + j, (i + 1) * 12 + j, (i + 1) * 12 + (j + 1) % 12, i * 12 + (j + 1) % 12]
        for i, j in np.ndindex(39, 12)
    ]
    faces = [face for a, b, c, d in quads for face in ((a, b, c), (a, c, d))]
    return MeshSequence(paths.astype(np.float32), np.array(faces, np.int32), 1 / 30, "arm")


def test_bones_make_a_baked_character_smaller() -> None:
    mesh = arm()
    sizes = {bones: len(kinepack.compress(mesh, f"kine-mesh:bones={bones}", target="kg<=0.2")) for bones in (3, 0)}
    assert sizes[3] < sizes[0]


def test_a_mesh_without_bones_gets_no_skin(fish: MeshSequence) -> None:
    assert codec_from_spec("kine-mesh").encode(fish).setup == codec_from_spec("kine-mesh:bones=0").encode(fish).setup


@pytest.mark.parametrize("name", list(awkward_meshes()))
@pytest.mark.parametrize("bones", [1, 3, 20])
def test_any_mesh_may_have_bones(name: str, bones: int) -> None:
    mesh = awkward_meshes()[name]
    copy = kinepack.decompress(kinepack.compress(mesh, f"kine-mesh:bones={bones},step=0.1,segment_s=0.4"))
    assert isinstance(copy, MeshSequence)
    assert np.abs(copy.vertices - mesh.vertices).max() < 3e-3


def test_a_skin_is_found_from_the_paths_alone() -> None:
    paths = np.asarray(arm().vertices.transpose(1, 0, 2), float)
    skin = fit_skin(paths, 3)
    assert np.abs(skinned(skin) - paths).max() < 0.06
    assert (skin.shares >= 0).all() and ((skin.shares > 0).sum(axis=1) <= 4).all()
    np.testing.assert_allclose(skin.shares.sum(axis=1), 1, atol=1e-9)


def test_joint_tree_gives_back_the_motions() -> None:
    skin = fit_skin(np.asarray(arm().vertices.transpose(1, 0, 2), float), 3)
    order, tree = grow_tree(skin.rest, skin.shares, skin.motions)
    motions = skin.motions[order]
    for motion, parent, joint in zip(motions, tree.parents, tree.joints, strict=True):
        above = motions[parent] if parent >= 0 else np.broadcast_to(STILL, motion.shape)
        np.testing.assert_allclose(motion_of(*turns_of(motion, above, joint), above, joint), motion, atol=1e-9)


def test_rotation_vectors_go_on_past_a_half_turn() -> None:
    vectors = np.linspace(0, 9, 40)[:, None] * np.array([[0.6, 0.0, 0.8]])
    np.testing.assert_allclose(rotation_vectors(rotation_matrices(vectors)), vectors, atol=1e-9)


@pytest.mark.parametrize("spec", ["kine-mesh", "kine-mesh:bones=8"])
def test_the_search_for_bones_of_a_still_mesh_ends(spec: str) -> None:
    points = np.random.default_rng(1).normal(size=(1, 160, 3)).astype(np.float32)
    mesh = MeshSequence(np.repeat(points, 24, axis=0), np.zeros((0, 3), np.int32))
    copy = kinepack.decompress(kinepack.compress(mesh, spec))
    assert isinstance(copy, MeshSequence)
    np.testing.assert_allclose(copy.vertices, mesh.vertices, atol=0.02)


def test_kine_mesh_refuses_a_step_too_fine() -> None:
    mesh = awkward_meshes()["wave"]
    far = mesh.with_vertices(mesh.vertices + np.float32(1e7))
    with pytest.raises(ConfigError, match="too fine"):
        kinepack.compress(far, "kine-mesh:step=0.00001")


@pytest.mark.parametrize("spec", ["kine-mesh:segment_s=0.3", "mesh-cpca:segment_s=0.3", "mesh-pca-lpc:segment_s=0.3"])
def test_segments_are_cut_and_seekable(fish: MeshSequence, spec: str) -> None:
    data = kinepack.compress(fish, spec)
    with kinepack.open(data) as file:
        assert len(file[0].record.segments) > 2
        whole = file[0].decode()
        part = file[0].decode(20, 23)
    assert np.array_equal(part.vertices, whole.vertices[20:23])  # type: ignore[union-attr]


@pytest.mark.parametrize("id", ["kine-mesh", "mesh-cpca"])
def test_faces_in_any_order_are_the_same_surface(fish: MeshSequence, id: str) -> None:
    kept, free = kinepack.compress(fish, f"{id}:face_order=kept"), kinepack.compress(fish, id)
    assert len(free) <= len(kept)
    copy, exact = kinepack.decompress(free), kinepack.decompress(kept)
    assert isinstance(copy, MeshSequence) and isinstance(exact, MeshSequence)
    assert np.array_equal(copy.vertices, exact.vertices)
    assert np.array_equal(exact.faces, fish.faces)
    assert surface(copy) == surface(fish)


def test_long_sequences_are_split_into_transforms() -> None:
    mesh = awkward_meshes()["wave"]
    long = MeshSequence(np.concatenate([mesh.vertices] * 40), mesh.faces, 1 / 30, "long")
    stream = codec_from_spec("kine-mesh").encode(long)
    assert isinstance(stream.layout, Topology)
    assert max(s.frames for s in stream.segments) <= 512
    assert METRICS["kg"].measure(long, codec_from_spec("kine-mesh").decode(stream)) < 2
