"""`Library`: an open library, searched by its catalogue alone and decoded only where it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinepack.codecs.base import CODECS, Codec, Layout, Segment, Stream, width_of
from kinepack.container.catalogue import ListedClip
from kinepack.container.clip import SegmentEntry
from kinepack.container.reader import ClipEntry
from kinepack.errors import Corrupt, UsageError
from kinepack.library.cache import ArrayCache
from kinepack.library.forms import express
from kinepack.library.windows import Windows
from kinepack.limits import DEFAULT_LIMITS, Limits
from kinepack.model import Model, Skeleton
from kinepack.reader import ClipReader, Reader

CACHE_BYTES = 96 << 20
"""Decoded motion that windows keep in memory by default."""


@dataclass(frozen=True)
class Runs:
    """A clip's segments grouped by the run of frames that they belong to, and what decodes them."""

    entry: ClipEntry
    codec: type[Codec]
    layout: Layout
    firsts: list[int]
    """First frame of each run."""
    groups: list[tuple[SegmentEntry, ...]]


class LibraryClip:
    """One clip of a library: `clip[120:240]` decodes these frames; all else but `skeleton` is in the catalogue."""

    def __init__(self, library: Library, number: int) -> None:
        self.library, self.number, self.listed = library, number, library.listed[number]

    name = property(lambda self: self.listed.name)
    frames = property(lambda self: self.listed.frames)
    frame_time = property(lambda self: self.listed.frame_time)
    duration = property(lambda self: self.listed.duration, doc="Seconds.")
    labels = property(lambda self: self.listed.labels)
    stats = property(lambda self: self.listed.stats, doc="Errors and motion statistics, by name.")
    codec = property(lambda self: self.listed.codec)
    bytes = property(lambda self: self.listed.bytes, doc="On disk, without the skeleton.")

    @property
    def fps(self) -> float:
        return 1 / float(self.listed.frame_time)

    @property
    def layout(self) -> Layout:
        """Skeleton, or a mesh's connectivity."""
        return self.reader.layout

    @property
    def skeleton(self) -> Skeleton:
        layout = self.layout
        if not isinstance(layout, Skeleton):
            raise UsageError(f"{self.name!r} is a mesh and has no skeleton")
        return layout

    @property
    def skeleton_id(self) -> str:
        """Digest of the skeleton or mesh, from the catalogue: equal for clips that share it."""
        return self.library.static_id(self.listed.static)

    @property
    def reader(self) -> ClipReader:
        """For all that a plain file's clip can do: layers, times, damage, salvage."""
        return self.library.reader[self.number]

    def __len__(self) -> int:
        return int(self.listed.frames)

    def __getitem__(self, frames: slice | int) -> Model:
        """The frames of a slice, or one frame, decoded."""
        if isinstance(frames, int):
            at = frames + len(self) if frames < 0 else frames
            if not 0 <= at < len(self):
                raise IndexError(f"clip {self.name!r} has {len(self)} frames, no number {frames}")
            return self.reader.decode(at, at + 1)
        start, stop, step = frames.indices(len(self))
        if step != 1 or stop <= start:
            raise UsageError(f"a slice of a clip needs frames in order, not {start}:{stop}:{step}")
        return self.reader.decode(start, stop)

    def decode(self) -> Model:
        """The whole clip."""
        return self.reader.decode()

    def info(self) -> dict[str, Any]:
        """What the catalogue tells, ready for JSON."""
        c = self.listed
        return {
            "name": c.name,
            "duration_s": c.duration,
            "frames": c.frames,
            "fps": self.fps,
            "bytes": c.bytes,
            "codec": c.codec,
            "settings": c.settings,
            "skeleton": self.skeleton_id,
            **self.library.static_facts(c.static),
            "labels": dict(c.labels),
            "stats": dict(c.stats),
        }

    def __repr__(self) -> str:
        return f"<clip {self.name!r}: {self.frames:,} frames, {self.duration:.4g} s>"


class Library(Mapping[str, LibraryClip]):
    """An open library (or any other `.kine` file) by path, bytes or URL.

    `library["09_01"][120:240]` decodes those frames and nothing else. A library may be shared by threads, forked, and
    pickled: a copy opens the file again. `cache_bytes` bounds the decoded motion that windows keep.
    """

    def __init__(
        self,
        place: str | Path | bytes,
        *,
        skeleton: str | Path | bytes | None = None,
        limits: Limits = DEFAULT_LIMITS,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        self._opening: dict[str, Any] = {"skeleton": skeleton, "limits": limits, "cache_bytes": cache_bytes}
        self.place = place
        self.reader = Reader(place, skeleton=skeleton, limits=limits)
        self.cache = ArrayCache(cache_bytes)
        self._runs: dict[int, Runs] = {}
        catalogue = self.reader.container.catalogue
        self.listed: tuple[ListedClip, ...] = catalogue.clips if catalogue else self._list_records()
        self._numbers = {clip.name: number for number, clip in enumerate(self.listed)}
        list(CODECS)  # found now: two threads that look for their first codec would race

    # Clips.

    def __getitem__(self, name: str | int) -> LibraryClip:
        return LibraryClip(self, self._number(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self.listed)

    def __contains__(self, name: object) -> bool:
        return name in self._numbers

    def clips(self) -> list[LibraryClip]:
        return [LibraryClip(self, number) for number in range(len(self))]

    def select(
        self,
        where: Callable[[LibraryClip], bool] | None = None,
        *,
        min_s: float = 0.0,
        max_s: float = float("inf"),
        skeleton: str | Skeleton | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> list[LibraryClip]:
        """The clips that last so long, have that skeleton and those labels, and that `where` likes."""
        wanted = skeleton.digest.hex() if isinstance(skeleton, Skeleton) else skeleton
        return [
            clip
            for clip in self.clips()
            if min_s <= clip.duration <= max_s
            and (wanted is None or clip.skeleton_id == wanted)
            and all(clip.labels.get(key) == value for key, value in (labels or {}).items())
            and (where is None or where(clip))
        ]

    def windows(self, length: int, stride: int | None = None, fps: float | None = None, **how: Any) -> Windows:
        """Shuffled windows of `length` frames as float32 arrays, `stride` frames apart; see `Windows`."""
        return Windows(self, length, stride, fps, **how)

    def info(self) -> dict[str, Any]:
        """Totals, from the catalogue alone."""
        statics = self.reader.container.statics
        raw = sum(c.frames * int(self.static_facts(c.static)["numbers_per_frame"]) * 4 for c in self.listed)
        size = self.reader.container.size
        return {
            "file_bytes": size,
            "clips": len(self),
            "skeletons": len(statics),
            "frames": sum(c.frames for c in self.listed),
            "duration_s": sum(c.duration for c in self.listed),
            "motion_bytes": sum(c.bytes for c in self.listed),
            "raw_bytes": raw,
            "raw_is": "frames x numbers x float32",
            "ratio": raw / size,
        }

    # What windows read.

    def runs(self, number: int) -> Runs:
        """The runs of a clip, with what decoding them needs."""
        found = self._runs.get(number)
        if found is None:
            found = self._group(number)
            if len(self._runs) >= self.reader.container.KEPT_CLIPS:
                self._runs.clear()
            self._runs[number] = found
        return found

    def block(self, number: int, run: int, form: str) -> NDArray[np.float32]:
        """One decoded run of frames in a form, from memory if it is there."""
        return self.cache.get((number, run, form), lambda: self._decode(self.runs(number), run, form))

    def _group(self, number: int) -> Runs:
        clip = self.reader[number]
        groups: dict[int, list[SegmentEntry]] = {}
        for segment in clip.record.segments:
            groups.setdefault(segment.first, []).append(segment)
        entry = self.reader.container.clip(number)
        told = (self.listed[number].frames, self.static_facts(self.listed[number].static)["numbers_per_frame"])
        if told != (entry.record.frames, width_of(clip.layout)):
            raise Corrupt(f"the catalogue and clip {clip.name!r} do not agree")
        return Runs(entry, clip.codec, clip.layout, list(groups), [tuple(group) for group in groups.values()])

    def _decode(self, runs: Runs, run: int, form: str) -> NDArray[np.float32]:
        group, record = runs.groups[run], runs.entry.record
        container = self.reader.container
        segments = [Segment(s.first, s.frames, container.segment(runs.entry, s), s.layer) for s in group]
        stream = Stream(runs.layout, record.frames, record.frame_time, record.setup, segments, record.name)
        window = (group[0].first, group[0].first + group[0].frames)
        return express(runs.codec.decode(stream, window, self.reader.limits), form)

    # Statics, as the catalogue tells them.

    def static_id(self, number: int) -> str:
        catalogue = self.reader.container.catalogue
        return catalogue.statics[number].digest if catalogue else self._plain_statics[number][0]

    def static_facts(self, number: int) -> dict[str, Any]:
        catalogue = self.reader.container.catalogue
        if catalogue is None:
            return self._plain_statics[number][1]
        static = catalogue.statics[number]
        kind = "clip" if static.kind == "skeleton" else "mesh"
        return {"kind": kind, "joints": static.joints, "numbers_per_frame": static.width}

    @cached_property
    def _plain_statics(self) -> dict[int, tuple[str, dict[str, Any]]]:
        """The same of a file without a catalogue; -1 is a skeleton kept in another file."""
        known: dict[int, tuple[str, dict[str, Any]]] = {}
        for clip in self.reader.clips():
            static, layout = clip.record.static, clip.layout
            rigged = isinstance(layout, Skeleton)
            joints = len(layout.joints) if isinstance(layout, Skeleton) else layout.vertices
            name = layout.digest.hex() if isinstance(layout, Skeleton) else f"mesh-{static!r}"
            facts = {"kind": "clip" if rigged else "mesh", "joints": joints, "numbers_per_frame": width_of(layout)}
            known[static if isinstance(static, int) else -1] = (name, facts)
        return known

    def _list_records(self) -> tuple[ListedClip, ...]:
        """A plain file has no catalogue: its clips' own descriptions tell the same, without labels and statistics."""
        listed = []
        for number in range(len(self.reader)):
            entry = self.reader.container.clip(number)
            r, size = entry.record, entry.chunk_bytes + entry.record.data_bytes
            static = r.static if isinstance(r.static, int) else -1
            listed.append(ListedClip(r.name, entry.data_at, size, r.frames, r.frame_time, r.codec, r.settings, static))
        return tuple(listed)

    def _number(self, name: str | int) -> int:
        if isinstance(name, int):
            if not -len(self) <= name < len(self):
                raise IndexError(f"the library has {len(self)} clips, no number {name}")
            return name % len(self)
        if name in self._numbers:
            return self._numbers[name]
        tails = [number for full, number in self._numbers.items() if full.rpartition("/")[2] == name]
        if len(tails) == 1:  # "09_01" finds "cmu/09/09_01"
            return tails[0]
        matching = [self.listed[number].name for number in tails] or list(self._numbers)
        found = f"{len(tails)} clips called {name!r}" if tails else f"no clip {name!r}"
        raise UsageError(f"the library has {found}", hint="clips: " + ", ".join(matching[:20]))

    # Life.

    def close(self) -> None:
        self.reader.close()

    def __enter__(self) -> Library:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return _open, (self.place, self._opening)

    def __repr__(self) -> str:
        return f"<library of {len(self):,} clips, {sum(c.duration for c in self.listed):,.4g} s>"


def _open(place: str | Path | bytes, opening: dict[str, Any]) -> Library:
    return Library(place, **opening)
