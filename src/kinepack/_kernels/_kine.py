"""Kernels of the `kine` codec: segment coder, synthesis and rate-distortion quantiser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels._binding import Buffer, check, data_pointer, encode_growing, ffi, lib, pointer
from kinepack.errors import UsageError
from kinepack.limits import Limits

LEVELS, RUNS, ROWS, BINS = 48, 72, 144, 27
FEATURES, PHASES, CLASSES, BANDS = 9, 8, 6, 16
CONTEXTS = LEVELS + RUNS + ROWS
STATES = BINS * CONTEXTS + BINS + ROWS + CONTEXTS
"""Mixed bins by context, mantissa bits by bucket, unmixed zero flags by row context, ends of tracks by context."""
WEIGHTS = BINS * 3 + 3
MODEL = PHASES * FEATURES + CLASSES * BANDS
COSTS = 64
"""Magnitudes that the quantiser's cost table tells apart."""


class Prior(NamedTuple):
    """What the coder knows before the first symbol; made by tools/train_kine_prior.py."""

    model: NDArray[np.int16]
    states: NDArray[np.uint32]
    weights: NDArray[np.int32]
    setup: NDArray[np.uint32]
    """First states of the setup's integers."""


@dataclass(frozen=True, eq=False)
class SegmentModel:
    """Integers that steer the coding of a clip's segments."""

    prior: Prior
    classes: NDArray[np.uint8]
    """[tracks] kind of each track, below CLASSES."""
    unit: int
    """Frames that block lengths are multiples of."""
    quality: int
    """16 log2 of 1 cm over the nominal error, 0 to 255."""
    ends: bool = True
    """Whether tracks may end before their block does, as they do since version 3."""

    @property
    def tracks(self) -> int:
        return len(self.classes)


class Prediction(NamedTuple):
    """Track c is its residual plus Σ weights[r] · track regressors[r], r in starts[c]..starts[c + 1]."""

    starts: NDArray[np.uint32]
    regressors: NDArray[np.uint32]
    weights: NDArray[np.float64]


class Coefficients(NamedTuple):
    """Levels [frames, tracks] of one segment, block after block; rows of a block rise in frequency."""

    levels: NDArray[np.int32]
    lengths: NDArray[np.uint32]

    def between(self, start: int, stop: int) -> tuple[Coefficients, int]:
        """Those of the blocks that frames start..stop-1 are in, and how many frames are before these blocks."""
        ends = np.cumsum(self.lengths)
        low, high = int(np.searchsorted(ends, start, "right")), int(np.searchsorted(ends, stop)) + 1
        skipped = int(ends[low - 1]) if low else 0
        return Coefficients(self.levels[skipped : int(ends[high - 1])], self.lengths[low:high]), skipped


def kine_encode(coefficients: Coefficients, model: SegmentModel) -> bytes:
    levels = np.ascontiguousarray(coefficients.levels, np.int32)
    lengths = np.ascontiguousarray(coefficients.lengths, np.uint32)
    frames, tracks = levels.shape
    if tracks != model.tracks or lengths.sum() != frames:
        raise UsageError("coefficients do not fit their model")
    logs, runs = np.empty(max(levels.size, 1), np.uint8), np.empty(3 * max(tracks, 1), np.int32)

    def call(out: object, capacity: int, size: object) -> int:
        states, weights = model.prior.states.copy(), model.prior.weights.copy()
        return int(
            lib.kp_kine_encode(
                pointer(levels), frames, tracks, pointer(lengths), len(lengths), pointer(model.classes),
                model.unit, model.quality, _shorts(model.prior.model), model.ends, pointer(states), pointer(weights),
                pointer(logs), pointer(runs), out, capacity, size,
            )
        )  # fmt: skip

    return encode_growing("kine segment", 256 + levels.size, call)


def kine_decode(data: Buffer, frames: int, model: SegmentModel) -> Coefficients:
    source, size = data_pointer(data)
    levels = np.empty((frames, model.tracks), np.int32)
    lengths = np.empty(max(frames, 1), np.uint32)
    logs, runs = np.empty(max(levels.size, 1), np.uint8), np.empty(3 * max(model.tracks, 1), np.int32)
    states, weights = model.prior.states.copy(), model.prior.weights.copy()
    blocks = ffi.new("size_t *")
    status = lib.kp_kine_decode(
        source, size, pointer(levels), frames, model.tracks, pointer(lengths), len(lengths), blocks,
        pointer(model.classes), model.unit, model.quality, _shorts(model.prior.model), model.ends, pointer(states),
        pointer(weights), pointer(logs), pointer(runs),
    )  # fmt: skip
    check(status, "kine segment")
    return Coefficients(levels, lengths[: blocks[0]])


def kine_synthesise(
    coefficients: Coefficients,
    steps: NDArray[np.float64],
    *,
    offsets: NDArray[np.float64],
    prediction: Prediction,
    places: NDArray[np.uint32],
    bent: bool,
    out: NDArray[np.float64],
    window: tuple[int, int] | None = None,
) -> None:
    """Writes track c to row places[c] of `out` [rows, frames], at least the frames of the window (start, stop).

    `bent` blocks begin with a line and a parabola.
    """
    frames, tracks = coefficients.levels.shape
    first, stop = window or (0, frames)
    longest = int(coefficients.lengths.max(initial=1))
    half = (longest + 1) // 2
    scratch = np.empty(2 * longest + 3 + 2 * half + longest * half, np.float64)
    status = lib.kp_kine_synthesise(
        pointer(coefficients.levels), frames, tracks, pointer(coefficients.lengths), len(coefficients.lengths),
        pointer(steps), pointer(offsets), pointer(prediction.starts), pointer(prediction.regressors),
        pointer(prediction.weights), pointer(places), bent, first, stop, pointer(scratch), len(scratch), pointer(out),
    )  # fmt: skip
    check(status, "kine synthesis")


class PoseTables(NamedTuple):
    """Where tracks go; kine_pose.c has the layout."""

    turns: NDArray[np.int32]
    """[turns, 13]"""
    rests: NDArray[np.float64]
    """[turns, 4]"""
    plain: NDArray[np.int32]
    """[plain, 2] track and channel."""
    scales: NDArray[np.float64]
    """[plain, 2] factor and value at rest."""
    per_angle: float
    """Euler channels' unit per radian."""


def kine_pose(
    tracks: NDArray[np.float64],
    tables: PoseTables,
    *,
    out: NDArray[np.float64],
    first: int = 0,
    continuous: bool = False,
) -> None:
    """Channels of frames first, first + 1 … of tracks [rows, frames] to `out` [frames, channels].

    With `continuous` Euler angles go on from the frame before, else they are principal ones.
    """
    frames, channels = out.shape
    if not 0 <= first <= first + frames <= tracks.shape[1]:
        raise UsageError("poses are asked for frames that have no tracks")
    status = lib.kp_kine_pose(
        pointer(tracks) + first, tracks.shape[1], frames, channels, pointer(tables.turns), pointer(tables.rests),
        len(tables.turns), pointer(tables.plain), pointer(tables.scales), len(tables.plain), tables.per_angle,
        continuous, pointer(out),
    )  # fmt: skip
    check(status, "kine pose")


def kine_branches(values: NDArray[np.float64], branches: NDArray[np.int32], per_angle: float) -> None:
    """Brings stretches of Euler channels of [frames, channels] near their anchors; kine_pose.c has the layout."""
    frames, channels = values.shape
    status = lib.kp_kine_branches(pointer(values), frames, channels, pointer(branches), len(branches), per_angle)
    check(status, "kine branches")


def kine_descend(
    wanted: NDArray[np.float64],
    basis: NDArray[np.float32],
    *,
    metric: NDArray[np.float32],
    group: int,
    lagrangian: float,
    sweeps: int,
    costs: NDArray[np.float32],
    model: SegmentModel,
) -> NDArray[np.int32]:
    """Levels [rows, tracks] of one block: `wanted` [tracks, rows] in steps, `metric` [tracks, tracks, groups]."""
    tracks, rows = wanted.shape
    coupled = np.ascontiguousarray((metric != 0).any(axis=-1), np.uint8)
    levels = np.empty((rows, tracks), np.int32)
    error, curvature = np.empty((2, tracks, rows), np.float32)
    gradient, means = np.empty(rows, np.float32), np.empty(rows, np.int32)
    squares = np.empty(max(2 * tracks * tracks, 1), np.float32)
    limits, runs = np.empty(max(tracks, 1), np.uint32), np.empty(max(tracks, 1), np.int32)
    logs = np.empty(max(levels.size, 1), np.uint8)
    status = lib.kp_kine_descend(
        pointer(np.ascontiguousarray(wanted)), rows, tracks, _floats(basis), _floats(metric), pointer(coupled),
        group, lagrangian, sweeps, _floats(costs), pointer(model.classes), model.unit,
        model.quality, _shorts(model.prior.model), _floats(error), _floats(curvature), _floats(gradient),
        _floats(squares), pointer(limits), pointer(means), pointer(runs), pointer(logs), pointer(levels),
    )  # fmt: skip
    check(status, "kine quantiser")
    return levels


def _floats(array: NDArray[np.float32]) -> object:
    return ffi.from_buffer("float[]", np.ascontiguousarray(array, np.float32))


def _shorts(array: NDArray[np.int16]) -> object:
    return ffi.from_buffer("int16_t[]", array)


class Decimals(NamedTuple):
    """Exact numbers n · 10^k on the finest grid of each channel."""

    mantissas: NDArray[np.int64]
    """[frames, channels]"""
    powers: NDArray[np.uint8]
    """[frames, channels] k, below 16."""


class DecimalModel(NamedTuple):
    """How exact numbers of versions 1 and 2 are predicted from their channel's past."""

    taps: NDArray[np.int32]
    """[channels, TAPS] weights of past differences, 4096 is one."""
    varies: NDArray[np.uint8]
    """[channels] whether powers of ten are coded."""
    starts: NDArray[np.uint32]
    """[channels + 1] where each channel's links begin."""
    links: NDArray[np.int32]
    """[links, 3] earlier channel, weight, shift."""


TAPS = 8


def kine_exact_decode(data: Buffer, frames: int, model: DecimalModel) -> Decimals:
    source, size = data_pointer(data)
    channels = len(model.taps)
    decimals = Decimals(np.empty((frames, channels), np.int64), np.empty((frames, channels), np.uint8))
    states, history = _exact_scratch(channels)
    status = lib.kp_kine_exact_decode(
        source, size, _longs(decimals.mantissas), pointer(decimals.powers), frames, channels, pointer(model.taps),
        pointer(model.varies), pointer(model.starts), _links(model), pointer(states), pointer(history),
    )  # fmt: skip
    check(status, "kine exact segment")
    return decimals


def _exact_scratch(channels: int) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]:
    history = np.empty(max(channels, 1) * lib.kp_kine_exact_history() // 8 + 1, np.uint64)
    return np.empty(lib.kp_kine_exact_states(), np.uint32), history


def _links(model: DecimalModel) -> object:
    return ffi.cast("kp_exact_link *", pointer(model.links))


def _longs(array: NDArray[np.int64]) -> object:
    return ffi.from_buffer("int64_t[]", array)


class NumberModel(NamedTuple):
    """What the lossless coder knows of each channel."""

    digits: NDArray[np.uint8]
    """[channels] significant digits that numbers are printed with, 0 for all; DYADIC more for rounding noise."""
    scales: NDArray[np.int8]
    """[channels] log2 of a typical move."""
    decimals: NDArray[np.uint8]
    """[channels]"""
    roles: NDArray[np.uint8]
    """[channels] which channel of a known rig it is, or NO_ROLE."""
    prior: bytes
    """What is known before the first number; none for streams before version 5."""


DYADIC, NO_ROLE = 16, 255


def kine_numbers_encode(numbers: NDArray[np.int64], model: NumberModel) -> bytes:
    """Whole numbers [frames, channels] that fit their model."""
    numbers = np.ascontiguousarray(numbers, np.int64).copy()
    frames, channels = numbers.shape
    room = np.empty(_numbers_room(model), np.int64)

    def call(out: object, capacity: int, size: object) -> int:
        return int(
            lib.kp_kine_numbers_encode(
                _longs(numbers), frames, channels, *_number_arguments(model), _longs(room), out, capacity, size
            )
        )

    return encode_growing("kine exact segment", 256 + 4 * numbers.size, call)


def kine_numbers_decode(data: Buffer, frames: int, model: NumberModel, limits: Limits) -> NDArray[np.int64]:
    source, size = data_pointer(data)
    channels = len(model.digits)
    words = _numbers_room(model)
    limits.charge("bytes", 8 * words)
    numbers, room = np.empty((frames, channels), np.int64), np.empty(words, np.int64)
    status = lib.kp_kine_numbers_decode(
        source, size, _longs(numbers), frames, channels, *_number_arguments(model), _longs(room)
    )
    check(status, "kine exact segment")
    return numbers


def _number_arguments(model: NumberModel) -> tuple[object, ...]:
    prior = ffi.from_buffer("uint8_t[]", model.prior) if model.prior else ffi.NULL
    return pointer(model.digits), _bytes(model.scales), pointer(model.decimals), pointer(model.roles), prior


def _numbers_room(model: NumberModel) -> int:
    return max(1, int(lib.kp_kine_numbers_room(pointer(model.digits), len(model.digits))))


def _bytes(array: NDArray[np.int8]) -> object:
    return ffi.from_buffer("int8_t[]", array)
