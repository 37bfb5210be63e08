"""An animated mesh: fixed connectivity, one set of vertex positions per frame."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinepack.errors import UsageError
from kinepack.model.clip import check_timing, frozen_array, writable_text


@dataclass(frozen=True, eq=False)
class MeshSequence:
    """`vertices[frame, vertex, xyz]` float32 and `faces[triangle, corner]` int32; both read-only."""

    vertices: NDArray[np.float32]
    faces: NDArray[np.int32]
    frame_time: float = 1 / 30
    """Seconds from one frame to the next."""
    name: str = ""
    unit_cm: float = 100.0
    """Centimetres per unit of length; metres by default, as in glTF."""

    def __post_init__(self) -> None:
        vertices, faces = frozen_array(self.vertices, np.float32), frozen_array(self.faces, np.int32)
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "faces", faces)
        object.__setattr__(self, "name", writable_text(self.name))
        if vertices.ndim != 3 or vertices.shape[2] != 3 or vertices.shape[1] < 1:
            raise UsageError(f"a mesh sequence needs [frames, vertices, 3], not {list(vertices.shape)}")
        if faces.ndim != 2 or faces.shape[1] != 3:
            raise UsageError(f"a mesh sequence needs [triangles, 3] faces, not {list(faces.shape)}")
        if faces.size and not (faces.min() >= 0 and faces.max() < vertices.shape[1]):
            raise UsageError("a face names a vertex that does not exist")
        if not all(np.isfinite(frame).all() for frame in vertices):  # the array may be a map larger than memory
            frame, vertex, _ = np.argwhere(~np.isfinite(vertices))[0]
            raise UsageError(f"frame {frame}, vertex {vertex} is not finite")
        if not (np.isfinite(self.unit_cm) and self.unit_cm > 0):
            raise UsageError(f"centimetres per unit must be positive, not {self.unit_cm}")
        check_timing(len(vertices), self.frame_time)

    @property
    def frames(self) -> int:
        return len(self.vertices)

    @property
    def fps(self) -> float:
        return 1 / self.frame_time

    @property
    def duration(self) -> float:
        """Seconds."""
        return self.frames * self.frame_time

    def with_vertices(self, vertices: NDArray[Any]) -> MeshSequence:
        """The same mesh moved otherwise."""
        return dataclasses.replace(self, vertices=vertices)

    def slice(self, start: int, stop: int) -> MeshSequence:
        """Frames start..stop-1."""
        return dataclasses.replace(self, vertices=self.vertices[start:stop])

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, MeshSequence)
            and (self.frame_time, self.name, self.unit_cm) == (other.frame_time, other.name, other.unit_cm)
            and np.array_equal(self.vertices, other.vertices)
            and np.array_equal(self.faces, other.faces)
        )

    __hash__ = None  # type: ignore[assignment]
