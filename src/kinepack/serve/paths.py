"""From a path in a URL to an open file below the server's folder, and to nothing else."""

from __future__ import annotations

import os
import stat
from pathlib import Path

KINE = ".kine"
_READ = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_STEP = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class OutsidePath(Exception):
    """A path that no honest link has: it climbs, hides or names a device."""


def split_path(path: str) -> list[str]:
    """The names in a relative path; OutsidePath if one of them could lead elsewhere."""
    parts = path.split("/")
    for part in parts:
        if not part or part.startswith(".") or any(c in '\\:"<>|?*' or ord(c) < 32 or ord(c) == 127 for c in part):
            raise OutsidePath(path)
    return parts


def open_inside(root: Path, path: str) -> int:
    """Descriptor of the regular file `path` below `root`. Links are not followed, in any part of the path.

    FileNotFoundError (or another OSError) if there is none, OutsidePath if the path is not one of ours.
    """
    parts = split_path(path)
    if os.open not in os.supports_dir_fd:
        return _open_checked(root, parts)
    # Step by step from folder to folder, so that nobody can swap one for a link in between.
    at = os.open(root, _READ | os.O_DIRECTORY)
    try:
        for part in parts[:-1]:
            below = os.open(part, _READ | _STEP | os.O_DIRECTORY, dir_fd=at)
            os.close(at)
            at = below
        return _regular(os.open(parts[-1], _READ | _STEP, dir_fd=at))
    finally:
        os.close(at)


def _open_checked(root: Path, parts: list[str]) -> int:
    """Where the system has no descriptors of folders: the resolved path has to be the path itself."""
    path = root.resolve().joinpath(*parts)
    if path.resolve() != path:
        raise FileNotFoundError(path)
    return _regular(os.open(path, _READ))


def _regular(descriptor: int) -> int:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FileNotFoundError("not a regular file")
    return descriptor


def kine_files(root: Path, *, most: int, depth: int = 6) -> list[str]:
    """Relative paths of the `.kine` files below `root` that `open_inside` would open, in order, `most` at the most."""
    found: list[str] = []
    folders = [("", 0)]
    while folders and len(found) < most:
        prefix, level = folders.pop(0)
        try:
            entries = sorted(os.scandir(root / prefix), key=lambda entry: entry.name.lower())
        except OSError:
            continue
        for entry in entries:
            if _allowed(entry.name) and entry.is_file(follow_symlinks=False) and entry.name.lower().endswith(KINE):
                found.append(prefix + entry.name)
            elif _allowed(entry.name) and level < depth and entry.is_dir(follow_symlinks=False):
                folders.append((f"{prefix}{entry.name}/", level + 1))
    return found[:most]


def _allowed(name: str) -> bool:
    try:
        name.encode()
        return bool(split_path(name))
    except (OutsidePath, UnicodeEncodeError):
        return False
