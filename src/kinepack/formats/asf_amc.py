"""ASF/AMC: a skeleton of bones in one file, the degrees of freedom of every frame by bone name in the other.

The AMC's order of bones in its first frame is the clip's channel order. An AMC says no frame rate: 120 a
second unless the caller knows better. Its structure is learnt from the first frame; if all frames follow it,
numbers are converted in bulk, else line by line, so that an error names its line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kinepack.errors import FormatError
from kinepack.formats.asf import AngleUnit, Asf, read_asf, to_skeleton
from kinepack.formats.asf_writing import as_bones, is_asf, write_asf
from kinepack.formats.base import FORMATS, Format, ReadOptions, Source, WriteOptions, Written, extension_of
from kinepack.formats.text import (
    BLANK,
    bulk_numbers,
    integer,
    lines_of,
    model_errors,
    number,
    numbers_text,
    option_frame_time,
    shown,
    single_clip,
    stem_of,
)
from kinepack.limits import Limits
from kinepack.model import Clip, Model, Skeleton

Array = NDArray[np.float64]
_FIRST_NOTE = "amc.first_frame"


@dataclass
class _Amc:
    """Where the frames start, and what the first one looks like."""

    file: str
    lines: list[str]
    start: int
    """Index of the first frame's number line."""
    angle: AngleUnit | None
    bones: dict[str, int]
    """Values on each bone's line, in the order of the first frame."""


# Reading.


def read(source: Source, options: ReadOptions) -> list[Model]:
    """The one clip of an AMC on the skeleton of its ASF; its name is the AMC's stem."""
    asf = read_asf(*_find_asf(source, options), options.limits)
    amc = _read_head(lines_of(source.read(), source.name, options.limits), source.name, asf)
    skeleton = to_skeleton(asf, list(amc.bones), amc.angle or asf.angle, options.unit_cm)
    options.limits.charge("channels", len(skeleton.channels))
    values, first = _read_fast(amc, options.limits) or _read_exact(amc, options.limits)
    if first != 1:
        skeleton = _with_note(skeleton, _FIRST_NOTE, str(first))
    with model_errors(source.name):
        return [Clip(skeleton, values, option_frame_time(options, 1 / 120), stem_of(source.name))]


def _with_note(skeleton: Skeleton, key: str, value: str) -> Skeleton:
    notes = {**skeleton.notes, key: value}
    return Skeleton(
        skeleton.joints, skeleton.channels, skeleton.unit_cm, skeleton.angle_unit, skeleton.translation, notes
    )


def _find_asf(source: Source, options: ReadOptions) -> tuple[bytes, str]:
    """Content and name: the caller's, the stem's, that of the part before "_", or the only one there."""
    if options.skeleton is not None:
        return options.skeleton, "skeleton.asf"
    skeletons = [name for name in source.neighbours() if extension_of(name) == ".asf"]
    stem = stem_of(source.name).lower()
    for wanted in (stem, stem.split("_")[0]):
        for name in skeletons:
            if stem_of(name).lower() == wanted:
                return source.neighbour(name), name
    if len(skeletons) == 1:
        return source.neighbour(skeletons[0]), skeletons[0]
    why = "several .asf files are beside it, none by its name" if skeletons else "there is no .asf beside it"
    raise FormatError(
        f"an AMC needs its ASF: {why}",
        file=source.name,
        hint="name it with --skeleton FILE.asf (skeleton=FILE in Python)",
    )


def _words(line: str) -> list[str]:
    """The words of a line; none for a comment."""
    text = line.strip(BLANK)
    return [] if text.startswith("#") else text.split()


def _is_frame_number(words: Sequence[str]) -> bool:
    return len(words) == 1 and words[0].isascii() and words[0].lstrip("+-").isdigit()


def _read_head(lines: list[str], file: str, asf: Asf) -> _Amc:
    angle: AngleUnit | None = None
    for index, line in enumerate(lines):
        words = _words(line)
        if _is_frame_number(words):
            return _Amc(file, lines, index, angle, _first_frame(lines, index, file, asf))
        if words and not words[0].startswith(":"):
            raise FormatError(f"a frame number is needed, not {shown(words[0])}", file=file, line=index + 1)
        if words and words[0].lower() in (":degrees", ":radians"):
            angle = "deg" if words[0].lower() == ":degrees" else "rad"
    raise FormatError("there are no frames", file=file, line=len(lines))


def _first_frame(lines: list[str], start: int, file: str, asf: Asf) -> dict[str, int]:
    """Bones of the first frame in its order, checked against the skeleton; those without freedom left out."""
    bones: dict[str, int] = {}
    for index in range(start + 1, len(lines)):
        words = _words(lines[index])
        if _is_frame_number(words):
            break
        if not words:
            continue
        bone = asf.bones.get(words[0])
        if bone is None or words[0] in bones:
            what = "is no bone of the skeleton" if bone is None else "is there twice"
            raise FormatError(f"{shown(words[0])} {what}", file=file, line=index + 1)
        if len(words) - 1 != len(bone.dofs):
            counts = f"{len(bone.dofs)} values are needed, not {len(words) - 1}"
            raise FormatError(f"bone {shown(words[0])}: {counts}", file=file, line=index + 1)
        if bone.dofs:
            bones[words[0]] = len(bone.dofs)
    missing = [name for name, bone in asf.bones.items() if bone.dofs and name not in bones]
    if missing:
        raise FormatError(f"the first frame lacks bone {shown(missing[0])}", file=file, line=start + 1)
    return bones


def _read_fast(amc: _Amc, limits: Limits) -> tuple[Array, int] | None:
    """All frames at once if each is laid out as the first; None if not."""
    lines = amc.lines[amc.start :]
    while lines and not lines[-1].strip(BLANK):
        lines.pop()
    frames, rest = divmod(len(lines), 1 + len(amc.bones))
    words = " ".join(lines).split()
    period = 1 + sum(1 + count for count in amc.bones.values())
    if rest or len(words) != frames * period or not amc.bones:
        return None
    _charge(limits, frames, period - 1 - len(amc.bones))
    numbers = bulk_numbers(words[0::period], frames)
    if numbers is None or not all(map(str.isdigit, words[0::period])):
        return None
    if np.any(np.diff(numbers) <= 0) or numbers[-1] > 1e15:
        return None
    columns, at = list[Array](), 1
    for name, count in amc.bones.items():
        if words[at::period].count(name) != frames:
            return None
        for position in range(at + 1, at + 1 + count):
            column = bulk_numbers(words[position::period], frames)
            if column is None:
                return None
            columns.append(column)
        at += 1 + count
    return np.stack(columns, axis=1), int(numbers[0])


def _charge(limits: Limits, frames: int, channels: int) -> None:
    limits.charge("frames", frames)
    limits.charge("values", frames * channels)


def _read_exact(amc: _Amc, limits: Limits) -> tuple[Array, int]:
    """Line by line: comments, blank lines and bones in another order are fine, all else is an error."""
    width = sum(amc.bones.values())
    frames, numbers = list[list[float]](), list[int]()
    frame: dict[str, list[float]] = {}
    begun = amc.start
    for index in range(amc.start, len(amc.lines)):
        words = _words(amc.lines[index])
        if not words:
            continue
        if _is_frame_number(words):
            if numbers:
                frames.append(_row(amc, frame, begun))
                _charge(limits, len(frames), width)
            numbers.append(integer(words[0], amc.file, index + 1))
            if len(numbers) > 1 and numbers[-1] <= numbers[-2]:
                raise FormatError("frame numbers must grow", file=amc.file, line=index + 1)
            frame, begun = {}, index
        else:
            _read_bone(amc, frame, words, index + 1)
    frames.append(_row(amc, frame, begun))
    _charge(limits, len(frames), width)
    return np.array(frames, np.float64).reshape(len(frames), width), numbers[0]


def _read_bone(amc: _Amc, frame: dict[str, list[float]], words: list[str], line: int) -> None:
    name, values = words[0], words[1:]
    if (name not in amc.bones and values) or name in frame:
        raise FormatError(f"{shown(name)} is no bone with freedom, or there twice", file=amc.file, line=line)
    if len(values) != amc.bones.get(name, 0):
        counts = f"{amc.bones.get(name, 0)} values are needed, not {len(values)}"
        raise FormatError(f"bone {shown(name)}: {counts}", file=amc.file, line=line)
    frame[name] = [number(value, amc.file, line) for value in values]


def _row(amc: _Amc, frame: dict[str, list[float]], begun: int) -> list[float]:
    missing = [name for name in amc.bones if name not in frame]
    if missing:
        raise FormatError(f"the frame lacks bone {shown(missing[0])}", file=amc.file, line=begun + 1)
    return [value for name in amc.bones for value in frame[name]]


# Writing.


def write(models: Sequence[Model], stem: str, options: WriteOptions) -> Written:
    """An AMC and its ASF. Rigs that are no bones are laid out as bones; `lost` says what that took."""
    clip, lost = single_clip(models, "AMC"), list[str]()
    if not is_asf(clip.skeleton):
        clip, lost = as_bones(clip)
    dofs: dict[int, list[int]] = {}
    for index, channel in enumerate(clip.skeleton.channels):
        dofs.setdefault(channel.joint, []).append(index)
    asf = write_asf(clip.skeleton, dofs)
    if clip.frame_time != 1 / 120:
        lost.append(f"the frame rate, {clip.fps:.6g} a second: an AMC has none, give it when reading")
    files = {f"{stem}.amc": _amc_text(clip, dofs).encode(), f"{stem}.asf": asf.encode()}
    return Written(files, tuple(lost))


def _amc_text(clip: Clip, dofs: dict[int, list[int]]) -> str:
    unit = ":DEGREES" if clip.skeleton.angle_unit == "deg" else ":RADIANS"
    text = ["#!OML:ASF", ":FULLY-SPECIFIED", unit]
    spans = [(clip.skeleton.joints[j].name, own[0], own[-1] + 1) for j, own in dofs.items()]
    note = clip.skeleton.notes.get(_FIRST_NOTE, "1")
    first = int(note) if note.isascii() and note.isdigit() and len(note) < 18 else 1
    for frame, row in enumerate(clip.values.tolist(), first):
        text.append(str(frame))
        text += [f"{name} {numbers_text(row[start:stop])}" for name, start, stop in spans]
    return "\n".join(text) + "\n"


FORMATS.add(
    "asf-amc",
    Format(id="asf-amc", title="Acclaim ASF/AMC", extensions=(".amc",), read=read, write=write, holds=(Clip,)),
)
