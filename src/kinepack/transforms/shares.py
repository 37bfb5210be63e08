"""Shares of bones in vertices as small whole numbers, chosen by rate and distortion. Encoder only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels._mesh import Hierarchy
from kinepack.transforms.mesh_weights import LAGRANGIAN
from kinepack.transforms.skinning import Skin

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Choice:
    parts: int
    """A share of one is this many."""
    step: float


def choose_shares(tree: Hierarchy, paths: Array, skin: Skin, how: Choice) -> NDArray[np.int32]:
    """[V, B] counts: for each vertex the fitted shares of one to four bones, or those of its references."""
    counts = np.zeros(skin.shares.shape, np.int32)
    options = _options(skin.shares, how.parts)
    rows = skin.motions.transpose(0, 2, 1, 3).reshape(len(skin.motions), 4, -1)
    for position, vertex in enumerate(tree.order):
        start = tree.starts[position]
        ring = tree.order[tree.refs[start : start + tree.rings[position]]]
        around = counts[ring]
        predicted = (2 * around.sum(axis=0) + len(ring)) // (2 * len(ring)) if len(ring) else np.zeros_like(counts[0])
        tried = np.concatenate([options[vertex], around, predicted[None]])
        tried = tried[tried.sum(axis=1) > 0]
        used = np.flatnonzero(tried.any(axis=0))
        moved = np.append(skin.rest[vertex], 1.0) @ rows[used] - paths[vertex].reshape(-1)
        gram = moved @ moved.T
        w = tried[:, used] / tried.sum(axis=1, keepdims=True)
        error = ((w @ gram) * w).sum(axis=1) / how.step**2
        change = np.abs(tried - predicted)
        bits = np.where(change > 0, 4 + 2 * np.log2(np.maximum(change, 1)), 0.1).sum(axis=1)
        counts[vertex] = tried[(error + LAGRANGIAN * bits).argmin()]
    return counts


def _options(shares: Array, parts: int) -> NDArray[np.int32]:
    """[V, 4, B] the largest one, two, three and four shares, rounded to sums of `parts`."""
    ranked = np.argsort(np.argsort(-shares, axis=1, kind="stable"), axis=1)
    found = []
    for most in range(1, 5):
        kept = np.where(ranked < most, shares, 0.0)
        scaled = kept / kept.sum(axis=1, keepdims=True) * parts
        whole = np.floor(scaled)
        missing = (parts - whole.sum(axis=1, keepdims=True)).astype(int)
        order = np.argsort(np.argsort(whole - scaled, axis=1, kind="stable"), axis=1)
        found.append((whole + (order < missing)).astype(np.int32))
    return np.stack(found, axis=1)
