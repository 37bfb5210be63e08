"""PCA weights coarse to fine over a mesh: each vertex predicted from its references (docs/codecs/kine-mesh.md)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels._mesh import (
    Affinity,
    Hierarchy,
    mesh_descend,
    mesh_hierarchy,
    mesh_influence,
    mesh_predictors,
    mesh_quantize,
    mesh_synthesise,
)

Array = NDArray[np.float64]
Levels = NDArray[np.int32]
FEATURES = 10
"""Leading components that predictors are fitted to."""
REFITS = (0, 1, 2, 3, 4, 6, 8, FEATURES)
"""Components before which they are fitted anew."""
AFFINITY = Affinity(bulge=0.3, damping=2.0, far=0.5)
FINER, FINEST = 0.92, 0.55
"""Steps shrink by FINER from a level to the next coarser one, down to FINEST: coarse errors spread."""
ROUNDING = 0.45
SWEEPS = 3
LAGRANGIAN = 0.14
"""Squared steps that a bit is worth; 2 ln 2 / 12 = 0.1155 for a fine uniform quantiser."""
MOST_DESCENDED = 300_000
"""Vertices above which the quantiser's tables would take too much memory."""


def hierarchy_of(faces: NDArray[np.int32], vertices: int) -> Hierarchy:
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]).astype(np.int64)
    low, high = edges.min(axis=1, initial=vertices), edges.max(axis=1, initial=0)
    codes = np.unique((low * vertices + high)[low != high])
    return mesh_hierarchy(np.stack([codes // vertices, codes % vertices], axis=1).astype(np.uint32), vertices)


def level_steps() -> Array:
    """[256] step of each level of the hierarchy, 1 the finest."""
    return np.asarray(np.maximum(FINER ** np.maximum(np.arange(256) - 1.0, 0.0), FINEST))


def quantize_weights(
    tree: Hierarchy, wanted: Array, *, descend: bool = True, after: Array | None = None
) -> tuple[Levels, Array]:
    """Levels [c, V] in decoding order of weights [V, c] in steps, and the weights that they decode to.

    `after` [V, n] are components decoded before these, their number one of REFITS.
    """
    steps, count, first = level_steps(), wanted.shape[1], 0 if after is None else after.shape[1]
    levels, decoded = np.empty((count, tree.vertices), np.int32), np.empty_like(wanted)
    features = np.empty((FEATURES, tree.vertices))
    if after is not None:
        features[:first] = after[tree.order].T
    descend = descend and tree.vertices <= MOST_DESCENDED
    past = np.zeros(tree.vertices)
    for j in range(count):
        column = wanted[tree.order, j]
        if first + j in REFITS:
            predictors = mesh_predictors(tree, features[: first + j], AFFINITY)
            influence = mesh_influence(tree, predictors) if descend else None
        found, values = mesh_quantize(tree, predictors, steps=steps, rounding=ROUNDING, wanted=column)
        if influence is not None:
            bettered, lowered = mesh_descend(
                tree, predictors, influence=influence, steps=steps, past=past.astype(np.uint8),
                lagrangian=LAGRANGIAN, sweeps=SWEEPS, wanted=column, levels=found,
            )  # fmt: skip
            if ((column - lowered) ** 2).sum() < 2 * ((column - values) ** 2).sum() + 1:  # sparse S can mislead it
                found, values = bettered, lowered
            past += (np.minimum(16 * np.abs(found), 255) - past) / 4
        levels[j], decoded[tree.order, j] = found, values
        if first + j < FEATURES:
            features[first + j] = values
    return levels, decoded


def differences(tree: Hierarchy, values: Levels) -> Levels:
    """Whole numbers [n, V] in decoding order, less the rounded mean of each vertex's ring; `mesh_sum` undoes it."""
    rows = np.repeat(np.arange(tree.vertices), tree.rings)
    at = np.arange(len(rows)) - np.repeat(np.cumsum(tree.rings.astype(np.int64)) - tree.rings, tree.rings)
    refs = tree.refs[tree.starts[rows] + at]
    sums = np.stack([np.bincount(rows, row[refs], minlength=tree.vertices) for row in values]).astype(np.int64)
    rings = np.maximum(tree.rings.astype(np.int64), 1)
    return np.asarray(values - (2 * sums + rings) // (2 * rings), np.int32)


def dequantize_weights(tree: Hierarchy, levels: Levels) -> Array:
    """[V, c] weights in steps, in vertex order; the mirror of `quantize_weights`."""
    steps, count = level_steps(), len(levels)
    decoded = np.empty((count, tree.vertices))
    with np.errstate(all="ignore"):  # levels that no encoder writes may overflow; model_from tells
        for j in range(count):
            if j in REFITS:
                predictors = mesh_predictors(tree, decoded[:j], AFFINITY)
            decoded[j] = mesh_synthesise(tree, predictors, steps=steps, levels=np.ascontiguousarray(levels[j]))
    out = np.empty((tree.vertices, count))
    out[tree.order] = decoded.T
    return out
