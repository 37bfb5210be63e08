"""The source of a live stream: frames as they are captured, coded in short segments that each decode alone."""

from __future__ import annotations

import dataclasses
import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from kinepack.codecs.base import CODECS, Codec, Layout, Stream, layout_of, matrix_of, width_of
from kinepack.container.static import pack_mesh, pack_skeleton
from kinepack.errors import ConfigError, FormatError, IOFailure
from kinepack.model import Clip, Model, Skeleton
from kinepack.params import params_of
from kinepack.serve.client import FINAL, FIRST_RETRY_S, LONGEST_RETRY_S, websockets_client
from kinepack.serve.wire import (
    MAX_PACKET_BYTES,
    Hello,
    Kind,
    LiveSegment,
    Part,
    pack,
    pack_end,
    pack_hello,
    pack_segment,
)

Row = NDArray[np.floating[Any]]
FAREWELL_S, NORMAL = 5.0, 1000
SEGMENTS_WAITING = 3
"""An encoder or a network that falls further behind loses the oldest frames: latency is bounded, not completeness."""


def default_codec(model: Model) -> str:
    """The smallest of the codecs that are fast enough."""
    return "kine:effort=fast" if isinstance(model, Clip) and "kine" in CODECS else "delta-lzma"


# Frames.


@dataclass(frozen=True)
class Batch:
    """Frames that go into one segment."""

    first: int
    captured_us: int
    rows: NDArray[np.floating[Any]]


class FrameQueue:
    """Frames between the thread that captures and the one that codes."""

    def __init__(self, capacity: int) -> None:
        self._rows: deque[tuple[int, int, float, Row]] = deque()
        self._capacity, self._changed, self._ended, self._number = capacity, threading.Condition(), False, 0
        self.dropped = 0
        self.fault: BaseException | None = None

    def put(self, row: Row) -> None:
        with self._changed:
            self._rows.append((self._number, time.time_ns() // 1000, time.monotonic(), row))
            self._number += 1
            if len(self._rows) > self._capacity:
                self._rows.popleft()
                self.dropped += 1
            self._changed.notify()

    def end(self, fault: BaseException | None = None) -> None:
        with self._changed:
            self._ended, self.fault = True, fault
            self._changed.notify()

    def take(self, count: int, latency_s: float) -> Batch | None:
        """`count` frames, or fewer as soon as the oldest has waited `latency_s`; None after the last."""
        with self._changed:
            while len(self._rows) < count and not self._ended:
                wait = latency_s + self._rows[0][2] - time.monotonic() if self._rows else None
                if wait is not None and wait <= 0:
                    break
                self._changed.wait(wait)
            taken = [self._rows.popleft() for _ in range(min(count, len(self._rows)))]
        if not taken:
            return None
        return Batch(taken[0][0], taken[0][1], np.stack([row for *_, row in taken]))

    def fill(self, rows: Iterable[Row]) -> threading.Thread:
        """Starts a thread that puts all rows, then ends the queue."""

        def work() -> None:
            try:
                for row in rows:
                    self.put(row)
            except Exception as error:  # told to whoever takes
                self.end(error)
            else:
                self.end()

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        return thread


def replayed(model: Model, frame_time: float, *, loop: bool = False) -> Iterator[Row]:
    """The rows of a recording, each at its time."""
    rows, begin = matrix_of(model), time.monotonic()
    for number in itertools.count() if loop else range(len(rows)):
        delay = begin + number * frame_time - time.monotonic()
        if delay > 0:
            time.sleep(delay)
        yield rows[number % len(rows)]


def lines_of(text: TextIO, width: int) -> Iterator[Row]:
    """Rows from lines of numbers, apart by spaces or commas; empty lines and those with # are left out."""
    for number, line in enumerate(text, 1):
        words = line.replace(",", " ").split()
        if not words or words[0].startswith("#"):
            continue
        try:
            row = np.array([float(word) for word in words])
        except ValueError:
            raise FormatError("not a line of numbers", file="stdin", line=number) from None
        if len(row) != width or not np.isfinite(row).all():
            raise FormatError(f"a frame has {width} finite numbers, not {len(row)}", file="stdin", line=number)
        yield row


# Packets.


class SegmentEncoder:
    """Rows in, packets out; knows what was said in the hello."""

    def __init__(self, like: Model, codec: Codec, *, name: str, frame_time: float) -> None:
        if not isinstance(like, codec.sources):
            raise ConfigError(f"{codec.id} does not compress a {type(like).__name__}", hint="kinepack codecs")
        # The batch is the segment: a codec that would cut it again must not.
        whole = {"segment_s": 0.0} if "segment_s" in params_of(codec) else {}
        self.codec = dataclasses.replace(codec, **whole)
        self.like = dataclasses.replace(like, name=name, frame_time=frame_time)
        self.sequence, self.session = 0, time.time_ns() // 1000
        self._setup: bytes | None = None

    @property
    def width(self) -> int:
        return width_of(layout_of(self.like))

    def hello(self) -> bytes:
        """The packet for a new connection; only after the first segment is coded."""
        hello = Hello(
            self.session,
            self.like.name,
            self.codec.id,
            self.codec.version,
            self.codec.settings,
            self.like.frame_time,
            self._setup or b"",
            _static_of(layout_of(self.like)),
        )
        return _checked(pack(Kind.HELLO, self.sequence, pack_hello(hello)))

    def segment(self, batch: Batch) -> bytes:
        stream = self._encode(batch.rows)
        if self._setup is None:
            self._setup = stream.setup
        setup = None if stream.setup == self._setup else stream.setup
        parts = tuple(Part(s.frames, s.layer, s.data) for s in stream.segments)
        body = pack_segment(LiveSegment(batch.first, len(batch.rows), batch.captured_us, setup, parts))
        packet = _checked(pack(Kind.SEGMENT, self.sequence, body))
        self.sequence += 1
        return packet

    def end(self) -> bytes:
        return pack(Kind.END, self.sequence, pack_end("the source has ended"))

    def _encode(self, rows: Row) -> Stream:
        if isinstance(self.like, Clip):
            return self.codec.encode(self.like.with_values(rows))
        return self.codec.encode(self.like.with_vertices(rows.reshape(len(rows), -1, 3)))


def _static_of(layout: Layout) -> bytes:
    if isinstance(layout, Skeleton):
        return pack_skeleton(layout)
    return pack_mesh(layout.faces, layout.vertices, layout.unit_cm)


def _checked(packet: bytes) -> bytes:
    if len(packet) > MAX_PACKET_BYTES:
        hint = "a shorter --latency or a coarser codec"
        raise ConfigError(f"a packet of {len(packet):,} bytes is too large to stream", hint=hint)
    return packet


# The connection.


@dataclass
class Pushed:
    """What has left so far."""

    segments: int = 0
    frames: int = 0
    bytes: int = 0
    dropped: int = 0
    """Frames that were given up, because coding or network fell behind."""


def push(
    frames: FrameQueue,
    encoder: SegmentEncoder,
    url: str,
    *,
    token: str,
    latency_s: float = 0.1,
    retry_s: float = 10.0,
    watcher: Callable[[Pushed], None] | None = None,
) -> Pushed:
    """Sends frames until their queue ends. A connection that breaks is made again for up to `retry_s` seconds."""
    total, connection = Pushed(), _Connection(url, token, encoder, retry_s)
    count = segment_frames(latency_s, encoder.like.frame_time)
    try:
        while (batch := frames.take(count, latency_s)) is not None:
            packet = encoder.segment(batch)
            if not connection.send(packet):
                continue
            total.segments += 1
            total.frames += len(batch.rows)
            total.bytes += len(packet)
            total.dropped = frames.dropped
            if watcher:
                watcher(total)
        if frames.fault:
            raise frames.fault
        connection.finish()
    finally:
        connection.close()
    return total


def segment_frames(latency_s: float, frame_time: float) -> int:
    """Frames that are captured within the latency."""
    return max(1, int(latency_s / frame_time + 1e-9))


class _Connection:
    """A socket that comes back. What cannot be sent meanwhile is lost, as in any live stream."""

    def __init__(self, url: str, token: str, encoder: SegmentEncoder, retry_s: float) -> None:
        self._url, self._token, self._encoder, self._retry_s = url, token, encoder, retry_s
        self._socket: Any = None
        self._exit = ExitStack()
        self._lost_at: float | None = None
        self._next_try, self._pause = 0.0, FIRST_RETRY_S
        self._ever = False

    def send(self, packet: bytes) -> bool:
        from websockets.exceptions import ConnectionClosed, WebSocketException

        if self._socket is None and time.monotonic() < self._next_try:
            return False
        try:
            if self._socket is None:
                self._connect()
            self._socket.send(packet)
        except ConnectionClosed as error:
            self._failed(error.rcvd.reason if error.rcvd else "the connection broke", error.rcvd)
        except (OSError, WebSocketException, ValueError) as error:
            self._failed(str(error), None)
        else:
            self._lost_at, self._pause = None, FIRST_RETRY_S
            return True
        return False

    def finish(self) -> None:
        """Ends the stream and waits for the server's word on it: packets on their way may have been refused."""
        from websockets.exceptions import ConnectionClosed

        if not self.send(self._encoder.end()):
            return
        try:
            self._socket.recv(timeout=FAREWELL_S)
        except ConnectionClosed as error:
            if error.rcvd and error.rcvd.code in FINAL and error.rcvd.code != NORMAL:
                self._failed(error.rcvd.reason, error.rcvd)
        except TimeoutError:
            return

    def close(self) -> None:
        self._exit.close()

    def _connect(self) -> None:
        connection = websockets_client().connect(
            self._url,
            additional_headers={"Authorization": f"Bearer {self._token}"},
            max_size=MAX_PACKET_BYTES,
            compression=None,
            close_timeout=1,
        )
        self._socket = self._exit.enter_context(connection)
        self._ever = True
        self._socket.send(self._encoder.hello())

    def _failed(self, reason: str, closed: Any) -> None:
        """IOFailure where another try is of no use: a wrong address, a refusal, too long a time."""
        self.close()
        self._socket, now = None, time.monotonic()
        self._lost_at = now if self._lost_at is None else self._lost_at
        final = closed is not None and closed.code in FINAL
        if final or not self._ever or now - self._lost_at > self._retry_s:
            raise IOFailure(f"cannot push to {self._url}: {reason}")
        self._next_try = now + self._pause
        self._pause = min(2 * self._pause, LONGEST_RETRY_S)
