"""Trains what the lossless mode of `kine` knows before the first number, from motion that is kept apart for it.

Usage: python tools/train_kine_exact_prior.py FOLDER

FOLDER is the unpacked training set: amc/<subject>/*.amc with their ASF. Some channels of the rig that most AMC files
share are no measurements: a solver made them from others. Polynomials of these are fitted to moves from frame to frame,
robustly, every clip counting alike. Widths of first numbers and rounding noise give first states.
The result goes to src/kinepack/codecs/kine_exact_prior.bin.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinepack import api
from kinepack._kernels._kine import DYADIC
from kinepack._kernels.reference_kine_experts import LAW_WEIGHT_BITS
from kinepack._kernels.reference_kine_noise import DYADIC_BITS, DYADIC_STATES, multiple_of
from kinepack._kernels.reference_kine_numbers import FIRST_STATES, PRIOR_STATES
from kinepack._kernels.reference_kine_ranks import rank_of
from kinepack.codecs._kine.exact import channels_of
from kinepack.codecs._kine.rigs import AMC_CHANNELS, rig_number
from kinepack.model import Clip

OUT = Path(__file__).parent.parent / "src/kinepack/codecs/kine_exact_prior.bin"
BACK, NECK = (6, 7, 8, 9, 10, 11), (15, 16, 17, 18, 19, 20)
LAWS = {
    10: (BACK[:4], 4), 11: (BACK[:5], 4), 12: (BACK, 4), 13: (BACK, 4), 14: (BACK, 4),
    19: (NECK[:4], 4), 20: (NECK[:5], 4), 21: (NECK, 4), 22: (NECK, 4), 23: (NECK, 4),
    34: ((31, 32), 5), 35: ((31, 32), 5), 46: ((43, 44), 5), 47: ((43, 44), 5),
}  # fmt: skip
"""Channel: from which others, by what degree. Spine, neck, thumbs."""
UNIT_DEG = 16.0
ROUNDS = 12
MOST_FRAMES = 2500
CONFIDENCE = 24

Array = NDArray[np.float64]


def clips(folder: Path) -> list[Clip]:
    found = [
        api.read(path, skeleton=path.parent / f"{path.parent.name}.asf") for path in sorted(folder.glob("amc/*/*.amc"))
    ]
    return [clip for clip in found if rig_number(clip.skeleton)]


def products(inputs: Array, degree: int) -> Array:
    """[frames, terms] of [frames, inputs]: by degree, then in lexicographic order."""
    columns = range(inputs.shape[1])
    terms = [term for d in range(1, degree + 1) for term in combinations_with_replacement(columns, d)]
    return np.stack([inputs[:, term].prod(axis=1) for term in terms], axis=1)


def fit(sources: list[Clip], channel: int, inputs: tuple[int, ...], degree: int) -> Array:
    """Weights of the products, by reweighting that gives outliers little say."""
    rows, moves, weights = [], [], []
    for clip in sources:
        step = np.diff(clip.values[:, channel]) / UNIT_DEG
        rows.append(np.diff(products(clip.values[:, inputs] / UNIT_DEG, degree), axis=0))
        moves.append(step)
        weights.append(np.full(len(step), len(step) ** -0.5))
    x, y, base = np.concatenate(rows), np.concatenate(moves), np.concatenate(weights)
    trust = np.ones_like(y)
    for _ in range(ROUNDS):
        w = base / np.median(base) * trust
        normal = (x * w[:, None]).T @ (x * w[:, None])
        solved = np.linalg.solve(normal + np.diag(1e-8 * np.diag(normal) + 1e-15), (x * w[:, None]).T @ (y * w))
        missed = np.abs(y - x @ solved)
        trust = 1 / np.sqrt(1 + (missed / (np.median(missed) + 1e-8)) ** 2)
    return np.asarray(solved)


def packed_law(channel: int, inputs: tuple[int, ...], degree: int, weights: Array) -> bytes:
    numbers = np.round(weights * 2**LAW_WEIGHT_BITS).astype("<i4")
    return bytes([channel, len(inputs), degree, len(numbers), *inputs]) + numbers.tobytes()


def bins_of(clip: Clip) -> Iterator[tuple[int, int]]:
    """States and bits that a clip's first numbers and rounding noise are coded with."""
    for channel in channels_of(clip.values):
        if channel.numbers is None:
            continue
        if channel.digits >= DYADIC:
            for number in channel.numbers.tolist():
                yield from noise_bins(multiple_of(number, channel.digits - DYADIC))
        else:
            for first in channel.numbers[:: max(1, len(channel.numbers) // 20)].tolist():
                yield from width_bins(abs(rank_of(first, channel.digits)).bit_length())


def width_bins(width: int) -> Iterator[tuple[int, int]]:
    node = 1
    for i in range(5, -1, -1):
        yield node, width >> i & 1
        node = 2 * node + (width >> i & 1)


def noise_bins(multiple: int) -> Iterator[tuple[int, int]]:
    size = abs(multiple)
    yield FIRST_STATES, int(size > 0)
    if not size:
        return
    zeros = (size & -size).bit_length() - 1
    yield from unary(FIRST_STATES + 1, zeros, DYADIC_BITS - 2)
    yield from unary(
        FIRST_STATES + 1 + DYADIC_BITS * (1 + zeros), (size >> zeros + 1).bit_length(), DYADIC_BITS - 2 - zeros
    )


def unary(first: int, value: int, most: int) -> Iterator[tuple[int, int]]:
    for i in range(min(value + 1, most)):
        yield first + i, int(value > i)


def states(sources: list[Clip]) -> bytes:
    """Upper 16 bits of probabilities, then counts."""
    counts: NDArray[Any] = np.zeros((PRIOR_STATES, 2))
    for clip in sources:
        for state, bit in bins_of(clip):
            counts[state, bit] += 1 / min(clip.frames, MOST_FRAMES)
    total = counts.sum(axis=1) * 400 / max(len(sources), 1)
    p = (counts[:, 1] * 400 / max(len(sources), 1) + 0.4) / (total + 0.8)
    high = np.clip(p * 65536, 700, 64800).astype("<u2")
    return high.tobytes() + np.minimum(total / 8, CONFIDENCE).astype(np.uint8).tobytes()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--without", default="", help="leave out clips of this subject, to see what the rest is worth")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    sources = [clip for clip in clips(options.folder) if clip.name.split("_")[0] != options.without]
    assert max(LAWS) < AMC_CHANNELS and PRIOR_STATES == FIRST_STATES + DYADIC_STATES
    laws = [packed_law(c, inputs, degree, fit(sources, c, inputs, degree)) for c, (inputs, degree) in LAWS.items()]
    data = states(sources) + bytes([len(laws)]) + b"".join(laws)
    print(f"{len(sources)} clips, {len(data):,} bytes")
    options.out.write_bytes(data)


if __name__ == "__main__":
    main()
