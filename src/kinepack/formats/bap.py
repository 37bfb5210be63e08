"""ASCII BAP: MPEG-4 body animation parameters, a mask line and a line of whole numbers for each frame.

A clip on the humanoid of `bap_table` has every parameter that some frame's mask turns on. Header frame
counts are wrong in real files and are ignored; masks may have any length up to 296. Whole numbers come
back exactly: a channel is the number times 1e-5 rad or 1 mm, and writing rounds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kinepack.errors import FormatError
from kinepack.formats.bap_mapping import LARGEST, BapTrack, clip_of, from_bap, to_baps
from kinepack.formats.bap_table import COUNT, PREDEFINED
from kinepack.formats.base import FORMATS, Format, ReadOptions, Source, WriteOptions, Written
from kinepack.formats.text import integer, lines_of, model_errors, number, shortest, shown, single_clip
from kinepack.limits import Limits
from kinepack.model import Clip, Model

__all__ = ["from_bap", "read", "write"]

_VERSION_NOTE, _FIRST_NOTE = "bap.version", "bap.first_frame"
_DIGITS = b"0123456789+-"

Line = tuple[int, list[str]]
Frame = tuple[NDArray[np.intp], list[int]]
"""Zero-based parameters that are on, and their values."""


@dataclass
class _File:
    """A file's header and frames."""

    version: str
    name: str
    frame_time: float
    first: int = 0
    frames: list[Frame] = field(default_factory=list)


# Reading.


def read(source: Source, options: ReadOptions) -> list[Model]:
    """The one clip of a BAP file, by the name in its header."""
    lines = _meaningful(lines_of(source.read(), source.name, options.limits))
    if not lines:
        raise FormatError("the file is empty", file=source.name)
    file = _read_header(lines[0], source.name)
    _read_frames(file, lines[1:], source.name, options.limits)
    used = _used(file, source.name)
    values = _values(file, used, options)
    notes = {}
    if file.version != _default_version(used):
        notes[_VERSION_NOTE] = file.version
    if file.first:
        notes[_FIRST_NOTE] = str(file.first)
    with model_errors(source.name):
        clip = clip_of(used, values, file.frame_time, file.name, notes=notes)
        if options.unit_cm is not None:
            clip = Clip(clip.skeleton.with_unit(options.unit_cm), clip.values, clip.frame_time, clip.name)
        return [clip]


def _meaningful(lines: Sequence[str]) -> list[Line]:
    """Line numbers and words of all lines that have any; "#" starts a comment."""
    found = ((index, line.partition("#")[0].split()) for index, line in enumerate(lines, 1))
    return [(index, words) for index, words in found if words]


def _read_header(line: Line, file: str) -> _File:
    index, words = line
    if len(words) < 3:
        raise FormatError("the header is: version, name, frames a second, frames", file=file, line=index)
    version, *name, rate, count = words
    number(version, file, index)
    integer(count, file, index)
    fps = number(rate, file, index)
    if fps <= 0 or not np.isfinite(1 / fps):
        raise FormatError("frames a second must be positive", file=file, line=index)
    return _File(version, " ".join(name), 1 / fps)


def _read_frames(target: _File, lines: Sequence[Line], file: str, limits: Limits) -> None:
    masks: dict[str, NDArray[np.intp]] = {}  # real files repeat few masks many times
    limits.charge("frames", len(lines) // 2)
    for (mask_line, mask), (line, words) in zip(lines[0::2], lines[1::2], strict=False):
        key = "".join(mask)
        if key not in masks or len(key) != len(mask):
            masks[key] = _read_mask(mask, file, mask_line)
        on = masks[key]
        if len(words) != 1 + len(on):
            counts = f"the mask turns on {len(on)} values, {len(words) - 1} are there"
            raise FormatError(counts, file=file, line=line)
        if not target.frames:
            target.first = integer(words[0], file, line)
        target.frames.append((on, _whole_numbers(words, file, line)[1:]))
    if len(lines) % 2:
        raise FormatError("the file ends after a mask", file=file, line=lines[-1][0])


def _read_mask(words: list[str], file: str, line: int) -> NDArray[np.intp]:
    if len(words) > COUNT or not set(words) <= {"0", "1"}:
        what = f"a mask is up to {COUNT} times 0 or 1"
        raise FormatError(f"{what}, not {len(words)} words from {shown(words[0])}", file=file, line=line)
    return np.flatnonzero(np.array(words) == "1")


def _whole_numbers(words: list[str], file: str, line: int) -> list[int]:
    try:
        plain = not "".join(words).encode("ascii").translate(None, _DIGITS)
        values = [int(word) for word in words] if plain and max(map(len, words)) < 19 else []
    except ValueError:
        values = []
    values = values or [integer(word, file, line) for word in words]
    if max(map(abs, values)) > LARGEST:
        raise FormatError(f"{max(values, key=abs)} is too large for a BAP", file=file, line=line)
    return values


def _used(file: _File, name: str) -> list[int]:
    """Numbers of the parameters that are on in some frame."""
    used = np.zeros(COUNT, bool)
    for on, _ in file.frames:
        used[on] = True
    if not used.any():
        raise FormatError("no frame turns a BAP on" if file.frames else "there are no frames", file=name)
    return [int(index) + 1 for index in np.flatnonzero(used)]


def _values(file: _File, used: list[int], options: ReadOptions) -> NDArray[np.int64]:
    """[frames, used]; a parameter that is off holds its last value (zero before the first), or is zero."""
    options.limits.charge("values", len(file.frames) * len(used))
    columns, current = np.array(used) - 1, np.zeros(COUNT, np.int64)
    values = np.empty((len(file.frames), len(used)), np.int64)
    for row, (on, numbers) in enumerate(file.frames):
        if options.masked_bap == "zero":
            current[:] = 0
        current[on] = numbers
        values[row] = current[columns]
    return values


# Writing.


def write(models: Sequence[Model], stem: str, options: WriteOptions) -> Written:
    """Version 3.1 with 186 parameters, or 3.2 with 296 if an extension is used; used ones are always on."""
    clip = single_clip(models, "BAP")
    track = to_baps(clip, options.bap_mapping)
    used = sorted(track.values)
    version = clip.skeleton.notes.get(_VERSION_NOTE, _default_version(used))
    name = re.sub(r"[#\s]+", " ", clip.name).strip() or stem
    head = f"{version} {name} {shortest(clip.frame_time, 1.0)} {clip.frames}"
    text = "\n".join([head, *_frame_lines(clip, track, used)]) + "\n"
    return Written({f"{stem}.bap": text.encode()}, tuple(track.lost))


def _default_version(used: Sequence[int]) -> str:
    return "3.2" if used[-1] > PREDEFINED else "3.1"


def _frame_lines(clip: Clip, track: BapTrack, used: Sequence[int]) -> list[str]:
    length = COUNT if used[-1] > PREDEFINED else PREDEFINED
    mask = " ".join("1" if index in track.values else "0" for index in range(1, length + 1))
    note = clip.skeleton.notes.get(_FIRST_NOTE, "0")
    first = int(note) if re.fullmatch(r"-?[0-9]{1,9}", note) else 0
    rows = np.stack([track.values[index] for index in used], axis=1).tolist()
    lines = []
    for frame, row in enumerate(rows, first):
        lines += [mask, " ".join(map(str, [frame, *row]))]
    return lines


FORMATS.add(
    "bap",
    Format(id="bap", title="MPEG-4 BAP", extensions=(".bap",), read=read, write=write, holds=(Clip,)),
)
