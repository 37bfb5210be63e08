"""Bytes of an indexed motion file as functions of its parameters: Eq. 3 to 8 of Chattopadhyay et al. (000).

n frames, m columns, FDF exact columns, b bits an index, n_d rows a table. `c1` is what a table's header takes beside
the table; the segments of `bap-indexing` have none. The paper writes the rows of d now as n - 1, now as n "without
loss of generality"; here they are n - 1 throughout, which is what its own example (9,642 bytes for jog) has.
"""

from __future__ import annotations

FLOAT = 4


def original_file_size(n: int, m: int) -> int:
    """4mn: the pose of every frame in floats."""
    return FLOAT * m * n


def segment_header(b: int, c1: int = 0) -> int:
    """Eq. 3."""
    return (FLOAT << b) + c1


def segment_motion(n_d: int, m: int, *, fdf: int, b: int) -> int:
    """Eq. 4."""
    return n_d * (FLOAT * fdf + -(-b // 8) * (m - fdf))


def file_size_eq5(n: int, m: int, *, fdf: int, b: int, n_d: int, c1: int = 0) -> int:
    """Eq. 5: as if the last table's rows were n_d too."""
    tables = -(-(n - 1) // n_d)
    return tables * (segment_header(b, c1) + segment_motion(n_d, m, fdf=fdf, b=b)) + FLOAT * m


def file_size(n: int, m: int, *, fdf: int, b: int, n_d: int, c1: int = 0) -> int:
    """T(FDF, b, n_d): Eq. 5 with the rows there are; equal to it where n_d divides n - 1."""
    tables = -(-(n - 1) // n_d)
    return tables * segment_header(b, c1) + segment_motion(n - 1, m, fdf=fdf, b=b) + FLOAT * m


def smallest_file_size(n: int, m: int) -> int:
    """Eq. 6: FDF = 0, n_d = n, b = 8."""
    return (n - 1) * m + FLOAT * m + segment_header(8)


def bounds(n: int, m: int) -> tuple[int, int]:
    """Eq. 7: least and most bytes."""
    return smallest_file_size(n, m), original_file_size(n, m)


def is_valid(size: int, n: int, m: int, f: float) -> bool:
    """Eq. 8: whether a file of `size` bytes is within the fraction f of the original."""
    return smallest_file_size(n, m) <= size <= f * original_file_size(n, m)
