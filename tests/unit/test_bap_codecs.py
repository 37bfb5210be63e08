"""The MPEG-4 body animation codecs: their streams, their rules, and what they promise."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import kinepack
from kinepack.codecs.base import codec_from_spec
from kinepack.energy import reception_mj
from kinepack.entropy import fba
from kinepack.entropy.fba_arithmetic import Counts, Decoder, Encoder
from kinepack.errors import ConfigError, FormatError, LimitExceeded, UnsupportedContent
from kinepack.formats.bap_carriers import carriers_of, group_sizes, order, steps_of
from kinepack.limits import Limits
from kinepack.model import Channel, Clip, Joint, Skeleton
from kinepack.samples import human
from kinepack.testing import awkward_clips
from kinepack.transforms import bap_sizes
from kinepack.transforms.indexing import SELECTIVE, bucket_edges, make_table
from kinepack.transforms.levels import channel_levels, joint_levels
from kinepack.transforms.sparsing import sparse_closed, sparse_open, thresholds

CLIPS = awkward_clips()


def round_trip(clip: Clip, spec: str) -> tuple[int, np.ndarray]:
    codec = codec_from_spec(spec)
    stream = codec.encode(clip)
    return stream.payload_bytes, codec.decode(stream).values


# FBA streams.


def random_layout(rng: np.random.Generator, widest: bool) -> tuple[fba.FbaLayout, np.ndarray, np.ndarray]:
    on = rng.random(296) < rng.choice([0.02, 0.2])
    on[rng.integers(296)] = True
    quant, frames = int(rng.choice([1, 2, 31])), int(rng.integers(1, 8))
    most = fba.largest_level(quant)
    spread = rng.choice([0.3, 3, most / 3])
    levels = np.clip(np.rint(rng.normal(0, spread, (frames, on.sum()))), -most, most).astype(np.int32)
    intra = np.zeros(frames, bool)
    intra[[0, rng.integers(frames)]] = True
    ranges = np.full((4, 296), 31 if widest else 0, np.int32)
    if not widest:
        for row, part in enumerate((levels[intra], -levels[intra], levels[~intra], -levels[~intra])):
            ranges[row, on] = fba.smallest_k(part.max(axis=0, initial=0), quant)
    return fba.FbaLayout(group_sizes(), on, ranges, quant, int(rng.choice([0, 1920]))), levels, intra


@pytest.mark.parametrize("seed", range(8))
def test_kernels_write_the_stream_that_plain_python_writes(seed: int) -> None:
    layout, levels, intra = random_layout(np.random.default_rng(seed), widest=seed % 2 == 0)
    data = fba.encode(levels, intra, layout)
    assert data == fba.encode_plain(levels, intra, layout)
    columns = np.full(296, -1, np.int32)
    columns[layout.on] = np.arange(levels.shape[1])
    steps = steps_of("alternative")[order()]
    decoded = fba.decode(data, group_sizes=group_sizes(), steps=steps, columns=columns, frames=99)
    scaled = levels.astype(np.int64) * steps[layout.on] * fba.SCALES[layout.quant]
    held = np.zeros(levels.shape[1], np.int64)
    for row, is_intra, got in zip(scaled, intra, decoded.values, strict=True):
        held = row if is_intra else held + row
        assert np.array_equal(got, held)
    assert decoded.sixteenths == layout.sixteenths
    assert np.array_equal(decoded.used, layout.on)


def test_arithmetic_coder_stuffs_a_one_after_22_zeros_and_still_ends_where_it_should() -> None:
    bits: list[int] = []
    model = Counts([1] + [3000] * 5)
    coder = Encoder(bits)
    symbols = [5] * 60 + [0, 5, 5]
    for symbol in symbols:
        coder.encode(model, symbol)
    coder.flush()
    assert "0" * 23 not in "".join(map(str, bits))
    decoder = Decoder(bits + [0, 1] * 20, 0)
    assert [decoder.decode(model) for _ in symbols] == symbols
    assert decoder.finish() == len(bits)


def test_counts_halve_at_the_limit() -> None:
    model = Counts([1, 1])
    for _ in range(16381):
        model.learn(0)
    assert model.total == 16383
    model.learn(1)
    assert model.counts == [8191, 2]


def test_standard_steps_need_more_segments_or_offsets_but_still_code() -> None:
    clip = CLIPS["wrapping"]
    for table in ("alternative", "standard"):
        _, values = round_trip(clip, f"mpeg4-predictive:steps={table}")
        carriers = carriers_of(clip.skeleton)
        step = carriers.steps(table) / np.abs(carriers.per_unit)
        assert np.all(np.abs(values - clip.values) <= step / 2 + 0.5 / np.abs(carriers.per_unit) + 1e-9)


@pytest.mark.parametrize("name", ["noise", "quaternions", "radians", "one-frame"])
def test_predictive_error_is_half_a_step(name: str) -> None:
    clip = CLIPS[name]
    carriers = carriers_of(clip.skeleton)
    _, values = round_trip(clip, "mpeg4-predictive")
    bound = (carriers.steps("alternative") / 2 + 0.5) / np.abs(carriers.per_unit)
    assert np.all(np.abs(values - clip.values) <= bound * (1 + 1e-9))


def test_more_channels_than_body_parameters_are_refused_with_the_reason() -> None:
    joints = tuple(Joint(f"j{i}", i - 1) for i in range(100))
    skeleton = Skeleton(joints, tuple(Channel(i, k) for i in range(100) for k in ("rx", "ry", "rz")))
    with pytest.raises(ConfigError, match="296"):
        codec_from_spec("mpeg4-predictive").encode(Clip(skeleton, np.zeros((2, 300))))


def test_fba_file_round_trips_to_the_same_bytes(tmp_path) -> None:
    clip = _cmu_named()
    kinepack.write(clip, tmp_path / "a.fba")
    copy = kinepack.read(tmp_path / "a.fba")
    assert copy.frames == clip.frames and copy.fps == pytest.approx(120)
    kinepack.write(copy, tmp_path / "b.fba")
    assert (tmp_path / "a.fba").read_bytes() == (tmp_path / "b.fba").read_bytes()


def test_fba_file_damage_is_a_format_error(tmp_path) -> None:
    kinepack.write(_cmu_named(), tmp_path / "a.fba")
    data = (tmp_path / "a.fba").read_bytes()
    noise = np.random.default_rng(0)
    for bad in [data[:size] for size in range(0, len(data), 7)] + [noise.bytes(200) for _ in range(30)]:
        (tmp_path / "bad.fba").write_bytes(bad)
        with pytest.raises((FormatError, LimitExceeded)):
            kinepack.read(tmp_path / "bad.fba", limits=Limits(frames=10_000, values=1_000_000))


def test_fba_file_refuses_what_an_i_frame_cannot_hold(tmp_path) -> None:
    clip = _cmu_named()
    far = clip.values.copy()
    far[:, 0] += 1e4
    with pytest.raises(UnsupportedContent, match="steps"):
        kinepack.write(clip.with_values(far), tmp_path / "far.fba")


def _cmu_named() -> Clip:
    joints = (Joint("root", -1), Joint("lfemur", 0, (0, -1, 0)), Joint("ltibia", 1, (0, -7, 0)))
    kinds = [(0, k) for k in ("tx", "ty", "tz", "rx", "ry", "rz")] + [(1, "rx"), (1, "rz"), (2, "rx")]
    skeleton = Skeleton(joints, tuple(Channel(*pair) for pair in kinds), unit_cm=2.54 / 0.45)
    values = np.random.default_rng(1).normal(0, 0.5, (40, 9)).cumsum(axis=0)
    return Clip(skeleton, values, 1 / 120, "a")


# Floats.


@pytest.mark.parametrize("name", list(CLIPS))
def test_float_differences_are_exact_in_single_precision(name: str) -> None:
    _, values = round_trip(CLIPS[name], "mpeg4-float")
    assert np.array_equal(values, CLIPS[name].values.astype(np.float32))


def test_float_differences_survive_extreme_numbers() -> None:
    rng = np.random.default_rng(3)
    values = np.exp(rng.uniform(-80, 80, (30, 6))) * rng.choice([-1, 1], (30, 6))
    values[4] = 0.0
    clip = dataclasses.replace(CLIPS["one-joint"], values=values)
    assert np.array_equal(round_trip(clip, "mpeg4-float")[1], values.astype(np.float32))
    with pytest.raises(ConfigError, match="single precision"):
        round_trip(clip.with_values(np.full((3, 6), 1e39)), "mpeg4-float")


@pytest.mark.parametrize("drop", [0.0, 0.3, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("fill", ["hold", "interpolate"])
def test_dropped_frames_are_held_or_interpolated(drop: float, fill: str) -> None:
    clip = CLIPS["prime-length"]
    _, values = round_trip(clip, f"frame-drop:drop={drop},fill={fill}")
    single = clip.values.astype(np.float32)
    same = (values == single).all(axis=1)
    assert same[0] and abs(same.mean() - (1 - drop)) < 0.02
    if drop == 0:
        assert same.all()
    if fill == "interpolate":
        assert same[-1]


# Levels and sparsing.


def test_levels_start_at_the_root_and_end_at_five() -> None:
    skeleton = human().skeleton
    levels = joint_levels(skeleton)
    assert levels[0] == 1 and levels.max() == 5
    for joint, parent in enumerate(skeleton.parents):
        assert parent < 0 or levels[joint] == min(levels[parent] + 1, 5)
    assert np.array_equal(channel_levels(skeleton), levels[skeleton.channel_joints])


def test_sparsing_releases_the_sum_of_what_it_dropped() -> None:
    differences = np.diff(CLIPS["prime-length"].values, axis=0)
    levels = channel_levels(CLIPS["prime-length"].skeleton)
    rule = thresholds(differences, levels, 0.3)
    released = sparse_open(differences, rule)
    assert 0.1 < (released == 0).mean() < 0.9
    behind = np.cumsum(differences - released, axis=0)
    frozen = released == 0
    assert np.all(
        np.abs(behind[frozen] - np.broadcast_to(rule.mean, behind.shape)[frozen])
        <= np.broadcast_to(rule.size, behind.shape)[frozen] + 1e-9
    )
    assert np.allclose(behind[~frozen], 0, atol=1e-9)


def test_sparsing_by_hand() -> None:
    differences = np.array([[1.0], [1.0], [-1.0], [3.0], [0.0], [0.0], [2.0]])
    rule = dataclasses.replace(thresholds(differences, np.array([1]), 1.0), mean=np.zeros(1), size=np.array([1.5]))
    assert sparse_open(differences, rule).ravel().tolist() == [0, 2, 0, 2, 0, 0, 2]
    poses = np.concatenate([[[0.0]], np.cumsum(differences, axis=0)]).astype(np.float32)
    assert sparse_closed(poses, rule).ravel().tolist() == [0, 2, 0, 2, 0, 0, 2]


def test_columns_that_never_move_are_never_released() -> None:
    rule = thresholds(np.zeros((5, 3)), np.ones(3, np.int64), 0.1)
    assert np.all(np.isinf(rule.size))
    size, values = round_trip(CLIPS["static"], "sparse-indexing")
    assert np.allclose(values, 12.5) and size < 4 * 12 + 512 + 20


@pytest.mark.parametrize("pipeline", ["float", "fba"])
@pytest.mark.parametrize("closed", ["on", "off"])
def test_sparsing_makes_streams_smaller_the_larger_k(pipeline: str, closed: str) -> None:
    clip = human().slice(0, 300)
    sizes = [round_trip(clip, f"bap-sparsing:pipeline={pipeline},closed_loop={closed},k={k}")[0] for k in (0, 0.1, 0.5)]
    assert sizes[0] > sizes[1] > sizes[2]


# Indexing.


def test_buckets_hold_equal_shares() -> None:
    numbers = np.random.default_rng(0).normal(0, 1, 25600)
    edges = bucket_edges(numbers, 256, 1e6)
    counts = np.bincount(np.searchsorted(edges, numbers), minlength=256)
    assert len(edges) == 255 and np.all(np.diff(edges) >= 0)
    assert counts.min() >= 98 and counts.max() <= 102


def test_equal_integers_stay_in_one_bucket() -> None:
    numbers = np.array([0.0] * 900 + list(np.linspace(1, 2, 100)))
    edges = bucket_edges(numbers, 16, 10000.0)
    assert len(set(np.searchsorted(edges, numbers[:900]))) == 1


def test_lookup_values_weight_by_level() -> None:
    differences = np.array([[1.0, 2.0, 6.0]])
    levels = np.array([1, 2, 2])
    one = {"bits": 1, "rqt": 1e-3}
    plain = make_table(differences, levels, eta=0.0, **one)
    weighted = make_table(differences, levels, eta=1.0, **one)
    chosen = make_table(differences, levels, eta=SELECTIVE, **one)
    assert plain.values.max() == pytest.approx(3.0)
    assert weighted.values.max() == pytest.approx((1 + 2 / 2 + 6 / 2) / 2)
    assert chosen.values.max() == pytest.approx(1.0)


@pytest.mark.parametrize("n_d", [0, 1, 7, 30, 10_000])
@pytest.mark.parametrize("bits", [4, 8, 9])
@pytest.mark.parametrize("fdf", [0, 3, 12])
def test_segment_has_the_bytes_of_the_formulas(n_d: int, bits: int, fdf: int) -> None:
    clip = CLIPS["prime-length"]
    n, m = clip.values.shape
    stream = codec_from_spec(f"bap-indexing:n_d={n_d},bits={bits},fdf={fdf}").encode(clip)
    rows = n_d or n
    assert len(stream.segments[0].data) == bap_sizes.file_size(n, m, fdf=fdf, b=bits, n_d=rows)
    if (n - 1) % rows == 0:
        assert bap_sizes.file_size(n, m, fdf=fdf, b=bits, n_d=rows) == bap_sizes.file_size_eq5(
            n, m, fdf=fdf, b=bits, n_d=rows
        )


def test_formulas_of_the_papers_example() -> None:
    assert bap_sizes.bounds(136, 62) == (9642, 33728)
    assert bap_sizes.file_size(136, 62, fdf=0, b=8, n_d=136) == 9642
    assert bap_sizes.is_valid(9642, 136, 62, 0.87) and not bap_sizes.is_valid(30_000, 136, 62, 0.87)


@pytest.mark.parametrize("id", ["bap-indexing", "sparse-indexing"])
def test_closed_loop_does_not_drift(id: str) -> None:
    clip = human().slice(0, 400)
    errors = {loop: np.abs(round_trip(clip, f"{id}:closed_loop={loop}")[1] - clip.values) for loop in ("on", "off")}
    assert errors["on"][-50:].mean() < 0.3 * errors["off"][-50:].mean()


def test_exact_columns_are_exact() -> None:
    clip = human().slice(0, 200)
    for id in ("bap-indexing", "sparse-indexing"):
        _, values = round_trip(clip, f"{id}:fdf=6")
        assert np.abs(values[:, :6] - clip.values[:, :6]).max() <= 1e-6 * np.abs(clip.values[:, :6]).max()


def test_sixteen_bit_indices_and_large_steps_work() -> None:
    clip = CLIPS["noise"]
    _, values = round_trip(clip, "bap-indexing:bits=16")
    assert np.abs(values - clip.values).max() < 0.1
    large = clip.with_values(clip.values * 1e6)
    _, values = round_trip(large, "sparse-indexing:bits=12,k=0")
    assert np.abs(values - large.values).max() < np.abs(large.values).max()


def test_more_exact_columns_than_channels_is_refused() -> None:
    for id in ("bap-indexing", "sparse-indexing"):
        with pytest.raises(ConfigError, match="channels"):
            codec_from_spec(f"{id}:fdf=99").encode(CLIPS["one-joint"])


@pytest.mark.parametrize("seconds", [0.05, 0.2])
@pytest.mark.parametrize(
    "id",
    ["mpeg4-float", "mpeg4-predictive", "mpeg4-dct16", "frame-drop", "bap-sparsing", "bap-indexing", "sparse-indexing"],
)
def test_segments_decode_alone(id: str, seconds: float) -> None:
    clip = CLIPS["prime-length"]
    codec = codec_from_spec(f"{id}:segment_s={seconds}")
    stream = codec.encode(clip)
    whole = codec.decode(stream).values
    assert len(stream.segments) > 5
    for segment in stream.segments[1::3]:
        alone = dataclasses.replace(stream, segments=[segment])
        window = (segment.first, segment.first + segment.frames)
        assert np.array_equal(codec.decode(alone, window).values, whole[slice(*window)])


def test_limits_are_charged_before_a_segment_is_made() -> None:
    clip = CLIPS["prime-length"]
    for id in ("mpeg4-float", "mpeg4-predictive", "bap-indexing", "sparse-indexing", "frame-drop", "mpeg4-dct16"):
        codec = codec_from_spec(id)
        stream = codec.encode(clip)
        long = dataclasses.replace(stream.segments[0], frames=1 << 40)
        bad = dataclasses.replace(stream, frames=1 << 40, segments=[long])
        with pytest.raises(LimitExceeded):
            codec.decode(bad, (0, 1), Limits(frames=1 << 50, values=1 << 20))


# Energy.


def test_energy_of_a_size_that_just_fits_the_link_is_all_reception() -> None:
    assert reception_mj(16, 1.0, 128) == pytest.approx(1425.0)
    assert reception_mj(0, 2.0, 128) == pytest.approx(354.0)
