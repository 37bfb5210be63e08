"""A browser for the tests: what must be there, a server of files, and a way to run a scenario."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import ROOT
from kinepack.cli.play_server import Served, make_server
from kinepack.container.source import BytesSource

HERE = Path(__file__).parent
WEB = ROOT / "web"
SCREENSHOTS = ROOT / "build" / "screenshots"
"""Where a picture of every view is kept."""
KINDS = {".js": "text/javascript", ".html": "text/html", ".kine": "application/octet-stream"}
DESKTOP = {"viewport": {"width": 1280, "height": 800}}
PHONE = {"viewport": {"width": 390, "height": 844}, "deviceScaleFactor": 2, "hasTouch": True, "isMobile": True}

Scenario = Callable[..., dict[str, Any]]


def _chromium() -> str:
    found = next(
        (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
    )
    if found is None:
        pytest.skip("no Chromium is installed")
    return found


def _check_built() -> None:
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    if not (WEB / "node_modules" / "playwright-core").is_dir() or not (WEB / "dist" / "kinepack.js").is_file():
        pytest.skip("the web package is not built: make player")


@pytest.fixture(scope="session")
def run_scenario(tmp_path_factory: pytest.TempPathFactory) -> Scenario:
    """Runs a function of scenarios.mjs with options."""
    return scenario_runner(tmp_path_factory.mktemp("scenarios"))


def scenario_runner(folder: Path) -> Scenario:
    """The same outside of tests; skips where something is missing."""
    _check_built()
    chromium = _chromium()

    def run(name: str, **options: Any) -> dict[str, Any]:
        path = folder / f"{uuid.uuid4().hex}.json"
        if "screenshot" in options:
            options["screenshot"] = shot_path(options["screenshot"])
        modules = str(WEB / "package.json")
        path.write_text(json.dumps({"chromium": chromium, "modules": modules, **options}), encoding="utf-8")
        done = subprocess.run(
            ["node", str(HERE / "browser.mjs"), name, str(path)], capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr[-4000:]
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    return run


@pytest.fixture(scope="session")
def loader(tmp_path_factory: pytest.TempPathFactory, run_scenario: Scenario) -> bytes:
    """The three.js loader and three.js in one file, as an application's bundler would make it."""
    out = tmp_path_factory.mktemp("loader") / "loader.js"
    entry = 'export * from "./dist/three.js"; export * from "three";'
    subprocess.run(
        ["node_modules/.bin/esbuild", "--bundle", "--format=esm", "--target=es2022", f"--outfile={out}"],
        cwd=WEB, input=entry, text=True, check=True, capture_output=True,
    )  # fmt: skip
    return out.read_bytes()


def shot_path(name: str) -> str:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    return str(SCREENSHOTS / f"{name}.png")


@contextmanager
def serving(paths: Mapping[str, Served]) -> Iterator[str]:
    """The address of a server of `paths`."""
    with make_server(paths, 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()


def library_paths(files: Mapping[str, bytes]) -> dict[str, Served]:
    """The npm package, an empty page, and files."""
    parts = {f"/dist/{path.name}": path.read_bytes() for path in (WEB / "dist").glob("*.js")}
    parts["/blank.html"] = b"<!doctype html><title>blank</title><link rel='icon' href='data:,'>"
    parts |= {f"/{name}": data for name, data in files.items()}
    return {name: Served(KINDS[Path(name).suffix], BytesSource(data)) for name, data in parts.items()}


def numbers(text: str, dtype: Any) -> Any:
    """An array that the page sent as base64."""
    return np.frombuffer(base64.b64decode(text), dtype)
