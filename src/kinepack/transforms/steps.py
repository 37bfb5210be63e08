"""What a skeleton alone says of its tracks: a first guess of their quantiser steps, and their kinds."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kinepack.math.tables import tables_of
from kinepack.model import Skeleton
from kinepack.transforms.tracks import Plain, Turn, slots_of

REACH = 0.5
"""Square of what a bone's chain length counts for: limbs are bent, and turn about their own axis too."""
SKIN_SQUARE = 1.0
"""cm², so that the last bone of a chain has a step too."""
SCALAR_SQUARE = 1e4


@lru_cache(maxsize=64)
def default_exponents(skeleton: Skeleton) -> NDArray[np.int64]:
    """[tracks] quarter octaves of sensitivity, cm per unit of a track, from the lengths of bones.

    Additions, multiplications and comparisons only, so that every build computes the same integers.
    """
    turning, moving = _reaches(skeleton)
    result = []
    for item in slots_of(skeleton).items:
        if isinstance(item, Turn):
            result += [_quarter_octaves(turning[item.joint])] * 3
        elif item.kind[0] == "s":
            result.append(_quarter_octaves(SCALAR_SQUARE if item.kind == "scalar" else turning[item.joint]))
        else:
            result.append(_quarter_octaves((moving if item.kind[0] == "t" else turning)[item.joint]))
    exponents = np.array(result, np.int64)
    exponents.setflags(write=False)
    return exponents


def _reaches(skeleton: Skeleton) -> tuple[list[float], list[float]]:
    """Mean square of how far points move per radian, and per centimetre, of each joint."""
    count, below = len(skeleton.joints), tables_of(skeleton).below
    chain = [0.0] * count
    tips = [_length(t) * skeleton.unit_cm for t in skeleton.tips.tolist()]
    for joint, offset in enumerate(skeleton.offsets.tolist()):
        parent = int(skeleton.parents[joint])
        chain[joint] = 0.0 if parent < 0 else chain[parent] + _length(offset) * skeleton.unit_cm
    turning, moving = [], []
    for joint in range(count):
        carried = [i for i in range(count) if below[joint, i]]
        arms = [chain[i] + tips[i] - chain[joint] for i in carried]
        turning.append((REACH * sum(a * a for a in arms) + SKIN_SQUARE) / count)
        moving.append(len(carried) / count)
    return turning, moving


def _length(vector: list[float]) -> float:
    return math.sqrt(sum(x * x for x in vector))


def _quarter_octaves(square: float) -> int:
    """round(4 log2 sqrt(square)), by the exponent of a power: exact everywhere."""
    mantissa, exponent = math.frexp(min(max(square, 1e-12), 1e12))  # square = mantissa 2^exponent
    _, halves = math.frexp(mantissa * mantissa * 1.4142135623730951)
    return 2 * exponent + halves - 1


@lru_cache(maxsize=64)
def classes_of(skeleton: Skeleton) -> NDArray[np.uint8]:
    """[tracks] kind of each track, for the coder's model."""
    result: list[int] = []
    for item in slots_of(skeleton).items:
        root = item.joint >= 0 and skeleton.parents[item.joint] < 0
        if isinstance(item, Turn):
            result += [1, 1, 1] if root else [2, 3, 3]
        elif isinstance(item, Plain) and item.kind[0] == "r":
            result.append(1 if root else 4)
        else:
            result.append(0 if root and item.kind[0] == "t" else 5)
    classes = np.array(result, np.uint8)
    classes.setflags(write=False)
    return classes
