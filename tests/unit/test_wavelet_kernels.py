"""The wavelet kernels against the plain Python oracle, and against damaged codes."""

from __future__ import annotations

import numpy as np
import pytest

from kinepack._kernels import _wavelet
from kinepack._kernels import reference_wavelet as reference
from kinepack.errors import BitstreamError
from kinepack.transforms import lifting
from kinepack.transforms import wavelet_window as wavelet


def noise(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("rows", [1, 5, 300, 70_000])
def test_codes_are_the_oracles(rows: int) -> None:
    rng = noise(rows)
    levels = np.where(rng.random((rows, 3)) < 30 / rows, rng.standard_cauchy((rows, 3)) * 3000, 0)
    levels = levels.clip(-(2**31) + 1, 2**31 - 1).astype(np.int32)
    codes = _wavelet.encode_codes(levels)
    assert codes.tolist() == reference.encode_codes(levels)
    assert np.array_equal(reference.decode_codes(codes.tolist(), rows, 3), levels)


def decoded(codes: np.ndarray, rows: int, channels: int) -> object:
    """What the kernel makes of codes: levels, or the class of its error."""
    ranges = np.array([[0, rows]], np.uint64)
    columns = np.arange(channels, dtype=np.int32)
    try:
        found, used = _wavelet.decode_codes(
            codes.astype("<u2").tobytes(), rows, 0, ranges, steps=np.ones(channels), columns=columns, width=channels
        )
    except BitstreamError as error:
        return type(error)
    return found.astype(np.int64).tolist() if used <= len(codes) else None


def expected(codes: np.ndarray, rows: int, channels: int) -> object:
    try:
        return reference.decode_codes(codes.tolist(), rows, channels).tolist()
    except BitstreamError as error:
        return type(error)


@pytest.mark.parametrize("seed", range(60))
def test_any_codes_decode_as_the_oracle_says(seed: int) -> None:
    rng = noise(seed)
    pool = np.array([0, 0, 1, 2, 77, 0xFDFF, 0xFE00, 0xFE01, 0xFE05, 0xFF00, 0xFF01, 0xFFFE, 0xFFFF])
    codes = rng.choice(pool, size=int(rng.integers(0, 40)))
    assert decoded(codes, 12, 2) == expected(codes, 12, 2)


@pytest.mark.parametrize("rows", [1, 2, 3, 6, 33, 130])
def test_windows_and_the_adjoint_are_the_oracles(rows: int) -> None:
    coefficients, levels = noise(rows).normal(size=(rows, 2)), wavelet.depth(rows)
    window = (rows // 3, max(rows // 3 + 1, rows // 2))
    needed = wavelet.ranges(rows, window)
    starts = np.cumsum([0, *lifting.subband_sizes(rows, levels)[:-1]])
    own = np.concatenate([coefficients[s + int(a) : s + int(b)] for s, (a, b) in zip(starts, needed, strict=True)])
    found = wavelet.inverse_window(own, rows, needed, window)
    assert np.allclose(found, reference.inverse_window(coefficients, levels, window), atol=1e-12)
    assert np.allclose(wavelet.adjoint(coefficients), reference.adjoint(coefficients, levels), atol=1e-12)


def test_algorithm_1_takes_the_step_that_full_evaluation_takes() -> None:
    from kinepack.math.kinematics import forward_kinematics
    from kinepack.math.pose_derivatives import moving_channels, native_rig, weighted_error
    from kinepack.testing import awkward_clips
    from kinepack.transforms.wavelet_annealing import largest_of_each, magnitude_order

    clip = awkward_clips()["prime-length"].slice(0, 40)
    coefficients, points = wavelet.forward(clip.values), np.ascontiguousarray(forward_kinematics(clip).points)
    order, moving = magnitude_order(coefficients), moving_channels(clip.skeleton)
    joints = np.where(moving, clip.skeleton.channel_joints, -1).astype(np.int32)
    start = np.where(moving, 6, 0).astype(np.uint32)

    def error(kept: list[int]) -> float:
        mask = largest_of_each(order, np.array(kept))
        return weighted_error(clip.with_values(wavelet.inverse(np.where(mask, coefficients, 0.0))), points)

    for seed in range(1, 9):
        found = _wavelet.anneal(
            native_rig(clip.skeleton), np.ascontiguousarray(coefficients.T), order, joints=joints,
            levels=wavelet.depth(clip.frames), targets=points, kept=start, patience=10, seed=seed, most=1,
        )  # fmt: skip
        change = found.kept.astype(int) - start.astype(int)
        if not change.any():
            continue
        giver, taker = int(np.argmin(change)), int(np.argmax(change))
        wanted = reference.best_taker(error, start.tolist(), giver, int(change[taker]), clip.frames)
        rivals = [j for j in range(len(start)) if moving[j]]
        assert taker == wanted or wanted not in rivals
