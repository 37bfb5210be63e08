"""STATIC chunk bodies: a skeleton, or a mesh's connectivity."""

from __future__ import annotations

import hashlib
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels._faces import FACE_POLICIES, decode_faces, encode_faces, plain_faces
from kinepack.container.layout import DIGEST_BYTES, FLOAT64, ByteReader, ByteWriter, StaticKind
from kinepack.container.skeletons import decode_skeleton, encode_skeleton
from kinepack.errors import Corrupt, UnsupportedVersion, UsageError
from kinepack.limits import DEFAULT_LIMITS, Limits
from kinepack.model import Skeleton

MeshStatic = tuple[NDArray[np.int32], int, float]
"""Faces [triangles, 3], vertex count, centimetres per unit."""


def pack_skeleton(skeleton: Skeleton) -> bytes:
    """The coded form, or zlib of the canonical JSON for skeletons that it cannot hold exactly."""
    coded = encode_skeleton(skeleton)
    if coded is not None:
        return bytes([StaticKind.CODED_SKELETON]) + coded
    return bytes([StaticKind.SKELETON]) + zlib.compress(skeleton.to_json().encode(), 9)


def pack_mesh(faces: NDArray[np.int32], vertices: int, unit_cm: float) -> bytes:
    """The shorter of faces as plain differences and as a walk over the mesh; both give back every number and order."""
    head = ByteWriter()
    head.varint(vertices)
    head.data += FLOAT64.pack(unit_cm)
    head.varint(len(faces))
    coded = [data for policy in FACE_POLICIES if (data := encode_faces(faces, vertices, policy)) is not None]
    bodies = [(StaticKind.MESH, plain_faces(faces)), *((StaticKind.CODED_MESH, data) for data in coded)]
    kind, body = min(bodies, key=lambda item: len(item[1]))
    return bytes([kind]) + bytes(head.data) + body


def unpack_static(body: bytes, limits: Limits = DEFAULT_LIMITS) -> Skeleton | MeshStatic:
    """Whatever a STATIC body holds."""
    kind = body[0] if body else -1
    if kind == StaticKind.SKELETON:
        return _unpack_skeleton(body[1:], limits)
    if kind == StaticKind.CODED_SKELETON:
        return decode_skeleton(body[1:], limits)
    if kind in (StaticKind.MESH, StaticKind.CODED_MESH):
        return _unpack_mesh(body[1:], limits, coded=kind == StaticKind.CODED_MESH)
    raise UnsupportedVersion(f"the file's static data is of a kind this reader does not know ({kind})")


def digest_of(static: Skeleton | MeshStatic) -> bytes:
    """Identity of static data by content, so that it can be kept in another file."""
    if isinstance(static, Skeleton):
        return static.digest
    faces, vertices, unit_cm = static
    return hashlib.sha256(FLOAT64.pack(unit_cm) + b"%d;" % vertices + faces.astype("<i4").tobytes()).digest()[
        :DIGEST_BYTES
    ]


def _unpack_skeleton(packed: bytes, limits: Limits) -> Skeleton:
    text = inflate(packed, 1000 * (limits.joints + limits.channels))
    try:
        skeleton = Skeleton.from_json(text.decode())
    except (UnicodeDecodeError, UsageError) as error:
        raise Corrupt(f"the skeleton in the file cannot be read: {error}") from None
    limits.charge("joints", len(skeleton.joints))
    limits.charge("channels", len(skeleton.channels))
    return skeleton


def _unpack_mesh(packed: bytes, limits: Limits, *, coded: bool) -> MeshStatic:
    source = ByteReader(packed)
    vertices = limits.charge("vertices", source.varint())
    unit_cm: Any = FLOAT64.unpack(source.take(8))[0]
    count = limits.charge("faces", source.varint())
    if vertices < 1 or not 0 < unit_cm < float("inf"):
        raise Corrupt("the mesh in the file makes no sense")
    rest = source.take(source.left)
    faces = decode_faces(rest, count, vertices) if coded else _differences(rest, count)
    if count and not (faces.min() >= 0 and faces.max() < vertices):
        raise Corrupt("the mesh in the file names a vertex that does not exist")
    return faces.astype(np.int32), vertices, unit_cm


def _differences(packed: bytes, count: int) -> NDArray[np.int64]:
    """Inverse of `plain_faces`."""
    planes = inflate(packed, 12 * count)
    if len(planes) != 12 * count:
        raise Corrupt("the mesh's faces are cut short")
    zigzag = np.ascontiguousarray(np.frombuffer(planes, np.uint8).reshape(4, -1).T).view("<u4").ravel().astype(np.int64)
    return np.asarray(np.cumsum((zigzag >> 1) ^ -(zigzag & 1)).reshape(-1, 3))


def inflate(packed: bytes, limit: int) -> bytes:
    """zlib with an upper bound on what comes out."""
    try:
        engine = zlib.decompressobj()
        data = engine.decompress(packed, limit + 1)
    except zlib.error:
        raise Corrupt("the file's static data cannot be decompressed") from None
    if len(data) > limit or not engine.eof or engine.unused_data:
        raise Corrupt("the file's static data is not of its declared size")
    return data
