"""A library at a glance: sizes, errors, and pictures of the clips that fared worst."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from kinepack.library import Library, LibraryClip
from kinepack.library.making import KEPT_METRICS, unit_of
from kinepack.report.page import page
from kinepack.report.rows import number
from kinepack.report.thumbnail import strip_svg

MOST_ROWS = 2000
"""Clips in the long table."""
SIZES = "Ratio: raw bytes over all bytes of the file. A clip's own bytes are without its skeleton or mesh."


def library_facts(library: Library, times: Mapping[str, float] | None = None, *, top: int = 12) -> dict[str, Any]:
    """Totals, errors over all clips, and the clips that stand out; `times` are seconds of encoding by clip."""
    clips = library.clips()
    per_second = {c.name: c.bytes / c.duration for c in clips}
    return {
        "totals": library.info(),
        "errors": _errors(clips),
        "worst": _worst(clips, top),
        "slowest": _highest(times or {}, "s to encode", top),
        "largest": _highest(per_second, "bytes/s", top),
    }


def _errors(clips: Sequence[LibraryClip]) -> list[dict[str, Any]]:
    found = []
    for metric in dict.fromkeys(m for kind in KEPT_METRICS.values() for m in kind):
        values = [clip.stats[metric] for clip in clips if metric in clip.stats]
        if values:
            middle, high = np.percentile(values, [50, 99])
            entry = {"metric": metric, "unit": unit_of(metric), "clips": len(values), "max": max(values)}
            found.append({**entry, "median": float(middle), "p99": float(high)})
    return found


def _worst(clips: Sequence[LibraryClip], top: int) -> list[dict[str, Any]]:
    """By the largest error of any joint or vertex, clips before meshes."""
    found: list[dict[str, Any]] = []
    for metric in ("joint_max", "vertex_max"):
        known = {clip.name: clip.stats[metric] for clip in clips if metric in clip.stats}
        found += _highest(known, f"{metric} {unit_of(metric)}".strip(), top)
    return found[:top]


def _highest(values: Mapping[str, float], unit: str, top: int) -> list[dict[str, Any]]:
    order = sorted(values.items(), key=lambda pair: (-pair[1], pair[0]))[:top]
    return [{"name": name, "value": value, "unit": unit} for name, value in order]


def library_page(library: Library, facts: Mapping[str, Any], *, title: str) -> str:
    """HTML of the facts, with pictures, and a table of all clips."""
    totals = facts["totals"]
    summary = (
        f"{totals['clips']:,} clips, {totals['duration_s'] / 60:,.1f} minutes, {totals['frames']:,} frames · "
        f"{totals['file_bytes']:,} bytes, ratio {number(totals['ratio'])} · "
        f"{totals['skeletons']:,} skeletons and meshes, each stored once"
    )
    sections = [_error_table(facts["errors"])]
    for key, heading in (("worst", "Largest errors"), ("slowest", "Slowest to encode"), ("largest", "Most bytes")):
        sections.append(_gallery(library, heading, facts[key]))
    sections.append(_clip_table(library))
    return page(title, escape(summary), [section for section in sections if section], note=SIZES)


def _error_table(errors: Sequence[Mapping[str, Any]]) -> str:
    if not errors:
        return "<p>The catalogue holds no errors: the clips were added without their originals.</p>"
    rows = [
        (e["metric"], e["unit"], *(number(e[k]) for k in ("median", "p99", "max")), f"{e['clips']:,}") for e in errors
    ]
    heads = ("error", "unit", "median clip", "99th percentile", "worst clip", "clips")
    return "<h2>Errors</h2>" + _table(heads, rows)


def _gallery(library: Library, heading: str, entries: Sequence[Mapping[str, Any]]) -> str:
    if not entries:
        return ""
    return f'<h2>{escape(heading)}</h2><div class="plots">{"".join(_card(library, e) for e in entries)}</div>'


def _card(library: Library, entry: Mapping[str, Any]) -> str:
    clip = library[entry["name"]]
    facts = f"{number(entry['value'])} {entry['unit']} · {clip.duration:.3g} s · {clip.bytes:,} bytes"
    labels = " · ".join(f"{key}: {value}" for key, value in clip.labels.items())
    caption = f"<strong>{escape(clip.name)}</strong><br>{escape(facts)}" + (f"<br>{escape(labels)}" if labels else "")
    return f"<figure>{strip_svg(clip)}<figcaption>{caption}</figcaption></figure>"


def _clip_table(library: Library) -> str:
    clips = library.clips()
    metrics = [m for kind in KEPT_METRICS.values() for m in kind if any(m in clip.stats for clip in clips)]
    heads = ("clip", "seconds", "frames", "bytes", "bytes/s", *(f"{m} {unit_of(m)}".strip() for m in metrics), "labels")
    rows = []
    for clip in clips[:MOST_ROWS]:
        errors = (number(clip.stats[m]) if m in clip.stats else "" for m in metrics)
        labels = ", ".join(f"{key}={value}" for key, value in clip.labels.items())
        size = (f"{clip.duration:.3g}", f"{clip.frames:,}", f"{clip.bytes:,}", number(clip.bytes / clip.duration))
        rows.append((clip.name, *size, *errors, labels))
    more = f"<p>And {len(clips) - MOST_ROWS:,} more.</p>" if len(clips) > MOST_ROWS else ""
    return f"<h2>All clips</h2>{_table(heads, rows)}{more}"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{escape(h)}</th>' for h in heads)
    lines = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>' + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:]) + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>'
