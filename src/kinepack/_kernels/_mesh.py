"""Kernels of the `kine-mesh` codec: hierarchy of vertices, prediction of weights, and their entropy coder."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels._binding import Buffer, check, data_pointer, encode_growing, ffi, lib, pointer
from kinepack.errors import UsageError

MOST_REFERENCES = 18
MOST_INFLUENCES = 40
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Vertices from coarse to fine; `refs` are positions in that order, below the vertex's own."""

    order: NDArray[np.uint32]
    """[V] vertex at each position"""
    starts: NDArray[np.uint32]
    """[V + 1] where the references of a position begin"""
    refs: NDArray[np.uint32]
    rings: NDArray[np.uint8]
    """[V] how many of the references are next to the vertex; they come first"""
    levels: NDArray[np.uint8]
    """[V] 1 is the finest"""

    @property
    def vertices(self) -> int:
        return len(self.order)


@dataclass(frozen=True)
class Affinity:
    """How references are weighed before and beside the features."""

    bulge: float
    damping: float
    far: float


def mesh_hierarchy(edges: NDArray[np.uint32], vertices: int) -> Hierarchy:
    """From distinct undirected edges [e, 2]."""
    edges = np.ascontiguousarray(edges, np.uint32)
    scratch = np.empty(25 * vertices + 1 + 6 * len(edges), np.uint32)
    byte_scratch = np.empty(2 * vertices, np.uint8)
    order, starts = np.empty(vertices, np.uint32), np.empty(vertices + 1, np.uint32)
    refs = np.empty(MOST_REFERENCES * vertices, np.uint32)
    rings, levels = np.empty(vertices, np.uint8), np.empty(vertices, np.uint8)
    status = lib.kp_mesh_hierarchy(
        pointer(edges), len(edges), vertices, pointer(scratch), pointer(byte_scratch), pointer(order),
        pointer(starts), pointer(refs), pointer(rings), pointer(levels),
    )  # fmt: skip
    check(status, "mesh hierarchy")
    return Hierarchy(order, starts, refs[: starts[-1]].copy(), rings, levels)


def mesh_predictors(tree: Hierarchy, features: Array, how: Affinity) -> Array:
    """Weights of all references, from features [n, V] of at most 16 rows in decoding order."""
    features = np.ascontiguousarray(features, np.float64)
    if features.ndim != 2 or features.shape[1] != tree.vertices:
        raise UsageError("features do not fit the hierarchy")
    predictors = np.empty(max(len(tree.refs), 1))
    status = lib.kp_mesh_predictors(
        tree.vertices, pointer(tree.starts), pointer(tree.refs), pointer(tree.rings), pointer(features),
        len(features), how.bulge, how.damping, how.far, pointer(predictors),
    )  # fmt: skip
    check(status, "mesh predictors")
    return predictors


def mesh_synthesise(tree: Hierarchy, predictors: Array, *, steps: Array, levels: NDArray[np.int32]) -> Array:
    """[V] of one component from its levels; `steps` [256] by level of the hierarchy."""
    values = np.empty(tree.vertices)
    status = lib.kp_mesh_synthesise(
        tree.vertices, pointer(tree.starts), pointer(tree.refs), pointer(tree.rings), pointer(tree.levels),
        pointer(predictors), pointer(steps), pointer(levels), pointer(values),
    )  # fmt: skip
    check(status, "mesh synthesis")
    return values


def mesh_sum(tree: Hierarchy, differences: NDArray[np.int32], most: int) -> NDArray[np.int32]:
    """Whole numbers [n, V] in 0..most from what each is more than the rounded mean of its ring."""
    values = np.array(differences, np.int32)
    status = lib.kp_mesh_sum(
        tree.vertices, pointer(tree.starts), pointer(tree.refs), pointer(tree.rings), len(values), most, pointer(values)
    )
    check(status, "mesh sums")
    return values


def mesh_quantize(
    tree: Hierarchy, predictors: Array, *, steps: Array, rounding: float, wanted: Array
) -> tuple[NDArray[np.int32], Array]:
    """Levels [V] of one component and what they decode to."""
    levels, values = np.empty(tree.vertices, np.int32), np.empty(tree.vertices)
    wanted = np.ascontiguousarray(wanted, np.float64)
    status = lib.kp_mesh_quantize(
        tree.vertices, pointer(tree.starts), pointer(tree.refs), pointer(tree.rings), pointer(tree.levels),
        pointer(predictors), pointer(steps), rounding, pointer(wanted), pointer(levels), pointer(values),
    )  # fmt: skip
    check(status, "mesh quantiser")
    return levels, values


@dataclass(frozen=True, eq=False)
class Influence:
    """What a change of each level does to all decoded values, by columns and sparse."""

    starts: NDArray[np.uint32]
    rows: NDArray[np.uint32]
    weights: NDArray[np.float32]


def mesh_influence(tree: Hierarchy, predictors: Array) -> Influence:
    count = tree.vertices
    room = MOST_INFLUENCES * count
    row_starts, starts = np.empty((2, count + 1), np.uint32)
    columns, rows = np.empty((2, room), np.uint32)
    values, weights = np.empty((2, room), np.float32)
    dense, touched = np.empty(count, np.float32), np.empty(max(count, 18 * MOST_INFLUENCES), np.uint32)
    status = lib.kp_mesh_influence(
        count, pointer(tree.starts), pointer(tree.refs), pointer(predictors), pointer(row_starts), pointer(columns),
        pointer(values), pointer(dense), pointer(touched), pointer(starts), pointer(rows), pointer(weights),
    )  # fmt: skip
    check(status, "mesh influence")
    return Influence(starts, rows, weights)


def mesh_descend(
    tree: Hierarchy,
    predictors: Array,
    *,
    influence: Influence,
    steps: Array,
    past: NDArray[np.uint8],
    lagrangian: float,
    sweeps: int,
    wanted: Array,
    levels: NDArray[np.int32],
) -> tuple[NDArray[np.int32], Array]:
    """Levels [V] with a better sum of squared error and `lagrangian` times bits, and what they decode to."""
    levels, values, error = levels.copy(), np.empty(tree.vertices), np.empty(tree.vertices)
    wanted = np.ascontiguousarray(wanted, np.float64)
    status = lib.kp_mesh_descend(
        tree.vertices, pointer(tree.starts), pointer(tree.refs), pointer(tree.rings), pointer(tree.levels),
        pointer(predictors), pointer(steps), pointer(influence.starts), pointer(influence.rows),
        pointer(influence.weights), pointer(past), lagrangian, sweeps, pointer(wanted), pointer(levels),
        pointer(values), pointer(error),
    )  # fmt: skip
    check(status, "mesh quantiser")
    return levels, values


def mesh_encode(tree: Hierarchy, levels: NDArray[np.int32]) -> bytes:
    """Levels [c, V] in decoding order."""
    source = np.ascontiguousarray(levels, np.int32)
    states, weights = _models()
    past = np.empty(tree.vertices, np.uint16)

    def call(out: object, capacity: int, size: object) -> int:
        return int(
            lib.kp_mesh_encode(
                pointer(source), tree.vertices, len(source), pointer(tree.starts), pointer(tree.refs),
                pointer(tree.rings), pointer(tree.levels), pointer(states), pointer(weights), pointer(past),
                out, capacity, size,
            )
        )  # fmt: skip

    return encode_growing("mesh weights", 256 + source.size, call)


def mesh_decode(tree: Hierarchy, data: Buffer, components: int) -> NDArray[np.int32]:
    """The mirror of `mesh_encode`."""
    source, size = data_pointer(data)
    levels = np.empty((components, tree.vertices), np.int32)
    states, weights = _models()
    past = np.empty(tree.vertices, np.uint16)
    status = lib.kp_mesh_decode(
        source, size, pointer(levels), tree.vertices, components, pointer(tree.starts), pointer(tree.refs),
        pointer(tree.rings), pointer(tree.levels), pointer(states), pointer(weights), pointer(past),
    )  # fmt: skip
    check(status, "mesh weights")
    return levels


def _models() -> tuple[NDArray[np.uint32], NDArray[np.int32]]:
    states, weights = ffi.new("size_t *"), ffi.new("size_t *")
    check(lib.kp_mesh_sizes(states, weights), "mesh sizes")
    return np.empty(states[0], np.uint32), np.empty(weights[0], np.int32)
