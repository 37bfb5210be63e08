"""`pca`: principal component analysis of poses, the paper's point of comparison.

P. Beaudoin, P. Poulin, M. van de Panne: Adapting Wavelet Compression to Human Motion Capture Clips. Graphics
Interface 2007, section 3.2.

clip -> angles minus their mean -> the eigenvectors of the largest eigenvalues -> projected poses, root position,
matrix and mean quantised to 16 bits -> DEFLATE (optional)

Deviations, explained in docs/codecs/pca.md:
1. each row of numbers has its own range for the 16 bits;
2. DEFLATE works on byte planes of signals and has no gzip header.
"""

from __future__ import annotations

import struct
import zlib
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
    check_window,
    decode_segments,
    segment_ranges,
    segment_setting,
)
from kinepack.errors import ConfigError, Corrupt, Truncated
from kinepack.limits import DEFAULT_LIMITS, Limits
from kinepack.model import Clip, Model, Skeleton
from kinepack.params import param
from kinepack.transforms.pca import PoseBasis, principal_basis
from kinepack.transforms.planes import join_planes, split_planes

Array = NDArray[np.float64]
SETUP = struct.Struct("<BH")
"""1 if deflated, else 0; number of components."""
LEVELS = 32767


@dataclass(frozen=True)
class Pca(Codec):
    """PCA of the angular channels."""

    id: ClassVar[str] = "pca"
    title: ClassVar[str] = "principal components of poses"
    sources: ClassVar[tuple[type, ...]] = (Clip,)

    components: int = param(12, "eigenvectors kept, at most one per angle", low=1, high=4096, quality="higher")
    gzip: bool = param(True, "DEFLATE, gzip's algorithm, over the setup and each segment")
    segment_s: float = segment_setting(4.0)

    def encode(self, source: Clip, progress: Progress | None = None) -> Stream:
        angles, others = split_channels(source.skeleton)
        basis = principal_basis(source.values[:, angles], min(self.components, len(angles)))
        quantized = _quantized_basis(basis)
        signals = np.hstack([quantized.basis.forward(source.values[:, angles]), source.values[:, others]])
        ranges = _ranges(signals)
        levels = _quantize(signals, ranges)
        setup = SETUP.pack(self.gzip, basis.axes.shape[1]) + _pack(quantized.data + ranges.tobytes(), self.gzip)
        segments = [
            Segment(a, b - a, _pack(_planes(levels[a:b]), self.gzip)) for a, b in segment_ranges(source, self.segment_s)
        ]
        return Stream(source.skeleton, source.frames, source.frame_time, setup, segments, source.name)

    @classmethod
    def decode(cls, stream: Stream, window: Window | None = None, limits: Limits = DEFAULT_LIMITS) -> Model:
        if not isinstance(stream.layout, Skeleton):
            raise Corrupt("a mesh cannot be coded as poses")
        check_window(stream, window, limits)
        angles, others = split_channels(stream.layout)
        basis, ranges, deflate = _read_setup(stream.setup, len(angles), len(others))
        components = basis.axes.shape[1]

        def decode_one(run: Layers) -> NDArray[Any]:
            width = components + len(others)
            limits.charge("values", run.frames * max(width, len(angles) + len(others)))
            plain = _unpack(run.data[0], 2 * run.frames * width, deflate)
            levels = np.frombuffer(join_planes(plain, 2), "<i2").reshape(width, run.frames).T
            signals = _dequantize(levels, ranges)
            matrix = np.empty((run.frames, len(angles) + len(others)))
            matrix[:, angles] = basis.inverse(signals[:, :components])
            matrix[:, others] = signals[:, components:]
            return matrix

        with np.errstate(over="ignore", invalid="ignore"):  # a corrupt range may overflow; model_from tells
            return decode_segments(stream, window, limits, decode_one)


def split_channels(skeleton: Skeleton) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Channels that are rotations, and all others."""
    angles = skeleton.select("rqv")
    return angles, np.setdiff1d(np.arange(len(skeleton.channels)), angles)


@dataclass(frozen=True, eq=False)
class _QuantizedBasis:
    basis: PoseBasis
    """As the decoder will see it."""
    data: bytes


def _quantized_basis(basis: PoseBasis) -> _QuantizedBasis:
    """The matrix in 16 bits of [-1, 1], the mean in 16 bits of its own range."""
    axes = np.round(basis.axes * LEVELS).astype("<i2")
    span = np.float32(np.abs(basis.mean).max(initial=0.0) / LEVELS * (1 + 1e-6))
    if not np.isfinite(span):
        raise ConfigError("the clip's angles are too large for pca")
    mean = np.round(basis.mean / (float(span) or 1.0)).astype("<i2")
    data = np.array([span], "<f4").tobytes() + split_planes(np.concatenate([mean, axes.T.ravel()]))
    return _QuantizedBasis(PoseBasis(mean * float(span), axes / LEVELS), data)


def _ranges(signals: Array) -> NDArray[np.float32]:
    """[2, signals] middle and step of each signal's 16 bits."""
    low, high = signals.min(axis=0), signals.max(axis=0)
    middle = ((low + high) / 2).astype("<f4")
    step = (np.maximum(high - middle, middle - low) / LEVELS * (1 + 1e-6)).astype("<f4")
    if not (np.isfinite(middle).all() and np.isfinite(step).all()):
        raise ConfigError("the clip's numbers are too large for pca")
    return np.stack([middle, step])


def _quantize(signals: Array, ranges: NDArray[np.float32]) -> NDArray[np.int16]:
    middle, step = ranges.astype(np.float64)
    levels = np.round((signals - middle) / np.where(step > 0, step, 1.0))
    return np.asarray(np.clip(levels, -LEVELS, LEVELS), "<i2")


def _dequantize(levels: NDArray[Any], ranges: NDArray[np.float32]) -> Array:
    middle, step = ranges.astype(np.float64)
    return np.asarray(levels * step + middle)


def _read_setup(data: bytes, angles: int, others: int) -> tuple[PoseBasis, NDArray[np.float32], bool]:
    if len(data) < SETUP.size:
        raise Truncated("the codec's setup is not of its size")
    deflate, components = SETUP.unpack_from(data)
    if deflate > 1 or components > angles:
        raise Corrupt("the codec's setup has more components than angles")
    body = _unpack(data[SETUP.size :], 4 + 2 * angles * (components + 1) + 8 * (components + others), bool(deflate))
    span, end = float(np.frombuffer(body, "<f4", 1)[0]), 4 + 2 * angles * (components + 1)
    numbers = np.frombuffer(join_planes(body[4:end], 2), "<i2").astype(np.float64)
    axes = numbers[angles:].reshape(components, angles).T / LEVELS
    ranges = np.frombuffer(body, "<f4", offset=end).reshape(2, components + others)
    return PoseBasis(numbers[:angles] * span, axes), ranges, bool(deflate)


def _planes(levels: NDArray[np.int16]) -> bytes:
    return split_planes(np.ascontiguousarray(levels.T))


def _pack(plain: bytes, deflate: bool) -> bytes:
    if not deflate:
        return plain
    engine = zlib.compressobj(9, zlib.DEFLATED, -15, 9)
    return engine.compress(plain) + engine.flush()


def _unpack(data: bytes, size: int, deflate: bool) -> bytes:
    """Exactly `size` bytes."""
    if deflate:
        engine = zlib.decompressobj(-15)
        try:
            data = engine.decompress(data, size + 1)
        except zlib.error:
            raise Corrupt("DEFLATE data is damaged") from None
    if len(data) != size:
        raise Truncated("a part of the stream is not of its size")
    return data
