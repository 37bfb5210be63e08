"""`kine` and clips whose frames lie between keys: knots are found, coded once, and all else follows from them."""

from __future__ import annotations

import contextlib
import dataclasses
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinepack
from kinepack.codecs._kine.loops import is_loop, seam_and_inside
from kinepack.codecs._kine.synthesis import rig_of, synthesis_of
from kinepack.codecs.base import codec_from_spec
from kinepack.codecs.kine import Kine
from kinepack.entropy.kine_setup import pack_setup, unpack_setup
from kinepack.errors import BitstreamError, Corrupt
from kinepack.math.rig import between, resample
from kinepack.metrics import METRICS
from kinepack.model import Channel, Clip, Joint, Skeleton
from kinepack.serve.push import Batch, SegmentEncoder
from kinepack.testing import awkward_clips
from kinepack.transforms.knots import LONGEST_GAP, Knots, find_knots, keys_of

LIKE = awkward_clips()["quaternions"]
IRREGULAR = (5, 5, 5, 5, 24, 1, 7, 7, 13, 2, 11, 3, 3, 3, 17, 5, 5)


def keyed(keys: Clip, gaps: tuple[int, ...], fps: float = 120) -> Clip:
    """The first keys so many frames apart, with all frames on the way."""
    starts, at = np.concatenate([[0], np.cumsum(gaps)]), np.arange(sum(gaps) + 1)
    before = np.minimum(np.searchsorted(starts, at, side="right") - 1, len(gaps) - 1)
    amount = (at - starts[before]) / np.array(gaps)[before]
    values = between(keys.skeleton, keys.values[before], keys.values[before + 1], amount=amount)
    return dataclasses.replace(keys, values=values, frame_time=1 / fps)


def gaps_of(knots: Knots | None) -> list[int]:
    assert knots is not None
    return [gap for gap, count in knots.runs for _ in range(count)]


def decoded(data: bytes) -> Clip:
    copy = kinepack.decompress(data)
    assert isinstance(copy, Clip)
    return copy


def hinges() -> Skeleton:
    """One joint of one axis, one of two."""
    joints = (Joint("root", -1), Joint("arm", 0, (0.0, 10.0, 0.0)), Joint("hand", 1, (0.0, 10.0, 0.0)))
    return Skeleton(joints, (Channel(0, "tx"), Channel(0, "rx"), Channel(1, "ry"), Channel(1, "rz")))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 4)), min_size=1, max_size=6))
def test_runs_of_gaps_are_what_they_say(runs: list[tuple[int, int]]) -> None:
    knots = Knots(tuple(runs))
    starts = np.concatenate([[0], np.cumsum([gap for gap, count in runs for _ in range(count)])])
    assert [knots.start_of(key) for key in range(len(starts))] == starts.tolist()
    for frame in range(starts[-1] + 1):
        first, stop = knots.span(frame, frame + 1)
        assert starts[first] <= frame <= starts[stop - 1] and stop - first <= 2
        assert (stop - first == 1) == (frame in starts)
    assert [knots.closes(key) for key in range(1, len(starts))] == [b - a > 1 for a, b in pairwise(starts)]
    with pytest.raises(Corrupt):
        knots.span(0, starts[-1] + 2)


@pytest.mark.parametrize("gaps", [IRREGULAR, (5,) * 30, (7, 11, 13, 17, 19), (40,), (2, 2), (3, 1, 1, 9)])
def test_knots_are_found(gaps: tuple[int, ...]) -> None:
    assert gaps_of(find_knots(keyed(LIKE, gaps), 0.1)) == list(gaps)


def test_a_clip_that_is_no_keyed_one_has_no_knots() -> None:
    for name, clip in awkward_clips().items():
        if name not in ("keyed", "static", "all-zero"):
            assert find_knots(clip, 100.0) is None, name
    assert find_knots(keyed(LIKE, (1, 2, 1, 2, 1, 1)), 0.1) is None


def test_long_and_wide_gaps_are_divided() -> None:
    still = keyed(LIKE.with_values(LIKE.values[[0] * 3]), (1000,))
    assert max(gaps_of(find_knots(still, 0.1))) <= LONGEST_GAP
    turning = Clip(hinges(), np.linspace([0, 0, 0, 0], [0, 170, 20, 10], 41))
    assert gaps_of(find_knots(turning, 0.1)) == [20, 20]


def test_between_is_what_resampling_shows() -> None:
    twice = resample(LIKE, 2 * LIKE.fps)
    middles = between(LIKE.skeleton, LIKE.values[:-1], LIKE.values[1:], amount=np.full(LIKE.frames - 1, 0.5))
    np.testing.assert_allclose(twice.values[1::2], middles, atol=1e-12)


@pytest.mark.parametrize("spec", ["kine", "kine:segment_s=0.3", "kine:layers=3", "kine:norm=max", "kine:effort=fast"])
@pytest.mark.parametrize("gaps", [IRREGULAR, (5,) * 40])
def test_keys_cost_less_than_frames(gaps: tuple[int, ...], spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    jerky = LIKE.with_values(LIKE.values[np.random.default_rng(1).permutation(LIKE.frames)])
    clip = keyed(jerky, gaps)
    data = kinepack.compress(clip, spec, target="joint_max<=0.3")
    assert METRICS["joint_max"].measure(clip, kinepack.decompress(data)) <= 0.3
    monkeypatch.setattr("kinepack.codecs.kine.find_knots", lambda *_: None)
    every = kinepack.compress(clip, spec, target="joint_max<=0.3")
    sizes = [kinepack.info(file)["motion_bytes"] for file in (data, every)]
    assert sizes[0] < 0.6 * sizes[1]


@pytest.mark.parametrize("spec", ["kine", "kine:segment_s=0.1", "kine:segment_s=0.2,layers=2,error=0.01"])
def test_windows_are_slices(spec: str) -> None:
    data = kinepack.compress(keyed(LIKE, IRREGULAR), spec)
    whole = decoded(data)
    with kinepack.open(data) as file:
        assert ("segment_s" in spec) == (len({e.first for e in file[0].record.segments}) > 1)
        for start in range(0, whole.frames, 3):
            for stop in {start + 1, min(start + 8, whole.frames), whole.frames}:
                assert np.array_equal(file[0].decode(start, stop).values, whole.values[start:stop])


def test_every_segment_decodes_alone() -> None:
    stream = codec_from_spec("kine:segment_s=0.1,layers=2").encode(keyed(LIKE, IRREGULAR))
    whole = Kine.decode(stream)
    assert isinstance(whole, Clip)
    for first, frames in {(s.first, s.frames) for s in stream.segments}:
        own = dataclasses.replace(stream, segments=[s for s in stream.segments if s.first == first])
        part = Kine.decode(own, (first, first + frames))
        assert isinstance(part, Clip)
        assert np.array_equal(part.values, whole.values[first : first + frames])


@pytest.mark.parametrize("error", [0.5, 0.1, 0.01])
@pytest.mark.parametrize("gaps", [(1,), (2,), (50,), (13, 1), IRREGULAR])
def test_frames_between_are_as_good_as_keys(gaps: tuple[int, ...], error: float) -> None:
    clip = keyed(LIKE, gaps)
    copy = decoded(kinepack.compress(clip, f"kine:error={error},segment_s=0.2"))
    assert METRICS["joint_max"].measure(clip, copy) <= 4 * error


def test_parts_that_stand_still() -> None:
    values = LIKE.values[[0, 0, 5, 5, 5, 9, 9]]
    clip = keyed(LIKE.with_values(values), (30, 10, 60, 20, 5, 40))
    assert gaps_of(find_knots(clip, 0.1)) == [30, 10, 80, 5, 40]
    copy = decoded(kinepack.compress(clip, "kine", target="joint_rms<=0.05"))
    assert METRICS["joint_rms"].measure(clip, copy) <= 0.05


def test_hinges_go_the_shorter_way_over_the_seam() -> None:
    """Angles kept within half a turn, whose copies may be on the other side of the seam."""
    keys = np.zeros((20, 4))
    keys[:, 1], keys[:, 2] = 175 + 9 * (np.arange(20) % 2), np.linspace(-60, 60, 20)
    clip = keyed(Clip(hinges(), keys), (6,) * 19)
    clip = clip.with_values((clip.values + 180) % 360 - 180)
    assert find_knots(clip, 0.1) is not None
    copy = decoded(kinepack.compress(clip, "kine:error=0.05,segment_s=0.2"))
    assert METRICS["joint_max"].measure(clip, copy) < 0.3
    np.testing.assert_allclose(np.cos(np.radians(copy.values[:, 1])), np.cos(np.radians(clip.values[:, 1])), atol=0.05)


def test_a_keyed_loop_meets_its_beginning() -> None:
    turn = np.sin(2 * np.pi * np.arange(25) / 24)[:, None]
    clip = keyed(LIKE.with_values(LIKE.values[:25] * 0 + LIKE.values[:1] + 0.3 * turn), (5,) * 24)
    knots = find_knots(clip, 0.1)
    assert knots is not None and is_loop(clip)
    copy = decoded(kinepack.compress(clip, "kine"))
    seam, inside = seam_and_inside(keys_of(clip, knots), keys_of(copy, knots))
    assert seam <= max(inside, 0.05)


def test_live_batches_have_knots_of_their_own() -> None:
    clip, batches = keyed(LIKE, IRREGULAR), []
    encoder = SegmentEncoder(clip, codec_from_spec("kine"), name="live", frame_time=clip.frame_time)
    for first in range(0, clip.frames, 24):
        rows = clip.values[first : first + 24]
        encoder.segment(Batch(first, 0, rows))
        copy = Kine.decode(encoder._encode(rows))
        assert METRICS["joint_max"].measure(clip.slice(first, first + len(rows)), copy) < 1.0
        batches.append(len(rows))
    assert sum(batches) == clip.frames


def test_setups_with_knots_come_back_and_hostile_ones_are_refused() -> None:
    clip = keyed(LIKE, IRREGULAR)
    stream, rig = codec_from_spec("kine").encode(clip), rig_of(clip.skeleton)
    setup = unpack_setup(stream.setup, rig)
    assert [gap for gap, count in setup.knots for _ in range(count)] == list(IRREGULAR)
    assert pack_setup(setup, rig) == stream.setup
    for runs in [((0, 5),), ((3, 0),), ((1 << 20, 1 << 20),), ((-4, 2), (5, 5))]:
        with pytest.raises(Corrupt):
            unpack_setup(pack_setup(dataclasses.replace(setup, knots=runs), rig), rig)
    short = pack_setup(dataclasses.replace(setup, knots=setup.knots[:3]), rig)
    with pytest.raises(Corrupt):
        Kine.decode(dataclasses.replace(stream, setup=short))


def test_damaged_knots_raise_only_our_errors() -> None:
    stream = codec_from_spec("kine:segment_s=0.1").encode(keyed(LIKE, IRREGULAR))
    rng = np.random.default_rng(3)
    for _ in range(300):
        setup = bytearray(stream.setup)
        setup[int(rng.integers(2, 16))] = int(rng.integers(256))
        with contextlib.suppress(BitstreamError):
            Kine.decode(dataclasses.replace(stream, setup=bytes(setup)))


def test_a_stream_without_knots_is_marked_as_before() -> None:
    stream = codec_from_spec("kine").encode(LIKE)
    assert stream.setup[:2] == b"\x80\x00"
    assert synthesis_of(LIKE.skeleton, stream.setup).timing == (1, 1)
