"""Bit fields and variable-length integers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kinepack._kernels._binding import (
    Buffer,
    as_array,
    check,
    check_count,
    data_pointer,
    encode_growing,
    ffi,
    lib,
    pointer,
)
from kinepack.errors import UsageError


def _widths(widths: int | ArrayLike, count: int) -> tuple[NDArray[np.uint8] | None, int, int]:
    """Per-value widths or None, the constant width, and the total in bits."""
    if isinstance(widths, int | np.integer):
        if not 0 <= widths <= 32:
            raise UsageError(f"a width is {widths}, must be in 0..32")
        return None, int(widths), int(widths) * count
    array = as_array(widths, np.uint8, "widths", (count,))
    if array.size and int(array.max()) > 32:
        raise UsageError(f"a width is {array.max()}, must be in 0..32")
    return array, 0, int(array.sum(dtype=np.int64))


def pack_bits(values: ArrayLike, widths: int | ArrayLike) -> bytes:
    """Packs uint32 values [n], most significant bit first, `widths` bits each (0..32, one for all or [n])."""
    source = as_array(values, np.uint32, "values", (None,))
    per_value, width, total = _widths(widths, len(source))

    def call(out: Any, capacity: int, size: Any) -> int:
        return int(lib.kp_pack_bits(pointer(source), len(source), pointer(per_value), width, out, capacity, size))

    return encode_growing("pack_bits", total // 8 + 1, call)


def unpack_bits(data: Buffer, count: int, widths: int | ArrayLike) -> NDArray[np.uint32]:
    """The first `count` values [count] of a packed stream; bytes after them are ignored."""
    source, size = data_pointer(data)
    per_value, width, total = _widths(widths, check_count(count))
    if total > 8 * size:
        check(lib.KP_TRUNCATED, "unpack_bits")
    values = np.empty(count, np.uint32)
    check(lib.kp_unpack_bits(source, size, pointer(values), count, pointer(per_value), width), "unpack_bits")
    return values


def encode_varints(values: ArrayLike) -> bytes:
    """uint64 values [n] as LEB128, 1 to 10 bytes each."""
    source = as_array(values, np.uint64, "values", (None,))

    def call(out: Any, capacity: int, size: Any) -> int:
        return int(lib.kp_encode_varints(pointer(source), len(source), out, capacity, size))

    return encode_growing("encode_varints", 2 * len(source) + 10, call)


def decode_varints(data: Buffer, count: int) -> tuple[NDArray[np.uint64], int]:
    """`count` values [count] from the start of `data`, and how many bytes they took."""
    source, size = data_pointer(data)
    if check_count(count) > size:
        check(lib.KP_TRUNCATED, "decode_varints")
    values, consumed = np.empty(count, np.uint64), ffi.new("size_t *")
    check(lib.kp_decode_varints(source, size, pointer(values), count, consumed), "decode_varints")
    return values, int(consumed[0])
