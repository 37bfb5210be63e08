"""The kernels of `kine-mesh` agree with the plain Python oracle: orders and bytes exactly, predictors within 1e-9."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kinepack._kernels import _mesh, reference_mesh
from kinepack._kernels._mesh import Hierarchy
from kinepack.errors import BitstreamError
from kinepack.model import MeshSequence
from kinepack.samples import fish
from kinepack.testing import awkward_meshes
from kinepack.transforms.mesh_weights import AFFINITY, differences, level_steps

MESHES: dict[str, MeshSequence] = {**awkward_meshes(), "fish": fish()}
each_mesh = pytest.mark.parametrize("name", list(MESHES))


def edges_of(mesh: MeshSequence) -> tuple[Any, int]:
    faces = mesh.faces.astype(np.int64)
    pairs = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
    return pairs.astype(np.uint32).reshape(-1, 2), mesh.vertices.shape[1]


def tree_of(name: str) -> Hierarchy:
    return _mesh.mesh_hierarchy(*edges_of(MESHES[name]))


def levels_for(tree: Hierarchy, components: int, size: float = 2.0) -> Any:
    rng = np.random.default_rng(3)
    levels = np.rint(rng.standard_cauchy((components, tree.vertices)) * size).clip(-(2**22), 2**22)
    return levels.astype(np.int32)


@each_mesh
def test_hierarchy(name: str) -> None:
    ours, plain = tree_of(name), reference_mesh.mesh_hierarchy(*edges_of(MESHES[name]))
    for field in ("order", "starts", "refs", "rings", "levels"):
        assert np.array_equal(getattr(ours, field), getattr(plain, field)), field


@each_mesh
@pytest.mark.parametrize("used", [0, 1, 5, 10])
def test_predictors_and_synthesis(name: str, used: int) -> None:
    tree = tree_of(name)
    features = np.random.default_rng(1).normal(size=(used, tree.vertices)) * 20
    found = _mesh.mesh_predictors(tree, features, AFFINITY)
    plain = reference_mesh.mesh_predictors(tree, features, AFFINITY)
    count = len(tree.refs)
    np.testing.assert_allclose(found[:count], plain[:count], rtol=0, atol=1e-9)
    levels = np.clip(levels_for(tree, 1)[0], -50, 50)
    ours, theirs = (
        module.mesh_synthesise(tree, found, steps=level_steps(), levels=levels) for module in (_mesh, reference_mesh)
    )
    assert np.array_equal(ours, theirs)


@each_mesh
def test_shares(name: str) -> None:
    tree = tree_of(name)
    shares = np.random.default_rng(2).integers(0, 17, (3, tree.vertices)).astype(np.int32)
    moved = differences(tree, shares)
    assert np.array_equal(_mesh.mesh_sum(tree, moved, 16), shares)
    assert np.array_equal(reference_mesh.mesh_sum(tree, moved, 16), shares)


@pytest.mark.parametrize("name", [name for name in MESHES if name != "fish"])
def test_entropy(name: str) -> None:
    tree = tree_of(name)
    levels = levels_for(tree, 6)
    data = _mesh.mesh_encode(tree, levels)
    assert data == reference_mesh.mesh_encode(tree, levels)
    assert np.array_equal(reference_mesh.mesh_decode(tree, data, 6), levels)


@pytest.mark.parametrize("size", [0, 1, 4, 40, 300])
def test_decoders_judge_random_bytes_alike(size: int) -> None:
    tree = tree_of("wave")
    data = bytes(np.random.default_rng(size).integers(0, 256, size).astype(np.uint8))
    found = []
    for module in (_mesh, reference_mesh):
        try:
            found.append(module.mesh_decode(tree, data, 4).tolist())
        except BitstreamError as error:
            found.append(type(error))
    assert found[0] == found[1]
