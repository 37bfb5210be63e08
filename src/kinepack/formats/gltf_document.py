"""A glTF file opened: its structure (by pygltflib), its buffers, and its accessors as arrays."""

from __future__ import annotations

import base64
import binascii
import json
import struct
import warnings
from typing import Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from kinepack.errors import ConfigError, FormatError, UnsupportedContent
from kinepack.formats.base import ReadOptions, Source
from kinepack.formats.guard import at_most, read_within
from kinepack.limits import Limits

Array = NDArray[Any]

_COMPONENTS = {5120: "i1", 5121: "u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_SHAPES = {
    "SCALAR": (1, 1),
    "VEC2": (1, 2),
    "VEC3": (1, 3),
    "VEC4": (1, 4),
    "MAT2": (2, 2),
    "MAT3": (3, 3),
    "MAT4": (4, 4),
}
"""Columns and rows."""
_CODED = ("KHR_draco_mesh_compression", "EXT_meshopt_compression", "KHR_meshopt_compression")


def pygltflib() -> Any:
    """The library, imported when a glTF file is first touched."""
    try:
        import pygltflib as library
    except ImportError:
        raise ConfigError("glTF files need pygltflib", hint='pip install "kinepack[gltf]"') from None
    return library


class Document:
    """Structure and numbers of one file; every index is checked, every size charged."""

    def __init__(self, gltf: Any, buffers: list[bytes], limits: Limits) -> None:
        self.gltf, self.limits = gltf, limits
        self.nodes: list[Any] = list(gltf.nodes or [])
        self._buffers: list[bytes] = buffers
        self._decoded: dict[int, Array] = {}
        self.parents = _parents(self)
        """[nodes] -1 for roots."""

    @property
    def ours(self) -> dict[str, Any]:
        """What Kinepack noted when it wrote the file; empty for files of others."""
        return noted(self.gltf.asset)

    def item(self, kind: str, index: Any) -> Any:
        """Element `index` of the file's list called `kind`."""
        members = getattr(self.gltf, kind) or []
        if not isinstance(index, int) or not 0 <= index < len(members):
            raise FormatError(f"the file has no {kind}[{index}]")
        return members[index]

    def accessor(self, index: Any) -> Array:
        """[count, numbers] as float64, or as int64 for integers that are not normalised."""
        if index not in self._decoded:
            accessor = self.item("accessors", index)
            self._decoded[index] = _normalized(accessor, self._content(accessor))
        return self._decoded[index]

    def _content(self, accessor: Any) -> Array:
        kind, (columns, rows), count = _layout(accessor)
        self.limits.charge("values", count * columns * rows)
        if accessor.bufferView is None:  # all zeros: nothing in the file bounds their count
            at_most("elements of an accessor", count, sum(map(len, self._buffers)))
            result = np.zeros((count, columns * rows), kind)
        else:
            result = self._strided(accessor.bufferView, accessor.byteOffset, count, kind, (columns, rows))
        if accessor.sparse is not None:
            result = self._sparse(accessor.sparse, result, kind, (columns, rows))
        return result

    def _strided(self, view_index: Any, offset: Any, count: int, kind: str, shape: tuple[int, int]) -> Array:
        """[count, columns x rows]; matrices of small components have their columns padded to four bytes."""
        view = self.item("bufferViews", view_index)
        buffer = self._buffer(view.buffer)
        size = np.dtype(kind).itemsize
        column = shape[1] * size if shape[0] == 1 else -(-shape[1] * size // 4) * 4
        stride = view.byteStride or column * shape[0]
        first, start = int(view.byteOffset or 0), int(offset or 0)
        needed = start + stride * (count - 1) + column * shape[0] if count else 0
        length = int(view.byteLength or 0)
        inside = min(first, start, length) >= 0 and needed <= length and first + length <= len(buffer)
        if not inside or stride < column * shape[0]:
            raise FormatError(f"bufferViews[{view_index}] does not hold the {count:,} elements asked of it")
        if not count:
            return np.zeros((0, shape[0] * shape[1]), kind)
        content = np.ndarray((count, *shape), kind, buffer, first + start, (stride, column, size))
        return content.reshape(count, -1)

    def _sparse(self, sparse: Any, base: Array, kind: str, shape: tuple[int, int]) -> Array:
        """`base` with some elements replaced."""
        count = sparse.count
        if not isinstance(count, int) or not 0 <= count <= len(base) or not (sparse.indices and sparse.values):
            raise FormatError("a sparse accessor has more elements than its base, or none")
        places_kind = _COMPONENTS.get(sparse.indices.componentType, "<f4")
        if places_kind == "<f4":
            raise FormatError("a sparse accessor's indices should be whole numbers")
        at, by = sparse.indices, sparse.values
        places = self._strided(at.bufferView, at.byteOffset, count, places_kind, (1, 1))[:, 0]
        values = self._strided(by.bufferView, by.byteOffset, count, kind, shape)
        if count and not 0 <= places.min() <= places.max() < len(base):
            raise FormatError("a sparse accessor replaces an element that does not exist")
        result = base.copy()
        result[places.astype(np.int64)] = values
        return result

    def _buffer(self, index: Any) -> bytes:
        self.item("buffers", index)
        content: bytes = self._buffers[index]
        return content


def noted(owner: Any) -> dict[str, Any]:
    """The `kinepack` entry of an object's extras, if it is a table."""
    extras = getattr(owner, "extras", None)
    entry = extras.get("kinepack") if isinstance(extras, dict) else None
    return entry if isinstance(entry, dict) else {}


def _layout(accessor: Any) -> tuple[str, tuple[int, int], int]:
    kind, shape = _COMPONENTS.get(accessor.componentType), _SHAPES.get(accessor.type)
    if kind is None or shape is None or not isinstance(accessor.count, int) or accessor.count < 0:
        raise FormatError("an accessor has an unknown type or no count")
    return kind, shape, accessor.count


def _normalized(accessor: Any, content: Array) -> Array:
    if content.dtype.kind == "f":
        return content.astype(np.float64)
    if not accessor.normalized:
        return content.astype(np.int64)
    return np.maximum(content / float(np.iinfo(content.dtype).max), -1.0)


def open_document(source: Source, options: ReadOptions) -> Document:
    """Parses .glb or .gltf and gathers the buffers: the binary chunk, data URIs and files beside it."""
    data = read_within(source, options.limits)
    text, chunk = _glb_chunks(data) if data.startswith(b"glTF") else (data, None)
    gltf = _structure(text)
    for extension in gltf.extensionsRequired or []:
        if extension in _CODED:
            raise UnsupportedContent(f"the file is compressed with {extension}", hint="decompress it first")
    options.limits.charge("joints", len(gltf.nodes or []))
    options.limits.charge("clips", len(gltf.animations or []))
    buffers = [_buffer_content(buffer, chunk, source, options.limits) for buffer in gltf.buffers or []]
    return Document(gltf, buffers, options.limits)


def _glb_chunks(data: bytes) -> tuple[bytes, bytes | None]:
    """The JSON text and the binary chunk, if any."""
    if len(data) < 20:
        raise FormatError("the GLB file ends in its header")
    _, version, length, json_length, json_kind = struct.unpack_from("<4sIII4s", data)
    if version != 2 or json_kind != b"JSON":
        raise FormatError(f"not a glTF 2 file (container version {version})")
    if length > len(data) or 20 + json_length > length:
        raise FormatError(f"the GLB file declares {length:,} bytes and has {len(data):,}")
    start = 20 + json_length
    if start + 8 > length:
        return data[20:start], None
    size, kind = struct.unpack_from("<I4s", data, start)
    if kind != b"BIN\0":
        return data[20:start], None
    if start + 8 + size > length:
        raise FormatError("the GLB file's binary chunk ends early")
    return data[20:start], data[start + 8 : start + 8 + size]


def _structure(text: bytes) -> Any:
    library = pygltflib()
    try:
        table = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"the JSON is damaged: {error}", line=getattr(error, "lineno", 0)) from None
    if not isinstance(table, dict) or not isinstance(table.get("asset"), dict):
        raise FormatError("not a glTF file: it has no asset")
    if not str(table["asset"].get("version", "")).startswith("2."):
        raise FormatError(f"only glTF 2 is read, the file says {table['asset'].get('version')!r}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the library remarks on every field that a file leaves out
        try:
            return library.GLTF2.from_dict(table)
        except Exception as error:  # its decoder raises whatever the wrong type led to
            raise FormatError(f"the glTF structure is damaged: {error}") from None


def _buffer_content(buffer: Any, chunk: bytes | None, source: Source, limits: Limits) -> bytes:
    uri = buffer.uri
    length = limits.charge("bytes", int(buffer.byteLength or 0))
    if uri is None:
        content = chunk or b""
    elif str(uri).startswith("data:"):
        content = _data_uri(str(uri))
    else:
        name = unquote(str(uri)).removeprefix("./")
        if name not in source.neighbours():
            raise FormatError(f"the buffer {name[:80]!r} is not beside the file")
        content = source.neighbour(name)
    if length > len(content):
        raise FormatError(f"a buffer declares {length:,} bytes and has {len(content):,}")
    return content[:length]


def _data_uri(uri: str) -> bytes:
    head, comma, body = uri.partition(",")
    if not comma or not head.endswith(";base64"):
        raise FormatError("a buffer's data URI is not base64")
    try:
        return base64.b64decode(body, validate=False)
    except (binascii.Error, ValueError) as error:
        raise FormatError(f"a buffer's data URI is damaged: {error}") from None


def _parents(document: Document) -> list[int]:
    """Each node's parent; FormatError unless the nodes form trees."""
    count = len(document.nodes)
    parents = [-1] * count
    for index, node in enumerate(document.nodes):
        for child in node.children or []:
            if not isinstance(child, int) or not 0 <= child < count or parents[child] >= 0:
                raise FormatError(f"nodes[{index}] has a child that does not exist or has another parent")
            parents[child] = index
    reached = [index for index, parent in enumerate(parents) if parent < 0]
    for index in reached:  # grows while it is walked
        reached += document.nodes[index].children or []
    if len(reached) != count:
        raise FormatError("a node is its own ancestor")
    return parents
