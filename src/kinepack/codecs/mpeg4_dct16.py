"""`mpeg4-dct16`: DCT segments of sixteen frames, MPEG-4-style, with an entropy coder of our own.

clip -> BAP integers -> DCT over 16 frames per parameter -> step Q for DC, Q / 3 for AC -> DC predicted -> range coder

After the outline of the DCT mode of ISO/IEC 14496-2 face and body animation. Deviations:

1. The standard's Huffman tables, its DCT scale for BAPs and its normalisation were not at hand. Levels go through the
   adaptive integer coder, and the DCT is scaled such that DC is the mean over the sixteen frames.
2. Channels that no BAP is named after ride on free BAPs (`formats.bap_carriers`).
3. A last block of fewer than sixteen frames is filled up with its last frame.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cache
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
    segment_ranges,
    segment_setting,
    width_of,
)
from kinepack.entropy import fba
from kinepack.entropy.models import IntegerModel
from kinepack.entropy.range_coder import decode_integers, encode_integers
from kinepack.errors import ConfigError, Corrupt, Truncated
from kinepack.formats.bap_carriers import TABLES, carriers_of
from kinepack.limits import DEFAULT_LIMITS, Limits
from kinepack.model import Clip, Model, Skeleton
from kinepack.params import param

SETUP = struct.Struct("<BB")
"""Step table, bap_quant."""
BLOCK = 16
LEVELS_PER_BYTE = 25000
"""More than the surest zeros a byte can hold: no probability is over 1 - 2^-12."""
AC_FINER = 3
MODEL = IntegerModel(rate=5, zero=0.7)


@dataclass(frozen=True)
class Mpeg4Dct16(Codec):
    """Quantised DCT coefficients of sixteen frames."""

    id: ClassVar[str] = "mpeg4-dct16"
    title: ClassVar[str] = "16-frame DCT segments, MPEG-4-style with our own entropy coder"
    sources: ClassVar[tuple[type, ...]] = (Clip,)

    bap_quant: int = param(1, "quantiser scale of the standard's table", low=1, high=31, quality="lower")
    steps: str = param("alternative", "step table", choices=TABLES)
    segment_s: float = segment_setting()

    def encode(self, source: Clip, progress: Progress | None = None) -> Stream:
        carriers = carriers_of(source.skeleton)
        integers = carriers.to_integers(source.values)
        steps = _steps(carriers.steps(self.steps), self.bap_quant)
        segments = []
        for start, stop in segment_ranges(source, self.segment_s):
            levels = _predict(_quantize(_forward(integers[start:stop]), steps))
            segments.append(
                Segment(start, stop - start, encode_integers(levels.ravel(), _contexts(levels.shape), model=MODEL))
            )
        setup = SETUP.pack(TABLES.index(self.steps), self.bap_quant)
        return Stream(source.skeleton, source.frames, source.frame_time, setup, segments, source.name)

    @classmethod
    def decode(cls, stream: Stream, window: Window | None = None, limits: Limits = DEFAULT_LIMITS) -> Model:
        if len(stream.setup) != SETUP.size or not isinstance(stream.layout, Skeleton):
            raise Corrupt("the codec's setup is not of its size")
        table, quant = SETUP.unpack(stream.setup)
        if table >= len(TABLES) or not 1 <= quant < len(fba.SCALES):
            raise Corrupt("the setup names no quantiser")
        carriers, width = carriers_of(stream.layout), width_of(stream.layout)
        steps = _steps(carriers.steps(TABLES[table]), quant)

        def decode_one(run: Layers) -> NDArray[Any]:
            shape = (-(-run.frames // BLOCK), width, BLOCK)
            count = limits.charge("values", shape[0] * width * BLOCK)
            if count > LEVELS_PER_BYTE * (len(run.data[0]) + 8):
                raise Truncated("a segment is too short for its frames")
            levels = decode_integers(run.data[0], count, _contexts(shape), model=MODEL)
            return carriers.to_values(_inverse(_unpredict(levels.reshape(shape)) * steps)[: run.frames])

        return decode_segments(stream, window, limits, decode_one)


@cache
def _basis() -> NDArray[np.float64]:
    """[16 frequencies, 16 frames] DCT-II over 4, so that the first coefficient is the mean."""
    frequency, frame = np.arange(BLOCK)[:, None], np.arange(BLOCK)[None]
    return np.asarray(
        np.cos(np.pi * frequency * (2 * frame + 1) / (2 * BLOCK)) * np.where(frequency, 2**0.5, 1) / BLOCK
    )


def _steps(steps: NDArray[np.int32], quant: int) -> NDArray[np.float64]:
    """[channels, 16]"""
    q = steps[:, None].astype(np.float64) * fba.SCALES[quant]
    return np.concatenate([q, np.repeat(q / AC_FINER, BLOCK - 1, axis=1)], axis=1)


def _forward(integers: NDArray[np.int64]) -> NDArray[np.float64]:
    """[blocks, channels, 16] coefficients of [frames, channels]."""
    padded = np.pad(integers, ((0, -len(integers) % BLOCK), (0, 0)), mode="edge")
    blocks = padded.reshape(-1, BLOCK, integers.shape[1]).transpose(0, 2, 1)
    return np.asarray(blocks @ _basis().T)


def _inverse(coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
    """[blocks * 16, channels]; the basis times its transpose is the identity over 16."""
    blocks = coefficients @ (_basis() * BLOCK)
    return np.asarray(blocks.transpose(0, 2, 1).reshape(-1, coefficients.shape[1]))


def _quantize(coefficients: NDArray[np.float64], steps: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.rint(coefficients / steps).astype(np.int64)


def _predict(levels: NDArray[np.int64]) -> NDArray[np.int32]:
    """DC of a block less that of the block before."""
    residual = levels.copy()
    residual[1:, :, 0] -= levels[:-1, :, 0]
    if np.abs(residual).max() >= 1 << 31:
        raise ConfigError("a number is too large for 32-bit levels", hint="use a larger bap_quant or mpeg4-float")
    return residual.astype(np.int32)


def _unpredict(residual: NDArray[np.int32]) -> NDArray[np.int64]:
    levels = residual.astype(np.int64)
    levels[:, :, 0] = np.cumsum(levels[:, :, 0], axis=0)
    return levels


def _contexts(shape: tuple[int, ...]) -> NDArray[np.int32]:
    """[values, 2] the frequency, and the frequency of this channel; their predictions are mixed."""
    channel, frequency = np.mgrid[: shape[1], :BLOCK].astype(np.int32)
    pair = np.stack([frequency, BLOCK + channel * BLOCK + frequency], axis=-1).reshape(-1, 2)
    return np.tile(pair, (shape[0], 1))
