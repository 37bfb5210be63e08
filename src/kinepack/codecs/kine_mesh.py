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
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels._mesh import mesh_decode, mesh_encode
from kinepack.codecs._mesh.fixed_point import Parts
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
from kinepack.entropy.range_coder import decode_integers, encode_integers
from kinepack.errors import ConfigError, Corrupt
from kinepack.limits import DEFAULT_LIMITS, Limits
from kinepack.model import MeshSequence, Model
from kinepack.params import param
from kinepack.transforms import mesh_basis
from kinepack.transforms.mesh_pca import decompose, project
from kinepack.transforms.mesh_weights import dequantize_weights, hierarchy_of, quantize_weights

Array = NDArray[np.float64]
HEADER = struct.Struct("<fHH")
"""Step D in units of length times sqrt(frames); components; bytes of the coded scales."""
OCTAVE = 8
"""A component's scale is 2^(n / 8)."""
LARGEST_LEVEL = 1 << 22


@dataclass(frozen=True)
class KineMesh(Codec):
    """Trajectory PCA with everything predicted, quantised by rate and distortion, and context-mixed."""

    id: ClassVar[str] = "kine-mesh"
    title: ClassVar[str] = "trajectory PCA predicted over the mesh, the default for meshes"
    sources: ClassVar[tuple[type, ...]] = (MeshSequence,)

    step: float = param(
        1.0,
        "quantiser step of a component's share in a frame, thousandths of the bounding box diagonal",
        low=1e-5,
        high=1e3,
        quality="lower",
    )
    cut: float = param(0.25, "components with an RMS weight below this part of a step are left out", low=0.0, high=10.0)
    descend: bool = param(True, "quantise by rate and distortion, not by rounding")
    face_order: str = param("any", "order of faces in the copy: the cheapest, or as it was", choices=("any", "kept"))
    segment_s: float = param(0.0, "length of a segment, 0 for up to 512 frames", unit="s", low=0.0, high=600.0)

    def encode(self, source: MeshSequence, progress: Progress | None = None) -> Stream:
        vertices = source.vertices
        frames, count, _ = vertices.shape
        step = float(np.float32(self.step / 1000 * _diagonal(vertices) * np.sqrt(frames)))
        found = decompose(vertices, min(3 * frames, count, 65535), floor=self.cut * step * np.sqrt(count))
        exponents = np.rint(OCTAVE * np.log2(np.maximum(found.scales, step))).astype(np.int32)
        rows = np.concatenate([found.mean[None] * np.sqrt(count), found.basis * _scales(exponents)[:, None]])
        _check_range(rows, step)
        ranges = _ranges(source, self.segment_s)
        levels = [mesh_basis.quantize(mesh_basis.forward(rows[:, 3 * a : 3 * b]), step) for a, b in ranges]
        if progress:
            progress(0.3)
        weights, kept = _refit(vertices, levels, step, exponents)
        _check_range(weights, step)
        tree = hierarchy_of(source.faces, count)
        coded = mesh_encode(tree, quantize_weights(tree, weights / step, descend=self.descend)[0])
        scales = encode_integers(np.diff(exponents[kept], prepend=np.int32(0)))
        setup = HEADER.pack(step, len(scales) and int(kept.sum()), len(scales)) + scales + coded
        rows_kept = np.repeat(np.concatenate([[True], kept]), 3)
        segments = [
            Segment(a, b - a, mesh_basis.encode_levels(part[rows_kept]))
            for (a, b), part in zip(ranges, levels, strict=True)
        ]
        layout = mesh_layout(source, self.face_order)
        return Stream(layout, source.frames, source.frame_time, setup, segments, source.name)

    @classmethod
    def decode(cls, stream: Stream, window: Window | None = None, limits: Limits = DEFAULT_LIMITS) -> Model:
        layout = stream.layout
        assert isinstance(layout, Topology)
        step, components, _ = _read_header(stream.setup)
        limits.charge("values", components * layout.vertices)
        weights = _decode_weights(stream.setup, layout.faces.tobytes(), layout.vertices)

        def decode_one(run: Layers) -> NDArray[np.float32]:
            limits.charge("values", 3 * (components + 1) * run.frames)
            if run.frames > mesh_basis.LONGEST:
                raise Corrupt(f"a segment has {run.frames} frames, more than {mesh_basis.LONGEST}")
            levels = mesh_basis.decode_levels(run.data[0], 3 * (components + 1), run.frames)
            basis = mesh_basis.inverse(levels, step)
            with np.errstate(all="ignore"):  # a corrupt step may overflow; model_from tells
                paths = basis.transpose(0, 2, 1).reshape(3 * run.frames, -1) @ weights.T
                frames = paths.reshape(run.frames, 3, -1).transpose(0, 2, 1)
                return np.asarray(frames, np.float32).reshape(run.frames, -1)

        return decode_segments(stream, window, limits, decode_one)


def _read_header(setup: bytes) -> tuple[float, int, bytes]:
    """Step, components, coded scales."""
    parts = Parts(setup)
    step, components, size = HEADER.unpack(parts.take(HEADER.size))
    if not 0 < step < float("inf"):
        raise Corrupt("the step of kine-mesh is not a positive number")
    return step, components, parts.take(size)


@lru_cache(maxsize=2)
def _decode_weights(setup: bytes, faces: bytes, vertices: int) -> Array:
    """[V, 1 + c] what the mean and each row of the basis are multiplied with; kept, so that seeking is cheap."""
    step, components, scales = _read_header(setup)
    exponents = np.cumsum(decode_integers(scales, components)) if components else np.zeros(0, np.int64)
    tree = hierarchy_of(np.frombuffer(faces, np.int32).reshape(-1, 3), vertices)
    levels = mesh_decode(tree, setup[HEADER.size + len(scales) :], components)
    weights = np.empty((vertices, 1 + components))
    weights[:, 0] = 1 / np.sqrt(vertices)
    with np.errstate(all="ignore"):
        weights[:, 1:] = dequantize_weights(tree, levels) * (step / _scales(exponents))
    weights.setflags(write=False)
    return weights


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
