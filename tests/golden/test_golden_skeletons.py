"""Skeletons coded by a released version read the same forever, to the last digit."""

from __future__ import annotations

from pathlib import Path

import pytest

import kinepack
from kinepack.container.layout import StaticKind
from kinepack.model import Clip

FILES = sorted((Path(__file__).parent / "skeletons").glob("*.kine"))


def test_there_are_goldens() -> None:
    assert [path.stem for path in FILES] == ["bones", "doubles", "floats", "sites"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_golden_skeleton_reads_the_same(path: Path) -> None:
    with kinepack.open(path) as file:
        assert file.container.statics[0].body[0] == StaticKind.CODED_SKELETON
        clip = file[0].decode()
    assert isinstance(clip, Clip) and clip.frames == 2
    assert clip.skeleton.to_json() == path.with_suffix(".json").read_text(encoding="utf-8")
