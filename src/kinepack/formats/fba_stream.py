"""Between levels of named BAPs and bare FBA streams, which know parameters by their place in group order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kinepack.entropy import fba
from kinepack.errors import Truncated
from kinepack.formats.bap_carriers import group_sizes, order, positions, steps_of
from kinepack.transforms.fba_levels import Run

FRAMES_PER_BYTE = 32
"""More than a byte can hold: four bits skip fifteen frames at most."""
Numbers = NDArray[np.int32]
"""[columns] BAP numbers, from 1."""


def fba_stream(
    parts: Sequence[Run], numbers: Numbers, *, quant: int, widest: bool = False, sixteenths: int = 0
) -> bytes:
    """Runs one after the other, each with its I frame, as one bare stream."""
    levels = np.concatenate([part.levels for part in parts])
    intra = np.zeros(len(levels), bool)
    intra[[part.first - parts[0].first for part in parts]] = True
    places = positions()[numbers - 1]
    on, ranges = np.zeros(len(order()), bool), np.zeros((4, len(order())), np.int32)
    on[places] = True
    ranges[:, places] = fba.LARGEST_K if widest else _fitted(levels, intra, quant)
    layout = fba.FbaLayout(group_sizes(), on, ranges, quant, sixteenths)
    return fba.encode(np.ascontiguousarray(levels[:, np.argsort(places)], np.int32), intra, layout)


def _fitted(levels: NDArray[np.int64], intra: NDArray[np.bool_], quant: int) -> NDArray[np.int32]:
    """[4, columns] least k of I maximum, I minimum, P maximum and P minimum."""
    kinds = (levels[intra], levels[~intra])
    sides = [side * kind for kind in kinds for side in (1, -1)]
    return np.stack([fba.smallest_k(side.max(axis=0, initial=0), quant) for side in sides])


def parameters(data: bytes, numbers: Numbers, *, table: str, frames: int) -> NDArray[np.int32]:
    """[frames, columns] reconstructed values of the named BAPs; LimitExceeded if there are more frames."""
    if frames > FRAMES_PER_BYTE * len(data):
        raise Truncated("an FBA stream is too short for its frames")
    columns = np.full(len(order()), -1, np.int32)
    columns[positions()[numbers - 1]] = np.arange(len(numbers))
    return fba.decode(data, group_sizes=group_sizes(), steps=_steps(table), columns=columns, frames=frames).values


def survey(data: bytes, frames: int) -> tuple[int, Numbers, int]:
    """Frames (at most `frames`), BAPs that are on in some frame, and frames a second times 16 or 0."""
    nowhere = np.full(len(order()), -1, np.int32)
    found = fba.decode(data, group_sizes=group_sizes(), steps=_steps("alternative"), columns=nowhere, frames=frames)
    numbers = np.sort(order()[found.used] + 1).astype(np.int32)
    return len(found.values), numbers, found.sixteenths


def _steps(table: str) -> NDArray[np.int32]:
    return np.ascontiguousarray(steps_of(table)[order()])
