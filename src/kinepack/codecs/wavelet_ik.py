"""`wavelet-ik`: optimised wavelets whose feet are put back where they were by inverse kinematics.

P. Beaudoin, P. Poulin, M. van de Panne: Adapting Wavelet Compression to Human Motion Capture Clips. Graphics
Interface 2007, section 5.1.

clip -> `wavelet-optimized` (layer 0) -> contacts, in which an end effector hardly moves -> the three difference
signals of each effector from its place of contact, as wavelets with their own ratio (layer 1); decoding puts the
effectors where they belong with an IK solver

Deviations, explained in docs/codecs/wavelet-ik.md:
1. effectors are corrected in their contacts, where sliding shows, and differences are taken from the place of
   contact and drawn together a little; the paper corrects every frame and takes differences from the compressed motion;
2. the default solver is damped least squares; `solver=ccd` is the paper's cyclic coordinate descent;
3. those of `wavelet-optimized`.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kinepack.codecs.base import Progress, Segment, Stream, Window, by_name, check_window, chosen_channels, model_from
from kinepack.codecs.wavelet import SETUP as BASE_SETUP
from kinepack.codecs.wavelet import clip_skeleton, decode_signals, wavelet_stream
from kinepack.codecs.wavelet_optimized import WaveletOptimized
from kinepack.entropy.coefficient_codes import Part, decode_block, encode_block
from kinepack.errors import ConfigError, Corrupt, Truncated, UsageError
from kinepack.limits import DEFAULT_LIMITS, Limits
from kinepack.math import ik
from kinepack.math.kinematics import forward_kinematics
from kinepack.model import Clip, Skeleton
from kinepack.params import param
from kinepack.transforms import wavelet_window as wavelet
from kinepack.transforms.contacts import (
    FADE,
    Contacts,
    anchored,
    corrected,
    decode_contacts,
    drift,
    encode_contacts,
    find_contacts,
    remainders,
    stiller,
)
from kinepack.transforms.feet import leaves_of, named_feet
from kinepack.transforms.wavelet_pursuit import pursue, weighted_form
from kinepack.transforms.wavelet_selection import Quantized, keep_largest, quantize

Array = NDArray[np.float64]
SETUP = struct.Struct("<BBB")
"""Solver, its steps, number of end effectors; then a uint16 joint for each."""
ANCHOR_CM = 0.05
"""Step in which the places of contacts are stored."""
LEAST_STEP_CM = 1e-4
STILLER = 1.25
"""RMS by which paths inside contacts are drawn together, in the RMS error that coding adds to them."""
RELATIVE_RATIO = 0.35
"""r_IK as a part of r where it is not given; the paper's video has 16/30."""


@dataclass(frozen=True)
class WaveletIk(WaveletOptimized):
    """Optimised wavelets with inverse-kinematics correction."""

    id: ClassVar[str] = "wavelet-ik"
    title: ClassVar[str] = "optimised wavelets, feet corrected by inverse kinematics"

    ik_ratio: float = param(
        0.0, "r_IK: one of how many coefficients of the difference signals is kept; 0: from ratio", low=0.0, high=2000.0
    )
    still_cm_s: float = param(20.0, "an effector slower than this is in contact", unit="cm/s", low=0.0, high=1e6)
    effectors: str = param(
        "", "names of the corrected joints, with + between them; if empty, those of the feet, or all that end a limb"
    )
    solver: str = param("dls", "dls: damped least squares; ccd: cyclic coordinate descent", choices=ik.SOLVERS)
    steps: int = param(2, "steps or sweeps of the solver, which a decoder takes for every frame", low=1, high=64)

    def encode(self, source: Clip, progress: Progress | None = None) -> Stream:
        joints = effector_joints(source.skeleton, self.effectors)
        base = wavelet_stream(source, self.segment_s, self.quantized(source, progress), deflate=self.gzip)
        points = effector_points_cm(source, joints)
        segments: list[Segment] = []
        for segment in base.segments:
            part = points[segment.first : segment.first + segment.frames]
            data = self._correction(part, source.frame_time)
            segments += [segment, Segment(segment.first, segment.frames, data, layer=1)]
        setup = base.setup + SETUP.pack(ik.SOLVERS.index(self.solver), self.steps, len(joints))
        setup += np.array(joints, "<u2").tobytes()
        return dataclasses.replace(base, setup=setup, segments=segments)

    def _correction(self, points_cm: Array, frame_time: float) -> bytes:
        """Layer 1 of a segment: contacts, and how effectors move inside them."""
        contacts = find_contacts(points_cm, frame_time, still_cm_s=self.still_cm_s, step_cm=ANCHOR_CM)
        differences = remainders(points_cm, contacts, ANCHOR_CM)
        _, noise_cm = self._choose(differences, contacts)
        chosen, _ = self._choose(stiller(differences, contacts, STILLER * noise_cm), contacts)
        moved = chosen.values(np.ones(len(chosen.codes))).reshape(points_cm.shape)
        contacts = anchored(contacts, points_cm - moved, ANCHOR_CM)
        coefficients = encode_block(chosen.levels, chosen.codes, deflate=self.gzip)
        return encode_contacts(contacts, points_cm.shape[1]) + coefficients

    def _choose(self, differences_cm: Array, contacts: Contacts) -> tuple[Quantized, float]:
        """Difference signals [frames, effectors, 3] as quantised coefficients, and the RMS error of an effector.

        Outside contacts the signals are free.
        """
        frames, count, _ = shape = differences_cm.shape
        weights = np.repeat(contacts.inside(frames, count), 3, axis=1).astype(np.float64)
        coefficients = wavelet.forward(differences_cm.reshape(frames, -1))
        form = weighted_form(weights, lambda samples: drift(samples.reshape(shape), contacts).reshape(frames, -1))
        ratio = max(self.ik_ratio or RELATIVE_RATIO * self.ratio, 1.0)
        share = keep_largest(coefficients**2 * form.diagonal, max(1, round(weights.sum() / ratio)))
        kept, values = pursue(form, coefficients, share & (coefficients != 0))
        error = wavelet.inverse(values) - differences_cm.reshape(frames, -1)
        left = float((error * form.curvature(error)).sum())
        noise = max(self.noise, 1e-3)
        delta = np.sqrt(12 * noise * left / max(int(kept.sum()), 1))
        steps = np.full(values.shape[1], max(delta, LEAST_STEP_CM))
        rms = np.sqrt(3 * (1 + noise) * left / max(weights.sum(), 1.0))
        return quantize(values, kept, steps, np.ones(values.shape[1])), float(rms)

    @classmethod
    def decode(cls, stream: Stream, window: Window | None = None, limits: Limits = DEFAULT_LIMITS) -> Clip:
        """With layer 1 at hand the effectors are corrected; from layer 0 alone it is `wavelet-optimized`."""
        start, stop = check_window(stream, window, limits)
        base, corrections = split_layers(stream, limits)
        parts = []
        for segment in base.segments:
            low, high = max(segment.first, start), min(segment.first + segment.frames, stop)
            if low < high:
                parts.append(corrections.apply(base, segment, (low, high), limits))
        if sum(map(len, parts)) != stop - start:
            raise Corrupt("the stream's segments do not cover the asked frames")
        model = model_from(stream, np.concatenate(parts))
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
        """Joints that the solver may move cost a decode of the whole pose."""
        skeleton, (base, corrections) = clip_skeleton(stream), split_layers(stream, limits)
        chosen = chosen_channels(skeleton, joints)
        moved = ik.chains_of(skeleton, corrections.joints).channels if corrections.layer else ()
        if set(chosen.tolist()).isdisjoint(moved):
            return by_name(skeleton, chosen, decode_signals(base, chosen, window, limits))
        return by_name(skeleton, chosen, cls.decode(stream, window, limits).values[:, chosen])


def effector_joints(skeleton: Skeleton, names: str) -> list[int]:
    """Sorted joints: those named, or all that are called like a part of a foot, or else the leaves of the tree."""
    if names:
        joints = sorted({skeleton.index(name.strip()) for name in names.split("+")})
    else:
        joints = named_feet(skeleton) or leaves_of(skeleton)
    if len(joints) > 255 or not ik.chains_of(skeleton, joints).turns:
        raise ConfigError("no Euler angle moves the joints to correct", hint="convert the clip to Euler angles first")
    return joints


def effector_points_cm(clip: Clip, joints: Sequence[int]) -> Array:
    """[frames, effectors, 3] measured points."""
    return np.ascontiguousarray(forward_kinematics(clip).points[:, joints] * clip.unit_cm)


@dataclass(frozen=True, eq=False)
class Corrections:
    """Layer 1, by first frame, and what the setup says of it."""

    layer: dict[int, bytes]
    solver: str
    steps: int
    joints: list[int]
    deflate: bool

    def apply(self, base: Stream, segment: Segment, window: Window, limits: Limits) -> Array:
        """[window, channels] of frames inside one segment; fades need a few frames around them."""
        data = self.layer.get(segment.first)
        reach = 0 if data is None else FADE
        low = max(window[0] - reach, segment.first)
        high = min(window[1] + reach, segment.first + segment.frames)
        channels = np.arange(len(clip_skeleton(base).channels), dtype=np.int32)
        model = model_from(base, decode_signals(base, channels, (low, high), limits))
        assert isinstance(model, Clip)
        if data is None:
            return model.values
        inner = (low - segment.first, high - segment.first)
        targets, weights = self._targets(data, effector_points_cm(model, self.joints), segment.frames, inner, limits)
        asked = slice(window[0] - low, window[1] - low)
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # corrupt numbers may overflow; model_from tells
                solved = ik.solve(
                    model.slice(asked.start, asked.stop),
                    self.joints,
                    targets[asked] / model.unit_cm,
                    weights=weights[asked],
                    solver=self.solver,
                    steps=self.steps,
                )
        except (np.linalg.LinAlgError, UsageError):
            raise Corrupt("the stream's poses are beyond all measure") from None
        return solved.values

    def _targets(
        self, data: bytes, points_cm: Array, frames: int, inner: Window, limits: Limits
    ) -> tuple[Array, Array]:
        """[window, effectors, 3] centimetres, where points of frames `inner` should be, and how much that counts."""
        count = len(self.joints)
        contacts, used = decode_contacts(data, count, frames)
        needed = wavelet.ranges(frames, inner)
        part = Part(frames, wavelet.depth(frames), needed, np.arange(3 * count, dtype=np.int32), 3 * count)
        block = decode_block(data[used:], part, scale=np.ones(3 * count), deflate=self.deflate, limits=limits)
        remainder = wavelet.inverse_window(block, frames, needed, inner).reshape(-1, count, 3)
        targets, weights = corrected(points_cm, remainder, contacts, first=inner[0], step_cm=ANCHOR_CM)
        if not np.isfinite(targets).all():
            raise Corrupt("the stream's corrections are not finite")
        return targets, weights


def split_layers(stream: Stream, limits: Limits) -> tuple[Stream, Corrections]:
    """The `wavelet-optimized` stream inside, and the corrections."""
    head = BASE_SETUP.size + SETUP.size
    if len(stream.setup) < head:
        raise Truncated("the codec's setup is not of its size")
    solver, steps, count = SETUP.unpack_from(stream.setup, BASE_SETUP.size)
    joints = np.frombuffer(stream.setup, "<u2", offset=head) if len(stream.setup) == head + 2 * count else None
    if joints is None or solver >= len(ik.SOLVERS) or not 1 <= steps <= 64 or not count:
        raise Corrupt("the codec's setup does not describe a correction")
    ordered = joints.tolist()
    if sorted(set(ordered)) != ordered or ordered[-1] >= len(clip_skeleton(stream).joints):
        raise Corrupt("the codec's setup names joints that are not there")
    limits.charge("values", stream.frames * 3 * count)
    base = dataclasses.replace(
        stream, setup=stream.setup[: BASE_SETUP.size], segments=[s for s in stream.segments if s.layer == 0]
    )
    layer = {s.first: s.data for s in stream.segments if s.layer == 1}
    return base, Corrections(layer, ik.SOLVERS[solver], steps, ordered, stream.setup[0] == 1)
