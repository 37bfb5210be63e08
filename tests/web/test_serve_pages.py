"""Pages of `kinepack serve` in a real browser: catalogue, live streams, energies."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from web_support import DESKTOP, PHONE, WEB, Scenario, library_paths, run_scenario, serving

import kinepack
from kinepack.codecs.base import codec_from_spec
from kinepack.samples import human
from kinepack.serve.decoder import StreamDecoder
from kinepack.serve.push import Batch, SegmentEncoder
from kinepack.serve.wire import pack, unpack

__all__ = ["run_scenario"]

LIBRARY = "/dist/kinepack.js"
TOKEN = "a token for this test"
CODECS = ("kine", "delta-lzma", "wavelet")


@contextmanager
def command(*words: str) -> Iterator[subprocess.Popen[str]]:
    """`kinepack …` in a process of its own."""
    known = {**os.environ, "KINEPACK_TOKEN": TOKEN}
    process = subprocess.Popen(
        [sys.executable, "-m", "kinepack", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=known,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=20)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("clips")
    for codec in CODECS:
        (place / f"walk-{codec}.kine").write_bytes(kinepack.compress(human(), codec))
    return place


@pytest.fixture(scope="module")
def address(folder: Path, run_scenario: Scenario) -> Iterator[str]:
    with command("serve", str(folder), "--port", "0", "--token", TOKEN) as process:
        assert process.stdout
        for line in process.stdout:
            if found := re.search(r"http://[\d.]+:\d+", line):
                yield found[0]
                return
        raise AssertionError("the server said no address")


@pytest.fixture(scope="module")
def live(address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The name of a stream that is on air."""
    path = tmp_path_factory.mktemp("live") / "walk.npz"
    kinepack.write(human(), path)
    to = address.replace("http", "ws")
    with command("live", str(path), "--to", to, "--name", "stage", "--loop", "--codec", "delta-lzma"):
        late = time.monotonic() + 60
        while time.monotonic() < late:
            with urllib.request.urlopen(f"{address}/catalogue.json") as answer:
                if json.load(answer)["live"]:
                    break
            time.sleep(0.1)
        yield "stage"


@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_a_live_stream_is_watched(run_scenario: Scenario, address: str, live: str, size: str) -> None:
    found = run_scenario(
        "watchLive",
        url=f"{address}/watch/{live}/",
        context=DESKTOP if size == "desktop" else PHONE,
        screenshot=f"live-{size}",
    )
    joined, later, cut, back = (found[moment] for moment in ("joined", "later", "cut", "back"))
    assert joined["codec"] == "delta-lzma" and joined["state"] == later["state"] == back["state"] == "playing"
    assert joined["frame"] < later["frame"] and cut["state"] == "lost" and back["frame"] > cut["frame"]
    assert back["bad"] == 0
    assert found["lit"] > 1000
    assert not found["faults"] and found["hosts"] == [address.removeprefix("http://")]


def test_lost_and_damaged_packets_cost_only_themselves(run_scenario: Scenario, address: str, live: str) -> None:
    found = run_scenario("damagedLive", url=f"{address}/watch/{live}/")
    damaged, later = found["damaged"], found["later"]
    assert damaged["lost"] > 0 and damaged["state"] == later["state"] == "playing"
    assert later["frame"] > damaged["frame"] and later["bad"] > damaged["bad"]
    assert not found["faults"]


@pytest.mark.parametrize("codec", ["delta-lzma", "kine:effort=fast", "kine:layers=2,effort=fast", "raw"])
def test_segments_decode_as_in_python(run_scenario: Scenario, codec: str) -> None:
    """Joined in the middle, with one packet lost and one damaged."""
    clip = human()
    source = SegmentEncoder(clip, codec_from_spec(codec), name="stage", frame_time=clip.frame_time)
    packets = [source.segment(Batch(first, 5, clip.values[first : first + 12])) for first in range(0, 84, 12)]
    bad = packets[5][:-1] + bytes([packets[5][-1] ^ 1])
    sent = [packets[0], source.hello(), packets[1], packets[3], bad, packets[6], packets[2], b"junk", source.end()]
    decoder = StreamDecoder()
    wanted = [window for packet in sent if (window := decoder.feed(packet))]
    with serving(library_paths({})) as address:
        found = run_scenario(
            "liveValues",
            url=f"{address}blank.html",
            library=LIBRARY,
            packets=[base64.b64encode(packet).decode() for packet in sent],
        )
    assert [(w["first"], w["lost"]) for w in found["windows"]] == [(w.first, w.lost) for w in wanted]
    assert [w.first for w in wanted] == [12, 36, 72]
    assert (found["lost"], found["bad"], found["ended"]) == (decoder.lost, decoder.bad, True)
    for ours, theirs in zip(wanted, found["windows"], strict=True):
        assert np.allclose(theirs["values"], ours.model.values.ravel(), rtol=1e-9, atol=1e-7)


def test_a_live_stream_fails_ends_and_comes_back(run_scenario: Scenario) -> None:
    """Packets from the test's own hands; a stream that is closed leaves nothing that runs on."""
    clip = human()
    source = SegmentEncoder(clip, codec_from_spec("delta-lzma"), name="stage", frame_time=clip.frame_time)
    segments = [source.segment(Batch(first, 5, clip.values[first : first + 12])) for first in (0, 12, 24)]
    hello = unpack(source.hello())
    strange = pack(hello.kind, hello.sequence, hello.body.replace(b"delta-lzma", b"delta-next"))
    given = {"hello": source.hello(), "strange": strange}
    plain = {name: base64.b64encode(packet).decode() for name, packet in given.items()}
    plain["segments"] = [base64.b64encode(packet).decode() for packet in segments]
    script = [str(Path(__file__).with_name("live_stream.mjs")), str(WEB / "dist" / "kinepack.js")]
    done = subprocess.run(["node", *script], input=json.dumps(plain), capture_output=True, text=True, timeout=20)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["strange"]["states"] == ["failed"] and found["strange"]["failure"] == "unsupported"
    assert found["strange"]["sockets"] == 1, "what cannot be decoded is not asked for again"
    assert found["closed"]["states"] == ["ended"] and not found["closed"]["firsts"]
    assert found["behind"]["states"] == ["playing", "ended"] and found["behind"]["firsts"][-1] == 24
    assert found["again"]["states"] == ["playing", "lost", "playing", "ended"]
    assert found["again"]["firsts"] == [0, 24] and found["again"]["lost"] == 1 and found["again"]["sockets"] == 2


@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_energies_are_measured(run_scenario: Scenario, address: str, size: str) -> None:
    found = run_scenario(
        "energyPage",
        url=f"{address}/energy/",
        context=DESKTOP if size == "desktop" else PHONE,
        screenshot=f"energy-{size}",
    )
    assert sorted(row["codec"] for row in found["rows"]) == sorted(CODECS)
    assert found["bars"] == 3 * len(CODECS) and found["overflow"] <= 0
    check_energies(found["rows"])
    assert not found["faults"]


def check_energies(rows: list[dict[str, Any]]) -> None:
    """Eq. 11 on the measured times; a slow line takes at least as long as its rate allows."""
    for row in rows:
        assert row["decoding"] > 0
        for one in row["rates"]:
            least = 8 * one["bytes"] / (1024 * one["kbit"])
            assert one["seconds"] >= 0.98 * least
            assert one["receiving"] == pytest.approx(1425 * one["seconds"])
            assert one["sleeping"] == pytest.approx(177 * max(0, row["duration"] - one["seconds"]))
            assert one["expected"] == pytest.approx(1425 * least + 177 * (row["duration"] - least))


def test_energies_over_a_throttled_browser(run_scenario: Scenario, address: str) -> None:
    """The browser's own throttle on top: receiving takes longer than the server's pace, and costs more."""
    file = "walk-delta-lzma.kine"
    found = run_scenario("energyPage", url=f"{address}/energy/?file={file}", throttle=8192)
    (row,) = found["rows"]
    check_energies(found["rows"])
    assert all(one["seconds"] > one["bytes"] / 8192 * 0.7 for one in row["rates"])


@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_catalogue(run_scenario: Scenario, address: str, live: str, size: str) -> None:
    context = DESKTOP if size == "desktop" else PHONE
    found = run_scenario("catalogue", url=address, context=context, screenshot=f"catalogue-{size}")
    assert found["scripts"] == 0 and found["titles"][0] == live
    assert len(found["pictures"]) == len(CODECS) and all(width > 0 for width in found["pictures"])
    assert not found["faults"]
