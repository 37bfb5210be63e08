"""PLY, one file per frame: reads text and binary of either byte order, writes little-endian binary."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinepack.errors import FormatError
from kinepack.formats.base import ReadOptions
from kinepack.formats.guard import at_most
from kinepack.formats.sequence import Frame, fan, register, remark, to_float32
from kinepack.model import MeshSequence

_TYPES = {
    "char": "i1",
    "uchar": "u1",
    "short": "i2",
    "ushort": "u2",
    "int": "i4",
    "uint": "u4",
    "float": "f4",
    "int8": "i1",
    "uint8": "u1",
    "int16": "i2",
    "uint16": "u2",
    "int32": "i4",
    "uint32": "u4",
    "float32": "f4",
    "double": "f8",
    "float64": "f8",
}
_ORDERS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}
_CORNERS = ("vertex_indices", "vertex_index")


@dataclass
class _Element:
    name: str
    count: int
    line: int
    """Of the header, where it is declared."""
    scalars: list[tuple[str, str]] = field(default_factory=list)
    """Name and type of each property; that of a list's items for a list."""
    lists: dict[str, str] = field(default_factory=dict)
    """Name -> type of the length, for properties that are lists."""


def read_ply(data: bytes, options: ReadOptions) -> Frame:
    """One frame; polygons are fanned, other elements and properties passed over."""
    elements, order, start = _header(data)
    body = _TextBody(data[start:]) if order == "" else _BinaryBody(data, start, order)
    vertices, faces = None, np.zeros((0, 3), np.int32)
    for element in elements:
        what = "vertices" if element.name == "vertex" else "faces"
        options.limits.charge(what, at_most(f"{element.name} elements", element.count, len(data), line=element.line))
        columns = body.read(element)
        if element.name == "vertex":
            vertices = _positions(columns)
        elif element.name == "face":
            faces = _triangles(columns, 0 if vertices is None else len(vertices))
    if vertices is None or not len(vertices):
        raise FormatError("there are no vertices")
    return Frame(vertices, faces)


Columns = dict[str, Any]
"""Property -> [count] numbers, or (flat items, lengths) for a list."""


def _positions(columns: Columns) -> NDArray[np.float32]:
    if any(axis not in columns or isinstance(columns[axis], tuple) for axis in "xyz"):
        raise FormatError("the vertices have no x, y and z")
    return to_float32(np.stack([columns[axis] for axis in "xyz"], axis=1))


def _triangles(columns: Columns, vertices: int) -> NDArray[np.int32]:
    key = next((k for k in _CORNERS if isinstance(columns.get(k), tuple)), None)
    if key is None:
        raise FormatError("the faces have no list of vertex_indices")
    items, sizes = columns[key]
    return fan(items.astype(np.int64), sizes, vertices)


def _header(data: bytes) -> tuple[list[_Element], str, int]:
    """The elements, the byte order ("" for text) and where the content starts."""
    end = data.find(b"end_header")
    newline = data.find(b"\n", end)
    if not data.startswith(b"ply") or end < 0 or newline < 0:
        raise FormatError("not a PLY file, or its header does not end")
    elements: list[_Element] = []
    order: str | None = None
    for number, line in enumerate(data[:end].decode("latin-1").splitlines(), start=1):
        words = line.split()
        if not words or words[0] in ("ply", "comment", "obj_info"):
            continue
        if words[0] == "format" and len(words) > 1:
            order = _ORDERS.get(words[1])
        elif not _declare(elements, words, number):
            raise FormatError(f"{line[:40]!r} is not a line of a PLY header", line=number)
    if order is None:
        raise FormatError("the header names no known format")
    return elements, order, newline + 1


def _declare(elements: list[_Element], words: list[str], line: int) -> bool:
    """Takes an `element` or `property` line; False if it is neither."""
    if words[0] == "element" and len(words) == 3 and words[2].isdigit() and len(words[2]) < 12:
        elements.append(_Element(words[1], int(words[2]), line))
    elif words[0] == "property" and elements and len(words) == 3 and words[1] in _TYPES:
        elements[-1].scalars.append((words[2], _TYPES[words[1]]))
    elif words[:2] == ["property", "list"] and elements and len(words) == 5 and {*words[2:4]} <= set(_TYPES):
        elements[-1].scalars.append((words[4], _TYPES[words[3]]))
        elements[-1].lists[words[4]] = _TYPES[words[2]]
    else:
        return False
    return True


class _TextBody:
    """Numbers parted by blanks."""

    def __init__(self, text: bytes) -> None:
        try:
            self._numbers = np.array(text.split(), dtype=bytes).astype(np.float64)
        except ValueError as error:
            raise FormatError(f"the content has something that is not a number: {error}") from None
        self._at = 0

    def read(self, element: _Element) -> Columns:
        if not element.lists:
            width = len(element.scalars)
            rows = self._take(at_most("values", element.count * width, len(self._numbers) - self._at))
            table = rows.reshape(element.count, width)
            return {name: table[:, i] for i, (name, _) in enumerate(element.scalars)}
        return _read_rows(element, lambda _: float(self._take(1)[0]), lambda _, count: self._take(count))

    def _take(self, count: int) -> NDArray[np.float64]:
        if not 0 <= count <= len(self._numbers) - self._at:
            raise FormatError("the content ends early")
        self._at += count
        return self._numbers[self._at - count : self._at]


class _BinaryBody:
    """Packed numbers of one byte order."""

    def __init__(self, data: bytes, start: int, order: str) -> None:
        self._data, self._at, self._order = data, start, order

    def read(self, element: _Element) -> Columns:
        if not element.lists:
            return self._table(element, [(n, self._order + t) for n, t in element.scalars])
        return self._triangles_only(element) or _read_rows(
            element, lambda t: float(self._take(t, 1)[0]), lambda t, count: self._take(t, count)
        )

    def _table(self, element: _Element, fields: list[Any]) -> Columns:
        packed = np.dtype([(f"f{i}", *rest) for i, (_, *rest) in enumerate(fields)])
        size = packed.itemsize * element.count
        at_most("bytes", size, len(self._data) - self._at)
        table = np.frombuffer(self._data, packed, element.count, self._at) if size else np.zeros(0, packed)
        self._at += size
        return {name: table[f"f{i}"] for i, (name, *_) in enumerate(fields)}

    def _triangles_only(self, element: _Element) -> Columns | None:
        """The whole element at once if every list has three items; else None and nothing is taken."""
        if len(element.lists) != 1:
            return None
        (name, length), start = next(iter(element.lists.items())), self._at
        fields: list[Any] = []
        for key, kind in element.scalars:
            fields += [(_LENGTH, self._order + length)] if key == name else []
            fields.append((key, self._order + kind, (3,)) if key == name else (key, self._order + kind))
        width = np.dtype([(f"f{i}", *rest) for i, (_, *rest) in enumerate(fields)]).itemsize
        if element.count * width > len(self._data) - self._at:
            return None
        columns = self._table(element, fields)
        if not np.all(columns[_LENGTH] == 3):
            self._at = start
            return None
        columns[name] = (columns[name].reshape(-1), np.full(element.count, 3, np.int64))
        return columns

    def _take(self, kind: str, count: int) -> NDArray[Any]:
        size = np.dtype(kind).itemsize * count
        if not 0 <= size <= len(self._data) - self._at:
            raise FormatError("the content ends early")
        self._at += size
        return np.frombuffer(self._data, self._order + kind, count, self._at - size)


_LENGTH = "list length"  # no property can be called so: names have no blanks


def _read_rows(element: _Element, one: Any, many: Any) -> Columns:
    """Row by row, for lists of differing lengths."""
    items: dict[str, list[Any]] = {name: [] for name, _ in element.scalars}
    sizes: dict[str, list[int]] = {name: [] for name in element.lists}
    for _ in range(element.count):
        for name, kind in element.scalars:
            if name not in element.lists:
                items[name].append(one(kind))
                continue
            sizes[name].append(int(one(element.lists[name])))
            items[name].append(many(kind, sizes[name][-1]))
    columns: Columns = {name: np.array(items[name]) for name in items if name not in element.lists}
    for name in element.lists:
        flat = np.concatenate(items[name]) if items[name] else np.zeros(0)
        columns[name] = (flat, np.array(sizes[name], np.int64))
    return columns


def write_ply(mesh: MeshSequence, frame: int) -> bytes:
    """One frame, little-endian float32 and int32."""
    header = [
        *("ply", "format binary_little_endian 1.0", f"comment {remark(mesh)}"),
        *(f"element vertex {mesh.vertices.shape[1]}", *(f"property float {axis}" for axis in "xyz")),
        *(f"element face {len(mesh.faces)}", "property list uchar int vertex_indices", "end_header"),
    ]
    faces = np.zeros(len(mesh.faces), np.dtype([("count", "u1"), ("corners", "<i4", (3,))]))
    faces["count"], faces["corners"] = 3, mesh.faces
    head = ("\n".join(header) + "\n").encode()
    return b"".join([head, mesh.vertices[frame].astype("<f4").tobytes(), faces.tobytes()])


register("ply", "PLY, a file per frame", read_ply, write_ply)
