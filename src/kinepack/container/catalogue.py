"""The head and the catalogue of a library: many clips in one file that grows at its end.

    library   = magic, version, head, (static | clip data | catalogue)*
    head      = tag, length, two slots; each slot says where a catalogue lies, and has a CRC-32 of its own
    catalogue = chunk: zlib of a JSON object {"statics": […], "clips": […]}

What is written is never changed, but for the head: a writer appends, then fills the slot that is not in use. Whenever
it dies, the slot in use still leads to a whole catalogue.
"""

from __future__ import annotations

import dataclasses
import json
import struct
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kinepack.container.layout import CRC, HEADER, ByteReader, Tag, chunk, data_head
from kinepack.container.static import inflate
from kinepack.errors import Corrupt, Truncated
from kinepack.limits import DEFAULT_LIMITS, Limits

SLOT = struct.Struct("<QQI")
"""Offset and size of a catalogue chunk, and its generation: the valid slot of the highest generation counts."""
SLOT_BYTES = SLOT.size + CRC.size
HEAD_AT = len(HEADER)
SLOTS_AT = HEAD_AT + len(data_head(Tag.LIBRARY, 2 * SLOT_BYTES))
BODY_AT = SLOTS_AT + 2 * SLOT_BYTES
"""Where the first chunk after the head starts."""

ReadAt = Callable[[int, int], bytes]


@dataclass(frozen=True)
class ListedStatic:
    """A skeleton or mesh of the library."""

    at: int
    bytes: int
    digest: str
    """Hexadecimal."""
    kind: str
    """"skeleton" or "mesh"."""
    joints: int
    """Joints of a skeleton, vertices of a mesh."""
    width: int
    """Numbers per frame."""


@dataclass(frozen=True)
class ListedClip:
    """What the catalogue tells of a clip, so that nobody need read the clip to find it."""

    name: str
    at: int
    bytes: int
    """Of the clip's chunk and its data."""
    frames: int
    frame_time: float
    codec: str
    settings: str
    static: int
    """Number in the list of statics, from 0."""
    labels: Mapping[str, str] = field(default_factory=dict)
    stats: Mapping[str, float] = field(default_factory=dict)
    key: str = ""
    """Identity of the source and the settings it was made with."""

    @property
    def duration(self) -> float:
        """Seconds."""
        return self.frames * self.frame_time


@dataclass(frozen=True)
class Catalogue:
    """All that a library holds; `slot` is the place in the head that led here."""

    statics: tuple[ListedStatic, ...] = ()
    clips: tuple[ListedClip, ...] = ()
    generation: int = 0
    slot: int = 1
    end: int = BODY_AT
    """Offset behind the last byte in use: a writer goes on here."""


def empty_head() -> bytes:
    """The head of a library before its first catalogue is written."""
    return data_head(Tag.LIBRARY, 2 * SLOT_BYTES) + bytes(2 * SLOT_BYTES)


def pack_slot(at: int, size: int, generation: int) -> bytes:
    body = SLOT.pack(at, size, generation)
    return body + CRC.pack(zlib.crc32(body))


def pack_catalogue(statics: tuple[ListedStatic, ...], clips: tuple[ListedClip, ...]) -> bytes:
    """CATALOGUE chunk; fields that hold their defaults are left out."""
    plain = {"statics": [dataclasses.asdict(s) for s in statics], "clips": [_plain(c) for c in clips]}
    text = json.dumps(plain, separators=(",", ":"), sort_keys=True, allow_nan=False, ensure_ascii=False)
    return chunk(Tag.CATALOGUE, zlib.compress(text.encode(), 9))


def _plain(clip: ListedClip) -> dict[str, Any]:
    pairs = dataclasses.asdict(clip)
    return {name: value for name, value in pairs.items() if value or name not in ("labels", "stats", "key")}


def read_catalogue(read_at: ReadAt, size: int, limits: Limits = DEFAULT_LIMITS) -> Catalogue:
    """The catalogue that the head leads to; tries the slot in use first, then the one before it."""
    if size < BODY_AT:
        raise Truncated("the library ends inside its head")
    head = read_at(HEAD_AT, BODY_AT - HEAD_AT)
    if head[: SLOTS_AT - HEAD_AT] != data_head(Tag.LIBRARY, 2 * SLOT_BYTES):
        raise Corrupt("the library's head is damaged")
    slots = sorted(_slots(head[SLOTS_AT - HEAD_AT :]), reverse=True)
    if not slots:
        raise Corrupt("both places in the library's head are damaged")
    fault: Exception | None = None
    for generation, number, at, length in slots:
        try:
            body = _catalogue_body(read_at, size, at, length)
            # Behind a damaged catalogue may lie clips that can still be saved: nothing is written over them.
            end = size if fault else at + length
            return _unpack(body, size, limits, (generation, number, end))
        except (Corrupt, Truncated) as error:
            fault = fault or error
    assert fault is not None
    raise fault


def _slots(data: bytes) -> list[tuple[int, int, int, int]]:
    """(generation, number, offset, size) of the slots whose checksum is right."""
    found = []
    for number in range(2):
        body = data[number * SLOT_BYTES : (number + 1) * SLOT_BYTES]
        at, length, generation = SLOT.unpack(body[: SLOT.size])
        if zlib.crc32(body[: SLOT.size]) == CRC.unpack(body[SLOT.size :])[0] and generation:
            found.append((generation, number, at, length))
    return found


def _catalogue_body(read_at: ReadAt, size: int, at: int, length: int) -> bytes:
    if at < BODY_AT or at + length > size:
        raise Truncated("the library ends before its catalogue")
    source = ByteReader(read_at(at, length))
    tag, size_of_body = source.u8(), source.varint()
    if tag != Tag.CATALOGUE or size_of_body != source.left - CRC.size:
        raise Corrupt("there is no catalogue where the library's head says")
    body, crc = source.take(size_of_body), CRC.unpack(source.take(CRC.size))[0]
    if zlib.crc32(body, zlib.crc32(data_head(Tag.CATALOGUE, size_of_body))) != crc:
        raise Corrupt("the library's catalogue is damaged")
    return body


def _unpack(body: bytes, size: int, limits: Limits, place: tuple[int, int, int]) -> Catalogue:
    text = inflate(body, min(limits.bytes, 1000 * limits.clips + 65536))
    try:
        plain = json.loads(text)
        statics = tuple(_typed(ListedStatic, entry) for entry in plain["statics"])
        clips = tuple(_typed(ListedClip, entry) for entry in plain["clips"])
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        raise Corrupt("the library's catalogue is not what the format says") from None
    limits.charge("clips", len(clips))
    for entry in (*statics, *clips):
        if not BODY_AT <= entry.at <= entry.at + entry.bytes <= size or entry.bytes < 1:
            raise Corrupt("the library's catalogue names a place outside the file")
    if any(static.joints < 0 or static.width < 1 for static in statics):
        raise Corrupt("the library's catalogue makes no sense of a skeleton or mesh")
    for clip in clips:
        limits.charge("frames", clip.frames)
        if not (0 <= clip.static < len(statics) and clip.frames > 0 and 0 < clip.frame_time < float("inf")):
            raise Corrupt(f"the library's catalogue makes no sense of clip {clip.name!r}")
    if len({clip.name for clip in clips}) != len(clips):
        raise Corrupt("the library's catalogue has a name twice")
    generation, number, after = place
    end = max([after, *(entry.at + entry.bytes for entry in (*statics, *clips))])
    return Catalogue(statics, clips, generation, number, end)


_TYPES: dict[str, Any] = {"int": (int,), "str": (str,), "float": (float, int)}


def _typed(cls: Any, entry: dict[str, Any]) -> Any:
    """A dataclass from JSON; unknown keys are left for newer readers, wrong types raise TypeError."""
    known = {f.name: str(f.type) for f in dataclasses.fields(cls)}
    return cls(**{name: _value(value, known[name]) for name, value in entry.items() if name in known})


def _value(value: Any, kind: str) -> Any:
    """The value if it is of the kind, which is a field's annotation."""
    if kind.startswith("Mapping"):
        inner = kind.removeprefix("Mapping[str, ").removesuffix("]")
        return {str(key): _value(item, inner) for key, item in value.items()}
    if isinstance(value, bool) or not isinstance(value, _TYPES[kind]):
        raise TypeError(kind)
    return float(value) if kind == "float" else value
