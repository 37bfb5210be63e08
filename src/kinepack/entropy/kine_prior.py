"""The trained prior of the `kine` codec: what its coder knows before the first symbol."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels._kine import BINS, CONTEXTS, COSTS, LEVELS, MODEL, STATES, WEIGHTS, Prior
from kinepack.entropy.kine_setup import BINS as SETUP_BINS
from kinepack.entropy.kine_setup import CONTEXTS as SETUP_CONTEXTS

FILES = {True: "kine_prior.bin", False: "kine_prior_2.bin"}
"""For streams whose tracks end before their blocks, and for those of versions 1 and 2."""


def _unpack_states(data: bytes) -> NDArray[np.uint32]:
    count = len(data) // 3
    probabilities = np.frombuffer(data, "<u2", count).astype(np.uint32)
    return np.asarray((probabilities << 16) | np.frombuffer(data, np.uint8, count, 2 * count), np.uint32)


def _pack_states(states: NDArray[np.uint32]) -> bytes:
    flat = states.ravel()
    return (flat >> 16).astype("<u2").tobytes() + (flat & 255).astype(np.uint8).tobytes()


def unpack_prior(data: bytes, *, ends: bool = True) -> Prior:
    """Model (int16), states, mixing weights (int32), states of the setup; states as uint16 P(1) then uint8 counts.

    Without `ends` it is of the time before version 3: states and weights of ends are not there.
    """
    missing, weightless = (0, 0) if ends else (CONTEXTS, 3)
    sizes = (2 * MODEL, 3 * (STATES - missing), 4 * (WEIGHTS - weightless), 3 * SETUP_CONTEXTS * SETUP_BINS)
    model, states, weights, setup = (data[a:b] for a, b in pairwise(np.cumsum([0, *sizes])))
    return Prior(
        np.frombuffer(model, "<i2").astype(np.int16),
        np.pad(_unpack_states(states), (0, missing)),
        np.pad(np.frombuffer(weights, "<i4").astype(np.int32), (0, weightless)),
        _unpack_states(setup).reshape(SETUP_CONTEXTS, SETUP_BINS),
    )


def pack_prior(prior: Prior) -> bytes:
    """Inverse of `unpack_prior`."""
    return b"".join(
        [
            prior.model.astype("<i2").tobytes(),
            _pack_states(prior.states),
            prior.weights.astype("<i4").tobytes(),
            _pack_states(prior.setup),
        ]
    )


_trial: list[Prior] = []


def use(trial: Prior | None) -> None:
    """Puts another prior in the place of the packaged one, for training."""
    _trial[:] = [trial] if trial else []


def prior(*, ends: bool = True) -> Prior:
    return _trial[0] if _trial else _packaged(ends)


@lru_cache(maxsize=2)
def _packaged(ends: bool) -> Prior:
    found = unpack_prior(resources.files("kinepack.codecs").joinpath(FILES[ends]).read_bytes(), ends=ends)
    for part in found:
        part.setflags(write=False)
    return found


@lru_cache(maxsize=1)
def costs_of() -> NDArray[np.float32]:
    """[LEVELS, COSTS] bits of a magnitude by class of its prediction, signs and all.

    From the prior without ends, in which zeros after the end of a track count: where that is, the quantiser decides.
    """
    one = (_packaged(False).states[: BINS * CONTEXTS].reshape(BINS, CONTEXTS)[:, :LEVELS] >> 16) / 65536
    one = np.clip(one, 1e-3, 1 - 1e-3)
    yes, no = -np.log2(one), -np.log2(1 - one)
    costs = np.zeros((LEVELS, COSTS), np.float32)
    costs[:, 0] = no[0]
    costs[:, 1] = yes[0] + 1 + no[1]
    costs[:, 2] = yes[0] + 1 + yes[1] + no[2]
    base = yes[0] + 1 + yes[1] + yes[2]
    for magnitude in range(3, COSTS):
        bucket = (magnitude - 2).bit_length() - 1
        costs[:, magnitude] = base + yes[3 : 3 + bucket].sum(axis=0) + no[3 + bucket] + bucket
    costs.setflags(write=False)
    return costs
