"""Bones and skinning weights of a baked character, found from its trajectories alone.

A vertex moves with a convex combination of a few rigid motions: v_i(t) = sum_b w_ib (R_b(t) p_i + x_b(t)). After
B. H. Le and Z. Deng, "Smooth skinning decomposition with rigid bones", 2012: rigid clusters first, then weights, bones
and rest pose by turns, each in closed form.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp]
MOST_BONES_OF_A_VERTEX = 4
CANDIDATES = 6
"""Bones whose rigid motion alone fits a vertex best; its weights are found among them."""
ROUNDS = 6
MOST_FRAMES = 80
BLOCK_VALUES = 1 << 22


@dataclass(frozen=True, eq=False)
class Skin:
    rest: Array
    """[V, 3]"""
    shares: Array
    """[V, B] rows of sum one, at most four of them above zero"""
    motions: Array
    """[B, F, 4, 3] rows of the transposed rotation, then the translation: (p, 1) @ motion is the moved point"""


def fit_skin(paths: Array, bones: int) -> Skin:
    """From positions [V, F, 3]; of a long sequence, shares and rest pose come from evenly spaced frames."""
    stride = -(-paths.shape[1] // MOST_FRAMES)
    skin = _fit_all(paths[:, ::stride], bones)
    if stride == 1:
        return skin
    motions = np.stack([_rigid_motion(skin.rest, paths, share**2) for share in skin.shares.T])
    for _ in range(2):
        motions = refit_motions(paths, skin.rest, skin.shares, motions)
    return Skin(skin.rest, skin.shares, motions)


def _fit_all(paths: Array, bones: int) -> Skin:
    rest = paths[:, _typical_frame(paths)].copy()
    index = _rigid_clusters(paths, rest, bones)
    shares = np.eye(int(index.max()) + 1)[index]
    motions = np.stack([_rigid_motion(rest, paths, share) for share in shares.T])
    for _ in range(ROUNDS):
        shares = fit_shares(paths, rest, motions)
        used = shares.sum(axis=0) > 1
        if used.any() and not used.all():
            motions = motions[used]
            shares = fit_shares(paths, rest, motions)
        motions = refit_motions(paths, rest, shares, motions)
        rest = fit_rest(paths, shares, motions, rest)
    return Skin(rest, shares, motions)


def skinned(skin: Skin) -> Array:
    """[V, F, 3]"""
    homogeneous = np.concatenate([skin.rest, np.ones((len(skin.rest), 1))], axis=1)
    weights = (skin.shares[:, :, None] * homogeneous[:, None]).reshape(len(homogeneous), -1)
    rows = skin.motions.transpose(0, 2, 1, 3).reshape(weights.shape[1], -1)
    return np.asarray((weights @ rows).reshape(len(weights), -1, 3))


def fit_rest(paths: Array, shares: Array, motions: Array, before: Array) -> Array:
    """[V, 3] least squares, drawn a little to where the points were: a bone that never turns says nothing of them."""
    bones, frames = motions.shape[:2]
    turns, moves = motions[:, :, :3].reshape(bones, -1), motions[:, :, 3].reshape(bones, -1)
    out = np.empty_like(before)
    for part in _blocks(len(paths), 9 * frames):
        blended = (shares[part] @ turns).reshape(-1, frames, 3, 3)
        wanted = paths[part] - (shares[part] @ moves).reshape(-1, frames, 3)
        gram = np.einsum("vfij,vfkj->vik", blended, blended) + 1e-3 * frames * np.eye(3)
        right = np.einsum("vfij,vfj->vi", blended, wanted) + 1e-3 * frames * before[part]
        out[part] = np.linalg.solve(gram, right[..., None])[..., 0]
    return out


def fit_shares(paths: Array, rest: Array, motions: Array) -> Array:
    """[V, B] the best convex combinations of at most four bones."""
    bones, frames = motions.shape[:2]
    count = min(CANDIDATES, bones)
    rows = motions.transpose(0, 2, 1, 3).reshape(bones, 4, 3 * frames)
    homogeneous = np.concatenate([rest, np.ones((len(rest), 1))], axis=1)
    flat = paths.reshape(len(paths), -1)
    shares = np.zeros((len(rest), bones))
    for part in _blocks(len(rest), 3 * frames * bones):
        misses = np.einsum("vi,bij->vbj", homogeneous[part], rows, optimize=True) - flat[part][:, None]
        nearest = np.argsort((misses**2).sum(axis=2), axis=1)[:, :count]
        chosen = np.take_along_axis(misses, nearest[..., None], axis=1)
        found = _on_simplex(chosen @ chosen.transpose(0, 2, 1))
        np.put_along_axis(shares[part], nearest, found, axis=1)
    return shares


def _on_simplex(gram: Array) -> Array:
    """[n, k] the w of sum one, none negative and at most four positive, with the least w' gram w."""
    count, k = gram.shape[:2]
    gram = gram + 1e-6 * np.trace(gram, axis1=1, axis2=2)[:, None, None] * np.eye(k) + 1e-300 * np.eye(k)
    free = np.ones((count, k), bool)
    for _ in range(2 * k):
        both = free[:, :, None] & free[:, None]
        w = np.linalg.solve(np.where(both, gram, np.eye(k)), free[..., None].astype(float))[..., 0] * free
        w /= w.sum(axis=1, keepdims=True)
        crowded = (free.sum(axis=1) > MOST_BONES_OF_A_VERTEX) | (w < 0).any(axis=1)
        if not crowded.any():
            break
        worst = np.where(free, w, np.inf).argmin(axis=1)
        free[crowded, worst[crowded]] = False
    return np.asarray(w)


def refit_motions(paths: Array, rest: Array, shares: Array, motions: Array) -> Array:
    """Bone after bone, the rigid motion that leaves least given all others."""
    motions = motions.copy()
    missing = paths - skinned(Skin(rest, shares, motions))
    homogeneous = np.concatenate([rest, np.ones((len(rest), 1))], axis=1)
    for b in range(len(motions)):
        mine = np.flatnonzero(shares[:, b] > 0)
        share = shares[mine, b]
        weighed = homogeneous[mine] * share[:, None]
        own = np.einsum("vi,fij->vfj", weighed, motions[b], optimize=True)
        wanted = missing[mine] + own
        motions[b] = _rigid_motion(rest[mine], wanted / share[:, None, None], share**2)
        missing[mine] = wanted - np.einsum("vi,fij->vfj", weighed, motions[b], optimize=True)
    return motions


def _rigid_motion(points: Array, paths: Array, mass: Array) -> Array:
    """[F, 4, 3] the rotation and translation of each frame, weighed least squares (Kabsch)."""
    total = max(float(mass.sum()), 1e-300)
    centre, centres = mass @ points / total, np.tensordot(mass, paths, 1) / total
    spread = np.einsum("vi,vfj->fij", (points - centre) * mass[:, None], paths - centres, optimize=True)
    u, _, vt = np.linalg.svd(spread)
    flip = np.sign(np.linalg.det(u @ vt))
    u[:, :, 2] *= np.where(flip == 0, 1, flip)[:, None]
    turn = u @ vt
    return np.concatenate([turn, (centres - centre @ turn)[:, None]], axis=1)


def _rigid_clusters(paths: Array, rest: Array, bones: int) -> Index:
    """[V] grown by splitting the clusters that rigid motions fit worst, with a few rounds of Lloyd after each time."""
    index: Index = np.zeros(len(rest), np.intp)
    for _ in range(4 * bones):  # of clusters that fit alike one takes all: they may be split without end
        settled, errors = _settle(paths, rest, index, 2)
        if (parted := _split_worst(paths, settled, errors, bones)) is None:
            break
        index = parted
    return _settle(paths, rest, settled, 4)[0]


def _settle(paths: Array, rest: Array, index: Index, rounds: int) -> tuple[Index, Array]:
    """Each vertex in the cluster whose motion fits it best, and the squared error [V] that is left."""
    for _ in range(rounds):
        errors = _errors(paths, rest, index)
        index = _renumbered(errors.argmin(axis=1))
    return index, errors.min(axis=1)


def _split_worst(paths: Array, index: Index, errors: Array, bones: int) -> Index | None:
    """The worse half of the clusters cut in two, the part near the worst vertex leaves; None if nothing changes."""
    index, count = index.copy(), int(index.max()) + 1
    loss = np.bincount(index, errors)
    free = bones - count
    for worst in np.argsort(-loss)[: max(1, count // 2)]:
        mine = np.flatnonzero(index == worst)
        if len(mine) < 8 or loss[worst] <= 0 or free <= 0:
            continue
        far, centre = paths[mine[errors[mine].argmax()]], paths[mine].mean(axis=0)
        near = ((paths[mine] - far) ** 2).sum(axis=(1, 2)) < ((paths[mine] - centre) ** 2).sum(axis=(1, 2))
        if 3 <= near.sum() <= len(mine) - 3:
            index[mine[near]] = index.max() + 1
            free -= 1
    return index if index.max() >= count else None


def _errors(paths: Array, rest: Array, index: Index) -> Array:
    """[V, B] squared error of each vertex in the rigid motion of each cluster."""
    homogeneous = np.concatenate([rest, np.ones((len(rest), 1))], axis=1)
    flat, errors = paths.reshape(len(paths), -1), []
    for b in range(int(index.max()) + 1):
        mine = index == b
        motion = _rigid_motion(rest[mine], paths[mine], np.ones(mine.sum()))
        row = motion.transpose(1, 0, 2).reshape(4, -1)
        errors.append(((homogeneous @ row - flat) ** 2).sum(axis=1))
    return np.stack(errors, axis=1)


def _renumbered(index: Index) -> Index:
    return np.asarray(np.unique(index, return_inverse=True)[1], np.intp).reshape(-1)


def _typical_frame(paths: Array) -> int:
    """The frame nearest to the mean shape."""
    mean = paths.mean(axis=1)
    return int(np.argmin([((paths[:, f] - mean) ** 2).sum() for f in range(paths.shape[1])]))


def _blocks(count: int, width: int) -> Iterator[slice]:
    size = max(1, BLOCK_VALUES // width)
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))
