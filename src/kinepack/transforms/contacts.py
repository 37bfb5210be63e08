"""Where end effectors stand still, and corrections that hold them there.

In a contact an effector is moved to its anchor (its mean position in the original) plus a small remainder; before
and after, the correction fades out over FADE frames, so that nothing jumps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinepack import _kernels
from kinepack.errors import Corrupt

Array = NDArray[np.float64]
FADE = 8
PLACE_SHARE = 0.01
"""What an error in the place of a contact counts, beside one of the way inside it."""
SHORTEST = 2
"""Frames of the shortest contact."""


@dataclass(frozen=True, eq=False)
class Contacts:
    """Contacts of one run of frames, in order of effector and time."""

    effectors: NDArray[np.int64]
    """[contacts]"""
    spans: NDArray[np.int64]
    """[contacts, 2] first frame and the frame after the last."""
    anchors: NDArray[np.int64]
    """[contacts, 3] in steps."""

    def inside(self, frames: int, count: int) -> NDArray[np.bool_]:
        """[frames, effectors]"""
        mask = np.zeros((frames, count), bool)
        for effector, (start, stop) in zip(self.effectors, self.spans, strict=True):
            mask[start:stop, effector] = True
        return mask


def find_contacts(points_cm: Array, frame_time: float, *, still_cm_s: float, step_cm: float) -> Contacts:
    """Where points [frames, effectors, 3] are slower than `still_cm_s` for some frames."""
    frames, count, _ = points_cm.shape
    speed = np.zeros((frames, count))
    if frames > 1:
        speed = np.linalg.norm(np.gradient(points_cm, frame_time, axis=0), axis=-1)
    found = [_still_spans(speed[:, effector] < still_cm_s) for effector in range(count)]
    effectors = np.repeat(np.arange(count), [len(spans) for spans in found])
    return anchored(_contacts(effectors, np.concatenate(found), np.zeros((len(effectors), 3))), points_cm, step_cm)


def _still_spans(still: NDArray[np.bool_]) -> NDArray[np.int64]:
    """[contacts, 2] runs of still frames that are not too short."""
    spans = np.flatnonzero(np.diff(np.concatenate([[0], still.astype(np.int8), [0]]))).reshape(-1, 2)
    return np.asarray(spans[spans[:, 1] - spans[:, 0] >= min(SHORTEST, len(still))])


def anchored(contacts: Contacts, points_cm: Array, step_cm: float) -> Contacts:
    """The contacts with anchors at the mean of points [frames, effectors, 3]."""
    anchors = [
        np.round(points_cm[start:stop, effector].mean(axis=0) / step_cm)
        for effector, (start, stop) in zip(contacts.effectors, contacts.spans, strict=True)
    ]
    return _contacts(contacts.effectors, contacts.spans, anchors)


def _contacts(effectors: Any, spans: Any, anchors: Any) -> Contacts:
    return Contacts(
        np.array(effectors, np.int64),
        np.array(spans, np.int64).reshape(-1, 2),
        np.array(anchors, np.int64).reshape(-1, 3),
    )


def remainders(points_cm: Array, contacts: Contacts, step_cm: float) -> Array:
    """[frames, effectors, 3] from the anchors to the points; 0 outside contacts."""
    result = np.zeros_like(points_cm)
    for effector, (start, stop), anchor in zip(contacts.effectors, contacts.spans, contacts.anchors, strict=True):
        result[start:stop, effector] = points_cm[start:stop, effector] - anchor * step_cm
    return result


def stiller(differences: Array, contacts: Contacts, less: float) -> Array:
    """[frames, effectors, 3] each contact's path drawn together by `less`, in RMS; a path shorter than that vanishes.

    Errors then hardly ever make a path longer than it was: a planted foot that slides is what one sees.
    """
    result = np.zeros_like(differences)
    for effector, (start, stop) in zip(contacts.effectors, contacts.spans, strict=True):
        rows = differences[start:stop, effector]
        extent = float(np.sqrt((rows**2).sum(axis=1).mean()))
        result[start:stop, effector] = rows * max(0.0, 1 - less / max(extent, 1e-12))
    return result


def drift(samples: Array, contacts: Contacts) -> Array:
    """[frames, effectors, 3] samples less their mean over each contact, which no one sees; 0 outside contacts."""
    result = np.zeros_like(samples)
    for effector, (start, stop) in zip(contacts.effectors, contacts.spans, strict=True):
        rows = samples[start:stop, effector]
        result[start:stop, effector] = rows - (1 - PLACE_SHARE) * rows.mean(axis=0)
    return result


def corrected(
    points_cm: Array, remainder_cm: Array, contacts: Contacts, *, first: int, step_cm: float
) -> tuple[Array, Array]:
    """Targets [frames, effectors, 3] for points of frames first, first + 1 … and how much each counts, 0 to 1.

    Frames nearer than FADE to either end may miss contacts that lie beyond it.
    """
    frames, count, _ = points_cm.shape
    shift, faded, weight = np.zeros_like(points_cm), np.zeros_like(points_cm), np.zeros((frames, count, 1))
    held = np.zeros((frames, count), bool)
    fade = 0.5 + 0.5 * np.cos(np.pi * np.arange(1, FADE + 1) / (FADE + 1))[:, None]
    spans = contacts.spans - first
    for effector, (start, stop), anchor in zip(contacts.effectors, spans, contacts.anchors, strict=True):
        low, high = max(start, 0), min(stop, frames)
        if low >= high:
            continue
        wanted = anchor * step_cm + remainder_cm[low:high, effector]
        shift[low:high, effector] = wanted - points_cm[low:high, effector]
        held[low:high, effector] = True
        after = slice(stop, max(stop, min(stop + FADE, frames)))
        before = slice(max(start - FADE, 0), max(start, 0))
        for rows, share, edge in (
            (after, fade[: after.stop - after.start], high - 1),
            (before, fade[: before.stop - before.start][::-1], low),
        ):
            faded[rows, effector] += share * shift[edge, effector]
            weight[rows, effector] += share
    outside = faded / np.maximum(weight, 1.0)
    targets = points_cm + np.where(held[..., None], shift, outside)
    return targets, np.where(held, 1.0, np.minimum(weight[..., 0], 1.0))


def encode_contacts(contacts: Contacts, count: int) -> bytes:
    """Varints: contacts of each effector, then for each the gap before it, its length and its anchor's difference."""
    numbers: list[int] = [int((contacts.effectors == effector).sum()) for effector in range(count)]
    end, at, before = 0, np.zeros(3, np.int64), -1
    for effector, (start, stop), anchor in zip(contacts.effectors, contacts.spans, contacts.anchors, strict=True):
        if effector != before:
            end, before = 0, effector
        numbers += [int(start - end), int(stop - start), *(_fold(int(d)) for d in anchor - at)]
        end, at = stop, anchor
    return _kernels.encode_varints(np.array(numbers, np.uint64))


def decode_contacts(data: bytes, count: int, frames: int) -> tuple[Contacts, int]:
    """The mirror of `encode_contacts`, and the bytes it took."""
    counts, used = _kernels.decode_varints(data, count)
    total = sum(int(c) for c in counts)
    if total > count * (frames + 1) or 5 * total > len(data):
        raise Corrupt("there are more contacts than frames")
    numbers, more = _kernels.decode_varints(data[used:], 5 * total)
    rows = [[int(n) for n in row] for row in numbers.reshape(-1, 5)]
    effectors = np.repeat(np.arange(count), counts.astype(np.int64))
    spans, anchors, at = [], [], [0, 0, 0]
    end, before = 0, -1
    for effector, (gap, length, *moved) in zip(effectors.tolist(), rows, strict=True):
        end, before = (0 if effector != before else end), effector
        spans.append((end + gap, end + gap + length))
        end = spans[-1][1]
        at = [a + _unfold(m) for a, m in zip(at, moved, strict=True)]
        if length < 1 or end > frames or max(map(abs, at)) > 1 << 52:
            raise Corrupt("a contact does not lie inside the clip")
        anchors.append(at)
    return _contacts(effectors, spans, anchors), used + more


def _fold(value: int) -> int:
    return 2 * value if value >= 0 else -2 * value - 1


def _unfold(value: int) -> int:
    return value >> 1 if value % 2 == 0 else -(value + 1 >> 1)
