"""MPEG-4 body animation: FBA streams, and the look-up decoders and encoder rows of the BAP codecs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels._binding import Buffer, as_array, check, data_pointer, encode_growing, ffi, lib, pointer
from kinepack.errors import LimitExceeded, UsageError

FBA_TABLE = 3722
"""Most words that one parameter's counts take: 31 * 60 levels to each side, zero, and the total."""


def _floats(array: NDArray[np.float32]) -> Any:
    return ffi.from_buffer("float[]", array)


def _doubles(array: NDArray[np.float64]) -> Any:
    return ffi.from_buffer("double[]", array)


@dataclass(frozen=True)
class FbaFrames:
    """A decoded FBA stream."""

    values: NDArray[np.int32]
    """[frames, width] parameters in the columns asked for."""
    used: NDArray[np.bool_]
    """[parameters in group order] whether some frame had it on."""
    sixteenths: int
    """Frames a second times 16, 0 where the stream does not tell."""


def fba_encode(
    levels: NDArray[np.int32],
    intra: NDArray[np.uint8],
    *,
    on: NDArray[np.uint8],
    ranges: NDArray[np.int32],
    group_sizes: NDArray[np.uint8],
    quant: int,
    sixteenths: int = 0,
) -> bytes:
    """Levels [frames, parameters that are on], in group order, as a bare stream; ranges is [4, parameters]."""
    source = as_array(levels, np.int32, "levels", (len(intra), int(np.count_nonzero(on))))
    kinds, mask = as_array(intra, np.uint8, "intra"), as_array(on, np.uint8, "on")
    limits = as_array(ranges, np.int32, "ranges", (4, len(mask)))
    sizes = _group_sizes(group_sizes, len(mask))
    scratch = np.empty(FBA_TABLE * len(mask), np.uint32)

    def call(out: Any, capacity: int, size: Any) -> int:
        return int(
            lib.kp_fba_encode(
                pointer(source), pointer(kinds), len(kinds), pointer(mask), pointer(limits), len(mask),
                pointer(sizes), len(sizes), quant, sixteenths, pointer(scratch), len(scratch), out, capacity, size,
            )
        )  # fmt: skip

    return encode_growing("FBA stream", source.size + 1024 * (1 + int(kinds.sum())), call)


def fba_decode(
    data: Buffer,
    *,
    group_sizes: NDArray[np.uint8],
    steps: NDArray[np.int32],
    columns: NDArray[np.int32],
    frames: int,
) -> FbaFrames:
    """At most `frames` frames of a bare stream; columns [parameters] is where each goes, -1 for nowhere."""
    quantiser, places = as_array(steps, np.int32, "steps"), as_array(columns, np.int32, "columns")
    sizes, width = _group_sizes(group_sizes, len(places)), int(places.max(initial=-1)) + 1
    values = np.empty((frames, width), np.int32)
    used, scratch = np.zeros(len(places), np.uint8), np.empty(FBA_TABLE * len(places), np.uint32)
    source, size = data_pointer(data)
    decoded, sixteenths = ffi.new("size_t *"), ffi.new("uint32_t *")
    status = lib.kp_fba_decode(
        source, size, len(places), pointer(sizes), len(sizes), pointer(quantiser), pointer(places), width,
        pointer(scratch), len(scratch), pointer(values), frames, decoded, pointer(used), sixteenths,
    )  # fmt: skip
    if status == lib.KP_CAPACITY:
        raise LimitExceeded(f"the FBA stream has more than {frames:,} frames")
    check(status, "FBA stream")
    return FbaFrames(values[: decoded[0]], used.astype(bool), int(sixteenths[0]))


def _group_sizes(sizes: Sequence[int] | NDArray[np.uint8], count: int) -> NDArray[np.uint8]:
    array = as_array(sizes, np.uint8, "group_sizes")
    if int(array.sum(dtype=np.int64)) != count:
        raise UsageError(f"the groups hold {int(array.sum(dtype=np.int64))} parameters, not {count}")
    return array


def float_frames_decode(data: Buffer, frames: int, width: int) -> NDArray[np.float32]:
    """[frames, width] of a `mpeg4-float` segment."""
    out = np.empty((frames, width), np.float32)
    symbols, tables = np.empty(4 * (frames - 1) * width, np.uint16), np.empty(257, np.uint32)
    source, size = data_pointer(data)
    check(
        lib.kp_float_frames_decode(source, size, frames, width, pointer(symbols), pointer(tables), _floats(out)),
        "float differences",
    )
    return out


def indexed_decode(
    data: Buffer, frames: int, width: int, *, fdf: int, bits: int, rows_per_table: int
) -> NDArray[np.float32]:
    """[frames, width] of a `bap-indexing` segment."""
    out, table = np.empty((frames, width), np.float32), np.empty(1 << bits, np.float32)
    source, size = data_pointer(data)
    status = lib.kp_indexed_decode(
        source, size, frames - 1, width, fdf, bits, rows_per_table, _floats(table), _floats(out)
    )
    check(status, "indices")
    return out


def sparse_indexed_decode(
    data: Buffer, frames: int, width: int, *, fdf: int, bits: int, rows_per_table: int, half: bool
) -> NDArray[np.float32]:
    """[frames, width] of a `sparse-indexing` segment."""
    out, table = np.empty((frames, width), np.float32), np.empty(1 << bits, np.float32)
    columns = np.empty(2 * width, np.uint32)
    source, size = data_pointer(data)
    status = lib.kp_sparse_indexed_decode(
        source, size, frames - 1, width, fdf, bits, rows_per_table, half, _floats(table), pointer(columns), _floats(out)
    )
    check(status, "sparse indices")
    return out


def bucket_sums(
    numbers: NDArray[np.float64], levels: NDArray[np.int32], edges: NDArray[np.float64], *, level_count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sums and counts [levels, buckets] of numbers [rows, columns] by their column's level and their bucket."""
    source = as_array(numbers, np.float64, "numbers", (None, len(levels)))
    places = as_array(levels, np.int32, "levels")
    sums, counts = np.empty((2, level_count, len(edges) + 1))
    status = lib.kp_bucket_sums(
        _doubles(source), *source.shape, pointer(places), level_count, _doubles(edges), len(edges) + 1,
        _doubles(sums), _doubles(counts),
    )  # fmt: skip
    check(status, "buckets")
    return sums, counts


@dataclass(frozen=True)
class IndexedRows:
    """What the encoder found for the rows of one table."""

    deltas: NDArray[np.float32]
    """[rows, fdf] exact columns."""
    indices: NDArray[np.uint16]
    """[rows, width - fdf]"""
    released: NDArray[np.uint8]
    """[rows, width - fdf] 1 where the index counts."""


def index_rows(
    x: NDArray[np.float64],
    poses: NDArray[np.float32],
    carry: NDArray[np.float64],
    *,
    fdf: int,
    edges: NDArray[np.float64],
    table: NDArray[np.float32],
    mean: NDArray[np.float64],
    threshold: NDArray[np.float64],
    closed: bool,
) -> IndexedRows:
    """Indices for x[1:]; poses [rows + 1, width] starts from its first row and is filled, carry is updated."""
    rows, width = len(x) - 1, x.shape[1]
    deltas = np.empty((rows, fdf), np.float32)
    indices, released = np.empty((rows, width - fdf), np.uint16), np.empty((rows, width - fdf), np.uint8)
    target = as_array(x, np.float64, "x", (None, width))
    status = lib.kp_index_rows(
        _doubles(target), rows, width, fdf, _doubles(edges), _floats(table), len(table), _doubles(mean),
        _doubles(threshold), closed, _doubles(carry), _floats(deltas), ffi.from_buffer("uint16_t[]", indices),
        ffi.from_buffer("uint8_t[]", released), _floats(poses),
    )  # fmt: skip
    check(status, "indexing")
    return IndexedRows(deltas, indices, released)
