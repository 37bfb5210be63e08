"""Streams written by released versions decode to the same numbers forever."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kinepack
from kinepack.codecs.base import CODECS, matrix_of

STREAMS = Path(__file__).parent / "streams"
FILES = sorted(STREAMS.glob("*/*.kine"))


@pytest.mark.parametrize("codec", list(CODECS))
def test_every_codec_version_has_a_golden(codec: str) -> None:
    versions = {int(p.stem[1:].split("-")[0]) for p in (STREAMS / codec).glob("*.kine")}
    assert versions == set(range(1, CODECS[codec].version + 1)), f"run: python tests/golden/make.py {codec}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_golden_decodes_to_its_numbers(path: Path) -> None:
    decoded = matrix_of(kinepack.decompress(path))
    expected = np.load(path.with_suffix(".npy"))
    scale = max(1.0, float(np.abs(expected).max()))
    # Integers are exact everywhere; the last float operations may differ by a rounding between machines.
    np.testing.assert_allclose(
        decoded, expected, rtol=0, atol=1e-6 * scale if expected.dtype == np.float32 else 1e-10 * scale
    )
