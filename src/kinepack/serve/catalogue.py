"""What the folder holds, from the files' indexes alone; read again only when a file changes."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kinepack.container.clip import ClipRecord
from kinepack.errors import KinepackError
from kinepack.limits import Limits
from kinepack.model import Skeleton
from kinepack.reader import ClipReader, Reader
from kinepack.serve.paths import kine_files, open_inside
from kinepack.serve.thumbnail import EMPTY, thumbnail

MOST_FILES = 2000
MOST_THUMBNAILS = 512
LIMITS = Limits(values=40_000_000, bytes=1 << 32)
"""What a file of the folder may ask for when it is listed and drawn."""


@dataclass(frozen=True)
class Entry:
    """One file of the folder. `problem` is not empty if it cannot be read."""

    path: str
    bytes: int
    kind: str = ""
    name: str = ""
    clips: int = 0
    frames: int = 0
    fps: float = 0.0
    duration_s: float = 0.0
    numbers_per_frame: int = 0
    codec: str = ""
    settings: str = ""
    ratio: float = 0.0
    layers: int = 0
    problem: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value not in ("", 0)}


class Catalogue:
    """The folder's files and their pictures. Threads may share one."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._entries: dict[str, tuple[tuple[int, int], Entry]] = {}
        self._pictures: OrderedDict[tuple[str, int, int], str] = OrderedDict()
        self._lock = threading.Lock()

    def entries(self) -> list[Entry]:
        """Every file, in the order of the folder."""
        found = [self._entry(path) for path in kine_files(self.root, most=MOST_FILES)]
        kept = {entry.path for entry in found if entry}
        with self._lock:
            self._entries = {path: entry for path, entry in self._entries.items() if path in kept}
        return [entry for entry in found if entry]

    def picture(self, path: str) -> tuple[str, str]:
        """SVG of a file's first clip, and a text that tells versions of it apart; OSError if there is no such file."""
        stamp = self._stamp(path)
        key = (path, *stamp)
        with self._lock:
            drawn = self._pictures.get(key)
        if drawn is None:
            drawn = self._draw(path)
            with self._lock:
                self._pictures[key] = drawn
                while len(self._pictures) > MOST_THUMBNAILS:
                    self._pictures.popitem(last=False)
        return drawn, f"{stamp[0]:x}-{stamp[1]:x}"

    def _stamp(self, path: str) -> tuple[int, int]:
        descriptor = open_inside(self.root, path)
        try:
            facts = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        return facts.st_mtime_ns, facts.st_size

    def _entry(self, path: str) -> Entry | None:
        try:
            stamp = self._stamp(path)
        except OSError:  # gone since the folder was listed
            return None
        with self._lock:
            known = self._entries.get(path)
        if known is None or known[0] != stamp:
            known = stamp, self._read(path, stamp[1])
            with self._lock:
                self._entries[path] = known
        return known[1]

    def _read(self, path: str, size: int) -> Entry:
        try:
            with Reader(self.root / path, limits=LIMITS) as file:
                if not len(file):
                    return Entry(path, size, kind="skeleton")
                return _entry_of(path, size, file)
        except KinepackError as error:
            return Entry(path, size, problem=error.message)

    def _draw(self, path: str) -> str:
        try:
            with Reader(self.root / path, limits=LIMITS) as file:
                return thumbnail(file[0]) if len(file) else EMPTY
        except KinepackError:
            return EMPTY


def _entry_of(path: str, size: int, file: Reader) -> Entry:
    """Of a library the first clip stands for all; its catalogue has the sums."""
    clip: ClipReader = file[0]
    record: ClipRecord = clip.record
    facts = clip.info()
    listed = file.container.catalogue
    if listed is not None:
        frames, duration = sum(c.frames for c in listed.clips), sum(c.duration for c in listed.clips)
    else:
        records = [one.record for one in file.clips()]
        frames, duration = sum(r.frames for r in records), sum(r.frames * r.frame_time for r in records)
    return Entry(
        path,
        size,
        kind="clip" if isinstance(clip.layout, Skeleton) else "mesh",
        name=record.name,
        clips=len(file),
        frames=frames,
        fps=round(1 / record.frame_time, 6),
        duration_s=round(duration, 6),
        numbers_per_frame=facts["numbers_per_frame"],
        codec=record.codec,
        settings=record.settings,
        ratio=round(4 * frames * facts["numbers_per_frame"] / size, 3),
        layers=facts["layers"],
    )
