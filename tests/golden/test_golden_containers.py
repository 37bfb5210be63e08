"""Orders of segments in a file, as a released version wrote them.

`layered.kine` is `kinepack.compress(awkward_clips()["prime-length"].slice(0, 36), "kine:layers=3,segment_s=0.1")`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import kinepack
from kinepack.codecs.base import matrix_of
from kinepack.container.layout import Tag

LAYERED = Path(__file__).parent / "containers" / "layered.kine"


def test_layered_clip_decodes_to_its_numbers() -> None:
    expected = np.load(LAYERED.with_suffix(".npy"))
    with kinepack.open(LAYERED) as file:
        assert file[0].record.tag == Tag.LAYERED_CLIP and len(file[0].record.segments) > 3
        for layers, values in enumerate(expected, 1):
            np.testing.assert_allclose(matrix_of(file[0].decode(layers=layers)), values, rtol=0, atol=1e-9)
