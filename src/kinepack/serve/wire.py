"""Live packets, each one WebSocket message: these tables are the specification that docs/guides/streaming.md explains.

    packet  = magic "KL", version, kind, sequence (uint32), CRC-32 of all other bytes (uint32), body
    hello   = session, stream name, codec, codec version, settings, frame time, setup, static data
    segment = first frame, frames, capture time, own setup, parts
    end     = reason

Sequence numbers count segments. A segment decodes from the newest hello and itself.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from enum import IntEnum

from kinepack.container.layout import ByteReader, ByteWriter
from kinepack.errors import Corrupt, Truncated, UnsupportedVersion
from kinepack.limits import Limits

MAGIC = b"KL"
VERSION = 1
HEAD = struct.Struct("<2sBBI")
CRC = struct.Struct("<I")
HEAD_BYTES = HEAD.size + CRC.size
MAX_PACKET_BYTES = 1 << 20
SEQUENCES = 1 << 32
MAX_PARTS = 1024
ASK_HELLO = "hello"
"""The one text message that a viewer may send: it lost the hello and wants it again."""
LIVE_LIMITS = Limits(
    joints=5_000,
    channels=20_000,
    frames=20_000,
    vertices=200_000,
    faces=400_000,
    values=20_000_000,
    bytes=MAX_PACKET_BYTES,
)
"""What one live packet may ask of a receiver."""


class Kind(IntEnum):
    """What a packet holds. A receiver leaves kinds that it does not know."""

    HELLO = 1
    SEGMENT = 2
    END = 3


class Close(IntEnum):
    """WebSocket close codes of our own; 1000 ends a stream, 1009 refuses a message that is too long."""

    BAD_PACKET = 4400
    NO_TOKEN = 4401
    NO_STREAM = 4404
    TOO_SLOW = 4408
    NAME_TAKEN = 4409
    TOO_MANY = 4429


@dataclass(frozen=True)
class Packet:
    """A packet whose checksum is right."""

    kind: int
    sequence: int
    body: bytes


@dataclass(frozen=True)
class Hello:
    """All that a viewer needs before the first segment."""

    session: int
    """When the source began, microseconds since 1970: a source that begins anew counts its segments anew."""
    name: str
    codec: str
    codec_version: int
    settings: str
    frame_time: float
    setup: bytes
    static: bytes
    """Body of a STATIC chunk: the skeleton, or a mesh's connectivity."""


@dataclass(frozen=True)
class Part:
    """What the codec itself calls a segment: mostly one, more where it cuts at a jump or codes in layers."""

    frames: int
    layer: int
    data: bytes


@dataclass(frozen=True)
class LiveSegment:
    """A run of frames."""

    first: int
    frames: int
    captured_us: int
    """When the first frame was captured: microseconds since 1970 by the source's clock."""
    setup: bytes | None
    """The codec's setup where it differs from the hello's."""
    parts: tuple[Part, ...]


def pack(kind: Kind, sequence: int, body: bytes) -> bytes:
    head = HEAD.pack(MAGIC, VERSION, kind, sequence % SEQUENCES)
    return head + CRC.pack(zlib.crc32(body, zlib.crc32(head))) + body


def unpack(data: bytes) -> Packet:
    """Inverse of `pack`; raises BitstreamError on anything else."""
    if len(data) < HEAD_BYTES:
        raise Truncated("a live packet is shorter than its head")
    magic, version, kind, sequence = HEAD.unpack_from(data)
    if magic != MAGIC:
        raise Corrupt("this is not a live packet")
    if version != VERSION:
        raise UnsupportedVersion(f"the live packet is of version {version}, this reader knows {VERSION}")
    body = data[HEAD_BYTES:]
    if CRC.unpack_from(data, HEAD.size)[0] != zlib.crc32(body, zlib.crc32(data[: HEAD.size])):
        raise Corrupt("a live packet is damaged")
    return Packet(kind, sequence, body)


def pack_hello(hello: Hello) -> bytes:
    """HELLO body."""
    out = ByteWriter()
    out.varint(hello.session)
    out.text(hello.name)
    out.text(hello.codec)
    out.varint(hello.codec_version)
    out.text(hello.settings)
    out.frame_time(hello.frame_time)
    out.block(hello.setup)
    out.block(hello.static)
    return bytes(out.data)


def unpack_hello(body: bytes) -> Hello:
    """Inverse of `pack_hello`."""
    source = ByteReader(body)
    session, name, codec = source.varint(), source.text(), source.text()
    version, settings, frame_time = source.varint(), source.text(), source.frame_time()
    hello = Hello(session, name, codec, version, settings, frame_time, source.block(), source.block())
    _check_end(source)
    return hello


def pack_segment(segment: LiveSegment) -> bytes:
    """SEGMENT body."""
    out = ByteWriter()
    out.varint(segment.first)
    out.varint(segment.frames)
    out.varint(segment.captured_us)
    out.u8(segment.setup is not None)
    if segment.setup is not None:
        out.block(segment.setup)
    out.varint(len(segment.parts))
    for part in segment.parts:
        out.varint(part.frames)
        out.varint(part.layer)
        out.block(part.data)
    return bytes(out.data)


def unpack_segment(body: bytes) -> LiveSegment:
    """Inverse of `pack_segment`."""
    source = ByteReader(body)
    first, frames, captured_us = source.varint(), source.varint(), source.varint()
    LIVE_LIMITS.charge("frames", frames)
    setup = source.block() if source.u8() else None
    count = source.varint()
    if not 1 <= count <= MAX_PARTS:
        raise Corrupt("a live segment has no parts")
    parts = tuple(Part(source.varint(), source.varint(), source.block()) for _ in range(count))
    _check_end(source)
    if parts[0].layer or any(p.frames < 1 for p in parts) or sum(p.frames for p in parts if not p.layer) != frames:
        raise Corrupt("the parts of a live segment are not its frames")
    return LiveSegment(first, frames, captured_us, setup, parts)


def pack_end(reason: str) -> bytes:
    """END body."""
    out = ByteWriter()
    out.text(reason)
    return bytes(out.data)


def sequence_gap(expected: int, got: int) -> int:
    """Segments lost before `got`; negative for one that came before."""
    ahead = (got - expected) % SEQUENCES
    return ahead if ahead < SEQUENCES // 2 else ahead - SEQUENCES


def _check_end(source: ByteReader) -> None:
    if source.left:
        raise Corrupt("a live packet is longer than its content")
