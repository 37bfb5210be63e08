"""From a source to verified `.kine` bytes, with what a library wants to know of it."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinepack.api import compress
from kinepack.codecs.base import CODECS, Codec, matrix_of
from kinepack.errors import Corrupt, TargetUnreachable
from kinepack.fit import Target
from kinepack.math.kinematics import positions_cm
from kinepack.metrics.base import METRICS
from kinepack.metrics.measure import measure_all
from kinepack.model import Clip, Model
from kinepack.reader import Reader

KEPT_METRICS = {"clip": ("joint_rms", "joint_p99", "joint_max", "e_x"), "mesh": ("vertex_rms", "vertex_max", "kg")}
"""The errors that a catalogue has room for."""
SLACK = 1e-6
"""A search and a check may round differently."""
DIGITS = 6
"""Statistics are kept to so many significant digits, the same on every machine."""


@dataclass(frozen=True)
class Made:
    """Verified bytes, and for each clip in them its statistics."""

    data: bytes
    stats: list[dict[str, float]]
    encode_s: float
    decode_s: float


def make(
    models: Sequence[Model],
    codec: str | Codec | None = None,
    *,
    target: Target | None = None,
    max_bytes: int | None = None,
) -> Made:
    """Compresses, decodes the bytes again, and measures; raises unless every clip keeps what was asked for."""
    begin = time.perf_counter()
    data = compress(models, codec, target=target, max_bytes=max_bytes)
    encoded = time.perf_counter()
    with Reader(data) as file:
        copies = [clip.decode() for clip in file.clips()]
        codecs = [clip.record.codec for clip in file.clips()]
    decoded = time.perf_counter()
    stats = [_verified(*pair, target) for pair in zip(models, copies, codecs, strict=True)]
    return Made(data, stats, encoded - begin, decoded - encoded)


def _verified(original: Model, copy: Model, codec: str, target: Target | None) -> dict[str, float]:
    if type(copy) is not type(original) or copy.frames != original.frames or copy.frame_time != original.frame_time:
        raise Corrupt(f"{original.name!r} does not decode to what was encoded")
    if CODECS[codec].lossless and not np.array_equal(matrix_of(copy), matrix_of(original)):
        raise Corrupt(f"{original.name!r} does not decode to the same numbers")
    kept = KEPT_METRICS["clip" if isinstance(original, Clip) else "mesh"]
    wanted = dict.fromkeys([*kept, *([target.metric] if target else [])])
    errors = measure_all(original, copy, wanted)
    if target and not errors[target.metric] <= target.value * (1 + SLACK):
        raise TargetUnreachable(
            f"{original.name!r} decodes with {target.metric} {errors[target.metric]:.4g}, over {target.value:g}"
        )
    return {**rounded(errors), **motion_stats(original)}


def motion_stats(model: Model) -> dict[str, float]:
    """How much moves: mean and largest speed of any point, and how far the whole travels."""
    points: Any = positions_cm(model) if isinstance(model, Clip) else model.vertices * float(model.unit_cm)
    steps = np.diff(np.asarray(points, np.float64), axis=0)
    speeds = np.linalg.norm(steps, axis=-1) / model.frame_time
    travel = np.linalg.norm(steps.mean(axis=1), axis=-1).sum() if len(steps) else 0.0
    values = {
        "speed_mean_cm_s": speeds.mean() if speeds.size else 0.0,
        "speed_max_cm_s": speeds.max(initial=0.0),
        "travel_cm": travel,
    }
    return rounded(values)


def rounded(values: dict[str, Any]) -> dict[str, float]:
    """Finite numbers only, to a few digits."""
    return {name: float(f"{value:.{DIGITS}g}") for name, value in values.items() if math.isfinite(value)}


def unit_of(stat: str) -> str:
    """The unit of a statistic or metric."""
    if stat in METRICS:
        return METRICS[stat].unit
    return "cm/s" if stat.endswith("_cm_s") else "cm" if stat.endswith("_cm") else ""
