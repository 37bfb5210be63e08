"""What playing a compressed motion costs a mobile client: energy of reception (Eq. 11) and of decoding.

Reception is Eq. 11 of Chattopadhyay et al. (000) with their E_R and E_S. Decoding is the number of instructions that
the native decoder executes, counted under callgrind, times a stated energy per instruction.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kinepack._kernels import _native
from kinepack.codecs.base import Stream, width_of
from kinepack.errors import ConfigError, UsageError
from kinepack.formats.bap_carriers import TABLES, carriers_of, group_sizes, order, positions, steps_of
from kinepack.model import Skeleton

RECEIVING_MJ_S = 1425.0
"""E_R: the wireless interface while it receives, mJ/s."""
SLEEPING_MJ_S = 177.0
"""E_S: while it sleeps, mJ/s."""
PAPER_FPS = 33.0
"""The papers play their clips, which are sampled at 120 Hz, at 33 frames a second."""
BANDWIDTHS_KBIT_S = (128.0, 1024.0, 4096.0)
REPEATS = (2, 6)
REPEATS_OF_LIGHT = (20, 60)
"""Decodes in the two runs that are compared; more of the light ones, beside which an interpreter's warming up shows."""
NJ_PER_INSTRUCTION = 0.5
"""Our model of a mobile processor: 0.5 W at 10^9 instructions a second. Only ratios between decoders are firm."""


def reception_mj(size_kb: float, seconds: float, kbit_s: float) -> float:
    """Eq. 11: E_R S/B + E_S (T - S/B), mJ; KB are 1024 bytes and kbit 1024 bits."""
    if kbit_s <= 0 or seconds <= 0 or size_kb < 0:
        raise UsageError("bandwidth and duration must be positive, the size not negative")
    receiving = size_kb * 8 / kbit_s
    return RECEIVING_MJ_S * receiving + SLEEPING_MJ_S * (seconds - receiving)


def decoding_mj(instructions: float) -> float:
    """Energy of executed instructions, mJ."""
    return instructions * NJ_PER_INSTRUCTION * 1e-6


@dataclass(frozen=True)
class DecodingCost:
    """What one decode of a stream executes, in the native decoder alone."""

    codec: str
    frames: int
    instructions: int

    @property
    def per_frame(self) -> float:
        return self.instructions / self.frames

    @property
    def mj(self) -> float:
        return decoding_mj(self.instructions)


def can_count() -> bool:
    """Whether valgrind is there to count with."""
    return shutil.which("valgrind") is not None


def count_decoding(codec: str, stream: Stream) -> DecodingCost:
    """Instructions to decode all segments of a stream of one of the BAP codecs.

    A small Python process runs the kernel under callgrind, with a few decodes and with more of them: the difference
    is the decodes' own, without start-up.
    """
    if not can_count():
        raise ConfigError("counting instructions needs valgrind", hint="install valgrind")
    if codec not in _JOBS:
        raise ConfigError(f"no native decoder of {codec} is known", hint=f"known: {', '.join(_JOBS)}")
    with tempfile.TemporaryDirectory() as folder:
        jobs = []
        for number, segment in enumerate(stream.segments):
            path = Path(folder) / f"{number}.bin"
            path.write_bytes(segment.data)
            jobs.append({"file": str(path), **_JOBS[codec](stream, segment.frames, segment.data)})
        times = REPEATS_OF_LIGHT if codec in ("bap-indexing", "sparse-indexing") else REPEATS
        few, many = (_executed(jobs, repeats, Path(folder)) for repeats in times)
    return DecodingCost(codec, stream.frames, (many - few) // (times[1] - times[0]))


def _executed(jobs: list[dict[str, object]], repeats: int, folder: Path) -> int:
    """Instructions of a whole process that does the jobs `repeats` times."""
    plan = folder / f"plan{repeats}.json"
    plan.write_text(json.dumps({"native": _native.__file__, "jobs": jobs, "repeats": repeats}))
    out = folder / f"callgrind{repeats}.out"
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", sys.executable, "-S", "-E", "-B"]
    paths = [str(Path(place)) for place in sys.path if place]
    script = Path(__file__).parent / "_kernels" / "_count.py"
    ran = subprocess.run(
        [*command, str(script), str(plan), *paths], capture_output=True, text=True, env={"PYTHONHASHSEED": "0"}
    )
    found = re.search(r"Collected\s*:\s*(\d+)", ran.stderr)
    if ran.returncode or not found:
        raise ConfigError(f"callgrind failed: {ran.stderr.strip().splitlines()[-1:]}")
    return int(found[1])


# What each decoder is called with.


def _float(stream: Stream, frames: int, data: bytes) -> dict[str, object]:
    return {"kernel": "float", "frames": frames, "width": width_of(stream.layout)}


def _indexed(stream: Stream, frames: int, data: bytes) -> dict[str, object]:
    bits, fdf = stream.setup[0], int.from_bytes(stream.setup[1:3], "little")
    n_d, half = int.from_bytes(stream.setup[3:7], "little"), stream.setup[7] if len(stream.setup) > 7 else 0
    kernel = "sparse" if len(stream.setup) > 7 else "indexed"
    width = width_of(stream.layout)
    return {"kernel": kernel, "rows": frames - 1, "width": width, "fdf": fdf, "bits": bits,
            "n_d": n_d or max(frames - 1, 1), "half": half}  # fmt: skip


def _fba(stream: Stream, frames: int, data: bytes) -> dict[str, object]:
    assert isinstance(stream.layout, Skeleton)
    if data[:1] != b"\0":
        raise ConfigError("counting is for segments without offsets")
    carriers = carriers_of(stream.layout)
    columns = [-1] * len(order())
    for column, place in enumerate(positions()[carriers.numbers - 1].tolist()):
        columns[place] = column
    return {"kernel": "fba", "frames": frames, "width": len(carriers.numbers), "skip": 1, "columns": columns,
            "groups": group_sizes().tolist(),
            "steps": steps_of(TABLES[stream.setup[0]])[order()].tolist()}  # fmt: skip


def _sparsed(stream: Stream, frames: int, data: bytes) -> dict[str, object]:
    return _float(stream, frames, data) if stream.setup == b"\xff" else _fba(stream, frames, data)


_JOBS: dict[str, Callable[[Stream, int, bytes], dict[str, object]]] = {
    "mpeg4-float": _float,
    "mpeg4-predictive": _fba,
    "bap-sparsing": _sparsed,
    "bap-indexing": _indexed,
    "sparse-indexing": _indexed,
}
