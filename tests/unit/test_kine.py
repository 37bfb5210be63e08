"""The `kine` codec: forms of rotation, targets, exact mode, and the parts of its pipeline."""

from __future__ import annotations

import contextlib
import dataclasses

import numpy as np
import pytest

import kinepack
from kinepack._kernels._kine import (
    Coefficients,
    NumberModel,
    kine_branches,
    kine_decode,
    kine_encode,
    kine_numbers_decode,
    kine_numbers_encode,
    kine_pose,
    kine_synthesise,
)
from kinepack._kernels.reference_kine import decode_segment
from kinepack._kernels.reference_kine_numbers import decode_numbers
from kinepack._kernels.reference_kine_solve import solve
from kinepack.codecs._kine import analysis as analysis_module
from kinepack.codecs._kine.analysis import analyse, quantise
from kinepack.codecs._kine.branches import euler_items, toward
from kinepack.codecs._kine.emphasis import planted
from kinepack.codecs._kine.exact_layout import pack_odd, unpack_odd
from kinepack.codecs._kine.synthesis import rig_of, segment_models, synthesis_of
from kinepack.codecs.base import codec_from_spec
from kinepack.codecs.kine import BUDGETS, Kine
from kinepack.entropy.kine_exact_prior import exact_prior
from kinepack.entropy.kine_prior import pack_prior, prior, unpack_prior
from kinepack.entropy.kine_setup import pack_setup, unpack_setup
from kinepack.errors import BitstreamError, ConfigError, LimitExceeded
from kinepack.limits import DEFAULT_LIMITS, Limits
from kinepack.math.kinematics import forward_kinematics, positions_cm
from kinepack.metrics import METRICS
from kinepack.model import Channel, Clip, Joint, Skeleton
from kinepack.samples.human import human
from kinepack.testing import awkward_clips
from kinepack.transforms import decimals, triangular
from kinepack.transforms.blocks import bent_basis, choose_runs, dct_basis, find_cuts, group_blocks
from kinepack.transforms.inertia import masses_of, metric_matrix
from kinepack.transforms.tracks import (
    ORDERS,
    TurnForm,
    allowed_forms,
    forward_tracks,
    inverse_tracks,
    pose_tables,
    slots_of,
)

CLIPS = {name: clip for name, clip in awkward_clips().items() if clip.frames > 1}


def _joint_rms(a: Clip, b: Clip) -> float:
    return float(METRICS["joint_rms"].measure(a, b))


def _joint_max(a: Clip, b: Clip) -> float:
    return float(METRICS["joint_max"].measure(a, b))


@pytest.fixture(scope="module")
def clip() -> Clip:
    return awkward_clips()["prime-length"]


@pytest.mark.parametrize("name", list(CLIPS))
def test_tracks_come_back_in_every_form(name: str) -> None:
    source = CLIPS[name]
    turns = slots_of(source.skeleton).turns
    for number in range(5):
        forms = []
        for index, turn in enumerate(turns):
            allowed = allowed_forms(source.skeleton, turn)
            forms.append(TurnForm(allowed[number % len(allowed)], (number + index) % len(ORDERS)))
        tracks = forward_tracks(source, forms)
        plain = source.with_values(inverse_tracks(tracks, source.skeleton, forms))
        scale = 1 + float(np.abs(tracks).max())
        assert _joint_max(source, plain) < 1e-9 * scale
        tables = pose_tables(source.skeleton, forms)
        for continuous in (False, True):
            native = np.empty_like(source.values)
            kine_pose(np.ascontiguousarray(tracks.T), tables, out=native, continuous=continuous)
            assert _joint_max(source, source.with_values(native)) < 1e-9 * scale


def test_metric_matrix_is_what_points_do(clip: Clip) -> None:
    forms = [TurnForm()] * len(slots_of(clip.skeleton).turns)
    part = clip.slice(0, 3)
    tracks, masses = forward_tracks(part, forms), masses_of(clip.skeleton, "joints")
    metric = metric_matrix(clip.skeleton, forward_kinematics(part), tracks, forms=forms, masses=masses)

    def points(values: np.ndarray) -> np.ndarray:
        moved = part.with_values(inverse_tracks(values, clip.skeleton, forms))
        pose = forward_kinematics(moved)
        arms = np.einsum("tnij,nj->tni", pose.rotations[:, masses.joints], masses.places)
        return pose.origins[:, masses.joints] * clip.unit_cm + arms

    change = np.random.default_rng(1).normal(size=tracks.shape) * 1e-5
    kinds = np.array([slot.kind[0] if hasattr(slot, "kind") else "r" for slot in _per_track(clip)])
    change[:, kinds == "s"] = 0
    moved = ((points(tracks + change) - points(tracks - change)) / 2) ** 2
    expected = moved.sum(-1) @ masses.weights
    found = np.einsum("ta,abt,tb->t", change, metric, change)
    np.testing.assert_allclose(found, expected, rtol=1e-3)


def _per_track(clip: Clip) -> list[object]:
    return [item for item in slots_of(clip.skeleton).items for _ in range(1 if hasattr(item, "kind") else 3)]


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("error", [0.003, 0.1, 2.0])
def test_plain_python_reads_the_same_levels(clip: Clip, error: float, ends: bool) -> None:
    analysis = analyse(clip, error, points="joints", budget=BUDGETS["default"])
    (model,) = segment_models(clip.skeleton, analysis.setup, ends=ends)
    for _, (coefficients,) in quantise(analysis, [model], 20):
        data = kine_encode(coefficients, model)
        native, oracle = (
            kine_decode(data, len(coefficients.levels), model),
            decode_segment(data, len(coefficients.levels), model),
        )
        assert np.array_equal(native.levels, coefficients.levels)
        assert np.array_equal(oracle.levels, coefficients.levels)
        assert native.lengths.tolist() == oracle.lengths.tolist() == coefficients.lengths.tolist()


def test_setup_comes_back(clip: Clip) -> None:
    setup = analyse(clip, 0.05, points="shell", budget=BUDGETS["best"]).setup
    copy = unpack_setup(pack_setup(setup, rig_of(clip.skeleton)), rig_of(clip.skeleton))
    for field in dataclasses.fields(setup):
        assert np.array_equal(getattr(setup, field.name), getattr(copy, field.name)) or setup.links == copy.links


def test_large_levels_survive_the_coder(clip: Clip) -> None:
    (model,) = segment_models(clip.skeleton, analyse(clip, 1.0, points="joints", budget=BUDGETS["fast"]).setup)
    levels = np.random.default_rng(2).integers(-(1 << 22), 1 << 22, (16, model.tracks)).astype(np.int32)
    again = kine_decode(kine_encode(Coefficients(levels, np.array([16], np.uint32)), model), 16, model)
    assert np.array_equal(again.levels, levels)


@pytest.mark.parametrize("target", ["joint_rms<=0.2", "joint_max<=0.5", "e_x<=0.3", "shell_mean<=0.1"])
def test_targets_are_kept(clip: Clip, target: str) -> None:
    metric, value = target.split("<=")
    copy = kinepack.decompress(kinepack.compress(clip, "kine", target=target))
    assert METRICS[metric].measure(clip, copy) <= float(value)


def test_settings_follow_the_metric(clip: Clip) -> None:
    codec = codec_from_spec("kine")
    assert isinstance(codec, Kine)
    found = {metric: [(c.points, c.norm) for c in codec.for_metric(metric)] for metric in ("e_x", "shell_mean", "def")}
    assert found == {"e_x": [("bones", "rms")], "shell_mean": [("shell", "rms")], "def": [("body", "rms")]}
    assert {c.norm for c in codec.for_metric("joint_max")} == {"rms", "max"}
    chosen = dataclasses.replace(codec, points="bones", norm="rms")
    assert list(chosen.for_metric("joint_max")) == [chosen]


def test_scalars_keep_their_steps_where_no_metric_sees_them() -> None:
    face = Skeleton((Joint("head", -1),), tuple(Channel(-1, "scalar", name) for name in ("smile", "blink")))
    weights = 0.5 + 0.5 * np.sin(np.arange(240)[:, None] / [17.0, 5.0])
    for target in (None, "joint_max<=1"):
        copy = kinepack.decompress(kinepack.compress(Clip(face, weights, 1 / 60), "kine:error=100", target=target))
        assert np.abs(copy.values - weights).max() < 0.01


def test_a_target_that_sees_nothing_move_keeps_the_setting(clip: Clip) -> None:
    """Only the last joint turns, and nothing that is measured hangs from it."""
    leaf = [i for i, c in enumerate(clip.skeleton.channels) if c.joint == len(clip.skeleton.joints) - 1]
    values = np.zeros_like(clip.values)
    values[:, leaf] = clip.values[:, leaf]
    still = clip.with_values(values)
    assert kinepack.compare(still, still.with_values(0 * values))["joint_max"] == 0
    copy = kinepack.decompress(kinepack.compress(still, target="joint_rms<=1"))
    same = kinepack.decompress(kinepack.compress(still, "kine:points=joints"))
    assert isinstance(copy, Clip) and isinstance(same, Clip) and np.array_equal(copy.values, same.values)


def test_no_clip_is_larger_than_lossless() -> None:
    for source in CLIPS.values():
        still = bool((np.ptp(source.values, axis=0) == 0).all())
        for error in (1e-4, 0.1) if still else (1e-4,):
            with contextlib.suppress(ConfigError):
                lossy = codec_from_spec(f"kine:error={error}").encode(source)
                assert lossy.payload_bytes <= codec_from_spec("kine:exact=on").encode(source).payload_bytes


def test_tracks_that_are_multiples_of_each_other_are_linked(clip: Clip) -> None:
    twins = clip.with_values(clip.values[:, :1] * np.arange(1, clip.values.shape[1] + 1) / 7)
    for error in (1e-4, 1e-2, 1.0):
        assert _joint_rms(twins, kinepack.decompress(kinepack.compress(twins, f"kine:error={error}"))) < 2 * error


def test_the_max_norm_lowers_the_peak(clip: Clip) -> None:
    copies = {norm: kinepack.compress(clip, f"kine:norm={norm}", target="joint_max<=0.2") for norm in ("rms", "max")}
    assert all(_joint_max(clip, kinepack.decompress(data)) <= 0.2 for data in copies.values())
    assert len(copies["max"]) <= 1.1 * len(copies["rms"])


def test_feet_that_stand_are_found() -> None:
    skeleton = Skeleton(
        (Joint("hips", -1), Joint("LeftFoot", 0, (10.0, -90.0, 0.0)), Joint("head", 0, (0.0, 70.0, 0.0))),
        (Channel(0, "tx"), Channel(0, "ty"), Channel(0, "tz")),
    )
    walk = np.zeros((200, 3))
    walk[100:, 0] = np.arange(100)
    source = Clip(skeleton, walk)
    standing = planted(source, positions_cm(source))
    assert standing[:98, 1].all() and not standing[102:].any() and not standing[:, [0, 2]].any()


def test_a_byte_budget_is_kept(clip: Clip) -> None:
    with kinepack.open(kinepack.compress(clip, "kine", max_bytes=900)) as file:
        assert file.info()["motion_bytes"] <= 900


def test_finer_is_larger_and_nearer(clip: Clip) -> None:
    sizes, errors = [], []
    for error in (1.0, 0.1, 0.01):
        data = kinepack.compress(clip, f"kine:error={error}")
        sizes.append(len(data))
        errors.append(_joint_max(clip, kinepack.decompress(data)))
    assert sizes == sorted(sizes) and errors == sorted(errors, reverse=True)


def test_efforts_decode_alike_and_best_is_not_larger_than_fast(clip: Clip) -> None:
    sizes = {effort: len(kinepack.compress(clip, f"kine:effort={effort}")) for effort in BUDGETS}
    assert sizes["best"] <= sizes["fast"] * 1.02


def test_a_t_pose_in_front_costs_little(clip: Clip) -> None:
    posed = clip.with_values(np.concatenate([np.zeros((1, clip.values.shape[1])), clip.values]))
    plain, more = (len(kinepack.compress(c, "kine:error=0.05")) for c in (clip, posed))
    assert more < plain + 6 * clip.values.shape[1]


def test_whole_turns_in_the_source_do_not_smear() -> None:
    source = awkward_clips()["prime-length"]
    channel = int(source.skeleton.select("r")[0])
    jumping = source.values.copy()
    jumping[len(jumping) // 2 :, channel] += 2 * np.pi / source.skeleton.radians_per_angle
    smooth, jumped = (kinepack.compress(source.with_values(v), "kine") for v in (source.values, jumping))
    assert len(jumped) <= len(smooth) + 8
    copy = kinepack.decompress(jumped)
    assert isinstance(copy, Clip)
    np.testing.assert_allclose(copy.values[:, channel], jumping[:, channel], atol=5)


def _twin(angles: np.ndarray) -> np.ndarray:
    return np.stack([angles[:, 0] + 180, 180 - angles[:, 1], angles[:, 2] + 180], axis=1)


def test_euler_angles_come_back_in_the_branch_of_their_source() -> None:
    """A turn that winds up, starts in the other branch, and jumps to and fro."""
    source = awkward_clips()["prime-length"]
    turn = next(channels for channels in euler_items(source.skeleton) if len(channels) == 3)
    assert source.skeleton.radians_per_angle == np.pi / 180
    time = np.linspace(0, 1, source.frames)
    wound = np.stack([800 * time, 40 * np.sin(9 * time), 30 * time], axis=1)
    jumping = wound.copy()
    jumping[40:70] = _twin(wound[40:70])
    jumping[80:, 2] -= 720
    for angles in (wound, _twin(wound), jumping):
        values = source.values.copy()
        values[:, turn] = angles
        clip = source.with_values(values)
        data = kinepack.compress(clip, "kine:error=0.02,segment_s=0.2")
        copy = kinepack.decompress(data)
        assert isinstance(copy, Clip)
        np.testing.assert_allclose(copy.values[:, turn], angles, atol=5)
        with kinepack.open(data) as file:
            assert np.array_equal(file[0].decode(33, 77).values, copy.values[33:77])


def test_anchors_mean_the_same_in_python_and_in_the_kernel() -> None:
    rng = np.random.default_rng(6)
    angles, anchors = rng.uniform(-9, 9, (50, 3)), rng.integers(-6, 7, (50, 3))
    values = angles.copy()
    rows = [[t, t + 1, 3, 0, 1, 2, *anchors[t]] for t in range(50)]
    kine_branches(values, np.array(rows, np.int32), 1.0)
    np.testing.assert_allclose(values, toward(angles, anchors * np.pi / 2), atol=1e-12)


def test_held_frames_cost_nothing(clip: Clip) -> None:
    once = kinepack.compress(clip.slice(0, 30), "kine")
    held = clip.with_values(np.repeat(clip.values[:30], 3, axis=0)[1:])
    slow = dataclasses.replace(held, frame_time=clip.frame_time / 3)
    data = kinepack.compress(slow, "kine")
    assert len(data) <= len(once) + 8
    with kinepack.open(data) as file:
        assert np.array_equal(file[0].decode(4, 9).values, file[0].decode().values[4:9])


def test_still_channels_cost_nothing(clip: Clip) -> None:
    still = clip.with_values(np.repeat(clip.values[:1], 300, axis=0))
    stream = codec_from_spec("kine").encode(still)
    assert sum(len(s.data) for s in stream.segments) <= 2 * len(stream.segments)


@pytest.mark.parametrize("name", list(CLIPS))
def test_exact_is_exact(name: str) -> None:
    source = CLIPS[name]
    copy = kinepack.decompress(kinepack.compress(source, "kine:exact=on"))
    assert isinstance(copy, Clip)
    assert copy.values.tobytes() == source.values.tobytes()


def test_exact_keeps_odd_numbers_and_windows() -> None:
    source = awkward_clips()["prime-length"]
    rng = np.random.default_rng(3)
    values = np.round(np.cumsum(rng.normal(size=(300, source.values.shape[1])), axis=0), 4)
    values[5, 0], values[7, 1], values[:, 2] = -0.0, 1.23e-17, 7.125
    values[:, 4] = values[:, 3]
    values[:, 5] = [float(f"{v:.6g}") for v in values[:, 5] * 0.001]
    odd = source.with_values(values)
    data = kinepack.compress(odd, "kine:exact=on,segment_s=0.5")
    with kinepack.open(data) as file:
        assert file[0].decode().values.tobytes() == odd.values.tobytes()
        assert file[0].decode(100, 170).values.tobytes() == odd.values[100:170].tobytes()
    assert len(data) < values.size * 2.5


def test_damaged_exact_streams_raise_only_our_errors() -> None:
    source = awkward_clips()["prime-length"].slice(0, 20)
    stream = codec_from_spec("kine:exact=on").encode(source)
    rng = np.random.default_rng(4)
    for _ in range(300):
        setup, data = bytearray(stream.setup), bytearray(stream.segments[0].data)
        part = (setup, data)[int(rng.integers(2))]
        part[int(rng.integers(len(part)))] ^= 1 << int(rng.integers(8))
        segment = dataclasses.replace(stream.segments[0], data=bytes(data))
        broken = dataclasses.replace(stream, setup=bytes(setup), segments=[segment])
        with contextlib.suppress(BitstreamError):
            codec_from_spec("kine").decode(broken)


@pytest.mark.parametrize("spec", ["kine", "kine:exact=on", "delta-lzma"])
def test_a_window_of_a_huge_segment_is_refused_before_it_is_decoded(spec: str) -> None:
    stream = codec_from_spec(spec).encode(awkward_clips()["one-joint"])
    huge = [dataclasses.replace(stream.segments[0], frames=1_000_000)]
    stream = dataclasses.replace(stream, frames=1_000_000, segments=huge)
    with pytest.raises(LimitExceeded):
        codec_from_spec(spec).decode(stream, (0, 1), Limits(values=100_000))


def test_decimals_have_significant_digits() -> None:
    values = np.array([17.2953, -0.321877, 1.0, 0.0, 108.082, 9.5e-05])
    found = decimals.forward(values)
    assert found is not None and found.digits == 6
    assert np.array_equal(decimals.inverse(found.numbers, np.array(found.decimals, np.int32)), values)


def rounding_noise(frames: int) -> np.ndarray:
    """Degrees of small multiples of a power of two in radians, printed with six digits."""
    multiples = np.random.default_rng(5).integers(-999, 999, frames) * 2.0**-60
    return np.array([float(f"{v:.6g}") for v in np.degrees(multiples)])


def test_rounding_noise_is_known_for_what_it_is() -> None:
    values = rounding_noise(400)
    found = decimals.dyadic(values)
    assert found is not None
    assert np.array_equal(decimals.inverse(found.numbers, np.array(found.decimals, np.int32)), values)
    assert decimals.dyadic(np.array([float(f"{v:.6g}") for v in values * 1.2345])) is None


@pytest.mark.parametrize("prior", [exact_prior(), b""], ids=["latest", "before version 5"])
def test_lossless_numbers_decode_like_their_oracle(prior: bytes) -> None:
    rng = np.random.default_rng(6)
    moves = np.cumsum(rng.normal(size=(30, 9)), axis=0) * [1, 30, 1000, 0.1, 1, 1e5, 40, 1, 7]
    moves[:, 2] = 2 * moves[:, 0] + moves[:, 1] ** 2
    numbers = np.rint(100 * moves).astype(np.int64)
    numbers[20, 3] = 1 << 50
    numbers[:, 6] = [int(float(f"{v:.3g}")) for v in numbers[:, 6]]
    noise = decimals.dyadic(rounding_noise(30))
    assert noise is not None
    numbers[:, 7] = noise.numbers
    digits = np.array([0, 0, 0, 0, 0, 0, 3, 22, 0], np.uint8)
    decimals_of = np.array([4, 4, 4, 2, 11, 5, 3, 22, 3], np.uint8)
    roles = np.array([31, 32, 34, 35, 36, 37, 38, 39, 255], np.uint8)
    model = NumberModel(digits, np.array([7, 12, 16, 3, 7, 23, 12, 0, 9], np.int8), decimals_of, roles, prior)
    data = kine_numbers_encode(numbers, model)
    assert np.array_equal(kine_numbers_decode(data, 30, model, DEFAULT_LIMITS), numbers)
    assert np.array_equal(decode_numbers(data, 30, model), numbers)


def test_weights_solve_their_equations() -> None:
    rng = np.random.default_rng(7)
    x = np.rint(rng.normal(size=(400, 5)) * [200000, 300000, 50000, 900000, 400000]).astype(np.int64)
    wanted = np.array([0.5, -1.25, 3.0, 0.01, 0.0])
    y = np.rint(x @ wanted).astype(np.int64)
    found = np.array(solve((x.T @ x).tolist(), (x.T @ y).tolist(), int(y @ y))) / 2**24
    assert np.allclose(found, wanted, atol=2e-3)


def test_odd_numbers_are_kept() -> None:
    numbers = np.array([-4.77083e-14, 1.5, -0.0, np.pi, 1e300, 83.2, -1e-22, np.nan, 8388607.0])
    packed = pack_odd(numbers)
    assert unpack_odd(packed, len(numbers)).tobytes() == numbers.tobytes()
    assert len(packed) < 8 * len(numbers)


def test_links_undo_what_they_predict() -> None:
    rng = np.random.default_rng(5)
    base = rng.normal(size=(200, 1)) * 30
    signal = np.concatenate([base, 0.5 * base + rng.normal(size=(200, 1)), rng.normal(size=(200, 1)) * 9], axis=1)
    links = triangular.fit_links(signal, 5)
    assert links[0] == [] and [j for j, _ in links[1]] == [0]
    residual = triangular.forward(signal, links, 5)
    assert np.abs(residual[:, 1]).mean() < 0.2 * np.abs(signal[:, 1]).mean()


def test_blocks_tile_and_cuts_are_found() -> None:
    time = np.linspace(0, 9, 500)
    signal = np.stack([20 * np.sin(time * k) for k in (1, 2, 3)], axis=1).astype(np.float32)
    signal[300:] += 500
    assert find_cuts(signal) == [300]
    _, runs = choose_runs(signal, 16, grid=2, longest=16)
    assert sum(map(sum, runs)) == 500 and sum(runs[0]) == 300
    assert [sum(group) for group in group_blocks([64, 64, 64, 64], 120)] == [128, 128]
    np.testing.assert_allclose(dct_basis(37) @ dct_basis(37).T, np.eye(37), atol=1e-12)


def test_seeking_reads_the_setup_once(clip: Clip) -> None:
    stream = codec_from_spec("kine").encode(clip)
    assert synthesis_of(clip.skeleton, stream.setup) is synthesis_of(clip.skeleton, stream.setup)


def test_the_prior_is_small() -> None:
    assert len(pack_prior(prior())) < 200_000
    assert np.array_equal(unpack_prior(pack_prior(prior())).states, prior().states)


def test_a_metric_of_many_frames_is_shared(clip: Clip, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis_module, "LARGEST_METRIC", 2000)
    copy = codec_from_spec("kine").decode(codec_from_spec("kine").encode(clip))
    assert _joint_max(clip, copy) < 5.0


@pytest.mark.parametrize("effort", list(BUDGETS))
@pytest.mark.parametrize("segment_s", [0.001, 0.1, 0.25])
def test_segments_may_be_short_at_every_effort(clip: Clip, effort: str, segment_s: float) -> None:
    data = kinepack.compress(clip, f"kine:effort={effort},segment_s={segment_s}")
    assert _joint_rms(clip, kinepack.decompress(data)) < 0.3
    assert kinepack.info(data)["clips"][0]["segments"] >= 4


def test_each_layer_makes_the_error_smaller() -> None:
    walk = human().slice(0, 240)
    data = kinepack.compress(walk, "kine:error=0.1,layers=3,segment_s=0.5")
    errors = [_joint_rms(walk, kinepack.decompress(data, layers=n)) for n in (1, 2, 3)]
    assert errors[0] > 2 * errors[1] > 4 * errors[2]
    assert kinepack.info(data)["clips"][0]["layers"] == 3
    single = kinepack.decompress(kinepack.compress(walk, "kine:error=0.1,segment_s=0.5"))
    assert errors[2] < 1.2 * _joint_rms(walk, single)


def test_layers_that_do_not_belong_together_are_refused(clip: Clip) -> None:
    stream = codec_from_spec("kine:layers=2").encode(clip)
    alone = codec_from_spec("kine").encode(clip)
    with pytest.raises(BitstreamError):
        Kine.decode(dataclasses.replace(stream, setup=alone.setup))


@pytest.mark.parametrize("length", [1, 7, 8, 29, 64, 401])
def test_bent_blocks_are_orthonormal_and_synthesised_alike(length: int) -> None:
    basis = bent_basis(length)
    np.testing.assert_allclose(basis @ basis.T, np.eye(length), atol=1e-9)
    levels = np.random.default_rng(7).integers(-9, 9, (length, 2)).astype(np.int32)
    out = np.empty((2, length))
    kine_synthesise(
        Coefficients(levels, np.array([length], np.uint32)),
        np.array([1.0, 0.5]),
        offsets=np.zeros(2),
        prediction=triangular.to_prediction([[], []], 5, np.ones(2)),
        places=np.arange(2, dtype=np.uint32),
        bent=True,
        out=out,
    )
    np.testing.assert_allclose(out, (basis.T @ (levels * [1.0, 0.5])).T, atol=1e-6)


def test_a_straight_move_takes_one_row_of_a_bent_block() -> None:
    move = bent_basis(60) @ np.linspace(-3, 5, 60)
    assert np.abs(move[2:]).max() < 1e-9
