"""Promises of `kine`: a maximum holds in every frame and halfway between them, whatever the clip and the effort."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinepack
from kinepack.codecs._kine.branches import euler_items
from kinepack.codecs._kine.loops import is_loop, seam_and_inside
from kinepack.metrics import METRICS
from kinepack.metrics.measure import jumps_of, metrics_for, promised, with_middles
from kinepack.model import Clip
from kinepack.testing import awkward_clips

CLIPS = {name: clip for name, clip in awkward_clips().items() if clip.frames > 1}
LIMITS = {"joint_max": 0.4, "shell_max": 0.6}


def _decoded(clip: Clip, spec: str, target: str | None = None) -> Clip:
    copy = kinepack.decompress(kinepack.compress(clip, spec, target=target))
    assert isinstance(copy, Clip)
    return copy


def _largest(metric: str, clip: Clip, copy: Clip) -> float:
    """In frames and halfway between them, but for jumps, whose arcs are chance."""
    measure, jumps = METRICS[metric].measure, jumps_of(clip)
    return max(measure(clip, copy), measure(with_middles(clip, jumps), with_middles(copy, jumps)))


@pytest.mark.parametrize("metric, effort", [("joint_max", "fast"), ("shell_max", "default"), ("joint_max", "best")])
@pytest.mark.parametrize("name", list(CLIPS))
def test_a_maximum_holds_between_frames_too(name: str, metric: str, effort: str) -> None:
    clip = CLIPS[name]
    copy = _decoded(clip, f"kine:effort={effort}", f"{metric}<={LIMITS[metric]}")
    assert _largest(metric, clip, copy) <= LIMITS[metric]


@settings(max_examples=6, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.floats(0.05, 2.0),
    st.sampled_from(list(LIMITS)),
    st.sampled_from(["fast", "default"]),
)
def test_flips_and_whole_turns_keep_the_promise(seed: int, limit: float, metric: str, effort: str) -> None:
    """Angles that jump by whole turns and to their twins anywhere, at a rate that leaves much between frames."""
    rng = np.random.default_rng(seed)
    clip = dataclasses.replace(awkward_clips()["prime-length"].slice(0, 60), frame_time=1 / 12)
    values = clip.values.copy()
    full = 2 * np.pi / clip.skeleton.radians_per_angle
    for channels in euler_items(clip.skeleton):
        values[:, channels] += (
            full * rng.integers(-2, 3, (2, len(channels)))[(np.arange(60) > rng.integers(60)).astype(int)]
        )
        flipped = rng.random(60) < 0.1
        if len(channels) == 3:
            a, b, c = values[flipped][:, channels].T
            values[np.ix_(flipped, channels)] = np.stack([a + full / 2, full / 2 - b, c - full / 2], axis=1)
    source = clip.with_values(values)
    copy = _decoded(source, f"kine:effort={effort}", f"{metric}<={limit}")
    assert _largest(metric, source, copy) <= limit


def test_no_arc_is_promised_where_a_joint_jumps_by_half_a_turn() -> None:
    """Which of two equal arcs is taken there would be chance: frames count, and all middles but that one."""
    clip = awkward_clips()["prime-length"].slice(0, 60)
    values = clip.values.copy()
    axes = euler_items(clip.skeleton)[1]
    values[30:, axes[0]] += np.pi / clip.skeleton.radians_per_angle
    source = clip.with_values(values)
    assert np.flatnonzero(jumps_of(source)).tolist() == [29]
    data = kinepack.compress(source, "kine", target="joint_max<=1")
    assert promised("joint_max", source)(kinepack.decompress(data)) <= 1
    assert len(data) < len(kinepack.compress(source, "kine", target="joint_max<=0.2"))


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(80, 250), st.booleans(), st.sampled_from([0.05, 0.3, 1.0]))
def test_looping_clips_loop(seed: int, frames: int, repeated: bool, error: float) -> None:
    """Whether the first pose is repeated at the end or comes next: the seam is no worse than any step inside."""
    like, rng = awkward_clips()["prime-length"], np.random.default_rng(seed)
    time, width = np.arange(frames + repeated)[:, None] / frames, like.values.shape[1]
    waves = [rng.normal(0, 15 / k, width) * np.sin(2 * np.pi * (k * time + rng.random(width))) for k in (1, 2, 5)]
    clip = like.with_values(like.values[0] + np.sum(waves, axis=0))
    assert is_loop(clip) and not is_loop(clip.slice(0, frames // 2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kinepack.codecs.kine.TRIES", ())
        _, inside = seam_and_inside(clip, _decoded(clip, f"kine:error={error}"))
    assert seam_and_inside(clip, _decoded(clip, f"kine:error={error}"))[0] <= inside


@pytest.mark.parametrize("metric", metrics_for(Clip))
def test_every_metric_is_a_target(metric: str) -> None:
    clip = CLIPS["prime-length"]
    if METRICS[metric].better != "lower":
        pytest.skip("grows with quality")
    first = METRICS[metric].measure(clip, _decoded(clip, "kine:error=0.5"))
    limit = float(f"{max(first / 2, 1e-6):.3g}")
    assert METRICS[metric].measure(clip, _decoded(clip, "kine", f"{metric}<={limit}")) <= limit
