"""Figures of the BAP papers on the same CMU clips: published, ours, and how close they must be."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from kinepack.codecs.base import codec_from_spec
from kinepack.energy import BANDWIDTHS_KBIT_S, PAPER_FPS, reception_mj
from kinepack.model import Clip
from kinepack.reproduce.bap import Cell, cells
from kinepack.reproduce.bap_published import TABLE_1_000, TABLE_1_004, TABLE_2_000
from kinepack.reproduce.clips import paper_clip
from kinepack.transforms.bap_sizes import smallest_file_size


@cache
def _clip(name: str, folder: Path) -> Clip:
    return paper_clip(name, folder)


@cache
def _cells(folder: Path) -> tuple[Cell, ...]:
    return tuple(cells(folder))


@pytest.fixture(scope="session")
def folder(shared_data: Path) -> Path:
    return shared_data / "asfamc"


def kb(clip: Clip, spec: str) -> float:
    return codec_from_spec(spec).encode(clip).payload_bytes / 1024


@pytest.mark.parametrize("name", TABLE_2_000)
def test_clips_have_the_papers_frames(name: str, folder: Path) -> None:
    clip = _clip(name, folder)
    assert clip.frames == TABLE_2_000[name].frames and clip.values.shape[1] == 62


@pytest.mark.parametrize(("name", "published"), [("walk", 73), ("sword play", 465)])
def test_mpeg4_float_is_within_five_per_cent(name: str, published: float, folder: Path) -> None:
    assert kb(_clip(name, folder), "mpeg4-float") == pytest.approx(published, rel=0.05)


def test_mpeg4_float_on_the_other_clips(folder: Path) -> None:
    """Rebuilt clips differ in their last digits, which floats cost bytes for: up to 11 % (stride)."""
    for name, row in TABLE_1_000.items():
        assert kb(_clip(name, folder), "mpeg4-float") == pytest.approx(row.mpeg4, rel=0.11), name


@pytest.mark.parametrize(("ranges", "most"), [("widest", 22.0), ("fitted", 12.0)])
def test_predictive_walk(ranges: str, most: float, folder: Path) -> None:
    clip = _clip("walk", folder)
    codec = codec_from_spec(f"mpeg4-predictive:bap_quant=1,ranges={ranges}")
    stream = codec.encode(clip)
    angles = clip.skeleton.select("r")
    error = np.abs(codec.decode(stream).values - clip.values)[:, angles].max()
    assert stream.payload_bytes <= most * 1024 and error <= 0.08


@pytest.mark.parametrize("name", TABLE_1_000)
def test_indexed_bytes_are_equation_6(name: str, folder: Path) -> None:
    clip = _clip(name, folder)
    stream = codec_from_spec("bap-indexing:fdf=0,n_d=0,bits=8").encode(clip)
    assert len(stream.segments[0].data) == smallest_file_size(*clip.values.shape)
    assert name != "jog" or len(stream.segments[0].data) == 9642


@pytest.mark.parametrize("name", TABLE_1_000)
def test_sparse_indexing_saves_what_the_paper_says(name: str, folder: Path) -> None:
    clip = _clip(name, folder)
    for loop, least, most in (("off", 0.25, 0.40), ("on", 0.28, 0.47)):
        indexed = kb(clip, f"bap-indexing:closed_loop={loop}")
        saved = 1 - kb(clip, f"sparse-indexing:k=0.1,closed_loop={loop}") / indexed
        assert least <= saved <= most, loop


@pytest.mark.parametrize("name", TABLE_1_004)
def test_sparsing_leaves_about_what_the_paper_says(name: str, folder: Path) -> None:
    """0.70 to 0.77 there. Ours is 0.63 to 0.77: its levels are in a figure that its text lacks."""
    clip = _clip(name, folder)
    ratio = kb(clip, "bap-sparsing:closed_loop=off") / kb(clip, "mpeg4-float")
    assert 0.62 <= ratio <= 0.77
    if name == "walk":
        assert ratio == pytest.approx(TABLE_1_004[name].ratio, rel=0.01)


@pytest.mark.parametrize("name", TABLE_1_000)
def test_equation_11_gives_the_papers_energies_from_its_own_sizes(name: str) -> None:
    row, seconds = TABLE_1_000[name], TABLE_2_000[name].frames / PAPER_FPS
    for kbit, pair in zip(BANDWIDTHS_KBIT_S, (row.mj_128k, row.mj_1m, row.mj_4m), strict=True):
        for size, published in zip((row.mpeg4, row.sparsed), pair, strict=True):
            assert reception_mj(size, seconds, kbit) == pytest.approx(published, rel=0.01)


def test_closed_loop_ends_drift(folder: Path) -> None:
    found = {(c.clip, c.column): c.ours for c in _cells(folder)}
    for name in TABLE_1_000:
        closed, opened = found[name, "sparsed-indexed closed loop DEF"], found[name, "sparsed-indexed DEF"]
        assert closed is not None and opened is not None and closed < 0.35 * opened


def test_matched_sizes_keep_the_papers_bound(folder: Path) -> None:
    found = {(c.clip, c.column): c.ours for c in _cells(folder) if c.table == "000 Table 2"}
    for name in TABLE_2_000:
        f, size = found[name, "f"], found[name, "matched indexed"]
        assert f is not None and size is not None
        assert size * 1024 <= f * 4 * 62 * TABLE_2_000[name].frames
