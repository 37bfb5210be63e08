"""Every golden cut at every byte and with every bit flipped: only our errors, in bounded time and memory."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import kinepack
from kinepack.codecs.base import CODECS, Segment, Stream
from kinepack.container.clip import pack_clip, unpack_clip
from kinepack.container.static import unpack_static
from kinepack.errors import KinepackError
from kinepack.limits import Limits

STREAMS = Path(__file__).parents[1] / "golden" / "streams"
FILES = sorted(STREAMS.glob("*/*.kine"))
CONTAINERS = [*sorted((STREAMS.parent / "skeletons").glob("*.kine")), STREAMS.parent / "containers" / "layered.kine"]
LIMITS = Limits(values=1_000_000, frames=100_000, vertices=100_000, faces=100_000, bytes=1 << 24)
each_golden = pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}-{p.stem}")


def flips(data: bytes) -> Iterator[bytes]:
    for bit in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        yield bytes(flipped)


def cuts(data: bytes) -> Iterator[bytes]:
    for size in range(len(data)):
        yield data[:size]


@pytest.mark.parametrize("path", [*FILES, *CONTAINERS], ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_files(path: Path) -> None:
    data = path.read_bytes()
    for bad in (*cuts(data), *flips(data)):
        with pytest.raises(KinepackError):
            kinepack.decompress(bad, limits=LIMITS)


@each_golden
def test_codec_payloads_behind_the_checksums(path: Path) -> None:
    """As if an attacker had made the checksums right: any answer or one of our errors."""
    with kinepack.open(path) as file:
        clip = file[0]
        segments = [
            Segment(e.first, e.frames, file.container.segment(file.container.clip(0), e), e.layer)
            for e in clip.record.segments
        ]
        record = clip.record
        stream = Stream(clip.layout, record.frames, record.frame_time, record.setup, segments)
    for bad in damaged_streams(stream):
        with contextlib.suppress(KinepackError):
            CODECS[record.codec].decode(bad, None, LIMITS)


@pytest.mark.parametrize("path", CONTAINERS, ids=lambda p: p.stem)
def test_chunks_behind_the_checksums(path: Path) -> None:
    """The same for skeletons and for descriptions of clips with their indexes."""
    with kinepack.open(path) as file:
        static, record, tag = file.container.statics[0].body, pack_clip(file[0].record), file[0].record.tag
    for bad in (*cuts(static), *flips(static)):
        with contextlib.suppress(KinepackError):
            unpack_static(bad, LIMITS)
    for bad in (*cuts(record), *flips(record)):
        with contextlib.suppress(KinepackError):
            unpack_clip(bad, LIMITS, tag=tag)


def damaged_streams(stream: Stream) -> Iterator[Stream]:
    noise = np.random.default_rng(1)
    for setup in (*cuts(stream.setup), *flips(stream.setup)):
        yield dataclasses.replace(stream, setup=setup)
    for number, segment in enumerate(stream.segments):
        size = len(segment.data)
        random = [noise.bytes(size) for _ in range(50)]
        for data in (*cuts(segment.data), *flips(segment.data), *random):
            changed = list(stream.segments)
            changed[number] = dataclasses.replace(segment, data=data)
            yield dataclasses.replace(stream, segments=changed)
