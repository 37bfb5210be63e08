"""Where a container's bytes come from: memory, a file, HTTP ranges or any fsspec URL."""

from __future__ import annotations

import errno
import io
import os
import stat
import threading
import urllib.error
import urllib.request
import weakref
from pathlib import Path
from typing import Any, Protocol

from kinepack.errors import ConfigError, IOFailure, Truncated


class ByteSource(Protocol):
    """Anything with a size and random reads."""

    size: int

    def read_at(self, offset: int, size: int) -> bytes:
        """Exactly `size` bytes, or Truncated."""

    def close(self) -> None: ...


class BytesSource:
    """Bytes in memory."""

    def __init__(self, data: bytes) -> None:
        self._data, self.size = data, len(data)

    def read_at(self, offset: int, size: int) -> bytes:
        return check_size(self._data[offset : offset + size], size)

    def close(self) -> None:
        pass


class FileSource:
    """A seekable binary file; safe to share between threads."""

    def __init__(self, file: Any) -> None:
        self._file, self._lock = file, threading.Lock()
        self.size = file.seek(0, io.SEEK_END)

    def read_at(self, offset: int, size: int) -> bytes:
        with self._lock:
            try:
                self._file.seek(offset)
                return check_size(self._file.read(size), size)
            except OSError as error:
                raise IOFailure(f"cannot read: {error}") from None

    def close(self) -> None:
        self._file.close()


class DescriptorSource:
    """A file on disk by positioned reads: threads and forked processes share it without a lock.

    Closes itself with its last reference, because a dataset of a training loop has no good moment to be closed.
    """

    def __init__(self, path: Path) -> None:
        self._handle = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        self._closer = weakref.finalize(self, os.close, self._handle)
        found = os.fstat(self._handle)
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        self.size = found.st_size

    def read_at(self, offset: int, size: int) -> bytes:
        if not self._closer.alive:
            raise IOFailure("the file is closed", hint="read inside the `with` block")
        try:
            data = os.pread(self._handle, size, offset)
            while len(data) < size and (more := os.pread(self._handle, size - len(data), offset + len(data))):
                data += more
        except OSError as error:
            raise IOFailure(f"cannot read: {error}") from None
        return check_size(data, size)

    def close(self) -> None:
        self._closer()


class HttpSource:
    """A URL on a server that answers range requests."""

    TIMEOUT_S = 30

    def __init__(self, url: str) -> None:
        self._url = url
        first = self._request(0, 1)
        total = first.headers.get("Content-Range", "").rpartition("/")[2]
        if first.status != 206 or not total.isdigit():
            raise IOFailure(f"{url}: the server does not answer range requests", hint="download the file first")
        self.size = int(total)

    def read_at(self, offset: int, size: int) -> bytes:
        if size == 0:
            return b""
        if offset + size > self.size:
            raise Truncated(f"{self._url} ends at byte {self.size}, needed {offset + size}")
        with self._request(offset, size) as answer:
            if answer.status != 206:
                raise IOFailure(f"{self._url}: the server ignored a range request")
            return check_size(answer.read(size + 1)[:size], size)

    def _request(self, offset: int, size: int) -> Any:
        request = urllib.request.Request(self._url, headers={"Range": f"bytes={offset}-{offset + size - 1}"})
        try:
            return urllib.request.urlopen(request, timeout=self.TIMEOUT_S)
        except (urllib.error.URLError, OSError, ValueError) as error:
            raise IOFailure(f"cannot open {self._url}: {getattr(error, 'reason', error)}") from None

    def close(self) -> None:
        pass


def check_size(data: bytes, size: int) -> bytes:
    if len(data) != size:
        raise Truncated(f"the file ends {size - len(data)} bytes too early")
    return data


def open_source(place: str | Path | bytes) -> ByteSource:
    """The source behind a path, bytes, an http(s) URL, or any other `scheme://` URL through fsspec."""
    if isinstance(place, (bytes, bytearray, memoryview)):
        return BytesSource(bytes(place))
    text = str(place)
    if isinstance(place, str) and text.startswith(("http://", "https://")):
        return HttpSource(text)
    if isinstance(place, str) and "://" in text:
        return FileSource(_open_fsspec(text))
    try:
        return DescriptorSource(Path(place)) if hasattr(os, "pread") else FileSource(Path(place).open("rb"))
    except OSError as error:
        raise IOFailure(f"cannot open {place}: {error.strerror or error}") from None


def _open_fsspec(url: str) -> Any:
    try:
        import fsspec
    except ImportError:
        raise ConfigError(f"opening {url} needs fsspec", hint='pip install "kinepack[remote]"') from None
    try:
        return fsspec.open(url, "rb").open()
    except Exception as error:  # each fsspec backend raises its own kinds
        raise IOFailure(f"cannot open {url}: {error}") from None
