"""The skin of `kine-mesh`: bones, joints and shares as bytes and back (docs/codecs/kine-mesh.md, "Skin")."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels._mesh import Hierarchy, mesh_decode, mesh_encode, mesh_sum
from kinepack.codecs._mesh.fixed_point import Parts
from kinepack.entropy.range_coder import decode_integers, encode_integers
from kinepack.errors import Corrupt
from kinepack.transforms import mesh_basis
from kinepack.transforms.joint_tree import STILL, JointTree, grow_tree, motion_of, turns_of
from kinepack.transforms.mesh_weights import differences, quantize_weights
from kinepack.transforms.shares import Choice, choose_shares
from kinepack.transforms.skinning import Skin, fit_rest, fit_skin, refit_motions, skinned

Array = NDArray[np.float64]
HEADER = struct.Struct("<BHI")
"""Bones; bytes of the joints; bytes of the shares."""
SHARES = 16
"""A share is a whole number of these parts."""
JOINT_STEPS = 8
"""Joints are placed to this many steps: what they miss, offsets make up for."""
REST = 3
"""Components that a rest pose takes."""


@dataclass(frozen=True, eq=False)
class CodedSkin:
    """A skin as it decodes, and its bytes."""

    setup: bytes
    exponents: NDArray[np.int32]
    """[2 B] scales of the turns and the offsets of each bone"""
    track_levels: list[NDArray[np.int32]]
    """[6 B, frames] of each segment"""
    rest_levels: NDArray[np.int32]
    """[3, V]"""
    rest: Array
    """[V, 3] in steps"""
    paths: Array
    """[V, F, 3] that the skin alone decodes to"""


@dataclass(frozen=True, eq=False)
class Bones:
    """What a decoder knows of a skin before any frame."""

    tree: JointTree
    shares: Array
    """[V, B]"""

    @property
    def count(self) -> int:
        return len(self.tree.parents)


@lru_cache(maxsize=8)
def _fitted(packed: bytes, frames: int, bones: int) -> tuple[Skin, JointTree]:
    """Remembered, as a search over steps asks for the same mesh again and again."""
    paths = np.frombuffer(packed, np.float32).reshape(frames, -1, 3).transpose(1, 0, 2).astype(np.float64)
    skin = fit_skin(paths, bones)
    order, tree = grow_tree(skin.rest, skin.shares, skin.motions)
    return Skin(skin.rest, skin.shares[:, order], skin.motions[order]), tree


def encode_skin(
    vertices: NDArray[np.float32], bones: int, *, step: float, ranges: list[tuple[int, int]], tree: Hierarchy
) -> CodedSkin:
    frames = len(vertices)
    unit = step / np.sqrt(frames)
    skin, found = _fitted(np.ascontiguousarray(vertices).tobytes(), frames, bones)
    paths = np.asarray(vertices.transpose(1, 0, 2), np.float64)
    counts = choose_shares(tree, paths, skin, Choice(SHARES, step))
    shares = _normalised(counts)
    motions = refit_motions(paths, skin.rest, shares, skin.motions)
    places = np.rint(found.joints / (JOINT_STEPS * unit)).astype(np.int32)
    joints = JointTree(found.parents, places * (JOINT_STEPS * unit))
    exponents = _exponents(skin.rest, shares, joints)
    levels, decoded = _quantize_motions(motions, joints, exponents, step, ranges)
    rest = fit_rest(paths, shares, decoded, skin.rest)
    rest_levels, rest_steps = quantize_weights(tree, rest / unit)
    coded_joints = encode_integers(np.column_stack([np.arange(len(places)) - 1 - found.parents, places]).ravel())
    coded_shares = mesh_encode(tree, differences(tree, np.ascontiguousarray(counts[tree.order].T)))
    setup = HEADER.pack(len(places), len(coded_joints), len(coded_shares)) + coded_joints + coded_shares
    whole = skinned(Skin(rest_steps * unit, shares, decoded))
    return CodedSkin(setup, exponents, levels, rest_levels, rest_steps, whole)


def decode_bones(parts: Parts, tree: Hierarchy, unit: float) -> Bones:
    """What `encode_skin` put into the setup."""
    count, joint_bytes, share_bytes = HEADER.unpack(parts.take(HEADER.size))
    if not count:
        raise Corrupt("a skin has no bones")
    numbers = decode_integers(parts.take(joint_bytes), 4 * count).reshape(count, 4)
    parents = np.arange(count) - 1 - numbers[:, 0].astype(np.int64)
    if (parents < -1).any() or (parents >= np.arange(count)).any():
        raise Corrupt("a bone comes before its parent")
    counts = mesh_sum(tree, mesh_decode(tree, parts.take(share_bytes), count), SHARES)
    shares = np.empty((tree.vertices, count))
    shares[tree.order] = _normalised(counts.T)
    joints = numbers[:, 1:].astype(np.float64) * (JOINT_STEPS * unit)
    return Bones(JointTree(parents.astype(np.int32), joints), shares)


def bone_motions(bones: JointTree, tracks: Array) -> Array:
    """[B, F, 4, 3] from turns and offsets by frame [F, 2 B, 3]."""
    motions = np.empty((len(bones.parents), len(tracks), 4, 3))
    for b, (parent, joint) in enumerate(zip(bones.parents, bones.joints, strict=True)):
        above = motions[parent] if parent >= 0 else _still(len(tracks))
        motions[b] = motion_of(tracks[:, 2 * b], tracks[:, 2 * b + 1], above, joint)
    return motions


def skin_weights(bones: Bones, rest: Array) -> Array:
    """[V, 4 B] what the rows of all motions are multiplied with."""
    homogeneous = np.concatenate([rest, np.ones((len(rest), 1))], axis=1)
    return np.asarray((bones.shares[:, :, None] * homogeneous[:, None]).reshape(len(rest), -1))


def _still(frames: int) -> Array:
    return np.broadcast_to(STILL, (frames, 4, 3))


def _normalised(counts: NDArray[np.int32]) -> Array:
    """Counts [V, B] as parts of their sum; a vertex without any moves with the first bone."""
    counts = counts.copy()
    counts[counts.sum(axis=1) == 0, 0] = 1
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def _exponents(rest: Array, shares: Array, joints: JointTree) -> NDArray[np.int32]:
    """[2 B] n of scales 2^(n / 8): an error in a track then weighs as much as one in a component's weight."""
    away = ((rest[:, None] - joints.joints) ** 2).sum(axis=2)
    energy = np.stack([(shares * away).sum(axis=0) * 2 / 3, shares.sum(axis=0)], axis=1)
    return np.asarray(np.rint(4 * np.log2(np.maximum(energy, 1e-12))), np.int32).ravel()


def _quantize_motions(
    motions: Array, joints: JointTree, exponents: NDArray[np.int32], step: float, ranges: list[tuple[int, int]]
) -> tuple[list[NDArray[np.int32]], Array]:
    """Levels [6 B, frames] by segment, each bone against its decoded parent, and the motions that they decode to."""
    frames = motions.shape[1]
    scales = 2.0 ** (exponents / 8)
    levels = [np.empty((6 * len(motions), b - a), np.int32) for a, b in ranges]
    decoded = np.empty_like(motions)
    for n, (parent, joint) in enumerate(zip(joints.parents, joints.joints, strict=True)):
        above = decoded[parent] if parent >= 0 else _still(frames)
        pair = scales[2 * n : 2 * n + 2, None]
        tracks = np.stack([track.ravel() for track in turns_of(motions[n], above, joint)]) * pair
        for (a, b), out in zip(ranges, levels, strict=True):
            out[6 * n : 6 * n + 6] = mesh_basis.quantize(mesh_basis.forward(tracks[:, 3 * a : 3 * b]), step)
            back = mesh_basis.inverse(out[6 * n : 6 * n + 6], step) / pair
            decoded[n, a:b] = motion_of(back[:, 0], back[:, 1], above[a:b], joint)
    return levels, decoded
