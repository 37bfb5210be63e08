"""Byte planes: all first bytes, then all second bytes, …, so that like meets like."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def split_planes(values: NDArray[Any]) -> bytes:
    """The bytes of an array's items, plane by plane."""
    return np.ascontiguousarray(values).view(np.uint8).reshape(-1, values.itemsize).T.tobytes()


def join_planes(planes: bytes, itemsize: int) -> bytes:
    """Inverse of `split_planes`, as the items' plain bytes; a rest that fills no item is dropped."""
    count = len(planes) // itemsize
    return np.frombuffer(planes, np.uint8, count * itemsize).reshape(itemsize, count).T.tobytes()
