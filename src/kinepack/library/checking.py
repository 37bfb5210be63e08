"""Whether a library is whole: every chunk, every segment, and what its catalogue says of them."""

from __future__ import annotations

from typing import NamedTuple

from kinepack.codecs.base import Progress
from kinepack.errors import BitstreamError, KinepackError
from kinepack.library.opened import Library


class Fault(NamedTuple):
    """Something in a library that is not as it should be."""

    clip: str
    reason: str


def verify(library: Library, progress: Progress | None = None) -> list[Fault]:
    """Decodes everything; the faults found, none if the library is whole."""
    faults = []
    for number in range(len(library)):
        faults += _clip_faults(library, number)
        if progress:
            progress((number + 1) / len(library))
    return faults


def _clip_faults(library: Library, number: int) -> list[Fault]:
    listed = library.listed[number]
    try:
        clip = library.reader[number]
        record = clip.record
        told = (listed.name, listed.frames, listed.frame_time, listed.codec, listed.static)
        static = record.static if isinstance(record.static, int) else -1
        if told != (record.name, record.frames, record.frame_time, record.codec, static):
            return [Fault(listed.name, "the catalogue and the clip do not agree")]
        return [Fault(listed.name, f"frames from {entry.first}: {reason}") for entry, reason in clip.damage()]
    except BitstreamError as error:
        return [Fault(listed.name, error.message)]
    except KinepackError as error:  # such as a codec that needs a package that is not there
        return [Fault(listed.name, f"cannot be checked: {error.message}")]
