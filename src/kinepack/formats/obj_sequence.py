"""Wavefront OBJ, one file per frame: `v x y z` and `f i j k …`; all other lines are passed over."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinepack.errors import FormatError
from kinepack.formats.base import ReadOptions
from kinepack.formats.sequence import Frame, fan, parse_rows, register, remark, shortest_rows, to_float32
from kinepack.model import MeshSequence


def read_obj(data: bytes, options: ReadOptions) -> Frame:
    """One frame; polygons are fanned, negative indices count back from the vertices so far."""
    if b"\\" in data:
        data = data.replace(b"\\\r\n", b" ").replace(b"\\\n", b" ")
    lines = data.splitlines()
    vertex_lines = [i for i, line in enumerate(lines) if line[:2] in (b"v ", b"v\t")]
    face_lines = [i for i, line in enumerate(lines) if line[:2] in (b"f ", b"f\t")]
    options.limits.charge("vertices", len(vertex_lines))
    options.limits.charge("faces", len(face_lines))
    if not vertex_lines:
        raise FormatError("there are no vertices")
    rows = parse_rows([lines[i][2:] for i in vertex_lines], 3, [i + 1 for i in vertex_lines])
    faces = _faces([lines[i][2:] for i in face_lines], np.array(face_lines), np.array(vertex_lines))
    return Frame(to_float32(rows), faces)


def _faces(lines: list[bytes], line_numbers: NDArray[np.intp], vertex_lines: NDArray[np.intp]) -> NDArray[np.int32]:
    polygons = [line.split() for line in lines]
    sizes = np.array([len(p) for p in polygons], np.int64)
    words = [word.partition(b"/")[0] for polygon in polygons for word in polygon]
    try:
        corners = np.array(words, dtype=bytes).astype(np.int64) if words else np.zeros(0, np.int64)
    except (ValueError, OverflowError):
        raise _bad_face(polygons, line_numbers) from None
    if corners.size and corners.min() < 0:
        before = np.repeat(np.searchsorted(vertex_lines, line_numbers), sizes)
        corners = np.where(corners < 0, corners + before + 1, corners)
    return fan(corners - 1, sizes, len(vertex_lines))


def _bad_face(polygons: list[list[bytes]], line_numbers: NDArray[np.intp]) -> FormatError:
    for polygon, line in zip(polygons, line_numbers, strict=True):
        for word in polygon:
            if not word.partition(b"/")[0].lstrip(b"+-").isdigit():
                return FormatError(f"{word[:40]!r} is not a vertex number", line=int(line) + 1)
    return FormatError("a vertex number is too large")


def write_obj(mesh: MeshSequence, frame: int) -> bytes:
    """One frame in the fewest digits that read back to the same float32."""
    lines = [f"# {remark(mesh)}"]
    lines += [f"v {row}" for row in shortest_rows(mesh.vertices[frame])]
    lines += [f"f {row}" for row in shortest_rows(mesh.faces + 1)]
    return ("\n".join(lines) + "\n").encode()


register("obj", "Wavefront OBJ, a file per frame", read_obj, write_obj)
