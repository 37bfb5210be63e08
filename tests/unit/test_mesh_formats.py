"""OBJ, PLY and OFF sequences, PC2 and MDD: what was written comes back, and what others write is understood."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

import kinepack
from kinepack.errors import FormatError, LimitExceeded, UnsupportedContent
from kinepack.formats.base import FORMATS, ReadOptions, WriteOptions
from kinepack.formats.sequence import numbered_run, sequence_name
from kinepack.formats.text import BytesSource
from kinepack.limits import Limits
from kinepack.model import MeshSequence

SEQUENCES = ("obj", "ply", "off")
ALL = (*SEQUENCES, "pc2", "mdd")
TRIANGLE = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"


def some_mesh(frames: int = 12, *, faces: bool = True) -> MeshSequence:
    rng = np.random.default_rng(frames)
    vertices = (rng.normal(size=(frames, 5, 3)) * 10.0 ** rng.integers(-30, 30, (frames, 5, 3))).astype(np.float32)
    triangles = np.array([[0, 1, 2], [2, 3, 4]] if faces else np.zeros((0, 3)), np.int32)
    return MeshSequence(vertices, triangles, 1 / 29.97, "cloth", 2.54)


def read_one(extension: str, data: bytes, **beside: bytes) -> MeshSequence:
    files = {name.replace("__", "."): content for name, content in beside.items()}
    (mesh,) = FORMATS[extension].read(BytesSource(f"mesh.{extension}", data, files), ReadOptions())
    assert isinstance(mesh, MeshSequence)
    return mesh


@pytest.mark.parametrize("faces", [True, False])
@pytest.mark.parametrize("extension", ALL)
def test_every_number_comes_back(extension: str, faces: bool) -> None:
    form, mesh = FORMATS[extension], some_mesh(faces=faces)
    assert form.write is not None
    written = form.write([mesh], "cloth", WriteOptions())
    assert not written.lost
    first = next(iter(written.files))
    assert form.read(BytesSource(first, written.files[first], written.files), ReadOptions()) == [mesh]


@pytest.mark.parametrize("extension", SEQUENCES)
def test_folders_and_files_on_disk(extension: str, tmp_path: Path) -> None:
    mesh = some_mesh(3)
    kinepack.write(mesh, tmp_path / f"cloth.{extension}")
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"cloth_{i:04d}.{extension}" for i in range(3)]
    assert kinepack.read_all(tmp_path) == [mesh]
    assert kinepack.read_all(tmp_path / f"cloth_0001.{extension}") == [mesh]


@pytest.mark.parametrize("extension", ALL)
def test_real_meshes_come_back(extension: str, shared_data: Path) -> None:
    (mesh,) = kinepack.read_all(shared_data / "mesh" / "cow_idle.npz")
    assert isinstance(mesh, MeshSequence)
    mesh, form = mesh.slice(0, 4), FORMATS[extension]
    assert form.write is not None
    files = form.write([mesh], "cow", WriteOptions()).files
    first = next(iter(files))
    (back,) = form.read(BytesSource(first, files[first], files), ReadOptions())
    assert isinstance(back, MeshSequence)
    assert np.array_equal(back.vertices, mesh.vertices) and np.array_equal(back.faces, mesh.faces)


def test_runs_are_in_natural_order_and_kept_apart() -> None:
    names = ["a9.obj", "a10.obj", "a1.OBJ", "b1.obj", "a.obj", "a2.ply"]
    source = BytesSource("a10.obj", b"", dict.fromkeys(names, b""))
    assert numbered_run(source, ".obj") == ["a1.OBJ", "a9.obj", "a10.obj"]
    assert numbered_run(BytesSource("a.obj", b"", dict.fromkeys(names, b"")), ".obj") == ["a.obj"]
    assert [sequence_name(n) for n in ("run_0001.obj", "12.obj", "x.y.obj")] == ["run", "12", "x.y"]


def test_two_runs_in_a_folder_are_not_guessed_at(tmp_path: Path) -> None:
    for name in ("a1.obj", "b1.obj"):
        (tmp_path / name).write_bytes(TRIANGLE)
    with pytest.raises(FormatError, match="2 different runs"):
        kinepack.read_all(tmp_path)


def test_frames_that_differ_name_their_file() -> None:
    first = BytesSource("m1.obj", TRIANGLE, {"m2.obj": TRIANGLE + b"v 1 1 1\n"})
    with pytest.raises(FormatError, match=r"m2\.obj: .*4 vertices"):
        FORMATS["obj"].read(first, ReadOptions())
    turned = BytesSource("m1.obj", TRIANGLE, {"m2.obj": TRIANGLE.replace(b"1 2 3", b"1 3 2")})
    with pytest.raises(FormatError, match=r"m2\.obj: .*faces differ"):
        FORMATS["obj"].read(turned, ReadOptions())


def test_obj_polygons_slashes_negative_numbers_and_continued_lines() -> None:
    text = b"# x\nmtllib a\nv 0 0 0 1\nv 1 0 0 1\nvn 0 0 1\nv 1 1 0 1\nv 0 1 0 1\nf 1/1/1 2//1 3/4 \\\n 4\nf -4 -3 -1\n"
    mesh = read_one("obj", text)
    assert mesh.faces.tolist() == [[0, 1, 2], [0, 2, 3], [0, 1, 3]] and mesh.frame_time == 1 / 30
    assert read_one("obj", TRIANGLE.replace(b"\n", b"\r\n")).faces.tolist() == [[0, 1, 2]]


def test_ply_in_every_encoding() -> None:
    header = (
        "ply\nformat {} 1.0\ncomment by hand\nelement vertex 4\nproperty double x\nproperty float y\n"
        "property uchar red\nproperty short z\nelement face 2\nproperty list uchar int vertex_index\n"
        "property float quality\nelement edge 1\nproperty int a\nend_header\n"
    )
    rows = [(0.5, 0.25, 9, 1), (1.5, 0.0, 9, -2), (2.5, 1.0, 9, 3), (3.5, 1.0, 9, 4)]
    faces = [(0, 1, 2), (0, 1, 2, 3)]
    text = "\n".join(" ".join(map(str, row)) for row in rows) + "\n3 0 1 2 0.5\n4 0 1 2 3 0.5\n7\n"
    bodies = {"ascii": text.encode()}
    for name, order in (("binary_little_endian", "<"), ("binary_big_endian", ">")):
        body = b"".join(struct.pack(f"{order}dfBh", *row) for row in rows)
        body += b"".join(struct.pack(f"{order}B{len(f)}if", len(f), *f, 0.5) for f in faces)
        bodies[name] = body + struct.pack(f"{order}i", 7)
    for name, body in bodies.items():
        mesh = read_one("ply", header.format(name).encode() + body)
        assert mesh.vertices[0].tolist() == [[0.5, 0.25, 1], [1.5, 0, -2], [2.5, 1, 3], [3.5, 1, 4]]
        assert mesh.faces.tolist() == [[0, 1, 2], [0, 1, 2], [0, 2, 3]]


def test_off_with_colours_and_remarks() -> None:
    text = b"COFF # shape\n# counts\n4 1 0\n\n0 0 0 255 0 0\n1 0 0 255 0 0\n1 1 0 1 1 1\n0 1 0 1 1 1\n4 0 1 2 3 9 9 9\n"
    assert read_one("off", text).faces.tolist() == [[0, 1, 2], [0, 2, 3]]
    assert read_one("off", b"OFF 3 0 0\n0 0 0\n1 0 0\n0 1 0").vertices.shape == (1, 3, 3)


def test_point_caches_of_others() -> None:
    points = np.arange(18, dtype="<f4").reshape(2, 3, 3)
    pc2 = struct.pack("<12siiffi", b"POINTCACHE2\0", 1, 3, 0.0, 2.0, 2) + points.tobytes()
    mesh = read_one("pc2", pc2)
    assert len(mesh.faces) == 0 and mesh.frame_time == 2 / 30 and np.array_equal(mesh.vertices, points)
    assert read_one("pc2", pc2, mesh__obj=TRIANGLE).faces.tolist() == [[0, 1, 2]]
    mdd = struct.pack(">ii2f", 2, 3, 0.0, 0.04) + points.astype(">f4").tobytes()
    assert read_one("mdd", mdd).frame_time == 1 / 25
    still = struct.pack(">ii2f", 2, 3, 0.0, 0.0) + points.astype(">f4").tobytes()
    assert read_one("mdd", still).frame_time == 1 / 30
    with pytest.raises(FormatError, match="4 vertices"):
        read_one("mdd", mdd, mesh__obj=TRIANGLE + b"v 0 0 0\n")


@pytest.mark.parametrize(
    ("extension", "data", "line"),
    [
        ("obj", b"", 0),
        ("obj", b"v 1 2\n", 1),
        ("obj", b"v 1 2 3\nv 1 x 3\n", 2),
        ("obj", b"v 1 2 nan\n", 0),
        ("obj", b"v 1 2 1e99\n", 0),
        ("obj", TRIANGLE + b"f 1 2 4\n", 0),
        ("obj", TRIANGLE + b"f 1 2 0\n", 0),
        ("obj", TRIANGLE + b"f 1 2\n", 0),
        ("obj", TRIANGLE + b"f 1 2 x\n", 5),
        ("obj", TRIANGLE + b"f 1 2 99999999999999999999\n", 0),
        ("ply", b"", 0),
        ("ply", b"ply\nformat ascii 1.0\nend_header\n", 0),
        ("ply", b"ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nend_header\n1\n", 0),
        ("ply", b"ply\nformat ascii 1.0\nnonsense\nend_header\n", 3),
        ("ply", b"ply\nformat binary_little_endian 1.0\nelement vertex 9999999999\nproperty float x\nend_header\n", 3),
        ("off", b"", 0),
        ("off", b"OFF\n3 1 0\n0 0 0\n", 2),
        ("off", b"OFF\n1 1 0\n0 0 0\n3 0 0\n", 4),
        ("off", b"OFF BINARY\n", 0),
        ("pc2", b"POINTCACHE2\0", 0),
        ("pc2", struct.pack("<12siiffi", b"POINTCACHE2\0", 1, 3, 0.0, 1.0, 2), 0),
        ("pc2", struct.pack("<12siiffi", b"POINTCACHE2\0", 2, 3, 0.0, 1.0, 2), 0),
        ("mdd", b"\0", 0),
        ("mdd", struct.pack(">ii", 1000, 3), 0),
        ("mdd", struct.pack(">ii", 0, 0), 0),
        ("ply", b"ply\nformat ascii 1.0\nelement vertex 1000000000\nproperty float x\nend_header\n0\n", 3),
        ("off", b"OFF\n1000000000 1 0\n0 0 0\n", 2),
        ("off", b"OFF\n1 1000000000 0\n0 0 0\n", 2),
        ("pc2", struct.pack("<12siiffi", b"POINTCACHE2\0", 1, 10**9, 0.0, 1.0, 10**9), 0),
        ("pc2", struct.pack("<12siiffi", b"POINTCACHE2\0", 1, -1, 0.0, 1.0, -1), 0),
        ("mdd", struct.pack(">ii", 10**9, 10**9), 0),
        ("mdd", struct.pack(">ii", -5, 3), 0),
    ],
)
def test_damage_is_a_format_error_with_its_place(extension: str, data: bytes, line: int) -> None:
    with pytest.raises(FormatError) as caught:
        read_one(extension, data)
    assert (caught.value.file, caught.value.line) == (f"mesh.{extension}", line)


def test_limits_and_options() -> None:
    source = BytesSource("m.obj", TRIANGLE)
    for limits in (Limits(vertices=2), Limits(bytes=5), Limits(values=8)):
        with pytest.raises(LimitExceeded):
            FORMATS["obj"].read(source, ReadOptions(limits=limits))
    (mesh,) = FORMATS["obj"].read(source, ReadOptions(fps=50, unit_cm=1))
    assert (mesh.frame_time, mesh.unit_cm) == (1 / 50, 1)


@pytest.mark.parametrize("extension", ALL)
def test_one_mesh_a_file(extension: str) -> None:
    write = FORMATS[extension].write
    assert write is not None
    with pytest.raises(UnsupportedContent):
        write([some_mesh(), some_mesh()], "a", WriteOptions())
