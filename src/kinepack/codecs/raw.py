"""`raw`: the numbers as they are, to prove the interface and to compare with.

source -> little-endian float64 (clips) or float32 (meshes), frame by frame, in segments of about a second
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kinepack.codecs.base import (
    Codec,
    Layers,
    Layout,
    Progress,
    Segment,
    Stream,
    Window,
    decode_segments,
    layout_of,
    matrix_of,
    segment_ranges,
    segment_setting,
    width_of,
)
from kinepack.errors import Corrupt
from kinepack.limits import DEFAULT_LIMITS, Limits
from kinepack.model import Model, Skeleton


def stored_dtype(layout: Layout) -> np.dtype[Any]:
    """What a source's numbers are exact in."""
    return np.dtype("<f8" if isinstance(layout, Skeleton) else "<f4")


@dataclass(frozen=True)
class Raw(Codec):
    """Uncompressed numbers."""

    id: ClassVar[str] = "raw"
    title: ClassVar[str] = "uncompressed numbers"
    lossless: ClassVar[bool] = True

    segment_s: float = segment_setting(1.0, "length of a segment")

    def encode(self, source: Model, progress: Progress | None = None) -> Stream:
        layout = layout_of(source)
        matrix = matrix_of(source).astype(stored_dtype(layout))
        segments = [Segment(a, b - a, matrix[a:b].tobytes()) for a, b in segment_ranges(source, self.segment_s)]
        return Stream(layout, source.frames, source.frame_time, b"", segments, source.name)

    @classmethod
    def decode(cls, stream: Stream, window: Window | None = None, limits: Limits = DEFAULT_LIMITS) -> Model:
        def decode_one(run: Layers) -> NDArray[Any]:
            return numbers_from(run.data[0], stored_dtype(stream.layout), width_of(stream.layout))

        return decode_segments(stream, window, limits, decode_one)


def numbers_from(data: bytes, dtype: np.dtype[Any], width: int) -> NDArray[Any]:
    """[frames, width] of a segment's plain bytes."""
    if width == 0 or len(data) % (dtype.itemsize * width):
        raise Corrupt("a segment does not hold whole frames")
    return np.frombuffer(data, dtype).reshape(-1, width)
