"""The bytes of a `.kine` file: these tables are the specification that docs/format.md explains.

    file    = magic, version, [contents], static*, (clip, data)+
    library = magic, version, head, (static | clip data | catalogue)*          (see catalogue.py)
    chunk   = tag (1 byte), length (varint), body, CRC-32 of tag, length and body
    data    = tag, length (varint), the segments back to back, each followed by its check

Tags with bit 7 set may be skipped by a reader that does not know them; all others are critical.
"""

from __future__ import annotations

import struct
import zlib
from enum import IntEnum
from fractions import Fraction

from kinepack.errors import Corrupt, Truncated

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
    PLAIN_CLIP = 0x03
    """As CLIP, with an index of bytes that has the CRC-32 of each segment; no longer written."""
    DATA = 0x04
    """The segments of the clip before it. Has no CRC of its own."""
    LIBRARY = 0x05
    """The first chunk of a library: where its catalogue is. Has no CRC of its own (see catalogue.py)."""
    CATALOGUE = 0x06
    """Everything a library holds: places, names, durations, labels, statistics."""
    CLIP = 0x07
    """A clip's description, codec setup and range coded index of segments; its DATA follows at once."""
    LAYERED_CLIP = 0x08
    """As CLIP, but the segments lie layer by layer: whoever reads on gets the whole clip coarse, then finer."""


class StaticKind(IntEnum):
    """What a STATIC chunk holds (first byte of its body)."""

    SKELETON = 0
    """zlib of the skeleton's canonical JSON."""
    MESH = 1
    """Vertex count (varint), centimetres per unit (float64), face count (varint), zlib of the coded faces."""
    CODED_MESH = 2
    """As MESH, but the faces are a byte of policy and a range coded walk over the mesh."""
    CODED_SKELETON = 3
    """Words deflated against a dictionary of common rigs, numbers range coded (skeletons.py)."""


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


def chunk(tag: Tag, body: bytes) -> bytes:
    """A whole checksummed chunk."""
    head = data_head(tag, len(body))
    return head + body + CRC.pack(zlib.crc32(body, zlib.crc32(head)))


def data_head(tag: Tag, size: int) -> bytes:
    out = ByteWriter()
    out.u8(tag)
    out.varint(size)
    return bytes(out.data)
