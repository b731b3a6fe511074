"""Tables by two columns: the shape that pandas gives them, margins and shares of noisy cells, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from support.frames import protected, refused

import pandas_dp
from pandas_dp import ArgumentTypeError, ArgumentValueError
from pandas_dp.release.values import FrameRelease

BIG = 10**4  # at this price a count is off by one with probability below 1e-4000
KEYS = {"sex": ["f", "m"], "city": ["x", "y", "z"]}
MONTHS = pd.period_range("2013-01", "2013-03", freq="M")


def people(rows: int = 600) -> pd.DataFrame:
    n = np.arange(rows)
    return pd.DataFrame(
        {
            "sex": pd.Series(list("fmmfm"), dtype="str").take(n % 5).reset_index(drop=True),
            "city": pd.Series(list("xyzx"), dtype="str").take(n % 4).reset_index(drop=True),
            "ok": n % 7 < 3,
            "age": n % 50,
            "pay": np.where(n % 6 == 0, np.nan, 10.0 * (n % 13)),
            "when": pd.Timestamp("2013-01-01") + pd.to_timedelta(n % 90, unit="D"),
            "wait": pd.to_timedelta(n % 60, unit="min"),
        }
    )


def table(rows: int = 600) -> pd.DataFrame:
    return protected(people(rows), epsilon=10**6)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("margins", [False, True])
@pytest.mark.parametrize("normalize", [False, True, "all", "index", "columns"])
def test_a_crosstab_is_that_of_pandas(margins, normalize):
    df = table()
    found = df.dp(BIG).crosstab("sex", "city", keys=KEYS, margins=margins, normalize=normalize)
    wanted = pd.crosstab(df["sex"], df["city"], margins=margins, normalize=normalize)
    assert isinstance(found, FrameRelease)
    pd.testing.assert_frame_equal(
        found.value, wanted, check_dtype=False, check_index_type=False, check_column_type=False
    )
    assert set(found.dtypes) == {np.dtype("float64" if normalize else "int64")}
    ends = found.interval()
    assert ends.columns.names == [None, None]
    for column in found:
        assert (ends[column, "lower"] <= found.value[column]).all()
        assert (ends[column, "upper"] >= found.value[column]).all()
    assert len(repr(found).splitlines()) >= len(found) + 1


def test_margins_are_the_sums_of_the_noisy_cells_and_their_intervals_are_wider():
    df = table()
    found = df.dp(0.01).crosstab("sex", "city", keys=KEYS, margins=True)
    inner = found.value.iloc[:-1, :-1]
    assert found.value.loc["All"].tolist() == [*inner.sum(), inner.to_numpy().sum()]
    assert found.value["All"].tolist() == [*inner.sum(axis=1), inner.to_numpy().sum()]
    ends = found.interval()
    assert set(map(str, ends.dtypes)) == {"int64"}
    widths = {(r, c): ends.loc[r, (c, "upper")] - ends.loc[r, (c, "lower")] for r in found.index for c in found}
    one, of_two, of_three, of_six = widths["f", "x"], widths["All", "x"], widths["f", "All"], widths["All", "All"]
    assert one < of_two < of_three < of_six
    assert of_six / of_three == pytest.approx(2**0.5, rel=0.01)
    found = df.dp(1).crosstab("sex", "city", keys=KEYS, margins=True)  # where there are rows to speak of
    shares = df.dp(1).crosstab("sex", "city", keys=KEYS, margins=True, normalize="all")
    assert shares.value.to_numpy() == pytest.approx((found.value / found.value.loc["All", "All"]).to_numpy())
    assert shares.interval().loc["All", ("All", "lower")] == 1


def test_the_same_cells_are_bought_once():
    """Also by groups: the noisy integers are the same, and so are the numbers."""
    df = table()
    d = df.dp(1)
    sizes = d.groupby(["sex", "city"], keys=KEYS).size()
    means = d.groupby(["sex", "city"], keys=KEYS)["pay"].mean(bounds=(0, 120))
    spent = df.dp.session.spent
    counts = d.crosstab("sex", "city", keys=KEYS)
    assert counts.value.stack().tolist() == sizes.tolist()
    for how in ({"margins": True}, {"normalize": "index"}, {"normalize": True, "margins": True}):
        shown = d.crosstab("sex", "city", keys=KEYS, **how)
        if "normalize" not in how:
            assert shown.value.iloc[:-1, :-1].equals(counts.value)
    pivot = d.pivot_table("pay", "sex", "city", keys=KEYS, bounds=(0, 120), margins=True)
    assert pivot.value.iloc[:-1, :-1].stack().tolist() == means.tolist()
    assert df.dp.session.spent == spent == "epsilon=2"
    d.crosstab("city", "sex", keys=KEYS)  # other parts: another question
    assert df.dp.session.spent == "epsilon=3"


@pytest.mark.parametrize("aggfunc", ["mean", "sum", "count"])
@pytest.mark.parametrize("margins", [False, True])
def test_a_pivot_table_is_that_of_pandas(aggfunc, margins):
    df = table()
    bounds = {} if aggfunc == "count" else {"bounds": (0, 120)}
    found = df.dp(BIG).pivot_table("pay", "sex", "city", aggfunc=aggfunc, keys=KEYS, margins=margins, **bounds)
    wanted = people().pivot_table(values="pay", index="sex", columns="city", aggfunc=aggfunc, margins=margins)
    pd.testing.assert_frame_equal(
        found.value, wanted, atol=0.5, check_dtype=False, check_index_type=False, check_column_type=False
    )
    ends = found.interval(1 - 1e-9)
    for column in wanted:
        assert (ends[column, "lower"] <= wanted[column] + 1e-4).all()
        assert (ends[column, "upper"] >= wanted[column] - 1e-4).all()


def test_dates_and_durations():
    df = table()
    days = df.dp(BIG).pivot_table(
        "when", "sex", "ok", keys={"sex": ["f"]}, bounds=("2013-01-01", "2013-05-01"), margins=True
    )
    exact = people().query("sex == 'f'").groupby("ok")["when"].mean()
    assert (days.value.loc["f"].iloc[:2] - exact).abs().max() < pd.Timedelta("1h")
    assert {dtype.kind for dtype in days.dtypes} == {"M"}
    assert {dtype.kind for dtype in days.interval().dtypes} == {"M"}
    waits = df.dp(BIG).pivot_table(
        "wait",
        "sex",
        "ok",
        aggfunc="sum",
        keys={"sex": ["f"]},
        bounds=(pd.Timedelta(0), pd.Timedelta("1h")),
        margins=True,
    )
    assert {dtype.kind for dtype in waits.interval().dtypes} == {"m"}
    assert abs(waits.value.loc["All", "All"] - people().query("sex == 'f'")["wait"].sum()) < pd.Timedelta("10min")


def test_two_dimensions_of_bins_periods_other_and_missing_values():
    df = table()
    found = df.dp(BIG).crosstab(
        "age", "when", bins={"age": [0, 20, 40.5], "when": MONTHS}, other=True, null=True, margins=True
    )
    assert found.index.tolist()[:2] == pd.IntervalIndex.from_breaks([0, 20, 40.5], closed="left").tolist()
    assert found.index.tolist()[2] == "other"
    assert pd.isna(found.index[3])
    assert found.columns.tolist()[:4] == [*MONTHS, "other"]
    exact = people()
    rows, columns = pd.cut(exact["age"], [0, 20, 40.5], right=False), exact["when"].dt.to_period("M")
    inner = pd.crosstab(rows, columns).to_numpy()
    assert found.value.iloc[:2, :3].to_numpy().tolist() == inner.tolist()
    assert found.value.iloc[-1, -1] == 600
    ends = found.interval()
    assert ends.shape == (5, 12)
    assert ends.iloc[3, -1] - ends.iloc[3, -2] > 0  # the row of missing values knows its errors too
    assert isinstance(json.loads(found.to_json())["interval"], dict)
    shares = df.dp(BIG).crosstab(
        "when", "age", bins={"age": [0, 20, 40.5], "when": MONTHS}, null=True, normalize="columns"
    )
    assert shares.value.iloc[:, :-1].sum().tolist() == pytest.approx([1, 1])
    assert shares.interval().shape == (4, 6)


def test_shares_of_nothing_are_not_known():
    df = table()
    shares = df.dp(BIG).crosstab("sex", "city", keys={"sex": ["f", "none"], "city": ["x", "y"]}, normalize="index")
    assert shares.value.loc["none"].isna().all()
    assert shares.interval().loc["none"].tolist() == [0, 1, 0, 1]
    assert "NaN" in repr(shares)
    assert json.loads(shares.to_json())["value"]


CALLS = [
    (
        lambda d: d.crosstab("sex", "city", keys=KEYS, margins=True, normalize="index"),
        "crosstab('sex', 'city', keys={'sex': ['f', 'm'], 'city': ['x', 'y', 'z']}, normalize='index', margins=True)",
    ),
    (
        lambda d: d.crosstab("age", "ok", bins={"age": [0, 50]}, null=True),
        "crosstab('age', 'ok', keys={'ok': [False, True]}, bins={'age': [0, 50]}, null=True)",
    ),
    (
        lambda d: d.pivot_table("pay", "ok", "sex", keys={"sex": ["f"]}, bounds=(0, 9), aggfunc="sum"),
        "pivot_table('pay', 'ok', 'sex', keys={'ok': [False, True], 'sex': ['f']}, bounds=(0, 9), aggfunc='sum')",
    ),
]


@pytest.mark.parametrize(("ask", "text"), CALLS, ids=range(len(CALLS)))
def test_what_the_ledger_says_and_what_a_plan_holds(ask, text):
    df = table()
    assert ask(df.dp(1)).query.call == text
    assert df.dp.session.releases["query"].iloc[-1] == text
    assert str(ask(df.dp.preview(epsilon=2))).startswith(text)
    query = ask(pandas_dp.query(epsilon=1))
    again = pandas_dp.Query.from_dict(json.loads(json.dumps(query.to_dict())))
    assert again == query
    assert again(df).query.call == text
    assert df.dp.session.spent == "epsilon=1"


REFUSED = [
    (lambda d: d.crosstab("sex", ["city"], keys=KEYS), r"d\.crosstab\('sex', 'city', keys=KEYS\)"),
    (
        lambda d: d.pivot_table("pay", ["sex"], "city", keys=KEYS),
        r"'pay', 'sex', 'city', keys=KEYS, bounds=\(lower, upper\)\)",
    ),
    (lambda d: d.crosstab("sex", "sex", keys={"sex": ["f"]}), r"the columns of crosstab\('sex', 'sex'\) must differ"),
    (lambda d: d.crosstab("sex", "cty", keys=KEYS), r"no column named 'cty'"),
    (
        lambda d: d.crosstab("sex", "city"),
        r"crosstab\('sex', 'city', keys=\{'sex': \['A', 'B'\], 'city': \['A', 'B'\]\}\)",
    ),
    (lambda d: d.crosstab("age", "city", keys={"city": ["x"]}), r"'age': .*bins=\{'age': range\(0, 101, 10\)\}\)"),
    (
        lambda d: d.crosstab("sex", "city", keys=["f"]),
        r"d\.crosstab\('sex', 'city', keys=\{'sex': \['A', 'B'\], 'city': \['A', 'B'\]\}\)",
    ),
    (lambda d: d.crosstab("sex", "city", keys=pd.DataFrame({"sex": ["f"], "city": ["x"]})), r"give keys= as a dict"),
    (lambda d: d.crosstab("sex", "city", keys=KEYS, margins=1), r"margins must be True or False"),
    (
        lambda d: d.crosstab("sex", "city", keys=KEYS, normalize="rows"),
        r"normalize must be 'all', 'index', 'columns' or",
    ),
    (lambda d: d.crosstab("sex", "city", keys=KEYS, normalize=1), r"normalize must be"),
    (lambda d: d.crosstab("sex", "city", keys=KEYS | {"sex": ["All"]}, margins=True), r"already hold 'All'"),
    (lambda d: d.crosstab("age", "pay", bins={"age": range(1001), "pay": range(1101)}), r"1,100,000 combinations"),
    (lambda d: d.pivot_table("pay", "sex", "city", keys=KEYS), r"mean\(\) needs public bounds"),
    (
        lambda d: d.pivot_table("pay", "sex", "city", keys=KEYS, bounds="private"),
        r"groupby\(.*bounds='private'\)\.unstack",
    ),
    (
        lambda d: d.pivot_table("pay", "sex", "city", keys=KEYS, bounds=(0, 1), aggfunc="count"),
        r"counts have no bounds",
    ),
    (lambda d: d.pivot_table("pay", "sex", "city", keys=KEYS, bounds=(0, 1), aggfunc="max"), r"aggfunc must be 'mean'"),
    (
        lambda d: d.pivot_table("pay", "sex", "city", keys=KEYS, bounds=(0, 1), aggfunc=np.mean),
        r"aggfunc must be 'mean'",
    ),
    (
        lambda d: d.pivot_table("city", "sex", "ok", keys=KEYS, bounds=(0, 1)),
        r"keys= names a column that groupby\(\) does not use",
    ),
    (lambda d: d.pivot_table("city", "sex", "ok", keys={"sex": ["f"]}, bounds=(0, 1)), r"needs a column of numbers"),
    (lambda d: d.pivot_table("no", "sex", "ok", keys={"sex": ["f"]}, aggfunc="count"), r"no column named 'no'"),
    (
        lambda d: d.pivot_table("when", "sex", "ok", keys={"sex": ["f"]}, aggfunc="sum", bounds=("2013", "2014")),
        r"sum\(\) of dates has no meaning",
    ),
]


@pytest.mark.parametrize(("ask", "match"), REFUSED, ids=range(len(REFUSED)))
def test_refusals_cost_nothing(monkeypatch, ask, match):
    df = table(60)
    with refused(monkeypatch, df, (ArgumentTypeError, ArgumentValueError), match):
        ask(df.dp(1))


def test_within_speaks_of_each_cell(monkeypatch):
    df = table()
    found = df.dp(within=5).crosstab("sex", "city", keys=KEYS)
    ends = found.interval()
    assert (ends["x", "upper"] - found.value["x"]).max() <= 5
    with refused(monkeypatch, df, ArgumentTypeError, "within= works where the error is known in advance"):
        df.dp(within=0.1).crosstab("sex", "city", keys=KEYS, normalize=True)


def test_previews_of_tables():
    preview = table().dp.preview
    assert preview(epsilon=1).crosstab("sex", "city", keys=KEYS).half_width == 3
    assert "sums of noisy cells" in repr(preview(epsilon=1).crosstab("sex", "city", keys=KEYS, margins=True))
    assert "of a row" in preview(epsilon=1).crosstab("sex", "city", keys=KEYS, normalize="index").error
    shares = preview(epsilon=100, rows=600).crosstab("sex", "city", keys=KEYS, normalize=True)
    known = table().dp(epsilon=100).crosstab("sex", "city", keys=KEYS, normalize=True).interval()
    widest = max((known[c, "upper"] - known[c, "lower"]).max() for c in KEYS["city"])
    assert 0 < widest / 2 <= shares.half_width * 1.05
    means = preview(epsilon=1, rows=100).pivot_table("pay", "sex", "city", keys=KEYS, bounds=(0, 100))
    assert "with 100 rows of a group" in means.error


@pytest.mark.parametrize("rows", [0, 1])
def test_shape_and_dtypes_do_not_depend_on_the_rows(rows):
    frames = [protected(people().head(n), epsilon=10**6) for n in (600, rows)]
    for ask in (
        lambda d: d.crosstab("sex", "age", keys={"sex": ["f", "m"]}, bins={"age": [0, 20, 50]}, null=True),
        lambda d: d.crosstab("sex", "city", keys=KEYS, normalize="index", margins=True),
        lambda d: d.pivot_table("pay", "sex", "city", keys=KEYS, bounds=(0, 1), margins=True),
        lambda d: d.pivot_table("when", "sex", "city", keys=KEYS, bounds=("2013-01-01", "2014-01-01")),
    ):
        one, two = (ask(frame.dp(1)) for frame in frames)
        assert one.index.equals(two.index)
        assert one.columns.equals(two.columns)
        assert one.dtypes.equals(two.dtypes)
        assert one.interval().columns.equals(two.interval().columns)
