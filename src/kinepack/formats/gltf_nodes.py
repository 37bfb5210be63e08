"""glTF nodes: local transforms at rest and animated, the scene's nodes, and their global matrices."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinepack.errors import FormatError
from kinepack.formats.gltf_animation import Grid, Track, sample
from kinepack.formats.gltf_document import Document
from kinepack.math import rotation

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Local:
    """T, R (x, y, z, w) and S of one node."""

    translation: Array
    rotation: Array
    scale: Array


def rest_of(node: Any) -> Local:
    """A node's own transform; a matrix is taken apart (shear, which T R S cannot have, is dropped)."""
    if node.matrix is not None:
        return _decomposed(_numbers(node.matrix, 16, "matrix").reshape(4, 4).T)
    turn = _numbers(node.rotation, 4, "rotation") if node.rotation is not None else np.array([0.0, 0.0, 0.0, 1.0])
    if abs(float(np.linalg.norm(turn)) - 1) > 1e-4:
        turn = rotation.normalize(turn)
    move = _numbers(node.translation, 3, "translation") if node.translation is not None else np.zeros(3)
    scale = _numbers(node.scale, 3, "scale") if node.scale is not None else np.ones(3)
    return Local(move, turn, scale)


def _numbers(values: Any, count: int, what: str) -> Array:
    array = np.array([float(v) for v in values])
    if array.shape != (count,) or not np.isfinite(array).all():
        raise FormatError(f"a node's {what} should be {count} numbers")
    return array


def _decomposed(matrix: Array) -> Local:
    scale = np.linalg.norm(matrix[:3, :3], axis=0)
    if np.linalg.det(matrix[:3, :3]) < 0:
        scale[0] = -scale[0]
    axes = matrix[:3, :3] / np.where(scale == 0, 1.0, scale)
    if np.any(scale == 0):
        axes = np.eye(3)  # a flattened axis has no direction
    return Local(matrix[:3, 3].copy(), rotation.matrix_to_quaternion(axes), scale)


def local_matrix(translation: Array, turn: Array, scale: Array) -> Array:
    """[..., 4, 4] of T R S."""
    turned = rotation.quaternion_to_matrix(turn) * scale[..., None, :]
    shape = np.broadcast_shapes(turned.shape[:-2], translation.shape[:-1])
    matrix = np.zeros((*shape, 4, 4))
    matrix[..., :3, :3], matrix[..., :3, 3], matrix[..., 3, 3] = turned, translation, 1.0
    return matrix


def scene_nodes(document: Document) -> list[int]:
    """The nodes of the default scene (else the first, else all), parents first."""
    scenes = document.gltf.scenes or []
    if not scenes:
        return parents_first(document)
    index = document.gltf.scene
    scene = document.item("scenes", 0 if index is None else index)
    inside = set()
    stack = [root for root in scene.nodes or [] if document.item("nodes", root)]
    while stack:
        node = stack.pop()
        if node not in inside:
            inside.add(node)
            stack += document.nodes[node].children or []
    return [node for node in parents_first(document) if node in inside]


def parents_first(document: Document) -> list[int]:
    """All nodes, each after its parent, else in the order of the file."""
    ready = [index for index, parent in enumerate(document.parents) if parent < 0]
    heapq.heapify(ready)
    order = []
    while ready:
        node = heapq.heappop(ready)
        order.append(node)
        for child in document.nodes[node].children or []:
            heapq.heappush(ready, child)
    return order


def resting_weights(document: Document, node: int, width: int) -> Array:
    """[width] the weights of a node's morph targets where no animation sets them."""
    result = np.zeros(width)
    index = document.nodes[node].mesh
    given = [] if index is None else document.item("meshes", index).weights or []
    result[: len(given)] = [float(w) for w in given[:width]]
    return result


def global_matrices(document: Document, wanted: set[int], tracks: list[Track], grid: Grid) -> dict[int, Array]:
    """node -> [frames, 4, 4] (or [4, 4] where nothing moves it) for the wanted nodes and their ancestors."""
    needed = set(wanted)
    for node in wanted:
        while (node := document.parents[node]) >= 0 and node not in needed:
            needed.add(node)
    document.limits.charge("values", grid.frames * len(needed) * 16)
    moved: dict[int, dict[str, Array]] = {}
    for track in tracks:
        if track.node in needed and track.path != "weights":
            moved.setdefault(track.node, {})[track.path] = sample(track, grid)
    result: dict[int, Array] = {}
    for node in parents_first(document):
        if node in needed:
            local = _animated_matrix(document.nodes[node], moved.get(node, {}))
            parent = document.parents[node]
            result[node] = local if parent < 0 else result[parent] @ local
    return result


def _animated_matrix(node: Any, moved: dict[str, Array]) -> Array:
    rest = rest_of(node)
    turn = rotation.normalize(moved.get("rotation", rest.rotation))
    scale, move = moved.get("scale", rest.scale), moved.get("translation", rest.translation)
    if turn.ndim < scale.ndim:
        turn = np.broadcast_to(turn, (len(scale), 4))
    return local_matrix(move, turn, scale)
