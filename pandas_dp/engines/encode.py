"""Columns as pandas stores them, seen in one of three ways: numbers, Arrow values, codes of distinct values.

Each way tells which rows hold a value, where a row's value stands among public keys, and which unit a row
belongs to. All of it depends on the values of cells alone, never on their order, on category lists, on chunks
or on the backend, and nothing here quotes a cell.
"""

from __future__ import annotations

import datetime as dt
import numbers
from collections.abc import Hashable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pandas_dp.core.interrupts import stop
from pandas_dp.core.lattice import Raw, present_mask
from pandas_dp.core.partition import Keys, match
from pandas_dp.engines.arrow import decoded, is_text, places_in
from pandas_dp.engines.cells import Foreign, canonical, comparable, forms, plain_text, shallow
from pandas_dp.engines.numeric import as_dtype, dense, hashable_floats
from pandas_dp.errors import ArgumentTypeError
from pandas_dp.facts.kinds import Kind, exact_number, kind_of, kind_or_none

Listed = tuple[Hashable, ...]
Mask = NDArray[np.bool_]
Positions = NDArray[np.signedinteger[Any]]

NO_KEY, MISSING = -1, -2  # positions of a value that is not listed, and of none
UNKEYABLE = -2  # code of an object cell that cannot be compared with keys; -1 is a missing one
SECONDS_A_DAY = 86_400
DATES, DURATIONS = (dt.date, np.datetime64), (dt.timedelta, np.timedelta64)
NUMBERS = (int, float, numbers.Real, Decimal, np.bool_)
NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def stored(column: pd.Series[Any]) -> Stored:
    """How pandas stores a column.

    Raises
    ------
    ArgumentTypeError
        For dtypes that cannot be answered.
    """
    dtype, array = column.dtype, column.array
    kind = kind_of(dtype)
    if isinstance(dtype, pd.CategoricalDtype):
        codes, listed = forms(array)
        return Coded(codes, listed, forms=True)
    if isinstance(array, pd.arrays.ArrowExtensionArray):  # a dtype of text may name Arrow where Python objects are held
        return _from_arrow(array.__arrow_array__(), kind)
    if kind.name == "key":
        return Coded.of_objects(np.asarray(array, dtype=object))
    if kind.name in ("datetime", "timedelta"):
        present = array.asi8 != np.iinfo(np.int64).min
        return Numbers(array.asi8, None if present.all() else present, kind, array.unit)
    if hasattr(array, "_mask"):  # the nullable dtypes keep values and mask side by side
        return Numbers.of(array._data, ~array._mask if array._mask.any() else None, kind)
    return Numbers.of(column.to_numpy(), None, kind)


def _from_arrow(column: pa.ChunkedArray, kind: Kind) -> Stored:
    dtype = column.type
    if pa.types.is_dictionary(dtype) and not is_text(dtype.value_type):
        # each chunk may have a dictionary of its own, with values twice or null
        plain = pd.Series(pd.arrays.ArrowExtensionArray(column.cast(dtype.value_type)))
        # others, such as bytes, are plain objects
        return stored(plain) if kind_or_none(plain.dtype) else Coded.of_objects(np.asarray(plain, dtype=object))
    if pa.types.is_decimal(dtype):
        # narrower decimals have no kernels, and may hold more digits than they say
        return ArrowValues(column.cast(pa.decimal128(38, dtype.scale) if dtype.bit_width < 128 else dtype), kind)
    if kind.name == "key":
        # views of text have no kernels
        return ArrowValues(column.cast(pa.large_string()) if pa.types.is_string_view(dtype) else column, kind)
    mask = _valid(column)
    if pa.types.is_boolean(dtype):
        return Numbers.of(pc.fill_null(column, False).to_numpy(), mask, kind)
    if pa.types.is_date32(dtype):
        return Numbers(_values_of(column, pa.int32()).astype(np.int64) * SECONDS_A_DAY, mask, kind, "s")
    if kind.name != "number":
        return Numbers(_values_of(column, pa.int64()), mask, kind, getattr(dtype, "unit", "ms"))  # date64 has none
    return Numbers(_values_of(column, dtype), mask, kind)


def _values_of(column: pa.ChunkedArray, dtype: pa.DataType) -> NDArray[Any]:
    """Look at values of fixed width, arbitrary where they are null; one chunk is not copied."""
    array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return pa.Array.from_buffers(dtype, len(array), [None, array.buffers()[1]], 0, array.offset).to_numpy()  # type: ignore[no-any-return]


def _valid(column: pa.ChunkedArray) -> Mask | None:
    return pc.is_valid(column).to_numpy() if column.null_count else None


@dataclass(frozen=True)
class Numbers:
    """Raw numbers: `mask` is False where a value is missing (NaN is missing too), None when no row is masked.

    Dates and durations are int64 ticks of `unit`; bool is uint8.
    """

    values: NDArray[Any]
    mask: Mask | None
    kind: Kind
    unit: str | None = None

    @classmethod
    def of(cls, values: NDArray[Any], mask: Mask | None, kind: Kind) -> Numbers:
        """Return plain numbers, in the byte order of the machine."""
        values = values.view(np.uint8) if values.dtype.kind == "b" else values
        return cls(values.astype(values.dtype.newbyteorder("="), copy=False), mask, kind)

    def numbers(self) -> Numbers:
        """Return itself."""
        return self

    def raw(self) -> Raw:
        """Values, and which are present; dates and durations in nanoseconds, held at the ends of int64."""
        factor = NANOSECONDS.get(self.unit or "ns", 1)
        if factor == 1:
            return self.values, self.mask
        info = np.iinfo(np.int64)
        limit = info.max // factor
        nanoseconds = self.values * np.int64(factor)  # wraps around for extreme dates, mended below
        if self.values.size and (self.values.max() > limit or self.values.min() < -limit):
            nanoseconds[self.values > limit] = info.max
            nanoseconds[self.values < -limit] = info.min
        return nanoseconds, self.mask

    def filled(self, constant: float) -> Numbers:
        """The same column with a public constant, in raw units, for every missing value.

        The dtype follows from the old one and the constant alone: were it to follow from the rows, one
        missing value would decide how all others are rounded.
        """
        values, mask = self.raw()
        dtype = values.dtype if as_dtype(values.dtype, constant) == constant else np.dtype(np.float64)
        values = values.astype(dtype, copy=False)
        mask = present_mask(values, mask)
        if mask is not None:
            values = np.where(mask, values, dtype.type(constant))
        return Numbers(values, None, self.kind, None if self.unit is None else "ns")

    def present(self) -> Mask | None:
        """Which rows hold a value; None when all do."""
        return present_mask(self.values, self.mask)

    def coded(self, by: Keys) -> tuple[Positions, Positions]:
        """A code of each row, -2 or more, and the position among the keys, NO_KEY or MISSING, of each code from -2 on.

        Here codes are positions.
        """
        values = hashable_floats(self.values)
        found, places = by.once(_rising, self.values.dtype, self.kind, self.unit)
        position = match(values, found.to_numpy(), places)
        if position is None:
            position = places.take(found.get_indexer(values), mode="wrap")
        present = self.present()
        if present is not None:
            np.copyto(position, MISSING, where=~present)
        return position.astype(_position_dtype(by.keys), copy=False), np.arange(MISSING, len(by.keys))

    def units(self) -> tuple[NDArray[np.int64], int]:
        """Dense codes 0..count-1 of the values, -1 where missing or unkeyable, and count."""
        return dense(hashable_floats(self.values), self.present())

    def _number(self, key: Hashable) -> Any:
        """The number of the column's dtype that equals a key, None when there is none."""
        try:
            if self.kind.name == "datetime":
                return self._tick(pd.Timestamp(key)) if isinstance(key, DATES) else None
            if self.kind.name == "timedelta":
                return self._tick(pd.Timedelta(key)) if isinstance(key, DURATIONS) else None
            return as_dtype(self.values.dtype, key) if isinstance(key, NUMBERS) else None
        except (ValueError, OverflowError):
            return None

    def _tick(self, value: Any) -> int | None:
        if value is pd.NaT or (self.kind.name == "datetime" and (value.tz is None) != (self.kind.tz is None)):
            return None
        return int(value.as_unit(self.unit, round_ok=False).asm8.view("i8"))


@dataclass(frozen=True)
class ArrowValues:
    """Text, in dictionaries or not, or decimals in Arrow memory."""

    held: pa.ChunkedArray
    kind: Kind

    @cached_property
    def column(self) -> pa.ChunkedArray:
        """The values without dictionaries, text in a type that has room for all of it in one chunk."""
        values = decoded(self.held)
        return values.cast(pa.large_string()) if pa.types.is_string(values.type) else values

    def numbers(self) -> Numbers:
        """Return decimals as float64."""
        if self.kind.name == "key":
            raise ArgumentTypeError("a column of text holds no numbers")
        return Numbers(_values_of(self.column.cast(pa.float64()), pa.float64()), _valid(self.column), self.kind)

    def present(self) -> Mask | None:
        """Which rows hold a value; None when all do."""
        return _valid(self.column)

    def coded(self, by: Keys) -> tuple[Positions, Positions]:
        """Codes are places among the keys that the column can hold; see `Numbers`."""
        listed, places = by.once(_in_arrow, self.held.type, self.kind)
        return places_in(listed, self.held, _position_dtype(by.keys)), places

    def units(self) -> tuple[NDArray[np.int64], int]:
        """Dense codes; see `Numbers`."""
        if not len(self.column):  # pyarrow cannot combine no chunks of decimals
            return np.empty(0, dtype=np.int64), 0
        encoded = self.column.dictionary_encode().combine_chunks()
        codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return codes.astype(np.int64, copy=False), len(encoded.dictionary)

    def _scalar(self, key: Hashable) -> Any:
        """The key as a value of the column's type, None when the type has no such value."""
        try:
            if self.kind.name == "key":
                return key if isinstance(key, str) and key.encode() is not None else None
            exact = Fraction(int(key)) if isinstance(key, bool | np.bool_) else exact_number(key, "keys")
            scale = self.column.type.scale
            whole = exact * Fraction(10) ** scale
            if whole.denominator != 1:
                return None
            return pa.scalar(Decimal(f"{whole}E{-scale}"), self.column.type).as_py()
        except (ValueError, TypeError):  # a lone surrogate; no number, or too many digits
            return None


@dataclass(frozen=True)
class Coded:
    """Codes of distinct values: 0.. in `values`, -1 if missing, UNKEYABLE if a cell cannot be compared."""

    codes: NDArray[np.signedinteger[Any]]
    values: NDArray[np.object_]
    cells: NDArray[np.object_] | None = None  # what rows hold, where equality may not be transitive
    forms: bool = False  # whether values are those of categories

    @classmethod
    def of_objects(cls, cells: NDArray[np.object_]) -> Coded:
        """Codes of arbitrary cells, equal where they are one object, or Python finds them equal."""
        if plain_text(cells):
            return cls(*_factorized(cells))
        # by identity first: one whose own __hash__ or __eq__ is erratic stays one unit in all its rows
        owner, objects = pd.factorize(np.fromiter(map(id, cells), np.uintp, cells.size))  # shape (rows,)
        one = np.empty(objects.size, dtype=np.intp)  # a row of each object
        one[owner] = np.arange(cells.size)
        formed, keyed = comparable(cells[one])
        codes, values = _factorized(formed)
        codes[~keyed] = UNKEYABLE
        return cls(codes[owner], values, cells)

    def numbers(self) -> Numbers:
        """Refuse."""
        raise ArgumentTypeError("a column of categories, text or objects holds no numbers")

    def present(self) -> Mask | None:
        """Which rows hold a value; None when all do."""
        present = self.codes != -1
        return None if present.all() else present

    def coded(self, by: Keys) -> tuple[Positions, Positions]:
        """Codes are those of the column, which are not copied; see `Numbers`."""
        if self.cells is not None:
            # a row looks for its own cell: one that pandas finds equal to it, from another row, may equal other keys
            found = self._positions(self.cells, by)
            found[self.codes == -1] = MISSING
            return found, np.arange(MISSING, len(by.keys))
        return self.codes, np.append([NO_KEY, MISSING], self._positions(self.values, by))

    def units(self) -> tuple[NDArray[np.int64], int]:
        """Dense codes; see `Numbers`."""
        known = self.codes >= 0
        return dense(self.codes, None if known.all() else known)

    def _positions(self, cells: NDArray[np.object_], by: Keys) -> Positions:
        """Position of each cell, or form of one, among the keys, NO_KEY where Python's equality finds none."""
        listed = by.once(_by_key, self.forms)
        return np.array([_look_up(listed, cell) for cell in cells], dtype=_position_dtype(by.keys))


Stored = Numbers | ArrowValues | Coded  # one column in one of the three ways


def _rising(keys: Listed, dtype: np.dtype[Any], kind: Kind, unit: str | None) -> tuple[Any, Positions]:
    """An index of the keys that a column of numbers can hold, rising, and the place of each among all, then NO_KEY.

    It follows from public facts alone.
    """
    if unit is None and dtype.kind != "f" and {*map(type, keys)} == {int}:
        with suppress(OverflowError):  # plain integers, of which there may be millions, are what they are
            numbers, first = np.unique(np.array(keys, dtype=np.int64), return_index=True)
            info = np.iinfo(dtype)
            held = (numbers >= info.min) & (numbers <= info.max)
            return pd.Index(numbers[held].astype(dtype)), np.append(first[held], NO_KEY).astype(_position_dtype(keys))
    column = Numbers(np.empty(0, dtype), None, kind, unit)
    listed = _first_places(map(column._number, keys))
    rising = sorted(listed)
    found: Any = pd.Index(np.array(rising, dtype=hashable_floats(column.values).dtype))
    return found, np.array([*map(listed.__getitem__, rising), NO_KEY], dtype=_position_dtype(keys))


def _in_arrow(keys: Listed, held: pa.DataType, kind: Kind) -> tuple[pa.Array, Positions]:
    """The keys that a column of Arrow values can hold, and positions of their places from -2 on; see `_rising`."""
    listed = _first_places(map(ArrowValues(pa.chunked_array([], held), kind)._scalar, keys))
    plain = held.value_type if pa.types.is_dictionary(held) else held
    # null is listed last, so that one look-up tells what is missing
    return pa.array([*listed, None], plain), np.array([NO_KEY, NO_KEY, *listed.values(), MISSING], dtype=np.intp)


def _by_key(keys: Listed, forms: bool) -> dict[Hashable, int]:
    """Place of each key, also of its form: the first of those that are equal."""
    return {name: i for i, key in [*enumerate(keys)][::-1] for name in (key, canonical(key) if forms else key)}


def _factorized(cells: NDArray[np.object_]) -> tuple[NDArray[np.intp], NDArray[np.object_]]:
    """Codes of cells by Python's equality, and the distinct ones."""
    # a last cell that is no text: for text alone pandas takes a lone surrogate for the text of its escape
    codes, values = pd.factorize(np.append(cells, np.array([None], dtype=object)))
    return codes[:-1], values


def _first_places(made: Iterable[Any]) -> dict[Any, int]:
    """Place of each of some values, that of the first where several are equal; None is left out."""
    return {value: place for place, value in [*enumerate(made)][::-1] if value is not None}


def _look_up(listed: dict[Hashable, int], cell: Any) -> int:
    with suppress(BaseException):  # a cell's own code may raise anything
        # which of several equal tuples without a form is listed follows from other rows: they are no keys
        own = cell.cell if type(cell) is Foreign and not isinstance(cell.cell, tuple | frozenset) else cell
        return listed.get(own, NO_KEY) if shallow(own) else NO_KEY
    stop()
    return NO_KEY


def _position_dtype(keys: Listed) -> np.dtype[Any]:
    """Narrow integers for positions: they stay in memory as long as the table."""
    return np.min_scalar_type(-len(keys) - 2)
