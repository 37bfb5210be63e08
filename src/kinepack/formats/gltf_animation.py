"""glTF animations sampled on an even grid of frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinepack.errors import FormatError
from kinepack.formats.base import ReadOptions
from kinepack.formats.gltf_document import Document, noted
from kinepack.formats.guard import frame_time_of, snapped_rate
from kinepack.math import rotation

Array = NDArray[np.float64]

WIDTHS = {"translation": 3, "rotation": 4, "scale": 3}
DEFAULT_FPS = 30.0
SLOWEST_FPS = 9.99
"""Keys that are further apart than this are a sketch to be interpolated, not frames."""
COMMON_FPS = (24.0, 25.0, 30.0, 48.0, 50.0, 60.0, 90.0, 100.0, 120.0, 240.0)
_ON_GRID = 0.02
"""How far from a frame, in frames, a key may lie to count as being on it: exporters round their times."""
_ON_KEY = 1e-3
"""How far from a key, in frames, a frame takes the key's value as it is."""


@dataclass(frozen=True, eq=False)
class Track:
    """The keys of one property of one node."""

    node: int
    path: str
    """translation, rotation, scale or weights."""
    times: Array
    """[keys] seconds, ascending."""
    values: Array
    """[keys, numbers]; for CUBICSPLINE [keys, 3, numbers]: in-tangent, value, out-tangent."""
    interpolation: str


@dataclass(frozen=True)
class Grid:
    """When the frames are: start + frame * frame_time."""

    start: float
    frame_time: float
    frames: int

    @property
    def times(self) -> Array:
        return np.asarray(self.start + np.arange(self.frames) * self.frame_time, np.float64)


def tracks_of(document: Document, animation: Any) -> list[Track]:
    """The tracks that move nodes; channels for other things (extensions) are passed over."""
    tracks = {}
    for channel in animation.channels or []:
        target = channel.target
        path = getattr(target, "path", None)
        if target is None or target.node is None or path not in (*WIDTHS, "weights"):
            continue
        document.item("nodes", target.node)
        tracks[target.node, path] = _track(document, animation, channel)
    return list(tracks.values())


def _track(document: Document, animation: Any, channel: Any) -> Track:
    samplers = animation.samplers or []
    if not isinstance(channel.sampler, int) or not 0 <= channel.sampler < len(samplers):
        raise FormatError(f"an animation has no samplers[{channel.sampler}]")
    sampler = samplers[channel.sampler]
    times = document.accessor(sampler.input).astype(np.float64)
    ascending = times.shape[1] == 1 and np.isfinite(times).all() and np.all(np.diff(times[:, 0]) >= 0)
    if not len(times) or not ascending:
        raise FormatError("an animation's key times are not ascending numbers")
    kind = sampler.interpolation or "LINEAR"
    if kind not in ("LINEAR", "STEP", "CUBICSPLINE"):
        raise FormatError(f"the interpolation {kind[:40]!r} is not known")
    output = document.accessor(sampler.output).astype(np.float64)
    path = channel.target.path
    return Track(channel.target.node, path, times[:, 0], _keyed(output, len(times), path, kind), kind)


def _keyed(output: Array, keys: int, path: str, kind: str) -> Array:
    """[keys, numbers], or [keys, 3, numbers] for splines."""
    parts = 3 if kind == "CUBICSPLINE" else 1
    width = WIDTHS.get(path) or output.size // (keys * parts)
    if not width or output.size != keys * parts * width or (path in WIDTHS and output.shape[1] != width):
        raise FormatError(f"an animation's {path} has {keys} keys and {output.shape} values")
    return output.reshape((keys, 3, width) if parts == 3 else (keys, width))


def grid_of(tracks: list[Track], animation: Any, options: ReadOptions) -> Grid:
    """The frames of an animation: from its first key to its last, at the rate that `rate_of` finds."""
    keys = np.unique(np.concatenate([track.times for track in tracks]))
    start, span = float(keys[0]), float(keys[-1] - keys[0])
    own = _own_grid(noted(animation), start, span)
    if own is not None and options.fps is None:
        options.limits.charge("frames", own.frames)
        return own
    frame_time = frame_time_of(options.fps if options.fps is not None else rate_of(keys))
    frames = options.limits.charge("frames", int(min(span / frame_time + _ON_GRID, 1e18)) + 1)
    return Grid(start, frame_time, frames)


def _own_grid(note: dict[str, Any], start: float, span: float) -> Grid | None:
    """The exact grid that Kinepack noted, unless the keys have been changed since."""
    frames, frame_time = note.get("frames"), note.get("frame_time")
    if not isinstance(frames, int) or not isinstance(frame_time, float):
        return None
    if frames < 1 or not 0 < frame_time < 1e9:
        return None
    rounding = 1e-6 * (abs(start) + span)
    fits = abs(span - (frames - 1) * frame_time) <= 0.01 * frame_time + rounding
    return Grid(start, frame_time, frames) if fits else None


def rate_of(keys: Array) -> float:
    """Frames per second for distinct ascending key times.

    Evenly spaced keys of 10 or more a second: their own rate. Else the slowest common rate whose frames meet
    every key. Else 30.
    """
    if len(keys) < 2:
        return DEFAULT_FPS
    span = float(keys[-1] - keys[0])
    even = snapped_rate((len(keys) - 1) / span) if span > 0 else 0.0
    for fps in (even, *COMMON_FPS):
        if fps >= SLOWEST_FPS and _all_on_grid(keys, fps):
            return fps
    return DEFAULT_FPS


def _all_on_grid(keys: Array, fps: float) -> bool:
    places = (keys - keys[0]) * fps
    rounding = fps * 2.0**-22 * np.abs(keys).max() + _ON_GRID
    return bool(np.all(np.abs(places - np.round(places)) <= rounding)) and rounding < 0.2


def sample(track: Track, grid: Grid) -> Array:
    """[frames, numbers]; keys on a frame are taken as they are, times outside the keys hold the nearest one."""
    times, at = track.times, grid.times
    nearest = _nearest(times, at)
    room = _ON_GRID if track.interpolation == "STEP" else _ON_KEY  # a step that is missed is a frame late
    on_key = np.abs(times[nearest] - at) <= room * grid.frame_time + 2.0**-22 * np.abs(at)
    at = np.where(on_key, times[nearest], at)
    left = np.clip(np.searchsorted(times, at, side="right") - 1, 0, len(times) - 1)
    right = np.minimum(left + 1, len(times) - 1)
    span = times[right] - times[left]
    amount = np.where(span > 0, (at - times[left]) / np.where(span > 0, span, 1.0), 0.0).clip(0.0, 1.0)
    if track.interpolation == "CUBICSPLINE":
        return _spline(track, left, right, span, amount)
    if track.interpolation == "STEP":
        return track.values[left]
    return _between(track, left, right, amount)


def _nearest(times: Array, at: Array) -> NDArray[np.intp]:
    right = np.clip(np.searchsorted(times, at), 0, len(times) - 1)
    left = np.maximum(right - 1, 0)
    return np.where(np.abs(times[left] - at) <= np.abs(times[right] - at), left, right)


def _between(track: Track, left: NDArray[np.intp], right: NDArray[np.intp], amount: Array) -> Array:
    start, end = track.values[left], track.values[right]
    if track.path == "rotation":
        turned = rotation.slerp(rotation.normalize(start), rotation.normalize(end), amount)
        return np.where(amount[:, None] == 0, start, turned)
    return start + (end - start) * amount[:, None]


def _spline(track: Track, left: NDArray[np.intp], right: NDArray[np.intp], span: Array, amount: Array) -> Array:
    """Cubic Hermite of the glTF specification, appendix C.5; tangents are per second."""
    t, d = amount[:, None], span[:, None]
    start, end = track.values[left, 1], track.values[right, 1]
    leaving, arriving = track.values[left, 2] * d, track.values[right, 0] * d
    result = (2 * t**3 - 3 * t**2 + 1) * start + (t**3 - 2 * t**2 + t) * leaving
    result = result + (3 * t**2 - 2 * t**3) * end + (t**3 - t**2) * arriving
    if track.path == "rotation":
        return np.where(t == 0, start, rotation.normalize(result))
    return np.asarray(result)
