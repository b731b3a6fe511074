"""One missing cell makes floats of NumPy's integers, one from 2**63 on makes them unsigned: what steps say of other rows stays.

Every operation, and every two in a row, of cells that all three hold: the result has the same value in all three.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from support.frames import protected
from support.kept import Kept

from pandas_dp.steps.expression import Column, Constant, Expression, Method, Operation
from pandas_dp.steps.parse import parse_expression

CELLS = [0, 1, 2, 3, 5, 10, 511, 2**26, 2**31 + 1, 2**40, 2**52 + 1, 2**53 - 1, 2**53 + 2, 10**18, 2**62, 2**63 - 1024]
CONSTANTS = [
    0,
    1,
    2,
    3,
    -1,
    -7,
    10**6,
    2**31 + 1,
    2**40,
    2**53,
    2**53 + 1,
    2**60 + 1,
    2**62,
    2**63 - 1,
    2**63 + 5,
    2**64 - 1,
]
CONSTANTS += [-(2**53) - 1, -(2**60) - 1, -(2**63), 2.0, 0.5, 1e18, -1e300]
X, Y = Column("x"), Column("y")
BINARY = ["+", "-", "*", "/", "//", "%", "**", "at_least", "at_most", "fillna"]


def made(x: Expression, constants: list) -> list[Expression]:
    """Each operation of a column, with each constant on either side and with another column."""
    found: list[Expression] = [Operation(name, (x,)) for name in ("negative", "abs", "floor", "ceil")]
    found += [Operation("round", (x, Constant(places))) for places in (0, 2, -1, -3, -9, -17)]
    found += [Method("astype", (x,), (("dtype", kind),)) for kind in ("int64", "float64")]
    for op, constant in itertools.product(BINARY, map(Constant, constants)):
        found.append(Operation(op, (x, constant)))
        if op in ("+", "-", "*", "/", "//", "%", "**"):
            found.append(Operation(op, (constant, x)))
    for constant in map(Constant, constants):
        small = Operation("<", (X, Constant(100)))
        found += [Operation("where", (x, small, constant)), Operation("where", (constant, small, x))]
    found += [Operation(op, (x, Y)) for op in ("+", "-", "*", "/", "//", "%")]
    found += [Operation(op, (Operation(">", (x, Constant(2))), x)) for op in ("+", "*", "-")]
    found += [Operation(op, (x, Column("n"))) for op in ("+", "-", "*", "//", "%")]
    return [*found, Operation("where", (x, Operation(">", (X, Constant(7))), Column("n")))]


def frame(kind: str) -> pd.DataFrame:
    """All pairs of cells, and below them a row that makes this of two columns."""
    pairs = [*itertools.product(CELLS, CELLS)]
    last = {"int64": 0, "float64": None, "uint64": 2**63}[kind]
    x, y = (pd.Series([*(pair[place] for pair in pairs), last]) for place in (0, 1))
    assert x.dtype == y.dtype == kind
    n = pd.array([7, 2**40, 2**60 + 1] * (len(x) // 3 + 1), dtype="Int64")[: len(x)]
    return pd.DataFrame({"x": x, "y": y, "n": n})


FRAMES = {kind: frame(kind) for kind in ("int64", "float64", "uint64")}


def cells(expression: Expression, kind: str) -> list | str:
    """What each row but the last gets, as Python's numbers, which are compared exactly; None for what is missing."""
    try:
        column = expression.evaluate(FRAMES[kind]).iloc[:-1]
    except Exception as error:
        return type(error).__name__
    return [None if missing else cell for missing, cell in zip(column.isna().tolist(), column.tolist(), strict=True)]


def differing(expressions: list[Expression]) -> list[str]:
    found = []
    for expression in expressions:
        one, *others = (cells(expression, kind) for kind in FRAMES)
        if any(one != other for other in others):
            found.append(str(expression))
    return found


def test_every_operation_says_the_same_of_integers_that_are_floats_or_unsigned():
    assert differing(made(X, CONSTANTS)) == []


SECOND = [3, -1, 2**60 + 1, 2**63 - 1]


@pytest.mark.one_in(120)
@pytest.mark.parametrize("part", range(120))
def test_every_two_operations_say_the_same(part):
    first = made(X, CONSTANTS)[part::120]
    assert differing([second for one in first for second in made(Kept(one), SECOND)]) == []


@pytest.mark.one_in(4)
@pytest.mark.parametrize("part", range(4))
def test_three_operations_say_the_same(part):
    """A few of the many, spread over all."""
    first = made(X, CONSTANTS)[5 * part :: 37]
    second = [two for one in first for two in made(Kept(one), SECOND)[part::29]]
    assert differing([three for two in second for three in made(Kept(two), SECOND)[part::17]]) == []


@pytest.mark.parametrize(
    "step",
    [
        lambda d: d.x * d.x > 0,
        lambda d: (d.x + 2**60 + 1) % 2 == 1,
        lambda d: (d.x * 2**40) > 0,
        lambda d: (d.x + d.x + d.x) % 2 == 0,
        lambda d: d.x * 3000000000 * 3000000000 > 0,
        lambda d: d.x + 2**62 + 2**62 > 0,
    ],
)
@pytest.mark.parametrize("more", [None, 2**63])
def test_one_cell_moves_no_count_by_more_than_one(step, more):
    counts = []
    for last in (1, more):
        asked = protected(pd.DataFrame({"x": [*[2**40] * 1000, last]}), epsilon=10**4)
        counts.append(float(asked.dp(epsilon=10**3).filter(step).count()))
    assert math.isclose(*counts, abs_tol=1.5)


BASE = 10**18
IDS = pd.DataFrame({"x": np.arange(BASE, BASE + 300)})
EXACT: list[tuple[str, object]] = [
    ("x % 10 == 3", lambda x: x % 10 == 3),
    ("(x + 7) % 10 == 3", lambda x: (x + 7) % 10 == 3),
    ("(x * 1000 + 7) % 1000000 == 5007", lambda x: x == BASE + 5),
    (f"x - {BASE + 3} == 4", lambda x: x - (BASE + 3) == 4),
    (f"x + 1 == {BASE + 8}", lambda x: x + 1 == BASE + 8),
    (f"x // 3 == {(BASE + 8) // 3}", lambda x: x // 3 == (BASE + 8) // 3),
    (f"x // 3 % 10 == {BASE // 3 % 10}", lambda x: x // 3 % 10 == BASE // 3 % 10),
    (f"x.clip({BASE + 5}, {BASE + 9}) == {BASE + 7}", lambda x: min(max(x, BASE + 5), BASE + 9) == BASE + 7),
    (f"x.clip({BASE + 5}, {BASE + 9}) == {BASE + 5}", lambda x: min(max(x, BASE + 5), BASE + 9) == BASE + 5),
    (f"x.where(x % 2 == 0, {BASE + 1}) == {BASE + 1}", lambda x: x % 2 == 1),
    (f"x.replace({BASE + 2}, {BASE + 3}) == {BASE + 3}", lambda x: x in (BASE + 2, BASE + 3)),
    (f"x.round(-1) == {BASE + 20}", lambda x: round(x, -1) == BASE + 20),
    (f"(-x) == {-BASE - 1}", lambda x: x == BASE + 1),
    (f"(x - {BASE}).abs() == 1", lambda x: x == BASE + 1),
    (f"x in [{BASE + 7}, 1e18]", lambda x: x in (BASE + 7, BASE)),
    ("x == 1e18", lambda x: x == BASE),
    (f"(x - {BASE}) ** 12 % 7 == 4", lambda x: (x - BASE) ** 12 % 7 == 4 and (x - BASE) ** 12 <= 2**106),
    (f"(x + 0).isin([{BASE + 7}])", lambda x: x == BASE + 7),
    (f"x.map({{{BASE + 7}: {BASE + 9}}}) == {BASE + 9}", lambda x: x == BASE + 7),
    (f"(x + 1).astype('string') == '{BASE + 8}'", lambda x: x == BASE + 7),
    (f"(x + 1).astype('int64') == {BASE + 8}", lambda x: x == BASE + 7),
]


@pytest.mark.parametrize(("text", "holds"), EXACT)
def test_conditions_on_far_integers_are_those_of_python(text, holds):
    """In one expression; of floats, too, where they hold the same cells."""
    condition = parse_expression(text, ["x"])
    assert condition.condition(IDS).tolist() == [holds(x) for x in range(BASE, BASE + 300)]
    held = IDS.iloc[[0, 128, 256]]
    assert condition.condition(held.astype("float64")).tolist() == [holds(x) for x in (BASE, BASE + 128, BASE + 256)]


def test_a_float_and_the_integer_that_it_is_next_to_are_two():
    floats = pd.DataFrame({"x": [1e18, np.nan]})
    for sign, holds in (("==", False), ("!=", True), ("<", True), ("<=", True), (">", False), (">=", False)):
        assert Operation(sign, (X, Constant(BASE + 7))).condition(floats)[0] == holds
        assert Operation(sign, (X, Constant(BASE + 7))).condition(IDS)[0] == holds


def test_what_is_written_is_the_float_next_to_it_or_the_cell_itself():
    df = pd.DataFrame({"x": [2**60 + 1, 2**53 + 1, 7]})
    small = Operation("<", (X, Constant(10)))
    assert Operation("%", (X, Constant(10))).evaluate(df).tolist() == [7, 3, 7]
    assert Operation("//", (X, Constant(10))).evaluate(df).tolist() == [
        int(float((2**60 + 1) // 10)),
        900719925474099,
        0,
    ]
    assert Operation("//", (X, Constant(10))).evaluate(df).dtype == np.int64
    assert Operation("+", (X, Constant(1))).evaluate(df.astype("Int64")).tolist() == [2**60 + 2, 2**53 + 2, 8]
    assert Operation("+", (X, Constant(1))).evaluate(df).dtype == np.float64
    kept_beside = {0: True, 2**60 + 3: True, -1: False, 2**63 - 1: False}  # what int64 and uint64 both hold
    for other, kept in kept_beside.items():
        found = Operation("where", (X, Operation("not", (small,)), Constant(other))).evaluate(df).tolist()
        assert found == [2**60 + 1 if kept else 2**60, 2**53 + kept, float(other)]
    assert Operation("at_least", (X, Constant(2**53 + 3))).evaluate(df).tolist() == [2**60 + 1, 2**53 + 4, 2**53 + 4]
    assert Operation("abs", (X,)).evaluate(df).tolist() == df.x.tolist()
    assert Operation("negative", (X,)).evaluate(df).tolist() == [-(2**60), -(2**53), -7]


@pytest.mark.parametrize("dtype", ["int64", "uint64", "float64", "str", "object", "category", "Int64"])
def test_integers_that_are_asked_for_are_nullable_and_exact_in_whatever_follows(dtype):
    held = [10**18, 2**62] if dtype == "float64" else [10**18 + 7, 2**62 + 1]
    df = pd.DataFrame({"x": pd.Series(held if "64" in dtype else [*map(str, held)], dtype=dtype)})
    whole = Method("astype", (X,), (("dtype", "int64"),))
    assert whole.evaluate(df).dtype == "Int64"
    for change, wanted in (
        (whole, held),
        (Operation("where", (whole, Operation("<", (whole, Constant(2**61))), Constant(-1))), [held[0], -1]),
        (Operation("+", (whole, Constant(2**62))), [held[0] + 2**62, held[1] + 2**62 if held[1] < 2**62 else None]),
        (Operation("negative", (whole,)), [-cell for cell in held]),
    ):
        found = change.evaluate(df)
        assert [None if gone else cell for cell, gone in zip(found, found.isna(), strict=True)] == wanted
