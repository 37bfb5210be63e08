"""The real command in a process of its own: streams, pipes, colours, start-up, docs."""

from __future__ import annotations

import io
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kinepack.cli import console
from kinepack.cli.app import PANELS, split_help
from kinepack.cli.docs import page

if TYPE_CHECKING:
    from cli_support import Run

pytest_plugins = ["cli_support"]

KINEPACK = [sys.executable, "-m", "kinepack"]
COMMANDS = [command for commands in PANELS.values() for command in commands]
EXAMPLES = [example for command in COMMANDS for example in split_help(command)[1]]
ELSEWHERE = {"demo", "serve", "live", "play", "report", "reproduce"}
"""Commands with tests of their own: they take long, wait for someone, or need the built player or real files."""
ROOT = Path(__file__).parents[2]


def call(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*KINEPACK, *arguments], capture_output=True, text=True, env={**os.environ, **environment}, timeout=60
    )


def test_streams_are_kept_apart(here: Path) -> None:
    done = call("compress", "walk.bvh", "-o", "walk.kine", "--json")
    assert json.loads(done.stdout)["file_bytes"] and done.stderr == ""
    done = call("convert", "walk.amc", "w.bvh")
    assert done.returncode == 0 and done.stdout == "" and "lost: " in done.stderr


def test_error_of_a_real_process(here: Path) -> None:
    done = call("compress", "nope.bvh", "-o", "x.kine")
    assert (done.returncode, done.stdout) == (7, "")
    assert done.stderr == "error: no such file: nope.bvh\n"


def test_debug_shows_the_traceback(here: Path) -> None:
    done = call("compress", "nope.bvh", "-o", "x.kine", KINEPACK_DEBUG="1")
    assert done.returncode != 0 and "Traceback" in done.stderr


def test_streams_that_hold_little_or_nothing(here: Path) -> None:
    (here / "walk.bvh").rename(here / "wälk.bvh")
    plain = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "1"}
    assert json.loads(call("info", "wälk.bvh", "--json", **plain).stdout)["clips"][0]["name"] == "wälk"
    assert "w\\xe4lk" in call("info", "wälk.bvh", **plain).stdout
    assert call("metrics", **plain).returncode == 0
    for closed in (">&-", "2>&-"):
        done = subprocess.run(["sh", "-c", f'"$@" metrics {closed}', "sh", *KINEPACK], capture_output=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("arguments", ["--help", "--version", "metrics", "metrics --json"])
def test_full_disks_are_told(arguments: str) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([*KINEPACK, *arguments.split()], stdout=full, stderr=subprocess.PIPE, timeout=60)
    assert (done.returncode, done.stderr) == (7, b"error: No space left on device\n")


def test_version_and_no_colours_in_a_pipe() -> None:
    assert call("--version").stdout.startswith("kinepack ")
    for arguments in (("--help",), ("metrics",), ("codecs",)):
        assert "\x1b" not in call(*arguments).stdout


def test_broken_pipe_is_quiet() -> None:
    first = subprocess.Popen([*KINEPACK, "metrics"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert first.stdout and first.stderr
    first.stdout.close()
    assert first.stderr.read() == b""
    first.stderr.close()
    assert first.wait(timeout=60) == 141


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_interrupt(tmp_path: Path) -> None:
    # A loop of measurements gives the signal something to interrupt; the first row says that it runs.
    command = [*KINEPACK, "demo", "--json", "-o", str(tmp_path / "r.html")]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout and running.stdout.readline().startswith("{")
    running.send_signal(signal.SIGINT)
    out_and_err = running.communicate(timeout=60)
    assert running.returncode == 130 and "Traceback" not in out_and_err[1]
    assert not (tmp_path / "r.html").exists()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("patience_s", "drawn"), [(0.0, True), (60.0, False)])
def test_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch, patience_s: float, drawn: bool) -> None:
    err, out = Terminal(), io.StringIO()
    monkeypatch.setattr(console, "PATIENCE_S", patience_s)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setattr(sys, "stdout", out)
    with console.progress("Working") as step:
        time.sleep(0.3)
        step(0.5)
        console.emit_json({"row": 1})
        console.say("aside")
    assert out.getvalue() == '{"row": 1}\n'  # a bar must not take what is printed for a file
    assert ("Working" in err.getvalue()) == drawn and "aside" in err.getvalue()


def test_no_bar_between_rows_on_the_same_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    err = Terminal()
    monkeypatch.setattr(console, "PATIENCE_S", 0.0)
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setattr(sys, "stdout", Terminal())
    with console.progress("Working", printing=True) as step:
        time.sleep(0.1)
        step(1.0)
    assert err.getvalue() == ""


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.__name__)
def test_help_has_examples(run: Run, command: object) -> None:
    name = command.__name__  # type: ignore[attr-defined]
    answer = run(name, "--help")
    assert answer.code == 0 and "Examples" in answer.out and f"kinepack {name}" in answer.out


@pytest.fixture
def ready(run: Run, here: Path) -> Path:
    assert run("compress", "walk.bvh", "-o", "walk.kine").code == 0
    return here


@pytest.mark.parametrize("example", [e for e in EXAMPLES if e.split()[1] not in ELSEWHERE])
def test_examples_run(run: Run, ready: Path, example: str) -> None:
    pytest.importorskip("matplotlib")
    arguments = shlex.split(example)
    assert arguments.pop(0) == "kinepack"
    answer = run(*arguments)
    assert answer.code == 0, answer.err


def test_docs_are_those_of_the_commands() -> None:
    written = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert written == page(), "run: python -m kinepack.cli.docs > docs/cli.md"
