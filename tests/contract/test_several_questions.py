"""Several answers for one price: shapes of pandas, shares of the price, one charge, an interval for each cell."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.frames import people, protected, refused

from pandas_dp import ArgumentTypeError, ArgumentValueError, query
from pandas_dp.aggregates.base import Aggregate, Terms
from pandas_dp.aggregates.count import Count
from pandas_dp.aggregates.ladder import ExtremeWithBar
from pandas_dp.aggregates.moments import Mean
from pandas_dp.aggregates.several import Part, Several
from pandas_dp.aggregates.summary import Summary, SummaryWithBars
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.mechanisms.quantiles import cuts
from pandas_dp.core.privacy import NeighboringRelation, Price, PrivacyLoss, PrivacyUnit
from pandas_dp.datasets import load_adult
from pandas_dp.facts.kinds import Kind

BOUNDS = {"age": (0, 100), "hours_per_week": (0, 100)}
AGG = {"age": ["mean", "std", "count"], "hours_per_week": ["median", "mean", "var"]}


@pytest.fixture(scope="module")
def adult():
    return load_adult()


@pytest.fixture
def df(adult):
    frame = protected(adult.copy(), epsilon=10**6)
    yield frame
    frame.dp.session.close()


def same(answer: pd.DataFrame | pd.Series, exact: pd.DataFrame | pd.Series, close: float) -> None:
    assert list(answer.index) == list(exact.index)
    if isinstance(exact, pd.DataFrame):
        assert list(answer.columns) == list(exact.columns)
    assert (answer.isna() == exact.isna()).all(axis=None)
    assert np.nanmax(np.abs(answer.to_numpy(dtype=float) - exact.to_numpy(dtype=float))) < close


ASKED = {
    "lists": {"func": AGG},
    "one each": {"func": {"age": "mean", "hours_per_week": "median"}},
    "one list": {"func": {"age": ["mean"]}},
    "one": {"func": {"age": "std"}},
    "several kinds": {"func": {"age": ["mean", "count"], "education": "nunique", "hours_per_week": "mean"}},
    "names": {"avg": ("age", "mean"), "middle": ("hours_per_week", "median"), "rows": ("age", "count")},
}


@pytest.mark.parametrize("name", ASKED)
def test_agg_has_the_shape_and_numbers_of_pandas(df, adult, name):
    asked = ASKED[name]
    wanted = {c for c in asked.get("func", {"age": 0, "hours_per_week": 0}) if c in BOUNDS}
    answer = df.dp(epsilon=10**5).agg(**asked, bounds={c: BOUNDS[c] for c in wanted})
    exact = adult.agg(asked["func"]) if "func" in asked else adult.agg(**asked)
    same(answer, exact, 0.1)
    assert type(answer.value) is type(exact)
    known = answer.interval()
    assert known.shape[0] == exact.shape[0]


def test_each_cell_has_its_own_interval(df):
    answer = df.dp(epsilon=2).agg(AGG, bounds=BOUNDS, weights=[0.2, 0.2, 0.1, 0.2, 0.2, 0.1])
    table = answer.table()
    assert list(table.columns[:3]) == [("age", end) for end in ("value", "lower", "upper")]
    for row, column in [
        ("mean", "age"),
        ("std", "age"),
        ("count", "age"),
        ("mean", "hours_per_week"),
        ("var", "hours_per_week"),
    ]:
        cells = table.loc[row, column]
        assert cells["lower"] < cells["value"] < cells["upper"]
    ends = [table.loc["median", ("hours_per_week", end)] for end in ("lower", "value", "upper")]
    assert ends == sorted(ends)
    ranks = df.dp(epsilon=2).agg({"age": ["median", "max"]}, bounds={"age": (0, 100)}, error_bar=False)
    assert ranks.table()["age"][["lower", "upper"]].isna().all(axis=None)
    assert any(note.startswith("median('age'") and ": within " in note for note in ranks.notes)
    alone = df.dp(epsilon=0.2).count("age").interval()  # it shares a look with the mean and the standard deviation
    assert table.loc["count", ("age", "upper")] - table.loc["count", ("age", "lower")] < alone.upper - alone.lower
    by_column = df.dp(epsilon=2).agg({"age": "mean", "hours_per_week": "mean"}, bounds=BOUNDS)
    assert list(by_column.table().columns) == ["value", "lower", "upper"]
    assert (by_column.table()["lower"] < by_column).all()
    assert '"columns"' in answer.to_json()


def test_one_charge(df):
    session, before = df.dp.session, len(df.dp.session.releases)
    answer = df.dp(epsilon=0.7).agg(AGG, bounds=BOUNDS)
    assert session.spent == "epsilon=0.7"
    assert len(session.releases) == before + 1
    assert answer.epsilon == 0.7
    again = df.dp(epsilon=0.7).agg(AGG, bounds=BOUNDS)
    assert again.equals(answer)
    assert session.spent == "epsilon=0.7"
    df.dp(epsilon=0.7).agg(AGG, bounds=BOUNDS, weights=[0.5, 0.1, 0.1, 0.1, 0.1, 0.1])
    assert session.spent == "epsilon=1.4"


def test_weights_buy_accuracy(df):
    widths = []
    for weights in ([0.9, 0.1], [0.1, 0.9], [Fraction(1, 3), Fraction(2, 3)]):
        ends = df.dp(epsilon=1).agg({"age": ["count", "nunique"]}, weights=weights).interval()
        widths.append((ends[("age", "upper")] - ends[("age", "lower")]).tolist())
    assert widths[0] == widths[1][::-1]
    assert widths[0][0] < widths[2][0] < widths[1][0]


def test_gaussian_and_private_parts(adult):
    df = protected(adult.copy(), epsilon=100, delta=1e-5)
    answer = df.dp(epsilon=1, delta=1e-6).agg({"age": ["mean", "count"]}, bounds={"age": (0, 100)})
    assert answer.mechanism == "discrete Gaussian"
    found = df.dp(epsilon=10).agg({"age": ["mean", "median"]}, bounds={"age": "private"})
    assert found.loc["mean", "age"] == pytest.approx(adult["age"].mean(), abs=1)
    assert sum("found" in note for note in found.notes) >= 2
    with pytest.raises(ArgumentValueError, match="plain epsilon"):
        df.dp(rho=0.1).agg({"age": ["mean", "median"]}, bounds={"age": (0, 100)})


def test_dates_stand_beside_numbers():
    table = pd.DataFrame({"d": pd.date_range("2013-01-01", periods=1000, freq="D"), "x": range(1000)})
    df = protected(table, epsilon=10**6)
    days = ("2012-01-01", "2017-01-01")
    answer = df.dp(epsilon=10**4).agg({"d": ["mean", "max"], "x": "mean"}, bounds={"d": days, "x": (0, 1000)})
    assert abs(answer.loc["mean", "d"] - table["d"].mean()) < pd.Timedelta("1D")
    assert answer.table().shape == (2, 6)
    one = df.dp(epsilon=10**4).agg({"d": "mean", "x": "mean"}, bounds={"d": days, "x": (0, 1000)})
    assert isinstance(one["d"], pd.Timestamp)
    assert one.interval().loc["d", "lower"] < one["d"]


def test_describe_has_the_shape_and_numbers_of_pandas(df, adult):
    for columns in ("age", ["age"], ["age", "hours_per_week"]):
        asked = adult[columns]
        bounds = BOUNDS["age"] if columns == "age" else {c: BOUNDS[c] for c in columns}
        answer, exact = df.dp(epsilon=10**5).describe(columns, bounds=bounds), asked.describe()
        same(answer, exact, 1.1)
        assert type(answer.value) is type(exact)
    assert df.dp(epsilon=10**5)["age"].describe(bounds=(0, 100)).name == "age"
    found = df.dp(epsilon=3).describe("age", bounds=(0, 100))
    table = found.table()
    for row in ("count", "mean", "std"):
        assert table.loc[row, "lower"] < table.loc[row, "value"] < table.loc[row, "upper"]
    quantiles = table.loc["min":]
    assert ((quantiles["lower"] <= quantiles["value"]) & (quantiles["value"] <= quantiles["upper"])).all()
    assert (quantiles.loc["min", "lower"], quantiles.loc["max", "upper"]) == (0, 100)
    assert found.loc["min":].is_monotonic_increasing
    ranks = df.dp(epsilon=3).describe("age", bounds=(0, 100), error_bar=False)
    assert ranks.table().loc["min":, ["lower", "upper"]].isna().all(axis=None)
    assert "min and max are the quantiles" in ranks.notes[0]


def test_columns_to_describe_are_those_with_bounds():
    df = protected(people())
    found = df.dp(epsilon=1).describe(bounds={"pay": (0, 5000), "age": (0, 100)})
    assert list(found.columns) == ["pay", "age"]
    assert (
        df.dp.session.releases["query"]
        .iloc[-1]
        .endswith("describe(['pay', 'age'], bounds={'pay': (0, 5000), 'age': (0, 100)})")
    )
    again = query(epsilon=1).describe(bounds={"pay": (0, 5000), "age": (0, 100)}).preview(df)
    assert again.stored
    for bounds in ({}, None, (0, 9)):
        with pytest.raises(ArgumentTypeError, match="columns"):
            df.dp(epsilon=1).describe(bounds=bounds)


def test_describe_of_few_rows_says_so():
    """Of 7 rows each quantile is shown with some 1 %: none of five is with 94 %, four or more are with less than 1e-6."""
    df = protected(people(), epsilon=10**6)
    told = df.dp(epsilon=0.1).describe("pay", bounds=(0, 5000))
    assert told.loc["min":].isna().sum() >= 2
    assert "too few rows to tell" in repr(told)
    answer = df.dp(epsilon=0.1).describe("pay", bounds=(0, 5000), error_bar=False)
    assert "rows are few for quantiles" in repr(answer)
    assert np.isnan(answer["mean"]) == any(note.startswith("mean: too few rows for a value") for note in answer.notes)
    assert answer.loc["min":].between(0, 5000).all()


def test_intervals_of_describe_hold_what_they_say():
    """60 intervals at 99.9 %: five or more miss with probability below 2e-7 even where each of them misses with 0.2 %."""
    table = pd.DataFrame({"x": np.arange(300) % 100})
    df, exact = protected(table, epsilon=10**6), table["x"].describe()
    exact.loc["25%":"75%"] = [24, 49, 74]  # the smallest values with as many rows at or below them
    missed = np.zeros(8)
    for _ in range(60):
        ends = df.dp(epsilon=1, fresh=True).describe("x", bounds=(0, 120)).interval(0.999)
        missed += ~((ends["lower"] <= exact) & (exact <= ends["upper"])).to_numpy()
    assert (missed <= 4).all()


def losses(asked: Aggregate, terms: Terms, noisy: list[list[int]]) -> PrivacyLoss:
    """What all looks lose whose noisy results are these."""
    steps, total, given = asked.steps(terms), PrivacyLoss(), iter(noisy)
    look = next(steps)
    try:
        while True:
            total += look.mechanism.loss(look.statistic.sensitivity(terms.unit))
            look = steps.send(next(given))
    except StopIteration:
        return total


@settings(max_examples=100, deadline=None)
@given(
    sums=st.lists(st.integers(-(2**50), 2**70), min_size=3, max_size=3),
    k=st.integers(1, 5),
    relation=st.sampled_from(list(NeighboringRelation)),
)
def test_no_noisy_sums_lead_to_a_look_that_was_not_paid(sums, k, relation):
    terms = Terms(PrivacyUnit("u", k, k, k, relation), Price(Fraction(1)))
    squares, ranks = (Lattice.between(Fraction(0), Fraction(100), bits) for bits in (20, 16))
    asked = Summary("x", squares, ranks, Kind("number"))
    paid = asked.loss(terms)
    assert losses(asked, terms, [sums, [1, 2, 3, 4, 5]]) == paid
    assert paid.epsilon == 1


@pytest.mark.parametrize("relation", list(NeighboringRelation))
@pytest.mark.parametrize("rows", [-5, 0, 10**6])
def test_looks_with_error_bars_cost_what_is_declared(rows, relation):
    terms = Terms(PrivacyUnit("u", 3, 3, 3, relation), Price(Fraction(1)))
    squares, ranks = (Lattice.between(Fraction(0), Fraction(100), bits) for bits in (20, 6))
    points, size = [1, 2, 3, 4, 5], squares.cells**2 * rows
    cells = [0] * (len(cuts(points, ranks.cells)) + 1)
    summary = SummaryWithBars("x", squares, ranks, Kind("number"))
    assert losses(summary, terms, [[size, size, 0], [*points, *cells]]) == summary.loss(terms)
    assert summary.loss(terms).epsilon == 1
    cells = [0] * (len(cuts(points[:1], ranks.cells)) + 1)
    for largest in (False, True):
        extreme = ExtremeWithBar("x", ranks, Kind("number"), largest)
        assert losses(extreme, terms, [[rows], [1, *cells]]) == extreme.loss(terms)
        assert extreme.loss(terms).epsilon == 1


@pytest.mark.parametrize(
    "price", [Price(Fraction(1)), Price(Fraction(1), Fraction(1, 10**6)), Price(rho=Fraction(1, 10))]
)
def test_shares_add_up_to_the_price(price):
    shares = (Fraction(1, 6), Fraction(1, 3), Fraction(1, 4), Fraction(1, 4))
    lattice = Lattice.between(Fraction(0), Fraction(9), 20)
    questions = (Count("x"), Mean("x", lattice, Kind("number")), Count("y"), Mean("z", lattice, Kind("number")))
    parts = tuple(Part("", str(i), "x", q, s) for i, (q, s) in enumerate(zip(questions, shares, strict=True)))
    terms, asked = Terms(PrivacyUnit(), price), Several(parts)
    assert [lot.places for lot in asked.lots(terms)] == [(0, 1), (2,), (3,)]
    assert losses(asked, terms, [[1, 2], [3], [4, 5]]) == asked.loss(terms)
    if price.rho is not None:  # the variance of the noise is rounded up
        assert price.rho * Fraction(99, 100) < asked.loss(terms).rho <= price.rho
    elif not price.gaussian:
        assert asked.loss(terms).epsilon == 1


REFUSED = [
    (
        lambda d: d.agg(),
        ArgumentTypeError,
        r"d\.agg\(func=\{'age': \['mean', 'std'\]\}, bounds=\{'age': \(lower, upper\)\}\)",
    ),
    (
        lambda d: d.agg("mean"),
        ArgumentTypeError,
        r"d\.agg\(\{'age': 'mean'\}, bounds=\{'age': \(lower, upper\)\}\)",
    ),
    (
        lambda d: d.agg({}),
        ArgumentTypeError,
        r"d\.agg\(\{'age': \['mean', 'std'\]\}, bounds=\{'age': \(lower, upper\)\}\)",
    ),
    (
        lambda d: d.agg({"age": []}),
        ArgumentTypeError,
        r"d\.agg\(\{'age': \['mean', 'std'\]\}, bounds=\{'age': \(lower, upper\)\}\)",
    ),
    (
        lambda d: d.agg({"age": np.mean}),
        ArgumentTypeError,
        "func names functions by text: count, nunique, sum, mean",
    ),
    (lambda d: d.agg({"age": ["maen"]}, bounds={"age": (0, 1)}), ArgumentValueError, "did you mean 'mean'"),
    (lambda d: d.agg({"age": ["mean", "mean"]}, bounds={"age": (0, 1)}), ArgumentValueError, "once"),
    (lambda d: d.agg({"age": "mean"}), ArgumentTypeError, r"mean\(\) needs public bounds"),
    (lambda d: d.agg({"age": "mean"}, bounds=(0, 1)), ArgumentTypeError, "bounds must be a dict"),
    (lambda d: d.agg({"age": "count"}, bounds={"age": (0, 1)}), ArgumentValueError, "bounds must name only columns"),
    (lambda d: d.agg({"sex": "mean"}, bounds={"sex": (0, 1)}), ArgumentTypeError, "needs a column of numbers"),
    (lambda d: d.agg({"agee": "count"}), ArgumentValueError, "did you mean 'age'"),
    (
        lambda d: d.agg({"age": "count"}, low=("age", "count")),
        ArgumentTypeError,
        r"d\.agg\(\{'age': 'count'\}\)",
    ),
    (lambda d: d.agg(low="age"), ArgumentTypeError, "a named answer takes a column and a function"),
    (lambda d: d.agg(low=("age", max)), ArgumentTypeError, "a column and a function: count, .*low="),
    (lambda d: d.agg({"age": ["count", "nunique"]}, weights=[1, 2]), ArgumentValueError, "add up to exactly 1"),
    (lambda d: d.agg({"age": ["count", "nunique"]}, weights=[0, 1]), ArgumentValueError, "positive"),
    (lambda d: d.agg({"age": ["count", "nunique"]}, weights=[1.5, -0.5]), ArgumentValueError, "positive"),
    (
        lambda d: d.agg({"age": ["count", "nunique"]}, weights=[1]),
        ArgumentValueError,
        "weights must be 2 positive numbers",
    ),
    (lambda d: d.agg({"age": ["count", "nunique"]}, weights="half"), ArgumentTypeError, "list of 2 numbers"),
    (lambda d: d.agg({"age": ["count", "nunique"]}, weights=["a", "b"]), ArgumentTypeError, "must be a number"),
    (lambda d: d.describe("age"), ArgumentTypeError, r"describe\('age', bounds=\(lower, upper\)\)"),
    (lambda d: d.describe(["age", "pay"], bounds=(0, 1)), ArgumentTypeError, "must be a dict"),
    (lambda d: d.describe(["age", "age"], bounds={"age": (0, 1)}), ArgumentValueError, "columns must be distinct"),
    (lambda d: d.describe([]), ArgumentTypeError, "a list of column names"),
    (lambda d: d.describe("sex", bounds=(0, 1)), ArgumentTypeError, r"\.value_counts\("),
    (lambda d: d.describe("age", bounds="private"), ArgumentTypeError, r"describe\('age', bounds=\(lower, upper\)\)"),
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("ask", "error", "match"), REFUSED, ids=range(len(REFUSED)))
def test_refusals_cost_nothing(monkeypatch, ask, error, match):
    df = protected()
    with refused(monkeypatch, df, error, match):
        ask(df.dp(epsilon=1))


def test_wanted_errors_are_refused(monkeypatch):
    df = protected()
    with refused(monkeypatch, df, ArgumentTypeError, r"give a price: df\.dp\(epsilon=0\.5\)"):
        df.dp(within=5).agg({"age": ["count"]})
    with refused(monkeypatch, df, ArgumentTypeError, r"give a price: df\.dp\(epsilon=0\.5\)"):
        df.dp(within=5).describe("age", bounds=(0, 100))


def test_steps_and_units():
    df = protected(epsilon=10**6, unit="pid", max_rows=2)
    answer = (
        df.dp(epsilon=10**4)
        .query("age > 20")
        .agg({"pay": ["count", "max"], "pid": "nunique"}, bounds={"pay": (0, 5000)})
    )
    assert answer.loc["count", "pay"] == 4
    assert answer.loc["nunique", "pid"] == 4
    assert "at most 2 rows of each 'pid' are used" in answer.notes[-1]


@pytest.mark.parametrize(
    "asked",
    [
        query(epsilon=1).agg({"age": ["mean", "count"]}, bounds={"age": (0, 100)}, weights=[0.5, 0.5]),
        query(epsilon=1).agg(typical=("age", "median"), bounds={"age": (0, 100)}),
        query(epsilon=1).describe(["age"], bounds={"age": (0, 100)}),
        query(epsilon=1)["age"].describe(bounds=(0, 100)),
    ],
    ids=str,
)
def test_queries(asked):
    df = protected()
    assert asked.preview(df).affordable
    answer = asked(df)
    restored = type(asked).from_dict(asked.to_dict())
    assert restored(df).equals(answer)
    assert df.dp.session.spent == "epsilon=1"


@pytest.mark.parametrize("name", ["mean", "median", "sum"])
def test_bounds_that_were_found_are_told_once(name):
    df = protected(pd.DataFrame({"v": [1, 2, 3, 1000] * 250}), epsilon=100)
    notes = df.dp(epsilon=5).agg({"v": [name]}, bounds={"v": "private"}).notes
    assert sum("of values clipped to [" in note for note in notes) == 1
    assert any("15 % of the price found" in note for note in notes)
