"""No failure depends on a cell: whatever a cell holds, a step and a question end as they end for any other cell.

Columns of every dtype hold cells that no program expects (`support.hostile`). Steps are all that the registries of the package
have, questions all that `support.questions` has: one that is added is tried as well, and a method without arguments to try it
with is told.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.hostile import SECRET, Column, columns

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.steps import expression, steps
from pandas_dp.steps.expression import Constant, Expression, Operation
from pandas_dp.steps.expression import Column as Named
from pandas_dp.steps.functions import ACCESSORS, METHODS, PROPERTIES, call

X = Named("x")
CONSTANTS: list[Any] = [
    *(3, 2.5, True, "A", "2013-01-01", "1 day", 2**63, -(2**63)),
    *(pd.Timestamp("2013-01-01"), pd.Timestamp("2013-01-01", tz="Europe/Berlin"), pd.Timedelta("1h")),
]
BINARY = [*expression.OPERATIONS.keys() & {"+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", "<=", ">", ">=", "where", "fillna"}]
LISTS = [[3, 7], ["A", "B"], [pd.Timestamp("2013-01-01"), pd.Timestamp("2014-01-01")], [pd.Timedelta(0), pd.Timedelta("1h")]]
ARGUMENTS: dict[str, list[tuple[Any, ...]]] = {  # of methods that take some
    "isin": [([3, 7],), (["A"],), ([pd.Timestamp("2013-01-01")],), ([pd.Timedelta("1h")],), ([True],)],
    "between": [tuple(pair) for pair in LISTS],
    "round": [(0,), (2,), (-30,), (30,)],
    "clip": [(0, 5), (None, 5)],
    "fillna": [(constant,) for constant in CONSTANTS],
    "astype": [(target,) for target in ("float64", "int64", "bool", "string")],
    "where": [(Operation("isna", (X,)), value) for value in (3, "A", X)],
    "mask": [(Operation("isna", (X,)), value) for value in (3, "A", X)],
    "case_when": [([(Operation("isna", (X,)), value)],) for value in (3, "A", X)],
    "cut": [(pair,) for pair in LISTS],
    "map": [(dict.fromkeys(pair, value),) for pair in LISTS for value in (1, "a", pd.Timestamp("2013-01-01"))],
    "str.strip": [(), ("A",)],
    "str.lstrip": [(), ("A",)],
    "str.rstrip": [(), ("A",)],
    "str.startswith": [("A",), (["A", "B"],)],
    "str.endswith": [("A",), (["A", "B"],)],
    "str.contains": [("A",), ("ß", False)],
    "str.slice": [(0, 3), (None, None, -1)],
}
BARE = {"isna", "isnull", "notna", "notnull", "abs", "str.lower", "str.upper", "str.len"}


def made_by(make: Callable[[], Expression]) -> Expression | None:
    """An expression, None where its constants do not fit each other."""
    try:
        return make()
    except (ArgumentTypeError, ArgumentValueError):
        return None


def computed() -> list[Expression]:
    """An expression of the column x for each way to compute with it."""
    found = [make(X) for make in PROPERTIES.values()]
    for name in METHODS:
        given = ARGUMENTS[name] if name in ARGUMENTS else [()]
        found += [made for one in given if (made := made_by(lambda n=name, a=one: call(n, X, a, {}))) is not None]
    for name in expression.OPERATIONS.keys() - {"round"}:  # whose constant is checked before it is one
        found += [Operation(name, (X, Constant(constant))) for constant in CONSTANTS]
        found += [Operation(name, (X,)), Operation(name, (X, X)), Operation(name, (Constant(3), X))]
        found += [Operation(name, (X, Operation("isna", (X,)), X)), Operation(name, (Operation("isna", (X,)), X))]
    return [*dict.fromkeys(found)]


COMPUTED = computed()
STEPS: dict[str, Callable[[pd.DataFrame], tuple[steps.Step, ...]]] = {
    "query": lambda empty: steps.query("x == x or x != 3 or n > 2", empty),
    "query text": lambda empty: steps.query("x == 'A'", empty),
    "filter": lambda empty: steps.filter_(lambda d: d.x.notna(), empty),
    "assign": lambda empty: steps.assign(empty, y=lambda d: d.x, x=lambda d: d.n),
    "eval": lambda empty: steps.eval_("x = x.fillna(3)", empty),
    "clip": lambda empty: steps.clip(0, 5, empty, columns="x"),
    "fillna": lambda empty: steps.fillna({"x": "A"}, empty),
    "dropna": lambda empty: steps.dropna(None, empty),
    "drop": lambda empty: steps.drop("x", empty),
    "rename": lambda empty: steps.rename({"x": "y"}, empty),
    "merge": lambda empty: steps.merge({"x": ["A", "B"], "y": [1, 2]}, "x", "left", empty),
    "merge numbers": lambda empty: steps.merge({"x": [3, 7], "y": ["a", "b"]}, "x", "left", empty),
    "explode": lambda empty: steps.explode("x", 2, empty),
    "explode once": lambda empty: steps.explode("x", 1, empty),
}


def test_every_way_to_compute_is_tried():
    assert METHODS.keys() == ARGUMENTS.keys() | BARE
    assert {step.rstrip("_") for step in steps.__all__ if step.islower()} - {"touches"} == {s.split()[0] for s in STEPS}
    tried = {getattr(made, "op", getattr(made, "name", "")) for made in COMPUTED}
    assert expression.OPERATIONS.keys() | expression.ROWWISE.keys() <= tried
    assert set(ACCESSORS) == {"dt", "str"}


def refused_by(work: Callable[[], Any]) -> str | None:
    """The text with which something is refused, None where it is not; anything else that it raises is a failure."""
    try:
        work()
    except (ArgumentTypeError, ArgumentValueError) as error:
        return f"{type(error).__name__}: {error}"
    return None


def frame(column: pd.Series) -> pd.DataFrame:
    return pd.DataFrame({"x": column, "n": np.arange(len(column))})


def tables(column: Column) -> list[pd.DataFrame]:
    """Plain cells, all odd cells among them, and each odd one by itself."""
    one_by_one = [column.hostile(3, which) for which in range(len(column.odd))]
    return [frame(made) for made in (column.usual(3), column.hostile(len(column.odd) + 3), *one_by_one)]


def failing(name: str) -> list[str]:
    """Each step that a cell of a dtype makes fail, or end in another dtype; a step may be refused for the dtype alone."""
    found = []
    column = columns()[name]
    usual, all_odd, *singly = tables(column)
    ways: list[tuple[str, Callable[[pd.DataFrame], tuple[steps.Step, ...]]]] = [*STEPS.items()]
    ways += [(repr(one), lambda empty, one=one: (steps.Assign("made", one),)) for one in COMPUTED]
    for place, (way, steps_of) in enumerate(ways):
        empty = usual.iloc[:0]
        try:
            done = steps_of(empty)
            for step in done:
                empty = step.apply(empty)
        except (TypeError, ValueError, IndexError):  # for the dtype, or for a number of operands that no text gives it
            continue
        for table in (usual, all_odd, singly[place % len(singly)]):
            try:
                result = table
                for step in done:
                    result = step.apply(result)
                if dict(result.dtypes) != dict(empty.dtypes):
                    found.append(f"{way}: {result.dtypes.to_dict()}")
            except BaseException as error:  # noqa: BLE001 - all that a cell may raise
                found.append(f"{way}: {type(error).__name__}: {str(error)[:80]}")
                break
    return found


@pytest.mark.parametrize("name", columns())
def test_no_cell_makes_a_step_fail(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert failing(name) == []
