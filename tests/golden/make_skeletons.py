"""Writes the golden skeletons: `python tests/golden/make_skeletons.py`. Never run by a test, and once is enough.

Small rigs that between them use every form in which a skeleton's numbers are coded, each in a file of its own with two
frames of motion in raw numbers.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

import kinepack
from kinepack.model import Channel, Clip, Joint, Skeleton

GOLDEN = Path(__file__).parent / "skeletons"


def turns(*joints: int, order: str = "zyx") -> list[Channel]:
    return [Channel(joint, f"r{axis}") for joint in joints for axis in order]


def moved(joint: int = 0) -> list[Channel]:
    return [Channel(joint, f"t{axis}") for axis in "xyz"]


def bones() -> Skeleton:
    """As ASF files have them: unit directions, lengths, offsets that follow from both."""
    joints = [
        Joint("root", -1, order="zyx"),
        Joint("lfemur", 0, order="zyx", axis_deg=(0.0, 0.0, 20.0), direction=(0.34202, -0.939693, 0.0), length=7.59371),
        Joint("ltoes", 1, order="xzy", direction=(1.53547e-11, -4.22004e-11, 1.0), length=1.11249),
        Joint("rfemur", 0, order="zyx", axis_deg=(0.0, -7e-16, -20.0), direction=(-0.342, -0.9397, 0.0), length=7.5),
        Joint("rtoes", 3, order="xzy", direction=(-1.5354e-11, -4.21751e-11, 1.0), length=1.11569),
        Joint("head", 0, direction=(0.008024, 0.999444, -0.0323691), length=1.6265),
    ]  # fmt: skip
    tips = [np.multiply(j.direction, j.length).tolist() for j in joints]
    placed = [replace(j, offset=tuple(tips[j.parent])) if j.parent >= 0 else j for j in joints]
    channels = [*moved(), *turns(0, order="xyz"), Channel(1, "rx", limit=(-160.0, 20.0)), *turns(3), Channel(5, "ry")]
    return Skeleton(tuple(placed), tuple(channels), 5.644444444444445, "deg", "add", {"asf.mass": "1.0"})


def sites() -> Skeleton:
    """As BVH files have them: six decimals, end sites, minus zero."""
    joints = [
        Joint("Hips", -1, (0.0, 95.5, -0.0)),
        Joint("LeftArm", 0, (12.345678, 0.5, -1.0), "zxy", end_sites=((3.25, 0.0, 0.0), (1.0, 2.0, 3.0))),
        Joint("RightArm", 0, (-12.345, 0.5, -1.000001), "zxy", end_sites=((-3.25, -0.0, 0.0),)),
        Joint("Kopf Ä", 0, (0.0, 1e-9, 40.0)),
    ]
    return Skeleton(tuple(joints), (*moved(), *turns(0, 1, 2, 3, order="zxy")))


def floats() -> Skeleton:
    """As glTF files have them: float32 numbers, quaternions, weights."""
    rest = tuple(float(v) for v in np.array([0.1, -0.2, 0.3, 0.9273618], np.float32))
    joints = [
        Joint("a", -1, tuple(float(v) for v in np.array([0.1, 0.2, 0.3], np.float32)), rest=rest),  # type: ignore[arg-type]
        Joint("b", 0, (0.0, float(np.float32(1 / 3)), 0.0), rest_scale=(1.0, 2.0, 0.5)),
    ]
    turned = [Channel(0, f"q{axis}") for axis in "xyzw"]
    weights = [Channel(-1, "scalar", "smile"), Channel(-1, "scalar", "frown", (0.0, 1.0))]
    return Skeleton(tuple(joints), (*moved(1), *turned, *weights), 100.0, "rad")


def doubles() -> Skeleton:
    joints = [Joint("a", -1, (np.pi, np.e, 1 / 3)), Joint("b", 0, (1e-300, 1e200, 2.0))]
    return Skeleton(tuple(joints), tuple(turns(0, 1)))


def rigs() -> dict[str, Skeleton]:
    return {"bones": bones(), "sites": sites(), "floats": floats(), "doubles": doubles()}


def main() -> None:
    GOLDEN.mkdir(exist_ok=True)
    for name, rig in rigs().items():
        values = np.arange(2.0 * len(rig.channels)).reshape(2, -1)
        values[:, [n for n, c in enumerate(rig.channels) if c.kind[0] == "q"]] = 0.5
        (GOLDEN / f"{name}.kine").write_bytes(kinepack.compress(Clip(rig, values, 0.1, name), "raw"))
        (GOLDEN / f"{name}.json").write_text(rig.to_json(), encoding="utf-8")


if __name__ == "__main__":
    main()
