"""The commands do what they say: round trips, JSON, parts, damage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import kinepack
from kinepack.codecs.base import CODECS
from kinepack.formats.base import FORMATS
from kinepack.model import Clip, MeshSequence

if TYPE_CHECKING:
    from cli_support import Run

pytest_plugins = ["cli_support"]

SIZES = {"file_bytes", "skeleton_bytes", "motion_bytes", "ratio", "metrics"}


def writable(kind: type) -> list[str]:
    return sorted(
        {e for key in FORMATS if FORMATS[key].write and kind in FORMATS[key].holds for e in FORMATS[key].extensions}
    )


def compressed(run: Run, source: str, *more: str) -> str:
    target = f"{Path(source).stem}.kine"
    answer = run("compress", source, "-o", target, *more)
    assert answer.code == 0, answer.err
    return target


def written(output: Path) -> Path:
    """The file, or the first one where a format has a file for each frame."""
    return output if output.exists() else sorted(output.parent.glob(f"{output.stem}_*{output.suffix}"))[0]


def test_compress_json_adds_up(run: Run, here: Path) -> None:
    answer = run("compress", "walk.bvh", "-o", "walk.kine", "--json")
    facts = answer.json
    assert facts.keys() >= SIZES and answer.err == ""
    assert facts["file_bytes"] == (here / "walk.kine").stat().st_size
    assert facts["file_bytes"] == facts["skeleton_bytes"] + facts["motion_bytes"]
    assert facts["ratio"] == pytest.approx(facts["raw_bytes"] / facts["motion_bytes"])
    assert (facts["codec"], facts["frames"]) == ("kine", 120)
    assert facts["metrics"] == kinepack.compare("walk.bvh", "walk.kine")


def test_compress_says_size_on_stderr(run: Run, here: Path) -> None:
    answer = run("compress", "fish.npz", "-o", "fish.kine")
    assert (answer.code, answer.out) == (0, "")
    assert len(answer.lines) == 1 and "ratio" in answer.err and "kg" in answer.err


def test_target_and_budget_are_kept(run: Run, here: Path) -> None:
    kept = run("compress", "walk.bvh", "-o", "a.kine", "--target", "joint_rms<=0.2", "--json").json
    assert 0.15 < kept["metrics"]["joint_rms"] <= 0.2
    assert kept["settings"].startswith("error=")
    small = run("compress", "walk.bvh", "-o", "b.kine", "--max-bytes", 2500, "--json").json
    assert small["motion_bytes"] <= 2500


def test_several_qualities_are_told(run: Run, here: Path) -> None:
    how = ("--codec", "delta-lzma", "--target", "joint_rms<=0.2,2")
    facts = run("compress", "walk.bvh", "-o", "a.kine", *how, "--json").json
    fine, coarse = (clip["metrics"]["joint_rms"] for clip in facts["clips"])
    assert fine <= 0.2 < coarse <= 2
    assert "joint_rms<=2: " in run("compress", "walk.bvh", "-o", "a.kine", *how).err


def test_unit_and_rate_reach_the_file(run: Run, here: Path) -> None:
    facts = run("compress", "walk.bvh", "-o", "w.kine", "--unit-cm", 2.54, "--json").json
    assert facts["clips"][0]["fps"] == pytest.approx(120)
    assert kinepack.read("w.kine").unit_cm == 2.54
    assert run("compress", "walk.amc", "-o", "w.kine", "--fps", 60, "--json").json["clips"][0]["fps"] == 60


def test_skeleton_is_found_by_option(run: Run, here: Path) -> None:
    (here / "elsewhere").mkdir()
    (here / "walk.asf").rename(here / "elsewhere" / "rig.asf")
    assert run("compress", "walk.amc", "-o", "w.kine").code != 0
    assert run("compress", "walk.amc", "-o", "w.kine", "--skeleton", "elsewhere/rig.asf").code == 0


def test_skeleton_kept_once(run: Run, here: Path) -> None:
    how = ("--skeleton-ref", "rig.kine")
    first = run("compress", "walk.bvh", "-o", "a.kine", *how, "--json").json
    assert first["skeleton_bytes"] == 0 and (here / "rig.kine").exists()
    assert run("info", "a.kine", *how, "--json").json["motion_bytes"] == first["motion_bytes"]
    assert run("decompress", "a.kine", "-o", "a.bvh", *how).code == 0
    assert run("compare", "walk.bvh", "a.kine", *how).code == 0
    without = run("decompress", "a.kine", "-o", "a.bvh")
    assert without.code == 2 and "--skeleton-ref" in without.err
    assert run("info", "rig.kine", "--json").json["clips"] == []
    assert run("decompress", "rig.kine", "-o", "a.bvh").lines[0].startswith("error: ")


@pytest.mark.parametrize("extension", writable(Clip))
def test_clip_round_trip(run: Run, here: Path, extension: str) -> None:
    packed = compressed(run, "walk.amc")
    output = here / f"copy{extension}"
    answer = run("decompress", packed, "-o", output, "--json")
    assert answer.code == 0, answer.err
    assert answer.json["frames"] == 120
    if extension == ".amc":
        assert (here / "copy.asf").exists()
    if extension in (".bap", ".fba"):  # hold body parameters on a body of its own
        assert kinepack.read(output).frames == 120
        return
    unit = kinepack.read("walk.amc").unit_cm
    compared = run("compare", packed, output, "--unit-cm", unit, "--json")
    assert compared.code == 0, compared.err
    assert compared.json["joint_rms"] < 1e-3


@pytest.mark.parametrize("extension", writable(MeshSequence))
def test_mesh_round_trip(run: Run, here: Path, extension: str) -> None:
    packed = compressed(run, "fish.npz")
    (here / "frames").mkdir()
    output = here / "frames" / f"copy{extension}"
    answer = run("decompress", packed, "-o", output)
    assert answer.code == 0, answer.err
    compared = run("compare", packed, written(output), "--mesh", "--fps", 30, "--json")
    assert compared.code == 0, compared.err
    assert compared.json["vertex_max"] < 1e-3


def test_several_clips_and_a_format_that_holds_one(run: Run, here: Path) -> None:
    models = [kinepack.read("walk.bvh"), kinepack.read("walk.npz")]
    (here / "two.kine").write_bytes(kinepack.compress(models))
    answer = run("decompress", "two.kine", "-o", "one.bvh", "--json")
    assert answer.json["clips"] == 1 and "1 of 2 clips" in answer.json["lost"][0]
    assert "lost: 1 of 2 clips" in answer.err
    assert run("decompress", "two.kine", "-o", "one.bvh", "--clip", "1").code == 0
    assert run("convert", "two.kine", "one.bvh", "--clip", "walk").code == 0
    assert "clips: walk" in run("convert", "two.kine", "one.bvh", "--clip", "9").err
    assert run("info", "two.kine", "--json").json["frames"] == 240


@pytest.mark.parametrize(
    ("part", "frames"),
    [
        (("--start", 10, "--stop", 30), (10, 30)),
        (("--start", 100), (100, 120)),
        (("--stop", 5), (0, 5)),
        (("--from", 0.25, "--to", 0.5), (30, 60)),
        (("--from", 0.9), (108, 120)),
        (("--to", 0.001), (0, 1)),
    ],
)
def test_part(run: Run, here: Path, part: tuple[object, ...], frames: tuple[int, int]) -> None:
    packed = compressed(run, "walk.npz", "--codec", "delta-lzma:segment_s=0.2")
    whole = kinepack.read(packed)
    for salvage in ((), ("--salvage",)):
        assert run("decompress", packed, "-o", "part.npz", *part, *salvage).code == 0
        assert (kinepack.read("part.npz").values == whole.slice(*frames).values).all()


def test_damage_is_told_and_salvaged(run: Run, here: Path) -> None:
    packed = here / compressed(run, "walk.npz", "--codec", "delta-lzma:segment_s=0.2")
    assert run("info", packed, "--check").code == 0
    data = bytearray(packed.read_bytes())
    data[-1] ^= 1
    packed.write_bytes(data)
    answer = run("info", packed, "--check", "--json")
    assert answer.code == 4 and "1 of 5 segments" in answer.err and "--salvage" in answer.err
    damaged = answer.json["damaged"]
    assert [(d["clip"], d["first"], d["frames"]) for d in damaged] == [("walk", 96, 24)]
    assert "96 to 119" in run("info", packed, "--check").out
    assert run("decompress", packed, "-o", "copy.npz").code == 4
    saved = run("decompress", packed, "-o", "copy.npz", "--salvage")
    assert saved.code == 0 and "lost: frames 96 to 119" in saved.err
    assert kinepack.read("copy.npz").frames == 120


def test_salvage_takes_the_layers_that_are_there(run: Run, here: Path) -> None:
    packed = here / compressed(run, "walk.npz", "--codec", "kine:layers=3,segment_s=0.2,effort=fast")
    with kinepack.open(packed) as file:
        finer = sum(s.stored for s in file[0].record.segments if s.layer)
    packed.write_bytes(packed.read_bytes()[:-finer])
    checked = run("info", packed, "--check")
    assert checked.code == 4 and "3 of 3 segments" in checked.err
    saved = run("decompress", packed, "-o", "saved.npz", "--salvage")
    assert saved.code == 0 and saved.err.count("frames 0 to 119") == 1
    assert "coarser: frames 0 to 119 of 'walk'" in saved.err and "lost" not in saved.err
    lowest = run("decompress", packed, "-o", "lowest.npz", "--salvage", "--layers", 1)
    assert lowest.code == 0 and "coarser" not in lowest.err
    assert run("decompress", packed, "-o", "rough.npz", "--layers", 1).code == 0
    rough = kinepack.read("rough.npz").values
    assert all((kinepack.read(name).values == rough).all() for name in ("saved.npz", "lowest.npz"))


def test_info(run: Run, here: Path) -> None:
    packed = compressed(run, "walk.bvh")
    facts = run("info", packed, "--json").json
    assert facts.keys() >= SIZES and facts["metrics"] == {}
    measured = run("info", packed, "--reference", "walk.bvh", "--json").json
    assert measured["metrics"] == run("compare", "walk.bvh", packed, "--json").json
    shown = run("info", packed, "--reference", "walk.bvh")
    assert "kine" in shown.out and "joint_rms" in shown.out
    assert run("info", "walk.bvh", "--json").json["clips"][0]["frames"] == 120
    assert "120" in run("info", "walk.bvh").out


def test_convert_says_what_is_lost(run: Run, here: Path) -> None:
    answer = run("convert", "walk.amc", "turned.bvh", "--json")
    assert answer.code == 0 and answer.json["lost"]
    assert all(line.startswith("lost: ") for line in answer.lines)
    for mapping in ("relabel", "true"):
        assert run("convert", "walk.amc", f"{mapping}.bap", "--bap-mapping", mapping).code == 0
    assert Path("relabel.bap").read_bytes() != Path("true.bap").read_bytes()


def test_compare_draws(run: Run, here: Path) -> None:
    pytest.importorskip("matplotlib")
    packed = compressed(run, "walk.bvh")
    answer = run("compare", "walk.bvh", packed, "--picture", "both.png")
    assert answer.code == 0 and "joint_rms" in answer.out
    assert Path("both.png").read_bytes().startswith(b"\x89PNG")


def test_evaluate_gives_a_row_per_line(run: Run, here: Path) -> None:
    answer = run("evaluate", "walk.bvh", "fish.npz", "--codec", "raw", "-c", "delta-lzma:step=0.5", "--json")
    rows = [json.loads(line) for line in answer.out.splitlines()]
    assert [(r["source"], r["codec"]) for r in rows] == [
        (s, c) for s in ("walk", "fish") for c in ("raw", "delta-lzma")
    ]
    assert rows[0]["metrics"]["joint_max"] == 0 and rows[1]["settings"] == "step=0.5"
    table = run("evaluate", "walk.bvh", "--target", "joint_rms<=0.5")
    assert table.code == 0 and "kine" in table.out


def test_curve(run: Run, here: Path) -> None:
    pytest.importorskip("matplotlib")
    answer = run("curve", "walk.bvh", "--codec", "delta-lzma", "--points", 3, "-o", "c.html", "--json")
    sizes = [json.loads(line)["motion_bytes"] for line in answer.out.splitlines()]
    assert len(sizes) == 3 and sizes == sorted(sizes, reverse=True)
    assert "<html" in Path("c.html").read_text().lower()


def test_lists(run: Run) -> None:
    codecs = {entry["id"]: entry for entry in run("codecs", "--json").json}
    assert codecs["delta-lzma"]["quality_axis"] == "step" and codecs["raw"]["lossless"]
    step = codecs["delta-lzma"]["settings"][0]
    assert step["name"] == "step" and step.keys() >= {"default", "low", "high", "unit", "help"}
    metrics = {entry["id"]: entry for entry in run("metrics", "--json").json}
    assert metrics["joint_rms"] == {
        "id": "joint_rms", "title": "RMS joint distance", "unit": "cm", "source": "clip", "better": "lower"
    }  # fmt: skip
    formats = {entry["id"]: entry for entry in run("formats", "--json").json}
    assert formats["bvh"]["writes"] and ".bvh" in formats["bvh"]["extensions"]
    for name in ("codecs", "metrics", "formats"):
        assert run(name).code == 0


def test_a_setting_that_makes_lossless_is_told(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CODECS["kine"], "lossless_with", "exact=on")
    codecs = {entry["id"]: entry for entry in run("codecs", "--json").json}
    assert not codecs["kine"]["lossless"] and codecs["kine"]["lossless_with"] == "exact=on"
    assert codecs["raw"]["lossless_with"] is None
    assert next(line for line in run("codecs").out.splitlines() if line.startswith("  kine ")).split()[2] == "exact=on"
    assert "kine:exact=on, raw, zstd-float" in run("compress", "walk.bvh", "-o", "x.kine", "-c", "lossless").err


@pytest.mark.parametrize("output", ["h.bvh", "h.kine"])
def test_sample(run: Run, here: Path, output: str) -> None:
    answer = run("sample", "human", "-o", output, "--json")
    assert answer.code == 0 and answer.json["file"] == output and answer.json["frames"] > 0
    assert kinepack.read(output).frames > 100


def test_demo(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    human, fish = kinepack.read("walk.npz"), kinepack.read("fish.npz")
    monkeypatch.setattr("kinepack.samples.human", lambda: human)
    monkeypatch.setattr("kinepack.samples.fish", lambda: fish)
    answer = run("demo", "-o", "new/report.html")
    assert answer.code == 0, answer.err
    for codec in kinepack.CODECS:
        assert codec in answer.out or f"{codec} with" in answer.err
    assert "<html" in Path("new/report.html").read_text().lower()
