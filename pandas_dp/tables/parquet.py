"""Rows that stay in Parquet files: which files, whether they are still those, and how they are read.

Filters are pushed down to the reader where they keep every row which the steps keep. The steps are applied again to what is
read, so what is pushed down decides how much is read and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa

from pandas_dp.engines.arrow import MOST, decoded, is_text
from pandas_dp.engines.pandas import PandasView
from pandas_dp.engines.scanned import ScannedView
from pandas_dp.errors import UnverifiedFrameError
from pandas_dp.facts.kinds import PER_SECOND
from pandas_dp.facts.progress import tell
from pandas_dp.facts.schema import has_dtype
from pandas_dp.steps.changes import Filter, Step, applied
from pandas_dp.steps.dates import DAY, as_time
from pandas_dp.steps.expression import Column, Constant, Expression, Operation
from pandas_dp.steps.operations import COMPARISONS
from pandas_dp.steps.periods import InPeriods
from pandas_dp.steps.values import DATES, Kind, Values, read_column, read_constant
from pandas_dp.tables.condensing import Condensing
from pandas_dp.tables.readers import Stamp, stamp

BATCH = 1 << 19  # rows that are looked at together, unless a group of rows in a file holds more
WHOLE = 1 << 27  # bytes of columns; questions about units of several rows hold some seven times as much at once
CODED = 2  # bytes a row of text that is held as codes; plain text takes four and its letters
ENCODINGS = {"PLAIN", "RLE", "BIT_PACKED", "PLAIN_DICTIONARY", "RLE_DICTIONARY"}  # that Arrow makes dictionaries of
Item = TypeVar("Item")
CHANGED = (
    "files of this scan were changed, moved or deleted since pandas_dp.scan_parquet(...) looked at them, so nothing was "
    "charged. Scan them again and protect them as a new version, on the same budget: "
    "pandas_dp.scan_parquet('visits/*.parquet').dp.protect(session=session, table='visits', version='2')"
)


class Source:
    """Rows that are elsewhere, after steps; a frozen record of where."""

    refusal: ClassVar[str | None] = None  # what is said where no session protects them; None: the implicit one may
    steps: tuple[Step, ...]  # what was done to them

    @property
    def rows(self) -> int | None:
        """Their number before any step, where it is known without reading them."""

    def after(self, steps: tuple[Step, ...]) -> Self:
        """The same rows after more steps."""
        return replace(self, steps=self.steps + steps)  # type: ignore[type-var]

    @property
    def token(self) -> str | None:
        """The name of files that nobody has written since, the same wherever they are scanned; None where it is not known."""

    @property
    def names(self) -> frozenset[Any]:
        """What tells the files from others, so that they do not take a second budget; empty where rows are no files."""
        return frozenset()

    def check(self) -> None:
        """Raise `UnverifiedFrameError` if they were written since."""

    def goes_by(self, dtype: Any, name: str) -> bool:
        """Whether a column's dtype goes by the name that a schema has of it."""
        return has_dtype(dtype, name)

    def view(self, columns: frozenset[str], nulls: Mapping[str, int | float], unit: str | None = None) -> PandasView:
        """What statistics see of some columns, of which one may say whose a row is; rows are read as they look."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Files:
    """Parquet files of one schema as they were when they were scanned.

    Attributes
    ----------
    paths : tuple of str
    stamps : tuple of (int, int, int, int)
        Which file each is, and when it was changed last.
    names : frozenset
        What tells them from others, whatever lies there later.
    token : str or None
        See `Source`.
    schema : pyarrow.Schema
        Without dictionaries, which are a way to store text.
    pieces : tuple of pyarrow.dataset.ParquetFileFragment
        Each of neighbouring groups of rows of a file, with `BATCH` rows or in one group.
    rows : int
        How many there are: private but where the number of units is public.
    marks : dict
        Of the protected tables that pandas wrote them from, as in ``attrs``.
    """

    paths: tuple[str, ...]
    stamps: tuple[Stamp, ...]
    names: frozenset[Any]
    token: str | None
    schema: pa.Schema = field(repr=False)
    pieces: tuple[Any, ...] = field(repr=False)
    rows: int = field(repr=False)
    marks: dict[str, str] = field(repr=False)

    def check(self) -> None:
        """Raise if a file was written since, as far as times tell: its size follows from the rows, and is not looked at.

        Raises
        ------
        UnverifiedFrameError
        """
        try:
            same = self.stamps == tuple(map(stamp, self.paths))
        except OSError:
            same = False
        if not same:
            raise UnverifiedFrameError(CHANGED)

    @cached_property
    def empty(self) -> pd.DataFrame:
        """Names and dtypes of the columns, without a row."""
        return _frame([], self.schema, 0)

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Bytes in memory of each column, about: at least 8 a row, else what the files hold, unpacked."""
        return {name: max(size, 8 * self.rows) for name, size in self._held[0].items()}

    @cached_property
    def coded(self) -> frozenset[str]:
        """Columns of text that the files hold as codes of few values, by their bytes a row.

        They are quickly read as dictionaries, text of many values is not. Like how often files are read this follows from
        their sizes, and no answer depends on it.
        """
        sizes, texts = self._held
        return frozenset(name for name in texts if 0 < sizes[name] < CODED * self.rows)

    @cached_property
    def coded_schema(self) -> pa.Schema:
        """The schema with dictionaries for the columns that are coded."""
        types = [pa.dictionary(pa.int32(), one.type) if one.name in self.coded else one.type for one in self.schema]
        return pa.schema(zip(self.schema.names, types, strict=True))

    @cached_property
    def coded_pieces(self) -> list[Any]:
        """The pieces, whose readers make dictionaries of the columns that are coded."""
        made = []
        for _, of_file in groupby(self.pieces, key=lambda piece: piece.path):
            pieces = list(of_file)
            # of which each piece takes its groups, so that what the file says of itself is read once more, not for each
            whole = with_dictionaries(pieces[0], self.coded)
            made += [whole.subset(row_group_ids=[group.id for group in piece.row_groups]) for piece in pieces]
        return made

    @cached_property
    def _held(self) -> tuple[dict[str, int], set[str]]:
        """Bytes of each column in the files, unpacked, and the columns of text that Arrow can make dictionaries of."""
        held, texts = dict.fromkeys(self.schema.names, 0), {one.name for one in self.schema if is_text(one.type)}
        for piece in self.pieces:
            for group in piece.row_groups:
                chunks = piece.metadata.row_group(group.id)
                for chunk in map(chunks.column, range(chunks.num_columns)):
                    # that of a nested column is a path; at worst another one of such a name counts more than it has
                    for name in {chunk.path_in_schema, chunk.path_in_schema.split(".")[0]} & held.keys():
                        held[name] += chunk.total_uncompressed_size
                        if name in texts and not _codable(chunk):
                            texts.remove(name)
        return held, texts


@dataclass(frozen=True, eq=False)
class Scan(Source):
    """The rows of some files, after steps."""

    files: Files
    steps: tuple[Step, ...] = ()

    @property
    def rows(self) -> int:
        """Their number before any step."""
        return self.files.rows

    def check(self) -> None:
        """See `Files.check`."""
        self.files.check()

    @property
    def token(self) -> str | None:
        """See `Source`; after steps they are other rows."""
        return None if self.steps else self.files.token

    @property
    def names(self) -> frozenset[Any]:
        """See `Source`."""
        return self.files.names

    def view(self, columns: frozenset[str], nulls: Mapping[str, int | float], unit: str | None = None) -> PandasView:
        """See `Source`."""
        view = ScannedView(lambda: self.read(columns), nulls, self.passes(columns))
        view.condense = lambda statistic: Condensing(statistic, nulls).one_by_one(self.read(columns))
        return view

    def read(self, columns: Iterable[str]) -> Iterator[pd.DataFrame]:
        """Read what the steps need to make some columns of them, batch by batch.

        For all inputs the frames hold, put together, what the steps make of all rows of the files, in their order, cut to
        columns that include those asked for; there is at least one, and all have the dtypes of no rows, but for columns of
        text that no step looks at, which may come in dictionaries.

        Raises
        ------
        UnverifiedFrameError
            The files changed, before or while they were read.
        """
        files, empty, names = self.files, self.files.empty, self._names(columns)
        files.check()
        looked, condition = self._looked(), pushed(self.steps, empty)
        schema = pa.schema([(files.schema if name in looked else files.coded_schema).field(name) for name in names])
        held: list[pa.RecordBatch] = []
        rows = given = 0
        numbers = {path: number for number, path in enumerate(files.paths, 1)}
        for place, batch in _ahead(self._batches(names, condition)):
            held.append(batch)
            rows += batch.num_rows
            if rows >= BATCH:  # small files, or few rows that are left of many, are put together
                yield self._prepared(held, schema, rows)
                held, rows, given = [], 0, given + 1
            # by files alone, for how large they are follows from their rows
            tell(f"reads files: {numbers[files.pieces[place].path]} of {len(numbers)}")
        if rows or not given:
            yield self._prepared(held, schema, rows)
        files.check()

    def _batches(self, names: list[str], condition: Any) -> Iterator[tuple[int, pa.RecordBatch]]:
        """What is read of some columns, and of which piece it is, one after the other.

        A scanner of all pieces reads ahead of a slow statistic without end.
        """
        from pyarrow.dataset import ParquetFragmentScanOptions  # importing the package shall cost little

        options = ParquetFragmentScanOptions(pre_buffer=False)  # which is for stores far away, and copies once more
        files = self.files
        for place, piece in enumerate(files.pieces if files.coded.isdisjoint(names) else files.coded_pieces):
            for batch in piece.to_batches(
                schema=files.coded_schema,
                columns=names,
                filter=condition,
                batch_size=BATCH,
                fragment_scan_options=options,
            ):
                yield place, batch

    def passes(self, columns: Iterable[str]) -> int:
        """How often to read columns for parts of whole units: no part has many more than `WHOLE` bytes of them."""
        return max(1, -(-sum(self.files.sizes[name] for name in self._names(columns)) // WHOLE))

    def _names(self, columns: Iterable[str]) -> list[str]:
        """Columns of the files that some columns after the steps are made of, and those that the steps look at."""
        named = self._looked().union(columns)
        return [name for name in self.files.schema.names if name in named]

    def _looked(self) -> frozenset[str]:
        """Columns that the steps look at."""
        return frozenset().union(*(step.reads for step in self.steps))

    def _prepared(self, batches: list[pa.RecordBatch], schema: pa.Schema, rows: int) -> pd.DataFrame:
        return applied(self.steps, _frame(batches, schema, rows))


def _ahead(items: Iterator[Item]) -> Iterator[Item]:
    """The same items, of which the next one is made in another thread while one is in use."""
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = thread.submit(next, items, None)
            yield item


def with_dictionaries(fragment: Any, columns: Iterable[str]) -> Any:
    """The same file, read by one that makes dictionaries of more columns."""
    from pyarrow.dataset import ParquetFileFormat  # importing the package shall cost little

    form, options = fragment.format, fragment.format.read_options
    options.dictionary_columns |= {*columns}
    form = ParquetFileFormat(options, default_fragment_scan_options=form.default_fragment_scan_options)
    return form.make_fragment(fragment.path, fragment.filesystem, fragment.partition_expression)


def pieces_of(fragment: Any) -> list[Any]:
    """Neighbouring groups of rows of one file, taken together up to `BATCH` rows; none of a file without rows."""
    pieces: list[list[int]] = []
    rows = BATCH
    for group in fragment.row_groups:
        if rows >= BATCH:
            pieces.append([])
            rows = 0
        pieces[-1].append(group.id)
        rows += group.num_rows
    return [fragment.subset(row_group_ids=piece) for piece in pieces]


def _codable(chunk: Any) -> bool:
    """Whether Arrow can make dictionaries of the text in a part of a file, and one of them holds it all."""
    return ENCODINGS.issuperset(chunk.encodings) and chunk.total_uncompressed_size <= MOST


def _frame(batches: list[pa.RecordBatch], schema: pa.Schema, rows: int) -> pd.DataFrame:
    """Batches as one frame whose dtypes follow from the types of the columns alone."""
    columns = {}
    for place, column in enumerate(schema):
        chunks = [batch.column(place) for batch in batches if batch.num_rows]
        values = pa.chunked_array(chunks, type=(chunks[0] if chunks else column).type)
        values = values if values.type == column.type else decoded(values)
        columns[column.name] = pd.Series(pd.arrays.ArrowExtensionArray(values), copy=False)
    return pd.DataFrame(columns, index=pd.RangeIndex(rows), copy=False)


def pushed(steps: Iterable[Step], empty: pd.DataFrame) -> Any:
    """What can be pushed down of the filters among some steps.

    Parameters
    ----------
    steps : iterable of Step
        In their order.
    empty : DataFrame
        Names and dtypes of the columns in the files, `ArrowDtype` all of them.

    Returns
    -------
    pyarrow.compute.Expression or None
        For all rows: where the steps make any row of it, this is true. It is a conjunction of comparisons, each of a column
        that no step before has written with a constant of exactly the column's own type, so that Arrow compares the very
        numbers that the step compares; a missing value and NaN fulfil no such comparison on either side.
    """
    import pyarrow.dataset as ds  # only to read files: importing the package shall cost little

    written: set[str] = set()
    found = None
    for step in steps:
        for name, op, scalar in _of_step(step, empty, written):
            condition = COMPARISONS[op](ds.field(name), scalar)
            found = condition if found is None else found & condition
        written |= step.touches
    return found


def _of_step(step: Step, empty: pd.DataFrame, written: set[str]) -> Iterator[tuple[str, str, pa.Scalar]]:
    """Comparisons of columns that all rows which a step keeps fulfil."""
    if isinstance(step, Filter):
        yield from _comparisons(step.expression, empty, written)
    if isinstance(step, InPeriods):
        for op, edge in step.edges:
            yield from _comparison(step.periods.time, op, edge, empty, written)


def _comparisons(node: Expression, empty: pd.DataFrame, written: set[str]) -> Iterator[tuple[str, str, pa.Scalar]]:
    """Those among the terms of a conjunction that compare a column with a constant."""
    if not isinstance(node, Operation):
        return
    if node.op == "and":
        for operand in node.operands:
            yield from _comparisons(operand, empty, written)
        return
    if node.op not in COMPARISONS:
        return
    left, right = node.operands  # an expression compares a column with a constant, never the other way round
    if isinstance(left, Column) and isinstance(right, Constant):
        yield from _comparison(left.name, node.op, read_constant(right.value), empty, written)


def _comparison(
    name: str, op: str, constant: Values, empty: pd.DataFrame, written: set[str]
) -> Iterator[tuple[str, str, pa.Scalar]]:
    """One of a column of the files with a constant, where it is the same there."""
    if name in empty and name not in written:
        dtype: Any = empty[name].dtype
        scalar = _as_stored(constant, read_column(empty[name]), dtype.pyarrow_dtype)
        if scalar is not None:
            yield name, op, scalar


def _as_stored(constant: Values, column: Values, stored: pa.DataType) -> pa.Scalar | None:
    """The constant in the column's own type where it is exactly that there; else None.

    Text is left out: files may hold shortened bounds of it. So are decimals, beside which a constant is the one that was
    typed, and durations.
    """
    constant = as_time(constant, column)
    if constant.kind is Kind.NUMBER and pa.types.is_integer(stored):
        limits = np.iinfo(stored.to_pandas_dtype())
        exact = constant.data.dtype.kind != "f" and limits.min <= int(constant.data) <= limits.max
        return pa.scalar(int(constant.data), stored) if exact else None
    if constant.kind is Kind.NUMBER and (pa.types.is_float32(stored) or pa.types.is_float64(stored)):
        with np.errstate(over="ignore"):
            rounded = stored.to_pandas_dtype()(constant.data)
        # numbers of Python, which compares an int with a float without rounding either
        exact = np.isfinite(rounded) and rounded.item() == constant.data.item()
        return pa.scalar(float(rounded), stored) if exact else None
    if constant.kind is column.kind and column.kind in DATES and pa.types.is_timestamp(stored):
        ticks, rest = divmod(int(constant.data) * PER_SECOND[stored.unit], PER_SECOND[constant.unit])
        if rest == 0 and abs(ticks) < 1 << 63:
            return pa.scalar(ticks, pa.int64()).cast(stored)
    if constant.kind is column.kind is Kind.DATE and pa.types.is_date32(stored):
        days, rest = divmod(int(constant.data), DAY * PER_SECOND[constant.unit])
        if rest == 0 and abs(days) < 1 << 31:
            return pa.scalar(days, pa.int32()).cast(stored)
    return None
