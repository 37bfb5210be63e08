"""What all kernel wrappers share: the compiled library, array checks, and statuses turned into errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

import kinepack._kernels._native as _native
from kinepack.errors import Corrupt, KinepackError, Truncated, UsageError

ffi: Any = _native.ffi
lib: Any = _native.lib
NULL: Any = ffi.NULL

Buffer = bytes | bytearray | memoryview
T = TypeVar("T", bound=np.generic)

_POINTERS = {
    np.dtype(np.int8): "int8_t[]",
    np.dtype(np.uint8): "uint8_t[]",
    np.dtype(np.int16): "int16_t[]",
    np.dtype(np.uint16): "uint16_t[]",
    np.dtype(np.int32): "int32_t[]",
    np.dtype(np.uint32): "uint32_t[]",
    np.dtype(np.int64): "int64_t[]",
    np.dtype(np.uint64): "uint64_t[]",
    np.dtype(np.float32): "float[]",
    np.dtype(np.float64): "double[]",
}


def pointer(array: NDArray[Any] | None) -> Any:
    """A C pointer to a contiguous array, NULL for None; the array must outlive the call."""
    if array is None:
        return NULL
    return ffi.from_buffer(_POINTERS[array.dtype], array)


def data_pointer(data: Buffer) -> tuple[Any, int]:
    """A C pointer to bytes and their number."""
    cdata = ffi.from_buffer("uint8_t[]", data)
    return cdata, len(cdata)


def as_array(values: ArrayLike, dtype: type[T], name: str, shape: Sequence[int | None] | None = None) -> NDArray[T]:
    """`values` as a contiguous array of `dtype`, without changing a value; None in `shape` is any length."""
    try:
        source = np.asarray(values)
        array = np.ascontiguousarray(source, dtype=dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"{name} is not an array of {np.dtype(dtype).name}: {error}") from None
    if source.ndim == 0:
        raise UsageError(f"{name} must be an array, not a scalar")
    if source.dtype != dtype and source.size and np.issubdtype(dtype, np.integer):
        _check_integers(source, array, name)
    if shape is not None:
        check_shape(array, name, shape)
    return array


def _check_integers(source: NDArray[Any], array: NDArray[Any], name: str) -> None:
    exact = (
        source.dtype.kind in "iub" and int(source.min()) == int(array.min()) and int(source.max()) == int(array.max())
    )
    if not exact:
        raise UsageError(f"{name} holds {source.dtype.name} values that do not fit {array.dtype.name}")


def check_shape(array: NDArray[Any], name: str, shape: Sequence[int | None]) -> None:
    fits = array.ndim == len(shape) and all(want in (None, got) for want, got in zip(shape, array.shape, strict=True))
    if not fits:
        wanted = "x".join("n" if want is None else str(want) for want in shape)
        raise UsageError(f"{name} has shape {array.shape}, wanted {wanted}")


def check_count(count: int, name: str = "count") -> int:
    if count < 0:
        raise UsageError(f"{name} is negative: {count}")
    return count


def check(status: int, what: str) -> None:
    """Raises the error that a kernel's status stands for."""
    if status == lib.KP_OK:
        return
    if status == lib.KP_TRUNCATED:
        raise Truncated(f"{what}: the data ends too early")
    if status == lib.KP_CORRUPT:
        raise Corrupt(f"{what}: the data is not what an encoder writes")
    if status == lib.KP_ARGUMENT:
        raise UsageError(f"{what}: an argument is out of range")
    raise KinepackError(f"{what}: kernel status {status}")


def encode_growing(what: str, capacity: int, call: Callable[[Any, int, Any], int]) -> bytes:
    """Runs an encoder `call(out, capacity, size)`, with a larger buffer while it asks for one.

    `call` starts from the same model each time.
    """
    size = ffi.new("size_t *")
    while True:
        out = np.empty(max(capacity, 1), np.uint8)
        status = call(pointer(out), len(out), size)
        if status != lib.KP_CAPACITY:
            check(status, what)
            return out[: size[0]].tobytes()
        capacity *= 4
