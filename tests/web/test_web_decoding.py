"""The browser decodes what Python decodes, to the last digits."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from web_support import WEB, Scenario, library_paths, loader, numbers, run_scenario, serving

import kinepack
from conftest import ROOT
from kinepack.codecs.base import CODECS
from kinepack.container.layout import CRC, ByteReader, ByteWriter, Tag
from kinepack.container.skeletons import _deflate as deflate
from kinepack.container.writer import chunk
from kinepack.errors import BitstreamError, ConfigError
from kinepack.math.kinematics import forward_kinematics
from kinepack.model import Clip, MeshSequence, Model
from kinepack.samples import fish, human
from kinepack.testing.sources import awkward_clips, awkward_meshes

__all__ = ["loader", "run_scenario"]

GOLDEN = ROOT / "tests" / "golden" / "streams"
LIBRARY = "/dist/kinepack.js"


def decoded(run: Scenario, files: dict[str, bytes]) -> list[dict[str, Any]]:
    with serving(library_paths(files)) as address:
        found = run("decode", url=f"{address}blank.html", library=LIBRARY, files=list(files))
    results: list[dict[str, Any]] = found["results"]
    return results


def check_same(result: dict[str, Any], model: Model) -> None:
    """Values and poses of the browser against Python's, poses in centimetres."""
    assert "error" not in result, result["error"]
    if not isinstance(model, Clip):
        vertices = model.vertices.ravel()
        size = float(np.ptp(vertices)) or 1.0
        assert np.abs(numbers(result["values"], np.float32) - vertices).max() <= 1e-5 * size
        return
    assert np.allclose(numbers(result["values"], float), model.values.ravel(), rtol=1e-9, atol=1e-7)
    points = forward_kinematics(model).points.ravel()
    assert np.abs(numbers(result["points"], float) - points).max() * model.unit_cm <= 1e-5


def decoder_versions() -> dict[str, int]:
    """Codecs of the npm package and the newest stream that each decodes."""
    lines = (WEB / "dist" / "codecs.txt").read_text(encoding="utf-8").splitlines()
    return {name: int(version) for name, version in map(str.split, lines)}


def test_every_codec_has_a_browser_decoder(run_scenario: Scenario) -> None:
    assert decoder_versions() == {name: CODECS[name].version for name in CODECS}


def test_golden_streams(run_scenario: Scenario) -> None:
    """Every stream that was ever released."""
    paths = sorted(GOLDEN.glob("*/*.kine"))
    assert {path.parent.name for path in paths} == set(CODECS)
    files = {f"{path.parent.name}-{path.name}": path.read_bytes() for path in paths}
    check_all(run_scenario, files)


def check_all(run: Scenario, files: dict[str, bytes]) -> None:
    for (name, data), result in zip(files.items(), decoded(run, files), strict=True):
        try:
            check_same(result, kinepack.open(data)[0].decode())
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from None


VARIANTS = (
    "delta-lzma:segment_s=0.7",
    "kine:error=0.05,layers=3",
    "kine:exact=true",
    "mpeg4-predictive:bap_quant=5,steps=standard,ranges=widest",
    "mpeg4-dct16:bap_quant=7,steps=standard,segment_s=1",
    "bap-sparsing:pipeline=fba",
    "frame-drop:fill=interpolate",
    "wavelet-quaternion:search=standard,gzip=off",
    "wavelet-ik:solver=ccd,steps=5",
    "wavelet-ik:solver=dls,gzip=off,segment_s=1",
)
"""Settings whose streams take other paths through a decoder than the defaults do."""


def coded_clips(codecs: Iterable[str]) -> dict[str, bytes]:
    """A whole walk and clips of every shape and kind of channel, those that each codec takes."""
    clips = {"human": human(), **awkward_clips()}
    files = {}
    for codec in codecs:
        for name, clip in clips.items():
            with suppress(ConfigError):
                files[f"{codec.replace(':', '-')}-{name}.kine"] = kinepack.compress(clip, codec)
    return files


def test_golden_skeletons(run_scenario: Scenario) -> None:
    """Every form in which a skeleton is coded, every order of segments."""
    paths = [*(GOLDEN.parent / "skeletons").glob("*.kine"), GOLDEN.parent / "containers" / "layered.kine"]
    files = {path.name: path.read_bytes() for path in sorted(paths)}
    for data, result in zip(files.values(), decoded(run_scenario, files), strict=True):
        check_same(result, kinepack.open(data)[0].decode())


@pytest.mark.parametrize("half", [0, 1])
def test_clips_at_defaults(run_scenario: Scenario, half: int) -> None:
    names = [name for name in CODECS if Clip in CODECS[name].sources][half::2]
    files = coded_clips(names)
    assert all(f"{name}-human.kine" in files for name in names)
    check_all(run_scenario, files)


def test_clips_at_other_settings(run_scenario: Scenario) -> None:
    check_all(run_scenario, coded_clips(VARIANTS))


def test_motion_capture(run_scenario: Scenario, shared_data: Path) -> None:
    """A clip of the CMU library, whose bones have body parameters of their own names."""
    amc = next(shared_data.glob("asfamc/**/09_01.amc"))
    codecs = ("wavelet-ik", "mpeg4-predictive", "mpeg4-dct16", "kine")
    check_all(run_scenario, {f"{codec}.kine": kinepack.compress(amc, codec) for codec in codecs})


def test_part_of_a_clip(run_scenario: Scenario) -> None:
    data = kinepack.compress(human(), "delta-lzma:step=0.3,segment_s=0.7")
    (result,) = decoded(run_scenario, {"clip.kine": data})
    whole = kinepack.open(data)[0].decode().values
    assert np.allclose(numbers(result["part"], float), whole[len(whole) // 3], rtol=1e-9, atol=1e-7)


MESHES = [
    *(name for name in CODECS if MeshSequence in CODECS[name].sources),
    "raw:segment_s=0.5",
    "kine-mesh:step=0.1",
    "kine-mesh:step=0.3,segment_s=0.4,face_order=kept",
    "mesh-cpca:k=7,c=6,index=bits,means=true,segment_s=0.4",
    "mesh-cpca:k=4,c=5,c_star=9,q_c=12,q_w=14",
    "mesh-cpca:k=40,c=2,index=bits,q_c=32,q_w=32",
    "mesh-cpca:k=1,c=12",
    "mesh-pca:c=9,segment_s=0.4",
    "mesh-pca-lpc:c=9,segment_s=0.4",
    "mesh-pca-lpc:c=70,order=5",
]


def test_whole_meshes(run_scenario: Scenario) -> None:
    """Vertices to a part in a million of the mesh: both sides sum in double precision and round once."""
    files = {f"{n}.kine": kinepack.compress(fish(), codec) for n, codec in enumerate(MESHES)}
    for codec, data, result in zip(MESHES, files.values(), decoded(run_scenario, files), strict=True):
        assert "error" not in result, (codec, result)
        vertices = kinepack.open(data)[0].decode().vertices
        size = float(np.ptp(vertices))
        far = np.abs(numbers(result["values"], np.float32) - vertices.ravel()).max()
        assert far <= 1e-6 * size, (codec, far / size)
        part = numbers(result["part"], np.float32)
        assert np.abs(part - vertices[len(vertices) // 3].ravel()).max() <= 1e-6 * size, codec


def test_unknown_codec_is_named(run_scenario: Scenario) -> None:
    """A codec from the future is refused with its name, not with garbage."""
    data = kinepack.compress(human().slice(0, 4), "raw")
    at = data.index(b"\x03raw")
    clip = bytearray(data)
    clip[at + 1 : at + 4] = b"new"
    (result,) = decoded(run_scenario, {"new.kine": resealed(bytes(clip))})
    assert result["kind"] == "unsupported" and "'new'" in result["error"]


def resealed(data: bytes) -> bytes:
    """The file with the checksums of its chunks made right again."""
    out, at = bytearray(data[:5]), 5
    while at < len(data):
        reader = ByteReader(data[at:])
        tag, length = reader.u8(), reader.varint()
        end = at + reader.at + length
        out += data[at:end]
        if tag == Tag.DATA:
            break
        out += CRC.pack(zlib.crc32(data[at:end]))
        at = end + CRC.size
    return bytes(out)


def test_damaged_meshes_behind_their_checksums(run_scenario: Scenario) -> None:
    """Whatever a setup says, decoding gives numbers or an error of ours."""
    random = np.random.default_rng(5)
    wave = awkward_meshes()["wave"]
    files = {}
    for codec in ("kine-mesh", "mesh-cpca:k=3,c=3", "mesh-cpca:c_star=4,index=bits", "mesh-pca", "mesh-pca-lpc:c=3"):
        data = kinepack.compress(wave, codec)
        for at in random.integers(20, len(data), 25):
            damaged = bytearray(data)
            damaged[at] ^= 1 << int(random.integers(8))
            with suppress(BitstreamError):
                files[f"{len(files)}.kine"] = resealed(bytes(damaged))
    check_refused_or_fine(decoded(run_scenario, files))


def check_refused_or_fine(results: list[dict[str, Any]]) -> None:
    """No error but those that speak of the file; others have no kind."""
    kinds = {result.get("kind", result.get("error", "fine")) for result in results}
    assert kinds <= {"fine", "corrupt", "truncated", "unsupported", "limit"}, kinds


def with_static(data: bytes, body: bytes) -> bytes:
    """The file with another skeleton or mesh, its checksums right."""
    reader = ByteReader(data[5:])
    assert reader.u8() == Tag.STATIC
    end = 5 + reader.varint() + reader.at
    return data[:5] + chunk(Tag.STATIC, body) + data[end + CRC.size :]


def test_hostile_skeletons_are_refused(run_scenario: Scenario) -> None:
    """Whatever JSON can hold where a skeleton should be, and meshes too large for memory."""
    clip = human().slice(0, 4)
    odd: list[Any] = [None, True, 0.5, "x", [], {}, {"toString": 1, "valueOf": 1}, [[]] * 4, 10**9]
    places = [
        "name",
        "parent",
        "offset",
        "order",
        "rest",
        "length",
        "end_sites",
        "joint",
        "kind",
        "unit_cm",
        "angle_unit",
    ]
    data, bodies = kinepack.compress(clip, "wavelet-ik"), []
    for place in places:
        for value in odd:
            plain = json.loads(clip.skeleton.to_json())
            entry = plain["joints"][-1] if place in plain["joints"][-1] or place in ("order", "rest") else plain
            entry = plain["channels"][-1] if place in ("joint", "kind") else entry
            entry[place] = value
            bodies.append(json.dumps(plain))
    bodies += ["null", "[]", '{"joints": [null], "channels": []}', "[" * 100_000, "{"]
    files = {f"{n}.kine": with_static(data, b"\0" + zlib.compress(body.encode())) for n, body in enumerate(bodies)}
    words = ["[]", "null", '{"names":[],"kinds":[],"offset":[2]}', '{"names":[{}],"kinds":[],"up":[0]}']
    for text in words:
        out = ByteWriter()
        out.block(deflate(text.encode()))
        files[f"{len(files)}.kine"] = with_static(data, b"\3" + bytes(out.data) + bytes(20))
    mesh = ByteWriter()
    mesh.varint(50_000_000)
    mesh.data += struct.pack("<d", 1.0)
    mesh.varint(100_000_000)
    large = b"\2" + bytes(mesh.data) + b"\1" + bytes(range(256)) * 40
    files["mesh.kine"] = with_static(kinepack.compress(awkward_meshes()["wave"], "raw"), large)
    check_refused_or_fine(decoded(run_scenario, files))
    for file in list(files.values())[:-1]:
        with suppress(BitstreamError):
            kinepack.open(file)[0].decode()


def test_damage_is_named(run_scenario: Scenario) -> None:
    data = bytearray(kinepack.compress(human(), "raw"))
    data[-100] ^= 1
    cut = bytes(data[: len(data) // 2])
    wrong = b"not a kine file at all"
    results = decoded(run_scenario, {"damaged.kine": bytes(data), "cut.kine": cut, "wrong.kine": wrong})
    assert [result["kind"] for result in results] == ["corrupt", "truncated", "corrupt"]


def test_three_skeleton(run_scenario: Scenario, loader: bytes) -> None:
    """Bones that a mixer moves are where forward kinematics puts them, in metres."""
    clip = human()
    files = {"loader.js": loader, "walk.kine": kinepack.compress(clip, "raw")}
    frame = 123
    with serving(library_paths(files)) as address:
        found = run_scenario(
            "load", url=f"{address}blank.html", loader="/loader.js", file="walk.kine", seconds=frame * clip.frame_time
        )
    origins = forward_kinematics(clip).origins[frame] * clip.unit_cm / 100
    assert np.abs(np.array(found["points"]) - origins).max() < 1e-5
    assert found["duration"] == pytest.approx(clip.duration)
    assert not found["faults"]


def test_three_mesh(run_scenario: Scenario, loader: bytes) -> None:
    mesh = fish()
    files = {"loader.js": loader, "fish.kine": kinepack.compress(mesh, "raw")}
    with serving(library_paths(files)) as address:
        found = run_scenario(
            "load", url=f"{address}blank.html", loader="/loader.js", file="fish.kine", seconds=10 * mesh.frame_time
        )
    assert np.allclose(found["points"], mesh.vertices[10].ravel(), atol=1e-4)


def test_lock_file_names_no_host() -> None:
    assert "resolved" not in (Path(WEB) / "package-lock.json").read_text(encoding="utf-8")
