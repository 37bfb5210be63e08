"""Reader of lossless streams of versions 1 and 2: sent taps and links instead of learning predictors.

setup = 0, zlib of: modes, decimals, then for coded channels scales, taps and numbers of links; distances and
        weights of links; channels that copies repeat; constants
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels._kine import TAPS, DecimalModel, kine_exact_decode
from kinepack.codecs._kine.exact_layout import (
    CONSTANT,
    COPY,
    DECIMAL,
    ODD,
    RAW,
    VARYING,
    Array,
    ExactSynthesis,
    coded_channels,
    inflate,
)
from kinepack.errors import Corrupt
from kinepack.limits import Limits
from kinepack.transforms import decimals as decimal
from kinepack.transforms.triangular import Links

TAP_UNIT, LINK_SHIFT, MOST_LINKS, MOST_WEIGHT, MOST_SCALE = 64, 6, 16, 2047, 40
MODES = (CONSTANT, DECIMAL, VARYING, RAW, COPY, DECIMAL + ODD, VARYING + ODD)


class PastSynthesis(ExactSynthesis):
    def __init__(self, data: bytes, width: int) -> None:
        super().__init__(inflate(data[1:], width * (3 + TAPS + 8 + 4 * MOST_LINKS)))
        self.modes, places = self.take(np.uint8, width), self.take(np.uint8, width)
        self.coded = coded_channels(self.modes)
        count = int(self.coded.sum())
        scales, taps = self.take(np.int8, count), self.take(np.int8, TAPS * count).reshape(TAPS, count).T
        counts = self.take(np.uint8, count)
        pairs = self.take("<i2", 2 * int(counts.sum())).reshape(2, -1).T
        self.take_repeats()
        self.check(
            bool(np.isin(self.modes, MODES).all())
            and places.max(initial=0) <= decimal.MOST_DECIMALS
            and counts.max(initial=0) <= MOST_LINKS
            and np.abs(scales.astype(int)).max(initial=0) <= MOST_SCALE
        )
        self.places = places[self.coded].astype(np.int32)
        varies = self.modes[self.coded] % ODD == VARYING
        self.model = _model(varies, taps, scales, _unflatten(counts, pairs))

    def numbers(self, data: bytes, frames: int, limits: Limits) -> Array:
        found = kine_exact_decode(data, frames, self.model)
        powers = np.array([10**k for k in range(16)], np.int64)
        return decimal.inverse(found.mantissas * powers[found.powers], self.places)


def _unflatten(counts: NDArray[Any], pairs: NDArray[Any]) -> Links:
    links: Links = []
    rows = iter(pairs.tolist())
    for channel, count in enumerate(counts.tolist()):
        own = [(channel - back, weight) for back, weight in (next(rows) for _ in range(count))]
        if any(not 0 <= j < channel or abs(w) > MOST_WEIGHT for j, w in own):
            raise Corrupt("a channel is predicted from one that does not exist")
        links.append(own)
    return links


def _model(varies: NDArray[np.bool_], taps: NDArray[Any], scales: NDArray[Any], links: Links) -> DecimalModel:
    """Link weights count in 2^scale of both channels' finest grids, so that a shift puts them right."""
    exponents = scales.astype(int).tolist()
    flat = [
        (j, w, min(max(LINK_SHIFT + exponents[j] - exponents[c], -4), 60))
        for c, own in enumerate(links)
        for j, w in own
    ]
    return DecimalModel(
        np.ascontiguousarray(taps.astype(np.int32) * TAP_UNIT),
        np.ascontiguousarray(varies, np.uint8),
        np.concatenate([[0], np.cumsum([len(own) for own in links])]).astype(np.uint32),
        np.array(flat, np.int32).reshape(-1, 3),
    )
