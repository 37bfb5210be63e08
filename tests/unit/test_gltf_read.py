"""glTF reading: the real files, hand-made awkward ones, and what must be refused."""

from __future__ import annotations

import base64
import json
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kinepack.errors import ConfigError, FormatError, LimitExceeded, UnsupportedContent
from kinepack.formats.base import FORMATS, ReadOptions
from kinepack.formats.gltf_animation import rate_of
from kinepack.formats.source import PathSource
from kinepack.formats.text import BytesSource
from kinepack.limits import Limits
from kinepack.math.kinematics import forward_kinematics
from kinepack.model import Clip, MeshSequence

pytest.importorskip("pygltflib", reason="glTF needs pygltflib")
GLTF = FORMATS["gltf"]
FLOAT, UBYTE, USHORT = 5126, 5121, 5123


class Sketch:
    """A glTF file put together by hand."""

    def __init__(self, **top: Any) -> None:
        self.data = b""
        self.table: dict[str, Any] = {"asset": {"version": "2.0"}, "accessors": [], "bufferViews": [], **top}

    def view(self, content: bytes, **fields: Any) -> int:
        self.data += b"\0" * (-len(self.data) % 4)
        entry = {"buffer": 0, "byteOffset": len(self.data), "byteLength": len(content), **fields}
        self.table["bufferViews"].append(entry)
        self.data += content
        return len(self.table["bufferViews"]) - 1

    def add(self, values: Any, kind: str, dtype: str = "<f4", **fields: Any) -> int:
        array = np.array(values, dtype)
        component = {"<f4": FLOAT, "u1": UBYTE, "<u2": USHORT, "i1": 5120, "<i2": 5122}[dtype]
        entry = {"componentType": component, "type": kind, "count": len(array), **fields}
        self.table["accessors"].append({"bufferView": self.view(array.tobytes()), **entry})
        return len(self.table["accessors"]) - 1

    def animate(self, node: int, path: str, times: Any, values: Any, kind: str, how: str = "LINEAR") -> None:
        sampler = {"input": self.add(times, "SCALAR"), "output": self.add(values, kind), "interpolation": how}
        animation = self.table.setdefault("animations", [{"channels": [], "samplers": []}])[0]
        animation["samplers"].append(sampler)
        target = {"node": node, "path": path}
        animation["channels"].append({"sampler": len(animation["samplers"]) - 1, "target": target})

    def source(self) -> BytesSource:
        uri = "data:application/octet-stream;base64," + base64.b64encode(self.data).decode()
        table = {"buffers": [{"byteLength": len(self.data), "uri": uri}], **self.table}
        return BytesSource("sketch.gltf", json.dumps(table).encode())

    def read(self, **options: Any) -> list[Any]:
        return GLTF.read(self.source(), ReadOptions(**options))


def two_nodes() -> list[dict[str, Any]]:
    return [{"name": "a", "children": [1]}, {"name": "b", "translation": [0, 1, 0]}]


def test_all_real_files_read_as_clips(shared_data: Path) -> None:
    expected = {
        "khronos_AnimatedMorphCube": [("Square", 127, 30.0)],
        "khronos_CesiumMan": [("khronos_CesiumMan", 48, 24.0)],
        "khronos_Fox": [("Survey", 83, 24.0), ("Walk", 18, 24.0), ("Run", 140, 120.0)],
        "khronos_MorphStressTest": [("Individuals", 281, 30.0), ("TheWave", 59, 30.0), ("Pulse", 191, 30.0)],
        "khronos_RiggedFigure": [("khronos_RiggedFigure", 31, 24.0)],
        "threejs_Horse": [("horse_A_", 16, 10.0)],
    }
    found = {}
    for path in sorted((shared_data / "glb").glob("*.glb")):
        clips = GLTF.read(PathSource(path), ReadOptions())
        assert all(isinstance(clip, Clip) and clip.unit_cm == 100 for clip in clips)
        found[path.stem] = [(clip.name, clip.frames, clip.fps) for clip in clips]
    assert found.items() >= expected.items()


@pytest.mark.parametrize(
    ("file", "baked", "first"),
    [("khronos_Fox", "fox_survey", 0), ("khronos_MorphStressTest", "morphstress_individuals", 1)],
)
def test_baking_agrees_with_meshes_baked_elsewhere(shared_data: Path, file: str, baked: str, first: int) -> None:
    mesh = GLTF.read(PathSource(shared_data / "glb" / f"{file}.glb"), ReadOptions(mesh=True, fps=30))[0]
    (reference,) = FORMATS["mesh-npz"].read(PathSource(shared_data / "mesh" / f"{baked}.npz"), ReadOptions())
    assert isinstance(mesh, MeshSequence) and isinstance(reference, MeshSequence)
    assert np.array_equal(mesh.faces, reference.faces)
    largest = np.abs(reference.vertices).max()
    assert np.abs(mesh.vertices - reference.vertices[first:]).max() < 1e-6 * largest


def test_every_real_file_bakes(shared_data: Path) -> None:
    for path in sorted((shared_data / "glb").glob("*.glb")):
        for mesh in GLTF.read(PathSource(path), ReadOptions(mesh=True)):
            assert isinstance(mesh, MeshSequence) and len(mesh.faces)


def test_linear_step_and_spline() -> None:
    sketch = Sketch(nodes=two_nodes())
    half = np.sqrt(0.5)
    sketch.animate(0, "rotation", [0, 1], [[0, 0, 0, 1], [0, 0, half, half]], "VEC4")
    sketch.animate(0, "translation", [0, 0.5, 1], [[0, 0, 0], [1, 0, 0], [2, 0, 0]], "VEC3", "STEP")
    tangent = [[0, 0, 0], [1, 1, 1], [0, 0, 0], [0, 0, 0], [3, 1, 1], [0, 0, 0]]
    sketch.animate(1, "scale", [0, 1], tangent, "VEC3", "CUBICSPLINE")
    (clip,) = sketch.read(fps=4)
    kinds = [channel.kind for channel in clip.skeleton.channels]
    assert kinds == ["tx", "ty", "tz", "qx", "qy", "qz", "qw", "sx", "sy", "sz"]
    assert clip.values[:, 0].tolist() == [0, 0, 1, 1, 2]
    angle = 2 * np.arctan2(clip.values[:, 5], clip.values[:, 6])
    assert np.allclose(angle, np.linspace(0, np.pi / 2, 5), atol=1e-6)
    smooth = [1 + 2 * (3 * t**2 - 2 * t**3) for t in (0, 0.25, 0.5, 0.75, 1)]
    assert np.allclose(clip.values[:, 7], smooth)


def test_every_component_type_and_strides_and_sparse_elements() -> None:
    sketch = Sketch(nodes=two_nodes())
    sketch.animate(0, "rotation", [0, 0.1], [[0, 0, 0, 1], [0, 0, 0, 1]], "VEC4")
    rows = np.array([[0, 0, 0, 127], [0, 0, 127, 0]], np.int8)
    view = sketch.view(np.pad(rows, ((0, 0), (0, 4))).tobytes(), byteStride=8)
    entry = {"bufferView": view, "componentType": 5120, "type": "VEC4", "count": 2, "normalized": True}
    sketch.table["accessors"].append(entry)
    sketch.table["animations"][0]["samplers"][0]["output"] = len(sketch.table["accessors"]) - 1
    places, values = sketch.view(b"\1"), sketch.view(np.array([5, 6, 7], "<f4").tobytes())
    sparse = {
        "count": 1,
        "indices": {"bufferView": places, "componentType": UBYTE},
        "values": {"bufferView": values},
    }
    sketch.table["accessors"].append({"componentType": FLOAT, "type": "VEC3", "count": 2, "sparse": sparse})
    sketch.animate(1, "translation", [0, 0.1], [[0, 0, 0], [0, 0, 0]], "VEC3")
    sketch.table["animations"][0]["samplers"][1]["output"] = len(sketch.table["accessors"]) - 3
    (clip,) = sketch.read()
    assert clip.values.tolist() == [[0, 0, 0, 1, 0, 0, 0], [0, 0, 1, 0, 5, 6, 7]]


def test_names_are_made_unique_and_parents_come_first() -> None:
    nodes = [{"name": "x"}, {"name": "x", "children": [0, 2]}, {}]
    sketch = Sketch(nodes=nodes)
    sketch.animate(0, "translation", [0, 0.1], [[0, 0, 0], [1, 0, 0]], "VEC3")
    (clip,) = sketch.read()
    assert [(j.name, j.parent) for j in clip.skeleton.joints] == [("x", -1), ("x_2", 0), ("node2", 0)]


def test_a_matrix_is_taken_apart() -> None:
    matrix = [0, 2, 0, 0, -3, 0, 0, 0, 0, 0, 4, 0, 5, 6, 7, 1]
    sketch = Sketch(nodes=[{"children": [1], "matrix": matrix}, {"translation": [1, 1, 1]}])
    sketch.animate(1, "rotation", [0, 0.1], [[0, 0, 0, 1], [0, 0, 0, 1]], "VEC4")
    (clip,) = sketch.read()
    joint = clip.skeleton.joints[0]
    assert np.allclose(joint.rest_scale, (2, 3, 4)) and joint.offset == (5, 6, 7)
    assert np.allclose(forward_kinematics(clip).origins[0, 1], (5 - 3, 6 + 2, 7 + 4))


def test_skins_pull_and_strips_turn() -> None:
    sketch = Sketch(nodes=[{"mesh": 0, "skin": 0}, {"name": "bone"}], scenes=[{"nodes": [0, 1]}])
    position = sketch.add([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], "VEC3")
    joints = sketch.add([[0, 0, 0, 0]] * 4, "VEC4", "u1")
    weights = sketch.add([[255, 0, 0, 0]] * 4, "VEC4", "u1", normalized=True)
    attributes = {"POSITION": position, "JOINTS_0": joints, "WEIGHTS_0": weights}
    sketch.table |= {"meshes": [{"primitives": [{"attributes": attributes, "mode": 5}]}], "skins": [{"joints": [1]}]}
    sketch.animate(1, "translation", [0, 0.1], [[0, 0, 0], [0, 0, 3]], "VEC3")
    (mesh,) = sketch.read(mesh=True)
    assert mesh.faces.tolist() == [[0, 1, 2], [1, 3, 2]]
    assert mesh.vertices[1, :, 2].tolist() == [3, 3, 3, 3]


def test_a_buffer_file_beside_it() -> None:
    sketch = Sketch(nodes=two_nodes())
    sketch.animate(1, "translation", [0, 0.1], [[0, 0, 0], [0, 0, 3]], "VEC3")
    table = {**sketch.table, "buffers": [{"byteLength": len(sketch.data), "uri": "my%20numbers.bin"}]}
    text = json.dumps(table).encode()
    (clip,) = GLTF.read(BytesSource("a.gltf", text, {"my numbers.bin": sketch.data}), ReadOptions())
    assert clip.frames == 2
    with pytest.raises(FormatError, match="not beside"):
        GLTF.read(BytesSource("a.gltf", text), ReadOptions())


@pytest.mark.parametrize(
    ("keys", "fps"),
    [
        (np.float32(np.arange(50) / 24), 24),
        (np.float32(np.arange(50) / 29.97), 30000 / 1001),
        (np.float32(np.array([0, 5, 7, 30]) / 30), 30),
        ([0.0, 1.25], 24),
        ([0.0, 0.3137, 0.777, 1.2345], 30),
        ([3.0], 30),
    ],
)
def test_the_rate_is_found_from_the_keys(keys: Any, fps: float) -> None:
    assert rate_of(np.asarray(keys, float)) == pytest.approx(fps, rel=1e-12)


def broken(change: Any) -> Sketch:
    sketch = Sketch(nodes=two_nodes())
    sketch.animate(0, "translation", [0, 0.1], [[0, 0, 0], [1, 0, 0]], "VEC3")
    change(sketch.table)
    return sketch


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.pop("animations"),
        lambda t: t["nodes"][1].update(children=[0]),
        lambda t: t["nodes"][0].update(children=[7]),
        lambda t: t["accessors"][0].update(count=9),
        lambda t: t["accessors"][0].update(count=-1),
        lambda t: t["accessors"][0].update(componentType=1),
        lambda t: t["bufferViews"][0].update(byteOffset=10**6),
        lambda t: t["animations"][0]["samplers"][0].update(input=99),
        lambda t: t["animations"][0]["samplers"][0].update(interpolation="WAVY"),
        lambda t: t["animations"][0]["channels"][0]["target"].update(node=5),
        lambda t: t["nodes"][0].update(rotation=[0, 0, 0]),
        lambda t: t["asset"].update(version="1.0"),
        lambda t: t.update(nodes=3),
        lambda t: t.update(asset=[]),
    ],
)
def test_damage_is_a_format_error_that_names_the_file(change: Any) -> None:
    with pytest.raises(FormatError) as caught:
        broken(change).read()
    assert caught.value.file == "sketch.gltf"


def test_compressed_files_are_refused_by_name() -> None:
    with pytest.raises(UnsupportedContent, match="EXT_meshopt_compression"):
        broken(lambda t: t.update(extensionsRequired=["EXT_meshopt_compression"])).read()


def test_sizes_are_charged_before_they_are_allocated() -> None:
    def huge(table: dict[str, Any], count: int = 10**12) -> None:
        table["accessors"][1] = {"componentType": FLOAT, "type": "VEC3", "count": count}

    with pytest.raises(LimitExceeded):
        broken(huge).read()
    with pytest.raises(FormatError, match="room"):  # zeros, which no bytes of the file stand for
        broken(lambda table: huge(table, 10**8)).read()
    sketch = Sketch(nodes=two_nodes())
    sketch.animate(0, "translation", [0, 1e9], [[0, 0, 0], [1, 0, 0]], "VEC3")
    with pytest.raises(LimitExceeded):
        sketch.read(limits=Limits(values=10**6))


def test_a_glb_cut_anywhere(shared_data: Path) -> None:
    data = (shared_data / "glb" / "khronos_AnimatedMorphCube.glb").read_bytes()
    for end in range(0, len(data), 97):
        with pytest.raises(FormatError):
            GLTF.read(BytesSource("cut.glb", data[:end]), ReadOptions())
    longer = struct.pack("<I", len(data) + 1)
    with pytest.raises(FormatError):
        GLTF.read(BytesSource("x.glb", data[:8] + longer + data[12:]), ReadOptions())


def test_the_library_is_asked_for_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygltflib", None)
    with pytest.raises(ConfigError) as caught:
        broken(lambda t: None).read()
    assert caught.value.hint == 'pip install "kinepack[gltf]"'
