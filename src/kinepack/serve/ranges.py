"""HTTP's conditions and ranges (RFC 9110, sections 13 and 14) as functions of headers alone."""

from __future__ import annotations

import email.utils
import re
from collections.abc import Mapping

_RANGE = re.compile(r"bytes=\s*(\d{0,18})-(\d{0,18})\s*", re.IGNORECASE)


class Unsatisfiable(Exception):
    """The asked range has no byte of the file: 416."""


def etag_of(modified_ns: int, size: int, inode: int) -> str:
    """A strong validator: another version of a file has another one."""
    return f'"{modified_ns:x}-{size:x}-{inode:x}"'


def http_date(modified_s: float) -> str:
    return email.utils.formatdate(modified_s, usegmt=True)


def not_modified(headers: Mapping[str, str], etag: str, modified_s: float) -> bool:
    """Whether the client's copy is current (304). If-None-Match counts before If-Modified-Since."""
    wanted = headers.get("if-none-match")
    if wanted is not None:
        tags = {tag.strip().removeprefix("W/") for tag in wanted.split(",")}
        return "*" in tags or etag in tags
    since = _seconds(headers.get("if-modified-since"))
    return since is not None and int(modified_s) <= since


def range_of(headers: Mapping[str, str], size: int, etag: str, modified_s: float) -> tuple[int, int] | None:
    """First byte and the byte after the last; None for the whole file.

    The whole is also the answer to a Range that is malformed or asks for several parts, and to an If-Range that names
    another version.
    """
    match = _RANGE.fullmatch(headers.get("range", ""))
    if not match or match[1] == match[2] == "" or not _if_range(headers, etag, modified_s):
        return None
    if not match[1]:  # the last so many bytes
        start, stop = max(0, size - int(match[2])), size
    else:
        start, stop = int(match[1]), int(match[2]) + 1 if match[2] else size
        if match[2] and stop <= start:
            return None
    stop = min(stop, size)
    if start >= stop:
        raise Unsatisfiable
    return start, stop


def _if_range(headers: Mapping[str, str], etag: str, modified_s: float) -> bool:
    condition = headers.get("if-range")
    if condition is None or condition.strip() == etag:
        return True
    return '"' not in condition and _seconds(condition) == int(modified_s)


def _seconds(date: str | None) -> int | None:
    try:
        return int(email.utils.parsedate_to_datetime(date).timestamp()) if date else None
    except (ValueError, TypeError, OverflowError):
        return None
