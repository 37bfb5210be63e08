"""An open `.kine` file: clips by name or number, frames by number or time, nothing read before it is needed."""

from __future__ import annotations

import builtins
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kinepack.codecs.base import (
    CODECS,
    Codec,
    Layout,
    Segment,
    Stream,
    Topology,
    Window,
    matrix_of,
    model_from,
    width_of,
)
from kinepack.container.clip import ClipRecord, SegmentEntry
from kinepack.container.reader import ClipEntry, ContainerReader, segments_in
from kinepack.container.source import open_source
from kinepack.container.static import digest_of, unpack_static
from kinepack.errors import BitstreamError, Corrupt, UnsupportedVersion, UsageError
from kinepack.limits import DEFAULT_LIMITS, Limits
from kinepack.model import Model, Skeleton
from kinepack.transforms.connectivity import crowded_edges

RAW_IS = "frames x numbers x float32"
ROUNDING = 1e-9
"""Frames; a time that was computed from a frame number means that frame."""


Kind = Literal["coarser", "lost"]


def frames_between(begin_s: float, end_s: float, *, frames: int, frame_time: float) -> Window:
    """First frame and the frame after the last of those that a stretch of a clip's time touches."""
    if not begin_s <= end_s:
        raise UsageError(f"the time from {begin_s:g} to {end_s:g} s is no part of a clip")
    start = math.floor(min(max(begin_s, 0.0) / frame_time, frames) + ROUNDING)
    stop = math.ceil(min(end_s / frame_time, frames) - ROUNDING)
    return start, min(frames, max(start + 1, stop))


@dataclass(frozen=True)
class Loss:
    """A run of frames that damage keeps from being as they were."""

    kind: Kind
    """lost: the lowest layer is damaged, a good frame is held; coarser: played from the layers below the damage."""
    first: int
    frames: int


class ClipReader:
    """One clip of an open file."""

    def __init__(self, file: Reader, entry: ClipEntry) -> None:
        self._file, self._entry = file, entry
        self.record: ClipRecord = entry.record

    name = property(lambda self: self.record.name)
    frames = property(lambda self: self.record.frames)
    frame_time = property(lambda self: self.record.frame_time)

    @property
    def codec(self) -> type[Codec]:
        if self.record.codec not in CODECS:
            raise UnsupportedVersion(
                f"the clip needs the codec {self.record.codec!r}, which this Kinepack does not have"
            )
        codec = CODECS[self.record.codec]
        if self.record.codec_version > codec.version:
            raise UnsupportedVersion(f"the clip needs version {self.record.codec_version} of {codec.id}")
        return codec

    @property
    def layout(self) -> Layout:
        return self._file.layout(self.record.static)

    def decode(self, start: int = 0, stop: int | None = None, *, layers: int | None = None) -> Model:
        """Frames start..stop-1, from the lowest `layers` layers; only their segments are read."""
        window = self._window(start, stop)
        return self._decode(window, list(segments_in(self.record, *window, layers)))

    def decode_channels(
        self, joints: Iterable[str | int], start: int = 0, stop: int | None = None
    ) -> dict[str, NDArray[Any]]:
        """Values [frames] by "joint.kind" of some joints alone; the wavelet codecs decode nothing else."""
        window = self._window(start, stop)
        stream = self._stream(self._segments(list(segments_in(self.record, *window))))
        return self.codec.decode_channels(stream, joints, window, self._file.limits)

    def decode_time(self, begin_s: float, end_s: float) -> Model:
        """The frames from `begin_s` up to `end_s` seconds."""
        return self.decode(*frames_between(begin_s, end_s, frames=self.frames, frame_time=self.frame_time))

    def damage(self, layers: int | None = None) -> list[tuple[SegmentEntry, str]]:
        """Segments of the lowest `layers` layers that fail their checksum or do not decode, each with the reason."""
        entries = segments_in(self.record, 0, self.frames, layers)
        return [(entry, fault) for entry in entries if (fault := self._fault(entry))]

    def losses(self, layers: int | None = None) -> list[Loss]:
        """What damage does to the frames that `salvage` gives from the same layers, in as few runs as possible."""
        lowest = _lowest_layers(self.damage(layers))
        runs = groupby(segments_in(self.record, 0, self.frames, 1), lambda run: _kind(lowest.get(run.first)))
        stretches = [(kind, list(alike)) for kind, alike in runs]
        return [Loss(kind, alike[0].first, sum(run.frames for run in alike)) for kind, alike in stretches if kind]

    def salvage(self, layers: int | None = None) -> Model:
        """The whole clip from as many of the lowest `layers` layers as are whole.

        Where the lowest is damaged, the nearest good frame is held.
        """
        lowest = _lowest_layers(self.damage(layers))
        runs = list(segments_in(self.record, 0, self.frames, 1))
        good = {
            run.first: matrix_of(self.decode(run.first, run.first + run.frames, layers=lowest.get(run.first, layers)))
            for run in runs
            if lowest.get(run.first) != 0
        }
        if not good:
            raise Corrupt(f"no segment of clip {self.name!r} is whole")
        held, rows = good[min(good)][:1], []
        for run in runs:
            rows.append(good[run.first] if run.first in good else np.repeat(held, run.frames, axis=0))
            held = rows[-1][-1:]
        return model_from(self._stream([]), np.concatenate(rows))

    def info(self) -> dict[str, Any]:
        """What the index alone tells."""
        record = self.record
        return {
            "name": record.name,
            "codec": record.codec,
            "codec_version": record.codec_version,
            "settings": record.settings,
            "frames": record.frames,
            "fps": 1 / record.frame_time,
            "duration_s": record.frames * record.frame_time,
            "kind": "clip" if isinstance(self.layout, Skeleton) else "mesh",
            "numbers_per_frame": width_of(self.layout),
            "segments": sum(s.layer == 0 for s in record.segments),
            "layers": 1 + max(s.layer for s in record.segments),
            "payload_bytes": len(record.settings.encode()) + len(record.setup) + record.segment_bytes,
            "raw_bytes": record.frames * width_of(self.layout) * 4,
            **({"crowded_edges": crowded_edges(self.layout.faces)} if isinstance(self.layout, Topology) else {}),
        }

    def _fault(self, entry: SegmentEntry) -> str:
        """Why a segment cannot be used, or "" if it can; layers above the lowest are only checked by checksum."""
        try:
            self._file.container.segment(self._entry, entry)
            if entry.layer == 0:
                window = (entry.first, entry.first + entry.frames)
                self._decode(window, list(segments_in(self.record, *window, 1)))
        except BitstreamError as error:
            return error.message
        return ""

    def _window(self, start: int, stop: int | None) -> Window:
        stop = self.frames if stop is None else stop
        if not 0 <= start < stop <= self.frames:
            raise UsageError(f"frames {start}..{stop} are not inside the clip's {self.frames}")
        return start, stop

    def _decode(self, window: Window, entries: list[SegmentEntry]) -> Model:
        return self.codec.decode(self._stream(self._segments(entries)), window, self._file.limits)

    def _segments(self, entries: list[SegmentEntry]) -> list[Segment]:
        return [Segment(e.first, e.frames, self._file.container.segment(self._entry, e), e.layer) for e in entries]

    def _stream(self, segments: list[Segment]) -> Stream:
        r = self.record
        return Stream(self.layout, r.frames, r.frame_time, r.setup, segments, r.name)


class Reader(Mapping[str, ClipReader]):
    """An open file; also a context manager. `reader[0]` and `reader["09_01"]` give clips."""

    def __init__(
        self, place: str | Path | bytes, *, skeleton: str | Path | bytes | None = None, limits: Limits = DEFAULT_LIMITS
    ) -> None:
        self.limits = limits
        self._external = read_statics(skeleton, limits) if skeleton is not None else {}
        self.container = ContainerReader(open_source(place), limits)
        self._layouts: dict[int | bytes, Layout] = {}

    def layout(self, static: int | bytes) -> Layout:
        """The skeleton or mesh a clip refers to, in the file or in the one given beside it."""
        if static not in self._layouts:
            if isinstance(static, int):
                self._layouts[static] = _layout(self.container.statics[static].body, self.limits)
            elif static in self._external:
                self._layouts[static] = self._external[static]
            else:
                raise UsageError(
                    f"the file's skeleton ({static.hex()[:8]}…) is kept in another file",
                    hint="name that file with --skeleton-ref FILE (skeleton=FILE in Python)",
                )
        return self._layouts[static]

    def __getitem__(self, key: str | int) -> ClipReader:
        if isinstance(key, str):
            if key not in self.container.names:
                raise UsageError(f"the file has no clip {key!r}", hint="clips: " + ", ".join(self.container.names[:20]))
            key = self.container.names.index(key)
        if not 0 <= key < len(self):
            raise UsageError(f"the file has {len(self)} clips, no number {key}")
        return ClipReader(self, self.container.clip(key))

    def __contains__(self, name: object) -> bool:
        return name in self.container.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.container.names)

    def __len__(self) -> int:
        return len(self.container.names)

    def clips(self) -> list[ClipReader]:
        """All of them, in file order."""
        return [self[number] for number in builtins.range(len(self))]

    def info(self) -> dict[str, Any]:
        """Sizes of the whole file and what its index says of each clip."""
        clips = [clip.info() for clip in self.clips()]
        static_bytes = sum(s.chunk_bytes for s in self.container.statics)
        raw = sum(c["raw_bytes"] for c in clips)
        motion = self.container.size - static_bytes
        return {
            "file_bytes": self.container.size,
            "skeleton_bytes": static_bytes,
            "motion_bytes": motion,
            "raw_bytes": raw,
            "raw_is": RAW_IS,
            "ratio": raw / motion,
            "clips": clips,
        }

    def close(self) -> None:
        self.container.close()

    def __enter__(self) -> Reader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read_statics(place: str | Path | bytes, limits: Limits = DEFAULT_LIMITS) -> dict[bytes, Layout]:
    """The skeletons and meshes in a `.kine` file, by digest."""
    file = ContainerReader(open_source(place), limits)
    try:
        contents = [unpack_static(s.body, limits) for s in file.statics]
    finally:
        file.close()
    return {digest_of(c): c if isinstance(c, Skeleton) else Topology(*c) for c in contents}


def _lowest_layers(damage: Iterable[tuple[SegmentEntry, str]]) -> dict[int, int]:
    """The lowest damaged layer of each run of frames that has one, by first frame."""
    lowest: dict[int, int] = {}
    for entry, _ in damage:
        lowest[entry.first] = min(entry.layer, lowest.get(entry.first, entry.layer))
    return lowest


def _kind(lowest: int | None) -> Kind | None:
    """What a run of frames suffers whose lowest damaged layer is given."""
    if lowest is None:
        return None
    return "lost" if lowest == 0 else "coarser"


def _layout(body: bytes, limits: Limits) -> Layout:
    static = unpack_static(body, limits)
    return static if isinstance(static, Skeleton) else Topology(*static)
