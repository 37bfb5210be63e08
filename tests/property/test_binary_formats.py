"""For any model a binary or mesh format can hold, read(write(model)) == model; for any bytes, only our own errors."""

from __future__ import annotations

import contextlib
import importlib.util
import tracemalloc
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from kinepack.errors import KinepackError
from kinepack.formats.base import FORMATS, ReadOptions, WriteOptions
from kinepack.formats.text import BytesSource
from kinepack.limits import Limits
from kinepack.math.kinematics import forward_kinematics
from kinepack.model import Channel, Clip, Joint, MeshSequence, Model, Skeleton

MESH_FORMATS = ("mesh-npz", "obj", "ply", "off", "pc2", "mdd")
BINARY = (*MESH_FORMATS, "npz", *(["gltf"] if importlib.util.find_spec("pygltflib") else []))
SMALL = Limits(joints=1000, channels=1000, frames=5000, vertices=5000, faces=5000, values=200_000, bytes=1 << 20)
rare = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
frame_times = st.floats(1e-3, 10.0)
names = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=6)


@st.composite
def meshes(draw: st.DrawFn, largest: float = 2.0**127) -> MeshSequence:
    frames, count = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    number = st.floats(-largest, largest, width=32)
    vertices = draw(hnp.arrays(np.float32, (frames, count, 3), elements=number))
    shape = st.tuples(st.integers(0, 5), st.just(3))
    faces = draw(hnp.arrays(np.int32, draw(shape), elements=st.integers(0, count - 1)))
    return MeshSequence(vertices, faces, draw(frame_times), "m", draw(st.floats(1e-3, 1e3)))


@st.composite
def clips(draw: st.DrawFn, kinds: tuple[str, ...] = ("t", "q", "r", "s")) -> Clip:
    count, frames = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    small = st.floats(-100, 100)
    vector = st.tuples(small, small, small)
    joints, channels = [], [Channel(0, "tx")]
    for index in range(count):
        joints.append(Joint(f"j{index}", draw(st.integers(-1, index - 1)), draw(vector)))
        for kind in draw(st.sets(st.sampled_from(kinds))) - ({"r"} if "q" in kinds and index % 2 else {"q"}):
            axes = "xyzw" if kind == "q" else "xyz"
            channels += [Channel(index, kind + axis) for axis in axes if (index, kind, axis) != (0, "t", "x")]
    values = draw(hnp.arrays(np.float64, (frames, len(channels)), elements=st.floats(0.25, 100)))
    skeleton = Skeleton(tuple(joints), tuple(channels), draw(st.floats(0.1, 100)))
    return Clip(skeleton, values, draw(frame_times), draw(names))


def written(format_id: str, model: Model) -> Mapping[str, bytes]:
    write = FORMATS[format_id].write
    assert write is not None
    return write([model], "m", WriteOptions()).files


def read_back(format_id: str, files: Mapping[str, bytes], **options: object) -> Model:
    first = next(iter(files))
    (model,) = FORMATS[format_id].read(BytesSource(first, files[first], files), ReadOptions(**options))  # type: ignore[arg-type]
    return model


@rare
@given(mesh=meshes(), format_id=st.sampled_from(MESH_FORMATS))
def test_meshes_come_back_exactly(mesh: MeshSequence, format_id: str) -> None:
    assert read_back(format_id, written(format_id, mesh)) == mesh


@rare
@given(clip=clips())
def test_clips_come_back_exactly_from_npz(clip: Clip) -> None:
    assert read_back("npz", written("npz", clip)) == clip


@rare
@given(clip=clips())
def test_clips_come_back_from_gltf_in_float32(clip: Clip) -> None:
    pytest.importorskip("pygltflib", reason="glTF needs pygltflib")
    back = read_back("gltf", written("gltf", clip))
    assert isinstance(back, Clip)
    assert (back.frames, back.frame_time, back.unit_cm) == (clip.frames, clip.frame_time, clip.unit_cm)
    assert [(j.name, j.parent) for j in back.skeleton.joints] == [(j.name, j.parent) for j in clip.skeleton.joints]
    ours, theirs = forward_kinematics(clip).origins, forward_kinematics(back).origins
    assert np.allclose(ours, theirs, rtol=1e-4, atol=1e-5 * max(1.0, float(np.abs(ours).max())))


@rare
@given(mesh=meshes(largest=2.0**20))
def test_meshes_come_back_from_gltf_in_float32(mesh: MeshSequence) -> None:
    pytest.importorskip("pygltflib", reason="glTF needs pygltflib")
    back = read_back("gltf", written("gltf", mesh))
    assert isinstance(back, MeshSequence)
    assert np.array_equal(back.faces, mesh.faces) and back.frame_time == mesh.frame_time
    assert np.allclose(back.vertices, mesh.vertices, rtol=1e-6, atol=1e-6 * float(np.abs(mesh.vertices).max()))


def example(format_id: str) -> Mapping[str, bytes]:
    rng = np.random.default_rng(0)
    if format_id in ("npz", "gltf"):
        joints = (Joint("a", -1), Joint("b", 0, (0.0, 1.0, 0.0)))
        channels = tuple(Channel(1, kind) for kind in ("tx", "qx", "qy", "qz", "qw"))
        return written(format_id, Clip(Skeleton(joints, channels), rng.normal(size=(9, 5))))
    faces = np.array([[0, 1, 2], [2, 3, 4]], np.int32)
    return written(format_id, MeshSequence(rng.normal(size=(3, 5, 3)).astype(np.float32), faces))


EXAMPLES = {format_id: example(format_id) for format_id in BINARY}


def only_our_errors(format_id: str, data: bytes) -> None:
    """Reads hostile bytes as the format's first file: a model or a KinepackError, and never much memory."""
    files = EXAMPLES[format_id]
    source = BytesSource(next(iter(files)), data, files)
    for mesh in (False, True):
        with contextlib.suppress(KinepackError):
            FORMATS[format_id].read(source, ReadOptions(mesh=mesh, limits=SMALL))


@pytest.mark.parametrize("format_id", BINARY)
def test_cut_anywhere(format_id: str) -> None:
    data = next(iter(EXAMPLES[format_id].values()))
    for end in range(0, len(data), max(1, len(data) // 200)):
        only_our_errors(format_id, data[:end])


@settings(max_examples=300, deadline=None)
@given(
    format_id=st.sampled_from(BINARY),
    changes=st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), min_size=1, max_size=8),
)
def test_changed_bytes(format_id: str, changes: list[tuple[int, int]]) -> None:
    data = bytearray(next(iter(EXAMPLES[format_id].values())))
    for place, value in changes:
        data[place % len(data)] = value
    only_our_errors(format_id, bytes(data))


@settings(max_examples=200, deadline=None)
@given(format_id=st.sampled_from(BINARY), data=st.binary(max_size=200), keep=st.integers(0, 40))
def test_random_bytes(format_id: str, data: bytes, keep: int) -> None:
    start = next(iter(EXAMPLES[format_id].values()))[:keep]
    only_our_errors(format_id, start + data)


@pytest.mark.parametrize("format_id", BINARY)
def test_hostile_files_take_little_memory(format_id: str) -> None:
    data = next(iter(EXAMPLES[format_id].values()))
    tracemalloc.start()
    try:
        for place in range(0, min(len(data), 4000), 3):
            only_our_errors(format_id, data[:place] + b"\xff\xff\xff\x7f" + data[place + 4 :])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 64 << 20
