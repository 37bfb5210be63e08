"""Reads a `.kine` file piece by piece from anything with `read_at(offset, size)`."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

from kinepack.container.catalogue import Catalogue, ListedStatic, read_catalogue
from kinepack.container.clip import ClipRecord, SegmentEntry, unpack_clip
from kinepack.container.layout import CRC, HEADER, MAGIC, MAX_VARINT_BYTES, VERSION, ByteReader, Tag
from kinepack.container.source import ByteSource
from kinepack.errors import Corrupt, Truncated, UnsupportedVersion
from kinepack.limits import DEFAULT_LIMITS, Limits

READ_AHEAD = 16 * 1024
"""One request usually brings the header, the static chunk and the index."""
SKIPPABLE = 0x80
CLIP_TAGS = (Tag.CLIP, Tag.LAYERED_CLIP, Tag.PLAIN_CLIP)


@dataclass(frozen=True)
class ClipEntry:
    """A clip in the file: its record, and where its segment bytes start."""

    record: ClipRecord
    data_at: int
    chunk_bytes: int
    """Bytes of the clip's chunk with framing."""


@dataclass(frozen=True)
class Static:
    """A STATIC chunk's body and its size on disk."""

    body: bytes
    chunk_bytes: int


class ListedStatics(Sequence[Static]):
    """The statics of a library, each read when it is asked for."""

    def __init__(self, file: ContainerReader, listed: Sequence[ListedStatic]) -> None:
        self._file, self._listed = file, listed

    def __len__(self) -> int:
        return len(self._listed)

    @overload
    def __getitem__(self, number: int) -> Static: ...
    @overload
    def __getitem__(self, number: slice) -> list[Static]: ...
    def __getitem__(self, number: int | slice) -> Static | list[Static]:
        if isinstance(number, slice):
            return [self[n] for n in range(*number.indices(len(self)))]
        return self._file.static_at(self._listed[number].at)


class ContainerReader:
    """Reads the chunks before the first clip at once; clips and segments are read and checked when asked for.

    A file that holds only static chunks is a shared skeleton or mesh: it has no clips. Threads may share a reader.
    """

    KEPT_CLIPS = 4096
    """Most descriptions of clips kept in memory."""

    def __init__(self, source: ByteSource, limits: Limits = DEFAULT_LIMITS) -> None:
        self._source, self._limits = source, limits
        self._ahead = (0, b"")
        self.size = limits.charge("bytes", source.size)
        self.statics: Sequence[Static] = []
        self.catalogue: Catalogue | None = None
        """Of a library; None for other files."""
        self._places: list[int] = []
        self._clips: dict[int, ClipEntry] = {}
        self.names: list[str] = []
        try:
            self._check_header()
            self._walk_to_clips()
        except BaseException:  # nobody else can close what never came to be
            source.close()
            raise

    def clip(self, index: int) -> ClipEntry:
        """The description and index of one clip."""
        entry = self._clips.get(index)
        if entry is None:
            at = self._places[index]
            tag, body, after = self._chunk(at)
            if tag not in CLIP_TAGS:
                raise Corrupt(f"there is no clip at byte {at}")
            entry = self._clip_entry(unpack_clip(body, self._limits, tag=tag), after, after - at)
            if len(self._clips) >= self.KEPT_CLIPS:
                self._clips.clear()
            self._clips[index] = entry
        return entry

    def static_at(self, at: int) -> Static:
        """The static chunk that starts at an offset."""
        tag, body, after = self._chunk(at)
        if tag != Tag.STATIC:
            raise Corrupt(f"there is no skeleton or mesh at byte {at}")
        return Static(body, after - at)

    def data(self, clip: ClipEntry) -> bytes:
        """All segments of a clip back to back with their checks, not checked."""
        return self._source.read_at(clip.data_at, clip.record.data_bytes)

    def segment(self, clip: ClipEntry, entry: SegmentEntry) -> bytes:
        """The checked bytes of one segment; Corrupt or Truncated if it is damaged."""
        data = self._source.read_at(clip.data_at + entry.offset, entry.stored)
        if not entry.is_whole(data):
            last = entry.first + entry.frames - 1
            raise Corrupt(f"the segment of frames {entry.first}..{last} of clip {clip.record.name!r} is damaged")
        return data[: entry.size]

    def close(self) -> None:
        self._source.close()

    def _check_header(self) -> None:
        head = self._read(0, min(len(HEADER), self.size))
        if head[: len(MAGIC)] != MAGIC[: len(head)] or not head:
            hint = "compress a motion file first: kinepack compress IN -o OUT.kine"
            raise Corrupt("this is not a .kine file", hint=hint)
        if len(head) < len(HEADER):
            raise Truncated("the file ends inside its header")
        if head != HEADER:
            raise UnsupportedVersion(f"the file is of container version {head[-1]}, this reader knows {VERSION}")

    def _walk_to_clips(self) -> None:
        at = len(HEADER)
        if at < self.size and self._read(at, 1)[0] == Tag.LIBRARY:
            self._take_catalogue(read_catalogue(self._read, self.size, self._limits))
            return
        statics: list[Static] = []
        self.statics = statics
        while at < self.size or not statics:
            tag, body, after = self._chunk(at)
            if tag in CLIP_TAGS:
                break
            if tag == Tag.CONTENTS:
                self._take_contents(body, after)
            elif tag == Tag.STATIC:
                statics.append(Static(body, after - at))
            elif not tag & SKIPPABLE:
                raise UnsupportedVersion(f"the file needs a feature this reader does not have (chunk type {tag})")
            at = after
        if not self._places and at < self.size:
            self._places = [at]
            self.names = [self.clip(0).record.name]

    def _take_contents(self, body: bytes, after: int) -> None:
        source = ByteReader(body)
        for _ in range(self._limits.charge("clips", source.varint())):
            self.names.append(source.text())
            self._places.append(after + source.varint())

    def _take_catalogue(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self.statics = ListedStatics(self, catalogue.statics)
        self.names = [clip.name for clip in catalogue.clips]
        self._places = [clip.at for clip in catalogue.clips]

    def _chunk(self, at: int) -> tuple[int, bytes, int]:
        """Tag and checked body of the chunk at an offset, and where the next one starts."""
        if at >= self.size:
            raise Truncated("the file ends before its first clip")
        head = ByteReader(self._read(at, min(1 + MAX_VARINT_BYTES, self.size - at)))
        tag, length = head.u8(), head.varint()
        end = at + head.at + length + CRC.size
        if end > self.size:
            raise Truncated(f"the chunk at byte {at} is longer than the file")
        whole = self._read(at, end - at)
        if zlib.crc32(whole[: -CRC.size]) != CRC.unpack(whole[-CRC.size :])[0]:
            raise Corrupt(f"the chunk at byte {at} is damaged")
        return tag, whole[head.at : -CRC.size], end

    def _clip_entry(self, record: ClipRecord, after: int, chunk_bytes: int) -> ClipEntry:
        if isinstance(record.static, int) and record.static >= len(self.statics):
            raise Corrupt(f"clip {record.name!r} refers to a skeleton or mesh that is not in the file")
        head = ByteReader(self._read(after, min(1 + MAX_VARINT_BYTES, self.size - after)))
        if head.u8() != Tag.DATA or head.varint() != record.data_bytes:
            raise Corrupt(f"the data of clip {record.name!r} does not follow its index")
        return ClipEntry(record, after + head.at, chunk_bytes)

    def _read(self, offset: int, size: int) -> bytes:
        """Through a small read-ahead buffer, so that a remote file is opened in one or two requests."""
        at, ahead = self._ahead  # one attribute, so that threads always see an offset with its own bytes
        start = offset - at
        if not 0 <= start <= start + size <= len(ahead):
            start = 0
            ahead = self._source.read_at(offset, min(max(size, READ_AHEAD), self.size - offset))
            self._ahead = (offset, ahead)
        if start + size > len(ahead):
            raise Truncated("the file ends too early")
        return ahead[start : start + size]


def segments_in(record: ClipRecord, start: int, stop: int, layers: int | None = None) -> Iterator[SegmentEntry]:
    """Index entries that overlap frames start..stop-1, of the lowest `layers` layers (all by default)."""
    for entry in record.segments:
        wanted = layers is None or entry.layer < layers
        if wanted and entry.first < stop and entry.first + entry.frames > start:
            yield entry
