"""The one place that times, sizes and scores: a source and a codec in, a Result row out."""

from __future__ import annotations

import dataclasses
import json
import math
import platform
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from kinepack.api import compress, decompress
from kinepack.api import open as open_kine
from kinepack.codecs.base import Codec, Progress, codec_from_spec, width_of
from kinepack.errors import ConfigError
from kinepack.fit import Target
from kinepack.metrics.measure import measure_all
from kinepack.metrics.rate import bits_per_value, kbit_per_s
from kinepack.model import Clip, Model
from kinepack.params import params_of
from kinepack.version import VERSION

T = TypeVar("T")


@dataclass(frozen=True)
class Result:
    """One measurement. Tables and plots are made from these rows and from nothing else."""

    source: str
    kind: str
    frames: int
    numbers_per_frame: int
    fps: float
    codec: str
    settings: str
    file_bytes: int
    skeleton_bytes: int
    motion_bytes: int
    payload_bytes: int
    """The codec's own bytes (settings text, setup, segments): motion_bytes less the container's."""
    raw_bytes: int
    raw_is: str
    ratio: float
    """raw_bytes / motion_bytes"""
    kbit_per_s: float
    bits_per_value: float
    metrics: dict[str, float]
    encode_s: float
    decode_s: float
    version: str
    commit: str
    machine: str

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: a metric that is not finite (a still mesh has no relative error) becomes None."""
        metrics = {name: value if math.isfinite(value) else None for name, value in self.metrics.items()}
        return {**dataclasses.asdict(self), "metrics": metrics}

    def to_json(self) -> str:
        return json.dumps(self.to_dict())


def evaluate(
    source: Model,
    codec: str | Codec,
    *,
    target: str | Target | None = None,
    max_bytes: int | None = None,
    progress: Progress | None = None,
) -> Result:
    """Compresses to real file bytes, decodes them, and measures. With a target, `encode_s` includes the search."""
    encode_s, data = _timed(lambda: compress(source, codec, target=target, max_bytes=max_bytes, progress=progress))
    decode_s, copy = _timed(lambda: decompress(data))
    return describe(data, source, copy, encode_s=encode_s, decode_s=decode_s)


def describe(data: bytes, source: Model, copy: Model, *, encode_s: float, decode_s: float) -> Result:
    """The row of a file that is already made."""
    with open_kine(data) as file:
        sizes, clip, layout = file.info(), file[0].info(), file[0].layout
    motion = sizes["motion_bytes"]
    return Result(
        source=source.name,
        kind="clip" if isinstance(source, Clip) else "mesh",
        frames=source.frames,
        numbers_per_frame=width_of(layout),
        fps=source.fps,
        codec=clip["codec"],
        settings=clip["settings"],
        payload_bytes=clip["payload_bytes"],
        **{key: sizes[key] for key in ("file_bytes", "skeleton_bytes", "motion_bytes", "raw_bytes", "raw_is", "ratio")},
        kbit_per_s=kbit_per_s(motion, source),
        bits_per_value=bits_per_value(motion, source),
        metrics=measure_all(source, copy),
        encode_s=encode_s,
        decode_s=decode_s,
        version=VERSION,
        commit=commit(),
        machine=machine(),
    )


def curve(
    source: Model,
    codecs: Sequence[str | Codec],
    *,
    points: int = 9,
    progress: Progress | None = None,
) -> Iterator[Result]:
    """Rows along each codec's quality axis: half a decade or more to each side of its own setting."""
    jobs = [setting for spec in codecs for setting in curve_settings(codec_from_spec(spec), points)]
    for number, codec in enumerate(jobs):
        yield evaluate(source, codec)
        if progress:
            progress((number + 1) / len(jobs))


def curve_settings(codec: Codec, points: int) -> list[Codec]:
    """The codec at `points` settings of its quality axis, or itself alone if it has none."""
    axis = codec.quality_axis()
    if not axis:
        return [codec]
    if points < 2:
        raise ConfigError("a curve needs at least two points")
    declared, middle = params_of(codec)[axis], getattr(codec, axis)
    low = declared.low if declared.low is not None else 0
    high = declared.high if declared.high is not None else float("inf")
    values = [middle * 100 ** (i / (points - 1) - 0.5) for i in range(points)]
    kind = type(middle)
    kept = dict.fromkeys(kind(round(v)) if kind is int else v for v in values if low <= v <= high)
    return [dataclasses.replace(codec, **{axis: v}) for v in kept]


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    begin = time.perf_counter()
    result = work()
    return time.perf_counter() - begin, result


@lru_cache
def commit() -> str:
    """Short commit of the checkout the code runs from, "" for an installed package."""
    try:
        folder = Path(__file__).parent
        shown = subprocess.run(
            ["git", "-C", str(folder), "rev-parse", "--short", "HEAD"], capture_output=True, text=True, timeout=5
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return shown.stdout.strip() if shown.returncode == 0 else ""


@lru_cache
def machine() -> str:
    """Processor and Python, so that times can be told apart."""
    return f"{_processor()}, Python {platform.python_version()}"


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


__all__: list[Any] = ["Result", "curve", "describe", "evaluate"]
