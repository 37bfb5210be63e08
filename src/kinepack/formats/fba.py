"""Bare MPEG-4 FBA streams (`.fba`): body parameters in predictive mode, fitted ranges.

A stream does not name its step table; both directions use the alternative one, since ordinary motion does not fit the
standard's. Frames a second are kept in sixteenths. DCT-coded streams and face parameters are refused.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinepack.entropy import fba
from kinepack.errors import BitstreamError, FormatError, UnsupportedContent
from kinepack.formats.bap_carriers import LARGEST, steps_of
from kinepack.formats.bap_mapping import clip_of, to_baps
from kinepack.formats.base import FORMATS, Format, ReadOptions, Source, WriteOptions, Written
from kinepack.formats.fba_stream import fba_stream, parameters, survey
from kinepack.formats.text import single_clip
from kinepack.model import Clip, Model
from kinepack.transforms.fba_levels import Run, runs

QUANT = 1
DEFAULT_FPS = 30.0
LARGEST_RATE = 255 * 16 + 15


def read(source: Source, options: ReadOptions) -> list[Model]:
    """The one clip of a stream, on the humanoid of `bap_table`."""
    data = source.read()
    options.limits.charge("bytes", len(data))
    try:
        frames, numbers, sixteenths = survey(data, options.limits.frames)
        if not frames or not len(numbers):
            raise FormatError("the stream moves no body parameter", file=source.name)
        options.limits.charge("values", frames * len(numbers))
        values = parameters(data, numbers, table="alternative", frames=frames)
    except BitstreamError as error:
        raise FormatError(error.message, file=source.name) from None
    fps = options.fps or sixteenths / 16 or DEFAULT_FPS
    stem = source.name.rpartition(".")[0]
    return [clip_of(numbers.tolist(), values.astype(np.int64), 1 / fps, stem, notes={})]


def write(models: Sequence[Model], stem: str, options: WriteOptions) -> Written:
    """One I frame, then P frames; another I frame where a difference is out of range."""
    clip = single_clip(models, "FBA")
    track = to_baps(clip, options.bap_mapping)
    numbers = np.array(sorted(track.values), np.int32)
    values = np.stack([track.values[int(number)] for number in numbers], axis=1)
    steps = steps_of("alternative")[numbers - 1].astype(np.int64)
    if np.abs(values).max() >= LARGEST:
        raise UnsupportedContent("a parameter is too large for an FBA stream")
    parts = list(runs(values, steps, fba.largest_level(QUANT)))
    _check(parts, numbers)
    sixteenths = round(clip.fps * 16)
    sixteenths = sixteenths if 0 < sixteenths <= LARGEST_RATE else 0
    lost = [*track.lost, "parameters are rounded to the quantiser's steps"]
    if abs(sixteenths / 16 - clip.fps) > 1e-3:
        lost.append(f"{clip.fps:g} frames a second became {sixteenths / 16:g}" if sixteenths else "the frame rate")
    return Written({f"{stem}.fba": fba_stream(parts, numbers, quant=QUANT, sixteenths=sixteenths)}, tuple(lost))


def _check(parts: Sequence[Run], numbers: np.ndarray[tuple[int, ...], np.dtype[np.int32]]) -> None:
    for part in parts:
        if np.any(part.offsets):
            number = int(numbers[np.flatnonzero(part.offsets)[0]])
            reach = fba.largest_level(QUANT)
            raise UnsupportedContent(f"BAP {number} is more than {reach} steps from zero at frame {part.first}")


FORMATS.add(
    "fba",
    Format(id="fba", title="MPEG-4 FBA stream", extensions=(".fba",), read=read, write=write, holds=(Clip,)),
)
