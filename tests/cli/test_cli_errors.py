"""Every failure is one line, mostly a hint, and an exit code; never a traceback."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from cli_support import Run

pytest_plugins = ["cli_support"]

TO = ("-o", "x.kine")
CASES: dict[str, tuple[tuple[str, ...], int, str, str]] = {
    "missing input": (("compress", "nope.bvh", *TO), 7, "no such file: nope.bvh", ""),
    "missing kine": (("info", "nope.kine"), 7, "nope.kine", ""),
    "input is a folder": (("compress", "empty", *TO), 3, "empty", "kinepack formats"),
    "kine is a folder": (("info", "folder.kine"), 7, "folder.kine", ""),
    "input of no format": (
        ("compress", "notes.xyz", *TO),
        3,
        "notes.xyz: not a format",
        "kinepack formats",
    ),
    "not a kine inside": (("info", "fake.kine"), 4, "", ""),
    "not a bvh inside": (("compress", "fake.bvh", *TO), 3, "fake.bvh", ""),
    "missing output folder": (("compress", "walk.bvh", "-o", "no/x.kine"), 7, "no such folder: no", "mkdir -p no"),
    "output is a folder": (("compress", "walk.bvh", "-o", "folder.kine"), 7, "folder.kine is a folder", "name a file"),
    "folder is a file": (("compress", "walk.bvh", "-o", "walk.bvh/x.kine"), 7, "walk.bvh is not a folder", ""),
    "compress to bvh": (("compress", "walk.bvh", "-o", "x.bvh"), 2, "should end in .kine", "kinepack convert"),
    "decompress a bvh": (("decompress", "walk.bvh", "-o", "x.bvh"), 2, "walk.bvh is not a .kine", "kinepack convert"),
    "unknown extension": (("decompress", "good.kine", "-o", "x.bvg"), 3, "no format writes '.bvg'", ".bvh"),
    "no extension": (("convert", "walk.bvh", "x"), 3, "no format writes 'x'", "there are"),
    "convert to kine": (("convert", "walk.bvh", "x.kine"), 2, "made by compress", "kinepack compress"),
    "clip to mesh format": (("convert", "walk.bvh", "x.obj"), 3, "cannot hold a clip", "kinepack formats"),
    "unknown codec": (("compress", "walk.bvh", *TO, "--codec", "delta-lzm"), 2, "'delta-lzm'", "delta-lzma"),
    "lossless as a codec": (("compress", "walk.bvh", *TO, "-c", "lossless"), 2, "'lossless'", "raw, zstd-float"),
    "unknown setting": (("compress", "walk.bvh", *TO, "--codec", "delta-lzma:stp=1"), 2, "'stp'", "step"),
    "bad setting": (("compress", "walk.bvh", *TO, "--codec", "delta-lzma:step=big"), 2, "step=big", ""),
    "setting out of range": (
        ("compress", "walk.bvh", *TO, "--codec", "delta-lzma:step=-1"),
        2,
        "out of range",
        "allowed",
    ),
    "bad target": (("compress", "walk.bvh", *TO, "--target", "joint_rms=1"), 2, "'joint_rms=1'", "joint_rms<=0.1"),
    "unknown metric": (("compress", "walk.bvh", *TO, "--target", "join_rms<=1"), 2, "'join_rms'", "joint_rms"),
    "mesh metric": (("compress", "walk.bvh", *TO, "--target", "kg<=1"), 2, "kg does not apply", "kinepack metrics"),
    "target on lossless": (("compress", "walk.bvh", *TO, "-c", "raw", "-t", "joint_rms<=1"), 2, "raw has no", ""),
    "out of reach": (("compress", "walk.bvh", *TO, "--max-bytes", "10"), 6, "10 bytes", "--skeleton-ref"),
    "frames and seconds": (
        ("decompress", "good.kine", "-o", "x.bvh", "--start", "1", "--to", "1"),
        2,
        "not both",
        "--from",
    ),
    "part outside": (("decompress", "good.kine", "-o", "x.bvh", "--start", "500"), 2, "clip's 120", "lasts 1 s"),
    "part backwards": (("decompress", "good.kine", "-o", "x.bvh", "--from", "2", "--to", "1"), 2, "not after", ""),
    "unknown clip": (("decompress", "good.kine", "-o", "x.bvh", "--clip", "run"), 2, "no clip 'run'", "walk"),
    "part beyond the end": (("decompress", "good.kine", "-o", "x.bvh", "--from", "inf"), 2, "clip's 120", "lasts 1 s"),
    "clip and mesh": (("compare", "walk.bvh", "fish.npz"), 2, "cannot be compared", "mesh"),
    "no clip to compare": (("compare", "walk.bvh", "rig.kine"), 2, "a skeleton and no clip", "--skeleton-ref"),
    "no clip to compress": (("compress", "rig.kine", *TO), 2, "a skeleton and no clip", "--skeleton-ref"),
    "picture not png": (("compare", "walk.bvh", "walk.bvh", "--picture", "a.gif"), 2, "should end in .png", ""),
    "page not html": (("curve", "walk.bvh", "-o", "a.txt"), 2, "should end in .html", ""),
    "codec in evaluate": (("evaluate", "walk.bvh", "--codec", "rwa"), 2, "'rwa'", "raw"),
    "missing in evaluate": (("evaluate", "walk.bvh", "nope.bvh"), 7, "nope.bvh", ""),
    "cut short": (("decompress", "short.kine", "-o", "x.bvh"), 4, "", ""),
    "missing reference": (("info", "good.kine", "--reference", "nope.bvh"), 7, "nope.bvh", ""),
}


@pytest.fixture
def bad_files(run: Run, here: Path) -> Path:
    assert run("compress", "walk.bvh", "-o", "good.kine").code == 0
    assert run("compress", "walk.bvh", "-o", "lean.kine", "--skeleton-ref", "rig.kine").code == 0
    (here / "short.kine").write_bytes((here / "good.kine").read_bytes()[:-100])
    for name in ("notes.xyz", "fake.kine", "fake.bvh"):
        (here / name).write_text("hello\n")
    for name in ("empty", "folder.kine"):
        (here / name).mkdir()
    return here


@pytest.mark.parametrize("case", CASES)
def test_error(run: Run, bad_files: Path, case: str) -> None:
    arguments, code, message, hint = CASES[case]
    answer = run(*arguments)
    assert answer.code == code, answer.err
    assert answer.out == "" or arguments[0] == "evaluate"
    assert answer.lines[0].startswith("error: ") and message in answer.lines[0]
    assert len(answer.lines) <= 2 and all(line.startswith("hint: ") for line in answer.lines[1:])
    assert not hint or hint in answer.lines[1]
    assert not Path("x.kine").exists() and not list(bad_files.glob(".*.part"))


@pytest.mark.parametrize(
    "arguments",
    [
        ("compress",),
        ("compress", "walk.bvh"),
        ("nonsense",),
        ("compress", "walk.bvh", *TO, "--max-bytes", "0"),
        ("compress", "walk.bvh", *TO, "--unit-cm", "0"),
        ("compress", "walk.bvh", *TO, "--fps", "nan"),
        ("convert", "walk.bvh", "x.bap", "--bap-mapping", "wrong"),
        ("sample", "dog", "-o", "x.bvh"),
        ("curve", "walk.bvh", "--points", "1"),
    ],
)
def test_usage_errors_exit_2(run: Run, here: Path, arguments: tuple[str, ...]) -> None:
    answer = run(*arguments)
    assert answer.code == 2 and answer.out == "" and "Traceback" not in answer.err


@pytest.mark.parametrize(
    ("raised", "code", "first"),
    [
        (ValueError("odd\nthing"), 70, "internal error: ValueError: odd thing"),
        (MemoryError(), 71, "error: not enough memory"),
        (KeyboardInterrupt(), 130, "error: interrupted"),
        (PermissionError(13, "Permission denied", "a.bvh"), 7, "error: a.bvh: Permission denied"),
    ],
)
def test_unexpected(
    run: Run, here: Path, monkeypatch: pytest.MonkeyPatch, raised: BaseException, code: int, first: str
) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise raised

    monkeypatch.setattr("kinepack.api.compress", fail)
    answer = run("compress", "walk.bvh", *TO)
    assert (answer.code, answer.lines[0]) == (code, first)
    assert "Traceback" not in answer.err


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="needs a user whom permissions bind")
def test_folder_without_permission(run: Run, here: Path) -> None:
    (here / "locked").mkdir(mode=0o500)
    answer = run("compress", "walk.bvh", "-o", "locked/x.kine")
    assert answer.code == 7 and "permission denied" in answer.err


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder in which nobody can make a file")
def test_folder_that_takes_no_files(run: Run, here: Path) -> None:
    answer = run("compress", "walk.bvh", "-o", "/proc/x.kine")
    assert answer.code == 7 and answer.lines[0].startswith("error: cannot write")
