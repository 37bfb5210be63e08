"""Settings declared once: default, range, unit and help drive validation, CLI flags, docs and search axes."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from kinepack.errors import ConfigError

_KEY = "kinepack.param"


@dataclass(frozen=True)
class Param:
    """What is known of one setting beside its default."""

    help: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    choices: tuple[Any, ...] = ()
    quality: Literal["", "lower", "higher"] = ""
    """Not empty on the codec's quality axis: which direction of the value gives the smaller error."""
    told: bool = True
    """Whether files say what it was: not of settings that change how much is tried, or that follow from a target."""


def param(default: Any, help: str, **details: Any) -> Any:
    """A dataclass field with its declaration: `bits: int = param(8, "bits an index", low=1, high=16)`."""
    return dataclasses.field(default=default, metadata={_KEY: Param(help, **details)})


def params_of(cls: Any) -> dict[str, Param]:
    """The declared settings of a dataclass (or an instance of it), in order."""
    return {f.name: f.metadata[_KEY] for f in dataclasses.fields(cls) if _KEY in f.metadata}


def quality_axis(cls: Any) -> str:
    """The name of the setting that trades size for quality, or "" if the codec has none."""
    return next((name for name, declared in params_of(cls).items() if declared.quality), "")


def validate(settings: Any) -> None:
    """Raises ConfigError unless every declared field of the dataclass instance is of its type and range."""
    types = {f.name: type(f.default) for f in dataclasses.fields(settings) if _KEY in f.metadata}
    for name, declared in params_of(settings).items():
        value = _coerce(name, getattr(settings, name), types[name])
        object.__setattr__(settings, name, value)
        _check(name, value, declared)


def from_text(cls: Any, assignments: Mapping[str, str]) -> Any:
    """An instance of `cls` from `key=value` texts, as the command line gives them."""
    known = params_of(cls)
    for name in assignments:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=2)
            raise ConfigError(
                f"{getattr(cls, 'id', cls.__name__)} has no setting {name!r}",
                hint=f"did you mean: {', '.join(near)}" if near else f"settings: {', '.join(known) or 'none'}",
            )
    return cls(**assignments)


def to_text(settings: Any, *, told: bool = False) -> str:
    """The settings that differ from their defaults, as `key=value,key=value`; all, or those that files tell."""
    fields = [f for f in dataclasses.fields(settings) if _KEY in f.metadata]
    fields = [f for f in fields if f.metadata[_KEY].told or not told]
    changed = [(f.name, getattr(settings, f.name)) for f in fields if getattr(settings, f.name) != f.default]
    return ",".join(f"{name}={_text(value)}" for name, value in changed)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:.12g}" if isinstance(value, float) else str(value)


_SWITCH = {"on": True, "true": True, "yes": True, "1": True, "off": False, "false": False, "no": False, "0": False}


def _coerce(name: str, value: Any, kind: type) -> Any:
    if isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
        return value
    try:
        if kind is bool:
            return _SWITCH[str(value).lower()]
        if kind is int and isinstance(value, float) and value != int(value):
            raise ValueError
        return kind(value)
    except (TypeError, ValueError, KeyError, OverflowError):
        wanted = {"bool": "on or off", "int": "a whole number", "float": "a number"}.get(kind.__name__, kind.__name__)
        raise ConfigError(f"{name}={value!s} should be {wanted}") from None


def _check(name: str, value: Any, declared: Param) -> None:
    if declared.choices and value not in declared.choices:
        listing = ", ".join(map(str, declared.choices))
        raise ConfigError(f"{name}={value} is not one of: {listing}")
    if isinstance(value, (str, bool)):
        return
    too_low = declared.low is not None and not value >= declared.low  # "not >=" also catches NaN
    too_high = declared.high is not None and not value <= declared.high
    if too_low or too_high or value != value:
        low, high = declared.low, declared.high
        bounds = f"{'-inf' if low is None else f'{low:g}'} to {'inf' if high is None else f'{high:g}'}"
        raise ConfigError(f"{name}={value} is out of range", hint=f"allowed: {bounds} {declared.unit}".rstrip())
