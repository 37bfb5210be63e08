"""`kine` against published figures and other codecs: `python benches/kine.py [TABLE…]`.

Tables: wavelets (e_x, AMC), curves (mean shell, BVH), joints (RMS and max, BVH), every (AMC clip), exact (lossless),
quaternions, segments, layers, feet, speed. Bytes are whole files less the skeleton. A table replaces its rows in
benches/results/kine.jsonl.
"""

from __future__ import annotations

import dataclasses
import json
import lzma
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy: times are of one core

import numpy as np

import kinepack
from kinepack.codecs.base import codec_from_spec
from kinepack.codecs.kine import Kine
from kinepack.evaluate import commit, describe, machine
from kinepack.metrics import METRICS
from kinepack.metrics.measure import promised
from kinepack.model import Clip
from kinepack.serve.push import Batch, SegmentEncoder

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("KINEPACK_DATA", ROOT.parent / "shared" / "data"))
ROWS = ROOT / "benches" / "results" / "kine.jsonl"
CM_PER_UNIT = 2.54 / 0.45
_table = ""

WAVELETS = {
    "09_01": (2.2, {1.4: 750, 0.96: 940, 0.58: 1240, 0.26: 2180, 0.08: 5080}),
    "49_02": (3.0, {0.67: 9970, 0.45: 13500, 0.29: 18400, 0.14: 32900, 0.05: 79200}),
}
"""Beaudoin et al. 2007, optimised wavelets with gzip: how much smaller to be, bytes by e_x."""
CURVES = {0.0027: 10742, 0.0132: 7549, 0.0262: 5966, 0.0769: 3639, 0.265: 1863}
"""CurveCodec 2 on 102_14: bytes by mean shell error."""
JOINT_TARGETS = (
    "joint_rms<=0.03",
    "joint_rms<=0.1",
    "joint_rms<=0.3",
    "joint_rms<=1",
    "joint_max<=0.1",
    "joint_max<=1",
)
ACL_BARS = (2.5, 3.0, 4.0, 5.0, 2.0, 3.0)
DELTA_BARS = (1.8, 2.2, 3.5, 4.0, 0.0, 0.0)
JOINTS = {
    "02_01": ((63.9, 44.2), (39.2, 31.1), (22.1, 21.2), (12.7, 12.5), (63.5, 44.9), (23.9, 21.7)),
    "05_10": ((64.9, 47.7), (45.2, 34.3), (26.0, 23.6), (14.0, 14.0), (63.5, 48.0), (26.9, 24.3)),
    "09_01": ((73.2, 52.0), (55.2, 37.9), (32.3, 27.4), (19.2, 17.7), (72.0, 50.9), (33.1, 27.4)),
    "13_11": ((53.1, 35.9), (30.2, 24.2), (17.2, 15.7), (12.3, 9.0), (53.7, 36.8), (20.1, 15.9)),
    "16_35": ((69.1, 48.4), (49.9, 35.2), (28.4, 25.2), (16.4, 15.9), (69.2, 50.0), (31.0, 26.0)),
    "49_08": ((73.9, 54.2), (55.5, 40.2), (35.7, 28.8), (17.3, 18.6), (73.4, 54.6), (35.7, 30.3)),
}
"""Bytes a frame of ACL 2.1 and of rounded second differences through LZMA."""


def amc(name: str) -> Clip:
    subject = name.split("_")[0]
    for folder in ("cmu", "cmu_recon"):
        path = DATA / "asfamc" / folder / subject / f"{name}.amc"
        if path.exists():
            return _clip(kinepack.read(path, skeleton=path.parent / f"{subject}.asf"))
    raise FileNotFoundError(name)


def bvh(name: str) -> Clip:
    return _clip(kinepack.read(DATA / "bvh" / "cmu" / f"{name}.bvh", unit_cm=CM_PER_UNIT))


def _clip(model: object) -> Clip:
    assert isinstance(model, Clip)
    return model


def at_target(clip: Clip, target: str, spec: str = "kine") -> int:
    """Motion bytes of the file that meets the target; appends its row."""
    metric = target.split("<=")[0]
    codec = codec_from_spec(spec)
    begin = time.perf_counter()
    data = kinepack.compress(clip, codec, target=target)
    encode_s, begin = time.perf_counter() - begin, time.perf_counter()
    copy = kinepack.decompress(data)
    row = describe(data, clip, copy, encode_s=encode_s, decode_s=time.perf_counter() - begin)
    limit = float(target.split("<=")[1])
    assert row.metrics[metric] <= limit, f"{clip.name} misses {target}"
    _append({**json.loads(row.to_json()), "target": target})
    return row.motion_bytes


def _append(row: dict[str, object]) -> None:
    with ROWS.open("a") as file:
        file.write(json.dumps({"table": _table, **row}) + "\n")


def _measure(table: str) -> None:
    """Runs a table, whose rows so far are dropped."""
    global _table
    _table = table
    kept = [line for line in ROWS.read_text().splitlines() if json.loads(line).get("table") != table]
    ROWS.write_text("".join(f"{line}\n" for line in kept))
    TABLES[table]()


def wavelets() -> None:
    for name, (bar, published) in WAVELETS.items():
        for value, size in published.items():
            ours = at_target(amc(name), f"e_x<={value}")
            _line(f"{name} e_x {value}", size, ours, bar)


def curves() -> None:
    clip = bvh("102_14")
    chains = np.zeros(len(clip.skeleton.joints))
    for index, joint in enumerate(clip.skeleton.joints):
        if joint.parent >= 0:
            chains[index] = chains[joint.parent] + np.linalg.norm(joint.offset)
    clip = dataclasses.replace(clip, skeleton=clip.skeleton.with_unit(110 / chains.max()))
    for value, size in CURVES.items():
        _line(f"102_14 shell {value}", size, at_target(clip, f"shell_mean<={value}"), 1.0 if value < 0.02 else 1 / 0.9)


def joints() -> None:
    clips = {name: bvh(name) for name in JOINTS}
    for column, target in enumerate(JOINT_TARGETS):
        acl, delta, sizes = [], [], []
        for name, clip in clips.items():
            bare = clip.slice(1, clip.frames)
            a_frame = at_target(bare, target) / bare.frames
            acl.append(JOINTS[name][column][0] / a_frame)
            delta.append(JOINTS[name][column][1] / a_frame)
            sizes.append(f"{a_frame:.1f}")
        told = f"x{statistics.median(acl):.2f} ACL (bar {ACL_BARS[column]}), x{statistics.median(delta):.2f} delta-lzma"
        print(f"{target:16} {told} (bar {DELTA_BARS[column]}), bytes a frame {' '.join(sizes)}", flush=True)


def every() -> None:
    """All AMC clips of the shared data at a mean and at a largest error, the latter between frames too."""
    for target in ("joint_rms<=0.1", "joint_max<=0.5"):
        metric, limit = target.split("<=")[0], float(target.split("<=")[1])
        paths, worst, over = sorted(DATA.glob("asfamc/*/*/*.amc")), 0.0, 0
        for path in paths:
            clip = _clip(kinepack.read(path, skeleton=path.parent / f"{path.parent.name}.asf"))
            copy = kinepack.decompress(kinepack.compress(clip, "kine", target=target))
            share = promised(metric, clip)(copy) / limit
            worst, over = max(worst, share), over + (share > 1)
        _append({"target": target, "clips": len(paths), "over": over, "most_used": worst, **_about()})
        print(f"{target}: {over} of {len(paths)} AMC clips over it, at most {worst:.4f} of it used", flush=True)


def exact() -> None:
    """All AMC files, and the BVH files of `joints`."""
    names = sorted(path.stem for path in DATA.glob("asfamc/*/*/*.amc"))
    sources = {name: amc(name) for name in names} | {f"{name}.bvh": bvh(name) for name in JOINTS}
    ratios = []
    for name, clip in sources.items():
        xz = len(lzma.compress(clip.values.astype(np.float32).tobytes(), preset=9 | lzma.PRESET_EXTREME))
        data = kinepack.compress(clip, "kine:exact=on")
        copy = _clip(kinepack.decompress(data))
        assert copy.values.tobytes() == clip.values.tobytes()
        row = describe(data, clip, copy, encode_s=0.0, decode_s=0.0)
        _append({**json.loads(row.to_json()), "target": "exact"})
        _line(f"{name} exact, xz of float32", xz, row.motion_bytes, 2.0)
        ratios.append(xz / row.motion_bytes)
    told = f"x{statistics.median(ratios):.2f}, {sum(r >= 2 for r in ratios)} of {len(ratios)} at least x2"
    print(f"lossless: median {told}", flush=True)


def quaternions() -> None:
    ratios = []
    for path in sorted(DATA.glob("npz/*/*.npz")) + sorted(DATA.glob("glb/*.glb")):
        for model in kinepack.read_all(path):
            if isinstance(model, Clip) and len(model.skeleton.select("q")):
                delta = at_target(model, "joint_rms<=0.1", "delta-lzma")
                ours = at_target(model, "joint_rms<=0.1")
                _line(f"{path.stem} {model.name} ({model.frames} frames), delta-lzma", delta, ours, 3.0)
                ratios.append(delta / ours)
    print(f"quaternion sources: median x{statistics.median(ratios):.2f}")


def segments() -> None:
    for name in ("49_02", "02_07"):
        for seconds in (0.0, 2.0, 1.0, 0.5):
            size = at_target(amc(name), "e_x<=0.2", f"kine:segment_s={seconds}")
            print(f"{name} e_x 0.2, segments of {seconds} s: {size} bytes", flush=True)


def layers() -> None:
    """What layers cost at equal error, and the error of each prefix."""
    for name in ("49_02", "02_07"):
        clip = amc(name)
        for count in (1, 2, 3):
            size = at_target(clip, "e_x<=0.2", f"kine:layers={count}")
            told = f"{name} e_x 0.2, {count} layers: {size} bytes"
            data = kinepack.compress(clip, f"kine:layers={count},points=bones", target="e_x<=0.2")
            with kinepack.open(data) as file:
                entries = file[0].record.segments
                for n in range(1, count + 1):
                    error = kinepack.compare(clip, file[0].decode(layers=n))["e_x"]
                    told += f"; {n}: {sum(e.size for e in entries if e.layer < n)} bytes at {error:.2f}"
            print(told, flush=True)


LEAST_SLIDE_CM = 1e-3
FEET_METRICS = ("foot_slide", "foot_slide_speed", "foot_drift", "joint_rms")


def feet() -> None:
    """What weights of standing feet do at equal bytes, against none: lines through five sizes a clip."""
    lines = {weight: {name: _feet_lines(bvh(name), weight) for name in JOINTS} for weight in (1, 1.5, 2, 4)}
    for weight in (1.5, 2, 4):
        ratios: dict[str, list[float]] = {m: [] for m in FEET_METRICS}
        for name, plain in lines[1].items():
            middle = plain["log_bytes"]
            for m in FEET_METRICS:
                ratios[m].append(np.polyval(lines[weight][name][m], middle) - np.polyval(plain[m], middle))
        found = {m: float(np.exp(np.mean(values))) for m, values in ratios.items()}
        _append({"feet": weight, "clips": len(JOINTS), **found, **_about()})
        print(f"feet={weight}: " + ", ".join(f"{m} x{ratio:.3f}" for m, ratio in found.items()), flush=True)


def _feet_lines(clip: Clip, weight: float) -> dict[str, Any]:
    """Slope and height of log error over log bytes."""
    bare, sizes, errors = clip.slice(1, clip.frames), [], []
    for error in (0.05, 0.08, 0.12, 0.2, 0.3):
        stream = codec_from_spec(f"kine:feet={weight},error={error}").encode(bare)
        found = kinepack.compare(bare, _clip(Kine.decode(stream)))
        sizes.append(np.log(stream.payload_bytes))
        errors.append([np.log(max(found[m], LEAST_SLIDE_CM)) for m in FEET_METRICS])
    lines = {m: np.polyfit(sizes, column, 1) for m, column in zip(FEET_METRICS, np.array(errors).T, strict=True)}
    return {"log_bytes": np.mean(sizes), **lines}


def speed() -> None:
    """CPU time on one core; windows are random seconds of the clip."""
    for name, clip in (("49_02.amc", amc("49_02")), ("05_10.bvh", bvh("05_10"))):
        for effort in ("fast", "default", "best"):
            codec = codec_from_spec(f"kine:effort={effort}")
            seconds, stream = _least_time(lambda codec=codec, clip=clip: codec.encode(clip), 1)  # type: ignore[misc]
            error = METRICS["joint_rms"].measure(clip, codec.decode(stream))
            told = {"bytes": stream.payload_bytes, "joint_rms": error}
            _append(
                {"source": name, "effort": effort, "encode_times_real": clip.duration / seconds, **told, **_about()}
            )
            print(
                f"{name} {effort}: encode {clip.duration / seconds:.0f} x real time, "
                f"{stream.payload_bytes} bytes, joint_rms {error:.4f}"
            )
        second = round(clip.fps)
        starts = np.random.default_rng(1).integers(0, clip.frames - second, 60).tolist()
        with kinepack.open(kinepack.compress(clip, "kine")) as file:
            whole, _ = _least_time(file[0].decode, 9)
            windows = [_least_time(lambda f=file, a=a, n=second: f[0].decode(a, a + n), 5)[0] for a in starts]  # type: ignore[misc]
        cost = {"pose_us": whole / clip.frames * 1e6, "second_ms": statistics.mean(windows) * 1e3}
        _append({"source": name, **cost, "worst_second_ms": max(windows) * 1e3, **_about()})
        told = f"one second {statistics.mean(windows) * 1e3:.3f} ms, at most {max(windows) * 1e3:.3f} ms"
        print(f"{name}: decode {whole / clip.frames * 1e6:.2f} us a pose, {told}", flush=True)
    _live(amc("49_02"), "49_02.amc")
    _live(bvh("05_10"), "05_10.bvh")


def _live(clip: Clip, name: str) -> None:
    """Segments of 0.1 s as a live source codes them."""
    encoder = SegmentEncoder(clip, codec_from_spec("kine:effort=fast"), name=name, frame_time=clip.frame_time)
    frames, spent, sizes = round(0.1 / clip.frame_time), [], []
    for first in range(0, clip.frames - frames, frames):
        begin = time.process_time()
        sizes.append(len(encoder.segment(Batch(first, 0, clip.values[first : first + frames]))))
        spent.append(time.process_time() - begin)
    cost = {"live_segment_ms": statistics.mean(spent) * 1e3, "p99_ms": np.percentile(spent, 99) * 1e3}
    _append({"source": name, **cost, "bytes": statistics.mean(sizes), **_about()})
    told = f"{statistics.mean(spent) * 1e3:.1f} ms, 99 of 100 in {np.percentile(spent, 99) * 1e3:.1f} ms"
    print(f"{name} live segment of 0.1 s: {told}, {statistics.mean(sizes):.0f} bytes", flush=True)


def _least_time(work: Callable[[], object], times: int) -> tuple[float, object]:
    """CPU seconds of the fastest of some calls, so that a busy machine does not count."""
    best, result = float("inf"), None
    for _ in range(times):
        begin = time.process_time()
        result = work()
        best = min(best, time.process_time() - begin)
    return best, result


def _about() -> dict[str, object]:
    return {"commit": commit(), "machine": machine()}


def _line(what: str, other: int, ours: int, bar: float) -> None:
    ratio = other / ours
    print(
        f"{what}: {other} -> {ours} bytes, x{ratio:.2f} (bar {bar:.2f}{'' if ratio >= bar else ', MISSED'})", flush=True
    )


TABLES = {f.__name__: f for f in (wavelets, curves, joints, every, exact, quaternions, segments, layers, feet, speed)}

if __name__ == "__main__":
    for table in sys.argv[1:] or TABLES:
        _measure(table)
