"""What a metric is: a pure function of an original and its copy, with unit and direction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from kinepack.registry import Registry

Direction = Literal["lower", "higher"]


@dataclass(frozen=True)
class Metric:
    """`measure(original, copy)` of two models of type `source`; lower is better unless said otherwise."""

    id: str
    title: str
    unit: str
    source: type
    pair: Callable[[Any, Any], Any]
    """Makes what `of_pair` reads, once for all metrics of the same two models."""
    of_pair: Callable[[Any], float]
    better: Direction = "lower"

    def measure(self, original: Any, copy: Any) -> float:
        return float(self.of_pair(self.pair(original, copy)))


METRICS: Registry[Metric] = Registry("metric", "kinepack.metrics")


def register(id: str, title: str, unit: str, *, source: type, pair: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """Decorates a function of a pair: registers it and leaves `function(original, copy)` in its place."""

    def decorate(of_pair: Callable[[Any], float]) -> Callable[[Any, Any], float]:
        found = Metric(id, title, unit, source, pair, of_pair)
        METRICS.add(id, found)

        def measure(original: Any, copy: Any) -> float:
            return found.measure(original, copy)

        measure.__name__, measure.__qualname__ = of_pair.__name__, of_pair.__qualname__
        measure.__doc__, measure.__module__ = of_pair.__doc__, of_pair.__module__
        return measure

    return decorate
