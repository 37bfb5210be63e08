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
import resource
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
SETTINGS = ["--codec", "delta-lzma:segment_s=1"]
SEARCH = ["--target", "joint_rms<=0.1"]
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
    """Seconds with one and with two workers, in turn, since the machine may be busy with other things.

    The processor's seconds tell what an idle machine would show: if two workers need no more of them than one, and
    the units are small, two are twice as fast.
    """
    sources = make_sources(work)
    chosen = sorted(sources.glob("*.npz"))[:: max(1, CLIPS // int(os.environ.get("KINEPACK_BENCH_CLIPS", CLIPS)))]
    wall: dict[int, list[float]] = {1: [], 2: []}
    cpu: dict[int, list[float]] = {1: [], 2: []}
    for turn in range(2):
        for workers in (1, 2):
            dest = work / f"batch_{workers}_{turn}.kine"
            forget(dest)
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            command = [sys.executable, "-m", "kinepack", "batch", *map(str, chosen), str(dest), *SETTINGS, *SEARCH]
            answer = subprocess.run([*command, "--workers", str(workers), "--json"], capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            wall[workers].append(json.loads(answer.stdout)["seconds"])
            cpu[workers].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
            taken = f"{wall[workers][-1]:.1f} s, of the processor {cpu[workers][-1]:.1f} s"
            print(f"{len(chosen)} clips, {workers} workers: {taken}, load {os.getloadavg()[0]:.1f}", flush=True)
    same = (work / "batch_1_0.kine").read_bytes() == (work / "batch_2_1.kine").read_bytes()
    row = {
        "part": "batch",
        "clips": len(chosen),
        "wall_1": wall[1],
        "wall_2": wall[2],
        "cpu_1": cpu[1],
        "cpu_2": cpu[2],
    }
    speedup, work_ratio = min(wall[1]) / min(wall[2]), min(cpu[1]) / min(cpu[2])
    print(f"  speed-up {speedup:.2f} (best of each), processor seconds 1 : {1 / work_ratio:.2f}, same bytes: {same}")
    return [{**row, "speedup": speedup, "cpu_ratio": work_ratio, "load": os.getloadavg()[0], "same_bytes": same}]


def kills(work: Path) -> list[dict[str, Any]]:
    """kill -9 to the whole process group at five random moments, then a run to the end; a library, then a folder."""
    sources, rows, dice = make_sources(work), [], random.Random(5)
    for kind in ("killed.kine", "killed"):
        whole, dest = work / f"whole_{kind}", work / kind
        for place in (whole, dest):
            forget(place)
        subprocess.run(batch_command(sources, whole, "--workers", "2"), check=True, capture_output=True)
        done_at = [kill_once(batch_command(sources, dest, "--workers", "2"), dest, dice) for _ in range(5)]
        facts = json.loads(subprocess.run(batch_command(sources, dest, "--workers", "2"), capture_output=True).stdout)
        if dest.is_dir():
            same = contents(dest) == contents(whole) and len(contents(dest)) == CLIPS
        else:
            same = dest.read_bytes() == whole.read_bytes()
        print(f"{kind}: killed at {done_at} of {CLIPS} clips, {facts['skipped']} not done again, same bytes: {same}")
        kept = {"made_in_last_run": facts["made"], "skipped": facts["skipped"]}
        rows.append({"part": "kills", "dest": kind, "killed_at_clips": done_at, **kept, "same_bytes": same})
    return rows


def kill_once(command: list[str], dest: Path, dice: random.Random) -> int:
    """Runs a batch until it has done some more clips, and a random moment longer; returns how many were done."""
    before = done(dest)
    running = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL)
    more = dice.randint(0, 55)
    while running.poll() is None and done(dest) < before + more:
        time.sleep(0.002)
    time.sleep(dice.uniform(0, 0.1))
    assert running.poll() is None, "it was done before it could be killed"
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    return done(dest)


def journal_of(dest: Path) -> Path:
    return dest.with_name(f"{dest.stem}.batch.jsonl") if dest.suffix else dest / "batch.jsonl"


def done(dest: Path) -> int:
    journal = journal_of(dest)
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


def forget(dest: Path) -> None:
    """Takes away whatever an earlier run left at a destination."""
    for left in (dest, journal_of(dest), dest.parent / f".{dest.name}.parts"):
        if left.is_dir():
            shutil.rmtree(left)
        left.unlink(missing_ok=True)


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
    whole, dest = work / "whole_scheduled.kine", work / "scheduled.kine"
    for place in (whole, dest):
        forget(place)
    subprocess.run(batch_command(sources, whole, "--workers", "2"), check=True, capture_output=True)
    try:
        running = subprocess.Popen(batch_command(sources, dest, "--scheduler", address), stdout=subprocess.PIPE)
        while running.poll() is None and done(dest) < CLIPS // 4:
            time.sleep(0.002)
        killed_at = done(dest)
        processes[1].kill()
        facts = json.loads(running.communicate()[0])
    finally:
        for process in processes:
            process.kill()
            process.wait()
    same = dest.read_bytes() == whole.read_bytes()
    print(f"scheduler, 3 workers, one killed after {killed_at} clips: {facts['made']} made, same bytes: {same}")
    return [{"part": "scheduler", "killed_at_clips": killed_at, "made": facts["made"], "same_bytes": same}]


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
