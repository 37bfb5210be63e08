"""The page: text, tables and plots in one HTML text without scripts or anything to fetch."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from kinepack.evaluate import Result
from kinepack.metrics import METRICS
from kinepack.model import Clip, Model
from kinepack.report.page import SIZES, page
from kinepack.report.picture import overlay_png
from kinepack.report.plots import error_over_time_svg, rate_distortion_svg, sizes_svg
from kinepack.report.rows import MAIN_METRICS, Row, by_codec, by_source, number, plain, seconds, shortened, unit, value


@dataclass(frozen=True)
class Comparison:
    """A source with its decoded copies by label; what a report needs for errors over time and pictures."""

    original: Model
    copies: Mapping[str, Model] = field(default_factory=dict)


def write_report(
    rows: Iterable[Result | Row], comparisons: Sequence[Comparison] = (), *, title: str = "Kinepack report"
) -> str:
    """HTML of all rows, a section per source; `comparisons` are matched to sources by the original's name."""
    table = plain(rows)
    shown = {comparison.original.name: comparison for comparison in comparisons}
    sections = [_source_section(name, group, shown.get(name)) for name, group in by_source(table).items()]
    return page(title, _summary(table), [*sections, _raw_rows(table)], note=SIZES)


def curve_report(rows: Iterable[Result | Row], title: str) -> str:
    """HTML of rate-distortion curves: one plot per main metric and source, and the rows as a table."""
    table = plain(rows)
    sections = [_curve_section(name, group) for name, group in by_source(table).items()]
    return page(title, _summary(table), [*sections, _raw_rows(table)], note=SIZES)


def _summary(rows: Sequence[Row]) -> str:
    """One line under the title: what was measured, with what, where."""
    sources, codecs = len(by_source(rows)), len(by_codec(rows))
    counts = f"{_count(sources, 'animation')}, {_count(codecs, 'codec')}, {_count(len(rows), 'measurement')}"
    versions = sorted({f"Kinepack {r['version']}" + (f" ({r['commit']})" if r.get("commit") else "") for r in rows})
    machines = sorted({str(r["machine"]) for r in rows if r.get("machine")})
    return escape(" · ".join([counts, *versions, *machines]))


def _count(amount: int, noun: str) -> str:
    return f"{amount} {noun}" + ("" if amount == 1 else "s")


def _source_section(name: str, rows: list[Row], comparison: Comparison | None) -> str:
    metric = _first_metric(rows)
    figures = [_figure(sizes_svg(rows), "Size of the motion on disk, in bytes.")]
    if any(len(group) > 1 for group in by_codec(rows).values()) and metric:
        caption = f"{escape(_metric_title(metric))} over size; lower left is better."
        figures.append(_figure(rate_distortion_svg(rows, y=metric), caption))
    picture = ""
    if comparison and comparison.copies:
        figures.append(_figure(error_over_time_svg(comparison.original, comparison.copies), _time_caption(comparison)))
        picture = _picture(comparison)
    body = _short_table(rows) + picture + f'<div class="plots">{"".join(figures)}</div>' + _all_metrics(rows)
    return _section(name, rows, body)


def _curve_section(name: str, rows: list[Row]) -> str:
    metrics = [m for m in MAIN_METRICS[_kind(rows)] if any(value(row, m) for row in rows)]
    figures = [_figure(rate_distortion_svg(rows, y=m), escape(_metric_title(m)) + ".") for m in metrics]
    if metrics:
        drawn = rate_distortion_svg(rows, x="bits_per_value", y=metrics[0])
        figures.append(_figure(drawn, "The same in bits for each number of each frame."))
    return _section(name, rows, f'<div class="plots">{"".join(figures)}</div>{_short_table(rows)}{_all_metrics(rows)}')


def _section(name: str, rows: list[Row], body: str) -> str:
    head = f'<h2>{escape(name or "unnamed")}</h2><p class="facts">{escape(_facts(rows[0]))}</p>'
    return f"<section>{head}{body}</section>"


def _facts(row: Row) -> str:
    """What the source is, in a line."""
    clip = row.get("kind") == "clip"
    per_frame = row.get("channels") or row.get("vertices") or row.get("numbers_per_frame") or 0
    if not clip and "vertices" not in row:
        per_frame //= 3
    what = "channels" if clip else "vertices"
    title = "Skeletal clip" if clip else "Mesh sequence"
    length = row["frames"] / row["fps"]
    return (
        f"{title}: {row['frames']:,} frames at {row['fps']:.6g} per second ({length:.3g} s), "
        f"{per_frame:,} {what}; raw {row['raw_bytes']:,} bytes ({row['raw_is']})"
    )


def _kind(rows: Sequence[Row]) -> str:
    kind = str(rows[0].get("kind", "clip"))
    return kind if kind in MAIN_METRICS else "clip"


def _first_metric(rows: Sequence[Row]) -> str:
    return next((m for m in MAIN_METRICS[_kind(rows)] if any(value(row, m) for row in rows)), "")


def _metric_title(metric: str) -> str:
    title = METRICS[metric].title if metric in METRICS else metric
    return title[:1].upper() + title[1:]


# Tables.


def _short_table(rows: list[Row]) -> str:
    """Codec, sizes, the main errors and times."""
    metrics = [m for m in MAIN_METRICS[_kind(rows)] if any(value(row, m) is not None for row in rows)]
    head = [
        "codec",
        "settings",
        "bytes",
        "ratio",
        "kbit/s",
        *(_metric_head(m) for m in metrics),
        "encode",
        "decode",
    ]
    lines = []
    for row in rows:
        cells = [
            escape(shortened(str(row.get("settings") or ""))),
            f"{row['motion_bytes']:,}",
            f"{number(value(row, 'ratio'))} : 1",
        ]
        cells += [number(value(row, "kbit_per_s")), *(number(value(row, m)) for m in metrics)]
        cells += [seconds(value(row, "encode_s")), seconds(value(row, "decode_s"))]
        lines.append((str(row["codec"]), cells))
    return _table(head, lines, "settings-second")


def _all_metrics(rows: list[Row]) -> str:
    """Every metric of every row, folded away."""
    names = sorted({name for row in rows for name in row.get("metrics", {})})
    lines = [(_row_name(row), [number(value(row, name)) for name in names]) for row in rows]
    table = _table(["codec", *(_metric_head(name) for name in names)], lines)
    meanings = "".join(f"<dt>{escape(n)}</dt><dd>{escape(_metric_title(n))}</dd>" for n in names if n in METRICS)
    return f"<details><summary>All metrics</summary>{table}<dl>{meanings}</dl></details>" if names else ""


def _row_name(row: Row) -> str:
    return shortened(f"{row['codec']} {row.get('settings') or ''}".strip())


def _metric_head(metric: str) -> str:
    return f"{escape(metric)}<small>{escape(unit(metric))}</small>" if unit(metric) else escape(metric)


def _table(head: Sequence[str], lines: Sequence[tuple[str, Sequence[str]]], kind: str = "") -> str:
    """`head` and cells are HTML; the first cell of each line is plain text."""
    columns = "".join(f'<th scope="col">{name}</th>' for name in head)
    body = "".join(
        f'<tr><th scope="row">{escape(name)}</th>' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
        for name, cells in lines
    )
    table = f'<table class="{kind}"><thead><tr>{columns}</tr></thead><tbody>{body}</tbody></table>'
    return f'<div class="scroll" tabindex="0">{table}</div>'


def _raw_rows(rows: Sequence[Row]) -> str:
    """The rows themselves, so that a report can be read back by a program."""
    text = "\n".join(json.dumps(dict(row), ensure_ascii=False) for row in rows)
    return f"<details><summary>Rows as JSON lines</summary><pre>{escape(text)}</pre></details>"


# Figures.


def _figure(drawing: str, caption: str) -> str:
    return f"<figure>{drawing}<figcaption>{caption}</figcaption></figure>"


def _time_caption(comparison: Comparison) -> str:
    clip = isinstance(comparison.original, Clip)
    return "Largest joint distance of each frame." if clip else "RMS vertex distance of each frame."


def _picture(comparison: Comparison) -> str:
    """The copy with the label given last, which a caller orders to be the most interesting."""
    name, copy = list(comparison.copies.items())[-1]
    data = base64.b64encode(overlay_png(comparison.original, copy)).decode()
    words = f"Original in grey, decoded from {shortened(name)} in red"
    image = f'<img alt="{escape(words)}" src="data:image/png;base64,{data}">'
    caption = f"<figcaption>{escape(words)}.</figcaption>"
    return f'<figure class="strip"><div class="scroll">{image}</div>{caption}</figure>'
