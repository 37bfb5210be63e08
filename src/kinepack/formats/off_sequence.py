"""OFF (Object File Format) as text, one file per frame; colours and normals are passed over."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from kinepack.errors import FormatError
from kinepack.formats.base import ReadOptions
from kinepack.formats.guard import at_most
from kinepack.formats.sequence import Frame, fan, parse_rows, register, remark, shortest_rows, to_float32
from kinepack.model import MeshSequence

_HEADER = re.compile(rb"(ST)?C?N?OFF(\s+BINARY)?", re.IGNORECASE)


def read_off(data: bytes, options: ReadOptions) -> Frame:
    """One frame; polygons are fanned."""
    lines, numbers = _content_lines(data)
    counts = _counts(lines, numbers)
    vertices = at_most("vertices", counts[0], len(lines) - 1, line=numbers[0])
    faces = at_most("faces", counts[1], len(lines) - 1 - vertices, line=numbers[0])
    options.limits.charge("vertices", vertices)
    options.limits.charge("faces", faces)
    if not vertices:
        raise FormatError("there are no vertices")
    rows = parse_rows(lines[1 : 1 + vertices], 3, numbers[1 : 1 + vertices])
    end = 1 + vertices + faces
    return Frame(to_float32(rows), _faces(lines[1 + vertices : end], numbers[1 + vertices : end], vertices))


def _content_lines(data: bytes) -> tuple[list[bytes], list[int]]:
    """Lines with content, the header word removed (so the first has the counts), and their numbers."""
    lines = [line.partition(b"#")[0].strip() for line in data.splitlines()]
    filled = [i for i, line in enumerate(lines) if line]
    header = _HEADER.match(lines[filled[0]]) if filled else None
    if header and header[2]:
        raise FormatError("binary OFF files are not supported", hint="save the file as text")
    if not header:
        raise FormatError("not an OFF file")
    rest = lines[filled[0]][header.end() :].strip()
    content = [rest] if rest else []
    kept = filled[0:1] if rest else []
    return content + [lines[i] for i in filled[1:]], [i + 1 for i in kept + filled[1:]]


def _counts(lines: list[bytes], numbers: list[int]) -> tuple[int, int]:
    words = lines[0].split() if lines else []
    if len(words) < 2 or not all(w.isdigit() and len(w) < 12 for w in words[:2]):
        raise FormatError("the counts of vertices and faces are missing", line=numbers[0] if numbers else 1)
    return int(words[0]), int(words[1])


def _faces(lines: list[bytes], numbers: list[int], vertices: int) -> NDArray[np.int32]:
    polygons = [line.split() for line in lines]
    try:
        sizes = [int(p[0]) for p in polygons]
        for size, polygon, number in zip(sizes, polygons, numbers, strict=True):
            if not 3 <= size < len(polygon):
                raise FormatError(f"a face declares {size} corners and has {len(polygon) - 1}", line=number)
        corners = [int(w) for size, p in zip(sizes, polygons, strict=True) for w in p[1 : size + 1]]
    except ValueError as error:
        raise FormatError(f"a face has something that is not a whole number: {error}") from None
    if corners and not 0 <= min(corners) <= max(corners) < vertices:
        raise FormatError("a face names a vertex that does not exist")
    return fan(np.array(corners, np.int64), np.array(sizes, np.int64), vertices)


def write_off(mesh: MeshSequence, frame: int) -> bytes:
    """One frame in the fewest digits that read back to the same float32."""
    lines = ["OFF", f"# {remark(mesh)}", f"{mesh.vertices.shape[1]} {len(mesh.faces)} 0"]
    lines += shortest_rows(mesh.vertices[frame])
    lines += [f"3 {row}" for row in shortest_rows(mesh.faces)]
    return ("\n".join(lines) + "\n").encode()


register("off", "OFF, a file per frame", read_off, write_off)
