"""Public facts by column from files and samples: plain dicts, as `Schema` takes them, and the TOML that says them."""

from __future__ import annotations

import datetime as dt
import json
import math
import os
import re
import tomllib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts.kinds import kind_or_none, with_missing

PLACE = re.compile(r"\((at [^()]*)\)$")  # with which the errors of tomllib end; what stands before may quote the file
MOST_KEYS = 1000  # of a column of a sample; with more it is rather free text or names than a list of keys
Facts = dict[str, dict[str, Any]]


def read_toml(path: Any, what: str, example: str) -> dict[str, Any]:
    """Read what a TOML file holds; `what` it is and an `example` of it are for errors.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        Nothing else, whatever the file holds; the place of a fault is named, and nothing that stands there.
    """
    if not isinstance(path, str | os.PathLike):
        raise ArgumentTypeError(f"path must be the name of a file, such as '{what}.toml'")
    try:
        with open(path, "rb") as file:
            text = file.read()
    except (OSError, ValueError):  # a name with a zero in it
        raise ArgumentValueError(
            f"the {what} {os.fspath(path)!s} cannot be read: there is no such file, or it may not be opened"
        ) from None
    try:
        return tomllib.loads(text.decode())
    except (ValueError, RecursionError) as error:  # no TOML, or no UTF-8
        place = PLACE.search(str(error))
        raise ArgumentValueError(
            f"the {what} is no TOML, such as {example}{'' if place is None else f'; the fault is {place[1]}'}"
        ) from None


def toml_of(columns: Mapping[Any, Mapping[str, Any]]) -> str:
    """Write facts by column as TOML, one table a column."""
    return "\n".join(_table(column, facts) for column, facts in columns.items())


def _table(column: Any, facts: Mapping[str, Any]) -> str:
    if not isinstance(column, str):
        raise ArgumentTypeError("to_toml() needs columns named by text: df.columns = df.columns.astype(str)")
    lines = [f"[{_text(column, column)}]"]
    for field, value in facts.items():
        several = isinstance(value, tuple | list)
        shown = [_scalar(entry, column) for entry in (value if several else (value,))]
        lines.append(f"{field} = [{', '.join(shown)}]" if several else f"{field} = {shown[0]}")
    return "\n".join(lines) + "\n"


def _scalar(value: Any, column: str) -> str:
    """A number, text, truth value or date in TOML; dates with a time zone in UTC, which is the same moment."""
    if isinstance(value, np.datetime64):
        value = pd.Timestamp(value)
    elif isinstance(value, np.generic) and not isinstance(value, np.timedelta64):
        value = value.item()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return repr(value)
    if isinstance(value, str):
        return _text(value, column)
    if isinstance(value, dt.date) and value is not pd.NaT and not getattr(value, "nanosecond", 0):
        aware = isinstance(value, dt.datetime) and value.tzinfo is not None
        return (value.astimezone(dt.UTC) if aware else value).isoformat()  # type: ignore[attr-defined]
    raise ArgumentTypeError(
        f"to_toml() writes numbers, texts, truth values and dates down to microseconds, and {column!r} has something else; "
        "durations can be texts with a unit: {'bounds': ('0 h', '5 h')}"
    )


def _text(text: str, column: str) -> str:
    """A text between quotes; JSON's escapes are TOML's, but for the delete character."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ArgumentValueError(f"to_toml() cannot write half a surrogate pair: column {column!r}") from None
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def arrow_facts(source: Any, fields: tuple[str, ...]) -> Facts:
    """Facts by column from the metadata of Arrow's fields: JSON under the names of the facts, all other metadata aside.

    Of a Parquet file the schema in its footer is read and no row; neither are the statistics or dictionaries of its columns,
    which are made from the rows.
    """
    if isinstance(source, str | os.PathLike):
        from pyarrow import parquet  # not every program needs it

        try:
            source = parquet.read_schema(os.fspath(source))
        except (OSError, ValueError, pa.ArrowException):
            raise ArgumentValueError(
                f"from_arrow cannot read {os.fspath(source)!r}: there is no such file, it may not be opened, or it "
                "is no Parquet"
            ) from None
    if not isinstance(source, pa.Schema):
        raise ArgumentTypeError(
            "from_arrow takes a pyarrow.Schema or the path of a Parquet file: from_arrow(table.schema)"
        )
    facts: Facts = {}
    for place in range(len(source)):
        field = source.field(place)
        said = {name: (field.metadata or {}).get(name.encode()) for name in fields}
        found = {name: _json(text, field.name, name) for name, text in said.items() if text is not None}
        if found:
            facts[field.name] = found
    return facts


def _json(text: bytes, column: str, name: str) -> Any:
    def refuse(constant: str) -> Any:
        raise ValueError(constant)  # NaN and Infinity are no JSON

    try:
        return json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError):
        line = f"field.with_metadata({{{name!r}: '[0, 100]'}})"
        raise ArgumentValueError(f"metadata {name!r} of the Arrow field {column!r} is no JSON: {line}") from None


def sample_facts(frame: pd.DataFrame) -> Facts:
    """Facts by column of a public sample: dtypes, values of texts and categories as keys, ends of numbers and dates as bounds.

    A column of one value, of truth values, or of more than `MOST_KEYS` keys gets none.
    """
    facts: Facts = {}
    for place, name in enumerate(frame.columns):
        column = frame.iloc[:, place].dropna()
        kind = kind_or_none(column.dtype)
        if kind is None or kind.name == "bool":
            continue
        said: dict[str, Any] = (
            {"dtype": str(column.dtype)} if has_dtype(column.dtype, str(column.dtype), parsed=True) else {}
        )
        if kind.name == "key":
            values = {value for value in column.astype(object) if isinstance(value, str | int | np.integer)}
            if 0 < len(values) <= MOST_KEYS:
                facts[name] = said | {"keys": sorted(values, key=lambda value: (isinstance(value, str), value))}
            continue
        if kind.name == "number":
            column = column[np.isfinite(column.to_numpy(np.float64))]
        if len(column) and column.min() < column.max():
            ends = (column.min(), column.max())
            plain = tuple(end.item() if isinstance(end, np.generic) else end for end in ends)
            facts[name] = said | {"bounds": plain}
    return facts


def has_dtype(dtype: Any, name: str, parsed: bool = False) -> bool:
    """Whether a dtype goes by this name, as pandas shows or reads it; where `parsed`, only as pandas reads it.

    Of categories the name alone counts: which there are may come from the rows. Integers and truth values of NumPy's go by
    their names also where the column has missing values.
    """
    if str(dtype) == name and (name == "category" or not parsed):
        return True
    try:
        known = pd.api.types.pandas_dtype(name)
        return bool(known == dtype or with_missing(known) == dtype)
    except (TypeError, ValueError, NotImplementedError):  # no name that pandas knows, or none that it can read
        return False


def made_of(name: str) -> str:
    """The name of the dtype to make of a column that shall go by this one: that which missing cells do not keep from it."""
    try:
        return str(with_missing(pd.api.types.pandas_dtype(name)))
    except (TypeError, ValueError, NotImplementedError):
        return name
