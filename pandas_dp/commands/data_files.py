"""Data files as frames whose names and dtypes follow from public facts: the file's schema, or for CSV the plan's.

For all inputs: dtypes are the same with and without the rows, so what is checked without them holds for them. Whatever goes
wrong while reading is told in a fixed text: readers quote cells.
"""

from __future__ import annotations

import contextlib
import csv
import io
import os
import warnings
from collections.abc import Callable, Generator, Iterator
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pandas_dp.engines.arrow import is_text
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, DataFileError
from pandas_dp.facts.kinds import kind_of, kind_or_none
from pandas_dp.facts.schema import ColumnFacts, Schema
from pandas_dp.tables.arrow_frames import dictionary_paths
from pandas_dp.tables.conforming import declared, fitted, of_pandas

FORMATS = {".parquet": "parquet", ".pq": "parquet", ".feather": "feather", ".arrow": "feather", ".csv": "csv"}
NONE = ["", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA"]
NONE += ["NULL", "NaN", "None", "n/a", "nan", "null"]  # what pandas takes for a missing cell
LINES = 1 << 16  # of a CSV file that are read together
CSV_DTYPES = "'float64', 'Int64', 'boolean', 'datetime64[us]' or 'str'"
LISTS: dict[int, Any] = {
    pa.lib.Type_LIST: pa.list_,
    pa.lib.Type_LARGE_LIST: pa.large_list,
    pa.lib.Type_LIST_VIEW: pa.list_view,
    pa.lib.Type_LARGE_LIST_VIEW: pa.large_list_view,
}
UNREADABLE = "the data file cannot be read as {format}; nothing was charged"


def empty_frame(path: str, schema: Schema) -> pd.DataFrame:
    """Return the columns of a file without a row: of Parquet and Feather the schema is read, of CSV the first line.

    Raises
    ------
    DataFileError
        There is no such file, or it cannot be read.
    ArgumentTypeError, ArgumentValueError
        For another kind of file, and for dtypes that a CSV file is not read as.
    """
    form = _format(path)
    if form == "csv":
        names = _guarded(form, lambda: _names(path))
        return pd.DataFrame({name: pd.Series([], dtype=_wanted(name, schema[str(name)])) for name in names})
    frame: pd.DataFrame = _guarded(form, lambda: _columns(_arrow_schema(path, form)))
    return frame


def whole_frame(path: str, schema: Schema) -> pd.DataFrame:
    """Return all rows of a file, on a plain index, with the dtypes of `empty_frame`."""
    form, empty = _format(path), empty_frame(path, schema)
    frame: pd.DataFrame = _guarded(form, lambda: (_csv if form == "csv" else _arrow)(path, empty))
    return frame


def same_frame(path: str, schema: Schema, empty: pd.DataFrame) -> pd.DataFrame:
    """Return all rows of a file that still has the columns of `empty`, which were looked at before.

    Raises
    ------
    DataFileError
    """
    frame = whole_frame(path, schema)
    if not frame.dtypes.equals(empty.dtypes):
        raise DataFileError("the data file was replaced while it was read; nothing was charged: run it again")
    return frame


@contextlib.contextmanager
def dtypes_told(path: str) -> Iterator[None]:
    """Say where the dtypes of a CSV file come from, if a question does not fit them."""
    try:
        yield
    except ArgumentTypeError as error:
        if not path.lower().endswith(".csv"):
            raise
        raise ArgumentTypeError(
            f"{error}. Columns of a CSV file are text, but for those to which the schema gives bounds or a dtype: {CSV_DTYPES}"
        ) from None


def _format(path: str) -> str:
    form = FORMATS.get(os.path.splitext(path)[1].lower())
    if form is None:
        raise ArgumentValueError(f"the data file must end with {', '.join(FORMATS)}: visits.parquet")
    if not os.path.isfile(path):
        raise DataFileError(f"there is no data file {path}")
    return form


def _guarded(form: str, read: Callable[[], Any]) -> Any:
    """Read; errors and warnings of readers quote cells and count rows, so that none of them gets out."""
    failed = False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return read()
    except MemoryError:
        raise DataFileError("the data file does not fit into memory; nothing was charged") from None
    except Exception:  # noqa: BLE001 - see above
        failed = True
    if failed:  # outside of the handler, so that the error carries nothing of the reader's
        raise DataFileError(UNREADABLE.format(format=form.upper() if form == "csv" else form.capitalize()))
    return None


def _arrow_schema(path: str, form: str) -> pa.Schema:
    if form == "feather":
        with pa.memory_map(path) as source:
            return pa.ipc.open_file(source).schema
    from pyarrow import parquet  # not every program needs it

    return parquet.read_schema(path)


def _columns(schema: pa.Schema) -> pd.DataFrame:
    """The columns of a table of Arrow without a row; the dtype of each follows from its type alone."""
    made = schema.empty_table().to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True)
    columns = {place: pd.Series([], dtype=_dtype(dtype)) for place, dtype in enumerate(declared(made).dtypes)}
    frame = pd.DataFrame(columns, index=made.index)
    frame.columns = made.columns
    return frame


def _dtype(dtype: pd.ArrowDtype) -> Any:
    held, kind = dtype.pyarrow_dtype, kind_or_none(dtype)
    arrow = (
        kind is None
        or pa.types.is_date(held)
        or pa.types.is_decimal(held)
        or (kind.name == "key" and not is_text(held))
    )
    return dtype if arrow else of_pandas(held)


def _arrow(path: str, empty: pd.DataFrame) -> pd.DataFrame:
    if path.lower().endswith((".parquet", ".pq")):
        from pyarrow import parquet  # not every program needs it

        coded = dictionary_paths(parquet.read_metadata(path))
        # unlike read_table it takes nothing from the names of directories
        with parquet.ParquetFile(path, read_dictionary=coded) as file:
            table = file.read()
    else:
        with pa.OSFile(path) as source:
            table = pa.ipc.open_file(source).read_all()
        for chunk in (chunk for column in table.columns for chunk in column.chunks):
            chunk.view(_bare(chunk.type)).validate(
                full=True
            )  # the format has no checksums, and pandas trusts its lengths
    return fitted(table.to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True), empty)


def _bare(held: pa.DataType) -> pa.DataType:
    """The type of the same memory, of which no value is one that a cell must not have."""
    types = pa.types
    if isinstance(held, pa.BaseExtensionType):
        return _bare(held.storage_type)
    if types.is_dictionary(held):
        return pa.dictionary(held.index_type, _bare(held.value_type), held.ordered)
    if types.is_run_end_encoded(held):
        return pa.run_end_encoded(held.run_end_type, _bare(held.value_type))
    if types.is_map(held):
        return pa.map_(_bare(held.key_type), _bare(held.item_type))
    if types.is_nested(held):
        fields = [held.field(place).with_type(_bare(held.field(place).type)) for place in range(held.num_fields)]
        if types.is_struct(held):
            return pa.struct(fields)
        return LISTS.get(held.id, lambda of: pa.list_(of, held.list_size))(fields[0])
    if types.is_decimal(held):
        return pa.binary(held.bit_width // 8)
    if types.is_date(held) or types.is_time(held):
        return pa.int32() if held.bit_width == 32 else pa.int64()
    return {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}.get(
        held, held
    )


def _csv(path: str, empty: pd.DataFrame) -> pd.DataFrame:
    """The rows of a CSV file: each line by itself is one."""
    parts = [empty]
    with contextlib.closing(_lines(path)) as lines:
        next(lines)  # the names
        while held := [_row(line, len(empty.columns)) for line in islice(lines, LINES)]:
            text = pd.DataFrame(
                {place: pd.Series(cells, dtype="str") for place, cells in enumerate(zip(*held, strict=True))}
            )
            text.columns = empty.columns
            parts.append(fitted(text.mask(text.isin(NONE)), empty))
    return pd.concat(parts, ignore_index=True)


def _lines(path: str) -> Generator[str]:
    """Lines of a file that are not blank; bytes that are no text stand as marks in it."""
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        yield from (line for line in file if line.strip())


def _names(path: str) -> list[str]:
    """The names in the first line, as pandas makes them."""
    first = next(_lines(path))
    return list(pd.read_csv(io.StringIO(first), dtype=str, nrows=0, index_col=False).columns)


def _row(line: str, width: int) -> list[str]:
    """Cells of a line: those that it lacks are missing, and all where it has too many, as nobody knows which is which.

    Quotes end with the line: were a line break in them text, an open one would take the rows below for its own.
    """
    try:
        cells = next(csv.reader([line]))
    except csv.Error:  # a cell longer than there are
        cells = []
    cells = cells if len(cells) <= width else []
    return cells + [""] * (width - len(cells))


def _wanted(name: Any, facts: ColumnFacts) -> Any:
    """The dtype of a column of a CSV file: never what its cells look like."""
    if facts.dtype is None:
        known = [value for value in (*(facts.bounds or ()), *(facts.keys or ())) if value is not None]
        if not known or any(isinstance(value, str) for value in facts.keys or ()):
            return pd.StringDtype(na_value=np.nan)
        numbers = all(isinstance(value, int | float) for value in known)
        return np.dtype("float64") if numbers else np.dtype("datetime64[us]")
    try:
        dtype = pd.api.types.pandas_dtype(facts.dtype)
        kind = kind_of(dtype)
    except (TypeError, ValueError, NotImplementedError):
        raise _no_dtype(name, facts.dtype) from None
    nullable = isinstance(dtype, pd.BooleanDtype) or (
        kind.name == "number" and (getattr(dtype, "kind", "") == "f" or str(dtype)[:1] in "IU")
    )
    date = kind.name == "datetime" and isinstance(dtype, np.dtype | pd.DatetimeTZDtype)
    if not (nullable or date or isinstance(dtype, pd.StringDtype)) or isinstance(dtype, pd.ArrowDtype):
        raise _no_dtype(name, facts.dtype)
    return dtype


def _no_dtype(name: Any, dtype: str) -> ArgumentTypeError:
    return ArgumentTypeError(
        f"schema of {name!r}: columns of CSV files have missing cells and no durations, so none is read as {dtype!r}: "
        f"dtype = {CSV_DTYPES}"
    )
