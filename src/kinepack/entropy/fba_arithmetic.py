"""The arithmetic coder of MPEG-4 face and body animation, as plain as it can be said: the kernels' oracle.

16-bit integers after Witten, Neal and Cleary (CACM 30:6, 1987), with a descending table of cumulative counts. A one
is stuffed after 22 zero bits. The coder starts afresh with every frame, its counts only with every I frame.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kinepack.errors import Truncated

TOP, QUARTER, HALF, THREE_QUARTERS = 65535, 16384, 32768, 49152
MOST_COUNTED = 16383
ZERO_RUN = 22
PRELOADED, GIVEN_BACK = 16, 14


@dataclass
class Counts:
    """How often each symbol was seen, plus one."""

    counts: list[int]

    @staticmethod
    def of_size(size: int) -> Counts:
        return Counts([1] * size)

    @property
    def total(self) -> int:
        return sum(self.counts)

    def interval(self, symbol: int) -> tuple[int, int]:
        """Cumulative counts descend: the first symbol owns the highest interval."""
        above = sum(self.counts[symbol + 1 :])
        return above, above + self.counts[symbol]

    def symbol_at(self, slot: int) -> int:
        """The symbol whose interval holds `slot`."""
        symbol = len(self.counts) - 1
        while slot >= self.counts[symbol]:
            slot -= self.counts[symbol]
            symbol -= 1
        return symbol

    def learn(self, symbol: int) -> None:
        if self.total >= MOST_COUNTED:
            self.counts = [(count + 1) // 2 for count in self.counts]
        self.counts[symbol] += 1


@dataclass
class Encoder:
    """Appends one frame's symbols to a list of bits."""

    bits: list[int]
    low: int = 0
    high: int = TOP
    opposite: int = 0
    zeros: int = 0

    def encode(self, model: Counts, symbol: int) -> None:
        start, end = model.interval(symbol)
        span, total = self.high - self.low + 1, model.total
        self.high = self.low + span * end // total - 1
        self.low += span * start // total
        while self._shift():
            self.low, self.high = 2 * self.low, 2 * self.high + 1

    def flush(self) -> None:
        """One bit that tells the quarter, and its opposite."""
        self.opposite += 1
        self._put_followed(int(self.low >= QUARTER))

    def _shift(self) -> bool:
        if self.high < HALF:
            self._put_followed(0)
            return True
        if self.low >= HALF:
            self._put_followed(1)
            self._lower(HALF)
            return True
        if self.low >= QUARTER and self.high < THREE_QUARTERS:
            self.opposite += 1
            self._lower(QUARTER)
            return True
        return False

    def _lower(self, amount: int) -> None:
        self.low -= amount
        self.high -= amount

    def _put_followed(self, bit: int) -> None:
        self._put(bit)
        for _ in range(self.opposite):
            self._put(1 - bit)
        self.opposite = 0

    def _put(self, bit: int) -> None:
        self.bits.append(bit)
        self.zeros = 0 if bit else self.zeros + 1
        if self.zeros == ZERO_RUN:
            self.bits.append(1)
            self.zeros = 0


@dataclass
class Decoder:
    """Takes one frame's symbols from a list of bits, from `position` on."""

    bits: list[int]
    position: int
    low: int = 0
    high: int = TOP
    value: int = 0
    zeros: int = 0
    after: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        for _ in range(PRELOADED):
            self.value = 2 * self.value + self._take()

    def decode(self, model: Counts) -> int:
        span, total = self.high - self.low + 1, model.total
        symbol = model.symbol_at(((self.value - self.low + 1) * total - 1) // span)
        start, end = model.interval(symbol)
        self.high = self.low + span * end // total - 1
        self.low += span * start // total
        while self.high < HALF or self.low >= HALF or (self.low >= QUARTER and self.high < THREE_QUARTERS):
            less = 0 if self.high < HALF else HALF if self.low >= HALF else QUARTER
            self.low, self.high = 2 * (self.low - less), 2 * (self.high - less) + 1
            self.value = 2 * (self.value - less) + self._take()
        return symbol

    def finish(self) -> int:
        """Where the frame ends: 14 of the bits read were read ahead."""
        end = self.after[-1 - GIVEN_BACK]
        if end > len(self.bits):
            raise Truncated("an FBA frame is cut short")
        return end

    def _take(self) -> int:
        bit = self.bits[self.position] if self.position < len(self.bits) else 0
        self.position += 1
        self.zeros = 0 if bit else self.zeros + 1
        if self.zeros == ZERO_RUN:
            self.position += 1
            self.zeros = 0
        self.after.append(self.position)
        return bit
