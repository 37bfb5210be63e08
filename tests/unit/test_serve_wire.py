"""Live packets and HTTP ranges as functions: what is packed comes back, what is damaged never gets through."""

from __future__ import annotations

import io
import random
import time

import numpy as np
import pytest

from kinepack.codecs.base import codec_from_spec
from kinepack.errors import BitstreamError, FormatError, KinepackError
from kinepack.samples import human
from kinepack.serve.decoder import StreamDecoder
from kinepack.serve.paths import OutsidePath, split_path
from kinepack.serve.push import Batch, FrameQueue, SegmentEncoder, lines_of, segment_frames
from kinepack.serve.ranges import Unsatisfiable, range_of
from kinepack.serve.wire import (
    Hello,
    Kind,
    LiveSegment,
    Part,
    pack,
    pack_hello,
    pack_segment,
    sequence_gap,
    unpack,
    unpack_hello,
    unpack_segment,
)

CLIP = human().slice(0, 24)


def stream() -> tuple[bytes, bytes]:
    encoder = SegmentEncoder(CLIP, codec_from_spec("delta-lzma"), name="a", frame_time=CLIP.frame_time)
    segment = encoder.segment(Batch(0, 1, CLIP.values[:12]))
    return encoder.hello(), segment


def test_round_trips() -> None:
    hello = Hello(7, "stage ü", "kine", 3, "error=1", 1 / 120, b"setup", b"\0static")
    assert unpack_hello(pack_hello(hello)) == hello
    for setup in (None, b"", b"own"):
        parts = (Part(5, 0, b"a"), Part(5, 1, b""), Part(7, 0, b"ccc"))
        segment = LiveSegment(1 << 40, 12, 1_700_000_000_000_000, setup, parts)
        assert unpack_segment(pack_segment(segment)) == segment
    packet = unpack(pack(Kind.SEGMENT, (1 << 32) + 5, b"body"))
    assert (packet.kind, packet.sequence, packet.body) == (Kind.SEGMENT, 5, b"body")


def test_sequence_numbers_wrap() -> None:
    last = (1 << 32) - 1
    assert sequence_gap(0, 0) == sequence_gap(last + 1, 0) == 0
    assert (sequence_gap(last, 2), sequence_gap(2, last), sequence_gap(5, 3)) == (3, -3, -2)


@pytest.mark.parametrize("which", [0, 1])
def test_damage_never_gets_through(which: int) -> None:
    data = stream()[which]
    for cut in range(len(data)):
        with pytest.raises(BitstreamError):
            unpack(data[:cut])
    for at in range(len(data)):
        with pytest.raises(BitstreamError):
            unpack(data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :])


def test_forged_packets_only_count_as_bad() -> None:
    """With a right checksum over wrong content, the decoder still only raises what it catches."""
    chance, (hello, segment) = random.Random(4), stream()
    body = unpack(segment).body
    for number in range(400):
        decoder = StreamDecoder()
        decoder.feed(hello)
        forged = bytearray(body)
        for _ in range(chance.randint(1, 4)):
            forged[chance.randrange(len(forged))] = chance.randrange(256)
        cut = forged[: chance.randrange(1, len(forged))] if number % 3 == 0 else forged
        before = decoder.bad
        window = decoder.feed(pack(Kind.SEGMENT, 0, bytes(cut)))
        assert window is not None or decoder.bad == before + 1
    for _ in range(200):
        decoder = StreamDecoder()
        greeting = bytearray(unpack(hello).body)
        greeting[chance.randrange(len(greeting))] ^= 1 << chance.randrange(8)
        decoder.feed(pack(Kind.HELLO, 0, bytes(greeting)))
        decoder.feed(segment)


def test_unknown_kinds_echoes_and_new_sessions() -> None:
    hello, segment = stream()
    decoder = StreamDecoder()
    assert decoder.feed(segment) is None and decoder.needs_hello
    decoder.feed(pack(Kind.HELLO, 0, unpack(hello).body))
    assert decoder.feed(segment) is not None
    assert decoder.feed(segment) is None and decoder.bad == 0  # an echo
    assert decoder.feed(pack(99, 0, b"later")) is None and decoder.bad == 0  # type: ignore[arg-type]
    again, first = stream()
    decoder.feed(again)  # another session counts from 0 again
    assert decoder.feed(first) is not None and decoder.lost == 0


def test_oversized_claims_are_refused() -> None:
    claims = pack_segment(LiveSegment(0, 10**9, 0, None, (Part(10**9, 0, b"x"),)))
    with pytest.raises(KinepackError):
        unpack_segment(claims)


def test_frames_wait_no_longer_than_asked() -> None:
    frames = FrameQueue(4)
    frames.put(np.zeros(3))
    begin = time.monotonic()
    batch = frames.take(12, 0.05)
    assert batch is not None and len(batch.rows) == 1 and time.monotonic() - begin < 1.0
    for number in range(10):
        frames.put(np.full(3, number))
    frames.end()
    batch = frames.take(12, 10.0)  # the newest four
    assert batch is not None and (batch.first, batch.rows[:, 0].tolist()) == (7, [6, 7, 8, 9])
    assert frames.dropped == 6 and frames.take(12, 10.0) is None
    assert [segment_frames(s, 1 / 120) for s in (0.1, 0.001, 1.0)] == [12, 1, 120]


def test_lines() -> None:
    rows = list(lines_of(io.StringIO("# head\n1 2 3\n\n4,5,6\n"), 3))
    assert [row.tolist() for row in rows] == [[1, 2, 3], [4, 5, 6]]
    for bad in ("1 2\n", "1 2 x\n", "1 2 nan\n", "1 2 3 4\n"):
        with pytest.raises(FormatError, match="stdin:1"):
            list(lines_of(io.StringIO(bad), 3))


@pytest.mark.parametrize("path", ["", "/", "a//b", "..", "a/../b", ".a", "a\\b", "a\0", "c:", "a\n", "./a"])
def test_paths_that_lead_elsewhere(path: str) -> None:
    with pytest.raises(OutsidePath):
        split_path(path)


def test_ranges() -> None:
    def ask(text: str, size: int = 10) -> tuple[int, int] | None:
        return range_of({"range": text}, size, '"e"', 0.0)

    assert ask("bytes=2-4") == (2, 5) and ask("bytes=8-99") == (8, 10) and ask("bytes=-20") == (0, 10)
    assert ask("") is None and ask("bytes=3-1") is None and ask("bytes=0-0, 2-2") is None
    for beyond, size in (("bytes=10-", 10), ("bytes=-0", 10), ("bytes=0-", 0), ("bytes=-5", 0)):
        with pytest.raises(Unsatisfiable):
            ask(beyond, size)
