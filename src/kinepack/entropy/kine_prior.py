"""The trained prior of the `kine` codec: what its coder knows before the first symbol."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels._kine import BINS, COSTS, LEVELS, MODEL, ROWS, RUNS, STATES, WEIGHTS, Prior

CONTEXTS = LEVELS + RUNS + ROWS


def unpack_prior(data: bytes) -> Prior:
    """int16 model, uint16 probabilities, uint8 counts, int32 mixing weights, little-endian."""
    model = np.frombuffer(data, "<i2", MODEL)
    at = 2 * MODEL
    probabilities = np.frombuffer(data, "<u2", STATES, at).astype(np.uint32)
    counts = np.frombuffer(data, np.uint8, STATES, at + 2 * STATES).astype(np.uint32)
    weights = np.frombuffer(data, "<i4", WEIGHTS, at + 3 * STATES)
    return Prior(model.astype(np.int16), ((probabilities << 16) | counts).astype(np.uint32), weights.astype(np.int32))


def pack_prior(prior: Prior) -> bytes:
    """Inverse of `unpack_prior`."""
    return b"".join(
        [
            prior.model.astype("<i2").tobytes(),
            (prior.states >> 16).astype("<u2").tobytes(),
            (prior.states & 255).astype(np.uint8).tobytes(),
            prior.weights.astype("<i4").tobytes(),
        ]
    )


_trial: list[Prior] = []


def use(trial: Prior | None) -> None:
    """Puts another prior in the place of the packaged one, for training."""
    _trial[:] = [trial] if trial else []
    costs_of.cache_clear()


def prior() -> Prior:
    return _trial[0] if _trial else _packaged()


@lru_cache(maxsize=1)
def _packaged() -> Prior:
    found = unpack_prior(resources.files("kinepack.codecs").joinpath("kine_prior.bin").read_bytes())
    for part in found:
        part.setflags(write=False)
    return found


@lru_cache(maxsize=1)
def costs_of() -> NDArray[np.float32]:
    """[LEVELS, COSTS] bits of a magnitude by class of its prediction, signs and all."""
    one = (prior().states[: BINS * CONTEXTS].reshape(BINS, CONTEXTS)[:, :LEVELS] >> 16) / 65536
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
