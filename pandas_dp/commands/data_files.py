"""Data files as frames whose names and dtypes follow from public facts: the file's schema, or for CSV the plan's.

Parquet files are scanned, and need not fit into memory; others are loaded. For all inputs: dtypes are the same with and without
the rows, so what is checked without them holds for them. Whatever goes wrong while reading is told in a fixed text: readers
quote cells. How a CSV file is written is a fact of its owner, the same for every cell.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import gzip
import io
import json
import re
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pandas_dp.accessor.scan import LINE, files_of, scan_parquet
from pandas_dp.commands.words import add_options
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, DataFileError, meant_file
from pandas_dp.facts.as_text import LATER, OTHER, letter_by_letter
from pandas_dp.facts.kinds import kind_of, kind_or_none
from pandas_dp.facts.schema import ColumnFacts, Schema
from pandas_dp.tables.arrow_frames import as_declared, feather_table, taken
from pandas_dp.tables.conforming import fitted
from pandas_dp.tables.frames import scan_of
from pandas_dp.tables.readers import stamp, twice


@dataclass(frozen=True)
class CsvForm:
    """Separator of cells, sign of decimals, sign between thousands, and encoding."""

    sep: str = ","
    decimal: str = "."
    thousands: str = ""
    encoding: str = "utf-8-sig"

    @classmethod
    def of(cls, options: argparse.Namespace) -> CsvForm:
        """The form that was typed.

        Raises
        ------
        ArgumentValueError
        """
        sep = "\t" if options.sep == "\\t" else options.sep
        for name, sign in {"sep": sep, "decimal": options.decimal, "thousands": options.thousands}.items():
            if name == "thousands" and not sign:
                continue
            if len(sign) != 1:
                raise ArgumentValueError(f"--{name} takes one sign: --{name} ';'")
            if sign in '"\r\n' or (name != "sep" and (sign.isalnum() or sign in "+-")):
                raise ArgumentValueError(f"--{name} cannot be {sign!r}, which has a meaning of its own")
        if options.decimal == options.thousands:
            raise ArgumentValueError("--decimal and --thousands are two signs: --decimal , --thousands .")
        encoding = letter_by_letter(options.encoding)
        if not encoding:
            raise ArgumentValueError(
                "--encoding must be 'utf-8' or an encoding with one byte for each letter: --encoding latin-1, or cp1252"
            )
        return cls(sep, options.decimal, options.thousands, "utf-8-sig" if encoding == "utf-8" else encoding)

    def plain(self, text: pd.DataFrame, empty: pd.DataFrame) -> pd.DataFrame:
        """Cells of columns of numbers as they are written in code; one with a point that means nothing is missing."""
        if self.decimal == "." and not self.thousands:
            return text
        for name, dtype in empty.dtypes.items():
            kind = kind_or_none(dtype)
            if kind is not None and kind.name == "number":
                cells = text[name]
                if self.thousands:
                    cells = cells.str.replace(self.thousands, "", regex=False)
                if self.decimal != ".":
                    cells = cells.mask(cells.str.contains(".", regex=False, na=False))
                    cells = cells.str.replace(self.decimal, ".", regex=False)
                text = text.assign(**{str(name): cells})
        return text


PLAIN = CsvForm()


def add_csv_form(command: Any) -> None:
    """Add the options to a command that reads a table."""
    signs = command.add_argument_group("CSV files", "how they are written; the same for each line")
    add_options(signs, "csv")


FORMATS = {".parquet": "parquet", ".pq": "parquet", ".feather": "feather", ".arrow": "feather"}
FORMATS |= {".csv": "csv", ".csv.gz": "csv"}
HELP = (
    f"the table: {', '.join(FORMATS)}; of Parquet and CSV also a directory, or a pattern in quotes: 'visits/*.parquet'"
)
NONE = ["", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA"]
NONE += ["NULL", "NaN", "None", "n/a", "nan", "null"]  # what pandas takes for a missing cell
LINES = 1 << 16  # of a CSV file that are read together
CSV_DTYPES = "'float64', 'Int64', 'boolean', 'datetime64[us]' or 'str'"
# steps that end a refusal of text, of which a command takes none
STEPS = re.compile(
    r"; if (the text|it) holds (numbers|dates)(, convert it first)?: df = .*?\)(?=;|$)|("
    + re.escape(OTHER)
    + ")?"
    + re.escape(LATER)
)
BOUNDED, OPERATION = "() needs a column of numbers or dates", "does not work on text"  # as refusals say
UNREADABLE = "the data file cannot be read as {format}; nothing was charged"


def empty_frame(path: str, schema: Schema, written: CsvForm = PLAIN) -> pd.DataFrame:
    """Return the columns of some files without a row: of Parquet and Feather the schema is read, of CSV the first line.

    Of Parquet it stands for the scanned files wherever a frame does.

    Parameters
    ----------
    path : str
        A file, a directory of files of one kind, or a pattern.
    schema : Schema
    written : CsvForm

    Raises
    ------
    DataFileError
        There is no such file, or it cannot be read, or files differ in their columns.
    ArgumentTypeError, ArgumentValueError
        For another kind of file, and for dtypes that a CSV file is not read as.
    """
    form, files = _found(path)
    if form == "csv":
        listed = _guarded(form, lambda: [_names(file, written) for file in files])
        for file, names in zip(files, listed, strict=True):
            if names != listed[0]:
                raise DataFileError(
                    f"files that are read together must have the same first line; {files[0]} and {file} name different columns"
                )
        return pd.DataFrame({name: pd.Series([], dtype=_wanted(name, schema[str(name)])) for name in listed[0]})
    frame: pd.DataFrame = _scanned(path) if form == "parquet" else _guarded(form, lambda: _columns(files[0]))
    if frame.columns.empty:
        raise DataFileError(
            "the data file has no column of numbers, text, days or moments, so nothing can be asked of it"
        )
    return frame


def same_frame(path: str, schema: Schema, empty: pd.DataFrame, written: CsvForm = PLAIN) -> pd.DataFrame:
    """Return all rows of files that still have the columns of `empty`, which were looked at before; scanned ones as they are.

    Raises
    ------
    DataFileError
    """
    if scan_of(empty) is not None:
        return empty
    form, files = _found(path)
    read = (
        (lambda: _csv(files, empty, written))
        if form == "csv"
        else (lambda: as_declared(feather_table(files[0], _taken)))
    )
    frame: pd.DataFrame = _guarded(form, read)
    if not frame.dtypes.equals(empty_frame(path, schema, written).dtypes) or not frame.dtypes.equals(empty.dtypes):
        raise DataFileError("the data file was replaced while it was read; nothing was charged: run it again")
    return frame


@contextlib.contextmanager
def dtypes_told(path: str, schema: str, empty: pd.DataFrame, asked: Mapping[str, str]) -> Iterator[None]:
    """Say what a CSV file lacks where a question does not fit a column of text: lines of a `schema` for that column.

    Its bounds too, where the question, which `asked` has by its name, gives none. Steps in code are left out.
    """
    try:
        yield
    except ArgumentTypeError as error:
        told, step = STEPS.sub("", str(error)), STEPS.search(str(error))
        column = _of_text(told, step[0] if step else "", empty) if _found(path)[0] == "csv" else None
        if column is None:
            raise ArgumentTypeError(told) from None
        name = re.match("query '([^']+)': ", told)
        bounded = BOUNDED in told and not re.search("bounds|bins", asked.get(name[1] if name else "", ""))
        dtype = "datetime64[us]" if step and step[2] == "dates" else "float64"
        also = ", which can hold public bounds" * bounded
        raise ArgumentTypeError(
            f"{told}. Columns of a CSV file are text unless the schema says otherwise{also}: "
            f"{schema.format(json.dumps(column, ensure_ascii=False))} dtype = '{dtype}'{' and bounds = [0, 5000]' * bounded}. "
            f"There are {CSV_DTYPES}"
        ) from None


def _of_text(told: str, step: str, empty: pd.DataFrame) -> str | None:
    """The column of text that a question does not fit, as its refusal and a step in it name it; None where it fits."""
    held = re.search(r"d\['([^']+)'\]", step) or re.search("'([^']+)' holds ", told)
    named = [held[1]] if held else re.findall(r"\w+", told) if OPERATION in told else []
    return next((name for name in named if name in empty and isinstance(empty[name].dtype, pd.StringDtype)), None)


def _found(path: str) -> tuple[str, list[str]]:
    """The format of the files that a path stands for, and which they are."""
    try:
        files = files_of(path)
        again = twice([*map(stamp, files)])
    except (ArgumentTypeError, ArgumentValueError):
        raise DataFileError(f"there is no data file {path}{meant_file(path)}") from None
    except OSError:
        raise DataFileError(f"a directory of {path} cannot be read") from None
    forms = {next((form for end, form in FORMATS.items() if file.lower().endswith(end)), "") for file in files}
    if "" in forms:
        raise ArgumentValueError(f"data files must end with {', '.join(FORMATS)}: visits.parquet")
    if len(forms) > 1 or (len(files) > 1 and forms == {"feather"}):
        raise ArgumentValueError(
            "several files can be read together only if all are Parquet or all are CSV: 'visits/*.parquet'"
        )
    if again:
        raise DataFileError(
            f"a file of {path} is named twice, so that its rows would count twice: 'visits/**/*.csv'; nothing was charged"
        )
    return forms.pop(), files


def _scanned(path: str) -> pd.DataFrame:
    """The columns of Parquet files that are scanned."""
    try:
        return scan_parquet(path)._carrier
    except (ArgumentTypeError, ArgumentValueError) as error:
        text = str(error).removeprefix("path: ").removesuffix(f": {LINE}")
    raise DataFileError(f"{text}; nothing was charged")


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


def _columns(path: str) -> pd.DataFrame:
    with pa.memory_map(path) as source:
        schema = pa.ipc.open_file(source).schema
    return as_declared(schema.empty_table().select(_taken(schema)))


def _taken(schema: pa.Schema) -> list[int]:
    """Places of the columns that are read; of others nothing can be asked."""
    return [place for place, field in enumerate(schema) if taken(field.type)]


def _csv(paths: list[str], empty: pd.DataFrame, written: CsvForm) -> pd.DataFrame:
    """The rows of CSV files: each line by itself is one."""
    parts = [empty]
    for path in paths:
        with contextlib.closing(_lines(path, written)) as lines:
            next(lines)  # the names
            while held := [_row(line, len(empty.columns), written.sep) for line in islice(lines, LINES)]:
                text = pd.DataFrame(
                    {place: pd.Series(cells, dtype="str") for place, cells in enumerate(zip(*held, strict=True))}
                )
                text.columns = empty.columns
                parts.append(fitted(written.plain(text.mask(text.isin(NONE)), empty), empty))
    return pd.concat(parts, ignore_index=True)


def _lines(path: str, written: CsvForm) -> Generator[str]:
    """Lines of a file that are not blank; bytes that are no text stand as marks in it."""
    opened = gzip.open if path.lower().endswith(".gz") else open
    with opened(path, "rt", encoding=written.encoding, errors="replace") as file:
        yield from (line for line in file if line.strip())


def _names(path: str, written: CsvForm) -> list[str]:
    """The names in the first line, as pandas makes them."""
    first = next(_lines(path, written))
    return list(pd.read_csv(io.StringIO(first), sep=written.sep, dtype=str, nrows=0, index_col=False).columns)


def _row(line: str, width: int, sep: str) -> list[str]:
    """Cells of a line: those that it lacks are missing, and all where it has too many, as nobody knows which is which.

    Quotes end with the line: were a line break in them text, an open one would take the rows below for its own.
    """
    try:
        cells = next(csv.reader([line], delimiter=sep))
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
