"""How soon the command answers: `python benches/startup.py`. Replaces benches/results/startup.jsonl.

Processor seconds of whole processes, the best of several, which a busy machine does not stretch.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from kinepack.evaluate import commit, machine

ROWS = Path(__file__).parent / "results" / "startup.jsonl"
COMMANDS = ("--version", "--help", "codecs")
RUNS = 5


def main() -> None:
    rows = []
    for command in COMMANDS:
        spent = min(processor_s([sys.executable, "-m", "kinepack", command]) for _ in range(RUNS))
        print(f"kinepack {command:10} {spent:.3f} s")
        rows.append({"bench": "startup", "command": command, "cpu_s": spent, "commit": commit(), "machine": machine()})
    ROWS.write_text("".join(json.dumps(row) + "\n" for row in rows))


def processor_s(arguments: list[str]) -> float:
    begin = os.times()
    subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL)
    end = os.times()
    return end.children_user + end.children_system - begin.children_user - begin.children_system


if __name__ == "__main__":
    main()
