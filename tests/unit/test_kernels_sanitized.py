"""The kernels survive random bytes and shapes with the address and undefined-behaviour sanitizers on."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

KERNELS = Path(__file__).parents[2] / "kernels"
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("sanitized")
    probe = folder / "probe.c"
    probe.write_text("int main(void) { return 0; }\n")
    if subprocess.run([compiler, *SANITIZE, str(probe), "-o", str(folder / "probe")], check=False).returncode:
        pytest.skip("the compiler has no sanitizers")
    sources = [KERNELS / "tests" / "fuzz_decoders.c", *sorted(KERNELS.glob("*.c"))]
    out = folder / "fuzz"
    subprocess.run([compiler, "-std=c11", "-O1", "-g", *SANITIZE, *map(str, sources), "-o", str(out)], check=True)
    return out


@pytest.mark.parametrize("seed", [1, 2])
def test_random_input_is_memory_safe_and_defined(driver: Path, seed: int) -> None:
    ran = subprocess.run([str(driver), "1500", str(seed)], capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]


def test_kernels_compile_without_warnings(tmp_path: Path) -> None:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    flags = ["-std=c11", "-O2", "-ffreestanding", "-Wall", "-Wextra", "-Werror", "-c"]
    for source in sorted(KERNELS.glob("*.c")):
        subprocess.run([compiler, *flags, str(source), "-o", str(tmp_path / "out.o")], check=True)
