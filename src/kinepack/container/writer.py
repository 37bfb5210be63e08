"""Bytes of a `.kine` file from clips that are already coded."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from kinepack.container.clip import ClipRecord, check_of, pack_clip, placed
from kinepack.container.layout import HEADER, ByteWriter, Tag, chunk, data_head
from kinepack.errors import IOFailure


@dataclass(frozen=True)
class CodedSegment:
    """A segment's place and bytes."""

    first: int
    frames: int
    layer: int
    data: bytes


@dataclass(frozen=True)
class CodedClip:
    """All that the container stores of one clip."""

    name: str
    codec: str
    codec_version: int
    settings: str
    frames: int
    frame_time: float
    static: bytes
    """Body of the STATIC chunk, or the digest of one kept elsewhere if `static_is_digest`."""
    setup: bytes
    segments: Sequence[CodedSegment]
    static_is_digest: bool = False


def write_container(clips: Sequence[CodedClip]) -> bytes:
    """The whole file: contents (several clips only), static chunks once each, then every clip with its data."""
    statics = list(dict.fromkeys(c.static for c in clips if not c.static_is_digest))
    head = b"".join(chunk(Tag.STATIC, body) for body in statics)
    bodies = [_clip_bytes(c, statics) for c in clips]
    contents = _contents(clips, bodies, len(head)) if len(clips) > 1 else b""
    return HEADER + contents + head + b"".join(bodies)


def write_static(body: bytes) -> bytes:
    """A file that holds one skeleton or mesh for other files to refer to, and no clip."""
    return HEADER + chunk(Tag.STATIC, body)


def _clip_bytes(clip: CodedClip, statics: list[bytes]) -> bytes:
    static = clip.static if clip.static_is_digest else statics.index(clip.static)
    lengths = [s.frames for s in clip.segments if s.layer == 0]
    entries = placed(lengths, [len(s.data) for s in clip.segments], by_layer=True)
    record = ClipRecord(
        clip.name,
        clip.codec,
        clip.codec_version,
        clip.settings,
        clip.frames,
        clip.frame_time,
        static,
        clip.setup,
        entries,
    )
    inside = sorted(zip(entries, clip.segments, strict=True), key=lambda pair: pair[0].offset)
    data = b"".join(s.data + check_of(s.data) for _, s in inside)
    return chunk(record.tag, pack_clip(record)) + data_head(Tag.DATA, len(data)) + data


def _contents(clips: Sequence[CodedClip], bodies: list[bytes], after: int) -> bytes:
    """CONTENTS chunk: for each clip its name and how far its chunk starts after the end of this one."""
    out = ByteWriter()
    out.varint(len(clips))
    for clip, body in zip(clips, bodies, strict=True):
        out.text(clip.name)
        out.varint(after)
        after += len(body)
    return chunk(Tag.CONTENTS, bytes(out.data))


def write_atomically(path: Path, data: bytes) -> None:
    """The file appears whole or not at all."""
    with replacing(path) as file:
        file.write(data)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to fill, that appears whole or not at all: a neighbour is written, synced and moved over the name."""
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        try:
            with os.fdopen(handle, "w+b") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).chmod(0o666 & ~_umask())
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise IOFailure(f"cannot write {path}: {error.strerror or error}") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
