"""One pandas DataFrame as the statistics see it: raw numbers, and codes of units and of keys, also of unknown keys.

For all tables: what codes of found keys there are, and their order, says nothing to anybody, and values are read only for those
that are listed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pandas_dp.core.interrupts import stop
from pandas_dp.core.lattice import Raw, present_mask
from pandas_dp.core.measurement import Names, Shown
from pandas_dp.core.partition import Bins, Cross, Partition, cross_coded, decoded, uncoded
from pandas_dp.core.randomness import Fill, random_bytes
from pandas_dp.engines.arrow import rows_at
from pandas_dp.engines.cells import Foreign, copied, forms, shallow, uniform
from pandas_dp.engines.encode import MISSING, NANOSECONDS, ArrowValues, Coded, Numbers, Stored, stored
from pandas_dp.engines.numeric import dense, hashable_floats
from pandas_dp.facts.kinds import NEAR, is_missing, kind_or_none
from pandas_dp.facts.periods import Periods
from pandas_dp.facts.progress import tell

T = TypeVar("T")
Found = tuple[NDArray[np.int64], int, Names]
Places = NDArray[np.intp]
# classes one by one: numpy counts durations among its integers
NUMBERS = (int, float, bool, *(np.dtype(code).type for code in "?bhilqBHILQefdg"))
TOGETHER = 1 << 13  # rows of blocks that are rebuilt at once, beside one block of more
MOST_BITS = 1024  # of a whole number that is a key: at no setting does Python refuse to write it
pa.array(map(chr, range(256)))  # Python has one object of each of these: all have their UTF-8 form from here on


def found_keys(column: Stored) -> Found:
    """Code of each row (-1: no key), number of codes, and what they stand for.

    Numbers, the whole ones as integers whatever the dtype, bools as 0 and 1, dates and durations in nanoseconds, decimals as
    float64; text. Of objects and categories text and whole numbers are keys, and all else is none, whatever other rows hold:
    1.0 and True are the key 1. Of categories the forms are looked at, which the list decides as little (see `canonical`).
    Dates and durations that have no label are none, see `labelled`: so says the cell itself, whatever unit others give it.
    """
    if isinstance(column, Coded):
        return _of_objects(column)
    if isinstance(column, ArrowValues) and column.kind.name == "key":
        return _of_text(column)
    return _of_numbers(column.numbers())


def combined(columns: Sequence[Found]) -> Found:
    """Codes of the combinations of some columns, and lists of cells that they stand for; a row without a key in one has none.

    For all inputs: two rows have one code if and only if they have one code in every column, so no other row plays a part.
    Codes are dense again after each column, so none of the pairs below reaches the square of the number of rows or codes.
    """
    codes, count, _ = columns[0]
    for more, size, _ in columns[1:]:
        codes, count = dense(codes * size + more, (codes >= 0) & (more >= 0))

    def names(wanted: Places) -> list[Any]:
        rows = _rows(codes, count)[wanted]
        return [list(cells) for cells in zip(*(own(each[rows]) for each, _, own in columns), strict=True)]

    return codes, count, names


def _of_numbers(column: Numbers) -> Found:
    values, present, size = column.values, column.present(), NANOSECONDS.get(column.unit or "", 1)
    if column.unit is not None:
        first, last = column.kind.labelled
        present = (values >= -(-first // size)) & (values <= last // size) & (True if present is None else present)
        # a rule of the date, which coarser units meet
        present &= (size > 1) | (column.kind.tz is None) | (np.abs(values) < NEAR) | (values % 1000 == 0)
    codes, count = dense(hashable_floats(values), present)

    def names(wanted: Places) -> list[Any]:
        # whole ones as integers: a column of these is one of floats as soon as a row misses its own
        cells = values[_rows(codes, count)[wanted]].tolist()
        return [int(n) * size if n % 1 == 0 and abs(n) < 2**64 else n for n in cells]

    return codes, count, names


def _of_text(column: ArrowValues) -> Found:
    codes, count = column.units()

    def names(wanted: Places) -> list[Any]:
        texts = column.column.take(pa.array(_rows(codes, count)[wanted]))
        # nobody checked that it is UTF-8: bytes that are not become surrogates, different ones for different bytes
        return [cell.decode("utf-8", "surrogateescape") for cell in texts.cast(pa.large_binary()).to_pylist()]

    return codes, count, names


def _of_objects(column: Coded) -> Found:
    """Cells become plain text and integers before they get codes: others may equal what they are not."""
    source = column.values if column.cells is None else column.cells
    plain = np.empty(source.size + 1, dtype=object)  # the last stays None: see `Coded.of_objects`
    plain[:-1] = [_key(cell) for cell in source]
    codes, cells = pd.factorize(plain)  # shape (cells + 1,), shape (keys,)
    # the last is that of rows without a cell
    codes = codes[:-1] if column.cells is not None else codes.take(np.maximum(column.codes, -1), mode="wrap")
    return codes.astype(np.int64), len(cells), lambda wanted: cells[wanted].tolist()


def _rows(codes: NDArray[np.int64], count: int) -> Places:
    """A row of each code; one place more takes the rows without."""
    rows = np.zeros(count + 1, dtype=np.intp)
    rows[codes] = np.arange(codes.size)
    return rows


def _key(cell: Any) -> str | int | None:
    """The key that an object cell is, in a class without code of its own; None for none."""
    kind = type(cell)
    if issubclass(kind, str):
        return str.__str__(cell)
    if not any(kind is known for known in NUMBERS):
        return None
    try:
        number = int(cell)
    except (ValueError, OverflowError):  # nan, infinity
        return None
    return number if number == cell and number.bit_length() <= MOST_BITS else None


class PandasView:
    """`View` of one DataFrame.

    Parameters
    ----------
    frame : DataFrame
        Prepared rows; column names are unique.
    cache : dict
        The columns of exactly these rows as they were taken out, and their encodings: codes of keys, of units and of
        objects. Sums are never kept. It lives as long as the rows do; for other rows pass a new one.
    nulls : mapping of str to number
        Columns whose missing values count as a public constant, in raw units (nanoseconds for dates and
        durations). Such a column is treated as if it held the constant, except as unit: a row without a unit
        has none.

    Notes
    -----
    For all frames: what is said of a row depends on that row's cells alone (codes of units up to a renaming), and no
    exception that is raised here quotes a cell. Code that cells bring along, such as an ``__eq__`` of their own, is run
    when the column serves as key or unit; what it raises means "equal to no key".
    """

    fill: Fill = staticmethod(random_bytes)
    weights: NDArray[np.int64] | None = None

    def __init__(
        self, frame: pd.DataFrame, cache: dict[Any, Any], nulls: Mapping[str, int | float] | None = None
    ) -> None:
        self._frame = frame
        self._cache = cache
        self._nulls = {} if nulls is None else dict(nulls)
        self.rows = len(frame)

    def column(self, name: str) -> Raw:
        """Raw numbers of a column and which are present (None: all, but for NaN).

        Returns
        -------
        values : ndarray of int, uint or float, shape (rows,)
            Bool as uint8, decimals as float64, dates and durations as int64 nanoseconds; those beyond the
            range of int64 are held at its ends.
        present : ndarray of bool, shape (rows,), or None
        """
        return self._values(name).numbers().raw()

    def present(self, name: str) -> NDArray[np.bool_] | None:
        """Which rows hold a value in a column of any kind; None when all do."""
        return self._values(name).present()

    def parts(self, partition: Partition) -> NDArray[np.intp]:
        """Part of each row, -1 for none, shape (rows,)."""
        codes, parts = self.coded(partition)
        return codes.astype(np.intp) if isinstance(partition, Bins) else decoded(codes, parts)

    def coded(self, partition: Partition) -> tuple[NDArray[np.signedinteger[Any]], NDArray[np.intp]]:
        """Code of each row, shape (rows,), in few bytes, and the part of each code from -2 on, -1 for none."""
        if isinstance(partition, Cross):
            return cross_coded(partition, [self.coded(factor) for factor in partition.factors])
        if isinstance(partition, Bins):
            values, present = self.column(partition.column)
            return uncoded(partition.codes(values, present_mask(values, present)), partition.count)
        key = "keys", partition.column, partition.keys, self._nulls.get(partition.column)
        codes, positions = self._kept(lambda: self._values(partition.column).coded(partition), *key)
        return codes, partition.codes(positions, positions != MISSING)

    def units(self, column: str) -> tuple[NDArray[np.int64], int]:
        """Dense codes of the units, -1 where the key is missing or unhashable, and the number of units."""
        return self._kept(lambda: self._stored(column).units(), "units", column)

    def periods(self, said: str) -> tuple[NDArray[np.int64], int]:
        """Dense codes of the periods of rows, -1 for none, and their number: of each row by its own time, see `Periods`."""
        return self._kept(lambda: self._periods(Periods.from_text(said)), "periods", said)

    def _periods(self, periods: Periods) -> tuple[NDArray[np.int64], int]:
        times = self._stored(periods.time).numbers()
        found = periods.of(times.values, times.present(), times.unit or "ns")
        return dense(found, found >= 0)

    def keys(self, column: str) -> Found:
        """Codes of unknown keys (-1: none), how many, and what they stand for; the order of codes says nothing."""
        return self._kept(lambda: found_keys(self._values(column)), "found", column, self._nulls.get(column))

    def combinations(self, columns: tuple[str | Partition, ...]) -> Found:
        """Codes of combinations of keys, and of parts of public partitions, whose cells are the numbers of their parts."""
        return combined([self.keys(one) if isinstance(one, str) else self._parts_as_keys(one) for one in columns])

    def _parts_as_keys(self, partition: Partition) -> Found:
        return self.parts(partition).astype(np.int64), partition.count, lambda parts: parts.tolist()

    def computed(self, expression: Any) -> Raw:
        """Raw numbers of what an expression of steps makes of each row; missing values of columns are missing in it."""
        return stored(expression.evaluate(self._frame)).numbers().raw()

    def _values(self, name: str) -> Stored:
        """The column, with the public constant for missing values where there is one."""
        column = self._stored(name)
        return column if name not in self._nulls else column.numbers().filled(self._nulls[name])

    def _stored(self, name: str) -> Stored:
        """The column as stored; what took a pass over Python objects is kept."""
        key = ("objects", name)
        if key in self._cache:
            return self._cache[key]  # type: ignore[no-any-return]
        # taking a column out of a frame costs more than a small sum
        column = stored(self._kept(lambda: self._frame[name], "series", name))
        if isinstance(column, Coded):
            self._cache[key] = column
        return column

    def _kept(self, make: Callable[[], T], *key: Any) -> T:
        """What was made once for these rows."""
        if (made := self._cache.get(key)) is None:  # of a million keys the hash takes a while
            made = self._cache[key] = make()
        return made

    def block_results(
        self, function: Callable[[Any], Any], block: NDArray[np.intp], blocks: int, columns: Shown = None
    ) -> list[Any]:
        """What a function returns for each rebuilt block; None where it raises.

        Also where it exits, recurses too deeply or runs out of memory: a query that fails for one row would tell of that
        row. A signal ends the whole query, so that people can stop a function that never ends. Blocks without rows are
        all alike, so the function runs on one of them only.
        """
        frame = self._frame if columns is None else self._frame[list(columns)]
        order = np.argsort(block, kind="stable")
        edges = np.searchsorted(block[order], np.arange(blocks + 1)).tolist()
        results: list[Any] = []
        empty: int | None = None  # place of the first block without rows
        start = end = -1  # of the rows that are rebuilt together
        for place, (first, last) in enumerate(pairwise(edges)):
            tell(f"runs your function: block {place + 1:,} of {blocks:,}")  # also of one without rows
            if first == last and empty is not None:
                results.append(results[empty])
                continue
            empty = place if first == last else empty
            results.append(None)
            with suppress(BaseException):  # whatever a row made the function raise, it counts as no result
                if last > end:
                    until = max(last, edges[bisect_right(edges, first + TOGETHER) - 1])
                    rebuilt, start, end = _rebuilt(frame, order[first:until]), first, until
                results[place] = function(_apart(rebuilt, first - start, last - start))
            stop()
        return results


def _rebuilt(frame: pd.DataFrame, rows: NDArray[np.intp]) -> pd.DataFrame:
    """A deep copy of some rows that carries nothing of the others: no labels, attrs, categories, dtypes or shared objects.

    For all cells it returns: a row whose cell made it fail would decide what a function of the whole table answers. Each row
    is rebuilt from its own cells alone, so those of many blocks are rebuilt together.
    """
    rising = np.sort(rows)
    columns = {name: _plain(column) for name, column in rows_at(frame, rising).items()}
    rebuilt = pd.DataFrame(columns, index=pd.RangeIndex(rows.size), copy=True)
    return rebuilt.take(np.searchsorted(rising, rows))


def _apart(rebuilt: pd.DataFrame, first: int, last: int) -> pd.DataFrame:
    """Rebuilt rows from one place to another, in memory of their own, with nothing of the rows around them."""
    block = rebuilt.iloc[first:last].copy()
    block.index, block.columns = pd.RangeIndex(last - first), rebuilt.columns.copy(deep=True)
    return block


def _plain(column: pd.Series[Any]) -> Any:
    """Values of a column in a dtype that follows from its kind, not from a missing value in some other row."""
    kind = kind_or_none(column.dtype)
    if kind is None or kind.name == "key":
        array, cells = column.array, [None] * len(column)
        if isinstance(array, pd.Categorical):
            codes, made = forms(array.remove_unused_categories())
            own = [*(None if isinstance(form, Foreign) else form for form in made), None, None]
            cells = [_cell(own[code]) for code in codes]
        # of these one cell decides the class of all; at once, pandas makes floats of nested whole numbers where one is missing
        elif not isinstance(array, pd.arrays.IntervalArray | pd.arrays.SparseArray):
            cells = [*map(_cell, _read(array))]
        # no dtype is guessed from the cells, and none is asked whether it is an array
        return pd.Series(np.fromiter(cells, np.dtype(object), len(cells)), dtype=object)
    if kind.name == "number":
        return column.to_numpy(dtype=np.float64, na_value=np.nan, copy=True)
    if kind.name == "bool":
        return column.astype("boolean").array.copy()
    ticks, present = stored(column).numbers().raw()  # int64 nanoseconds, those out of range held at the ends
    if present is not None:
        ticks = np.where(present, ticks, np.iinfo(np.int64).min)  # missing
    if kind.name == "timedelta":
        return pd.Series(ticks.view("m8[ns]"))
    dates = pd.Series(ticks.view("M8[ns]"))
    return dates if kind.tz is None else dates.dt.tz_localize("UTC").dt.tz_convert(kind.tz)


def _read(array: Any) -> list[Any]:
    """Each cell by itself, None for one that Python has no value for: bytes that are no text, a time beyond its own."""
    with suppress(BaseException):  # whatever Arrow and pandas raise for one of them
        return list(array)
    cells: list[Any] = [None] * len(array)
    for place in range(len(array)):
        with suppress(BaseException):
            cells[place] = array[place]
    stop()
    return cells


def _cell(cell: Any) -> Any:
    """A copy of a cell that shares nothing with the table; None for what is missing or cannot be copied.

    Texts as well: Python keeps other forms of a text inside it, which a function of one block could leave to the next.
    """
    if type(cell) is str:
        return cell.encode("utf-32", "surrogatepass").decode("utf-32", "surrogatepass")
    with suppress(BaseException):  # of a cell of a class of the user's own
        if shallow(cell, copied=True) and not is_missing(cell):
            return cell if type(cell) in NUMBERS else uniform(copied(cell))
    stop()
    return None
