"""`kinepack serve` and `kinepack live` as real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import kinepack
from kinepack.samples import human

pytest.importorskip("uvicorn")
pytest.importorskip("websockets")

from kinepack.serve.client import watch

KINEPACK = [sys.executable, "-m", "kinepack"]
TOKEN = "open sesame"


@pytest.fixture
def clips(tmp_path: Path) -> Path:
    folder = tmp_path / "clips"
    folder.mkdir()
    kinepack.write(human().slice(0, 90), tmp_path / "walk.bvh")
    return folder


@pytest.fixture
def address(clips: Path) -> Iterator[str]:
    environment = {**os.environ, "KINEPACK_TOKEN": TOKEN}
    command = [*KINEPACK, "serve", str(clips), "--port", "0", "--json"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    assert running.stdout
    try:
        facts = json.loads(running.stdout.readline())
        assert facts["token"] == TOKEN
        yield facts["url"].replace("http", "ws")
    finally:
        running.send_signal(signal.SIGINT)
        _, words = running.communicate(timeout=20)
    assert running.returncode == 0 and "Traceback" not in words, words


@contextmanager
def live(
    *arguments: str, folder: Path, token: str = TOKEN, stdin: int | None = None
) -> Iterator[subprocess.Popen[str]]:
    """A source that does not outlive the block."""
    source = subprocess.Popen(
        [*KINEPACK, "live", *arguments, "--name", "stage", "--token", token],
        cwd=folder,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield source
    finally:
        source.kill()
        source.communicate()


def wait_for_stream(address: str) -> None:
    late = time.monotonic() + 20
    while time.monotonic() < late:
        with urllib.request.urlopen(address.replace("ws", "http", 1) + "/catalogue.json") as answer:
            if json.load(answer)["live"]:
                return
        time.sleep(0.05)
    raise AssertionError("there never was a stream")


def test_a_file_and_lines_of_stdin(address: str, tmp_path: Path) -> None:
    with live("walk.bvh", "--to", address, "--json", "--codec", "raw", "--loop", folder=tmp_path) as source:
        assert source.stderr and "pushing to" in source.stderr.readline()
        wait_for_stream(address)
        stream = watch(f"{address}/live/stage", retry_s=5)
        assert sum(next(stream).model.frames for _ in range(3)) > 10
        stream.close()
        source.send_signal(signal.SIGINT)
        assert source.wait(timeout=20) == 130
    values = kinepack.read(tmp_path / "walk.bvh").values  # type: ignore[union-attr]
    lines = "\n".join(" ".join(map(repr, row)) for row in values.tolist())
    arguments = ("-", "--rig", "walk.bvh", "--rate", "60", "--to", address, "--json", "--codec", "raw")
    with live(*arguments, folder=tmp_path, stdin=subprocess.PIPE) as source:
        out, words = source.communicate("# a comment\n" + lines + "\n", timeout=30)
    facts = json.loads(out)
    assert source.returncode == 0 and facts["frames"] + facts["dropped"] == 90, words


def test_mistakes(address: str, tmp_path: Path) -> None:
    with live("walk.bvh", "--to", address, folder=tmp_path, token="wrong") as source:
        assert (source.wait(timeout=30), "token" in (source.stderr.read() if source.stderr else "")) == (7, True)
    with live("-", "--rig", "walk.bvh", "--to", address, folder=tmp_path, stdin=subprocess.PIPE) as source:
        _, words = source.communicate("1 2 3\n", timeout=30)
        assert (source.returncode, "stdin:1" in words) == (3, True)
    with live("-", "--to", address, folder=tmp_path) as source:
        assert (source.wait(timeout=30), "--rig" in (source.stderr.read() if source.stderr else "")) == (2, True)
    missing = subprocess.run([*KINEPACK, "serve", str(tmp_path / "nope")], capture_output=True, text=True, timeout=30)
    assert (missing.returncode, missing.stderr) == (7, f"error: no such folder: {tmp_path / 'nope'}\n")
