"""Every command and every line of Python in the documentation runs.

Blocks of one document run in order in one folder. The word after the fence decides: `console` blocks have commands
behind `$`, `python` blocks are scripts, and `no-run` marks what cannot run here.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import kinepack
from conftest import ROOT
from kinepack.samples import fish, human

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs" / "guides").glob("*.md"))]
NOT_CODE = {"text", "json", "html", "c"}
FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```[ ]*$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    line: int
    info: list[str]
    body: str


def blocks(document: Path) -> list[Block]:
    text = document.read_text(encoding="utf-8")
    return [Block(text.count("\n", 0, m.start()) + 1, m["info"].split(), m["body"]) for m in FENCE.finditer(text)]


def commands(body: str) -> Iterator[str]:
    """What follows each `$`, with the lines that a trailing backslash joins to it."""
    joined = body.replace("\\\n", " ")
    return (line[2:] for line in joined.splitlines() if line.startswith("$ "))


def run(command: list[str], folder: Path, place: str) -> None:
    tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = {**os.environ, "PATH": tools, "NO_COLOR": "1"}
    done = subprocess.run(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, f"{place}: {command[-1]}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_blocks_run(document: Path, tmp_path: Path) -> None:
    kinepack.write(human(), tmp_path / "walk.bvh")
    kinepack.write(fish(), tmp_path / "fish.npz")
    for block in blocks(document):
        place = f"{document.relative_to(ROOT)}:{block.line}"
        assert block.info, f"{place}: a code block needs to say what it is"
        if "no-run" in block.info or block.info[0] in NOT_CODE:
            continue
        assert block.info[0] in ("console", "python"), f"{place}: {block.info[0]} is neither run nor marked no-run"
        if block.info[0] == "python":
            run([sys.executable, "-c", block.body], tmp_path, place)
        for command in commands(block.body) if block.info[0] == "console" else ():
            run(["bash", "-c", command], tmp_path, place)


def test_links_lead_somewhere() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}"


def test_table_of_results_is_up_to_date() -> None:
    renew = [sys.executable, str(ROOT / "benches" / "readme_table.py"), "--check"]
    assert subprocess.run(renew).returncode == 0, "run: python benches/readme_table.py"


def test_table_of_layers_is_the_contract() -> None:
    import tomllib

    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = config["tool"]["importlinter"]["contracts"][0]["layers"]
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page.split("<!-- layers -->")[1].split("<!-- /layers -->")[0].strip().splitlines()[2:]
    documented = [re.findall(r"`(\w+)`", row.split("|")[1]) for row in table]
    assert documented == [layer.strip("()").split(" | ") for layer in contract]
