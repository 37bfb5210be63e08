"""The BAP family on the papers' clips: `python benches/bap.py [sizes] [search] [instructions]`, all three by default.

sizes: Result rows of every codec. search: seconds of the exhaustive and the fast search on a clip of 5,000 frames.
instructions: executed by the native decoders, under callgrind. Rows replace those of the same kind in
benches/results/bap.jsonl.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import kinepack
from kinepack.codecs.base import codec_from_spec
from kinepack.energy import count_decoding
from kinepack.evaluate import commit, machine
from kinepack.model import Clip
from kinepack.reproduce.clips import paper_clip
from kinepack.search import Evaluator, exhaustive, fast

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("KINEPACK_DATA", ROOT.parent / "shared" / "data")) / "asfamc"
ROWS = ROOT / "benches" / "results" / "bap.jsonl"
CLIPS = ("jog", "walk", "dance", "sword play")
CODECS = (
    "mpeg4-float",
    "mpeg4-predictive",
    "mpeg4-predictive:ranges=widest",
    "mpeg4-dct16",
    "frame-drop",
    "frame-drop:fill=interpolate",
    "bap-sparsing",
    "bap-sparsing:pipeline=fba",
    "bap-indexing",
    "bap-indexing:closed_loop=off",
    "sparse-indexing",
    "sparse-indexing:closed_loop=off",
)
COUNTED = ("mpeg4-float", "mpeg4-predictive", "bap-sparsing", "bap-indexing", "sparse-indexing")


def sizes() -> Iterator[dict[str, Any]]:
    for name in CLIPS:
        clip = paper_clip(name, DATA)
        for spec in CODECS:
            row = json.loads(kinepack.evaluate(clip, spec).to_json())
            yield {**row, "source": name}


def search() -> Iterator[dict[str, Any]]:
    """Wall and processor seconds; on a busy machine only the latter say much."""
    whole = kinepack.read(next(DATA.rglob("14_02.amc")))
    assert isinstance(whole, Clip)
    clip = whole.slice(0, 5000)
    runs: dict[str, Callable[[], Any]] = {
        "fast": lambda: fast(Evaluator(clip), f=0.87),
        "exhaustive": lambda: exhaustive(Evaluator(clip), f=0.87, workers=2, progress=_bar),
    }
    for name, run in runs.items():
        wall, busy = time.perf_counter(), _processor_s()
        found = run()
        best = found.best
        yield {
            "search": name,
            "frames": clip.frames,
            "wall_s": time.perf_counter() - wall,
            "processor_s": _processor_s() - busy,
            "load": os.getloadavg()[0],
            "evaluations": found.evaluations,
            "best": [best.fdf, best.n_d, best.bytes, best.def_cm],
        }


def _bar(share: float) -> None:
    end = "\n" if share == 1 else ""
    print(f"\r[{'#' * round(40 * share):40}] {100 * share:3.0f} %", end=end, file=sys.stderr, flush=True)


def _processor_s() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def instructions() -> Iterator[dict[str, Any]]:
    for name in ("walk", "sword play"):
        clip = paper_clip(name, DATA)
        for id in COUNTED:
            cost = count_decoding(id, codec_from_spec(id).encode(clip))
            yield {
                "decoder": id,
                "clip": name,
                "instructions": cost.instructions,
                "per_frame": cost.per_frame,
                "mj": cost.mj,
            }


KINDS = {"sizes": sizes, "search": search, "instructions": instructions}


def main(kinds: list[str]) -> None:
    kept = [line for line in _lines() if json.loads(line)["kind_of_row"] not in kinds]
    for kind in kinds:
        for row in KINDS[kind]():
            row = {"kind_of_row": kind, **row, "commit": commit(), "machine": machine()}
            kept.append(json.dumps(row))
            shown = {
                k: v
                for k, v in row.items()
                if isinstance(v, (int, float, str, list)) and k not in ("machine", "commit")
            }
            print(json.dumps(shown), flush=True)
    ROWS.write_text("\n".join(kept) + "\n")


def _lines() -> list[str]:
    return ROWS.read_text().splitlines() if ROWS.exists() else []


if __name__ == "__main__":
    main(sys.argv[1:] or list(KINDS))
