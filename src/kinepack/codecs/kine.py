"""`kine`: skeletal motion at the least bytes for the error that a viewer can see.

clip -> tracks (rotation vectors, heading, angles) -> steps from the rig's inertia -> links between tracks
     -> blocks of chosen length -> DCT -> rate-distortion descent across tracks -> context-mixed range coding

Steps follow the skeleton (Arikan 2006; Chattopadhyay et al. 2007; Beaudoin et al. 2007), the descent lets every
track absorb the error of the others, which generalises Beaudoin's inverse kinematics correction.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np

from kinepack._kernels._kine import kine_encode
from kinepack.codecs._kine.analysis import Budget, Way, analyse, distortion, quantise, rate_cost
from kinepack.codecs._kine.branches import find_branches
from kinepack.codecs._kine.emphasis import Array, first_emphasis, peak_emphasis
from kinepack.codecs._kine.exact import encode_exact
from kinepack.codecs._kine.exact_layout import MARK
from kinepack.codecs._kine.exact_numbers import exact_synthesis_of
from kinepack.codecs._kine.loops import TRIES, is_loop, seam_and_inside, with_ends
from kinepack.codecs._kine.synthesis import Synthesis, rig_of, segment_models, synthesis_of
from kinepack.codecs.base import (
    Codec,
    Progress,
    Segment,
    Stream,
    Window,
    check_window,
    decode_segments,
    model_from,
    runs_in,
    width_of,
)
from kinepack.entropy.kine_setup import MOST_LAYERS, KineSetup, pack_setup
from kinepack.errors import Corrupt
from kinepack.limits import DEFAULT_LIMITS, Limits
from kinepack.model import Clip, Model, Skeleton
from kinepack.params import param
from kinepack.transforms.held import Hold, find_hold
from kinepack.transforms.knots import Knots, Timing, find_knots, keys_of

BASES = (False, True)
LINKS = ((5, 14.0), (7, 16.0), (5, 9.0), (5, 24.0))
"""Digits of weights, and what a link must save."""
BUDGETS = {
    "fast": Budget(sweeps=1, grid=4, links=3),
    "default": Budget(sweeps=8, grid=1, links=6, ways=tuple(Way(bent) for bent in BASES)),
    "best": Budget(sweeps=16, grid=1, links=8, ways=tuple(Way(bent, *links) for links in LINKS for bent in BASES)),
}
ROUGH = (Way(),)
PEAK_ROUNDS = 3
LEAST_SEGMENT = 16
"""Frames; less is no film, and a slow one is not to be cut at every frame."""
DEAR_BITS, RESTING, MOST_TRIED = 3, 4, 30_000
"""When lossless coding is tried: bits a number, or bytes of segments in which nothing moves; for so many numbers."""
POINTS = {"joint": "joints", "shell": "shell", "e_x": "bones"}
"""What the first part of a metric's name says of the points it measures; others see all of a body."""


@dataclass(frozen=True)
class Kine(Codec):
    """Rate-distortion optimised tracks with the whole body in the loop."""

    id: ClassVar[str] = "kine"
    version: ClassVar[int] = 5
    title: ClassVar[str] = "body-aware transform coding of skeletal motion"
    sources: ClassVar[tuple[type, ...]] = (Clip,)
    lossless_with: ClassVar[str] = "exact=on"

    error: float = param(0.1, "nominal error of a joint's position", unit="cm", low=1e-5, high=100.0, quality="lower")
    points: str = param(
        "auto",
        "whose error counts: joints, bones by length, 3 cm around each joint, or a body; auto: what the target is of",
        choices=("auto", "joints", "bones", "shell", "body"),
        told=False,
    )
    norm: str = param(
        "auto",
        "what is kept small: the mean square of errors, or the largest; auto: what the target is of",
        choices=("auto", "rms", "max"),
        told=False,
    )
    feet: float = param(1.5, "weight of feet while they stand still", low=1.0, high=100.0)
    effort: str = param("default", "time spent on smaller files", choices=("fast", "default", "best"), told=False)
    exact: bool = param(False, "lossless: every number as it was printed; other settings but segment_s do not count")
    segment_s: float = param(
        1.0,
        "least length of a segment (at least 16 frames), which may be twice as long; 0 for one segment",
        unit="s",
        low=0.0,
        high=3600.0,
    )
    layers: int = param(
        1, "quality layers: each makes the error four times smaller than the one below", low=1, high=MOST_LAYERS
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        # Three digits: finer steps of the scale do not exist, and files store the settings.
        object.__setattr__(self, "error", float(f"{self.error:.3g}"))

    def encode(self, source: Clip, progress: Progress | None = None) -> Stream:
        if self.exact:
            return encode_exact(source, self._segment(source))
        timing = self._timing(source)
        thin = keys_of(source, timing)
        emphasis = first_emphasis(thin, self.feet)
        for _ in range(PEAK_ROUNDS if self.norm == "max" else 0):
            copy = self.decode(self._encode(thin, thin, Hold(), emphasis, ROUGH))
            emphasis = peak_emphasis(thin, cast(Clip, copy), emphasis)
        stream = self._encode(source, thin, timing, emphasis, BUDGETS[self.effort].ways, progress)
        if is_loop(source):
            stream = self._with_seam(source, thin, timing, emphasis, stream)
        return self._or_exact(source, stream)

    def _or_exact(self, source: Clip, stream: Stream) -> Stream:
        """The lossless stream where that is no larger: at the finest errors, and where little moves."""
        size, numbers = stream.payload_bytes, source.values.size
        rests = all(len(segment.data) <= RESTING for segment in stream.segments)
        if self.layers > 1 or numbers > MOST_TRIED or not (rests or 8 * size >= DEAR_BITS * numbers):
            return stream
        exact = encode_exact(source, self._segment(source))
        return exact if exact.payload_bytes <= size else stream

    def _segment(self, source: Clip) -> float:
        """Seconds that a segment has at least, 0 for all in one."""
        return max(self.segment_s, LEAST_SEGMENT * source.frame_time) if self.segment_s else 0.0

    def _timing(self, source: Clip) -> Timing:
        """How frames come from keys."""
        hold = find_hold(source.values)
        return (find_knots(source, self.error) if hold == Hold() else None) or hold

    def _with_seam(self, source: Clip, thin: Clip, timing: Timing, emphasis: Array | None, stream: Stream) -> Stream:
        """A loop's stream, its ends weighing more until the seam shows no more than what goes on inside."""
        seam, inside = seam_and_inside(thin, keys_of(cast(Clip, self.decode(stream)), timing))
        for weight, share in TRIES:
            if seam <= inside:
                break
            ends = with_ends(emphasis, (thin.frames, len(source.skeleton.joints)), weight)
            finer = dataclasses.replace(self, error=max(share * self.error, 1e-5))
            stream = finer._encode(source, thin, timing, ends, BUDGETS[self.effort].ways)
            seam, _ = seam_and_inside(thin, keys_of(cast(Clip, self.decode(stream)), timing))
        return stream

    def _encode(
        self,
        source: Clip,
        thin: Clip,
        timing: Timing,
        emphasis: Array | None,
        ways: Sequence[Way],
        progress: Progress | None = None,
    ) -> Stream:
        """The keys `thin` of a source, given where errors weigh more, in the cheapest of some ways."""
        tries = []
        for number, way in enumerate(ways):
            report = progress and _share_of(progress, number, len(ways))
            tries.append(self._written(source, thin, timing, emphasis, way, report))
        _, setup, segments = min(tries, key=lambda found: found[0])
        stream = Stream(source.skeleton, source.frames, source.frame_time, b"", segments, source.name)
        copy = source.with_values(_values(stream, Synthesis(source.skeleton, setup), 0, source.frames))
        setup = dataclasses.replace(setup, branches=find_branches(thin, keys_of(copy, timing).values))
        return dataclasses.replace(stream, setup=pack_setup(setup, rig_of(source.skeleton)))

    def _written(
        self, source: Clip, thin: Clip, timing: Timing, emphasis: Array | None, way: Way, progress: Progress | None
    ) -> tuple[float, KineSetup, list[Segment]]:
        """What one way costs in rate and distortion, and its stream."""
        points, budget = "body" if self.points == "auto" else self.points, BUDGETS[self.effort]
        frames = thin.fps * self._segment(source)
        analysis = analyse(thin, self.error, points=points, budget=budget, way=way, emphasis=emphasis, segment=frames)
        hold, knots = (Hold(), timing.runs) if isinstance(timing, Knots) else (timing, ())
        setup = dataclasses.replace(analysis.setup, hold=hold.frames, lead=hold.lead, knots=knots, layers=self.layers)
        models = segment_models(source.skeleton, setup)
        cost = rate_cost(len(pack_setup(setup, rig_of(source.skeleton))))
        segments, first, start = [], 0, 0
        for key, layers in quantise(analysis, models, frames, progress, timing.closes):
            stop = min(int(timing.start_of(key)), source.frames)
            parts = [kine_encode(coefficients, model) for coefficients, model in zip(layers, models, strict=True)]
            segments += [Segment(first, stop - first, part, layer) for layer, part in enumerate(parts)]
            cost += distortion(analysis, start, layers) + rate_cost(sum(map(len, parts)))
            first, start = stop, key
        return cost, setup, segments

    def for_metric(self, metric: str) -> Sequence[Kine]:
        """With the points and the norm, unless they were chosen, of this metric; for a maximum either norm may win."""
        named = (of for name, of in POINTS.items() if metric == name or metric.startswith(f"{name}_"))
        points = next(named, "body") if self.points == "auto" else self.points
        peaks = self.norm == "auto" and metric.endswith(("_max", "_p99"))
        return [
            dataclasses.replace(self, points=points, norm=norm)
            for norm in (("rms", "max") if peaks else ("rms" if self.norm == "auto" else self.norm,))
        ]

    @classmethod
    def decode(cls, stream: Stream, window: Window | None = None, limits: Limits = DEFAULT_LIMITS) -> Model:
        if not isinstance(stream.layout, Skeleton):
            raise Corrupt("the stream is not of a clip")
        if stream.setup[:1] == bytes([MARK]):
            exact = exact_synthesis_of(stream.setup, width_of(stream.layout))
            return decode_segments(stream, window, limits, lambda run: exact.decode(run.data[0], run.frames, limits))
        start, stop = check_window(stream, window, limits)
        return model_from(stream, _values(stream, synthesis_of(stream.layout, stream.setup), start, stop))


def _share_of(progress: Progress, number: int, count: int) -> Progress:
    """Of the `number`-th of `count` rounds."""
    return lambda done: progress((number + done) / count)


def _values(stream: Stream, synthesis: Synthesis, start: int, stop: int) -> Array:
    """[frames, channels] of frames start..stop-1."""
    values = np.empty((stop - start, width_of(stream.layout)))
    for run, low, high in runs_in(stream, start, stop):
        synthesis.decode(run, low, high, values[low - start : high - start])
    return values
