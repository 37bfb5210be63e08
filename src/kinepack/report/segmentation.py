"""Clusters of an animated mesh made visible: colours, pictures of frames, errors and their course over time."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinepack.codecs.base import Progress
from kinepack.codecs.mesh_cpca import MeshCpca, analyse
from kinepack.metrics import d_f
from kinepack.model import MeshSequence
from kinepack.report.drawing import PALETTE, figure, style
from kinepack.report.picture import _bounds, _camera, _canvas, _middle, _project, _shading, _side_by_side, spread

Colours = NDArray[np.float64]


def segment(
    mesh: MeshSequence, k: int, *, c: int = 5, starts: int = 5, seed: int = 0, progress: Progress | None = None
) -> NDArray[np.int32]:
    """[V] cluster of each vertex (section 3.2, Sattler 2005), numbered by falling size."""
    codec = MeshCpca(k=k, c=c, starts=starts, seed=seed, means=True)
    index = analyse(mesh.vertices, k, codec=codec, progress=progress).index
    order = np.argsort(-np.bincount(index), kind="stable")
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order))
    return rank[index]


def cluster_colours(index: NDArray[np.int32]) -> Colours:
    """[V, 3] a colour for each cluster; they repeat, darker, after eight."""
    base = np.array([[int(text[i : i + 2], 16) / 255 for i in (1, 3, 5)] for text in PALETTE])
    return np.asarray(base[index % len(base)] * (0.75 ** (index // len(base)))[:, None])


def error_scale(original: MeshSequence, copies: Iterable[MeshSequence], frame: int) -> float:
    """Percent of the frame's diagonal at which colours end: the 99th percentile of the worst copy's errors."""
    gaps = [_gaps(original, copy, frame) for copy in copies]
    return max(float(np.percentile(gap, 99)) for gap in gaps)


def _gaps(original: MeshSequence, copy: MeshSequence, frame: int) -> NDArray[np.float64]:
    """[V] distances in percent of the frame's bounding box diagonal."""
    there = original.vertices[frame].astype(np.float64)
    diagonal = float(np.linalg.norm(np.ptp(there, axis=0)))
    return np.asarray(100 * np.linalg.norm(copy.vertices[frame] - there, axis=1) / (diagonal or 1.0))


def error_colours(original: MeshSequence, copy: MeshSequence, frame: int, most: float) -> Colours:
    """[V, 3] from blue over green to red (`most` percent of the diagonal and above), as in Figure 7.

    By the logarithm: green is a tenth of `most`, blue a hundredth and below.
    """
    gaps = np.maximum(_gaps(original, copy, frame), 1e-12)
    share = np.clip(1 + np.log10(gaps / max(most, 1e-12)) / 2, 0, 1)[:, None]
    blue, green, red = np.array([[0.2, 0.3, 0.9], [0.2, 0.8, 0.3], [0.9, 0.15, 0.1]])
    return np.asarray(np.where(share < 0.5, blue + 2 * share * (green - blue), green + (2 * share - 1) * (red - green)))


def frames_png(
    mesh: MeshSequence, colours: Sequence[Colours], frames: Sequence[int], labels: Sequence[str] = ()
) -> bytes:
    """A strip of frames, each with colours [V, 3] of its own (Figures 1, 3 and 7) and a label below, as a PNG."""
    from matplotlib.collections import PolyCollection

    points = np.asarray(mesh.vertices[np.asarray(frames)], np.float64)
    camera = _camera(points, 1)
    flat = _side_by_side([_project(points, camera, _middle(points))], spacing=1.08)[0]
    low, high = _bounds(flat)
    low[1] -= 0.16 * (high[1] - low[1]) if labels else 0.0
    with style(paper=True):
        drawn, axes = _canvas(low, high)
        for label, part in zip(labels, flat, strict=bool(labels)):
            axes.annotate(label, (part[:, 0].mean(), low[1]), ha="center", va="bottom", fontsize=8)
        for number, tints in enumerate(colours):
            order, light = _shading(points[number], mesh.faces, camera)
            tone = tints[mesh.faces[order]].mean(axis=1) * (0.45 + 0.55 * light[order, None])
            corners = list(flat[number][mesh.faces[order]])
            axes.add_collection(PolyCollection(corners, facecolors=tone, edgecolors=tone, linewidths=0.2))
        return _png(drawn)


def clusters_png(mesh: MeshSequence, index: NDArray[np.int32], count: int = 5) -> bytes:
    """Figures 1 and 3: sample frames, a colour for each cluster."""
    frames = spread(mesh.frames, count).tolist()
    return frames_png(mesh, [cluster_colours(index)] * len(frames), frames)


def errors_png(mesh: MeshSequence, copies: dict[str, MeshSequence], frame: int, most: float) -> bytes:
    """Figure 7: one frame of several copies side by side, coloured by their distance from the original."""
    shown = mesh.with_vertices(np.stack([copy.vertices[frame] for copy in copies.values()]))
    colours = [error_colours(mesh, copy, frame, most) for copy in copies.values()]
    return frames_png(shown, colours, range(len(copies)), list(copies))


def d_f_png(mesh: MeshSequence, copies: dict[str, MeshSequence]) -> bytes:
    """Figure 5: the error of each frame, a line for each copy."""
    with style(paper=True):
        drawn = figure(6.0, 3.5)
        axes = drawn.subplots()
        for number, (name, copy) in enumerate(copies.items()):
            axes.plot(d_f(mesh, copy), label=name, color=PALETTE[number % len(PALETTE)])
        axes.set_xlabel("frame")
        axes.set_ylabel("d_f")
        axes.set_yscale("log")
        axes.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
        return _png(drawn)


def _png(drawn: Any) -> bytes:
    buffer = io.BytesIO()
    drawn.savefig(buffer, format="png", dpi=150, facecolor="white", metadata={"Software": None})
    return buffer.getvalue()
