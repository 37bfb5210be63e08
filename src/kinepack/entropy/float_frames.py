"""Float differences from frame to frame through one adaptive byte model: what the BAP papers call MPEG-4.

A segment is: bytes of repairs (u32), first pose (width x f32), the repairs, then the range-coded bytes of all
differences, row by row, little-endian, order 0. A pose is the pose before plus the difference, in single precision.
Where that rounds away from the source, a repair says how many floats it is off: the number of values since the last
repair (varint) and the distance (zigzag varint).
"""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels._bap import float_frames_decode
from kinepack.entropy.bit_io import encode_varints, zigzag
from kinepack.entropy.range_coder import encode_symbols
from kinepack.errors import Truncated

SYMBOLS_PER_BYTE = 1500
"""More than the surest symbols a byte can hold: at least 255 of 65536 counts go to the others."""


def encode_poses(poses: NDArray[np.float32]) -> bytes:
    """Poses [frames, width], exactly (but for the sign of zeros)."""
    poses = poses + np.float32(0)
    with np.errstate(over="ignore", invalid="ignore"):
        differences = np.diff(poses, axis=0)
        differences[~np.isfinite(differences)] = 0  # too large a step: the repair makes all of it
        again = poses[:-1] + differences
    off = (_order(poses[1:]) - _order(again)).ravel()
    places = np.flatnonzero(off)
    pairs = np.stack([np.diff(places, prepend=-1) - 1, zigzag(off[places])], axis=1)
    return _pack(poses[0], differences, encode_varints(pairs.ravel().astype(np.uint64)))


def encode_differences(first: NDArray[np.float32], differences: NDArray[np.float32]) -> bytes:
    """The first pose [width] and what is added to it [frames - 1, width]."""
    return _pack(first, differences, b"")


def decode_poses(data: bytes, frames: int, width: int) -> NDArray[np.float32]:
    """[frames, width]; the caller has charged the size to its limits."""
    if len(data) < 4 * (1 + width):
        raise Truncated("a segment ends inside its first pose")
    if 4 * (frames - 1) * width > SYMBOLS_PER_BYTE * (len(data) + 8):
        raise Truncated("a segment is too short for its frames")
    return float_frames_decode(data, frames, width)


def _order(values: NDArray[np.float32]) -> NDArray[np.int64]:
    """Floats in order as integers, so that neighbours differ by one; both zeros are 0."""
    bits = values.view(np.int32).astype(np.int64)
    return np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)


def _pack(first: NDArray[np.float32], differences: NDArray[np.float32], repairs: bytes) -> bytes:
    symbols = np.ascontiguousarray(differences, "<f4").view(np.uint8).ravel().astype(np.uint16)
    head = struct.pack("<I", len(repairs))
    return head + first.astype("<f4").tobytes() + repairs + encode_symbols(symbols)
