"""Which files a batch is about: under folders, in zips, by globs, behind URLs; and what each will be called."""

from __future__ import annotations

import glob
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from kinepack.errors import ConfigError, IOFailure, UsageError
from kinepack.formats.base import extension_of, formats_for
from kinepack.formats.sequence import sequence_name

FRAME_FILES = (".obj", ".ply", ".off")
"""Formats of one file per frame: a run of files is one input."""


@dataclass(frozen=True)
class Input:
    """A file to compress."""

    place: str
    """Path or URL."""
    name: str
    """What its output is called: path below the source, without extension."""
    size: int
    """Bytes."""


@dataclass(frozen=True)
class _Found:
    place: str
    root: str
    """Name of the source it was found under."""
    path: PurePosixPath
    """Below the source."""
    size: int


def find_inputs(sources: Sequence[str], *, beside: Path | None = None) -> list[Input]:
    """Every file of a known format under the sources, sorted by name; what lies in `beside` is left out."""
    found = [file for source in sources for file in _find(source, beside) if formats_for(file.path.name)]
    return _named(_unique(_joined(found)))


def _find(source: str, beside: Path | None) -> Iterator[_Found]:
    if "://" in source:
        return _find_remote(source)
    path = Path(source)
    if path.is_dir():
        return _find_below(path, beside)
    if path.is_file():
        return _find_in_zip(path) if extension_of(source) == ".zip" else iter([_file(path, path.parent)])
    if glob.has_magic(source):
        return _find_glob(source, beside)
    raise IOFailure(f"no such file or folder: {source}")


def _file(path: Path, root: Path) -> _Found:
    return _Found(str(path), root.resolve().name, PurePosixPath(path.relative_to(root).as_posix()), path.stat().st_size)


def _find_below(folder: Path, beside: Path | None) -> Iterator[_Found]:
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.is_file() and not hidden and not (beside and _inside(path, beside)):
            yield _file(path, folder)


def _inside(path: Path, folder: Path) -> bool:
    return folder.resolve() in path.resolve().parents and folder.resolve() != path.resolve()


def _find_glob(pattern: str, beside: Path | None) -> Iterator[_Found]:
    fixed = Path(*_before_magic(pattern))
    matches = sorted(Path(match) for match in glob.glob(pattern, recursive=True))  # noqa: PTH207 - absolute patterns
    if not matches:
        raise IOFailure(f"no file matches {pattern}")
    for match in matches:
        if match.is_dir():
            yield from (
                _Found(f.place, fixed.name, PurePosixPath(Path(f.place).relative_to(fixed).as_posix()), f.size)
                for f in _find_below(match, beside)
            )
        elif not (beside and _inside(match, beside)):
            yield _file(match, fixed)


def _before_magic(pattern: str) -> Iterator[str]:
    for part in Path(pattern).parts:
        if glob.has_magic(part):
            return
        yield part


def _find_in_zip(path: Path) -> Iterator[_Found]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = sorted(archive.infolist(), key=lambda member: member.filename)
    except (zipfile.BadZipFile, OSError) as error:
        raise IOFailure(f"cannot read {path}: {error}") from None
    for member in members:
        inner = PurePosixPath(*(part for part in PurePosixPath(member.filename).parts if part not in ("..", "/")))
        if not member.is_dir() and not any(part.startswith((".", "__MACOSX")) for part in inner.parts):
            place = f"zip://{member.filename}::{path.resolve().as_posix()}"
            yield _Found(place, path.stem, inner, member.file_size)


def _find_remote(url: str) -> Iterator[_Found]:
    try:
        import fsspec
    except ImportError:
        raise ConfigError(f"reading {url} needs fsspec", hint='pip install "kinepack[remote]"') from None
    try:
        files, path = fsspec.core.url_to_fs(url)
        details: dict[str, Any] = files.glob(path, detail=True) if glob.has_magic(path) else {}
        if not details:
            details = files.find(path, detail=True) if files.isdir(path) else {path: files.info(path)}
    except Exception as error:  # each backend raises its own kinds
        raise IOFailure(f"cannot list {url}: {error}") from None
    root = PurePosixPath(path if files.isdir(path) else path.rpartition("/")[0])
    for full, facts in sorted(details.items()):
        inner = PurePosixPath(full)
        below = inner.relative_to(root) if inner.is_relative_to(root) else PurePosixPath(inner.name)
        if facts.get("type") != "directory":
            yield _Found(files.unstrip_protocol(full), root.name, below, int(facts.get("size") or 0))


def _joined(found: list[_Found]) -> list[_Found]:
    """Runs of one file per frame as one: its first file, with the size of all."""
    kept: list[_Found] = []
    runs: dict[tuple[str, str, str, str], int] = {}
    for file in found:
        extension = extension_of(file.path.name)
        if extension not in FRAME_FILES:
            kept.append(file)
            continue
        name = sequence_name(file.path.name)
        run = (file.root, str(file.path.parent), name, extension)
        if run in runs:
            first = kept[runs[run]]
            kept[runs[run]] = _Found(first.place, first.root, first.path, first.size + file.size)
        else:
            runs[run] = len(kept)
            kept.append(_Found(file.place, file.root, file.path.with_name(name + extension), file.size))
    return kept


def _unique(found: list[_Found]) -> list[_Found]:
    """Each place once, though two sources may both reach it."""
    return list({file.place: file for file in found}.values())


def _named(found: list[_Found]) -> list[Input]:
    """Names from paths; those that clash keep their extension, and if need be the source's name."""
    spellings: list[Callable[[_Found], str]] = [
        lambda f: str(f.path.with_suffix("")),
        lambda f: str(f.path),
        lambda f: f"{f.root}/{f.path}",
    ]
    names = {file.place: spellings[0](file) for file in found}
    for spelling in spellings[1:]:
        counts = Counter(names.values())
        for file in found:
            if counts[names[file.place]] > 1:
                names[file.place] = spelling(file)
    twice = next((name for name, count in Counter(names.values()).items() if count > 1), None)
    if twice is not None:
        raise UsageError(f"two inputs would both be called {twice}", hint="put them into different folders")
    inputs = [Input(file.place, names[file.place], file.size) for file in found]
    return sorted(inputs, key=lambda item: item.name)
