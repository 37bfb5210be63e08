"""Meshes that a graphics processor decodes (Figure 8, Sattler 2005): its vertices are those of Python."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from web_support import Scenario, library_paths, loader, numbers, run_scenario, serving

import kinepack
from kinepack.model import MeshSequence
from kinepack.samples import fish
from kinepack.testing.sources import awkward_meshes

__all__ = ["loader", "run_scenario"]

LIBRARY = "/dist/kinepack.js"
NEAR = 1e-4
"""Of the bounding box's diagonal."""
SHARES = [0.0, 0.21, 0.5, 0.777, 1.0]
"""Places in the clip, most of them between two frames."""
CODECS = [
    "kine-mesh:bones=0",
    "kine-mesh:bones=0,step=0.05,segment_s=0.4",
    "kine-mesh:bones=8",
    "mesh-cpca",
    "mesh-cpca:k=9,c=5,means=true,index=bits,segment_s=0.4",
    "mesh-cpca:k=4,c=6,c_star=12",
    "mesh-pca",
    "mesh-pca-lpc:c=11,segment_s=0.4",
]
SEQUENCES = {
    "cesiumman_walk": "kine-mesh:bones=14",
    "mit_jumping_15fps": "kine-mesh:bones=0",
    "flamingo_fly": "kine-mesh",
}


def at_share(vertices: NDArray[np.float32], share: float) -> NDArray[np.float64]:
    """A place between two frames, on the straight line between them."""
    place = share * (len(vertices) - 1)
    before = int(place)
    after = min(before + 1, len(vertices) - 1)
    a, b = vertices[before].astype(float), vertices[after].astype(float)
    return np.asarray(a + (place - before) * (b - a))


def diagonal(vertices: NDArray[np.float32]) -> float:
    return float(np.linalg.norm(np.ptp(vertices.reshape(-1, 3).astype(float), axis=0)))


def check(run: Scenario, mesh: MeshSequence, codecs: list[str]) -> list[dict[str, Any]]:
    """Every codec, some places in time; gives what the browser told."""
    files = {f"{n}.kine": kinepack.compress(mesh, codec) for n, codec in enumerate(codecs)}
    with serving(library_paths(files)) as address:
        found = run("gpuVertices", url=f"{address}blank.html", library=LIBRARY, files=list(files), frames=SHARES)
    assert not found["faults"]
    for codec, data, result in zip(codecs, files.values(), found["results"], strict=True):
        assert "error" not in result and result["fault"] == 0, (codec, result)
        decoded = kinepack.open(data)[0].decode()
        assert isinstance(decoded, MeshSequence)
        for share, text in zip(SHARES, result["vertices"], strict=True):
            mine = numbers(text, np.float32).reshape(-1, 3)
            far = np.linalg.norm(mine - at_share(decoded.vertices, share), axis=1).max()
            assert far <= NEAR * diagonal(decoded.vertices), (codec, share, far / diagonal(decoded.vertices))
    results: list[dict[str, Any]] = found["results"]
    return results


def test_fish(run_scenario: Scenario) -> None:
    for result in check(run_scenario, fish(), CODECS):
        assert result["bytes"] < result["rawBytes"]


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences(run_scenario: Scenario, shared_data: Path, name: str) -> None:
    mesh = kinepack.read(shared_data / "mesh" / f"{name}.npz")
    assert isinstance(mesh, MeshSequence)
    for result in check(run_scenario, mesh, [SEQUENCES[name], "mesh-cpca:c=6,starts=1", "mesh-pca", "mesh-pca-lpc"]):
        assert result["bytes"] < result["rawBytes"]


def rough_sheet(rows: int = 72, columns: int = 80, frames: int = 96) -> MeshSequence:
    """A sheet that shakes so that no few components tell its motion."""
    random = np.random.default_rng(7)
    y, x = np.mgrid[:rows, :columns].astype(np.float32)
    rest = np.stack([x, y, 0 * x], axis=-1).reshape(-1, 3)
    corner = np.arange(rows * columns).reshape(rows, columns)
    a, b, c, d = (part.ravel() for part in (corner[:-1, :-1], corner[:-1, 1:], corner[1:, :-1], corner[1:, 1:]))
    faces = np.concatenate([np.stack([a, b, c], axis=1), np.stack([b, d, c], axis=1)]).astype(np.int32)
    shaken = rest + random.normal(scale=0.4, size=(frames, *rest.shape))
    return MeshSequence(shaken.astype(np.float32), faces, frame_time=1 / 30)


def test_many_vertices_and_components(run_scenario: Scenario) -> None:
    """Several rows of every texture, and more than 64 components."""
    codecs = ["kine-mesh:bones=0,descend=false", "mesh-cpca:k=3,c=66,starts=1", "mesh-pca:c=80", "mesh-pca-lpc:c=80"]
    for codec, result in zip(codecs, check(run_scenario, rough_sheet(), codecs), strict=True):
        assert result["components"] > 64, codec
        assert min(result["size"]) > 64


@pytest.mark.parametrize("name", awkward_meshes())
def test_awkward_meshes(run_scenario: Scenario, name: str) -> None:
    check(run_scenario, awkward_meshes()[name], ["kine-mesh", "mesh-cpca:k=2,c=3", "mesh-pca:c=3", "mesh-pca-lpc:c=3"])


def test_far_from_the_origin(run_scenario: Scenario) -> None:
    """What vertices have is kept in 16 bits about its middle: a mesh is as exact wherever it is."""
    mesh = fish()
    moved = MeshSequence(mesh.vertices + np.float32([60, -80, 30]), mesh.faces, frame_time=mesh.frame_time)
    check(run_scenario, moved, ["kine-mesh:bones=0", "kine-mesh:bones=8", "mesh-cpca", "mesh-pca"])


def test_only_products(run_scenario: Scenario) -> None:
    """A codec that is no product says so; the processor decodes it."""
    files = {"raw.kine": kinepack.compress(fish(), "raw")}
    with serving(library_paths(files)) as address:
        found = run_scenario("gpuVertices", url=f"{address}blank.html", library=LIBRARY, files=list(files), frames=[0])
    assert found["results"][0]["kind"] == "unsupported"


def forked(frames: int = 40) -> MeshSequence:
    """Three pages that meet at one edge and wave, a triangle without area, and a point that no face has."""
    sheet = rough_sheet(9, 9, 1)
    flat = (sheet.vertices[0].round() / 8).astype(np.float32)
    x, y = flat[:, 0], flat[:, 1]
    pages = [np.stack([x * np.cos(turn), y, x * np.sin(turn)], axis=1) for turn in (0, 2, 4)]
    spine = np.flatnonzero(x == 0)
    own = np.arange(3 * len(flat)).reshape(3, -1)
    own[1:, spine] = own[0, spine]
    faces = np.concatenate([row[sheet.faces] for row in own] + [np.array([[1, 1, 2]])])
    rest = np.concatenate([*pages, [[2, 2, 2]]])
    times = np.linspace(0, 3, frames)[:, None]
    waves = np.sin(times + 2 * rest[:, 1]) * np.hypot(rest[:, 0], rest[:, 2]) / 4
    moved = rest + waves[:, :, None] * np.array([1.0, 0.2, -0.7])
    return MeshSequence(moved.astype(np.float32), faces.astype(np.int32))


SMOOTH = """
import { readFileSync } from "node:fs";
const { KineLoader } = await import(process.argv[1]);
const smooth = async (file) => (await new KineLoader().parse(new Uint8Array(readFileSync(file)))).mesh.source.smooth;
console.log(JSON.stringify(await Promise.all(process.argv.slice(2).map(smooth))));
"""


def test_vertices_of_very_many_faces_are_flat(loader: bytes, tmp_path: Path) -> None:
    """A wheel: chaining the faces of its hub would take the square of their number."""
    (tmp_path / "loader.mjs").write_bytes(loader)
    places = []
    for spokes in (300, 3000):
        turn = np.linspace(0, 2 * np.pi, spokes, endpoint=False)
        rim = np.stack([np.cos(turn), np.sin(turn), 0 * turn], axis=1)
        frames = np.stack([np.concatenate([[[0, 0, height]], rim]) for height in (0, 1, 2)]).astype(np.float32)
        edge = np.arange(spokes)
        faces = np.stack([0 * edge, 1 + edge, 1 + (edge + 1) % spokes], axis=1).astype(np.int32)
        places.append(tmp_path / f"{spokes}.kine")
        places[-1].write_bytes(kinepack.compress(MeshSequence(frames, faces), "mesh-pca:c=1"))
    command = ["node", "--input-type=module", "-e", SMOOTH, str(tmp_path / "loader.mjs"), *map(str, places)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [True, False]


PICTURES: dict[str, tuple[MeshSequence, str, dict[str, bool]]] = {
    "kine-mesh": (fish(), "kine-mesh", {}),
    "cpca-shadow": (fish(), "mesh-cpca:k=5,c=8", {"shadow": True}),
    "pca-flat": (fish(), "mesh-pca:c=9", {"flat": True}),
    "forked": (forked(), "kine-mesh:step=0.2", {}),
}


@pytest.mark.parametrize("name", PICTURES)
def test_three_pictures(run_scenario: Scenario, loader: bytes, name: str) -> None:
    """three.js draws the same picture of a mesh that it decodes itself as of one decoded for it."""
    mesh, codec, options = PICTURES[name]
    data = kinepack.compress(mesh, codec)
    frame = 20.3
    with serving(library_paths({"loader.js": loader, "mesh.kine": data})) as address:
        found = run_scenario(
            "gpuPictures", url=f"{address}blank.html", loader="/loader.js", file="mesh.kine",
            seconds=frame * mesh.frame_time, screenshot=f"three-{name}",
            context={"viewport": {"width": 820, "height": 420}}, **options,
        )  # fmt: skip
    gpu, cpu = found["gpu"], found["cpu"]
    assert not found["faults"], found["faults"]
    assert (gpu["kind"], cpu["kind"]) == ("gpu", "cpu")
    assert found["lit"] > 5000 and found["unlike"] < found["lit"] / 100 and found["mean"] < 1
    decoded = kinepack.open(data)[0].decode()
    assert isinstance(decoded, MeshSequence)
    size = diagonal(decoded.vertices)
    wanted = at_share(decoded.vertices, frame / (mesh.frames - 1))
    assert np.abs(np.array(gpu["points"]) - wanted).max() <= NEAR * size
    assert len(gpu["hits"]) == len(cpu["hits"]) and np.allclose(gpu["hits"], cpu["hits"], atol=1e-3 * size)
    assert gpu["hits"] or name == "forked"  # a ray to the middle of that one finds nothing
    *centre, radius = gpu["sphere"]
    assert np.linalg.norm(wanted - centre, axis=1).max() <= radius * (1 + 1e-6)
    assert radius < 3 * size
    assert gpu["textures"] > gpu["left"]


def test_drawn_while_it_arrives(run_scenario: Scenario, loader: bytes) -> None:
    """Rows are uploaded as they come; a frame not here yet leaves the mesh as it is; a lost context comes back."""
    mesh = rough_sheet(20, 20, 90)
    data = kinepack.compress(mesh, "kine-mesh:bones=0,segment_s=0.25,descend=false")
    with serving(library_paths({"loader.js": loader, "sheet.kine": data})) as address:
        found = run_scenario(
            "gpuStreaming", url=f"{address}blank.html", loader="/loader.js", file="sheet.kine", rate=len(data) / 2,
            screenshot="three-streaming",
        )  # fmt: skip
    vertices = kinepack.open(data)[0].decode().vertices  # type: ignore[union-attr]
    assert found["early"] and found["drawings"] > 1 and found["ranges"] > 5
    assert found["held"] == found["first"]
    assert np.allclose(found["last"], vertices[-1, 0], atol=NEAR * diagonal(vertices))
    assert found["lit"] > 1000 and found["unlike"] == 0 and found["unlikeAfterLoss"] == 0
    assert not [fault for fault in found["faults"] if "Context Lost" not in fault], found["faults"]
