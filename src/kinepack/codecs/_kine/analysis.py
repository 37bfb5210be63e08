"""The encoder's side of `kine`: how a clip is written, and its quantised coefficients."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels._kine import Coefficients, SegmentModel, kine_descend
from kinepack.codecs._kine.synthesis import CONSTANT_STEPS, LAYER_RATIO, OFFSET_STEPS, offset_values, steps_of
from kinepack.entropy.kine_prior import costs_of
from kinepack.entropy.kine_setup import KineSetup
from kinepack.errors import ConfigError
from kinepack.math.kinematics import forward_kinematics
from kinepack.model import Clip
from kinepack.transforms import triangular
from kinepack.transforms.blocks import (
    LONGEST_BLOCK,
    bent_basis,
    bent_basis32,
    choose_runs,
    dct_basis,
    dct_basis32,
    find_cuts,
    group_blocks,
)
from kinepack.transforms.forms import choose_forms
from kinepack.transforms.inertia import Masses, masses_of, metric_matrix
from kinepack.transforms.steps import default_exponents
from kinepack.transforms.tracks import TurnForm, forward_tracks, slots_of

Array = NDArray[np.float64]

LAGRANGIAN = 0.12
"""Squared steps that a bit is worth."""
LARGEST_METRIC = 50_000_000
"""Numbers of the metric that are kept at a time; a longer clip or larger rig has one for more frames together."""
STILL = 0.02
"""A track that moves less than this fraction of its step is constant."""
BENT_HANDICAP = 0.99
"""What bent blocks must win by where that is estimated."""
SCALAR_ERROR = 0.1
"""Nominal error (cm) that free scalars have at most, as no metric of joints sees them."""
LARGEST = 7e6
"""Largest coefficient in steps that the quantiser and coder hold."""


@dataclass(frozen=True)
class Way:
    """A way to write a clip that may or may not be cheaper than another."""

    bent: bool | None = None
    """Whether blocks are; None to estimate what is cheaper."""
    shift: int = 5
    """Binary digits of link weights."""
    link_bits: float = triangular.REGRESSOR_BITS
    """What a link must save."""


@dataclass(frozen=True)
class Budget:
    """What an effort level spends."""

    sweeps: int
    """Of the descent."""
    grid: int
    """Units between ends of blocks that are tried."""
    links: int
    """Most regressors of a track."""
    ways: tuple[Way, ...] = (Way(),)
    """All are coded in full, and the cheapest is kept."""


@dataclass(frozen=True, eq=False)
class Analysis:
    """A clip ready for quantising."""

    setup: KineSetup
    residual: Array
    """[frames, active tracks] in steps, less what links predict."""
    metric: NDArray[np.float32]
    """[active tracks, active tracks, groups of frames] second derivative of the error, in steps."""
    group: int
    """Frames that share a metric."""
    runs: list[list[int]]
    """Block lengths between cuts."""
    budget: Budget


def analyse(
    clip: Clip,
    error: float,
    *,
    points: str,
    budget: Budget,
    way: Way = Way(),
    emphasis: Array | None = None,
    segment: float = 0.0,
) -> Analysis:
    """`emphasis` [frames, joints] multiplies the weight of each joint's points in each frame.

    A `segment` is wished to have so many frames, 0 for all.
    """
    unit = max(1, min(64, round(clip.fps * 2 / 15)))
    scale = round(64 * np.log2(error))
    first_steps = 2.0 ** (scale / 64 - default_exponents(clip.skeleton) / 4)
    lead = _lead(clip, first_steps)
    forms = choose_forms(clip.slice(lead, clip.frames), first_steps, 8 * unit)
    tracks = forward_tracks(clip, forms)
    group = max(1, unit // 2, -(-clip.frames * tracks.shape[1] ** 2 // LARGEST_METRIC))
    metric = _sampled_metric(clip, tracks, forms, _masses(clip, points, emphasis, group), group)
    scalars = [t for t, item in enumerate(slots_of(clip.skeleton).of_tracks) if item.joint < 0]
    metric[scalars, scalars] *= max(1.0, (error / SCALAR_ERROR) ** 2)
    setup = _first_setup(clip, unit, scale, forms, metric)
    steps = steps_of(setup, clip.skeleton)
    active = np.ptp(tracks, axis=0) > STILL * steps
    offsets = _offsets(tracks[lead:], steps, active, many=clip.frames > 12 * unit)
    signal = ((tracks - offset_values(offsets, steps, active)) / steps)[:, active]
    _check_range(signal, LONGEST_BLOCK * unit)
    rows = _fixed_blocks(signal[lead:], 8 * unit)
    links = triangular.fit_links(rows, way.shift, most=budget.links, bits=way.link_bits)
    residual = triangular.forward(signal, links, way.shift)
    own, error = np.flatnonzero(active), 2.0 ** (scale / 64)
    scaled = metric[np.ix_(own, own)] * (steps[own, None] * steps[own] / error**2)[..., None]
    longest = _longest_block(unit, segment)
    bent, runs = _choose_basis(residual.astype(np.float32), unit, budget.grid, longest, way.bent)
    moving = active.astype(np.int32)
    return Analysis(
        dataclasses.replace(setup, active=moving, offsets=offsets, links=links, shift=way.shift, bent=bent),
        residual,
        triangular.carry_metric(scaled.astype(np.float32), links, way.shift),
        group,
        runs,
        budget,
    )


def _choose_basis(
    residual: NDArray[np.float32], unit: int, grid: int, longest: int, bent: bool | None
) -> tuple[bool, list[list[int]]]:
    """Whether blocks are bent, and their lengths."""
    bits, runs = {}, {}
    for found, basis in ((False, dct_basis32), (True, bent_basis32)):
        if bent in (None, found):
            bits[found], runs[found] = choose_runs(residual, unit, grid=grid, longest=longest, basis=basis)
    if bent is None:
        bent = bits[True] < BENT_HANDICAP * bits[False]
    return bent, runs[bent]


def quantise(
    analysis: Analysis,
    models: list[SegmentModel],
    segment_frames: float,
    progress: Callable[[float], None] | None = None,
    closes: Callable[[int], bool] = lambda key: False,
) -> Iterator[tuple[int, list[Coefficients]]]:
    """For each segment the frame that the next one starts with, and its levels for each layer's model.

    A segment has that frame too where it `closes` the frames before it.
    """
    frames, stop = len(analysis.residual), 0
    for own in (group for run in analysis.runs for group in group_blocks(run, segment_frames)):
        at, stop = stop, stop + sum(own)
        lengths = _closed(own, LONGEST_BLOCK * analysis.setup.unit) if stop < frames and closes(stop) else own
        parts = []
        for length in lengths:
            parts.append(_quantise_block(analysis, models, at, length))
            at += length
            if progress:
                progress(min(at, stop) / frames)
        counts = np.array(lengths, np.uint32)
        yield stop, [Coefficients(np.concatenate(layer), counts) for layer in zip(*parts, strict=True)]


def _closed(lengths: list[int], longest: int) -> list[int]:
    """With one frame more, in the last block if that may be longer."""
    return [*lengths[:-1], lengths[-1] + 1] if lengths[-1] < longest else [*lengths, 1]


def _quantise_block(analysis: Analysis, models: list[SegmentModel], start: int, length: int) -> list[NDArray[np.int32]]:
    """A layer's steps are LAYER_RATIO times finer than those of the one below, whose rest it codes."""
    basis = bent_basis(length) if analysis.setup.bent else dct_basis(length)
    wanted = (basis @ analysis.residual[start : start + length]).T
    wanted /= LAYER_RATIO ** (len(models) - 1)
    layers = []
    for model in models:
        layers.append(_descend(analysis, model, start, wanted))
        wanted = LAYER_RATIO * (wanted - layers[-1].T)
    return layers


def _descend(analysis: Analysis, model: SegmentModel, start: int, wanted: Array) -> NDArray[np.int32]:
    length = wanted.shape[1]
    middles = start + np.arange(0, length, analysis.group) + analysis.group // 2
    groups = np.minimum(middles // analysis.group, analysis.metric.shape[2] - 1)
    return kine_descend(
        wanted,
        bent_basis32(length) if analysis.setup.bent else dct_basis32(length),
        metric=np.ascontiguousarray(analysis.metric[:, :, groups]),
        group=analysis.group,
        lagrangian=LAGRANGIAN,
        sweeps=analysis.budget.sweeps,
        costs=costs_of(),
        model=model,
    )


def rate_cost(size: int) -> float:
    """What bytes count for beside a distortion."""
    return 8 * LAGRANGIAN * size


def distortion(analysis: Analysis, start: int, layers: list[Coefficients]) -> float:
    """e'He of a segment from frame `start` on, from all of its layers."""
    finest = len(layers) - 1
    levels = np.sum([LAYER_RATIO ** (finest - i) * layer.levels for i, layer in enumerate(layers)], axis=0)
    result, at = 0.0, 0
    for length in layers[0].lengths.tolist():
        basis = bent_basis(length) if analysis.setup.bent else dct_basis(length)
        place = start + at
        error = basis.T @ levels[at : at + length] - analysis.residual[place : place + length]
        for first in range(0, length, analysis.group):
            part = error[first : first + analysis.group]
            group = min((place + first + analysis.group // 2) // analysis.group, analysis.metric.shape[2] - 1)
            result += float(np.vdot(part @ analysis.metric[:, :, group], part))
        at += length
    return result


def _longest_block(unit: int, segment: float) -> int:
    """In units: a block may be twice as long as a segment is wished to be, and a little over."""
    longest = round(2.2 * segment / unit) if segment else LONGEST_BLOCK
    return max(1, min(LONGEST_BLOCK, longest))


def _lead(clip: Clip, steps: Array) -> int:
    """1 if the first frame is a pose on its own, such as a T-pose, which no statistics should see."""
    head = clip.slice(0, min(clip.frames, 8))
    tracks = forward_tracks(head, [TurnForm()] * len(slots_of(clip.skeleton).turns))
    return int(1 in find_cuts(tracks / steps))


def _masses(clip: Clip, points: str, emphasis: Array | None, group: int) -> Masses:
    """The metric's points; a group of frames has the largest emphasis of its frames."""
    masses = masses_of(clip.skeleton, points)
    if emphasis is None:
        return masses
    largest = np.maximum.reduceat(emphasis, np.arange(0, clip.frames, group), axis=0)
    return dataclasses.replace(masses, weights=masses.weights * largest[:, masses.joints])


def _sampled_metric(clip: Clip, tracks: Array, forms: list[TurnForm], masses: Masses, group: int) -> Array:
    """The metric in the middle of every group of frames."""
    middles = np.minimum(np.arange(0, clip.frames, group) + group // 2, clip.frames - 1)
    pose = forward_kinematics(clip.with_values(clip.values[middles]))
    return metric_matrix(clip.skeleton, pose, tracks[middles], forms=forms, masses=masses)


def _first_setup(clip: Clip, unit: int, scale: int, forms: list[TurnForm], metric: Array) -> KineSetup:
    """Steps from the mean sensitivity of each track; the rest is not known yet."""
    sensitivity = np.einsum("cct->c", metric) / metric.shape[2]
    exponents = np.round(2 * np.log2(np.maximum(sensitivity, 1e-12))) - default_exponents(clip.skeleton)
    nothing = np.zeros(len(sensitivity), np.int32)
    return KineSetup(
        unit,
        scale,
        0,
        np.array([[f.form, f.order] for f in forms], np.int32).reshape(-1, 2),
        nothing,
        np.clip(exponents, -60, 60).astype(np.int32),
        nothing,
        [],
    )


def _fixed_blocks(signal: Array, length: int) -> Array:
    """DCT rows of blocks of one length, all stacked."""
    parts = [signal[a : a + length] for a in range(0, len(signal), length)]
    return np.concatenate([dct_basis(len(p)) @ p for p in parts])


def _offsets(tracks: Array, steps: Array, active: NDArray[np.bool_], *, many: bool) -> NDArray[np.int32]:
    """Whole numbers of offset units; a clip of a block or two codes its mean as well in the blocks."""
    levels = np.round(tracks.mean(axis=0) / (np.where(active, OFFSET_STEPS, CONSTANT_STEPS) * steps))
    levels = np.where(active & (not many), 0, levels)
    if np.abs(levels).max(initial=0) >= 1 << 30:
        raise ConfigError("the error is too small for numbers this large")
    return levels.astype(np.int32)


def _check_range(signal: Array, longest_block: int) -> None:
    if np.abs(signal).max(initial=0) * np.sqrt(longest_block) > LARGEST:
        raise ConfigError("the error is too small for motion this large", hint="use a larger error, or lossless")
