"""`mesh-cpca`: clustered principal component analysis of vertex trajectories.

M. Sattler, R. Sarlette, R. Klein: "Simple and efficient compression of animation sequences", SCA 2005.

mesh -> trajectories (3.1) -> clusters by reconstruction error (3.2) -> eigentrajectories and weights (Eq. 2)
-> second PCA over the eigentrajectories (3.4) -> q_c and q_w bits (3.5)

Deviations: 1. the first partition is by distance to the chosen vertices, before there are basis vectors; 2. clusters
are found on the leading global components; 3. cluster means are off by default, as Eq. 2-5 have none; 4. the second PCA
weighs eigentrajectories by their weights; 5. sorting by cluster also tells the vertices' own order, so that it comes
back. docs/codecs/mesh-cpca.md says more.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinepack.codecs._mesh.fixed_point import Parts, pack_fixed, packed_bytes, peak_of, unpack_fixed
from kinepack.codecs._mesh.labels import decode_by_neighbours, decode_plain, encode_by_neighbours, encode_plain
from kinepack.codecs._mesh.layout import mesh_layout
from kinepack.codecs.base import (
    Codec,
    Layers,
    Progress,
    Segment,
    Stream,
    Topology,
    Window,
    decode_segments,
    segment_ranges,
)
from kinepack.errors import Corrupt
from kinepack.limits import DEFAULT_LIMITS, Limits
from kinepack.model import MeshSequence, Model
from kinepack.params import param
from kinepack.transforms.clustering import Lloyd, cluster, subspace
from kinepack.transforms.mesh_pca import decompose

Array = NDArray[np.float64]
HEADER = struct.Struct("<HIIBBBffff")
"""k, c, c*, q_c, q_w, flags; largest magnitudes of eigentrajectories, weights, second-PCA coefficients, means."""
ORDERED, MEANS = 1, 2
MOST_CLUSTERS = 4096
MOST_COORDINATES = 1 << 25
"""Numbers of all points on all axes that are kept in memory; larger sequences lose their last axes."""


class Header(NamedTuple):
    k: int
    c: int
    c_star: int
    q_c: int
    q_w: int
    flags: int
    peak_e: float
    peak_w: float
    peak_s: float
    peak_m: float


@dataclass(frozen=True, eq=False)
class Clustered:
    """Eq. 2: T_m ≈ means[I_m] + Σ_h weights[m, h] E[I_m, h]."""

    index: NDArray[np.int32]
    means: Array
    """[k, 3F]"""
    eigentrajectories: Array
    """[k, c, 3F]"""
    weights: Array
    """[V, c]"""


@dataclass(frozen=True)
class MeshCpca(Codec):
    """Clustered PCA of vertex trajectories, quantised."""

    id: ClassVar[str] = "mesh-cpca"
    title: ClassVar[str] = "clustered PCA of vertex trajectories (Sattler 2005)"
    sources: ClassVar[tuple[type, ...]] = (MeshSequence,)

    k: int = param(5, "clusters; 0 raises k from 1 until max_error or budget is met", low=0, high=MOST_CLUSTERS)
    c: int = param(10, "components of each cluster", low=1, high=1024, quality="higher")
    c_star: int = param(0, "components of the second PCA over the eigentrajectories, 0 for none", low=0, high=65535)
    q_c: int = param(18, "bits of a component", unit="bit", low=2, high=32)
    q_w: int = param(18, "bits of a weight", unit="bit", low=2, high=32)
    index: str = param("order", "vertices sorted by cluster, or the cluster's bits at each", choices=("order", "bits"))
    means: bool = param(False, "send each cluster's mean trajectory")
    max_error: float = param(0.5, "d_a that an automatic k stops at", unit="%", low=0.0, high=100.0)
    budget: int = param(0, "payload bytes that an automatic k stops at, 0 for any", unit="B", low=0, high=1 << 40)
    starts: int = param(2, "runs of the clustering, each with other first centres", low=1, high=1000)
    seed: int = param(0, "of the first centres", low=0, high=1 << 31)
    face_order: str = param("any", "order of faces in the copy: the cheapest, or as it was", choices=("any", "kept"))
    segment_s: float = param(0.0, "length of a segment of eigentrajectories, 0 for one", unit="s", low=0.0, high=3600.0)

    def encode(self, source: MeshSequence, progress: Progress | None = None) -> Stream:
        if self.k:
            found = analyse(source.vertices, self.k, codec=self, progress=progress)
        else:
            found = self._raise_k(source, progress)
        return self._pack(source, found)

    def _raise_k(self, source: MeshSequence, progress: Progress | None) -> Clustered:
        """Section 3.2: k = 1, 2, … while the error is too large and the bytes still allow one more."""
        most = min(32, source.vertices.shape[1])
        spread = motion_spread(source.vertices)
        best = analyse(source.vertices, 1, codec=self)
        for k in range(2, most + 1):
            if 100 * np.sqrt(squared_error(source.vertices, best)) <= self.max_error * spread:
                break
            further = analyse(source.vertices, k, codec=self)
            if self.budget and self._pack(source, further).payload_bytes > self.budget:
                break
            best = further
            if progress:
                progress(k / most)
        return best

    def _pack(self, source: MeshSequence, found: Clustered) -> Stream:
        k, c, length = found.eigentrajectories.shape
        rows, second = found.eigentrajectories.reshape(k * c, length), np.zeros((k * c, 0))
        c_star = self.c_star if self.c_star < min(rows.shape) else 0
        if c_star:
            rows, second = _compress_eigentrajectories(rows, c_star, _importance(found))
        q_rows = self.q_w if c_star else self.q_c  # Eq. 5 gives the new eigenvectors q_w bits, their weights q_c
        peaks = [peak_of(part) for part in (rows, found.weights, second, found.means)]
        flags = ORDERED * (self.index == "order") | MEANS * self.means
        order = _order(found.index, flags)
        sort = flags & ORDERED
        index = encode_by_neighbours(found.index, source.faces, k) if sort else encode_plain(found.index, k)
        setup = HEADER.pack(k, c, c_star, self.q_c, self.q_w, flags, *peaks)
        setup += pack_fixed(found.weights[order], peaks[1], self.q_w) + pack_fixed(second, peaks[2], self.q_c) + index
        segments = []
        for a, b in segment_ranges(source, self.segment_s):
            data = pack_fixed(_by_frame(rows, a, b), peaks[0], q_rows)
            data += pack_fixed(_by_frame(found.means, a, b), peaks[3], self.q_c) if self.means else b""
            segments.append(Segment(a, b - a, data))
        layout = mesh_layout(source, self.face_order)
        return Stream(layout, source.frames, source.frame_time, setup, segments, source.name)

    @classmethod
    def decode(cls, stream: Stream, window: Window | None = None, limits: Limits = DEFAULT_LIMITS) -> Model:
        head, index, weights, second = _read_setup(stream, limits)
        members = [np.flatnonzero(index == j) for j in range(head.k)]
        assert isinstance(stream.layout, Topology)
        vertices = stream.layout.vertices

        def decode_one(run: Layers) -> NDArray[np.float32]:
            rows, means = _read_segment(run, head, limits)
            if head.c_star:
                rows = second @ rows
            out = np.empty((run.frames, vertices, 3), np.float32)
            with np.errstate(all="ignore"):  # a corrupt peak may overflow; model_from tells
                for j, mine in enumerate(members):
                    part = weights[mine] @ rows[:, j * head.c : (j + 1) * head.c]
                    out[:, mine] = part + means[:, j, None] if head.flags & MEANS else part
            return out.reshape(run.frames, -1)

        return decode_segments(stream, window, limits, decode_one)


def analyse(
    vertices: NDArray[np.float32], k: int, *, codec: MeshCpca, progress: Callable[[float], None] | None = None
) -> Clustered:
    """Steps 1 to 5 of section 3.2, then the weights of Eq. 2."""
    points, axes = _coordinates(vertices, max(40 + 4 * codec.c, MOST_COORDINATES // vertices.shape[1]))
    how = Lloyd(min(codec.c, points.shape[1]), centred=codec.means)
    leading = points[:, : max(40, 4 * codec.c)]
    index = cluster(leading, k, how=how, seed=codec.seed, starts=codec.starts, step=progress).index
    k = int(index.max()) + 1
    means, basis = np.zeros((k, points.shape[1])), np.zeros((k, how.components, points.shape[1]))
    weights = np.zeros((len(points), how.components))
    for j in range(k):
        mine = index == j
        means[j], found = subspace(points[mine], how.components, centred=how.centred)
        basis[j, : len(found)] = found
        weights[mine] = (points[mine] - means[j]) @ basis[j].T
    return Clustered(index, means @ axes, basis @ axes, weights)


def motion_spread(vertices: NDArray[np.float32]) -> float:
    """The denominator of d_a (section 3.3)."""
    average = vertices.mean(axis=0, dtype=np.float64)
    return float(np.sqrt(sum(((frame - average) ** 2).sum() for frame in vertices)))


def squared_error(vertices: NDArray[np.float32], found: Clustered) -> float:
    """Sum of squares that the clustered basis leaves."""
    total = 0.0
    for j, (mean, rows) in enumerate(zip(found.means, found.eigentrajectories, strict=True)):
        mine = np.flatnonzero(found.index == j)
        paths = vertices[:, mine].transpose(1, 0, 2).reshape(len(mine), -1)
        total += float(((paths - mean - found.weights[mine] @ rows) ** 2).sum())
    return total


def payload_parts(stream: Stream) -> dict[str, int]:
    """Bytes of the terms of Eq. 3-5: weights, basis and means, and what the cluster index takes."""
    head = Header(*HEADER.unpack(stream.setup[: HEADER.size]))
    vertices, frames = stream.layout.vertices, stream.frames  # type: ignore[union-attr]
    weights = packed_bytes(vertices * head.c, head.q_w)
    second = packed_bytes(head.k * head.c * head.c_star, head.q_c)
    means = packed_bytes(3 * frames * head.k, head.q_c) if head.flags & MEANS else 0
    rows = sum(len(s.data) for s in stream.segments) - means
    index = len(stream.setup) - HEADER.size - weights - second
    return {"basis": rows + second, "weights": weights, "means": means, "index": index, "header": HEADER.size}


def _coordinates(vertices: NDArray[np.float32], most: int) -> tuple[Array, Array]:
    """Trajectories as points [V, d] on orthonormal axes [d, 3F] that hold all of them, the origin at zero."""
    found = decompose(vertices, min(3 * vertices.shape[0], vertices.shape[1], most))
    along = found.basis @ found.mean
    rest = found.mean - along @ found.basis
    size = float(np.linalg.norm(rest))
    axis = rest / size if size else np.zeros_like(rest)
    points = np.concatenate([np.full((len(found.weights), 1), size), found.weights + along], axis=1)
    return points, np.concatenate([axis[None], found.basis])


def _importance(found: Clustered) -> Array:
    """[k c, 1] norm of the weights that each eigentrajectory is multiplied with."""
    k, c, _ = found.eigentrajectories.shape
    energy = np.zeros((k, c))
    np.add.at(energy, found.index, found.weights**2)
    return np.sqrt(energy).reshape(k * c, 1)


def _compress_eigentrajectories(rows: Array, c_star: int, importance: Array) -> tuple[Array, Array]:
    """Section 3.4: k c rows -> c* new eigenvectors [c*, 3F] and the coefficients [k c, c*] on them."""
    _, basis = subspace(rows * importance, c_star, centred=False)
    padded = np.zeros((c_star, rows.shape[1]))
    padded[: len(basis)] = basis
    return padded, rows @ padded.T


def _order(index: NDArray[np.int32], flags: int) -> NDArray[np.intp]:
    """The order in which weights are stored."""
    return np.argsort(index, kind="stable") if flags & ORDERED else np.arange(len(index))


def _by_frame(rows: Array, start: int, stop: int) -> Array:
    """[rows, 3F] -> [frames, rows, 3]"""
    return rows[:, 3 * start : 3 * stop].reshape(len(rows), -1, 3).transpose(1, 0, 2)


def _read_setup(stream: Stream, limits: Limits) -> tuple[Header, NDArray[np.int32], Array, Array]:
    """Header, cluster index [V], weights [V, c] in vertex order, second-PCA coefficients [k c, c*]."""
    assert isinstance(stream.layout, Topology)
    parts, vertices = Parts(stream.setup), stream.layout.vertices
    head = Header(*HEADER.unpack(parts.take(HEADER.size)))
    if not (1 <= head.k <= MOST_CLUSTERS and 2 <= head.q_c <= 32 and 2 <= head.q_w <= 32 and head.flags < 4):
        raise Corrupt("the setup of mesh-cpca makes no sense")
    limits.charge("values", head.k * head.c * max(head.c_star, 1))
    packed = parts.take(packed_bytes(vertices * head.c, head.q_w))
    weights = unpack_fixed(packed, (vertices, head.c), peak=head.peak_w, bits=head.q_w, limits=limits)
    shape = (head.k * head.c, head.c_star)
    packed = parts.take(packed_bytes(shape[0] * shape[1], head.q_c))
    second = unpack_fixed(packed, shape, peak=head.peak_s, bits=head.q_c, limits=limits)
    rest = parts.data[parts.at :]
    ordered = head.flags & ORDERED
    index = (
        decode_by_neighbours(rest, stream.layout.faces, vertices, head.k)
        if ordered
        else decode_plain(rest, vertices, head.k)
    )
    restored = np.empty_like(weights)
    restored[_order(index, head.flags)] = weights
    return head, index, restored, second


def _read_segment(run: Layers, head: Header, limits: Limits) -> tuple[Array, Array]:
    """Rows [frames, c* or k c, 3] and means [frames, k, 3]."""
    parts = Parts(run.data[0])
    count, bits = (head.c_star, head.q_w) if head.c_star else (head.k * head.c, head.q_c)
    packed = parts.take(packed_bytes(run.frames * count * 3, bits))
    rows = unpack_fixed(packed, (run.frames, count, 3), peak=head.peak_e, bits=bits, limits=limits)
    shape = (run.frames, head.k if head.flags & MEANS else 0, 3)
    packed = parts.take(packed_bytes(shape[0] * shape[1] * 3, head.q_c))
    means = unpack_fixed(packed, shape, peak=head.peak_m, bits=head.q_c, limits=limits)
    parts.finish()
    return rows, means
