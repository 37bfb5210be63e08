"""Kernel of the connectivity coder: triangles as a walk over the mesh (docs/format.md, "Coded faces")."""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels._binding import Buffer, check, data_pointer, encode_growing, ffi, lib, pointer
from kinepack.errors import Corrupt, Truncated

Faces = NDArray[np.int32]
KEPT = 0
WALKS = (1, 3, 5, 7)
"""Bit 0: the walk orders the faces; bit 1: it goes by vertex numbers; bit 2: new vertices count from the lowest."""
FACE_POLICIES = (KEPT, *WALKS)
NONE = 0xFFFFFFFF


def partners(faces: Faces) -> NDArray[np.uint32]:
    """[3 T] the opposite of each half-edge 3t + i (corner i to the next), or NONE; the n-th pairs with the n-th."""
    start, stop = faces.ravel().astype(np.int64), faces[:, [1, 2, 0]].ravel().astype(np.int64)
    span = int(faces.max(initial=0)) + 1
    ahead, back = start * span + stop, stop * span + start
    order = np.argsort(ahead, kind="stable")
    ranked = ahead[order]
    first = np.searchsorted(ranked, back)
    found = np.full(len(ahead), NONE, np.uint32)
    turn = np.empty(len(ahead), np.int64)
    turn[order] = np.arange(len(ahead)) - np.searchsorted(ranked, ranked)
    at = first + turn
    inside = at < len(ahead)
    match = inside.copy()
    match[inside] = ranked[at[inside]] == back[inside]
    found[match] = order[at[match]]
    return found


def plain_faces(faces: NDArray[np.int32]) -> bytes:
    """Differences to the corner before, zigzag, in four byte planes, deflated."""
    corners = faces.ravel().astype(np.int64)
    steps = corners - np.concatenate([[0], corners[:-1]])[: len(corners)]
    planes = ((steps << 1) ^ (steps >> 63)).astype("<u4").view(np.uint8).reshape(-1, 4).T
    return zlib.compress(planes.tobytes(), 9)


def walk_faces(faces: Faces, vertices: int, policy: int) -> tuple[bytes, Faces]:
    """Policy byte and coded faces, and the faces as they decode: in the walk's order unless the policy is KEPT."""
    source = np.ascontiguousarray(faces, np.int32)
    behind, own = partners(source), np.empty(3 * len(source), np.uint32)
    walked = np.empty_like(source)
    words, keys, masks = _scratch(len(source), vertices)

    def call(out: object, capacity: int, size: object) -> int:
        done = np.zeros(max(len(source), 1), np.uint8)
        return int(
            lib.kp_faces_encode(
                pointer(source), len(source), vertices, policy, pointer(behind), pointer(own), pointer(done),
                pointer(walked), pointer(words), pointer(keys), pointer(masks), out, capacity, size,
            )
        )  # fmt: skip

    return bytes([policy]) + encode_growing("faces", 64 + 2 * len(source), call), walked


def encode_faces(faces: Faces, vertices: int, policy: int) -> bytes | None:
    """Coded faces, or None where the policy would change their order."""
    data, walked = walk_faces(faces, vertices, policy)
    return data if np.array_equal(walked, faces) else None


def decode_faces(data: Buffer, count: int, vertices: int) -> Faces:
    """The faces [count, 3] as they were."""
    if not len(data):
        raise Truncated("the mesh's faces are cut short")
    if data[0] not in FACE_POLICIES:
        raise Corrupt("the mesh's faces are coded by no known policy")
    if count > (len(data) + 8) << 14:  # a range coder spends more than 2^-11 bits on each
        raise Corrupt("the mesh's faces are cut short")
    out = np.empty((count, 3), np.int32)
    words, keys, masks = _scratch(count, vertices)
    source, size = data_pointer(bytes(data[1:]))
    status = lib.kp_faces_decode(
        source, size, pointer(out), count, vertices, data[0], pointer(words), pointer(keys), pointer(masks)
    )
    check(status, "faces")
    return out


def _scratch(faces: int, vertices: int) -> tuple[NDArray[np.uint32], NDArray[np.uint64], NDArray[np.uint8]]:
    words, masks = ffi.new("size_t *"), ffi.new("size_t *")
    check(lib.kp_faces_scratch(faces, vertices, words, masks), "faces")
    return np.empty(words[0], np.uint32), np.empty(max(3 * faces, 1), np.uint64), np.empty(max(masks[0], 1), np.uint8)
