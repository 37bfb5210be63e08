"""PC2 point caches: a header and float32 positions, little-endian; triangles come from the OBJ beside it."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kinepack.errors import FormatError
from kinepack.formats.base import FORMATS, Format, ReadOptions, Source, WriteOptions, Written
from kinepack.formats.guard import guarded, read_within
from kinepack.formats.mesh_npz import only_mesh
from kinepack.formats.obj_sequence import read_obj, write_obj
from kinepack.formats.sequence import has_remark, read_named, timing
from kinepack.formats.text import stem_of
from kinepack.model import MeshSequence, Model

_HEADER = struct.Struct("<12siiffi")
"""Magic, version, points, start frame, frames per sample, samples."""
_MAGIC = b"POINTCACHE2\0"


def read_pc2(source: Source, options: ReadOptions) -> list[Model]:
    """One mesh; the rate of its frames is `options.fps`, else that of the OBJ's remark, else 30."""
    data = read_within(source, options.limits)
    if len(data) < _HEADER.size or not data.startswith(_MAGIC):
        raise FormatError("not a PC2 point cache")
    _, version, points, _, step, samples = _HEADER.unpack_from(data)
    if version != 1:
        raise FormatError(f"the point cache has version {version}, only 1 is known")
    vertices = cached_points(data[_HEADER.size :], samples, points, "<f4", options)
    mesh = beside(source, vertices, options)
    if mesh.timed:
        return [mesh.sequence(mesh.frame_time)]
    if not 0 < step < float("inf"):
        raise FormatError(f"a sample should last a positive number of frames, not {step}")
    return [mesh.sequence(mesh.frame_time * step)]


def write_pc2(models: Sequence[Model], stem: str, options: WriteOptions) -> Written:
    """The cache, and an OBJ with the triangles and the exact timing."""
    mesh = only_mesh(models, "pc2")
    header = _HEADER.pack(_MAGIC, 1, mesh.vertices.shape[1], 0.0, 1.0, mesh.frames)
    cache = header + mesh.vertices.astype("<f4").tobytes()
    return Written({f"{stem}.pc2": cache, f"{stem}.obj": write_obj(mesh, 0)})


# What both kinds of point cache do.


def cached_points(data: bytes, frames: int, points: int, dtype: str, options: ReadOptions) -> NDArray[np.float32]:
    """[frames, points, 3] that fill `data` exactly, or up to trailing bytes."""
    count = frames * points * 3
    if min(frames, points) < 0 or count * 4 > len(data):
        needed = f"{frames:,} frames of {points:,} points need {count * 4:,} bytes"
        raise FormatError(f"{needed}, there are {len(data):,}")
    options.limits.charge("frames", frames)
    options.limits.charge("vertices", points)
    options.limits.charge("values", count)
    return np.frombuffer(data, dtype, count).reshape(frames, points, 3).astype(np.float32)


class Beside:
    """A cache's points with what its neighbour OBJ adds."""

    def __init__(self, vertices: NDArray[np.float32], name: str) -> None:
        self.vertices, self.name = vertices, name
        self.faces: NDArray[np.int32] = np.zeros((0, 3), np.int32)
        self.timed = False
        """Whether the OBJ's remark tells the exact frame time."""
        self.frame_time, self.unit_cm = 1 / 30, 100.0

    def sequence(self, frame_time: float) -> MeshSequence:
        return MeshSequence(self.vertices, self.faces, frame_time, self.name, self.unit_cm)


def beside(source: Source, vertices: NDArray[np.float32], options: ReadOptions) -> Beside:
    """Looks for the OBJ with the same stem; without one the mesh has no triangles."""
    stem = stem_of(source.name)
    result = Beside(vertices, stem)
    data = source.neighbour(f"{stem}.obj") if f"{stem}.obj" in source.neighbours() else b""
    result.frame_time, result.unit_cm = timing(data, options)
    result.timed = options.fps is None and has_remark(data)
    if data:
        options.limits.charge("bytes", len(data))
        frame = read_named(read_obj, data, f"{stem}.obj", options)
        if len(frame.vertices) != vertices.shape[1]:
            counts = f"{len(frame.vertices):,} vertices, the cache has {vertices.shape[1]:,}"
            raise FormatError(f"{stem}.obj has {counts}", hint="move the OBJ away to read the points alone")
        result.faces = frame.faces
    return result


FORMATS.add("pc2", Format("pc2", "PC2 point cache", (".pc2",), guarded(read_pc2), write_pc2, (MeshSequence,)))
