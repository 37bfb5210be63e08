"""Kernel calls described once, then made natively and in WebAssembly."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kinepack._kernels._binding import ffi, lib, pointer

Array = np.ndarray[Any, Any]
RUNNER = Path(__file__).with_name("run_wasm.mjs")


@dataclass(frozen=True)
class Size:
    """A size_t that the kernel writes: four bytes in wasm, eight natively."""


@dataclass(frozen=True)
class Scratch:
    """Room for a kernel's own use, which may hold pointers and is not compared."""

    words: int


Argument = int | float | Array | Size | Scratch | None


@dataclass(frozen=True)
class Job:
    """A call: numbers, arrays (passed by pointer, compared afterwards), None (a null pointer) or Size."""

    function: str
    arguments: tuple[Argument, ...]


Outcome = tuple[int, list[bytes]]
"""Status, and the contents of all arrays and sizes after the call."""


def run_native(job: Job) -> Outcome:
    buffers: list[Array] = []
    values: list[Any] = []
    for argument in job.arguments:
        if isinstance(argument, Size):
            buffers.append(np.zeros(1, np.uint64))
            values.append(ffi.from_buffer("size_t[]", buffers[-1]))
        elif isinstance(argument, Scratch):
            values.append(ffi.new("int64_t[]", argument.words))
        elif isinstance(argument, np.ndarray):
            buffers.append(argument.copy())
            values.append(pointer(buffers[-1]))
        else:
            values.append(pointer(None) if argument is None else argument)
    status = int(getattr(lib, job.function)(*values))
    return status, [buffer.tobytes() for buffer in buffers]


def run_wasm(module: Path, jobs: list[Job], folder: Path) -> list[Outcome]:
    """All jobs in one Node process."""
    blob = bytearray()
    listing = [_describe(job, blob) for job in jobs]
    (folder / "jobs.json").write_text(json.dumps(listing))
    (folder / "in.bin").write_bytes(blob)
    names = (folder / name for name in ("jobs.json", "in.bin", "out.bin"))
    subprocess.run(["node", str(RUNNER), str(module), *map(str, names)], check=True, timeout=300)
    return _outcomes(jobs, (folder / "out.bin").read_bytes())


def _describe(job: Job, blob: bytearray) -> dict[str, Any]:
    described: list[dict[str, Any]] = []
    for argument in job.arguments:
        if isinstance(argument, int | float):
            described.append({"number": argument})
            continue
        data = _bytes(argument)
        described.append({"offset": len(blob), "size": -1 if data is None else len(data)})
        blob += data or b""
    return {"function": job.function, "arguments": described}


def _bytes(argument: Argument) -> bytes | None:
    if isinstance(argument, Size):
        return bytes(4)
    if isinstance(argument, Scratch):
        return bytes(8 * argument.words)
    return argument.tobytes() if isinstance(argument, np.ndarray) else None


def _outcomes(jobs: list[Job], data: bytes) -> list[Outcome]:
    outcomes, start = [], 0
    for job in jobs:
        status = int.from_bytes(data[start : start + 4], "little", signed=True)
        start, buffers = start + 4, []
        for argument in job.arguments:
            before = None if isinstance(argument, int | float) else _bytes(argument)
            if before is not None:
                buffer = data[start : start + len(before)]
                start += len(before)
                if isinstance(argument, Scratch):
                    continue
                buffers.append(buffer + bytes(4) if isinstance(argument, Size) else buffer)
        outcomes.append((status, buffers))
    return outcomes
