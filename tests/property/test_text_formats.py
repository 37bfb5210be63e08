"""For any clip a text format can hold, read(write(clip)) == clip; for any text, only our own errors."""

from __future__ import annotations

import contextlib

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from kinepack.errors import KinepackError
from kinepack.formats import asf_amc, bap, bvh
from kinepack.formats.asf import tip
from kinepack.formats.bap_mapping import LARGEST, clip_of
from kinepack.formats.base import FORMATS, Format, ReadOptions, WriteOptions
from kinepack.formats.text import BytesSource
from kinepack.limits import Limits
from kinepack.model import Channel, Clip, Joint, Skeleton
from kinepack.model.skeleton import Vector

moderate = st.floats(-1e9, 1e9)
anything = st.floats(allow_nan=False, allow_infinity=False)
vectors = st.tuples(moderate, moderate, moderate)
words = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.\-]{0,8}", fullmatch=True)
titles = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8).filter(
    lambda name: name == name.strip(" \t\v\f") and name[:1] not in "{}" and name[-1:] not in "{}"
)
rare = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def parents_depth_first(draw: DrawFn, count: int, *, roots: bool) -> list[int]:
    """Each joint hangs on the joint before it or on one of that one's ancestors."""
    parents = [-1]
    for index in range(1, count):
        line, joint = [-1] if roots else [], index - 1
        while joint >= 0:
            line.append(joint)
            joint = parents[joint]
        parents.append(draw(st.sampled_from(line)))
    return parents


def numbers(draw: DrawFn, frames: int, width: int) -> np.ndarray:
    return np.array(draw(st.lists(anything, min_size=frames * width, max_size=frames * width))).reshape(frames, width)


@st.composite
def bvh_clips(draw: DrawFn) -> Clip:
    count = draw(st.integers(1, 6))
    names = draw(st.lists(titles, min_size=count, max_size=count, unique=True))
    kinds = st.lists(st.sampled_from([a + b for a in "trs" for b in "xyz"]), unique=True, max_size=9)
    joints, channels = [], list[Channel]()
    for index, parent in enumerate(parents_depth_first(draw, count, roots=True)):
        own = draw(kinds) if index else [*draw(kinds.filter(bool))]
        turns = "".join(kind[1] for kind in own if kind[0] == "r")
        order = turns + "".join(axis for axis in "xyz" if axis not in turns)
        sites = tuple(draw(st.lists(vectors, max_size=2)))
        joints.append(Joint(names[index], parent, draw(vectors), order, end_sites=sites))
        channels += [Channel(index, kind) for kind in own]
    values = numbers(draw, draw(st.integers(1, 3)), len(channels))
    return Clip(Skeleton(tuple(joints), tuple(channels)), values, draw(st.floats(1e-9, 1e9)), "clip")


@st.composite
def asf_clips(draw: DrawFn) -> Clip:
    count = draw(st.integers(1, 6))
    names = [
        "root",
        *draw(st.lists(words.filter(lambda n: n != "root"), min_size=count - 1, max_size=count - 1, unique=True)),
    ]
    dofs = st.lists(st.sampled_from(["tx", "ty", "tz", "rx", "ry", "rz"]), unique=True, max_size=6)
    joints, groups = list[Joint](), list[list[Channel]]()
    for index in range(count):
        parent = draw(st.integers(0, index - 1)) if index else -1
        own = draw(dofs if index else dofs.filter(bool))
        turns = "".join(kind[1] for kind in reversed(own) if kind[0] == "r")
        order = turns + "".join(axis for axis in "zyx" if axis not in turns)
        zero: Vector = (0.0, 0.0, 0.0)
        direction, length = (draw(vectors), draw(moderate)) if index else (zero, 0.0)
        offset = tip(joints[parent].direction, joints[parent].length) if index else draw(vectors)
        joints.append(Joint(names[index], parent, offset, order, draw(vectors), direction=direction, length=length))
        limits = st.none() | st.tuples(anything, moderate) if index else st.none()
        groups.append([Channel(index, kind, limit=draw(limits)) for kind in own])
    channels = [channel for group in draw(st.permutations(groups)) for channel in group]
    unit = 2.54 / draw(st.floats(0.01, 100))
    values = numbers(draw, draw(st.integers(1, 3)), len(channels))
    return Clip(Skeleton(tuple(joints), tuple(channels), unit, translation="add"), values, 1 / 120, "clip")


@st.composite
def bap_clips(draw: DrawFn) -> Clip:
    used = sorted(draw(st.sets(st.integers(1, 296), min_size=1, max_size=5)))
    rows = draw(
        st.lists(
            st.lists(st.integers(-LARGEST, LARGEST), min_size=len(used), max_size=len(used)), min_size=1, max_size=4
        )
    )
    fps = draw(st.floats(0.1, 1000))
    return clip_of(used, np.array(rows, np.int64), 1 / fps, draw(words), notes={})


def back(clip: Clip, form: Format) -> list[object]:
    files = form.write([clip], "clip", WriteOptions()).files  # type: ignore[misc]
    name = next(iter(files))
    return list(form.read(BytesSource(name, files[name], files), ReadOptions()))


@rare
@given(bvh_clips())
def test_bvh_comes_back(clip: Clip) -> None:
    assert back(clip, FORMATS["bvh"]) == [clip]


@rare
@given(asf_clips())
def test_asf_amc_comes_back(clip: Clip) -> None:
    assert back(clip, FORMATS["asf-amc"]) == [clip]


@rare
@given(bap_clips())
def test_bap_comes_back(clip: Clip) -> None:
    assert back(clip, FORMATS["bap"]) == [clip]


# Any text at all.

SMALL = Limits(joints=200, channels=500, frames=1000, values=100_000)


def survives(form: Format, name: str, data: bytes, beside: dict[str, bytes] | None = None) -> None:
    with contextlib.suppress(KinepackError):
        for clip in form.read(BytesSource(name, data, beside or {}), ReadOptions(limits=SMALL)):
            assert np.isfinite(clip.values).all()  # type: ignore[union-attr]


@st.composite
def mutations(draw: DrawFn, data: bytes) -> bytes:
    """The text with pieces cut out, doubled, swapped or replaced by what parsers stumble over."""
    odd = [
        b"",
        b"\n",
        b" ",
        b"nan",
        b"-",
        b"1e999",
        b"1000000000",
        b"{",
        b"}",
        b":",
        b"(",
        b"#",
        b"\xff",
        b"begin\n",
        b"end\n",
    ]
    for _ in range(draw(st.integers(1, 5))):
        start = draw(st.integers(0, len(data)))
        stop = draw(st.integers(start, min(len(data), start + 40)))
        piece = draw(st.sampled_from([*odd, data[start:stop] * 2]) | st.binary(max_size=4))
        data = data[:start] + piece + data[stop:]
    return data[: draw(st.integers(0, len(data)))] if draw(st.booleans()) else data


@rare
@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_random_bytes(data: bytes) -> None:
    survives(FORMATS["bvh"], "a.bvh", data)
    survives(FORMATS["bvh"], "a.bvh", b"HIERARCHY\n" + data)
    survives(FORMATS["bap"], "a.bap", data)
    survives(FORMATS["asf-amc"], "a.amc", data, {"a.asf": data})


@rare
@given(st.data(), bvh_clips())
def test_mutated_bvh(data: st.DataObject, clip: Clip) -> None:
    written = bvh.write([clip], "a", WriteOptions()).files["a.bvh"]
    survives(FORMATS["bvh"], "a.bvh", data.draw(mutations(written)))


@rare
@given(st.data(), asf_clips())
def test_mutated_asf_amc(data: st.DataObject, clip: Clip) -> None:
    files = dict(asf_amc.write([clip], "a", WriteOptions()).files)
    target = data.draw(st.sampled_from(sorted(files)))
    files[target] = data.draw(mutations(files[target]))
    survives(FORMATS["asf-amc"], "a.amc", files["a.amc"], files)


@rare
@given(st.data(), bap_clips())
def test_mutated_bap(data: st.DataObject, clip: Clip) -> None:
    written = bap.write([clip], "a", WriteOptions()).files["a.bap"]
    survives(FORMATS["bap"], "a.bap", data.draw(mutations(written)))
