"""Rigid motions of bones as turns about joints of a tree, and back.

A bone turns against its parent by a rotation vector about a joint, a point of the rest pose, which the parent carries
along; what is left of a translation is the joint's offset in the parent's frame. Points are rows: (p, 1) @ motion.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
STILL = np.concatenate([np.eye(3), np.zeros((1, 3))])
"""[4, 3] the motion of the root's parent"""


@dataclass(frozen=True, eq=False)
class JointTree:
    """Bones in an order where parents come first; -1 is the parent of the root."""

    parents: NDArray[np.int32]
    joints: Array
    """[B, 3]"""


def turns_of(motion: Array, parent: Array, joint: Array) -> tuple[Array, Array]:
    """Rotation vectors and joint offsets [F, 3] of a motion [F, 4, 3] against its parent's; inverse: `motion_of`."""
    back = parent[..., :3, :].swapaxes(-1, -2)
    moved = joint @ motion[:, :3] + motion[:, 3] - parent[..., 3, :]
    return rotation_vectors(motion[:, :3] @ back), (moved[:, None] @ back)[:, 0] - joint


def motion_of(turns: Array, offsets: Array, parent: Array, joint: Array) -> Array:
    rotation = rotation_matrices(turns) @ parent[..., :3, :]
    place = ((joint + offsets)[:, None] @ parent[..., :3, :])[:, 0] + parent[..., 3, :]
    return np.concatenate([rotation, (place - joint @ rotation)[:, None]], axis=1)


def rotation_matrices(vectors: Array) -> Array:
    """[n, 3] -> [n, 3, 3] for points as rows (Rodrigues)."""
    angle = np.sqrt((vectors**2).sum(axis=1))[:, None, None]
    safe = np.where(angle > 1e-8, angle, 1.0)
    sine, cosine = (
        np.where(angle > 1e-8, np.sin(safe) / safe, 1.0),
        np.where(angle > 1e-8, (1 - np.cos(safe)) / safe**2, 0.5),
    )
    x, y, z = vectors.T
    zero = np.zeros_like(x)
    cross = np.stack([zero, z, -y, -z, zero, x, y, -x, zero], axis=1).reshape(-1, 3, 3)
    return np.asarray(np.eye(3) + sine * cross + cosine * (cross @ cross))


def rotation_vectors(matrices: Array) -> Array:
    """[F, 3, 3] for points as rows -> [F, 3], each the equivalent nearest to the one before."""
    m = matrices.transpose(0, 2, 1)
    # The quaternion's largest element first: no case is ill-conditioned.
    squares = np.stack(
        [
            1 + m[:, 0, 0] + m[:, 1, 1] + m[:, 2, 2],
            1 + m[:, 0, 0] - m[:, 1, 1] - m[:, 2, 2],
            1 - m[:, 0, 0] + m[:, 1, 1] - m[:, 2, 2],
            1 - m[:, 0, 0] - m[:, 1, 1] + m[:, 2, 2],
        ],
        axis=1,
    )
    a, b, c = m[:, 2, 1] - m[:, 1, 2], m[:, 0, 2] - m[:, 2, 0], m[:, 1, 0] - m[:, 0, 1]
    d, e, f = m[:, 1, 0] + m[:, 0, 1], m[:, 0, 2] + m[:, 2, 0], m[:, 2, 1] + m[:, 1, 2]
    w, x, y, z = squares.T
    table = np.stack([w, a, b, c, a, x, d, e, b, d, y, f, c, e, f, z], axis=1).reshape(-1, 4, 4)
    quaternions = table[np.arange(len(m)), squares.argmax(axis=1)]
    quaternions /= np.linalg.norm(quaternions, axis=1, keepdims=True)
    quaternions[quaternions[:, 0] < 0] *= -1
    sine = np.linalg.norm(quaternions[:, 1:], axis=1)
    angle = 2 * np.arctan2(sine, quaternions[:, 0])
    axis = quaternions[:, 1:] / np.maximum(sine, 1e-300)[:, None]
    return _unwrapped(axis, angle)


def _unwrapped(axis: Array, angle: Array) -> Array:
    out = axis * angle[:, None]
    for n in range(1, len(out)):
        if angle[n] > 1e-6:
            turns = np.rint((axis[n] @ out[n - 1] - angle[n]) / (2 * np.pi))
            out[n] = axis[n] * (angle[n] + 2 * np.pi * turns)
    return out


def grow_tree(rest: Array, shares: Array, motions: Array) -> tuple[NDArray[np.intp], JointTree]:
    """Order of the bones and their tree: each next bone is the one that turns least against one that is in."""
    bones, mass = len(motions), shares.sum(axis=0)
    centres = (shares.T @ rest) / mass[:, None]
    costs, joints = np.full((bones, bones), np.inf), np.zeros((bones, bones, 3))
    for a, b in permutations(range(bones), 2):
        near = _meeting(rest, shares[:, a], shares[:, b], centres[[a, b]])
        joints[a, b] = _joint(motions[a], motions[b], near)
        costs[a, b] = _restlessness(*turns_of(motions[b], motions[a], joints[a, b]), np.ptp(rest, axis=0))
    order, parents = [int(mass.argmax())], [-1]
    places = [centres[order[0]]]
    while len(order) < bones:
        left = [b for b in range(bones) if b not in order]
        a, b = min(product(order, left), key=lambda pair: float(costs[pair]))
        parents.append(order.index(a))
        places.append(joints[a, b])
        order.append(b)
    return np.array(order), JointTree(np.array(parents, np.int32), np.array(places))


def _restlessness(turns: Array, offsets: Array, box: Array) -> float:
    """About the bits of a bone's tracks: logarithms of their changes, in thousandths of the mesh's size."""
    size = float(np.linalg.norm(box))
    moves = np.concatenate([turns * 0.2 * size, offsets], axis=1) / (1e-3 * size)
    return float(np.log2(1 + np.abs(np.diff(moves, axis=0, prepend=0.0))).sum())


def _meeting(rest: Array, first: Array, second: Array, centres: Array) -> Array:
    """Where two bones share vertices, or half way between them."""
    shared = first * second
    return np.asarray(shared @ rest / shared.sum() if shared.sum() > 1e-6 else centres.mean(axis=0))


def _joint(a: Array, b: Array, near: Array) -> Array:
    """The point that both motions carry to the same places, drawn a little to `near`."""
    turn, move = a[:, :3] - b[:, :3], a[:, 3] - b[:, 3]
    pull = 1e-2 * len(turn)
    gram = np.einsum("fij,fkj->ik", turn, turn) + pull * np.eye(3)
    return np.asarray(np.linalg.solve(gram, pull * near - np.einsum("fij,fj->i", turn, move)))
