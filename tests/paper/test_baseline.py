"""`delta-lzma` is the baseline that others published figures for."""

from __future__ import annotations

from pathlib import Path

import pytest

import kinepack
from kinepack.model import Clip

# Bytes a frame at joint_rms 0.1 and 1.0 cm of "round, second difference, byte planes, LZMA" on CMU BVH clips.
PUBLISHED = {
    "02_01": (31.1, 12.5),
    "05_10": (34.3, 14.0),
    "09_01": (37.9, 17.7),
    "13_11": (24.2, 9.0),
    "16_35": (35.2, 15.9),
    "49_08": (40.2, 18.6),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_bytes_a_frame_within_five_per_cent(name: str, shared_data: Path) -> None:
    clip = kinepack.read(shared_data / "bvh" / "cmu" / f"{name}.bvh", unit_cm=2.54 / 0.45)
    assert isinstance(clip, Clip)
    motion = clip.slice(1, clip.frames)  # the file starts with a T-pose
    for error_cm, published in zip((0.1, 1.0), PUBLISHED[name], strict=True):
        row = kinepack.evaluate(motion, "delta-lzma", target=f"joint_rms<={error_cm}")
        assert row.metrics["joint_rms"] <= error_cm
        assert row.motion_bytes / motion.frames == pytest.approx(published, rel=0.05)
