"""`wavelet-quaternion`: the wavelet codecs on quaternions instead of Euler angles, for comparison.

P. Beaudoin, P. Poulin, M. van de Panne: Adapting Wavelet Compression to Human Motion Capture Clips. Graphics
Interface 2007, section 6.3.

clip -> every animated rotation as a quaternion without sign jumps -> `wavelet` or `wavelet-optimized` -> decoded
quaternions made unit again and told in the clip's own channels

Deviations, explained in docs/codecs/wavelet-quaternion.md:
1. Euler angles come back in their principal range;
2. a joint with fewer than three angles gets those that are nearest to its quaternion;
3. those of `wavelet-optimized`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kinepack.codecs.base import Progress, Stream, Window, by_name, chosen_channels, model_from
from kinepack.codecs.wavelet import (
    Wavelet,
    WaveletCodec,
    clip_skeleton,
    decode_signals,
    gzip_setting,
    longest_segment_setting,
)
from kinepack.codecs.wavelet_optimized import WaveletOptimized
from kinepack.errors import Corrupt
from kinepack.limits import DEFAULT_LIMITS, Limits
from kinepack.math import rotation
from kinepack.math.rig import to_quaternions
from kinepack.math.tables import euler_axes
from kinepack.model import Clip, Skeleton
from kinepack.params import param

Array = NDArray[np.float64]
PARTS = ("qx", "qy", "qz", "qw")


@dataclass(frozen=True)
class WaveletQuaternion(WaveletCodec):
    """Wavelets of quaternions."""

    id: ClassVar[str] = "wavelet-quaternion"
    title: ClassVar[str] = "wavelets of quaternions instead of angles"

    ratio: float = param(
        25.0, "r: one of how many coefficients is kept, of four for every animated rotation",
        low=1.0, high=2000.0, quality="lower",
    )  # fmt: skip
    search: str = param(
        "pursuit",
        "standard: as wavelet; annealing, pursuit: as wavelet-optimized",
        choices=("pursuit", "annealing", "standard"),
    )
    gzip: bool = gzip_setting()
    segment_s: float = longest_segment_setting()

    def encode(self, source: Clip, progress: Progress | None = None) -> Stream:
        turned = to_quaternions(source)
        stream = self._coder().encode(turned, progress)
        return dataclasses.replace(stream, layout=source.skeleton)

    def _coder(self) -> WaveletCodec:
        if self.search == "standard":
            return Wavelet(ratio=self.ratio, gzip=self.gzip, segment_s=self.segment_s)
        return WaveletOptimized(ratio=self.ratio, search=self.search, gzip=self.gzip, segment_s=self.segment_s)

    @classmethod
    def decode(cls, stream: Stream, window: Window | None = None, limits: Limits = DEFAULT_LIMITS) -> Clip:
        skeleton = clip_skeleton(stream)
        columns = _decode_joints(stream, range(-1, len(skeleton.joints)), window, limits)
        model = model_from(stream, np.stack([columns[i] for i in range(len(skeleton.channels))], axis=1))
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
        skeleton, chosen = clip_skeleton(stream), chosen_channels(stream.layout, joints)
        columns = _decode_joints(stream, {skeleton.channels[i].joint for i in chosen}, window, limits)
        values = [columns[i] for i in chosen] or [np.zeros((0,))]
        return by_name(skeleton, chosen, np.stack(values, axis=1)[:, : len(chosen)])


@lru_cache(maxsize=16)
def quaternion_rig(skeleton: Skeleton) -> Skeleton:
    """The rig that `to_quaternions` gives."""
    return to_quaternions(Clip(skeleton, np.zeros((1, len(skeleton.channels))))).skeleton


def _decode_joints(stream: Stream, joints: Iterable[int], window: Window | None, limits: Limits) -> dict[int, Array]:
    """Channel index in the clip's own rig -> values, for the channels of some joints."""
    skeleton = clip_skeleton(stream)
    rig, wanted = quaternion_rig(skeleton), set(joints)
    chosen = np.array([i for i, c in enumerate(rig.channels) if c.joint in wanted], np.int32)
    inside = dataclasses.replace(stream, layout=rig)
    decoded = dict(zip(chosen.tolist(), decode_signals(inside, chosen, window, limits).T, strict=True))
    if not all(np.isfinite(v).all() for v in decoded.values()):
        raise Corrupt("the stream decodes to numbers that are not finite")
    where = {(c.joint, c.kind, c.name): i for i, c in enumerate(rig.channels)}
    result: dict[int, Array] = {}
    for index, channel in enumerate(skeleton.channels):
        if channel.joint in wanted and index not in result:
            if channel.kind[0] in "rqv" and channel.kind != "scalar":
                parts = [decoded[where[channel.joint, part, ""]] for part in PARTS]
                result |= _own_channels(skeleton, channel.joint, np.stack(parts, axis=1))
            else:
                result[index] = decoded[where[channel.joint, channel.kind, channel.name]]
    return result


def _own_channels(skeleton: Skeleton, joint: int, quaternions: Array) -> dict[int, Array]:
    """Channel index -> values of the joint's rotation channels, from quaternions [frames, 4] of any length."""
    own, turns = skeleton.channels_of(joint), rotation.normalize(quaternions)
    if "qx" in own:
        return {own[part]: turns[:, i] for i, part in enumerate(PARTS)}
    if "vx" in own:
        vectors = rotation.quaternion_to_rotvec(turns)
        return {own[part]: vectors[:, i] for i, part in enumerate(("vx", "vy", "vz"))}
    axes = euler_axes(own, skeleton.joints[joint].order)
    angles = _angles(turns, axes) / skeleton.radians_per_angle
    return {own["r" + axis]: angles[:, i] for i, axis in enumerate(axes)}


def _angles(turns: Array, axes: str) -> Array:
    """[frames, axes] radians. A missing axis is taken out where it disturbs least: alone, or from the middle."""
    if len(axes) == 3:
        return rotation.quaternion_to_euler(turns, axes)
    if len(axes) == 2:
        missing = next(axis for axis in "xyz" if axis not in axes)
        return rotation.quaternion_to_euler(turns, axes[0] + missing + axes[1])[:, [0, 2]]
    along = np.ascontiguousarray(turns[:, "xyz".index(axes)])
    return rotation.wrap(2 * np.arctan2(along, np.ascontiguousarray(turns[:, 3])))[:, None]
