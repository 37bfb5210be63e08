"""Figures 1, 4, 5, 6, 7, 9 and 10 of Sattler 2005 in one HTML page, on the sequences at hand."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from kinepack.codecs.base import Progress, codec_from_spec
from kinepack.codecs.mesh_cpca import MeshCpca
from kinepack.metrics import d_f
from kinepack.model import MeshSequence
from kinepack.report.drawing import MARKERS, PALETTE, figure, style, to_svg
from kinepack.report.page import page
from kinepack.report.segmentation import clusters_png, error_scale, errors_png, segment
from kinepack.reproduce.cpca import LONG, SHORT, TIME_COMPRESSED, Figure, sequence

Lines = dict[str, tuple[Sequence[float], Sequence[float]]]
SHOWN_C_STARS = (10, 20, 40, 100)
KINDS = ("mesh-cpca, 18 bits", "mesh-cpca, 32 bits", "mesh-pca", "mesh-pca-lpc", "kine-mesh")


def figures_page(found: Sequence[Figure], folder: Path, progress: Progress | None = None) -> str:
    """The page; needs matplotlib. Figures of a sequence that is not in the folder are left out."""
    names = {f.sequence for f in found}
    makers: list[Callable[[], str]] = []
    if LONG in names:
        mesh = sequence(LONG, folder)
        makers += [lambda: _figure_1(mesh), lambda: _figure_4(found), lambda: _figure_5(mesh)]
        makers += [lambda: _rates(found, LONG, "Figure 9")]
    if SHORT in names:
        makers += [lambda: _figure_6(found), lambda: _figure_7(sequence(SHORT, folder))]
        makers += [lambda: _rates(found, SHORT, "Figure 10")]
    sections = []
    for number, make in enumerate(makers):
        sections.append(make())
        if progress:
            progress((number + 1) / len(makers))
    summary = "The figures of Sattler, Sarlette and Klein 2005, in shape: measured by Kinepack on other sequences."
    note = "bpvf: bits per vertex and frame, those of the connectivity too."
    return page("Clustered PCA figures", summary, sections, note=note)


def _figure_1(mesh: MeshSequence) -> str:
    text = f"Figures 1 and 3: {mesh.name} with six clusters, each of its own colour."
    return _picture(text, clusters_png(mesh, segment(mesh, 6, starts=2)))


def _figure_4(found: Sequence[Figure]) -> str:
    own = [(codec_from_spec(f.settings), f.d_a) for f in found if f.table == "Figure 4"]
    points = [(codec.c_star, d_a) for codec, d_a in own if isinstance(codec, MeshCpca) and codec.c_star]
    whole = [d_a for codec, d_a in own if isinstance(codec, MeshCpca) and not codec.c_star]
    lines: Lines = {"with c* components": tuple(zip(*points, strict=True))}  # type: ignore[dict-item]
    if whole:
        lines["without the second PCA"] = ([points[0][0], points[-1][0]], [whole[0], whole[0]])
    text = f"Figure 4: d_a of {LONG} over the components of the second PCA; k = 10, c = 20, 18 bits."
    return _plot(text, lines, "c*", "d_a, %", log_y=True)


def _figure_5(mesh: MeshSequence) -> str:
    lines: Lines = {}
    for star in SHOWN_C_STARS:
        codec = codec_from_spec(TIME_COMPRESSED.format(star=star))
        copy = codec.decode(codec.encode(mesh))
        assert isinstance(copy, MeshSequence)
        lines[f"c* = {star}"] = (range(mesh.frames), d_f(mesh, copy).tolist())
    text = f"Figure 5: d_f of every frame of {mesh.name}; k = 10, c = 20, 18 bits."
    return _plot(text, lines, "frame", "d_f", log_y=True, marked=False)


def _figure_6(found: Sequence[Figure]) -> str:
    own = [(codec_from_spec(f.settings), f.d_a) for f in found if f.table == "Figure 6"]
    cells = [(codec.q_c, codec.q_w, d_a) for codec, d_a in own if isinstance(codec, MeshCpca)]
    components = sorted({(q_c, d_a) for q_c, q_w, d_a in cells if q_w == 18})
    weights = sorted({(q_w, d_a) for q_c, q_w, d_a in cells if q_c == 18})
    lines: Lines = {
        "q_c, with q_w = 18": tuple(zip(*components, strict=True)),  # type: ignore[dict-item]
        "q_w, with q_c = 18": tuple(zip(*weights, strict=True)),  # type: ignore[dict-item]
    }
    text = f"Figure 6: d_a of {SHORT} over the bits of components and of weights; k = 5, c = 10."
    return _plot(text, lines, "bits", "d_a, %", log_y=True)


def _figure_7(mesh: MeshSequence) -> str:
    copies = {}
    for q_c, q_w in ((12, 12), (12, 32), (32, 12), (16, 16)):
        codec = MeshCpca(k=5, c=10, q_c=q_c, q_w=q_w, starts=1)
        copy = codec.decode(codec.encode(mesh))
        assert isinstance(copy, MeshSequence)
        copies[f"q_c = {q_c}, q_w = {q_w}"] = copy
    frame = mesh.frames // 2
    most = error_scale(mesh, copies.values(), frame)
    text = f"Figure 7: frame {frame} of {mesh.name}; red is {most:.2g} % of the diagonal, green a tenth of that."
    return _picture(text, errors_png(mesh, copies, frame, most))


def _rates(found: Sequence[Figure], name: str, title: str) -> str:
    lines: Lines = {}
    for kind in KINDS:
        points = sorted((f.bpvf, f.d_a) for f in found if f.sequence == name and _kind(f) == kind)
        if points:
            lines[kind] = tuple(zip(*points, strict=True))  # type: ignore[assignment]
    text = f"{title}: d_a of {name} over bits per vertex and frame, connectivity included."
    return _plot(text, lines, "bpvf", "d_a, %", log_y=True, log_x=True)


def _kind(row: Figure) -> str:
    """Which line of Figures 9 and 10 a row belongs to."""
    codec = codec_from_spec(row.settings)
    if row.table != "Figures 9 and 10":
        return ""
    return f"{codec.id}, {codec.q_c} bits" if isinstance(codec, MeshCpca) else codec.id


def _plot(
    text: str, lines: Lines, x: str, y: str, *, log_y: bool = False, log_x: bool = False, marked: bool = True
) -> str:
    with style():
        drawn = figure(7.0, 4.0)
        axes: Any = drawn.subplots()
        for (name, (xs, ys)), colour, marker in zip(lines.items(), PALETTE, MARKERS, strict=False):
            axes.plot(list(xs), list(ys), color=colour, marker=marker if marked else "", label=name)
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        axes.set_yscale("log" if log_y else "linear")
        axes.set_xscale("log" if log_x else "linear")
        axes.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
        return _section(text, to_svg(drawn, text))


def _picture(text: str, png: bytes) -> str:
    data = base64.b64encode(png).decode()
    return _section(text, f'<img alt="{escape(text)}" style="max-width:100%" src="data:image/png;base64,{data}">')


def _section(text: str, content: str) -> str:
    return f"<section><figure>{content}<figcaption>{escape(text)}</figcaption></figure></section>"
