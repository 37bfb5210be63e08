"""Quantised wavelet coefficients as 16-bit codes with zero runs and ends of signals, through DEFLATE if asked.

A block holds a step code per signal, then the codes of every signal, coarse coefficients first (section 4,
Beaudoin et al. 2007; the table of codes is in docs/codecs/wavelet.md). Deflated blocks are stored as byte planes,
all low bytes before all high bytes, because the high bytes are nearly always the same.
"""

from __future__ import annotations

import zlib
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels import _wavelet
from kinepack.errors import Corrupt, Truncated
from kinepack.limits import Limits
from kinepack.math.step_codes import STEP_CODES, steps_of


class Part(NamedTuple):
    """What to decode of a block."""

    rows: int
    """Coefficients of each signal."""
    levels: int
    ranges: NDArray[np.uint64]
    """[levels + 1, 2] rows of each band, from `kinepack.transforms.wavelet_window`."""
    columns: NDArray[np.int32]
    """[signals] where each goes in the result, -1 for signals that are not wanted."""
    width: int


def encode_block(levels: NDArray[np.int32], codes: NDArray[np.uint16], *, deflate: bool) -> bytes:
    """The block of quantised coefficients [rows, signals] and their step codes [signals]."""
    body = np.concatenate([codes.astype("<u2"), _wavelet.encode_codes(levels).astype("<u2")])
    if not deflate:
        return body.tobytes()
    engine = zlib.compressobj(9, zlib.DEFLATED, -15, 9)
    return engine.compress(body.view(np.uint8).reshape(-1, 2).T.tobytes()) + engine.flush()


def decode_block(
    data: bytes, part: Part, *, scale: NDArray[np.float64], deflate: bool, limits: Limits
) -> NDArray[np.float64]:
    """Coefficients [rows of all ranges, width] in the signals' units: level x step / scale x 2^(-level / 2)."""
    signals = len(part.columns)
    body = _inflate(data, signals, part.rows, limits) if deflate else data
    if len(body) % 2 or len(body) < 4 * signals:
        raise Truncated("a block of coefficients ends too early")
    codes = np.frombuffer(body, "<u2", signals)
    if codes.max(initial=0) >= STEP_CODES:
        raise Corrupt("a block of coefficients has a step of no known size")
    limits.charge("values", int((part.ranges[:, 1] - part.ranges[:, 0]).sum()) * max(part.width, 1))
    out, used = _wavelet.decode_codes(
        memoryview(body)[2 * signals :],
        part.rows,
        part.levels,
        part.ranges,
        steps=steps_of(codes) / scale,
        columns=part.columns,
        width=part.width,
    )
    if 2 * (used + signals) != len(body):
        raise Corrupt("a block of coefficients does not end with its last signal")
    return out


def _inflate(data: bytes, signals: int, rows: int, limits: Limits) -> bytes:
    """The codes of a deflated block; no more is unpacked than an encoder could have written."""
    most = min(2 * signals * (4 * rows + 2), limits.bytes)
    engine = zlib.decompressobj(-15)
    try:
        planes = engine.decompress(data, most)
    except zlib.error:
        raise Corrupt("a block's DEFLATE data is damaged") from None
    if not engine.eof or engine.unused_data:
        raise Truncated("a block's DEFLATE data does not end where it should")
    if len(planes) % 2:
        raise Truncated("a block of coefficients ends too early")
    return np.frombuffer(planes, np.uint8).reshape(2, -1).T.tobytes()
