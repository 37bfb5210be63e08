"""The decoder's side of `kine`: a setup turned into arrays once, then segments into channels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels._kine import (
    Coefficients,
    SegmentModel,
    kine_branches,
    kine_decode,
    kine_pose,
    kine_synthesise,
)
from kinepack.codecs._kine.branches import Anchored, euler_items
from kinepack.codecs.base import Layers
from kinepack.entropy.kine_prior import prior
from kinepack.entropy.kine_setup import KineSetup, Rig, is_version_3, unpack_setup
from kinepack.errors import Corrupt
from kinepack.model import Skeleton
from kinepack.transforms import triangular
from kinepack.transforms.held import Hold
from kinepack.transforms.knots import Knots, Timing
from kinepack.transforms.steps import classes_of, default_exponents
from kinepack.transforms.tracks import TurnForm, allowed_forms, pose_tables, slots_of

Array = NDArray[np.float64]

OFFSET_STEPS = 4.0
"""Offsets of moving tracks are whole multiples of this many steps: blocks code the rest."""
CONSTANT_STEPS = 0.25
LAYER_RATIO = 4
"""Steps of a layer are this many times finer than those of the layer below."""
LAYER_QUALITY = 32
"""16 log2 of LAYER_RATIO."""


class Synthesis:
    """Everything that the segments of one stream share."""

    def __init__(self, skeleton: Skeleton, setup: KineSetup, *, legacy: bool = False) -> None:
        """`legacy` streams, of version 1 or 2, have no ends of tracks, and continuous Euler angles."""
        steps = steps_of(setup, skeleton)
        self.forms = [TurnForm(int(form), int(order)) for form, order in setup.forms]
        for turn, form in zip(slots_of(skeleton).turns, self.forms, strict=True):
            if form.form not in allowed_forms(skeleton, turn):
                raise Corrupt("a joint's rotation is written in a form that it cannot have")
        active = setup.active.astype(bool)
        offsets = offset_values(setup.offsets, steps, active)
        self.steps, self.moving_offsets = np.ascontiguousarray(steps[active]), np.ascontiguousarray(offsets[active])
        self.places, self.still = np.flatnonzero(active).astype(np.uint32), np.flatnonzero(~active)
        self.still_values = offsets[self.still, None]
        self.models = segment_models(skeleton, setup, ends=not legacy)
        self.skeleton = skeleton
        self.timing: Timing = Knots(setup.knots) if setup.knots else Hold(setup.hold, setup.lead)
        self.tables = pose_tables(skeleton, self.forms)
        self.prediction = triangular.to_prediction(setup.links, setup.shift, self.steps)
        self.anchored, self.legacy, self.bent = Anchored(skeleton, setup.branches), legacy, setup.bent

    def decode(self, run: Layers, low: int, high: int, out: Array) -> None:
        """Frames low..high-1 of one segment, from its lowest layers, to `out` [frames, channels]."""
        start, stop = self.timing.span(low, high)
        first, end = self.timing.span(run.first, run.first + run.frames)
        if self.timing == Hold():
            self._keys(run.data, end - first, first, start, out)
            return
        keys = np.empty((stop - start, out.shape[1]))
        self._keys(run.data, end - first, first, start, keys)
        out[:] = self.timing.fill(keys, start, np.arange(low, high), self.skeleton)

    def _keys(self, layers: Sequence[bytes], count: int, first: int, start: int, out: Array) -> None:
        """Keys start, start + 1 … of a segment of `count` keys from `first` on."""
        if self.legacy and start > first:  # its angles depend on all that came before
            values = np.empty((start - first + len(out), out.shape[1]))
            self._keys(layers, count, first, first, values)
            out[:] = values[start - first :]
            return
        coefficients, skipped = self._coefficients(layers, count).between(start - first, start - first + len(out))
        low = start - first - skipped
        tracks = np.empty((len(self.places) + len(self.still), len(coefficients.levels)))
        tracks[self.still] = self.still_values
        kine_synthesise(
            coefficients,
            self.steps,
            offsets=self.moving_offsets,
            prediction=self.prediction,
            places=self.places,
            bent=self.bent,
            out=tracks,
            window=(low, low + len(out)),
        )
        kine_pose(tracks, self.tables, out=out, first=low, continuous=self.legacy)
        if self.anchored:
            kine_branches(out, self.anchored.within(start, start + len(out)), self.tables.per_angle)

    def _coefficients(self, layers: Sequence[bytes], frames: int) -> Coefficients:
        """Levels in the steps of the finest layer."""
        if len(layers) > len(self.models):
            raise Corrupt("a segment has more layers than its stream")
        parts = [kine_decode(data, frames, model) for data, model in zip(layers, self.models, strict=False)]
        if any(not np.array_equal(part.lengths, parts[0].lengths) for part in parts[1:]):
            raise Corrupt("the layers of a segment differ in their blocks")
        levels = parts[0].levels
        for part in parts[1:]:
            levels = LAYER_RATIO * levels + part.levels
        missing = len(self.models) - len(parts)
        return Coefficients(levels * LAYER_RATIO**missing if missing else levels, parts[0].lengths)


@lru_cache(maxsize=64)
def synthesis_of(skeleton: Skeleton, setup: bytes) -> Synthesis:
    """Kept, so that seeking in a file does not read its setup again and again."""
    legacy = not is_version_3(setup)
    return Synthesis(skeleton, unpack_setup(setup, rig_of(skeleton, ends=not legacy)), legacy=legacy)


def rig_of(skeleton: Skeleton, *, ends: bool = True) -> Rig:
    """What the setup's coding takes from the skeleton and the prior."""
    roots = [int(skeleton.parents[turn.joint] < 0) for turn in slots_of(skeleton).turns]
    angles = tuple(len(channels) for channels in euler_items(skeleton))
    return Rig(np.array(roots, np.int32), classes_of(skeleton), prior(ends=ends).setup, angles)


def segment_models(skeleton: Skeleton, setup: KineSetup, *, ends: bool = True) -> list[SegmentModel]:
    """The integers that steer the coding of segments, for each layer."""
    classes = np.ascontiguousarray(classes_of(skeleton)[setup.active.astype(bool)])
    qualities = [64 - setup.scale // 4 - LAYER_QUALITY * above for above in reversed(range(setup.layers))]
    shared = (prior(ends=ends), classes, setup.unit)
    return [SegmentModel(*shared, min(max(quality, 0), 255), ends) for quality in qualities]


def steps_of(setup: KineSetup, skeleton: Skeleton) -> Array:
    """[tracks] quantiser steps in the tracks' units."""
    return np.asarray(2.0 ** (setup.scale / 64 - (default_exponents(skeleton) + setup.exponents) / 4))


def offset_values(offsets: NDArray[np.int32], steps: Array, active: NDArray[np.bool_]) -> Array:
    return np.asarray(offsets * np.where(active, OFFSET_STEPS, CONSTANT_STEPS) * steps)
