"""Decoded runs of frames kept in bounded memory; the least recently used go first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

from numpy.typing import NDArray


class ArrayCache:
    """Arrays by key up to a number of bytes; threads may share it."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes, self.bytes = max_bytes, 0
        self._arrays: OrderedDict[Hashable, NDArray[Any]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        """The array of a key, made outside the lock if it is not there: two threads may both make it."""
        with self._lock:
            found = self._arrays.get(key)
            if found is not None:
                self._arrays.move_to_end(key)
                return found
        made = make()
        self._put(key, made)
        return made

    def _put(self, key: Hashable, made: NDArray[Any]) -> None:
        with self._lock:
            if key in self._arrays or made.nbytes > self.max_bytes:
                return
            self._arrays[key] = made
            self.bytes += made.nbytes
            while self.bytes > self.max_bytes:
                self.bytes -= self._arrays.popitem(last=False)[1].nbytes

    def __len__(self) -> int:
        return len(self._arrays)
