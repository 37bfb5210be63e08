"""A way to run the command line in this process, and small files to run it on."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kinepack import samples, write
from kinepack.cli.app import app


@dataclasses.dataclass(frozen=True)
class Answer:
    """What one run of the command gave."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        """Of stderr."""
        return self.err.strip().splitlines()


Run = Callable[..., Answer]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.delenv("KINEPACK_DEBUG", raising=False)

    def run(*arguments: object) -> Answer:
        result = CliRunner().invoke(app, [str(a) for a in arguments], prog_name="kinepack")
        return Answer(result.exit_code, result.stdout, result.stderr)

    return run


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Short cuts of the embedded animations: walk.bvh, walk.amc with walk.asf, walk.npz, fish.npz."""
    folder = tmp_path_factory.mktemp("made")
    human = dataclasses.replace(samples.human().slice(200, 320), name="walk")
    fish = dataclasses.replace(samples.fish().slice(0, 8), name="fish")
    for name, model in {"walk.bvh": human, "walk.amc": human, "walk.npz": human, "fish.npz": fish}.items():
        write(model, folder / name)
    return folder


@pytest.fixture
def here(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own with the small files in it, as the current one."""
    for file in made.iterdir():
        shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path
