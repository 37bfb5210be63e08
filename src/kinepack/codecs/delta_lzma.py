"""`delta-lzma`: fifteen lines of numpy, done properly; the bar every clever codec must clear.

source -> round to a step -> second difference over time -> zigzag, channel-major byte planes -> LZMA2
"""

from __future__ import annotations

import lzma
import struct
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
from kinepack.errors import ConfigError, Corrupt, Truncated
from kinepack.limits import DEFAULT_LIMITS, Limits
from kinepack.model import Clip, Model, Skeleton
from kinepack.params import param
from kinepack.transforms.planes import join_planes, split_planes

SETUP = struct.Struct("<dB")
"""Step of a clip (or, for a mesh, in units of length); order of the differences."""
LARGEST_LEVEL = 1 << 58


@dataclass(frozen=True)
class DeltaLzma(Codec):
    """Second differences of rounded numbers through LZMA."""

    id: ClassVar[str] = "delta-lzma"
    title: ClassVar[str] = "rounded second differences through LZMA"

    step: float = param(
        0.1,
        "quantiser step: degrees and centimetres in clips, thousandths of the bounding box diagonal in meshes",
        low=1e-9,
        high=1e4,
        quality="lower",
    )
    order: int = param(2, "how often differences over time are taken", low=0, high=3)
    segment_s: float = segment_setting()

    def encode(self, source: Model, progress: Progress | None = None) -> Stream:
        layout = layout_of(source)
        step = self.step if isinstance(source, Clip) else self.step * _diagonal(source.vertices) / 1000
        levels = _quantize(matrix_of(source), _steps(layout, step))
        segments = [
            Segment(a, b - a, _pack(_forward(levels[a:b], self.order)))
            for a, b in segment_ranges(source, self.segment_s)
        ]
        setup = SETUP.pack(step, self.order)
        return Stream(layout, source.frames, source.frame_time, setup, segments, source.name)

    @classmethod
    def decode(cls, stream: Stream, window: Window | None = None, limits: Limits = DEFAULT_LIMITS) -> Model:
        if len(stream.setup) != SETUP.size:
            raise Truncated("the codec's setup is not of its size")
        step, order = SETUP.unpack(stream.setup)
        steps, width = _steps(stream.layout, step), width_of(stream.layout)

        def decode_one(run: Layers) -> NDArray[Any]:
            with np.errstate(over="ignore", invalid="ignore"):  # a corrupt step may overflow; model_from tells
                return _inverse(_unpack(run.data[0], run.frames, width), order) * steps

        return decode_segments(stream, window, limits, decode_one)


def _steps(layout: Layout, step: float) -> NDArray[np.float64] | float:
    """[channels] step in each channel's own unit: `step` degrees of rotation, centimetres, or per cent."""
    if not isinstance(layout, Skeleton):
        return step
    degree = np.pi / 180
    by_kind = {
        "t": step / layout.unit_cm,
        "r": step * degree / layout.radians_per_angle,
        "v": step * degree,
        "q": step * degree / 2,  # a turn by a moves a unit quaternion by a / 2
        "s": step / 100,
    }
    kinds = (c.kind for c in layout.channels)
    return np.array([step / 100 if k == "scalar" else by_kind[k[0]] for k in kinds])


def _diagonal(vertices: NDArray[Any]) -> float:
    low, high = vertices.min(axis=(0, 1)), vertices.max(axis=(0, 1))
    return float(np.linalg.norm(high.astype(float) - low)) or 1.0


def _quantize(values: NDArray[Any], steps: NDArray[np.float64] | float) -> NDArray[np.int64]:
    levels = np.round(values.astype(np.float64) / steps)
    if np.abs(levels).max(initial=0) > LARGEST_LEVEL:
        raise ConfigError("the step is too fine for numbers this large", hint="use a larger step or a lossless codec")
    return levels.astype(np.int64)


def _forward(levels: NDArray[np.int64], order: int) -> NDArray[np.int64]:
    for _ in range(order):
        levels = np.diff(levels, axis=0, prepend=np.zeros_like(levels[:1]))
    return levels


def _inverse(differences: NDArray[np.int64], order: int) -> NDArray[np.int64]:
    for _ in range(order):
        differences = np.cumsum(differences, axis=0)
    return differences


def _pack(differences: NDArray[np.int64]) -> bytes:
    """Bytes an item (1), then the LZMA2 data of the zigzag numbers' byte planes, channel by channel."""
    zigzag = ((differences << 1) ^ (differences >> 63)).view(np.uint64)
    itemsize = next(n for n in (1, 2, 4, 8) if n == 8 or zigzag.max(initial=0) < 1 << 8 * n)
    planes = split_planes(np.ascontiguousarray(zigzag.T.astype(f"<u{itemsize}")))
    return bytes([itemsize]) + lzma.compress(planes, lzma.FORMAT_RAW, filters=_filters(len(planes)))


def _unpack(data: bytes, frames: int, width: int) -> NDArray[np.int64]:
    """Inverse of `_pack`: [frames, width]."""
    itemsize = data[0] if data else 0
    if itemsize not in (1, 2, 4, 8):
        raise Corrupt("a segment has items of no known size")
    planes = _decompress(data[1:], frames * width * itemsize)
    items = np.frombuffer(join_planes(planes, itemsize), f"<u{itemsize}").reshape(width, frames)
    zigzag = items.T.astype(np.uint64)
    return (zigzag >> np.uint64(1)).view(np.int64) ^ -(zigzag & np.uint64(1)).view(np.int64)


def _filters(size: int) -> list[dict[str, int]]:
    """LZMA2 whose dictionary fits the data, so that a decoder allocates no more than it must."""
    dictionary = max(4096, min(1 << max(size - 1, 1).bit_length(), 1 << 26))
    return [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": dictionary, "pb": 0}]


def _decompress(data: bytes, size: int) -> bytes:
    engine = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=_filters(size))
    try:
        plain = engine.decompress(data, max_length=size)
    except lzma.LZMAError:
        raise Corrupt("a segment's LZMA data is damaged") from None
    if len(plain) != size:
        raise Truncated("a segment's LZMA data is cut short")
    return plain
