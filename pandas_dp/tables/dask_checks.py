"""Work of Dask without its own looks at partitions: whether a partition is refused by them follows from its cells.

For all inputs: rows that Dask gives are those of the work as it was, but for blocks of CSV and for objects of which Dask makes
text: what is none is missing. What comes in another dtype, or lacks a column, is fitted to what was declared later on. A
function of the owner's own, and a reader that fails by itself, still fail.

A reader finds a dtype for all cells of a block of CSV, and reads them by other rules where one of them is no number. So all are
read as text, and each becomes a value by itself. For all files of lines: what a line gives follows from that line, and what a
cell becomes from that cell. Of a line that has more cells than the columns need the last ones count for nothing; one that has
fewer lacks the rest. A quote that is never closed still takes the lines after it in its block, and so does a letter that
escapes the end of a line; neither makes the reader fail.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import dask.dataframe as dd
import pandas as pd
from dask.dataframe._pyarrow import is_object_string_dtype
from dask.dataframe.dask_expr import new_collection
from dask.dataframe.dask_expr._expr import ArrowStringConversion, Projection
from dask.dataframe.dask_expr.io.io import FromPandas

from pandas_dp.errors import ArgumentValueError
from pandas_dp.facts.as_text import letter_by_letter
from pandas_dp.facts.kinds import Kind, kind_or_none
from pandas_dp.tables.conforming import conformed, settled

LOOKS = ("verify_meta", "enforce_metadata")  # operands that ask for one


def unchecked(frame: dd.DataFrame) -> dd.DataFrame:
    """The same work without looks at dtypes and names of partitions."""
    expr = frame.expr
    for node in frame.expr.walk():  # from the last one on, so that each still has its name when it is replaced
        if type(node) is ArrowStringConversion:
            expr = expr.substitute(node, Texts.of(node.frame))
        if isinstance(node, FromPandas):
            plain = node.substitute_parameters({"frame": node.frame, "pyarrow_strings_enabled": False})
            rows = Rows(*plain.operands) if type(node) is FromPandas else plain
            expr = expr.substitute(node, Texts.of(rows) if node.pyarrow_strings_enabled else rows)
        looks = [look for look in LOOKS if look in node._parameters and node.operand(look)]
        changed: dict[str, Any] = dict.fromkeys(looks, False) if looks and node._meta.ndim == 2 else {}
        function = node.operand("func") if "func" in node._parameters else None
        if of_csv(function):
            changed["func"] = cell_by_cell(function)
        if changed:
            expr = expr.substitute(node, node.substitute_parameters(changed))
    return new_collection(expr)


def optimized(frame: dd.DataFrame) -> Any:
    """The expression that Dask would carry out; columns that a partition lacks are not taken out of it."""
    expr = frame.optimize(fuse=False).expr
    for node in expr.walk():
        if type(node) is Projection and isinstance(node.operand("columns"), list):
            expr = expr.substitute(node, Chosen(*node.operands))
    return expr.fuse()


def _chosen(rows: Any, columns: list[Any]) -> Any:
    known = isinstance(rows, pd.DataFrame)
    return rows[[name for name in columns if name in rows.columns]] if known else rows


class Chosen(Projection):  # type: ignore[misc]
    """Those of some columns that a partition has."""

    operation = staticmethod(_chosen)


def _texts(rows: Any, names: tuple[Any, ...]) -> Any:
    """Text of objects in columns of these names, cell by cell; of a Series where it has one."""
    if isinstance(rows, pd.Series):
        return _texts(rows.to_frame("texts"), ("texts",) * bool(names))["texts"].rename(rows.name)
    if not isinstance(rows, pd.DataFrame):
        return rows
    made, text = rows.copy(deep=False), pd.StringDtype("pyarrow")
    for place, (name, dtype) in enumerate(rows.dtypes.items()):
        if name in names and is_object_string_dtype(dtype):
            made.isetitem(place, conformed(rows.iloc[:, place], text).array)
    if is_object_string_dtype(rows.index.dtype) and rows.index.nlevels == 1:
        made.index = pd.Index(
            conformed(pd.Series(rows.index.array, dtype=rows.index.dtype), text), name=rows.index.name
        )
    return made


class Texts(ArrowStringConversion):  # type: ignore[misc]
    """Dask's text of objects; its own way fails where a cell is no text, or the label of a row has no time in its zone."""

    _parameters = ("frame", "names")
    operation = staticmethod(_texts)

    @classmethod
    def of(cls, frame: Any) -> Texts:
        """Of the columns that are declared to hold objects or text."""
        meta = frame._meta
        dtypes = meta.dtypes.items() if meta.ndim == 2 else [(meta.name, meta.dtype)]
        return cls(frame, tuple(name for name, dtype in dtypes if is_object_string_dtype(dtype)))


class Rows(FromPandas):  # type: ignore[misc]
    """Rows in memory, cut into partitions whatever their labels are."""

    @cached_property
    def _divisions_and_locations(self) -> tuple[Any, list[int]]:
        with suppress(Exception):  # labels without order or hash, or without a time in their zone
            found: tuple[Any, list[int]] = super()._divisions_and_locations
            return found
        rows = len(self.frame._data)
        size = self.chunksize or -(-rows // self.operand("npartitions"))
        places = [*range(0, rows, size), rows]
        return (None,) * len(places), places


OF_CSV = {"reader", "head", "dtypes", "enforce", "kwargs", "colname"}  # arguments of the function that reads a block
FORMATS = ("date_format", "dayfirst", "yearfirst")
SPELLINGS = ("decimal", "thousands", "true_values", "false_values")
GUESSES = ("parse_dates", "dtype_backend", "low_memory", "float_precision", "cache_dates")
BY_STEPS = (
    "{name}: each cell of CSV is read by itself, dates with the year first. Read the column as text, {reader}(..., "
    "dtype={{'day': 'str'}}), and make dates by a step, ddf.dp.assign(day=lambda d: d.day.str.to_datetime('%d.%m.%Y'))"
)
DECODED = (None, "replace", "ignore", "backslashreplace")  # ways that never fail
ODD_LINES = (
    "{name}={value!r}: one odd line would decide whether questions fail or warn, so this Dask DataFrame cannot be protected: "
    "leave it out, or say {name}={fine!r} in {reader}"
)
FROM_ROWS = (
    "the rows of a block would decide {what}, so this Dask DataFrame cannot be protected: say {line} in {reader}"
)


def of_csv(function: Any) -> bool:
    """Whether a function of Dask's reads blocks of CSV."""
    return isinstance(function, partial) and function.keywords.keys() >= OF_CSV


def check_reader(frame: dd.DataFrame) -> None:
    """Refuse arguments of a reader by which rows decide how others are read, or that `Cells` does not know.

    Raises
    ------
    ArgumentValueError
    """
    for node in frame.expr.walk():
        function: Any = node.operand("func") if "func" in node._parameters else None
        if of_csv(function):
            _check(function.keywords["reader"], function.keywords["head"], function.keywords["kwargs"])


def _check(reader: Callable[..., pd.DataFrame], head: pd.DataFrame, given: dict[str, Any]) -> None:
    named = f"dd.{reader.__name__}"
    odd = [BY_STEPS.format(name=name, reader=named) for name in FORMATS if given.get(name)]
    for name, fine in (("encoding_errors", DECODED), ("on_bad_lines", (None, "skip"))):
        if given.get(name) not in fine and not callable(given[name]):
            odd.append(ODD_LINES.format(name=name, value=given[name], fine=fine[1], reader=named))
    labels, encoding = not isinstance(head.index, pd.RangeIndex), str(given.get("encoding") or "utf-8")
    fixed = reader is pd.read_fwf and given.get("colspecs", "infer") == "infer" and given.get("widths") is None
    guessed = any(name in given and given[name] is None for name in ("sep", "delimiter"))
    headless = given.get("header", 0) is None and given.get("names") is None
    letters = f"{named}, or another encoding with one byte for each letter"
    from_rows = (
        (not letter_by_letter(encoding), "how the letters after an odd one are read", "encoding='utf-8'", letters),
        (fixed, "where columns begin", "widths=[...]", named),
        (guessed, "what stands between cells", "sep=','", named),
        (headless, "how many columns there are", "names=[...]", named),
        (labels, "that cells are labels of rows", "names=[...], with one for each cell of a line,", named),
    )
    odd += [FROM_ROWS.format(what=what, line=line, reader=where) for so, what, line, where in from_rows if so]
    if odd:
        raise ArgumentValueError(odd[0]) from None  # whoever asks whether there are columns is refused before


def cell_by_cell(function: Any) -> Any:
    """The function that reads a block, each cell by itself."""
    words = function.keywords
    read = Cells(words["reader"], words["head"].iloc[:0], words["kwargs"])
    return partial(function, reader=read, dtypes={}, enforce=False, kwargs=read.options(words["colname"]))


@dataclass(frozen=True)
class Cells:
    """A reader that reads text, and makes of each cell what it is in the dtype that is declared of its column.

    Attributes
    ----------
    reader : callable
        Of pandas.
    empty : DataFrame
        Without a row, in the declared dtypes.
    given : dict
        The arguments of the owner's.
    """

    reader: Callable[..., pd.DataFrame]
    empty: pd.DataFrame = field(repr=False)
    given: dict[str, Any] = field(repr=False)

    def options(self, path: Any) -> dict[str, Any]:
        """Arguments by which the reader guesses nothing, and does not fail because of a line."""
        left = {*FORMATS, *SPELLINGS, *GUESSES} | ({"engine"} if self.given.get("engine") == "pyarrow" else set())
        made = {name: value for name, value in self.given.items() if name not in left}
        fixed = made.get("converters") or {}
        texts = {name: "str" for name in self.empty.columns if name not in fixed and name != path}
        # with columns chosen a line that has more cells is no other than the rest, wherever it stands
        chosen = made.get("usecols") or made.get("names") or _every
        lenient = {"on_bad_lines": "skip", "encoding_errors": "replace", "index_col": False}
        lenient |= {} if self.reader is pd.read_fwf else {"usecols": chosen}
        return lenient | made | {"dtype": texts}

    def __call__(self, block: Any, **options: Any) -> pd.DataFrame:
        """Rows of a block."""
        rows = self._read(block.read(), options)
        for place, name in enumerate(rows.columns):
            kind = kind_or_none(self.empty.dtypes[name]) if name in options["dtype"] else None
            if kind is not None and kind.name != "key":
                text = self._spelled(rows.iloc[:, place], kind)
                rows.isetitem(place, conformed(text, settled(self.empty.dtypes[name])).array)
        return rows

    def _read(self, block: bytes, options: dict[str, Any]) -> pd.DataFrame:
        """Read a block, also one that ends within quotes, or with a letter that escapes the next one."""
        quote = (options.get("quotechar") or '"').encode(options.get("encoding") or "utf-8", "replace")
        for end in (b"", b"\n", quote, b"\n" + quote):
            with suppress(pd.errors.ParserError):
                return self.reader(io.BytesIO(block + end), **options)
        return self.reader(io.BytesIO(block), **options)

    def _spelled(self, text: pd.Series[Any], kind: Kind) -> pd.Series[Any]:
        """Cells in the spelling of Python, where the owner told another one."""
        if kind.name == "bool":
            for name, word in (("true_values", "true"), ("false_values", "false")):
                text = text.mask(text.isin(list(map(str, self.given.get(name) or ()))), word)
        decimal, thousands = self.given.get("decimal") or ".", self.given.get("thousands")
        letters: dict[Any, Any] = {} if decimal == "." else {".": "?", decimal: "."}
        letters |= {thousands: ""} if thousands else {}
        return text.str.translate(str.maketrans(letters)) if letters and kind.name == "number" else text


def _every(name: Any) -> bool:
    return True
