"""Live streams through a real server: many viewers, lost and damaged packets, and peers that behave badly."""

from __future__ import annotations

import json
import socket
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kinepack.codecs.base import CODECS, codec_from_spec, matrix_of
from kinepack.errors import IOFailure
from kinepack.metrics.measure import measure_all
from kinepack.model import Model
from kinepack.samples import fish, human

pytest.importorskip("uvicorn")
pytest.importorskip("websockets")

from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect
from websockets.sync.server import serve as proxy_server

from kinepack.serve import Running, ServeSettings
from kinepack.serve.client import watch
from kinepack.serve.decoder import LiveWindow, StreamDecoder
from kinepack.serve.push import Batch, FrameQueue, SegmentEncoder, push, replayed
from kinepack.serve.wire import ASK_HELLO, MAX_PACKET_BYTES, Close, Kind, pack, unpack

CLIP = human().slice(240, 480)
STEP = 12
"""Frames in a segment."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    settings = ServeSettings(tmp_path_factory.mktemp("live"), grace_s=0.5, stall_s=1.0, max_viewers=40)
    with Running(settings) as running:
        yield running


def encoder_of(model: Model = CLIP, codec: str = "delta-lzma", name: str = "stage") -> SegmentEncoder:
    return SegmentEncoder(model, codec_from_spec(codec), name=name, frame_time=model.frame_time)


class Source:
    """A source that sends segments when it is told to."""

    def __init__(self, server: Running, name: str, *, model: Model = CLIP, codec: str = "delta-lzma") -> None:
        self.encoder, self.rows, self.at = encoder_of(model, codec, name), matrix_of(model), 0
        self.url = f"{server.ws_url}/live/{name}"
        first = self.segment()
        headers = {"Authorization": f"Bearer {server.settings.token}"}
        connection = connect(f"{server.ws_url}/push/{name}", additional_headers=headers, compression=None)
        self.socket = ExitStack().enter_context(connection)
        self.socket.send(self.encoder.hello())
        self.socket.send(first)
        wait_for(lambda: any(s["name"] == name for s in streams(server)))

    def segment(self, frames: int = STEP) -> bytes:
        rows = self.rows[np.arange(self.at, self.at + frames) % len(self.rows)]
        packet = self.encoder.segment(Batch(self.at, time.time_ns() // 1000, rows))
        self.at += frames
        return packet

    def send(self, count: int = 1, pause_s: float = 0.0) -> None:
        for _ in range(count):
            self.socket.send(self.segment())
            time.sleep(pause_s)

    def end(self) -> None:
        self.socket.send(self.encoder.end())
        self.socket.close()


class Watcher(threading.Thread):
    """A viewer in a thread of its own."""

    def __init__(self, url: str, **how: Any) -> None:
        super().__init__(daemon=True)
        self.decoder, self.windows, self.fault = StreamDecoder(), list[LiveWindow](), ""
        self.how, self.url = how, url
        self.start()

    def run(self) -> None:
        try:
            for window in watch(self.url, decoder=self.decoder, **self.how):
                self.windows.append(window)
        except IOFailure as error:
            self.fault = error.message


def streams(server: Running) -> list[dict[str, Any]]:
    with urllib.request.urlopen(f"{server.url}/catalogue.json") as answer:
        return list(json.load(answer)["live"])


def wait_for(condition: Callable[[], bool], seconds: float = 8.0) -> None:
    late = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < late, "it never happened"
        time.sleep(0.01)


def code_of(socket: Any, seconds: float = 8.0) -> int:
    """The close code that ends a connection."""
    with pytest.raises(ConnectionClosed) as closed:
        late = time.monotonic() + seconds
        while time.monotonic() < late:
            socket.recv(timeout=seconds)
    return int(closed.value.rcvd.code) if closed.value.rcvd else 1006


# It works.


def test_replayed_in_real_time(server: Running) -> None:
    """The whole way: pacing, coding, server, viewer, within a bounded time."""
    part = CLIP.slice(0, 120)
    frames = FrameQueue(36)
    frames.fill(replayed(part, part.frame_time))
    encoder = encoder_of(part, name="paced")
    how = {"token": server.settings.token, "latency_s": 0.05}
    url = f"{server.ws_url}/push/paced"
    sender = threading.Thread(target=lambda: push(frames, encoder, url, **how), daemon=True)
    sender.start()
    wait_for(lambda: bool(streams(server)))
    ages: list[float] = []
    seen: list[LiveWindow] = []
    for window in watch(f"{server.ws_url}/live/paced"):
        ages.append(window.age_s)
        seen.append(window)
    sender.join(timeout=5)
    assert len(seen) >= 10 and seen[-1].first + seen[-1].model.frames == 120 and not any(w.lost for w in seen)
    assert np.median(ages[1:]) < 0.25
    for window in seen:
        original = part.slice(window.first, window.first + window.model.frames)
        assert measure_all(original, window.model)["joint_max"] < 1.0


@pytest.mark.parametrize("codec", ["delta-lzma", "raw", "kine:effort=fast"])
def test_each_segment_decodes_alone(codec: str) -> None:
    if codec.partition(":")[0] not in CODECS:
        pytest.skip("no such codec here")
    encoder = encoder_of(codec=codec)
    packets = [encoder.segment(Batch(a, 0, CLIP.values[a : a + STEP])) for a in range(0, 60, STEP)]
    for number, packet in enumerate(packets):
        decoder = StreamDecoder()
        assert decoder.feed(encoder.hello()) is None
        window = decoder.feed(packet)
        assert window is not None and window.first == number * STEP and window.sequence == number
        original = CLIP.slice(window.first, window.first + STEP)
        assert measure_all(original, window.model)["joint_max"] < 2.0


def test_a_jump_inside_a_segment() -> None:
    """Where a recording begins again, a codec may cut; the packet holds both parts."""
    spec = "kine:effort=fast" if "kine" in CODECS else "delta-lzma"
    rows = human().values[np.arange(890, 902) % 900]
    encoder, decoder = encoder_of(codec=spec), StreamDecoder()
    packet = encoder.segment(Batch(890, 0, rows))
    decoder.feed(encoder.hello())
    window = decoder.feed(packet)
    assert window is not None and window.model.frames == 12, decoder.problem
    assert measure_all(CLIP.with_values(rows), window.model)["joint_max"] < 2.0


def test_meshes_stream_too(server: Running) -> None:
    mesh = fish().slice(0, 20)
    source = Source(server, "sea", model=mesh)
    viewer = Watcher(source.url)
    wait_for(lambda: bool(viewer.windows))
    assert viewer.windows[0].model.vertices.shape == (STEP, *mesh.vertices.shape[1:])  # type: ignore[union-attr]
    source.end()
    viewer.join(timeout=5)
    assert viewer.decoder.ended


def test_join_in_the_middle_then_the_end(server: Running) -> None:
    source = Source(server, "middle")
    source.send(5)
    viewer = Watcher(source.url)
    wait_for(lambda: len(viewer.windows) == 1)  # the newest one, at once
    source.send(3)
    wait_for(lambda: len(viewer.windows) == 4)
    source.end()
    viewer.join(timeout=5)
    assert [w.sequence for w in viewer.windows] == [5, 6, 7, 8] and viewer.decoder.lost == 0
    assert viewer.decoder.ended and not viewer.fault
    assert all(s["name"] != "middle" for s in streams(server))


def test_source_comes_back(server: Running) -> None:
    source = Source(server, "again")
    viewer = Watcher(source.url)
    wait_for(lambda: len(viewer.windows) == 1)
    source.socket.socket.shutdown(socket.SHUT_RDWR)
    wait_for(lambda: not next(s for s in streams(server) if s["name"] == "again")["has_source"])
    second = Source(server, "again")
    wait_for(lambda: len(viewer.windows) == 2)
    second.send()
    wait_for(lambda: len(viewer.windows) == 3)
    second.socket.close()  # and now for good, without a word
    viewer.join(timeout=5)
    assert viewer.decoder.ended and viewer.decoder.bad == 0


# Loss and damage.


class Lossy:
    """A way to the server on which `change` may damage (or lose) every message."""

    def __init__(self, target: str, change: Callable[[int, bytes], bytes | None]) -> None:
        def relay(client: Any) -> None:
            with connect(target, compression=None) as upstream:
                back = threading.Thread(target=self._back, args=(client, upstream), daemon=True)
                back.start()
                for number, message in enumerate(upstream):
                    changed = change(number, message)
                    if changed is not None:
                        client.send(changed)

        self._server = proxy_server(relay, "127.0.0.1", 0, compression=None)
        self.url = f"ws://127.0.0.1:{self._server.socket.getsockname()[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @staticmethod
    def _back(client: Any, upstream: Any) -> None:
        for message in client:
            upstream.send(message)

    def close(self) -> None:
        self._server.shutdown()


def test_one_viewers_loss_and_damage_is_its_own(server: Running) -> None:
    def change(number: int, message: bytes) -> bytes | None:
        if number == 0:  # even the hello
            return message[:40] + bytes([message[40] ^ 4]) + message[41:]
        if number % 5 == 2:
            return None
        if number % 5 == 4:
            return message[:-3] + b"???"
        return message

    source = Source(server, "torn")
    lossy = Lossy(source.url, change)
    torn, whole = Watcher(lossy.url), [Watcher(source.url) for _ in range(3)]
    wait_for(lambda: all(len(viewer.windows) == 1 for viewer in whole) and torn.decoder.bad >= 1)
    while not torn.windows:  # the hello was damaged: it asks for another
        source.send(1, 0.02)
    source.send(40, 0.01)
    wait_for(lambda: all(len(viewer.windows) == source.at // STEP for viewer in whole))
    source.end()
    for viewer in (torn, *whole):
        viewer.join(timeout=5)
    lossy.close()
    for viewer in whole:
        assert (viewer.decoder.lost, viewer.decoder.bad) == (0, 0)
    assert torn.decoder.lost > 3 and torn.decoder.bad > 3 and len(torn.windows) > 15
    good = {window.sequence: window for window in whole[0].windows}
    for window in torn.windows:  # what arrives is right
        assert window.model == good[window.sequence].model


# Bad peers.


def test_slow_reader_loses_segments_then_its_place(tmp_path: Path) -> None:
    noise = np.random.default_rng(1).normal(0, 50, (400, CLIP.values.shape[1]))
    settings = ServeSettings(tmp_path, queue_packets=4, max_dropped=8, stall_s=30.0)
    with Running(settings) as server:
        source = Source(server, "fast", model=CLIP.with_values(noise), codec="raw")
        good = Watcher(source.url)
        host, port = server.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            slow.sendall(_upgrade("/live/fast"))
            wait_for(lambda: streams(server)[0]["viewers"] == 2)
            sent = 0
            while streams(server)[0]["viewers"] == 2:
                source.socket.send(source.segment(400))  # 200 kB
                sent += 1
                wait_for(lambda seen=sent + 1: len(good.windows) == seen)
                assert sent < 200, "never cut off"
            assert sent > 12
        source.send(5)
        wait_for(lambda: len(good.windows) == sent + 6)
        assert (good.decoder.lost, good.decoder.bad) == (0, 0)
        source.end()


def _upgrade(path: str) -> bytes:
    return (
        f"GET {path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    ).encode()


def test_stalled_reader_is_cut_off(tmp_path: Path) -> None:
    noise = np.random.default_rng(1).normal(0, 50, (400, CLIP.values.shape[1]))
    with Running(ServeSettings(tmp_path, stall_s=0.3)) as server:
        source = Source(server, "fast", model=CLIP.with_values(noise), codec="raw")
        host, port = server.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            slow.sendall(_upgrade("/live/fast"))
            wait_for(lambda: streams(server)[0]["viewers"] == 1)
            for _ in range(100):
                source.socket.send(source.segment(400))
                time.sleep(0.03)
                if streams(server)[0]["viewers"] == 0:
                    break
            assert streams(server)[0]["viewers"] == 0
        source.end()


def test_viewers_that_talk_are_cut_off(server: Running) -> None:
    source = Source(server, "quiet")
    good = Watcher(source.url)
    wait_for(lambda: len(good.windows) == 1)
    for message, code in (
        ("shout", Close.BAD_PACKET),
        (b"\0" * 100, Close.BAD_PACKET),
        (bytes(MAX_PACKET_BYTES + 1), 1009),
    ):
        with connect(source.url, compression=None) as viewer:
            viewer.recv(timeout=5)
            viewer.send(message)
            assert code_of(viewer) == code
    with connect(source.url, compression=None) as viewer:
        first = viewer.recv(timeout=5)
        viewer.recv(timeout=5)
        viewer.send(ASK_HELLO)
        assert viewer.recv(timeout=5) == first
    source.send(2)
    wait_for(lambda: len(good.windows) == 3)
    source.end()


def test_bad_sources_are_cut_off(server: Running) -> None:
    encoder = encoder_of(name="bad")
    segment = encoder.segment(Batch(0, 0, CLIP.values[:STEP]))
    hello = encoder.hello()
    late = encoder.segment(Batch(STEP, 0, CLIP.values[:STEP]))
    cases: list[tuple[list[str | bytes], int]] = [
        ([b"junk"], Close.BAD_PACKET),
        (["text"], Close.BAD_PACKET),
        ([segment], Close.BAD_PACKET),
        ([hello[:-4]], Close.BAD_PACKET),
        ([pack(Kind.HELLO, 0, b"\xff" * 30)], Close.BAD_PACKET),
        ([hello, late[:-1] + b"x"], Close.BAD_PACKET),
        ([hello, late, segment], Close.BAD_PACKET),
        ([hello, pack(Kind.SEGMENT, 9, b"\x00\x00\x00\x00\x00")], Close.BAD_PACKET),
        ([hello, bytes(MAX_PACKET_BYTES + 1)], 1009),
    ]
    good = Source(server, "good")
    viewer = Watcher(good.url)
    headers = {"Authorization": f"Bearer {server.settings.token}"}
    for number, (messages, code) in enumerate(cases):
        with connect(f"{server.ws_url}/push/bad{number}", additional_headers=headers, compression=None) as source:
            for message in messages:
                source.send(message)
            assert code_of(source) == code
    good.send(2)
    wait_for(lambda: len(viewer.windows) == 3)
    good.end()


def test_doors(server: Running) -> None:
    """Who may come in: tokens, names, numbers, origins."""
    source = Source(server, "door")
    url, headers = f"{server.ws_url}/push/door", {"Authorization": f"Bearer {server.settings.token}"}
    for given in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": server.settings.token}):
        with connect(url, additional_headers=given) as stranger:
            assert code_of(stranger) == Close.NO_TOKEN
    with connect(url, additional_headers=headers) as second:
        assert code_of(second) == Close.NAME_TAKEN
    with connect(f"{server.ws_url}/push/a%20b", additional_headers=headers) as odd:
        assert code_of(odd) == Close.BAD_PACKET
    with connect(f"{server.ws_url}/live/nothing") as viewer:
        assert code_of(viewer) == Close.NO_STREAM
    foreign = {"Origin": "http://evil.example"}
    with pytest.raises(InvalidStatus, match="403"), connect(source.url, additional_headers=foreign):
        pass
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=5) as renamed:
        renamed.sendall(_upgrade("/live/door").replace(b"localhost", b"evil.example"))
        assert b" 403 " in renamed.recv(4096).split(b"\r\n")[0]
    with pytest.raises(IOFailure, match="there is no stream"):
        next(watch(f"{server.ws_url}/live/nothing"))
    with pytest.raises(IOFailure, match="token"):
        frames = FrameQueue(100)
        frames.fill(iter(CLIP.values[:40]))
        push(frames, encoder_of(name="x"), f"{server.ws_url}/push/x", token="wrong", retry_s=0)
    source.end()


def test_too_many_viewers(server: Running) -> None:
    source = Source(server, "full")
    viewers = [Watcher(source.url) for _ in range(40)]
    wait_for(lambda: all(viewer.windows for viewer in viewers))
    with connect(source.url) as late:
        assert code_of(late) == Close.TOO_MANY
    source.send(2)
    wait_for(lambda: all(len(viewer.windows) == 3 for viewer in viewers))
    source.end()
    for viewer in viewers:
        viewer.join(timeout=5)
    assert all(viewer.decoder.lost == viewer.decoder.bad == 0 for viewer in viewers)


def test_packets_carry_their_sequence() -> None:
    encoder = encoder_of()
    assert [unpack(encoder.segment(Batch(0, 0, CLIP.values[:1]))).sequence for _ in range(3)] == [0, 1, 2]
