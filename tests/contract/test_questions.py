"""Every question answers what pandas answers, when the noise is made small: values, types, names, order, prices."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support import interpreter
from support.frames import fresh, protected

import pandas_dp
from pandas_dp import ArgumentTypeError, ArgumentValueError, BudgetExceededError, LedgerError, NoSessionError
from pandas_dp.datasets import load_adult, load_flights

EPSILON = 10**4
DEGREES = ["HS-grad", "Bachelors", "Masters", "Doctorate"]
SCHEMA = {"age": {"bounds": (0, 100)}, "hours_per_week": {"bounds": (0, 100)}, "sex": {"keys": ["Female", "Male"]}}


@pytest.fixture(scope="module")
def adult():
    return load_adult()


@pytest.fixture
def ask(adult):
    df = protected(adult.copy(), epsilon=10**6, schema=SCHEMA)
    yield lambda epsilon=EPSILON, **terms: df.dp(epsilon=epsilon, **terms)
    df.dp.session.close()


def test_scalars(ask, adult):
    assert ask().count() == len(adult)
    assert ask().size() == len(adult)
    assert ask().count("occupation") == adult["occupation"].count()
    assert ask().sum("age") == pytest.approx(adult["age"].sum(), rel=1e-4)
    assert ask().mean("age") == pytest.approx(adult["age"].mean(), abs=0.01)
    assert ask().var("age") == pytest.approx(adult["age"].var(), abs=0.1)
    assert ask().var("age", ddof=0) == pytest.approx(adult["age"].var(ddof=0), abs=0.1)
    assert ask().std("age") == pytest.approx(adult["age"].std(), abs=0.01)
    assert ask().median("age") == pytest.approx(adult["age"].median(), abs=0.01)
    assert ask().quantile("age", 0.9) == pytest.approx(adult["age"].quantile(0.9), abs=0.01)
    assert ask().mode("sex") == adult["sex"].mode()[0]
    assert ask()["age"].mean() == ask().mean("age")


def test_several_quantiles(ask, adult):
    levels = [0.75, 0.25, 0.5]
    answer = ask().quantile("age", levels)
    assert list(answer.index) == levels
    assert answer.to_numpy() == pytest.approx(adult["age"].quantile(levels).to_numpy(), abs=0.01)


def test_levels_are_rounded_to_six_decimals(ask, adult):
    exact = ask().quantile("age", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
    computed = ask().quantile("age", np.arange(0.1, 1, 0.1))  # 0.30000000000000004, 0.7000000000000001
    assert list(computed.index) == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    assert computed.equals(exact)  # the same question
    assert computed.query.call == exact.query.call
    assert ask().quantile("age", 1 / 3) == ask().quantile("age", 0.333333)
    assert list(ask().quantile("age", np.linspace(0, 1, 7)).index) == [
        0,
        0.166667,
        0.333333,
        0.5,
        0.666667,
        0.833333,
        1,
    ]
    with pytest.raises(ArgumentValueError, match="once, after rounding to six decimals"):
        ask().quantile("age", [0.3, 0.1 + 0.2])
    for wrong in (1.000001, -0.000001, float("nan")):
        with pytest.raises(ArgumentValueError):
            ask().quantile("age", wrong)


def test_histograms(ask, adult):
    edges = [0, 20, 40, 60, 100]
    histogram = ask().histogram("age", bins=edges)
    assert histogram.tolist() == np.histogram(adult["age"], bins=edges)[0].tolist()
    assert isinstance(histogram.index, pd.IntervalIndex)
    counts = ask().value_counts("sex")
    assert counts.to_dict() == adult["sex"].value_counts().to_dict()
    assert counts.name == "count"
    assert list(counts.index) == ["Male", "Female"]
    assert list(ask().histogram("sex").index) == ["Female", "Male"]
    assert list(ask().histogram("sex", other=True, null=True).index)[:3] == ["Female", "Male", "other"]


def test_groups(ask, adult):
    true = adult.groupby("education")["hours_per_week"]
    groups = ask().groupby("education", keys=[*DEGREES, "nobody"])
    means = groups["hours_per_week"].mean()
    assert list(means.index) == [*DEGREES, "nobody"]
    assert means.index.name == "education"
    assert means.name == "hours_per_week"
    assert means[DEGREES].to_numpy() == pytest.approx(true.mean()[DEGREES].to_numpy(), abs=0.05)
    assert groups["hours_per_week"].sum()[DEGREES].to_numpy() == pytest.approx(true.sum()[DEGREES].to_numpy(), abs=5)
    assert groups.size()[DEGREES].to_dict() == true.size()[DEGREES].to_dict()
    assert groups["hours_per_week"].count()["nobody"] == 0
    sa = ask().groupby_mean_sa("education", "hours_per_week", keys=DEGREES)
    assert sa.to_numpy() == pytest.approx(true.mean()[DEGREES].to_numpy(), abs=1.5)
    assert list(sa.table().columns) == ["value", "lower", "upper", "size", "enough_rows"]


def test_types_follow_the_question_not_the_storage():
    for values in ([1, 2, 3], [1.0, 2.0, 3.0], [1, 2, None]):
        df = protected(pd.DataFrame({"x": values}), epsilon=10**6)
        priced = df.dp(epsilon=1)
        assert type(priced.sum("x", bounds=(0, 5)).value) is float
        assert type(priced.median("x", bounds=(0, 5)).value) is float
        assert type(priced.count("x").value) is int
        assert priced.histogram("x", bins=[0, 2, 4]).dtype == np.int64


def test_dates_and_durations():
    df = protected(load_flights(), epsilon=10**6)
    bounds = ("2013-01-01", "2013-03-01")
    true = df["time_hour"]
    for answer, exact in (
        (df.dp(epsilon=EPSILON).mean("time_hour", bounds=bounds), true.mean()),
        (df.dp(epsilon=EPSILON).median("time_hour", bounds=bounds), true.median()),
    ):
        assert abs(answer.value - exact) < pd.Timedelta("2h")
    weeks = pd.date_range("2013-01-01", "2013-03-05", freq="7D")
    counts = df.dp(epsilon=EPSILON).histogram("time_hour", bins=weeks)
    assert counts.sum() == len(df)
    assert counts.index[0].left == pd.Timestamp("2013-01-01")
    with pytest.raises(ArgumentTypeError, match="mean"):
        df.dp(epsilon=1).sum("time_hour", bounds=bounds)
    with pytest.raises(ArgumentTypeError, match="date"):
        df.dp(epsilon=1).mean("time_hour", bounds=(0, 1))


def test_units_of_several_rows():
    flights = load_flights()
    df = protected(flights, epsilon=10**6, unit="tailnum", max_rows=20)
    rows = flights["tailnum"].value_counts()
    assert df.dp(epsilon=EPSILON).count() == rows.clip(upper=20).sum()
    scaled = flights.groupby("tailnum")["distance"].mean() * rows.clip(upper=20)
    mean = df.dp(epsilon=EPSILON).mean("distance", bounds=(0, 5000))
    assert mean == pytest.approx(scaled.sum() / rows.clip(upper=20).sum(), rel=1e-2)
    sizes = df.dp(epsilon=EPSILON).histogram("origin", keys=["EWR", "JFK", "LGA"])
    assert sizes.sum() == pytest.approx(rows.clip(upper=20).sum(), abs=5)
    tight = protected(load_flights(), epsilon=10**6, unit="tailnum", max_rows=20, max_groups=1, max_rows_per_group=5)
    few = tight.dp(epsilon=EPSILON).histogram("origin", keys=["EWR", "JFK", "LGA"])
    assert few.sum() <= 5 * len(rows) + 5


def test_gaussian_prices():
    df = protected(load_adult(), epsilon=3, delta=1e-6)
    many = [df.dp(epsilon=0.1, delta=1e-7, fresh=True).mean("age", bounds=(0, 100)) for _ in range(60)]
    assert all(38 < m < 39.3 for m in many)
    assert many[0].mechanism == "discrete Gaussian"
    assert df.dp(rho=0.001).count().interval().upper > len(df) - 100
    with pytest.raises(ArgumentValueError, match="epsilon"):
        df.dp(epsilon=0.1, delta=1e-7).median("age", bounds=(0, 100))
    pure = protected(load_adult(), epsilon=3)
    with pytest.raises(BudgetExceededError, match="delta"):
        pure.dp(epsilon=0.1, delta=1e-7).count()
    assert pure.dp.session.spent == "epsilon=0"


def test_rows_are_public_under_replace_one():
    df = protected(load_adult(), epsilon=3, neighbors="replace_one", rows=True)
    rows = df.dp(epsilon=1).count()
    assert rows == len(df)
    assert rows.interval() == (len(df), len(df))
    assert df.dp.session.spent == "epsilon=0"
    older = df.dp.query("age > 50")
    older.dp(epsilon=1).count()
    assert df.dp.session.spent == "epsilon=1"
    people = protected(load_flights(), epsilon=3, neighbors="replace_one", unit="tailnum", max_rows=5)
    people.dp(epsilon=1).count()
    assert people.dp.session.spent == "epsilon=1"


def test_null_rule_of_the_schema():
    df = pd.DataFrame({"x": [1.0, None, 3.0, None]})
    protected(df, epsilon=10**6, schema={"x": {"bounds": (0, 10), "nulls": 5}})
    assert df.dp(epsilon=EPSILON).mean("x") == pytest.approx(3.5, abs=0.01)
    assert df.dp(epsilon=EPSILON).count("x") == 4
    assert pandas_dp.Schema({"x": {"bounds": (0, 10)}}) == pandas_dp.Schema({"x": {"bounds": [0, 10]}})


def test_schema_from_toml(tmp_path):
    path = tmp_path / "schema.toml"
    path.write_text('[x]\nbounds = [0, 10]\n\n[city]\nkeys = ["a", "b"]\n')
    df = pd.DataFrame({"x": [1.0, 2.0], "city": ["a", "b"]})
    protected(df, epsilon=10**6, schema=pandas_dp.Schema.from_toml(path))
    assert df.dp(epsilon=EPSILON).mean("x") == pytest.approx(1.5, abs=0.01)
    assert df.dp(epsilon=EPSILON).mode("city") in {"a", "b"}


def test_sessions_extend_join_and_close():
    df, more = protected(epsilon=1), pd.DataFrame({"x": [1.0, 2.0]})
    session = df.dp.session
    df.dp(epsilon=1).count()
    with pytest.raises(BudgetExceededError):
        df.dp(epsilon=1).mean("age", bounds=(0, 100))
    session.extend(to=2, reason="the board agreed")
    more.dp.protect(session=session)
    more.dp(epsilon=0.5).mean("x", bounds=(0, 2))
    assert session.left == "epsilon=0.5"
    assert "the board agreed" in session.releases["query"].str.cat()
    with pytest.raises(TypeError):
        session.extend(to=3)
    session.close()
    with pytest.raises(NoSessionError):
        df.dp(epsilon=0.1).count()


def test_another_budget_for_the_same_object_is_refused():
    df = protected(epsilon=1)
    df.dp(epsilon=0.1).count()  # a budget that nothing was asked of makes room
    with pytest.raises(ArgumentValueError, match="one budget"):
        df.dp.protect(epsilon=1, name=fresh())


RESTART = """
from pandas_dp.datasets import load_adult
df = load_adult()
df.dp.protect(epsilon=1, name="adult", ledger={ledger!r}, version={version!r})
print(int(df.dp(epsilon=0.4).count()), df.dp.session.spent)
"""


def run(ledger: Path, version: str | None) -> list[str]:
    done = interpreter.run(RESTART.format(ledger=str(ledger), version=version))
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_a_version_keeps_stored_answers_across_restarts(tmp_path):
    ledger = tmp_path / "adult.dpledger"
    first, again, other = run(ledger, "2026-11"), run(ledger, "2026-11"), run(ledger, "2026-12")
    assert first == again
    assert first[1] == "epsilon=0.4"
    assert other[1] == "epsilon=0.8"
    with pytest.raises(LedgerError, match="epsilon"):
        load_adult().dp.protect(epsilon=2, name="adult", ledger=ledger)


def test_a_stored_answer_keeps_to_the_rule_for_missing_values(tmp_path):
    """At epsilon 50 noise moves a mean of these by 1 with probability below 1e-9."""
    plain, found = pd.DataFrame({"age": [20.0] * 50 + [np.nan] * 50}), []
    for schema in ({"age": {"nulls": 100}}, None, {"age": {"nulls": 60}}, {"age": {"nulls": 100}}):
        df = plain.copy()
        df.dp.protect(epsilon=1000, name="ages", ledger=tmp_path / "ages.dpledger", version="1", schema=schema)
        found.append(float(df.dp(epsilon=50).mean("age", bounds=(0, 100))))
        spent = df.dp.session.spent
        df.dp.session.close()
    assert found[:3] == pytest.approx([60, 20, 40], abs=1)
    assert found[3] == found[0]
    assert spent == "epsilon=150"


def test_the_same_question_is_free_and_fresh_is_not():
    df = protected(epsilon=3)
    one, two = df.dp(epsilon=1).count(), df.dp(epsilon=1).count()
    assert one == two
    assert df.dp.session.spent == "epsilon=1"
    df.dp(epsilon=1, fresh=True).count()
    assert df.dp.session.spent == "epsilon=2"
    values = {int(df.dp(epsilon=0.01, fresh=True).count()) for _ in range(20)}
    assert len(values) > 5


def test_seeds_change_nothing():
    import random

    df = protected(epsilon=3)
    answers = set()
    for _ in range(4):
        np.random.seed(0)
        random.seed(0)
        answers.add(float(df.dp(epsilon=0.1, fresh=True).sum("pay", bounds=(0, 5000))))
    assert len(answers) == 4


def test_rows_of_a_column_whose_missing_values_are_a_constant_are_public():
    """Each row holds a value then; after a step that makes others missing that is not known any more."""
    df = pd.DataFrame({"b": [1.0, 2, None, 4] * 250, "c": 1.0})
    df.dp.protect(
        epsilon=1000,
        name=fresh(),
        neighbors="replace_one",
        rows=True,
        schema={"b": {"nulls": 0.0, "bounds": (0, 10)}},
    )
    assert (df.dp(epsilon=1).count("b"), df.dp.session.spent) == (1000, "epsilon=0")
    assert "exact" in repr(df.dp(epsilon=1)["b"].count())
    assert "±" in repr(df.dp(epsilon=1).count("c"))
    fewer = df.dp.assign(b=lambda d: d.b.where(d.b > 1))
    assert (fewer.dp(epsilon=100).count("b"), fewer.dp(epsilon=1).count()) == (500, 1000)
    noisy = df.dp.query("b > 1").dp(epsilon=1).count("b")
    assert "±" in repr(noisy)


def test_rows_of_a_frame_filtered_by_hand_are_not_public():
    df = pd.DataFrame({"name": ["bob", "carl"] * 50})
    name = fresh()
    df.dp.protect(epsilon=10, name=name, neighbors="replace_one", rows=True)
    assert df.dp(epsilon=1).count() == 100
    joined, again = df[df.name != "bob"], df[df.name != "carl"]
    joined.dp.protect(session=df.dp.session)
    with pytest.raises(ArgumentValueError, match="its number of rows is not public"):
        again.dp.protect(epsilon=10, name=name, neighbors="replace_one", rows=True)
    again.dp.protect(epsilon=10, name=name, neighbors="replace_one")
    joined.dp(epsilon=1).count()
    again.dp(epsilon=1).count()
    assert df.dp.session.spent == "epsilon=2"


def test_joining_never_compares_contents():
    """Else what is left would tell whether a filter by hand dropped anybody."""
    df = protected(pd.DataFrame({"name": ["bob", "carl"] * 50}), epsilon=10)
    df.dp(epsilon=1).count()
    for person in ("alice", "bob"):
        kept = df[df.name != person]
        kept.dp.protect(session=df.dp.session)
        kept.dp(epsilon=1).count()
    assert df.dp.session.spent == "epsilon=3"


def test_versions_belong_to_tables():
    one, two = pd.DataFrame({"x": range(100)}), pd.DataFrame({"x": range(5000)})
    protected(one, epsilon=10**6, version="1")
    with pytest.raises(ArgumentTypeError, match="table="):
        two.dp.protect(session=one.dp.session, version="1")
    two.dp.protect(session=one.dp.session, table="two", version="1")
    assert (one.dp(epsilon=EPSILON).count(), two.dp(epsilon=EPSILON).count()) == (100, 5000)


def test_the_null_rule_is_part_of_the_question():
    df = protected(pd.DataFrame({"x": [1.0, None] * 50}), epsilon=10**6)
    session = df.dp.session
    assert df.dp(epsilon=EPSILON).count("x") == 50
    df.dp.protect(session=session, schema={"x": {"nulls": 0}})
    assert df.dp(epsilon=EPSILON).count("x") == 100


def test_a_frame_answers_as_it_was_protected_until_another_version_is_typed():
    df = protected(pd.DataFrame({"x": [1.0, 2.0]}), epsilon=10**6)
    session = df.dp.session
    df["x"] = df["x"] * 2
    for _ in range(2):
        answer = df.dp(epsilon=EPSILON).mean("x", bounds=(0, 5))
        assert answer == pytest.approx(1.5, abs=0.01)
        assert "rows of the table as it was protected" in answer._repr_html_()
        df.dp.protect(session=session)
    df.dp.protect(session=session, table="t", version="2")
    assert df.dp(epsilon=EPSILON).mean("x", bounds=(0, 5)) == pytest.approx(3, abs=0.01)


def test_answers_at_the_ends_of_what_types_can_hold():
    """Nothing is charged and then fails for reasons that were public before."""
    days = pd.DataFrame({"x": pd.to_timedelta([1] * 200_000, unit="D"), "n": 1.0})
    days["k"] = pd.Series(["\udc80"] * len(days), dtype=object)
    df = protected(days, epsilon=10**6)
    total = df.dp(epsilon=1).sum("x", bounds=("0D", "2D"))
    assert total.value / pd.Timedelta("1D") == pytest.approx(200_000, abs=100)
    assert df.dp(epsilon=EPSILON).histogram("k", keys=["\udc80"], null=True).tolist() == [200_000, 0]
    assert df.dp(epsilon=EPSILON).histogram("n", bins=[0, 2**64]).tolist() == [200_000]
    df.dp(epsilon=1e-6).groupby_mean_sa("n", "n", keys=[1.0], bounds=(0, 2), aggregator="median")
    with pytest.raises(ArgumentValueError, match="1e150"):
        df.dp(epsilon=1).var("n", bounds=(-1e300, 1e300))
    for rule in ("abc", float("nan")):
        with pytest.raises((ArgumentTypeError, ArgumentValueError), match="nulls"):
            pd.DataFrame({"n": [1.0]}).dp.protect(epsilon=1, name=fresh(), schema={"n": {"nulls": rule}})
    with pytest.raises(ArgumentTypeError, match="nulls"):
        pd.DataFrame({"n": ["a"]}).dp.protect(epsilon=1, name=fresh(), schema={"n": {"nulls": "b"}})


@pytest.mark.parametrize("asked", [{"other": True}, {"null": True}, {"other": True, "null": True}, {}])
def test_parts_beside_the_listed_ones_are_on_record(asked):
    df = protected(neighbors="replace_one", rows=True, epsilon=100)
    ask, listed = df.dp(epsilon=1), {"keys": ["x", "y"], **asked}
    answers = [ask.value_counts("city", **listed), ask.value_counts("city", normalize=True, **listed)]
    answers += [ask.histogram("city", **listed), ask.histogram("age", bins=[0, 50, 100], **asked)]
    answers += [ask.histogram("age", bins=[0, 50, 100], workload="ranges", **asked)]
    answers += [ask.randomized_response("city", **listed)]
    for answer in answers:
        assert {name for name in ("other", "null") if f"{name}=True" in str(answer.query)} == set(asked)


@pytest.mark.parametrize(
    "ask",
    [
        lambda dp: dp.count(),
        lambda dp: dp.histogram("age", bins=[0, 50, 120]),
        lambda dp: dp.groupby("sex", keys=["f", "m"]).agg({"age": "mean"}, bounds={"age": (0, 120)}),
        lambda dp: dp.mode("sex", keys=["f", "m"]),
    ],
)
def test_an_answer_out_of_the_store_says_so_on_the_screen_and_in_no_file(ask):
    df, said = protected(), "answered before: costs nothing now"
    first, again, fresh_draw = ask(df.dp(epsilon=1)), ask(df.dp(epsilon=1)), ask(df.dp(epsilon=1, fresh=True))
    assert df.dp.session.spent == "epsilon=2"
    for release in (first, fresh_draw):
        assert said not in repr(release) + release._repr_html_()
    assert repr(again).replace(f"\n  {said}", "", 1) == repr(first) != repr(again)
    assert said in again._repr_html_()
    assert again.to_json() == first.to_json()
    if isinstance(again.value, pd.Series | pd.DataFrame):
        assert again.to_csv() == first.to_csv()
