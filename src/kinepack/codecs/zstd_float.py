"""`zstd-float`: lossless, what a careful programmer does with a float array.

source -> float64 or float32 in channel-major byte planes -> Zstandard, a frame of it per segment
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kinepack.codecs.base import (
    Codec,
    Layers,
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
from kinepack.codecs.raw import numbers_from, stored_dtype
from kinepack.errors import ConfigError, Corrupt
from kinepack.limits import DEFAULT_LIMITS, Limits
from kinepack.model import Model
from kinepack.params import param
from kinepack.transforms.planes import join_planes, split_planes


@dataclass(frozen=True)
class ZstdFloat(Codec):
    """Byte planes of the floats through Zstandard."""

    id: ClassVar[str] = "zstd-float"
    title: ClassVar[str] = "lossless floats through Zstandard"
    lossless: ClassVar[bool] = True

    level: int = param(19, "Zstandard level", low=1, high=22)
    segment_s: float = segment_setting()

    def encode(self, source: Model, progress: Progress | None = None) -> Stream:
        zstd, layout = _zstandard(), layout_of(source)
        matrix = matrix_of(source).astype(stored_dtype(layout))
        engine = zstd.ZstdCompressor(level=self.level, write_checksum=False, write_content_size=True)
        segments = [
            Segment(a, b - a, engine.compress(split_planes(np.ascontiguousarray(matrix[a:b].T))))
            for a, b in segment_ranges(source, self.segment_s)
        ]
        return Stream(layout, source.frames, source.frame_time, b"", segments, source.name)

    @classmethod
    def decode(cls, stream: Stream, window: Window | None = None, limits: Limits = DEFAULT_LIMITS) -> Model:
        dtype, width = stored_dtype(stream.layout), width_of(stream.layout)

        def decode_one(run: Layers) -> NDArray[Any]:
            plain = _decompress(run.data[0], run.frames * width * dtype.itemsize)
            channel_major = numbers_from(join_planes(plain, dtype.itemsize), dtype, run.frames)
            return np.ascontiguousarray(channel_major.T)

        return decode_segments(stream, window, limits, decode_one)


def _zstandard() -> Any:
    try:
        import zstandard
    except ImportError:
        raise ConfigError("zstd-float needs zstandard", hint='pip install "kinepack[zstd]"') from None
    return zstandard


def _decompress(data: bytes, size: int) -> bytes:
    """Exactly `size` bytes; the size a frame declares is compared before anything is allocated."""
    zstd = _zstandard()
    try:
        declared = zstd.frame_content_size(data)
        if declared != size:
            raise Corrupt("a segment's Zstandard frame is not of its declared size")
        plain: bytes = zstd.ZstdDecompressor().decompress(data, max_output_size=size)
    except zstd.ZstdError:
        raise Corrupt("a segment's Zstandard frame is damaged") from None
    return plain
