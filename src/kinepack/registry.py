"""A name -> object table that discovers its members by importing every module of a package."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import threading
from collections.abc import Iterator
from typing import Generic, TypeVar

from kinepack.errors import UnknownCodec

T = TypeVar("T")


class Registry(Generic[T]):
    """Members register themselves when their module is imported; the package is walked on first use."""

    def __init__(self, noun: str, package: str) -> None:
        self._noun, self._package = noun, package
        self._members: dict[str, T] = {}
        self._discovered = False
        self._lock = threading.RLock()

    def add(self, name: str, member: T) -> None:
        if name in self._members:
            raise ValueError(f"two {self._noun}s are called {name!r}")
        self._members[name] = member

    def __getitem__(self, name: str) -> T:
        self._discover()
        if name not in self._members:
            near = difflib.get_close_matches(name, self._members, n=3, cutoff=0.4)
            listing = ", ".join(near or sorted(self._members))
            raise UnknownCodec(
                f"no {self._noun} is called {name!r}", hint=f"{'did you mean' if near else 'there are'}: {listing}"
            )
        return self._members[name]

    def __contains__(self, name: object) -> bool:
        self._discover()
        return name in self._members

    def __iter__(self) -> Iterator[str]:
        self._discover()
        return iter(sorted(self._members))

    def _discover(self) -> None:
        if self._discovered:
            return
        with self._lock:  # a second thread waits for the first one's imports
            package = importlib.import_module(self._package)
            for module in pkgutil.iter_modules(package.__path__):
                importlib.import_module(f"{self._package}.{module.name}")
            self._discovered = True
