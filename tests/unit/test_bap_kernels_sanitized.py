"""The BAP decoders survive damaged streams with the address and undefined-behaviour sanitizers on."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from kinepack.codecs.base import codec_from_spec
from kinepack.formats.bap_carriers import group_sizes
from kinepack.testing import awkward_clips

KERNELS = Path(__file__).parents[2] / "kernels"
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
SOURCES = ("bap.c", "fba.c", "symbol_coder.c", "tests/fuzz_bap.c")
CASES = {
    "float": ("mpeg4-float", 0, []),
    "fba": ("mpeg4-predictive", 1, group_sizes().tolist()),
    "indexed": ("bap-indexing:fdf=3,n_d=20", 0, [3, 8, 20, 0]),
    "sparse": ("sparse-indexing:fdf=2,n_d=20", 0, [2, 8, 20, 1]),
}


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    out = tmp_path_factory.mktemp("sanitized") / "fuzz"
    sources = [str(KERNELS / name) for name in SOURCES]
    made = subprocess.run([compiler, "-std=c11", "-O1", "-g", *SANITIZE, *sources, "-o", str(out)], check=False)
    if made.returncode:
        pytest.skip("the compiler has no sanitizers")
    return out


@pytest.mark.parametrize("kernel", CASES)
def test_damaged_streams_are_memory_safe_and_defined(driver: Path, tmp_path: Path, kernel: str) -> None:
    spec, skipped, more = CASES[kernel]
    clip = awkward_clips()["prime-length"].slice(0, 60)
    stream = codec_from_spec(spec).encode(clip)
    path = tmp_path / "stream"
    path.write_bytes(stream.segments[0].data[skipped:])
    shape = [str(n) for n in clip.values.shape]
    command = [str(driver), kernel, str(path), "1500", "7", *shape, *map(str, more)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
