"""All metrics of two models at once, sharing what they have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinepack.errors import UsageError
from kinepack.math import rotation
from kinepack.math.kinematics import local_transforms
from kinepack.math.rig import resample
from kinepack.metrics.base import METRICS
from kinepack.model import Clip, Model

JUMP = np.radians(150)
"""Between two frames; a motion does not turn as fast, a capture or solver that lost track does."""


def measure_all(original: Model, copy: Model, ids: Iterable[str] | None = None) -> dict[str, float]:
    """id -> value of the metrics named (by default all that fit), with one forward kinematics per clip."""
    if type(original) is not type(copy):
        raise UsageError("a skeletal clip and a mesh sequence cannot be compared", hint="mesh bakes a glTF scene")
    chosen = metrics_for(type(original)) if ids is None else list(ids)
    pairs: dict[Any, Any] = {}
    values = {}
    for id in chosen:
        metric = METRICS[id]
        if not (isinstance(original, metric.source) and isinstance(copy, metric.source)):
            raise UsageError(
                f"metric {id!r} measures {metric.source.__name__}, "
                f"not {type(original).__name__} and {type(copy).__name__}"
            )
        if metric.pair not in pairs:
            pairs[metric.pair] = metric.pair(original, copy)
        values[id] = float(metric.of_pair(pairs[metric.pair]))
    return values


def metrics_for(source: type) -> list[str]:
    """Ids of the metrics that measure models of this type, sorted."""
    return [id for id in METRICS if issubclass(source, METRICS[id].source)]


def promised(id: str, original: Model) -> Callable[[Model], float]:
    """What a target of a metric looks at in copies of `original`: a maximum holds halfway between frames too.

    There, as players do, rotations are on the shortest arc between their neighbours and all else on a straight line.
    Vertices of meshes are, so that theirs is never further off than in one of its frames.
    """
    measure = METRICS[id].measure
    if not isinstance(original, Clip) or not id.endswith("_max") or original.frames < 2:
        return lambda copy: float(measure(original, copy))
    jumps = jumps_of(original)
    twice = with_middles(original, jumps)
    return lambda copy: float(max(measure(original, copy), measure(twice, with_middles(copy, jumps))))


def jumps_of(clip: Clip) -> NDArray[np.bool_]:
    """[frames - 1] steps in which a joint turns by so much that chance decides which arc is the shortest."""
    turns = local_transforms(clip).rotations
    return np.asarray((rotation.angle_between(turns[:-1], turns[1:]) > JUMP).any(axis=1))


def with_middles(clip: Any, jumps: NDArray[np.bool_]) -> Clip:
    """The clip at twice its rate, without the middles of jumps."""
    twice = resample(clip, 2 / clip.frame_time)
    kept = np.ones(twice.frames, bool)
    kept[1::2] = ~jumps
    return twice.with_values(twice.values[kept])
