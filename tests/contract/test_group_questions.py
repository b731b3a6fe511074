"""Groups by keys, bins and periods of several columns: what comes back, what is refused, and what it is called."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pandas as pd
import pytest
from support.frames import fresh, protected, refused
from support.groups import BIG, KEYS, MONTHS, people, table

from pandas_dp import ArgumentTypeError, ArgumentValueError


def test_every_combination_comes_back_in_the_listed_order():
    df = table()
    sizes = df.dp(BIG).groupby(["sex", "city"], keys={"city": ["z", "x", "none"], "sex": ["m", "f"]}).size()
    expected = list(product(["m", "f"], ["z", "x", "none"]))
    assert sizes.index.tolist() == expected
    assert sizes.index.names == ["sex", "city"]
    assert sizes.dtype == np.int64
    assert sizes.name == "size"
    exact = people().groupby(["sex", "city"]).size()
    assert sizes.tolist() == [exact.get(pair, 0) for pair in expected]
    assert sizes.unstack().columns.tolist() == ["z", "x", "none"]  # levels keep the order too


def test_questions_of_groups_agree_with_pandas():
    groups, exact = table().dp(BIG).groupby(["sex", "city"], keys=KEYS), people().groupby(["sex", "city"])
    expected = list(product(*KEYS.values()))
    counts = exact["pay"].count()
    assert groups["pay"].count().tolist() == [counts.get(pair, 0) for pair in expected]
    for name in ("sum", "mean"):
        found = getattr(groups["pay"], name)(bounds=(0, 120))
        wanted = getattr(exact["pay"], name)()
        for pair in expected:
            if counts.get(pair, 0):
                assert found[pair] == pytest.approx(wanted[pair], abs=0.5)  # 40 scales of the noise and more
        assert found.index.tolist() == expected
        assert found.name == "pay"


def test_spreads_of_groups_agree_with_pandas():
    groups, exact = (
        table(600).dp(BIG).groupby(["sex", "city"], keys=KEYS)["pay"],
        people(600).groupby(["sex", "city"])["pay"],
    )
    for name, ddof in product(["var", "std"], [0, 1]):
        found, wanted = getattr(groups, name)(bounds=(0, 120), ddof=ddof), getattr(exact, name)(ddof=ddof)
        ends = found.interval(1 - 1e-9)
        for pair in product(*KEYS.values()):
            if pair in wanted.index:
                # a row less than 2**-20 of the bounds is lost to the lattice
                assert ends["lower"][pair] - 0.01 <= wanted[pair] <= ends["upper"][pair] + 0.01
                assert found[pair] == pytest.approx(wanted[pair], rel=0.05)
        assert found.name == "pay"
        assert found.index.names == ["sex", "city"]


def test_quantiles_of_groups_agree_with_pandas():
    """With step 10 the exact values are among the candidates; a rank is off with probability below 1e-40."""
    df, exact = table(600), people(600).groupby("sex")["pay"]
    groups = df.dp(BIG).groupby("sex", keys=["m", "f"])["pay"]
    lower = exact.quantile([0.1, 0.5, 0.9], interpolation="lower")
    upper = exact.quantile([0.1, 0.5, 0.9], interpolation="higher")
    found = groups.quantile([0.1, 0.5, 0.9], bounds=(0, 120), step=10)
    assert found.index.tolist() == [(sex, q) for sex in ("m", "f") for q in (0.1, 0.5, 0.9)]
    assert found.index.names == lower.index.names
    assert all(lower[place] <= found[place] <= upper[place] for place in found.index)
    median = groups.median(bounds=(0, 120), step=10)
    assert median.index.tolist() == ["m", "f"]
    assert median.tolist() == [found["m", 0.5], found["f", 0.5]]
    assert median.interval().to_numpy().tolist() == [[m - 5, m + 5] for m in median]  # half a step on either side
    ranks = groups.median(bounds=(0, 120), step=10, error_bar=False)
    assert ranks.tolist() == median.tolist()
    assert str(ranks.interval()).startswith("within 1 row of the true median")


def test_quantiles_of_groups_in_bounds_that_are_bought_or_open():
    df, exact = table(600), people(600).groupby("sex")["pay"].median()
    for bounds in ("private", (0, None), (None, 200)):
        found = df.dp(BIG).groupby("sex", keys=["f", "m"])["pay"].median(bounds=bounds)
        assert found.tolist() == pytest.approx(exact[["f", "m"]].tolist(), abs=10)
    days = df.dp(BIG).groupby("sex", keys=["f"])["when"].median(bounds=("2013-01-01", "2017-01-01"))
    assert abs(days["f"] - people(600).groupby("sex")["when"].median()["f"]) < pd.Timedelta("5D")


def test_modes_of_groups_agree_with_pandas():
    df = protected(people(60).assign(age=lambda d: d.pid % 3 + (d.sex == "m")), epsilon=10**6)
    wanted = people(60).assign(age=lambda d: d.pid % 3 + (d.sex == "m")).query("age > 0").groupby("sex")["age"]
    counts = {sex: group.value_counts() for sex, group in wanted}
    found = df.dp(BIG).groupby("sex", keys=["m", "k", "f"])["age"].mode(keys=[3, 2, 1])
    assert found.index.tolist() == ["m", "k", "f"]
    assert found.dtype == np.int64
    for sex, key in found.items():
        assert counts[sex][key] == counts[sex].max()
    several = df.dp(BIG).groupby(["sex", "ok"], keys={"sex": ["m", "f"]})["city"].mode(keys=["x", "y", "z"])
    assert several.index.tolist() == list(product("mf", [False, True]))
    assert several.name == "city"


def test_histograms_of_groups():
    df = table()
    found = df.dp(BIG).groupby("sex", keys=["f", "m"])["city"].histogram(keys=["y", "x"], null=True)
    assert found.index.names == ["sex", "city"]
    exact = people().fillna({"city": "none"}).groupby(["sex", "city"]).size()
    assert found.tolist() == [exact.get(pair, 0) for pair in product("fm", ["y", "x", "none"])]
    months = df.dp(BIG).groupby(["sex", "ok"], keys={"sex": ["f"]}).histogram("when", bins=MONTHS)
    assert months.index.nlevels == 3
    assert months.index.get_level_values("when").unique().equals(MONTHS.rename("when"))
    allowed = pd.DataFrame({"sex": ["m", "f"], "city": ["x", "y"]})
    some = df.dp(BIG).groupby(["sex", "city"], keys=allowed)["ok"].histogram()
    assert some.index.tolist() == [("m", "x", False), ("m", "x", True), ("f", "y", False), ("f", "y", True)]
    exact = people().groupby(["sex", "city", "ok"]).size()
    assert some.tolist() == [exact.get(place, 0) for place in some.index]
    one = df.dp(BIG).groupby(["sex", "city"], keys=allowed)["pay"].quantile([0.2, 0.8], bounds=(0, 120))
    assert one.index.tolist() == [("m", "x", 0.2), ("m", "x", 0.8), ("f", "y", 0.2), ("f", "y", 0.8)]


def test_other_and_missing_of_every_column_make_a_table_of_all_rows():
    sizes = table().dp(BIG).groupby(["sex", "city"], keys=KEYS, other=True, null=True).size()
    assert sizes.shape == (20,)
    assert sizes.sum() == 60
    exact = people()
    exact = exact.assign(sex=exact.sex.where(exact.sex != "k", "other")).groupby(["sex", "city"], dropna=False).size()
    for (sex, city), count in exact.items():
        place = sizes.index.get_level_values(0).isin([sex]) & (
            sizes.index.get_level_values(1).isna() if pd.isna(city) else sizes.index.get_level_values(1).isin([city])
        )
        assert sizes[place].tolist() == [count]


def test_bins_and_bools_beside_keys():
    df = table()
    sums = df.dp(BIG).groupby(["age", "ok", "sex"], bins={"age": [0, 20, 50]}, keys={"sex": ["m"]})["pay"].count()
    assert sums.index.tolist() == list(
        product(pd.IntervalIndex.from_breaks([0, 20, 50], closed="left"), [False, True], "m")
    )
    exact = people()
    exact = exact[exact.sex == "m"].groupby([pd.cut(exact.age, [0, 20, 50], right=False), "ok"], observed=False)["pay"]
    assert sums.tolist() == exact.count().tolist()
    one = df.dp(BIG).groupby("age", bins=[0, 20, 50]).size()
    assert one.index.equals(pd.IntervalIndex.from_breaks([0, 20, 50], closed="left"))
    assert one.index.name == "age"


def test_keys_from_the_schema():
    df = protected(people(), epsilon=10**6, schema={"sex": {"keys": ["f", "m"]}, "city": {"keys": ["x", "y"]}})
    sizes = df.dp(BIG).groupby(["city", "sex"]).size()
    assert sizes.index.tolist() == [("x", "f"), ("x", "m"), ("y", "f"), ("y", "m")]
    assert df.dp(BIG).groupby(["city", "sex"], keys={"city": ["z"]}).size().index.tolist() == [("z", "f"), ("z", "m")]


def test_a_table_of_allowed_combinations():
    df = table()
    allowed = pd.DataFrame({"city": ["z", "x", "x"], "sex": ["f", "m", "f"]})
    sizes = df.dp(BIG).groupby(["sex", "city"], keys=allowed).size()
    assert sizes.index.tolist() == [("f", "z"), ("m", "x"), ("f", "x")]
    exact = people().groupby(["sex", "city"]).size()
    assert sizes.tolist() == [exact[pair] for pair in sizes.index]
    assert (
        df.dp.session.releases["query"]
        .iloc[-1]
        .endswith("keys=DataFrame([['f', 'z'], ['m', 'x'], ['f', 'x']])).size()")
    )


@pytest.mark.parametrize("freq", ["Y", "M", "W", "D", "h", "2M"])
@pytest.mark.parametrize("dtype", ["datetime64[s]", "datetime64[us]", "datetime64[ns]"])
def test_periods_are_those_of_pandas(freq, dtype):
    """Rows at the first and the last instant of every period, one of each more than in the one before."""
    periods = pd.period_range("2013-01-01", periods=4, freq=freq)
    tick = pd.Timedelta(1, unit=dtype[11:-1])
    starts = [p.start_time for p in periods] + [(periods[-1] + 1).start_time]
    ends = [start - tick for start in starts]
    df = protected(pd.DataFrame({"when": pd.Series([*starts, *ends], dtype=dtype)}), epsilon=10**6)
    sizes = df.dp(BIG).groupby("when", bins=periods).size()
    assert sizes.tolist() == [2] * 4
    assert sizes.index.equals(periods)
    assert sizes.index.freq == periods.freq
    assert df.dp(BIG).groupby("when", bins=periods, other=True, null=True).size().tolist() == [2, 2, 2, 2, 2, 0]


def test_periods_in_a_time_zone():
    stamps = pd.to_datetime(["2013-01-31 23:30", "2013-02-01 00:30", "2013-03-31 23:59"]).tz_localize("Europe/Berlin")
    df = protected(pd.DataFrame({"when": stamps}), epsilon=10**6)
    assert df.dp(BIG).groupby("when", bins=MONTHS).size().tolist() == [1, 1, 1]
    assert df.dp(BIG).groupby(["when"], bins={"when": MONTHS}).size().index.name == "when"


def test_one_column_in_a_list_is_one_column():
    df = table()
    for ask in (
        lambda d: d.groupby("sex", keys=["f", "m"]),
        lambda d: d.groupby(["sex"], keys=["f", "m"]),
        lambda d: d.groupby(["sex"], keys={"sex": ["f", "m"]}),
    ):
        sizes = ask(df.dp(BIG)).size()
        assert sizes.index.tolist() == ["f", "m"]
        assert sizes.query.call == "groupby('sex', keys=['f', 'm']).size()"
    assert df.dp.session.spent == "epsilon=10000"  # one answer, paid once


CALLS = [
    (
        lambda d: d.groupby(["sex", "city"], keys=KEYS, null=True)["pay"].mean(bounds=(0, 1)),
        "groupby(['sex', 'city'], keys={'sex': ['f', 'm'], 'city': ['x', 'y', 'z']}, null=True)['pay'].mean(bounds=(0, 1))",
    ),
    (
        lambda d: d.groupby(["when", "sex"], keys={"sex": ["f"]}, bins={"when": MONTHS}).count(),
        "groupby(['when', 'sex'], keys={'sex': ['f']}, bins={'when': pd.period_range('2013-01', periods=3, freq='M')})"
        ".count()",
    ),
    (
        lambda d: d.groupby("sex", keys=["f"])["pay"].quantile([0.5, 0.9], bounds=(0, 9), step=1),
        "groupby('sex', keys=['f'])['pay'].quantile(bounds=(0, 9), q=[0.5, 0.9], step=1)",
    ),
    (
        lambda d: d.groupby("sex", keys=["f"], null=True)["pay"].std(bounds=(0, 9), ddof=0),
        "groupby('sex', keys=['f'], null=True)['pay'].std(bounds=(0, 9), ddof=0)",
    ),
    (lambda d: d.groupby("ok").mode("city", keys=["x"]), "groupby('ok', keys=[False, True])['city'].mode(keys=['x'])"),
    (
        lambda d: d.groupby("ok")["when"].histogram(bins=MONTHS, other=True),
        "groupby('ok', keys=[False, True])['when'].histogram(bins=pd.period_range('2013-01', periods=3, freq='M'), other=True)",
    ),
    (lambda d: d.groupby("age", bins=range(3), other=True).size(), "groupby('age', bins=[0, 1, 2], other=True).size()"),
]


@pytest.mark.parametrize(("ask", "text"), CALLS, ids=range(len(CALLS)))
def test_what_the_ledger_says(ask, text):
    df = table()
    assert ask(df.dp(BIG)).query.call == text
    assert df.dp.session.releases["query"].iloc[-1] == text
    preview = ask(df.dp.preview(epsilon=1))
    assert str(preview).startswith(text)
    assert json.loads(ask(df.dp(BIG)).to_json())["query"] == text
    assert ".groupby(" in repr(df.dp(1).groupby(["sex", "city"], keys=KEYS)["pay"])


def test_different_combinations_are_different_questions():
    """Were the order of columns or the allowed places not part of the name, one answer would be given for another."""
    df = table()
    allowed = pd.DataFrame({"sex": ["f", "m"], "city": ["x", "y"]})
    asked = [
        {"by": ["sex", "city"], "keys": KEYS},
        {"by": ["city", "sex"], "keys": KEYS},
        {"by": ["sex", "city"], "keys": KEYS, "null": True},
        {"by": ["sex", "city"], "keys": allowed},
        {"by": ["sex", "city"], "keys": allowed[::-1]},
        {"by": ["when", "sex"], "keys": {"sex": ["f"]}, "bins": {"when": MONTHS}},
        {"by": ["when", "sex"], "keys": {"sex": ["f"]}, "bins": {"when": [p.start_time for p in MONTHS]}},
    ]
    for number, how in enumerate(asked, 1):
        df.dp(1).groupby(**how).size()
        assert df.dp.session.spent == f"epsilon={number}"


def test_several_answers_about_groups_have_the_shape_of_pandas():
    df = people()
    df.dp.protect(epsilon=10**6, name=fresh())
    keys = ["f", "m"]
    groups = df.dp(epsilon=10 * BIG).groupby("sex", keys=keys)
    listed = groups.agg({"pay": ["count", "mean"], "age": ["std"]}, bounds={"pay": (0, 5000), "age": (0, 120)})
    exact = df.groupby("sex")[["pay", "age"]].agg({"pay": ["count", "mean"], "age": ["std"]}).loc[keys]
    assert listed.value.columns.tolist() == exact.columns.tolist()
    np.testing.assert_allclose(listed.value.to_numpy(dtype=float), exact.to_numpy(dtype=float), rtol=0.01)
    single = groups.agg({"pay": "mean", "age": "median"}, bounds={"pay": (0, 5000), "age": (0, 120)})
    assert single.value.columns.tolist() == ["pay", "age"]
    named = groups.agg(typical=("age", "median"), rows=("pay", "count"), bounds={"age": (0, 120)}, weights=[0.75, 0.25])
    assert named.value.columns.tolist() == ["typical", "rows"]
    assert named.value["rows"].dtype == np.int64
    assert named.value.index.name == "sex"
    ends = listed.interval(0.95)
    assert (ends["pay", "mean", "lower"] < ends["pay", "mean", "upper"]).all()
    different = groups["pay"].nunique()
    assert different.value.tolist() == df.groupby("sex")["pay"].nunique().loc[keys].tolist()
    chosen = groups["pay"].agg(["mean", "count"], bounds=(0, 5000))
    assert chosen.value.columns.tolist() == ["mean", "count"]
    assert groups["pay"].agg("mean", bounds=(0, 5000)).value.columns.tolist() == ["mean"]
    assert float(df.dp.session.spent.epsilon) == 60 * BIG


@pytest.mark.parametrize(
    ("ask", "match"),
    [
        (lambda g: g.agg({"pay": "min"}), "groups have count, nunique, sum, mean, var, std, median"),
        (lambda g: g.agg({"pay": "mean"}), "needs public bounds"),
        (lambda g: g.agg({"pay": "mean"}, bounds={"age": (0, 1)}), "bounds must name only columns"),
        (lambda g: g.agg({"pay": ["mean", "mean"]}, bounds={"pay": (0, 1)}), "once"),
        (lambda g: g.agg({"pay": "count"}, weights=[0.5]), "add up to exactly 1"),
        (lambda g: g.agg("mean"), "dict of functions by column"),
        (lambda g: g.agg({"paid": "count"}), "no column named 'paid'"),
    ],
)
def test_several_answers_about_groups_are_refused_as_single_ones(monkeypatch, ask, match):
    df = people()
    df.dp.protect(epsilon=10, delta=1e-4, name=fresh())
    with refused(monkeypatch, df, (ArgumentTypeError, ArgumentValueError), match):
        ask(df.dp(epsilon=1).groupby("sex", keys=["f", "m"]))
    with refused(monkeypatch, df, ArgumentTypeError, "needs listed keys"):
        df.dp(epsilon=1, delta=1e-6).groupby("sex").agg({"pay": "count"})
