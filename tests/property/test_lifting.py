"""Wavelets invert at any length, keep constants, and leave no detail of what they reproduce."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from kinepack.errors import ConfigError, KinepackError
from kinepack.transforms import lifting

SMOOTH = st.sampled_from(["cubic", "cdf53", "cdf97"])
LEVELS = st.one_of(st.none(), st.integers(0, 9))
FLOATS = hnp.arrays(np.float64, st.tuples(st.integers(1, 90), st.integers(0, 3)), elements=st.floats(-1e3, 1e3))
WHOLE = hnp.arrays(np.int32, st.tuples(st.integers(1, 90), st.integers(0, 3)))


@given(FLOATS, SMOOTH, LEVELS)
def test_floats_round_trip(values: np.ndarray, wavelet: str, levels: int | None) -> None:
    coefficients = lifting.forward(values, wavelet, levels=levels)
    assert coefficients.shape == values.shape
    np.testing.assert_allclose(lifting.inverse(coefficients, wavelet, levels=levels), values, atol=1e-9)


@given(WHOLE, LEVELS)
def test_integers_round_trip_exactly(values: np.ndarray, levels: int | None) -> None:
    coefficients = lifting.forward(values, "reversible53", levels=levels)
    assert np.array_equal(lifting.inverse(coefficients, "reversible53", levels=levels), values)


@given(st.integers(1, 200), SMOOTH, LEVELS)
def test_constants_keep_their_value(frames: int, wavelet: str, levels: int | None) -> None:
    coefficients = lifting.forward(np.full(frames, 2.5), wavelet, levels=levels)
    coarse = lifting.subband_sizes(frames, levels)[0]
    np.testing.assert_allclose(coefficients[:coarse], 2.5, atol=1e-9)
    np.testing.assert_allclose(coefficients[coarse:], 0, atol=1e-9)


@given(st.integers(7, 200), st.tuples(*[st.floats(-1, 1)] * 4))
def test_cubics_have_no_first_detail_up_to_the_ends(frames: int, polynomial: tuple[float, float, float, float]) -> None:
    values = np.polyval(polynomial, np.linspace(-1, 1, frames))
    details = lifting.forward(values, "cubic", levels=1)[frames - frames // 2 :]
    np.testing.assert_allclose(details, 0, atol=1e-13)


@given(st.integers(30, 200), st.integers(0, 2**32))
def test_cubic_update_keeps_two_moments(frames: int, seed: int) -> None:
    """Of signals that vanish near the ends: sums and first moments of even rows, times two, are the signal's."""
    values = np.zeros(frames)
    values[10:-10] = np.random.default_rng(seed).normal(size=frames - 20)
    evens = frames - frames // 2
    coarse = lifting.forward(values, "cubic", levels=1)[:evens]
    assert 2 * coarse.sum() == pytest.approx(values.sum(), abs=1e-10)
    first = 2 * (coarse * 2 * np.arange(evens)).sum()
    assert first == pytest.approx((values * np.arange(frames)).sum(), abs=1e-8)


@given(st.integers(1, 5000), LEVELS)
def test_bands_sum_to_the_frames(frames: int, levels: int | None) -> None:
    sizes = lifting.subband_sizes(frames, levels)
    assert sum(sizes) == frames
    assert len(sizes) == 1 + (lifting.levels_for(frames) if levels is None else levels)
    if levels is None and frames >= 4:
        assert 4 <= sizes[0] <= 7 if frames >= 7 else sizes[0] == frames


def test_trailing_axes_are_kept() -> None:
    values = np.random.default_rng(0).normal(size=(20, 4, 3))
    whole = lifting.forward(values)
    assert np.array_equal(whole[:, 2, 1], lifting.forward(values[:, 2, 1]))


def test_synthesis_norms_are_what_an_impulse_makes() -> None:
    norms = lifting.synthesis_norms(64, "cdf53", levels=1)
    np.testing.assert_allclose(norms, [np.sqrt(1.5), np.sqrt(23 / 32)])


def test_wrong_settings() -> None:
    with pytest.raises(ConfigError):
        lifting.forward([1.0], "haar")
    with pytest.raises(ConfigError):
        lifting.forward([1.0], levels=41)
    for values in ([], 3.0):
        with pytest.raises(KinepackError):
            lifting.forward(values)
