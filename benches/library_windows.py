"""Random two-second windows from a library, from npz files and from HDF5: part of `benches/library.py`.

Each measurement is a process of its own on one core. Cold: the files' pages are dropped from the system's cache and the
store is opened within the time. Warm: the same windows once more, in the same process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kinepack import Library, read
from kinepack.library import Piece, create, pieces_of
from kinepack.library.making import make

LENGTH, STRIDE, MOST = 240, 10, 10_000
"""Two seconds at 120 Hz; a window every 10 frames."""
Get = Callable[[int], Any]


def measure(sources: Path, work: Path, codecs: Sequence[str]) -> list[dict[str, Any]]:
    """A row for each store: windows a second cold and warm, bytes on disk."""
    stores = _make_stores(sources, work, codecs)
    rows = []
    for name, path in stores.items():
        done = subprocess.run(
            [sys.executable, __file__, name, str(path), str(stores["library " + codecs[0]])],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        row = {"part": "windows", "store": name, "bytes": _size(path), **json.loads(done.stdout)}
        rows.append(row)
        print(f"{name:36} cold {row['cold']:>8,.0f}/s  warm {row['warm']:>8,.0f}/s  {row['bytes']:>12,} bytes")
    return rows


def measure_memory(sources: Path, work: Path) -> list[dict[str, Any]]:
    """Peak memory and rate of windows over a library that is 2 GB as float32, full and near shuffling."""
    path = work / "large.kine"
    clips = [read(p) for p in sorted(sources.glob("*.npz"))[:40]]
    pieces = [_piece(clip, "delta-lzma:segment_s=1") for clip in clips]
    raw = sum(clip.values.size * 4 for clip in clips)  # type: ignore[union-attr]
    copies = -(-2_000_000_000 // raw)
    if not path.exists():
        create(path, (p.renamed(f"{p.name}_{copy:04}") for copy in range(copies) for p in pieces))
    rows = []
    for shuffle in ("full", "near"):
        done = subprocess.run(
            [sys.executable, __file__, "memory " + shuffle, str(path), ""], capture_output=True, text=True, check=True
        )
        row = {"part": "memory", "raw_bytes": raw * copies, "bytes": _size(path), **json.loads(done.stdout)}
        rows.append(row)
        print(
            f"library of {row['raw_bytes']:,} raw bytes, {shuffle} shuffling: peak {row['peak_mb']:.0f} MB, "
            f"{row['windows_per_s']:,.0f} windows/s"
        )
    return rows


def _piece(clip: Any, codec: str) -> Piece:
    made = make([clip], codec)
    (piece,) = pieces_of(made.data)
    return piece.described({}, made.stats[0])


def _make_stores(sources: Path, work: Path, codecs: Sequence[str]) -> dict[str, Path]:
    import h5py

    stores: dict[str, Path] = {}
    clips = [read(path) for path in sorted(sources.glob("*.npz"))]
    for number, codec in enumerate(codecs):
        path = stores[f"library {codec}"] = work / f"windows_{number}.kine"
        create(path, (_piece(clip, codec) for clip in clips))
    folder = stores["npz files, float32"] = work / "npz"
    folder.mkdir(exist_ok=True)
    with h5py.File(work / "windows.h5", "w") as file:
        for clip in clips:
            values = clip.values.astype(np.float32)  # type: ignore[union-attr]
            np.savez(folder / f"{clip.name}.npz", values=values)
            file.create_dataset(clip.name, data=values)
    stores["HDF5, float32"] = work / "windows.h5"
    os.sync()
    return stores


def _size(path: Path) -> int:
    return sum(p.stat().st_size for p in path.iterdir()) if path.is_dir() else path.stat().st_size


# In the process that is measured.


def _forget(path: Path) -> None:
    """Drops a file's pages from the system's cache."""
    for file in path.iterdir() if path.is_dir() else [path]:
        handle = os.open(file, os.O_RDONLY)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(handle)


def _open(store: str, path: Path, places: list[tuple[str, int]]) -> Get:
    if store.startswith("library"):
        windows = Library(path).windows(LENGTH, STRIDE, seed=1)
        return windows.__getitem__
    if store.startswith("npz"):
        return lambda i: np.load(path / f"{places[i][0]}.npz")["values"][places[i][1] : places[i][1] + LENGTH]
    import h5py

    file = h5py.File(path)
    return lambda i: file[places[i][0]][places[i][1] : places[i][1] + LENGTH]


def _rate(get: Get, count: int, begin: float) -> float:
    for index in range(count):
        window = get(index)
    assert window.shape == (LENGTH, 62) and window.dtype == np.float32
    return count / (time.perf_counter() - begin)


def run_store(store: str, path: Path, listing: Path) -> dict[str, Any]:
    places = Library(listing).windows(LENGTH, STRIDE, seed=1)
    count = min(MOST, len(places))
    where = [tuple(places.where(i)) for i in range(count)]
    if not store.startswith(("library", "npz")):
        import h5py  # noqa: F401 - an import is not a cold start
    _forget(path)
    begin = time.perf_counter()
    get = _open(store, path, where)
    cold = _rate(get, count, begin)
    return {"windows": count, "cold": cold, "warm": _rate(get, count, time.perf_counter())}


def run_memory(shuffle: str, path: Path) -> dict[str, Any]:
    windows = Library(path).windows(LENGTH, seed=1, shuffle=shuffle)  # type: ignore[arg-type]
    count = min(20_000, len(windows))
    _forget(path)
    rate = _rate(windows.__getitem__, count, time.perf_counter())
    # VmHWM is of this program alone; ru_maxrss would count what the process was before it became it.
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    peak = int(status["VmHWM"].split()[0]) / 1024
    return {"shuffle": shuffle, "windows": count, "windows_per_s": rate, "peak_mb": peak}


if __name__ == "__main__":
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    name, place, listing = sys.argv[1:]
    if name.startswith("memory"):
        print(json.dumps(run_memory(name.split()[1], Path(place))))
    else:
        print(json.dumps(run_store(name, Path(place), Path(listing))))
