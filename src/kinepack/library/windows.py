"""Fixed-length stretches of a library's motion as arrays, shuffled, for training."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinepack.errors import UsageError
from kinepack.library.forms import check_form, resample, smooth_signs

if TYPE_CHECKING:
    from kinepack.library.opened import Library

Floats = NDArray[np.float32]
WHOLE = 1e-6
"""A ratio of frame rates this near to a whole number is one: frames are picked, not mixed."""
NEAR_BLOCK = 16
"""Neighbouring windows that "near" shuffling keeps together on disk."""


class Place(NamedTuple):
    """Where a window comes from."""

    clip: str
    start: int
    """Frame of the clip, at the clip's own rate."""


class Plan(NamedTuple):
    """How windows lie in one clip."""

    number: int
    windows: int
    step: float
    """Source frames for each frame of a window."""
    stride: float
    span: int
    """Source frames that one window needs."""


class Windows(Sequence[Any]):
    """Windows of `length` frames, `stride` frames apart (default: end to end), in shuffled order.

    Has `__len__` and `__getitem__`, which is all that a PyTorch map-style Dataset needs; can be pickled and forked.
    A window is one float32 array of the form asked for, or a dict of arrays if `form` names several. With `fps` every
    clip is brought to that rate; without, each keeps its own. `clips` (names or clips) narrows the choice; clips
    shorter than a window are left out. `shuffle` is "full"; "near", which shuffles blocks of neighbours in pools that
    fit the library's cache, so that each run of frames is decoded about once; or "off".
    """

    def __init__(
        self,
        library: Library,
        length: int,
        stride: int | None = None,
        fps: float | None = None,
        *,
        seed: int = 0,
        form: str | Sequence[str] = "channels",
        clips: Sequence[Any] | None = None,
        shuffle: Literal["full", "near", "off"] = "full",
    ) -> None:
        stride = length if stride is None else stride
        if length < 1 or stride < 1 or (fps is not None and not 0 < fps < float("inf")):
            raise UsageError("length, stride and fps of windows must be positive")
        if shuffle not in ("full", "near", "off"):
            raise UsageError(f"{shuffle!r} is no way to shuffle", hint="there are: full, near, off")
        self.library, self.length, self.stride, self.fps = library, length, stride, fps
        self.seed, self.shuffle, self._clips = seed, shuffle, clips
        self.forms = (form,) if isinstance(form, str) else tuple(form)
        self._single = isinstance(form, str)
        self._plans = self._plan()
        self._ends = np.cumsum([plan.windows for plan in self._plans]).tolist()
        self._order = self._shuffled()

    def __len__(self) -> int:
        return int(self._ends[-1]) if self._ends else 0

    def __getitem__(self, index: Any) -> Any:
        """The window at a place of the shuffled order."""
        plan, start = self._find(index)
        if self._single:
            return self._window(plan, start, self.forms[0])
        return {form: self._window(plan, start, form) for form in self.forms}

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self)))

    def where(self, index: int) -> Place:
        """The clip and the first frame of a window."""
        plan, start = self._find(index)
        return Place(self.library.listed[plan.number].name, start)

    def epoch(self, number: int) -> Windows:
        """The same windows in another order, a different one for each number."""
        how: dict[str, Any] = {"clips": self._clips, "shuffle": self.shuffle}
        form = self.forms[0] if self._single else self.forms
        seed = int(np.random.SeedSequence([self.seed, number]).generate_state(1)[0])
        return Windows(self.library, self.length, self.stride, self.fps, seed=seed, form=form, **how)

    def batches(self, size: int) -> Iterator[Any]:
        """Stacks of `size` windows (the last may be smaller): [size, length, …]."""
        for first in range(0, len(self), size):
            part = [self[index] for index in range(first, min(first + size, len(self)))]
            if self._single:
                yield np.stack(part)
            else:
                yield {form: np.stack([window[form] for window in part]) for form in self.forms}

    # Where windows are.

    def _plan(self) -> list[Plan]:
        library = self.library
        chosen = range(len(library)) if self._clips is None else [library[_name(c)].number for c in self._clips]
        plans = [plan for number in chosen if (plan := self._plan_clip(number)).windows > 0]
        facts = [library.static_facts(library.listed[plan.number].static) for plan in plans]
        for form in self.forms:
            check_form(form, mesh=any(f["kind"] == "mesh" for f in facts))
        shapes = {(f["kind"], f["joints"], f["numbers_per_frame"]) for f in facts}
        if len(shapes) > 1:
            raise UsageError(
                f"the clips have {len(shapes)} different shapes and cannot be stacked",
                hint="narrow the choice: windows(..., clips=library.select(skeleton=...))",
            )
        return plans

    def _plan_clip(self, number: int) -> Plan:
        listed = self.library.listed[number]
        step = 1.0 if self.fps is None else 1 / (self.fps * listed.frame_time)
        step = float(round(step)) if step >= 1 and abs(step - round(step)) < WHOLE * step else step
        last = (self.length - 1) * step
        span = int(np.ceil(last - WHOLE)) + 1
        stride = self.stride * step
        room = listed.frames - span
        return Plan(number, int((room + WHOLE) / stride) + 1 if room >= 0 else 0, step, stride, span)

    def _find(self, index: Any) -> tuple[Plan, int]:
        size = len(self)
        at = int(index)
        if not -size <= at < size:
            raise IndexError(f"there are {size} windows, no number {index}")
        at = at % size if self._order is None else int(self._order[at])
        clip = bisect_right(self._ends, at)
        plan = self._plans[clip]
        first = at - (self._ends[clip - 1] if clip else 0)
        return plan, int(first * plan.stride + WHOLE)

    def _shuffled(self) -> NDArray[np.uint32] | None:
        size = len(self)
        if self.shuffle == "off" or not size:
            return None
        random = np.random.default_rng(self.seed)
        if self.shuffle == "full":
            return random.permutation(np.arange(size, dtype=np.uint32))
        return self._near(random)

    def _near(self, random: np.random.Generator) -> NDArray[np.uint32]:
        """Blocks of neighbours in random order, then windows in random order within pools of blocks."""
        counts = np.array([plan.windows for plan in self._plans])
        blocks = -(-counts // NEAR_BLOCK)
        within = np.arange(len(self)) - np.repeat(np.cumsum(counts) - counts, counts)
        block = within // NEAR_BLOCK + np.repeat(np.cumsum(blocks) - blocks, counts)
        width = self.library.static_facts(self.library.listed[self._plans[0].number].static)["numbers_per_frame"]
        block_bytes = NEAR_BLOCK * max(plan.stride for plan in self._plans) * width * 4 * len(self.forms)
        pool = max(1, int(self.library.cache.max_bytes / 2 / block_bytes))
        rank = random.permutation(int(blocks.sum()))[block] // pool
        return np.lexsort((random.random(len(self)), rank)).astype(np.uint32)

    # What is in them.

    def _window(self, plan: Plan, start: int, form: str) -> Floats:
        values = self._frames(plan.number, start, start + plan.span, form)
        if form == "quaternions":
            values = smooth_signs(values)
        if plan.step == 1.0:
            return values
        if plan.step.is_integer():
            return np.ascontiguousarray(values[:: int(plan.step)])
        layout = self.library.runs(plan.number).layout
        return resample(values, np.arange(self.length, dtype=np.float64) * plan.step, form, layout)

    def _frames(self, number: int, start: int, stop: int, form: str) -> Floats:
        """A writable copy of frames start..stop-1, run by run through the cache."""
        library = self.library
        firsts = library.runs(number).firsts
        run = bisect_right(firsts, start) - 1
        parts = []
        while run < len(firsts) and firsts[run] < stop:
            block, first = library.block(number, run, form), firsts[run]
            parts.append(block[max(start - first, 0) : stop - first])
            run += 1
        return parts[0].copy() if len(parts) == 1 else np.concatenate(parts)


def _name(clip: Any) -> Any:
    return getattr(clip, "number", clip)
