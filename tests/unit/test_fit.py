"""Targets and budgets are kept, and nearly used up."""

from __future__ import annotations

import pytest

import kinepack
from kinepack.codecs.base import Codec, Stream, codec_from_spec
from kinepack.errors import ConfigError, TargetUnreachable, UnknownCodec, UsageError
from kinepack.fit import Target
from kinepack.testing import awkward_clips, awkward_meshes

CLIP = awkward_clips()["prime-length"]
MESH = awkward_meshes()["wave"]


@pytest.mark.parametrize("value", [1e-4, 0.03, 1.0, 5.0])
def test_error_targets(value: float) -> None:
    row = kinepack.evaluate(CLIP, "delta-lzma", target=f"joint_rms<={value}")
    assert 0.9 * value <= row.metrics["joint_rms"] <= value


def test_mesh_targets() -> None:
    row = kinepack.evaluate(MESH, "delta-lzma", target="kg<=1")
    assert 0.5 <= row.metrics["kg"] <= 1


@pytest.mark.parametrize("budget", [600, 1000, 2000])
def test_byte_budgets(budget: int) -> None:
    data = kinepack.compress(CLIP, "delta-lzma", max_bytes=budget)
    assert 0.8 * budget <= len(data) <= budget


def test_several_clips_share_a_budget() -> None:
    clips = [CLIP, CLIP.slice(0, 60)]
    assert len(kinepack.compress(clips, "delta-lzma", max_bytes=3000)) <= 3000


def test_several_qualities_in_one_file() -> None:
    clips = [CLIP, awkward_clips()["wrapping"]]
    with kinepack.open(kinepack.compress(clips, "delta-lzma", target="joint_rms<=0.1,1")) as file:
        names = [clip.name for clip in file.clips()]
        assert names == [f"{clip.name} joint_rms<={value}" for clip in clips for value in ("0.1", "1")]
        for number, clip in enumerate(file.clips()):
            error = kinepack.compare(clips[number // 2], clip.decode())["joint_rms"]
            assert error <= (0.1, 1)[number % 2]
    with pytest.raises(UsageError, match="one quality"):
        kinepack.compress(CLIP, "delta-lzma", target="joint_rms<=0.1,1", max_bytes=3000)


@pytest.mark.parametrize("spec", ["pca", "delta-lzma"])
def test_no_setting_is_tried_twice(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    codec, tried = codec_from_spec(spec), list[str]()
    encode = type(codec).encode

    def noting(self: Codec, source: object) -> Stream:
        tried.append(self.settings)
        return encode(self, source)

    monkeypatch.setattr(type(codec), "encode", noting)
    kinepack.compress(CLIP, codec, target="joint_rms<=0.5")
    assert len(tried) == len(set(tried)) > 1


def test_what_cannot_be_is_said() -> None:
    with pytest.raises(TargetUnreachable, match="10 bytes"):
        kinepack.compress(CLIP, "delta-lzma", max_bytes=10)
    with pytest.raises(TargetUnreachable, match="more than"):
        kinepack.compress(CLIP, "delta-lzma", target="joint_rms<=0.01", max_bytes=700)
    with pytest.raises(ConfigError, match="no quality setting"):
        kinepack.compress(CLIP, "raw", target="joint_rms<=1")
    with pytest.raises(ConfigError, match="does not apply"):
        kinepack.compress(CLIP, target="kg<=1")
    with pytest.raises(UnknownCodec, match="no metric"):
        Target.parse("joint_rsm<=1")
    for text in ("joint_rms", "joint_rms<1", "joint_rms<=x", "joint_rms<=-1", "joint_rms<=nan"):
        with pytest.raises(ConfigError, match="cannot read"):
            Target.parse(text)
        with pytest.raises(ConfigError, match="cannot read"):
            Target.parse_several(f"{text},2")
