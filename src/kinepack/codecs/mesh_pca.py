"""`mesh-pca`: principal components of whole frames, quantised.

M. Alexa, W. Müller: "Representing animations by principal components", Computer Graphics Forum 19(3), 2000;
quantised as in section 3.5 of Sattler 2005, which compares against it.

mesh -> frames about their centroids -> mean shape and c eigenshapes -> q_c bits a component, q_w bits a weight

Deviations: 1. frames are aligned by translation, not by an affine map.
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
from kinepack.errors import Corrupt
from kinepack.limits import DEFAULT_LIMITS, Limits
from kinepack.model import MeshSequence, Model
from kinepack.params import param
from kinepack.transforms.frame_pca import analyse_frames, synthesise_frames

HEADER = struct.Struct("<IBBffff")
"""c, q_c, q_w; largest magnitudes of mean shape, eigenshapes, weights, centroids."""


@dataclass(frozen=True)
class MeshPca(Codec):
    """PCA over frames, quantised."""

    id: ClassVar[str] = "mesh-pca"
    title: ClassVar[str] = "PCA of whole frames (Alexa and Müller 2000)"
    sources: ClassVar[tuple[type, ...]] = (MeshSequence,)

    c: int = param(20, "components", low=1, high=65535, quality="higher")
    q_c: int = param(18, "bits of a component", unit="bit", low=2, high=32)
    q_w: int = param(18, "bits of a weight", unit="bit", low=2, high=32)
    segment_s: float = param(0.0, "length of a segment of weights, 0 for one", unit="s", low=0.0, high=3600.0)

    def encode(self, source: MeshSequence, progress: Progress | None = None) -> Stream:
        found = analyse_frames(source.vertices, self.c)
        peaks = [peak_of(part) for part in (found.mean, found.shapes, found.weights, found.centroids)]
        setup = HEADER.pack(len(found.shapes), self.q_c, self.q_w, *peaks)
        setup += pack_fixed(found.mean, peaks[0], self.q_c) + pack_fixed(found.shapes, peaks[1], self.q_c)
        segments = []
        for a, b in segment_ranges(source, self.segment_s):
            data = pack_fixed(found.weights[a:b], peaks[2], self.q_w)
            data += pack_fixed(found.centroids[a:b], peaks[3], self.q_w)
            segments.append(Segment(a, b - a, data))
        return Stream(layout_of(source), source.frames, source.frame_time, setup, segments, source.name)

    @classmethod
    def decode(cls, stream: Stream, window: Window | None = None, limits: Limits = DEFAULT_LIMITS) -> Model:
        assert isinstance(stream.layout, Topology)
        parts, width = Parts(stream.setup), 3 * stream.layout.vertices
        c, q_c, q_w, *peaks = HEADER.unpack(parts.take(HEADER.size))
        if not (2 <= q_c <= 32 and 2 <= q_w <= 32):
            raise Corrupt("the setup of mesh-pca makes no sense")
        packed = parts.take(packed_bytes(width, q_c))
        mean = unpack_fixed(packed, (width,), peak=peaks[0], bits=q_c, limits=limits)
        packed = parts.take(packed_bytes(c * width, q_c))
        shapes = unpack_fixed(packed, (c, width), peak=peaks[1], bits=q_c, limits=limits)
        parts.finish()

        def decode_one(run: Layers) -> NDArray[np.float32]:
            data = Parts(run.data[0])
            packed = data.take(packed_bytes(run.frames * c, q_w))
            weights = unpack_fixed(packed, (run.frames, c), peak=peaks[2], bits=q_w, limits=limits)
            packed = data.take(packed_bytes(run.frames * 3, q_w))
            centroids = unpack_fixed(packed, (run.frames, 3), peak=peaks[3], bits=q_w, limits=limits)
            data.finish()
            return synthesise_frames(weights, shapes, mean=mean, centroids=centroids)

        return decode_segments(stream, window, limits, decode_one)
