"""Plots as inline SVG that follows the page's colours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinepack.errors import UsageError
from kinepack.evaluate import Result
from kinepack.metrics import d_f, joint_error
from kinepack.model import Clip, Model
from kinepack.report.drawing import MARKERS, PALETTE, figure, style, to_svg
from kinepack.report.rows import Row, axis_title, by_codec, label, plain, shortened, unit, value

_WIDTH = 5.2


def rate_distortion_svg(rows: Iterable[Result | Row], x: str = "motion_bytes", y: str = "joint_rms") -> str:
    """Error over size, one line per codec, both logarithmic; rows without loss sit on the lower edge."""
    table = [row for row in plain(rows) if value(row, x) and value(row, y) is not None]
    with style():
        drawn = figure(_WIDTH, 3.5)
        axes = drawn.subplots()
        axes.set_xscale("log")
        axes.set_yscale("log")
        for index, (codec, group) in enumerate(by_codec(table).items()):
            _curve(axes, codec, group, x, y, index)
        axes.set_xlabel(axis_title(x))
        axes.set_ylabel(f"{y} [{unit(y)}]" if unit(y) else y)
        _plain_ticks(axes, bool(table))
        if table:
            axes.legend(fontsize=9.5)
        return to_svg(drawn, f"{axis_title(y)} over {axis_title(x)}, a line per codec")


def _curve(axes: Any, codec: str, rows: list[Row], x: str, y: str, index: int) -> None:
    points = sorted((value(row, x) or 0.0, value(row, y) or 0.0) for row in rows)
    look = {"color": PALETTE[index % len(PALETTE)], "marker": MARKERS[index % len(MARKERS)], "markersize": 5}
    lossy = [point for point in points if point[1] > 0]
    exact = [size for size, error in points if error <= 0]
    if lossy:
        axes.plot(*zip(*lossy, strict=True), label=codec, linewidth=1.8, **look)
    if exact:
        # Zero has no place on a logarithmic axis: the axis' own lower edge stands for it.
        edge = axes.get_xaxis_transform()
        name = f"{codec} (no loss)"
        axes.plot(exact, [0.0] * len(exact), label=name, linestyle="", transform=edge, clip_on=False, **look)


def _plain_ticks(axes: Any, any_data: bool) -> None:
    """20k in place of 2 x 10^4, and marks inside a decade where the axis has few of them."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    for axis, limits in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        decades = np.log10(limits[1] / limits[0]) if any_data else 1.0
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if decades < 2.4 else (1.0,)))
        axis.set_major_formatter(FuncFormatter(lambda amount, _: short_number(amount)))
        axis.set_minor_formatter(NullFormatter())


def short_number(amount: float) -> str:
    """20k, 1.5M, 0.02"""
    for factor, suffix in ((1e6, "M"), (1e3, "k")):
        if abs(amount) >= factor:
            return f"{amount / factor:.10g}{suffix}"
    return f"{amount:.10g}"


def sizes_svg(rows: Iterable[Result | Row]) -> str:
    """A bar per row: what the motion takes on disk, and the raw size above them all."""
    table = plain(rows)
    names = [label(row) for row in table]
    sizes = [value(row, "motion_bytes") or 0.0 for row in table]
    raw = max((value(row, "raw_bytes") or 0.0 for row in table), default=0.0)
    colours = {codec: PALETTE[index % len(PALETTE)] for index, codec in enumerate(by_codec(table))}
    with style():
        drawn = figure(_WIDTH, 0.75 + 0.36 * (len(table) + 1))
        axes = drawn.subplots()
        axes.grid(visible=False)
        axes.barh(0, raw, color="#9a9a9a", height=0.62)
        for position, (row, size) in enumerate(zip(table, sizes, strict=True), 1):
            axes.barh(position, size, color=colours[str(row["codec"])], height=0.62)
        for position, size in enumerate([raw, *sizes]):
            text = f"{size:,.0f}" + (f" ({raw / size:.3g} : 1)" if position and size else "")
            axes.annotate(text, (size, position), (5, 0), textcoords="offset points", va="center", fontsize=9.5)
        axes.set_yticks(range(len(table) + 1), ["raw float32", *names])
        axes.set_xlim(0, max([raw, *sizes, 1.0]) * 1.6)
        axes.invert_yaxis()
        axes.tick_params(length=0)
        axes.set_xticks([])
        for side in ("bottom", "left"):
            axes.spines[side].set_visible(False)
        return to_svg(drawn, "size in bytes: " + ", ".join(f"{n} {s:,.0f}" for n, s in zip(names, sizes, strict=True)))


def error_over_time_svg(original: Model, copies: Mapping[str, Model]) -> str:
    """The worst joint (or, for meshes, the RMS vertex distance) of every frame, a line per copy."""
    seconds = np.arange(original.frames) * original.frame_time
    errors = {name: frame_error_cm(original, copy) for name, copy in copies.items()}
    worst = "worst joint" if isinstance(original, Clip) else "RMS vertex distance"
    with style():
        drawn = figure(_WIDTH, 3.2)
        axes = drawn.subplots()
        for index, (name, error) in enumerate(errors.items()):
            axes.plot(seconds, error, color=PALETTE[index % len(PALETTE)], linewidth=1.1, label=shortened(name))
        axes.set_xlim(0, max(float(seconds[-1]), original.frame_time))
        _error_scale(axes, list(errors.values()))
        axes.set_xlabel("time [s]")
        axes.set_ylabel(f"{worst} [cm]")
        if copies:
            drawn.legend(fontsize=9.5, loc="outside upper left", ncols=2)
        return to_svg(drawn, f"{worst} in centimetres over time for " + ", ".join(copies))


def _error_scale(axes: Any, errors: Sequence[NDArray[np.float64]]) -> None:
    """Logarithmic where the copies' errors are far apart, else linear from 0."""
    middles = [float(np.median(error)) for error in errors]
    if middles and min(float(error.min()) for error in errors) > 0 and max(middles) > 8 * min(middles):
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda amount, _: short_number(amount))
    else:
        axes.set_ylim(bottom=0)


def frame_error_cm(original: Model, copy: Model) -> NDArray[np.float64]:
    """[frames] largest joint distance of a clip, RMS vertex distance of a mesh."""
    if isinstance(original, Clip) and isinstance(copy, Clip):
        return np.asarray(joint_error(original, copy).max(axis=1))
    if isinstance(original, Clip) or isinstance(copy, Clip):
        raise UsageError("a clip and a mesh sequence cannot be compared")
    return np.asarray(d_f(original, copy) / np.sqrt(original.vertices.shape[1]) * original.unit_cm)
