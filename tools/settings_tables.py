"""Writes each codec's settings table, from its declarations, into docs/codecs/<id>.md between the markers."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from kinepack.codecs.base import CODECS, Codec
from kinepack.params import params_of

PAGES = Path(__file__).parents[1] / "docs" / "codecs"
MARKED = re.compile(r"<!-- settings -->.*?<!-- /settings -->", re.S)


def settings_table(codec: type[Codec]) -> str:
    """Markdown rows: name, default, range, meaning."""
    defaults = {f.name: f.default for f in dataclasses.fields(codec)}
    rows = ["| setting | default | range | meaning |", "|---|---|---|---|"]
    for name, declared in params_of(codec).items():
        bounds = f"{_number(declared.low)} to {_number(declared.high)}" if declared.low is not None else "any"
        bounds = ", ".join(map(str, declared.choices)) or bounds
        bounds = "on, off" if isinstance(defaults[name], bool) else bounds
        default = {True: "on", False: "off"}[defaults[name]] if isinstance(defaults[name], bool) else defaults[name]
        axis = " (the quality axis)" if declared.quality else ""
        shown = f"`{default}`" if default != "" else "none"
        rows.append(f"| `{name}` | {shown} | {bounds} {declared.unit}".rstrip() + f" | {declared.help}{axis} |")
    return "\n".join(rows) if len(rows) > 2 else "This codec has no settings."


def with_table(page: str, codec: type[Codec]) -> str:
    """The page with its table brought up to date."""
    table = f"<!-- settings -->\n{settings_table(codec)}\n<!-- /settings -->"
    return MARKED.sub(lambda _: table, page)


def _number(value: float | None) -> str:
    return "∞" if value is None else f"{value:g}"


if __name__ == "__main__":
    for id in CODECS:
        path = PAGES / f"{id}.md"
        if path.exists():
            path.write_text(with_table(path.read_text(), CODECS[id]))
