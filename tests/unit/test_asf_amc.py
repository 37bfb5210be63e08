"""ASF/AMC: real files come back exactly, awkward ones are read, broken ones fail with file and line."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from kinepack.errors import FormatError, KinepackError, LimitExceeded, UnsupportedContent
from kinepack.formats import asf_amc
from kinepack.formats.base import FORMATS, ReadOptions, WriteOptions
from kinepack.formats.source import PathSource
from kinepack.formats.text import BytesSource
from kinepack.limits import Limits
from kinepack.math.kinematics import forward_kinematics
from kinepack.model import Channel, Clip, Joint, Skeleton

ASF = """# made by hand
:version 1.10
:name TEST
:units
  mass 2.5
  length 0.45
  angle deg
:documentation
   two lines
   of words
:root
   order TX TY TZ RX RY RZ
   axis XYZ
   position 0 0 0
   orientation 0 0 0
:bonedata
  begin
     id 1
     name hip
     direction 0 1 0
     length 2
     axis 0 0 0 XYZ
  end
  begin
     id 2
     name thigh
     direction 1 0 0
     length 3
     axis 0 0 20 XYZ
     bodymass 7
    dof rx rz
    limits (-160.0 20.0)
           (-inf 70.0)
  end
  begin
     id 3
     name toe
     direction 0 0 1
     length 7.62852e-016
     axis -90 7.62852e-016 20 XYZ
    dof ty
  end
:hierarchy
  begin
    root hip
    hip thigh
    thigh toe
  end
"""

AMC = """#!OML:ASF
:FULLY-SPECIFIED
:DEGREES
1
root 1 2 3 10 20 30
toe 0.5
thigh 90 -1e-3
2
root 4 5 6 11 21 31
toe 0.25
thigh 91 7.62852e-016
"""


def read(amc: str = AMC, asf: str = ASF, **options: object) -> Clip:
    source = BytesSource("walk_01.amc", amc.encode(), {"walk.asf": asf.encode()})
    (clip,) = asf_amc.read(source, ReadOptions(**options))  # type: ignore[arg-type]
    assert isinstance(clip, Clip)
    return clip


def back(clip: Clip, **options: object) -> Clip:
    files = asf_amc.write([clip], clip.name, WriteOptions()).files
    first = next(iter(files))
    (again,) = asf_amc.read(BytesSource(first, files[first], files), ReadOptions(**options))  # type: ignore[arg-type]
    assert isinstance(again, Clip)
    return again


def test_it_is_registered() -> None:
    assert FORMATS["asf-amc"].extensions == (".amc",)


def test_what_is_read() -> None:
    clip = read()
    skeleton = clip.skeleton
    assert [j.name for j in skeleton.joints] == ["root", "hip", "thigh", "toe"]
    assert [(c.joint, c.kind) for c in skeleton.channels][6:] == [(3, "ty"), (2, "rx"), (2, "rz")]
    assert skeleton.channels[7].limit == (-160.0, 20.0)
    assert skeleton.joints[2].offset == (0.0, 2.0, 0.0) and skeleton.joints[3].offset == (3.0, 0.0, 0.0)
    assert skeleton.joints[2].order == "zxy" and skeleton.joints[0].order == "zyx"
    assert (skeleton.unit_cm, skeleton.angle_unit, skeleton.translation) == (2.54 / 0.45, "deg", "add")
    assert (clip.frame_time, clip.name, clip.values[1, 8]) == (1 / 120, "walk_01", 7.62852e-16)
    assert skeleton.notes["asf.mass"] == "2.5"
    assert skeleton.notes["asf.documentation"] == "two lines\nof words"
    assert skeleton.notes["asf.extra.thigh"] == "bodymass 7"


def test_it_comes_back() -> None:
    assert back(read()) == read()
    assert back(read(fps=30), fps=30) == read(fps=30)


@pytest.mark.parametrize("unit_cm", [1.0, 2.54, 100.0, 0.1])
def test_a_unit_of_the_callers_comes_back(unit_cm: float) -> None:
    assert back(read(unit_cm=unit_cm)).unit_cm == unit_cm


@pytest.mark.parametrize("newline", ["\r\n", "\r"])
def test_line_ends(newline: str) -> None:
    assert read(AMC.replace("\n", newline), ASF.replace("\n", newline)) == read()


def test_comments_blank_lines_and_another_order_take_the_exact_path() -> None:
    swapped = AMC.replace("toe 0.25\nthigh 91 7.62852e-016", "# note\n\n thigh 91 7.62852e-016 \nhip\ntoe\t0.25")
    assert read(swapped) == read()


def test_frame_numbers_may_skip_and_start_anywhere() -> None:
    clip = read(AMC.replace("\n1\n", "\n5\n").replace("\n2\n", "\n9\n"))
    assert np.array_equal(clip.values, read().values)
    assert back(clip) == clip


def test_bones_may_come_before_their_parents() -> None:
    head, bones = ASF.split(":bonedata\n")
    blocks, tail = bones.split(":hierarchy")
    parts = ["  begin" + part for part in blocks.split("  begin")[1:]]
    clip = read(asf=head + ":bonedata\n" + "".join(reversed(parts)) + ":hierarchy" + tail)
    assert [j.name for j in clip.skeleton.joints] == ["root", "hip", "thigh", "toe"]
    assert np.array_equal(clip.values, read().values)
    assert back(clip) == clip


def test_the_hierarchy_may_come_first() -> None:
    head, tail = ASF.split(":root")
    body, hierarchy = tail.split(":hierarchy")
    assert read(asf=head + ":hierarchy" + hierarchy + ":root" + body).skeleton == read().skeleton


def test_without_units_lengths_are_inches_and_angles_degrees() -> None:
    bare = ASF.replace(":units\n  mass 2.5\n  length 0.45\n  angle deg\n", "")
    clip = read(asf=bare)
    assert (clip.unit_cm, clip.skeleton.angle_unit) == (2.54, "deg")
    assert back(clip) == clip


@pytest.mark.parametrize(("asf_unit", "amc_unit"), list(itertools.product(["deg", "rad"], [":DEGREES", ":RADIANS"])))
def test_angle_units_may_differ_and_come_back(asf_unit: str, amc_unit: str) -> None:
    clip = read(AMC.replace(":DEGREES", amc_unit), ASF.replace("angle deg", f"angle {asf_unit}"))
    assert clip.skeleton.angle_unit == amc_unit[1:4].lower()
    axis = clip.skeleton.joints[2].axis_deg[2]
    assert axis == pytest.approx(20 if asf_unit == "deg" else np.degrees(20))
    assert back(clip) == clip


def test_axis_order_is_converted_and_comes_back() -> None:
    clip = read(asf=ASF.replace("axis -90 7.62852e-016 20 XYZ", "axis 30 40 50 ZYX"))
    from kinepack.math import rotation

    x, y, z = np.radians(clip.skeleton.joints[3].axis_deg)
    wanted = rotation.euler_to_matrix(np.radians([30, 40, 50]), "xyz")
    assert np.allclose(rotation.euler_to_matrix([z, y, x], "zyx"), wanted)
    assert back(clip) == clip


@pytest.mark.parametrize("order", list(itertools.permutations(["rx", "ry", "rz"])))
def test_any_dof_order(order: tuple[str, ...]) -> None:
    asf = ASF.replace("dof ty", f"dof {' '.join(order)}")
    clip = read(AMC.replace("toe 0.5", "toe 1 2 3").replace("toe 0.25", "toe 4 5 6"), asf)
    assert clip.skeleton.joints[3].order == "".join(dof[1] for dof in reversed(order))
    assert back(clip) == clip


def test_stretch_is_a_scalar() -> None:
    clip = read(asf=ASF.replace("dof ty", "dof l"))
    assert clip.skeleton.channels[6] == Channel(3, "scalar", "l")
    assert back(clip) == clip


def test_unknown_sections_come_back() -> None:
    clip = read(asf=ASF + ":skin\n  mesh.obj\n")
    assert clip.skeleton.notes["asf.sections"] == ":skin\nmesh.obj"
    assert back(clip) == clip


# Where the skeleton is.


@pytest.mark.parametrize("name", ["walk_01.ASF", "walk.asf", "other.asf"])
def test_the_skeleton_is_found(name: str) -> None:
    source = BytesSource("walk_01.amc", AMC.encode(), {name: ASF.encode()})
    assert asf_amc.read(source, ReadOptions()) == [read()]


def test_the_callers_skeleton_wins() -> None:
    source = BytesSource("walk_01.amc", AMC.encode(), {"walk.asf": b"rubbish"})
    assert asf_amc.read(source, ReadOptions(skeleton=ASF.encode())) == [read()]


@pytest.mark.parametrize("names", [[], ["a.asf", "b.asf"]])
def test_no_skeleton(names: list[str]) -> None:
    source = BytesSource("walk_01.amc", AMC.encode(), dict.fromkeys(names, ASF.encode()))
    with pytest.raises(FormatError, match=r"walk_01\.amc: an AMC needs its ASF"):
        asf_amc.read(source, ReadOptions())


# Broken files.


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("toe 0.25\n", "", 8),
        ("toe 0.25", "toe nan", 10),
        ("toe 0.25", "toe inf", 10),
        ("toe 0.25", "toe 1e999", 10),
        ("toe 0.25", "toe 1_0", 10),
        ("toe 0.25", "toe 1.#QNAN", 10),
        ("toe 0.25", "toe", 10),
        ("toe 0.25", "toe 1 2", 10),
        ("toe 0.25", "foot 1", 10),
        ("toe 0.25", "root 4 5 6 11 21 31", 10),
        ("\n2\n", "\n1\n", 8),
        ("\n2\n", "\n99999999999999999999\n", 8),
        ("toe 0.5\n", "", 4),
        ("toe 0.5", "foot 0.5", 6),
        ("toe 0.5", "toe 0.5 1", 6),
        (":DEGREES", "degrees", 3),
        ("thigh 91 7.62852e-016\n", "", 8),
    ],
)
def test_broken_amc(old: str, new: str, line: int) -> None:
    with pytest.raises(FormatError) as error:
        read(AMC.replace(old, new))
    assert (error.value.file, error.value.line) == ("walk_01.amc", line)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("direction 0 1 0", "direction 0 1", 20),
        ("direction 0 1 0", "direction 0 1 nan", 20),
        ("length 0.45", "length 0", 6),
        ("length 0.45", "length 1e-320", 6),
        ("name thigh", "name hip", 24),
        ("name thigh", "name two words", 26),
        ("hip thigh", "hip nothing", 46),
        ("thigh toe", "hip toe\n    root toe", 48),
        ("    thigh toe\n", "", 35),
        ("    hip thigh\n    thigh toe\n", "    thigh toe\n    toe thigh\n", 24),
        ("dof rx rz", "dof rx rx", 31),
        ("dof rx rz", "dof rx rw", 31),
        ("dof rx rz", "dof rx ry rz", 32),
        ("(-160.0 20.0)", "(-160.0 20.0", 32),
        ("axis 0 0 20 XYZ", "axis 0 0 20 XYY", 29),
        ("axis 0 0 20 XYZ", "axis 0 0", 29),
        ("axis 0 0 20 XYZ", "axis", 29),
        ("angle deg", "angle grad", 7),
        ("  begin\n     id 1", "     id 1", 17),
    ],
)
def test_broken_asf(old: str, new: str, line: int) -> None:
    with pytest.raises(FormatError) as error:
        read(asf=ASF.replace(old, new, 1))
    assert (error.value.file, error.value.line) == ("walk.asf", line)


@pytest.mark.parametrize("data", [b"", b"\0\1\2", b"\xff\xfe", b"1\n", b":DEGREES\n", "½".encode()])
def test_rubbish(data: bytes) -> None:
    for source in (
        BytesSource("a.amc", data, {"a.asf": ASF.encode()}),
        BytesSource("a.amc", AMC.encode(), {"a.asf": data}),
    ):
        with pytest.raises(FormatError, match=r"^a\.a"):
            asf_amc.read(source, ReadOptions())


@pytest.mark.parametrize("data", [AMC, ASF])
def test_truncated_anywhere(data: str) -> None:
    for size in range(0, len(data), 7):
        try:
            read(*((data[:size], ASF) if data is AMC else (AMC, data[:size])))
        except KinepackError:
            continue


def test_limits() -> None:
    with pytest.raises(LimitExceeded):
        read(limits=Limits(frames=1))
    with pytest.raises(LimitExceeded):
        read(limits=Limits(joints=2))
    with pytest.raises(LimitExceeded):
        read(limits=Limits(values=17))


# Rigs that are no bones.


def test_other_rigs_keep_their_joints_in_place() -> None:
    joints = (
        Joint("Hips", -1, (1, 2, 3), "zxy"),
        Joint("Left Leg", 0, (1, 0, 0), "xyz"),
        Joint("Right Leg", 0, (-1, 0, 0), "yzx", end_sites=((0, -1, 0), (1, 0, 0))),
        Joint("Foot", 1, (0, -2, 0), "zyx"),
        Joint("Toe", 3, (0, 0, 1), "xyz"),
    )
    kinds = ["tx", "ty", "tz", "rz", "rx", "ry"]
    channels = [Channel(0, k) for k in kinds] + [Channel(j, k) for j in (1, 2, 3) for k in ("rx", "ry", "rz")]
    channels += [Channel(4, k) for k in ("qx", "qy", "qz", "qw")] + [Channel(4, "ty"), Channel(-1, "scalar", "smile")]
    values = np.random.default_rng(1).normal(0, 40, (5, len(channels)))
    clip = Clip(Skeleton(joints, tuple(channels), 10.0), values, 1 / 30, "run")
    written = asf_amc.write([clip], "run", WriteOptions())
    assert any("scalar" in line for line in written.lost) and any("frame rate" in line for line in written.lost)
    assert any(line.startswith("1 end sites") for line in written.lost)
    again = back(clip, fps=30)
    names = ["root", "Left_Leg", "Right_Leg", "Foot", "Toe"]
    origins = forward_kinematics(again).origins[:, [again.skeleton.index(name) for name in names]]
    assert np.allclose(origins, forward_kinematics(clip).origins, atol=1e-9)
    assert again.frame_time == clip.frame_time and again.unit_cm == 10.0
    assert back(again, fps=30) == again


def test_two_roots_are_refused() -> None:
    skeleton = Skeleton((Joint("a", -1), Joint("b", -1)), (Channel(0, "rx"),))
    with pytest.raises(UnsupportedContent, match="one root"):
        asf_amc.write([Clip(skeleton, np.zeros((1, 1)))], "x", WriteOptions())


# Real files.


def test_real_files_come_back_exactly(shared_data: Path) -> None:
    files = sorted((shared_data / "asfamc").rglob("*.amc"))
    assert len(files) >= 20
    for file in files:
        (clip,) = asf_amc.read(PathSource(file), ReadOptions())
        assert isinstance(clip, Clip)
        assert clip.values.shape[1] == 62 and len(clip.skeleton.joints) == 31
        assert back(clip) == clip, file.name


def test_the_fast_path_reads_what_the_exact_path_reads(shared_data: Path) -> None:
    file = shared_data / "asfamc" / "cmu" / "09" / "09_01.amc"
    (fast,) = asf_amc.read(PathSource(file), ReadOptions())
    data = file.read_bytes() + b"# a comment\n"
    beside = {"09.asf": (file.parent / "09.asf").read_bytes()}
    (exact,) = asf_amc.read(BytesSource("09_01.amc", data, beside), ReadOptions())
    assert fast == exact
