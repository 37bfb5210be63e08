"""The `Source` of a path on disk or of an fsspec URL."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from kinepack.errors import ConfigError, IOFailure
from kinepack.formats.base import Source


class PathSource:
    """A file or folder on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.exists():
            raise IOFailure(f"no such file: {path}")

    @property
    def name(self) -> str:
        return self.path.name

    def read(self) -> bytes:
        return _read(self.path)

    def neighbours(self) -> Sequence[str]:
        folder = self.path if self.path.is_dir() else self.path.parent
        return sorted(p.name for p in folder.iterdir() if p.is_file())

    def neighbour(self, name: str) -> bytes:
        return _read((self.path if self.path.is_dir() else self.path.parent) / name)


class UrlSource:
    """A file behind any URL that fsspec opens: http, s3, memory, a zip member."""

    def __init__(self, url: str) -> None:
        try:
            import fsspec
        except ImportError:
            raise ConfigError(f"reading {url} needs fsspec", hint='pip install "kinepack[remote]"') from None
        try:
            self._files, self._path = fsspec.core.url_to_fs(url)
        except Exception as error:  # each backend raises its own kinds
            raise IOFailure(f"cannot open {url}: {error}") from None

    @property
    def name(self) -> str:
        return PurePosixPath(self._path).name

    def read(self) -> bytes:
        return self._cat(self._path)

    def neighbours(self) -> Sequence[str]:
        try:
            listing: list[Any] = self._files.ls(self._folder, detail=False)
        except Exception:  # many servers do not list folders
            return [self.name]
        return sorted(PurePosixPath(str(p)).name for p in listing)

    def neighbour(self, name: str) -> bytes:
        return self._cat(f"{self._folder}/{name}")

    @property
    def _folder(self) -> str:
        return str(self._path).rpartition("/")[0]

    def _cat(self, path: str) -> bytes:
        try:
            data: bytes = self._files.cat_file(path)
        except Exception as error:
            raise IOFailure(f"cannot read {path}: {error}") from None
        return data


def source_of(place: str | Path) -> Source:
    """The source behind a path or a URL."""
    if isinstance(place, str) and "://" in place:
        return UrlSource(place)
    return PathSource(Path(place))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise IOFailure(f"cannot read {path}: {error.strerror or error}") from None
