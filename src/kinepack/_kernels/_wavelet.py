"""Wavelet coefficients of clips: 16-bit codes, windows, the annealing search and derivatives of poses."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels._binding import Buffer, as_array, check, check_shape, ffi, lib, pointer
from kinepack.errors import UsageError

Array = NDArray[np.float64]
Indices = NDArray[np.int32]
NODE = 46
"""Numbers a joint and frame take in the search's scratch memory."""


def encode_codes(levels: Any) -> NDArray[np.uint16]:
    """Codes of quantised coefficients, int32 [rows, channels], channel by channel."""
    source = as_array(levels, np.int32, "levels", (None, None))
    size = ffi.new("size_t *")
    out = np.empty(4 * int(np.count_nonzero(source)) + source.shape[1] + 16, np.uint16)
    while True:
        status = lib.kp_wavelet_encode_codes(pointer(source), *source.shape, pointer(out), len(out), size)
        if status != lib.KP_CAPACITY:
            check(status, "encode_codes")
            return out[: size[0]].copy()
        out = np.empty(size[0], np.uint16)


def window_ranges(rows: int, levels: int, window: tuple[int, int]) -> NDArray[np.uint64]:
    """[levels + 1, 2] the rows of each band, coarse first, that frames window[0] .. window[1] - 1 need."""
    ranges = np.empty((levels + 1, 2), np.uint64)
    check(lib.kp_wavelet_ranges(rows, levels, *window, pointer(ranges)), "window_ranges")
    return ranges


def decode_codes(
    codes: Buffer, rows: int, levels: int, ranges: NDArray[np.uint64], *, steps: Any, columns: Any, width: int
) -> tuple[Array, int]:
    """Coefficients [rows of all ranges, width] of the channels with a column, and how many codes were used."""
    source = ffi.from_buffer("uint16_t[]", codes)
    step = as_array(steps, np.float64, "steps", (None,))
    column = as_array(columns, np.int32, "columns", (len(step),))
    out = np.zeros((int((ranges[:, 1] - ranges[:, 0]).sum()), width))
    used = ffi.new("size_t *")
    status = lib.kp_wavelet_decode_codes(
        source, len(source), rows, levels, pointer(ranges), len(step), pointer(step), pointer(column), width,
        pointer(out), used,
    )  # fmt: skip
    check(status, "decode_codes")
    return out, int(used[0])


def inverse_window(
    coefficients: Array, rows: int, levels: int, ranges: NDArray[np.uint64], window: tuple[int, int]
) -> Array:
    """Frames of the cubic inverse transform [window, width] from the coefficients of `decode_codes`."""
    sizes = ranges[:, 1] - ranges[:, 0]
    check_shape(coefficients, "coefficients", (int(sizes.sum()), None))
    width = coefficients.shape[1]
    scratch = np.empty(4 * int(sizes.max()) * width)
    out = np.empty((window[1] - window[0], width))
    status = lib.kp_wavelet_inverse_window(
        pointer(coefficients), rows, levels, pointer(ranges), *window, width, pointer(scratch), pointer(out)
    )
    check(status, "inverse_window")
    return out


def adjoint(values: Any, levels: int) -> Array:
    """Transpose of the cubic inverse transform applied to values [rows, width]."""
    data = as_array(values, np.float64, "values", (None, None)).copy()
    check(lib.kp_wavelet_adjoint(pointer(data), *data.shape, levels, pointer(np.empty_like(data))), "adjoint")
    return data


@dataclass(frozen=True, eq=False)
class Rig:
    """The tables of kp_rig; a channel index of -1 means that there is none."""

    parents: Indices
    axis_channel: Indices
    axis_id: Indices
    translation_channel: Indices
    scale_channel: Indices
    quaternion_channel: Indices
    """[joints, 4]"""
    rotvec_channel: Indices
    frame: Array
    rest: Array
    offsets: Array
    rest_scale: Array
    tips: Array
    weights: Array
    channels: int
    angle_scale: float
    adds_translation: bool

    def native(self, frames: int) -> Any:
        """A kp_rig, and what must outlive it."""
        rig = ffi.new("kp_rig *")
        kept = []
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, np.ndarray):
                value = pointer(np.ascontiguousarray(value))
                kept.append(value)
            setattr(rig, item.name, value)
        rig.frames, rig.joints = frames, len(self.parents)
        return rig, kept


class Annealed(NamedTuple):
    """What the search found."""

    kept: NDArray[np.uint32]
    """[channels] coefficients of each signal."""
    iterations: int
    error: float
    """Sum of weighted squared distances."""


def anneal(
    rig: Rig,
    coefficients: Array,
    order: Indices,
    *,
    joints: Indices,
    levels: int,
    targets: Array,
    kept: Any,
    patience: int,
    seed: int,
    most: int,
) -> Annealed:
    """Algorithm 1 of Beaudoin et al. 2007; coefficients and order are [channels, frames]."""
    frames, count = coefficients.shape[1], len(rig.parents)
    check_shape(targets, "targets", (frames, count, 3))
    check_shape(order, "order", coefficients.shape)
    counts = as_array(kept, np.uint32, "kept", (rig.channels,)).copy()
    native, alive = rig.native(frames)
    signals = ffi.new("kp_signals *")
    arrays = [pointer(coefficients), pointer(order), pointer(as_array(joints, np.int32, "joints", (rig.channels,)))]
    signals.coefficients, signals.order, signals.joints = arrays
    signals.levels = levels
    scratch = np.empty(frames * (rig.channels + NODE * count + 2) + 2 * count)
    iterations, error = ffi.new("uint32_t *"), ffi.new("double *")
    status = lib.kp_wavelet_anneal(
        native, signals, pointer(targets), pointer(counts), patience, seed, most, pointer(scratch), iterations, error
    )
    check(status, "anneal")
    del alive
    return Annealed(counts, int(iterations[0]), float(error[0]))


@dataclass(frozen=True, eq=False)
class Motion:
    """The arrays of kp_motion: a pose per frame and what each channel does to the points below its joint."""

    parents: Indices
    kinds: Indices
    """[channels] 0 none, 1 turns, 2 shifts."""
    channel_joints: Indices
    weights: Array
    """[frames, joints] what a squared distance of each measured point counts."""
    axes: Array
    """[frames, channels, 3] per unit of the channel."""
    origins: Array
    """[frames, joints, 3]"""
    points: Array
    _native: list[Any] = field(default_factory=list, repr=False)

    def _pointer(self) -> Any:
        if not self._native:
            motion = ffi.new("kp_motion *")
            frames, channels, _ = self.axes.shape
            motion.frames, motion.joints, motion.channels = frames, len(self.parents), channels
            self._native.append(motion)
            for name in ("parents", "kinds", "channel_joints", "weights", "axes", "origins", "points"):
                self._native.append(pointer(getattr(self, name)))
                setattr(motion, name, self._native[-1])
        return self._native[0]

    def pull(self, residual: Array) -> Array:
        """Jᵀ W residual[frames, joints, 3] -> [frames, channels]."""
        check_shape(residual, "residual", self.points.shape)
        return self._call(lib.kp_pose_pull, np.ascontiguousarray(residual))

    def curvature(self, change: Array) -> Array:
        """Jᵀ W J change[frames, channels]."""
        check_shape(change, "change", self.axes.shape[:2])
        return self._call(lib.kp_pose_curvature, np.ascontiguousarray(change))

    def diagonal(self) -> Array:
        """[frames, channels] the diagonal of Jᵀ W J."""
        return self._call(lib.kp_pose_diagonal)

    def _call(self, function: Any, *arrays: Array) -> Array:
        out = np.empty(self.axes.shape[:2])
        scratch = np.empty(10 * len(self.parents))
        check(function(self._pointer(), *map(pointer, arrays), pointer(scratch), pointer(out)), "pose derivatives")
        return out


def pose_axes(rig: Rig, values: Array, rotations: Array) -> Array:
    """[frames, channels, 3] axes of Euler channels and directions of translation channels; zero for others."""
    frames = len(values)
    if values.shape != (frames, rig.channels) or rotations.shape != (frames, len(rig.parents), 3, 3):
        raise UsageError("values and rotations do not fit the rig")
    axes = np.zeros((frames, rig.channels, 3))
    native, alive = rig.native(frames)
    source, turns = np.ascontiguousarray(values), np.ascontiguousarray(rotations)
    check(lib.kp_pose_axes(native, pointer(source), pointer(turns), pointer(axes)), "pose_axes")
    del alive
    return axes
