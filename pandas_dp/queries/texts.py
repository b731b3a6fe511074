"""Questions as text, ``groupby('ward', keys=['A', 'B']).mean('cost', bounds=(0, 5000))``: read, and never run.

A text is a chain of calls with literal arguments. Names are looked up among the questions and steps there are, and of other
calls those in `MADE` are known, which make dates, decimals and ranges.
"""

from __future__ import annotations

import ast
import datetime as dt
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, PandasDPError
from pandas_dp.facts.call import ITEM, Call
from pandas_dp.queries import json_values
from pandas_dp.queries.query import Query
from pandas_dp.steps.parse import parsed

EXAMPLE = "groupby('ward', keys=['A', 'B']).mean('cost', bounds=(0, 5000))"
MOST_CHARACTERS = 200_000
MOST_CALLS = 50
MOST_BITS = 4 * json_values.MOST_DIGITS  # of a whole number: Python writes no longer ones, which hexadecimals can be


def read_query(text: Any, price: Mapping[str, Any]) -> Query:
    """Return the query that a text asks at a price.

    Parameters
    ----------
    text : str
        What follows ``pandas_dp.query(epsilon=...).`` in code, with literal arguments: numbers, texts, lists, tuples
        and dicts, and calls of range, Decimal, Fraction, pd.Timestamp, pd.Timedelta, datetime.date, pd.period_range,
        pd.date_range and pd.timedelta_range.
    price : mapping
        As ``pandas_dp.query`` takes it.

    Returns
    -------
    Query

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        For whatever is no such text, for unknown names and calls that do not fit, and for prices that are none. Nothing
        else is raised. Arguments are checked when it is asked: they depend on the columns.

    Examples
    --------
    >>> read_query("query('age > 30').mean('cost', bounds=(0, 100))", {"epsilon": 0.5})
    pandas_dp.query(epsilon=0.5).query('age > 30').mean('cost', bounds=(0, 100))
    """
    made = Query(price)
    for call in _calls(_tree(text)):
        if made._stage is None:
            raise ArgumentValueError(f"a text asks one question; steps come before it: {_written(made)}")
        if call.name.startswith("_"):
            raise ArgumentValueError(f".dp has no {call.name!r}: {EXAMPLE}")
        try:
            made = made._then(call)
        except AttributeError as error:  # as for attributes of an object; in a text it is a wrong value
            raise ArgumentValueError(str(error)) from None
    return asked(made)


def _written(query: Query) -> str:
    return "".join(map(str, query._calls)).removeprefix(".")


def asked(query: Query) -> Query:
    """Return a query that puts a question; a price with steps alone is none.

    Raises
    ------
    ArgumentTypeError
    """
    if query._stage is not None:
        raise ArgumentTypeError(f"no question yet: write one after the steps, such as {EXAMPLE}")
    return query


def _tree(text: Any) -> ast.expr:
    if not isinstance(text, str):
        raise ArgumentTypeError(f"a question is a text, such as {EXAMPLE}")
    if len(text) > MOST_CHARACTERS:
        raise ArgumentValueError(
            f"a question as text has at most {MOST_CHARACTERS:,} characters: keep this one in code"
        )
    text = text.strip()
    if re.match(r"\w+\.dp\b", text):
        raise ArgumentValueError(f"leave out the table and the price; write what follows df.dp(...): {EXAMPLE}")
    start = "q" if text[:1] in ("[", ".") else "q."
    tree = parsed(f"({start}{text}\n)", "eval")  # in parentheses it may run over several lines
    if tree is None:
        raise ArgumentValueError(f"this question cannot be read; write it as in {EXAMPLE}")
    return tree.body


def _calls(node: ast.expr) -> list[Call]:
    """The calls of a chain, first one first."""
    calls: list[Call] = []
    while not isinstance(node, ast.Name):
        if len(calls) == MOST_CALLS:
            raise ArgumentValueError(f"a question has at most {MOST_CALLS} calls")
        match node:
            case ast.Call(func=ast.Attribute(value=before, attr=name)):
                calls.append(Call(name, *_arguments(node, name)))
            case ast.Subscript(value=before, slice=ast.Constant(value=str() as name)):
                calls.append(Call(ITEM, (name,), {}))
            case _:
                raise ArgumentValueError(f"a question is a chain of calls: {EXAMPLE}")
        node = before
    return calls[::-1]


def _arguments(node: ast.Call, name: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if any(isinstance(value, ast.Starred) for value in node.args) or any(word.arg is None for word in node.keywords):
        raise ArgumentValueError(f"{name}() is written without * and **: {EXAMPLE}")
    try:
        options = {str(word.arg): _value(word.value, name) for word in node.keywords}
        return tuple(_value(value, name) for value in node.args), options
    except RecursionError:
        raise ArgumentValueError(f"the arguments of {name}() are nested too deeply") from None


def _value(node: ast.expr, call: str) -> Any:
    """The value of a literal, or of one of the calls that make one."""
    match node:
        case ast.Constant(value=int() as value) if value.bit_length() > MOST_BITS:
            raise ArgumentValueError(f"{call}() is given a number that is too large")
        case ast.Constant(value=None | bool() | int() | float() | str() as value):
            return value
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=ast.Constant(value=int() | float() as value)):
            return -value if isinstance(sign, ast.USub) else value
        case ast.Name(id=name):
            raise ArgumentValueError(f"names and texts are written in quotes: {name!r} in {call}()")
        case ast.List(elts=entries):
            return [_value(entry, call) for entry in entries]
        case ast.Tuple(elts=entries):
            return tuple(_value(entry, call) for entry in entries)
        case ast.Dict(keys=keys, values=values) if None not in keys:
            return _dict([_value(key, call) for key in keys if key], [_value(value, call) for value in values])
        case ast.Call(func=function, args=args, keywords=words):
            name = ast.unparse(function) if isinstance(function, ast.Name | ast.Attribute) else ""
            if name in MADE and all(word.arg for word in words):
                options = {str(word.arg): _value(word.value, call) for word in words}
                return _made(name, [_value(value, call) for value in args], options)
    raise ArgumentValueError(
        f"{call}() takes plain values in a text: numbers, texts, lists, dicts, {', '.join(f'{made}(...)' for made in MADE)}. "
        "Write names of columns in quotes, conditions as .query('age > 30'), columns as .eval('double = 2 * age') or "
        ".eval('band = age.cut([0, 18, 65])'), scores as score='...'; functions and tables are for code"
    )


def _dict(keys: list[Any], values: list[Any]) -> dict[Any, Any]:
    try:
        return dict(zip(keys, values, strict=True))
    except TypeError:
        raise ArgumentTypeError("the keys of a dict are texts or numbers: {'ward': ['A', 'B']}") from None


def _made(name: str, args: list[Any], options: dict[str, Any]) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pandas has opinions about some frequencies
            made = MADE[name](*args, **options)
    except PandasDPError:
        raise
    except Exception:  # noqa: BLE001 - whatever pandas thinks of texts that are no dates
        made = pd.NaT
    if made is pd.NaT:
        raise ArgumentValueError(f"{name}(...) cannot be made of these arguments")
    return made


def _spaced(function: Callable[..., Any]) -> Callable[..., Any]:
    """One of pandas' ranges, which are made in memory: first their length is known from the first step."""

    def make(start: Any, end: Any = None, periods: Any = None, freq: Any = None) -> Any:
        if not isinstance(start, str) or not isinstance(freq, str) or (end is None) == (periods is None):
            raise ArgumentValueError(
                "write start, freq= and one of end and periods=: pd.date_range('2026-01-01', periods=12, freq='MS')"
            )
        if periods is not None:
            json_values.short(periods)
            return function(start, periods=periods, freq=freq)
        first = function(start, periods=2, freq=freq)
        begin, step = first[0], first[1] - first[0]
        if function is pd.period_range:
            begin, step = first[0].start_time, first[1].start_time - first[0].start_time
        last = pd.Timedelta(end) if function is pd.timedelta_range else pd.Timestamp(end)
        json_values.short((last - begin) / step)
        return function(start, end, freq=freq)

    return make


MADE: dict[str, Callable[..., Any]] = {
    "range": json_values.read_range,
    "Decimal": json_values.read_decimal,
    "Fraction": json_values.read_fraction,
    "pd.Timestamp": lambda text: pd.Timestamp(text),
    "pd.Timedelta": lambda text: pd.Timedelta(text),
    "datetime.date": dt.date,
    **{f"pd.{made.__name__}": _spaced(made) for made in (pd.period_range, pd.date_range, pd.timedelta_range)},
}
