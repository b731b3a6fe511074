"""What pandas users trip over between a Parquet file and a certificate: texts that say what to type."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest
from support.frames import fresh, people, protected, refused

from pandas_dp import ArgumentTypeError, ArgumentValueError, BudgetExceededError, Schema, UnverifiedFrameError
from pandas_dp.queries.texts import read_query

MONTHS = pd.period_range("2013-01", "2013-12", freq="M")
CASES: list[tuple[Callable[[pd.DataFrame], object], type[Exception], str]] = [
    # options and spellings of pandas
    (
        lambda d: d.dp(epsilon=1).value_counts("sex", keys=["f"], dropna=False),
        ArgumentTypeError,
        "null=True counts them",
    ),
    (lambda d: d.dp(epsilon=1).groupby("sex", keys=["f"], dropna=False), ArgumentTypeError, "null=True counts them"),
    (lambda d: d.dp(epsilon=1).groupby("sex", keys=["f"], as_index=False), ArgumentTypeError, r"\.reset_index\(\)"),
    (lambda d: d.dp(epsilon=1).mean("pay", bounds=(0, 9), skipna=False), ArgumentTypeError, "always left out"),
    (lambda d: d.dp(epsilon=1).value_counts("sex", ascending=True), ArgumentTypeError, r"\.sort_values\(\)"),
    (lambda d: d.dp(epsilon=1).groupby("when", freq="M"), ArgumentTypeError, r"bins=pd\.period_range\("),
    (lambda d: d.dp(epsilon=1).crosstab("sex", "city", aggfunc="sum"), ArgumentTypeError, r"is \.pivot_table\('cost'"),
    (lambda d: d.dp(epsilon=1).resample("ME", on="when"), AttributeError, r"bins=pd\.period_range\("),
    (lambda d: d.dp(epsilon=1).isna(), AttributeError, r"\.count\('age'\) those that have one"),
    (
        lambda d: d.dp(epsilon=1).quantile(0.5),
        ArgumentTypeError,
        r"d\.dp\(epsilon=1\)\.quantile\('age', bounds=\(lower, upper\)\); several with \.agg\(",
    ),
    (lambda d: d.dp(epsilon=1).mean(["pay", "age"]), ArgumentTypeError, r"\[\['pay', 'age'\]\]\.mean\("),
    (
        lambda d: d.dp(epsilon=1).pivot_table(values="pay", index="sex", bounds=(0, 9)),
        ArgumentTypeError,
        r": d\.dp\(epsilon=1\)\.groupby\('sex', keys=\['A', 'B'\]\)\['pay'\]\.mean\(bounds=\(0, 9\)\)$",
    ),
    # columns themselves in place of their names
    (
        lambda d: d.dp(epsilon=1).groupby(d.when.dt.to_period("M")),
        ArgumentValueError,
        r"groups need the name of a column: d\.dp\(epsilon=1\)\.groupby\('when', bins=pd\.period_range\('2026-01', .*\)$",
    ),
    (
        lambda d: d.dp(epsilon=1).groupby(pd.Grouper(key="when", freq="ME")),
        ArgumentTypeError,
        r"the name of a column: d\.dp\(epsilon=1\)\.groupby\('when', bins=",
    ),
    (lambda d: d.dp(epsilon=1).crosstab(d.sex, d.city), ArgumentValueError, "crosstab: a column is given by its name"),
    # months
    (
        lambda d: d.dp(epsilon=1).histogram("when", bins=MONTHS),
        ArgumentTypeError,
        r"periods are bins of groups: d\.dp\(epsilon=1\)\.groupby\('when', bins=MONTHS\)\.size\(\)$",
    ),
    (
        lambda d: d.dp.assign(m=lambda t: t.when.dt.to_period("M")),
        ArgumentValueError,
        r"write when\.dt\.strftime\('%Y-%m'\)",
    ),
    # without a price
    (lambda d: d.dp["pay"], ArgumentTypeError, r"df\.dp\(epsilon=0\.5\)\['pay'\]\.mean\(bounds=\(lower, upper\)\)"),
    (lambda d: d.dp[d.age > 65], ArgumentTypeError, r"rows are chosen by .*: d\.dp\.query\('age > 65'\)$"),
    (lambda d: d.dp.pay, AttributeError, r"'pay' is a column; .*df\.dp\(epsilon=0\.5\)\['pay'\]"),
    # keys and bounds
    (
        lambda d: d.dp(epsilon=1).groupby("sex", keys=["f", None]),
        ArgumentValueError,
        r"keys=\['A', 'B'\]: those of d\['x'\]\.unique\(\) would give the data away",
    ),
    # other words for a question, and columns in other shapes
    (lambda d: d.dp(epsilon=1).average("pay"), AttributeError, "has no 'average'; did you mean 'mean'"),
    (lambda d: d.dp(epsilon=1)["pay"].variance(), AttributeError, "did you mean 'var'"),
    (lambda d: d.dp(epsilon=1).agg({"pay": "avg"}), ArgumentValueError, "did you mean 'mean'"),
    (
        lambda d: d.dp(epsilon=1).agg({"pay": "mean"}, bounds={"pay": (0, 9), "age": (0, 9)}),
        ArgumentValueError,
        "are asked about; leave out 'age'",
    ),
    (
        lambda d: d.dp(epsilon=1).corr("age", "pay"),
        ArgumentTypeError,
        r"a list of columns: d\.dp\(epsilon=1\)"
        r"\.corr\(\['age', 'pay'\], bounds=\{'age': \(lower, upper\), 'pay': \(lower, upper\)\}\)",
    ),
    (lambda d: d.dp.drop("age", "pay"), ArgumentTypeError, r"columns as one list: d\.dp\.drop\(\['age', 'pay'\]\)"),
    (
        lambda d: d.dp(epsilon=1).describe(),
        ArgumentTypeError,
        r"needs columns: d\.dp\(epsilon=1\)\.describe\(.*columns=\['age', 'pay'\], bounds=\{'age': \(lower, upper\), 'pay'",
    ),
    (lambda d: d.dp(epsilon=1)[d.age > 65], ArgumentTypeError, r"d\.dp\(epsilon=1\)\.query\('age > 65'\)$"),
    (lambda d: d[d.age > 40].dp(epsilon=1).count(), UnverifiedFrameError, r"step: d\.dp\.query\('age > 40'\)\.dp\("),
    # names that a session has not got
    (lambda d: d.dp.session.to_html("page.html"), AttributeError, "no 'to_html'; did you mean 'report'"),
    (lambda d: d.dp.session.remaining, AttributeError, "did you mean 'left'"),
    (lambda d: d.dp.session.other, AttributeError, "no 'other'. There are: adopt, budget, .*report"),
    # how many rows a unit has
    (
        lambda d: d.dp.protect(epsilon=1, unit="pid"),
        ArgumentTypeError,
        "max_rows=10.; if you do not know one, max_rows='private' finds it",
    ),
]


@pytest.mark.parametrize(("ask", "error", "line"), CASES)
def test_the_line_to_type(monkeypatch, ask, error, line):
    df = protected()
    with refused(monkeypatch, df, error, line):
        ask(df)


def test_agg_names_its_own_bounds(monkeypatch):
    df = protected(epsilon=10**6)
    line = r"needs public bounds for 'pay'.*: (df\.dp\(epsilon=1\)|groups)\.agg\(.*, bounds=\{.*'pay': \(lower, upper\)\}\)"
    groups = df.dp(epsilon=1).groupby("sex", keys=["f", "m"])
    asks = (
        lambda: df.dp(epsilon=1).agg({"pay": ["mean", "std"]}),
        lambda: df.dp(epsilon=1).agg({"age": "mean", "pay": "mean"}, bounds={"age": (0, 120)}),
        lambda: df.dp(epsilon=1).agg(typical=("pay", "mean")),
        lambda: groups.agg({"pay": "mean"}),
        lambda: groups.agg(typical=("pay", "mean")),
    )
    for ask in asks:
        with refused(monkeypatch, df, ArgumentTypeError, line):
            ask()
    with refused(monkeypatch, df, ArgumentValueError, "no column named 'pya'; did you mean 'pay'"):
        df.dp(epsilon=1).agg({"pya": "mean"})
    assert df.dp(epsilon=10**5).agg({"pay": ["count"], "age": ["nunique"]}).shape == (2, 2)  # have no bounds


def test_agg_takes_the_bounds_of_the_schema_and_of_truth_values():
    frame = people().assign(old=lambda d: d.age > 40)
    df = protected(frame, epsilon=10**6, schema={"pay": {"bounds": (0, 5000)}})
    found = df.dp(epsilon=10**5).agg({"pay": "mean", "old": "mean"})
    assert abs(found["old"] - 3 / 8) < 0.01  # noise of 1e-4


def test_a_column_that_is_named_as_a_question(monkeypatch):
    df = protected(pd.DataFrame({"count": [1, 2], "session": [3, 4]}))
    with refused(monkeypatch, df, AttributeError, r"needs a price: df\.dp\(epsilon=0\.5\)\.count\("):
        _ = df.dp.count
    assert df.dp.session.left == "epsilon=10"


def test_plans_say_how_columns_are_written():
    with pytest.raises(ArgumentValueError, match=r"written in quotes: 'cost' in mean\(\)"):
        read_query("mean(cost)", {"epsilon": 0.5})
    match = r"names of columns in quotes.*\.eval\('band = age\.cut\(\[0, 18, 65\]\)'\)"
    with pytest.raises(ArgumentValueError, match=match):
        read_query("assign(band=lambda d: d.age.cut([0, 18])).count()", {"epsilon": 0.5})


def test_schemas_of_other_spellings():
    with pytest.raises(ArgumentTypeError, match=r"\{'bounds': \(0, 120\)\} or \{'keys': \['A', 'B'\]\}"):
        Schema({"ward": ["A", "B"]})  # type: ignore[dict-item]
    for end in ("min", "max", "lower", "le"):
        with pytest.raises(
            ArgumentValueError, match=r"not '\w+'; both ends go into one pair: \{'bounds': \(0, 120\)\}"
        ):
            Schema({"cost": {end: 0}})


def test_plots_of_another_kind():
    df = protected()
    answers = (df.dp(epsilon=1).count(), df.dp(epsilon=1).value_counts("sex", keys=["f", "m"]))
    for answer in answers:
        with pytest.raises(
            ArgumentTypeError,
            match=r"takes no kind=.*other kinds of plots are pandas', of what \.value holds, and have none",
        ):
            answer.plot(kind="bar")


def test_a_budget_that_is_used_up_says_how_it_is_raised():
    df = protected(epsilon=1)
    df.dp(epsilon=1).count()
    with pytest.raises(BudgetExceededError, match=r"nothing fits any more; .*df\.dp\.session\.extend\(to="):
        df.dp(epsilon=0.5).count("age")


def test_the_way_to_max_rows_can_be_gone():
    df = people().assign(pid=lambda d: range(len(d)))
    df.dp.protect(epsilon=0.1, unit="pid", max_rows=1, name=fresh())
    df.dp(epsilon=0.1).rows_per_unit()
    df.dp.session.close()
    assert df.dp.protect(epsilon=3, unit="pid", max_rows=10, name=fresh()).left == "epsilon=3"


def test_a_question_behind_a_table_and_a_price():
    with pytest.raises(ArgumentValueError, match=r"write what follows df\.dp\(\.\.\.\): groupby"):
        read_query("df.dp(epsilon=0.5).count()", {"epsilon": 0.5})


def test_the_row_of_a_single_number_is_named_by_its_question():
    df = protected()
    first, second = df.dp(epsilon=1).count(), df.dp.query("age > 40").dp(epsilon=1).query("age < 60").count()
    table = pd.concat([first.table(), second.table()])
    assert list(table.index) == ["count()", "query('age > 40').query('age < 60').count()"]
    assert table["value"].tolist() == [first.value, second.value]
