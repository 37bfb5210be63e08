"""BVH: real files come back exactly, awkward ones are read, broken ones fail with file and line."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from kinepack.errors import FormatError, KinepackError, LimitExceeded, UnsupportedContent
from kinepack.formats import asf_amc, bvh
from kinepack.formats.base import FORMATS, ReadOptions, WriteOptions
from kinepack.formats.source import PathSource
from kinepack.formats.text import BytesSource
from kinepack.limits import Limits
from kinepack.math.kinematics import forward_kinematics
from kinepack.model import Channel, Clip, Joint, MeshSequence, Skeleton

BVH = """HIERARCHY
ROOT Hips
{
\tOFFSET 0 1.5 -2e-3
\tCHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
\tJOINT Left Leg
\t{
\t\tOFFSET 1 0 0
\t\tCHANNELS 4 Yrotation Xposition Xrotation Zrotation
\t\tEnd Site
\t\t{
\t\t\tOFFSET 0 -1 0
\t\t}
\t}
\tJOINT Tail.001
\t{
\t\tOFFSET 0 0 -1
\t}
}
MOTION
Frames: 2
Frame Time: .0083333
1 2 3 4 5 6 7 8 9 10
-0.1 1e-3 +3. .5 5 6 7 8 9 10.25
"""


def read(text: str = BVH, **options: object) -> Clip:
    (clip,) = bvh.read(BytesSource("run.bvh", text.encode()), ReadOptions(**options))  # type: ignore[arg-type]
    assert isinstance(clip, Clip)
    return clip


def text_of(clip: Clip) -> str:
    return bvh.write([clip], "run", WriteOptions()).files["run.bvh"].decode()


def test_it_is_registered() -> None:
    assert FORMATS["bvh"].extensions == (".bvh",)


def test_what_is_read() -> None:
    clip = read()
    hips, leg, tail = clip.skeleton.joints
    assert (hips.name, hips.parent, hips.offset, hips.order) == ("Hips", -1, (0.0, 1.5, -0.002), "zxy")
    assert (leg.name, leg.parent, leg.order, leg.end_sites) == ("Left Leg", 0, "yxz", ((0.0, -1.0, 0.0),))
    assert (tail.name, tail.parent) == ("Tail.001", 0)
    assert [c.kind for c in clip.skeleton.channels[6:]] == ["ry", "tx", "rx", "rz"]
    assert (clip.frame_time, clip.unit_cm, clip.name, clip.skeleton.translation) == (0.0083333, 1.0, "run", "replace")
    assert clip.values[1].tolist() == [-0.1, 0.001, 3, 0.5, 5, 6, 7, 8, 9, 10.25]


def test_it_comes_back() -> None:
    assert read(text_of(read())) == read()
    assert "Frame Time: 0.0083333\n1 2 3 4 5 6 7 8 9 10\n-0.1 0.001 3 0.5 5" in text_of(read())


def test_unit_of_the_callers() -> None:
    assert read(unit_cm=2.54).unit_cm == 2.54
    assert "2.54 cm" in bvh.write([read(unit_cm=2.54)], "x", WriteOptions()).lost[0]


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.replace("\n", "\r\n"),
        lambda t: t.replace("\n", "\r"),
        lambda t: "\ufeff" + t + "\n \n\t\n",
        lambda t: t.replace(" 4 5", "\t4   5").replace("\nMOTION", "\n\nMOTION\n"),
        lambda t: t.replace("\n{", " {").replace("\n\t{", " {").replace("\n\t\t}", " }"),
        lambda t: t.replace("ROOT", "Root").replace("CHANNELS", "channels").replace("Xrotation", "XROTATION"),
        lambda t: t.replace("End Site", "END SITE").replace("MOTION", "Motion").replace("Frames:", "FRAMES :"),
        lambda t: t.replace("OFFSET 1 0 0", "OFFSET\t1\t0\t0").replace("Frame Time:", "frame time:\t"),
        lambda t: t.replace("\n1 2", "\n\n1 2").replace("\n-0.1", "\n\n  -0.1"),
    ],
)
def test_other_spellings(change: object) -> None:
    assert read(change(BVH)) == read()  # type: ignore[operator]


@pytest.mark.parametrize("order", list(itertools.permutations("XYZ")))
def test_any_rotation_order(order: tuple[str, ...]) -> None:
    listed = " ".join(f"{axis}rotation" for axis in order)
    clip = read(BVH.replace("Zrotation Xrotation Yrotation", listed))
    assert clip.skeleton.joints[0].order == "".join(order).lower()
    assert read(text_of(clip)) == clip


def test_several_roots_and_scales_and_no_end_site() -> None:
    text = BVH.replace("\nMOTION", "\nROOT Prop\n{\nOFFSET 9 9 9\nCHANNELS 2 Zscale Yrotation\n}\nMOTION")
    clip = read(text.replace(" 10\n", " 10 1 2\n").replace("10.25", "10.25 3 4"))
    assert clip.skeleton.joints[3].parent == -1 and clip.skeleton.channels[10] == Channel(3, "sz")
    assert read(text_of(clip)) == clip


def test_names_that_come_twice_are_told_apart_and_restored() -> None:
    text = BVH.replace("Tail.001", "Hips").replace("Left Leg", "Hips#2")
    clip = read(text)
    assert [j.name for j in clip.skeleton.joints] == ["Hips", "Hips#2", "Hips#3"]
    assert text_of(clip).count("JOINT Hips\n") == 1
    assert read(text_of(clip)) == clip


def test_end_sites_keep_their_names() -> None:
    clip = read(BVH.replace("End Site", "End Site left toe"))
    assert "End Site left toe\n" in text_of(clip)
    assert read(text_of(clip)) == clip


def test_a_zero_frame_time_needs_a_rate() -> None:
    text = BVH.replace(".0083333", "0")
    assert read(text, fps=50).frame_time == 1 / 50
    with pytest.raises(FormatError, match=r"^run\.bvh:22: "):
        read(text)


def test_long_chains_do_not_recurse() -> None:
    depth = 5000
    text = "HIERARCHY\nROOT j\n{\nOFFSET 0 0 0\nCHANNELS 1 Xrotation\n"
    text += "".join(f"JOINT j{i}\n{{\nOFFSET 0 1 0\n" for i in range(depth)) + "}\n" * (depth + 1)
    clip = read(text + "MOTION\nFrames: 1\nFrame Time: 1\n0\n")
    assert len(clip.skeleton.joints) == depth + 1
    assert read(text_of(clip)) == clip
    with pytest.raises(LimitExceeded):
        read(text, limits=Limits(joints=100))


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("HIERARCHY", "HIERARCHIE", 1),
        ("OFFSET 1 0 0", "OFFSET 1 0", 8),
        ("OFFSET 1 0 0", "OFFSET 1 0 nan", 8),
        ("OFFSET 1 0 0\n", "OFFSET 1 0 0\nOFFSET 1 0 0\n", 9),
        ("\t\tOFFSET 0 0 -1\n", "", 17),
        ("CHANNELS 4", "CHANNELS 3", 9),
        ("CHANNELS 4", "CHANNELS 1000000000", 9),
        ("CHANNELS 4 Yrotation", "CHANNELS 4 Xrotation", 9),
        ("CHANNELS 4 Yrotation", "CHANNELS 4 Wrotation", 9),
        ("\tJOINT Tail.001", "\tROOT Tail.001", 15),
        ("\tJOINT Tail.001", "\tBONE Tail.001", 15),
        ("JOINT Tail.001\n\t{\n", "JOINT Tail.001\n", 16),
        ("}\nMOTION", "}\n}\nMOTION", 20),
        ("}\nMOTION", "MOTION", 19),
        ("MOTION\n", "", 20),
        ("Frames: 2", "Frames: 0", 21),
        ("Frames: 2", "Frames: two", 21),
        ("Frames: 2", "Frames: 3", 25),
        ("Frames: 2", "Frames: 1000000000", 25),
        ("Frames: 2", "Frames: 1", 24),
        ("Frames: 2", "Frames 2", 21),
        (".0083333", "-1", 22),
        (".0083333", "nan", 22),
        (".0083333", "", 22),
        (" 10\n", "\n", 23),
        (" 10.25", " 10.25 11", 24),
        ("10.25", "inf", 24),
        ("10.25", "1e999", 24),
        ("10.25", "1_0", 24),
        ("10.25", "ten", 24),
        ("10.25", "٣", 24),
    ],
)
def test_broken_files(old: str, new: str, line: int) -> None:
    with pytest.raises(FormatError) as error:
        read(BVH.replace(old, new, 1))
    assert (error.value.file, error.value.line) == ("run.bvh", line)


def test_sizes_are_bounded() -> None:
    for limits in (Limits(values=19), Limits(frames=1)):
        with pytest.raises(LimitExceeded):
            read(limits=limits)


@pytest.mark.parametrize(
    "data", [b"", b"\0", b"\xff\xfe\x00", b"HIERARCHY", b"\x1c", b"HIERARCHY\nMOTION\n", b"{" * 9999]
)
def test_rubbish(data: bytes) -> None:
    with pytest.raises(FormatError, match=r"^run\.bvh"):
        bvh.read(BytesSource("run.bvh", data), ReadOptions())


def test_truncated_anywhere() -> None:
    for size in range(len(BVH) - 15):
        with pytest.raises(KinepackError):
            read(BVH[:size])


# From other rigs.


def test_quaternions_keep_the_pose() -> None:
    joints = (
        Joint("a", -1),
        Joint("b{", 0, (0, 1, 0), axis_deg=(10, 20, 30)),
        Joint("c", 1, (1, 0, 0), rest=(1, 0, 0, 1)),
    )
    channels = [Channel(0, k) for k in ("tx", "ty", "tz", "qx", "qy", "qz", "qw")]
    channels += [Channel(1, k) for k in ("vx", "vy", "vz")] + [Channel(-1, "scalar", "smile")]
    values = np.random.default_rng(2).normal(0, 1, (6, len(channels)))
    clip = Clip(Skeleton((*joints, Joint("d", 2, (0, 0, 1))), tuple(channels)), values, 1 / 24, "run")
    written = bvh.write([clip], "run", WriteOptions())
    for word in ("scalar", "quaternions", "axis frames", "b{"):
        assert any(word in line for line in written.lost), word
    again = read(written.files["run.bvh"].decode())
    assert np.allclose(forward_kinematics(again).origins, forward_kinematics(clip).origins, atol=1e-9)


def test_asf_bones_keep_their_joints_in_place(shared_data: Path) -> None:
    (clip,) = asf_amc.read(PathSource(shared_data / "asfamc" / "cmu" / "09" / "09_01.amc"), ReadOptions())
    assert isinstance(clip, Clip)
    again = read(text_of(clip))
    places = [again.skeleton.index(joint.name) for joint in clip.skeleton.joints]
    assert np.allclose(forward_kinematics(again).origins[:, places], forward_kinematics(clip).origins, atol=1e-9)
    assert again.skeleton.joints[again.skeleton.index("head")].end_sites


def test_meshes_are_refused() -> None:
    mesh = MeshSequence(np.zeros((1, 3, 3)), np.array([[0, 1, 2]]))
    with pytest.raises(UnsupportedContent):
        bvh.write([mesh], "x", WriteOptions())
    with pytest.raises(UnsupportedContent):
        bvh.write([read(), read()], "x", WriteOptions())


# Real files.


def test_real_files_come_back_exactly(shared_data: Path) -> None:
    files = sorted((shared_data / "bvh").rglob("*.bvh"))
    assert len(files) >= 20
    for file in files:
        (clip,) = bvh.read(PathSource(file), ReadOptions())
        written = bvh.write([clip], clip.name, WriteOptions())
        (name, data), *_ = written.files.items()
        assert bvh.read(BytesSource(name, data), ReadOptions()) == [clip], file.name
        assert not written.lost
