"""Several answers that agree, and shares of a price by wanted errors."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from support.frames import people, protected, refused

from pandas_dp import ArgumentTypeError, ArgumentValueError, query
from pandas_dp.aggregates.base import Terms
from pandas_dp.aggregates.uncertainty import LEVEL
from pandas_dp.core.privacy import Price, PrivacyUnit
from pandas_dp.facts.numbers import Accuracy

MOMENTS = ["count", "sum", "mean", "var", "std"]
BOUNDS = {"x": (0, 100)}


def numbers(rows=3000):
    return pd.DataFrame({"x": np.arange(rows) % 100, "y": np.arange(rows) % 7, "g": ["a", "b", "c"] * (rows // 3)})


def asked_of(df, ask, epsilon=1):
    """The query that a call makes of a priced frame, with its parts and their shares."""
    kept = []
    priced = type(df.dp(epsilon=1))(
        df, Price(Fraction(epsilon)), False, ahead=lambda table, asked, *rest: kept.append(asked)
    )
    ask(priced)
    return kept[0]


@pytest.mark.parametrize("terms", [{"epsilon": 1}, {"epsilon": 1, "delta": 1e-6}, {"rho": 0.1}], ids=str)
def test_moments_of_a_column_agree(terms):
    df = protected(numbers(), epsilon=10**6, delta=1e-3)
    found = df.dp(**terms).agg({"x": MOMENTS}, bounds=BOUNDS)["x"]
    assert found["mean"] == found["sum"] / found["count"]
    assert found["var"] == found["std"] * found["std"]
    named = df.dp(**terms).agg(rows=("x", "count"), all=("x", "sum"), typical=("x", "mean"), bounds=BOUNDS)["x"]
    assert named["typical"] == named["all"] / named["rows"]
    of_groups = df.dp(**terms).groupby("g", keys=["a", "b", "c"]).agg({"x": MOMENTS, "y": "count"}, bounds=BOUNDS).value
    x = of_groups["x"]
    assert (x["mean"] == x["sum"] / x["count"]).all()
    assert (x["var"] == x["std"] ** 2).all()
    assert of_groups.columns.tolist() == [("x", name) for name in MOMENTS] + [("y", "count")]


@pytest.mark.slow
def test_intervals_hold_what_they_say():
    """40 intervals at 99.9 % of 20 answers: of none miss five or more but with probability 5e-7, even at 0.2 % each."""
    table = numbers(300)
    df = protected(table, epsilon=10**6)
    exact = table["x"].agg(MOMENTS)
    groups = table.groupby("g")["x"].agg(MOMENTS)
    missed, missed_of_groups = np.zeros(5), np.zeros((3, 5))
    for _ in range(40):
        ends = df.dp(epsilon=1, fresh=True).agg({"x": MOMENTS}, bounds=BOUNDS).interval(0.999)["x"]
        missed += ~((ends["lower"] <= exact) & (exact <= ends["upper"])).to_numpy()
        answer = df.dp(epsilon=1, fresh=True).groupby("g", keys=["a", "b", "c"])["x"].agg(MOMENTS, bounds=BOUNDS["x"])
        known = answer.interval(0.999)
        for place, name in enumerate(MOMENTS):
            low, high = known[name, "lower"].to_numpy(), known[name, "upper"].to_numpy()
            missed_of_groups[:, place] += ~((low <= groups[name]) & (groups[name] <= high)).to_numpy()
    assert (missed <= 4).all()
    assert (missed_of_groups <= 4).all()


def test_a_preview_shows_what_is_shared():
    df = protected(numbers(), epsilon=10)
    shown = df.dp.preview(epsilon=1).agg({"x": ["count", "mean", "median"], "y": "count"}, bounds=BOUNDS)
    lines = [line for line in repr(shown).splitlines() if line.startswith("  error ")]
    assert [line.removeprefix("  error    ").partition(":")[0] for line in lines] == [
        "x count",
        "x mean",
        "x median",
        "y count",
    ]
    assert lines[0].endswith("(95 %); 50 % of the price, shared with x mean")
    assert lines[2].endswith("in values not known in advance; 25 % of the price")
    assert repr(shown).count("say roughly how many rows") == 1
    halves = shown.outlook.half_width
    assert list(halves) == [
        "count('x')",
        "mean('x', bounds=(0, 100))",
        "median('x', bounds=(0, 100), error_bar=True)",
        "count('y')",
    ]
    assert halves["count('x')"] < halves["count('y')"]  # which takes 25 % by itself
    found = df.dp(epsilon=1).agg({"x": ["count", "mean", "median"], "y": "count"}, bounds=BOUNDS)
    ends = found.interval().loc["count", "x"]
    assert halves["count('x')"] == pytest.approx((ends["upper"] - ends["lower"]) / 2)
    assert found.epsilon == 1


def test_private_bounds_stay_apart():
    df = protected(numbers(), epsilon=10**6)

    def ask(frame):
        return frame.agg({"x": ["count", "mean", "std"]}, bounds={"x": "private"})

    several = asked_of(df, ask).aggregate
    assert [lot.places for lot in several.lots(Terms(PrivacyUnit(), Price(Fraction(1))))] == [(0,), (1,), (2,)]
    assert ask(df.dp(epsilon=100)).shape == (3, 1)


def test_errors_are_the_same_multiple_of_the_wanted_ones():
    """At a price at which errors are large, so that whole rows do not matter."""
    df = protected(numbers(), epsilon=10)
    wanted = [20, 5000, 40, 900]
    asked = asked_of(
        df,
        lambda frame: frame.agg({"x": ["count", "sum"], "y": "nunique", "g": "count"}, bounds=BOUNDS, within=wanted),
        Fraction(1, 100),
    )
    assert asked.call.endswith("bounds={'x': (0, 100)}, within=[20, 5000, 40, 900])")
    parts = asked.aggregate.parts
    assert sum(part.share for part in parts) == 1
    errors = []
    for part, error in zip(parts, wanted, strict=True):
        terms = Terms(PrivacyUnit(), Price(part.share / 100))
        errors.append(float(part.question.expected(terms, None).half_width) / error)
    assert max(errors) <= 1.01 * min(errors), errors


@pytest.mark.parametrize("epsilon", ["0.01", "0.5"])
def test_shares_are_those_of_the_least_prices(epsilon):
    """For the common multiple of the wanted errors, each price is the least one, and what is left over is shared alike."""
    df = protected(numbers(), epsilon=10)
    wanted, total = [100, 400, 3000], Fraction(epsilon)
    asked = asked_of(
        df, lambda frame: frame.agg({"x": ["count", "sum"], "y": "nunique"}, bounds=BOUNDS, within=wanted), total
    )
    terms = Terms(PrivacyUnit(), Price(total))
    paid = [part.share * total for part in asked.aggregate.parts]
    multiple = max(
        Fraction(part.question.expected(replace(terms, price=Price(price)), None).half_width) / error
        for part, price, error in zip(asked.aggregate.parts, paid, wanted, strict=True)
    )
    least = [
        part.question.epsilon_for(Accuracy(error * multiple, LEVEL), terms)
        for part, error in zip(asked.aggregate.parts, wanted, strict=True)
    ]
    assert sum(least) <= total * Fraction(1005, 1000)
    for price, needed in zip(paid, least, strict=True):
        assert price == pytest.approx(needed * total / sum(least), rel=0.02)


def test_a_mean_of_a_public_number_of_rows():
    df = protected(numbers(), epsilon=10, neighbors="replace_one", rows=True)
    within = {"within": [1, 2]}
    found = df.dp(epsilon=1).agg({"x": "mean", "y": "mean"}, bounds={"x": (0, 100), "y": (0, 100)}, **within)
    terms = Terms(df.dp.session.unit, Price(Fraction(1)), public_rows=len(numbers()))
    most = [
        float(part.question.expected(replace(terms, price=terms.price.share(part.share)), None).half_width)
        for part in found.query.aggregate.parts
    ]
    assert most[1] / most[0] == pytest.approx(2, rel=0.02)  # what they are at most, wherever the values lie
    ends = found.interval()
    assert (0.6 * np.array(most) < (ends["upper"] - ends["lower"]) / 2).all()
    assert ((ends["upper"] - ends["lower"]) / 2 < 1.02 * np.array(most)).all()
    assert df.dp.session.spent == "epsilon=1"


def test_wanted_errors_are_part_of_the_question():
    df = protected(numbers(), epsilon=10)
    ask = query(epsilon=1)
    queries = [ask.agg({"x": ["count", "nunique"]}, within=within) for within in ([10, 20], [20, 10], [10, 20])]
    answers = [asked(df) for asked in queries]
    assert df.dp.session.spent == "epsilon=2"
    assert answers[0].equals(answers[2])
    restored = type(queries[0]).from_dict(queries[0].to_dict())
    assert restored(df).equals(answers[0])
    assert queries[0].preview(df).stored
    groups = df.dp(epsilon=1).groupby("g", keys=["a", "b"]).agg({"x": ["count", "nunique"]}, within=[10, 20])
    assert str(groups.query).endswith(".agg({'x': ['count', 'nunique']}, within=[10, 20])")
    assert df.dp.session.spent == "epsilon=3"


def test_durations_are_wanted_as_durations():
    table = pd.DataFrame({"t": pd.to_timedelta(np.arange(900) % 60, unit="min")})
    df = protected(table, epsilon=10)
    bounds = {"t": (pd.Timedelta("0h"), pd.Timedelta("1h"))}
    asked = {"func": {"t": ["count", "sum"]}, "bounds": bounds}
    found = df.dp(epsilon=1).agg(**asked, within=[5, pd.Timedelta("5h")])
    assert found.loc["sum", "t"] / found.loc["count", "t"] < pd.Timedelta("1h")
    with pytest.raises(ArgumentTypeError, match="within must be a duration"):
        df.dp(epsilon=1).agg(**asked, within=[5, 5])


REFUSED = [
    (
        {"age": ["count", "nunique"]},
        {"within": [1]},
        ArgumentTypeError,
        r"agg\(\.\.\., bounds=None, within=\[20, 20\]\)",
    ),
    ({"age": ["count", "nunique"]}, {"within": 5}, ArgumentTypeError, "list of 2 errors"),
    ({"age": ["count", "nunique"]}, {"within": "ab"}, ArgumentTypeError, "list of 2 errors"),
    ({"age": ["count", "nunique"]}, {"within": [1, 0]}, ArgumentValueError, "within must be positive"),
    ({"age": ["count", "nunique"]}, {"within": [1, "a"]}, ArgumentTypeError, "within must be a number"),
    ({"age": ["count", "nunique"]}, {"within": [1, 2], "weights": [0.5, 0.5]}, ArgumentTypeError, "not both"),
    ({"age": ["count", "nunique"]}, {"within": [1, pd.Timedelta("1h")]}, ArgumentTypeError, "must be a number"),
    (
        {"age": ["count", "mean"]},
        {"within": [1, 2]},
        ArgumentTypeError,
        r"mean\('age'.* depends on the data: agg\(.*weights=\[0\.5, 0\.5\]",
    ),
    ({"age": ["count", "std"]}, {"within": [1, 2]}, ArgumentTypeError, "depends on the data"),
    ({"age": ["sum", "count"]}, {"within": [1, 2], "private": True}, ArgumentTypeError, "depends on the data"),
    ({"age": ["count", "nunique"]}, {"within": [1e-9, 1e-9], "epsilon": 1e-9}, ArgumentValueError, "type|too small"),
    (
        {"age": ["count", "nunique"]},
        {"within": [1, 2], "delta": 1e-6},
        ArgumentValueError,
        r"plain epsilon.*weights=\[",
    ),
    (
        {"age": ["count", "nunique"]},
        {"within": [1, 2], "rho": 0.1, "epsilon": None},
        ArgumentValueError,
        "plain epsilon",
    ),
]


@pytest.mark.parametrize(("func", "options", "error", "match"), REFUSED, ids=range(len(REFUSED)))
def test_refusals_cost_nothing(monkeypatch, func, options, error, match):
    df = protected(people(), epsilon=10, delta=1e-4)
    options = dict(options)
    price = {name: options.pop(name) for name in ("epsilon", "delta", "rho") if name in options}
    price = {name: amount for name, amount in ({"epsilon": 1} | price).items() if amount is not None}
    bounded = [name for name in func["age"] if name not in ("count", "nunique")]
    bounds = {"age": "private" if options.pop("private", False) else (0, 100)} if bounded else None
    with refused(monkeypatch, df, error, match):
        df.dp(**price).agg(func, bounds=bounds, **options)


def test_means_of_groups_are_refused(monkeypatch):
    df = protected(people(), epsilon=10, neighbors="replace_one", rows=True)
    with refused(monkeypatch, df, ArgumentTypeError, r"data: df\.dp\(epsilon=1\)\.groupby\(.*weights=\[0\.5, 0\.5\]"):
        df.dp(epsilon=1).groupby("sex", keys=["f", "m"]).agg(
            {"age": ["count", "mean"]}, bounds={"age": (0, 100)}, within=[1, 2]
        )
