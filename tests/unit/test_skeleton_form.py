"""The coded form of skeletons: exact for anything, small for what is common, safe with what is hostile."""

from __future__ import annotations

import contextlib
import json
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinepack.container.layout import ByteWriter, StaticKind
from kinepack.container.skeletons import dictionary, mirrors, words_of
from kinepack.container.static import pack_skeleton, unpack_static
from kinepack.errors import BitstreamError, LimitExceeded
from kinepack.limits import Limits
from kinepack.model import Channel, Joint, Skeleton
from kinepack.samples import human
from kinepack.testing import awkward_clips

numbers = st.one_of(
    st.floats(-1e6, 1e6).map(lambda v: round(v, 4)),
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(width=32, allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 1.0, 1e-27]),
)
vectors = st.tuples(numbers, numbers, numbers)


@st.composite
def skeletons(draw: st.DrawFn) -> Skeleton:
    names = draw(st.lists(st.text(st.characters(codec="utf-8"), max_size=6), min_size=1, max_size=6, unique=True))
    joints = [
        Joint(
            name,
            draw(st.integers(-1, n - 1)),
            draw(vectors),
            draw(st.sampled_from(["xyz", "zyx", "yzx"])),
            axis_deg=draw(vectors),
            direction=draw(vectors),
            length=draw(numbers),
            end_sites=tuple(draw(st.lists(vectors, max_size=2))),
        )
        for n, name in enumerate(names)
    ]
    limit = draw(st.none() | st.tuples(numbers, numbers))
    kinds = st.sampled_from(["", "rx", "tx ty rz"])
    channels = [Channel(n, kind, limit=limit) for n in range(len(names)) for kind in draw(kinds).split()]
    return Skeleton(tuple(joints), tuple(channels), notes=draw(st.dictionaries(st.text(max_size=3), st.just("ä\n"))))


@given(skeletons())
def test_any_skeleton_survives(skeleton: Skeleton) -> None:
    found = unpack_static(pack_skeleton(skeleton))
    assert isinstance(found, Skeleton) and found.to_json() == skeleton.to_json()


@pytest.mark.parametrize("clip", awkward_clips().values(), ids=list(awkward_clips()))
def test_awkward_rigs_are_coded_and_smaller(clip: object) -> None:
    skeleton = clip.skeleton  # type: ignore[attr-defined]
    body = pack_skeleton(skeleton)
    assert body[0] == StaticKind.CODED_SKELETON
    assert len(body) < len(zlib.compress(skeleton.to_json().encode(), 9))


def test_end_sites_of_negative_zeros_are_coded() -> None:
    skeleton = Skeleton((Joint("root", -1, end_sites=((0.0, 0.0, 0.0), (-0.0, 0.0, 0.0))),), (Channel(0, "rx"),))
    body = pack_skeleton(skeleton)
    assert body[0] == StaticKind.CODED_SKELETON
    assert unpack_static(body) == skeleton


def test_the_other_side() -> None:
    names = ["root", "lfoot", "rfoot", "LeftArm", "RightArm", "hand.R", "hand.L", "Bip01 L Calf", "Bip01 R Calf", "r"]
    assert mirrors(names) == [0, 0, 1, 0, 1, 0, 1, 0, 1, 0]


def deflated(text: str) -> bytes:
    engine = zlib.compressobj(9, zlib.DEFLATED, -15, 9, zlib.Z_DEFAULT_STRATEGY, dictionary())
    return engine.compress(text.encode()) + engine.flush()


def body_of(text: str) -> bytes:
    out = ByteWriter()
    out.u8(StaticKind.CODED_SKELETON)
    out.block(deflated(text))
    out.block(b"")
    return bytes(out.data)


@pytest.mark.parametrize(
    "change",
    [
        {"names": None}, {"names": 5}, {"names": "root"}, {"up": []}, {"up": [9]}, {"up": ["a"]}, {"up": [0.5]},
        {"mirror": [1, 2, 3]}, {"mirror": ["x"]}, {"sites": [-1]}, {"sites": [1.5]}, {"offset": [9]},
        {"offset": [0, -1]}, {"offset": [0, 1e9]},
        {"offset": []}, {"offset": {}}, {"rest": [4]}, {"kinds": [7]}, {"of": ["x"]}, {"of": [99]}, {"orders": ["xxx"]},
        {"orders": [["x", "y", "z"]]}, {"limits": [1]}, {"limits": [[float("nan"), 1.0]] * 6},
        {"unit_cm": "x"}, {"unit_cm": -1}, {"angle_unit": []}, {"notes": [1]}, {"length": [0, 400, 0]},
        {"direction": [1, 400, 0]}, {"axis_deg": [0, 2, "x"]},
    ],
)  # fmt: skip
def test_words_that_make_no_sense(change: dict[str, object]) -> None:
    words = {**words_of(awkward_clips()["one-joint"].skeleton), **change}
    with contextlib.suppress(BitstreamError):  # what is left may also happen to be a skeleton
        found = unpack_static(body_of(json.dumps(words)))
        assert isinstance(found, Skeleton) and Skeleton.from_json(found.to_json()) == found
    for text in ("", "[]", "5", "{", '{"names":' + "[" * 5000, "\x00"):
        with pytest.raises(BitstreamError):
            unpack_static(body_of(text))


def test_limits_come_before_numbers() -> None:
    words = {"names": ["a"], "up": [0], "sites": [10**9], "kinds": [], "of": [], "end_sites": [0, 1, 0]}
    with pytest.raises(LimitExceeded):
        unpack_static(body_of(json.dumps(words)))
    with pytest.raises(BitstreamError):
        unpack_static(body_of(" " * 300_000), Limits(joints=100, channels=100))


def test_damaged_bodies_raise_our_errors() -> None:
    body = pack_skeleton(human().skeleton)
    noise = np.random.default_rng(5)
    flipped = [
        body[:at] + bytes([body[at] ^ 1 << bit]) + body[at + 1 :] for at in range(1, len(body)) for bit in (0, 5)
    ]
    random = [body[:1] + noise.bytes(len(body)) for _ in range(200)]
    for bad in (*(body[:size] for size in range(1, len(body))), *flipped, *random):
        with contextlib.suppress(BitstreamError, LimitExceeded):
            unpack_static(bad)
