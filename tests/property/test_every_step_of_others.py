"""One row more, first or last, changes no other row of any step, in any dtype.

Pandas keeps facts of a column that follow from all of its rows: the list of a category column most of all, which holds one of
several equal cells, in a dtype that suits them all. Hostile rows are made to move such facts. Steps are taken from the tables
of the package, so that a new one is here by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support import method_arguments
from support.hostile_rows import BASES, CELLS, DAY, DTYPES, HUGE, column, columns, each, facts, objects, told

from pandas_dp.steps import categories
from pandas_dp.steps.accessors import PROPERTIES
from pandas_dp.steps.expression import OPERATIONS, Column, Constant, Expression, Operation
from pandas_dp.steps.functions import METHODS
from tests.support import steps

KINDS: list[Any] = [1, "a", DAY, DAY.tz_localize("UTC"), pd.Timedelta(1, "D")]  # a constant of each kind
CONSTANTS: list[Any] = [*KINDS, 0.5, 0.1, True, HUGE + 1]
X, Y = Column("x"), Column("y")
MISSING = Operation("isna", (Y,))


ARGUMENTS: dict[str, list[tuple[Any, ...]]] = method_arguments.ARGUMENTS | {
    "isin": [(["a", "b"],), ([1, 0.5, HUGE + 1],), ([DAY],), ([pd.Timedelta(1, "D")],)],
    "between": [(0, 1), ("a", "b"), (DAY, DAY)],
    "clip": [(0, 1)],
    "fillna": [(constant,) for constant in KINDS],
    "astype": [("float64",), ("int64",), ("bool",), ("string",)],
    "where": [(MISSING, constant) for constant in KINDS[:3]],
    "mask": [(MISSING,), (MISSING, Y)],
    "case_when": [([(Operation("isna", (X,)), constant), (MISSING, Y)],) for constant in KINDS[:3]],
    "cut": [([0, 1, 9],), ([DAY, DAY + pd.Timedelta(1, "D")],), ([pd.Timedelta(0), pd.Timedelta(1, "D")],)],
    "map": [({"a": 1, "b": 2},), ({1: "p", 0.5: "q", HUGE + 1: "r"},), ({"a": 1.0, 1: 2.0},), ({DAY: True},)],
    **{f"str.{name}": [("a",)] for name in ("startswith", "endswith", "contains")},
    "str.slice": [(0, 1)],
}


def trees() -> Iterator[tuple[str, Expression]]:
    """Every operation, method and property there is, on a column of any kind, on two and beside constants of every kind."""
    for op in OPERATIONS:
        beside = CONSTANTS if op == "==" else KINDS
        shapes = [(X,), (X, Y), *((X, Constant(constant)) for constant in beside)]
        yield from ((op, Operation(op, shape)) for shape in shapes)
    truth = Operation("==", (X, X))
    yield from (
        (op, Operation(op, shape)) for op, shape in (("and", (truth, truth)), ("or", (truth, truth)), ("not", (truth,)))
    )
    for name, method in METHODS.items():
        yield from ((name, method(X, *given)) for given in ARGUMENTS.get(name, [()]))
    yield from method_arguments.parts_of_text(METHODS)
    yield from ((name, tree(X)) for name, tree in PROPERTIES.items())


STEPS: dict[str, Callable[[pd.DataFrame], tuple[steps.Step, ...]]] = {
    "query": lambda empty: steps.query("x == 'a' or x == 1", empty),
    "filter_": lambda empty: steps.filter_(lambda d: (d.x == 1) | (d.x == d.y), empty),
    "assign": lambda empty: steps.assign(empty, z=lambda d: d.x.map({1: 1, "a": 2})),
    "eval_": lambda empty: steps.eval_("z = x.fillna('new')", empty),
    "clip": lambda empty: steps.clip(0, 1, empty, columns="x"),
    "fillna": lambda empty: steps.fillna({"x": "a"}, empty),
    "dropna": lambda empty: steps.dropna("x", empty),
    "drop": lambda empty: steps.drop("y", empty),
    "rename": lambda empty: steps.rename({"y": "z"}, empty),
    "merge": lambda empty: steps.merge({"x": ["a", "b"], "z": [1, 2]}, "x", "left", empty),
    "explode": lambda empty: steps.explode("x", 2, empty),
}


def table_of(dtype: Any, made: pd.Series, cells: list[Any], others: np.ndarray) -> pd.DataFrame:
    """Rows of a column, those of another one without hostile cells, and which are not hostile."""
    other = objects([cells[0]] * len(others))
    other[others] = objects(cells[1:] + cells[:1])
    return pd.DataFrame({"x": made, "y": column(dtype, other), "other": others})


def accepted(made: Any, frame: pd.DataFrame) -> bool:
    """Whether something can be made of a table like this at all; some shapes nobody can write."""
    try:
        made(frame.iloc[:0])
    except Exception:
        return False
    return True


def moved_by_steps(dtype: Any, cells: list[Any]) -> list[Any]:
    """What changed other rows: the step, and the hostile cells. Of lists that hold the same for the others one is all asked."""
    base = table_of(dtype, column(dtype, objects(cells)), cells, np.ones(len(cells), dtype=bool))
    asked = [(name, tree.evaluate) for name, tree in trees() if accepted(tree.evaluate, base)]
    asked += [(name, applied(make(base.iloc[:0]))) for name, make in STEPS.items() if accepted(make, base)]
    expected = [rows_told(made(base), base) for _, made in asked]
    found, known = [], set()
    for hostile, others, more in columns(dtype, cells):
        frame = table_of(dtype, more, cells, others)
        held = facts(more, others) if dtype == "category" else len(known)
        some = 20 if held in known else 1
        known.add(held)
        for (name, made), wanted in list(zip(asked, expected, strict=True))[::some]:
            if rows_told(made(frame), frame) != wanted:
                found.append((name, hostile))
    return found


def applied(made: tuple[steps.Step, ...]) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Steps as one function of a table."""

    def apply(frame: pd.DataFrame) -> pd.DataFrame:
        for step in made:
            frame = step.apply(frame)
        return frame

    return apply


def rows_told(result: pd.Series | pd.DataFrame, frame: pd.DataFrame) -> Any:
    """What is told of the rows that are not hostile."""
    if isinstance(result, pd.Series):
        return told(result, frame["other"].to_numpy())
    others = result["other"].to_numpy()
    return [(name, told(result[name], others)) for name in result if name not in ("y", "other")]


def base_of(dtype: Any) -> list[Any]:
    """Ordinary cells of a dtype."""
    return next(cells for cells in CELLS if column(dtype, objects(cells)) is not None)


PLAIN = {name: dtype for name, dtype in DTYPES.items() if name != "category"}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("base", [pytest.param(b, marks=[pytest.mark.slow] if b == "objects" else []) for b in BASES])
def test_a_row_more_changes_no_other_row_of_a_step_on_categories(base):
    assert moved_by_steps("category", BASES[base]) == []


@pytest.mark.one_in(24)
@pytest.mark.parametrize("name", each(PLAIN))
def test_rows_more_change_no_other_row_of_a_step(name):
    assert moved_by_steps(PLAIN[name], base_of(PLAIN[name])) == []


def test_every_step_is_asked():
    """A new one without arguments here is refused everywhere, and fails this."""
    taken = set()
    zoned = next(name for name in DTYPES if "Berlin" in name)
    for name in ("float64", "str", "bool", "datetime64[us]", zoned, "timedelta64[ns]", "object", "category"):
        cells = base_of(DTYPES[name])
        base = table_of(DTYPES[name], column(DTYPES[name], objects(cells)), cells, np.ones(len(cells), dtype=bool))
        taken |= {made for made, tree in trees() if accepted(tree.evaluate, base)}
        taken |= {made for made, make in STEPS.items() if accepted(make, base)}
    taken |= {"struct.field"}  # of Arrow's structs alone, one of whose fields is made of it
    assert taken == {*OPERATIONS, *METHODS, *PROPERTIES, *STEPS}
    assert {made.rstrip("_") for made in STEPS} == {step for step in vars(steps.RowSteps) if not step.startswith("_")}


def raw(column: pd.Categorical) -> Any:
    """Categories as they are listed."""
    return column.codes, column.categories.astype(object).to_numpy()


@pytest.mark.slow
def test_a_step_that_looks_at_the_list_is_found(monkeypatch):
    monkeypatch.setattr(categories, "forms", raw)
    assert {name for name, _ in moved_by_steps("category", ["a", "b", 1])} >= {"str.len", "isin", "map", "=="}
