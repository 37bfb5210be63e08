"""Least squares in fixed point, as kernels/kine_solve.h does it."""

from __future__ import annotations

from kinepack._kernels.reference_kine_ranks import clamp, scaled, signed64

WEIGHT_BITS, SOLVED_BITS, MOST_WEIGHT, MOST_SOLVED = 22, 24, 1 << 31, 1 << 30
RIDGE, ONE = 1 << 20, 1 << 30


def solve(normal: list[list[int]], target: list[int], energy: int) -> list[int]:
    """Weights in 2^-24 of what normal equations (the lower triangle) ask for."""
    order = len(target)
    exponents = [_exponent(normal[i][i] + 2 * RIDGE) for i in range(order)] + [_exponent(energy + 2 * RIDGE)]
    factor: list[list[int]] = []
    pivots: list[tuple[int, int]] = []
    for j in range(order):
        row = [normal[i][j] for i in range(j, order)] + [target[j]]
        row[0] += RIDGE + (row[0] >> 26)
        whole = [n << 60 - exponents[j] - exponents[i] for i, n in enumerate(row, j)]
        left = [signed64(n - sum(f[j] * f[i] for f in factor)) for i, n in enumerate(whole, j)]
        root, half = _pivot(left[0])
        highs = [_signed32(n >> 31 - half) for n in left]
        factor.append([0] * j + [clamp(high * root + (1 << 30) >> 31, ONE) for high in highs])
        pivots.append((root, half))
    return _substituted(factor, pivots, exponents)


def _substituted(factor: list[list[int]], pivots: list[tuple[int, int]], exponents: list[int]) -> list[int]:
    order = len(factor)
    found, weights = [0] * order, [0] * order
    for i in reversed(range(order)):
        row, (root, half) = factor[i], pivots[i]
        left = signed64((row[order] << WEIGHT_BITS) - sum(row[k] * found[k] for k in range(i + 1, order)))
        found[i] = clamp(left >> 31 - half, MOST_WEIGHT) * root >> 31
        weights[i] = clamp(scaled(found[i], exponents[i] + WEIGHT_BITS - exponents[order] - SOLVED_BITS), MOST_SOLVED)
    return weights


def _exponent(squares: int) -> int:
    return (squares.bit_length() + 1) // 2


def _pivot(square: int) -> tuple[int, int]:
    """root and half: 1 / sqrt(square) is root 2^(half - 62), by four of Newton's steps."""
    square = min(max(square, 1 << 36), 1 << 61)
    half = (64 - square.bit_length()) // 2
    mantissa = square << 2 * half >> 32
    root = 2290000000 - (mantissa * 1248 >> 12)
    for _ in range(4):
        root = root * ((3 << 31) - ((root * root >> 31) * mantissa >> 30)) >> 32
    return root, half


def _signed32(value: int) -> int:
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)
