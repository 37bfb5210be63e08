"""Who pushes what to whom. One packet's bytes are shared by all viewers; each viewer has its own bounded queue."""

from __future__ import annotations

import asyncio
import re
import time
from collections import deque
from dataclasses import dataclass

from kinepack.container.static import unpack_static
from kinepack.errors import Corrupt, KinepackError
from kinepack.serve.settings import ServeSettings
from kinepack.serve.wire import (
    LIVE_LIMITS,
    Close,
    Hello,
    Kind,
    pack,
    pack_end,
    sequence_gap,
    unpack,
    unpack_hello,
    unpack_segment,
)

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
HELLO_EVERY_S = 0.5
"""A viewer that asks for the hello more often is not heard."""


class Refused(Exception):
    """A peer is turned away with a close code and a reason."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


@dataclass(frozen=True)
class Mail:
    """What goes to one viewer next: a packet, or the end."""

    packet: bytes = b""
    close: Refused | None = None


class Viewer:
    """The packets that wait for one viewer. A full queue loses its oldest: what is live is what is newest."""

    def __init__(self, settings: ServeSettings) -> None:
        self._settings = settings
        self._queue: deque[bytes] = deque()
        self._queued_bytes = 0
        self._hello: bytes | None = None
        self._wake = asyncio.Event()
        self._moved_at = time.monotonic()
        self._hello_at = 0.0
        self.dropped = 0
        self._dropped_in_a_row = 0
        self.cut = asyncio.Event()
        self.verdict: Refused | None = None

    def greet(self, packet: bytes) -> None:
        """A new hello goes first; what waits for the old one is void."""
        self._hello = packet
        self._queue.clear()
        self._queued_bytes = 0
        self._wake.set()

    def greet_again(self, packet: bytes) -> None:
        now = time.monotonic()
        if now - self._hello_at >= HELLO_EVERY_S:
            self._hello, self._hello_at = packet, now
            self._wake.set()

    def offer(self, packet: bytes) -> None:
        """Queues a packet, at the cost of older ones; a viewer that is hopelessly late is cut off."""
        if not self._queue:
            self._moved_at = time.monotonic()
        self._queue.append(packet)
        self._queued_bytes += len(packet)
        while len(self._queue) > self._settings.queue_packets or self._queued_bytes > self._settings.queue_bytes:
            self._queued_bytes -= len(self._queue.popleft())
            self.dropped += 1
            self._dropped_in_a_row += 1
        stalled = time.monotonic() - self._moved_at > self._settings.stall_s
        if stalled or self._dropped_in_a_row > self._settings.max_dropped:
            self.finish(Refused(Close.TOO_SLOW, "too slow for this stream"), at_once=True)
        self._wake.set()

    def finish(self, verdict: Refused, *, at_once: bool = False) -> None:
        """The last thing to say; `at_once` gives up on what still waits."""
        self.verdict = self.verdict or verdict
        if at_once:
            self.cut.set()
        self._wake.set()

    async def next(self) -> Mail:
        """Waits for what is to be sent."""
        while True:
            if self._hello is not None:
                packet, self._hello = self._hello, None
                return Mail(packet)
            if self._queue:
                packet = self._queue.popleft()
                self._queued_bytes -= len(packet)
                return Mail(packet)
            if self.verdict:
                return Mail(close=self.verdict)
            self._wake.clear()
            await self._wake.wait()

    def sent(self) -> None:
        """The last packet left the house."""
        self._moved_at = time.monotonic()
        if not self._queue:
            self._dropped_in_a_row = 0


class Channel:
    """One live stream: its newest hello, its newest segment and its viewers."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.viewers: set[Viewer] = set()
        self.about: Hello | None = None
        self.hello = b""
        self.segments = self.bytes = 0
        self.has_source = False
        self.left_at = 0.0
        self._latest: bytes | None = None
        self._next_sequence: int | None = None

    def take(self, data: bytes) -> bool:
        """One packet of the source, checked and passed on; False when it was the last. Refused if it is no good."""
        try:
            packet = unpack(data)
            if packet.kind == Kind.HELLO:
                self._take_hello(data, packet.body)
            elif packet.kind == Kind.SEGMENT:
                unpack_segment(packet.body)
                self._take_segment(data, packet.sequence)
            elif packet.kind == Kind.END:
                return False
            else:
                raise Corrupt(f"packets of kind {packet.kind} are not for a server")
        except KinepackError as error:
            raise Refused(Close.BAD_PACKET, error.message) from None
        return True

    def join(self, viewer: Viewer) -> None:
        """The newest segment follows the hello at once, so that there is something to see."""
        viewer.greet(self.hello)
        if self._latest is not None:
            viewer.offer(self._latest)
        self.viewers.add(viewer)

    def _take_hello(self, data: bytes, body: bytes) -> None:
        about = unpack_hello(body)
        unpack_static(about.static, LIVE_LIMITS)
        self.about, self.hello, self._latest, self._next_sequence = about, data, None, None
        for viewer in self.viewers:
            viewer.greet(data)

    def _take_segment(self, data: bytes, sequence: int) -> None:
        if not self.hello:
            raise Corrupt("the first packet has to be a hello")
        if self._next_sequence is not None and sequence_gap(self._next_sequence, sequence) < 0:
            raise Corrupt("sequence numbers only go up")
        self._next_sequence = sequence + 1
        self._latest = data
        self.segments += 1
        self.bytes += len(data)
        for viewer in self.viewers:
            viewer.offer(data)

    def end(self, reason: str) -> None:
        farewell = pack(Kind.END, self._next_sequence or 0, pack_end(reason))
        for viewer in self.viewers:
            viewer.offer(farewell)
            viewer.finish(Refused(1000, reason))


class Hub:
    """All live streams of a server."""

    def __init__(self, settings: ServeSettings) -> None:
        self.settings = settings
        self.channels: dict[str, Channel] = {}
        self.viewer_count = 0

    def open(self, name: str) -> Channel:
        """The channel of a source that came (back)."""
        self.sweep()
        if not NAME.fullmatch(name):
            raise Refused(Close.BAD_PACKET, "a stream's name has letters, digits, dots, dashes and underscores")
        channel = self.channels.get(name)
        if channel is None:
            if len(self.channels) >= self.settings.max_streams:
                raise Refused(Close.TOO_MANY, "there are too many streams")
            channel = self.channels[name] = Channel(name)
        elif channel.has_source:
            raise Refused(Close.NAME_TAKEN, f"someone already sends {name}")
        channel.has_source = True
        return channel

    def leave(self, channel: Channel, *, ended: bool) -> None:
        """A source is gone, for good or for as long as its viewers are patient."""
        channel.has_source, channel.left_at = False, time.monotonic()
        if ended or not channel.hello:
            self._close(channel, "the stream has ended")

    def join(self, name: str) -> tuple[Channel, Viewer]:
        self.sweep()
        channel = self.channels.get(name)
        if channel is None or not channel.hello:
            raise Refused(Close.NO_STREAM, f"there is no stream {name[:64]}")
        if self.viewer_count >= self.settings.max_viewers:
            raise Refused(Close.TOO_MANY, "there are too many viewers")
        viewer = Viewer(self.settings)
        channel.join(viewer)
        self.viewer_count += 1
        return channel, viewer

    def part(self, channel: Channel, viewer: Viewer) -> None:
        channel.viewers.discard(viewer)
        self.viewer_count -= 1

    def sweep(self) -> None:
        """Ends the streams whose sources stayed away."""
        late = time.monotonic() - self.settings.grace_s
        for channel in [c for c in self.channels.values() if not c.has_source and c.left_at < late]:
            self._close(channel, "the source is gone")

    def _close(self, channel: Channel, reason: str) -> None:
        if self.channels.get(channel.name) is channel:
            del self.channels[channel.name]
        channel.end(reason)
