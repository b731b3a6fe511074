"""Questions answered from block results: what is refused before anything is read or charged, and what an answer says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from support.frames import people, protected, refused

from pandas_dp import PandasDPError, Schema

BOUNDS = {"age": (0, 120), "pay": (0, 5000)}


def ask(df, function=len, epsilon=1, **terms):
    return df.dp(epsilon=epsilon).sample_and_aggregate(function, **terms)


# -------------------------------------------------------------------------------------------------------- arguments
@pytest.mark.parametrize(
    ("terms", "match"),
    [
        (
            {"bounds": (0, 9), "aggregator": "mode"},
            "aggregator must be 'auto', 'median', 'mean', 'smooth', 'winsorized' or 'vote'",
        ),
        ({"bounds": (0, 9), "aggregator": ["mean"]}, "aggregator must be"),
        ({"aggregator": "vote"}, r"sample_and_aggregate\(function, aggregator='vote', keys=\['A', 'B'\]\)"),
        ({"keys": ["a"]}, r"sample_and_aggregate\(function, keys=\['A', 'B'\], aggregator='vote'\)"),
        ({"keys": ["a"], "bounds": (0, 9), "aggregator": "vote"}, "no bounds="),
        ({"keys": ["a"], "bounds": (0, 9)}, "bounds= alone"),
        ({"keys": [], "aggregator": "vote"}, "keys must not be empty"),
        ({"keys": ["a", "a"], "aggregator": "vote"}, "twice"),
        ({"keys": [None], "aggregator": "vote"}, "missing"),
        ({"bounds": (0, 9), "widening": "smith"}, "widening is 'tukey' or, with aggregator='winsorized'"),
        ({"bounds": (0, 9), "aggregator": "winsorized", "widening": "wide"}, "widening"),
        ({"bounds": (0, 9), "aggregator": "winsorized", "widening": ["tukey"]}, "widening"),
        ({"bounds": (0, 9), "rows": 0}, "rows"),
        ({"bounds": (0, 9), "rows": 2.5}, "rows"),
        ({"bounds": (0, 9), "blocks": 10**7}, "blocks"),
        ({}, r"from the data: sample_and_aggregate\(function, bounds=\(lower, upper\)\)"),
        ({"bounds": (9, 0)}, r"in this order: sample_and_aggregate\(function, bounds=\(lower, upper\)\)"),
        (
            {"keys": 3, "aggregator": "vote"},
            r"list: sample_and_aggregate\(function, keys=\['A', 'B'\], aggregator='vote'",
        ),
    ],
    ids=str,
)
def test_arguments_of_sample_and_aggregate(monkeypatch, terms, match):
    df = protected()
    with refused(monkeypatch, df, PandasDPError, match):
        ask(df, **terms)


def test_a_delta_buys_no_selection(monkeypatch):
    df = protected(delta=1e-6)
    with refused(monkeypatch, df, ValueError, "plain epsilon"):
        df.dp(epsilon=1, delta=1e-7).sample_and_aggregate(len, bounds=(0, 9), aggregator="median")


@pytest.mark.parametrize(
    ("columns", "terms", "match"),
    [
        ("age", {"k": 2}, "columns must be a list"),
        ([], {"k": 2}, "columns must be a list"),
        (["age", "age"], {"k": 2}, "columns must be distinct"),
        (["age", "agee"], {"k": 2}, "did you mean 'age'"),
        (["age", "city"], {"k": 2}, "'city' holds something else"),
        (["when"], {"k": 2}, "'when' holds dates, count days first: df = "),
        (["age"], {"k": 0}, "k must be at least 1"),
        (["age"], {"k": 2000}, "at most 1,000"),
        (["age"], {"k": 2, "bounds": (0, 120)}, "dict"),
        (["age"], {"k": 2, "bounds": BOUNDS}, "only these columns"),
        (["age"], {"k": 2, "bounds": {"age": (9, 0)}}, "lower end and a larger upper one"),
        (
            ["age", "pay"],
            {"k": 2, "bounds": {"age": (0, 120)}},
            r"k=2, bounds=\{'age': \(lower, upper\), 'pay': \(lower, upper\)\}",
        ),
        (["age"], {"k": 2, "bounds": {"age": (0, 120)}, "blocks": 0}, "blocks"),
    ],
    ids=str,
)
def test_arguments_of_kmeans(monkeypatch, columns, terms, match):
    df = protected()
    with refused(monkeypatch, df, PandasDPError, match):
        df.dp(epsilon=1).kmeans(columns, **terms)


def test_kmeans_takes_bounds_from_the_schema():
    df = protected(schema=Schema({name: {"bounds": bounds} for name, bounds in BOUNDS.items()}))
    release = df.dp(epsilon=1).kmeans(["age", "pay"], k=2)
    assert release.shape == (2, 2)
    assert release["pay"].between(0, 5000).all()


@pytest.mark.parametrize("method", ["median", None, ["winsorized"]])
def test_methods_of_mean(monkeypatch, method):
    df = protected()
    with refused(monkeypatch, df, ValueError, "method must be 'rotated', 'winsorized' or 'trimmed'"):
        df.dp(epsilon=1).mean("age", bounds=(0, 120), method=method)


def test_a_winsorized_mean_needs_bounds_that_are_typed(monkeypatch):
    df = protected()
    with refused(monkeypatch, df, ValueError, r"mean\('age', bounds=\(lower, upper\), method='winsorized'\)"):
        df.dp(epsilon=1).mean("age", bounds="private", method="winsorized")
    with refused(monkeypatch, df, TypeError, "numbers or dates"):
        df.dp(epsilon=1).mean("city", bounds=(0, 1), method="winsorized")


def test_a_winsorized_mean_says_when_it_loses_and_is_stored():
    df = protected(pd.DataFrame({"age": np.arange(9500) % 90}))
    one, two = (df.dp(epsilon=1)["age"].mean(bounds=(0, 120), method="winsorized") for _ in range(2))
    assert one.value == two.value
    assert df.dp.session.spent == "epsilon=1"
    assert one.notes[0] == "Winsorized mean of 853 block means"
    assert any("worse than method='rotated' unless" in note for note in one.notes)
    assert "method='winsorized'" in one.query.call


def test_a_winsorized_mean_says_from_how_many_rows_on_it_loses():
    """With that many rows, public here, the default has as much noise; it is not drawn but computed."""
    df = protected(pd.DataFrame({"x": np.arange(20_000) % 100}), epsilon=10**4)
    found = df.dp(epsilon=1).mean("x", bounds=(-5000, 5000), method="winsorized")
    (note,) = (note for note in found.notes if note.startswith("method='rotated' has less noise from about"))
    rows = int(note.split("about ")[1].split(" rows")[0].replace(",", ""))
    error = found._provenance.error
    half = float(error.noise.noise.half_width(0.95) * error.step)
    assert rows == pytest.approx(
        10_000 * np.log(20) / half, rel=1e-3, abs=1
    )  # the wider the ends that were drawn, the fewer


def test_dates_have_a_winsorized_mean():
    bounds = pd.Timestamp("2013-01-01"), pd.Timestamp("2014-01-01")
    table = pd.DataFrame({"when": pd.date_range(*bounds, periods=2000)})
    release = protected(table, epsilon=100).dp(epsilon=10).mean("when", bounds=bounds, method="winsorized")
    assert ", of the mean of 86 block means clipped to about [2013-0" in repr(release)
    assert bounds[0] <= release.interval().lower < release.value < release.interval().upper <= bounds[1]
    few = protected().dp(epsilon=1).mean("when", bounds=bounds, method="winsorized")
    assert few.value is pd.NaT or bounds[0] <= few.value <= bounds[1]


# ------------------------------------------------------------------------------------------------- nothing but noise
NOISE = [  # arguments, the price that is refused, the blocks and the least price that are named
    ({"bounds": (0, 9)}, 0.1, 25, 0.12),
    ({"bounds": (0, 9), "blocks": 20, "aggregator": "median"}, 1, 20, 1.41),
    ({"bounds": (0, 9), "blocks": 50, "aggregator": "winsorized"}, 1, 50, 3.82),
    ({"keys": ["a", "b"], "blocks": 5, "aggregator": "vote"}, 1, 5, 1.48),
]


@pytest.mark.parametrize(("terms", "price", "blocks", "least"), NOISE, ids=str)
def test_what_would_be_noise_alone_is_refused_and_at_the_price_named_answered(monkeypatch, terms, price, blocks, least):
    df = protected()
    match = rf"with {blocks} blocks would return noise as wide as .* type at least df\.dp\(epsilon=[\d.]+\), preferably"
    with refused(monkeypatch, df, ValueError, match) as caught:
        ask(df, lambda d: 1.0, epsilon=price, **terms)
    named = float(str(caught.value).split("epsilon=")[1].split(")")[0])
    assert named == pytest.approx(least, rel=0.01)
    ask(df, lambda d: 1.0, epsilon=named, **terms)


def test_clusters_at_a_small_price_are_refused(monkeypatch):
    df = protected()
    with refused(
        monkeypatch, df, ValueError, r"kmeans\(\) with 25 blocks .* at least df\.dp\(epsilon=0\.7\d*\), .*rows="
    ):
        df.dp(epsilon=0.5).kmeans(["age", "pay"], k=3, bounds=BOUNDS)
    df.dp(epsilon=0.5).kmeans(["age", "pay"], k=3, bounds=BOUNDS, blocks=100)


def test_more_blocks_than_rows_are_refused_where_the_number_of_rows_is_public(monkeypatch):
    df = protected(people()[["age", "pay"]], neighbors="replace_one", rows=True)
    with refused(monkeypatch, df, ValueError, r"with 9 blocks of 8 rows would leave .*: type blocks=1 or fewer"):
        ask(df, lambda d: 1.0, bounds=(0, 1), blocks=9)
    ask(df, lambda d: 1.0, epsilon=1, bounds=(0, 1), blocks=8)
    df = protected()
    for how in ({"bounds": (0, 1)}, {"keys": ["a"], "aggregator": "vote"}):
        with refused(monkeypatch, df, ValueError, r"with 100,000 blocks of 48,000 rows .*: type blocks=4800 or fewer"):
            ask(df, lambda d: 1.0, **how, blocks=100_000, rows=48_000)
    with refused(monkeypatch, df, ValueError, r"kmeans\(\) with 25 blocks of 20 rows"):
        df.dp(epsilon=10).kmeans(["age"], k=1, bounds={"age": (0, 120)}, rows=20)
    ask(df, lambda d: 1.0, bounds=(0, 1), blocks=1000)


def test_noise_that_fits_the_data_is_never_surely_too_much():
    ask(protected(), lambda d: 1.0, epsilon=0.01, bounds=(0, 9), blocks=5, aggregator="smooth")


# ------------------------------------------------------------------------------------------------------------ votes
def test_a_vote_is_one_of_the_keys():
    df = protected(epsilon=2000)
    vote = ask(
        df, lambda d: d["sex"].mode()[0] if len(d) else "f", epsilon=1000, keys=["f", "m", "x"], aggregator="vote"
    )
    assert vote.value in ("f", "m", "x")
    number = ask(df, lambda d: np.int64(3), epsilon=1000, keys=[1, 3], aggregator="vote", blocks=9)
    assert number.value == 3
    assert number.notes[0] == "9 blocks, vote of the results"
    assert type(number.interval()).__name__ == "ScoreGap"


def test_results_outside_the_keys_decide_nothing():
    """Of 2 blocks without a vote for either key both are as likely: over 60 draws both come up, but for 2^-59."""
    df = protected(epsilon=10**6)
    drawn = {
        ask(df, lambda d: "secret42", epsilon=4, keys=["a", "b"], aggregator="vote", blocks=2).value for _ in range(60)
    }
    assert drawn == {"a", "b"}


def test_a_session_with_delta_votes_by_the_exponential_mechanism():
    pure, hybrid = protected(), protected(delta=1e-6)
    names = [ask(df, lambda d: "a", keys=["a", "b"], aggregator="vote").mechanism for df in (pure, hybrid)]
    assert names == ["sample and aggregate, permute-and-flip", "sample and aggregate, exponential mechanism"]


# ----------------------------------------------------------------------------------------------------- the rehearsal
