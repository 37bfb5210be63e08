"""Whole numbers of the lossless mode of `kine`: fixed point, and the rank of printed numbers."""

from __future__ import annotations

from bisect import bisect_right

from kinepack._kernels.reference_coders import Decoder

TENS: list[int] = [10**k for k in range(16)]


def clamp(value: int, most: int) -> int:
    return min(max(value, -most), most)


def scaled(value: int, shift: int) -> int:
    return value << -shift if shift <= 0 else (value + (1 << shift - 1)) >> shift


def quotient(value: int, divisor: int) -> int:
    """Towards zero."""
    return value // divisor if value >= 0 else -(-value // divisor)


def signed64(value: int) -> int:
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def log2(value: int) -> int:
    width = value.bit_length()
    return 256 * (width - 1) + (value >> width - 9 if width > 9 else value << 9 - width) - 256


def power_of(magnitude: int, digits: int) -> int:
    return max(0, bisect_right(TENS, magnitude) - digits) if digits else 0


def rank_of(value: int, digits: int) -> int:
    magnitude = abs(value)
    power = power_of(magnitude, digits)
    if power:
        magnitude = magnitude // TENS[power] + power * (TENS[digits] - TENS[digits - 1])
    return -magnitude if value < 0 else magnitude


def value_of(rank: int, digits: int) -> int:
    magnitude = abs(rank)
    if digits and magnitude >= TENS[digits]:
        decade = TENS[digits] - TENS[digits - 1]
        power = (magnitude - TENS[digits - 1]) // decade
        magnitude = (magnitude - power * decade) * TENS[power]
    return -magnitude if rank < 0 else magnitude


def plain(coder: Decoder, width: int) -> int:
    value = 0
    while width:
        part = min(width, 16)
        value, width = value << part | coder.code_direct(part), width - part
    return value
