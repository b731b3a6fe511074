"""Public facts by column: bounds, keys, steps, dtypes, what a missing value counts as; typed or read from files and samples."""

from __future__ import annotations

import datetime as dt
import json
import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import pandas as pd
import pyarrow as pa

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, Spelled, did_you_mean, meant_file
from pandas_dp.facts.as_text import of_dates
from pandas_dp.facts.kinds import kind_or_none, unit_of, with_missing
from pandas_dp.facts.public_only import (
    PERIODS,
    Held,
    check_all_typed,
    entries,
    is_private,
    legible,
    listed,
    python,
    refuse_private,
)

FIELDS = ("bounds", "keys", "step", "nulls", "dtype")
ENDS = ("min", "max", "lower", "upper", "ge", "le", "minimum", "maximum")  # as other schemas name them


@dataclass(frozen=True)
class ColumnFacts:
    """What is publicly known of one column; None where nothing is said."""

    bounds: tuple[Any, Any] | None = None
    keys: tuple[Any, ...] | None = None
    step: Any = None
    nulls: Any = "drop"
    dtype: str | None = None

    @classmethod
    def of_values(cls, values: tuple[Any, ...]) -> ColumnFacts:
        """Of a column that holds these values and no others."""
        numbers = all(not isinstance(value, str) and math.isfinite(value) for value in values)
        ends = (min(values), max(values)) if numbers and min(values) < max(values) else None
        return cls(bounds=ends, keys=values)

    def filled(self, value: Any) -> ColumnFacts:
        """Of the column when its missing cells became a value: one key more, where it is written as the others are."""
        if self.keys is None or value in self.keys:
            return self
        alike = all(isinstance(key, str) == isinstance(value, str) for key in self.keys)
        return replace(self, keys=(*self.keys, value) if alike else None)


class Change(Protocol):
    """A step, as far as public facts go."""

    def follow(self, facts: Mapping[str, ColumnFacts]) -> dict[str, ColumnFacts]:
        """Facts by column after the step, of those before it."""


class Schema(Spelled):
    """Public facts by column, so that calls stay short.

    Parameters
    ----------
    columns : mapping
        ``{"cost": {"bounds": (0, 20_000)}, "ward": {"keys": ["A", "B"]}}``. Each column takes ``bounds`` (lower, upper),
        ``keys`` (listed values), ``step`` (distance of possible values, for medians), ``nulls`` (``"drop"``,
        the default, or a public constant that a missing value counts as) and ``dtype`` (its name, such as ``"int64"``:
        a table whose column has another one is not protected).

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        For unknown fields or shapes.

    Notes
    -----
    These facts must come from outside the data: a codebook, a questionnaire, common knowledge.

    Examples
    --------
    >>> Schema({"age": {"bounds": (0, 120)}})
    Schema({'age': {'bounds': (0, 120)}})
    """

    def __init__(self, columns: Mapping[str, Mapping[str, Any]]) -> None:
        if not isinstance(columns, Mapping):
            raise ArgumentTypeError("schema must be a dict such as {'age': {'bounds': (0, 120)}}")
        self._columns: dict[str, ColumnFacts] = {}
        for name, facts in columns.items():
            if not isinstance(facts, Mapping):
                raise ArgumentTypeError(
                    f"schema of {name!r}: each column takes a dict such as {{'bounds': (0, 120)}} or {{'keys': ['A', 'B']}}"
                )
            unknown = [field for field in facts if not isinstance(field, str) or field not in FIELDS]
            if unknown:
                text = unknown[0] if isinstance(unknown[0], str) else ""
                ends = "; both ends go into one pair: {'bounds': (0, 120)}" if text in ENDS else ""
                if text in ("bins", "edges"):
                    counted = f"histogram({name!r}, bins=range(0, 101, 10))"
                    if of_dates(facts[text]):
                        counted = f"groupby({name!r}, bins={PERIODS}).size()"
                    ends = f"; bins go into the question: df.dp(epsilon=0.5).{counted}"
                close = ends or did_you_mean(text, FIELDS)
                raise ArgumentValueError(f"schema of {name!r} takes {', '.join(FIELDS)}, not {unknown[0]!r}{close}")
            check_all_typed(f"schema of {name!r}", facts.items())
            refuse_private(f"schema of {name!r}", facts.items())
            self._columns[name] = _facts(facts)

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Schema:
        """Read a schema from a TOML file with one table a column: ``[age]`` and below it ``bounds = [0, 100]``.

        Parameters
        ----------
        path : str or path-like

        Returns
        -------
        Schema

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
            For a file that is missing or no TOML, and for entries that a schema does not know.

        Examples
        --------
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "visits.toml")
        >>> with open(path, "w") as file:
        ...     length = file.write("age.bounds = [0, 100]")
        >>> Schema.from_toml(path)
        Schema({'age': {'bounds': (0, 100)}})
        """
        return cls(read_toml(path, "schema", "[age] and below it bounds = [0, 100]"))

    def to_toml(self) -> str:
        """Return the text of a TOML file that `from_toml` reads as this schema.

        Returns
        -------
        str

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
            For values that TOML has not: it has numbers, texts, truth values and dates down to microseconds.

        Examples
        --------
        >>> print(Schema({"age": {"bounds": (0, 120)}, "sex": {"keys": ["F", "M"]}}).to_toml())
        ["age"]
        bounds = [0, 120]
        <BLANKLINE>
        ["sex"]
        keys = ["F", "M"]
        <BLANKLINE>
        """
        return "\n".join(_table(column, facts) for column, facts in self._said().items())

    @classmethod
    def from_arrow(cls, source: Any) -> Schema:
        """Take a schema from the metadata of Arrow's fields: JSON under ``bounds``, ``keys``, ``step``, ``nulls``, ``dtype``.

        Parameters
        ----------
        source : pyarrow.Schema, str or path-like
            The schema, or a Parquet file, of which only the schema is read and no row.

        Returns
        -------
        Schema

        Raises
        ------
        ArgumentTypeError, ArgumentValueError

        Examples
        --------
        >>> import pyarrow as pa
        >>> Schema.from_arrow(pa.schema([pa.field("age", pa.int64(), metadata={"bounds": "[0, 120]"})]))
        Schema({'age': {'bounds': (0, 120)}})
        """
        return cls(_arrow_facts(source))

    @classmethod
    def from_public_sample(cls, frame: pd.DataFrame) -> Schema:
        """Take a schema from a table that everybody may see, such as a sample that its publisher gives away.

        Parameters
        ----------
        frame : DataFrame
            Public: what it holds becomes the schema as it is. The protected table is none, nor are some rows of it.

        Returns
        -------
        Schema
            Values of columns of text and categories as keys, of up to 1000; smallest and largest number, date or duration
            as bounds; beside them the dtype, where its name says all of it.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
            For a table that a session protects, or that was made from one.

        Notes
        -----
        Keys that the sample lacks are not counted and values beyond its ends are cut: a codebook, where there is one, is
        the better source.

        Examples
        --------
        >>> Schema.from_public_sample(pd.DataFrame({"age": [18, 90], "sex": ["F", "M"]}))
        Schema({'age': {'bounds': (18, 90), 'dtype': 'int64'}, 'sex': {'keys': ('F', 'M'), 'dtype': 'str'}})
        """
        if not isinstance(frame, pd.DataFrame):
            raise ArgumentTypeError("from_public_sample takes a DataFrame that everybody may see")
        if is_private(frame):
            raise ArgumentValueError(
                "from_public_sample takes a public table, and this one is protected, or was made from one that is: what it "
                "holds is private. Say what a codebook says: Schema({'age': {'bounds': (0, 120)}})"
            )
        return cls(_sample_facts(frame))

    @classmethod
    def of(cls, schema: Schema | Mapping[str, Mapping[str, Any]] | None) -> Schema:
        """Return a schema from what ``protect`` accepts.

        Parameters
        ----------
        schema : Schema, dict of str to dict, or None
            Facts by column: ``{"age": {"bounds": (0, 100)}, "sex": {"keys": ["Female", "Male"]}}``.

        Returns
        -------
        Schema

        Raises
        ------
        ArgumentTypeError, ArgumentValueError

        Examples
        --------
        >>> Schema.of({"age": {"bounds": (0, 120)}})
        Schema({'age': {'bounds': (0, 120)}})
        """
        return schema if isinstance(schema, Schema) else cls({} if schema is None else schema)

    def __getitem__(self, column: str) -> ColumnFacts:
        """Facts of a column, empty ones for an unlisted column."""
        return self._columns.get(column, ColumnFacts()) if isinstance(column, str) else ColumnFacts()

    def after(self, steps: Iterable[Change]) -> Schema:
        """Facts of the columns that steps give: those of a column follow it to its new name, and steps make others known.

        A column of labels, mapped values or parts of dates has them for keys, and numbers among them for bounds. What was
        said of a column that a step replaces is not said of the new one, but what was said of a column of lists is said of
        their entries.

        Parameters
        ----------
        steps : iterable of Step

        Returns
        -------
        Schema

        Examples
        --------
        >>> from pandas_dp.steps.changes import Rename
        >>> known = Schema({"age": {"bounds": (0, 120)}})
        >>> known.after([Rename((("age", "years"),))])
        Schema({'years': {'bounds': (0, 120)}})
        """
        columns = dict(self._columns)
        for step in steps:
            columns = step.follow(columns)
        schema = Schema({})
        schema._columns = columns
        return schema

    @property
    def null_rules(self) -> tuple[tuple[str, Any], ...]:
        """Columns whose missing values count as a constant, and the constants: they decide what a question means."""
        rules = ((name, facts.nulls) for name, facts in self._columns.items())
        return tuple(sorted((name, rule) for name, rule in rules if not (isinstance(rule, str) and rule == "drop")))

    def __iter__(self) -> Any:
        """Iterate over the listed columns."""
        return iter(self._columns)

    def __eq__(self, other: object) -> bool:
        """Equal facts."""
        return isinstance(other, Schema) and self._columns == other._columns

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Show the facts as they can be typed."""
        return f"Schema({self._said()})"

    def _said(self) -> dict[str, dict[str, Any]]:
        """What is said of each column, without what is not."""
        return {
            name: {f: getattr(facts, f) for f in FIELDS if not _unsaid(f, getattr(facts, f))}
            for name, facts in self._columns.items()
        }


def _unsaid(field: str, value: Any) -> bool:
    return value is None or (field == "nulls" and isinstance(value, str) and value == "drop")


def _facts(facts: Mapping[str, Any]) -> ColumnFacts:
    given = dict(facts)
    for field in ("bounds", "keys"):
        if given.get(field) is not None:
            if not listed(given[field]):
                raise ArgumentTypeError(f"{field} in a schema must be a list")
            if field == "bounds" and isinstance(given[field], Held):  # edges and keys alone are made in arrays
                raise ArgumentTypeError("bounds in a schema must be two plain values: {'bounds': (0, 100)}")
            given[field] = tuple(entries(given[field], field))
    if given.get("dtype") is not None and not isinstance(given["dtype"], str):
        raise ArgumentTypeError("dtype in a schema must be the name of one: {'dtype': 'int64'}")
    return ColumnFacts(**given)


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
            f"the {what} {os.fspath(path)!s} cannot be read: there is no such file, or it may not be opened{meant_file(path)}"
        ) from None
    import tomllib  # here, so that importing the package costs little

    try:
        return tomllib.loads(text.decode())
    except (ValueError, RecursionError) as error:  # no TOML, or no UTF-8
        place = PLACE.search(str(error))
        raise ArgumentValueError(
            f"the {what} is not TOML, such as {example}{'' if place is None else f'; the fault is {place[1]}'}"
        ) from None


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
    value = python(value)
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
    if not legible(text):
        raise ArgumentValueError(f"to_toml() cannot write half a surrogate pair: column {column!r}")
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _arrow_facts(source: Any) -> Facts:
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
                "is not a Parquet file"
            ) from None
    if not isinstance(source, pa.Schema):
        raise ArgumentTypeError(
            "from_arrow takes a pyarrow.Schema or the path of a Parquet file: from_arrow(table.schema)"
        )
    facts: Facts = {}
    for field in source:
        said = {name: (field.metadata or {}).get(name.encode()) for name in FIELDS}
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
        raise ArgumentValueError(f"metadata {name!r} of the Arrow field {column!r} is not JSON: {line}") from None


def _sample_facts(frame: pd.DataFrame) -> Facts:
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
            facts[name] = said | {"bounds": tuple(map(python, ends))}
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


def unit_said(name: str) -> Fraction | None:
    """What all values of a column are multiples of whose dtype goes by this name."""
    try:
        return unit_of(with_missing(pd.api.types.pandas_dtype(name)))
    except (TypeError, ValueError, NotImplementedError):
        return None


def made_of(name: str) -> str:
    """The name of the dtype to make of a column that shall go by this one: that which missing cells do not keep from it."""
    try:
        return str(with_missing(pd.api.types.pandas_dtype(name)))
    except (TypeError, ValueError, NotImplementedError):
        return name
