"""The decoder of `kine-mesh` in plain Python: docs/codecs/kine-mesh.md as a program, and the oracle of its kernels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels._binding import Buffer
from kinepack._kernels._mesh import Affinity, Array, Hierarchy
from kinepack._kernels.reference_coders import Decoder, Encoder, probability, squash, stretch, updated
from kinepack.errors import Corrupt

Levels = NDArray[np.int32]
RING_MAX, SECOND_MAX, SCAN_MAX = 12, 6, 24
INPUTS, UNARY, BINS, CONTEXTS = 6, 14, 20, 256
RATES = (7, 7, 7, 6, 7, 8)
MIX_RATE, WEIGHT_LIMIT, SIGN_RATE = 18, 1 << 20, 7


# ---- hierarchy


def mesh_hierarchy(edges: NDArray[np.uint32], vertices: int) -> Hierarchy:
    """Levels of independent vertices taken out, least degree first; decoding goes the other way."""
    around: list[list[int]] = [[] for _ in range(vertices)]
    for a, b in edges.tolist():
        around[a].insert(0, b)
        around[b].insert(0, a)
    removed: list[tuple[int, list[int], int, int]] = []
    alive, level = list(range(vertices)), 0
    while alive:
        level += 1
        blocked, gone = set[int](), set[int]()
        least = min(len(around[v]) for v in alive)
        for degree in range(least, least + 8):
            for v in alive:
                if v not in blocked and v not in gone and len(around[v]) == degree:
                    blocked.update(around[v])
                    gone.add(v)
                    removed.append((v, *_take_out(around, v), min(level, 255)))
        alive = [v for v in alive if v not in gone]
    return _reversed(removed)


def _take_out(around: list[list[int]], v: int) -> tuple[list[int], int]:
    """References of v, and how many of them are its ring; v is collapsed onto one of them."""
    ring = around[v][:RING_MAX]
    second = _second_ring(around, v, ring) if len(ring) >= 2 else []
    if ring:
        shared = [sum(other in around[one] for other in ring if other != one) for one in ring]
        best = min(range(len(ring)), key=lambda i: (-shared[i], len(around[ring[i]]), i))
        _collapse(around, v, ring[best])
    return ring + second, len(ring)


def _collapse(around: list[list[int]], v: int, onto: int) -> None:
    for w in list(around[v]):
        around[v].remove(w)
        around[w].remove(v)
        if w != onto and w not in around[onto]:
            around[onto].insert(0, w)
            around[w].insert(0, onto)


def _second_ring(around: list[list[int]], v: int, ring: list[int]) -> list[int]:
    times: dict[int, int] = {}
    for one in ring:
        for w in around[one][:SCAN_MAX]:
            if w != v and w not in ring:
                times[w] = times.get(w, 0) + 1
    known = sorted((w for w in times if times[w] >= 2), key=lambda w: -times[w])
    return known[:SECOND_MAX]


def _reversed(removed: list[tuple[int, list[int], int, int]]) -> Hierarchy:
    order = removed[::-1]
    position = {v: i for i, (v, *_) in enumerate(order)}
    starts, refs, rings = [0], list[int](), list[int]()
    for i, (_, own, ring, _) in enumerate(order):
        lonely = i > 0 and not own
        refs += [i & (i - 1)] if lonely else [position[w] for w in own]
        rings.append(1 if lonely else ring)
        starts.append(len(refs))
    vertices, heights = [v for v, *_ in order], [level for *_, level in order]
    return Hierarchy(
        np.array(vertices, np.uint32),
        np.array(starts, np.uint32),
        np.array(refs, np.uint32),
        np.array(rings, np.uint8),
        np.array(heights, np.uint8),
    )


# ---- prediction


def mesh_predictors(tree: Hierarchy, features: Array, how: Affinity) -> Array:
    """The affine combination of a vertex's references that best reproduces its features, near the plain one."""
    out = np.empty(max(len(tree.refs), 1))
    for v in range(tree.vertices):
        part = slice(int(tree.starts[v]), int(tree.starts[v + 1]))
        refs, ring = tree.refs[part], int(tree.rings[v])
        if not len(refs):
            continue
        second = len(refs) - ring
        beta = how.bulge if second else 0.0
        weights = np.array([(1 + beta) / ring] * ring + [-beta / max(second, 1)] * second)
        if len(features) and len(refs) > 1:
            trust = np.array([1.0] * ring + [how.far] * second)
            known = features[:, refs]
            miss = features[:, v] - known @ weights
            spread = (known - (known @ trust**2)[:, None] / (trust**2).sum()) * trust
            gram = spread @ spread.T + how.damping * np.eye(len(features))
            weights += (np.linalg.solve(gram, miss) @ spread) * trust
        out[part] = weights
    return out


def mesh_synthesise(tree: Hierarchy, predictors: Array, *, steps: Array, levels: Levels) -> Array:
    values = np.empty(tree.vertices)
    for v in range(tree.vertices):
        part = slice(int(tree.starts[v]), int(tree.starts[v + 1]))
        predicted = 0.0
        for weight, ref in zip(predictors[part], tree.refs[part], strict=True):
            predicted += weight * values[ref]
        values[v] = predicted + steps[tree.levels[v]] * levels[v]
    return values


def mesh_sum(tree: Hierarchy, differences: Levels, most: int) -> Levels:
    values = differences.astype(np.int64)
    for row in values:
        for v in range(tree.vertices):
            ring = int(tree.rings[v])
            start = int(tree.starts[v])
            total = int(row[tree.refs[start : start + ring]].sum())
            row[v] += (2 * total + max(ring, 1)) // (2 * max(ring, 1))
            if not 0 <= row[v] <= most:
                raise Corrupt("a share is out of range")
    return values.astype(np.int32)


# ---- entropy


def mesh_encode(tree: Hierarchy, levels: Levels) -> bytes:
    encoder = Encoder()
    _Walk(tree, encoder, np.array(levels, np.int64)).run()
    return encoder.finish()


def mesh_decode(tree: Hierarchy, data: Buffer, components: int) -> Levels:
    decoder = Decoder(data)
    walk = _Walk(tree, decoder, np.zeros((components, tree.vertices), np.int64))
    walk.run()
    decoder.finish()
    return walk.q.astype(np.int32)


class _Walk:
    """All levels in order: an encoder codes those of `q`, a decoder writes them there."""

    def __init__(self, tree: Hierarchy, coder: Encoder | Decoder, q: NDArray[np.int64]) -> None:
        self.tree, self.coder, self.q = tree, coder, q
        self.decoding = isinstance(coder, Decoder)
        self.states = dict[tuple[int, int, int], int]()
        self.weights = dict[tuple[int, int], list[int]]()
        self.signs = [1 << 31] * 9

    def run(self) -> None:
        past = [0] * self.tree.vertices
        for j in range(len(self.q)):
            running = 256
            for v in range(self.tree.vertices):
                value = self._value(*self._look(j, v, past, running), int(self.q[j, v]))
                self.q[j, v] = value
                size = min(abs(value), 255)
                past[v] += _toward_zero(16 * size - past[v], 4)
                running += _toward_zero(256 * size - running, 32)

    def _look(self, j: int, v: int, past: list[int], running: int) -> tuple[list[int], int, int]:
        """Contexts of the six inputs, the mixer's set, the sign's context."""
        tree, q = self.tree, self.q
        refs = tree.refs[int(tree.starts[v]) : int(tree.starts[v + 1])].tolist()
        ring, count = int(tree.rings[v]), len(refs)
        values = [int(q[j, r]) for r in refs]
        sizes = [min(abs(value), 255) for value in values]
        near, far = sum(sizes[:ring]), sum(sizes[ring:])
        mean = 16 * near // ring if ring else 0
        spread = 16 * far // (count - ring) if count > ring else mean
        around = sum(past[r] for r in refs[:ring]) // ring if ring else 0
        before, earlier = (int(q[j - n, v]) if j >= n else 0 for n in (1, 2))
        own1, own2 = min(abs(before), 255), min(abs(earlier), 255)
        level = min(int(tree.levels[v]) - 1, 7)
        first = [min(size, 3) for size in [*sizes[:ring], 0, 0, 0][:3]]
        contexts = [
            _scale(mean, 31) * 8 + level,
            min(own1, 4) * 50 + min(own2, 4) * 10 + _scale(past[v] >> 1, 9),
            _scale((4 * mean + 2 * spread + 3 * past[v] + 3 * around) >> 3, 63) * 4 + min(level, 3),
            _scale(running >> 2, 31) * 8 + level,
            ((first[0] * 4 + first[1]) * 4 + first[2]) * 4 + min(own1, 3),
            min(j, 63) * 4 + min(level, 3),
        ]
        lean = sum(_sign(value) for value in values[:ring])
        busy = 0 if near + far == 0 else 1 if near + far < 4 else 2
        return contexts, level * 3 + busy, (_sign(lean) + 1) * 3 + _sign(before) + 1

    def _value(self, contexts: list[int], mixer: int, sign: int, value: int) -> int:
        def more(bin: int, bit: bool) -> int:
            return self._bin(contexts, mixer, bin, int(bit))

        magnitude, coded = abs(value), 0
        while coded <= UNARY and more(coded, magnitude > coded):
            coded += 1
        if coded == 0:
            return 0
        if coded > UNARY:
            coded = self._large(more, magnitude)
        negative = self.coder.code_bit(probability(self.signs[sign]), int(value < 0))
        self.signs[sign] = updated(self.signs[sign], SIGN_RATE, negative)
        return -coded if negative else coded

    def _large(self, more: Callable[[int, bool], int], magnitude: int) -> int:
        rest, e = magnitude - UNARY, 0
        own = 0 if self.decoding else rest.bit_length() - 1
        while more(UNARY + 1 + min(e, 4), e < own):
            e += 1
            if e > 23:
                raise Corrupt("a level is too large")
        return UNARY + (1 << e | self.coder.code_direct(e, rest & ((1 << e) - 1)))

    def _bin(self, contexts: list[int], mixer: int, bin: int, bit: int) -> int:
        keys = [(i, context, bin) for i, context in enumerate(contexts)]
        stretched = [stretch(probability(self.states.get(key, 1 << 31))) for key in keys]
        weights = self.weights.setdefault((bin, mixer), [65536 * 3 // 10] * INPUTS)
        p = squash(sum(w * s for w, s in zip(weights, stretched, strict=True)) >> 16)
        bit = self.coder.code_bit(p, bit)
        error = (bit << 16) - p
        for i, key in enumerate(keys):
            moved = weights[i] + (stretched[i] * error >> MIX_RATE)
            weights[i] = max(-WEIGHT_LIMIT, min(WEIGHT_LIMIT, moved))
            self.states[key] = updated(self.states.get(key, 1 << 31), RATES[i], bit)
        return bit


def _scale(x: int, most: int) -> int:
    """Four steps an octave from four on."""
    e = x.bit_length() - 1
    return min(x if x < 4 else 4 * (e - 1) + ((x >> (e - 2)) & 3), most)


def _sign(x: int) -> int:
    return (x > 0) - (x < 0)


def _toward_zero(a: int, b: int) -> int:
    return a // b if a >= 0 else -(-a // b)
