"""One call of a query as it was recorded: kept apart from what may change, compared by what it asks, written as typed."""

from __future__ import annotations

import datetime as dt
import inspect
import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pandas_dp import plan_files
from pandas_dp.priced.text import MOST_CHARACTERS, MOST_LISTED, periods_text, value_text

# equal ones are the same argument
PLAIN = (str, int, float, Decimal, Fraction, dt.date, dt.timedelta, pd.Period, type(None))
ITEM = "[]"  # the name under which the selection of a column is recorded


class Call(NamedTuple):
    """One method of the chain with its arguments, or the selection of a column."""

    name: str
    args: tuple[Any, ...]
    options: dict[str, Any]

    def __str__(self) -> str:
        """Write it as typed."""
        if self.name == ITEM:
            return f"[{self.args[0]!r}]"
        given = [*map(shown, self.args), *(f"{name}={shown(value)}" for name, value in self.options.items())]
        return f".{self.name}({', '.join(given)})"

    @property
    def key(self) -> Any:
        """What it is compared by."""
        options = list(self.options.items())
        ordered = options if self.name == "assign" else sorted(options, key=lambda option: option[0])
        return self.name, _frozen(self.args), tuple((name, _frozen(value)) for name, value in ordered)


def written(call: Call) -> dict[str, Any]:
    """A call for a plan file."""
    if call.name == ITEM:
        return {"column": call.args[0]}
    where = f"an argument of {call.name}(): "
    made: dict[str, Any] = {"call": call.name}
    if call.args:
        made["args"] = [plan_files.encoded(value, where) for value in call.args]
    if call.options:
        made["options"] = {
            name: plan_files.encoded(value, f"{name}= of {call.name}(): ") for name, value in call.options.items()
        }
    return made


def kept(value: Any) -> Any:
    """A copy of what could be changed from outside."""
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        return type(value)(map(kept, value))
    if isinstance(value, dict):
        return {key: kept(entry) for key, entry in value.items()}
    return value.copy() if isinstance(value, np.ndarray | pd.Series | pd.DataFrame) else value


def _frozen(value: Any) -> Any:
    """Something hashable that is equal for equal arguments; functions and expressions equal themselves alone."""
    if isinstance(value, pd.DataFrame):
        return pd.DataFrame, _frozen(value.columns), tuple(_frozen(value.iloc[:, k]) for k in range(value.shape[1]))
    if isinstance(value, Mapping):
        return dict, tuple((key, _frozen(entry)) for key, entry in value.items())
    if isinstance(value, list | tuple | range | np.ndarray | pd.Index | pd.Series):
        return tuple(map(_frozen, value))
    if isinstance(value, np.generic):
        return _frozen(value.item())
    if isinstance(value, bool) or not isinstance(value, PLAIN):
        return type(value), value if isinstance(value, bool) or inspect.isroutine(value) else id(value)
    return value


def shown(value: Any) -> str:
    """Write an argument as typed, long lists by their length."""
    if isinstance(value, list | tuple):
        if len(value) > MOST_LISTED:
            return f"[... {len(value):,} values]"
        listed = ", ".join(map(shown, value))
        return f"[{listed}]" if isinstance(value, list) else f"({listed}{',' if len(value) == 1 else ''})"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {shown(entry)}' for key, entry in value.items())}}}"
    if isinstance(value, pd.PeriodIndex) and len(value):
        return periods_text(value)
    if isinstance(value, np.ndarray | pd.Index | pd.Series):
        return shown(value.tolist())
    if isinstance(value, pd.DataFrame):
        return "DataFrame"
    if isinstance(value, pd.Timestamp | pd.Timedelta):
        return f"pd.{value!r}"
    if isinstance(value, pd.api.typing.Expression):  # every attribute of it is an expression, too
        text = re.sub(r"\bcol\(", "pd.col(", repr(value))
        return text if len(text) <= MOST_CHARACTERS and "\n" not in text else "pd.col(...)"
    return getattr(value, "__name__", "function") if callable(value) else value_text(value)
