"""The bytes of a `.kine` file: these tables are the specification that docs/format.md explains.

    file    = magic, version, [contents], static*, (clip, data)+
    library = magic, version, head, (static | clip data | catalogue)*          (see catalogue.py)
    chunk   = tag (1 byte), length (varint), body, CRC-32 of tag, length and body
    data    = tag, length (varint), segment bytes back to back, each checked by the CRC-32 in its index entry

Tags with bit 7 set may be skipped by a reader that does not know them; all others are critical.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction

from kinepack.errors import Corrupt, Truncated
from kinepack.limits import DEFAULT_LIMITS, Limits

MAGIC = b"\x8bKNE"
VERSION = 1
HEADER = MAGIC + bytes([VERSION])
CRC = struct.Struct("<I")
FLOAT64 = struct.Struct("<d")
DIGEST_BYTES = 16
MAX_VARINT_BYTES = 10


class Tag(IntEnum):
    """Chunk types. Bit 7 marks a chunk that an older reader may skip."""

    CONTENTS = 0x01
    """Where each clip's chunk starts; the first chunk of a file of several clips."""
    STATIC = 0x02
    """A skeleton or a mesh's connectivity, used by the clips that follow."""
    CLIP = 0x03
    """A clip's description, codec setup and index of segments; its DATA follows at once."""
    DATA = 0x04
    """The segments of the clip before it. Has no CRC of its own."""
    LIBRARY = 0x05
    """The first chunk of a library: where its catalogue is. Has no CRC of its own (see catalogue.py)."""
    CATALOGUE = 0x06
    """Everything a library holds: places, names, durations, labels, statistics."""


class StaticKind(IntEnum):
    """What a STATIC chunk holds (first byte of its body)."""

    SKELETON = 0
    """zlib of the skeleton's canonical JSON."""
    MESH = 1
    """Vertex count (varint), centimetres per unit (float64), face count (varint), zlib of the coded faces."""
    CODED_MESH = 2
    """As MESH, but the faces are a byte of policy and a range coded walk over the mesh."""


class FrameTime(IntEnum):
    """How a frame time is written: the first of these that gives back the same float64."""

    RATE = 0
    """1 / n seconds: n as varint."""
    DECIMAL = 1
    """m x 10^-e seconds: m as varint, e as one byte."""
    FLOAT64 = 2


class ByteWriter:
    """Appends the format's primitive fields."""

    def __init__(self) -> None:
        self.data = bytearray()

    def u8(self, value: int) -> None:
        self.data.append(value)

    def varint(self, value: int) -> None:
        """Unsigned LEB128: seven bits a byte, least significant first."""
        while value >= 0x80:
            self.data.append(value & 0x7F | 0x80)
            value >>= 7
        self.data.append(value)

    def block(self, value: bytes) -> None:
        """Length (varint) and bytes."""
        self.varint(len(value))
        self.data += value

    def text(self, value: str) -> None:
        self.block(value.encode())

    def frame_time(self, value: float) -> None:
        kind, numbers = _frame_time_fields(value)
        self.u8(kind)
        if kind is FrameTime.FLOAT64:
            self.data += FLOAT64.pack(value)
            return
        self.varint(numbers[0])
        if kind is FrameTime.DECIMAL:
            self.u8(numbers[1])


class ByteReader:
    """Reads the format's primitive fields, never past the end."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    @property
    def left(self) -> int:
        return len(self.data) - self.at

    def take(self, size: int) -> bytes:
        if size > self.left:
            raise Truncated(f"the file needs {size} more bytes where {self.left} are left")
        self.at += size
        return self.data[self.at - size : self.at]

    def u8(self) -> int:
        return self.take(1)[0]

    def varint(self) -> int:
        value = 0
        for shift in range(0, 7 * MAX_VARINT_BYTES, 7):
            byte = self.u8()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise Corrupt("a number in the file is longer than 64 bits")

    def block(self) -> bytes:
        return self.take(self.varint())

    def text(self) -> str:
        try:
            return self.block().decode()
        except UnicodeDecodeError:
            raise Corrupt("a text in the file is not UTF-8") from None

    def frame_time(self) -> float:
        kind = self.u8()
        if kind == FrameTime.FLOAT64:
            value: float = FLOAT64.unpack(self.take(8))[0]
        elif kind == FrameTime.RATE:
            value = 1 / max(self.varint(), 1)
        elif kind == FrameTime.DECIMAL:
            mantissa, exponent = self.varint(), self.u8()
            value = float(Fraction(mantissa, 10**exponent))
        else:
            raise Corrupt(f"unknown frame time form {kind}")
        if not 0 < value < float("inf"):
            raise Corrupt("the frame time is not a positive number")
        return value


def _frame_time_fields(value: float) -> tuple[FrameTime, tuple[int, int]]:
    rate = round(1 / value) if value > 1e-15 else 0
    if 1 <= rate < 1 << 56 and 1 / rate == value:
        return FrameTime.RATE, (rate, 0)
    digits = Fraction(repr(value))
    exponent = next((e for e in range(18) if (digits * 10**e).denominator == 1), -1)
    if exponent >= 0 and digits * 10**exponent < 1 << 42:
        return FrameTime.DECIMAL, (int(digits * 10**exponent), exponent)
    return FrameTime.FLOAT64, (0, 0)


@dataclass(frozen=True)
class SegmentEntry:
    """One row of a clip's index."""

    first: int
    frames: int
    layer: int
    size: int
    crc: int
    offset: int
    """From the start of the clip's segment bytes."""


@dataclass(frozen=True)
class ClipRecord:
    """The body of a CLIP chunk."""

    name: str
    codec: str
    codec_version: int
    settings: str
    frames: int
    frame_time: float
    static: int | bytes
    """Number of the STATIC chunk in the file, counted from 0, or the digest of one kept elsewhere."""
    setup: bytes
    segments: tuple[SegmentEntry, ...]

    @property
    def data_bytes(self) -> int:
        return sum(s.size for s in self.segments)


def chunk(tag: Tag, body: bytes) -> bytes:
    """A whole checksummed chunk."""
    head = data_head(tag, len(body))
    return head + body + CRC.pack(zlib.crc32(body, zlib.crc32(head)))


def data_head(tag: Tag, size: int) -> bytes:
    out = ByteWriter()
    out.u8(tag)
    out.varint(size)
    return bytes(out.data)


def pack_clip(record: ClipRecord) -> bytes:
    """CLIP body."""
    out = ByteWriter()
    if isinstance(record.static, bytes):
        out.varint(0)
        out.data += record.static
    else:
        out.varint(record.static + 1)
    out.text(record.name)
    out.text(record.codec)
    out.varint(record.codec_version)
    out.text(record.settings)
    out.varint(record.frames)
    out.frame_time(record.frame_time)
    out.block(record.setup)
    _pack_index(out, record)
    return bytes(out.data)


def unpack_clip(body: bytes, limits: Limits = DEFAULT_LIMITS) -> ClipRecord:
    """Inverse of `pack_clip`."""
    source = ByteReader(body)
    number = source.varint()
    static: int | bytes = number - 1 if number else source.take(DIGEST_BYTES)
    name, codec = source.text(), source.text()
    codec_version, settings = source.varint(), source.text()
    frames, frame_time = limits.charge("frames", source.varint()), source.frame_time()
    setup = source.block()
    segments = _unpack_index(source, frames, limits)
    if source.left:
        raise Corrupt("a clip's description is longer than its content")
    return ClipRecord(name, codec, codec_version, settings, frames, frame_time, static, setup, segments)


def _pack_index(out: ByteWriter, record: ClipRecord) -> None:
    """Runs of frames (count; their common length or 0; lengths if not common), layers a run, then sizes and CRCs."""
    lengths = [s.frames for s in record.segments if s.layer == 0]
    common = lengths[0] if all(n == lengths[0] for n in lengths[:-1]) and lengths[-1] <= lengths[0] else 0
    out.varint(len(lengths))
    if len(lengths) > 1:
        out.varint(common)
    if not common:
        for length in lengths:
            out.varint(length)
    out.varint(len(record.segments) // len(lengths))
    for entry in record.segments:
        out.varint(entry.size)
        out.data += CRC.pack(entry.crc)


def _unpack_index(source: ByteReader, frames: int, limits: Limits) -> tuple[SegmentEntry, ...]:
    lengths = _unpack_lengths(source, frames, limits)
    layers = source.varint()
    if not 1 <= layers * len(lengths) <= source.left // 5:  # a size and a CRC each
        raise Corrupt("the index of segments is cut short")
    entries: list[SegmentEntry] = []
    first = offset = 0
    for length in lengths:
        for layer in range(layers):
            size, crc = source.varint(), CRC.unpack(source.take(4))[0]
            entries.append(SegmentEntry(first, length, layer, size, crc, offset))
            offset += size
        first += length
    return tuple(entries)


def _unpack_lengths(source: ByteReader, frames: int, limits: Limits) -> list[int]:
    count = limits.charge("segments", source.varint())
    if not 1 <= count <= max(source.left, 1):
        raise Corrupt("the index of segments is cut short")
    if count == 1:
        lengths = [frames]
    elif common := source.varint():
        lengths = [common] * (count - 1) + [frames - common * (count - 1)]
    else:
        lengths = [source.varint() for _ in range(count)]
    if min(lengths) < 1 or sum(lengths) != frames:
        raise Corrupt(f"the index of segments does not cover the clip's {frames} frames")
    return lengths
