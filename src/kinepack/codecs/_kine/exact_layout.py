"""What lossless streams of all versions share: which channels are coded, constant, copied or kept as they are."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels import encode_varints
from kinepack.errors import Corrupt
from kinepack.limits import Limits
from kinepack.transforms import decimals as decimal
from kinepack.transforms.decimals import MOST_DECIMALS

Array = NDArray[np.float64]

MARK = 0
"""First byte of the setup; a lossy setup never starts with it."""
CONSTANT, DECIMAL, VARYING, RAW, COPY = range(5)
"""VARYING is of versions 1 and 2 only."""
ODD = 8
"""Added to a mode: some numbers follow apart."""
RAW_DEFLATE = -15
NO_DECIMAL, MOST_MANTISSA = 255, 1 << 23
"""Of odd numbers: marks one that is no decimal; bound of digits without their point."""


def coded_channels(modes: NDArray[np.uint8]) -> NDArray[np.bool_]:
    return np.isin(modes % ODD, (DECIMAL, VARYING))


def with_extras(coded: bytes, raw: Array, odd: NDArray[np.bool_], numbers: Array) -> bytes:
    """A segment. Channels that are no decimals follow as float64, then which numbers are odd, then those, deflated."""
    if not raw.shape[1] and not odd.shape[1]:
        return coded
    plain = raw.T.astype("<f8").tobytes() + np.packbits(odd.T).tobytes() + pack_odd(numbers.T[odd.T])
    engine = zlib.compressobj(9, wbits=RAW_DEFLATE)
    return bytes(encode_varints([len(coded)])) + coded + engine.compress(plain) + engine.flush()


def pack_odd(numbers: Array) -> bytes:
    """Decimals of each [n], 255 if it is none of six digits; digits of the others as int32; the rest as float64."""
    places, mantissas = np.full(len(numbers), NO_DECIMAL, np.uint8), np.zeros(len(numbers), "<i4")
    for decimals in range(MOST_DECIMALS, -1, -1):
        with np.errstate(over="ignore"):
            scaled = np.rint(numbers * 10.0**decimals)
        whole = np.where(np.abs(scaled) < MOST_MANTISSA, scaled, 0).astype(np.int64)
        fits = _bits(whole / 10.0**decimals) == _bits(numbers)
        places[fits], mantissas[fits] = decimals, whole[fits]
    is_decimal = places != NO_DECIMAL
    planes = mantissas[is_decimal].view(np.uint8).reshape(-1, 4).T[:3]
    parts = (places, planes, numbers[~is_decimal].astype("<f8"))
    return b"".join(part.tobytes() for part in parts)


def unpack_odd(data: bytes, count: int) -> Array:
    """Inverse of `pack_odd`."""
    places = np.frombuffer(data, np.uint8, min(count, len(data)))
    is_decimal = places != NO_DECIMAL
    decimals = int(is_decimal.sum())
    if len(data) != count + 3 * decimals + 8 * (count - decimals) or places[is_decimal].max(initial=0) > MOST_DECIMALS:
        raise Corrupt("a segment's odd numbers are cut short")
    planes = np.frombuffer(data, np.uint8, 3 * decimals, count).reshape(3, decimals).astype(np.int32)
    mantissas = planes[0] | planes[1] << 8 | planes[2].astype(np.int8).astype(np.int32) << 16
    numbers = np.empty(count)
    numbers[is_decimal] = decimal.inverse(mantissas.astype(np.int64), places[is_decimal].astype(np.int32))
    numbers[~is_decimal] = np.frombuffer(data, "<f8", -1, count + 3 * decimals)
    return numbers


def _bits(numbers: Array) -> NDArray[np.int64]:
    return np.ascontiguousarray(numbers, np.float64).view(np.int64)


class ExactSynthesis(ABC):
    """A lossless stream's setup, turned into arrays once; subclasses read theirs and fill the fields."""

    wbits = zlib.MAX_WBITS
    """How plain numbers are deflated."""
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

    def take_rest(self) -> bytes:
        rest, self._plain = self._plain, b""
        return rest

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
        coded, packed = self.parts(data)
        raw_size, map_size = 8 * frames * raw_count, -(-frames * odd_count // 8)
        plain = inflate(packed, limits.charge("bytes", raw_size + map_size + 11 * frames * odd_count), self.wbits)
        if len(plain) < raw_size + map_size:
            raise Corrupt("a segment's plain numbers are cut short")
        bits = np.unpackbits(np.frombuffer(plain, np.uint8, map_size, raw_size), count=frames * odd_count)
        odd = bits.reshape(odd_count, frames).astype(bool)
        raw = np.frombuffer(plain, "<f8", frames * raw_count).reshape(raw_count, frames)
        return coded, raw, odd, self.odd_numbers(plain[raw_size + map_size :], int(odd.sum()))

    def parts(self, data: bytes) -> tuple[bytes, bytes]:
        """A segment's coded part and its deflated one, as they stand before version 5."""
        size = int.from_bytes(data[:4], "little")
        return data[4 : 4 + size], data[4 + size :]

    def odd_numbers(self, data: bytes, count: int) -> Array:
        """As they are stored before version 5."""
        if len(data) != 8 * count:
            raise Corrupt("a segment's odd numbers are cut short")
        return np.frombuffer(data, "<f8")


def inflate(packed: bytes, limit: int, wbits: int = zlib.MAX_WBITS) -> bytes:
    """zlib or raw deflate with an upper bound on what comes out."""
    engine = zlib.decompressobj(wbits)
    try:
        plain = engine.decompress(packed, limit + 1)
    except zlib.error:
        raise Corrupt("the stream's deflated numbers are damaged") from None
    if len(plain) > limit or not engine.eof or engine.unused_data:
        raise Corrupt("the stream's deflated numbers are not of their size")
    return plain
