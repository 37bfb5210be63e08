"""A motion: a skeleton and one row of channel values per frame."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinepack.errors import UsageError
from kinepack.model.skeleton import Skeleton


@dataclass(frozen=True, eq=False)
class Clip:
    """`values[frame, channel]`, in the units and order of the skeleton's channels; read-only float64."""

    skeleton: Skeleton
    values: NDArray[np.float64]
    frame_time: float = 1 / 120
    """Seconds from one frame to the next, exactly as the source says."""
    name: str = ""

    def __post_init__(self) -> None:
        values = frozen_array(self.values, np.float64)
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "name", writable_text(self.name))
        if values.ndim != 2 or values.shape[1] != len(self.skeleton.channels):
            wanted = len(self.skeleton.channels)
            raise UsageError(f"a clip needs [frames, {wanted}] values, not {list(values.shape)}")
        if not self.skeleton.channels:
            raise UsageError("nothing is animated: the skeleton has no channels")
        check_timing(len(values), self.frame_time)
        if not np.isfinite(values).all():
            frame, channel = np.argwhere(~np.isfinite(values))[0]
            raise UsageError(f"frame {frame}, channel {channel} is not a finite number")

    @property
    def frames(self) -> int:
        return len(self.values)

    @property
    def fps(self) -> float:
        return 1 / self.frame_time

    @property
    def duration(self) -> float:
        """Seconds."""
        return self.frames * self.frame_time

    @property
    def unit_cm(self) -> float:
        return self.skeleton.unit_cm

    def with_values(self, values: NDArray[Any]) -> Clip:
        """The same motion slot with other numbers."""
        return dataclasses.replace(self, values=values)

    def slice(self, start: int, stop: int) -> Clip:
        """Frames start..stop-1."""
        return dataclasses.replace(self, values=self.values[start:stop])

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Clip)
            and (self.skeleton, self.frame_time, self.name) == (other.skeleton, other.frame_time, other.name)
            and np.array_equal(self.values, other.values)
        )

    __hash__ = None  # type: ignore[assignment]


def frozen_array(array: Any, dtype: Any) -> NDArray[Any]:
    """A read-only C-contiguous array; copies unless it already is one."""
    result = np.ascontiguousarray(array, dtype=dtype)
    if result.flags.writeable:
        result = result.copy() if result is array or result.base is not None else result
        result.setflags(write=False)
    return result


def writable_text(text: str) -> str:
    """The text with "?" for what UTF-8 cannot hold: names of files may be any bytes."""
    return text.encode("utf-8", "replace").decode()


def check_timing(frames: int, frame_time: float) -> None:
    if frames < 1:
        raise UsageError("an animation needs at least one frame")
    if not (np.isfinite(frame_time) and frame_time > 0):
        raise UsageError(f"the frame time must be positive, not {frame_time}")
