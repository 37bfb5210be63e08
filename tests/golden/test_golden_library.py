"""A library written by the first version reads the same forever."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kinepack import Library
from kinepack.codecs.base import matrix_of
from kinepack.library import verify

GOLDEN = Path(__file__).parent / "library" / "v1.kine"


def test_golden_library_reads_the_same() -> None:
    expected = np.load(GOLDEN.with_suffix(".npz"))
    with Library(GOLDEN) as library:
        assert list(library) == ["a/1", "b/2", "c/3"] and verify(library) == []
        assert [clip.labels for clip in library.clips()] == [{"take": "1"}, {"take": "2"}, {"take": "3"}]
        assert all(c.stats == {"joint_max": 0.25} and c.listed.key == "0123abcd" for c in library.clips())
        assert library.info()["skeletons"] == 2
        for name in library:
            np.testing.assert_allclose(
                matrix_of(library[name].decode()), expected[name.replace("/", "_")], rtol=0, atol=1e-6
            )
