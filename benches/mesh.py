"""kine-mesh against mesh-cpca at its best k and c, whole files at equal KG error; and the memory of a 4 GB sequence.

Usage: python benches/mesh.py rates [SEQUENCE ...] >> benches/results/mesh.jsonl
       python benches/mesh.py renew [SEQUENCE ...]     the rows of kine-mesh alone, in the place of those that are there
       python benches/mesh.py table
       OPENBLAS_NUM_THREADS=1 python benches/mesh.py speed
       python benches/mesh.py memory [GIGABYTES [CODEC]]
"""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import kinepack
from kinepack.codecs import kine_mesh
from kinepack.codecs.base import codec_from_spec
from kinepack.codecs.mesh_cpca import payload_parts
from kinepack.evaluate import evaluate
from kinepack.metrics.base import METRICS
from kinepack.model import MeshSequence

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("KINEPACK_DATA", ROOT.parent / "shared" / "data")) / "mesh"
RESULTS = ROOT / "benches" / "results" / "mesh.jsonl"
TARGETS = (1.0, 0.5, 0.1)
CLUSTERS = (1, 2, 4, 8, 16)
COMPONENTS = tuple(range(1, 151))
KEPT = "face_order=kept"
"""By default both choose the order of faces, as the paper's Edgebreaker does; kine-mesh is measured both ways."""


class Search:
    """mesh-cpca's cheapest (k, c) for an error, by Eq. 4 before anything is encoded."""

    def __init__(self, source: MeshSequence) -> None:
        self.source = source
        self.error = lru_cache(maxsize=None)(self._error)

    def spec(self, k: int, c: int) -> str:
        return f"mesh-cpca:k={k},c={c},starts=1"

    def _error(self, k: int, c: int) -> float:
        codec = codec_from_spec(self.spec(k, c))
        copy = codec.decode(codec.encode(self.source))
        return METRICS["kg"].measure(self.source, copy)

    def bits(self, k: int, c: int) -> int:
        frames, vertices, _ = self.source.vertices.shape
        return 18 * (k * c * 3 * frames + c * vertices)

    def best(self, target: float) -> str | None:
        frames, vertices, _ = self.source.vertices.shape
        found: tuple[int, int] | None = None
        for k in CLUSTERS:
            allowed = [c for c in COMPONENTS if c <= min(3 * frames, vertices // k)]
            allowed = [c for c in allowed if found is None or self.bits(k, c) < self.bits(*found)]
            if not allowed or self.error(k, allowed[-1]) > target:
                continue
            low, high = -1, len(allowed) - 1
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if self.error(k, allowed[middle]) <= target else (middle, high)
            found = k, allowed[high]
        return self.spec(*found) if found else None


def renew(names: list[str]) -> Iterator[str]:
    """Measures kine-mesh and puts its rows in the place of the old ones; mesh-cpca's stay."""
    for line in rates(names, rivals=False):
        new = json.loads(line)
        rows = [json.loads(old) for old in RESULTS.read_text().splitlines()]
        kept = [row for row in rows if _subject(row) != _subject(new)]
        RESULTS.write_text("".join(json.dumps(row) + "\n" for row in [*kept, new]))
        yield line


def _subject(row: dict[str, Any]) -> tuple[Any, ...]:
    """What a row is about; of two rows about the same only one may stay."""
    return row["goal"], row.get("source"), row["codec"], KEPT in row.get("settings", ""), row.get("sequence")


def rates(names: list[str], *, rivals: bool = True) -> Iterator[str]:
    for name in names or sorted(path.stem for path in DATA.glob("*.npz")):
        source = kinepack.read(DATA / f"{name}.npz")
        assert isinstance(source, MeshSequence)
        search = Search(source)
        for target in TARGETS:
            goal = f"kg<={target}"
            rows = [evaluate(source, spec, target=goal) for spec in ("kine-mesh", f"kine-mesh:{KEPT}")]
            spec = search.best(target) if rivals else None
            rows += [evaluate(source, spec)] if spec else []
            for row in rows:
                yield json.dumps({"goal": goal, **row.to_dict(), "source": name})


def table() -> Iterator[str]:
    """Bits per vertex and frame of whole files, and how many times smaller."""
    rows = [row for row in map(json.loads, RESULTS.read_text().splitlines()) if "source" in row]
    for goal in dict.fromkeys(row["goal"] for row in rows):
        ratios = []
        yield f"| {goal} | mesh-cpca | kine-mesh | times smaller | encode s | decode s |\n|---|---|---|---|---|---|"
        for name in dict.fromkeys(row["source"] for row in rows):
            own = [r for r in rows if (r["goal"], r["source"]) == (goal, name)]
            ours = next(r for r in own if r["codec"] == "kine-mesh" and KEPT not in r["settings"])
            theirs = next((r for r in own if r["codec"] == "mesh-cpca"), None)
            numbers = ours["frames"] * ours["numbers_per_frame"] / 3
            if theirs is None:
                continue
            ratios.append(theirs["file_bytes"] / ours["file_bytes"])
            sizes = [8 * row["file_bytes"] / numbers for row in (theirs, ours)]
            times = f"{ours['encode_s']:.1f} | {ours['decode_s']:.3f}"
            yield f"| {name} | {sizes[0]:.3f} | {sizes[1]:.3f} | {ratios[-1]:.1f} | {times} |"
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        yield f"| geometric mean | | | {mean:.2f} | | |\n"


def speed(name: str = "mit_jumping_15fps", spec: str = "kine-mesh:step=1.29") -> Iterator[str]:
    """Processor time of encoding and decoding; with OPENBLAS_NUM_THREADS=1 that of one core."""
    source = kinepack.read(DATA / f"{name}.npz")
    codec = codec_from_spec(spec)
    begin = time.process_time()
    stream = codec.encode(source)
    middle = time.process_time()
    kine_mesh._decode_setup.cache_clear()
    codec.decode(stream)
    end = time.process_time()
    row = {"goal": "speed", "codec": spec, "sequence": name, "encode_cpu_s": middle - begin}
    yield json.dumps({**row, "decode_cpu_s": end - middle, "decode_fps": source.frames / (end - middle)})


def memory(gigabytes: float, spec: str) -> Iterator[str]:
    """Encodes a memory-mapped synthetic sequence; the peak is of the process's own pages, not of the file's cache."""
    frames = 300
    side = math.ceil(math.sqrt(gigabytes * 1e9 / (frames * 12)))
    with tempfile.TemporaryDirectory() as folder:
        source = _synthetic(Path(folder) / "big.f32", frames, side)
        watch = Watch()
        watch.start()
        begin = time.perf_counter()
        stream = codec_from_spec(spec).encode(source)
        seconds = time.perf_counter() - begin
    parts = payload_parts(stream) if spec.startswith("mesh-cpca") else {}
    row = {"goal": "memory", "codec": spec, "source_bytes": source.vertices.nbytes, "peak_bytes": watch.stop()}
    yield json.dumps({**row, "encode_s": seconds, "payload_bytes": stream.payload_bytes, **parts})


class Watch(threading.Thread):
    """Samples the anonymous memory of the process (Linux)."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak, self.done = 0, threading.Event()

    def run(self) -> None:
        while not self.done.wait(0.02):
            fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
            self.peak = max(self.peak, 1024 * int(fields["RssAnon"].split()[0]))

    def stop(self) -> int:
        self.done.set()
        self.join()
        return self.peak


def _synthetic(path: Path, frames: int, side: int) -> MeshSequence:
    """A sheet of side x side vertices with a few travelling waves, written frame by frame."""
    y, x = np.mgrid[:side, :side].reshape(2, -1).astype(np.float32) / side
    with path.open("wb") as out:
        for frame in range(frames):
            t = frame / frames * 6.28
            z = 0.1 * np.sin(9 * x + t) + 0.05 * np.sin(14 * y - 2 * t) + 0.02 * np.sin(31 * x * y + 3 * t)
            out.write(np.stack([x, y, z], axis=1).astype("<f4").tobytes())
    corner = (np.arange(side - 1)[:, None] * side + np.arange(side - 1)).ravel()
    faces = np.concatenate(
        [np.stack([corner, corner + 1, corner + side], 1), np.stack([corner + 1, corner + side + 1, corner + side], 1)]
    )
    vertices = np.memmap(path, "<f4", "r", shape=(frames, side * side, 3))
    return MeshSequence(vertices, faces.astype(np.int32), name="synthetic")


if __name__ == "__main__":
    job, *rest = sys.argv[1:]
    if job == "rates":
        lines = rates(rest)
    elif job == "renew":
        lines = renew(rest)
    elif job == "memory":
        lines = memory(float(rest[0]) if rest else 4.0, rest[1] if len(rest) > 1 else "mesh-cpca:k=1,c=8")
    else:
        lines = speed() if job == "speed" else table()
    for line in lines:
        print(line, flush=True)
