"""What a report knows of Result rows: names, columns, and how numbers are written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from kinepack.evaluate import Result
from kinepack.metrics import METRICS

Row = Mapping[str, Any]

MAIN_METRICS = {
    "clip": ("joint_rms", "joint_max", "e_x", "angle_rms_deg", "foot_slide"),
    "mesh": ("kg", "d_a", "vertex_max", "sted"),
}
"""The columns of the short table; all the others are in the long one."""

UNITS = {
    "motion_bytes": "bytes",
    "file_bytes": "bytes",
    "bits_per_value": "bits per number",
    "kbit_per_s": "kbit/s",
    "encode_s": "s",
    "decode_s": "s",
}
_TITLES = {
    "motion_bytes": "motion size",
    "file_bytes": "file size",
    "bits_per_value": "rate",
    "kbit_per_s": "rate",
    "encode_s": "time to encode",
    "decode_s": "time to decode",
}


def plain(rows: Iterable[Result | Row]) -> list[Row]:
    """Result rows as the dicts that their JSON lines hold; a metric that is not finite is None there."""
    return [row.to_dict() if isinstance(row, Result) else row for row in rows]


def value(row: Row, key: str) -> float | None:
    """A field of a row or one of its metrics; None where it has no such number."""
    found = row.get(key, row.get("metrics", {}).get(key))
    return None if found is None else float(found)


def unit(key: str) -> str:
    """Of a field or a metric; "" if it has none."""
    return UNITS.get(key, METRICS[key].unit if key in METRICS else "")


def axis_title(key: str) -> str:
    """What to write beside an axis: words, then the unit."""
    words = _TITLES.get(key, METRICS[key].title if key in METRICS else key)
    return f"{words} [{unit(key)}]" if unit(key) else words


def label(row: Row) -> str:
    """Codec and its settings in one word."""
    return shortened(f"{row['codec']}:{row['settings']}" if row.get("settings") else str(row["codec"]))


def shortened(settings: str) -> str:
    """Numbers with four digits that count, as a fitted setting has many more: step=1.18168031254 -> step=1.182."""
    return re.sub(r"\d+\.\d+(?![\d.]*e)", lambda found: f"{float(found[0]):.4g}", settings)


def by_source(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Rows of each source, in order of first appearance."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(str(row["source"]), []).append(row)
    return groups


def by_codec(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Rows of each codec, in order of first appearance."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(str(row["codec"]), []).append(row)
    return groups


def number(amount: float | None) -> str:
    """Three significant digits, thousands apart: 0.0853, 23.9, 9,356."""
    if amount is None:
        return "–"
    if amount == 0:
        return "0"
    if abs(amount) >= 100:
        return f"{amount:,.0f}"
    if abs(amount) < 1e-4:
        return f"{amount:.1e}"
    digits = 2 - len(str(int(abs(amount)))) + 1 if abs(amount) >= 1 else _leading_zeros(abs(amount)) + 3
    return f"{amount:.{max(digits, 0)}f}"


def _leading_zeros(fraction: float) -> int:
    """Zeros after the point: 1 for 0.05."""
    zeros = 0
    while fraction * 10 ** (zeros + 1) < 1:
        zeros += 1
    return zeros


def seconds(amount: float | None) -> str:
    """With the unit that suits it: 1.20 ms, 3.41 s."""
    if amount is None:
        return "–"
    for factor, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if amount >= factor:
            return f"{number(amount / factor)} {name}"
    return f"{number(amount * 1e9)} ns"
