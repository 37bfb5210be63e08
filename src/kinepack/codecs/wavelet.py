"""`wavelet`: standard truncated wavelet compression of joint angles.

P. Beaudoin, P. Poulin, M. van de Panne: Adapting Wavelet Compression to Human Motion Capture Clips. Graphics
Interface 2007, section 4.

clip -> cubic interpolating wavelets by lifting -> the kn/r largest coefficients of all signals, angles scaled by
bone length -> 16-bit codes, widest wavelets first, with codes for zero runs and ends of signals -> DEFLATE (optional)

Deviations, explained in docs/codecs/wavelet.md:
1. steps follow the largest dropped coefficient (`precision`), where the paper spreads 16 bits over a signal's range;
2. coefficients over 15 bits take three codes;
3. DEFLATE works on byte planes and has no gzip header;
4. clips over `segment_s` are cut into segments that are transformed apart.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kinepack.codecs.base import (
    Codec,
    Progress,
    Segment,
    Stream,
    Window,
    by_name,
    check_window,
    chosen_channels,
    model_from,
    segment_ranges,
    segment_setting,
)
from kinepack.entropy.coefficient_codes import Part, decode_block, encode_block
from kinepack.errors import Corrupt, Truncated
from kinepack.limits import DEFAULT_LIMITS, Limits
from kinepack.model import Clip, Skeleton
from kinepack.params import param
from kinepack.transforms import wavelet_window as wavelet
from kinepack.transforms.wavelet_selection import (
    Quantized,
    channel_scale,
    full_range_steps,
    keep_largest,
    quantize,
    standard_scores,
)

Array = NDArray[np.float64]
SETUP = struct.Struct("<B")
"""1 if blocks are deflated, else 0."""
FINER = 256
"""How much finer than 16 bits over a signal's range steps may become."""


def gzip_setting() -> Any:
    """The paper's optional last step."""
    return param(True, "DEFLATE, gzip's algorithm, over each segment")


def longest_segment_setting() -> Any:
    """Long enough for the widest wavelets that pay."""
    return segment_setting(32.0, "longest segment, 0 for one segment")


@dataclass(frozen=True)
class WaveletCodec(Codec):
    """What the codecs with this stream share: decoding, whole, by window and by joint."""

    sources: ClassVar[tuple[type, ...]] = (Clip,)

    @classmethod
    def decode(cls, stream: Stream, window: Window | None = None, limits: Limits = DEFAULT_LIMITS) -> Clip:
        skeleton = clip_skeleton(stream)
        everything = np.arange(len(skeleton.channels), dtype=np.int32)
        model = model_from(stream, decode_signals(stream, everything, window, limits))
        assert isinstance(model, Clip)
        return model

    @classmethod
    def decode_channels(
        cls,
        stream: Stream,
        joints: Iterable[str | int],
        window: Window | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> dict[str, Array]:
        chosen = chosen_channels(stream.layout, joints)
        return by_name(stream.layout, chosen, decode_signals(stream, chosen, window, limits))


@dataclass(frozen=True)
class Wavelet(WaveletCodec):
    """Standard wavelet compression."""

    id: ClassVar[str] = "wavelet"
    title: ClassVar[str] = "truncated cubic wavelets of joint angles"

    ratio: float = param(
        12.0, "r: one of how many coefficients is kept; files are about twice that much smaller",
        low=1.0, high=2000.0, quality="lower",
    )  # fmt: skip
    precision: float = param(
        2.0, "quantiser steps in the largest dropped coefficient; 0: 16 bits over each signal's range, as the paper",
        low=0.0, high=1000.0,
    )  # fmt: skip
    gzip: bool = gzip_setting()
    segment_s: float = longest_segment_setting()

    def encode(self, source: Clip, progress: Progress | None = None) -> Stream:
        scale = channel_scale(source.skeleton)
        runs = [wavelet.forward(source.values[a:b]) for a, b in segment_ranges(source, self.segment_s)]
        scores = [standard_scores(coefficients, scale) for coefficients in runs]
        kept = standard_selection(scores, self.ratio)
        theta = largest_dropped(scores, kept)
        quantized = [self._quantize(c, k, theta, scale) for c, k in zip(runs, kept, strict=True)]
        return wavelet_stream(source, self.segment_s, quantized, deflate=self.gzip)

    def _quantize(self, coefficients: Array, kept: NDArray[np.bool_], theta: float, scale: Array) -> Quantized:
        steps = full_range_steps(coefficients, kept, scale)
        if self.precision and theta:
            steps = np.maximum(theta / self.precision, steps / FINER)
        return quantize(coefficients, kept, steps, scale)


def standard_selection(scores: Sequence[Array], ratio: float) -> list[NDArray[np.bool_]]:
    """The kn/r largest coefficients of all signals and segments, at least one."""
    total = sum(s.size for s in scores)
    mask = keep_largest(np.concatenate([s.ravel() for s in scores]), max(1, round(total / ratio)))
    parts = np.split(mask, np.cumsum([s.size for s in scores])[:-1])
    return [part.reshape(s.shape) & (s > 0) for part, s in zip(parts, scores, strict=True)]


def largest_dropped(scores: Sequence[Array], kept: Sequence[NDArray[np.bool_]]) -> float:
    """The highest score of a coefficient that is not kept, in centimetres."""
    return max(float(np.where(k, 0.0, s).max(initial=0.0)) for s, k in zip(scores, kept, strict=True))


def wavelet_stream(source: Clip, segment_s: float, runs: Sequence[Quantized], *, deflate: bool) -> Stream:
    """The stream of quantised segments."""
    segments = [
        Segment(a, b - a, encode_block(run.levels, run.codes, deflate=deflate))
        for (a, b), run in zip(segment_ranges(source, segment_s), runs, strict=True)
    ]
    return Stream(source.skeleton, source.frames, source.frame_time, SETUP.pack(deflate), segments, source.name)


def clip_skeleton(stream: Stream) -> Skeleton:
    if not isinstance(stream.layout, Skeleton):
        raise Corrupt("a mesh cannot be coded as joint angles")
    return stream.layout


def decode_signals(stream: Stream, channels: NDArray[np.int32], window: Window | None, limits: Limits) -> Array:
    """[window, channels] of the chosen channels, from the coefficients that the window needs."""
    skeleton = clip_skeleton(stream)
    if len(stream.setup) != SETUP.size or stream.setup[0] > 1:
        raise Truncated("the codec's setup is not of its size")
    scale, deflate = channel_scale(skeleton), bool(stream.setup[0])
    columns = np.full(len(scale), -1, np.int32)
    columns[channels] = np.arange(len(channels))

    def decode_one(data: bytes, frames: int, inner: Window) -> Array:
        needed = wavelet.ranges(frames, inner)
        part = Part(frames, wavelet.depth(frames), needed, columns, len(channels))
        coefficients = decode_block(data, part, scale=scale, deflate=deflate, limits=limits)
        return wavelet.inverse_window(coefficients, frames, needed, inner)

    return decode_runs(stream, check_window(stream, window, limits), len(channels), decode_one)


def decode_runs(stream: Stream, window: Window, width: int, decode_one: Callable[[bytes, int, Window], Array]) -> Array:
    """[window, width]: `decode_one(data, frames, inner)` gives frames `inner` of one segment."""
    start, stop = window
    out: NDArray[Any] = np.empty((stop - start, width))
    filled = 0
    for segment in stream.segments:
        low, high = max(segment.first, start), min(segment.first + segment.frames, stop)
        if low < high:
            inner = (low - segment.first, high - segment.first)
            out[low - start : high - start] = decode_one(segment.data, segment.frames, inner)
            filled += high - low
    if filled != stop - start:
        raise Corrupt("the stream's segments do not cover the asked frames")
    return out
