"""BAP: whole numbers come back exactly, masks hold or zero, CMU motion goes there by name or by rotation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kinepack.errors import FormatError, KinepackError, LimitExceeded, UnsupportedContent, UsageError
from kinepack.formats import asf_amc, bap, bvh
from kinepack.formats.bap_mapping import to_baps
from kinepack.formats.bap_table import baps, by_cmu, humanoid
from kinepack.formats.base import FORMATS, ReadOptions, WriteOptions
from kinepack.formats.source import PathSource
from kinepack.formats.text import BytesSource
from kinepack.limits import Limits
from kinepack.math import rotation
from kinepack.math.kinematics import forward_kinematics, local_transforms
from kinepack.model import Channel, Clip, Joint, Skeleton


def mask(*on: int, length: int = 186) -> str:
    return " ".join("1" if index in on else "0" for index in range(1, length + 1))


BAP = f"3.1 wave 25 2\n{mask(4, 181)}\n0 100 -20\n{mask(4)}\n1 -7\n{mask(50)}\n2 314159\n"


def read(text: str = BAP, **options: object) -> Clip:
    (clip,) = bap.read(BytesSource("w.bap", text.encode()), ReadOptions(**options))  # type: ignore[arg-type]
    assert isinstance(clip, Clip)
    return clip


def text_of(clip: Clip, **options: object) -> str:
    return bap.write([clip], "w", WriteOptions(**options)).files["w.bap"].decode()  # type: ignore[arg-type]


def cmu(folder: Path, subject: str, clip: str) -> Clip:
    (found,) = asf_amc.read(PathSource(folder / "asfamc" / "cmu" / subject / f"{clip}.amc"), ReadOptions())
    assert isinstance(found, Clip)
    return found


def test_the_table() -> None:
    assert [bap.index for bap in baps()] == list(range(1, 297))
    assert len(by_cmu()) == 62
    assert len({(b.group, b.position) for b in baps()}) == 296
    assert sum(b.i_range is not None for b in baps()) == 12
    names = {joint.name for joint in humanoid()}
    assert names == {b.joint for b in baps() if b.joint}
    assert FORMATS["bap"].extensions == (".bap",)


def test_the_humanoid_is_symmetric_and_stands() -> None:
    clip = read()
    pose = forward_kinematics(Clip(clip.skeleton, np.zeros((1, 3)))).origins[0]
    index = clip.skeleton.index
    for joint in clip.skeleton.joints:
        if joint.name.startswith("l_"):
            left, right = pose[index(joint.name)], pose[index("r_" + joint.name[2:])]
            assert np.allclose(left * [-1, 1, 1], right) and left[0] > 0
    assert 1500 < pose[index("skullbase"), 1] - pose[index("l_metatarsal"), 1] < 1800


def test_what_is_read() -> None:
    clip = read()
    assert (clip.name, clip.frame_time, clip.unit_cm, clip.skeleton.angle_unit) == ("wave", 1 / 25, 0.1, "rad")
    assert [clip.skeleton.joints[c.joint].name for c in clip.skeleton.channels] == [
        "l_hip",
        "skullbase",
        "HumanoidRoot",
    ]
    assert clip.values.tolist() == [[-0.001, 0, -20], [0.00007, 0, -20], [0.00007, -3.14159, -20]]


def test_masked_parameters_hold_or_are_zero() -> None:
    assert read(masked_bap="zero").values.tolist() == [[-0.001, 0, -20], [0.00007, 0, 0], [0, -3.14159, 0]]


@pytest.mark.parametrize("length", [168, 169, 186, 295, 296])
def test_mask_lengths(length: int) -> None:
    clip = read(f"2.1 x 30 1\n{mask(1, 168, length, length=length)}\n7" + " 5" * (3 - (length == 168)))
    assert len(clip.skeleton.channels) == 3 - (length == 168)
    again = read(text_of(clip))
    assert again == clip
    assert len(text_of(clip).split("\n")[1].split()) == (296 if length > 186 else 186)
    assert text_of(clip).startswith("2.1 x 30 1\n")


def test_extensions_are_scalars() -> None:
    clip = read(f"3.2 x 30 1\n{mask(187, length=296)}\n0 12345")
    assert clip.skeleton.channels == (Channel(-1, "scalar", "extension_001"),)
    assert clip.values[0, 0] == 12345 and read(text_of(clip)) == clip
    assert not clip.skeleton.notes


def test_comments_blanks_and_line_ends() -> None:
    text = "# by hand\n\n" + BAP.replace("\n", "   \r\n\r\n").replace("1 -7", "  1   -7 # minus seven") + "# end\n"
    assert read(text) == read()


@pytest.mark.parametrize("fps", ["25", "29.97", "0.1", "119.88011988"])
def test_rates_and_names_come_back(fps: str) -> None:
    clip = read(BAP.replace("wave 25", f"two words {fps}"))
    assert clip.name == "two words" and clip.frame_time == 1 / float(fps)
    assert read(text_of(clip)) == clip


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("3.1 wave 25 2", "3.1 2", 1),
        ("3.1 wave 25 2", "x wave 25 2", 1),
        ("wave 25 2", "wave 0 2", 1),
        ("wave 25 2", "wave nan 2", 1),
        ("wave 25 2", "wave 25 two", 1),
        ("\n1 -7", "\n1", 5),
        ("\n1 -7", "\n1 -7 8", 5),
        ("\n1 -7", "\n1 0.5", 5),
        ("\n1 -7", "\n1 1_0", 5),
        ("\n1 -7", "\n1 +-7", 5),
        ("\n1 -7", "\n1 99999999999", 5),
        ("\n1 -7", "\n1 " + "9" * 5000, 5),
        (mask(50), mask(50) + " 2", 6),
        (mask(50), mask(50, length=297), 6),
        ("\n2 314159\n", "", 6),
    ],
)
def test_broken_files(old: str, new: str, line: int) -> None:
    with pytest.raises(FormatError) as error:
        read(BAP.replace(old, new, 1))
    assert (error.value.file, error.value.line) == ("w.bap", line)


@pytest.mark.parametrize("data", [b"", b"\0\0", b"\xff", b"3.1 x 25 9", f"3.1 x 25 1\n{mask()}\n0".encode()])
def test_rubbish(data: bytes) -> None:
    with pytest.raises(FormatError, match=r"^w\.bap"):
        bap.read(BytesSource("w.bap", data), ReadOptions())


def test_counts_in_headers_are_not_believed() -> None:
    assert read(BAP.replace("25 2", "25 1000000000")) == read()
    with pytest.raises(LimitExceeded):
        read(limits=Limits(frames=2))


def test_truncated_anywhere() -> None:
    for size in range(0, len(BAP), 3):
        try:
            read(BAP[:size])
        except KinepackError:
            continue


# Real files.


def test_real_files_come_back_exactly(shared_data: Path) -> None:
    files = sorted((shared_data / "bap").rglob("*.bap"))
    assert len(files) >= 10
    for file in files:
        (clip,) = bap.read(PathSource(file), ReadOptions())
        assert isinstance(clip, Clip)
        track = to_baps(clip)
        assert not track.lost
        lines = [line.split() for line in file.read_text().split("\n")[1:] if line.strip()]
        current = dict.fromkeys(track.values, 0)
        for frame, (on, (_, *numbers)) in enumerate(zip(lines[0::2], lines[1::2], strict=True)):
            current |= zip([i + 1 for i, bit in enumerate(on) if bit == "1"], map(int, numbers), strict=True)
            assert current == {index: int(values[frame]) for index, values in track.values.items()}
        assert read(text_of(clip)) == clip, file.name


def test_real_files_go_through_bvh(shared_data: Path) -> None:
    (clip,) = bap.read(PathSource(shared_data / "bap" / "vreng" / "bof.bap"), ReadOptions())
    assert isinstance(clip, Clip)
    data = bvh.write([clip], "x", WriteOptions()).files["x.bvh"]
    (again,) = bvh.read(BytesSource("x.bvh", data), ReadOptions(unit_cm=0.1))
    assert isinstance(again, Clip)
    before, after = to_baps(clip).values, to_baps(again).values
    assert before.keys() == after.keys() and all(np.array_equal(before[k], after[k]) for k in before)


# CMU motion.


def test_relabelled_motion_comes_back_up_to_rounding(shared_data: Path) -> None:
    clip = cmu(shared_data, "09", "09_01")
    written = bap.write([clip], "w", WriteOptions())
    assert any("rounded" in line for line in written.lost) and any("relabel" in line for line in written.lost)
    again = bap.from_bap(read(written.files["w.bap"].decode()), clip.skeleton)
    assert again.skeleton == clip.skeleton
    error = np.abs(again.values - clip.values).max(axis=0)
    assert error[clip.skeleton.select("r")].max() <= np.degrees(0.5e-5) + 1e-9
    assert error[clip.skeleton.select("t")].max() <= 0.5 / (clip.unit_cm * 10) + 1e-9
    assert text_of(Clip(again.skeleton, again.values, again.frame_time, again.name)) == written.files["w.bap"].decode()


def test_true_motion_has_the_bones_rotations(shared_data: Path) -> None:
    clip = cmu(shared_data, "02", "02_01")
    written = bap.write([clip], "w", WriteOptions(bap_mapping="true"))
    body = read(written.files["w.bap"].decode())
    ours, theirs = local_transforms(clip).rotations, local_transforms(body).rotations
    for bone, joint in [
        ("lfemur", "l_hip"),
        ("rhumerus", "r_shoulder"),
        ("head", "skullbase"),
        ("root", "HumanoidRoot"),
    ]:
        angle = rotation.angle_between(ours[:, clip.skeleton.index(bone)], theirs[:, body.skeleton.index(joint)])
        assert np.degrees(angle).max() < 0.002, bone
    residuals = [line for line in written.lost if "degrees" in line]
    assert any(line.startswith("lradius") for line in residuals)
    assert not any(line.startswith(("lfemur", "head", "lfoot", "lhand")) for line in residuals)


def test_strangers_are_refused() -> None:
    clip = Clip(Skeleton((Joint("a", -1),), (Channel(0, "rx"),)), np.zeros((1, 1)))
    with pytest.raises(UnsupportedContent, match="H-Anim or CMU"):
        bap.write([clip], "x", WriteOptions())
    with pytest.raises(UsageError):
        bap.from_bap(read(), clip.skeleton)


def test_values_that_no_bap_holds_are_refused() -> None:
    clip = read()
    with pytest.raises(UnsupportedContent, match="too large"):
        text_of(clip.with_values(np.full((1, 3), 1e9)))


def test_other_rotation_forms_are_rewritten() -> None:
    joints = (Joint("HumanoidRoot", -1), Joint("l_hip", 0, order="xyz"))
    values = np.array([[10.0, 20.0, 30.0]])
    clip = Clip(Skeleton(joints, tuple(Channel(1, k) for k in ("rx", "ry", "rz"))), values)
    written = bap.write([clip], "w", WriteOptions())
    body = read(written.files["w.bap"].decode())
    ours, theirs = local_transforms(clip).rotations[:, 1], local_transforms(body).rotations
    assert rotation.angle_between(ours, theirs[:, body.skeleton.index("l_hip")]).max() < 2e-5
    assert any("rewritten" in line for line in written.lost)
