"""What the builders of steps refuse, and the line to type instead."""

from __future__ import annotations

import ast

import numpy as np
import pandas as pd
import pytest

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from tests.support import steps

NAN = np.nan
TABLE = pd.DataFrame(
    {
        "age": [31, 45, 62, 18],
        "pay": [1000.0, NAN, -5.0, 500.0],
        "ward": ["ICU", None, "B", "B"],
        "city": pd.Categorical(["x", "y", None, "x"]),
        "sick": pd.array([True, None, False, True], dtype="boolean"),
        "when": pd.to_datetime(["2024-01-01", None, "2024-03-01", "2024-01-01"]),
    }
)
EMPTY = TABLE.iloc[:0]


@pytest.mark.parametrize(
    ("error", "match", "build"),
    [
        (ArgumentTypeError, "query: takes text", lambda e: steps.query(3, e)),
        (ArgumentTypeError, r"\.filter", lambda e: steps.query(pd.col("age") > 3, e)),
        (ArgumentTypeError, r"filter: .*\.query", lambda e: steps.filter_("age > 3", e)),
        (ArgumentTypeError, "filter: takes", lambda e: steps.filter_(None, e)),
        (ArgumentTypeError, r"\.drop", lambda e: steps.filter_(["age"], e)),
        (ArgumentTypeError, "filter: takes", lambda e: steps.filter_(TABLE.age > 3, e)),
        (ArgumentTypeError, "condition", lambda e: steps.query("age", e)),
        (ArgumentTypeError, "condition", lambda e: steps.filter_(pd.col("ward"), e)),
        (ArgumentTypeError, "condition", lambda e: steps.query("city", e)),
        (ArgumentValueError, r"query: \.iloc takes rows by position", lambda e: steps.query("age.iloc[0] > 3", e)),
        (ArgumentTypeError, r"query: str\.cat: joins two columns", lambda e: steps.query("ward.str.cat() > 3", e)),
        (
            ArgumentTypeError,
            r"query: .*str\.len needs text, not numbers",
            lambda e: steps.query("age.str.len() > 3", e),
        ),
        (ArgumentTypeError, r"d\.x == 'yes'", lambda e: steps.assign(e, k=lambda d: d.ward.astype(bool))),
        (ArgumentTypeError, r"dt\.year", lambda e: steps.assign(e, k=lambda d: d.when.astype(int))),
        (ArgumentTypeError, r"dates do not become text", lambda e: steps.assign(e, k=lambda d: d.when.astype(str))),
        (ArgumentTypeError, r"str\.len.* needs a column", lambda e: steps.query("'a'.str.len() > 3", e)),
        (ArgumentValueError, r"query: \.mean computes", lambda e: steps.query("age.abs().mean() > 3", e)),
        (ArgumentValueError, r"query: .*x\.abs\(", lambda e: steps.query("abs(age) > 3", e)),
        (ArgumentValueError, r"query: .*x\.abs\(", lambda e: steps.query("age.abs > 3", e)),
        (ArgumentTypeError, "assign: 'k': .*text and numbers", lambda e: steps.assign(e, k=lambda d: d.ward + 1)),
        (ArgumentTypeError, "assign: 'k'.*constant", lambda e: steps.assign(e, k=TABLE.age)),
        (ArgumentTypeError, "assign: 'k'.*constant", lambda e: steps.assign(e, k=[1, 2, 3, 4])),
        (ArgumentTypeError, "assign: 'k'.*constant", lambda e: steps.assign(e, k=np.arange(4))),
        (ArgumentValueError, "assign: 'k'.*missing", lambda e: steps.assign(e, k=None)),
        (ArgumentValueError, "no column 'agee'", lambda e: steps.assign(e, k=lambda d: d.agee)),
        (ArgumentValueError, "Unicode", lambda e: steps.assign(e, **{"\ud800": 1})),
        (ArgumentTypeError, "eval: has to be text", lambda e: steps.eval_(3, e)),
        (ArgumentValueError, "name = expression", lambda e: steps.eval_("age * 2", e)),
        (ArgumentValueError, "name = expression", lambda e: steps.eval_("", e)),
        (ArgumentValueError, "name = expression", lambda e: steps.eval_("k = 1; l = 2", e)),
        (ArgumentValueError, "name = expression", lambda e: steps.eval_("k = l = 2", e)),
        (ArgumentValueError, "name = expression", lambda e: steps.eval_("k += 2", e)),
        (ArgumentValueError, "name = expression", lambda e: steps.eval_("k, l = age", e)),
        (ArgumentValueError, "name = expression", lambda e: steps.eval_("age.k = 2", e)),
        (ArgumentValueError, "Unicode", lambda e: steps.eval_("`\ud800` = 2", e)),
        (ArgumentValueError, "public number", lambda e: steps.eval_("k = age - age.mean()", e)),
        (ArgumentTypeError, "eval: 'k'.*text and numbers", lambda e: steps.eval_("k = ward + 1", e)),
        (ArgumentValueError, "lower, upper or both", lambda e: steps.clip(None, None, e, columns="age")),
        (ArgumentValueError, "at most upper", lambda e: steps.clip(2, 1, e, columns="age")),
        (ArgumentTypeError, "have to be numbers", lambda e: steps.clip("a", None, e, columns="age")),
        (ArgumentTypeError, "have to be numbers", lambda e: steps.clip(True, None, e, columns="age")),
        (ArgumentValueError, "missing", lambda e: steps.clip(NAN, 1, e, columns="age")),
        (ArgumentTypeError, "constant", lambda e: steps.clip(TABLE.age, 1, e, columns="age")),
        (ArgumentTypeError, "columns=", lambda e: steps.clip(0, 1, e)),
        (ArgumentTypeError, "clip needs numbers", lambda e: steps.clip(0, 1, e, columns=["age", "when"])),
        (ArgumentTypeError, "clip needs numbers", lambda e: steps.clip(0, 1, e, columns="sick")),
        (ArgumentValueError, "no column 'agee'", lambda e: steps.clip(0, 1, e, columns="agee")),
        (ArgumentTypeError, "by their names", lambda e: steps.clip(0, 1, e, columns=3)),
        (ArgumentTypeError, r"by column, df\.dp\.fillna\(\{'pay': 0\}\)", lambda e: steps.fillna(0, e)),
        (ArgumentValueError, "missing", lambda e: steps.fillna(None, e)),
        (ArgumentTypeError, "constant", lambda e: steps.fillna(TABLE.mean(numeric_only=True), e)),
        (ArgumentTypeError, "'pay'.*constant", lambda e: steps.fillna({"pay": TABLE.pay}, e)),
        (ArgumentTypeError, "cannot be filled with text", lambda e: steps.fillna({"pay": "none"}, e)),
        (ArgumentTypeError, "cannot be filled with numbers", lambda e: steps.fillna({"sick": 1}, e)),
        (ArgumentValueError, "2024-01-31", lambda e: steps.fillna({"when": "never"}, e)),
        (ArgumentValueError, "no column 'agee'", lambda e: steps.fillna({"agee": 1}, e)),
        (ArgumentTypeError, "has to be text", lambda e: steps.fillna({3: 1}, e)),
        (ArgumentValueError, "no column 'agee'", lambda e: steps.drop(["age", "agee"], e)),
        (ArgumentTypeError, "by their names", lambda e: steps.drop(3, e)),
        (ArgumentTypeError, "by their names", lambda e: steps.drop(None, e)),
        (ArgumentTypeError, "by their names", lambda e: steps.drop(TABLE.ward, e)),
        (ArgumentTypeError, "has to be text", lambda e: steps.drop([["age"]], e)),
        (ArgumentTypeError, "'old': 'new'", lambda e: steps.rename(3, e)),
        (ArgumentTypeError, "'old': 'new'", lambda e: steps.rename(TABLE.ward, e)),
        (ArgumentTypeError, "has to be text", lambda e: steps.rename({"age": 3}, e)),
        (ArgumentTypeError, "has to be text", lambda e: steps.rename(len, e)),
        (ArgumentTypeError, "raised ZeroDivisionError", lambda e: steps.rename(lambda name: 1 / 0, e)),
        (ArgumentValueError, "Unicode", lambda e: steps.rename({"age": "\ud800"}, e)),
        (ArgumentValueError, "same name", lambda e: steps.rename({"age": "pay"}, e)),
        (ArgumentValueError, "no column 'agee'", lambda e: steps.rename({"agee": "x"}, e)),
    ],
)
def test_refusals_say_what_to_type_and_name_nothing_else(error, match, build):
    with pytest.raises(error, match=match) as caught:
        build(EMPTY)
    given = {name for name in EMPTY.columns if f"'{name}'" in str(caught.value)}
    assert given <= {"age", "ward", "pay"}  # an argument's own, or an example's
    for cell in ("ICU", "1000", "500", "2024-03"):
        assert cell not in str(caught.value)


@pytest.mark.parametrize("text", ["pay/1000", "pay", "when.dt.month", "age > 30 and pay < 5"])
def test_a_text_that_computes_with_columns_is_no_constant(text):
    with pytest.raises(ArgumentValueError, match="names columns") as refused:
        steps.assign(EMPTY, new=text)
    line = str(refused.value).split("eval(")[1].split("). For")[0]
    (made,) = steps.eval_(ast.literal_eval(line), EMPTY)
    assert made.name == "new"
    assert made.expression.columns() <= set(EMPTY.columns)
    (constant,) = steps.assign(EMPTY, new=lambda d: text)
    assert constant.apply(TABLE)["new"].tolist() == [text] * 4


@pytest.mark.parametrize("text", ["A", "high-low", "new york", "1", "day.dt.month", "'pay'", ""])
def test_a_text_of_no_column_is_a_constant(text):
    (made,) = steps.assign(EMPTY, new=text)
    assert made.apply(TABLE)["new"].tolist() == [text] * 4


def test_a_text_names_no_column_that_a_name_cannot_be_typed_for():
    with pytest.raises(ArgumentValueError, match=r"eval\('x = pay / 2'\)"):
        steps.assign(EMPTY, **{"my pay": "pay/2"})
