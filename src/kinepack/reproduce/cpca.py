"""Tables 2 and 3 and Figures 4, 6, 9 and 10 of Sattler 2005, on other sequences: the paper's own are not to be had."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from kinepack.api import read
from kinepack.codecs.base import Codec, Progress, Stream, Topology, codec_from_spec
from kinepack.codecs.mesh_cpca import MeshCpca, payload_parts
from kinepack.container.static import pack_mesh
from kinepack.errors import UsageError
from kinepack.metrics.base import METRICS
from kinepack.metrics.rate import bpvf
from kinepack.model import MeshSequence

TABLE_2 = (
    ("chicken", 8.7, 0.002, 0, 60, 2), ("chicken", 4.7, 0.076, 0, 20, 10), ("chicken", 2.8, 0.139, 0, 20, 5),
    ("cow", 7.4, 0.16, 0, 40, 5), ("cow", 3.8, 0.50, 0, 20, 5), ("cow", 2.0, 1.47, 0, 10, 5),
    ("dolphin", 7.1, 0.024, 0, 20, 2), ("dolphin", 4.1, 0.033, 0, 10, 4), ("dolphin", 2.1, 0.168, 0, 10, 2),
    ("head", 7.4, 0.003, 0, 40, 10), ("head", 5.3, 0.003, 0, 60, 2), ("head", 2.5, 0.083, 0, 20, 5),
    ("dance", 6.1, 0.21, 0, 5, 10), ("dance", 4.9, 0.25, 40, 5, 10), ("dance", 4.3, 0.48, 35, 5, 10),
    ("dance", 2.5, 0.87, 0, 2, 10), ("dance", 1.9, 2.06, 15, 2, 10), ("dance", 1.3, 4.57, 10, 2, 10),
    ("face", 10.0, 0.013, 0, 5, 20), ("face", 5.1, 0.023, 50, 5, 20), ("face", 5.0, 0.029, 0, 5, 10),
    ("face", 2.5, 0.038, 25, 5, 10), ("face", 1.5, 0.058, 15, 5, 10),
)  # fmt: skip
"""As published: sequence, bpvf, d_a, c*, c, k. Its bpvf values fit Eq. 4 with 18 bits for some rows, 32 for others."""
PAIRS = ((2, 20), (4, 10), (5, 10), (5, 20), (10, 20))
"""(k, c) of Tables 2 and 3."""
C_STARS = (10, 20, 40, 60, 100, 0)
"""Of Figure 4; 0 is no second PCA."""
BITS = (8, 10, 12, 14, 16, 18, 20)
SHORT, LONG = "cow_idle", "hvgirl_samba_400f"
TIME_COMPRESSED = "mesh-cpca:k=10,c=20,starts=1,c_star={star}"
"""Figures 4 and 5, as the paper has them for its chicken."""


@dataclass(frozen=True)
class Figure:
    """One measurement: where it belongs, what was set, what came out. Rates are in bits per vertex and frame."""

    table: str
    sequence: str
    settings: str
    bpvf: float
    """All of the terms of Eq. 3 to 5."""
    parts: dict[str, float]
    """The terms: connectivity; and of mesh-cpca basis, weights, means, index, header."""
    d_a: float
    kg: float
    encode_s: float
    """Processor time, as the next."""
    decode_fps: float

    @property
    def described(self) -> str:
        """The settings that the paper speaks of, bit depths always among them."""
        codec = codec_from_spec(self.settings)
        if not isinstance(codec, MeshCpca):
            return self.settings
        star = f", c* = {codec.c_star}" if codec.c_star else ""
        return f"mesh-cpca k = {codec.k}, c = {codec.c}{star}, q_c = {codec.q_c}, q_w = {codec.q_w}"


def sequences(folder: Path) -> list[Path]:
    """The animated meshes under a folder."""
    found = sorted((folder / "mesh").glob("*.npz")) or sorted(folder.glob("*.npz"))
    if not found:
        raise UsageError(f"{folder} has no mesh sequences", hint="NumPy archives with vertices and faces")
    return found


def measure(table: str, mesh: MeshSequence, codec: str | Codec) -> Figure:
    chosen = codec_from_spec(codec)
    begin = time.process_time()
    stream = chosen.encode(mesh)
    middle = time.process_time()
    copy = chosen.decode(stream)
    end = time.process_time()
    parts = {name: bpvf(size, mesh) for name, size in _parts(chosen, stream).items()}
    return Figure(
        table,
        mesh.name,
        chosen.spec,
        bpvf=parts["connectivity"] + bpvf(stream.payload_bytes, mesh),
        parts=parts,
        d_a=METRICS["d_a"].measure(mesh, copy),
        kg=METRICS["kg"].measure(mesh, copy),
        encode_s=middle - begin,
        decode_fps=mesh.frames / max(end - middle, 1e-9),
    )


def _parts(codec: Codec, stream: Stream) -> dict[str, int]:
    """Bytes of the terms of Eq. 3 to 5."""
    assert isinstance(stream.layout, Topology)
    mesh = stream.layout
    own = payload_parts(stream) if isinstance(codec, MeshCpca) else {}
    return {"connectivity": len(pack_mesh(mesh.faces, mesh.vertices, mesh.unit_cm)), **own}


def jobs(names: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """(table or figure, sequence, codec) of everything that is measured; 18 bits unless it says otherwise."""
    for name in names:
        for k, c in PAIRS:
            yield "Tables 2 and 3", name, f"mesh-cpca:k={k},c={c},starts=1"
    for name in (n for n in names if n == LONG):
        yield from (("Figure 4", name, TIME_COMPRESSED.format(star=star)) for star in C_STARS)
    for name in (n for n in names if n == SHORT):
        for q in BITS:
            yield "Figure 6", name, f"mesh-cpca:k=5,c=10,q_c={q},q_w=18,starts=1"
            yield "Figure 6", name, f"mesh-cpca:k=5,c=10,q_c=18,q_w={q},starts=1"
    for name in names:
        for c in (5, 10, 20):
            yield "Figures 9 and 10", name, f"mesh-pca:c={c}"
            yield "Figures 9 and 10", name, f"mesh-pca-lpc:c={c}"
            yield "Figures 9 and 10", name, f"mesh-cpca:k=5,c={c},starts=1"
            if name in (SHORT, LONG):
                yield "Figures 9 and 10", name, f"mesh-cpca:k=5,c={c},starts=1,q_c=32,q_w=32"
        for step in (0.3, 1.0, 3.0):
            yield "Figures 9 and 10", name, f"kine-mesh:step={step}"


def figures(folder: Path, progress: Progress | None = None) -> Iterator[Figure]:
    """All measurements on all sequences."""
    names = [path.stem for path in sequences(folder)]
    todo = list(jobs(names))
    seen: dict[tuple[str, str], Figure] = {}
    for number, (table, name, spec) in enumerate(todo):
        if (name, spec) not in seen:
            seen[name, spec] = measure(table, sequence(name, folder), spec)
        yield dataclasses.replace(seen[name, spec], table=table)
        if progress:
            progress((number + 1) / len(todo))


@lru_cache(maxsize=2)
def sequence(name: str, folder: Path) -> MeshSequence:
    """An animated mesh by the name of its file."""
    path = next(path for path in sequences(folder) if path.stem == name)
    model = read(path)
    if not isinstance(model, MeshSequence):
        raise UsageError(f"{path} is not an animated mesh")
    return dataclasses.replace(model, name=name)
