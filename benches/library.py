"""Libraries and batches, measured: `python benches/library.py [PART…] [--work FOLDER]`.

Parts: batch (1 and 2 workers), kills (killed five times), scheduler (3 workers, one killed), windows (beside npz and
HDF5, cold and warm), memory (2 GB raw), sharing (one subject's clips). Prints what it finds and replaces the rows of
the parts that ran in benches/results/library.jsonl. `windows` needs h5py.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import library_sharing
import library_windows
import numpy as np

import kinepack
from kinepack.evaluate import commit, machine
from kinepack.model import Clip

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("KINEPACK_DATA", ROOT.parent / "shared" / "data"))
ROWS = ROOT / "benches" / "results" / "library.jsonl"
CLIPS = 300
SETTINGS = ["--codec", "delta-lzma:segment_s=1", "--target", "joint_rms<=0.1"]
CODECS = ("delta-lzma:segment_s=1", "kine")


def make_sources(work: Path) -> Path:
    """300 cuts of 3 to 8 seconds of CMU clips, each played at its own speed, turned about and moved."""
    folder = work / "sources"
    if len(list(folder.glob("*.npz"))) == CLIPS:
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    originals = [kinepack.read(path) for path in sorted((DATA / "asfamc" / "cmu").rglob("*.amc"))]
    longer = [clip for clip in originals if isinstance(clip, Clip) and clip.frames >= 480]
    noise = np.random.default_rng(8)
    for number in range(CLIPS):
        clip = longer[number % len(longer)]
        length, speed = int(noise.integers(360, 960)), float(noise.uniform(0.8, 1.25))
        taken = min(int(length * speed) + 2, clip.frames)
        start = int(noise.integers(0, clip.frames - taken + 1))
        at = np.arange(int((taken - 1) / speed)) * speed
        low = at.astype(int)
        rows = clip.values[start : start + taken]
        values = rows[low] + (at - low)[:, None] * (rows[low + 1] - rows[low])
        moves = clip.skeleton.select("t")
        values[:, moves] += noise.uniform(-5, 5, len(moves))
        name = f"{clip.name}_{number:03}"
        kinepack.write(Clip(clip.skeleton, values, clip.frame_time, name), folder / f"{name}.npz")
    return folder


def batch_command(sources: Path, dest: Path, *how: str) -> list[str]:
    return [sys.executable, "-m", "kinepack", "batch", str(sources), str(dest), *SETTINGS, *how, "--json"]


def batch(work: Path) -> list[dict[str, Any]]:
    """Seconds with one and with two workers, in turn, since the machine may be busy with other things."""
    sources, seconds = make_sources(work), {1: [], 2: []}
    for turn in range(2):
        for workers in (1, 2):
            dest = work / f"batch_{workers}_{turn}.kine"
            done = subprocess.run(batch_command(sources, dest, "--workers", str(workers)), capture_output=True)
            facts = json.loads(done.stdout)
            assert facts["made"] == CLIPS, facts
            seconds[workers].append(facts["seconds"])
            print(f"batch of {CLIPS} clips, {workers} workers: {facts['seconds']:.1f} s, load {os.getloadavg()[0]:.1f}")
    same = (work / "batch_1_0.kine").read_bytes() == (work / "batch_2_1.kine").read_bytes()
    row = {"part": "batch", "clips": CLIPS, "seconds_1": seconds[1], "seconds_2": seconds[2], "same_bytes": same}
    row["speedup"] = min(seconds[1]) / min(seconds[2])
    print(f"  speed-up {row['speedup']:.2f} (best of each), same bytes: {same}")
    return [row]


def kills(work: Path) -> list[dict[str, Any]]:
    """kill -9 to the whole process group at five random moments, then a run to the end."""
    sources = make_sources(work)
    whole = work / "batch_2_1.kine"
    if not whole.exists():
        subprocess.run(batch_command(sources, whole, "--workers", "2"), check=True, capture_output=True)
    rows, dice = [], random.Random(5)
    for kind in ("killed.kine", "killed"):
        dest = work / kind
        for old in work.glob("*killed*"):
            shutil.rmtree(old) if old.is_dir() else old.unlink()
        moments = []
        for _ in range(5):
            running = subprocess.Popen(
                batch_command(sources, dest, "--workers", "2"), start_new_session=True, stdout=subprocess.DEVNULL
            )
            moments.append(round(dice.uniform(2, 9), 2))
            time.sleep(moments[-1])
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()
        facts = json.loads(subprocess.run(batch_command(sources, dest, "--workers", "2"), capture_output=True).stdout)
        if dest.is_dir():
            shutil.rmtree(work / "plain", ignore_errors=True)
            subprocess.run(batch_command(sources, work / "plain", "--workers", "2"), check=True, capture_output=True)
            same = contents(dest) == contents(work / "plain") and len(contents(dest)) == CLIPS
        else:
            same = dest.read_bytes() == whole.read_bytes()
        print(f"{kind}: killed after {moments} s, {facts['skipped']} of {CLIPS} were done, same bytes: {same}")
        kept = {"made_in_last_run": facts["made"], "skipped": facts["skipped"]}
        rows.append({"part": "kills", "dest": kind, "killed_after_s": moments, **kept, "same_bytes": same})
    return rows


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.kine")}


def scheduler(work: Path) -> list[dict[str, Any]]:
    """`dask scheduler` and three `dask worker` processes, one of which is killed in the middle of the run."""
    sources, port = make_sources(work), 18786
    address = f"tcp://127.0.0.1:{port}"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", str(port), "--no-dashboard"]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard"]
    processes = [subprocess.Popen([*dask, "--host", "127.0.0.1"], **quiet)]
    processes += [subprocess.Popen([*worker, "--no-nanny"], **quiet) for _ in range(3)]
    dest = work / "scheduled.kine"
    for old in work.glob("*scheduled*"):
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    try:
        running = subprocess.Popen(batch_command(sources, dest, "--scheduler", address), stdout=subprocess.PIPE)
        journal = work / "scheduled.batch.jsonl"
        while running.poll() is None and (not journal.exists() or journal.read_bytes().count(b"\n") < CLIPS // 4):
            time.sleep(0.05)
        done_before = journal.read_bytes().count(b"\n")
        processes[1].kill()
        facts = json.loads(running.communicate()[0])
    finally:
        for process in processes:
            process.kill()
            process.wait()
    same = dest.read_bytes() == (work / "batch_2_1.kine").read_bytes()
    print(f"scheduler, 3 workers, one killed after {done_before} clips: {facts['made']} made, same bytes: {same}")
    return [{"part": "scheduler", "killed_after_clips": done_before, "made": facts["made"], "same_bytes": same}]


def windows(work: Path) -> list[dict[str, Any]]:
    return library_windows.measure(make_sources(work), work, CODECS)


def memory(work: Path) -> list[dict[str, Any]]:
    return library_windows.measure_memory(make_sources(work), work)


def sharing(work: Path) -> list[dict[str, Any]]:
    return library_sharing.measure(DATA)


PARTS: dict[str, Callable[[Path], list[dict[str, Any]]]] = {
    "batch": batch,
    "kills": kills,
    "scheduler": scheduler,
    "windows": windows,
    "memory": memory,
    "sharing": sharing,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="what to measure; all by default")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "library-bench", help="where files are made")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    for part in arguments.parts or PARTS:
        rows = [{**row, "commit": commit(), "machine": machine()} for row in PARTS[part](arguments.work)]
        old = ROWS.read_text().splitlines() if ROWS.exists() else []
        kept = [line for line in old if json.loads(line)["part"] != part]
        ROWS.write_text("\n".join([*kept, *(json.dumps(row) for row in rows)]) + "\n")


if __name__ == "__main__":
    main()
