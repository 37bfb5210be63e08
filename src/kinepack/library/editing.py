"""Making and changing a library file: new clips go to its end, and a reader never sees it half changed."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from kinepack.container.catalogue import (
    BODY_AT,
    SLOT_BYTES,
    SLOTS_AT,
    Catalogue,
    ListedClip,
    ListedStatic,
    empty_head,
    pack_catalogue,
    pack_slot,
)
from kinepack.container.clip import pack_clip
from kinepack.container.layout import HEADER, Tag, chunk, data_head
from kinepack.container.reader import ContainerReader
from kinepack.container.source import open_source
from kinepack.container.static import digest_of, unpack_static
from kinepack.container.writer import replacing
from kinepack.errors import IOFailure, UsageError
from kinepack.library.pieces import Piece, pieces_of
from kinepack.model import Skeleton


class LibraryWriter:
    """Appends to a library's file behind everything its catalogue names; `finish` makes it count."""

    def __init__(self, file: BinaryIO, before: Catalogue) -> None:
        self._file, self._before, self._at = file, before, before.end
        self._statics = list(before.statics)
        self._clips = {clip.name: clip for clip in before.clips}
        self._numbers = {static.digest: number for number, static in enumerate(self._statics)}
        self._seen: dict[bytes, int] = {}
        file.seek(self._at)
        file.truncate()

    def __contains__(self, name: str) -> bool:
        return name in self._clips

    def append(self, piece: Piece) -> None:
        """Writes a clip, and its skeleton or mesh if the library does not have it yet."""
        number = self._static(piece.static)
        record = dataclasses.replace(piece.record, static=number)
        body = chunk(record.tag, pack_clip(record)) + data_head(Tag.DATA, len(piece.data)) + piece.data
        listed = ListedClip(
            record.name, self._at, len(body), record.frames, record.frame_time, record.codec, record.settings, number,
            dict(piece.labels), dict(piece.stats), piece.key,
        )  # fmt: skip
        self._write(body)
        self._clips.pop(record.name, None)  # a clip that takes another's place goes last
        self._clips[record.name] = listed

    def remove(self, name: str) -> None:
        del self._clips[name]

    def finish(self) -> None:
        """Catalogue, then, when everything is on disk, the slot of the head that leads to it."""
        at = self._at
        self._write(pack_catalogue(tuple(self._statics), tuple(self._clips.values())))
        self._sync()
        slot = 1 - self._before.slot
        self._file.seek(SLOTS_AT + slot * SLOT_BYTES)
        self._file.write(pack_slot(at, self._at - at, self._before.generation + 1))
        self._sync()

    def _static(self, body: bytes) -> int:
        if body not in self._seen:
            listed = _describe(body, self._at)
            if listed.digest not in self._numbers:
                self._numbers[listed.digest] = len(self._statics)
                self._statics.append(listed)
                self._write(chunk(Tag.STATIC, body))
            self._seen[body] = self._numbers[listed.digest]
        return self._seen[body]

    def _write(self, data: bytes) -> None:
        self._file.write(data)
        self._at += len(data)

    def _sync(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())


def _describe(body: bytes, at: int) -> ListedStatic:
    static, size = unpack_static(body), len(chunk(Tag.STATIC, body))
    digest = digest_of(static).hex()
    if isinstance(static, Skeleton):
        return ListedStatic(at, size, digest, "skeleton", len(static.joints), len(static.channels))
    return ListedStatic(at, size, digest, "mesh", static[1], 3 * static[1])


def create(path: str | Path, pieces: Iterable[Piece]) -> None:
    """A new library (or one in an old one's place) with the clips in the order given; appears whole or not at all."""
    with replacing(Path(path)) as file:
        file.write(HEADER + empty_head())
        writer = LibraryWriter(file, Catalogue(end=BODY_AT))
        for piece in pieces:
            _refuse_twice(writer, piece.name)
            writer.append(piece)
        writer.finish()


def add(path: str | Path, pieces: Iterable[Piece], *, replace: bool = False) -> int:
    """Appends clips to a library, or makes it if it is missing; returns how many."""
    if not Path(path).exists():
        several = list(pieces)
        create(path, several)
        return len(several)
    count = 0
    with _changing(Path(path)) as writer:
        for piece in pieces:
            if not replace:
                _refuse_twice(writer, piece.name)
            writer.append(piece)
            count += 1
    return count


def remove(path: str | Path, names: Sequence[str]) -> None:
    """Takes clips out of the catalogue; their bytes stay until `compact`."""
    with _changing(Path(path)) as writer:
        for name in names:
            if name not in writer:
                raise UsageError(f"the library has no clip {name!r}", hint=f"kinepack library list {path}")
            writer.remove(name)


def compact(path: str | Path) -> int:
    """Rewrites a library without the bytes that nothing refers to; returns how many bytes that saved."""
    path = Path(path)
    with _locked(path):
        before = path.stat().st_size
        create(path, pieces_of(path))
        return before - path.stat().st_size


def _refuse_twice(writer: LibraryWriter, name: str) -> None:
    if name in writer:
        raise UsageError(f"the library already has a clip {name!r}", hint="--replace puts the new one in its place")


@contextmanager
def _changing(path: Path) -> Iterator[LibraryWriter]:
    """A writer behind the library's end; nothing counts unless the block ends well."""
    with _locked(path) as file:
        container = ContainerReader(open_source(path))
        container.close()
        if container.catalogue is None:
            raise UsageError(f"{path} is not a library", hint="kinepack library add NEW.kine FILE... makes one")
        writer = LibraryWriter(file, container.catalogue)
        yield writer
        writer.finish()


@contextmanager
def _locked(path: Path) -> Iterator[BinaryIO]:
    """The library open for writing, by nobody else."""
    try:
        with path.open("r+b") as file:
            _lock(file, path)
            yield file
    except OSError as error:
        raise IOFailure(f"cannot change {path}: {error.strerror or error}") from None


def _lock(file: Any, path: Path) -> None:
    try:
        import fcntl
    except ImportError:  # no such locks on this system: one writer at a time is up to the user
        return
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise IOFailure(f"another process is writing to {path}", hint="wait until it is done") from None
