"""How each turn of a clip is best written: the form whose curves cost least, its largest curve first."""

from __future__ import annotations

import numpy as np

from kinepack.model import Clip
from kinepack.transforms.blocks import dct_basis
from kinepack.transforms.tracks import (
    EULER,
    ORDERS,
    VECTOR,
    Array,
    Plain,
    Turn,
    TurnForm,
    allowed_forms,
    forward_turn,
    slots_of,
    turn_quaternions,
)

HANDICAP = 1.03
"""What a form other than rotation vectors must win by."""


def choose_forms(clip: Clip, steps: Array, length: int) -> list[TurnForm]:
    """A form for each turn; `steps` [tracks] and block `length` are only for the comparison."""
    forms, at = [], 0
    for item in slots_of(clip.skeleton).items:
        if isinstance(item, Plain):
            at += 1
            continue
        forms.append(_best_form(clip, item, steps[at : at + 3], length))
        at += 3
    return forms


def _best_form(clip: Clip, turn: Turn, steps: Array, length: int) -> TurnForm:
    best: tuple[float, TurnForm] | None = None
    quaternions = turn_quaternions(clip, turn)
    for form in allowed_forms(clip.skeleton, turn):
        costs = _costs(forward_turn(clip, turn, form, quaternions) / steps, length)
        total = float(costs.sum()) * (1.0 if form == VECTOR else HANDICAP)
        if best is None or total < best[0]:
            best = (total, TurnForm(form, _order(costs, form)))
    assert best is not None
    return best[1]


def _order(costs: Array, form: int) -> int:
    """The number of the order that puts the costliest curve first."""
    order = tuple(int(i) for i in np.argsort(-costs, kind="stable"))
    return ORDERS.index(order) if form in (VECTOR, EULER) else 0


def _costs(numbers: Array, length: int) -> Array:
    """[3] bits of each curve, coded on its own."""
    parts = [numbers[a : a + length] for a in range(0, len(numbers), length)]
    rows = np.concatenate([dct_basis(len(p)) @ (p - numbers.mean(axis=0)) for p in parts])
    return np.asarray(0.5 * np.log2(1 + 3 * rows**2).sum(axis=0))
