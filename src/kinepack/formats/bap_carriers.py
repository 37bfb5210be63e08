"""Which BAP carries which channel of any rig, and in what unit.

A channel with an H-Anim joint's or a CMU bone's name goes to the BAP of that name, in the standard's unit (1e-5 rad,
1 mm). Every other channel takes the next BAP that is free, extensions first; its unit is chosen such that one
alternative quantiser step is 1.7e-3 rad, 2 mm, or 1.7e-3 of a quaternion part, scale or scalar.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinepack.errors import ConfigError
from kinepack.formats.bap_table import COUNT, PREDEFINED, Bap, baps, by_channel, by_cmu
from kinepack.model import Skeleton

FINE_RADIANS, FINE_MM, FINE_RATIO = 1.7e-3, 2.0, 1.7e-3
TABLES = ("alternative", "standard")
LARGEST = 1 << 30
"""Bound on a carried parameter."""


@dataclass(frozen=True, eq=False)
class Carriers:
    """The BAP of each channel."""

    numbers: NDArray[np.int32]
    """[channels] BAP numbers, from 1."""
    per_unit: NDArray[np.float64]
    """[channels] parameter steps in one of the channel's own unit, with the BAP's sign."""
    named: bool
    """Whether every channel has a BAP of its own name."""

    def to_integers(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """[frames, channels]"""
        scaled = np.rint(values * self.per_unit)
        if np.abs(scaled).max(initial=0) >= LARGEST:
            channel = int(np.argmax(np.abs(scaled).max(axis=0)))
            raise ConfigError(f"channel {channel} is too large for a BAP", hint="use mpeg4-float or zstd-float")
        return scaled.astype(np.int64)

    def to_values(self, integers: NDArray[Any]) -> NDArray[np.float64]:
        """Inverse of `to_integers`, but for its rounding."""
        return np.asarray(integers / self.per_unit)

    def steps(self, table: str) -> NDArray[np.int32]:
        """[channels] quantiser steps."""
        return steps_of(table)[self.numbers - 1]

    @property
    def positions(self) -> NDArray[np.intp]:
        """[channels] place of each channel's BAP in group order."""
        return np.asarray(positions()[self.numbers - 1])


def carriers_of(skeleton: Skeleton) -> Carriers:
    """Distinct BAPs for all channels of a rig."""
    if len(skeleton.channels) > COUNT:
        raise ConfigError(
            f"MPEG-4 has {COUNT} body parameters, the clip has {len(skeleton.channels)} channels",
            hint="use another codec, or drop joints",
        )
    own = [_named(skeleton, index) for index in range(len(skeleton.channels))]
    taken = {bap.index for bap in own if bap}
    numbers = [*range(PREDEFINED + 1, COUNT + 1), *range(1, PREDEFINED + 1)]
    free = iter([number for number in numbers if number not in taken])
    chosen = [bap or baps()[next(free) - 1] for bap in own]
    factors = [_factor(skeleton, i, bap, named=own[i] is not None) for i, bap in enumerate(chosen)]
    return Carriers(np.array([b.index for b in chosen], np.int32), np.array(factors), all(own))


def _named(skeleton: Skeleton, index: int) -> Bap | None:
    """The BAP that has the channel's name and unit."""
    channel = skeleton.channels[index]
    joint = skeleton.joints[channel.joint].name if channel.joint >= 0 else ""
    if channel.kind == "scalar":
        return by_channel().get(("", channel.name))
    return by_cmu().get((joint, channel.kind)) or by_channel().get((joint, channel.kind))


def _factor(skeleton: Skeleton, index: int, bap: Bap, *, named: bool) -> float:
    kind = skeleton.channels[index].kind
    if kind == "scalar":
        return bap.per_unit if named else bap.step_alt / FINE_RATIO
    family = kind[0]
    physical = {"r": skeleton.radians_per_angle, "t": skeleton.unit_cm * 10}.get(family, 1.0)
    if named:
        sign = 1 if bap.cmu == (skeleton.joints[skeleton.channels[index].joint].name, kind) else bap.sign
        return sign * bap.per_unit * physical
    fine = {"r": FINE_RADIANS, "v": FINE_RADIANS, "t": FINE_MM}.get(family, FINE_RATIO)
    return bap.step_alt / fine * physical


@cache
def group_sizes() -> NDArray[np.uint8]:
    """[groups] parameters in each."""
    return np.bincount([bap.group for bap in baps()])[1:].astype(np.uint8)


@cache
def order() -> NDArray[np.intp]:
    """[parameters] BAP number less one of each place in group order."""
    return np.array(sorted(range(COUNT), key=lambda i: (baps()[i].group, baps()[i].position)), np.intp)


@cache
def positions() -> NDArray[np.intp]:
    """[BAP number less one] place in group order."""
    return np.argsort(order())


@cache
def steps_of(table: str) -> NDArray[np.int32]:
    """[BAP number less one] quantiser steps at bap_quant 1."""
    return np.array([bap.step_alt if table == TABLES[0] else bap.step for bap in baps()], np.int32)
