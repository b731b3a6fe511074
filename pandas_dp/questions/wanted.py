"""Which answers agg is asked for: its dict of functions by column, or answers by name, checked."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, PandasDPError, closest
from pandas_dp.facts.argument_help import Line
from pandas_dp.questions.rows import PreparedFrame

BOUNDED = ("sum", "mean", "var", "std", "median", "min", "max")
FUNCTIONS = ("count", "nunique", *BOUNDED)
BARRED = ("median", "min", "max")  # whose error bars are bought
MOST_PARTS = 100
OPTIONS = ("bounds", "weights", "within", "error_bar")
AGG = "agg({'income': ['mean', 'std'], 'age': 'median'}, bounds={'income': (0, 100_000), 'age': (0, 120)})"
SIZE = "; 'count' is of the rows with a value in the column, all rows are a question of their own, .size()"
NAMED = "agg(typical=('income', 'median'), bounds={'income': (0, 100_000)})"


class Wanted(NamedTuple):
    """One cell of an answer: its row, its column and the function that fills it."""

    row: str
    column: str
    function: str


def wanted_of(
    frame: PreparedFrame, func: Any, named: dict[str, Any], functions: tuple[str, ...] = FUNCTIONS
) -> tuple[list[Wanted], bool]:
    """Cells in the order written, and whether each column has one function that is no list."""
    if func is None and not named:
        raise ArgumentTypeError(f"func must be a dict of functions by column: {AGG}, or names: {NAMED}")
    if func is not None and named:
        if closest(first := next(iter(named)), OPTIONS):
            raise _misnamed(frame, first)
        raise Line(AGG, tuple((name, "") for name in named)).refuse(
            "give either func=, a dict by column, or named answers"
        )
    if named:
        for name, pair in named.items():
            if not isinstance(pair, tuple | list) or len(pair) != 2 or not all(isinstance(of, str) for of in pair):
                raise _misnamed(frame, name)
        wanted = [Wanted(name, *pair) for name, pair in named.items()]
        single = False
    else:
        if not isinstance(func, Mapping) or not func:
            raise ArgumentTypeError(f"func must be a dict of functions by column: {AGG}")
        lists = {column: [names] if isinstance(names, str) else names for column, names in func.items()}
        if any(not isinstance(names, Sequence) or not names for names in lists.values()):
            raise ArgumentTypeError(f"func must name functions by text, one or a list for each column: {AGG}")
        wanted = [Wanted(name, column, name) for column, names in lists.items() for name in names]
        single = all(isinstance(names, str) for names in func.values())
    for cell in wanted:
        if not isinstance(cell.column, str):
            raise ArgumentTypeError(f"func must name columns by their text: {AGG}")
        if not isinstance(cell.function, str) or cell.function not in functions:
            text = cell.function if isinstance(cell.function, str) else ""
            near = closest(text, functions)
            close = SIZE if text == "size" else f"; did you mean {near!r}?" if near else ""
            if named and (not near or cell.column not in frame._empty()):
                raise _misnamed(frame, cell.row)
            error = ArgumentValueError(f"func may be {', '.join(functions)}{close}: {AGG}")
            error._slip = (text, near) if near and text != "size" else None
            raise error
    if len(set(wanted)) != len(wanted):
        raise ArgumentValueError(f"func must ask each function of a column once: {AGG}")
    if len(wanted) > MOST_PARTS:
        raise ArgumentValueError(f"agg() gives at most {MOST_PARTS} answers for one price")
    return wanted, single


def _misnamed(frame: PreparedFrame, name: str) -> PandasDPError:
    """What a named answer takes, or what the option is called that it was meant for."""
    option = closest(name, OPTIONS)
    if option:
        return Line(f"agg(..., {option}=...)", ((name, ""), (option, f"={name}"))).refuse(
            f"agg() takes {option}=, not {name}="
        )
    columns = [*itertools.chain(*frame._examples())]
    return Line(NAMED, ((name, f"({columns[0]!r}, 'count')"),)).refuse(
        f"a named answer takes a column and a function: {', '.join(FUNCTIONS)}"
    )
