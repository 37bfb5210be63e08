"""`kinepack search` and `kinepack reproduce` from the outside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kinepack.codecs.base import codec_from_spec

if TYPE_CHECKING:
    from cli_support import Run

pytest_plugins = ["cli_support"]


def test_search_names_a_codec_to_compress_with(run: Run, made: Path) -> None:
    answer = run("search", made / "walk.bvh", "--f", "0.6", "--k", "0.1")
    assert answer.code == 0
    spec = next(word for word in answer.out.split() if word.startswith("sparse-indexing:"))
    assert codec_from_spec(spec).id == "sparse-indexing"


def test_search_rows_have_one_best(run: Run, made: Path) -> None:
    answer = run("search", made / "walk.bvh", "--f", "0.6", "--goal", "def", "--json")
    rows = [json.loads(line) for line in answer.out.splitlines()]
    assert answer.code == 0 and sum(row["best"] for row in rows) == 1
    assert {"fdf", "n_d", "bytes", "def_cm", "merit"} <= set(rows[0])


def test_search_draws_surfaces_of_all_settings(run: Run, made: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    page = tmp_path / "surface.html"
    assert run("search", made / "walk.bvh", "--f", "0.9", "--exhaustive", "-o", page).code == 0
    assert page.read_text().count("<svg") == 1
    assert run("search", made / "walk.bvh", "-o", page).code == 2


def test_search_says_when_nothing_fits(run: Run, made: Path) -> None:
    answer = run("search", made / "walk.bvh", "--f", "0.01")
    assert answer.code == 6 and "smallest" in answer.err


def test_reproduce_needs_the_clips(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KINEPACK_DATA", raising=False)
    assert run("reproduce", "bap").code == 2
    assert "mocap.cs.cmu.edu" in run("reproduce", "bap", "--data", tmp_path).err
    assert run("reproduce", "nothing", "--data", tmp_path).code == 2


def test_reproduce_prints_rows(run: Run, shared_data: Path) -> None:
    answer = run("reproduce", "bap", "--data", shared_data / "asfamc", "--json")
    rows = [json.loads(line) for line in answer.out.splitlines()]
    assert answer.code == 0
    assert {row["table"] for row in rows} == {"000 Table 1", "000 Table 2", "004 Table 1"}
    assert all(row["ours"] is not None for row in rows)
