"""Groups: what is refused, and shapes that no row decides."""

from __future__ import annotations

import json
from itertools import product

import pandas as pd
import pytest
from support.frames import protected, refused
from support.groups import BIG, KEYS, MONTHS, people, table

import pandas_dp
from pandas_dp import ArgumentTypeError, ArgumentValueError, BudgetExceededError
from pandas_dp.questions import partition as parts_module

REFUSED = [
    (lambda d: d.groupby([], keys={}), r"a column or a list of columns"),
    (lambda d: d.groupby(("sex", "city"), keys=KEYS), r"a column or a list of columns"),
    (lambda d: d.groupby(["sex", 3], keys=KEYS), r"a column or a list of columns"),
    (lambda d: d.groupby(["sex", "sex"], keys=KEYS), r"the columns of groupby\(\['sex', 'sex'\]\) must differ"),
    (lambda d: d.groupby(["sex", "cty"], keys=KEYS), r"no column named 'cty'"),
    (
        lambda d: d.groupby(["sex", "city"], keys=["f", "m"]),
        r"d\.groupby\(\['sex', 'city'\], keys=\{'sex': \['A', 'B'\], 'city': \['A', 'B'\]\}\)",
    ),
    (lambda d: d.groupby(["sex", "city"], keys=[("f", "x")]), r"keys= of several columns is a dict"),
    (lambda d: d.groupby(["sex", "age"], bins=[0, 1], keys={"sex": ["f"]}), r"bins= of several columns is a dict"),
    (
        lambda d: d.groupby(["sex", "city"], keys=KEYS | {"ctiy": ["x"]}),
        r"names a column that groupby\(\) does not use.*'city'",
    ),
    (
        lambda d: d.groupby("sex", keys={"city": ["x"]}),
        r"use, 'city': d\.groupby\('sex', keys=\{'sex': \['A', 'B'\]\}\)",
    ),
    (lambda d: d.groupby(["sex", "age"], keys=KEYS), r"keys= names a column that groupby\(\) does not use"),
    (
        lambda d: d.groupby(["sex", "city"], keys={"sex": ["f"]}),
        r"'city': groupby\(\) needs the public list of keys, which must not come from the data: "
        r"d\.groupby\(\['sex', 'city'\], keys=\{'sex': \['f'\], 'city': \['A', 'B'\]\}\)",
    ),
    (lambda d: d.groupby(["sex", "age"]), r"keys=\{'sex': \['A', 'B'\]\}, bins=\{'age': range\(0, 101, 10\)\}\)"),
    (lambda d: d.groupby(["sex", "ok"], keys={"sex": ["f", "f"]}), r"'sex': keys must not hold a value twice: groupby"),
    (lambda d: d.groupby(["sex", "ok"], keys={"sex": [["f"]]}), r"'sex': keys must be plain values"),
    (lambda d: d.groupby(["sex", "ok"], keys={"sex": "fm"}), r"'sex': keys must be a list"),
    (lambda d: d.groupby(["sex", "ok"], keys={"sex": []}), r"'sex': keys must not be empty"),
    (lambda d: d.groupby(["sex", "ok"], keys={"sex": ["f", None]}), r"'sex': keys must not hold a missing value"),
    (lambda d: d.groupby(["sex", "ok"], keys={"sex": ["f"]}, other=1), r"other must be True or False"),
    (
        lambda d: d.groupby(["sex", "age"], keys=KEYS, bins={"sex": [0, 1]}),
        r"keys= names a column that groupby\(\) does not",
    ),
    (
        lambda d: d.groupby(["sex", "age"], keys={"sex": ["f"], "age": [1]}, bins={"age": [0, 1]}),
        r"either bins= or keys=",
    ),
    (
        lambda d: d.groupby(["sex", "city"], keys=KEYS, bins={"age": [0, 1]}),
        r"bins= names a column that groupby\(\) does not use",
    ),
    (
        lambda d: d.groupby(["sex", "age"], keys={"sex": ["f"]}, bins={"age": [1, 0]}),
        r"'age': bins must be in strictly ascending order",
    ),
    (lambda d: d.groupby(["sex", "ok"], bins={"sex": [0, 1]}), r"'sex': bins need a column of numbers or dates"),
    (lambda d: d.groupby("age", bins=MONTHS), r"periods can only be bins of a column of dates"),
    (
        lambda d: d.groupby("when", bins=MONTHS[::2]),
        r"d\.groupby\('when', bins=pd\.period_range\('2026-01', '2026-12', freq='M'\)\)",
    ),
    (lambda d: d.groupby("when", bins=MONTHS[:0]), r"periods must follow one another without gaps"),
    (lambda d: d.groupby("sex", keys=pd.DataFrame({"sex": ["f"]})), r"of one column type groupby"),
    (lambda d: d.groupby(["sex", "city"], keys=pd.DataFrame({"sex": ["f"]})), r"has the columns that are grouped by"),
    (lambda d: d.groupby(["sex", "city"], keys=pd.DataFrame([["f", "x"]] * 2, columns=["sex", "city"])), "twice"),
    (lambda d: d.groupby(["sex", "city"], keys=pd.DataFrame([["f", None]], columns=["sex", "city"])), "each cell"),
    (lambda d: d.groupby(["sex", "city"], keys=pd.DataFrame({"sex": [], "city": []})), "needs rows"),
    (lambda d: d.groupby(["sex", "city"], keys=pd.DataFrame({"sex": [["f"]], "city": ["x"]})), "plain values"),
    (
        lambda d: d.groupby(["sex", "city"], keys=pd.DataFrame({"sex": ["f"], "city": ["x"]}), null=True),
        "leave bins=, other= and null= out",
    ),
    (
        lambda d: d.groupby(["pid", "age"], keys={"pid": range(1001)}, bins={"age": range(1001)}),
        r"1,001,000 combinations",
    ),
    (
        lambda d: d.groupby("sex", keys=["f"]).quantile(0.5, bounds=(0, 1)),
        r"groupby\('sex', keys=\['f'\]\)\['age'\]\.quantile\(",
    ),
    (lambda d: d.groupby("sex", keys=["f"])["pay"].quantile(2, bounds=(0, 1)), r"q must lie between 0 and 1"),
    (lambda d: d.groupby("sex", keys=["f"])["pay"].median(), r"median\(\) needs public bounds"),
    (lambda d: d.groupby("sex", keys=["f"])["city"].median(bounds=(0, 1)), r"needs a column of numbers or dates"),
    (lambda d: d.groupby("sex", keys=["f"])["pay"].var(bounds=(0, 1), ddof=2), r"ddof must be 0 or 1"),
    (lambda d: d.groupby("sex", keys=["f"])["when"].std(bounds=("2013", "2014")), r"std\(\) of dates has no meaning"),
    (
        lambda d: (
            d.assign(long=lambda t: t["when"] - pd.Timestamp("2013"))
            .groupby("sex", keys=["f"])["long"]
            .std(bounds=("0h", "5h"))
        ),
        r"std\(\) takes numbers, such as the seconds of durations: \.assign\(long=lambda d: d\['long'\]\.dt\.total_seconds",
    ),
    (lambda d: d.groupby("sex", keys=["f"])["city"].mode(), r"mode\(\) needs the public list of keys"),
    (
        lambda d: d.groupby("sex", keys=["f"])["age"].histogram(),
        r"d\.groupby\('sex', keys=\['f'\]\)\['age'\]\.histogram\(bins=range\(0, 101, 10\)\); keys=\[\.\.\.\] counts ",
    ),
    (
        lambda d: d.groupby("sex", keys=["f"])["age"].histogram(bins=[0]),
        r"d\.groupby\('sex', keys=\['f'\]\)\['age'\]\.histogram\(bins=range\(0, 101, 10\)\)",
    ),
    (lambda d: d.groupby("pid", keys=range(2000))["age"].histogram(bins=range(1000)), r"1,998,000 combinations"),
    (lambda d: d.groupby(["sex", "city"], keys=KEYS)["no"], r"no column named 'no'"),
    (
        lambda d: d.groupby(["sex", "city"], keys=KEYS)["age", "pay"],
        r"groupby\(\['sex', 'city'\], keys=\[\.\.\.\]\)\['cost'\]",
    ),
    (
        lambda d: d.groupby(["sex", "city"], keys=KEYS).mean(),
        r"mean\(\) needs a column: d\.groupby\(\['sex', 'city'\], keys=.*\)\.mean\(column='age', bounds=\(lower, upper\)\)$",
    ),
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("ask", "match"), REFUSED, ids=range(len(REFUSED)))
def test_refusals_cost_nothing(monkeypatch, ask, match):
    df = table()
    with refused(monkeypatch, df, (ArgumentTypeError, ArgumentValueError), match):
        ask(df.dp(1))


def test_a_table_of_the_frame_itself_is_no_public_list(monkeypatch):
    df = protected(people().dropna(), epsilon=10)
    with refused(monkeypatch, df, ArgumentValueError, "keys must be public"):
        df.dp(1).groupby(list(df.columns), keys=df)


def test_a_table_with_more_combinations_than_can_be_numbered(monkeypatch):
    df = table()
    monkeypatch.setattr(parts_module, "MOST_NUMBERED", 9)
    allowed = pd.DataFrame({"sex": ["a", "b", "c"], "city": ["x", "y", "z"]})
    with refused(monkeypatch, df, ArgumentValueError, "combinations of its values"):
        df.dp(1).groupby(["sex", "city"], keys=allowed)


def test_a_budget_that_is_too_small_pays_nothing():
    df = protected(people(), epsilon=1)
    with pytest.raises(BudgetExceededError):
        df.dp(2).groupby(["sex", "city"], keys=KEYS).size()
    assert df.dp.session.spent == "epsilon=0"


@pytest.mark.one_in(2)
@pytest.mark.parametrize("rows", [0, 1])
@pytest.mark.parametrize("nulls", [False, True])
def test_shape_and_dtypes_do_not_depend_on_the_rows(rows, nulls):
    """Whatever the rows hold, also none at all: index, dtype and name are those of the public arguments."""
    whole, few = people(), people(rows)
    if nulls:
        few = few.assign(
            **{name: pd.Series([None] * rows, dtype=few[name].dtype) for name in ("sex", "city", "age", "pay")}
        )
    few = few.astype(whole.dtypes)
    frames = [protected(frame, epsilon=10**6) for frame in (whole, few)]
    for ask in (
        lambda d: d.groupby(["sex", "age"], keys={"sex": ["f", "m"]}, bins={"age": [0, 20, 50]}, null=True).size(),
        lambda d: d.groupby(["sex", "city"], keys=KEYS)["pay"].count(),
        lambda d: d.groupby(["when", "ok"], bins={"when": MONTHS})["pay"].sum(bounds=(0, 10)),
        lambda d: d.groupby(["sex", "city"], keys=KEYS)["when"].mean(bounds=("2013-01-01", "2014-01-01")),
        lambda d: d.groupby(["sex", "city"], keys=KEYS)["pay"].std(bounds=(0, 10)),
        lambda d: d.groupby("sex", keys=["f", "m"], other=True)["pay"].quantile([0.2, 0.5, 0.8], bounds=(0, 10)),
        lambda d: d.groupby(["sex", "ok"], keys={"sex": ["f"]})["when"].median(bounds=("2013-01-01", None)),
        lambda d: d.groupby("sex", keys=["f", "m"])["age"].mode(keys=[1.5, 2.5]),
        lambda d: d.groupby("sex", keys=["f", "m"])["when"].histogram(bins=MONTHS, null=True),
    ):
        one, two = (ask(frame.dp(1)) for frame in frames)
        assert one.index.equals(two.index)
        assert one.index.names == two.index.names
        assert one.index.to_frame().dtypes.equals(two.index.to_frame().dtypes)
        assert (one.dtype, one.name) == (two.dtype, two.name)
        assert one.mechanism == two.mechanism


def test_keys_that_no_row_has_are_said_to_be_spelt_otherwise():
    df = table()
    note = "perhaps the keys are spelt differently or have another type in the column or the bins miss the data"
    # of 2 % of the draws one is above what noise makes of 0: of six in a row below 1e-10
    draws = (
        df.dp(1, fresh=True).groupby(["sex", "age"], keys={"sex": ["F", "M"]}, bins={"age": [0, 50]}, other=True)
        for _ in range(6)
    )
    assert any(note in repr(groups.size()) for groups in draws)
    assert "perhaps" not in repr(df.dp(BIG).groupby(["sex", "ok"], keys={"sex": ["f", "none"]}).size())


def test_means_of_keys_that_no_row_has_are_said_to_be_spelt_otherwise():
    groups = table().dp(BIG)
    note = "no group has a value, as where the keys are spelt differently or the bins miss the data"
    assert note in groups.groupby("sex", keys=["F", "M"])["age"].mean(bounds=(0, 90)).notes
    assert "no group" not in repr(groups.groupby("sex", keys=["f", "M"])["age"].mean(bounds=(0, 90)))


def test_units_of_several_rows_in_many_combinations():
    """Five people with a row in each of six groups: two groups of each count, so ten rows are counted in all."""
    rows = [(p, s, c) for p in range(5) for s, c in product(*KEYS.values())]
    df = pd.DataFrame(rows, columns=["pid", "sex", "city"])
    df = protected(df, epsilon=10**6, unit="pid", max_rows=6, max_groups=2, max_rows_per_group=1)
    sizes = df.dp(BIG).groupby(["sex", "city"], keys=KEYS).size()
    assert sizes.sum() == 10
    assert sizes.max() <= 5


PLANNED = [
    lambda q: q.groupby(["sex", "city"], keys=KEYS)["pay"].mean(bounds=(0, 1)),
    lambda q: q.groupby(["age", "sex"], bins={"age": range(0, 51, 10)}, keys={"sex": ["f"]}, null=True).size(),
    lambda q: q.groupby(["when", "ok"], bins={"when": MONTHS}).count("pay"),
    lambda q: q.groupby("ok")["pay"].quantile([0.1, 0.5], bounds=(0, 9)),
    lambda q: q.groupby("ok").mode("city", keys=["x", "y"]),
    lambda q: q.groupby("ok")["when"].histogram(bins=MONTHS),
    lambda q: q.groupby("when", bins=pd.period_range("2013-01-03", periods=5, freq="W")).count("pay"),
]


@pytest.mark.parametrize("ask", PLANNED, ids=range(len(PLANNED)))
def test_questions_in_plan_files(ask):
    query = ask(pandas_dp.query(epsilon=1))
    written = json.loads(json.dumps(query.to_dict()))
    again = pandas_dp.Query.from_dict(written)
    assert again == query
    assert hash(again) == hash(query)
    df = table()
    first = query(df)
    pd.testing.assert_series_equal(again(df).value, first.value)  # the same question: one answer, paid once
    assert df.dp.session.spent == "epsilon=1"
    assert eval(repr(query), {"pandas_dp": pandas_dp, "pd": pd}) == query


def test_periods_with_gaps_are_no_plan():
    with pytest.raises(ArgumentTypeError, match="a Period"):
        pandas_dp.query(epsilon=1).groupby("when", bins=MONTHS[::2]).size().to_dict()
