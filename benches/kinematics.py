"""Time of forward kinematics, Jacobian and all metrics on a whole clip: python benches/kinematics.py [frames]."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from kinepack.math.kinematics import forward_kinematics, jacobian
from kinepack.metrics import measure_all
from kinepack.model import Channel, Clip, Joint, Skeleton


def body(frames: int, joints: int = 31) -> Clip:
    """A binary tree of joints with three angles each, in random smooth motion."""
    rig = [Joint("root", -1, order="zxy")]
    rig += [Joint(f"joint{i}", (i - 1) // 2, offset=(0, 5, 1), order="zxy") for i in range(1, joints)]
    channels = [Channel(0, "t" + a) for a in "xyz"] + [Channel(j, "r" + a) for j in range(joints) for a in "zxy"]
    values = np.cumsum(np.random.default_rng(0).normal(size=(frames, len(channels))), axis=0)
    return Clip(Skeleton(tuple(rig), tuple(channels)), values)


def best_seconds(call: Callable[[], object], repeats: int = 5) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def main(frames: int) -> None:
    clip = body(frames)
    copy = clip.with_values(np.round(clip.values))
    for name, call in (
        ("forward kinematics", lambda: forward_kinematics(clip)),
        ("jacobian", lambda: jacobian(clip)),
        ("all metrics", lambda: measure_all(clip, copy)),
    ):
        print(f"{name:20s} {1e6 * best_seconds(call) / frames:8.2f} us a frame")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
