"""Streams over slow and broken lines, in a real browser."""

from __future__ import annotations

from typing import Any

from slow_link import slow_link
from web_support import Scenario, library_paths, run_scenario, serving

import kinepack
from kinepack.samples import human

__all__ = ["run_scenario"]

LIBRARY = "/dist/kinepack.js"


def test_a_slow_line_starts_with_the_first_segment(run_scenario: Scenario) -> None:
    """At 32 kbit/s a clip plays long before its file has arrived, from one request."""
    data = kinepack.compress(human(), "kine", target="joint_rms<=0.1")
    with serving(library_paths({"walk.kine": data})) as address, slow_link(address, kbit_s=32) as slow:
        found = run_scenario("stream", url=f"{slow}blank.html", library=LIBRARY, file="walk.kine", watch=2)
    assert found["stalled"] == 0 and found["requests"] == 1
    assert found["arrived"] < len(data) / 2


def play(run: Scenario, data: bytes, line: dict[str, Any], **options: Any) -> dict[str, Any]:
    with serving(library_paths({"walk.kine": data})) as address, slow_link(address, **line) as slow:
        return run("playStream", url=f"{slow}blank.html", library=LIBRARY, file="walk.kine", options=options)


def test_a_seek_goes_first(run_scenario: Scenario) -> None:
    """What plays next is fetched next: the place that was sought is here long before what lies between."""
    data = kinepack.compress(human(), "raw:segment_s=0.25")
    found = play(run_scenario, data, {"kbit_s": 800}, seek=6.0, play=1.0)
    assert found["bytes"] < len(data) / 2
    assert 0 in found["afterSeek"][: len(found["afterSeek"]) // 2] and found["afterSeek"][24] > 0


def test_a_line_that_breaks_again_and_again(run_scenario: Scenario) -> None:
    """Each connection dies after 60 kB: the download goes on where it stopped, and hardly a byte comes twice."""
    data = kinepack.compress(human(), "raw:segment_s=0.25")
    found = play(run_scenario, data, {"kbit_s": 4000, "breaks_after": 60_000}, whole=True)
    assert found["complete"] and found["state"] == "idle"
    assert "lost" in found["events"] and found["events"][-1] == "resumed"
    assert len(data) <= found["bytes"] < 1.1 * len(data)


def test_layers_follow_the_throughput(run_scenario: Scenario) -> None:
    """A line that carries the lowest layer only: it plays without a stall. A fast one: every layer is shown."""
    clip = human()
    data = kinepack.compress(clip, "kine:error=0.005,layers=3,segment_s=0.5")
    with kinepack.open(data) as file:
        sizes = [(s.layer, s.stored) for s in file[0].record.segments]
    base = sum(size for layer, size in sizes if layer == 0) / clip.duration
    slow = play(run_scenario, data, {"kbit_s": 1.6 * 8e-3 * base}, play=5.0)
    fast = play(run_scenario, data, {"kbit_s": 20_000}, play=2.0, whole=True)
    assert slow["stalled"] == 0 and min(layers for _, layers in slow["shown"]) >= 1
    assert fast["complete"] and fast["stalled"] == 0
    assert sum(layers for _, layers in slow["arrived"]) < sum(layers for _, layers in fast["arrived"])
    assert fast["shown"][-1][1] == fast["layers"] == 3
