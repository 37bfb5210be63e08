"""Decoding in Chromium, and starts of throttled streams: `python benches/web.py`.

Needs the web package (`make player`) and Chromium. Rows are written to benches/results/web.jsonl.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "web")]

from web_support import Scenario, library_paths, scenario_runner, serving  # noqa: E402

import kinepack  # noqa: E402
from kinepack.samples import fish, human  # noqa: E402

DATA = Path(os.environ.get("KINEPACK_DATA", ROOT.parent / "shared" / "data"))
RESULTS = ROOT / "benches" / "results" / "web.jsonl"
LIBRARY = "/dist/kinepack.js"
CLIP_CODECS = (
    "raw",
    "zstd-float",
    "delta-lzma",
    "kine",
    "kine:exact=true",
    "wavelet",
    "pca",
    "mpeg4-float",
    "bap-indexing",
)
MESH_CODECS = ("raw", "delta-lzma", "kine-mesh", "mesh-cpca", "mesh-pca", "mesh-pca-lpc")
GPU_CODECS = ("kine-mesh", "mesh-cpca", "mesh-pca", "mesh-pca-lpc")
KBIT_S = 32
"""Of the throttled stream, at e_x <= 1 cm."""


def main() -> None:
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        run = scenario_runner(Path(folder))
        for name, model, codecs in (("human", human(), CLIP_CODECS), ("fish", fish(), MESH_CODECS)):
            rows += [speed(run, name, model, codec) for codec in codecs]
        rows += meshes(run)
        rows += streams(run)
    for row in rows:
        print(json.dumps(row))
    about = {"machine": platform.machine(), "python": platform.python_version()}
    RESULTS.write_text("".join(json.dumps({**row, **about}) + "\n" for row in rows), encoding="utf-8")


def speed(run: Scenario, name: str, model: Any, codec: str) -> dict[str, Any]:
    data = kinepack.compress(model, codec)
    with serving(library_paths({"file.kine": data})) as address:
        found = run("speed", url=f"{address}blank.html", library=LIBRARY, file="file.kine", rounds=5)
    row = {"bench": "decode", "source": name, "codec": codec, "frames": model.frames, "bytes": len(data)}
    return {**row, "frames_s": round(found["decode"]), "poses_s": round(found["pose"]) or None}


def meshes(run: Scenario) -> list[dict[str, Any]]:
    """10,002 vertices x 75 frames: decoded by the processor, by the graphics processor, and from what that holds."""
    path = DATA / "mesh" / "mit_jumping_15fps.npz"
    name, model = (path.stem, kinepack.read(path)) if path.is_file() else ("fish", fish())
    rows = []
    for codec in GPU_CODECS:
        data = kinepack.compress(model, codec)
        with serving(library_paths({"file.kine": data})) as address:
            found = run("meshSpeed", url=f"{address}blank.html", library=LIBRARY, file="file.kine", rounds=7)
        told = {key: value for key, value in found.items() if key not in ("faults", "hosts")}
        row = {
            "bench": "mesh",
            "source": name,
            "codec": codec,
            "frames": model.frames,
            "bytes": len(data),
        }
        rows.append({**row, **told})
    return rows


def streams(run: Scenario) -> list[dict[str, Any]]:
    """02_07 at 33 frames a second, as the papers play it, over a slow connection."""
    amc = next(iter(sorted(DATA.glob("asfamc/**/02_07.amc"))), None)
    model = kinepack.read(amc, fps=33) if amc else human()
    data = kinepack.compress(model, "kine", target="e_x<=1")
    with serving(library_paths({"file.kine": data})) as address:
        found = run(
            "stream", url=f"{address}blank.html", library=LIBRARY, file="file.kine", rate=KBIT_S * 1000 / 8, watch=15
        )
    row = {"bench": "stream", "source": model.name, "codec": "kine", "bytes": len(data), "seconds": model.duration}
    return [{**row, "kbit_s": KBIT_S, "start_ms": round(found["startMs"]), "stalls": found["stalled"]}]


if __name__ == "__main__":
    try:
        main()
    except pytest.skip.Exception as reason:
        print(f"not measured: {reason}", file=sys.stderr)
