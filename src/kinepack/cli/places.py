"""Inputs and outputs: what can be checked before any work is done is checked here."""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinepack.errors import IOFailure, UnsupportedContent, UsageError

if TYPE_CHECKING:
    from kinepack.model import Model
    from kinepack.reader import ClipReader, Reader

KINE = ".kine"


def is_kine(place: str | Path) -> bool:
    return str(place).lower().endswith(KINE)


@dataclass(frozen=True)
class Reading:
    """What the command line says about reading."""

    skeleton: str | None = None
    skeleton_ref: Path | None = None
    unit_cm: float | None = None
    fps: float | None = None
    mesh: bool = False

    def options(self, place: str) -> dict[str, Any]:
        """Keywords of `kinepack.read` for a place; a .kine file's skeleton is kept in another .kine file."""
        skeleton = self.skeleton_ref or self.skeleton if is_kine(place) else self.skeleton
        return {"skeleton": skeleton, "unit_cm": self.unit_cm, "fps": self.fps, "mesh": self.mesh}

    def read_all(self, place: str) -> list[Model]:
        from kinepack.api import read_all

        models = read_all(place, **self.options(place))
        if not models:
            raise _no_clip()
        return models

    def read(self, place: str, clip: str | None = None) -> Model:
        """One clip, by its name or number; the first if none is named."""
        models = self.read_all(place)
        names = [model.name for model in models]
        if clip is None:
            return models[0]
        if clip in names:
            return models[names.index(clip)]
        if clip.isdecimal() and int(clip) < len(models):
            return models[int(clip)]
        raise UsageError(f"{place} has no clip {clip!r}", hint="clips: " + ", ".join(names[:20]))


def _no_clip() -> UsageError:
    return UsageError("the file holds a skeleton and no clip", hint="other files refer to it with --skeleton-ref")


def pick(file: Reader, clip: str | None) -> list[ClipReader]:
    """The clips of an open file that `--clip` asks for."""
    if not len(file):
        raise _no_clip()
    if clip is None:
        return file.clips()
    return [file[int(clip) if clip not in file and clip.isdecimal() else clip]]


def check_kine_input(place: str) -> None:
    if not is_kine(place):
        raise UsageError(f"{place} is not a .kine file", hint="other formats are turned by: kinepack convert A B")


def check_output(path: Path, *extensions: str) -> None:
    """Raises unless a file of one of the extensions (any, if none) can be made there."""
    if extensions and path.suffix.lower() not in extensions:
        hint = "other formats are written by: kinepack convert A B" if KINE in extensions else ""
        raise UsageError(f"the output {path} should end in {' or '.join(extensions)}", hint=hint)
    if path.is_dir():
        raise IOFailure(f"the output {path} is a folder", hint="name a file in it")
    folder = path.parent
    if not folder.exists():
        raise IOFailure(f"no such folder: {folder}", hint=f"make it with: mkdir -p {folder}")
    if not folder.is_dir():
        raise IOFailure(f"{folder} is not a folder")
    if not os.access(folder, os.W_OK):
        raise IOFailure(f"cannot write into {folder}: permission denied")


def check_format_output(path: Path) -> None:
    """Raises unless some format writes files of that extension and the file can be made."""
    from kinepack.formats.base import FORMATS, formats_for

    if is_kine(path):
        raise UsageError("a .kine file is made by compress", hint="kinepack compress IN -o OUT.kine")
    if not any(f.write for f in formats_for(path.name)):
        known = sorted({e for key in FORMATS if FORMATS[key].write for e in FORMATS[key].extensions})
        near = difflib.get_close_matches(path.suffix.lower(), known, n=2)
        hint = f"did you mean: {', '.join(near)}" if near else f"there are: {', '.join(known)}"
        raise UnsupportedContent(f"no format writes {path.suffix or path.name!r}", hint=hint)
    check_output(path)
