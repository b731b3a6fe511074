"""Arguments as JSON has them, and back: plain values as they are, other types as dictionaries with one key, their name."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, did_you_mean
from pandas_dp.facts.binning import edges_of
from pandas_dp.facts.public_only import legible, python

MOST_VALUES = 100_000  # of a range: a short text shall not fill the memory
MOST_DIGITS = 400  # of a number, beyond those of any that is accepted


def short(length: float) -> None:
    """Refuse ranges that are longer than any list of keys or edges."""
    if length > MOST_VALUES:
        raise ArgumentValueError(f"a range in a plan or a text has at most {MOST_VALUES:,} values")


def read_range(*ends: int) -> range:
    """Return a range that is no longer than a list could be."""
    made = range(*ends)
    short(abs((made.stop - made.start) // made.step))  # len() of a long one overflows
    return made


def read_decimal(text: str) -> Decimal:
    """Return a decimal; an exponent of millions would fill the memory as a fraction."""
    made = Decimal(text)
    if made.is_finite() and made and abs(made.adjusted()) > MOST_DIGITS:
        raise ValueError
    return made


def read_fraction(*parts: Any) -> Fraction:
    """Return a fraction of a text such as 1/3 or of one or two whole numbers; texts with an exponent are refused."""
    if any(isinstance(part, str) and ("e" in part.lower() or len(part) > 2 * MOST_DIGITS) for part in parts):
        raise ValueError
    return Fraction(*parts)


def _periods(first: Any, count: Any, freq: Any) -> pd.PeriodIndex:
    short(count)
    return pd.period_range(first, periods=count, freq=freq)


READERS: dict[str, Callable[[Any], Any]] = {
    "timestamp": pd.Timestamp,
    "date": dt.date.fromisoformat,
    "timedelta": pd.Timedelta,
    "decimal": read_decimal,
    "fraction": read_fraction,
    "range": lambda ends: read_range(*ends),
    "period_range": lambda made: _periods(*made),
    "tuple": lambda entries: tuple(map(decoded, entries)),
    "dict": lambda entries: {name: decoded(entry) for name, entry in entries.items()},
}
CALL = {"call", "args", "options"}
EXAMPLE = "{'price': {'epsilon': 0.5}, 'calls': [{'call': 'count', 'args': ['age']}]}"


def encoded(value: Any, where: str, inside: bool = False) -> Any:
    """Return an argument as JSON has it.

    Parameters
    ----------
    value : object
    where : str
        Which argument it is, for errors.
    inside : bool
        Whether it is an entry of a list: a tuple there is one value, elsewhere it is as good as a list.

    Raises
    ------
    ArgumentTypeError
    """
    value = python(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, pd.PeriodIndex) and len(value) and (value[1:] == value[:-1] + 1).all():
        return {"period_range": [str(value[0].start_time), len(value), value.freqstr]}
    value = edges_of(value)
    if isinstance(value, list | tuple | np.ndarray | pd.Index | pd.Series):
        entries = [encoded(entry, where, inside=True) for entry in value]
        return {"tuple": entries} if inside and isinstance(value, tuple) else entries
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        made = {name: encoded(entry, where) for name, entry in value.items()}
        return {"dict": made} if len(made) == 1 and set(made) <= set(READERS) else made
    return _tagged(value, where)


def _tagged(value: Any, where: str) -> dict[str, Any]:
    if value is pd.NaT:
        raise _refused("a missing date", where)
    if isinstance(value, dt.timedelta):
        return {"timedelta": pd.Timedelta(value).isoformat()}
    if isinstance(value, dt.datetime):
        return {"timestamp": pd.Timestamp(value).isoformat()}
    if isinstance(value, dt.date):
        return {"date": value.isoformat()}
    if isinstance(value, Decimal | Fraction):
        return {type(value).__name__.lower(): str(value)}
    if isinstance(value, range):
        return {"range": [value.start, value.stop, value.step]}
    if isinstance(value, float):
        raise _refused("a number that is not finite", where)
    if isinstance(value, pd.api.typing.Expression):
        raise _refused("an expression of pd.col", where)
    raise _refused("a function" if callable(value) else f"a {type(value).__name__}", where)


def _refused(what: str, where: str) -> ArgumentTypeError:
    return ArgumentTypeError(
        f"a plan holds numbers, text, lists, dicts and dates, and {where}{what} is none of these: keep this query in code, or "
        "write it as text: conditions as .query('age > 30'), columns as .eval('double = 2 * age'), scores as score='...'"
    )


def toml(value: Any) -> str:
    """Write what `encoded` returned as a value of a TOML file.

    Raises
    ------
    ArgumentTypeError
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str) and legible(value):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{toml(name)} = {toml(entry)}' for name, entry in value.items())} }}"
    raise _refused("None" if value is None else "half a surrogate pair", "an argument that is ")


def decoded(value: Any) -> Any:
    """Return what `encoded` wrote.

    Raises
    ------
    ArgumentValueError
    """
    if isinstance(value, list):
        return [decoded(entry) for entry in value]
    if not isinstance(value, Mapping):
        return value
    if len(value) == 1 and set(value) <= set(READERS):
        ((name, text),) = value.items()
        try:
            return READERS[name](text)
        except (ValueError, TypeError, AttributeError, ArithmeticError):
            raise ArgumentValueError(f"the plan holds a {name} that cannot be read") from None
    return {name: decoded(entry) for name, entry in value.items()}


def checked(plan: Any, terms: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return price and calls of a plan, decoded; `terms` are the names that a price may have.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
    """
    if not isinstance(plan, Mapping) or not isinstance(plan.get("price"), Mapping):
        raise ArgumentTypeError(f"a plan is a dict such as {EXAMPLE}")
    calls = plan.get("calls")
    if set(plan) != {"price", "calls"} or not isinstance(calls, list):
        raise ArgumentTypeError(f"a plan has a price and a list of calls: {EXAMPLE}")
    for name in plan["price"]:
        if name not in terms:
            raise ArgumentValueError(f"a price has no {name!r}{did_you_mean(name, terms)}: {EXAMPLE}")
    try:
        return {name: decoded(value) for name, value in plan["price"].items()}, [_call(call) for call in calls]
    except RecursionError:
        raise ArgumentValueError(f"a plan is nested too deeply: {EXAMPLE}") from None


def _call(call: Any) -> dict[str, Any]:
    column = isinstance(call, Mapping) and set(call) == {"column"}
    if not isinstance(call, Mapping) or not (column or ("call" in call and set(call) <= CALL)):
        raise ArgumentTypeError(f"each call of a plan is a dict with call, args and options, or with column: {EXAMPLE}")
    args, options = call.get("args", []), call.get("options", {})
    if not isinstance(args, list) or not isinstance(options, Mapping):
        raise ArgumentTypeError(f"args of a call are a list, options a dict: {EXAMPLE}")
    if column:
        return dict(call)
    given = {name: decoded(value) for name, value in options.items()}
    return {"call": call["call"], "args": [decoded(value) for value in args], "options": given}
