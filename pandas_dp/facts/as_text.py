"""Columns of text that hold numbers or dates: how a refusal ends, the step that makes them."""

from __future__ import annotations

import codecs
import datetime as dt
import re
from keyword import iskeyword
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.facts.kinds import Kind

ENCODINGS = r"utf-8(-sig)?|iso8859-\d+|cp125\d|cp437|cp85\d|cp86\d|koi8-[ru]|ascii"

TYPED = "df = df.dp"  # a step makes a frame that is asked as the one it is made of
LATER = "; what is written into df after protect is not seen"
OTHER = "; other text becomes missing"
DATE = re.compile(r"\d{4}-\d\d")


def of_text(kind: Kind, column: str, like: Any = None, either: bool = False) -> str:
    """The end of a refusal of a column of text, objects or categories: the step that makes numbers, or dates `like` these.

    Where the question takes `either`, and nothing says which the text holds, both steps.
    """
    if kind.name != "key":
        return ""
    dates = TYPED + step_that_makes(column, """.str.to_datetime("%Y-%m-%d")""")
    if of_dates(like):
        return f"; if the text holds dates, convert it first: {dates}{LATER}"
    numbers = TYPED + step_that_makes(column, '.astype("float64")')
    more = f"; if it holds dates: {dates}" * (either and like is None)
    return f"; if the text holds numbers, convert it first: {numbers}{more}{OTHER}{LATER}"


def in_numbers(kind: Kind, column: str) -> str:
    """What a column of something else than numbers holds, and the step that makes numbers of it."""
    if kind.name == "key":
        return f"{column!r} holds something else{of_text(kind, column)}"
    dates = kind.name == "datetime"
    since = "'2000-01-01'" if kind.tz is None else "'2000-01-01', tz='UTC'"
    days = f"(d[{column!r}] - pd.Timestamp({since})).dt.days"
    what, made = ("dates", days) if dates else ("durations", f"d[{column!r}].dt.total_seconds()")
    return f"{column!r} holds {what}, count {'days' if dates else 'seconds'} first: {TYPED}{step(column, made)}{LATER}"


def step_that_makes(column: str, made: str) -> str:
    """The step that makes something else of a column."""
    return step(column, f"d[{column!r}]{made}")


def step(column: str, made: str) -> str:
    """The step that puts something in the place of a column."""
    named = f"{column}=" if column.isidentifier() and not iskeyword(column) else f"**{{{column!r}: "
    return f".assign({named}lambda d: {made}{'' if named.endswith('=') else '}'})"


def of_dates(given: Any) -> bool:
    """Whether public bins, keys or bounds are dates or periods."""
    if isinstance(given, pd.PeriodIndex | pd.DatetimeIndex):
        return True
    return isinstance(given, list | tuple | pd.Index) and any(
        isinstance(entry, dt.date | np.datetime64 | pd.Period)
        or (isinstance(entry, str) and DATE.match(entry) is not None)
        for entry in given
    )


def letter_by_letter(encoding: str) -> str:
    """The name of an encoding in which each byte is read by itself, or in UTF-8 each letter; an empty text for any other.

    In others one that is wrong changes how the next lines are read, or is read as half a letter, which no text holds.
    """
    try:
        name = codecs.lookup(encoding).name
    except LookupError:
        return ""
    return name if re.fullmatch(ENCODINGS, name) else ""
