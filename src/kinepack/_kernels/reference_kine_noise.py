"""Rounding noise in the lossless mode of `kine`: multiples of 2^-68 rad, printed as degrees."""

from __future__ import annotations

from kinepack._kernels.reference_coders import Decoder, probability, updated
from kinepack._kernels.reference_kine_ranks import TENS, plain, power_of

DYADIC_BITS, DYADIC_UNIT, DYADIC_SHIFT, STATE_RATE = 22, 521102079011, 28, 5
DYADIC_STATES = 1 + DYADIC_BITS + DYADIC_BITS**2


def dyadic_value(multiple: int, digits: int) -> int:
    """As it is printed, on the grid of 10^-22."""
    product = multiple * DYADIC_UNIT
    grid = TENS[power_of(product >> DYADIC_SHIFT, digits)]
    return ((product >> DYADIC_SHIFT - 1) // grid + 1) // 2 * grid


def multiple_of(value: int, digits: int) -> int:
    """The roundest multiple that is printed like this, or the nearest: what the encoder codes."""
    nearest, multiple = (abs(value) << 20) // (DYADIC_UNIT >> 9), 0
    for zeros in range(DYADIC_BITS - 2, -1, -1):
        multiple = ((nearest >> zeros) + 1) // 2 << zeros
        if multiple < 1 << DYADIC_BITS - 1 and dyadic_value(multiple, digits) == abs(value):
            break
    return -multiple if value < 0 else multiple


class Noise:
    """A channel of multiples of 2^-68 rad, printed as degrees."""

    def __init__(self, digits: int, states: list[int]) -> None:
        self.digits, self.states = digits, states

    def read(self, coder: Decoder) -> int:
        if not self._bit(coder, 0):
            return 0
        zeros = self._unary(coder, 1, DYADIC_BITS - 2)
        width = self._unary(coder, 1 + DYADIC_BITS * (1 + zeros), DYADIC_BITS - 2 - zeros)
        half = 1 << width - 1 | plain(coder, width - 1) if width else 0
        negative = coder.code_direct(1)
        value = dyadic_value(2 * half + 1 << zeros, self.digits)
        return -value if negative else value

    def _bit(self, coder: Decoder, at: int) -> int:
        bit = coder.code_bit(probability(self.states[at]))
        self.states[at] = updated(self.states[at], STATE_RATE, bit)
        return bit

    def _unary(self, coder: Decoder, at: int, most: int) -> int:
        found = 0
        while found < most and self._bit(coder, at + found):
            found += 1
        return found
