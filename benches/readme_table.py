"""Writes the table of results in README.md from what benches/codecs.py measured: `readme_table.py [--check]`."""

from __future__ import annotations

import json
import re
import statistics
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
RESULTS = ROOT / "benches" / "results"
MARKED = re.compile(r"(<!-- results -->\n).*?(<!-- /results -->)", re.DOTALL)

Row = dict[str, Any]


def rows() -> list[Row]:
    """What benches/codecs.py measured, in the order of lines."""
    lines = (RESULTS / "codecs.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines if line]


def table(measured: Iterable[Row]) -> str:
    """Median bytes a frame over the clips, a line per codec and a column per target; Markdown."""
    cells: dict[tuple[str, str], dict[str, float]] = {}
    for row in measured:
        cells.setdefault((row["codec"], row["target"]), {})[row["source"]] = row["motion_bytes"] / row["frames"]
    if not cells:
        return "No measurements yet: run `make bench`.\n"
    codecs, targets = (list(dict.fromkeys(key[part] for key in cells)) for part in (0, 1))
    head = ["codec", *(f"{target.replace('<=', ' ≤ ')} cm" for target in targets)]
    body = [[f"`{codec}`", *(_median(cells.get((codec, target), {})) for target in targets)] for codec in codecs]
    lines = [head, ["---", *["--:"] * len(targets)], *body]
    sources = sorted({source for found in cells.values() for source in found})
    note = f"Median bytes a frame over {len(sources)} CMU clips at 120 Hz ({', '.join(sources)}).\n\n"
    return note + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _median(found: dict[str, float]) -> str:
    return f"{statistics.median(found.values()):.1f}" if found else ""


def renewed(text: str) -> str:
    """README's text with the table between its markers made anew."""
    new = table(rows())
    return MARKED.sub(lambda match: match[1] + new + match[2], text)


def main(arguments: list[str]) -> int:
    text = README.read_text()
    if "--check" in arguments:
        return int(renewed(text) != text)
    README.write_text(renewed(text))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
