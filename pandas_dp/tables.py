"""Protected tables: which DataFrame object a session answers, and whether its columns are still the protected ones.

Identity decides, never content: comparing rows would tell whether two tables are equal, and a frame filtered by hand
shares every buffer with its source exactly when nobody was filtered out.
"""

from __future__ import annotations

import uuid
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
from pandas.api.extensions import ExtensionArray

from pandas_dp.arguments import check_facts
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.engines.pandas import PandasView
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, UnverifiedFrameError, did_you_mean
from pandas_dp.kinds import kind_of
from pandas_dp.scans import Source
from pandas_dp.schema import ColumnFacts, Schema
from pandas_dp.schema_files import has_dtype

if TYPE_CHECKING:
    from pandas_dp.session import Session

T = TypeVar("T")
TICKS = (("s", 1), ("ms", 1), ("us", 1), ("ns", 1))


@dataclass(eq=False)
class Table:
    """One protected table.

    Attributes
    ----------
    session : Session
    source : DataFrame
        Shallow copy-on-write copy of the protected frame: costs no memory and keeps what was protected.
    index : Index
        The very index object of the frame.
    token : str
        Public name of the content for stored releases: the owner's version, or a random name that ends with the process.
    lineage : str
        ``"source"``, ``"declared"`` (made by a step) or ``"vouched"`` (adopted).
    steps : tuple
        Row-wise steps from the source.
    schema : Schema
    whole : bool
        Whether this is the table that opened the budget: only its number of rows can be public.
    scan : Source or None
        Where the rows are, if not in `source`, which then has none.
    kinds : dict
        Dtypes of the columns as they were protected, before any step.
    cache : dict
        Encodings of columns (codes), never sums.
    """

    session: Session
    source: pd.DataFrame = field(repr=False)
    index: pd.Index[Any] = field(repr=False)
    token: str
    lineage: str = "source"
    steps: tuple[Any, ...] = ()
    whole: bool = False
    scan: Source | None = None
    schema: Schema = field(default_factory=lambda: Schema({}))
    kinds: dict[str, str] = field(default_factory=dict)
    cache: dict[Any, Any] = field(default_factory=dict, repr=False)
    _columns: dict[str, pd.Series[Any]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Note the dtypes of a table that no step made."""
        self.kinds = self.kinds or {str(name): str(dtype) for name, dtype in self.source.dtypes.items()}

    def dtypes_of(self, columns: Iterable[str]) -> list[tuple[str, str]]:
        """Dtypes of those of some columns that were protected, in a fixed order."""
        return sorted((name, self.kinds[name]) for name in columns if name in self.kinds)

    def column(self, name: str) -> pd.Series[Any]:
        """The protected column: taking it out of a frame again and again would cost more than many queries."""
        if name not in self._columns:
            self._columns[name] = self.source[name]
        return self._columns[name]

    @property
    def empty(self) -> pd.DataFrame:
        """Names and dtypes of the columns, without a row."""
        return self.source.iloc[:0]

    @property
    def rows(self) -> int | None:
        """Number of rows; of a scanned table before any step, None where it is not known."""
        return len(self.source) if self.scan is None else self.scan.rows

    def equals(self, frame: pd.DataFrame) -> bool:
        """Whether a frame has the same cells, -0.0 apart from 0.0, which steps can tell apart: a look at the data.

        A scanned one has them where its files and steps are the same.
        """
        return (
            self.scan == scan_of(frame)
            and self.source.equals(frame)
            and all(
                np.array_equal(
                    *(np.signbit(d[name].to_numpy(np.float64, na_value=np.nan)) for d in (self.source, frame))
                )
                for name, dtype in frame.dtypes.items()
                if getattr(dtype, "kind", "O") == "f"
            )
        )

    def unchanged(self, frame: pd.DataFrame) -> bool:
        """Whether every protected column of the frame is still the protected one."""
        try:
            self.verify(frame, self.source.columns)
        except UnverifiedFrameError:
            return False
        return True

    def verify(self, frame: pd.DataFrame, columns: Iterable[str]) -> None:
        """Check that the columns a query touches, and the index, are still the protected ones.

        Raises
        ------
        UnverifiedFrameError
            With the one constant text; where files of a scanned table were changed with that of `Files.check`.
        """
        if self.scan is not None:
            self.scan.check()
        names = frame.columns
        if frame.index is not self.index or not names.is_unique:
            raise UnverifiedFrameError
        for column in columns:
            same = column in names and column in self.source.columns
            if not same or not same_storage(_array(frame, column), _array(self.source, column)):
                raise UnverifiedFrameError


def open_view(table: Table, steps: tuple[Any, ...], read: frozenset[str]) -> PandasView:
    """Prepared rows of a table, of a scanned one with the columns that a query reads; only the gate calls this."""
    if table.scan is not None:
        prepared = table.source
        for step in steps:
            prepared = step.apply(prepared)
        return table.scan.after(steps).view(read, nulls_of(table.schema.after(steps), prepared))
    frame, cache = table.source, table.cache
    for step in steps:
        frame, cache = step.apply(frame), {}
    return PandasView(frame, cache, nulls_of(table.schema.after(steps), frame))


def inherited(schema: Schema, frame: pd.DataFrame) -> Schema:
    """Facts that were said of another table, without those that do not fit a column of this one: nobody said them of it."""
    kept = Schema({})
    for name in schema:
        if name not in frame.columns or _fits(schema[name], frame[name].dtype, name):
            kept._columns[name] = schema[name]
    return kept


def _fits(facts: ColumnFacts, dtype: Any, name: str) -> bool:
    try:
        check_facts(facts, kind_of(dtype), name)
    except (ArgumentTypeError, ArgumentValueError):
        return False
    return facts.dtype is None or has_dtype(dtype, facts.dtype)


def nulls_of(schema: Schema, frame: pd.DataFrame) -> dict[str, int | float]:
    """Public constants that missing values count as, in raw units, by column."""
    constants = {}
    for column in schema:
        rule = schema[column].nulls
        if column in frame.columns and not (isinstance(rule, str) and rule == "drop"):
            exact = kind_of(frame[column].dtype).number(rule, "nulls")
            constants[column] = int(exact) if exact.denominator == 1 else float(exact)
    return constants


class _ByObject(dict[int, tuple["weakref.ref[pd.DataFrame]", T]], Generic[T]):
    """What is known of frames as objects, while they live."""

    def remember(self, frame: pd.DataFrame, known: T) -> None:
        """Know something of this very object."""
        number = id(frame)

        def forget(dead: weakref.ref[pd.DataFrame]) -> None:
            if number in self and self[number][0] is dead:
                del self[number]

        self[number] = (weakref.ref(frame, forget), known)

    def of(self, frame: pd.DataFrame) -> T | None:
        """What is known of this very object, if anything."""
        entry = self.get(id(frame))
        return entry[1] if entry is not None and entry[0]() is frame else None


_tables: _ByObject[Table] = _ByObject()
_scans: _ByObject[Source] = _ByObject()  # frames without rows that stand for scanned tables, protected or not

register, lookup = _tables.remember, _tables.of
remember_scan, scan_of = _scans.remember, _scans.of

# which files sessions have answered for: an object that stands for them can be gone while its session goes on
_read: weakref.WeakKeyDictionary[Session, list[Source]] = weakref.WeakKeyDictionary()


def holds(column: pd.Series[Any]) -> bool:
    """Whether a Series is a column of a protected table, by its memory; a copy with other values is not recognised."""
    return next(owners(column), None) is not None


def lists(values: pd.Index[Any] | np.ndarray[Any, Any] | ExtensionArray) -> bool:
    """Whether an array or index is the memory of a protected column, or its categories, which may be what it holds.

    Copies are not recognised, so neither is what ``unique`` made, but that of a column of categories keeps them.
    """
    named = getattr(values, "categories", values)  # of categories also as an index
    known = (table.column(name).dtype for _, table in list(_tables.values()) for name in table.source.columns)
    if any(isinstance(dtype, pd.CategoricalDtype) and dtype.categories is named for dtype in known):
        return True
    if (
        values.ndim != 1
        or isinstance(values, pd.MultiIndex)
        or (isinstance(values, np.ndarray) and not _kept(values.dtype))
    ):
        return False
    return holds(pd.Series(values, dtype=object if values.dtype == object else None, copy=False))


def _kept(dtype: np.dtype[Any]) -> bool:
    """Whether pandas keeps numbers of a dtype as they are, which it does not texts, records, days and years."""
    return dtype.kind in "biufO" or (dtype.kind in "mM" and np.datetime_data(dtype) in TICKS)


def owners(column: pd.Series[Any]) -> Iterator[Session]:
    """Sessions with a table that a Series is a column of, by its memory."""
    for _, table in list(_tables.values()):
        if any(same_storage(column.array, table.column(name).array) for name in table.source.columns):
            yield table.session


def elsewhere(frame: pd.DataFrame, session: Session | None) -> Session | None:
    """An open session, other than a given one, that this very object belongs to, or a scanned table of one of its files."""
    known, scan = lookup(frame), scan_of(frame)
    if known is not None:
        return None if known.session is session else known.session
    others = [] if scan is None else [(other, read) for other, read in list(_read.items()) if other is not session]
    return next((other for other, read in others if any(one.shares(scan) for one in read)), None)


def check_free(frame: pd.DataFrame, session: Session | None) -> None:
    """A frame that already belongs to another open budget cannot be given a second one, nor can files."""
    other = elsewhere(frame, session)
    if other is not None:
        raise ArgumentValueError(
            f"this table already spends from the budget {other.name!r}; tables about the same people belong on "
            "one budget. If that was a mistake: df.dp.session.close(), then protect again; what both release adds up"
        )


def remember_read(session: Session, scan: Source) -> None:
    """Note that a session answers for rows elsewhere, until it is closed, where another scan of them can be told."""
    read = _read.setdefault(session, [])
    if scan.shares(scan) and scan not in read:
        read.append(scan)


def forget_session(session: Session) -> None:
    """Drop every table of a session."""
    _read.pop(session, None)
    for number in [n for n, (_, table) in list(_tables.items()) if table.session is session]:
        _tables.pop(number, None)


def new_token() -> str:
    """Return a name for a content that has no version: it means nothing outside this process."""
    return f"unversioned-{uuid.uuid4().hex}"


def _array(frame: pd.DataFrame, column: str) -> Any:
    """The array behind a column as pandas itself takes it out; a Series around it would cost more than a small sum."""
    return frame._get_column_array(frame.columns.get_loc(column))  # type: ignore[operator]  # not in the stubs


def same_storage(a: Any, b: Any) -> bool:
    """Whether two columns are the same memory: by address, never by content."""
    if type(a) is not type(b) or len(a) != len(b):
        return False
    if isinstance(a, np.ndarray):
        return _same_memory(a, b)
    if isinstance(a, pd.Categorical):
        return a.categories is b.categories and _same_memory(a.codes, b.codes)
    if isinstance(a, pd.arrays.IntervalArray):
        return (
            a.closed == b.closed
            and same_storage(a.left.array, b.left.array)
            and same_storage(a.right.array, b.right.array)
        )
    if isinstance(a, pd.arrays.SparseArray):
        return a.dtype == b.dtype and a.sp_index is b.sp_index and _same_memory(a.sp_values, b.sp_values)
    if isinstance(a, pd.arrays.DatetimeArray | pd.arrays.TimedeltaArray | pd.arrays.PeriodArray):
        return a.dtype == b.dtype and _same_memory(*(getattr(x, "asi8") for x in (a, b)))  # noqa: B009 - not in the stubs
    if hasattr(a, "_mask"):
        return _same_memory(a._data, b._data) and _same_memory(a._mask, b._mask)
    if hasattr(a, "_pa_array"):
        return _same_buffers(a._pa_array, b._pa_array)
    if isinstance(a, pd.arrays.NumpyExtensionArray) or hasattr(a, "_ndarray"):
        return _same_memory(a.to_numpy(copy=False), b.to_numpy(copy=False))
    return False


def _same_memory(a: Any, b: Any) -> bool:
    x, y = np.asarray(a).__array_interface__, np.asarray(b).__array_interface__
    # beside the address stands whether it may be written, which views of one memory do not agree on
    return x["data"][0] == y["data"][0] and all(x[part] == y[part] for part in ("shape", "strides", "typestr"))


def _same_buffers(a: pa.ChunkedArray, b: pa.ChunkedArray) -> bool:
    """Whether two Arrow columns lie in the same memory; before version 3.1 each view of pandas' wraps it anew."""
    return a is b or (a.type == b.type and _addresses(a.chunks) == _addresses(b.chunks))


def _addresses(chunks: Iterable[pa.Array]) -> list[Any]:
    """Where each chunk that holds rows begins and ends, and at what addresses its buffers and its dictionary lie."""
    return [
        (
            chunk.offset,
            len(chunk),
            [buffer and buffer.address for buffer in chunk.buffers()],
            _addresses([chunk.dictionary]) if pa.types.is_dictionary(chunk.type) else None,
        )
        for chunk in chunks
        if len(chunk)
    ]


def check_frame(frame: pd.DataFrame, unit: PrivacyUnit) -> None:
    """Check what is public about a frame: its column names."""
    if not isinstance(frame, pd.DataFrame):
        raise ArgumentTypeError(
            "a session takes a pandas DataFrame; a scanned table joins it by scan.dp.protect(session=session), as does a Dask "
            "DataFrame"
        )
    check_names(frame.columns)
    if unit.column is not None and unit.column not in frame.columns:
        close = did_you_mean(unit.column, frame.columns)
        raise ArgumentValueError(f"unit={unit.column!r} is not a column of this table{close}")
    if unit.column is not None:
        try:
            kind_of(frame[unit.column].dtype)  # or every answer would fail after it is paid
        except ArgumentTypeError as error:
            raise ArgumentTypeError(f"unit={unit.column!r}: {error}") from None


def check_names(names: pd.Index[Any]) -> None:
    """Check that a name means one column: among dates, "2026-01" would mean those of a month."""
    if isinstance(names, pd.MultiIndex):
        raise ArgumentTypeError("columns must have one level: df.columns = ['a', 'b', ...]")
    if isinstance(names, pd.DatetimeIndex | pd.PeriodIndex | pd.TimedeltaIndex):
        raise ArgumentTypeError(
            "columns must be named by text, not by dates, periods or durations, whose parts would name several: "
            "df.columns = df.columns.astype('str')"
        )
    if names.has_duplicates:
        raise ArgumentValueError("column names must be unique: df.columns = ['a', 'b', ...]")


def check_no_part(session: Session) -> None:
    """Refuse more tables for a part of a budget: one of a partition answers for its own rows, or a row could be in two."""
    if session._whole is not None:
        raise ArgumentValueError(
            "a part of a budget takes no other table: df2.dp.protect(session=...) with the session that it is a part of, "
            "then df2.dp.allot(...) or df2.dp.partition(...)"
        )
