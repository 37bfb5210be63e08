"""The two things Kinepack handles: skeletal clips and mesh sequences."""

from kinepack.model.clip import Clip
from kinepack.model.mesh import MeshSequence
from kinepack.model.skeleton import Channel, Joint, Skeleton

Model = Clip | MeshSequence

__all__ = ["Channel", "Clip", "Joint", "MeshSequence", "Model", "Skeleton"]
