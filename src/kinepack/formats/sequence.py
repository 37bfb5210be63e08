"""Mesh sequences of one file per frame: which files belong together, and the remark that keeps their timing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinepack.errors import FormatError
from kinepack.formats.base import FORMATS, Format, ReadOptions, Source, WriteOptions, Written, extension_of
from kinepack.formats.guard import frame_time_of, guarded
from kinepack.formats.mesh_npz import only_mesh
from kinepack.model import MeshSequence, Model

_NUMBERED = re.compile(r"(.*?)(\d+)(\.[^.]+)", re.DOTALL)
_REMARK = re.compile(rb"kinepack frame_time=(\S+) unit_cm=(\S+)")
_DEFAULT_FPS = 30.0


@dataclass(frozen=True)
class Frame:
    """One file's content."""

    vertices: NDArray[np.float32]
    """[vertices, 3]"""
    faces: NDArray[np.int32]
    """[triangles, 3]"""


FrameReader = Callable[[bytes, ReadOptions], Frame]
FrameWriter = Callable[[MeshSequence, int], bytes]


def numbered_run(source: Source, extension: str) -> list[str]:
    """Names of the frames in order: of the run that the file belongs to, or the folder's only run."""
    neighbours = [name for name in source.neighbours() if extension_of(name) == extension]
    if source.name in neighbours:
        key = _run_key(source.name)
        return _in_order(name for name in neighbours if _run_key(name) == key)
    if extension_of(source.name) == extension and not neighbours:
        return [source.name]
    runs = {_run_key(name) for name in neighbours}
    if len(runs) != 1:
        found = "no" if not runs else f"{len(runs)} different runs of"
        hint = "name the first file of the sequence"
        raise FormatError(f"the folder has {found} {extension} files", hint=hint)
    return _in_order(neighbours)


def _run_key(name: str) -> tuple[str, str]:
    """Equal for frames of one run: what stands before the number, and the extension."""
    match = _NUMBERED.fullmatch(name)
    return (match[1], match[3].lower()) if match else (name, "")


def _in_order(names: Iterator[str] | list[str]) -> list[str]:
    def number(name: str) -> tuple[int, str]:
        match = _NUMBERED.fullmatch(name)
        return (int(match[2][:18]) if match else 0, name)

    return sorted(names, key=number)


def sequence_name(first: str) -> str:
    """What a run is called: its files' names without number, extension and joint."""
    match = _NUMBERED.fullmatch(first)
    stem = match[1].rstrip("_-. ") if match else first.rsplit(".", 1)[0]
    return stem or first.rsplit(".", 1)[0]


def remark(mesh: MeshSequence) -> str:
    """The comment that keeps exact timing and unit in formats that have neither."""
    return f"kinepack frame_time={mesh.frame_time!r} unit_cm={mesh.unit_cm!r}"


def has_remark(head: bytes) -> bool:
    """Whether a file starts with our remark."""
    return _REMARK.search(head[:4096]) is not None


def timing(head: bytes, options: ReadOptions) -> tuple[float, float]:
    """Frame time and unit: from the options, else from our remark, else 30 frames a second and metres."""
    match = _REMARK.search(head[:4096])
    frame_time, unit_cm = 1 / _DEFAULT_FPS, 100.0
    if match:
        try:
            frame_time, unit_cm = float(match[1]), float(match[2])
        except ValueError:
            raise FormatError("the remark on timing is damaged") from None
    if options.fps is not None:
        frame_time = frame_time_of(options.fps)
    return frame_time, unit_cm if options.unit_cm is None else options.unit_cm


def read_sequence(source: Source, options: ReadOptions, extension: str, read_frame: FrameReader) -> list[Model]:
    """All files of the run as one MeshSequence; every frame must have the first one's triangles."""
    names = numbered_run(source, extension)
    options.limits.charge("frames", len(names))
    first, frames, head = None, [], b""
    for name in names:
        data = source.read() if name == source.name else source.neighbour(name)
        options.limits.charge("bytes", len(data))
        frame = read_named(read_frame, data, name, options)
        if first is None:
            first, head = frame, data[:4096]
            options.limits.charge("vertices", len(frame.vertices))
            options.limits.charge("values", len(names) * frame.vertices.size)
        _check_same(first, frame, name, names[0])
        frames.append(frame.vertices)
    assert first is not None  # a run has at least one file
    frame_time, unit_cm = timing(head, options)
    return [MeshSequence(np.stack(frames), first.faces, frame_time, sequence_name(names[0]), unit_cm)]


def read_named(read_frame: FrameReader, data: bytes, name: str, options: ReadOptions) -> Frame:
    """One file's frame; its errors name the file."""
    try:
        return read_frame(data, options)
    except FormatError as error:
        raise error.in_file(name) from None
    except (ValueError, IndexError, OverflowError) as error:
        raise FormatError(f"the file is damaged ({error})", file=name) from error


def _check_same(first: Frame, frame: Frame, name: str, first_name: str) -> None:
    if len(frame.vertices) != len(first.vertices):
        counts = f"{len(frame.vertices):,} vertices, {first_name} has {len(first.vertices):,}"
        raise FormatError(f"the frame has {counts}", file=name)
    if frame.faces is not first.faces and not np.array_equal(frame.faces, first.faces):
        raise FormatError(f"the frame's faces differ from those of {first_name}", file=name)


def write_sequence(models: Sequence[Model], stem: str, extension: str, write_frame: FrameWriter) -> Written:
    """stem_0000, stem_0001, … with as many digits as the last frame needs."""
    mesh = only_mesh(models, extension[1:])
    digits = max(4, len(str(mesh.frames - 1)))
    return Written({f"{stem}_{i:0{digits}d}{extension}": write_frame(mesh, i) for i in range(mesh.frames)})


def register(format_id: str, title: str, read_frame: FrameReader, write_frame: FrameWriter) -> None:
    """A format whose files are `.<id>`, one a frame."""
    extension = f".{format_id}"

    def read(source: Source, options: ReadOptions) -> list[Model]:
        return read_sequence(source, options, extension, read_frame)

    def write(models: Sequence[Model], stem: str, options: WriteOptions) -> Written:
        return write_sequence(models, stem, extension, write_frame)

    FORMATS.add(format_id, Format(format_id, title, (extension,), guarded(read), write, (MeshSequence,)))


# Numbers and polygons, shared by the frame formats.


def parse_rows(lines: Sequence[bytes], columns: int, line_numbers: Sequence[int]) -> NDArray[np.float64]:
    """[rows, columns] the first numbers of each line; all lines are parsed in one go."""
    if not lines:
        return np.zeros((0, columns))
    words = [line.split() for line in lines]
    widths = {len(row) for row in words}
    if len(widths) > 1 or min(widths) < columns:
        words = [row[:columns] for row in words]
        for row, number in zip(words, line_numbers, strict=True):
            if len(row) < columns:
                raise FormatError(f"{columns} numbers are needed, there are {len(row)}", line=number)
    try:
        return np.array(words, dtype=bytes).astype(np.float64)[:, :columns]
    except ValueError:
        raise _bad_number(words, line_numbers) from None


def _bad_number(rows: Sequence[Sequence[bytes]], line_numbers: Sequence[int]) -> FormatError:
    for row, number in zip(rows, line_numbers, strict=True):
        for word in row:
            try:
                float(word)
            except ValueError:
                return FormatError(f"{word[:40]!r} is not a number", line=number)
    return FormatError("a number cannot be read")


def to_float32(values: NDArray[Any]) -> NDArray[np.float32]:
    """Rounded to float32; numbers too large for it become infinite, which the model refuses."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32)


def fan(polygons: NDArray[Any], sizes: NDArray[Any], vertices: int) -> NDArray[np.int32]:
    """Corners of all polygons in a row, and the corner count of each -> [triangles, 3], as fans."""
    if len(sizes) and sizes.min() < 3:
        raise FormatError(f"face {int(np.argmax(sizes < 3)) + 1} has fewer than three corners")
    if polygons.size and not 0 <= polygons.min() <= polygons.max() < vertices:
        raise FormatError("a face names a vertex that does not exist")
    starts = np.cumsum(sizes) - sizes
    triangles = sizes - 2
    owner = np.repeat(np.arange(len(sizes)), triangles)
    step = np.arange(len(owner)) - np.repeat(np.cumsum(triangles) - triangles, triangles)
    corner = starts[owner] + step
    triples = np.stack([starts[owner], corner + 1, corner + 2], axis=1)
    return np.asarray(polygons[triples], np.int32)


def shortest_rows(rows: NDArray[Any]) -> list[str]:
    """Each row's numbers with a blank between; float32 in the fewest digits that parse back to it."""
    words = list(map(str, rows.reshape(-1).tolist() if rows.dtype.kind in "iu" else rows.reshape(-1)))
    width = rows.shape[1]
    return [" ".join(words[i : i + width]) for i in range(0, len(words), width)]
