"""One call as it was typed: of a question, which the books and every advice show, or of a query, which is kept and compared."""

from __future__ import annotations

import datetime as dt
import inspect
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pandas_dp.facts.public_only import EXAMPLES, QUICK, Array, python

# equal ones are the same argument
PLAIN = (str, int, float, Decimal, Fraction, dt.date, dt.timedelta, pd.Period, type(None))
QUESTION = "()"  # under which advice names another question in place of the one that was put
ITEM = "[]"  # the name under which the selection of a column is recorded
MOST_LISTED, MOST_CHARACTERS = 40, 120  # longer lists of keys and edges are not written out
LONGEST = 40  # characters of a column's name that is repeated in a message
FACTS, LAST = ("keys", "bins", "bounds"), ("margins",)  # what is written before other options, and after them
LEFT_OUT = inspect.Parameter.empty


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

    def text(self, parameters: Mapping[str, inspect.Parameter], resolved: Mapping[str, Any]) -> str:
        """Write it for the books: what it needs, then public facts, then the rest, each in the order of the signature.

        Arguments stand as they were resolved, those at their defaults are left out. Texts and lists that it needs stand by
        place, numbers but for the first by name.
        """
        given = {**dict(zip(parameters, self.args, strict=False)), **self.options}
        given = {name: value for name, value in given.items() if not _same(value, parameters[name].default)}
        given.update(resolved)
        tiers: tuple[list[str], ...] = [], [], [], []
        for name, known in parameters.items():
            if (value := given.get(name, LEFT_OUT)) is LEFT_OUT:
                continue
            needed = known.default is LEFT_OUT or name == "columns"
            text = bounds_text(value) if name == "bounds" else argument_text(value)
            placed = known.kind is known.POSITIONAL_OR_KEYWORD and (needed or name == "column")
            if not placed or (tiers[0] and isinstance(value, int)):
                text = f"{name}={text}"
            tiers[0 if needed else 1 if name in FACTS else 3 if name in LAST else 2].append(text)
        return f"{self.name}({', '.join(chain(*tiers))})"

    def needing(self, parameters: Iterable[str], needs: Mapping[str, str]) -> str:
        """Write it with arguments that it lacks, where the code that it stands in cannot be read.

        Columns, words and plain numbers are as they were typed, anything else as an example: it may be data.
        """
        for name, text in needs.items():  # of what goes without a column nothing else is known here
            if ": None" in text:
                left = re.sub(r"'[^']*': None(, )?", "", text).replace(", }", "}")
                needs = {**needs, name: "..." if left == "{}" else left}
        placed = [*zip(parameters, self.args, strict=False)]
        parts = [needs.get(name) or safe(value, name) for name, value in placed]
        options = [name for name, text in needs.items() if text and name not in dict(placed)]
        options = [name for name in self.options if needs.get(name, name)] + [
            n for n in options if n not in self.options
        ]
        parts += [f"{name}={needs.get(name) or safe(self.options.get(name), name)}" for name in options]
        return f"{self.name}({', '.join(parts)})"

    @property
    def key(self) -> Any:
        """What it is compared by."""
        options = list(self.options.items())
        ordered = options if self.name == "assign" else sorted(options, key=lambda option: option[0])
        return self.name, _frozen(self.args), tuple((name, _frozen(value)) for name, value in ordered)


def safe(value: Any, argument: str = "") -> str:
    """The name of a column, a word or a number as it was typed; anything else may be data, and is an example of its kind."""
    if type(value) in QUICK and (type(value) is not str or (len(value) <= LONGEST and argument not in FACTS)):
        return repr(value)
    if argument in ("columns", "column", "x", "by") and type(value) is list:
        return f"[{', '.join(map(safe, value))}]"
    if isinstance(value, Mapping) and argument != "workload":
        return "..."
    return "function" if callable(value) else EXAMPLES.get(argument, "...")


def _same(value: Any, default: Any) -> bool:
    """Whether an argument is the default of its parameter."""
    return value is default or (type(value) is type(default) and type(value) in QUICK and bool(value == default))


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
    if isinstance(value, list | tuple | range | Array):
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
    if isinstance(value, pd.DataFrame):
        return "DataFrame"
    if isinstance(value, Array):
        return shown(value.tolist())
    if isinstance(value, pd.Timestamp | pd.Timedelta):
        return f"pd.{value!r}"
    if isinstance(value, pd.api.typing.Expression):  # every attribute of it is an expression, too
        text = re.sub(r"\bcol\(", "pd.col(", repr(value))
        return text if len(text) <= MOST_CHARACTERS and "\n" not in text else "pd.col(...)"
    return getattr(value, "__name__", "function") if callable(value) else value_text(value)


def value_text(value: Any) -> str:
    """Write a public value as one types it."""
    if type(value) in QUICK:
        return repr(value)
    value = python(value)
    if isinstance(value, pd.Timestamp | pd.Timedelta):
        return repr(str(value).removesuffix(" 00:00:00"))
    return listing(value) if isinstance(value, tuple) else repr(value)


def listing(values: tuple[Any, ...]) -> str:
    """Write a list of keys or edges, or how many they are where they are many."""
    text = f"[{', '.join(map(value_text, values))}]" if len(values) <= MOST_LISTED else ""
    return text if 0 < len(text) <= MOST_CHARACTERS else f"[... {len(values):,} values]"


def periods_text(periods: pd.PeriodIndex) -> str:
    """Write consecutive periods as the call that makes them."""
    first = str(periods[0]).partition("/")[0]  # a week by its first day
    return f"pd.period_range({first!r}, periods={len(periods)}, freq={periods.freqstr!r})"


def bounds_text(bounds: Any) -> str:
    """Write bounds, which may be words or open; of several columns by name."""
    if isinstance(bounds, Mapping):
        return f"{{{', '.join(f'{name!r}: {bounds_text(pair)}' for name, pair in bounds.items())}}}"
    return repr(bounds) if bounds is None or isinstance(bounds, str) else f"({', '.join(map(value_text, bounds))})"


def argument_text(value: Any) -> str:
    """Write an argument of a call, checked or as it was typed."""
    if type(value) in QUICK:
        return repr(value)
    if isinstance(value, pd.PeriodIndex):
        return periods_text(value)
    if isinstance(value, pd.DataFrame):
        return f"DataFrame({listing(tuple(value.itertuples(index=False, name=None)))})"
    if isinstance(value, Array):
        return argument_text(value.tolist())
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name!r}: {argument_text(entry)}' for name, entry in value.items())}}}"
    return "function" if callable(value) else value_text(value)


def columns_text(columns: tuple[str, ...]) -> str:
    """Write one column, or a list of them."""
    return repr(columns[0] if len(columns) == 1 else list(columns))


def meant_for(value: Any, free: list[inspect.Parameter]) -> inspect.Parameter | None:
    """The argument that a value by place was meant for, by its type; None where a number fits none."""
    lists = (
        "bins keys" if type(value) is list and {*map(type, value)} <= {int, float} else "candidates keys bins bounds"
    )
    kinds = {
        str: "str",
        bool: "bool",
        int: "int float",
        float: "float",
        tuple: "bounds",
        list: lists,
        dict: "keys workload bounds bins"
        if type(value) is dict and {*map(type, value.values())} != {tuple}
        else "bounds keys bins",
    }
    wanted = ["bounds"] if type(value) is str and value == "private" else kinds.get(type(value), "").split()
    fits = (known for kind in wanted for known in free if kind in (known.name, *str(known.annotation).split(" | ")))
    return next(fits, None if type(value) in (int, float, bool) else free[0])
