"""`kine-mesh`: principal components of trajectories, weights predicted coarse to fine over the mesh.

Past Sattler 2005 (one basis of eigentrajectories, Eq. 2 with a mean); docs/codecs/kine-mesh.md is its paper.

mesh -> mean and components above the noise of the step -> cosine transform over time, quantised -> weights refitted to
the decoded basis -> each vertex predicted from a coarser mesh by weights that reproduce the components before ->
rate-distortion quantiser -> context-mixed range coder
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels._mesh import Hierarchy, mesh_decode, mesh_encode
from kinepack.codecs._mesh.fixed_point import Parts
from kinepack.codecs._mesh.layout import mesh_layout
from kinepack.codecs._mesh.skin import REST, Bones, CodedSkin, bone_motions, decode_bones, encode_skin, skin_weights
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
from kinepack.entropy.range_coder import decode_integers, encode_integers
from kinepack.errors import ConfigError, Corrupt
from kinepack.limits import DEFAULT_LIMITS, Limits
from kinepack.model import MeshSequence, Model
from kinepack.params import param
from kinepack.transforms import mesh_basis
from kinepack.transforms.mesh_pca import decompose, project
from kinepack.transforms.mesh_weights import LAGRANGIAN, dequantize_weights, hierarchy_of, quantize_weights

Array = NDArray[np.float64]
HEADER = struct.Struct("<fHH")
"""Step D in units of length times sqrt(frames), negative if there is a skin; components; bytes of the coded scales."""
OCTAVE = 8
"""A component's scale is 2^(n / 8)."""
LARGEST_LEVEL = 1 << 22
BONES, FEWER_BONES = (14, 20, 28), (8,)
"""Numbers of bones that are tried in turn as long as each is better than the one before; then fewer."""
HOPELESS = 1.2
"""A skin that costs this much more than none ends the search."""
MOST_SKINNED = 1 << 21
"""Numbers of a source above which no skin is looked for unasked: it takes seconds at each step."""


@dataclass(frozen=True)
class KineMesh(Codec):
    """Trajectory PCA with everything predicted, quantised by rate and distortion, and context-mixed."""

    id: ClassVar[str] = "kine-mesh"
    version: ClassVar[int] = 2
    title: ClassVar[str] = "trajectory PCA predicted over the mesh, the default for meshes"
    sources: ClassVar[tuple[type, ...]] = (MeshSequence,)

    step: float = param(
        1.0,
        "quantiser step of a component's share in a frame, thousandths of the bounding box diagonal",
        low=1e-5,
        high=1e3,
        quality="lower",
    )
    bones: int = param(-1, "bones of a skin, 0 for none, -1 for as many as make the file smaller", low=-1, high=255)
    cut: float = param(0.25, "components with an RMS weight below this part of a step are left out", low=0.0, high=10.0)
    descend: bool = param(True, "quantise by rate and distortion, not by rounding")
    face_order: str = param("any", "order of faces in the copy: the cheapest, or as it was", choices=("any", "kept"))
    segment_s: float = param(0.0, "length of a segment, 0 for up to 512 frames", unit="s", low=0.0, high=600.0)

    def encode(self, source: MeshSequence, progress: Progress | None = None) -> Stream:
        step = self._step_of(source)
        if self.bones > 0:
            return self._encode(source, step, self._skin(source, step, self.bones))
        best = self._encode(source, step, None)
        if progress:
            progress(0.3)
        if self.bones < 0 and source.frames > 1 and source.vertices.size <= MOST_SKINNED:
            best = self._try_skins(source, step, best, progress)
        return best

    def _try_skins(self, source: MeshSequence, step: float, plain: Stream, progress: Progress | None) -> Stream:
        """More bones as long as they pay; the smaller by rate and distortion stays."""
        best, none = plain, _cost(source, plain, step)
        least = before = none
        bones, fewer = list(BONES), list(FEWER_BONES)
        while bones and 8 * bones[0] <= source.vertices.shape[1]:
            tried = self._encode(source, step, self._skin(source, step, bones.pop(0)))
            cost = _cost(source, tried, step)
            if cost > HOPELESS * none:
                break
            if cost < least:
                best, least = tried, cost
            if cost > before and len(bones) < len(BONES) - 1:
                bones, fewer = fewer, []
            before = cost
            if progress:
                progress(1 - 0.7 * len(bones) / len(BONES))
        return best

    def _skin(self, source: MeshSequence, step: float, bones: int) -> CodedSkin:
        tree = hierarchy_of(source.faces, source.vertices.shape[1])
        return encode_skin(source.vertices, bones, step=step, ranges=_ranges(source, self.segment_s), tree=tree)

    def _step_of(self, source: MeshSequence) -> float:
        return float(np.float32(self.step / 1000 * _diagonal(source.vertices) * np.sqrt(source.frames)))

    def _encode(self, source: MeshSequence, step: float, skin: CodedSkin | None) -> Stream:
        """What the skin leaves, or all, as components."""
        count = source.vertices.shape[1]
        vertices = source.vertices
        if skin:
            vertices = np.asarray(vertices - skin.paths.transpose(1, 0, 2), np.float32)
        found = decompose(vertices, min(3 * source.frames, count, 65535), floor=self.cut * step * np.sqrt(count))
        exponents = np.rint(OCTAVE * np.log2(np.maximum(found.scales, step))).astype(np.int32)
        rows = np.concatenate([found.mean[None] * np.sqrt(count), found.basis * _scales(exponents)[:, None]])
        _check_range(rows, step)
        ranges = _ranges(source, self.segment_s)
        levels = [mesh_basis.quantize(mesh_basis.forward(rows[:, 3 * a : 3 * b]), step) for a, b in ranges]
        weights, kept = _refit(vertices, levels, step, exponents)
        _check_range(weights, step)
        tree = hierarchy_of(source.faces, count)
        rest = skin.rest if skin else None
        weight_levels = quantize_weights(tree, weights / step, descend=self.descend, after=rest)[0]
        rows_kept = np.repeat(np.concatenate([[True], kept]), 3)
        setup = _pack_setup(tree, step, exponents[kept], weight_levels, skin)
        segments = []
        for n, ((a, b), part) in enumerate(zip(ranges, levels, strict=True)):
            part = part[rows_kept]
            if skin:
                part = np.concatenate([part[:3], skin.track_levels[n], part[3:]])
            segments.append(Segment(a, b - a, mesh_basis.encode_levels(part)))
        layout = mesh_layout(source, self.face_order)
        return Stream(layout, source.frames, source.frame_time, setup, segments, source.name)

    @classmethod
    def decode(cls, stream: Stream, window: Window | None = None, limits: Limits = DEFAULT_LIMITS) -> Model:
        layout = stream.layout
        assert isinstance(layout, Topology)
        head = _read_header(Parts(stream.setup))
        bones = stream.setup[HEADER.size] if head.skinned and len(stream.setup) > HEADER.size else 0
        limits.charge("values", (head.components + 4 * bones + REST) * layout.vertices)
        fixed = _decode_setup(stream.setup, layout.faces.tobytes(), layout.vertices, stream.frames)

        def decode_one(run: Layers) -> NDArray[np.float32]:
            limits.charge("values", 3 * (head.components + 4 * bones + 1) * run.frames)
            if run.frames > mesh_basis.LONGEST:
                raise Corrupt(f"a segment has {run.frames} frames, more than {mesh_basis.LONGEST}")
            rows = 3 * (head.components + 2 * bones + 1)
            basis = mesh_basis.inverse(mesh_basis.decode_levels(run.data[0], rows, run.frames), head.step)
            with np.errstate(all="ignore"):  # a corrupt step may overflow; model_from tells
                basis = fixed.with_motions(basis)
                paths = basis.transpose(0, 2, 1).reshape(3 * run.frames, -1) @ fixed.weights.T
                frames = paths.reshape(run.frames, 3, -1).transpose(0, 2, 1)
                return np.asarray(frames, np.float32).reshape(run.frames, -1)

        return decode_segments(stream, window, limits, decode_one)


class Header(NamedTuple):
    step: float
    components: int
    scale_bytes: int
    skinned: bool


def _read_header(parts: Parts) -> Header:
    step, components, size = HEADER.unpack(parts.take(HEADER.size))
    if not 0 < abs(step) < float("inf"):
        raise Corrupt("the step of kine-mesh is not a number")
    return Header(abs(step), components, size, step < 0)


def _pack_setup(
    tree: Hierarchy, step: float, exponents: NDArray[np.int32], levels: NDArray[np.int32], skin: CodedSkin | None
) -> bytes:
    if skin:
        exponents = np.concatenate([skin.exponents, exponents])
        levels = np.concatenate([skin.rest_levels, levels])
    scales = encode_integers(np.diff(exponents, prepend=np.int32(0)))
    components = len(levels) - (REST if skin else 0)
    head = HEADER.pack(-step if skin else step, components, len(scales))
    return head + (skin.setup if skin else b"") + scales + mesh_encode(tree, levels)


@dataclass(frozen=True, eq=False)
class Fixed:
    """What all segments share."""

    weights: Array
    """[V, 1 + 4 B + c] what the mean, the rows of the bones' motions and the basis are multiplied with"""
    bones: Bones | None
    scales: Array
    """[2 B] of the turns and offsets of bones"""

    def with_motions(self, rows: Array) -> Array:
        """Rows by frame [frames, 1 + 2 B + c, 3]: turns and offsets become motions, four rows a bone."""
        if self.bones is None:
            return rows
        end = 1 + len(self.scales)
        motions = bone_motions(self.bones.tree, rows[:, 1:end] / self.scales[:, None])
        flat = motions.transpose(1, 0, 2, 3).reshape(len(rows), -1, 3)
        return np.concatenate([rows[:, :1], flat, rows[:, end:]], axis=1)


@lru_cache(maxsize=2)
def _decode_setup(setup: bytes, faces: bytes, vertices: int, frames: int) -> Fixed:
    """Kept, so that seeking is cheap."""
    parts = Parts(setup)
    head = _read_header(parts)
    tree, unit = hierarchy_of(np.frombuffer(faces, np.int32).reshape(-1, 3), vertices), head.step / np.sqrt(frames)
    bones = decode_bones(parts, tree, unit) if head.skinned else None
    tracks, rest = (2 * bones.count, REST) if bones else (0, 0)
    coded, count = parts.take(head.scale_bytes), tracks + head.components
    exponents = np.cumsum(decode_integers(coded, count)) if count else np.zeros(0, np.int64)
    levels = mesh_decode(tree, parts.data[parts.at :], rest + head.components)
    with np.errstate(all="ignore"):  # scales and levels that no encoder writes may overflow; model_from tells
        found, scales = dequantize_weights(tree, levels), _scales(exponents)
        columns = [np.full((vertices, 1), 1 / np.sqrt(vertices)), found[:, rest:] * (head.step / scales[tracks:])]
        if bones:
            columns.insert(1, skin_weights(bones, found[:, :rest] * unit))
        weights = np.concatenate(columns, axis=1)
    weights.setflags(write=False)
    return Fixed(weights, bones, scales[:tracks])


def _cost(source: MeshSequence, stream: Stream, step: float) -> float:
    """Squared error in squared steps, and what the bytes weigh."""
    copy = KineMesh.decode(stream)
    assert isinstance(copy, MeshSequence)
    miss = sum(
        float(((a.astype(np.float64) - b) ** 2).sum()) for a, b in zip(source.vertices, copy.vertices, strict=True)
    )
    return miss / step**2 + 8 * LAGRANGIAN * stream.payload_bytes


def _scales(exponents: NDArray[Any]) -> Array:
    return np.asarray(2.0 ** (exponents / OCTAVE))


def _ranges(source: MeshSequence, seconds: float) -> list[Window]:
    """Segments of equal length, none longer than a transform may be."""
    wanted = segment_ranges(source, seconds)
    if wanted[0][1] <= mesh_basis.LONGEST:
        return wanted
    count = -(-source.frames // mesh_basis.LONGEST)
    size = -(-source.frames // count)
    return [(a, min(a + size, source.frames)) for a in range(0, source.frames, size)]


def _refit(
    vertices: NDArray[np.float32], levels: list[NDArray[np.int32]], step: float, exponents: NDArray[np.int32]
) -> tuple[Array, NDArray[np.bool_]]:
    """Least-squares weights [V, c] on the decoded rows over their scales, and which rows are not all zero."""
    parts = [mesh_basis.inverse(part, step).transpose(1, 0, 2) for part in levels]
    rows = np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)
    mean, basis = rows[0] / np.sqrt(vertices.shape[1]), rows[1:] / _scales(exponents)[:, None]
    kept = np.asarray(np.abs(basis).sum(axis=1) > 0)
    return project(vertices, basis[kept], mean), kept


def _check_range(numbers: Array, step: float) -> None:
    if np.abs(numbers).max(initial=0.0) > LARGEST_LEVEL * step:
        raise ConfigError("the step is too fine for a mesh this large", hint="use a larger step or a lossless codec")


def _diagonal(vertices: NDArray[np.float32]) -> float:
    """Of the largest bounding box of any one frame; a single point has its largest coordinate."""
    sides = max(float(np.linalg.norm(np.ptp(frame.astype(np.float64), axis=0))) for frame in vertices)
    return sides or max(float(np.abs(vertices).max()), 1e-6)
