"""Public lookup tables as maps from a key to each of their other columns."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from decimal import InvalidOperation
from typing import Any

import pandas as pd

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.kinds import is_missing
from pandas_dp.public_arguments import is_private
from pandas_dp.steps.choices import make_map
from pandas_dp.steps.expression import Column, Map, quote


def check_public(lookup: Any) -> None:
    """Refuse a protected table, and what was made of one, where public data is asked for."""
    if is_private(lookup):
        raise ArgumentValueError(
            "merge: the lookup is a protected table, or was made of one, and what it holds is private. A lookup is public, "
            "such as the labels of codes: {'code': ['a', 'b'], 'label': ['first', 'second']}. Join two tables of people "
            "before df.dp.protect"
        )


def lookup_maps(lookup: Any, on: str) -> dict[str, Map]:
    """Maps of a lookup table by the names of its columns, from the column of keys; missing values are left out.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        If it is no table, keys are missing or repeated, or a column has no values or some that are no constants.
    """
    table = _table(lookup)
    # among dates a part of one would be in it, too, and NA is neither equal to a text nor another one
    if not any(isinstance(name, str) and name == on for name in table.columns):
        raise ArgumentValueError(f"merge: the lookup has no column {quote(on)}, which on= names")
    if not table.columns.is_unique or len(table.columns) < 2:
        raise ArgumentValueError(f"merge: the lookup needs columns besides {quote(on)}, each with a name of its own")
    keys, missing = _cells(table[on])
    if any(missing):
        raise ArgumentValueError(f"merge: a key of the lookup is missing: lookup.dropna(subset=[{on!r}])")
    maps = {}
    for name in table.columns:
        if isinstance(name, str) and name == on:
            continue
        cells, absent = _cells(table[name])
        pairs = [(key, cell) for key, cell, gone in zip(keys, cells, absent, strict=True) if not gone]
        if not pairs:
            raise ArgumentValueError(f"merge: the column {quote(name)} of the lookup has no values")
        try:
            make_map(Column(on), keys, keys)  # refuses repeated keys of rows without a value, too
            maps[name] = make_map(Column(on), *map(list, zip(*pairs, strict=True)))
        except (ArgumentTypeError, ArgumentValueError) as error:
            text = str(error).replace("map: two keys are equal", f"two keys are equal: lookup.drop_duplicates({on!r})")
            raise type(error)(f"merge: column {quote(name)} of the lookup: {text}") from None
    return maps


def _table(lookup: Any) -> pd.DataFrame:
    if isinstance(lookup, pd.DataFrame):
        return lookup
    if isinstance(lookup, Mapping):
        try:
            return pd.DataFrame(dict(lookup))
        except (ValueError, TypeError, InvalidOperation):  # lists of different lengths, or no lists
            pass
    raise ArgumentTypeError(
        "merge: takes a public DataFrame, or lists of one length by name: {'code': ['a', 'b'], 'label': ['first', 'second']}"
    )


def _cells(column: pd.Series[Any]) -> tuple[list[Any], list[bool]]:
    """Cells as Python's and pandas' own values, and which are missing."""
    cells = column.astype(object).tolist()
    dates = [pd.Timestamp(cell) if type(cell) is datetime.date else cell for cell in cells]
    return dates, [is_missing(cell) for cell in cells]
