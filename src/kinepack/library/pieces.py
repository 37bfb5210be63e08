"""Clips that go from file to file as they are, coded: nothing is decoded, nothing is lost."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kinepack.codecs.base import Layout
from kinepack.container.catalogue import ListedClip
from kinepack.container.clip import ClipRecord
from kinepack.container.static import pack_mesh, pack_skeleton
from kinepack.container.writer import CodedClip, CodedSegment, write_container
from kinepack.limits import DEFAULT_LIMITS, Limits
from kinepack.model import Skeleton
from kinepack.reader import Reader

Place = str | Path | bytes


@dataclass(frozen=True)
class Piece:
    """One coded clip with its skeleton or mesh, and what a library tells of it."""

    record: ClipRecord
    static: bytes
    """Body of the STATIC chunk."""
    data: bytes
    """All segments back to back."""
    labels: Mapping[str, str] = field(default_factory=dict)
    stats: Mapping[str, float] = field(default_factory=dict)
    key: str = ""

    @property
    def name(self) -> str:
        return self.record.name

    def renamed(self, name: str) -> Piece:
        return dataclasses.replace(self, record=dataclasses.replace(self.record, name=name))

    def described(self, labels: Mapping[str, str], stats: Mapping[str, float], key: str = "") -> Piece:
        """With labels and statistics added to those it has."""
        merged = {**self.labels, **labels}, {**self.stats, **stats}
        return dataclasses.replace(self, labels=merged[0], stats=merged[1], key=key or self.key)


def pieces_of(
    place: Place | Reader, *, skeleton: Place | None = None, limits: Limits = DEFAULT_LIMITS
) -> Iterator[Piece]:
    """Every clip of a `.kine` file, one at a time."""
    if isinstance(place, Reader):
        yield from (piece(place, number) for number in range(len(place)))
        return
    with Reader(place, skeleton=skeleton, limits=limits) as file:
        yield from (piece(file, number) for number in range(len(file)))


def piece(file: Reader, number: int) -> Piece:
    """One clip of an open file, with what its catalogue tells if it has one."""
    entry = file.container.clip(number)
    static = entry.record.static
    own = file.container.statics[static].body if isinstance(static, int) else pack_layout(file.layout(static))
    listed = file.container.catalogue.clips[number] if file.container.catalogue else None
    data = file.container.data(entry)
    return Piece(entry.record, own, data, *_told(listed))


def _told(listed: ListedClip | None) -> tuple[Mapping[str, str], Mapping[str, float], str]:
    return (listed.labels, listed.stats, listed.key) if listed else ({}, {}, "")


def pack_layout(layout: Layout) -> bytes:
    """Body of the STATIC chunk of a skeleton or a mesh."""
    if isinstance(layout, Skeleton):
        return pack_skeleton(layout)
    return pack_mesh(layout.faces, layout.vertices, layout.unit_cm)


def extract(pieces: Piece | list[Piece]) -> bytes:
    """A plain `.kine` file of the pieces, byte for byte what compressing them anew would give."""
    several = [pieces] if isinstance(pieces, Piece) else pieces
    return write_container([_coded(one) for one in several])


def _coded(one: Piece) -> CodedClip:
    r = one.record
    segments = [CodedSegment(s.first, s.frames, s.layer, one.data[s.offset : s.offset + s.size]) for s in r.segments]
    return CodedClip(
        r.name, r.codec, r.codec_version, r.settings, r.frames, r.frame_time, one.static, r.setup, segments
    )
