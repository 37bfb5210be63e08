"""What the lossless coder of `kine` knows before the first number (docs/codecs/kine.md)."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources


@lru_cache(maxsize=1)
def exact_prior() -> bytes:
    return resources.files("kinepack.codecs").joinpath("kine_exact_prior.bin").read_bytes()
