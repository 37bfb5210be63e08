"""The library and batch commands: what they say, what they leave, how they fail."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import kinepack
from kinepack.cli.app import GROUPS, split_help, word

if TYPE_CHECKING:
    from cli_support import Run

pytest_plugins = ["cli_support"]

COMMANDS = GROUPS["library"]
EXAMPLES = [example for command in COMMANDS for example in split_help(command)[1]]


@pytest.fixture
def library(run: Run, here: Path) -> Path:
    """motions.kine with the clip "walk" and the mesh "fish"."""
    answer = run("library", "add", "motions.kine", "walk.bvh", "fish.npz", "--codec", "delta-lzma", "--label", "n=1")
    assert answer.code == 0, answer.err
    return here / "motions.kine"


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: word(command))
def test_help_has_examples(run: Run, command: object) -> None:
    answer = run("library", word(command), "--help")  # type: ignore[arg-type]
    assert answer.code == 0 and "Examples" in answer.out


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_run(run: Run, library: Path, example: str) -> None:
    if " add motions.kine" in example:
        library.unlink()
    answer = run(*shlex.split(example)[1:])
    # A mesh is no motion that a BVH could hold.
    assert answer.code == (3 if "--as bvh" in example else 0), answer.err


def test_list_and_stats(run: Run, library: Path) -> None:
    rows = [json.loads(line) for line in run("library", "list", "motions.kine", "--json").out.splitlines()]
    assert {(row["name"], row["kind"], row["labels"]["n"]) for row in rows} == {
        ("walk", "clip", "1"),
        ("fish", "mesh", "1"),
    }
    assert run("library", "list", "motions.kine", "--label", "n=2", "--json").out == ""
    facts = run("stats", "motions.kine", "--json").json
    assert facts["totals"]["clips"] == 2 and {e["metric"] for e in facts["errors"]} >= {"joint_p99", "vertex_max"}
    assert [c["name"] for c in facts["worst"]] == ["walk", "fish"]


def test_catalogue_page(run: Run, library: Path) -> None:
    answer = run("stats", "motions.kine", "-o", "page.html")
    assert answer.code == 0 and "walk" in answer.out
    page = Path("page.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 4 and "All clips" in page and "http" not in page and "<script" not in page
    assert run("stats", "motions.kine", "-o", "page.pdf").code == 2


def test_add_remove_compact_extract(run: Run, library: Path) -> None:
    again = run("library", "add", "motions.kine", "walk.amc")
    assert again.code == 2 and again.lines[0].startswith("error: the library already has") and len(again.lines) == 2
    assert run("library", "add", "motions.kine", "walk.amc", "--replace", "--json").json["clips"] == 2
    assert run("library", "remove", "motions.kine", "fish", "--json").json["clips"] == 1
    assert run("library", "compact", "motions.kine", "--json").json["saved_bytes"] > 0
    files = run("library", "extract", "motions.kine", "--to", "out", "--json").json["files"]
    assert files == [str(Path("out") / "walk.kine")]
    assert kinepack.decompress(files[0]) == kinepack.Library("motions.kine")["walk"].decode()
    assert run("library", "extract", "motions.kine", "walk", "--to", "out", "--as", "npz").code == 0
    assert kinepack.read("out/walk.npz").frames == 120


def test_clip_names_do_not_lead_out_of_the_folder(run: Run, here: Path) -> None:
    import dataclasses

    clip = dataclasses.replace(kinepack.read("walk.npz"), name="../../outside")
    Path("bad.kine").write_bytes(kinepack.compress(clip, "raw"))
    assert run("library", "add", "lib.kine", "bad.kine").code == 0
    (written,) = run("library", "extract", "lib.kine", "--to", "in/side", "--json").json["files"]
    assert written == str(Path("in/side/outside.kine"))


def test_verify(run: Run, library: Path) -> None:
    assert run("library", "verify", "motions.kine").code == 0
    data = bytearray(library.read_bytes())
    with kinepack.Library(bytes(data)) as opened:
        data[opened.reader.container.clip(0).data_at + 20] ^= 1
    library.write_bytes(data)
    answer = run("library", "verify", "motions.kine")
    assert answer.code == 4 and "lost: walk" in answer.err and "error: 1 of 2" in answer.err
    assert len(run("library", "verify", "motions.kine", "--json").json["faults"]) == 1


def test_batch(run: Run, here: Path) -> None:
    Path("broken.bvh").write_text("nothing")
    answer = run("batch", ".", "packed.kine", "--workers", 0)
    assert answer.code == 8 and answer.out == ""
    assert answer.lines[0].startswith("lost: broken.bvh: ") and "hint: the reasons are in" in answer.err
    Path("broken.bvh").unlink()
    facts = run("batch", ".", "packed.kine", "--workers", 0, "--json").json
    assert (facts["inputs"], facts["made"], facts["skipped"], facts["rejected"]) == (4, 0, 4, [])
    slowest = run("stats", "packed.kine", "--json").json["slowest"]
    assert {c["name"] for c in slowest} == {"fish", "walk.amc", "walk.bvh", "walk.npz"}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("batch nowhere out --workers 0", 7),
        ("batch . out --workers 0 --codec nope", 2),
        ("batch . out --workers 0 --target nope", 2),
        ("batch . out --workers 2 --scheduler tcp://127.0.0.1:1", 2),
        ("batch . walk.bvh --workers 0", 2),
        ("batch . lib.kine --workers 0 --label x", 2),
        ("library list walk.bvh", 4),
        ("library list nowhere.kine", 7),
        ("library add x.txt walk.bvh", 2),
        ("library add x.kine nowhere.bvh", 7),
        ("library remove nowhere.kine a", 7),
        ("library compact walk.bvh", 4),
        ("library extract nowhere.kine", 7),
        ("stats nowhere.kine", 7),
    ],
)
def test_errors_are_one_line(run: Run, here: Path, arguments: str, code: int) -> None:
    answer = run(*arguments.split())
    assert answer.code == code, answer.err
    assert answer.lines[0].startswith("error: ") and len(answer.lines) <= 2 and "Traceback" not in answer.err
    assert not Path("x.kine").exists()
