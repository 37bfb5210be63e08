"""`bap-sparsing`: freeze and release between prediction and arithmetic coding.

clip -> differences from frame to frame -> freeze, accumulate, release past T = K * level -> arithmetic coding

Chattopadhyay, Bhandarkar, Li: BAP Sparsing, A Novel Approach to MPEG-4 Body Animation Parameter Compression, section 2.
Deviations:

1. The text of section 2.1 counts, not Figure 2: dropped differences accumulate, the sum is released when its normalised
   size passes the threshold, and starts again from zero. The deviation is the column's.
2. `pipeline` chooses what is around it: float differences as in `mpeg4-float`, which is what the paper measured, or the
   quantised levels and the FBA stream of `mpeg4-predictive`.
3. With `closed_loop` the accumulated value is the distance to what the decoder holds, so rounding cannot add up.
4. Levels come from the rule of `transforms.levels`; the paper's Figure 3 is not readable in its text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kinepack.codecs.base import Codec, Progress, Segment, Stream, Window, segment_ranges, segment_setting
from kinepack.codecs.mpeg4_float import Mpeg4Float, single_precision
from kinepack.codecs.mpeg4_predictive import decode_runs, pack_run
from kinepack.entropy import fba
from kinepack.entropy.float_frames import encode_differences
from kinepack.formats.bap_carriers import TABLES, carriers_of
from kinepack.limits import DEFAULT_LIMITS, Limits
from kinepack.model import Clip, Model
from kinepack.params import param
from kinepack.transforms.fba_levels import open_runs, runs
from kinepack.transforms.levels import channel_levels
from kinepack.transforms.sparsing import Thresholds, sparse_closed, sparse_open, thresholds

FLOATS = 255
"""The setup's one byte: this, or the step table of an FBA stream."""


@dataclass(frozen=True)
class BapSparsing(Codec):
    """Sparse differences through the papers' arithmetic coder or a real FBA stream."""

    id: ClassVar[str] = "bap-sparsing"
    title: ClassVar[str] = "BAP-sparsing: freeze and release before arithmetic coding"
    sources: ClassVar[tuple[type, ...]] = (Clip,)

    k: float = param(
        0.1, "K: a parameter is released at K * level standard deviations", low=0.0, high=10.0, quality="lower"
    )
    pipeline: str = param("float", "float differences, or an FBA stream", choices=("float", "fba"))
    bap_quant: int = param(1, "fba: quantiser scale of the standard's table", low=1, high=31)
    steps: str = param("alternative", "fba: step table", choices=TABLES)
    ranges: str = param("fitted", "fba: level ranges", choices=("fitted", "widest"))
    closed_loop: bool = param(True, "release the distance to what the decoder holds; off to match the paper")
    segment_s: float = segment_setting()

    def encode(self, source: Clip, progress: Progress | None = None) -> Stream:
        segments = self._floats(source) if self.pipeline == "float" else self._fba(source)
        setup = bytes([FLOATS if self.pipeline == "float" else TABLES.index(self.steps)])
        return Stream(source.skeleton, source.frames, source.frame_time, setup, segments, source.name)

    @classmethod
    def decode(cls, stream: Stream, window: Window | None = None, limits: Limits = DEFAULT_LIMITS) -> Model:
        if stream.setup == bytes([FLOATS]):
            return Mpeg4Float.decode(stream, window, limits)
        return decode_runs(stream, window, limits)

    def _rule(self, source: Clip, x: NDArray[Any]) -> Thresholds:
        return thresholds(np.diff(x, axis=0).astype(np.float64), channel_levels(source.skeleton), self.k)

    def _floats(self, source: Clip) -> list[Segment]:
        x = single_precision(source.values)
        rule = self._rule(source, source.values)
        segments = []
        for start, stop in segment_ranges(source, self.segment_s):
            part = x[start:stop]
            released = sparse_closed(part, rule) if self.closed_loop else sparse_open(np.diff(part, axis=0), rule)
            segments.append(Segment(start, stop - start, encode_differences(x[start], released)))
        return segments

    def _fba(self, source: Clip) -> list[Segment]:
        carriers = carriers_of(source.skeleton)
        integers = carriers.to_integers(source.values)
        rule = self._rule(source, integers)
        steps = carriers.steps(self.steps).astype(np.int64) * fba.SCALES[self.bap_quant]
        largest, segments = fba.largest_level(self.bap_quant), []
        for start, stop in segment_ranges(source, self.segment_s):
            x = integers[start:stop]
            if self.closed_loop:
                found = runs(x, steps, largest, rule)
            else:
                found = open_runs(x, steps, largest, sparse_open(np.diff(x, axis=0).astype(np.float64), rule))
            for run in found:
                data = pack_run(run, carriers, quant=self.bap_quant, widest=self.ranges == "widest")
                segments.append(Segment(start + run.first, len(run.levels), data))
        return segments
