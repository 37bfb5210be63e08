"""The number fields of a skeleton's joints as integers for the range coder, and back.

A number is a decimal, mantissa x 10^-(decimals of the field + further decimals of its own), as the files that skeletons
come from have it. A mantissa is coded less what is expected: that of the joint on the other side of the body, or, for
the longest part of a unit vector, what the other two leave.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import IntEnum
from typing import NamedTuple

from kinepack.errors import Corrupt

WIDTHS = {"axis_deg": 3, "direction": 3, "length": 1, "offset": 3, "rest": 4, "rest_scale": 3, "end_sites": 3}
"""Number fields in the order in which they are coded, and the numbers in a row of each."""
FORM_CONTEXTS = 6
MANTISSA_CONTEXTS = 5
"""Of each field."""
NO_AXIS = 3
"""A unit vector's longest axis where the vector is zero."""
NEGATIVE_ZERO = -1
"""In place of further decimals: the number is -0.0 and has no mantissa."""
LARGEST = 2**31 - 1
MOST_DECIMALS = 400
_F32, _F64, _I32 = struct.Struct("<f"), struct.Struct("<d"), struct.Struct("<i")

Row = tuple[float, ...]


class Form(IntEnum):
    """How a field is coded."""

    DECIMAL = 0
    UNIT = 1
    """Decimals of vectors of length one."""
    TIPS = 2
    """Nothing is: the parent's direction times the parent's length (offsets of ASF bones)."""
    FLOAT32 = 3
    """IEEE bits."""
    FLOAT64 = 4


class Coding(NamedTuple):
    """What the words tell of a field."""

    form: int
    decimals: int = 0
    flips: int = 0
    """Bit n: the n-th number changes its sign from one side of the body to the other."""


class Place(NamedTuple):
    """Where a mantissa stands."""

    row: int
    column: int
    further: int
    """Decimals beyond the field's own."""
    longest: bool = False
    """Of a unit vector: expected from the other two."""


@dataclass(eq=False)
class Field:
    """A field while it is coded: rows are filled from the first to the last."""

    name: str
    coding: Coding
    partners: Sequence[int]
    """[rows] the row of the joint on the other side, -1 where there is none."""

    def __post_init__(self) -> None:
        halves = 2 if self.coding.form == Form.FLOAT64 else 1
        self.width = halves * WIDTHS[self.name]
        self._mantissas = [[0] * self.width for _ in self.partners]
        self._further = [[0] * self.width for _ in self.partners]
        self._last: dict[tuple[int, int], int] = {}
        if not (0 <= self.coding.decimals <= MOST_DECIMALS and self.coding.form in tuple(Form)):
            raise Corrupt(f"the skeleton's {self.name} is coded in no known way")

    def form_contexts(self) -> list[int]:
        """Contexts of the integers that tell each row's form."""
        first = FORM_CONTEXTS * list(WIDTHS).index(self.name)
        if self.coding.form == Form.DECIMAL:
            return [first + column for _ in self.partners for column in range(self.width)]
        if self.coding.form == Form.UNIT:
            return [first + n for partner in self.partners for n in (0, 1 + (partner >= 0), 3, 4)]
        return []

    def places(self, forms: Sequence[int]) -> list[Place]:
        """The mantissas that are coded, in order."""
        if self.coding.form == Form.UNIT:
            quads = zip(*[iter(forms)] * 4, strict=True)
            return [place for row, quad in enumerate(quads) for place in _unit_places(row, quad)]
        if self.coding.form == Form.TIPS:
            return []
        count = self.width * len(self.partners)
        further = forms if self.coding.form == Form.DECIMAL else [0] * count
        return [Place(*divmod(n, self.width), further[n]) for n in range(count) if further[n] != NEGATIVE_ZERO]

    def context(self, place: Place) -> int:
        """Of a mantissa."""
        first = MANTISSA_CONTEXTS * list(WIDTHS).index(self.name)
        if place.longest:
            return first
        return first + 1 + (self.partners[place.row] >= 0) + 2 * (place.further > 0)

    def expected(self, place: Place) -> int:
        """The mantissa, as far as the ones before tell it."""
        row, column, further, longest = place
        if longest:
            rest = [self.number(Place(row, c, self._further[row][c])) for c in range(3) if c != column]
            left = math.sqrt(max(0.0, 1.0 - rest[0] * rest[0] - rest[1] * rest[1]))
            return math.floor(left * 10.0**self.coding.decimals + 0.5)
        if self.coding.form in (Form.FLOAT32, Form.FLOAT64):
            return 0
        partner = self.partners[row]
        if partner >= 0 and self._further[partner][column] == further:
            other = self._mantissas[partner][column]
            return -other if self.coding.flips >> column & 1 else other
        return self._last.get((column, further), 0) if further else 0

    def put(self, place: Place, mantissa: int) -> None:
        if not -LARGEST - 1 <= mantissa <= LARGEST or not 0 <= place.further <= MOST_DECIMALS:
            raise Corrupt(f"a number of the skeleton's {self.name} is too large")
        self._mantissas[place.row][place.column] = mantissa
        self._further[place.row][place.column] = place.further
        self._last[place.column, place.further] = mantissa

    def number(self, place: Place) -> float:
        return float(f"{self._mantissas[place.row][place.column]}e-{self.coding.decimals + place.further}")

    def numbers(self, forms: Sequence[int]) -> list[Row]:
        """[rows] when all is put."""
        if self.coding.form == Form.FLOAT32:
            return [tuple(_F32.unpack(_I32.pack(m))[0] for m in row) for row in self._mantissas]
        if self.coding.form == Form.FLOAT64:
            return [struct.unpack(f"<{len(row) // 2}d", struct.pack(f"<{len(row)}i", *row)) for row in self._mantissas]
        rows = [[self.number(Place(r, c, f[c])) for c in range(self.width)] for r, f in enumerate(self._further)]
        for row, column in self._negative_zeros(forms):
            rows[row][column] = -0.0
        return [tuple(row) for row in rows]

    def _negative_zeros(self, forms: Sequence[int]) -> Iterator[tuple[int, int]]:
        for n, further in enumerate(forms):
            if further == NEGATIVE_ZERO and self.coding.form == Form.DECIMAL:
                yield divmod(n, self.width)
            elif further == NEGATIVE_ZERO and n % 4 >= 2 and (axis := forms[n - n % 4]) < NO_AXIS:
                yield n // 4, [column for column in range(3) if column != axis][n % 4 - 2]


def _unit_places(row: int, forms: Sequence[int]) -> Iterator[Place]:
    axis, _, *further = forms
    if not 0 <= axis <= NO_AXIS:
        raise Corrupt("a direction of the skeleton has no axis")
    if axis < NO_AXIS:
        others = [column for column in range(3) if column != axis]
        yield from (Place(row, *pair) for pair in zip(others, further, strict=True) if pair[1] != NEGATIVE_ZERO)
        yield Place(row, axis, 0, longest=True)


def decode_field(field: Field, forms: Sequence[int], residuals: Iterator[int]) -> list[Row]:
    """The rows of a field from its integers."""
    for place in field.places(forms):
        mantissa = field.expected(place) + next(residuals)
        negative = place.longest and forms[4 * place.row + 1]
        field.put(place, -mantissa if negative else mantissa)
    return field.numbers(forms)


def encode_field(field: Field, rows: Sequence[Row]) -> tuple[list[int], list[int], list[int]]:
    """Forms, residuals and the contexts of the residuals."""
    forms, known = _integers(field.coding, rows)
    residuals, contexts = [], []
    for place in field.places(forms):
        mantissa = known[place.row][place.column]
        residuals.append((abs(mantissa) if place.longest else mantissa) - field.expected(place))
        contexts.append(field.context(place))
        field.put(place, mantissa)
    return forms, residuals, contexts


def _integers(coding: Coding, rows: Sequence[Row]) -> tuple[list[int], list[list[int]]]:
    """Forms, and the mantissas of each row."""
    if coding.form == Form.TIPS:
        return [], []
    if coding.form == Form.FLOAT32:
        return [], [[_I32.unpack(_F32.pack(v))[0] for v in row] for row in rows]
    if coding.form == Form.FLOAT64:
        return [], [list(struct.unpack(f"<{2 * len(row)}i", struct.pack(f"<{len(row)}d", *row))) for row in rows]
    pairs = [[_decimal(v, coding.decimals) for v in row] for row in rows]
    mantissas = [[m for m, _ in row] for row in pairs]
    if coding.form == Form.DECIMAL:
        return [further for row in pairs for _, further in row], mantissas
    return [n for row, values in zip(pairs, rows, strict=True) for n in _unit_forms(row, values)], mantissas


def _unit_forms(pairs: Sequence[tuple[int, int]], values: Row) -> list[int]:
    axis = max(range(3), key=lambda column: abs(values[column])) if any(values) else NO_AXIS
    further = [f for column, (_, f) in enumerate(pairs) if column != axis][:2]
    return [axis, int(axis < NO_AXIS and values[axis] < 0), *further]


def _decimal(value: float, decimals: int) -> tuple[int, int]:
    """Mantissa and further decimals of the shortest decimal that reads as this float."""
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    if not value:
        return 0, NEGATIVE_ZERO if sign else 0
    further = max(0, -exponent - decimals)
    mantissa = int("".join(map(str, digits))) * 10 ** (decimals + further + exponent)
    return (-mantissa if sign else mantissa), further


def coding_of(rows: Sequence[Row], partners: Sequence[int], tips: Sequence[Row] | None) -> Coding:
    """A good way to code a field."""
    if tips is not None and list(rows) == list(tips):
        return Coding(Form.TIPS)
    decimals = _usual_decimals(rows)
    mantissas = [[_decimal(v, decimals)[0] for v in row] for row in rows]
    if any(abs(m) > LARGEST // 2 for row in mantissas for m in row):
        exact = all(_is_float32(v) for row in rows for v in row)
        return Coding(Form.FLOAT32 if exact else Form.FLOAT64)
    unit = len(rows[0]) == 3 and any(map(any, rows)) and all(_is_unit(row, decimals) for row in rows)
    flips = sum(_flips(mantissas, partners, column) << column for column in range(len(rows[0])))
    return Coding(Form.UNIT if unit else Form.DECIMAL, decimals, flips)


def _usual_decimals(rows: Sequence[Row]) -> int:
    """The decimals with which the field costs least."""
    values = [v for row in rows for v in row if v]
    return min(range(10), key=lambda decimals: sum(_cost(*_decimal(v, decimals)) for v in values))


def _cost(mantissa: int, further: int) -> int:
    """Bits, roughly."""
    return mantissa.bit_length() + 8 * (further > 0)


def _flips(mantissas: Sequence[Sequence[int]], partners: Sequence[int], column: int) -> bool:
    pairs = [(mantissas[row][column], mantissas[other][column]) for row, other in enumerate(partners) if other >= 0]
    return sum(abs(a + b) for a, b in pairs) < sum(abs(a - b) for a, b in pairs)


def _is_float32(value: float) -> bool:
    try:
        return bool(_F32.unpack(_F32.pack(value))[0] == value)
    except OverflowError:
        return False


def _is_unit(row: Row, decimals: int) -> bool:
    longest = max(row, key=abs)
    return not any(row) or (abs(math.hypot(*row) - 1) < 1e-4 and _decimal(longest, decimals)[1] == 0)
