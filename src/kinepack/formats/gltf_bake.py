"""glTF scenes baked to vertices per frame: node transforms, morph targets and skins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinepack.errors import FormatError
from kinepack.formats.gltf_animation import Grid, Track, sample
from kinepack.formats.gltf_document import Document
from kinepack.formats.gltf_nodes import global_matrices, resting_weights, scene_nodes

Array = NDArray[np.float64]

_POINTS, _TRIANGLES, _STRIP, _FAN = 0, 4, 5, 6


@dataclass(frozen=True, eq=False)
class _Part:
    """One primitive of one node."""

    node: int
    positions: Array
    """[vertices, 3]"""
    targets: Array
    """[targets, vertices, 3]"""
    joints: NDArray[np.int64]
    """[vertices, influences] into the skin's joints; no influences for a mesh that is not skinned."""
    weights: Array
    """[vertices, influences], sums of one."""
    faces: NDArray[np.int64]
    """[triangles, 3]"""


def bake(document: Document, tracks: list[Track], grid: Grid) -> tuple[Array, NDArray[np.int32]]:
    """[frames, vertices, 3] in metres and [triangles, 3]: all primitives of the scene, one after another.

    Corners that differ only in normal, colour or texture place are one vertex, except in Kinepack's own files.
    """
    parts = [part for node in scene_nodes(document) for part in _parts_of(document, node)]
    if not parts:
        raise FormatError("the scene has no mesh to bake")
    if document.ours.get("mesh") is not True:
        parts = [_welded(part) for part in parts]
    total = document.limits.charge("vertices", sum(len(part.positions) for part in parts))
    document.limits.charge("values", grid.frames * total * 3)
    wanted = {part.node for part in parts}
    for part in parts:
        wanted |= set(_skin_joints(document, part.node))
    matrices = global_matrices(document, wanted, tracks, grid)
    moved = [_moved(document, part, tracks, grid, matrices) for part in parts]
    starts = np.cumsum([0] + [len(part.positions) for part in parts])
    faces = [part.faces + start for part, start in zip(parts, starts, strict=False)]
    return np.concatenate(moved, axis=1), np.concatenate(faces).astype(np.int32)


def _parts_of(document: Document, node: int) -> list[_Part]:
    index = document.nodes[node].mesh
    if index is None:
        return []
    primitives = document.item("meshes", index).primitives or []
    return [part for primitive in primitives if (part := _part(document, node, primitive)) is not None]


def _part(document: Document, node: int, primitive: Any) -> _Part | None:
    attributes = _attributes(primitive.attributes)
    mode = _TRIANGLES if primitive.mode is None else primitive.mode
    if "POSITION" not in attributes or mode not in (_POINTS, _TRIANGLES, _STRIP, _FAN):
        return None  # lines have no surface
    positions = _vec3(document, attributes["POSITION"])
    shifts = [_attributes(target).get("POSITION") for target in primitive.targets or []]
    document.limits.charge("values", len(shifts) * positions.size)
    targets = np.zeros((len(shifts), *positions.shape))
    for number, shift in enumerate(shifts):
        if shift is not None:
            targets[number] = _fitting(_vec3(document, shift), positions)
    joints, weights = _influences(document, node, attributes, len(positions))
    return _Part(node, positions, targets, joints, weights, _faces(document, primitive, mode, len(positions)))


def _attributes(entry: Any) -> dict[str, Any]:
    table = entry if isinstance(entry, dict) else vars(entry) if entry is not None else {}
    return {key: value for key, value in table.items() if value is not None}


def _vec3(document: Document, index: Any) -> Array:
    values = document.accessor(index).astype(np.float64)
    if values.shape[1] != 3:
        raise FormatError("positions should have three numbers each")
    return values


def _fitting(values: NDArray[Any], positions: Array) -> NDArray[Any]:
    if len(values) != len(positions):
        raise FormatError(f"a mesh has {len(positions):,} positions and {len(values):,} of another attribute")
    return values


def _influences(
    document: Document, node: int, attributes: dict[str, Any], count: int
) -> tuple[NDArray[np.int64], Array]:
    """The joints that pull each vertex, and how much."""
    joints, weights = [np.zeros((count, 0), np.int64)], [np.zeros((count, 0))]
    skin_joints = _skin_joints(document, node)
    number = 0
    while skin_joints and f"JOINTS_{number}" in attributes and f"WEIGHTS_{number}" in attributes:
        joints.append(document.accessor(attributes[f"JOINTS_{number}"]).astype(np.int64))
        weights.append(document.accessor(attributes[f"WEIGHTS_{number}"]).astype(np.float64))
        number += 1
    if any(len(a) != count for a in joints + weights):
        raise FormatError("a mesh has another number of skin weights than of positions")
    pulling, share = np.concatenate(joints, axis=1), np.concatenate(weights, axis=1)
    if pulling.shape != share.shape or (pulling.size and not 0 <= pulling.min() <= pulling.max() < len(skin_joints)):
        raise FormatError("a mesh is bound to a joint that its skin does not have")
    total = share.sum(axis=1, keepdims=True)
    return pulling, share / np.where(total > 0, total, 1.0)


def _skin_joints(document: Document, node: int) -> list[int]:
    index = document.nodes[node].skin
    joints = [] if index is None else list(document.item("skins", index).joints or [])
    for joint in joints:
        document.item("nodes", joint)
    return joints


def _faces(document: Document, primitive: Any, mode: int, count: int) -> NDArray[np.int64]:
    if primitive.indices is None:
        corners = np.arange(count)
    else:
        corners = document.accessor(primitive.indices).astype(np.int64).reshape(-1)
    if corners.size and not 0 <= corners.min() <= corners.max() < count:
        raise FormatError("a face names a vertex that does not exist")
    document.limits.charge("faces", len(corners))
    if mode == _POINTS or len(corners) < 3:
        return np.zeros((0, 3), np.int64)
    if mode == _TRIANGLES:
        return corners[: len(corners) // 3 * 3].reshape(-1, 3)
    step = np.arange(len(corners) - 2)
    if mode == _FAN:
        return np.stack([np.full_like(step, corners[0]), corners[step + 1], corners[step + 2]], axis=1)
    odd = step % 2  # every other triangle of a strip turns round
    return np.stack([corners[step], corners[step + 1 + odd], corners[step + 2 - odd]], axis=1)


def _welded(part: _Part) -> _Part:
    """The part with vertices that always move together made one."""
    count = len(part.positions)
    shifts = part.targets.transpose(1, 0, 2).reshape(count, -1)
    rows = np.concatenate([part.positions, shifts, part.joints, part.weights], axis=1) + 0.0  # -0 is 0
    if not count:
        return part
    packed = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.shape[1] * 8))).reshape(-1)
    _, first, inverse = np.unique(packed, return_index=True, return_inverse=True)
    order = np.argsort(first)
    keep, rank = first[order], np.argsort(order)
    faces = rank[inverse.reshape(-1)][part.faces]
    return _Part(
        part.node,
        part.positions[keep],
        part.targets[:, keep],
        part.joints[keep],
        part.weights[keep],
        faces.astype(np.int64).reshape(-1, 3),
    )


def _moved(document: Document, part: _Part, tracks: list[Track], grid: Grid, matrices: dict[int, Array]) -> Array:
    """[frames, vertices, 3]"""
    shaped = _morphed(document, part, tracks, grid)
    if part.joints.shape[1]:
        return _skinned(document, part, shaped, matrices, grid.frames)
    matrix = np.broadcast_to(matrices[part.node], (grid.frames, 4, 4))
    return np.asarray(shaped @ matrix[:, :3, :3].transpose(0, 2, 1) + matrix[:, None, :3, 3])


def _morphed(document: Document, part: _Part, tracks: list[Track], grid: Grid) -> Array:
    """[frames, vertices, 3], or [1, vertices, 3] where the shape does not change."""
    count = len(part.targets)
    if not count:
        return part.positions[None]
    track = next((t for t in tracks if t.node == part.node and t.path == "weights"), None)
    weights = resting_weights(document, part.node, count)[None] if track is None else sample(track, grid)
    if weights.shape[1] != count:
        raise FormatError(f"an animation has {weights.shape[1]} weights for {count} morph targets")
    shifts = weights @ part.targets.reshape(count, -1)
    return np.asarray(part.positions + shifts.reshape(len(weights), -1, 3))


def _skinned(document: Document, part: _Part, shaped: Array, matrices: dict[int, Array], frames: int) -> Array:
    """Linear blend skinning; the node's own transform has no say (glTF 2.0, 3.7.3.3)."""
    skin = document.item("skins", document.nodes[part.node].skin)
    joints = _skin_joints(document, part.node)
    bind = np.broadcast_to(np.eye(4), (len(joints), 4, 4))
    if skin.inverseBindMatrices is not None:
        stored = document.accessor(skin.inverseBindMatrices).astype(np.float64)
        if len(stored) < len(joints) or stored.shape[1] != 16:
            raise FormatError("a skin has fewer bind matrices than joints")
        bind = stored[: len(joints)].reshape(-1, 4, 4).transpose(0, 2, 1)
    result = np.empty((frames, len(part.positions), 3))
    for frame in range(frames):
        pose = np.stack([_at(matrices[joint], frame) for joint in joints]) @ bind
        blend = np.einsum("vk,vkij->vij", part.weights, pose[part.joints][:, :, :3])
        shape = shaped[min(frame, len(shaped) - 1)]
        result[frame] = np.einsum("vij,vj->vi", blend[:, :, :3], shape) + blend[:, :, 3]
    return result


def _at(matrices: Array, frame: int) -> Array:
    return matrices if matrices.ndim == 2 else matrices[frame]
