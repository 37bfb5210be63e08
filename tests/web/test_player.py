"""The player's page in a real browser."""

from __future__ import annotations

import http.client
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from web_support import DESKTOP, PHONE, Scenario, library_paths, numbers, run_scenario, serving

import kinepack
from kinepack.cli.places import Reading
from kinepack.cli.playing import assets, served, standalone
from kinepack.errors import ConfigError
from kinepack.samples import fish, human

__all__ = ["run_scenario"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("player")
    clip, mesh = human(), fish()
    kinepack.write(clip, place / "walk.npz")
    kinepack.write(mesh, place / "fish.npz")
    for name, step in (("coarse", 2.0), ("fine", 0.2)):
        data = kinepack.compress(clip, f"delta-lzma:step={step},segment_s=0.5")
        (place / f"{name}.kine").write_bytes(data)
    (place / "fish.kine").write_bytes(kinepack.compress(mesh, "delta-lzma:step=0.5"))
    for codec in ("kine-mesh:step=3", "mesh-cpca:k=3,c=4"):
        (place / f"fish-{codec.partition(':')[0]}.kine").write_bytes(kinepack.compress(mesh, codec))
    (place / "short.kine").write_bytes(kinepack.compress(clip.slice(0, 60), "delta-lzma:step=0.5"))
    (place / "plain.kine").write_bytes(kinepack.compress(clip, "raw:segment_s=0.25"))
    return place


@pytest.fixture(scope="module")
def pages(run_scenario: Scenario) -> dict[str, bytes]:
    try:
        return assets()
    except ConfigError as error:
        pytest.skip(str(error))


@pytest.fixture
def page(folder: Path, pages: dict[str, bytes]) -> Iterator[Any]:
    """Serves the player for some files; gives the address."""
    from contextlib import ExitStack

    with ExitStack() as stack:

        def start(*names: str, reference: str | None = None) -> str:
            files = [str(folder / name) for name in names]
            original = str(folder / reference) if reference else None
            return stack.enter_context(serving(served(files, original, Reading(), pages)))

        yield start


def check_clean(found: dict[str, Any], address: str) -> None:
    """No error in the page, no request to anywhere else."""
    assert not found["faults"], found["faults"]
    assert found["hosts"] in ([], [urlsplit(address).netloc])


def test_plays_and_pauses(run_scenario: Scenario, page: Any) -> None:
    address = page("coarse.kine", reference="walk.npz")
    found = run_scenario("play", url=address)
    assert found["first"]["playing"] and found["later"]["time"] > found["first"]["time"]
    assert not found["paused"]["playing"] and found["still"]["frame"] == found["paused"]["frame"]
    check_clean(found, address)


def test_seeks(run_scenario: Scenario, page: Any) -> None:
    found = run_scenario("seek", url=page("coarse.kine", reference="walk.npz"))
    frames = found["middle"]["frames"]
    assert abs(found["middle"]["frame"] - frames / 2) <= frames / 100
    assert found["next"]["frame"] == found["middle"]["frame"] + 1
    assert (found["start"]["frame"], found["end"]["frame"]) == (0, frames - 1)


def test_loops(run_scenario: Scenario, page: Any) -> None:
    found = run_scenario("loop", url=page("short.kine"))
    assert found["looped"]["playing"]  # the scenario has waited until a frame before the last was shown again
    assert found["ended"]["frame"] == found["ended"]["frames"] - 1


VIEWS = {
    "overlay": [],
    "side-by-side": ["v"],
    "copy-heat": ["v", "v", "h"],
    "original": ["v", "v", "v"],
}


@pytest.mark.parametrize("size", ["desktop", "phone"])
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("kind", ["skeleton", "mesh"])
def test_views(run_scenario: Scenario, page: Any, kind: str, view: str, size: str) -> None:
    skeleton = kind == "skeleton"
    address = (
        page("coarse.kine", "fine.kine", reference="walk.npz") if skeleton else page("fish.kine", reference="fish.npz")
    )
    context = {
        **(DESKTOP if size == "desktop" else PHONE),
        "colorScheme": "dark" if view == "side-by-side" else "light",
    }
    found = run_scenario(
        "view", url=address, keys=VIEWS[view], frame=40, context=context, screenshot=f"{kind}-{view}-{size}"
    )
    wanted = {"overlay": "overlay", "side-by-side": "side", "copy-heat": "copy", "original": "original"}[view]
    assert found["state"]["view"] == wanted
    assert found["lit"] > 500
    assert found["overflow"] <= 0
    if view == "side-by-side":
        assert found["state"]["panes"] == ("row" if size == "desktop" else "column")
    check_clean(found, address)


def test_errors_are_those_of_python(run_scenario: Scenario, page: Any, folder: Path) -> None:
    address = page("coarse.kine", "fine.kine", reference="walk.npz")
    found = run_scenario("qualities", url=address, screenshot="qualities")
    smallest, largest = found["steps"]
    for step, name in ((smallest, "coarse"), (largest, "fine")):
        metrics = kinepack.compare(folder / "walk.npz", folder / f"{name}.kine")
        assert step["rms"] == pytest.approx(metrics["joint_rms"], rel=1e-3)
        assert step["largest"] == pytest.approx(metrics["joint_max"], rel=1e-3)
    assert largest["rms"] < smallest["rms"]


@pytest.mark.parametrize("size", ["desktop", "phone"])
@pytest.mark.parametrize("view", VIEWS)
def test_views_of_a_mesh_on_the_gpu(run_scenario: Scenario, page: Any, folder: Path, view: str, size: str) -> None:
    """A mesh is drawn from its compressed form; its errors are those of Python, by colour and in the table."""
    address = page("fish-kine-mesh.kine", "fish-mesh-cpca.kine", reference="fish.npz")
    found = run_scenario(
        "view", url=address, keys=VIEWS[view], frame=40, context=DESKTOP if size == "desktop" else PHONE,
        screenshot=f"gpu-{view}-{size}",
    )  # fmt: skip
    assert found["lit"] > 500 and found["overflow"] <= 0
    assert re.search(r"fish-kine-mesh.kine\s+GPU\s+[0-9.]+ kB\s+1.1 MB", found["held"])
    assert re.search(r"Original\s+CPU", found["held"])
    original, copy = fish(), kinepack.open(folder / "fish-kine-mesh.kine")[0].decode()
    far = np.linalg.norm(original.vertices.astype(float) - copy.vertices, axis=2) * original.unit_cm
    assert found["state"]["errors"]["rms"] == pytest.approx(np.sqrt((far**2).mean()), rel=1e-3)
    assert found["state"]["errors"]["largest"] == pytest.approx(far.max(), rel=1e-3)
    check_clean(found, address)


def test_survives_a_cut(run_scenario: Scenario, page: Any) -> None:
    """The connection breaks in the middle of the file and comes back: nothing is lost, nothing is asked for twice."""
    address = page("plain.kine")
    found = run_scenario("cut", url=address, rate=300_000)
    assert not found["before"]["complete"] and not found["during"]["complete"]
    assert found["after"]["complete"] and not found["after"]["message"]


def test_standalone_page(run_scenario: Scenario, folder: Path, pages: dict[str, bytes], tmp_path: Path) -> None:
    text = standalone([str(folder / "coarse.kine")], str(folder / "walk.npz"), Reading(), pages)
    path = tmp_path / "report.html"
    path.write_text(text, encoding="utf-8")
    found = run_scenario("view", url=path.as_uri(), frame=40, screenshot="standalone")
    assert found["state"]["errors"]["rms"] > 0 and found["lit"] > 500
    check_clean(found, "http://nowhere")


def test_stream_starts_soon_and_does_not_stall(run_scenario: Scenario) -> None:
    """A clip that needs less than the connection gives."""
    data = kinepack.compress(human(), "delta-lzma:step=2,segment_s=0.5")
    with serving(library_paths({"walk.kine": data})) as address:
        found = run_scenario(
            "stream", url=f"{address}blank.html", library="/dist/kinepack.js", file="walk.kine", rate=20_000, watch=4
        )
    assert found["startMs"] < 1000
    assert found["stalled"] == 0


def test_layers_arrive(run_scenario: Scenario) -> None:
    """Base layers before refinements; a run shows what Python makes of the layers that are here, at every moment."""
    data = kinepack.compress(human(), "kine:error=0.02,layers=3,segment_s=1")
    with serving(library_paths({"walk.kine": data})) as address:
        found = run_scenario(
            "layers", url=f"{address}blank.html", library="/dist/kinepack.js", file="walk.kine", rate=30_000
        )
    wanted = [kinepack.open(data)[0].decode(layers=n).values for n in (1, 2, 3)]
    for values, text in zip(wanted, found["whole"], strict=True):
        assert np.allclose(numbers(text, float), values.ravel(), rtol=1e-9, atol=1e-7)
    order = [(run["run"], run["layers"]) for run in found["arrived"]]
    assert order[:3] == [(0, 1), (1, 1), (2, 1)]
    assert sorted(order) == [(run, layers) for run in range(found["runs"]) for layers in (1, 2, 3)]
    for run in found["arrived"]:
        part = wanted[run["layers"] - 1][run["first"] : run["first"] + run["frames"]]
        assert np.allclose(numbers(run["values"], float), part.ravel(), rtol=1e-9, atol=1e-7)


def test_server_refuses_strangers(folder: Path, pages: dict[str, bytes]) -> None:
    with serving(served([str(folder / "fine.kine")], None, Reading(), pages)) as address:
        place = urlsplit(address).netloc

        def ask(path: str, **headers: str) -> tuple[int, bytes, str]:
            connection = http.client.HTTPConnection(place, timeout=5)
            connection.request("GET", path, headers={k.title(): v for k, v in headers.items()})
            answer = connection.getresponse()
            found = answer.status, answer.read(), answer.headers["Content-Security-Policy"]
            connection.close()
            return found

        assert ask("/", host="evil.example")[0] == 403
        assert ask("/../pyproject.toml")[0] == 404
        assert ask("/files/0.kine", range="bytes=99999999-")[0] == 416
        assert ask("/files/0.kine", range="bytes=-4")[0] == 206
        status, body, policy = ask("/files/0.kine", range="bytes=0-4")
        assert (status, body) == (206, b"\x8bKNE\x01")
        assert "default-src 'none'" in policy and "unsafe-inline" not in policy
