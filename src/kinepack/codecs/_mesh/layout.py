"""What the mesh codecs do with faces."""

from __future__ import annotations

from kinepack.codecs.base import Topology
from kinepack.model import MeshSequence
from kinepack.transforms.connectivity import cheapest_order


def mesh_layout(source: MeshSequence, face_order: str) -> Topology:
    """The fixed part of a mesh, its faces in their own order ("kept") or the cheapest to store ("any")."""
    vertices = source.vertices.shape[1]
    faces = cheapest_order(source.faces, vertices) if face_order == "any" else source.faces
    return Topology(faces, vertices, source.unit_cm)
