"""Turns whatever goes wrong while a file is read into errors that name the file."""

from __future__ import annotations

import functools

import numpy as np

from kinepack.errors import ConfigError, FormatError, KinepackError, UsageError
from kinepack.formats.base import Reader, ReadOptions, Source
from kinepack.limits import Limits
from kinepack.model import Model

_STRAY = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)


def guarded(read: Reader) -> Reader:
    """`read`, but a broken invariant of the model or a slip of the parser is a FormatError of the file."""

    @functools.wraps(read)
    def wrapper(source: Source, options: ReadOptions) -> list[Model]:
        try:
            with np.errstate(all="ignore"):  # what overflows is not finite, and the model refuses that
                return read(source, options)
        except FormatError as error:
            raise error.in_file(source.name) from None
        except ConfigError:
            raise
        except UsageError as error:
            raise FormatError(error.message, file=source.name, hint=error.hint) from None
        except KinepackError:
            raise
        except MemoryError:
            raise FormatError("the file asks for more memory than there is", file=source.name) from None
        except _STRAY as error:
            raise FormatError(f"the file is damaged ({error})", file=source.name) from error

    return wrapper


def read_within(source: Source, limits: Limits) -> bytes:
    """The source's content, charged to the limit on bytes."""
    data = source.read()
    limits.charge("bytes", len(data))
    return data


def frame_time_of(fps: float, *, what: str = "frames per second") -> float:
    """Seconds per frame; FormatError unless the rate is a positive number."""
    if not 0 < fps < float("inf") or 1 / fps == float("inf"):
        raise FormatError(f"{what} should be positive, not {fps}")
    return 1 / fps


def at_most(what: str, declared: int, available: int, *, line: int = 0) -> int:
    """`declared`, if a file with room for `available` of them can hold that many."""
    if not 0 <= declared <= available:
        room = f"there is room for {max(available, 0):,}"
        raise FormatError(f"the file declares {declared:,} {what}, {room}", line=line)
    return declared


def snapped_rate(fps: float) -> float:
    """A rate computed from float32 times, as it was meant: a whole or NTSC rate within 1 in 100,000."""
    for meant in (float(round(fps)), round(fps * 1.001) * 1000 / 1001):
        if meant > 0 and abs(fps - meant) <= 1e-5 * meant:
            return meant
    return fps
