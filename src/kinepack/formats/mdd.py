"""MDD point caches: counts, frame times, float32 positions, all big-endian; triangles as for PC2."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kinepack.errors import FormatError
from kinepack.formats.base import FORMATS, Format, ReadOptions, Source, WriteOptions, Written
from kinepack.formats.guard import at_most, guarded, read_within, snapped_rate
from kinepack.formats.mesh_npz import only_mesh
from kinepack.formats.obj_sequence import write_obj
from kinepack.formats.pc2 import beside, cached_points
from kinepack.model import MeshSequence, Model

_HEADER = struct.Struct(">ii")
"""Frames, points."""


def read_mdd(source: Source, options: ReadOptions) -> list[Model]:
    """One mesh; its rate is `options.fps`, else that of the OBJ's remark, else that of the cache's times."""
    data = read_within(source, options.limits)
    if len(data) < _HEADER.size:
        raise FormatError("not an MDD point cache")
    frames, points = _HEADER.unpack_from(data)
    start = _HEADER.size + 4 * at_most("frames", frames, (len(data) - _HEADER.size) // 4)
    vertices = cached_points(data[start:], frames, points, ">f4", options)
    mesh = beside(source, vertices, options)
    if mesh.timed or options.fps is not None:
        return [mesh.sequence(mesh.frame_time)]
    return [mesh.sequence(_frame_time(np.frombuffer(data, ">f4", frames, _HEADER.size)) or mesh.frame_time)]


def _frame_time(times: NDArray[np.float32]) -> float | None:
    """The mean distance of the times, if they grow evenly; writers that leave them at zero tell nothing."""
    if len(times) < 2 or not np.isfinite(times).all():
        return None
    span = float(times[-1]) - float(times[0])
    if span <= 0:
        return None
    return 1 / snapped_rate((len(times) - 1) / span)


def write_mdd(models: Sequence[Model], stem: str, options: WriteOptions) -> Written:
    """The cache, and an OBJ with the triangles and the exact timing."""
    mesh = only_mesh(models, "mdd")
    times = (np.arange(mesh.frames) * mesh.frame_time).astype(">f4")
    header = _HEADER.pack(mesh.frames, mesh.vertices.shape[1])
    cache = header + times.tobytes() + mesh.vertices.astype(">f4").tobytes()
    return Written({f"{stem}.mdd": cache, f"{stem}.obj": write_obj(mesh, 0)})


FORMATS.add("mdd", Format("mdd", "MDD point cache", (".mdd",), guarded(read_mdd), write_mdd, (MeshSequence,)))
