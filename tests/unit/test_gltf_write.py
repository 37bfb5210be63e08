"""glTF writing: numbers come back, any viewer shows something, and the official validator has nothing to say."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import kinepack
from kinepack.errors import UnsupportedContent
from kinepack.formats.base import FORMATS, ReadOptions, WriteOptions
from kinepack.formats.text import BytesSource
from kinepack.math.kinematics import forward_kinematics
from kinepack.model import Channel, Clip, Joint, MeshSequence, Model, Skeleton

pytest.importorskip("pygltflib", reason="glTF needs pygltflib")
GLTF, TEXT = FORMATS["gltf"], FORMATS["gltf-text"]
VALIDATORS = Path(__file__).parents[1] / "validators"


def written(models: Sequence[Model], stem: str = "out") -> bytes:
    assert GLTF.write is not None
    (content,) = GLTF.write(models, stem, WriteOptions()).files.values()
    return content


def reread(models: Sequence[Model], **options: bool) -> list[Model]:
    return GLTF.read(BytesSource("out.glb", written(models)), ReadOptions(**options))


def some_clip(frames: int = 7, unit_cm: float = 2.54, *, roots: int = 1, name: str = "walk") -> Clip:
    rng = np.random.default_rng(5)
    joints = [Joint(f"root{i}", -1) for i in range(roots)]
    turned = (0.0, 0.6, 0.0, 0.8)
    joints += [Joint("b", 0, (0.0, 2.0, 0.0), rest=turned), Joint("c", roots, (1.0, 0.5, 0.0), "zxy")]
    channels = [Channel(0, kind) for kind in ("tx", "ty", "tz", "qx", "qy", "qz", "qw")]
    channels += [Channel(roots + 1, kind) for kind in ("rz", "rx", "ry", "sx", "sy", "sz")]
    values = rng.normal(size=(frames, len(channels)))
    values[:, 3:7] /= np.linalg.norm(values[:, 3:7], axis=1, keepdims=True)
    values[:, 7:10] *= 60
    return Clip(Skeleton(tuple(joints), tuple(channels), unit_cm), values, 1 / 120, name)


def some_mesh(frames: int = 5, unit_cm: float = 1.0) -> MeshSequence:
    vertices = np.random.default_rng(3).normal(size=(frames, 4, 3)).astype(np.float32)
    return MeshSequence(vertices, np.array([[0, 1, 2], [0, 2, 3]], np.int32), 1 / 24, "cloth", unit_cm)


@pytest.mark.parametrize("roots", [1, 2])
@pytest.mark.parametrize("frames", [1, 7])
def test_clips_come_back_in_float32(frames: int, roots: int) -> None:
    clip = some_clip(frames, roots=roots)
    (back,) = reread([clip])
    assert isinstance(back, Clip)
    assert (back.frames, back.frame_time, back.name, back.unit_cm) == (frames, 1 / 120, "walk", 2.54)
    assert [(j.name, j.parent) for j in back.skeleton.joints] == [(j.name, j.parent) for j in clip.skeleton.joints]
    assert np.allclose(back.values[:, :3], clip.values[:, :3], rtol=1e-6, atol=1e-6)
    turned = np.sum(back.values[:, 3:7] * clip.values[:, 3:7], axis=1)  # q and -q are one rotation
    assert np.allclose(np.abs(turned), 1)
    ours, theirs = forward_kinematics(clip).origins, forward_kinematics(back).origins
    assert np.allclose(ours, theirs, rtol=1e-5, atol=1e-5)


def test_quaternions_keep_their_numbers() -> None:
    clip = some_clip()
    quaternions = Clip(Skeleton(clip.skeleton.joints, clip.skeleton.channels[:7], 2.54), clip.values[:, :7])
    (back,) = reread([quaternions])
    assert isinstance(back, Clip)
    assert back.skeleton.channels == quaternions.skeleton.channels
    assert np.allclose(back.values, quaternions.values, rtol=1e-6, atol=1e-7)


def test_several_clips_share_a_skeleton() -> None:
    clips = [some_clip(7, name="a"), some_clip(3, name="b")]
    back = reread(clips)
    assert [(m.name, m.frames) for m in back] == [("a", 7), ("b", 3)]
    other = Clip(Skeleton((Joint("z", -1),), (Channel(0, "tx"),), 2.54), np.zeros((1, 1)))
    with pytest.raises(UnsupportedContent, match="different skeletons"):
        written([clips[0], other])


def test_translations_are_metres_in_the_file() -> None:
    clip = some_clip(unit_cm=1.0)
    assert TEXT.write is not None
    (text,) = TEXT.write([clip], "out", WriteOptions()).files.values()
    table = json.loads(text)
    table["asset"].pop("extras")  # as if another program had written it
    (plain,) = TEXT.read(BytesSource("out.gltf", json.dumps(table).encode()), ReadOptions())
    assert isinstance(plain, Clip)
    assert plain.unit_cm == 100 and np.allclose(plain.values[:, :3], clip.values[:, :3] / 100)
    (back,) = TEXT.read(BytesSource("out.gltf", text), ReadOptions())
    assert isinstance(back, Clip)
    assert back.unit_cm == 1 and np.allclose(back.values[:, :3], clip.values[:, :3], atol=1e-6)


def test_there_is_something_to_see_and_it_moves() -> None:
    (mesh,) = reread([some_clip()], mesh=True)
    assert isinstance(mesh, MeshSequence)
    assert len(mesh.faces) == 16 and np.ptp(mesh.vertices, axis=0).max() > 0


@pytest.mark.parametrize("frames", [1, 2, 5])
def test_meshes_come_back_as_meshes(frames: int) -> None:
    mesh = some_mesh(frames)
    (back,) = reread([mesh])
    assert isinstance(back, MeshSequence)
    assert (back.frame_time, back.name, back.unit_cm) == (mesh.frame_time, mesh.name, mesh.unit_cm)
    assert np.array_equal(back.faces, mesh.faces)
    assert np.allclose(back.vertices, mesh.vertices, rtol=1e-6, atol=1e-6)


def test_points_without_faces() -> None:
    mesh = MeshSequence(some_mesh().vertices, np.zeros((0, 3), np.int32))
    (back,) = reread([mesh])
    assert isinstance(back, MeshSequence) and len(back.faces) == 0


def test_what_is_lost_is_told() -> None:
    assert GLTF.write is not None
    joint = Joint("a", -1, end_sites=((0.0, 1.0, 0.0),))
    channels = (Channel(0, "rx", limit=(-1.0, 1.0)), Channel(-1, "scalar", "smile"))
    lost = GLTF.write([Clip(Skeleton((joint,), channels), np.zeros((2, 2)))], "x", WriteOptions()).lost
    assert [line.split()[:2] for line in lost] == [["1", "end"], ["1", "scalar"], ["ranges", "of"]]
    assert "257" in GLTF.write([some_mesh(257)], "x", WriteOptions()).lost[0]


def test_what_glTF_cannot_hold_is_refused() -> None:  # noqa: N802
    face = Clip(Skeleton((), (Channel(-1, "scalar", "smile"),)), np.zeros((2, 1)))
    for models in ([face], [some_mesh(), some_mesh()], [some_mesh(), some_clip()], []):
        with pytest.raises(UnsupportedContent):
            written(models)


def test_the_same_clip_gives_the_same_bytes() -> None:
    assert written([some_clip()]) == written([some_clip()])


def validated(paths: Sequence[Path]) -> list[dict[str, object]]:
    node = shutil.which("node")
    if node is None or not (VALIDATORS / "node_modules" / "gltf-validator").is_dir():
        pytest.skip("the official glTF validator is not installed: npm ci in tests/validators, with Node.js")
    command = [node, str(VALIDATORS / "validate_glb.mjs"), *map(str, paths)]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return [json.loads(line) for line in run.stdout.splitlines()]


def assert_valid(folder: Path, models: dict[str, Sequence[Model]]) -> None:
    paths = []
    for name, content in models.items():
        paths.append(folder / f"{name}.glb")
        paths[-1].write_bytes(written(content, name))
    for report in validated(paths):
        assert (report["numErrors"], report["numWarnings"]) == (0, 0), report


def test_the_official_validator_agrees(tmp_path: Path) -> None:
    points = MeshSequence(some_mesh().vertices, np.zeros((0, 3), np.int32))
    lonely = Clip(Skeleton((Joint("a", -1),), (Channel(0, "tx"),)), np.zeros((1, 1)), name="still")
    flat = Clip(
        Skeleton((Joint("a", -1, rest_scale=(0.0, 1.0, 1.0)), Joint("b", 0, (1, 1, 1))), (Channel(0, "tx"),)),
        np.zeros((3, 1)),
    )
    models: dict[str, Sequence[Model]] = {"mesh": [some_mesh()], "still": [some_mesh(1)], "points": [points]}
    models |= {"clip": [some_clip()], "forest": [some_clip(roots=3)], "lonely": [lonely], "flat": [flat]}
    models |= {"several": [some_clip(7, name="a"), some_clip(3, name="b")]}
    assert_valid(tmp_path, models)


def test_the_official_validator_agrees_on_real_motion(tmp_path: Path, shared_data: Path) -> None:
    files = [
        *("glb/khronos_Fox.glb", "glb/khronos_CesiumMan.glb", "npz/amp/amp_humanoid_walk.npz"),
        *("npz/deepmimic/dog3d_canter.npz", "mesh/fox_survey.npz", "bvh/cmu/09_01.bvh"),
    ]
    present = [shared_data / file for file in files if (shared_data / file).is_file()]
    assert_valid(tmp_path, {path.stem: kinepack.read_all(path) for path in present})
