"""Expressions: row by row whatever the cells, and a repr that names them exactly."""

from __future__ import annotations

import copy
import datetime
import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.unitless import NO_DATE

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.steps import expression as expression_module
from pandas_dp.steps.expression import MAX_DEPTH, Column, Constant, Expression, IsIn, Operation
from pandas_dp.steps.parse import parse_expression
from pandas_dp.steps.values import booleans, numbers
from tests.steps.tables import (
    changed_texts,
    choices,
    conditions,
    expressions,
    plain,
    stored,
    tables,
)
from tests.steps.test_values import NUMBER_CASES

NAN = np.nan
MIDNIGHT = pd.Timestamp
quick = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def value(text: str, frame: pd.DataFrame) -> list[object]:
    return parse_expression(text, frame.columns).evaluate(frame).tolist()


def same(left: pd.Series, right: pd.Series) -> bool:
    """Equal dtype, labels and cells, bit for bit where they are numbers (NaN equals NaN)."""
    if left.dtype != right.dtype or not left.index.equals(right.index):
        return False
    if left.dtype == "float64":
        x, y = left.to_numpy(), right.to_numpy()
        nan = np.isnan(x)
        return np.array_equal(nan, np.isnan(y)) and np.array_equal(x[~nan].view("i8"), y[~nan].view("i8"))
    missing = left.isna()
    if not missing.equals(right.isna()):
        return False
    return all(a is b or a == b for a, b in zip(left[~missing].array, right[~missing].array, strict=True))


# Row by row, whatever the cells


@quick
@given(tables(), expressions())
def test_no_cell_decides_an_error_or_a_dtype(frame, expression):
    result = expression.evaluate(frame)
    assert result.dtype == expression.evaluate(frame.iloc[:0]).dtype
    assert result.index.equals(frame.index)
    assert expression.columns() <= set(frame.columns)


def rowwise(expression: Expression, frame: pd.DataFrame) -> bool:
    """Whether each row of the result is that of the row alone, and rows left out change no other."""
    whole = expression.evaluate(frame)
    alone = [expression.evaluate(frame.iloc[row : row + 1]) for row in range(len(frame))]
    if not all(same(whole.iloc[row : row + 1], alone[row]) for row in range(len(frame))):
        return False
    kept = [np.delete(np.arange(len(frame)), row) for row in range(len(frame))]
    return all(same(whole.iloc[rows], expression.evaluate(frame.iloc[rows])) for rows in kept)


@quick
@given(tables(), expressions())
def test_each_row_depends_on_itself_alone(frame, expression):
    assert rowwise(expression, frame)


@settings(quick, max_examples=30)
@given(tables(), expressions(), st.randoms(use_true_random=False))
def test_rows_in_another_order_give_results_in_that_order(frame, expression, random):
    order = list(range(len(frame)))
    random.shuffle(order)
    assert same(expression.evaluate(frame.iloc[order]), expression.evaluate(frame).iloc[order])


@quick
@given(tables(), conditions(1) | choices(1) | changed_texts())
def test_a_category_list_made_from_one_row_gives_the_same_row(frame, expression):
    whole = expression.evaluate(frame)
    for row in range(len(frame)):
        alone = frame.iloc[row : row + 1].copy()
        for name in ("c", "ci"):
            alone[name] = pd.Categorical(alone[name].tolist())
        assert same(whole.iloc[row : row + 1], expression.evaluate(alone))


@pytest.mark.parametrize(
    "broken",
    [
        lambda values: numbers(values.floats() - np.nansum(values.floats())),
        lambda values: numbers(np.roll(values.floats(), 1)),
        lambda values: numbers(np.argsort(values.floats()).astype(float)),
    ],
)
def test_the_check_catches_an_operation_across_rows(monkeypatch, broken):
    monkeypatch.setitem(expression_module.OPERATIONS, "abs", broken)
    frame = pd.DataFrame({"f": [1.0, 2.0, 4.0]})
    assert not rowwise(Operation("abs", (Column("f"),)), frame)
    monkeypatch.setitem(
        expression_module.OPERATIONS, "isna", lambda values: booleans(values.missing ^ (values.missing.size > 2))
    )
    assert not rowwise(Operation("isna", (Column("f"),)), frame)


@pytest.mark.parametrize("op", ["+", "-", "*", "/", "//", "%", "**"])
def test_the_length_of_a_column_does_not_change_a_digit(op):
    """Vector instructions take several rows at once and the rest one by one: the digits have to agree."""
    cells = np.random.default_rng(7).normal(size=(2, 67)) * 10
    frame = pd.DataFrame({"x": np.abs(cells[0]), "y": cells[1]})
    for expression in (Operation(op, (Column("x"), Column("y"))), Operation(op, (Column("x"), Constant(0.3)))):
        assert rowwise(expression, frame)


@pytest.mark.parametrize("name", ["sqrt", "exp", "log", "log2", "log10", "log1p", "expm1", "floor", "ceil", "negative"])
def test_the_length_of_a_column_does_not_change_a_digit_of_a_function(name):
    frame = pd.DataFrame({"x": np.random.default_rng(8).lognormal(size=67)})
    assert rowwise(Operation(name, (Column("x"),)), frame)


@quick
@given(st.lists(st.none() | st.integers(-(2**20), 2**20), max_size=6), st.data())
def test_the_storage_of_numbers_changes_nothing(cells, data):
    wide = ["Int64", "Float64", pd.ArrowDtype(pa.int64()), pd.ArrowDtype(pa.decimal128(30, 0))]
    text = data.draw(st.sampled_from([*NUMBER_CASES]))
    expression = parse_expression(text, ["x"])
    results = [plain(expression.evaluate(pd.DataFrame({"x": stored(cells, dtype)}))) for dtype in wide]
    assert all(result == results[0] for result in results)


# Identity


def test_constants_of_different_types_differ():
    distinct = [1, 1.0, True, "1", -1, 1.5, "True", 0.0, -0.0, np.inf, MIDNIGHT("2024-01-01"), pd.Timedelta("1 day")]
    nodes = [Operation("==", (Column("x"), Constant(constant))) for constant in distinct]
    assert len({repr(node) for node in nodes}) == len(set(nodes)) == len(distinct)
    for first in nodes:
        for second in nodes:
            assert (first == second) == (first is second) == (repr(first) == repr(second))


def test_constants_of_equal_meaning_are_equal():
    class Name(str):
        pass

    assert Constant(np.float32(0.5)) == Constant(Decimal("0.5")) == Constant(0.5)
    assert Constant(np.int8(3)) == Constant(3)
    assert Constant(np.bool_(True)) == Constant(True)
    assert Constant(Name("a")) == Constant("a")
    assert type(Constant(Name("a")).value) is str
    stamp = datetime.datetime(2024, 1, 1)
    assert Constant(stamp) == Constant(np.datetime64("2024-01-01")) == Constant(pd.Timestamp(stamp).as_unit("s"))
    assert Constant(datetime.timedelta(days=1)) == Constant(np.timedelta64(1, "D")) == Constant(pd.Timedelta("1D"))
    berlin = pd.Timestamp("2024-01-01 01:00", tz="Europe/Berlin")
    assert Constant(berlin) == Constant(berlin.tz_convert("UTC")) != Constant(berlin.tz_localize(None))
    assert Constant(pd.Timestamp(1)) != Constant(pd.Timestamp(0))


@pytest.mark.parametrize(
    "missing", [None, NAN, np.float32(NAN), Decimal("NaN"), Decimal("sNaN"), pd.NA, pd.NaT, NO_DATE]
)
def test_a_missing_value_is_no_constant(missing):
    with pytest.raises(ArgumentValueError, match="isna"):
        Constant(missing)


@pytest.mark.parametrize("wrong", [[1], (1,), {1}, 1j, b"a", object(), pd.Series([1]), np.array([1]), pd.Index([1])])
def test_data_is_no_constant(wrong):
    with pytest.raises(ArgumentTypeError, match="constant"):
        Constant(wrong)


@pytest.mark.parametrize("wrong", [2**64, -(2**63) - 1, "\ud800", np.datetime64("300000000-01-01", "s")])
def test_constants_outside_the_range_are_refused(wrong):
    with pytest.raises(ArgumentValueError):
        Constant(wrong)


def test_the_order_and_repeats_of_a_list_do_not_matter():
    def listed(*constants: object) -> IsIn:
        return IsIn((Column("x"),), tuple(map(Constant, constants)))

    assert listed(1, 2, 2) == listed(2, 1)
    assert listed(1) != listed(1.0)
    assert listed("a, b") != listed("a", "b")


@quick
@given(expressions(), expressions())
def test_equality_repr_hash_and_pickle_agree(first, second):
    assert (first == second) == (repr(first) == repr(second))
    for twin in (pickle.loads(pickle.dumps(first)), copy.deepcopy(first)):
        assert twin == first
        assert hash(twin) == hash(first)
        assert repr(twin) == repr(first)


def test_nodes_cannot_be_changed():
    with pytest.raises(AttributeError):
        Column("x").name = "y"  # type: ignore[misc]


def test_size_is_limited_and_the_deepest_tree_still_works():
    tree: Expression = Column("x")
    for _ in range(MAX_DEPTH - 1):
        tree = Operation("+", (tree, Constant(1)))
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert tree.evaluate(pd.DataFrame({"x": [1.0]})).tolist() == [float(MAX_DEPTH)]
    assert tree.columns() == {"x"}
    with pytest.raises(ArgumentValueError, match="several assigns"):
        Operation("+", (tree, Constant(1)))


def test_a_tree_that_doubles_at_every_turn_is_stopped():
    def double(turns: int) -> Expression:
        tree: Expression = Column("x")
        for _ in range(turns):
            tree = Operation("+", (tree, tree))
        return tree

    assert len(repr(double(12))) > 2**12
    with pytest.raises(ArgumentValueError, match="several assigns"):
        double(13)


def test_a_column_that_is_not_there_once_is_refused():
    for frame in (pd.DataFrame({"y": [1]}), pd.DataFrame([[1, 2]], columns=["x", "x"])):
        with pytest.raises(ArgumentValueError, match="exactly one column 'x'"):
            Column("x").evaluate(frame)


def test_errors_quote_no_cell():
    frame = pd.DataFrame({"s": ["secret42"], "c": pd.Categorical(["secret42"]), "n": [421337]})
    for text in ("s + 1", "s > 1", "c > 'a'", "c + 1", "n == 'a'", "n and s", "c == n", "s.clip(0, 1)"):
        with pytest.raises(ArgumentTypeError) as caught:
            value(text, frame)
        assert "42" not in str(caught.value)
        assert caught.value.__cause__ is None
