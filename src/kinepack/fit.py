"""Finds the setting of a codec's quality axis that just meets an error target or a byte budget."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kinepack.codecs.base import Codec
from kinepack.errors import ConfigError, TargetUnreachable
from kinepack.metrics.base import METRICS
from kinepack.params import Param, params_of

STEPS = 32
"""Most settings tried in one search."""
CLOSE_ENOUGH = 0.997
"""A search ends when this fraction of the allowed error or bytes is used."""
BLIND = 1e-9
"""A target of which a codec's own setting uses no more than this does not see what moves: no coarser one is tried."""
BEYOND, BEYOND_STEPS = 0.001, 8
"""Least part of a quality axis between the settings that are tried at last, and how many."""
_TARGET = re.compile(r"^\s*([A-Za-z_][\w-]*)\s*<=\s*([-+.\w]+)\s*$")


@dataclass(frozen=True)
class Target:
    """`metric <= value`."""

    metric: str
    value: float

    @staticmethod
    def parse(text: str) -> Target:
        """From the text `METRIC<=VALUE`."""
        match = _TARGET.match(text)
        try:
            target = Target(match[1], float(match[2])) if match else None
        except ValueError:
            target = None
        if target is None or not target.value >= 0:
            raise ConfigError(f"cannot read the target {text!r}", hint="write it like 'joint_rms<=0.1'")
        if METRICS[target.metric].better != "lower":
            raise ConfigError(f"{target.metric} grows with quality and cannot be a target")
        return target

    @staticmethod
    def parse_several(text: str) -> list[Target]:
        """From the text `METRIC<=VALUE,VALUE,…`: qualities of one motion."""
        first, *others = text.split(",")
        metric = first.partition("<=")[0]
        return [Target.parse(first), *(Target.parse(f"{metric}<={value}") for value in others)]

    def __str__(self) -> str:
        return f"{self.metric}<={self.value:g}"


@dataclass(frozen=True)
class Probe:
    """One try: what the setting gave."""

    bytes: int
    error: float
    result: Any


def fit(
    codec: Codec,
    probe: Callable[[Codec], Probe],
    *,
    target: Target | None = None,
    max_bytes: int | None = None,
    step: Callable[[float], None] | None = None,
) -> tuple[Codec, Probe]:
    """The cheapest setting that meets the target, or the best one inside the byte budget (and both if both)."""
    axis = codec.quality_axis()
    if not axis:
        raise ConfigError(f"{codec.id} has no quality setting to search over", hint="kinepack codecs lists them")

    def used(found: Probe) -> float:
        """Fraction of the allowance that a try uses; over 1 it fails."""
        if target is not None:
            return found.error / target.value if target.value else found.error * math.inf if found.error else 0.0
        return found.bytes / (max_bytes or 1)

    best = _search(codec, axis, probe, used, finer_uses_less=target is not None, step=step)
    if best is None:
        raise _unreachable(codec, target, max_bytes)
    if target is not None and max_bytes is not None and best[1].bytes > max_bytes:
        raise TargetUnreachable(f"{codec.id} needs {best[1].bytes:,} bytes for {target}, more than {max_bytes:,}")
    return best


def fit_best(
    codecs: Sequence[Codec],
    probe: Callable[[Codec], Probe],
    *,
    target: Target | None = None,
    max_bytes: int | None = None,
    step: Callable[[float], None] | None = None,
) -> tuple[Codec, Probe]:
    """The smallest of what `fit` finds for each codec; every one starts where the last one ended."""
    best: tuple[Codec, Probe] | None = None
    for number, codec in enumerate(codecs):
        part = _share_of(step, number, len(codecs))
        axis = codec.quality_axis()
        start = dataclasses.replace(codec, **{axis: getattr(best[0], axis)}) if best else codec
        found = fit(start, probe, target=target, max_bytes=max_bytes, step=part)
        if best is None or found[1].bytes < best[1].bytes:
            best = found
    assert best is not None
    return best


def _share_of(step: Callable[[float], None] | None, number: int, count: int) -> Callable[[float], None] | None:
    return (lambda done: step((number + done) / count)) if step else None


@dataclass(frozen=True)
class _Axis:
    """A setting's range as positions 0 (best quality) to 1 (least), logarithmic where the range allows."""

    best: float
    least: float
    whole: bool

    @staticmethod
    def of(codec: Codec, axis: str) -> _Axis:
        declared: Param = params_of(codec)[axis]
        if declared.low is None or declared.high is None:
            raise ConfigError(f"{codec.id}'s {axis} has no bounds to search between")
        ends = (declared.low, declared.high) if declared.quality == "lower" else (declared.high, declared.low)
        return _Axis(*ends, whole=isinstance(getattr(codec, axis), int))

    @property
    def _logarithmic(self) -> bool:
        return min(self.best, self.least) > 0

    def value(self, position: float) -> float | int:
        if self._logarithmic:
            value = math.exp(math.log(self.best) + position * math.log(self.least / self.best))
        else:
            value = self.best + position * (self.least - self.best)
        value = float(f"{value:.4g}")  # a setting that a person can read, and that costs few bytes in the file
        value = min(max(value, min(self.best, self.least)), max(self.best, self.least))
        return round(value) if self.whole else value

    def reach(self, share: float) -> float:
        """How far it is to the setting that would use all, if errors grew as the setting does."""
        return math.log(1 / max(share, 0.1)) / abs(math.log(self.least / self.best)) if self._logarithmic else 0.0

    def position(self, value: float) -> float:
        if self._logarithmic:
            return math.log(value / self.best) / math.log(self.least / self.best)
        return (value - self.best) / (self.least - self.best)


def _search(
    codec: Codec,
    name: str,
    probe: Callable[[Codec], Probe],
    used: Callable[[Probe], float],
    *,
    finer_uses_less: bool,
    step: Callable[[float], None] | None,
) -> tuple[Codec, Probe] | None:
    """From the codec's own setting outward until the allowance is bracketed, then by halving."""
    axis = _Axis.of(codec, name)
    best: tuple[Codec, Probe] | None = None
    least = 0.0
    passing: float | None = None
    failing: float | None = None
    position, stride = axis.position(getattr(codec, name)), 0.02
    tried: set[float] = set()
    for turn in range(STEPS):
        value = axis.value(position)
        if value in tried:
            break
        tried.add(value)
        candidate = dataclasses.replace(codec, **{name: value})
        found = _try(candidate, probe)
        # A setting too fine for the source keeps any error target and breaks any byte budget.
        share = used(found) if found else (0.0 if finer_uses_less else math.inf)
        if share <= 1:
            passing, best, least = position, (candidate, found) if found else best, share
        else:
            failing = position
        if step:
            step((turn + 1) / STEPS)
        if found and finer_uses_less and turn == 0 and share < BLIND:
            return best
        if CLOSE_ENOUGH <= share <= 1:
            break
        if passing is not None and failing is not None:
            position = (passing + failing) / 2
            continue
        toward_best = (share > 1) == finer_uses_less
        position = min(max(position - stride if toward_best else position + stride, 0.0), 1.0)
        stride *= 2
    if best is None or passing is None or least >= CLOSE_ENOUGH or not finer_uses_less:
        return best
    reach = max(BEYOND_STEPS * BEYOND, axis.reach(least))
    further = dict.fromkeys(
        axis.value(min(passing + reach * i / BEYOND_STEPS, 1.0)) for i in range(1, BEYOND_STEPS + 1)
    )
    return _beyond(best, [value for value in further if value not in tried], name, probe, used)


def _beyond(
    best: tuple[Codec, Probe],
    values: list[float | int],
    name: str,
    probe: Callable[[Codec], Probe],
    used: Callable[[Probe], float],
) -> tuple[Codec, Probe]:
    """Errors do not quite rise with the setting: one a little coarser than the last that passed may pass too."""
    for value in values:
        candidate = dataclasses.replace(best[0], **{name: value})
        found = _try(candidate, probe)
        if found and used(found) <= 1 and found.bytes < best[1].bytes:
            best = (candidate, found)
    return best


def _try(codec: Codec, probe: Callable[[Codec], Probe]) -> Probe | None:
    """A setting at the far end of the axis may be one the codec refuses for this source."""
    try:
        return probe(codec)
    except ConfigError:
        return None


def _unreachable(codec: Codec, target: Target | None, max_bytes: int | None) -> TargetUnreachable:
    wish = f"{target.metric}<={target.value:g}" if target else f"{max_bytes:,} bytes"
    hint = "the file includes the skeleton: --skeleton-ref stores it apart"
    if target:
        lossless = f"; {codec.id}:{codec.lossless_with} keeps every number" if codec.lossless_with else ""
        hint = f"try another codec or a looser target{lossless}"
    return TargetUnreachable(f"no setting of {codec.id} reaches {wish}", hint=hint)
