"""`mesh-pca-lpc`: principal components of whole frames, their weights predicted over time.

Z. Karni, C. Gotsman: "Compression of soft-body animation sequences", Computers & Graphics 28, 2004.

mesh -> frames about their centroids -> mean shape and c eigenshapes, q_c bits -> weights, q_w bits -> linear
prediction of order m -> adaptive range coder

Deviations: 1. the authors quantise residuals, here levels are predicted from levels, so that errors do not build up;
2. residuals are range coded with a model for each component; 3. frames are aligned by translation only.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kinepack.codecs._mesh.fixed_point import Parts, pack_fixed, packed_bytes, peak_of, unpack_fixed
from kinepack.codecs.base import (
    Codec,
    Layers,
    Progress,
    Segment,
    Stream,
    Topology,
    Window,
    decode_segments,
    layout_of,
    segment_ranges,
)
from kinepack.entropy.models import IntegerModel
from kinepack.entropy.range_coder import decode_integers, encode_integers
from kinepack.errors import Corrupt
from kinepack.limits import DEFAULT_LIMITS, Limits
from kinepack.model import MeshSequence, Model
from kinepack.params import param
from kinepack.transforms.frame_pca import analyse_frames, synthesise_frames
from kinepack.transforms.linear_prediction import LARGEST, fit_predictors, forward, inverse

HEADER = struct.Struct("<IBBBffd")
"""c, q_c, m, spare; largest magnitudes of mean shape and eigenshapes; step of weights and centroids."""
CONTEXTS = 64
MODEL = IntegerModel(rate=5, escape=8)


@dataclass(frozen=True)
class MeshPcaLpc(Codec):
    """PCA over frames with linear prediction of the weights."""

    id: ClassVar[str] = "mesh-pca-lpc"
    title: ClassVar[str] = "PCA of whole frames with linear prediction (Karni and Gotsman 2004)"
    sources: ClassVar[tuple[type, ...]] = (MeshSequence,)

    c: int = param(20, "components", low=1, high=65535, quality="higher")
    q_c: int = param(18, "bits of a component", unit="bit", low=2, high=32)
    q_w: int = param(18, "bits of the largest weight", unit="bit", low=2, high=28)
    order: int = param(2, "past frames that a weight is predicted from", low=0, high=8)
    segment_s: float = param(0.0, "length of a segment of weights, 0 for one", unit="s", low=0.0, high=3600.0)

    def encode(self, source: MeshSequence, progress: Progress | None = None) -> Stream:
        found = analyse_frames(source.vertices, self.c)
        tracks = np.concatenate([found.weights, found.centroids], axis=1)
        step = 2 * peak_of(tracks) / (1 << self.q_w) or 1.0
        levels = np.rint(tracks / step).astype(np.int64)
        predictors = fit_predictors(levels, self.order)
        peaks = [peak_of(part) for part in (found.mean, found.shapes)]
        setup = HEADER.pack(len(found.shapes), self.q_c, self.order, 0, *peaks, step)
        setup += pack_fixed(found.mean, peaks[0], self.q_c) + pack_fixed(found.shapes, peaks[1], self.q_c)
        setup += predictors.astype("<i4").tobytes()
        segments = [
            Segment(a, b - a, _code(forward(levels[a:b], predictors)))
            for a, b in segment_ranges(source, self.segment_s)
        ]
        return Stream(layout_of(source), source.frames, source.frame_time, setup, segments, source.name)

    @classmethod
    def decode(cls, stream: Stream, window: Window | None = None, limits: Limits = DEFAULT_LIMITS) -> Model:
        assert isinstance(stream.layout, Topology)
        parts, width = Parts(stream.setup), 3 * stream.layout.vertices
        c, q_c, order, spare, *peaks, step = HEADER.unpack(parts.take(HEADER.size))
        if not 2 <= q_c <= 32 or order > 8 or spare:
            raise Corrupt("the setup of mesh-pca-lpc makes no sense")
        packed = parts.take(packed_bytes(width, q_c))
        mean = unpack_fixed(packed, (width,), peak=peaks[0], bits=q_c, limits=limits)
        packed = parts.take(packed_bytes(c * width, q_c))
        shapes = unpack_fixed(packed, (c, width), peak=peaks[1], bits=q_c, limits=limits)
        predictors = np.frombuffer(parts.take(4 * (c + 3) * order), "<i4").reshape(c + 3, order)
        parts.finish()
        if np.abs(predictors.astype(np.int64)).max(initial=0) > LARGEST:
            raise Corrupt("a predictor of mesh-pca-lpc is out of range")

        def decode_one(run: Layers) -> NDArray[np.float32]:
            limits.charge("values", run.frames * (c + 3))
            residuals = decode_integers(run.data[0], run.frames * (c + 3), _contexts(run.frames, c + 3), model=MODEL)
            levels = inverse(residuals.astype(np.int64).reshape(run.frames, c + 3), predictors)
            with np.errstate(all="ignore"):  # a corrupt step may overflow; model_from tells
                tracks = levels * step
            return synthesise_frames(tracks[:, :c], shapes, mean=mean, centroids=tracks[:, c:])

        return decode_segments(stream, window, limits, decode_one)


def _code(residuals: NDArray[np.int64]) -> bytes:
    rows, columns = residuals.shape
    return encode_integers(residuals.ravel().astype(np.int32), _contexts(rows, columns), model=MODEL)


def _contexts(rows: int, columns: int) -> NDArray[np.int32]:
    """Each of the leading components has a model of its own; the centroid comes last."""
    one = np.minimum(np.arange(columns), CONTEXTS - 1).astype(np.int32)
    return np.tile(one, rows)
