"""The decoder's side of `kine`: a setup turned into arrays once, then segments into channels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels._kine import Coefficients, SegmentModel, kine_decode, kine_pose, kine_synthesise
from kinepack.entropy.kine_prior import prior
from kinepack.entropy.kine_setup import KineSetup, Rig, unpack_setup
from kinepack.errors import Corrupt
from kinepack.model import Skeleton
from kinepack.transforms import triangular
from kinepack.transforms.held import Hold
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

    def __init__(self, skeleton: Skeleton, data: bytes) -> None:
        setup = unpack_setup(data, rig_of(skeleton))
        steps = steps_of(setup, skeleton)
        self.skeleton = skeleton
        self.forms = [TurnForm(int(form), int(order)) for form, order in setup.forms]
        for turn, form in zip(slots_of(skeleton).turns, self.forms, strict=True):
            if form.form not in allowed_forms(skeleton, turn):
                raise Corrupt("a joint's rotation is written in a form that it cannot have")
        self.active = setup.active.astype(bool)
        self.offsets = offset_values(setup.offsets, steps, self.active)
        self.steps = np.ascontiguousarray(steps[self.active])
        self.models = segment_models(skeleton, setup)
        self.hold = Hold(setup.hold, setup.lead)
        self.tables = pose_tables(skeleton, self.forms)
        self.places = np.flatnonzero(self.active).astype(np.uint32)
        self.moving_offsets = np.ascontiguousarray(self.offsets[self.active])
        self.prediction = triangular.to_prediction(setup.links, setup.shift, self.steps)

    def decode(self, layers: Sequence[bytes], first: int, frames: int) -> Array:
        """[frames, channels] of one segment from its lowest layers."""
        if self.hold.frames == 1:
            return self._keys(layers, frames)
        keys = self.hold.key_of(np.arange(first, first + frames))
        return np.asarray(self._keys(layers, int(keys[-1] - keys[0]) + 1)[keys - keys[0]])

    def _coefficients(self, layers: Sequence[bytes], frames: int) -> Coefficients:
        """Levels in the steps of the finest layer."""
        if len(layers) > len(self.models):
            raise Corrupt("a segment has more layers than its stream")
        parts = [kine_decode(data, frames, model) for data, model in zip(layers, self.models, strict=False)]
        if any(not np.array_equal(part.lengths, parts[0].lengths) for part in parts):
            raise Corrupt("the layers of a segment differ in their blocks")
        levels = parts[0].levels
        for part in parts[1:]:
            levels = LAYER_RATIO * levels + part.levels
        missing = len(self.models) - len(parts)
        return Coefficients(levels * LAYER_RATIO**missing if missing else levels, parts[0].lengths)

    def _keys(self, layers: Sequence[bytes], frames: int) -> Array:
        coefficients = self._coefficients(layers, frames)
        tracks = np.empty((len(self.offsets), frames))
        tracks[~self.active] = self.offsets[~self.active, None]
        kine_synthesise(
            coefficients,
            self.steps,
            offsets=self.moving_offsets,
            prediction=self.prediction,
            places=self.places,
            out=tracks,
        )
        return kine_pose(tracks, len(self.skeleton.channels), self.tables)


@lru_cache(maxsize=64)
def synthesis_of(skeleton: Skeleton, setup: bytes) -> Synthesis:
    """Kept, so that seeking in a file does not read its setup again and again."""
    return Synthesis(skeleton, setup)


def rig_of(skeleton: Skeleton) -> Rig:
    """What the setup's coding takes from the skeleton and the prior."""
    roots = [int(skeleton.parents[turn.joint] < 0) for turn in slots_of(skeleton).turns]
    return Rig(np.array(roots, np.int32), classes_of(skeleton), prior().setup)


def segment_models(skeleton: Skeleton, setup: KineSetup) -> list[SegmentModel]:
    """The integers that steer the coding of segments, for each layer."""
    classes = np.ascontiguousarray(classes_of(skeleton)[setup.active.astype(bool)])
    qualities = [64 - setup.scale // 4 - LAYER_QUALITY * above for above in reversed(range(setup.layers))]
    return [SegmentModel(prior(), classes, setup.unit, min(max(quality, 0), 255)) for quality in qualities]


def steps_of(setup: KineSetup, skeleton: Skeleton) -> Array:
    """[tracks] quantiser steps in the tracks' units."""
    return np.asarray(2.0 ** (setup.scale / 64 - (default_exponents(skeleton) + setup.exponents) / 4))


def offset_values(offsets: NDArray[np.int32], steps: Array, active: NDArray[np.bool_]) -> Array:
    return np.asarray(offsets * np.where(active, OFFSET_STEPS, CONSTANT_STEPS) * steps)
