"""A user's function is tried on made-up tables before it is paid for: no row is read, so nothing is told by it."""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.core import gate
from pandas_dp.engines.pandas import PandasView
from pandas_dp.errors import ArgumentTypeError, did_you_mean
from pandas_dp.kinds import kind_or_none

MISTAKES = (TypeError, NameError, AttributeError, KeyError)
ROWS = 4
MADE_UP: dict[str, pd.Series[Any]] = {
    "number": pd.Series([1.0, 2.0, 3.0, 4.0]),
    "bool": pd.Series([True, False, True, False], dtype="boolean"),
    "timedelta": pd.Series(pd.to_timedelta([1, 2, 3, 4], unit="h")),
}
TEXT = pd.Series(["a", "b", "a", "b"], dtype=object)


def rehearse(function: Callable[[Any], Any], dtypes: pd.Series[Any]) -> None:
    """Run a function on a table of four made-up rows, as it will run on a block, and refuse it for a plain mistake.

    Plain mistakes are TypeError, NameError, AttributeError and KeyError; any other exception may be due to the made-up
    values. So may these be where the dtype does not say what a column holds (objects and categories, which are made up as
    text): there the function is refused only if it makes such a mistake on a table without rows too.

    Parameters
    ----------
    function : callable
    dtypes : Series
        Of each column, by its name: an empty frame would still hold the memory of the rows it was cut from.

    Raises
    ------
    ArgumentTypeError
        Its text holds the kind of mistake, and the missing name only where that stands in the code that ran: never a value
        that the function may have reached by other ways than its argument.
    """
    made = pd.DataFrame({name: _made_up(dtype) for name, dtype in dtypes.items()}, index=pd.RangeIndex(ROWS))
    tables = [made] if all(map(_telling, dtypes)) else [made, made.iloc[:0]]
    said = [_mistake(function, table) for table in tables]
    if None in said:
        return
    raise ArgumentTypeError(
        f"the function fails on a made-up table with these columns: {said[0]}. Nothing was charged. Where it needs values that "
        "a made-up table lacks, let it return None instead of failing"
    )


def _mistake(function: Callable[[Any], Any], table: pd.DataFrame) -> str | None:
    """What went wrong, in words; None for nothing that is surely a mistake."""
    error = _tried(function, table)
    if error is None:
        return None
    kind, name = type(error).__name__, _missing(error)
    if type(error) not in MISTAKES:  # a class of the function's own, with a name of its own
        kind = next(kind.__name__ for kind in MISTAKES if isinstance(error, kind))
    if name is None:
        return kind
    if isinstance(error, KeyError) and name not in table.columns:
        again = _tried(function, table.assign(**{name: MADE_UP["number"]}))
        if isinstance(again, KeyError) and _missing(again) == name:
            return None  # it misses a value, not a column
    return f"{kind} {name!r}" + did_you_mean(name, table.columns)


def _tried(function: Callable[[Any], Any], table: pd.DataFrame) -> BaseException | None:
    """The mistake that a function makes on a table, rebuilt as a block is."""
    found: list[BaseException] = []

    def attempt(block: pd.DataFrame) -> None:
        try:
            function(block)
        except MISTAKES as error:
            found.append(error)

    with gate.closed(), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        PandasView(table, {}).block_results(attempt, np.zeros(len(table), dtype=np.intp), 1)
    return found[0] if found else None


def _missing(error: BaseException) -> str | None:
    """The name that an error misses, if the code that raised it spells it out."""
    try:
        name = error.args[0] if isinstance(error, KeyError) else getattr(error, "name", None)
    except Exception:  # noqa: BLE001 - an error of a class of the function's own, whose attributes are code
        return None
    return name if type(name) is str and name in _spelt(error.__traceback__) else None


def _spelt(trace: types.TracebackType | None) -> set[str]:
    """Names and texts in the code of the functions that an error passed through."""
    found: set[str] = set()
    while trace is not None:
        code = trace.tb_frame.f_code
        found |= {*code.co_names, *(text for text in code.co_consts if isinstance(text, str))}
        trace = trace.tb_next
    return found


def _telling(dtype: Any) -> bool:
    """Whether a dtype says what its column holds."""
    kind = kind_or_none(dtype)
    return kind is not None and (kind.name != "key" or isinstance(dtype, pd.StringDtype | pd.ArrowDtype))


def _made_up(dtype: Any) -> pd.Series[Any]:
    """Four values of the kind of a dtype."""
    kind = kind_or_none(dtype)
    if kind is None or kind.name == "key":
        return TEXT
    if kind.name == "datetime":
        return pd.Series(pd.date_range("2000-01-01", periods=ROWS, tz=kind.tz))
    return MADE_UP[kind.name]
