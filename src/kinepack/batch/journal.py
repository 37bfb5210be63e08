"""What is already done: a line of JSON for every finished input, on disk before it counts."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from kinepack.errors import IOFailure


class Journal:
    """The rows of finished inputs by name, the newest of each; one process at a time may hold it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file: BinaryIO = path.open("a+b")
        except OSError as error:
            raise IOFailure(f"cannot write {path}: {error.strerror or error}") from None
        self._lock()
        self._file.seek(0)
        lines = self._file.read().split(b"\n")
        self.rows = _rows(lines)
        if lines[-1]:  # the last run died inside a line
            self._file.write(b"\n")

    def append(self, row: Mapping[str, Any]) -> None:
        """Adds a row; it is on disk when this returns."""
        try:
            self._file.write(json.dumps(row, sort_keys=True).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise IOFailure(f"cannot write {self.path}: {error.strerror or error}") from None
        self.rows[row["name"]] = dict(row)

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _lock(self) -> None:
        try:
            import fcntl
        except ImportError:  # no such locks on this system: one batch at a time is up to the user
            return
        try:
            fcntl.flock(self._file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise IOFailure(f"another batch is writing to {self.path.parent}", hint="wait until it is done") from None


def _rows(lines: list[bytes]) -> dict[str, dict[str, Any]]:
    """Whole lines only: a line cut short by a crash says nothing."""
    rows = {}
    for line in lines:
        try:
            row = json.loads(line)
            rows[str(row["name"])] = dict(row)
        except (ValueError, TypeError, KeyError):
            continue
    return rows


def read_rows(path: Path) -> dict[str, dict[str, Any]]:
    """The rows of a journal that may be missing."""
    return _rows(path.read_bytes().split(b"\n")) if path.is_file() else {}
