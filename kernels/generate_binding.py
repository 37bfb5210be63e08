"""Writes the C source of `kinepack._kernels._native` from the kernels' header: its only declaration.

Run by CMake: python generate_binding.py kinepack_kernels.h _native.c
"""

from __future__ import annotations

import sys
from pathlib import Path

from cffi import FFI

BEGIN, END = "/* binding: begin */", "/* binding: end */"


def declarations(header: str) -> str:
    """The part of the header between the markers; it holds no preprocessor lines."""
    return header.split(BEGIN, 1)[1].split(END, 1)[0]


def main(header_path: str, out_path: str) -> None:
    ffi = FFI()
    ffi.cdef(declarations(Path(header_path).read_text(encoding="utf-8")))
    ffi.set_source("kinepack._kernels._native", '#include "kinepack_kernels.h"')
    ffi.emit_c_code(out_path)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
