"""Figure 2 of the wavelet paper, and pictures like its Figures 3 and 4, in one HTML page."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from pathlib import Path

from kinepack.api import compress, decompress
from kinepack.codecs.base import Progress
from kinepack.report.drawing import MARKERS, PALETTE, figure, style, to_svg
from kinepack.report.page import page
from kinepack.report.picture import overlay_png
from kinepack.reproduce.bap import Cell
from kinepack.reproduce.wavelet import SEEN_E_X, cmu_clip, motion_bytes

SHOWN = ("wavelet-optimized:ratio=60", "wavelet:ratio=40", "wavelet-ik:ratio=75")
"""The first sets the size of all."""


def figures_page(found: Sequence[Cell], folder: Path, progress: Progress | None = None) -> str:
    """The page, from cells that `reproduce.wavelet.cells` gave; needs matplotlib."""
    plot = "Figure 2: mean e_x over 15 CMU clips at compression ratios of files without skeleton."
    sections = [_section(plot, curves_svg(curves_of(found))), *map(_picture_section, _pictures(folder, progress))]
    summary = "The figures of Beaudoin, Poulin and van de Panne 2007, measured by Kinepack on CMU clips."
    return page("Wavelet figures", summary, sections)


def curves_of(found: Sequence[Cell]) -> dict[str, list[tuple[float, float]]]:
    """Codec -> (ratio, mean e_x), out of the cells of Figure 2."""
    curves: dict[str, list[tuple[float, float]]] = {}
    for cell in found:
        kind, _, name = cell.column.partition(" ")
        if cell.table == "Figure 2" and kind == "e_x" and cell.ours is not None:
            ratio = float(cell.clip.rpartition(" ")[2].removesuffix(":1"))
            curves.setdefault(name, []).append((ratio, cell.ours))
    return curves


def curves_svg(curves: dict[str, list[tuple[float, float]]]) -> str:
    """Figure 2."""
    with style():
        drawn = figure(7.0, 4.4)
        axes = drawn.subplots()
        for (name, points), colour, marker in zip(curves.items(), PALETTE, MARKERS, strict=False):
            axes.plot(*zip(*points, strict=True), color=colour, marker=marker, label=name)
        axes.set_xlabel("compression ratio")
        axes.set_ylabel("mean e_x, cm")
        axes.set_xlim(0, 85)
        axes.set_ylim(0, 4)
        axes.axhline(SEEN_E_X, color=PALETTE[5], linestyle=":", linewidth=1)
        axes.annotate(
            "nothing seen below, says the paper", (84, SEEN_E_X), (0, -11), textcoords="offset points", ha="right"
        )
        axes.legend()
        return to_svg(drawn, "Mean e_x over compression ratio")


def _pictures(folder: Path, progress: Progress | None) -> list[tuple[str, bytes]]:
    """Figures 3 and 4: the running clip in as many bytes with three codecs."""
    clip, budget, pictures = cmu_clip("09_01", folder), None, []
    for number, spec in enumerate(SHOWN):
        data = compress(clip, spec, max_bytes=budget)
        budget = budget or len(data)
        text = f"{spec.partition(':')[0]}, {motion_bytes(data):,} bytes: the original in grey, the copy in red."
        pictures.append((text, overlay_png(clip, decompress(data), 6)))
        if progress:
            progress((number + 1) / len(SHOWN))
    return pictures


def _picture_section(shown: tuple[str, bytes]) -> str:
    text, png = shown
    data = base64.b64encode(png).decode()
    return _section(text, f'<img alt="{escape(text)}" style="max-width:100%" src="data:image/png;base64,{data}">')


def _section(text: str, content: str) -> str:
    return f"<section><figure>{content}<figcaption>{escape(text)}</figcaption></figure></section>"
