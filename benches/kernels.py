"""Speed of the compiled kernels: prints a row per kernel and appends it to benches/results/kernels.jsonl.

Best of several runs on one thread, arrays already in memory. Usage: python benches/kernels.py
"""

from __future__ import annotations

import json
import platform
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from kinepack import _kernels
from kinepack.entropy import bit_io, range_coder
from kinepack.transforms import lifting

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benches" / "results" / "kernels.jsonl"
FRAMES, JOINTS, CHANNELS = 5000, 31, 62
RUNS = 9

Row = tuple[str, float, str, int]


def seconds(function: Callable[[], object]) -> float:
    """The shortest of several runs."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def kinematics_rows(rng: np.random.Generator) -> Iterator[Row]:
    """A skeleton as large as CMU's: three translations, 59 angles, an oblique frame for each joint."""
    parents = np.array([-1, *(j // 2 for j in range(JOINTS - 1))], np.int32)
    axis_channel = np.full(3 * JOINTS, -1, np.int32)
    axis_channel[np.sort(rng.choice(3 * JOINTS, CHANNELS - 3, replace=False))] = np.arange(3, CHANNELS)
    axis_channel = axis_channel.reshape(JOINTS, 3)
    axis_id = np.tile(np.array([2, 1, 0], np.int32), (JOINTS, 1))
    frame = np.linalg.qr(rng.normal(size=(JOINTS, 3, 3)))[0]
    values, moves = rng.normal(0, 40, (FRAMES, CHANNELS)), rng.normal(size=(FRAMES, JOINTS, 3))

    def turn() -> np.ndarray:
        return _kernels.local_rotations(values, axis_channel, axis_id=axis_id, angle_scale=np.pi / 180, frame=frame)

    local = turn()
    pose = _kernels.forward_kinematics(parents, local, translations=moves)
    yield "local_rotations_5000x31", 1e3 * seconds(turn), "ms", FRAMES
    yield (
        "kinematics_5000x31",
        1e3 * seconds(lambda: _kernels.forward_kinematics(parents, turn(), translations=moves)),
        "ms",
        FRAMES,
    )
    few = 500
    part = _kernels.Globals(*(array[:few].copy() for array in pose))
    still = np.full((JOINTS, 3), -1, np.int32)
    still[0] = 0, 1, 2

    def derive() -> np.ndarray:
        return _kernels.jacobian(
            parents,
            values[:few],
            axis_channel=axis_channel,
            axis_id=axis_id,
            trans_channel=still,
            globals_=part,
            angle_scale=np.pi / 180,
            frame=frame,
        )

    yield "jacobian_500x31x62", 1e3 * seconds(derive), "ms", few


def coder_rows(rng: np.random.Generator) -> Iterator[Row]:
    count = 1_000_000
    bits = (rng.random(count) < 0.1).astype(np.uint8)
    one, two = rng.integers(0, 16, count), rng.integers(0, 16, (count, 2))
    for name, contexts in (("bits", one), ("bits_mixed2", two)):
        data = range_coder.encode_bits(bits, contexts)
        took = seconds(lambda c=contexts: range_coder.encode_bits(bits, c))
        yield f"encode_{name}", count / took / 1e6, "Mbin/s", count
        took = seconds(lambda d=data, c=contexts: range_coder.decode_bits(d, count, c))
        yield f"decode_{name}", count / took / 1e6, "Mbin/s", count
    values = np.rint(rng.laplace(0, 3, count)).astype(np.int32)
    data = range_coder.encode_integers(values, one)
    yield "encode_integers", count / seconds(lambda: range_coder.encode_integers(values, one)) / 1e6, "M/s", count
    took = seconds(lambda: range_coder.decode_integers(data, count, one))
    yield "decode_integers", count / took / 1e6, "M/s", count
    yield "decode_integers_bits", 8 * len(data) / took / 1e6, "Mbit/s", count
    symbols = (rng.standard_normal(count) * 20 + 128).clip(0, 255).astype(np.uint16)
    coded = range_coder.encode_symbols(symbols)
    took = seconds(lambda: range_coder.decode_symbols(coded, count))
    yield "decode_symbols_256", count / took / 1e6, "M/s", count
    words = rng.integers(0, 2**11, count).astype(np.uint32)
    packed = bit_io.pack_bits(words, 11)
    took = seconds(lambda: bit_io.unpack_bits(packed, count, 11))
    yield "unpack_bits_11", count / took / 1e6, "M/s", count


def lifting_rows(rng: np.random.Generator) -> Iterator[Row]:
    values = rng.normal(size=(FRAMES, CHANNELS))
    for wavelet in ("cubic", "cdf53", "cdf97"):
        took = seconds(lambda w=wavelet: lifting.forward(values, w))
        yield f"lifting_{wavelet}_5000x62", values.size / took / 1e6, "Mvalue/s", values.size


def machine() -> str:
    """The processor's model."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def commit() -> str:
    command = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    return ran.stdout.strip()


def main() -> None:
    rng = np.random.default_rng(1)
    about = {"commit": commit(), "machine": machine(), "date": datetime.now(UTC).date().isoformat()}
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    with RESULTS.open("a", encoding="utf-8") as out:
        for rows in (kinematics_rows, coder_rows, lifting_rows):
            for bench, value, unit, n in rows(rng):
                print(f"{bench:28} {value:10.2f} {unit}")
                row = {"bench": bench, "value": round(value, 3), "unit": unit, "n": n, **about}
                out.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
