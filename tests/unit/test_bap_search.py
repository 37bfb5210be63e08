"""Search for FDF, n_d and K, and the cost of decoding."""

from __future__ import annotations

import numpy as np
import pytest

from kinepack.codecs.base import codec_from_spec
from kinepack.energy import can_count, count_decoding
from kinepack.errors import ConfigError, TargetUnreachable, UsageError
from kinepack.metrics.base import METRICS
from kinepack.model import Clip
from kinepack.samples import human
from kinepack.search import Evaluator, Sparseness, choose_k, exhaustive, fast
from kinepack.testing import awkward_clips


@pytest.fixture(scope="module")
def clip() -> Clip:
    return human().slice(0, 240)


def test_a_point_is_what_the_codec_gives(clip: Clip) -> None:
    for k, spec in ((0.1, "sparse-indexing:fdf=5,n_d=40"), (0.0, "bap-indexing:fdf=5,n_d=40")):
        point = Evaluator(clip, k=k)(5, 40)
        codec = codec_from_spec(spec)
        stream = codec.encode(clip)
        assert point.bytes == len(stream.segments[0].data)
        assert point.def_cm == pytest.approx(METRICS["def"].measure(clip, codec.decode(stream)), rel=1e-6)
        assert point.merit == point.bytes * point.def_cm


@pytest.mark.parametrize("f", [0.4, 0.7, 1.0])
@pytest.mark.parametrize("goal", ["merit", "def"])
def test_fast_search_comes_within_a_per_cent_in_a_sixth_of_the_evaluations(clip: Clip, f: float, goal: str) -> None:
    steps: list[float] = []
    all_of_them = exhaustive(Evaluator(clip), f=f, goal=goal, n_d=(30, 60, 90, 120), progress=steps.append)
    found = fast(Evaluator(clip), f=f, goal=goal, n_d=(30, 60, 90, 120))
    assert found.best.score(goal)[0] <= 1.01 * all_of_them.best.score(goal)[0]
    assert found.evaluations < all_of_them.evaluations / 6
    assert steps[-1] == 1.0 and steps == sorted(steps)


def test_a_budget_below_all_sizes_is_unreachable(clip: Clip) -> None:
    with pytest.raises(TargetUnreachable, match=r"f = 0\.01"):
        fast(Evaluator(clip), f=0.01)


@pytest.mark.parametrize("name", ["one-frame", "two-frames", "one-channel", "static", "quaternions"])
def test_search_survives_awkward_clips(name: str) -> None:
    awkward = awkward_clips()[name]
    try:
        found = fast(Evaluator(awkward), f=50.0)
    except TargetUnreachable:
        assert awkward.values.shape[1] == 1  # no column is left to index
    else:
        assert np.isfinite(found.best.def_cm)
    assert 0 <= choose_k(awkward) <= 2


@pytest.mark.parametrize("joint_cm", [0.03, 0.1])
def test_k_from_statistics_gives_the_displacement_asked_for(clip: Clip, joint_cm: float) -> None:
    k = choose_k(clip, joint_cm)
    codec = codec_from_spec(f"bap-sparsing:k={k}")
    got = METRICS["joint_mean"].measure(clip, codec.decode(codec.encode(clip)))
    assert got == pytest.approx(joint_cm, rel=0.3)
    assert Sparseness.of(clip).def_cm(k) == pytest.approx(joint_cm * len(clip.skeleton.joints), rel=0.05)


def test_k_needs_a_positive_displacement(clip: Clip) -> None:
    with pytest.raises(UsageError):
        choose_k(clip, 0.0)


@pytest.mark.skipif(not can_count(), reason="valgrind is not installed")
def test_look_ups_execute_fewer_instructions_than_arithmetic_decoding(clip: Clip) -> None:
    short = clip.slice(0, 60)
    costs = {
        id: count_decoding(id, codec_from_spec(id).encode(short)).per_frame
        for id in ("sparse-indexing", "mpeg4-float", "mpeg4-predictive")
    }
    assert costs["sparse-indexing"] < 0.3 * min(costs["mpeg4-float"], costs["mpeg4-predictive"])


def test_other_codecs_have_no_counter(clip: Clip) -> None:
    if can_count():
        with pytest.raises(ConfigError, match="raw"):
            count_decoding("raw", codec_from_spec("raw").encode(clip))
