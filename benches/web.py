"""Decoding in Chromium, and starts of throttled streams: `python benches/web.py [streams]`.

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

from slow_link import slow_link  # noqa: E402
from web_support import Scenario, library_paths, scenario_runner, serving  # noqa: E402

import kinepack  # noqa: E402
from kinepack.codecs.base import CODECS  # noqa: E402
from kinepack.model import Clip, MeshSequence  # noqa: E402
from kinepack.samples import fish, human  # noqa: E402

DATA = Path(os.environ.get("KINEPACK_DATA", ROOT.parent / "shared" / "data"))
RESULTS = ROOT / "benches" / "results" / "web.jsonl"
LIBRARY = "/dist/kinepack.js"
CLIP_CODECS = (*(name for name in CODECS if Clip in CODECS[name].sources), "kine:exact=true", "kine:layers=3")
MESH_CODECS = tuple(name for name in CODECS if MeshSequence in CODECS[name].sources)
GPU_CODECS = ("kine-mesh", "mesh-cpca", "mesh-pca", "mesh-pca-lpc")
KBIT_S = 32
"""Of the throttled stream, at e_x <= 1 cm."""


def main() -> None:
    rows: list[dict[str, Any]] = []
    only_streams = sys.argv[1:] == ["streams"]
    with tempfile.TemporaryDirectory() as folder:
        run = scenario_runner(Path(folder))
        for name, model, codecs in (("human", human(), CLIP_CODECS), ("fish", fish(), MESH_CODECS)):
            rows += [] if only_streams else [speed(run, name, model, codec) for codec in codecs]
        rows += [] if only_streams else meshes(run)
        rows += streams(run)
    for row in rows:
        print(json.dumps(row))
    about = {"machine": platform.machine(), "python": platform.python_version()}
    if only_streams:
        kept = [
            line for line in RESULTS.read_text(encoding="utf-8").splitlines() if json.loads(line)["bench"] != "stream"
        ]
        rows = [*map(json.loads, kept), *rows]
    RESULTS.write_text("".join(json.dumps({**about, **row}) + "\n" for row in rows), encoding="utf-8")


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
    """02_07 at 33 frames a second, as the papers play it, over a slow connection.

    Once over a relay that passes each byte at its time, and once with Chromium's throttle, which hands bytes out
    in packets of 1,500: at this rate one every 375 ms.
    """
    amc = next(iter(sorted(DATA.glob("asfamc/**/02_07.amc"))), None)
    model = kinepack.read(amc, fps=33) if amc else human()
    data = kinepack.compress(model, "kine", target="e_x<=1")
    row = {"bench": "stream", "source": model.name, "codec": "kine", "bytes": len(data), "seconds": model.duration}
    rows = []
    with serving(library_paths({"file.kine": data})) as address, slow_link(address, kbit_s=KBIT_S) as slow:
        for link, place, options in (("relay", slow, {}), ("chromium", address, {"rate": KBIT_S * 1000 / 8})):
            where = {"url": f"{place}blank.html", "library": LIBRARY, "file": "file.kine"}
            found = [run("stream", **where, **options, watch=w) for w in (1, 1, 1, 1, model.duration)]
            starts = sorted(round(one["startMs"]) for one in found)
            result = {"start_ms": starts[2], "starts_ms": starts, "stalls": sum(one["stalled"] for one in found)}
            rows.append({**row, "kbit_s": KBIT_S, "link": link, **result, "load": round(os.getloadavg()[0], 1)})
    return rows


if __name__ == "__main__":
    try:
        main()
    except pytest.skip.Exception as reason:
        print(f"not measured: {reason}", file=sys.stderr)
