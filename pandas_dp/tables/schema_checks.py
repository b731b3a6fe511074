"""Whether what is said of a table fits its columns: schemas, and versions, which stand for one content."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pandas as pd

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, did_you_mean, told
from pandas_dp.facts.kinds import kind_of
from pandas_dp.facts.schema import ColumnFacts, Schema, has_dtype, made_of
from pandas_dp.facts.written import caution
from pandas_dp.tables.protected import Table

if TYPE_CHECKING:
    from pandas_dp.tables.parquet import Source

CHECKSUM = (
    "this version looks like a checksum: if it is computed from the rows, a free answer tells that no row changed. "
    "Type the day or the number of the run: protect(..., table='visits', version='2026-11-28')"
)


def check_alike(table: Table, first: Table, name: str | None, version: str | None) -> None:
    """Check that a table has the names and kinds of the one first protected under its version: more is not compared.

    What ``rows=True`` says of one object says nothing of the rows of another.

    Raises
    ------
    ArgumentValueError
    """
    if table.rows_public is True and first.rows_public is not True:
        of = "this file" if version is None else f"version {version!r} of {name!r}"
        raise ArgumentValueError(
            f"rows=True: answers are about the first table of {of}, and nobody said that its number of rows is public: "
            "type the number that is public, rows=1000, or leave rows= out"
        )
    if table.kinds == first.kinds:
        return
    odd = sorted(one for one in {*table.kinds, *first.kinds} if table.kinds.get(one) != first.kinds.get(one))[0]
    there = f"is of kind {first.kinds[odd]} there" if odd in first.kinds else "is not there"
    raise ArgumentValueError(
        f"version {version!r} of {name!r} has other columns: {odd!r} {there}. Give this table another version, or "
        "another name: df.dp.protect(..., table='visits', version='2')"
    )


def inherited(schema: Schema, frame: pd.DataFrame) -> Schema:
    """Facts that were said of another table, without those that do not fit the kind of a column: nobody said them of it.

    Of dtypes kinds alone are compared, since one missing value makes another dtype.
    """
    kept = Schema({})
    for name in schema:
        if name not in frame.columns or _fits(schema[name], frame[name].dtype, name):
            kept._columns[name] = schema[name]
    return kept


def _fits(facts: ColumnFacts, dtype: Any, name: str) -> bool:
    from pandas_dp.facts.checks import check_facts  # here, so that importing the package costs little

    try:
        check_facts(facts, kind_of(dtype), name)
        said = facts.dtype
        return said is None or has_dtype(dtype, said) or kind_of(pd.api.types.pandas_dtype(said)) == kind_of(dtype)
    except (TypeError, ValueError, NotImplementedError):  # refused, or no dtype that pandas can read
        return False


def check_typed(table: Any, version: Any) -> None:
    """Check the owner's names of a table and its version."""
    line = "protect(..., table='visits', version='2026-11-28')"
    for argument, given in (("table", table), ("version", version)):
        if given is not None and (not isinstance(given, str) or not given):
            raise ArgumentTypeError(f"{argument} must be a text: {line}")
    if any(given is not None and re.fullmatch("[0-9a-fA-F]{32,}", given) for given in (table, version)):
        caution(CHECKSUM)


def check_schema(schema: Schema | None, frame: pd.DataFrame, source: Source | None = None) -> None:
    """Check that a schema speaks of this table's columns, in terms that fit their kinds; a `source` may hold its rows."""
    from pandas_dp.facts.checks import check_facts  # here, so that importing the package costs little

    goes_by = has_dtype if source is None else source.goes_by
    for column in schema or ():
        if column not in frame.columns:
            close = did_you_mean(column, frame.columns)
            raise ArgumentValueError(
                f"schema names {column!r}, which is not a column of this table{close}; leave it out"
            )
        facts, dtype = Schema.of(schema)[column], frame[column].dtype
        with told(f"schema of {column!r}: "):
            kind = kind_of(dtype)
            if facts.dtype is not None and not goes_by(dtype, facts.dtype):
                raise ArgumentTypeError(
                    f"the column has dtype {dtype}, not {facts.dtype!r}: df[{column!r}] = df[{column!r}].astype("
                    f"{made_of(facts.dtype)!r}) before df.dp.protect(...), or in the schema {{'dtype': {str(dtype)!r}}}"
                )
            check_facts(facts, kind, column)
