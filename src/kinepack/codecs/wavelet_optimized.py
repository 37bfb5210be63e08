"""`wavelet-optimized`: wavelet coefficients chosen by what they do to the positions of the joints.

P. Beaudoin, P. Poulin, M. van de Panne: Adapting Wavelet Compression to Human Motion Capture Clips. Graphics
Interface 2007, section 5. The stream is that of `wavelet`; only the choice of coefficients differs.

clip -> cubic wavelets -> kn/r coefficients that minimise e_x: by Algorithm 1 (`search=annealing`), or by pursuit
(`search=pursuit`), which also fits their values -> steps by each channel's effect on e_x -> codes -> DEFLATE

Deviations, explained in docs/codecs/wavelet-optimized.md:
1. the default search is not the paper's but one that is faster and leaves about half its error;
2. quantiser steps follow the channels' effect on e_x (`noise`; 0 for the paper's 16 bits over a signal's range);
3. channels that move no measured point keep the share that standard selection gives them;
4. those of `wavelet`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kinepack.codecs.base import Progress, Stream, segment_ranges
from kinepack.codecs.wavelet import (
    WaveletCodec,
    gzip_setting,
    longest_segment_setting,
    standard_selection,
    wavelet_stream,
)
from kinepack.math.kinematics import forward_kinematics
from kinepack.math.pose_derivatives import weighted_error
from kinepack.model import Clip
from kinepack.params import param
from kinepack.transforms import wavelet_window as wavelet
from kinepack.transforms.wavelet_annealing import anneal
from kinepack.transforms.wavelet_pursuit import Form, form_of, pursue, quantize_closed
from kinepack.transforms.wavelet_selection import (
    Quantized,
    channel_scale,
    full_range_steps,
    limited_codes,
    quantize,
    standard_scores,
    step_table,
)

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
GROUPS = 8
"""Groups of channels that quantisation goes through, each making up for the ones before."""


@dataclass(frozen=True)
class WaveletOptimized(WaveletCodec):
    """Optimised wavelet coefficient selection."""

    id: ClassVar[str] = "wavelet-optimized"
    title: ClassVar[str] = "wavelet coefficients chosen by joint positions"

    ratio: float = param(
        25.0, "r: one of how many coefficients is kept; files are two to three times that much smaller",
        low=1.0, high=2000.0, quality="lower",
    )  # fmt: skip
    search: str = param(
        "pursuit", "annealing: Algorithm 1 of the paper; pursuit: faster and closer", choices=("pursuit", "annealing")
    )
    noise: float = param(
        0.7, "squared error that quantising adds, as a part of what selection leaves; 0: 16 bits over a signal's range",
        low=0.0, high=10.0,
    )  # fmt: skip
    gzip: bool = gzip_setting()
    segment_s: float = longest_segment_setting()

    def encode(self, source: Clip, progress: Progress | None = None) -> Stream:
        return wavelet_stream(source, self.segment_s, self.quantized(source, progress), deflate=self.gzip)

    def quantized(self, source: Clip, progress: Progress | None = None) -> list[Quantized]:
        """The coefficients of every segment, chosen and quantised."""
        scale = channel_scale(source.skeleton)
        clips = [source.slice(a, b) for a, b in segment_ranges(source, self.segment_s)]
        choose = self._anneal if self.search == "annealing" else self._pursue
        return choose(clips, scale, progress)

    def _anneal(self, clips: Sequence[Clip], scale: Array, progress: Progress | None) -> list[Quantized]:
        """Section 5: the counts w of standard compression, improved by Algorithm 1."""
        runs = [wavelet.forward(clip.values) for clip in clips]
        standard = standard_selection([standard_scores(c, scale) for c in runs], self.ratio)
        result = []
        for number, (clip, coefficients, mask) in enumerate(zip(clips, runs, standard, strict=True)):
            kept = anneal(clip, coefficients, mask.sum(axis=0)).kept & (coefficients != 0)
            effect = form_of(clip, idle_curvature(clip, scale)).effect
            steps = self._steps(clip, np.where(kept, coefficients, 0.0), kept, effect, scale)
            result.append(quantize(coefficients, kept, steps, scale))
            _tell(progress, number + 1, len(clips))
        return result

    def _pursue(self, clips: Sequence[Clip], scale: Array, progress: Progress | None) -> list[Quantized]:
        """Coefficients and their values by their effect on e_x; segments share by the same measure."""
        runs = [wavelet.forward(clip.values) for clip in clips]
        forms = [form_of(clip, idle_curvature(clip, scale)) for clip in clips]
        effects = [c**2 * form.diagonal for c, form in zip(runs, forms, strict=True)]
        shares = standard_selection(effects, self.ratio)
        result = []
        for number, (clip, coefficients, form, share) in enumerate(zip(clips, runs, forms, shares, strict=True)):
            kept, values = pursue(form, coefficients, share)
            kept, values = _closer(clip, (kept, values), (share, np.where(share, coefficients, 0.0)))
            result.append(self._quantize_closed(clip, form, coefficients, (kept, values), scale))
            _tell(progress, number + 1, len(clips))
        return result

    def _quantize_closed(
        self, clip: Clip, form: Form, coefficients: Array, chosen: tuple[Mask, Array], scale: Array
    ) -> Quantized:
        kept, values = chosen
        wanted = self._steps(clip, values, kept, form.effect, scale)
        codes = limited_codes(values, wanted, scale)
        steps = step_table(clip.frames, codes, scale)
        rounded = quantize_closed(form, coefficients, values, kept, steps=steps, groups=GROUPS)
        return quantize(rounded, rounded != 0, wanted, scale, codes=codes)

    def _steps(self, clip: Clip, values: Array, kept: Mask, effect: Array, scale: Array) -> Array:
        """[channels] in scaled units: K Δ²/12 = noise n e_x² shares the quantiser's error among K coefficients."""
        if not self.noise or not kept.any():
            return full_range_steps(values, kept, scale)
        points = forward_kinematics(clip).points
        left = weighted_error(clip.with_values(wavelet.inverse(values)), points)
        least = 1e-12 * float((values**2 * scale**2).sum())
        delta = np.sqrt(12 * self.noise * max(left, least) / int(kept.sum()))
        return np.asarray(np.maximum(delta / np.sqrt(effect) * scale, 1e-30))


def idle_curvature(clip: Clip, scale: Array) -> Array:
    """[channels] what a channel that moves no point counts for: one unit is worth its scaled centimetres."""
    return np.asarray((scale / clip.unit_cm) ** 2)


def _closer(clip: Clip, *choices: tuple[Mask, Array]) -> tuple[Mask, Array]:
    """The choice with the least e_x: far from the original poses the quadratic form may mislead."""
    points = forward_kinematics(clip).points
    errors = [weighted_error(clip.with_values(wavelet.inverse(values)), points) for _, values in choices]
    return choices[int(np.argmin(errors))]


def _tell(progress: Progress | None, done: int, total: int) -> None:
    if progress:
        progress(done / total)
