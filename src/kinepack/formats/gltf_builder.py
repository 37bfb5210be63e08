"""Puts arrays and nodes together to a GLB file."""

from __future__ import annotations

import base64
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinepack.errors import UnsupportedContent
from kinepack.formats.gltf_document import pygltflib

FLOAT, VERTICES, INDICES = np.float32, 34962, 34963
"""Component type of most arrays, and the two targets of a buffer view."""
_COMPONENTS = {"uint8": 5121, "uint16": 5123, "uint32": 5125, "float32": 5126}


class Builder:
    """A growing glTF file: each method adds something and returns its index."""

    def __init__(self, note: dict[str, Any]) -> None:
        self.library = pygltflib()
        asset = self.library.Asset(version="2.0", generator="Kinepack", extras={"kinepack": note})
        self.gltf = self.library.GLTF2(asset=asset, scene=0, scenes=[self.library.Scene(nodes=[])])
        self._chunks: list[bytes] = []
        self._size = 0
        self._times: dict[tuple[int, float], int] = {}

    def array(self, values: NDArray[Any], kind: str, *, target: int | None = None, bounds: bool = False) -> int:
        """An accessor of its own buffer view; float64 is rounded to float32."""
        with np.errstate(over="ignore"):
            stored = np.ascontiguousarray(values, None if values.dtype.name in _COMPONENTS else FLOAT)
        if stored.dtype == FLOAT and not np.isfinite(stored).all():
            raise UnsupportedContent("glTF holds float32 numbers, and some are too large for that")
        content = stored.tobytes()
        library = self.library
        view = library.BufferView(buffer=0, byteOffset=self._size, byteLength=len(content), target=target)
        self.gltf.bufferViews.append(view)
        self._chunks.append(content + b"\0" * (-len(content) % 4))
        self._size += len(self._chunks[-1])
        rows = stored.reshape(len(stored), -1) if kind != "SCALAR" else stored.reshape(-1, 1)
        accessor = library.Accessor(
            bufferView=len(self.gltf.bufferViews) - 1,
            componentType=_COMPONENTS[stored.dtype.name],
            count=len(rows),
            type=kind,
            min=[v.item() for v in rows.min(axis=0)] if bounds else [],
            max=[v.item() for v in rows.max(axis=0)] if bounds else [],
        )
        self.gltf.accessors.append(accessor)
        return len(self.gltf.accessors) - 1

    def node(self, **fields: Any) -> int:
        self.gltf.nodes.append(self.library.Node(**fields))
        return len(self.gltf.nodes) - 1

    def show(self, node: int) -> None:
        """Puts a node at the root of the scene."""
        self.gltf.scenes[0].nodes.append(node)

    def mesh(self, primitive: Any, **fields: Any) -> int:
        self.gltf.meshes.append(self.library.Mesh(primitives=[primitive], **fields))
        return len(self.gltf.meshes) - 1

    def times(self, frames: int, frame_time: float) -> int:
        """The key times of an even grid that starts at zero; clips with the same grid share them."""
        key = (frames, frame_time)
        if key not in self._times:
            times = (np.arange(frames) * frame_time).astype(FLOAT)
            if not np.isfinite(times).all() or np.any(np.diff(times) <= 0):
                raise UnsupportedContent("glTF's float32 key times cannot tell so many frames apart")
            self._times[key] = self.array(times, "SCALAR", bounds=True)
        return self._times[key]

    def animation(self, name: str, frames: int, frame_time: float) -> Any:
        """An empty animation that notes its exact timing."""
        note = {"kinepack": {"frames": frames, "frame_time": float(frame_time)}}
        animation = self.library.Animation(name=name or None, extras=note)
        self.gltf.animations.append(animation)
        return animation

    def track(self, animation: Any, node: int, path: str, times: int, output: int) -> None:
        """Adds one animated property, interpolated linearly."""
        library = self.library
        animation.samplers.append(library.AnimationSampler(input=times, output=output, interpolation="LINEAR"))
        target = library.AnimationChannelTarget(node=node, path=path)
        animation.channels.append(library.AnimationChannel(sampler=len(animation.samplers) - 1, target=target))

    def text(self) -> bytes:
        """The file as JSON, its numbers in a data URI."""
        binary = base64.b64encode(b"".join(self._chunks)).decode()
        return self._json(uri=f"data:application/octet-stream;base64,{binary}")

    def _json(self, **buffer: Any) -> bytes:
        self.gltf.buffers = [self.library.Buffer(byteLength=self._size, **buffer)]
        text: str = self.gltf.to_json(separators=(",", ":"))
        return text.encode()

    def glb(self) -> bytes:
        """The file: header, JSON chunk, binary chunk."""
        text = self._json()
        text += b" " * (-len(text) % 4)
        binary = b"".join(self._chunks)
        total = 12 + 8 + len(text) + 8 + len(binary)
        header = struct.pack("<4sIII4s", b"glTF", 2, total, len(text), b"JSON")
        return b"".join([header, text, struct.pack("<I4s", len(binary), b"BIN\0"), binary])
