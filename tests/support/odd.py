"""Odd values for every argument of a call, each in its place: all but an answer and the package's own refusals is a fault."""

from __future__ import annotations

import collections
import contextlib
import datetime as dt
import decimal
import fractions
import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from support.unitless import NO_DATE, NO_DURATION

import pandas_dp


class Ambiguous:
    """What numpy's and pandas' containers do: neither true nor false, and equal to nothing that could be told."""

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise ValueError("the truth value is ambiguous")

    def __eq__(self, other: object) -> Any:
        return self

    def __repr__(self) -> str:
        return "Ambiguous()"


def endless() -> list[Any]:
    """A list that holds itself."""
    made: list[Any] = []
    made.append(made)
    return made


def endless_mapping() -> Any:
    """A mapping, and no dict, that holds itself."""
    made: collections.UserDict[str, Any] = collections.UserDict()
    made["self"] = made
    return made


ODD: dict[str, Any] = {
    "empty list": [],
    "empty dict": {},
    "empty tuple": (),
    "set": {1, 2},
    "nested": [[]],
    "dict of lists": {"a": []},
    "int": 3,
    "float": 2.5,
    "negative": -1,
    "none": None,
    "bytes": b"cost",
    "object": object(),
    "nan": float("nan"),
    "inf": float("inf"),
    "list of none": [None],
    "empty text": "",
    "null byte": "cost\x00",
    "surrogate": "\ud800",
    "text": "cost",
    "long text": "x" * 10_000,
    "huge": 10**400,
    "true": True,
    "empty array": np.array([]),
    "matrix": np.array([[1, 2]]),
    "array": np.array([1, 2]),
    "array of objects": np.array([[], None], dtype=object),
    "scalar array": np.array(3),
    "numpy int": np.int8(3),
    "numpy text": np.str_("cost"),
    "numpy nat": NO_DATE,
    "series": pd.Series([1, 2]),
    "index": pd.Index(["a"]),
    "frame": pd.DataFrame({"a": [1]}),
    "categorical": pd.Categorical(["a"]),
    "interval": pd.Interval(0, 1),
    "NA": pd.NA,
    "NaT": pd.NaT,
    "timestamp": pd.Timestamp("2013"),
    "zoned": pd.Timestamp("2013", tz="UTC"),
    "date": dt.date(2013, 1, 1),
    "duration": pd.Timedelta("1h"),
    "decimal": decimal.Decimal("sNaN"),
    "fraction": fractions.Fraction(1, 3),
    "complex": 1j,
    "type": type,
    "function": lambda d: d,
    "one": (1,),
    "falling": (2, 1),
    "two nones": (None, None),
    "two texts": ("a", "b"),
    "empty range": range(0),
    "twice": [1, 1],
    "mixed": ["a", 1, None],
    "private": "private",
    "module": decimal,
    "expression": pd.col("cost"),
    "ambiguous": Ambiguous(),
    "list of ambiguous": [Ambiguous()],
    "itself": endless(),
    "mapping of itself": endless_mapping(),
    "masked": np.ma.masked,
    "offset": pd.offsets.MonthEnd(),
    "numpy duration": NO_DURATION,
    "dict by nan": {float("nan"): 1},
    "generator": (i for i in range(2)),
}


def replaced(value: Any, odd: Any) -> Iterator[Any]:
    """The odd value in place of an argument, and in place of each kind of entry that the argument has."""
    yield odd
    if isinstance(value, list | tuple) and value and type(value) in (list, tuple):
        yield type(value)([odd, *value[1:]])
        if len(value) > 1:
            yield type(value)([*value[:-1], odd])
    if isinstance(value, dict) and value:
        first = next(iter(value))
        yield from (value | {first: inner} for inner in replaced(value[first], odd))
        with contextlib.suppress(TypeError):  # most of the odd ones cannot be keys
            yield {odd: value[first]}


# where a call takes long: one of each kind that was found to end in an error of another software
FEW = ("scalar array", "matrix", "NA", "expression", "ambiguous", "decimal", "surrogate", "null byte", "huge", "itself")


def variants(
    function: Callable[..., Any], args: tuple[Any, ...], options: Mapping[str, Any], names: Iterable[str] = tuple(ODD)
) -> Iterator[tuple]:
    """(argument, name of the odd value, args, options) for every argument of a call, those left out as well.

    Parameters
    ----------
    function : callable
        Its signature says which arguments there are.
    args, options
        A call that is right.
    names
        Of odd values.
    """
    signature = inspect.signature(function)
    for parameter in signature.parameters.values():
        for name in names:
            odd = ODD[name]
            bound = signature.bind(*args, **options)
            if parameter.kind is parameter.VAR_POSITIONAL:
                bound.arguments[parameter.name] = (odd,)
                yield f"*{parameter.name}", name, bound.args, bound.kwargs
            elif parameter.kind is parameter.VAR_KEYWORD:
                given = bound.arguments.get(parameter.name, {})
                for inner in replaced(dict(given) or None, odd):
                    bound.arguments[parameter.name] = inner if isinstance(inner, dict) and inner else {"x": odd}
                    if all(isinstance(key, str) for key in bound.arguments[parameter.name]):
                        yield f"**{parameter.name}", name, bound.args, bound.kwargs
            elif odd is not None or parameter.name in bound.arguments or parameter.default is not None:
                for inner in replaced(bound.arguments.get(parameter.name), odd):
                    again = signature.bind(*args, **options)
                    again.arguments[parameter.name] = inner
                    # what is left out before an argument by place would come too early: by name, then
                    again.arguments = {
                        each: again.arguments[each] for each in signature.parameters if each in again.arguments
                    }
                    yield parameter.name, name, again.args, again.kwargs


def fault(call: Callable[[], Any]) -> str | None:
    """What went wrong beside the package's own refusals; None: nothing did."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
    except pandas_dp.PandasDPError as error:
        return "QueryFailedError" if isinstance(error, pandas_dp.QueryFailedError) else None
    except OSError:  # the system does not take the name of a file, which is said of every path
        return None
    except Exception as error:
        where = error.__traceback__
        while where is not None and where.tb_next is not None:
            where = where.tb_next
        place = "" if where is None else f"{where.tb_frame.f_code.co_filename.rsplit('/', 2)[-1]}:{where.tb_lineno}"
        return f"{type(error).__name__}: {str(error)[:90]} ({place})"
    return None
