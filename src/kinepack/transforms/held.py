"""Clips whose frames are held: each key repeated a fixed number of times, as a slow capture in a fast file."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinepack.model import Skeleton

LONGEST = 8


class Hold(NamedTuple):
    """Every key lasts `frames` frames, but the first one only `lead`, 1 to `frames`."""

    frames: int = 1
    lead: int = 1

    def key_of(self, frame: Any) -> Any:
        """The key that is shown in a frame (or in an array of frames)."""
        return (frame + self.frames - self.lead) // self.frames

    def start_of(self, key: int) -> int:
        """The first frame of a key."""
        return self.lead + (key - 1) * self.frames if key else 0

    def span(self, first: int, stop: int) -> tuple[int, int]:
        """The first key that frames first..stop-1 need, and the one after the last."""
        return self.key_of(first), self.key_of(stop - 1) + 1

    def closes(self, key: int) -> bool:
        """Frames before a key never need it."""
        return False

    def fill(self, keys: NDArray[np.float64], first: int, frames: NDArray[np.intp], _: Skeleton) -> NDArray[np.float64]:
        """[frames, channels] from keys [keys, channels], the first being key `first`."""
        return np.asarray(keys[self.key_of(frames) - first])

    @property
    def pace(self) -> float:
        """Frames that a key lasts."""
        return self.frames


def find_hold(values: NDArray[np.float64]) -> Hold:
    """The longest hold that explains every change in [frames, channels]."""
    changes = np.flatnonzero((values[1:] != values[:-1]).any(axis=1)) + 1
    if not len(changes):
        return Hold()
    for frames in range(LONGEST, 1, -1):
        lead = (int(changes[0]) - 1) % frames + 1
        if ((changes - lead) % frames == 0).all() and len(values) > 2 * frames:
            return Hold(frames, lead)
    return Hold()
