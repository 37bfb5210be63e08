"""Bit fields and variable-length integers in plain Python."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kinepack._kernels._binding import Buffer
from kinepack.errors import Corrupt, Truncated


def _width_list(widths: int | ArrayLike, count: int) -> list[int]:
    return [int(width) for width in np.broadcast_to(np.asarray(widths), (count,))]


def pack_bits(values: ArrayLike, widths: int | ArrayLike) -> bytes:
    numbers = [int(value) for value in np.asarray(values)]
    widths_ = _width_list(widths, len(numbers))
    text = "".join(f"{number:0{width}b}" for number, width in zip(numbers, widths_, strict=True) if width)
    text += "0" * (-len(text) % 8)
    return bytes(int(text[i : i + 8], 2) for i in range(0, len(text), 8))


def unpack_bits(data: Buffer, count: int, widths: int | ArrayLike) -> NDArray[np.uint32]:
    text, start, values = "".join(f"{byte:08b}" for byte in bytes(data)), 0, []
    for width in _width_list(widths, count):
        if start + width > len(text):
            raise Truncated("the data ends too early")
        values.append(int(text[start : start + width] or "0", 2))
        start += width
    return np.array(values, np.uint32)


def encode_varints(values: ArrayLike) -> bytes:
    out = bytearray()
    for number in np.asarray(values).tolist():
        while number > 127:
            out.append(128 | (number & 127))
            number >>= 7
        out.append(number)
    return bytes(out)


def decode_varints(data: Buffer, count: int) -> tuple[NDArray[np.uint64], int]:
    source, used, values = bytes(data), 0, []
    if count > len(source):
        raise Truncated("the data ends too early")
    for _ in range(count):
        value, shift, byte = 0, 0, 128
        while byte > 127:
            if used == len(source):
                raise Truncated("the data ends too early")
            byte = source[used]
            if (shift == 63 and byte > 1) or (shift and byte == 0):
                raise Corrupt("a variable-length integer is too long")
            value |= (byte & 127) << shift
            used, shift = used + 1, shift + 7
        values.append(value)
    return np.array(values, np.uint64), used
