"""Batches: what they find, that they go on after any death, and that the bytes do not depend on how they ran."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

import kinepack
from kinepack.batch import BatchSettings, Input, find_inputs, run_batch
from kinepack.batch.cluster import ANY_PORT, UNIT_BYTES, UNIT_FILES, units_of
from kinepack.batch.journal import Journal
from kinepack.errors import IOFailure, UsageError
from kinepack.library import Library, verify
from kinepack.samples import fish, human

SETTINGS = BatchSettings(codec="delta-lzma:segment_s=0.5")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten short clips in two folders, a mesh, an AMC with its ASF, and two files that are not what they seem."""
    folder = tmp_path_factory.mktemp("motions")
    (folder / "a").mkdir()
    (folder / "b").mkdir()
    walk = human()
    for number in range(10):
        cut = walk.slice(40 * number, 40 * number + 60)
        kinepack.write(dataclasses.replace(cut, name=f"cut{number}"), folder / "ab"[number % 2] / f"cut{number}.bvh")
    kinepack.write(fish().slice(0, 4), folder / "fish.npz")
    kinepack.write(walk.slice(0, 50), folder / "b" / "walk.amc")
    (folder / "broken.bvh").write_text("HIERARCHY\nROOT")
    (folder / "notes.txt").write_text("not a motion")
    return folder


@pytest.fixture
def source(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "motions"))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*.kine"))}


def run(source: Path, dest: Path, settings: BatchSettings = SETTINGS, **how: Any) -> Any:
    return run_batch([str(source)], str(dest), settings, **{"workers": 0, **how})


def test_a_folder_of_files(source: Path, tmp_path: Path) -> None:
    dest = tmp_path / "out"
    summary = run(source, dest)
    assert (summary.inputs, summary.made, summary.skipped, len(summary.rejected)) == (13, 12, 0, 1)
    assert len(contents(dest)) == 12
    single = kinepack.compress(source / "a" / "cut0.bvh", SETTINGS.codec)
    assert (dest / "a" / "cut0.kine").read_bytes() == single
    (row,) = [json.loads(line) for line in (dest / "rejected.jsonl").read_text().splitlines()]
    assert row["input"].endswith("broken.bvh") and row["error"]
    assert not [p for p in dest.rglob("*") if p.name.endswith(".part")]


def test_finished_inputs_are_not_done_again(source: Path, tmp_path: Path) -> None:
    dest = tmp_path / "out"
    run(source, dest)
    before = contents(dest)
    again = run(source, dest)
    assert (again.made, again.skipped, len(again.rejected)) == (0, 12, 1)
    (source / "a" / "cut0.bvh").write_bytes((source / "b" / "cut1.bvh").read_bytes())
    (dest / "b" / "cut3.kine").write_bytes(b"damaged")
    (dest / "a" / "cut4.kine").unlink()
    changed = run(source, dest)
    assert (changed.made, changed.skipped) == (3, 9)
    assert {name for name, data in contents(dest).items() if data != before[name]} == {"a/cut0.kine"}
    coarser = run(source, dest, BatchSettings(codec="delta-lzma:step=1,segment_s=0.5"))
    assert (coarser.made, coarser.skipped) == (12, 0)


def test_a_changed_skeleton_beside_counts(source: Path, tmp_path: Path) -> None:
    run(source / "b", tmp_path / "out")
    skeleton = next((source / "b").glob("*.asf"))
    skeleton.write_text(skeleton.read_text() + "\n# changed\n")
    assert run(source / "b", tmp_path / "out").made == 1


def test_targets_are_verified_and_the_unreachable_set_aside(source: Path, tmp_path: Path) -> None:
    summary = run(source / "a", tmp_path / "lib.kine", BatchSettings(codec="delta-lzma", target="joint_rms<=0.05"))
    assert summary.made == 5
    with Library(tmp_path / "lib.kine") as library:
        assert all(0 < clip.stats["joint_rms"] <= 0.05 * (1 + 1e-5) for clip in library.clips())
    strict = BatchSettings(codec="delta-lzma", target="joint_rms<=1e-300")
    assert len(run(source / "a", tmp_path / "strict", strict).rejected) == 5


def test_a_library(source: Path, tmp_path: Path) -> None:
    dest = tmp_path / "lib.kine"
    run(source, dest, labels={"set": "one"})
    with Library(dest) as library:
        assert list(library) == sorted(library) and len(library) == 12
        assert library["cut3"].labels == {"set": "one"} and library.info()["skeletons"] == 3
        assert verify(library) == []
    first = dest.read_bytes()
    assert run(source, dest, labels={"set": "one"}).skipped == 12 and dest.read_bytes() == first
    kinepack.write(human().slice(5, 50), source / "a" / "extra.bvh")
    assert run(source, dest, labels={"set": "one"}).made == 1
    assert len(Library(dest)) == 13
    run(source, tmp_path / "new.kine", labels={"set": "one"})
    assert (tmp_path / "new.kine").read_bytes() == dest.read_bytes()
    left = {p.name for p in tmp_path.iterdir()} - {"motions"}
    assert left == {f"{n}{end}" for n in ("lib", "new") for end in (".kine", ".batch.jsonl", ".rejected.jsonl")}


def test_dask_gives_the_same_bytes(source: Path, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    run(source, tmp_path / "here.kine")
    states: list[tuple[int, int]] = []
    summary = run(source, tmp_path / "there.kine", workers=2, watch=lambda s: states.append((s.done, s.failed)))
    assert summary.made == 12 and states[0] == (0, 0) and states[-1] == (13, 1)
    assert (tmp_path / "there.kine").read_bytes() == (tmp_path / "here.kine").read_bytes()


RUN = """
import sys
from kinepack.batch import BatchSettings, run_batch
from kinepack.batch import running
keep = running._keep
def keep_and_tell(*args):
    keep(*args)
    print("kept", flush=True)
running._keep = keep_and_tell
run_batch([sys.argv[1]], sys.argv[2], BatchSettings(codec="delta-lzma:segment_s=0.5"), workers=0)
"""


@pytest.mark.parametrize("dest", ["out", "lib.kine"])
def test_killed_and_run_again(source: Path, tmp_path: Path, dest: str) -> None:
    """Killed after the 1st, 2nd, 3rd … newly kept output, at whatever it then does."""
    whole = tmp_path / f"whole_{dest}"
    run(source, whole)
    target = tmp_path / dest
    for kept in (1, 3, 2):
        command = [sys.executable, "-c", RUN, str(source), str(target)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as running:
            assert running.stdout
            for _ in range(kept):
                assert running.stdout.readline()
            running.send_signal(signal.SIGKILL)
        assert not target.is_file()
        for path in target.rglob("*.kine") if target.is_dir() else ():
            kinepack.decompress(path)
    summary = run(source, target)
    assert summary.skipped >= 6
    if target.is_dir():
        assert contents(target) == contents(whole)
        assert not list(target.rglob(".*"))
    else:
        assert target.read_bytes() == whole.read_bytes()


def test_a_worker_that_dies_loses_nothing(source: Path, tmp_path: Path) -> None:
    """A real scheduler with worker processes of its own, one of which is killed in the middle of the run."""
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=ANY_PORT, silence_logs=50)
    victim = next(iter(cluster.workers.values())).pid
    killed = []

    def kill_once(status: Any) -> None:
        if status.done and not killed:
            killed.append(victim)
            os.kill(victim, signal.SIGKILL)

    with cluster:
        summary = run(source, tmp_path / "lib.kine", workers=None, scheduler=cluster.scheduler_address, watch=kill_once)
    run(source, tmp_path / "whole.kine")
    assert killed and summary.made == 12
    assert (tmp_path / "lib.kine").read_bytes() == (tmp_path / "whole.kine").read_bytes()


def test_no_scheduler_is_an_error_and_not_a_traceback(source: Path, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    with pytest.raises(IOFailure, match="cannot reach"):
        run(source, tmp_path / "out", scheduler="nonsense", workers=None)


# What is found.


def test_globs_zips_and_urls(source: Path, tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    by_glob = find_inputs([str(source / "*" / "cut*.bvh")])
    assert [i.name for i in by_glob] == [f"{'ab'[n % 2]}/cut{n}" for n in (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)]
    archive = tmp_path / "motions.zip"
    with zipfile.ZipFile(archive, "w") as zipped:
        for path in source.rglob("*"):
            zipped.write(path, path.relative_to(source))
        zipped.writestr("../outside.bvh", "HIERARCHY")
    in_zip = find_inputs([str(archive)])
    assert {i.name for i in in_zip} == {i.name for i in find_inputs([str(source)])} | {"outside"}
    summary = run(archive, tmp_path / "zipped")
    assert summary.made == 12
    run(source, tmp_path / "plain")
    assert contents(tmp_path / "zipped") == contents(tmp_path / "plain")
    with fsspec.open("memory://motions/a/cut.bvh", "wb") as file:
        file.write((source / "a" / "cut0.bvh").read_bytes())
    (remote,) = find_inputs(["memory://motions"])
    assert remote.name == "a/cut" and run_batch(["memory://motions"], str(tmp_path / "far"), workers=0).made == 1


def test_names_that_clash_keep_their_extension(source: Path) -> None:
    shutil.copy(source / "a" / "cut0.bvh", source / "fish.bvh")
    assert {i.name for i in find_inputs([str(source)])} >= {"fish.bvh", "fish.npz", "a/cut0"}
    twice = find_inputs([str(source / "a"), str(source / "a" / "cut0.bvh")])
    assert len(twice) == 5
    other = source.parent / "other"
    other.mkdir()
    shutil.copy(source / "a" / "cut0.bvh", other)
    names = {i.name for i in find_inputs([str(source / "a"), str(other)])}
    assert names == {"a/cut0.bvh", "other/cut0.bvh", "cut2", "cut4", "cut6", "cut8"}


def test_frames_in_files_are_one_input(tmp_path: Path) -> None:
    kinepack.write(fish().slice(0, 5), tmp_path / "swim.obj")
    (found,) = find_inputs([str(tmp_path)])
    assert found.name == "swim" and found.size == sum(p.stat().st_size for p in tmp_path.glob("*.obj"))
    assert run(tmp_path, tmp_path / "out", BatchSettings(codec="raw")).made == 1


def test_outputs_are_not_inputs(source: Path) -> None:
    first = run(source, source / "packed")
    assert run(source, source / "packed").inputs == first.inputs


@pytest.mark.parametrize(("sources", "dest"), [(["nowhere"], "out"), (["motions"], "no/such/folder"), (["*.x"], "out")])
def test_mistakes(source: Path, monkeypatch: pytest.MonkeyPatch, sources: list[str], dest: str) -> None:
    monkeypatch.chdir(source.parent)
    with pytest.raises((IOFailure, UsageError)):
        run_batch(sources, dest, workers=0)


def test_work_is_cut_by_bytes() -> None:
    sizes = [10, 20, 3 * UNIT_BYTES, *[UNIT_BYTES // 3] * 5, *[1] * 20]
    units = units_of([Input(f"{n}.bvh", f"{n:03}", size) for n, size in enumerate(sizes)])
    assert len(units[0]) == 1 and units[0][0].size == 3 * UNIT_BYTES
    assert sorted(i.name for unit in units for i in unit) == [f"{n:03}" for n in range(len(sizes))]
    assert all(len(u) <= UNIT_FILES and (len(u) == 1 or sum(i.size for i in u) <= UNIT_BYTES) for u in units)


def test_a_journal_line_cut_short_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "batch.jsonl"
    with Journal(path) as journal:
        journal.append({"name": "one"})
        with pytest.raises(IOFailure, match="another batch"):
            Journal(path)
    path.write_bytes(path.read_bytes() + b'{"name": "tw')
    with Journal(path) as journal:
        assert list(journal.rows) == ["one"]
        journal.append({"name": "three"})
    with Journal(path) as journal:
        assert list(journal.rows) == ["one", "three"]


def test_timing_is_told(source: Path, tmp_path: Path) -> None:
    begin = time.perf_counter()
    summary = run(source / "a", tmp_path / "out")
    assert 0 < summary.seconds <= time.perf_counter() - begin
    assert summary.to_dict()["ratio"] > 1
