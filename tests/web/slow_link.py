"""A slow connection that is real: a relay that passes every byte of an answer on, head and body, at a given rate.

Chromium's own throttle hands bytes out in packets of 1,500: at 32 kbit/s that is one every 375 ms, far too coarse to
tell when a stream starts.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

SLICE_S = 0.005
IDLE_S = 0.05
PIECE = 1 << 16


class _Link:
    """One shared line: answers to requests for `.kine` files wait for their turn on it, all others pass freely."""

    def __init__(self, target: tuple[str, int], rate: float, latency_s: float, breaks_after: int | None) -> None:
        self.target, self.rate, self.latency_s, self.breaks_after = target, rate, latency_s, breaks_after
        self.line = asyncio.Lock()
        self.free_at = 0.0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream = await asyncio.open_connection(*self.target)
        slow = asyncio.Event()
        jobs = [
            asyncio.create_task(self._ask(reader, upstream[1], slow)),
            asyncio.create_task(self._answer(upstream[0], writer, slow)),
        ]
        try:
            await asyncio.wait(jobs, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for job in jobs:
                job.cancel()
            await asyncio.gather(*jobs, return_exceptions=True)
            for end in (writer, upstream[1]):
                end.close()

    async def _ask(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, slow: asyncio.Event) -> None:
        while data := await reader.read(PIECE):
            if b".kine" in data.partition(b"\r\n")[0]:
                slow.set()
                await asyncio.sleep(self.latency_s)
            else:
                slow.clear()
            writer.write(data)
            await writer.drain()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, slow: asyncio.Event) -> None:
        sent = 0
        with suppress(OSError):
            while data := await reader.read(PIECE):
                step = max(1, round(self.rate * SLICE_S)) if slow.is_set() else len(data)
                for at in range(0, len(data), step):
                    part = data[at : at + step]
                    if slow.is_set():
                        await self._turn(len(part))
                        sent += len(part)
                    if self.breaks_after is not None and sent > self.breaks_after:
                        writer.transport.abort()
                        return
                    writer.write(part)
                    await writer.drain()

    async def _turn(self, size: int) -> None:
        """Waits until the last of so many bytes has crossed the line."""
        async with self.line:
            now = asyncio.get_running_loop().time()
            # A relay that wakes late has not made the line slower: bytes that were under way have arrived meanwhile.
            idle = now - self.free_at > IDLE_S
            self.free_at = (now if idle else self.free_at) + size / self.rate
            await asyncio.sleep(self.free_at - now)


@contextmanager
def slow_link(address: str, *, kbit_s: float, latency_ms: float = 20, breaks_after: int | None = None) -> Iterator[str]:
    """An address at which the server at `address` answers through a slow line.

    Every connection breaks after so many bytes of motion, if `breaks_after` is given.
    """
    parts = urlsplit(address)
    target = parts.hostname or "", parts.port or 80
    started: queue.Queue[tuple[int, asyncio.AbstractEventLoop, asyncio.Event]] = queue.Queue()

    async def run() -> None:
        link, done = _Link(target, kbit_s * 1000 / 8, latency_ms / 1000, breaks_after), asyncio.Event()
        server = await asyncio.start_server(link.serve, "127.0.0.1", 0)
        started.put((server.sockets[0].getsockname()[1], asyncio.get_running_loop(), done))
        await done.wait()
        server.close()

    thread = threading.Thread(target=asyncio.run, args=(run(),), daemon=True)
    thread.start()
    port, loop, done = started.get(timeout=10)
    try:
        yield f"http://127.0.0.1:{port}/"
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join()
