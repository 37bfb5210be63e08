"""Mesh sequences as NumPy archives: `vertices` [frames, vertices, 3], `faces` [triangles, 3], `fps`.

Written files add `frame_time` (exact, where 1/fps is not), `name` and `unit_cm`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinepack.errors import FormatError, UnsupportedContent
from kinepack.formats.archive import claimed_by, load_arrays, number_of, real_array, save_arrays, text_of
from kinepack.formats.base import FORMATS, Format, ReadOptions, Source, WriteOptions, Written
from kinepack.formats.guard import frame_time_of, guarded, read_within
from kinepack.model import MeshSequence, Model

_KEYS = ("vertices", "faces", "fps", "frame_time", "name", "unit_cm")


def read_mesh_npz(source: Source, options: ReadOptions) -> list[Model]:
    """One mesh sequence; without a rate in the file, `options.fps` or 30."""
    arrays = load_arrays(read_within(source, options.limits), _KEYS, limits=options.limits)
    vertices, faces = real_array(arrays, "vertices", ndim=3), real_array(arrays, "faces", ndim=2)
    if faces.dtype.kind not in "iu":
        raise FormatError("array 'faces' should hold whole numbers")
    if faces.size and not 0 <= int(faces.min()) <= int(faces.max()) < vertices.shape[1]:
        raise FormatError("a face names a vertex that does not exist")
    options.limits.charge("frames", vertices.shape[0])
    options.limits.charge("vertices", vertices.shape[1])
    options.limits.charge("faces", faces.shape[0])
    name = text_of(arrays["name"], "name") if "name" in arrays else ""
    unit_cm = number_of(arrays["unit_cm"], "unit_cm") if "unit_cm" in arrays else 100.0
    return [MeshSequence(vertices, faces, _frame_time(arrays, options), name, options.unit_cm or unit_cm)]


def _frame_time(arrays: Mapping[str, NDArray[Any]], options: ReadOptions) -> float:
    if "frame_time" in arrays:
        return number_of(arrays["frame_time"], "frame_time")
    if "fps" in arrays:
        return frame_time_of(number_of(arrays["fps"], "fps"))
    return frame_time_of(options.fps or 30.0)


def write_mesh_npz(models: Sequence[Model], stem: str, options: WriteOptions) -> Written:
    """One mesh sequence; nothing is lost."""
    mesh = only_mesh(models, "mesh-npz")
    arrays = {
        "vertices": mesh.vertices,
        "faces": mesh.faces,
        "fps": np.float32(mesh.fps),
        "frame_time": np.float64(mesh.frame_time),
        "name": np.array(mesh.name),
        "unit_cm": np.float64(mesh.unit_cm),
    }
    return Written({f"{stem}.npz": save_arrays(arrays)})


def only_mesh(models: Sequence[Model], format_id: str) -> MeshSequence:
    """The single mesh that a one-mesh format can write."""
    if len(models) != 1 or not isinstance(models[0], MeshSequence):
        raise UnsupportedContent(f"{format_id} holds exactly one mesh sequence, not {len(models)} models")
    return models[0]


FORMATS.add(
    "mesh-npz",
    Format(
        id="mesh-npz",
        title="Mesh sequence as a NumPy archive",
        extensions=(".npz",),
        read=guarded(read_mesh_npz),
        write=write_mesh_npz,
        holds=(MeshSequence,),
        claims=lambda source: claimed_by("mesh-npz", source),
    ),
)
