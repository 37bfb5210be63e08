"""Fixed-width fields, variable-length integers, and signed integers folded onto unsigned ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kinepack import _kernels
from kinepack._kernels import Buffer
from kinepack.errors import UsageError


def pack_bits(values: ArrayLike, widths: int | ArrayLike) -> bytes:
    """Packs uint32 values [n], most significant bit first, `widths` bits each (0..32, one for all or [n])."""
    return _kernels.pack_bits(values, widths)


def unpack_bits(data: Buffer, count: int, widths: int | ArrayLike) -> NDArray[np.uint32]:
    """The mirror of `pack_bits`: uint32 [count]. Bytes after the last field are ignored."""
    return _kernels.unpack_bits(data, count, widths)


def encode_varints(values: ArrayLike) -> bytes:
    """uint64 values [n] as LEB128: seven bits a byte, low bits first, 1 to 10 bytes each."""
    return _kernels.encode_varints(values)


def decode_varints(data: Buffer, count: int) -> tuple[NDArray[np.uint64], int]:
    """`count` values [count] from the start of `data`, and how many bytes they took."""
    return _kernels.decode_varints(data, count)


def zigzag(values: ArrayLike) -> NDArray[np.uint64]:
    """0, -1, 1, -2, 2 .. -> 0, 1, 2, 3, 4 .., any shape."""
    source = np.asarray(values)
    if source.dtype.kind not in "ib" and source.size and (source.dtype.kind != "u" or source.max() >> 63):
        raise UsageError(f"zigzag takes signed 64-bit integers, not {source.dtype}")
    signed = source.astype(np.int64)
    return ((signed << 1) ^ (signed >> 63)).view(np.uint64)


def unzigzag(values: ArrayLike) -> NDArray[np.int64]:
    """The mirror of `zigzag`."""
    source = np.asarray(values)
    if source.dtype.kind not in "iu" and source.size:
        raise UsageError(f"unzigzag takes unsigned integers, not {source.dtype}")
    folded = source.astype(np.uint64)
    half, negative = (folded >> np.uint64(1)).view(np.int64), (folded & np.uint64(1)).view(np.int64)
    return half ^ -negative
