"""Which of the equal triples of Euler angles a source uses, so that a copy has the same numbers.

An angle may differ by whole turns, and (a, b, c) is the rotation (a + π, π - b, c + π) too. Copies start from principal
angles; from some frames on an anchor tells near which numbers the angles of a joint are.
"""

from __future__ import annotations

from bisect import bisect_right

import numpy as np
from numpy.typing import NDArray

from kinepack.entropy.kine_setup import Branch
from kinepack.model import Clip, Skeleton
from kinepack.transforms.tracks import Array, Plain, slots_of

QUARTER = np.pi / 2
SEAM = 0.2
CLEARLY = 4.0
"""Squared radians that another branch must be nearer to the source: near a gimbal lock none is."""


def euler_items(skeleton: Skeleton) -> list[tuple[int, ...]]:
    """The channels of each joint's angles: three of a turn, or a lone one."""
    found = list[tuple[int, ...]]()
    for item in slots_of(skeleton).items:
        if isinstance(item, Plain):
            found += [(item.channel,)] if item.kind[0] == "r" else []
        elif len(item.axes) == 3:
            found.append(item.channels)
    return found


def toward(angles: Array, anchors: Array) -> Array:
    """[..., 1 or 3] the angles of the same rotation that are nearest to the anchors, all in radians."""
    stay = _nearest(angles, anchors)
    if angles.shape[-1] == 1:
        return stay
    twin = _nearest(np.stack([angles[..., 0] + np.pi, np.pi - angles[..., 1], angles[..., 2] + np.pi], -1), anchors)
    leaves = _square(twin - anchors) < _square(stay - anchors)
    return np.where(leaves[..., None], twin, stay)


def _nearest(angles: Array, anchors: Array) -> Array:
    return np.asarray(angles - 2 * np.pi * np.round((angles - anchors) / (2 * np.pi)))


def _square(difference: Array) -> Array:
    return np.asarray((difference**2).sum(axis=-1))


def find_branches(source: Clip, copy: Array) -> tuple[Branch, ...]:
    """Where copies [frames, channels] need anchors to be in the branch of their source."""
    per_unit, found = source.skeleton.radians_per_angle, list[Branch]()
    for item, channels in enumerate(euler_items(source.skeleton)):
        wanted, angles = source.values[:, channels] * per_unit, copy[:, channels] * per_unit
        if _square(angles - wanted).max() <= CLEARLY:
            continue
        best, seams = _square(toward(angles, wanted) - wanted), _seams(wanted)
        start, now = 0, angles
        while len(away := np.flatnonzero(_misses(now - wanted, seams)[start:] > best[start:] + CLEARLY)):
            frame = start + int(away[0])
            anchors = np.round(wanted[frame] / QUARTER)
            found.append(Branch(item, frame, tuple(int(a) for a in anchors)))
            start, now = frame + 1, toward(angles, anchors * QUARTER)
    return tuple(found)


def _seams(wanted: Array) -> NDArray[np.bool_]:
    """Where angles that are kept within half a turn, as many tools write them, are about to be wrapped."""
    kept = (np.abs(wanted) <= np.pi + 1e-6).all(axis=0)
    return np.asarray(kept & (np.abs(wanted) > np.pi - SEAM))


def _misses(difference: Array, seams: NDArray[np.bool_]) -> Array:
    """Squared distance; at seams whole turns do not count, since errors decide which side an angle is on."""
    return _square(np.where(seams, _nearest(difference, np.zeros(1)), difference))


class Anchored:
    """Branches of a stream, ready for any window of it."""

    def __init__(self, skeleton: Skeleton, branches: tuple[Branch, ...]) -> None:
        items = euler_items(skeleton)
        self._by_item: dict[int, list[Branch]] = {}
        for branch in branches:
            self._by_item.setdefault(branch.item, []).append(branch)
        self._channels = {item: items[item] for item in self._by_item}

    def __bool__(self) -> bool:
        return bool(self._by_item)

    def within(self, start: int, stop: int) -> NDArray[np.int32]:
        """[n, 9] the stretches of frames start..stop-1 as the kernel wants them."""
        rows = []
        for item, own in self._by_item.items():
            at = max(0, bisect_right(own, start, key=lambda b: b.frame) - 1)
            channels = self._channels[item]
            for branch, after in zip(own[at:], [*(b.frame for b in own[at + 1 :]), stop], strict=True):
                first, last = max(branch.frame, start) - start, min(after, stop) - start
                if first < last:
                    fill = (0,) * (3 - len(channels))
                    rows.append((first, last, len(channels), *channels, *fill, *branch.anchors, *fill))
        return np.array(rows, np.int32).reshape(-1, 9)
