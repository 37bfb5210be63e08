"""Figures 5 to 7 of 000 and Figure 4 of 004, measured on the same clips and drawn as SVG."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinepack.codecs.base import Progress, codec_from_spec
from kinepack.metrics.base import METRICS
from kinepack.model import Clip
from kinepack.report.drawing import MARKERS, PALETTE, figure, matplotlib, style, to_svg
from kinepack.report.page import page
from kinepack.reproduce.bap_published import TABLE_1_004
from kinepack.reproduce.clips import paper_clip
from kinepack.search import Evaluator, Found, Point, Sparseness, exhaustive
from kinepack.search.bap import valid

FIGURE_7 = ("walk", "jump", "dance", "basketball")
KS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)
FRACTIONS = tuple(np.linspace(0.2, 1.0, 17))


@dataclass(frozen=True)
class SparsingPoint:
    """One K of Figure 4 of 004."""

    k: float
    dropped: float
    """Share of the P-frame values that are zero."""
    def_cm: float
    throughput: float
    """Bytes over those without sparsing."""


def sparsing_curve(clip: Clip, ks: Sequence[float] = KS) -> list[SparsingPoint]:
    """Dropped share, error and throughput over K, as in the paper: floats, open loop."""
    whole, statistics = codec_from_spec("mpeg4-float").encode(clip).payload_bytes, Sparseness.of(clip)
    points = []
    for k in ks:
        codec = codec_from_spec(f"bap-sparsing:closed_loop=off,k={k}")
        stream = codec.encode(clip)
        error = METRICS["def"].measure(clip, codec.decode(stream))
        dropped = float(np.count_nonzero(statistics.held_back(k))) / max(statistics.differences.size, 1)
        points.append(SparsingPoint(k, dropped, error, stream.payload_bytes / whole))
    return points


def surface(clip: Clip, progress: Progress | None = None) -> Found:
    """T and DEF over FDF and n_d: b = 8, K = 0.1."""
    return exhaustive(Evaluator(clip), progress=progress)


def figures_page(folder: Path, progress: Progress | None = None) -> str:
    """All figures in one HTML page."""
    report = progress or (lambda share: None)
    jog, others = surface(paper_clip("jog", folder), lambda s: report(0.15 * s)), {}
    for number, name in enumerate(FIGURE_7):
        others[name] = surface(paper_clip(name, folder))
        report(0.15 + 0.45 * (number + 1) / len(FIGURE_7))
    curves = {}
    for number, name in enumerate(TABLE_1_004):
        curves[name] = sparsing_curve(paper_clip(name, folder))
        report(0.6 + 0.35 * (number + 1) / len(TABLE_1_004))
    drawn = [
        ("000, Figure 5: jog. DEF and throughput over n_d and FDF, b = 8, K = 0.1.", surfaces_svg(jog.tried)),
        ("000, Figure 6: jog. DEF over throughput, the best setting within each f.", throughput_svg(jog, folder)),
        ("000, Figure 7: DEF over n_d and FDF.", many_surfaces_svg(others)),
        ("004, Figure 4: dropped P-frame values, DEF and throughput over K.", sparsing_svg(curves)),
    ]
    sections = [
        f"<section><figure>{svg}<figcaption>{escape(text)}</figcaption></figure></section>" for text, svg in drawn
    ]
    report(1.0)
    summary = (
        "The figures of the BAP papers, measured by Kinepack on the same CMU clips; "
        "errors in centimetres; 000 closed loop, 004 open."
    )
    return page("BAP figures", summary, sections)


def _grid(points: Sequence[Point], of: Callable[[Point], float]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """n_d, FDF and values [n_d, FDF] for a surface."""
    rows, columns = sorted({p.n_d for p in points}), sorted({p.fdf for p in points})
    values = {(p.n_d, p.fdf): of(p) for p in points}
    table = np.array([[values[row, column] for column in columns] for row in rows])
    x, y = np.meshgrid(columns, rows)
    return x, y, table


def _surface(axes: Any, points: Sequence[Point], of: Callable[[Point], float], title: str) -> None:
    axes.plot_surface(*_grid(points, of), cmap="viridis", linewidth=0, rcount=80, ccount=80)
    axes.set_xlabel("FDF")
    axes.set_ylabel("n_d")
    axes.set_title(title)


def _three_dimensions() -> dict[str, Any]:
    matplotlib()
    import mpl_toolkits.mplot3d  # noqa: F401  registers the projection

    return {"projection": "3d"}


def surfaces_svg(points: Sequence[Point]) -> str:
    """Figure 5 of 000."""
    with style():
        drawn = figure(9.0, 4.2)
        left, right = drawn.subplots(1, 2, subplot_kw=_three_dimensions())
        _surface(left, points, lambda p: p.def_cm, "DEF, cm")
        _surface(right, points, lambda p: p.bytes / 1024, "T, KB")
        return to_svg(drawn, "DEF and throughput over n_d and FDF")


def many_surfaces_svg(found: Mapping[str, Found]) -> str:
    """Figure 7 of 000."""
    with style():
        drawn = figure(9.0, 4.2 * -(-len(found) // 2))
        panels = drawn.subplots(-(-len(found) // 2), 2, subplot_kw=_three_dimensions(), squeeze=False)
        for axes, (name, one) in zip(panels.ravel(), found.items(), strict=False):
            _surface(axes, one.tried, lambda p: p.def_cm, f"{name}: DEF, cm")
        return to_svg(drawn, "DEF over n_d and FDF for several motions")


def throughput_svg(found: Found, folder: Path) -> str:
    """Figure 6 of 000: least DEF within each f."""
    evaluator = Evaluator(paper_clip("jog", folder))
    best = []
    for f in FRACTIONS:
        points = [p for p in found.tried if valid(p, evaluator, float(f))]
        best += [min(points, key=lambda p: p.def_cm)] if points else []
    line = [*((p.bytes / 1024, p.def_cm) for p in best), (evaluator.original_bytes / 1024, 0.0)]
    with style():
        drawn = figure(5.2, 3.5)
        axes = drawn.subplots()
        axes.plot(*zip(*line, strict=True), color=PALETTE[0], marker="o", markersize=4)
        axes.set_xlabel("T, KB")
        axes.set_ylabel("DEF, cm")
        return to_svg(drawn, "DEF over throughput")


def sparsing_svg(curves: Mapping[str, Sequence[SparsingPoint]]) -> str:
    """Figure 4 of 004."""
    panels: tuple[tuple[str, Callable[[SparsingPoint], float]], ...] = (
        ("dropped, %", lambda p: 100 * p.dropped),
        ("DEF, cm", lambda p: p.def_cm),
        ("throughput, %", lambda p: 100 * p.throughput),
    )
    with style():
        drawn = figure(10.0, 3.6)
        for axes, (title, of) in zip(drawn.subplots(1, 3), panels, strict=True):
            for index, (name, points) in enumerate(curves.items()):
                look = {
                    "color": PALETTE[index % len(PALETTE)],
                    "marker": MARKERS[index % len(MARKERS)],
                    "markersize": 4,
                }
                axes.plot([p.k for p in points], [of(p) for p in points], label=name, **look)
            axes.set_xlabel("K")
            axes.set_title(title)
        axes.legend(fontsize=8)
        return to_svg(drawn, "dropped share, error and throughput over K")
