"""CLIP chunks: what a clip is, the codec's setup, and the index of its segments."""

from __future__ import annotations

import binascii
import struct
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from kinepack.container.integers import pack_integers, unpack_integers
from kinepack.container.layout import CRC, DIGEST_BYTES, ByteReader, ByteWriter, Tag
from kinepack.errors import Corrupt
from kinepack.limits import DEFAULT_LIMITS, Limits

CRC16 = struct.Struct("<H")
SHORT = 4096
"""Bytes of a segment from which on a CRC-32 follows it; a CRC-16 finds any three wrong bits in fewer."""
LAYER_CONTEXTS = 7
INDEX_CONTEXTS = 1 + LAYER_CONTEXTS
"""Lengths of runs, then sizes of segments by layer."""


@dataclass(frozen=True)
class SegmentEntry:
    """One row of a clip's index."""

    first: int
    frames: int
    layer: int
    size: int
    offset: int
    """From the start of the clip's segment bytes."""
    crc: int | None = None
    """CRC-32 of a segment of a PLAIN_CLIP; in a CLIP the check follows the segment."""

    @property
    def stored(self) -> int:
        """Bytes of the segment and its check."""
        return self.size if self.crc is not None else self.size + check_bytes(self.size)

    def is_whole(self, stored: bytes) -> bool:
        """Whether the stored bytes are those that were written."""
        if self.crc is not None:
            return zlib.crc32(stored) == self.crc
        return check_of(stored[: self.size]) == stored[self.size :]


def check_bytes(size: int) -> int:
    return CRC16.size if size < SHORT else CRC.size


def check_of(data: bytes) -> bytes:
    """What follows a segment in the file."""
    return CRC16.pack(binascii.crc_hqx(data, 0xFFFF)) if len(data) < SHORT else CRC.pack(zlib.crc32(data))


@dataclass(frozen=True)
class ClipRecord:
    """The body of a CLIP, LAYERED_CLIP or PLAIN_CLIP chunk."""

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
    def tag(self) -> Tag:
        """PLAIN_CLIP if the index has the checks, LAYERED_CLIP if another run's segment follows the first."""
        if self.segments[0].crc is not None:
            return Tag.PLAIN_CLIP
        refined = len(self.segments) > 1 and self.segments[1].layer > 0
        return Tag.LAYERED_CLIP if refined and self.segments[1].offset != self.segments[0].stored else Tag.CLIP

    @property
    def data_bytes(self) -> int:
        """Of the segments with their checks."""
        return self.segments[-1].offset + self.segments[-1].stored  # the last one of either order

    @property
    def segment_bytes(self) -> int:
        """Of the segments alone."""
        return sum(s.size for s in self.segments)


def pack_clip(record: ClipRecord) -> bytes:
    """Body of the chunk."""
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
    if record.tag == Tag.PLAIN_CLIP:
        _pack_plain_index(out, record.segments)
    else:
        _pack_index(out, record.segments)
    return bytes(out.data)


def unpack_clip(body: bytes, limits: Limits = DEFAULT_LIMITS, *, tag: int = Tag.CLIP) -> ClipRecord:
    """Inverse of `pack_clip`."""
    source = ByteReader(body)
    number = source.varint()
    static: int | bytes = number - 1 if number else source.take(DIGEST_BYTES)
    name, codec = source.text(), source.text()
    codec_version, settings = source.varint(), source.text()
    frames, frame_time = limits.charge("frames", source.varint()), source.frame_time()
    setup = source.block()
    if tag == Tag.PLAIN_CLIP:
        segments = _unpack_plain_index(source, frames, limits)
    else:
        segments = _unpack_index(source, frames, limits, by_layer=tag == Tag.LAYERED_CLIP)
    if source.left:
        raise Corrupt("a clip's description is longer than its content")
    return ClipRecord(name, codec, codec_version, settings, frames, frame_time, static, setup, segments)


# The index: runs, layers, the usual length and sizes, then how far each is from them.


def _pack_index(out: ByteWriter, segments: Sequence[SegmentEntry]) -> None:
    lengths = [s.frames for s in segments if s.layer == 0]
    runs, layers = len(lengths), len(segments) // len(lengths)
    out.varint(runs)
    out.varint(layers)
    usual_length = Counter(lengths).most_common(1)[0][0]
    if runs > 1:
        out.varint(usual_length)
    sizes = [s.size for s in segments]
    usual = [sorted(sizes[layer::layers])[runs // 2] for layer in range(layers)]
    for size in usual:
        out.varint(size)
    values = [length - usual_length for length in lengths[:-1]]  # the last run has the rest
    values += [size - usual[number % layers] for number, size in enumerate(sizes)]
    out.data += pack_integers(values, _index_contexts(runs, layers), INDEX_CONTEXTS)


def _unpack_index(source: ByteReader, frames: int, limits: Limits, *, by_layer: bool) -> tuple[SegmentEntry, ...]:
    runs, layers = source.varint(), source.varint()
    limits.charge("segments", runs * layers)
    if not (1 <= runs <= frames and 1 <= layers <= source.left):
        raise Corrupt("the index of segments does not fit the clip")
    usual_length = source.varint() if runs > 1 else frames
    usual = [source.varint() for _ in range(layers)]
    values = unpack_integers(source.take(source.left), _index_contexts(runs, layers), INDEX_CONTEXTS)
    lengths = [usual_length + value for value in values[: runs - 1]]
    lengths.append(frames - sum(lengths))
    sizes = [usual[number % layers] + value for number, value in enumerate(values[runs - 1 :])]
    if min(lengths) < 1:
        raise Corrupt(f"the index of segments does not cover the clip's {frames} frames")
    if min(sizes) < 0:
        raise Corrupt("the index of segments has a size below nothing")
    limits.charge("bytes", sum(sizes))
    return placed(lengths, sizes, by_layer=by_layer)


def _index_contexts(runs: int, layers: int) -> list[int]:
    return [0] * (runs - 1) + [1 + min(layer, LAYER_CONTEXTS - 1) for layer in range(layers)] * runs


def placed(lengths: Sequence[int], sizes: Sequence[int], *, by_layer: bool) -> tuple[SegmentEntry, ...]:
    """Entries, run by run, layer by layer, of segments that lie in that order, or layer by layer, run by run.

    Each has its check behind it.
    """
    runs, layers = len(lengths), len(sizes) // len(lengths)
    firsts = [0, *accumulate(lengths)]
    order = [run * layers + layer for layer in range(layers) for run in range(runs)] if by_layer else range(len(sizes))
    offsets, offset = [0] * len(sizes), 0
    for number in order:
        offsets[number] = offset
        offset += sizes[number] + check_bytes(sizes[number])
    return tuple(
        SegmentEntry(firsts[n // layers], lengths[n // layers], n % layers, size, offsets[n])
        for n, size in enumerate(sizes)
    )


# The index of a PLAIN_CLIP.


def _pack_plain_index(out: ByteWriter, segments: Sequence[SegmentEntry]) -> None:
    """Runs of frames (count; their common length or 0; lengths if not common), layers a run, then sizes and CRCs."""
    lengths = [s.frames for s in segments if s.layer == 0]
    common = lengths[0] if all(n == lengths[0] for n in lengths[:-1]) and lengths[-1] <= lengths[0] else 0
    out.varint(len(lengths))
    if len(lengths) > 1:
        out.varint(common)
    if not common:
        for length in lengths:
            out.varint(length)
    out.varint(len(segments) // len(lengths))
    for entry in segments:
        assert entry.crc is not None
        out.varint(entry.size)
        out.data += CRC.pack(entry.crc)


def _unpack_plain_index(source: ByteReader, frames: int, limits: Limits) -> tuple[SegmentEntry, ...]:
    lengths = _unpack_plain_lengths(source, frames, limits)
    layers = source.varint()
    if not 1 <= layers * len(lengths) <= source.left // 5:  # a size and a CRC each
        raise Corrupt("the index of segments is cut short")
    entries: list[SegmentEntry] = []
    first = offset = 0
    for length in lengths:
        for layer in range(layers):
            size, crc = source.varint(), CRC.unpack(source.take(4))[0]
            entries.append(SegmentEntry(first, length, layer, size, offset, crc))
            offset += size
        first += length
    return tuple(entries)


def _unpack_plain_lengths(source: ByteReader, frames: int, limits: Limits) -> list[int]:
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
