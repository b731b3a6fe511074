"""A user's function is tried on made-up tables before it is paid for: no row is read, so nothing is told by it."""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.aggregates.base import Caution
from pandas_dp.core import gate
from pandas_dp.core.interrupts import watched
from pandas_dp.engines.pandas import PandasView
from pandas_dp.errors import ArgumentTypeError, PandasDPError, did_you_mean
from pandas_dp.facts.kinds import kind_or_none
from pandas_dp.questions.reached import refuse_protected

MISTAKES = (TypeError, NameError, AttributeError, KeyError)
ROWS = 4
MIDDLE = "blocks without result count as the middle of the bounds"
NO_VOTE, ZERO = "blocks without result have no vote", "without a result a score counts as 0"
WHOLE_ZERO = "without a result it counts as 0"
MADE_UP: dict[str, pd.Series[Any]] = {
    "number": pd.Series([1.0, 2.0, 3.0, 4.0]),
    "bool": pd.Series([True, False, True, False], dtype="boolean"),
    "timedelta": pd.Series(pd.to_timedelta([1, 2, 3, 4], unit="h")),
}
TYPES: dict[type, str] = {
    str: "text",
    bool: "True or False",
    np.bool_: "True or False",
    pd.Series: "a Series",
    pd.DataFrame: "a DataFrame",
    np.ndarray: "an array",
    tuple: "a tuple",
    list: "a list",
    dict: "a dict",
    pd.Timestamp: "a date",
    pd.Timedelta: "a duration",
}
TEXT = pd.Series(["a", "b", "a", "b"], dtype=object)


@dataclass(frozen=True)
class Trial:
    """What a function did on one table: an error, or what is wrong with its result in words, or that it gave none."""

    error: BaseException | None = None
    wrong: str | None = None
    nothing: bool = False


def rehearse(
    function: Callable[[Any], Any],
    dtypes: pd.Series[Any],
    wrong: Callable[[Any], str | None],
    name: str = "the function",
    without: str = MIDDLE,
) -> tuple[str, ...]:
    """Run a function on a table of four made-up rows, as it will run on a block, and refuse it for a plain mistake.

    Plain mistakes are TypeError, NameError, AttributeError and KeyError, a question asked inside, and a result of a type
    that never counts; any other exception may be due to the made-up values. So may these be where the dtype does not say
    what a column holds (objects and categories, which are made up as text): there the function is refused only if it makes
    such a mistake on a table without rows too.

    Parameters
    ----------
    function : callable
    dtypes : Series
        Of each column, by its name: an empty frame would still hold the memory of the rows it was cut from.
    wrong : callable
        What is wrong with a result, and what to type; `no_number` or `no_key`.
    name : str
        The function's, in errors.
    without : str
        What becomes of rows on which it gives no result, for the note.

    Returns
    -------
    tuple of str
        A note, where it failed in another way; a caution, where it gave no finite result on any made-up table.

    Raises
    ------
    ArgumentTypeError
        Its text holds the kind of mistake, and the missing name only where that stands in the code that ran: never a value
        that the function may have reached by other ways than its argument. `refuse_protected` comes first.
    """
    refuse_protected(function, name)
    made = made_up(dtypes)
    tables = [made] if all(map(_telling, dtypes)) else [made, made.iloc[:0]]
    trials = [_tried(function, table, wrong) for table in tables]
    said = [_mistake(function, *tried) for tried in zip(tables, trials, strict=True)]
    if None not in said:
        raise ArgumentTypeError(f"{name} {said[0]}")
    failed = trials[0].error
    if all(trial.error is not None or trial.nothing for trial in trials):
        did = "returned no finite number" if wrong is not no_key else "returned None"
        if failed is not None:
            did = f"raised {_kind(failed)}"
        return (Caution(f"{name} {did} on made-up rows with these columns; {without}"),)
    if failed is None or isinstance(failed, MISTAKES):
        return ()
    return (f"{name} raised {_kind(failed)} on a made-up table; {without}",)


def made_up(dtypes: pd.Series[Any]) -> pd.DataFrame:
    """Four made-up rows, with a value of its kind in each column."""
    return pd.DataFrame({name: _made_up(dtype) for name, dtype in dtypes.items()}, index=pd.RangeIndex(ROWS))


def _kind(error: BaseException) -> str:
    """An error in words; one of the function's own may have any name."""
    return "a ZeroDivisionError" if isinstance(error, ZeroDivisionError) else "an error"


def one_number(result: Any) -> str | None:
    """What is wrong with a result that is to be one number, where several could be named."""
    wrong, several = no_number(result), isinstance(result, list | tuple | np.ndarray | pd.Series)
    return f"{wrong}; several numbers are named, names=['first', 'second']" if wrong and several else wrong


def no_number(result: Any) -> str | None:
    """What is wrong with a result that is to be a number; nothing with a missing one, which made-up values may cause."""
    if type(result) is tuple and len(result) == 1:
        result = result[0]
    number = isinstance(result, int | float | np.integer | np.floating) and not isinstance(result, bool | np.bool_)
    return None if number or _none(result) else f"{_type(result)}, which is not a number: return float(...)"


def no_key(result: Any) -> str | None:
    """What is wrong with a result that is to be a key."""
    shaped = isinstance(result, pd.Series | pd.DataFrame | pd.Index | np.ndarray | list | dict | set)
    return f"{_type(result)}, which is not a key: return str(...)" if shaped else None


def no_vector(names: tuple[str, ...]) -> Callable[[Any], str | None]:
    """What is wrong with a result that is to be several named numbers."""

    def wrong(result: Any) -> str | None:
        line = "return {" + ", ".join(f"{name!r}: ..." for name in names[:3]) + (", ...}" if len(names) > 3 else "}")
        if _none(result):
            return None
        if isinstance(result, dict | pd.Series):
            return None if set(names) <= set(result.keys()) else f"{_type(result)} without all the names: {line}"
        if not isinstance(result, tuple | list | np.ndarray):
            return f"{_type(result)}, which is not several numbers: {line}"
        return None if len(result) == len(names) else f"a different number of values than there are names: {line}"

    return wrong


def _none(result: Any) -> bool:
    return result is None or result is pd.NA or result is pd.NaT


def _nothing(result: Any) -> bool:
    """Whether a result, or each of several numbers, counts as none."""
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, tuple | list | np.ndarray | pd.Series):
        return len(result) > 0 and all(map(_nothing, result))
    return _none(result) or (isinstance(result, float | np.floating) and not np.isfinite(result))


def _type(result: Any) -> str:
    """A type in words; one of the function's own may have any name."""
    return next((name for kind, name in TYPES.items() if isinstance(result, kind)), "an object")


def _mistake(function: Callable[[Any], Any], table: pd.DataFrame, trial: Trial) -> str | None:
    """What went wrong, in words; None for nothing that is surely a mistake."""
    where = "on a made-up table with these columns"
    if trial.wrong is not None:
        return f"returned {trial.wrong}. It was tried {where}. Nothing was charged"
    if isinstance(trial.error, PandasDPError):
        return f"asks a question of its own {where}: ask first, and use the answer inside. Nothing was charged"
    said = _failure(function, table, trial.error) if isinstance(trial.error, MISTAKES) else None
    return said and (
        f"fails {where}: {said}. Nothing was charged. Where it needs values that a made-up table lacks, let it return None "
        "instead of failing"
    )


def _failure(function: Callable[[Any], Any], table: pd.DataFrame, error: BaseException) -> str | None:
    """One of `MISTAKES` in words; None for a value, not a column, that a made-up table lacks."""
    kind, name = type(error).__name__, _missing(error)
    if type(error) not in MISTAKES:  # a class of the function's own, with a name of its own
        kind = next(kind.__name__ for kind in MISTAKES if isinstance(error, kind))
    if name is None:
        return kind
    if isinstance(error, KeyError) and name not in table.columns:
        again = _tried(function, table.assign(**{name: MADE_UP["number"]})).error
        if isinstance(again, KeyError) and _missing(again) == name:
            return None
    return f"{kind} {name!r}" + did_you_mean(name, table.columns)


def _tried(
    function: Callable[[Any], Any], table: pd.DataFrame, wrong: Callable[[Any], str | None] = lambda result: None
) -> Trial:
    """Run a function on a table, rebuilt as a block is; what would end a program is left to the block."""
    found: list[Trial] = []

    def attempt(block: pd.DataFrame) -> None:
        try:
            result = function(block)
            found.append(Trial(wrong=wrong(result), nothing=_nothing(result)))
        except Exception as error:  # noqa: BLE001 - looked at by the caller, never shown
            found.append(Trial(error))

    with gate.closed(), watched(), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        PandasView(table, {}).block_results(attempt, np.zeros(len(table), dtype=np.intp), 1)
    return found[0] if found else Trial(nothing=True)


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
