"""What a metric is: a pure function of an original and its copy, with unit and direction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from kinepack.registry import Registry


@dataclass(frozen=True)
class Metric:
    """`measure(original, copy)` on two models of type `source`; a lower value is better unless said otherwise."""

    id: str
    title: str
    unit: str
    source: type
    measure: Callable[[Any, Any], float]
    better: Literal["lower", "higher"] = "lower"


METRICS: Registry[Metric] = Registry("metric", "kinepack.metrics")
