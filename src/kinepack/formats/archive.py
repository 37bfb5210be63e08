"""NumPy archives (.npz): safe reading, repeatable writing, and telling their kinds apart by their keys."""

from __future__ import annotations

import io
import math
import warnings
import zipfile
import zlib
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinepack.errors import FormatError, KinepackError
from kinepack.formats.base import Source
from kinepack.limits import DEFAULT_LIMITS, Limits

_SIGNATURES: Mapping[str, tuple[frozenset[str], ...]] = {
    "npz": (frozenset({"values", "frame_time", "skeleton"}),),
    "mesh-npz": (frozenset({"vertices", "faces"}),),
    "amass": (frozenset({"poses", "trans"}),),
    "deepmimic": (frozenset({"frames", "fps"}), frozenset({"rotations_xyzw", "root_translation", "parents"})),
}
_UNPACKING = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError)
_DEFLATE_RATIO = 1032
"""The most that deflate can expand; a member that declares more is lying."""


def kind_of(keys: Collection[str]) -> str:
    """The id of the format whose keys these are; "npz" where no format knows them."""
    for kind, signatures in _SIGNATURES.items():
        if any(signature <= set(keys) for signature in signatures):
            return kind
    return "npz"


def claimed_by(kind: str, source: Source) -> bool:
    """Whether a source is an archive of that kind; broken ones go to "npz", which says what is wrong."""
    try:
        return kind_of(keys_of(source.read())) == kind
    except KinepackError:
        return kind == "npz"


def keys_of(data: bytes) -> list[str]:
    """The names of an archive's arrays."""
    with _opened(data) as archive:
        return [name.removesuffix(".npy") for name in archive.namelist()]


def load_arrays(data: bytes, wanted: Iterable[str], *, limits: Limits = DEFAULT_LIMITS) -> dict[str, NDArray[Any]]:
    """Those of the `wanted` arrays that the archive has. Sizes are checked before anything is unpacked."""
    arrays: dict[str, NDArray[Any]] = {}
    with _opened(data) as archive:
        present = set(archive.namelist())
        for key in wanted:
            if f"{key}.npy" in present:
                try:
                    arrays[key] = _load_member(archive, f"{key}.npy", limits)
                except _UNPACKING as error:
                    raise FormatError(f"array {key!r} cannot be unpacked: {error}") from None
    return arrays


def save_arrays(arrays: Mapping[str, Any]) -> bytes:
    """A compressed .npz whose bytes depend on nothing but the arrays (no clock, no platform)."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, value in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, np.asanyarray(value), allow_pickle=False)
            info = zipfile.ZipInfo(f"{key}.npy")
            info.compress_type, info.create_system = zipfile.ZIP_DEFLATED, 3
            archive.writestr(info, member.getvalue())
    return buffer.getvalue()


def text_of(array: NDArray[Any], key: str) -> str:
    """The text of an array that holds exactly one."""
    if array.size == 1 and array.dtype.kind == "U":
        return str(array.reshape(-1)[0])
    if array.size == 1 and array.dtype.kind == "S":
        return bytes(array.reshape(-1)[0]).decode("utf-8", "replace")
    raise FormatError(f"array {key!r} should hold one text")


def number_of(array: NDArray[Any], key: str) -> float:
    """The number of an array that holds exactly one."""
    if array.size != 1 or array.dtype.kind not in "fiu":
        raise FormatError(f"array {key!r} should hold one number")
    return float(array.reshape(-1)[0])


def real_array(arrays: Mapping[str, NDArray[Any]], key: str, *, ndim: int) -> NDArray[Any]:
    """A required array of real numbers with that many axes."""
    if key not in arrays:
        raise FormatError(f"the archive has no array {key!r}")
    array = arrays[key]
    if array.ndim != ndim or array.dtype.kind not in "fiu":
        found = f"{array.dtype}{list(array.shape)}"
        raise FormatError(f"array {key!r} should have {ndim} axes of real numbers, not {found}")
    return array


def _opened(data: bytes) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, OSError, EOFError, NotImplementedError, IndexError) as error:
        raise FormatError(f"not an .npz archive: {error}") from None


def _load_member(archive: zipfile.ZipFile, name: str, limits: Limits) -> NDArray[Any]:
    info = archive.getinfo(name)
    limits.charge("bytes", info.file_size)
    if info.file_size > _DEFLATE_RATIO * info.compress_size + 1024:
        packed = f"{info.compress_size:,}"
        raise FormatError(f"{name} declares {info.file_size:,} bytes, more than its {packed} can hold")
    with archive.open(info) as member:
        shape, fortran, dtype = _read_header(member, name)
        if dtype.hasobject:
            raise FormatError(f"{name} holds Python objects, which are not loaded", hint="save plain numbers")
        count = math.prod(shape)
        limits.charge("values", count)
        if count * dtype.itemsize != info.file_size - member.tell():
            raise FormatError(f"{name} declares the shape {list(shape)}, which its size does not fit")
        content = member.read()
    if len(content) != count * dtype.itemsize:
        raise FormatError(f"{name} ends early")
    flat = np.frombuffer(content, dtype, count) if dtype.itemsize else np.zeros(count, dtype)
    return flat.reshape(shape, order="F" if fortran else "C")


def _read_header(member: Any, name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # headers written by Python 2 are fine
            header = _parse_header(member)
    except Exception as error:  # a header is a Python literal, and those fail in many ways
        raise FormatError(f"{name} is not a NumPy array: {error}") from None
    shape, fortran, dtype = header
    if any(n < 0 for n in shape):
        raise FormatError(f"{name} declares a negative size")
    return shape, fortran, dtype


def _parse_header(member: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(member)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(member)
    if version == (2, 0):
        return np.lib.format.read_array_header_2_0(member)
    raise ValueError(f"header version {version}")
