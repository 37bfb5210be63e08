"""What lossless streams of all versions share: which channels are coded, constant, copied or kept as they are."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinepack.errors import Corrupt
from kinepack.limits import Limits

Array = NDArray[np.float64]

MARK = 0
"""First byte of the setup; a lossy setup never starts with it."""
CONSTANT, DECIMAL, VARYING, RAW, COPY = range(5)
"""VARYING is of versions 1 and 2 only."""
ODD = 8
"""Added to a mode: some numbers follow apart."""


def coded_channels(modes: NDArray[np.uint8]) -> NDArray[np.bool_]:
    return np.isin(modes % ODD, (DECIMAL, VARYING))


def with_extras(coded: bytes, raw: Array, odd: NDArray[np.bool_], numbers: Array) -> bytes:
    """A segment. Channels that are no decimals follow as float64, then which numbers are odd, then those, deflated."""
    if not raw.shape[1] and not odd.shape[1]:
        return coded
    plain = raw.T.astype("<f8").tobytes() + np.packbits(odd.T).tobytes() + numbers.T[odd.T].astype("<f8").tobytes()
    return len(coded).to_bytes(4, "little") + coded + zlib.compress(plain, 9)


class ExactSynthesis(ABC):
    """A lossless stream's setup, turned into arrays once; subclasses read theirs and fill the fields."""

    modes: NDArray[np.uint8]
    coded: NDArray[np.bool_]
    copies: NDArray[np.intp]
    constants: Array

    def __init__(self, plain: bytes) -> None:
        self._plain = plain

    @abstractmethod
    def numbers(self, data: bytes, frames: int, limits: Limits) -> Array:
        """[frames, coded channels] of one segment's coded part."""

    def take(self, dtype: Any, count: int) -> NDArray[Any]:
        """The next numbers of the setup."""
        size = count * np.dtype(dtype).itemsize
        if size > len(self._plain):
            raise Corrupt("the codec's setup is cut short")
        part, self._plain = self._plain[:size], self._plain[size:]
        return np.frombuffer(part, dtype)

    def take_repeats(self) -> None:
        """The setup's end: channels that copies repeat, and constants."""
        self.copies = self.take("<u4", int((self.modes == COPY).sum())).astype(np.intp)
        self.constants = self.take("<f8", int((self.modes == CONSTANT).sum()))

    def check_ranges(self, sound: bool) -> None:
        if not sound:
            raise Corrupt("the codec's setup holds a number out of its range")

    def check(self, sound: bool) -> None:
        places = np.flatnonzero(self.modes == COPY)
        self.check_ranges(sound and not self._plain and bool((self.copies < places).all()))
        self.check_ranges(not (self.modes[self.copies] == COPY).any())

    def decode(self, data: bytes, frames: int, limits: Limits) -> Array:
        """[frames, channels] of one segment."""
        values = np.empty((frames, len(self.modes)))
        is_raw, is_odd = self.modes == RAW, self.modes >= ODD
        data, raw, odd, numbers = self._extras(data, frames, limits)
        values[:, self.coded] = self.numbers(data, frames, limits)
        values[:, is_raw] = raw.T
        part = values[:, is_odd].T
        part[odd] = numbers
        values[:, is_odd] = part.T
        values[:, self.modes == CONSTANT] = self.constants
        values[:, self.modes == COPY] = values[:, self.copies]
        return values

    def _extras(self, data: bytes, frames: int, limits: Limits) -> tuple[bytes, Array, NDArray[np.bool_], Array]:
        """The coded part of a segment, its raw channels, and which numbers of the odd channels are what."""
        raw_count, odd_count = int((self.modes == RAW).sum()), int((self.modes >= ODD).sum())
        if not raw_count and not odd_count:
            return data, np.empty((0, frames)), np.zeros((0, frames), bool), np.empty(0)
        size, raw_size, map_size = (
            int.from_bytes(data[:4], "little"),
            8 * frames * raw_count,
            -(-frames * odd_count // 8),
        )
        plain = inflate(data[4 + size :], limits.charge("bytes", raw_size + map_size + 8 * frames * odd_count))
        if len(plain) < raw_size + map_size or size > len(data):
            raise Corrupt("a segment's plain numbers are cut short")
        bits = np.unpackbits(np.frombuffer(plain, np.uint8, map_size, raw_size), count=frames * odd_count)
        odd = bits.reshape(odd_count, frames).astype(bool)
        if len(plain) != raw_size + map_size + 8 * int(odd.sum()):
            raise Corrupt("a segment's odd numbers are cut short")
        raw = np.frombuffer(plain, "<f8", frames * raw_count).reshape(raw_count, frames)
        return data[4 : 4 + size], raw, odd, np.frombuffer(plain, "<f8", -1, raw_size + map_size)


def inflate(packed: bytes, limit: int) -> bytes:
    """zlib with an upper bound on what comes out."""
    engine = zlib.decompressobj()
    try:
        plain = engine.decompress(packed, limit + 1)
    except zlib.error:
        raise Corrupt("the stream's deflated numbers are damaged") from None
    if len(plain) > limit or not engine.eof or engine.unused_data:
        raise Corrupt("the stream's deflated numbers are not of their size")
    return plain
