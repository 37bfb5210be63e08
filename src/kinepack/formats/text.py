"""What the text formats share: lines, exact numbers in both directions, errors with file and line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import PurePosixPath
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from kinepack.errors import FormatError, IOFailure, UnsupportedContent, UsageError
from kinepack.formats.base import ReadOptions
from kinepack.limits import Limits
from kinepack.math import rig, rotation
from kinepack.model import Clip, Model

BLANK = " \t\v\f"
"""Blanks inside a line. Wider Unicode blanks may be part of a joint's name."""

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_NUMERIC_BYTES = b"0123456789+-.eE"


@dataclass(frozen=True)
class BytesSource:
    """A file in memory, with the files that lie beside it."""

    name: str
    data: bytes
    beside: Mapping[str, bytes] = field(default_factory=dict)

    def read(self) -> bytes:
        return self.data

    def neighbours(self) -> Sequence[str]:
        return sorted({self.name, *self.beside})

    def neighbour(self, name: str) -> bytes:
        if name not in self.neighbours():
            raise IOFailure(f"there is no {name!r} beside {self.name!r}")
        return self.data if name == self.name else self.beside[name]


# Reading.


def lines_of(data: bytes, file: str, limits: Limits) -> list[str]:
    """The lines of a UTF-8 text, whatever ends them; element i is line i + 1."""
    limits.charge("bytes", len(data))
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError("this is not UTF-8 text", file=file, line=line) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise FormatError("this is a binary file, not text", file=file, line=line)
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def stem_of(name: str) -> str:
    """A file name without its last extension."""
    return PurePosixPath(name).stem


@contextmanager
def model_errors(file: str, line: int = 0) -> Iterator[None]:
    """The model's own refusals, told as faults of the file."""
    try:
        yield
    except UsageError as error:
        raise FormatError(error.message, file=file, line=line, hint=error.hint) from None


def number(token: str, file: str, line: int) -> float:
    """A finite decimal number."""
    value = float(token) if _NUMBER.fullmatch(token) else float("nan")
    if not np.isfinite(value):
        raise FormatError(f"{shown(token)} is not a finite number", file=file, line=line)
    return value


def vector(tokens: Sequence[str], file: str, line: int) -> tuple[float, float, float]:
    """Exactly three numbers."""
    if len(tokens) != 3:
        raise FormatError(f"three numbers are needed, not {len(tokens)}", file=file, line=line)
    x, y, z = (number(token, file, line) for token in tokens)
    return x, y, z


def integer(token: str, file: str, line: int) -> int:
    """A whole number of at most 18 digits."""
    if not _INTEGER.fullmatch(token):
        raise FormatError(f"{shown(token)} is not a whole number", file=file, line=line)
    return int(token)


def shown(token: str) -> str:
    """A token as an error message may show it: quoted, and cut when it is long."""
    return repr(token if len(token) <= 40 else token[:37] + "...")


def bulk_numbers(tokens: Iterable[str], count: int) -> NDArray[np.float64] | None:
    """`count` finite numbers, fast; None if any token is not one, for the caller to find and name."""
    tokens = list(tokens)
    try:
        if "".join(tokens).encode("ascii").translate(None, _NUMERIC_BYTES):
            return None
        values = np.fromiter(map(float, tokens), np.float64, count)
    except ValueError:  # not ASCII, or not a number; float() alone would accept "1_0" and other digits
        return None
    return values if np.isfinite(values).all() else None


def table(rows: Sequence[tuple[int, list[str]]], width: int, file: str) -> NDArray[np.float64]:
    """[rows, width] from (line number, tokens) pairs."""
    for line, tokens in rows:
        if len(tokens) != width:
            raise FormatError(f"{width} values are needed, not {len(tokens)}", file=file, line=line)
    values = bulk_numbers(chain.from_iterable(tokens for _, tokens in rows), len(rows) * width)
    if values is None:
        _blame(rows, file)
    return values.reshape(len(rows), width)


def _blame(rows: Sequence[tuple[int, list[str]]], file: str) -> NoReturn:
    for line, tokens in rows:
        for token in tokens:
            number(token, file, line)
    raise FormatError("a value is not a number", file=file)


def option_frame_time(options: ReadOptions, default: float) -> float:
    """Seconds a frame from `options.fps`, or the default."""
    if options.fps is None:
        return default
    if not (np.isfinite(options.fps) and options.fps > 0):
        raise UsageError(f"frames per second must be positive, not {options.fps}")
    return 1 / options.fps


# Writing.


def number_text(value: float) -> str:
    """The shortest text that parses back to the same float; whole numbers without ".0"."""
    return repr(float(value)).removesuffix(".0")


def numbers_text(values: Iterable[float]) -> str:
    return " ".join(number_text(value) for value in values)


def shortest(value: float, inverse: float) -> str:
    """The shortest text t with inverse / float(t) == value; the nearest where no float has that quotient."""
    guess = inverse / value
    for digits in range(1, 18):
        text = f"{guess:.{digits}g}"
        if float(text) > 0 and inverse / float(text) == value:
            return number_text(float(text))
    # Two roundings move the quotient of quotients by up to two floats.
    near = [float(guess + step * np.spacing(guess)) for step in (-2, -1, 1, 2)]
    return number_text(next((g for g in near if g > 0 and inverse / g == value), guess))


def single_clip(models: Sequence[Model], title: str) -> Clip:
    """The one clip a file of this format can hold."""
    if len(models) != 1:
        raise UnsupportedContent(f"{title} holds one clip a file, not {len(models)}")
    clip = models[0]
    if not isinstance(clip, Clip):
        raise UnsupportedContent(f"{title} holds skeletal motion, not meshes")
    return clip


def safe_name(name: str, taken: set[str], bad: str) -> str:
    """`name` with every match of the pattern `bad` as "_", and a suffix where it is taken already."""
    clean = re.sub(bad, "_", name) or "_"
    unique, count = clean, 1
    while unique in taken:
        count += 1
        unique = f"{clean}_{count}"
    taken.add(unique)
    return unique


def without_channels(clip: Clip, drop: set[int]) -> Clip:
    """The clip with some channels, by index, left out."""
    keep = [i for i in range(len(clip.skeleton.channels)) if i not in drop]
    if not keep:
        raise UnsupportedContent("the format has no place for any of the clip's channels")
    skeleton = replace(clip.skeleton, channels=tuple(clip.skeleton.channels[i] for i in keep))
    return replace(clip, skeleton=skeleton, values=clip.values[:, keep])


def plain_euler(clip: Clip, title: str, *, limits: bool = False) -> tuple[Clip, list[str]]:
    """The clip as joints with Euler degrees and translations that replace offsets, and what that loses.

    Joints that have that form already keep their exact numbers. `limits`: it keeps limits, but no scales.
    """
    skeleton, lost = clip.skeleton, list[str]()
    unheld = ("scalar", "sx", "sy", "sz") if limits else ("scalar",)
    scalars = {index for index, channel in enumerate(skeleton.channels) if channel.kind in unheld}
    if scalars:
        lost.append(f"{len(scalars)} scalar and scale channels, which {title} has no place for")
        clip = without_channels(clip, scalars)
    if any(joint.rest_scale != (1.0, 1.0, 1.0) for joint in skeleton.joints):
        lost.append("constant scales of joints")
    if not limits and any(channel.limit for channel in skeleton.channels):
        lost.append(f"joint limits, which {title} has no place for")
    framed = any(any(joint.axis_deg) for joint in skeleton.joints)
    if framed:
        lost.append("axis frames: joints that have one get Euler angles without it, the pose stays")
    if skeleton.translation == "add" or framed or np.any(skeleton.tips):
        clip = rig.to_plain(clip)
    if _has_other_rotations(clip):
        lost.append("quaternions and rotation vectors: they become Euler angles, the pose stays")
        clip = rig.to_euler(clip, None, rests=True)
    return _in_degrees(clip), lost


def _has_other_rotations(clip: Clip) -> bool:
    """Whether something turns that is no Euler channel."""
    skeleton = clip.skeleton
    turned = {channel.joint for channel in skeleton.channels if channel.kind[0] == "r"}
    rests = (index for index, joint in enumerate(skeleton.joints) if joint.rest != rotation.IDENTITY)
    return bool(skeleton.select("qv").size) or any(index not in turned for index in rests)


def _in_degrees(clip: Clip) -> Clip:
    if clip.skeleton.angle_unit == "deg":
        return clip
    values, columns = clip.values.copy(), clip.skeleton.select("r")
    values[:, columns] = np.degrees(values[:, columns])
    return replace(clip, skeleton=replace(clip.skeleton, angle_unit="deg"), values=values)
