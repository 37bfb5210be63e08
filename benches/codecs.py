"""Bytes a frame of clip codecs at matched joint error on CMU clips: `python benches/codecs.py [CODEC…]`.

Prints a table and replaces the codecs' rows in benches/results/codecs.jsonl.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import kinepack
from kinepack.model import Clip

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("KINEPACK_DATA", ROOT.parent / "shared" / "data"))
ROWS = ROOT / "benches" / "results" / "codecs.jsonl"
CLIPS = ("02_01", "05_10", "09_01", "13_11", "16_35", "49_08")
TARGETS = ("joint_rms<=0.03", "joint_rms<=0.1", "joint_rms<=0.3", "joint_rms<=1", "joint_max<=0.1", "joint_max<=1")
CM_PER_UNIT = 2.54 / 0.45


def motion(name: str) -> Clip:
    """A CMU clip without the T-pose that its BVH starts with."""
    clip = kinepack.read(DATA / "bvh" / "cmu" / f"{name}.bvh", unit_cm=CM_PER_UNIT)
    assert isinstance(clip, Clip)
    return clip.slice(1, clip.frames)


def main(codecs: list[str]) -> None:
    kept = [line for line in _lines() if json.loads(line)["codec"] not in codecs]
    print(f"{'bytes a frame':22}" + "".join(f"{target:>16}" for target in TARGETS))
    for codec in codecs:
        for name in CLIPS:
            clip, cells = motion(name), []
            for target in TARGETS:
                row = kinepack.evaluate(clip, codec, target=target)
                kept.append(json.dumps({**json.loads(row.to_json()), "target": target}))
                cells.append(f"{row.motion_bytes / clip.frames:16.2f}")
            print(f"{codec:14}{name:8}" + "".join(cells), flush=True)
    ROWS.write_text("\n".join(kept) + "\n")


def _lines() -> list[str]:
    return ROWS.read_text().splitlines() if ROWS.exists() else []


if __name__ == "__main__":
    main(sys.argv[1:] or ["delta-lzma"])
