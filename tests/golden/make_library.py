"""Writes the golden library: `python tests/golden/make_library.py`. Never run by a test, and once is enough.

It is what use makes of a library: made, added to, with a clip replaced and one removed, and not compacted.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import kinepack
from kinepack.codecs.base import matrix_of
from kinepack.library import Library, Piece, add, create, pieces_of, remove
from kinepack.testing import awkward_clips, awkward_meshes

GOLDEN = Path(__file__).parent / "library" / "v1.kine"


def piece(name: str, model: kinepack.Clip | kinepack.MeshSequence, codec: str) -> Piece:
    (made,) = pieces_of(kinepack.compress(model, codec))
    return made.renamed(name).described({"take": name[-1]}, {"joint_max": 0.25}, "0123abcd")


def main() -> None:
    clip, mesh = awkward_clips()["prime-length"], awkward_meshes()["wave"]
    first = piece("a/1", clip.slice(0, 24), "raw:segment_s=0.1")
    create(GOLDEN, [first, piece("gone", clip.slice(5, 9), "raw")])
    add(GOLDEN, [piece("b/2", mesh.slice(0, 5), "delta-lzma"), piece("c/3", clip.slice(0, 9), "raw")])
    remove(GOLDEN, ["gone"])
    add(GOLDEN, [piece("c/3", clip.slice(9, 30), "delta-lzma")], replace=True)
    with Library(GOLDEN) as library:
        arrays = {name.replace("/", "_"): matrix_of(library[name].decode()) for name in library}
    np.savez(GOLDEN.with_suffix(".npz"), **arrays)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
