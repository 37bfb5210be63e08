"""Result rows for people: a table of size, error and time."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kinepack.cli.console import emit_json, emit_table, number

if TYPE_CHECKING:
    from kinepack.evaluate import Result

SHOWN = {"clip": ("joint_rms", "joint_max", "angle_rms_deg"), "mesh": ("kg", "d_a", "vertex_max")}
"""The errors that a table has room for; --json has them all."""


def emit_row(row: Result) -> None:
    """One JSON object on a line of its own."""
    emit_json(dataclasses.asdict(row))


def emit_rows(rows: Sequence[Result]) -> None:
    """A table per kind of source, because their errors differ."""
    for kind, metrics in SHOWN.items():
        chosen = [row for row in rows if row.kind == kind]
        if chosen:
            _emit(chosen, metrics)


def _emit(rows: Sequence[Result], metrics: Sequence[str]) -> None:
    from kinepack.metrics.base import METRICS

    heads = [f"{name} {METRICS[name].unit}".strip() for name in metrics]
    columns = ("source", "codec", "settings", "bytes", "ratio", *heads, "encode s", "decode s")
    lines = []
    for row in rows:
        errors = [number(row.metrics[name]) for name in metrics]
        size = (f"{row.file_bytes:,}", number(row.ratio))
        times = (f"{row.encode_s:.3f}", f"{row.decode_s:.3f}")
        lines.append((row.source, row.codec, short_settings(row.settings), *size, *errors, *times))
    emit_table(columns, lines, left=3)


def short_settings(settings: str) -> str:
    """Settings with their numbers to four digits: a search finds long ones."""
    pairs = (item.partition("=") for item in settings.split(",") if item)
    return ",".join(f"{key}={_short(value)}" for key, _, value in pairs)


def _short(value: str) -> str:
    try:
        return f"{float(value):.4g}"
    except ValueError:
        return value
