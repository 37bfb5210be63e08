"""Numbers as q-bit integers between minus and plus the largest magnitude (section 3.5, Sattler 2005)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinepack.entropy.bit_io import pack_bits, unpack_bits
from kinepack.errors import Corrupt, Truncated
from kinepack.limits import Limits


def peak_of(values: NDArray[Any]) -> float:
    """The largest magnitude, rounded up to a float32."""
    peak = np.float32(np.abs(values).max(initial=0.0))
    return float(np.nextafter(peak, np.float32(np.inf))) if peak else 0.0


def packed_bytes(count: int, bits: int) -> int:
    return -(-count * bits // 8)


def pack_fixed(values: NDArray[Any], peak: float, bits: int) -> bytes:
    """Any shape, in its order, `bits` bits each."""
    top = (1 << bits) - 1
    scaled = np.asarray(values, np.float64).ravel() / (2 * peak) + 0.5 if peak else np.full(values.size, 0.5)
    return pack_bits(np.clip(np.rint(scaled * top), 0, top).astype(np.uint32), bits)


def unpack_fixed(data: bytes, shape: tuple[int, ...], *, peak: float, bits: int, limits: Limits) -> NDArray[np.float64]:
    """Inverse of `pack_fixed`; the size is charged to the limits before anything is allocated."""
    count = limits.charge("values", math.prod(shape))
    if len(data) != packed_bytes(count, bits):
        raise Truncated(f"{len(data)} bytes hold {bits}-bit numbers where {packed_bytes(count, bits)} are needed")
    levels = unpack_bits(data, count, bits).astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):  # a corrupt peak may overflow; model_from tells
        return ((levels / ((1 << bits) - 1) - 0.5) * (2 * peak)).reshape(shape)


class Parts:
    """Bytes handed out from the front, never past the end."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, size: int) -> bytes:
        if size > len(self.data) - self.at:
            raise Truncated(f"{size} more bytes are needed where {len(self.data) - self.at} are left")
        self.at += size
        return self.data[self.at - size : self.at]

    def block(self) -> bytes:
        """Four bytes of length, then that many."""
        return self.take(int.from_bytes(self.take(4), "little"))

    def finish(self) -> None:
        if self.at != len(self.data):
            raise Corrupt("the stream is longer than its content")


def block(data: bytes) -> bytes:
    """What `Parts.block` reads."""
    return len(data).to_bytes(4, "little") + data
