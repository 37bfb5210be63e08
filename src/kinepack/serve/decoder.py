"""A viewer without its connection: packets in, decoded windows out. Whatever comes in, it never raises."""

from __future__ import annotations

import time
from dataclasses import dataclass

from kinepack.codecs.base import CODECS, Codec, Layout, Segment, Stream, Topology
from kinepack.container.static import unpack_static
from kinepack.errors import KinepackError, UnsupportedVersion
from kinepack.limits import Limits
from kinepack.model import Model, Skeleton
from kinepack.serve.wire import (
    LIVE_LIMITS,
    Hello,
    Kind,
    LiveSegment,
    Packet,
    sequence_gap,
    unpack,
    unpack_hello,
    unpack_segment,
)


@dataclass(frozen=True)
class LiveWindow:
    """Some frames of a live stream."""

    first: int
    """Number of the first frame since the stream began."""
    model: Model
    sequence: int
    lost: int
    """Segments missing just before this one."""
    captured_s: float
    """Time of the first frame by the source's clock, seconds since 1970."""

    @property
    def age_s(self) -> float:
        """Seconds since the first frame was captured; only sensible where both clocks agree."""
        return time.time() - self.captured_s


class StreamDecoder:
    """Follows one stream. Damaged packets are counted and left; the next whole one decodes by itself."""

    def __init__(self, limits: Limits = LIVE_LIMITS) -> None:
        self.limits = limits
        self.hello: Hello | None = None
        self.lost = 0
        """Segments that never came."""
        self.bad = 0
        """Packets that came damaged or did not decode."""
        self.ended = False
        self.problem = ""
        """What was wrong with the last bad packet."""
        self._layout: Layout | None = None
        self._codec: type[Codec] | None = None
        self._expected: int | None = None

    @property
    def needs_hello(self) -> bool:
        return self._layout is None

    def feed(self, data: bytes) -> LiveWindow | None:
        """Takes one message; a window if it was a segment that decodes."""
        try:
            return self._take(unpack(data))
        except KinepackError as error:
            self.bad += 1
            self.problem = error.message
            return None

    def _take(self, packet: Packet) -> LiveWindow | None:
        if packet.kind == Kind.HELLO:
            self._greet(packet.body)
        elif packet.kind == Kind.SEGMENT:
            return self._segment(packet)
        elif packet.kind == Kind.END:
            self.ended = True
        return None

    def _greet(self, body: bytes) -> None:
        hello = unpack_hello(body)
        if hello.codec not in CODECS or hello.codec_version > CODECS[hello.codec].version:
            raise UnsupportedVersion(f"the stream needs version {hello.codec_version} of the codec {hello.codec!r}")
        static = unpack_static(hello.static, self.limits)
        self._layout = static if isinstance(static, Skeleton) else Topology(*static)
        if self.hello is None or self.hello.session != hello.session:
            self._expected = None
        self._codec, self.hello = CODECS[hello.codec], hello

    def _segment(self, packet: Packet) -> LiveWindow | None:
        gap = sequence_gap(self._expected, packet.sequence) if self._expected is not None else 0
        if gap < 0:  # an echo of what was seen
            return None
        self._expected = packet.sequence + 1
        self.lost += gap
        if self.needs_hello:
            return None
        segment = unpack_segment(packet.body)
        return LiveWindow(segment.first, self._decode(segment), packet.sequence, gap, segment.captured_us / 1e6)

    def _decode(self, segment: LiveSegment) -> Model:
        assert self.hello and self._layout is not None and self._codec
        setup = self.hello.setup if segment.setup is None else segment.setup
        parts: list[Segment] = []
        at = 0
        for part in segment.parts:
            at = at if part.layer or not parts else at + parts[-1].frames
            parts.append(Segment(at, part.frames, part.data, part.layer))
        stream = Stream(self._layout, segment.frames, self.hello.frame_time, setup, parts, self.hello.name)
        return self._codec.decode(stream, limits=self.limits)
