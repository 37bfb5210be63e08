"""Streams over slow and broken lines, in a real browser."""

from __future__ import annotations

from slow_link import slow_link
from web_support import Scenario, library_paths, run_scenario, serving

import kinepack
from kinepack.samples import human

__all__ = ["run_scenario"]

LIBRARY = "/dist/kinepack.js"


def test_a_slow_line_starts_with_the_first_segment(run_scenario: Scenario) -> None:
    """At 32 kbit/s a clip plays long before its file has arrived, from one request."""
    data = kinepack.compress(human(), "kine", target="joint_rms<=1")
    with serving(library_paths({"walk.kine": data})) as address, slow_link(address, kbit_s=32) as slow:
        found = run_scenario("stream", url=f"{slow}blank.html", library=LIBRARY, file="walk.kine", watch=2)
    assert found["stalled"] == 0 and found["requests"] == 1
    assert found["arrived"] < len(data) / 2
