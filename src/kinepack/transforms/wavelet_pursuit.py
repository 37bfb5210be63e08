"""Coefficient selection by pursuit: which coefficients to keep and their values, both chosen to minimise e_x.

Around the original poses e_x² is a quadratic form in the coefficients, Φᵀ H Φ with Φ the inverse transform and
H = JᵀWJ. Alternately (1) conjugate gradients fit the kept coefficients, so that children absorb what their
parents lost, and (2) kept coefficients whose loss costs least give way to others whose gain is larger. J is never
formed (`kinepack.math.pose_derivatives`), so a round costs a few dozen passes over the clip.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kinepack.math.pose_derivatives import motion_of
from kinepack.model import Clip, Skeleton
from kinepack.transforms import wavelet_window as wavelet

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
ROUNDS = 10
FIT_STEPS = 12
CLOSING_STEPS = 6
SWAPPED = 0.25
"""Fraction of the kept coefficients that may change in the first round; it falls to nothing in the last."""
LENGTH_SHARE = 0.1
"""What an error in a quaternion's length counts, beside one across it."""
NEGLIGIBLE = 1e-6
"""A signal whose effect is below this part of its scale moves nothing but rounding errors."""
RIDGE = 0.005
"""Weight of staying near the original coefficients, as a fraction of the form's diagonal."""


@dataclass(frozen=True, eq=False)
class Form:
    """A squared error near the original as a quadratic form in the coefficients' differences from it."""

    curvature: Callable[[Array], Array]
    """H applied to samples [frames, signals]."""
    effect: Array
    """[signals] mean of H's diagonal; what a signal that moves nothing is taken to count for."""
    diagonal: Array
    """[frames, signals] curvature along each coefficient, averaged over its wavelet's width."""
    ridge: Array

    def gradient(self, difference: Array) -> Array:
        """Half the form's gradient at coefficients that differ by `difference`."""
        return wavelet.adjoint(self.curvature(wavelet.inverse(difference))) + self.ridge * difference


def form_of(clip: Clip, idle: Array) -> Form:
    """n e_x² at the clip's poses. Channels that move nothing get the curvature `idle` [channels]."""
    motion = motion_of(clip)
    diagonal = motion.diagonal()
    stiff = _length_stiffness(clip.skeleton, diagonal.mean(axis=0))
    if not stiff.any():
        return _form(motion.curvature, diagonal, idle)
    return _form(lambda samples: motion.curvature(samples) + stiff * samples, diagonal + stiff, idle)


def _length_stiffness(skeleton: Skeleton, effect: Array) -> Array:
    """[channels] The length of a quaternion moves nothing as long as it is not lost: it must not be free."""
    stiff = np.zeros(len(effect))
    for joint in range(len(skeleton.joints)):
        parts = [c for kind, c in skeleton.channels_of(joint).items() if kind[0] == "q"]
        if parts:
            stiff[parts] = LENGTH_SHARE * effect[parts].max()
    return stiff


def weighted_form(weights: Array, curvature: Callable[[Array], Array]) -> Form:
    """A form whose diagonal is about weights [frames, signals]."""
    return _form(curvature, weights, np.ones(weights.shape[1]))


def _form(curvature: Callable[[Array], Array], diagonal: Array, idle: Array) -> Form:
    effect = diagonal.mean(axis=0)
    effect = np.where(effect > NEGLIGIBLE * idle, effect, idle)
    floor = np.where(diagonal.any(axis=0), 1e-3 * effect, effect)
    by_coefficient = smoothed(diagonal + floor) * wavelet.row_norms(len(diagonal))[:, None] ** 2
    return Form(curvature, effect, by_coefficient, RIDGE * by_coefficient)


def smoothed(curvature: Array) -> Array:
    """[frames, channels] in the order of coefficients: the mean over each wavelet's width, about."""
    rows, bands = curvature, []
    while len(rows) > 1:
        bands.append(rows[1::2])
        ahead, behind = np.concatenate([rows[1:], rows[-2:-1]]), np.concatenate([rows[1:2], rows[:-1]])
        rows = (0.5 * rows + 0.25 * ahead + 0.25 * behind)[::2]
    return np.concatenate([rows, *bands[::-1]])


def fit(form: Form, original: Array, start: Array, kept: Mask, *, steps: int = FIT_STEPS) -> Array:
    """Values of the kept coefficients by preconditioned conjugate gradients; all others are zero."""
    values = np.where(kept, start, 0.0)
    scale = np.where(kept, 1 / form.diagonal, 0.0)
    residual = -form.gradient(values - original) * kept
    ahead = scale * residual
    direction, power = ahead, float((residual * ahead).sum())
    first = power
    for _ in range(steps):
        if power <= 1e-10 * first or power <= 0:
            break
        bent = form.gradient(direction) * kept
        across = float((direction * bent).sum())
        if not across > 0:  # rounding has eaten the curvature
            break
        length = power / across
        values = values + length * direction
        residual = residual - length * bent
        ahead = scale * residual
        power, last = float((residual * ahead).sum()), power
        direction = ahead + power / last * direction
    return values


def swap(form: Form, original: Array, values: Array, kept: Mask, *, most: int) -> Mask:
    """Up to `most` kept coefficients replaced by others that promise more."""
    slope = form.gradient(values - original)
    gain = np.where(kept, -np.inf, slope**2 / form.diagonal).ravel()
    loss = np.where(kept, values**2 * form.diagonal, np.inf).ravel()
    most = min(most, int(kept.sum()), int((~kept).sum()))
    if most <= 0:
        return kept
    enter, leave = np.argsort(-gain, kind="stable")[:most], np.argsort(loss, kind="stable")[:most]
    better = gain[enter] > loss[leave]
    changed = kept.ravel().copy()
    changed[leave[better]] = False
    changed[enter[better]] = True
    return changed.reshape(kept.shape)


def pursue(form: Form, coefficients: Array, share: Mask) -> tuple[Mask, Array]:
    """As many kept coefficients [frames, channels] as in `share`, where the search begins, and their values."""
    kept, count = share, int(share.sum())
    values = fit(form, coefficients, coefficients, kept)
    for turn in range(ROUNDS):
        most = round(count * SWAPPED * (1 - turn / ROUNDS))
        kept = swap(form, coefficients, values, kept, most=most)
        values = fit(form, coefficients, values, kept)
    return kept, values


def quantize_closed(form: Form, original: Array, values: Array, kept: Mask, *, steps: Array, groups: int) -> Array:
    """Quantised values, multiples of steps [frames, channels]; what a group of channels loses, the next make up.

    Groups go from the root outward, in the order of the channels.
    """
    fixed = np.zeros_like(values)
    open_ = kept.copy()
    for group in np.array_split(np.arange(values.shape[1]), groups):
        fixed[:, group] = np.round(values[:, group] / steps[:, group]) * steps[:, group]
        open_[:, group] = False
        if open_.any():
            rest = np.where(open_, values, 0.0)
            values = fit(form, original - fixed, rest, open_, steps=CLOSING_STEPS) + fixed
    return fixed
