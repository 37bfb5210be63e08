"""How adaptive probabilities start and learn: what an encoder and its decoder must agree on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kinepack import _kernels
from kinepack.errors import ConfigError


@dataclass(frozen=True)
class BinaryModel:
    """Adaptive bits. A probability averages its first 2^rate bits, then forgets with a factor 2^-rate."""

    rate: int = 5
    """Shift of the steady adaptation, 1 (fast) to 10 (slow)."""
    initial: tuple[float, ...] = (0.5,)
    """P(bit = 1) at the start: one for all contexts, or one per context."""
    mix_rate: int = 20
    """Shift of the mixer's learning, 12 (fast) to 30 (slow); used with two or three contexts per value."""

    def __post_init__(self) -> None:
        _check_rates(self.rate, self.mix_rate)
        _check_probabilities(self.initial)

    @property
    def mixing(self) -> _kernels.Mixing:
        return _kernels.Mixing(self.rate, self.mix_rate)

    def states(self, contexts: int) -> NDArray[np.uint32]:
        """Initial states [contexts]."""
        if len(self.initial) not in (1, contexts):
            raise ConfigError(f"{len(self.initial)} initial probabilities for {contexts} contexts")
        return np.resize(_states(self.initial), contexts)


@dataclass(frozen=True)
class IntegerModel:
    """Adaptive integers: zero flag, sign, unary up to `escape`, then Exp-Golomb with adaptive buckets."""

    rate: int = 5
    """Shift of the steady adaptation, 1 (fast) to 10 (slow)."""
    escape: int = 14
    """Magnitudes up to this are coded in unary, 0 to 255."""
    zero: float = 0.5
    """P(value is 0) at the start."""
    mix_rate: int = 20
    """Shift of the mixer's learning, 12 (fast) to 30 (slow); used with two or three contexts per value."""

    def __post_init__(self) -> None:
        _check_rates(self.rate, self.mix_rate)
        _check_probabilities((self.zero,))
        if not 0 <= self.escape <= 255:
            raise ConfigError(f"escape is {self.escape}, must be in 0..255")

    @property
    def mixing(self) -> _kernels.Mixing:
        return _kernels.Mixing(self.rate, self.mix_rate)

    def states(self, contexts: int) -> NDArray[np.uint32]:
        """Initial states [contexts, bins]; bin 0 is the flag of being other than zero."""
        states = np.full((contexts, _kernels.integer_bins(self.escape)), _states((0.5,))[0], np.uint32)
        states[:, 0] = _states((1.0 - self.zero,))[0]
        return states


@dataclass(frozen=True)
class SymbolModel:
    """Adaptive order-0 frequencies: each starts at 1, grows by `increment`, all halve above `limit`."""

    alphabet: int = 256
    """Number of symbols, 1 to 32768."""
    increment: int = 32
    """1 to 4096."""
    limit: int = 65536
    """Largest total frequency, from twice the alphabet to 65536."""

    def __post_init__(self) -> None:
        if not 1 <= self.alphabet <= 32768:
            raise ConfigError(f"alphabet is {self.alphabet}, must be in 1..32768")
        if not 1 <= self.increment <= 4096:
            raise ConfigError(f"increment is {self.increment}, must be in 1..4096")
        if not 2 * self.alphabet <= self.limit <= 65536:
            raise ConfigError(f"limit is {self.limit}, must be in {2 * self.alphabet}..65536")


def _check_rates(rate: int, mix_rate: int) -> None:
    if not 1 <= rate <= 10:
        raise ConfigError(f"rate is {rate}, must be in 1..10")
    if not 12 <= mix_rate <= 30:
        raise ConfigError(f"mix_rate is {mix_rate}, must be in 12..30")


def _check_probabilities(probabilities: tuple[float, ...]) -> None:
    if not probabilities or not all(0.0 <= p <= 1.0 for p in probabilities):
        raise ConfigError(f"probabilities are {probabilities}, each must be in 0..1")


def _states(probabilities: tuple[float, ...]) -> NDArray[np.uint32]:
    """22 bits of P(1) over ten zero bits of count."""
    steps = [min(int(p * (1 << 22)), (1 << 22) - 1) for p in probabilities]
    return np.array([step << 10 for step in steps], np.uint32)
