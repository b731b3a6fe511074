"""No failure depends on a cell: whatever a cell holds, a step and a question end as they end for any other cell.

Columns of every dtype hold cells that no program expects (`support.hostile`). Steps are all that the registries of the package
have, questions all that `support.questions` has: one that is added is tried as well, and a method without arguments to try it
with is told.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support import method_arguments, questions
from support.frames import fresh
from support.hostile import Column, columns, labels

from pandas_dp.engines.pandas import _rebuilt
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.steps import expression
from pandas_dp.steps.accessors import PROPERTIES
from pandas_dp.steps.changes import Assign
from pandas_dp.steps.expression import Column as Named
from pandas_dp.steps.expression import Constant, Expression, Operation
from pandas_dp.steps.functions import ACCESSORS, METHODS, call
from tests.support import steps

X = Named("x")
CONSTANTS: list[Any] = [
    *(3, 2**63, "A", pd.Timestamp("2013-01-01"), pd.Timestamp("2013-01-01", tz="Europe/Berlin"), pd.Timedelta("1h"))
]
LISTS = [
    [3, 7],
    ["A", "B"],
    [pd.Timestamp("2013-01-01"), pd.Timestamp("2014-01-01")],
    [pd.Timedelta(0), pd.Timedelta("1h")],
]
ARGUMENTS: dict[str, list[tuple[Any, ...]]] = method_arguments.ARGUMENTS | {  # of methods that take some
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
BARE = method_arguments.BARE | {"isna", "isnull", "notna", "notnull", "abs", "str.lower", "str.upper", "str.len"}


def made_by(make: Callable[[], Expression]) -> Expression | None:
    """An expression, None where its constants do not fit each other."""
    try:
        return make()
    except (ArgumentTypeError, ArgumentValueError):
        return None


def computed() -> list[tuple[Expression, ...]]:
    """Expressions of the column x for each way to compute with it, of which those after the first that fits are alike."""
    found: list[tuple[Expression, ...]] = [(make(X),) for make in PROPERTIES.values()]
    found += [(made,) for _, made in method_arguments.parts_of_text(METHODS)]
    for name in METHODS:
        given = ARGUMENTS.get(name, [()])
        made = [made_by(lambda n=name, a=one: call(n, X, a, {})) for one in given]
        found.append(tuple(one for one in made if one is not None))
    for name in expression.OPERATIONS.keys() - {"round"}:  # whose constant is checked before it is one
        found.append(tuple(Operation(name, (X, Constant(constant))) for constant in CONSTANTS))
        found += [(Operation(name, (X,)), Operation(name, (X, X)), Operation(name, (Operation("isna", (X,)), X)))]
    return found


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
    assert {step for step in vars(steps.RowSteps) if not step.startswith("_")} == {step.split()[0] for step in STEPS}
    tried = {getattr(made, "op", getattr(made, "name", "")) for way in COMPUTED for made in way}
    assert expression.OPERATIONS.keys() | expression.ROWWISE.keys() <= tried
    assert set(ACCESSORS) == {"dt", "str", "list", "struct"}


def frame(column: pd.Series) -> pd.DataFrame:
    return pd.DataFrame({"x": column, "n": np.arange(len(column))})


def tables(column: Column) -> list[pd.DataFrame]:
    """Plain cells, all odd cells among them, and each odd one by itself."""
    one_by_one = [column.hostile(3, which) for which in range(len(column.odd))]
    return [frame(made) for made in (column.usual(3), column.hostile(len(column.odd) + 3), *one_by_one)]


def dtypes(table: pd.DataFrame) -> dict[str, Any]:
    """Of the columns; the lists of categories are no part of theirs."""
    return {n: "category" if isinstance(d, pd.CategoricalDtype) else d for n, d in table.dtypes.items()}


def applied(done: tuple[steps.Step, ...], table: pd.DataFrame) -> pd.DataFrame:
    return functools.reduce(lambda made, step: step.apply(made), done, table)


ALL = slice(None)


def failing(name: str, share: slice = ALL) -> list[str]:
    """Each step that a cell of a dtype makes fail, or end in another dtype; a step may be refused for the dtype alone."""
    found, accepted = [], 0
    usual, all_odd, *singly = tables(columns()[name])
    ways: list[tuple[Callable[[pd.DataFrame], tuple[steps.Step, ...]], ...]] = [(one,) for one in STEPS.values()]
    ways += [tuple(lambda empty, one=one: (Assign("made", one),) for one in way) for way in COMPUTED[share]]
    for alternatives in ways:
        for steps_of in alternatives:
            try:
                done = steps_of(usual.iloc[:0])
                empty = applied(done, usual.iloc[:0])
            except (TypeError, ValueError, IndexError):  # for the dtype, or for operands that no text gives it
                continue
            accepted += 1
            for table in (all_odd, singly[accepted % len(singly)]):
                try:
                    if dtypes(applied(steps_of(table.iloc[:0]), table)) != dtypes(empty):
                        found.append(f"{done}: another dtype")
                except BaseException as error:
                    found.append(f"{done}: {type(error).__name__}")
            break
    assert accepted >= 5  # of every dtype some steps are there
    return found


NAMES = [*columns()]


@pytest.mark.one_in(16)
@pytest.mark.parametrize("part", range(16))
def test_no_cell_makes_a_step_fail(part):
    """A third of all ways to compute for each dtype, fewer of lists of categories; of objects, the oddest cells, all."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {}
        for i, name in [*enumerate(NAMES)][part::16]:
            few = 12 if name.startswith("category of") else 3
            found[name] = failing(name, ALL if name == "object" else slice(i % few, None, few))
    assert {name: failed for name, failed in found.items() if failed} == {}


@pytest.mark.nightly
@pytest.mark.parametrize("name", NAMES)
def test_no_cell_makes_any_step_fail(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert failing(name) == []


def test_a_planted_fault_of_a_step_is_found(monkeypatch):
    """Of a decimal that is too long, as one was found: the direct way of Arrow fails for one cell, and for no other."""
    column = columns()["decimal32 of scale 2"]
    usual = frame(column.usual(3))

    def narrow(left: Any, right: Any) -> Any:
        if (np.abs(left.data) > 10**7).any():
            raise OverflowError
        return left

    monkeypatch.setitem(expression.OPERATIONS, "+", narrow)
    assert any("OverflowError" in found for found in failing("decimal32 of scale 2"))
    assert Operation("+", (X, Constant(3))).evaluate(usual) is not None


def test_no_cell_is_missing_from_a_block_for_another_one():
    """What a function sees of a row follows from that row, also where one beside it is no value that Python has."""
    for name, column in columns().items():
        hostile = frame(column.hostile(len(column.odd) + 3))
        rows = np.arange(len(hostile))
        whole, plain = _rebuilt(hostile, rows), _rebuilt(hostile, rows[-2:])
        assert whole.dtypes.to_dict() == plain.dtypes.to_dict(), name
        assert list(map(repr, whole["x"].iloc[-2:].tolist())) == list(map(repr, plain["x"].tolist())), name


# Labels of rows, of which nothing is asked

LABELS = labels()


def failing_under(name: str) -> list[str]:
    """Each step that fails, as users apply it, where rows have odd labels."""
    column, found, accepted = LABELS[name], [], 0
    table = pd.DataFrame({"x": ["A", "B"] * 60, "n": np.arange(120)}, dtype=object).astype({"n": "int64"})
    table.index = column.hostile(len(table))
    session = table.dp.protect(epsilon=1, unit="n", max_rows=2, name=fresh())
    for step, steps_of in STEPS.items():
        try:
            done = steps_of(table.dp._empty())
        except (ArgumentTypeError, ArgumentValueError):
            continue
        accepted += 1
        try:
            made = table.dp._apply(done)
            assert isinstance(made.index, pd.RangeIndex) or made.index.dtype == np.int64
        except BaseException as error:
            found.append(f"{step}: {type(error).__name__}")
    session.close()
    assert accepted >= 10
    return found


@pytest.mark.one_in(2)
@pytest.mark.parametrize("part", range(2))
def test_no_label_of_a_row_makes_a_step_fail(part):
    found = {name: failing_under(name) for name in [*LABELS][part::2]}
    assert {name: failed for name, failed in found.items() if failed} == {}


def test_labels_that_make_steps_fail_are_found(monkeypatch):
    monkeypatch.setattr(pd.DataFrame, "set_axis", lambda self, *_: self.copy(deep=False))
    assert failing_under("datetime64[s, Europe/Berlin]")
    assert failing_under("string by bytes")


# Questions, of tables in which every column is of a dtype that fits it, and holds odd cells

QUESTIONS = questions.EVERY | questions.FOUND | questions.FEW_BLOCKS
ROWS = 120
KINDS = {"number": ["int8", "int64", "uint64", "float16", "float32", "float64", "Int64", "UInt64", "Float64", "double"]}
KINDS["number"] += [
    name for name in NAMES if name.endswith(" of scale 2") or name in ("decimal128 of scale 38", "int64[pyarrow]")
]
KINDS["text"] = ["object", "category", "str", "python text", "string view", "dictionary", "dictionary of broken text"]
KINDS["text"] += ["string by bytes", "large_string by bytes", "text said to be Arrow's"]
KINDS["text"] += [name for name in NAMES if name.startswith("category of")]
KINDS["day"] = [name for name in NAMES if name.startswith(("datetime64[", "timestamp[", "date")) and "," not in name]
KINDS["day"] = [name for name in KINDS["day"] if "zone" not in name]
KINDS["wait"] = [name for name in NAMES if name.startswith(("timedelta64[", "duration["))]
OF = {"uid": "number", "cost": "number", "age": "number", "ward": "text", "to": "text", "wait": "wait", "day": "day"}


@functools.cache
def asked_table(turn: int, odd: str) -> pd.DataFrame:
    """The table of the questions: with plain cells, with all odd ones among them, or with one in each column."""
    made = {}
    for place, (name, kind) in enumerate(OF.items()):
        column = columns()[KINDS[kind][(turn + place) % len(KINDS[kind])]]
        which = None if odd == "all" else turn
        made[name] = column.usual(ROWS) if odd == "none" else column.hostile(ROWS, which)
    table = pd.DataFrame(made)
    if odd != "none":
        table.index = [*LABELS.values()][turn % len(LABELS)].hostile(ROWS)
    return table


def form(value: Any) -> Any:
    """All of an answer that must be public: its type, names, dtypes and, where nothing was found or sorted, its labels."""
    if isinstance(value, pd.DataFrame):
        return "frame", list(value.columns), list(map(str, value.dtypes))
    return ("series", value.name, str(value.dtype)) if isinstance(value, pd.Series) else type(value).__name__


def ended(name: str, table: pd.DataFrame) -> Any:
    """All that one can see of a question but the noisy numbers: how it ended, its warnings and what it cost."""
    table = table.copy(deep=False)
    relation = {"neighbors": "replace_one", "rows": True} if name in questions.ROW_BY_ROW else {}
    unit = {"unit": "uid", "max_rows": 4} if name in questions.BY_UNIT else {}
    terms = {"epsilon": 10**6, "delta": 0.5, "delta_reserved": 0.4, "name": fresh()} | unit | relation
    session = table.dp.protect(**terms)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            price = {"epsilon": 10**5} | ({"delta": 1e-6} if name in questions.FOUND else {})
            answer = QUESTIONS[name](table.dp(**price))
            seen = form(getattr(answer, "value", answer))
        except BaseException as error:
            seen = type(error).__name__, str(error)
    spent = session.spent
    session.close()
    return seen, [str(one.message) for one in told], spent


def differing(name: str, turns: range) -> list[Any]:
    found = []
    for turn in turns:
        plain = ended(name, asked_table(turn, "none"))
        found += [
            (turn, odd, seen, plain) for odd in ("all", "one") if (seen := ended(name, asked_table(turn, odd))) != plain
        ]
    return found


@pytest.mark.one_in(8)
@pytest.mark.parametrize("part", range(8))
def test_no_cell_decides_how_a_question_ends(part):
    names = [*QUESTIONS][part::8]
    found = {name: differing(name, range(place + part, place + part + 1)) for place, name in enumerate(names)}
    assert {name: seen for name, seen in found.items() if seen} == {}


@pytest.mark.nightly
@pytest.mark.parametrize("name", QUESTIONS)
def test_no_cell_of_any_dtype_decides_how_a_question_ends(name):
    assert differing(name, range(max(map(len, KINDS.values())))) == []


def test_a_planted_fault_of_a_question_is_found(monkeypatch):
    """A function that sees the column fails for one cell of it."""
    from pandas_dp.engines import encode

    original = encode.Numbers.raw

    def raw(self: Any) -> Any:
        if (self.values == np.iinfo(np.int64).max).any():
            raise OverflowError
        return original(self)

    monkeypatch.setattr(encode.Numbers, "raw", raw)
    turn = KINDS["number"].index("int64") - 1  # the costs are the second column
    (seen, *_), *_ = [one[2] for one in differing("sum", range(turn, turn + 1))]
    assert seen[0] == "QueryFailedError"
