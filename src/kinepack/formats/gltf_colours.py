"""A mesh sequence as GLB with a colour at each vertex."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinepack.formats.gltf_builder import VERTICES
from kinepack.formats.gltf_write import _built_mesh
from kinepack.model import MeshSequence


def coloured_mesh(mesh: MeshSequence, colours: NDArray[Any]) -> bytes:
    """The bytes of a GLB file; `colours` [V, 3] are red, green, blue from 0 to 1, linear."""
    builder, _ = _built_mesh(mesh)
    attributes = builder.gltf.meshes[0].primitives[0].attributes
    attributes.COLOR_0 = builder.array(np.asarray(colours, np.float32), "VEC3", target=VERTICES)
    data: bytes = builder.glb()
    return data
