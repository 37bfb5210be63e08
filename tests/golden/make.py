"""Writes the golden stream of one codec: `python tests/golden/make.py ID[:SETTINGS]`. Never run by a test.

A golden is written once and decodes forever; a codec whose bitstream changes gets a new version and a new golden
beside the old one.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import kinepack
from kinepack.codecs.base import CODECS, matrix_of
from kinepack.model import Model
from kinepack.testing import awkward_clips, awkward_meshes

STREAMS = Path(__file__).parent / "streams"


def golden_sources() -> dict[str, Model]:
    """Tiny, so that every bit can be flipped."""
    clips = awkward_clips()
    return {
        "clip": clips["prime-length"].slice(0, 24),
        "keyed": clips["keyed"].slice(0, 46),
        "mesh": awkward_meshes()["wave"].slice(0, 5),
    }


def write_golden(spec: str) -> None:
    codec, _, settings = spec.partition(":")
    variant = "-" + settings.replace("=", "").replace(",", "-") if settings else ""
    for kind, source in golden_sources().items():
        if isinstance(source, CODECS[codec].sources):
            stem = STREAMS / codec / f"v{CODECS[codec].version}-{kind}{variant}"
            stem.parent.mkdir(parents=True, exist_ok=True)
            data = kinepack.compress(source, spec)
            Path(f"{stem}.kine").write_bytes(data)
            np.save(f"{stem}.npy", matrix_of(kinepack.decompress(data)))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        write_golden(name)
