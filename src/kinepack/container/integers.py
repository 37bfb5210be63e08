"""Lists of integers in few bytes, for indexes and skeletons: the kernels' integer coder with states that suit both."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels import decode_integers, encode_integers, integer_bins

ESCAPE = 0


@cache
def _fresh(contexts: int) -> NDArray[np.uint32]:
    """First states [contexts, bins]: a half, but 7 in 8 that a magnitude has another digit."""
    chances = np.full(integer_bins(ESCAPE), 1 << 21, np.uint32)
    chances[2 + ESCAPE : 33 + ESCAPE] = 7 << 19
    return np.tile(chances << np.uint32(10), (contexts, 1))


def pack_integers(values: Sequence[int], contexts: Sequence[int], kinds: int) -> bytes:
    """32-bit values, each with its context below `kinds`."""
    chosen = np.asarray(contexts, np.int32)
    return bytes(encode_integers(np.asarray(values, np.int32), _fresh(kinds), escape=ESCAPE, contexts=chosen))


def unpack_integers(data: bytes, contexts: Sequence[int], kinds: int) -> list[int]:
    """Inverse of `pack_integers`."""
    chosen = np.asarray(contexts, np.int32)
    found: list[int] = decode_integers(data, len(chosen), _fresh(kinds), escape=ESCAPE, contexts=chosen).tolist()
    return found
