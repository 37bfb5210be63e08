"""NumPy archives: our own, AMASS, DeepMimic and AMP; told apart by keys, read without trust."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kinepack
from kinepack.errors import FormatError, KinepackError, LimitExceeded, UnsupportedContent
from kinepack.formats.amass import smpl_skeleton
from kinepack.formats.archive import claimed_by, load_arrays, save_arrays
from kinepack.formats.base import FORMATS, ReadOptions, WriteOptions
from kinepack.formats.source import PathSource
from kinepack.formats.text import BytesSource
from kinepack.limits import Limits
from kinepack.math.kinematics import forward_kinematics
from kinepack.model import Channel, Clip, Joint, MeshSequence, Skeleton

NPZ = FORMATS["npz"]


def archive(**arrays: Any) -> BytesSource:
    return BytesSource("a.npz", save_arrays(arrays))


def some_clip() -> Clip:
    joints = (Joint("root", -1), Joint("é", 0, (1 / 3, 2.0, 0.1), end_sites=((0.0, 0.1, 0.2),)))
    channels = (Channel(0, "tx"), Channel(1, "rz", limit=(-5.0, 5.0)), Channel(-1, "scalar", "smile"))
    skeleton = Skeleton(joints, channels, 2.54, notes={"x": "y"})
    return Clip(skeleton, np.random.default_rng(1).normal(size=(5, 3)), 1 / 119.88, "gähn")


def write_npz(clip: Clip) -> bytes:
    assert NPZ.write is not None
    (content,) = NPZ.write([clip], "a", WriteOptions()).files.values()
    return content


def test_a_clip_comes_back_exactly_and_repeatably() -> None:
    clip = some_clip()
    content = write_npz(clip)
    assert NPZ.read(BytesSource("a.npz", content), ReadOptions()) == [clip]
    assert write_npz(clip) == content
    with np.load(io.BytesIO(content), allow_pickle=False) as plain:
        assert sorted(plain.files) == ["frame_time", "name", "skeleton", "values"]


def test_every_real_archive_reads_and_is_written_back(shared_data: Path, tmp_path: Path) -> None:
    paths = sorted((shared_data / "npz").rglob("*.npz")) + sorted((shared_data / "mesh").glob("*.npz"))
    assert paths
    for path in paths:
        (model,) = kinepack.read_all(path)
        again = tmp_path / path.name
        assert kinepack.write(model, again) == []
        (back,) = kinepack.read_all(again)
        assert back == model
        with np.load(path) as old, np.load(again) as new:
            assert set(old.files) <= set(new.files)
            assert all(np.allclose(old[key], new[key]) for key in old.files if old[key].dtype.kind == "f")


def test_deepmimic_feet_stay_near_the_ground(shared_data: Path) -> None:
    (clip,) = kinepack.read_all(shared_data / "npz" / "deepmimic" / "humanoid3d_walk.npz")
    assert isinstance(clip, Clip) and clip.frame_time == 0.033332 and clip.unit_cm == 100
    names = [joint.name for joint in clip.skeleton.joints]
    height = forward_kinematics(clip).origins[..., 1]
    assert -0.05 < height[:, names.index("left_ankle")].min() < 0.15
    assert height[:, names.index("neck")].min() > 1.0


def test_amp_world_rotations_become_local(shared_data: Path) -> None:
    path = shared_data / "npz" / "amp" / "amp_humanoid_walk.npz"
    (clip,) = kinepack.read_all(path)
    assert isinstance(clip, Clip)
    with np.load(path) as stored:
        arrays = {key: stored[key] for key in stored.files}
    from kinepack.math import rotation

    world = forward_kinematics(clip).rotations
    source = archive(**arrays | {"rotations_xyzw": rotation.matrix_to_quaternion(world), "is_local": np.array(False)})
    (again,) = FORMATS["deepmimic"].read(source, ReadOptions())
    assert isinstance(again, Clip)
    assert np.allclose(forward_kinematics(again).origins, forward_kinematics(clip).origins, atol=1e-5)


@pytest.mark.parametrize(("width", "joints"), [(66, 22), (72, 24), (156, 52), (165, 55)])
@pytest.mark.parametrize("key", ["mocap_framerate", "mocap_frame_rate"])
def test_amass_of_every_width(width: int, joints: int, key: str) -> None:
    rng = np.random.default_rng(0)
    poses, trans = rng.normal(size=(4, width)), rng.normal(size=(4, 3))
    arrays: dict[str, Any] = {"poses": poses, "trans": trans, key: np.array(59.94), "betas": rng.normal(size=16)}
    source = archive(**arrays, gender=np.array("female"), dmpls=np.zeros((4, 8)))
    assert claimed_by("amass", source)
    (clip,) = FORMATS["amass"].read(source, ReadOptions())
    assert isinstance(clip, Clip)
    assert len(clip.skeleton.joints) == joints and clip.frame_time == 1 / 59.94
    assert np.array_equal(clip.values[:, 3:], poses)
    back = load_arrays(write_npz(clip), (*arrays, "gender"))
    assert str(back["gender"]) == "female"
    assert all(np.array_equal(back[name], value) for name, value in arrays.items())
    still = clip.with_values(np.zeros_like(clip.values))
    origins = forward_kinematics(still).origins[0]
    assert 1.3 < np.ptp(origins[:, 1]) < 1.8  # from the feet to the head of a grown person


def test_amass_keeps_going_when_a_remark_is_pickled() -> None:
    buffer = io.BytesIO()
    pickled = np.array([{"a": 1}], dtype=object)
    np.savez(buffer, poses=np.zeros((2, 72)), trans=np.zeros((2, 3)), mocap_framerate=60.0, gender=pickled)
    (clip,) = FORMATS["amass"].read(BytesSource("a.npz", buffer.getvalue()), ReadOptions())
    assert clip.frames == 2


def test_a_changed_rig_is_written_in_our_own_layout() -> None:
    clip = Clip(smpl_skeleton(72, {"amass.rate": "60.0"}), np.zeros((2, 75)), 1 / 60)
    assert claimed_by("amass", BytesSource("a.npz", write_npz(clip)))
    other = Clip(clip.skeleton.with_unit(1.0), clip.values, 1 / 60)
    assert NPZ.read(BytesSource("a.npz", write_npz(other)), ReadOptions()) == [other]


def test_what_another_layout_rounds_is_told(shared_data: Path) -> None:
    assert NPZ.write is not None
    (clip,) = kinepack.read_all(shared_data / "npz" / "deepmimic" / "humanoid3d_walk.npz")
    assert isinstance(clip, Clip)
    assert NPZ.write([clip], "humanoid3d_walk", WriteOptions()).lost == []
    changed = Clip(clip.skeleton, clip.values + 1e-9, 1 / 24, "other")
    lost = NPZ.write([changed], "walk", WriteOptions()).lost
    assert [line.split(":")[0] for line in lost] == ["exact values", "exact frame time", "the name 'other'"]


def test_meshes() -> None:
    vertices = np.random.default_rng(2).normal(size=(3, 4, 3)).astype(np.float32)
    mesh = MeshSequence(vertices, np.array([[0, 1, 2]], np.int32), 1 / 29.97, "m", 2.54)
    form = FORMATS["mesh-npz"]
    assert form.write is not None
    (content,) = form.write([mesh], "a", WriteOptions()).files.values()
    assert form.read(BytesSource("a.npz", content), ReadOptions()) == [mesh]
    with pytest.raises(UnsupportedContent):
        form.write([some_clip()], "a", WriteOptions())
    bare = archive(vertices=vertices, faces=np.zeros((0, 3), np.int64))
    (back,) = form.read(bare, ReadOptions(fps=25))
    assert back.frame_time == 1 / 25


def raw_archive(header: bytes, body: bytes = b"", *, name: str = "values.npy") -> BytesSource:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target:
        padded = header.ljust(118) + b"\n"
        target.writestr(name, b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded + body)
    return BytesSource("a.npz", buffer.getvalue())


@pytest.mark.parametrize(
    "source",
    [
        BytesSource("a.npz", b""),
        BytesSource("a.npz", b"PK\3\4 not a zip"),
        raw_archive(b"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", b"cos\nsystem\n."),
        raw_archive(b"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999,)}"),
        raw_archive(b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 2)}"),
        raw_archive(b"__import__('os')"),
        raw_archive(b"{" * 100),
        archive(values=np.zeros((2, 1)), frame_time=np.array(0.1), skeleton=np.array("{}")),
        archive(values=np.zeros((2, 1)), frame_time=np.array("x"), skeleton=np.array("[]")),
        archive(frames=np.zeros((2, 45)), fps=np.array(30)),
        archive(frames=np.zeros((0, 44)), fps=np.array(30)),
        archive(poses=np.zeros((2, 70)), trans=np.zeros((2, 3)), mocap_framerate=np.array(60)),
        archive(poses=np.zeros((2, 72)), trans=np.zeros((1, 3)), mocap_framerate=np.array(60)),
        archive(poses=np.zeros((2, 72)), trans=np.zeros((2, 3)), mocap_framerate=np.array(0)),
        archive(poses=np.zeros((2, 72)), trans=np.zeros((2, 3))),
        archive(vertices=np.zeros((1, 2, 3)), faces=np.array([[0, 1, 2]])),
        archive(vertices=np.zeros((1, 2, 3)), faces=np.array([[0, 1, 2**32]])),
        archive(vertices=np.full((1, 3, 3), np.nan), faces=np.array([[0, 1, 2]])),
        archive(vertices=np.zeros((1, 3)), faces=np.array([[0, 1, 2]])),
        archive(something=np.zeros(3)),
    ],
)
def test_bad_archives_are_format_errors(source: BytesSource) -> None:
    claiming = [FORMATS[key] for key in FORMATS if ".npz" in FORMATS[key].extensions and FORMATS[key].claims(source)]
    assert len(claiming) == 1
    with pytest.raises(FormatError) as caught:
        claiming[0].read(source, ReadOptions())
    assert caught.value.file == "a.npz"


def test_limits_hold() -> None:
    source = BytesSource("a.npz", write_npz(some_clip()))
    for limits in (Limits(values=3), Limits(frames=2), Limits(joints=1), Limits(bytes=100)):
        with pytest.raises(LimitExceeded):
            NPZ.read(source, ReadOptions(limits=limits))


def test_a_member_that_lies_about_its_size() -> None:
    content = bytearray(write_npz(some_clip()))
    at = content.index(b"PK\1\2") + 24  # uncompressed size of the first member in the directory
    content[at : at + 4] = (2**31).to_bytes(4, "little")
    with pytest.raises(KinepackError):
        NPZ.read(BytesSource("a.npz", bytes(content)), ReadOptions())


def test_a_path_source_tells_kinds_apart(shared_data: Path) -> None:
    source = PathSource(shared_data / "mesh" / "cow_idle.npz")
    assert [key for key in FORMATS if ".npz" in FORMATS[key].extensions and FORMATS[key].claims(source)] == ["mesh-npz"]
