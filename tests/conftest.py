"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def find_shared_data() -> Path | None:
    """The folder of real motion files: $KINEPACK_DATA, or ../shared/data beside the checkout."""
    folder = Path(os.environ.get("KINEPACK_DATA", ROOT.parent / "shared" / "data"))
    return folder if folder.is_dir() else None


@pytest.fixture(scope="session")
def shared_data() -> Path:
    folder = find_shared_data()
    if folder is None:
        pytest.skip("no real motion files: set KINEPACK_DATA to their folder")
    return folder
