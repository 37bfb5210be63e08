"""The settings tables in the docs are the declarations in the code."""

from __future__ import annotations

import sys

import pytest

from conftest import ROOT
from kinepack.codecs.base import CODECS

sys.path.insert(0, str(ROOT / "tools"))
from settings_tables import MARKED, PAGES, with_table


@pytest.mark.parametrize("id", list(CODECS))
def test_table_is_up_to_date(id: str) -> None:
    page = (PAGES / f"{id}.md").read_text()
    assert MARKED.search(page), "the page needs <!-- settings --> and <!-- /settings -->"
    assert with_table(page, CODECS[id]) == page, "run: python tools/settings_tables.py"
