"""Two animations made by code, so that everything can be tried without a file at hand."""

from kinepack.samples.fish import fish
from kinepack.samples.human import human

__all__ = ["fish", "human"]
