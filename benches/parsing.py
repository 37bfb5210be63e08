"""Speed of the text formats: prints a row per file and direction and appends it to benches/results/parsing.jsonl.

Best of several runs on one thread, bytes already in memory. Usage: python benches/parsing.py
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from kinepack.formats.base import FORMATS, ReadOptions, WriteOptions
from kinepack.formats.text import BytesSource
from kinepack.model import Clip

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("KINEPACK_DATA", ROOT.parent / "shared" / "data"))
ROWS = ROOT / "benches" / "results" / "parsing.jsonl"
FILES = {
    "asf-amc": "asfamc/cmu/01/01_07.amc",
    "bvh": "bvh/animateddrawings/rokoko_jesse_dance.bvh",
    "bap": "bap/greta/frame_normal.bap",
}
RUNS = 7


def in_memory(path: Path) -> BytesSource:
    """The file and its skeletons."""
    return BytesSource(path.name, path.read_bytes(), {p.name: p.read_bytes() for p in path.parent.glob("*.asf")})


def best_of(call: Callable[[], object]) -> float:
    """Seconds of the fastest run."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def measurements() -> Iterator[tuple[str, float, int]]:
    """Name, seconds and number of values."""
    for name, file in FILES.items():
        form, source = FORMATS[name], in_memory(DATA / file)
        models = form.read(source, ReadOptions())
        write = form.write
        assert isinstance(models[0], Clip) and write is not None
        count = models[0].values.size
        yield f"read_{source.name}", best_of(lambda f=form, s=source: f.read(s, ReadOptions())), count  # type: ignore[misc]
        yield f"write_{source.name}", best_of(lambda w=write, m=models: w(m, "x", WriteOptions())), count  # type: ignore[misc]


def cpu() -> str:
    """The processor's name where the system tells it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.processor()
    )


def main() -> None:
    git = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    same = {"unit": "ms", "commit": commit, "cpu": cpu(), "date": datetime.date.today().isoformat()}
    with ROWS.open("a") as rows:
        for bench, seconds, count in measurements():
            row = {"bench": bench, "value": round(seconds * 1000, 3), "n": count, **same}
            rows.write(json.dumps(row) + "\n")
            print(f"{bench:40}{row['value']:10.3f} ms{count:10} values", flush=True)


if __name__ == "__main__":
    main()
