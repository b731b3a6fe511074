"""Data files as frames whose names and dtypes follow from public facts: the file's schema, or for CSV the plan's.

For all inputs: dtypes are the same with and without the rows, so what is checked without them holds for them. Whatever goes
wrong while reading is told in a fixed text: readers quote cells.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, DataFileError
from pandas_dp.kinds import DATE, kind_of
from pandas_dp.schema import ColumnFacts, Schema
from pandas_dp.steps.conversion import number

FORMATS = {".parquet": "parquet", ".pq": "parquet", ".feather": "feather", ".arrow": "feather", ".csv": "csv"}
NULLABLE: dict[Any, Any] = {  # numpy's integers have no missing values, so that a single cell would decide on the dtype
    pa.int8(): pd.Int8Dtype(),
    pa.int16(): pd.Int16Dtype(),
    pa.int32(): pd.Int32Dtype(),
    pa.int64(): pd.Int64Dtype(),
    pa.uint8(): pd.UInt8Dtype(),
    pa.uint16(): pd.UInt16Dtype(),
    pa.uint32(): pd.UInt32Dtype(),
    pa.uint64(): pd.UInt64Dtype(),
    pa.bool_(): pd.BooleanDtype(),
    pa.string(): pd.StringDtype(na_value=np.nan),
    pa.large_string(): pd.StringDtype(na_value=np.nan),
}
TRUE, FALSE = ("true", "True", "TRUE", "1"), ("false", "False", "FALSE", "0")
FINER = re.compile(r"(\.\d{6})\d+")
CSV_DTYPES = "'float64', 'Int64', 'boolean', 'datetime64[us]' or 'str'"
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
        return _typed(_guarded(form, lambda: _csv(io.BytesIO(_first_record(path)), 0)), schema)
    frame: pd.DataFrame = _guarded(form, lambda: _pandas(_arrow_schema(path, form).empty_table()))
    return frame


def whole_frame(path: str, schema: Schema) -> pd.DataFrame:
    """Return all rows of a file, on a plain index, with the dtypes of `empty_frame`."""
    form = _format(path)
    if form == "csv":
        return _typed(_guarded(form, lambda: _csv(path, None)), schema)
    frame: pd.DataFrame = _guarded(form, lambda: _pandas(_arrow_table(path, form)))
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
            warnings.simplefilter("error", pd.errors.ParserWarning)  # lines that do not fit the header
            warnings.simplefilter("ignore", Warning, append=True)
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


def _arrow_table(path: str, form: str) -> pa.Table:
    if form == "feather":
        with pa.OSFile(path) as source:
            table = pa.ipc.open_file(source).read_all()
        table.validate(full=True)  # the format has no checksums, and pandas trusts its lengths
        return table
    from pyarrow import parquet  # not every program needs it

    with parquet.ParquetFile(path) as file:  # unlike read_table it takes nothing from the names of directories
        return file.read()


def _pandas(table: pa.Table) -> pd.DataFrame:
    """A table in pandas; the dtype of each column follows from its Arrow type alone."""
    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):  # the categories would come from the rows
            table = table.set_column(place, field.name, table.column(place).cast(field.type.value_type))
    frame: pd.DataFrame = table.to_pandas(types_mapper=_dtype, ignore_metadata=True)
    return frame


def _dtype(type_: pa.DataType) -> Any:
    if pa.types.is_date(type_) or pa.types.is_decimal(type_):
        return pd.ArrowDtype(type_)
    return NULLABLE.get(type_)  # floats, timestamps and durations are what pandas takes them for


def _csv(source: Any, rows: int | None) -> pd.DataFrame:
    return pd.read_csv(source, dtype=str, nrows=rows, index_col=False, on_bad_lines="error", encoding="utf-8")


def _first_record(path: str) -> bytes:
    """The names of a CSV file: its first line that is not blank, with those that a quoted name goes on in.

    pandas parses the row below as well, and refuses the file where that leaves a quote open.
    """
    record = b""
    with open(path, "rb") as file:
        for line in file:
            record += line
            if record.removeprefix(codecs.BOM_UTF8).strip() and record.count(b'"') % 2 == 0:
                break
    return record


def _typed(text: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """Columns of text in the dtypes that the schema says or its bounds suggest; a cell that is none is missing."""
    return pd.DataFrame(
        {name: _converted(column.astype("str"), _wanted(name, schema[str(name)])) for name, column in text.items()},
        index=text.index,
    )


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


def _converted(text: pd.Series[Any], dtype: Any) -> pd.Series[Any]:
    """Cells of a column one by one; what they become depends on none but themselves."""
    kind = kind_of(dtype)
    if kind.name == "key":
        return text.astype(dtype)
    if kind.name == "bool":
        known = {**dict.fromkeys(TRUE, True), **dict.fromkeys(FALSE, False)}
        return text.str.strip().map(known).astype("boolean")
    if kind.name == "datetime":
        cells = text.str.strip().str.replace(FINER, r"\1", regex=True)  # finer ones would decide on the unit of all
        dates = pd.to_datetime(cells.where(cells.str.fullmatch(DATE)), errors="coerce", format="ISO8601", utc=True)
        return dates.dt.as_unit("us").dt.tz_convert(kind.tz).astype(dtype)
    values = np.fromiter(map(number, text.to_numpy(object)), np.float64, len(text))
    if getattr(dtype, "kind", "") == "f":
        return pd.Series(values, index=text.index).astype(dtype)
    limits = np.iinfo(dtype.numpy_dtype)
    with np.errstate(invalid="ignore"):
        fits = (np.trunc(values) == values) & (values >= float(limits.min)) & (values < float(limits.max) + 1)
    whole = np.where(fits, values, 0).astype(dtype.numpy_dtype)
    return pd.Series(pd.array(whole, dtype=dtype), index=text.index).mask(~fits)
