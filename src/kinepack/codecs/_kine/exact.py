"""Lossless mode of `kine`: every channel as the decimals it was printed in.

A number is predicted from its channel's past and from the surprises of earlier channels in the same frame.

    setup = 0, zlib of: modes, decimals, then for coded channels scales, taps and numbers of links; distances and
            weights of links; constants
"""

from __future__ import annotations

import zlib
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinepack._kernels._kine import TAPS, DecimalModel, Decimals, kine_exact_decode, kine_exact_encode
from kinepack.codecs.base import Segment, Stream, segment_ranges
from kinepack.errors import Corrupt
from kinepack.limits import Limits
from kinepack.model import Clip
from kinepack.transforms import decimals as decimal
from kinepack.transforms.triangular import Links, fit_links

Array = NDArray[np.float64]

MARK = 0
"""First byte of the setup; a lossy setup never starts with it."""
CONSTANT, DECIMAL, VARYING, RAW = range(4)
COPY, ODD = 4, 8
"""A channel equal to an earlier one; added to a mode: some numbers follow apart."""
ORDERS = (0, 1, 2, 4, 8)
TAP_BITS, TAP_UNIT, MOST_TAP = 7.0, 64, 127
LINK_SHIFT, MOST_LINKS, MOST_WEIGHT, MOST_SCALE = 6, 14, 2047, 40


def encode_exact(source: Clip, seconds: float) -> Stream:
    channels = [_analyse(source.values, number) for number in range(source.values.shape[1])]
    modes = np.array([mode for mode, _ in channels], np.uint8)
    split = [found for _, found in channels if found is not None]
    fitted = [_fit_taps(found) for found in split]
    taps = np.array([own for own, _ in fitted], np.int8).reshape(-1, TAPS)
    scales, links = _fit_links([surprise for _, surprise in fitted])
    places = np.zeros(len(modes), np.uint8)
    places[_coded(modes)] = [found.decimals for found in split]
    setup = _pack(modes, places, scales, taps, links, source.values)
    model = _model(modes, taps, scales, links)
    mantissas = np.array([found.mantissas for found in split], np.int64).reshape(-1, source.frames).T
    powers = np.array([found.powers for found in split], np.uint8).reshape(-1, source.frames).T
    on_grid = decimal.inverse(mantissas, powers, places[_coded(modes)].astype(np.int32))
    has_odd = modes[_coded(modes)] >= ODD
    numbers = source.values[:, modes >= ODD]
    odd = numbers.view(np.int64) != np.ascontiguousarray(on_grid[:, has_odd]).view(np.int64)
    segments = []
    for start, stop in segment_ranges(source, seconds):
        coded = kine_exact_encode(Decimals(mantissas[start:stop], powers[start:stop]), model)
        segments.append(
            Segment(
                start,
                stop - start,
                _with_extras(coded, source.values[start:stop, modes == RAW], odd[start:stop], numbers[start:stop]),
            )
        )
    return Stream(source.skeleton, source.frames, source.frame_time, setup, segments, source.name)


def _with_extras(coded: bytes, raw: Array, odd: NDArray[np.bool_], numbers: Array) -> bytes:
    """A segment. Channels that are no decimals follow as float64, then which numbers are odd, then those, deflated."""
    if not raw.shape[1] and not odd.shape[1]:
        return coded
    plain = raw.T.astype("<f8").tobytes() + np.packbits(odd.T).tobytes() + numbers.T[odd.T].astype("<f8").tobytes()
    return len(coded).to_bytes(4, "little") + coded + zlib.compress(plain, 9)


def _coded(modes: NDArray[np.uint8]) -> NDArray[np.bool_]:
    return np.isin(modes % ODD, (DECIMAL, VARYING))


def _pack(
    modes: NDArray[np.uint8],
    places: NDArray[np.uint8],
    scales: NDArray[np.int8],
    taps: NDArray[np.int8],
    links: Links,
    values: Array,
) -> bytes:
    flat = [(c - j, w) for c, own in enumerate(links) for j, w in own]
    counts = np.array([len(own) for own in links], np.uint8)
    pairs = np.array(flat, "<i2").reshape(-1, 2).T
    copies = np.array([_twin(values, int(c)) for c in np.flatnonzero(modes == COPY)], "<u4")
    constants = values[0, modes == CONSTANT].astype("<f8")
    parts = [modes, places, scales, taps.T, counts, pairs, copies, constants]
    return bytes([MARK]) + zlib.compress(b"".join(part.tobytes() for part in parts), 9)


class ExactSynthesis:
    """A lossless stream's setup, turned into arrays once."""

    def __init__(self, data: bytes, width: int) -> None:
        self._plain = _inflate(data[1:], width * (3 + TAPS + 8 + 4 * 16))
        self.modes, places = self._take(np.uint8, width), self._take(np.uint8, width)
        self.coded = _coded(self.modes)
        count = int(self.coded.sum())
        scales, taps = self._take(np.int8, count), self._take(np.int8, TAPS * count).reshape(TAPS, count).T
        counts = self._take(np.uint8, count)
        pairs = self._take("<i2", 2 * int(counts.sum())).reshape(2, -1).T
        self.copies = self._take("<u4", int((self.modes == COPY).sum())).astype(np.intp)
        self.constants = self._take("<f8", int((self.modes == CONSTANT).sum()))
        sound = (
            not self._plain
            and bool(np.isin(self.modes, (CONSTANT, DECIMAL, VARYING, RAW, COPY, DECIMAL + ODD, VARYING + ODD)).all())
            and bool((self.copies < np.flatnonzero(self.modes == COPY)).all())
            and not (self.modes[self.copies] == COPY).any()
            and places.max(initial=0) <= decimal.MOST_DECIMALS
            and counts.max(initial=0) <= 16
            and np.abs(scales.astype(int)).max(initial=0) <= MOST_SCALE
        )
        if not sound:
            raise Corrupt("the codec's setup holds a number out of its range")
        self.places = places[self.coded].astype(np.int32)
        self.model = _model(self.modes, taps, scales, _unflatten(counts, pairs))

    def _take(self, dtype: Any, count: int) -> NDArray[Any]:
        size = count * np.dtype(dtype).itemsize
        if size > len(self._plain):
            raise Corrupt("the codec's setup is cut short")
        part, self._plain = self._plain[:size], self._plain[size:]
        return np.frombuffer(part, dtype)

    def decode(self, data: bytes, frames: int, limits: Limits) -> Array:
        """[frames, channels] of one segment."""
        values = np.empty((frames, len(self.modes)))
        is_raw, is_odd = self.modes == RAW, self.modes >= ODD
        data, raw, odd, numbers = self._extras(data, frames, limits)
        found = kine_exact_decode(data, frames, self.model)
        values[:, self.coded] = decimal.inverse(found.mantissas, found.powers, self.places)
        values[:, is_raw] = raw.T
        part = values[:, is_odd].T
        part[odd] = numbers
        values[:, is_odd] = part.T
        values[:, self.modes == CONSTANT] = self.constants
        values[:, self.modes == COPY] = values[:, self.copies]
        return values

    def _extras(self, data: bytes, frames: int, limits: Limits) -> tuple[bytes, Array, NDArray[np.bool_], Array]:
        """The coded part of a segment, its raw channels, and which numbers of the odd channels are what."""
        raw_count, odd_count = int((self.modes == RAW).sum()), int((self.modes >= ODD).sum())
        if not raw_count and not odd_count:
            return data, np.empty((0, frames)), np.zeros((0, frames), bool), np.empty(0)
        size, raw_size, map_size = (
            int.from_bytes(data[:4], "little"),
            8 * frames * raw_count,
            -(-frames * odd_count // 8),
        )
        plain = _inflate(data[4 + size :], limits.charge("bytes", raw_size + map_size + 8 * frames * odd_count))
        if len(plain) < raw_size + map_size or size > len(data):
            raise Corrupt("a segment's plain numbers are cut short")
        bits = np.unpackbits(np.frombuffer(plain, np.uint8, map_size, raw_size), count=frames * odd_count)
        odd = bits.reshape(odd_count, frames).astype(bool)
        if len(plain) != raw_size + map_size + 8 * int(odd.sum()):
            raise Corrupt("a segment's odd numbers are cut short")
        raw = np.frombuffer(plain, "<f8", frames * raw_count).reshape(raw_count, frames)
        return data[4 : 4 + size], raw, odd, np.frombuffer(plain, "<f8", -1, raw_size + map_size)


@lru_cache(maxsize=64)
def exact_synthesis_of(setup: bytes, width: int) -> ExactSynthesis:
    return ExactSynthesis(setup, width)


def _unflatten(counts: NDArray[Any], pairs: NDArray[Any]) -> Links:
    links: Links = []
    rows = iter(pairs.tolist())
    for channel, count in enumerate(counts.tolist()):
        own = [(channel - back, weight) for back, weight in (next(rows) for _ in range(count))]
        if any(not 0 <= j < channel or abs(w) > MOST_WEIGHT for j, w in own):
            raise Corrupt("a channel is predicted from one that does not exist")
        links.append(own)
    return links


def _model(modes: NDArray[np.uint8], taps: NDArray[Any], scales: NDArray[Any], links: Links) -> DecimalModel:
    """Link weights count in 2^scale of both channels' finest grids, so that a shift puts them right."""
    varies = modes[_coded(modes)] % ODD == VARYING
    exponents = scales.astype(int).tolist()
    flat = [
        (j, w, min(max(LINK_SHIFT + exponents[j] - exponents[c], -4), 60))
        for c, own in enumerate(links)
        for j, w in own
    ]
    return DecimalModel(
        np.ascontiguousarray(taps.astype(np.int32) * TAP_UNIT),
        np.ascontiguousarray(varies, np.uint8),
        np.concatenate([[0], np.cumsum([len(own) for own in links])]).astype(np.uint32),
        np.array(flat, np.int32).reshape(-1, 3),
    )


def _twin(values: Array, channel: int) -> int:
    """The first channel with the same bits, which may be this one."""
    bits = np.ascontiguousarray(values[:, : channel + 1].T).view(np.int64)
    return int(np.flatnonzero((bits == bits[channel]).all(axis=1))[0])


def _analyse(values: Array, channel: int) -> tuple[int, decimal.DecimalChannel | None]:
    column = np.ascontiguousarray(values[:, channel])
    if (column.view(np.int64) == column.view(np.int64)[0]).all():
        return CONSTANT, None
    if _twin(values, channel) < channel:
        return COPY, None
    found = decimal.forward(column)
    if found is None:
        return RAW, None
    restored = decimal.inverse(found.mantissas[:, None], found.powers[:, None], np.array([found.decimals], np.int32))
    odd = restored.ravel().view(np.int64) != column.view(np.int64)
    return (VARYING if found.powers.any() else DECIMAL) + ODD * bool(odd.any()), found


def _fit_taps(channel: decimal.DecimalChannel) -> tuple[NDArray[np.int64], Array]:
    """[TAPS] in units of TAP_UNIT / 4096, of the order that costs least; and [frames] what they leave."""
    values = channel.mantissas * 10.0**channel.powers
    grid = np.median(10.0**channel.powers)
    moves = np.diff(values, prepend=values[0])
    past = np.zeros((len(moves), TAPS))
    for i in range(min(TAPS, len(moves) - 1)):
        past[i + 1 :, i] = moves[: len(moves) - i - 1]
    best, chosen, left = np.inf, np.zeros(TAPS, np.int64), moves
    for order in ORDERS:
        taps = np.zeros(TAPS, np.int64)
        if order:
            taps[:order] = _least_squares(past[:, :order], moves)
        residual = moves - past @ (taps * TAP_UNIT / 4096)
        cost = float(np.log2(1 + np.abs(residual) / grid).sum()) + TAP_BITS * order
        if cost < best:
            best, chosen, left = cost, taps, residual
    return chosen, left


def _least_squares(past: Array, moves: Array) -> NDArray[np.int64]:
    """Robust: large residuals count less."""
    weights: Array = np.zeros(past.shape[1])
    scale = float(np.abs(moves).mean()) + 1e-9
    for _ in range(3):
        importance = 1 / (np.abs(moves - past @ weights) + 0.1 * scale)
        normal = (past * importance[:, None]).T @ past
        normal += 1e-6 * (np.trace(normal) + 1e-12) * np.eye(len(normal)) / len(normal)
        weights = np.asarray(np.linalg.solve(normal, (past * importance[:, None]).T @ moves))
    return np.clip(np.round(weights * 4096 / TAP_UNIT), -MOST_TAP, MOST_TAP).astype(np.int64)


def _fit_links(surprises: list[Array]) -> tuple[NDArray[np.int8], Links]:
    """Scales (log2 of each channel's typical surprise) and links between surprises."""
    if not surprises:
        return np.zeros(0, np.int8), []
    rows = np.stack(surprises, axis=1)[1:]
    typical = np.median(np.abs(rows), axis=0) if len(rows) else np.ones(rows.shape[1])
    scales = np.clip(np.round(np.log2(np.maximum(typical, 1))), 0, MOST_SCALE)
    links = fit_links(rows / 2.0 ** (scales - 1), LINK_SHIFT, most=MOST_LINKS)
    limited = [[(j, min(max(w, -MOST_WEIGHT), MOST_WEIGHT)) for j, w in own] for own in links]
    return scales.astype(np.int8), limited


def _inflate(packed: bytes, limit: int) -> bytes:
    """zlib with an upper bound on what comes out."""
    engine = zlib.decompressobj()
    try:
        plain = engine.decompress(packed, limit + 1)
    except zlib.error:
        raise Corrupt("the stream's deflated numbers are damaged") from None
    if len(plain) > limit or not engine.eof or engine.unused_data:
        raise Corrupt("the stream's deflated numbers are not of their size")
    return plain
