"""What the ledger says of a step is what one would type for it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pandas_dp.steps.expression import Column, Constant, Expression, IsIn, Method, Operation
from pandas_dp.steps.functions import compare, logical, negate
from pandas_dp.steps.parse import parse_expression
from tests.support import steps

EMPTY = pd.DataFrame({"age": [1], "pay": [1.0], "hours per week": [1.0], "sex": ["f"], "class": ["x"]})
EMPTY = EMPTY.assign(when=pd.Timestamp(0)).iloc[:0]
NAMES = ["age", "pay", "hours per week"]

numbers = st.one_of(
    st.sampled_from(NAMES).map(Column),
    st.integers(-9, 9).map(Constant),
    st.sampled_from([0.5, 1e30, -2.25]).map(Constant),
)


def deeper(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    column = st.sampled_from(NAMES).map(Column)
    return st.one_of(
        st.builds(
            lambda op, x, y: Operation(op, (x, y)), st.sampled_from(["+", "-", "*", "/", "//", "%", "**"]), inner, inner
        ),
        st.builds(lambda x: Operation("negative", (x,)), column),
        st.builds(lambda x, d: Operation("round", (x, Constant(d))), column, st.integers(0, 3)),
        st.builds(lambda x, v: Operation("fillna", (x, Constant(v))), column, st.integers(0, 3)),
        st.builds(lambda x, v: Operation("at_least", (x, Constant(v))), column, st.integers(0, 3)),
        st.builds(lambda x, v: Operation("at_most", (x, Constant(v))), column, st.integers(0, 3)),
        st.builds(lambda x: Operation("abs", (Operation("+", (x, Constant(1))),)), column),
    )


arithmetic = st.recursive(numbers, deeper, max_leaves=8)
compared = st.builds(compare, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), arithmetic, arithmetic)
searched = st.builds(
    lambda pat, case: Method("str.contains", (Column("sex"),), (("pat", pat), ("case", case), ("regex", False))),
    st.sampled_from(["f", "it's", "a.b"]),
    st.booleans(),
)
conditions = st.recursive(
    st.one_of(
        compared,
        searched,
        st.sampled_from(NAMES).map(lambda name: Operation("isna", (Column(name),))),
        st.lists(st.sampled_from(["f", "m", "it's", '"'])).map(
            lambda keys: IsIn((Column("sex"),), tuple(map(Constant, keys)))
        ),
    ),
    lambda inner: st.one_of(
        st.builds(lambda op, x, y: logical(op, x, y), st.sampled_from(["and", "or"]), inner, inner),
        inner.map(negate),
    ),
    max_leaves=6,
)


@given(conditions)
@settings(max_examples=300, deadline=None)
def test_a_condition_reads_back_as_itself(tree):
    assert parse_expression(str(tree), EMPTY.columns) == tree


def one(made):
    (step,) = made
    return str(step)


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (steps.query("age >= 65 and sex != 'f'", EMPTY), """query("age >= 65 and sex != 'f'")"""),
        (steps.query("(age > 3 | pay < 2) & ~(age == 4)", EMPTY), "query('(age > 3 or pay < 2) and not age == 4')"),
        (steps.filter_(lambda d: d.age.between(1, 3), EMPTY), "query('age >= 1 and age <= 3')"),
        (
            steps.query("sex in ['m', 'f'] and not pay.isna()", EMPTY),
            """query("sex in ['f', 'm'] and not pay.isna()")""",
        ),
        (steps.assign(EMPTY, weekly=lambda d: d["hours per week"] / 5), "eval('weekly = `hours per week` / 5')"),
        (steps.assign(EMPTY, **{"per hour": lambda d: -d.pay / (d.age - 1)}), "eval('`per hour` = -pay / (age - 1)')"),
        (steps.assign(EMPTY, wave="b"), """eval("wave = 'b'")"""),
        (steps.assign(EMPTY, root=lambda d: np.sqrt(d.pay)), "eval('root = np.sqrt(pay)')"),
        (steps.assign(EMPTY, year=lambda d: d.when.dt.year - 1), "eval('year = when.dt.year - 1')"),
        (
            steps.query("sex.str.lower().str.startswith('f')", EMPTY),
            """query("sex.str.lower().str.startswith(pat='f')")""",
        ),
        (steps.assign(EMPTY, s=lambda d: d.sex.str[:1]), "eval('s = sex.str.slice(stop=1)')"),
        (steps.assign(EMPTY, n=lambda d: d.sex.astype(int)), """eval("n = sex.astype(dtype='int64')")"""),
        (
            steps.assign(EMPTY, a=lambda d: d.age.cut([0, 9, 99], labels=["a", "b"], right=False)),
            "eval(\"a = age.cut(bins=[0, 9, 99], right=False, labels=['a', 'b'])\")",
        ),
        (steps.assign(EMPTY, a=lambda d: d.age.where(d.age > 0)), "eval('a = age.where(age > 0)')"),
        (
            steps.assign(EMPTY, a=lambda d: d.age.case_when([(d.age > 9, 1)])),
            "eval('a = age.case_when([(age > 9, 1)])')",
        ),
        (steps.assign(EMPTY, a=lambda d: d.sex.map({"f": 1})), "eval(\"a = sex.map({'f': 1})\")"),
        (steps.eval_("x = age.clip(0, 9)", EMPTY), "eval('x = age.clip(0).clip(upper=9)')"),
        (steps.clip(0, None, EMPTY, columns="age"), "clip(0, None, columns=['age'])"),
        (steps.fillna({"pay": 0, "sex": "?"}, EMPTY), "fillna({'pay': 0, 'sex': '?'})"),
        (steps.dropna(["sex", "age"], EMPTY), "query('not age.isna() and not sex.isna()')"),
        (
            steps.merge({"sex": ["f", "m"], "k": [2, 1]}, "sex", "left", EMPTY),
            "eval(\"k = sex.map({'f': 2, 'm': 1})\")",
        ),
        (steps.drop(["sex", "age"], EMPTY), "drop(['age', 'sex'])"),
        (steps.rename({"age": "years"}, EMPTY), "rename({'age': 'years'})"),
    ],
)
def test_steps_are_written_as_they_are_typed(made, text):
    assert one(made) == text


@pytest.mark.parametrize(
    "text", ["query('age >= 65')", "eval('weekly = pay / 5')", "clip(0, None, columns=['age'])", "drop(['age', 'sex'])"]
)
def test_a_text_typed_again_is_the_same_step(text):
    calls = {
        "query": lambda expr: steps.query(expr, EMPTY),
        "eval": lambda expr: steps.eval_(expr, EMPTY),
        "clip": lambda low, high, columns: steps.clip(low, high, EMPTY, columns=columns),
        "drop": lambda columns: steps.drop(columns, EMPTY),
    }
    made = eval(text, {"__builtins__": {}}, calls)  # our own texts
    assert one(made) == text
