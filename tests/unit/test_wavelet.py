"""The wavelet family: windows, single joints, codes, the two searches, and inverse kinematics."""

from __future__ import annotations

import numpy as np
import pytest

import kinepack
from kinepack.codecs.base import codec_from_spec
from kinepack.codecs.wavelet import Wavelet, WaveletCodec
from kinepack.codecs.wavelet_ik import WaveletIk, effector_joints
from kinepack.codecs.wavelet_optimized import WaveletOptimized
from kinepack.entropy.coefficient_codes import Part, decode_block, encode_block
from kinepack.errors import BitstreamError, ConfigError, UsageError
from kinepack.limits import DEFAULT_LIMITS
from kinepack.math import ik
from kinepack.math.kinematics import bone_weights, forward_kinematics, jacobian
from kinepack.math.pose_derivatives import channel_kinds, motion_of, moving_channels, native_rig, weighted_error
from kinepack.math.step_codes import step_codes, steps_of
from kinepack.metrics.base import METRICS
from kinepack.model import Clip
from kinepack.samples import human
from kinepack.testing import awkward_clips
from kinepack.transforms import lifting
from kinepack.transforms import wavelet_window as wavelet
from kinepack.transforms.contacts import (
    Contacts,
    anchored,
    corrected,
    decode_contacts,
    drift,
    encode_contacts,
    find_contacts,
    remainders,
    stiller,
)
from kinepack.transforms.wavelet_annealing import anneal, largest_of_each, magnitude_order
from kinepack.transforms.wavelet_selection import channel_scale, keep_largest, standard_scores

FAMILY = ("wavelet", "wavelet-optimized", "wavelet-ik", "wavelet-quaternion")


@pytest.fixture(scope="module")
def walk() -> Clip:
    return human().slice(0, 180)


def e_x(original: Clip, copy: Clip) -> float:
    return METRICS["e_x"].measure(original, copy)


@pytest.mark.parametrize("frames", [1, 2, 3, 4, 5, 8, 17, 100, 211])
def test_a_window_is_a_slice_of_the_inverse_transform_bit_for_bit(frames: int) -> None:
    coefficients = np.random.default_rng(frames).normal(size=(frames, 3))
    whole = wavelet.inverse(coefficients)
    sizes = lifting.subband_sizes(frames, wavelet.depth(frames))
    starts = np.cumsum([0, *sizes[:-1]])
    for start in range(0, frames, max(1, frames // 7)):
        for stop in {start + 1, min(frames, start + 9), frames}:
            needed = wavelet.ranges(frames, (start, stop))
            rows = [coefficients[s + int(a) : s + int(b)] for s, (a, b) in zip(starts, needed, strict=True)]
            part = wavelet.inverse_window(np.concatenate(rows), frames, needed, (start, stop))
            assert np.array_equal(part, whole[start:stop])


def test_a_window_needs_few_coefficients() -> None:
    needed = wavelet.ranges(1 << 20, (500_000, 500_120))
    assert (needed[:, 1] - needed[:, 0]).sum() < 2 * 120 + 20 * len(needed)


@pytest.mark.parametrize("frames", [1, 2, 7, 64, 99])
def test_the_adjoint_is_the_transpose(frames: int) -> None:
    noise = np.random.default_rng(frames)
    a, b = noise.normal(size=(2, frames, 2))
    assert np.vdot(wavelet.inverse(a), b) == pytest.approx(np.vdot(a, wavelet.adjoint(b)))


@pytest.mark.parametrize("deflate", [True, False])
def test_codes_round_trip_any_levels(deflate: bool) -> None:
    noise = np.random.default_rng(3)
    levels = np.where(noise.random((700, 5)) < 0.02, noise.integers(-(1 << 31) + 1, 1 << 31, (700, 5)), 0)
    levels[:3, 0], levels[:, 1], levels[-1, 2] = (1, -1, 32512), 0, -32513
    codes = np.full(5, 512, np.uint16)
    data = encode_block(levels.astype(np.int32), codes, deflate=deflate)
    part = Part(700, 0, np.array([[0, 700]], np.uint64), np.arange(5, dtype=np.int32), 5)
    decoded = decode_block(data, part, scale=np.ones(5), deflate=deflate, limits=DEFAULT_LIMITS)
    assert np.array_equal(decoded, levels)
    with pytest.raises(BitstreamError):
        decode_block(data[:-1], part, scale=np.ones(5), deflate=deflate, limits=DEFAULT_LIMITS)


def test_step_codes_round_down_by_less_than_a_quarter_octave() -> None:
    steps = np.geomspace(1e-20, 1e20, 301)
    ratio = steps / steps_of(step_codes(steps))
    assert ((ratio >= 1 - 1e-9) & (ratio < 2**0.25)).all()


@pytest.mark.parametrize("id", FAMILY)
def test_one_limb_decodes_without_the_others(id: str, walk: Clip) -> None:
    codec = codec_from_spec(id)
    assert isinstance(codec, WaveletCodec)
    stream = codec.encode(walk)
    whole, joint = codec.decode(stream), 3
    found = codec.decode_channels(stream, [joint, walk.skeleton.joints[4].name], (20, 90))
    wanted = [i for i, c in enumerate(walk.skeleton.channels) if c.joint in (3, 4)]
    assert len(found) == len(wanted)
    assert np.array_equal(np.stack(list(found.values()), axis=1), whole.values[20:90][:, wanted])


@pytest.mark.parametrize("id", [*FAMILY, "delta-lzma"])
def test_one_joint_of_a_file(id: str, walk: Clip) -> None:
    """Also with codecs that have to decode everything for it."""
    with kinepack.open(kinepack.compress(walk, id)) as file:
        whole, joint = file[0].decode(10, 40), walk.skeleton.joints[3].name
        found = file[0].decode_channels([joint], 10, 40)
        assert file[0].decode_channels([]) == {}
        with pytest.raises(UsageError):
            file[0].decode_channels(["tail"])
    assert isinstance(whole, Clip)
    kinds = walk.skeleton.channels_of(3)
    assert list(found) == [f"{joint}.{kind}" for kind in kinds]
    assert all(np.array_equal(found[f"{joint}.{kind}"], whole.values[:, i]) for kind, i in kinds.items())


@pytest.mark.parametrize("id", FAMILY)
def test_segments_are_independent(id: str, walk: Clip) -> None:
    codec = codec_from_spec(f"{id}:segment_s=0.4")
    stream = codec.encode(walk)
    assert len({s.first for s in stream.segments}) > 2
    whole = codec.decode(stream)
    for start, stop in ((0, 5), (30, 75), (47, 49), (100, 180)):
        part = codec.decode(stream, (start, stop))
        assert isinstance(part, Clip) and isinstance(whole, Clip)
        assert np.array_equal(part.values, whole.values[start:stop])


@pytest.mark.parametrize("name", awkward_clips())
def test_derivatives_without_a_matrix_are_those_of_the_jacobian(name: str) -> None:
    clip = awkward_clips()[name].slice(0, min(20, awkward_clips()[name].frames))
    motion, known = motion_of(clip), channel_kinds(clip.skeleton) > 0
    if clip.skeleton.select("s").size:
        return
    full = jacobian(clip) * known
    form = np.einsum("fjxc,j,fjxd->fcd", full, bone_weights(clip.skeleton), full)
    change = np.random.default_rng(1).normal(size=clip.values.shape)
    scale = 1e-9 * (np.abs(form).max() + 1)
    assert np.allclose(motion.curvature(change), np.einsum("fcd,fd->fc", form, change), atol=100 * scale)
    assert np.allclose(motion.diagonal(), np.einsum("fcc->fc", form), atol=scale)


@pytest.mark.parametrize("name", ["prime-length", "quaternions", "radians", "noise"])
def test_the_annealing_knows_its_error_exactly(name: str) -> None:
    """Moments of pieces against plain forward kinematics, for every kind of channel."""
    from kinepack._kernels import _wavelet

    clip = awkward_clips()[name]
    coefficients = wavelet.forward(clip.values)
    order = magnitude_order(coefficients)
    points = np.ascontiguousarray(forward_kinematics(clip).points)
    found = _wavelet.anneal(
        native_rig(clip.skeleton), np.ascontiguousarray(coefficients.T), order,
        joints=np.where(moving_channels(clip.skeleton), clip.skeleton.channel_joints, -1).astype(np.int32),
        levels=wavelet.depth(clip.frames), targets=points,
        kept=np.full(len(clip.skeleton.channels), clip.frames // 4, np.uint32), patience=4, seed=9, most=60,
    )  # fmt: skip
    kept = largest_of_each(order, found.kept)
    assert kept.sum() == len(clip.skeleton.channels) * (clip.frames // 4)
    copy = clip.with_values(wavelet.inverse(np.where(kept, coefficients, 0.0)))
    assert found.error == pytest.approx(weighted_error(copy, points), rel=1e-6, abs=1e-6)


def test_both_searches_beat_standard_selection(walk: Clip) -> None:
    """At the same number of coefficients."""
    coefficients = wavelet.forward(walk.values)
    standard = keep_largest(standard_scores(coefficients, channel_scale(walk.skeleton)), coefficients.size // 20)
    annealed = anneal(walk, coefficients, standard.sum(axis=0)).kept
    assert annealed.sum() == standard.sum()
    errors = [e_x(walk, walk.with_values(wavelet.inverse(np.where(k, coefficients, 0)))) for k in (standard, annealed)]
    fast = WaveletOptimized(ratio=20)
    assert e_x(walk, fast.decode(fast.encode(walk))) < errors[1] < errors[0]


@pytest.mark.parametrize("solver", ik.SOLVERS)
def test_inverse_kinematics_reaches_targets(solver: str, walk: Clip) -> None:
    joints = effector_joints(walk.skeleton, "")
    noise = np.random.default_rng(5).normal(0, 1.0, walk.values.shape) * (walk.skeleton.channel_joints > 0)
    targets = forward_kinematics(walk).points[:, joints]
    bent = walk.with_values(walk.values + noise)
    solved = ik.solve(bent, joints, targets, solver=solver, steps=8)

    def missed(clip: Clip) -> float:
        return float(np.linalg.norm(forward_kinematics(clip).points[:, joints] - targets, axis=-1).mean())

    assert missed(solved) < 0.2 * missed(bent)
    others = [i for i, c in enumerate(walk.skeleton.channels) if c.joint > 0 and i not in ik_channels(walk, joints)]
    assert np.array_equal(solved.values[:, others], bent.values[:, others])


def ik_channels(clip: Clip, joints: list[int]) -> set[int]:
    return set(ik.chains_of(clip.skeleton, joints).channels.tolist())


def test_feet_slide_less_with_correction(walk: Clip) -> None:
    plain, corrected_ = WaveletOptimized(ratio=60), WaveletIk(ratio=60)
    slide = METRICS["foot_slide"].measure
    before, after = (slide(walk, c.decode(c.encode(walk))) for c in (plain, corrected_))
    assert after < before / 2 or before < 1e-3


def test_ik_needs_joints_that_angles_move() -> None:
    with pytest.raises(ConfigError):
        WaveletIk().encode(awkward_clips()["quaternions"])


def test_paths_in_contacts_are_drawn_together_by_what_coding_adds() -> None:
    """A path keeps its shape, loses as much extent in every contact, and vanishes where it has less."""
    noise = np.random.default_rng(5)
    points = np.cumsum(noise.normal(scale=0.01, size=(60, 1, 3)), axis=0)
    contacts = find_contacts(points, 1 / 120, still_cm_s=1e6, step_cm=0.05)
    assert contacts.spans.tolist() == [[0, 60]]
    differences = remainders(points, contacts, 0.05)
    extent = np.sqrt((differences**2).sum(-1).mean())
    less = stiller(differences, contacts, extent / 4)
    assert np.allclose(less, 0.75 * differences)
    assert not stiller(differences, contacts, 2 * extent).any()
    assert np.abs(drift(np.ones((60, 1, 3)), contacts)).max() < 0.02
    moved = anchored(contacts, points + 1.0, 0.05).anchors - contacts.anchors
    assert (moved == 20).all()


def test_contacts_round_trip_and_fade() -> None:
    contacts = Contacts(np.array([0, 0, 2]), np.array([[3, 9], [12, 20], [0, 30]]), np.array([[5, -6, 7]] * 3))
    data = encode_contacts(contacts, 3)
    back, used = decode_contacts(data + b"rest", 3, 30)
    assert used == len(data)
    assert all(np.array_equal(getattr(back, n), getattr(contacts, n)) for n in ("effectors", "spans", "anchors"))
    points = np.zeros((30, 3, 3))
    targets, weights = corrected(points, points, contacts, first=0, step_cm=0.1)
    assert np.allclose(targets[3:9, 0], [0.5, -0.6, 0.7]) and (weights[3:9, 0] == 1).all()
    assert (np.abs(np.diff(targets[:, 0], axis=0)) < 0.2).all() and (weights[:, 1] == 0).all()


def test_a_still_clip_costs_one_coefficient_a_channel() -> None:
    clip = awkward_clips()["static"]
    codec = Wavelet(gzip=False, ratio=1)
    stream = codec.encode(clip)
    channels = len(clip.skeleton.channels)
    assert len(stream.segments[0].data) <= 2 * channels * (1 + 3 + 1)
    assert np.allclose(codec.decode(stream).values, clip.values, rtol=1e-3)
