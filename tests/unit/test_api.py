"""The verbs a user calls."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kinepack
from kinepack.errors import FormatError, IOFailure, UnsupportedContent, UsageError
from kinepack.model import Clip
from kinepack.testing import awkward_clips, awkward_meshes

CLIP = awkward_clips()["prime-length"]


def test_read_what_was_written(tmp_path: Path) -> None:
    kinepack.write(CLIP, tmp_path / "prime.bvh")
    again = kinepack.read(tmp_path / "prime.bvh")
    assert isinstance(again, Clip) and (again.values == CLIP.values).all() and again.name == "prime"


def test_kine_files_read_like_any_other(tmp_path: Path) -> None:
    (tmp_path / "a.kine").write_bytes(kinepack.compress(CLIP, "raw"))
    assert kinepack.read(tmp_path / "a.kine") == CLIP
    assert kinepack.compare(CLIP, tmp_path / "a.kine")["joint_max"] == 0


def test_a_unit_takes_the_place_of_a_kine_files_own(tmp_path: Path) -> None:
    mesh = awkward_meshes()["wave"]
    for name, model in {"a.kine": CLIP, "m.kine": mesh}.items():
        (tmp_path / name).write_bytes(kinepack.compress(model, "raw"))
        assert kinepack.read(tmp_path / name, unit_cm=7).unit_cm == 7


def test_names_are_text_whatever_files_are_called(tmp_path: Path) -> None:
    path = tmp_path / "walk\udcff.bvh"
    try:
        kinepack.write(CLIP, path)
    except (IOFailure, UnicodeEncodeError):
        pytest.skip("the file system takes no such name")
    clip = kinepack.read(path)
    assert clip.name == "walk?" and kinepack.decompress(kinepack.compress(clip, "raw")).name == "walk?"


def test_a_clip_of_which_nothing_fits(tmp_path: Path) -> None:
    skeleton = kinepack.Skeleton((kinepack.Joint("face", -1),), (kinepack.Channel(0, "scalar", "smile"),))
    clip = Clip(skeleton, np.zeros((2, 1)))
    for name in ("a.bvh", "a.amc"):
        with pytest.raises(UnsupportedContent, match="no place for any"):
            kinepack.write(clip, tmp_path / name)


def test_convert_says_what_is_lost(tmp_path: Path) -> None:
    kinepack.write(awkward_clips()["quaternions"], tmp_path / "a.npz")
    lost = kinepack.convert(tmp_path / "a.npz", tmp_path / "a.bvh")
    assert any("scale" in line for line in lost)


@pytest.mark.parametrize("name", ["a.xyz", "noext", "a.kine.gz"])
def test_unknown_formats(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"?")
    with pytest.raises(UnsupportedContent):
        kinepack.read(tmp_path / name)
    with pytest.raises(UnsupportedContent):
        kinepack.write(CLIP, tmp_path / name)


def test_wrong_kind_missing_file_bad_content(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedContent, match="mesh"):
        kinepack.write(awkward_meshes()["wave"], tmp_path / "a.bvh")
    with pytest.raises(IOFailure, match="no such file"):
        kinepack.read(tmp_path / "missing.bvh")
    (tmp_path / "bad.bvh").write_text("HIERARCHY\nROOT")
    with pytest.raises(FormatError, match=r"bad\.bvh"):
        kinepack.read(tmp_path / "bad.bvh")
    with pytest.raises(UsageError, match="made by compress"):
        kinepack.convert(tmp_path / "bad.bvh", tmp_path / "x.kine")


def test_every_real_file_reads(shared_data: Path) -> None:
    files = [p for p in shared_data.rglob("*") if p.is_file() and p.suffix not in (".asf", ".md")]
    assert files
    for path in files:
        for model in kinepack.read_all(path):
            assert model.frames >= 1
