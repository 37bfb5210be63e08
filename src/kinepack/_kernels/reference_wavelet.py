"""The wavelet kernels in plain Python: codes one by one, whole transforms, Algorithm 1 by full evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels.reference_lifting import lifting_inverse
from kinepack.errors import Corrupt, Truncated

Floats = NDArray[np.float64]
RUN, LONG_RUN, ESCAPE = 0xFE00, 0xFF00, 0xFFFF


def encode_codes(levels: NDArray[np.int32]) -> list[int]:
    """Codes of levels [rows, channels], channel by channel."""
    codes: list[int] = []
    for column in levels.T.tolist():
        zeros = 0
        for level in column:
            if level == 0:
                zeros += 1
                continue
            codes += [*_run(zeros), *_coefficient(2 * level if level > 0 else -2 * level - 1)]
            zeros = 0
        codes.append(0)
    return codes


def _run(zeros: int) -> Iterator[int]:
    units, rest = divmod(zeros, 256)
    while units:
        yield LONG_RUN + min(units, 254)
        units -= min(units, 254)
    if rest:
        yield RUN + rest


def _coefficient(folded: int) -> list[int]:
    return [folded] if folded < RUN else [ESCAPE, folded & 0xFFFF, folded >> 16]


def decode_codes(codes: Sequence[int], rows: int, channels: int) -> NDArray[np.int64]:
    """The mirror of `encode_codes`: [rows, channels]."""
    levels = np.zeros((rows, channels), np.int64)
    source = iter(codes)
    try:
        for channel in range(channels):
            _decode_channel(source, levels[:, channel])
    except StopIteration:
        raise Truncated("the codes end too early") from None
    return levels


def _decode_channel(source: Iterator[int], out: NDArray[np.int64]) -> None:
    at = 0
    while code := next(source):
        if RUN <= code < ESCAPE:
            zeros = code - RUN if code < LONG_RUN else 256 * (code - LONG_RUN)
            at += zeros
            if not zeros or at >= len(out):
                raise Corrupt("a run leads out of the signal")
            continue
        if code == ESCAPE:
            code = next(source) | next(source) << 16
        if code == 0 or at >= len(out):
            raise Corrupt("a coefficient lies outside the signal")
        out[at] = code >> 1 if code % 2 == 0 else -(code + 1 >> 1)
        at += 1


def inverse_window(coefficients: Floats, levels: int, window: tuple[int, int]) -> Floats:
    """Frames of the whole cubic inverse transform of coefficients [rows, channels]."""
    return np.asarray(lifting_inverse(coefficients, "cubic", levels=levels))[slice(*window)]


def adjoint(values: Floats, levels: int) -> Floats:
    """The transposed matrix of the inverse transform, times values [rows, channels]."""
    synthesis = np.asarray(lifting_inverse(np.eye(len(values)), "cubic", levels=levels))
    return np.asarray(synthesis.T @ values)


def best_taker(error: Callable[[list[int]], float], kept: Sequence[int], giver: int, step: int, most: int) -> int:
    """Line 8 of Algorithm 1 by trying every vector: who gains most from `step` coefficients of `giver`."""
    best, least = giver, error(list(kept))
    for taker in range(len(kept)):
        changed = list(kept)
        changed[giver] -= step
        changed[taker] += step
        if taker != giver and changed[taker] <= most and (found := error(changed)) < least:
            best, least = taker, found
    return best
