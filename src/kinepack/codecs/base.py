"""What a codec is: settings in, a Stream out, and back without the settings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kinepack.errors import Corrupt, UnknownCodec, UsageError
from kinepack.limits import DEFAULT_LIMITS, Limits
from kinepack.model import Clip, MeshSequence, Model, Skeleton
from kinepack.params import from_text, param, quality_axis, to_text, validate
from kinepack.registry import Registry

Progress = Callable[[float], None]
"""Called with the fraction done, 0 to 1."""
Window = tuple[int, int]
"""First frame and the frame after the last."""


@dataclass(frozen=True)
class Topology:
    """What is fixed in a mesh sequence."""

    faces: NDArray[np.int32]
    vertices: int
    unit_cm: float = 100.0


Layout = Skeleton | Topology
"""The static part of a source: everything but its numbers over time."""


@dataclass(frozen=True)
class Segment:
    """A run of frames that decodes from the stream's setup and itself.

    Segments of layer > 0 refine the segment of layer 0 with the same first frame and need the lower layers.
    """

    first: int
    frames: int
    data: bytes
    layer: int = 0


@dataclass(frozen=True)
class Stream:
    """A codec's output: setup bytes shared by all segments, and the segments in order of (first, layer)."""

    layout: Layout
    frames: int
    frame_time: float
    setup: bytes
    segments: Sequence[Segment]
    name: str = ""

    @property
    def payload_bytes(self) -> int:
        """The codec's own bytes, without the container's."""
        return len(self.setup) + sum(len(s.data) for s in self.segments)


def layout_of(source: Model) -> Layout:
    if isinstance(source, Clip):
        return source.skeleton
    return Topology(source.faces, source.vertices.shape[1], source.unit_cm)


def matrix_of(source: Model) -> NDArray[np.floating[Any]]:
    """The animated numbers as [frames, width]: channels, or vertex coordinates."""
    return source.values if isinstance(source, Clip) else source.vertices.reshape(source.frames, -1)


def width_of(layout: Layout) -> int:
    """Numbers per frame."""
    return len(layout.channels) if isinstance(layout, Skeleton) else layout.vertices * 3


def chosen_channels(layout: Layout, joints: Iterable[str | int]) -> NDArray[np.int32]:
    """The channels of some joints, rising."""
    if not isinstance(layout, Skeleton):
        raise UsageError("a mesh has no joints to decode alone")
    wanted = {layout.index(joint) if isinstance(joint, str) else joint for joint in joints}
    return np.array([i for i, channel in enumerate(layout.channels) if channel.joint in wanted], np.int32)


def by_name(layout: Layout, channels: Iterable[int], columns: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Columns [frames, channels] by "joint.kind"; a free scalar goes by its name."""
    assert isinstance(layout, Skeleton)
    own = [layout.channels[channel] for channel in channels]
    names = [c.name or f"{layout.joints[c.joint].name}.{c.kind}" for c in own]
    return dict(zip(names, columns.T, strict=True))


def segment_setting(default_s: float = 0.0, help: str = "length of a segment, 0 for one segment") -> Any:
    """The declaration of a codec's `segment_s`, which `segment_ranges` takes."""
    return param(default_s, help, unit="s", low=0.0, high=3600.0)


def segment_ranges(source: Model, seconds: float) -> list[Window]:
    """Frame ranges of about `seconds` each (0: one range) that tile the source."""
    step = max(1, round(seconds / source.frame_time)) if seconds else source.frames
    return [(a, min(a + step, source.frames)) for a in range(0, source.frames, step)]


def model_from(stream: Stream, matrix: NDArray[Any]) -> Model:
    """Inverse of `matrix_of`; numbers a corrupt stream made infinite are an error, not a model."""
    if isinstance(stream.layout, Skeleton):
        try:
            return Clip(stream.layout, matrix, stream.frame_time, stream.name)
        except UsageError as error:  # the model checks its numbers, once
            raise Corrupt(f"the stream decodes to no clip: {error.message}") from None
    if not np.isfinite(matrix).all():
        raise Corrupt("the stream decodes to numbers that are not finite")
    vertices = matrix.reshape(len(matrix), stream.layout.vertices, 3)
    return MeshSequence(vertices, stream.layout.faces, stream.frame_time, stream.name, stream.layout.unit_cm)


@dataclass(frozen=True)
class Codec(ABC):
    """Base of all codecs: a frozen dataclass whose fields, declared by `param`, are the encoder's settings.

    A subclass with an `id` registers itself. `version` goes up with every change that a decoder would notice.
    """

    id: ClassVar[str] = ""
    version: ClassVar[int] = 1
    title: ClassVar[str] = ""
    sources: ClassVar[tuple[type, ...]] = (Clip, MeshSequence)
    lossless: ClassVar[bool] = False
    lossless_with: ClassVar[str] = ""
    """`key=value`, the setting that makes the codec lossless where it is not so by itself."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "id" in cls.__dict__:
            CODECS.add(cls.id, cls)

    def __post_init__(self) -> None:
        validate(self)

    @abstractmethod
    def encode(self, source: Any, progress: Progress | None = None) -> Stream:
        """Compresses a source of one of the types in `sources`."""

    @classmethod
    @abstractmethod
    def decode(cls, stream: Stream, window: Window | None = None, limits: Limits = DEFAULT_LIMITS) -> Model:
        """Frames `window` (all by default) of a stream that holds at least the segments overlapping it."""

    @classmethod
    def decode_channels(
        cls,
        stream: Stream,
        joints: Iterable[str | int],
        window: Window | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> dict[str, NDArray[Any]]:
        """Values [frames] by "joint.kind" of some joints; codecs that code channels apart decode no others."""
        model, chosen = cls.decode(stream, window, limits), chosen_channels(stream.layout, joints)
        return by_name(stream.layout, chosen, matrix_of(model)[:, chosen])

    def for_metric(self, metric: str) -> Sequence[Codec]:
        """These settings, turned to what a target of this metric is about; of several the smallest file counts."""
        return [self]

    @property
    def settings(self) -> str:
        """Settings that differ from the defaults, as `key=value,key=value`."""
        return to_text(self)

    @property
    def told_settings(self) -> str:
        """Those of the settings that files tell."""
        return to_text(self, told=True)

    @property
    def spec(self) -> str:
        """`id:key=value,…`, what `codec_from_spec` reads."""
        return f"{self.id}:{self.settings}" if self.settings else self.id

    @classmethod
    def quality_axis(cls) -> str:
        return quality_axis(cls)


CODECS: Registry[type[Codec]] = Registry("codec", "kinepack.codecs")


LOSSLESS = "lossless"
"""What people ask for by name, though it is a property of several codecs."""


def lossless_specs() -> list[str]:
    """What `codec_from_spec` makes lossless codecs of."""
    found = (CODECS[name] for name in CODECS)
    return [f"{c.id}:{c.lossless_with}" if c.lossless_with else c.id for c in found if c.lossless or c.lossless_with]


def codec_from_spec(spec: str | Codec) -> Codec:
    """`"delta-lzma:step=0.1"` -> an instance."""
    if isinstance(spec, Codec):
        return spec
    name, _, settings = spec.partition(":")
    if name.lower() == LOSSLESS:
        raise UnknownCodec(f"no codec is called {name!r}", hint=f"these are: {', '.join(lossless_specs())}")
    pairs = (item.partition("=") for item in settings.split(",") if item)
    codec: Codec = from_text(CODECS[name], {key.strip(): value.strip() for key, _, value in pairs})
    return codec


@dataclass(frozen=True)
class Layers:
    """All the layers of one run of frames that are at hand, lowest first."""

    first: int
    frames: int
    data: Sequence[bytes] = field(default=())


def decode_segments(
    stream: Stream, window: Window | None, limits: Limits, decode_one: Callable[[Layers], NDArray[Any]]
) -> Model:
    """The frame window of a segmented stream: `decode_one` gives [frames, width] of one run of frames."""
    start, stop = check_window(stream, window, limits)
    matrix: NDArray[Any] | None = None
    for run, low, high in runs_in(stream, start, stop):
        part = decode_one(run)
        if part.shape != (run.frames, width_of(stream.layout)):
            raise Corrupt(f"the segment at frame {run.first} holds {list(part.shape)} numbers")
        if matrix is None:
            matrix = np.empty((stop - start, width_of(stream.layout)), part.dtype)
        matrix[low - start : high - start] = part[low - run.first : high - run.first]
    assert matrix is not None
    return model_from(stream, matrix)


def runs_in(stream: Stream, start: int, stop: int) -> Iterator[tuple[Layers, int, int]]:
    """The runs of frames that overlap start..stop-1, each with the first of these frames and the one after the last."""
    filled = 0
    for first, group in groupby(stream.segments, key=lambda s: s.first):
        layers = list(group)
        low, high = max(first, start), min(first + layers[0].frames, stop)
        if low < high:
            yield Layers(first, layers[0].frames, [s.data for s in layers]), low, high
            filled += high - low
    if filled != stop - start:
        raise Corrupt("the stream's segments do not cover the asked frames")


def check_window(stream: Stream, window: Window | None, limits: Limits) -> Window:
    """The window, which must lie inside the clip; it and the longest segment, decoded as a whole, are charged."""
    start, stop = window or (0, stream.frames)
    if not 0 <= start < stop <= stream.frames:
        raise Corrupt(f"frames {start}..{stop} are not inside the clip's {stream.frames}")
    limits.charge("frames", stream.frames)
    longest = max((segment.frames for segment in stream.segments), default=0)
    limits.charge("values", max(stop - start, longest) * width_of(stream.layout))
    return start, stop
