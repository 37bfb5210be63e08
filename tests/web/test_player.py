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
from web_support import DESKTOP, PHONE, Scenario, library_paths, numbers, run_scenario, serving, shot_path

import kinepack
from kinepack.cli.places import Reading
from kinepack.cli.playing import Making, assets, served, show_of, standalone
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
    several = kinepack.compress(clip, "delta-lzma", target="joint_rms<=3,1,0.3,0.1")
    (place / "qualities.kine").write_bytes(several)
    (place / "layers.kine").write_bytes(kinepack.compress(clip, "kine:error=0.05,layers=3"))
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
            return stack.enter_context(serving(served(show_of(files, original, Reading()), pages)))

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
    assert (found["still"]["speed"], found["faster"]["speed"]) == (1, 2)
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


SHOWN = {
    "skeleton": (["qualities.kine"], "walk.npz", 130),
    "mesh": (["fish.kine"], "fish.npz", 40),
    "mesh-gpu": (["fish-kine-mesh.kine", "fish-mesh-cpca.kine"], "fish.npz", 40),
}
"""Name -> files, their original, and the frame of the pictures."""
VIEWS = {
    "overlay": ("overlay", []),
    "side-by-side": ("side", ["v"]),
    "compressed": ("copy", ["v"]),
    "heat": ("copy", ["h"]),
    "original": ("original", ["h", "v"]),
}
"""Name -> state of the page, and the keys that lead there from the view before."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", ["desktop", "phone"])
@pytest.mark.parametrize("kind", SHOWN)
def test_views(run_scenario: Scenario, page: Any, kind: str, size: str, scheme: str) -> None:
    """Every view is drawn and fits the screen; a picture of each is kept in build/screenshots."""
    files, reference, frame = SHOWN[kind]
    address = page(*files, reference=reference)
    context = {**(DESKTOP if size == "desktop" else PHONE), "colorScheme": scheme}
    shots = [
        {"name": name, "keys": keys, "path": shot_path(f"{kind}-{name}-{size}-{scheme}")}
        for name, (_, keys) in VIEWS.items()
    ]
    found = run_scenario("views", url=address, frame=frame, context=context, shots=shots)
    for shot in found["shots"]:
        assert shot["state"]["view"] == VIEWS[shot["name"]][0]
        assert shot["lit"] > 500 and shot["overflow"] <= 0
    side = found["shots"][1]["state"]
    assert side["panes"] == ("row" if size == "desktop" else "column")
    check_clean(found, address)


def test_errors_are_those_of_python(run_scenario: Scenario, page: Any, folder: Path) -> None:
    address = page("coarse.kine", "fine.kine", reference="walk.npz")
    found = run_scenario("qualities", url=address, screenshot="qualities")
    copies = [kinepack.read(folder / f"{name}.kine") for name in ("coarse", "fine")]
    check_steps(found["steps"], copies)


def check_steps(steps: list[dict[str, Any]], copies: list[Any]) -> None:
    """The slider's stops, smallest first, have the errors of the copies."""
    for step, copy in zip(steps, copies, strict=True):
        metrics = kinepack.compare(human(), copy)
        assert step["rms"] == pytest.approx(metrics["joint_rms"], rel=1e-3)
        assert step["largest"] == pytest.approx(metrics["joint_max"], rel=1e-3)
    errors = [step["rms"] for step in steps]
    assert errors == sorted(errors, reverse=True)


def test_qualities_of_one_file(run_scenario: Scenario, page: Any, folder: Path) -> None:
    """Clips of several targets in one file are stops of the slider."""
    found = run_scenario("qualities", url=page("qualities.kine", reference="walk.npz"), screenshot="qualities-one-file")
    with kinepack.open(folder / "qualities.kine") as file:
        assert [clip.name for clip in file.clips()] == [f"{human().name} joint_rms<={v}" for v in (3, 1, 0.3, 0.1)]
        check_steps(found["steps"], [clip.decode() for clip in file.clips()])


def test_layers_of_one_file(run_scenario: Scenario, page: Any, folder: Path) -> None:
    """So are the layers of one clip."""
    found = run_scenario("qualities", url=page("layers.kine", reference="walk.npz"), screenshot="qualities-layers")
    check_steps(found["steps"], [kinepack.decompress(folder / "layers.kine", layers=n) for n in (1, 2, 3)])


def test_compresses_what_it_plays(run_scenario: Scenario, folder: Path, pages: dict[str, bytes]) -> None:
    """A motion file with targets is shown in those qualities beside itself."""
    making = Making("delta-lzma", "joint_rms<=0.1,1")
    with serving(served(show_of([str(folder / "walk.npz")], None, Reading(), making), pages)) as address:
        found = run_scenario("qualities", url=address)
    worst, best = (step["rms"] for step in found["steps"])
    assert worst <= 1 and best <= 0.1


def test_keyboard(run_scenario: Scenario, page: Any) -> None:
    """Everything can be reached, is named and shows its focus; keys and mouse turn the camera."""
    found = run_scenario("keyboard", url=page("qualities.kine", reference="walk.npz"))
    reached = {stop["id"] for stop in found["stops"]}
    assert reached >= {
        "item",
        "view",
        "play",
        "back",
        "forth",
        "loop",
        "speed",
        "timeline",
        "heat",
        "follow",
        "rate",
        "tr",
    }
    assert all(stop["name"] and stop["shown"] for stop in found["stops"]), found["stops"]
    start, by_keys, by_mouse = (np.array(arm) for arm in found["arms"])
    assert np.linalg.norm(by_keys) < 0.95 * np.linalg.norm(start)
    assert np.linalg.norm(by_mouse - by_keys) > 0.1 * np.linalg.norm(by_keys)
    assert found["next"]["selected"] != found["first"]["selected"]


def test_mesh_on_the_gpu(run_scenario: Scenario, page: Any, folder: Path) -> None:
    """A mesh that is drawn from its compressed form has the errors of Python's."""
    address = page("fish-kine-mesh.kine", "fish-mesh-cpca.kine", reference="fish.npz")
    found = run_scenario("views", url=address, frame=40, shots=[])
    assert re.search(r"fish-kine-mesh.kine\s+GPU\s+[0-9.]+ kB\s+1.1 MB", found["held"])
    assert re.search(r"Original\s+CPU", found["held"])
    original, copy = fish(), kinepack.open(folder / "fish-kine-mesh.kine")[0].decode()
    far = np.linalg.norm(original.vertices.astype(float) - copy.vertices, axis=2) * original.unit_cm
    assert found["state"]["errors"]["rms"] == pytest.approx(np.sqrt((far**2).mean()), rel=1e-3)
    assert found["state"]["errors"]["largest"] == pytest.approx(far.max(), rel=1e-3)
    check_clean(found, address)


def test_mesh_without_the_gpu(run_scenario: Scenario, page: Any) -> None:
    """A device that cannot run the shader draws the mesh all the same."""
    found = run_scenario("gpuRefused", url=page("fish-kine-mesh.kine"), screenshot="mesh-gpu-refused")
    assert re.search(r"fish-kine-mesh.kine\s+CPU", found["held"]) and not found["message"]


def test_survives_a_cut(run_scenario: Scenario, page: Any) -> None:
    """The connection breaks in the middle of the file and comes back: nothing is lost, nothing is asked for twice."""
    address = page("plain.kine")
    found = run_scenario("cut", url=address, rate=40_000)
    assert not found["before"]["complete"] and not found["during"]["complete"]
    assert found["after"]["complete"] and not found["after"]["message"]


def test_standalone_page(run_scenario: Scenario, folder: Path, pages: dict[str, bytes], tmp_path: Path) -> None:
    text = standalone(show_of([str(folder / "coarse.kine")], str(folder / "walk.npz"), Reading()), pages)
    assert "default-src 'none'" in text
    path = tmp_path / "report.html"
    path.write_text(text, encoding="utf-8")
    shot = {"name": "overlay", "keys": [], "path": shot_path("standalone")}
    found = run_scenario("views", url=path.as_uri(), frame=40, shots=[shot])
    assert found["shots"][0]["state"]["errors"]["rms"] > 0 and found["shots"][0]["lit"] > 500
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
    with serving(served(show_of([str(folder / "fine.kine")], None, Reading()), pages)) as address:
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
