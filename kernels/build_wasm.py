"""Compiles the kernels to one WebAssembly module without imports, with the compiler in the `ziglang` wheel.

Usage: python kernels/build_wasm.py OUT.wasm

The module exports every function of kinepack_kernels.h, its memory, and `__heap_base`: the first address a
caller may use for buffers.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
COMPILE = (
    "-target",
    "wasm32-freestanding",
    "-std=c11",
    "-O2",
    "-nostdlib",
    "-ffreestanding",
    "-fno-sanitize=all",
)
FLOATS = ("-ffp-contract=off", "-fno-fast-math")
LINK = ("-Wl,--no-entry", "-Wl,--export-dynamic", "-Wl,--export=__heap_base", "-Wl,--strip-all")


def functions() -> list[str]:
    """Names of all functions the header declares."""
    header = (HERE / "include" / "kinepack_kernels.h").read_text(encoding="utf-8")
    return re.findall(r"^u?int32_t (kp_\w+)\(", header, re.MULTILINE)


def build(out: Path) -> None:
    """Writes the module to `out`."""
    compiler = [sys.executable, "-m", "ziglang", "cc"]
    sources = sorted(map(str, HERE.glob("*.c")))
    exports = [f"-Wl,--export={name}" for name in functions()]
    subprocess.run([*compiler, *COMPILE, *FLOATS, *LINK, *exports, "-o", str(out), *sources], check=True)


if __name__ == "__main__":
    build(Path(sys.argv[1]))
