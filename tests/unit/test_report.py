"""Reports are well-formed, stand alone, and survive rows of any shape."""

from __future__ import annotations

import dataclasses
import sys
from typing import Any

import numpy as np
import pytest

from kinepack.errors import ConfigError, UsageError
from kinepack.evaluate import evaluate
from kinepack.report import (
    Comparison,
    curve_report,
    error_over_time_svg,
    overlay_png,
    rate_distortion_svg,
    sizes_svg,
    write_report,
)
from kinepack.report.page import page
from kinepack.report.rows import number, seconds, shortened
from kinepack.samples import fish, human

pytest.importorskip("matplotlib")

CLIP, MESH = human().slice(0, 60), fish().slice(0, 8)


def _row(**other: Any) -> dict[str, Any]:
    row: dict[str, Any] = {"source": "walk", "kind": "clip", "frames": 60, "channels": 62, "fps": 120.0}
    row |= {"codec": "some", "settings": "", "file_bytes": 300, "skeleton_bytes": 100, "motion_bytes": 200}
    row |= {"raw_bytes": 14880, "raw_is": "frames x channels x float32", "ratio": 74.4, "kbit_per_s": 3.2}
    row |= {"bits_per_value": 0.43, "metrics": {"joint_rms": 0.1}, "encode_s": 0.01, "decode_s": 0.001}
    return row | {"version": "0.1.0", "commit": "", "machine": "a computer"} | other


def _stands_alone(html: str) -> bool:
    return not any(word in html for word in ("src='http", 'src="http', "<script", "<link", "@import", "url(http"))


def test_report_of_real_rows_has_every_part() -> None:
    rows = [evaluate(model, codec) for model in (CLIP, MESH) for codec in ("raw", "delta-lzma")]
    html = write_report(rows, [Comparison(CLIP, {"same": CLIP}), Comparison(MESH, {"same": MESH})])
    assert html.startswith("<!doctype html>")
    assert html.count("<h2>") == 2
    assert html.count("data:image/png;base64,") == 2
    assert html.count("<svg ") == html.count("</svg>") == 4
    assert "prefers-color-scheme: dark" in html and 'name="viewport"' in html
    assert _stands_alone(html)


def test_pages_of_figures_say_nothing_of_sizes() -> None:
    """Ratios and bytes are told where there are some."""
    assert "<footer>" not in page("Figures", "", ["<p>none</p>"])
    assert "<footer>bits &lt; bytes</footer>" in page("Figures", "", [], note="bits < bytes")
    assert "Ratio: raw bytes over motion bytes" in write_report([])


def test_ids_of_figures_do_not_collide() -> None:
    rows = [_row(motion_bytes=size, metrics={"joint_rms": 1 / size, "e_x": 2 / size}) for size in (100, 200, 400)]
    html = curve_report(rows, "Curves")
    ids = [part.split('"')[0] for part in html.split(' id="')[1:]]
    assert len(ids) == len(set(ids))


def test_names_are_escaped() -> None:
    html = write_report([_row(source="<b>&", codec="<i>", settings='"&<')], title="<script>")
    assert "<b>" not in html and "<i>" not in html and "<script" not in html


@pytest.mark.parametrize("rows", [[], [_row(metrics={})], [_row(metrics={"joint_rms": 0.0})], [_row(ratio=None)]])
def test_thin_rows_give_a_page(rows: list[dict[str, Any]]) -> None:
    assert "</html>" in write_report(rows)
    assert "</html>" in curve_report(rows, "Curve")


def test_a_metric_that_is_not_finite_is_left_out() -> None:
    still = MESH.with_vertices(np.repeat(MESH.vertices[:1], MESH.frames, axis=0))
    row = dataclasses.replace(evaluate(still, "raw"), metrics={"kg": float("inf"), "d_a": float("nan")})
    html = write_report([row]) + curve_report([row], "Curve")
    assert "Infinity" not in html and "NaN" not in html and "<td>inf" not in html


def test_plots_follow_the_colours_of_the_page() -> None:
    for svg in (rate_distortion_svg([_row()]), sizes_svg([_row()]), error_over_time_svg(CLIP, {"same": CLIP})):
        assert svg.startswith("<svg ") and "var(--ink)" in svg and "#010203" not in svg


def test_pictures() -> None:
    moved = MESH.with_vertices(MESH.vertices + np.float32(0.01))
    for original, copy in ((CLIP, CLIP), (MESH, moved), (CLIP.slice(0, 1), CLIP.slice(0, 1))):
        assert overlay_png(original, copy).startswith(b"\x89PNG")
    with pytest.raises(UsageError):
        overlay_png(CLIP, MESH)
    with pytest.raises(UsageError):
        overlay_png(CLIP, CLIP, frames=[60])


def test_missing_matplotlib_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ConfigError) as caught:
        sizes_svg([_row()])
    assert "kinepack[plot]" in caught.value.hint


@pytest.mark.parametrize(
    ("amount", "text"),
    [(None, "–"), (0, "0"), (0.08536, "0.0854"), (1.5, "1.50"), (23.856, "23.9"), (9356.0, "9,356"), (2e-6, "2.0e-06")],
)
def test_numbers(amount: float | None, text: str) -> None:
    assert number(amount) == text


def test_seconds() -> None:
    assert [seconds(t) for t in (2.0, 0.0123, 5e-6, 1e-9)] == ["2.00 s", "12.3 ms", "5.00 µs", "1.00 ns"]


def test_settings_are_shortened() -> None:
    assert shortened("delta-lzma:step=1.18168031254,order=2") == "delta-lzma:step=1.182,order=2"
    assert shortened("step=1.25e-07") == "step=1.25e-07"
