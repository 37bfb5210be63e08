"""Awkward sources and checks for anyone who writes a codec."""

from kinepack.testing.sources import awkward_clips, awkward_meshes, surface

__all__ = ["awkward_clips", "awkward_meshes", "surface"]
