"""Clips whose frames lie between keys: knots, and all other frames on the way from one to the next."""

from __future__ import annotations

import dataclasses
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinepack.errors import Corrupt
from kinepack.math import rotation
from kinepack.math.rig import between
from kinepack.model import Clip, Skeleton
from kinepack.transforms.held import Hold
from kinepack.transforms.steps import default_exponents
from kinepack.transforms.tracks import Turn, slots_of, turn_quaternions

Array = NDArray[np.float64]
Run = tuple[int, int]
"""A gap between knots in frames, and how often it comes in a row."""

SHARE, LARGEST_MISS_CM = 0.05, 5e-4
"""How far a frame may be from its line: so little of the error, and so little that captures are never as straight."""
LEAST_GAP = 2
"""Mean gap from which on knots pay."""
LONGEST_GAP = 256
"""Frames, so that a segment of few knots is still short."""
WIDEST = np.radians(150)
"""Largest turn from knot to knot; beyond it chance decides which arc is the shortest."""
ROUNDS = 40


class Knots:
    """Key frames from the first frame to the last; the gaps between them as runs of equal ones."""

    def __init__(self, runs: tuple[Run, ...]) -> None:
        self.runs = runs
        self._gaps, counts = np.array(runs, np.int64).T
        self._frames = np.concatenate([[0], np.cumsum(self._gaps * counts)])
        self._keys = np.concatenate([[0], np.cumsum(counts)])

    @property
    def pace(self) -> float:
        """Frames that a key lasts, typically."""
        return float(np.median(np.repeat(self._gaps, np.diff(self._keys))))

    def before(self, frame: Any) -> Any:
        """The last key that is not after a frame (or each of an array of frames)."""
        run = np.minimum(np.searchsorted(self._frames, frame, side="right"), len(self._gaps)) - 1
        return self._keys[run] + (frame - self._frames[run]) // self._gaps[run]

    def start_of(self, key: Any) -> Any:
        """The frame of a key (or of each of an array of keys)."""
        run = np.minimum(np.searchsorted(self._keys, key, side="right"), len(self._gaps)) - 1
        return self._frames[run] + (key - self._keys[run]) * self._gaps[run]

    def span(self, first: int, stop: int) -> tuple[int, int]:
        """The first key that frames first..stop-1 need, and the one after the last."""
        if stop - 1 > self._frames[-1]:
            raise Corrupt("a segment goes on after its stream's last key")
        last = self.before(stop - 1)
        return int(self.before(first)), int(last + (self.start_of(last) < stop - 1)) + 1

    def closes(self, key: int) -> bool:
        """Whether there are frames on the way to a key, which then need it."""
        return bool(self.start_of(key) - self.start_of(key - 1) > 1)

    def fill(self, keys: Array, first: int, frames: NDArray[np.intp], skeleton: Skeleton) -> Array:
        """[frames, channels] from keys [keys, channels], the first being key `first`."""
        start = self.before(frames)
        since, gap = frames - self.start_of(start), self.start_of(start + 1) - self.start_of(start)
        end = np.minimum(start + 1, first + len(keys) - 1)
        return between(skeleton, keys[start - first], keys[end - first], amount=since / gap)


Timing = Hold | Knots


def keys_of(clip: Clip, timing: Timing) -> Clip:
    """Its keys alone, each lasting as long as they typically do."""
    count = timing.span(0, clip.frames)[1]
    keys = [int(timing.start_of(key)) for key in range(count)]
    return dataclasses.replace(clip, values=clip.values[keys], frame_time=clip.frame_time * timing.pace)


def find_knots(clip: Clip, error_cm: float) -> Knots | None:
    """The knots of a clip, None where they are too many to pay.

    A frame off the line between its neighbours is one; more are put where lines between these are too far off. Three
    Euler angles have none, since near a gimbal lock those of a copy, and with them all on their way, are chance.
    """
    if clip.frames < 3 or any(len(turn.axes) == 3 for turn in slots_of(clip.skeleton).turns):
        return None
    steps = min(SHARE * error_cm, LARGEST_MISS_CM) * 2.0 ** (-default_exponents(clip.skeleton) / 4)
    inner = np.arange(1, clip.frames - 1)
    corners = _misses(clip, inner, inner - 1, inner + 1, steps=steps) > 1
    knots = np.concatenate([[0], inner[corners], [clip.frames - 1]])
    for _ in range(ROUNDS):
        if LEAST_GAP * (len(knots) - 1) > clip.frames - 1:
            return None
        more = _missing(clip, knots, steps)
        if not len(more):
            return Knots(tuple((gap, len(list(own))) for gap, own in groupby(np.diff(knots).tolist())))
        knots = np.union1d(knots, more)
    return None


def _missing(clip: Clip, knots: NDArray[np.intp], steps: Array) -> NDArray[np.intp]:
    """The worst frame of each gap in which one is missed."""
    frames = np.setdiff1d(np.arange(clip.frames), knots)
    gaps = np.searchsorted(knots, frames) - 1
    misses = _misses(clip, frames, knots[gaps], knots[gaps + 1], steps=steps)
    order = np.lexsort((misses, gaps))
    worst = order[np.flatnonzero(np.diff(gaps[order], append=-1))]
    return np.asarray(frames[worst[misses[worst] > 1]])


def _misses(
    clip: Clip, frames: NDArray[np.intp], before: NDArray[np.intp], after: NDArray[np.intp], *, steps: Array
) -> Array:
    """[frames] how many steps a frame is from the way between two others, over 1 if these are far apart."""
    start, end, amount = clip.values[before], clip.values[after], (frames - before) / (after - before)
    on_way = clip.with_values(between(clip.skeleton, start, end, amount=amount))
    misses = (_apart(clip.with_values(clip.values[frames]), on_way) / steps).max(axis=1, initial=0)
    turns = _apart(clip.with_values(start), clip.with_values(end))[:, _angles(clip.skeleton)]
    far = (turns > WIDEST).any(axis=1) | (after - before > LONGEST_GAP)
    return np.asarray(np.maximum(misses, far * (1 + amount * (1 - amount))))


def _apart(one: Clip, other: Clip) -> Array:
    """[frames, tracks] distances; all three tracks of a turn have its angle."""
    parts = []
    for item in slots_of(one.skeleton).items:
        if isinstance(item, Turn):
            turn = rotation.multiply(rotation.conjugate(turn_quaternions(one, item)), turn_quaternions(other, item))
            parts += [np.linalg.norm(rotation.quaternion_to_rotvec(turn), axis=1)] * 3
        else:
            move = (other.values[:, item.channel] - one.values[:, item.channel]) * item.to_track
            parts.append(np.abs(rotation.wrap(move) if item.kind[0] == "r" else move))
    return np.stack(parts, axis=1)


def _angles(skeleton: Skeleton) -> NDArray[np.bool_]:
    """[tracks] which are angles."""
    return np.array(
        [t for i in slots_of(skeleton).items for t in ([True] * 3 if isinstance(i, Turn) else [i.kind[0] == "r"])], bool
    )
