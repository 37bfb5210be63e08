"""Trains the entropy prior of `kine` from motion that is kept apart for it, and from nothing else.

Usage: python tools/train_kine_prior.py FOLDER [--rounds N] [--frames N]

FOLDER is the unpacked training set: bvh/*.bvh and amc/<subject>/*.amc with their ASF. Each round quantises the clips
with the prior so far at several errors, then fits the magnitude prediction by least squares, counts bits by context,
and lets the mixer's weights settle. The result goes to src/kinepack/codecs/kine_prior.bin.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinepack import api
from kinepack._kernels import _kine as kernel
from kinepack._kernels._binding import ffi, lib, pointer
from kinepack._kernels._kine import (
    BANDS,
    BINS,
    CLASSES,
    CONTEXTS,
    FEATURES,
    LEVELS,
    PHASES,
    ROWS,
    RUNS,
    Prior,
    SegmentModel,
)
from kinepack.codecs._kine.analysis import analyse, quantise
from kinepack.codecs._kine.synthesis import rig_of, segment_models
from kinepack.codecs.kine import BUDGETS
from kinepack.entropy import kine_prior
from kinepack.entropy import kine_setup as setup_coding
from kinepack.entropy.kine_prior import pack_prior
from kinepack.entropy.kine_setup import KineSetup, Rig, integers_of, pack_setup
from kinepack.model import Clip

OUT = Path(__file__).parent.parent / "src/kinepack/codecs/kine_prior.bin"
CMU_UNIT_CM = 2.54 / 0.45
ERRORS_CM = (0.01, 0.03, 0.1, 0.2, 0.4, 0.8, 1.6)
CONFIDENCE = 40
"""Observations that a well-trained probability counts for."""
BOUNDS = np.array([4, 10, 19, 29, 41, 56, 81])
FIRST_ASKED = 2
"""KP_KINE_FIRST_ASKED"""


@dataclass(frozen=True, eq=False)
class Block:
    """One quantised block with the integers that steer its coding."""

    levels: NDArray[np.int32]
    before: NDArray[np.int32] | None
    model: SegmentModel


def clips(folder: Path, most_frames: int) -> Iterator[Clip]:
    """A stretch of each training clip, some at 60 or 30 Hz; the T-pose at the start of BVH files is left out."""
    for number, path in enumerate(sorted(folder.glob("bvh/*.bvh")) + sorted(folder.glob("amc/*/*.amc"))):
        if path.suffix == ".amc":
            clip = api.read(path, skeleton=path.parent / f"{path.parent.name}.asf")
        else:
            whole = api.read(path, unit_cm=CMU_UNIT_CM)
            clip = whole.slice(1, whole.frames)
        start = 0 if number % 3 else max(0, (clip.frames - most_frames) // 2)
        thinned = (1, 1, 2, 1, 4, 1, 2)[number % 7]
        part = clip.slice(start, min(clip.frames, start + most_frames * thinned))
        yield dataclasses.replace(part, values=part.values[::thinned], frame_time=part.frame_time * thinned)


Segment = tuple[SegmentModel, kernel.Coefficients]
Setups = list[tuple[KineSetup, Rig]]


def quantised(sources: list[Clip]) -> tuple[list[Segment], Setups]:
    """Every clip at two of the errors, points cycling."""
    found: list[Segment] = []
    setups: Setups = []
    for number, clip in enumerate(sources):
        for turn in range(2):
            error = ERRORS_CM[(2 * number + turn * 3) % len(ERRORS_CM)]
            points = ("joints", "shell", "bones")[(number + turn) % 3]
            analysis = analyse(clip, error, points=points, budget=BUDGETS["default"])
            models = segment_models(clip.skeleton, analysis.setup)
            found += [(models[0], c) for _, (c,) in quantise(analysis, models, clip.fps)]
            setups.append((analysis.setup, rig_of(clip.skeleton)))
    return found, setups


def count_setup(setups: Setups) -> NDArray[np.uint32]:
    """First states of the setup's integers, from the bins that docs/kernels.md gives them."""
    counts = np.zeros((2, setup_coding.CONTEXTS, setup_coding.BINS))
    for setup, rig in setups:
        first, contexts, second, link_contexts = integers_of(setup, rig)
        for value, context in zip([*first, *second], [*contexts, *link_contexts], strict=True):
            for bin, bit in _bins(int(value)):
                counts[bit, context, bin] += 1
    total = counts.sum(axis=0)
    p = (counts[1] + 0.4) / (total + 0.8)
    confidence = np.minimum(total / 8, 24).astype(np.uint32)
    return np.asarray((np.clip(p * 65536, 700, 64800).astype(np.uint32) << 16) | confidence, np.uint32)


def _bins(value: int) -> Iterator[tuple[int, int]]:
    yield 0, int(value != 0)
    if value == 0:
        return
    yield 1, int(value < 0)
    rest, escape = abs(value) - 1, setup_coding.ESCAPE
    for i in range(escape):
        yield 2 + i, int(rest > i)
        if rest <= i:
            return
    width = (rest - escape + 1).bit_length() - 1
    for i in range(31):
        yield 2 + escape + i, int(width > i)
        if width <= i:
            break
    if width:
        yield 2 + escape + 31 + width - 1, (rest - escape + 1) >> (width - 1) & 1


def blocks_of(segments: list[Segment]) -> Iterator[Block]:
    for model, (levels, lengths) in segments:
        at, before = 0, None
        for length in lengths:
            own = levels[at : at + length]
            yield Block(own, before, model)
            before, at = own, at + length


def logs_of(levels: NDArray[Any]) -> NDArray[np.int64]:
    """kp_kine_log"""
    a = np.abs(levels).astype(np.int64)
    e = np.floor(np.log2(np.maximum(a, 1))).astype(np.int64)
    fraction = np.where(e > 4, a >> np.maximum(e - 4, 0), a << np.maximum(4 - e, 0)) & 15
    small = np.array([0, 31, 44, 52, 58, 63, 67, 70])
    return np.where(a < 8, small[np.minimum(a, 7)], np.minimum(25 + 16 * e + fraction, 255))


def shifted(logs: NDArray[np.int64], rows: int, tracks: int) -> NDArray[np.int64]:
    result = np.zeros_like(logs)
    result[rows:, tracks:] = logs[: len(logs) - rows, : logs.shape[1] - tracks]
    return result


def running(logs: NDArray[np.int64], divisor: int, coded: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Running mean of coded entries along the first axis as it stands before each entry."""
    result, mean = np.zeros_like(logs), np.zeros(logs.shape[1], np.int64)
    for row, log in enumerate(logs):
        result[row] = mean
        change = np.where(coded[row], 16 * log - mean, 0)
        mean = mean + np.sign(change) * (np.abs(change) // divisor)
    return result >> 4


def going_on(levels: NDArray[np.int32], bands: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """[rows, tracks] where tracks are coded, and where they are asked."""
    rows = np.arange(len(levels))
    lasts = ((levels != 0) * (rows[:, None] + 1)).max(axis=0)
    asks = (rows == 0) | ((rows >= FIRST_ASKED) & (bands != np.concatenate([[-1], bands[:-1]])))
    latest = np.maximum.accumulate(np.where(asks, rows, 0))
    coded = lasts > latest[:, None]
    before = np.concatenate([np.ones_like(coded[:1]), coded[:-1]])
    return coded, before & asks[:, None]


def bands_of(rows: int, unit: int) -> NDArray[np.int64]:
    f = 1 + np.arange(rows) * 32 * unit // rows
    e = np.floor(np.log2(f)).astype(np.int64)
    return np.minimum(2 * e + np.where(e > 0, (f >> np.maximum(e - 1, 0)) & 1, 0), BANDS - 1)


@dataclass(frozen=True, eq=False)
class Features:
    """Of all coded coefficients of one block, flattened."""

    magnitudes: NDArray[np.int64]
    logs: NDArray[np.int64]
    inputs: NDArray[np.int64]
    """[n, FEATURES]"""
    phases: NDArray[np.int64]
    biases: NDArray[np.int64]
    """Index into classes x bands."""
    runs: NDArray[np.int64]
    rows: NDArray[np.int64]
    coded: NDArray[np.bool_]
    """Where the track has not ended."""
    asked: NDArray[np.bool_]
    """Where the coder asks whether it has; True is the answer of those that are coded."""


def features_of(block: Block) -> Features | None:
    rows = int(np.flatnonzero(block.levels.any(axis=1)).max(initial=-1)) + 1
    if rows == 0:
        return None
    total = len(block.levels)
    logs = logs_of(block.levels[:rows])
    a1, a2, a3 = (shifted(logs, k, 0) for k in (1, 2, 3))
    r1, r2 = (shifted(logs, 0, k) for k in (1, 2))
    band = bands_of(total, block.model.unit)[:rows]
    coded, asked = going_on(block.levels[:rows], band)
    row_mean, run = running(logs.T, 8, coded.T).T, running(logs, 4, coded)
    past, phase = np.zeros_like(logs), np.minimum(np.arange(rows), 3)
    if block.before is not None:
        old = logs_of(block.before)
        at = np.arange(rows) * len(old) // total
        past, phase = old[at] + old[np.minimum(at + 1, len(old) - 1)], phase + 4
    step = lambda log: np.where(log == 0, 0, np.where(log == 31, 1, 2))  # noqa: E731
    quality = np.full_like(logs, block.model.quality)
    amplitude = (run[..., None] >= BOUNDS).sum(-1)
    every = np.broadcast_to
    return Features(
        np.abs(block.levels[:rows]).ravel().astype(np.int64),
        logs.ravel(),
        np.stack([x.ravel() for x in (a1, a2, a3, r1, r2, row_mean, run, past, quality)], axis=1),
        every(phase[:, None], logs.shape).ravel(),
        (block.model.classes.astype(np.int64)[None] * BANDS + band[:, None]).ravel(),
        (amplitude * 9 + step(a1) * 3 + step(a2)).ravel(),
        (band[:, None] * 9 + step(r1) * 3 + step(r2)).ravel(),
        coded.ravel(),
        asked.ravel(),
    )


def fit_model(features: list[Features], rng: np.random.Generator) -> NDArray[np.int16]:
    """Least squares of the log magnitude, rows where something happens counted more."""
    width = PHASES * FEATURES + CLASSES * BANDS
    normal, right = np.zeros((width, width)), np.zeros(width)
    for part in features:
        keep = (rng.random(len(part.logs)) < 0.25) & part.coded
        columns = np.zeros((int(keep.sum()), width))
        index = part.phases[keep, None] * FEATURES + np.arange(FEATURES)
        np.put_along_axis(columns, index, part.inputs[keep].astype(float), axis=1)
        columns[np.arange(len(columns)), PHASES * FEATURES + part.biases[keep]] = 1
        weight = 1.0
        normal += (columns * weight).T @ columns
        right += columns.T @ (weight * part.logs[keep])
    solved = np.linalg.solve(normal + np.diag(1 + 1e-6 * np.diag(normal)), right)
    solved[: PHASES * FEATURES] *= 256
    solved[PHASES * FEATURES :] *= 16
    return np.clip(np.round(solved), -32768, 32767).astype(np.int16)


def levels_by(model: NDArray[np.int16], part: Features) -> NDArray[np.int64]:
    weights = model[: PHASES * FEATURES].reshape(PHASES, FEATURES).astype(np.int64)
    total = (weights[part.phases] * part.inputs).sum(1) + 16 * model[PHASES * FEATURES :].astype(np.int64)[part.biases]
    return np.clip(total >> 10, 0, LEVELS - 1)


def count_states(model: NDArray[np.int16], features: list[Features]) -> NDArray[np.uint32]:
    """Probabilities of every bin in every context."""
    counts = np.zeros((2, BINS, CONTEXTS))
    tops, quiet, ends = np.zeros((2, BINS)), np.zeros((2, ROWS)), np.zeros((2, 1, CONTEXTS))
    for every in features:
        contexts = (levels_by(model, every), LEVELS + every.runs, LEVELS + RUNS + every.rows)
        for context in contexts:
            np.add.at(ends, (every.coded[every.asked].astype(int), 0, context[every.asked]), 1)
        part = dataclasses.replace(every, magnitudes=every.magnitudes[every.coded], rows=every.rows[every.coded])
        contexts = tuple(context[every.coded] for context in contexts)
        large = np.floor(np.log2(np.maximum(part.magnitudes - 2, 1))).astype(int)
        for bin in range(BINS):
            reached = part.magnitudes >= bin if bin < 4 else (part.magnitudes > 2) & (large >= bin - 3)
            if not reached.any():
                break
            bits = (part.magnitudes > bin if bin < 3 else large > bin - 3)[reached].astype(int)
            for context in contexts:
                np.add.at(counts, (bits, bin, context[reached]), 1)
        calm = contexts[0] == 0
        np.add.at(quiet, ((part.magnitudes[calm] > 0).astype(int), part.rows[calm]), 1)
        has = (part.magnitudes > 2) & (large > 0)
        np.add.at(tops, (((part.magnitudes[has] - 2) >> (large[has] - 1)) & 1, large[has]), 1)
    return np.concatenate([_states(counts).ravel(), _states(tops), _states(quiet), _states(ends).ravel()])


def _states(counts: NDArray[np.float64]) -> NDArray[np.uint32]:
    total = counts.sum(axis=0)
    # A context never seen takes the mean of its bin.
    base = (counts[1].sum(-1, keepdims=True) + 0.5) / (total.sum(-1, keepdims=True) + 1)
    p = (counts[1] + 2 * base) / (total + 2)
    confidence = np.minimum(total / 4 + 1, CONFIDENCE).astype(np.uint32)
    return (np.clip(p * 65536, 32, 65504).astype(np.uint32) << 16) | confidence


def settle_weights(prior: Prior, segments: list[Segment]) -> NDArray[np.int32]:
    """Mixing weights after all of the training set, states starting afresh with each segment."""
    weights = np.tile(np.array([32000, 20000, 20000], np.int32), BINS + 1)
    mean, seen = np.zeros(len(weights)), 0
    for number, (model, (levels, lengths)) in enumerate(segments):
        states, size = prior.states.copy(), ffi.new("size_t *")
        out, logs = np.empty(levels.size * 4 + 64, np.uint8), np.empty(levels.size, np.uint8)
        runs = np.empty(3 * model.tracks, np.int32)
        status = lib.kp_kine_encode(
            pointer(levels), *levels.shape, pointer(lengths), len(lengths), pointer(model.classes), model.unit,
            model.quality, ffi.from_buffer("int16_t[]", prior.model), True, pointer(states), pointer(weights),
            pointer(logs), pointer(runs), pointer(out), len(out), size,
        )  # fmt: skip
        assert status == 0
        if number > len(segments) // 2:
            mean, seen = mean + weights, seen + 1
    return np.round(mean / seen).astype(np.int32)


def coded_bytes(prior: Prior, segments: list[Segment]) -> int:
    models = {id(m): SegmentModel(prior, m.classes, m.unit, m.quality) for m, _ in segments}
    return sum(len(kernel.kine_encode(c, models[id(m)])) for m, c in segments)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--frames", type=int, default=500)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    sources, rng = list(clips(options.folder, options.frames)), np.random.default_rng(1)
    for turn in range(options.rounds):
        segments, setups = quantised(sources)
        features = [f for block in blocks_of(segments) if (f := features_of(block)) is not None]
        model = fit_model(features, rng)
        prior = Prior(model, count_states(model, features), kine_prior.prior().weights, count_setup(setups))
        prior = prior._replace(weights=settle_weights(prior, segments))
        before, after = coded_bytes(kine_prior.prior(), segments), coded_bytes(prior, segments)
        size = [
            sum(len(pack_setup(s, dataclasses.replace(r, states=p.setup))) for s, r in setups)
            for p in (kine_prior.prior(), prior)
        ]
        print(f"setups {size[0]:,} -> {size[1]:,}")
        print(f"round {turn + 1}: {len(segments)} segments, {before:,} -> {after:,} bytes", flush=True)
        options.out.write_bytes(pack_prior(prior))
        kine_prior.use(prior)


if __name__ == "__main__":
    main()
