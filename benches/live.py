"""Live streaming under load: 200 viewers of one 120 Hz stream, the server bound to one core, all on 127.0.0.1.

The delay is the time from the capture of a segment's first frame to the moment the segment has arrived and been checked
at a viewer, counted from a second after all viewers have joined. One viewer of each process also decodes. One more
viewer reads nothing, another sends junk: the others must not notice. Prints a row per codec and appends it to
benches/results/live.jsonl.

Usage: python benches/live.py [--viewers 200] [--seconds 15] [--codec ID]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import socket
import tempfile
import threading
import time
import urllib.request
from dataclasses import dataclass, field
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from kinepack.codecs.base import codec_from_spec
from kinepack.evaluate import commit, machine
from kinepack.samples import human
from kinepack.serve.decoder import StreamDecoder
from kinepack.serve.push import FrameQueue, Pushed, SegmentEncoder, push, replayed, segment_frames
from kinepack.serve.run import bind, url_of, uvicorn_server
from kinepack.serve.settings import ServeSettings
from kinepack.serve.wire import MAX_PACKET_BYTES, Kind, unpack, unpack_segment

RESULTS = Path(__file__).parent / "results" / "live.jsonl"
CODECS = ("delta-lzma", "kine:effort=fast")
MOST_VIEWERS, LONGEST_S = 400, 60
PROCESSES = 8
"""Viewers are spread over so many, as they are over machines in life: the load must not wait for itself."""
LATENCY_S = 0.1


def serve_on_one_core(pipe: Connection, core: int) -> None:
    """The server's process: tells its address, serves until told to stop, tells the processor time it took."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})
    listener = bind("127.0.0.1", 0)
    with tempfile.TemporaryDirectory() as folder:
        settings = ServeSettings(Path(folder), stall_s=3.0)
        server = uvicorn_server(settings)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        pipe.send((url_of(listener, "ws"), settings.token))
        while pipe.recv() == "time?":
            pipe.send(time.process_time())
        server.should_exit = True
        thread.join()


@dataclass
class Seen:
    """What all viewers saw."""

    arrivals: list[tuple[float, float]] = field(default_factory=list)
    """Time of arrival, and age of the first (oldest) frame then, of each segment at each viewer; seconds."""
    joined_s: float = 0.0
    """When the last viewer had its first segment."""
    lost: int = 0
    bad: int = 0
    decoded: int = 0
    finished: int = 0


async def view(url: str, seen: Seen, *, decodes: bool) -> None:
    from websockets.asyncio.client import connect

    decoder, last, greeted = StreamDecoder(), -1, False
    async with connect(url, max_size=MAX_PACKET_BYTES, compression=None, open_timeout=30) as connection:
        async for message in connection:
            now, data = time.time(), message if isinstance(message, bytes) else message.encode()
            packet = unpack(data)
            if decodes and decoder.feed(data):
                seen.decoded += 1
            if packet.kind != Kind.SEGMENT:
                continue
            if greeted:  # the newest segment that a viewer finds on joining is old by nature
                seen.arrivals.append((now, now - unpack_segment(packet.body).captured_us / 1e6))
                seen.lost += packet.sequence - last - 1
            else:
                seen.joined_s = now
            last, greeted = packet.sequence, True
    seen.bad += decoder.bad
    seen.finished += 1


async def shout(url: str) -> None:
    """A hostile viewer: sends a message longer than any server should take, again and again."""
    from websockets.asyncio.client import connect
    from websockets.exceptions import ConnectionClosed

    for _ in range(10):
        try:
            async with connect(url, compression=None) as connection:
                await connection.send(bytes(2 * MAX_PACKET_BYTES))
                await connection.recv()
        except (ConnectionClosed, OSError):
            pass
        await asyncio.sleep(0.5)


def deaf(url: str) -> socket.socket:
    """A hostile viewer: asks for the stream and never reads."""
    host, _, rest = url.removeprefix("ws://").partition(":")
    port, _, path = rest.partition("/")
    connection = socket.create_connection((host, int(port)))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    head = f"GET /{path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    connection.sendall((head + "Sec-WebSocket-Key: " + "A" * 22 + "==\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
    return connection


def send(url: str, token: str, codec: str, seconds: float) -> Pushed:
    """The source's process: the walking human at 120 Hz."""
    clip = human()
    encoder = SegmentEncoder(clip, codec_from_spec(codec), name="bench", frame_time=clip.frame_time)
    frames = FrameQueue(3 * segment_frames(LATENCY_S, clip.frame_time))
    begin = time.monotonic()
    rows = (row for row in replayed(clip, clip.frame_time, loop=True))
    frames.fill(_until(rows, begin + seconds))
    return push(frames, encoder, f"{url}/push/bench", token=token, latency_s=LATENCY_S)


def _until(rows: Any, end: float) -> Any:
    for row in rows:
        if time.monotonic() > end:
            return
        yield row


def wait_for_stream(url: str) -> None:
    late = time.monotonic() + 30
    while time.monotonic() < late:
        with urllib.request.urlopen(url.replace("ws", "http", 1) + "/catalogue.json") as answer:
            if json.load(answer)["live"]:
                return
        time.sleep(0.1)
    raise TimeoutError("the source never came on air")


async def look_on(url: str, viewers: int) -> Seen:
    seen = Seen()
    await asyncio.gather(*(view(url, seen, decodes=number == 0) for number in range(viewers)))
    return seen


def look_on_here(url: str, viewers: int) -> Seen:
    """One process of viewers."""
    return asyncio.run(look_on(url, viewers))


def look_on_everywhere(pool: Any, url: str, viewers: int) -> Seen:
    """All viewers, and two that mean harm."""
    shares = [len(range(first, viewers, PROCESSES)) for first in range(PROCESSES)]
    silent, shouting = deaf(url), pool.apply_async(shout_here, (url,))
    seen = [part.get(timeout=120) for part in [pool.apply_async(look_on_here, (url, share)) for share in shares]]
    shouting.get(timeout=60)
    silent.close()
    return Seen(
        [arrival for part in seen for arrival in part.arrivals],
        max(part.joined_s for part in seen),
        **{name: sum(getattr(part, name) for part in seen) for name in ("lost", "bad", "decoded", "finished")},
    )


def shout_here(url: str) -> None:
    asyncio.run(shout(url))


def measure(codec: str, viewers: int, seconds: float) -> dict[str, Any]:
    """One row: a server, a source and the viewers, each kind in processes of its own."""
    context = multiprocessing.get_context("spawn")
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0]
    ours, theirs = context.Pipe()
    server = context.Process(target=serve_on_one_core, args=(theirs, cores[0]), daemon=True)
    server.start()
    url, token = ours.recv()
    with context.Pool(PROCESSES + 2) as pool:
        pool.map(time.sleep, [1.0] * (PROCESSES + 2), chunksize=1)  # all of them are up
        source = pool.apply_async(send, (url, token, codec, seconds))
        wait_for_stream(url)
        begin, used = time.perf_counter(), _ask(ours)
        seen = look_on_everywhere(pool, f"{url}/live/bench", viewers)
        used, took = _ask(ours) - used, time.perf_counter() - begin
        pushed: Pushed = source.get(timeout=30)
    ours.send("stop")
    server.join(timeout=10)
    return _row(codec, viewers, seen, pushed, used / took)


def _ask(pipe: Connection) -> float:
    pipe.send("time?")
    return float(pipe.recv())


def _row(codec: str, viewers: int, seen: Seen, pushed: Pushed, share: float) -> dict[str, Any]:
    at, age = np.array(seen.arrivals).T
    ages_ms = 1e3 * age[at > seen.joined_s + 1]
    p50, p99 = np.percentile(ages_ms, [50, 99])
    return {
        "bench": "live",
        "codec": codec,
        "viewers": viewers,
        "finished": seen.finished,
        "rate_hz": 120,
        "segment_ms": 1e3 * LATENCY_S,
        "arrivals": len(ages_ms),
        "p50_ms": round(float(p50), 1),
        "p99_ms": round(float(p99), 1),
        "max_ms": round(float(ages_ms.max()), 1),
        "lost": seen.lost,
        "bad": seen.bad,
        "decoded": seen.decoded,
        "server_core_share": round(share, 3),
        "kbit_per_s": round(8e-3 * pushed.bytes / (pushed.frames / 120), 2),
        "frames_given_up": pushed.dropped,
        "load_average": round(os.getloadavg()[0], 1),
        "nice": os.nice(0),
        "commit": commit(),
        "machine": machine(),
        "date": datetime.now(UTC).date().isoformat(),
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--viewers", type=int, default=200)
    options.add_argument("--seconds", type=float, default=15.0)
    options.add_argument("--codec", action="append", help="repeat for several")
    chosen = options.parse_args()
    viewers, seconds = min(chosen.viewers, MOST_VIEWERS), min(chosen.seconds, LONGEST_S)
    with RESULTS.open("a", encoding="utf-8") as out:
        for codec in chosen.codec or CODECS:
            row = measure(codec, viewers, seconds)
            out.write(json.dumps(row) + "\n")
            delays = f"p50 {row['p50_ms']} ms, p99 {row['p99_ms']} ms, max {row['max_ms']} ms"
            cost = f"{row['server_core_share']:.0%} of a core, {row['kbit_per_s']} kbit/s a viewer"
            print(f"{codec:18} {viewers} viewers: {delays}, lost {row['lost']}; {cost}")


if __name__ == "__main__":
    main()
