"""Bare FBA streams in predictive body mode: start code, I and P frames bit by bit, end code.

Parameters are numbered in group order. `encode` and `decode` run in the kernels; `encode_plain` says the same stream
in Python, syntax element by syntax element, and is what the kernels are checked against. DCT-coded streams, face
parameters and bap_quant 0 (no quantiser, hence no ranges) are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels._bap import FbaFrames, fba_decode, fba_encode
from kinepack.entropy.fba_arithmetic import Counts, Encoder
from kinepack.errors import UsageError

START, END = 0x000001BA, 0x000001B1
SCALES = (0, 1, 2, 3, 5, 7, 9, 11, 14, 17, 20, 23, 27, 31, 35, 39,
          43, 47, 52, 57, 62, 67, 72, 77, 82, 88, 94, 100, 106, 113, 120, 127)  # fmt: skip
"""What bap_quant multiplies the quantiser steps by."""
RANGE_UNIT, LARGEST_K = 60, 31


@dataclass(frozen=True)
class FbaLayout:
    """Which of the parameters, in group order, are on, and how wide their levels may be."""

    group_sizes: NDArray[np.uint8]
    on: NDArray[np.bool_]
    """[parameters]"""
    ranges: NDArray[np.int32]
    """[4, parameters] 5-bit k of I maximum, I minimum, P maximum, P minimum."""
    quant: int
    sixteenths: int = 0
    """Frames a second times 16, 0 to leave it out."""


def largest_level(quant: int, k: int = LARGEST_K) -> int:
    """The range that k stands for."""
    return k * RANGE_UNIT // SCALES[quant]


def smallest_k(levels: NDArray[np.integer], quant: int) -> NDArray[np.int32]:
    """The least k whose range holds each level [n] >= 0."""
    ranges = np.array([largest_level(quant, k) for k in range(LARGEST_K + 1)])
    chosen = np.searchsorted(ranges, levels)
    if np.any(chosen > LARGEST_K):
        raise UsageError("a level is outside the widest FBA range")
    return chosen.astype(np.int32)


def encode(levels: NDArray[np.int32], intra: NDArray[np.bool_], layout: FbaLayout) -> bytes:
    """Levels [frames, parameters that are on] as a bare stream."""
    return fba_encode(
        levels,
        intra.astype(np.uint8),
        on=layout.on.astype(np.uint8),
        ranges=layout.ranges,
        group_sizes=layout.group_sizes,
        quant=layout.quant,
        sixteenths=layout.sixteenths,
    )


def decode(
    data: bytes,
    *,
    group_sizes: NDArray[np.uint8],
    steps: NDArray[np.int32],
    columns: NDArray[np.int32],
    frames: int,
) -> FbaFrames:
    """Reconstructed parameters of at most `frames` frames."""
    return fba_decode(data, group_sizes=group_sizes, steps=steps, columns=columns, frames=frames)


# The same encoder, said plainly.


def encode_plain(levels: NDArray[np.int32], intra: NDArray[np.bool_], layout: FbaLayout) -> bytes:
    """As `encode`."""
    bits: list[int] = []
    _put(bits, START, 32)
    models: list[Counts] = []
    for row, is_intra in zip(levels, intra, strict=True):
        _put_frame_header(bits, bool(is_intra), layout)
        if is_intra:
            models = [Counts.of_size(size) for size in _sizes(layout, kind=1)]
            _put_values(bits, row, [Counts.of_size(size) for size in _sizes(layout, kind=0)], _lows(layout, kind=0))
        else:
            _put_values(bits, row, models, _lows(layout, kind=1), learn=True)
    bits += [0] * (-len(bits) % 8)
    _put(bits, END, 32)
    return np.packbits(np.array(bits, np.uint8)).tobytes()


def _put(bits: list[int], value: int, width: int) -> None:
    bits += [value >> shift & 1 for shift in reversed(range(width))]


def _put_frame_header(bits: list[int], intra: bool, layout: FbaLayout) -> None:
    _put(bits, int(intra), 1)
    _put(bits, 2, 2)  # paramset_mask: body only
    if intra:
        _put(bits, int(layout.sixteenths > 0), 1)
        if layout.sixteenths:
            _put(bits, layout.sixteenths >> 4, 8)
            _put(bits, (layout.sixteenths & 15) << 1, 5)  # seconds, frequency_offset
        _put(bits, 0, 1)  # is_time_code
    _put(bits, 0, 1)  # skip_frames
    if intra:
        _put_intra_header(bits, layout)


def _put_intra_header(bits: list[int], layout: FbaLayout) -> None:
    _put(bits, layout.quant, 5)
    for group in _groups(layout):
        on = [int(layout.on[i]) for i in group]
        mask_type = 0 if not any(on) else 3 if all(on) else 1
        _put(bits, 4 | mask_type, 3)  # marker, mask type
        bits += on if mask_type == 1 else []
    _put(bits, 0, 2)  # suggested_gender, coding_type: predictive
    _put(bits, 15, 4)  # all four ranges are told
    for ranges in layout.ranges:
        for group in _groups(layout):
            for position, i in enumerate(group):
                if position % 4 == 0:
                    _put(bits, 1, 1)
                if layout.on[i]:
                    _put(bits, int(ranges[i]), 5)


def _groups(layout: FbaLayout) -> list[range]:
    ends = np.cumsum(layout.group_sizes, dtype=np.int64).tolist()
    return [range(end - size, end) for end, size in zip(ends, layout.group_sizes.tolist(), strict=True)]


def _lows(layout: FbaLayout, kind: int) -> list[int]:
    return [-largest_level(layout.quant, int(k)) for k in layout.ranges[2 * kind + 1, layout.on]]


def _sizes(layout: FbaLayout, kind: int) -> list[int]:
    highs = (largest_level(layout.quant, int(k)) for k in layout.ranges[2 * kind, layout.on])
    return [high - low + 1 for high, low in zip(highs, _lows(layout, kind), strict=True)]


def _put_values(
    bits: list[int], row: Sequence[int] | NDArray[np.int32], models: list[Counts], lows: list[int], learn: bool = False
) -> None:
    coder = Encoder(bits)
    for level, model, low in zip(row, models, lows, strict=True):
        coder.encode(model, int(level) - low)
        if learn:
            model.learn(int(level) - low)
    coder.flush()
