"""glTF 2.0, as .glb and as .gltf text: skins, morph targets, and meshes of many frames."""

from __future__ import annotations

from collections.abc import Sequence

from kinepack.formats.base import FORMATS, Format, WriteOptions, Written
from kinepack.formats.gltf_read import read_gltf
from kinepack.formats.gltf_write import write_models
from kinepack.formats.guard import guarded
from kinepack.model import Clip, MeshSequence, Model


def write_glb(models: Sequence[Model], stem: str, options: WriteOptions) -> Written:
    """Clips of one skeleton, or one mesh sequence as morph targets."""
    return write_models(models, f"{stem}.glb")


def write_gltf(models: Sequence[Model], stem: str, options: WriteOptions) -> Written:
    """The same as text, numbers included."""
    return write_models(models, f"{stem}.gltf")


_READ = guarded(read_gltf)
_HOLDS = (Clip, MeshSequence)

# Two entries, because a writer learns only the stem of the file it is asked for.
FORMATS.add("gltf", Format("gltf", "glTF 2.0 (GLB)", (".glb",), _READ, write_glb, _HOLDS, several=True))
FORMATS.add("gltf-text", Format("gltf-text", "glTF 2.0 (text)", (".gltf",), _READ, write_gltf, _HOLDS, several=True))
