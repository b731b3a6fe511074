"""Columns of text that hold numbers or dates: how a refusal ends, the step that makes them."""

from __future__ import annotations

import datetime as dt
from keyword import iskeyword
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.facts.kinds import Kind


def of_text(kind: Kind, column: str, like: Any = None) -> str:
    """The end of a refusal of a column of text, objects or categories: the step that makes numbers, or dates `like` these."""
    if kind.name != "key":
        return ""
    dates = of_dates(like)
    made = """.str.to_datetime("%Y-%m-%d")""" if dates else '.astype("float64")'
    return f"; if the text holds {'dates' if dates else 'numbers'}, convert it first: {step_that_makes(column, made)}"


def step_that_makes(column: str, made: str) -> str:
    """The step that makes something else of a column."""
    named = f"{column}=" if column.isidentifier() and not iskeyword(column) else f"**{{{column!r}: "
    return f".assign({named}lambda d: d[{column!r}]{made}{'' if named.endswith('=') else '}'})"


def of_dates(given: Any) -> bool:
    """Whether public bins or keys are dates or periods."""
    if isinstance(given, pd.PeriodIndex | pd.DatetimeIndex):
        return True
    return isinstance(given, list | tuple) and any(
        isinstance(entry, dt.date | np.datetime64 | pd.Period) for entry in given
    )
