"""Where outputs go: a folder of files, or one library. Either way a file is there whole or not at all."""

from __future__ import annotations

import contextlib
import json
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kinepack.batch.work import digest
from kinepack.container.writer import write_atomically
from kinepack.errors import IOFailure, UsageError
from kinepack.library import Library, Piece, create, pieces_of
from kinepack.library.pieces import piece

Row = Mapping[str, Any]


class Destination(ABC):
    """A place for outputs, with a journal and a list of rejected inputs."""

    folder: Path
    journal_path: Path
    rejected_path: Path

    def path_of(self, name: str) -> Path:
        return self.folder / f"{name}.kine"

    def open(self) -> None:
        """Makes the folder and takes away what a killed run left half written."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for left in self.folder.rglob(".*.kine.*.part"):
                left.unlink(missing_ok=True)
        except OSError as error:
            raise IOFailure(f"cannot write to {self.folder}: {error.strerror or error}") from None

    def store(self, name: str, data: bytes) -> None:
        path = self.path_of(name)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise IOFailure(f"cannot write to {path.parent}: {error.strerror or error}") from None
        write_atomically(path, data)

    def holds(self, row: Row) -> bool:
        """Whether the output of a finished input is there, byte for byte."""
        path = self.path_of(row["name"])
        return path.is_file() and digest(path.read_bytes()) == row.get("sha256")

    def reject(self, rejected: list[dict[str, str]]) -> None:
        """Writes the list of inputs that were set aside, or takes away an old one."""
        if rejected:
            lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rejected)
            write_atomically(self.rejected_path, lines.encode())
        else:
            self.rejected_path.unlink(missing_ok=True)

    @abstractmethod
    def finish(self, rows: Mapping[str, Row], labels: Mapping[str, str]) -> None:
        """Puts the outputs of all finished inputs where they belong."""


class FolderDestination(Destination):
    """A `.kine` file for each input."""

    def __init__(self, folder: Path) -> None:
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"{folder} is not a folder", hint="name a folder, or a library that ends in .kine")
        self.folder = folder
        self.journal_path, self.rejected_path = folder / "batch.jsonl", folder / "rejected.jsonl"

    def finish(self, rows: Mapping[str, Row], labels: Mapping[str, str]) -> None:
        pass


class LibraryDestination(Destination):
    """One library: outputs wait in a hidden folder beside it until all are there."""

    def __init__(self, path: Path) -> None:
        if path.is_dir():
            raise UsageError(f"{path} is a folder", hint="name a file that ends in .kine")
        self.path = path
        self.folder = path.parent / f".{path.name}.parts"
        self.journal_path = path.with_name(f"{path.stem}.batch.jsonl")
        self.rejected_path = path.with_name(f"{path.stem}.rejected.jsonl")
        self._keys: dict[str, str] = {}

    def open(self) -> None:
        super().open()
        for left in self.path.parent.glob(f".{self.path.name}.*.part"):
            left.unlink(missing_ok=True)
        if self.path.exists():
            with Library(self.path) as library:
                self._keys = {clip.name: clip.key for clip in library.listed}

    def holds(self, row: Row) -> bool:
        names = row.get("library_names", [])
        return super().holds(row) or (bool(names) and all(self._keys.get(name) == row["key"] for name in names))

    def finish(self, rows: Mapping[str, Row], labels: Mapping[str, str]) -> None:
        """All clips by name: those of finished inputs, and those the library had before."""
        fresh = {name: row for name, row in rows.items() if self.path_of(name).is_file()}
        if fresh or not self.path.exists():
            create(self.path, self._pieces(fresh, labels))
        with contextlib.suppress(OSError):
            shutil.rmtree(self.folder)

    def _pieces(self, fresh: Mapping[str, Row], labels: Mapping[str, str]) -> Iterator[Piece]:
        """In the order of names, one in memory at a time."""
        order: dict[str, tuple[Row, int]] = {}
        for row in fresh.values():
            for number, name in enumerate(row["library_names"]):
                if name in order:
                    raise UsageError(f"two clips would both be called {name!r}", hint="rename one of the inputs")
                order[name] = (row, number)
        with contextlib.ExitStack() as stack:
            old = stack.enter_context(Library(self.path)) if self.path.exists() else None
            for name in sorted({*order, *(old or ())}):
                if name in order:
                    yield self._fresh(*order[name], labels).renamed(name)
                else:
                    assert old is not None
                    yield piece(old.reader, old[name].number)

    def _fresh(self, row: Row, number: int, labels: Mapping[str, str]) -> Piece:
        several = list(pieces_of(self.path_of(row["name"])))
        return several[number].described(labels, row["stats"][number], row["key"])


def destination_of(dest: str) -> Destination:
    """A library if the name ends in .kine, else a folder."""
    if "://" in dest:
        raise UsageError(f"outputs go to a folder or a file on disk, not to {dest}")
    path = Path(dest)
    chosen = LibraryDestination(path) if path.suffix.lower() == ".kine" else FolderDestination(path)
    if not path.parent.is_dir():
        raise IOFailure(f"no such folder: {path.parent}", hint=f"make it with: mkdir -p {path.parent}")
    return chosen
