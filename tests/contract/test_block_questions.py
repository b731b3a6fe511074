"""Questions answered from block results: what is refused before anything is read or charged, and what an answer says."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pandas as pd
import pytest
from support.frames import fresh, people, protected, refused

from pandas_dp import ArgumentTypeError, PandasDPError, Schema
from pandas_dp.priced import rehearsal

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
        ({"aggregator": "vote"}, r"keys=\['A', 'B'\], aggregator='vote'"),
        ({"keys": ["a"]}, r"keys=\['A', 'B'\], aggregator='vote'"),
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
        ({"bounds": (9, 0)}, r"upper: sample_and_aggregate\(function, bounds=\(lower, upper\)\)"),
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
        (["age", "age"], {"k": 2}, "columns must differ"),
        (["age", "agee"], {"k": 2}, "did you mean 'age'"),
        (["age", "city"], {"k": 2}, "'city' holds something else"),
        (["when"], {"k": 2}, "'when' holds something else"),
        (["age"], {"k": 0}, "k must be at least 1"),
        (["age"], {"k": 2000}, "at most 1,000"),
        (["age"], {"k": 2, "bounds": (0, 120)}, "dict"),
        (["age"], {"k": 2, "bounds": BOUNDS}, "of these columns alone"),
        (["age"], {"k": 2, "bounds": {"age": (9, 0)}}, "lower end first"),
        (["age", "pay"], {"k": 2, "bounds": {"age": (0, 120)}}, r"kmeans\(\['age', 'cost'\], k=3, bounds=\{"),
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
    df = protected()
    one, two = (df.dp(epsilon=1)["age"].mean(bounds=(0, 120), method="winsorized") for _ in range(2))
    assert one.value == two.value
    assert df.dp.session.spent == "epsilon=1"
    assert "Winsorized mean of 800 block means: made for at least 8,000 rows" in one.notes
    assert any("worse than method='rotated' unless" in note for note in one.notes)
    assert "method='winsorized'" in one.query.call


def test_a_winsorized_mean_says_from_how_many_rows_on_it_loses():
    """With that many rows, public here, the default has an interval as wide; its noise is not drawn but computed."""
    df = protected(pd.DataFrame({"x": np.arange(20_000) % 100}), epsilon=10**4)
    found = df.dp(epsilon=1).mean("x", bounds=(-5000, 5000), method="winsorized")
    (note,) = (note for note in found.notes if note.startswith("method='rotated' has less noise from about"))
    rows = int(note.split("about ")[1].split(" rows")[0].replace(",", ""))
    half = (found.interval().upper - found.interval().lower) / 2
    assert half == pytest.approx(10_000 * np.log(20) / rows, rel=1e-3)


def test_dates_have_a_winsorized_mean():
    release = protected().dp(epsilon=1).mean("when", bounds=("2013-01-01", "2014-01-01"), method="winsorized")
    assert pd.Timestamp("2013-01-01") <= release.value <= pd.Timestamp("2014-01-01")


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
    match = rf"with {blocks} blocks would return noise as wide as .* type df\.dp\(epsilon=[\d.]+\) at least"
    with refused(monkeypatch, df, ValueError, match) as caught:
        ask(df, lambda d: 1.0, epsilon=price, **terms)
    named = float(str(caught.value).split("epsilon=")[1].split(")")[0])
    assert named == pytest.approx(least, rel=0.01)
    ask(df, lambda d: 1.0, epsilon=named, **terms)


def test_clusters_at_a_small_price_are_refused(monkeypatch):
    df = protected()
    with refused(
        monkeypatch, df, ValueError, r"kmeans\(\) with 25 blocks .* df\.dp\(epsilon=0\.7\d*\) at least, .*rows="
    ):
        df.dp(epsilon=0.5).kmeans(["age", "pay"], k=3, bounds=BOUNDS)
    df.dp(epsilon=0.5).kmeans(["age", "pay"], k=3, bounds=BOUNDS, blocks=100)


def test_more_blocks_than_rows_are_refused_where_the_number_of_rows_is_public(monkeypatch):
    df = protected(people()[["age", "pay"]], neighbors="replace_one")
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
def typo(d):
    return d["no_such_column"].mean()


def close(d):
    return d["agee"].mean()


def method(d):
    return d["age"].men()


def global_name(d):
    return undefined_name(d)  # noqa: F821


def no_argument():
    return 3


def two_columns(d):
    return d[["age", "nope"]].mean().mean()


@pytest.mark.parametrize(
    ("function", "match"),
    [
        (typo, "KeyError 'no_such_column'. Nothing was charged"),
        (close, "KeyError 'agee'; did you mean 'age'"),
        (method, "AttributeError 'men'"),
        (global_name, "NameError 'undefined_name'"),
        (no_argument, "TypeError"),
        (two_columns, "KeyError"),
    ],
)
def test_a_plain_mistake_is_told_before_it_is_paid(monkeypatch, function, match):
    df = protected()
    with refused(monkeypatch, df, TypeError, match) as caught:
        ask(df, function, bounds=(0, 120))
    assert caught.value.__context__ is None
    with refused(monkeypatch, df, TypeError, match):
        ask(df, function, keys=["a"], aggregator="vote")


@pytest.mark.parametrize("result", [["f"], pd.Series(["f"]), np.array(["f"])], ids=repr)
def test_a_vote_for_what_can_be_no_key_is_told_before_it_is_paid(monkeypatch, result):
    df = protected()
    with refused(monkeypatch, df, TypeError, r"which is no key: return str\(\.\.\.\)"):
        ask(df, lambda d: result, keys=["f", "m"], aggregator="vote")


def test_a_failure_that_may_be_due_to_made_up_values_is_noted():
    df = protected(epsilon=100)  # its categories do not say what they hold: it is tried without rows, too
    divided = ask(df, lambda d: 1 / (len(d) - 4), bounds=(0, 1))
    note = "the function raised a ZeroDivisionError on a made-up table; blocks without result "
    assert f"{note}count as the middle of the bounds" in divided.notes
    assert "made-up" not in repr(divided)
    assert f"{note}have no vote" in ask(df, lambda d: 1 / (len(d) - 4), keys=["f"], aggregator="vote").notes
    assert not any("made-up" in text for text in ask(df, lambda d: 1.0, bounds=(0, 1)).notes)


@pytest.mark.parametrize("columns", [("age", "pay"), ("age", "city")], ids=["one table", "two tables"])
@pytest.mark.parametrize(
    ("function", "did"),
    [
        (lambda d: 1 / 0, "raised a ZeroDivisionError"),
        (lambda d: (_ for _ in ()).throw(RuntimeError("secret42")), "raised an error"),
        (lambda d: None, "returned no finite number"),
        (lambda d: float("nan"), "returned no finite number"),
        (lambda d: np.float64("inf"), "returned no finite number"),
        (lambda d: sys.exit("secret42"), "returned no finite number"),
    ],
)
def test_a_function_without_any_result_is_told_under_the_answer(columns, function, did):
    """The middle of the bounds would look like an answer."""
    df = protected(frame_of(*columns), epsilon=100)
    line = f"the function {did} on made-up rows with these columns; blocks without result count as the middle of the bounds"
    several = {"a": (0, 100), "b": (0, 1)}
    for more in ({}, {"aggregator": "median"}, {"aggregator": "winsorized"}, {"bounds": several}):
        given = {"bounds": (0, 100), "blocks": 100, "rows": 48_000, **more}
        asked = (lambda d: (function(d),) * 2) if given["bounds"] is several else function
        answer = df.dp(epsilon=5).sample_and_aggregate(asked, **given)
        assert f"\n  {line}" in repr(answer)
        assert f"note     {line}" in repr(df.dp.preview(epsilon=5).sample_and_aggregate(asked, **given))


def test_a_vote_and_a_score_without_any_result_are_told_under_the_answer():
    df = protected(frame_of("age", "pay"), epsilon=100)
    vote = df.dp(epsilon=5).sample_and_aggregate(lambda d: None, keys=["f"], aggregator="vote", blocks=100)
    assert (
        "\n  the function returned None on made-up rows with these columns; blocks without result have no vote"
        in repr(vote)
    )
    score = df.dp(epsilon=5).select([1, 2], score=lambda d, c: 1 / 0, sensitivity=1)
    assert "\n  score raised a ZeroDivisionError on made-up rows with these columns; without a result a score" in repr(
        score
    )


def test_several_numbers_of_which_one_is_missing_are_a_result():
    df = protected(frame_of("age", "pay"), epsilon=100)
    answer = df.dp(epsilon=5).sample_and_aggregate(
        lambda d: {"a": 1.0, "b": None}, bounds={"a": (0, 2), "b": (0, 1)}, blocks=50
    )
    assert "made-up" not in str(answer.notes)


def frame_of(*columns: str) -> pd.DataFrame:
    return people()[list(columns)]


ACCEPTED = [
    lambda d: d.groupby("sex")["age"].mean()["f"],  # a value, not a column
    lambda d: 1 / (len(d) - 4),
    lambda d: d["age"].iloc[100],
    lambda d: None,
    lambda d: (_ for _ in ()).throw(RuntimeError("secret42")),
    lambda d: sys.exit("secret42"),
]


@pytest.mark.parametrize("function", ACCEPTED)
def test_other_failures_are_not_held_against_a_function(function):
    df = protected(frame_of("age", "pay", "sex", "when"))
    assert 0 <= ask(df, function, bounds=(0, 120)) <= 120


def test_objects_and_categories_do_not_say_what_they_hold():
    """A function that works on their real values is accepted, one that fails on any is not."""
    df = people().assign(day=[pd.Timestamp("2013-01-01").date()] * 8)
    df["day"] = df["day"].astype(object)
    df = protected(df)
    assert ask(df, lambda d: float(d["day"].map(lambda day: day.year).mean()), bounds=(0, 3000)) >= 0
    with pytest.raises(ArgumentTypeError, match="KeyError 'dya'; did you mean 'day'"):
        ask(df, lambda d: d["dya"].count(), bounds=(0, 10))


SECRET = pd.DataFrame({"city": ["secret42"]})


def key_of_a_cell(d):
    return {}[SECRET["city"].iloc[0]]


def text_of_a_cell(d):
    raise TypeError(f"secret42 {SECRET}")


def attribute_of_a_cell(d):
    return getattr(d, SECRET["city"].iloc[0])


class Named(KeyError):
    name = "secret42"


def error_of_its_own(d):
    raise Named("".join(SECRET["city"]))


@pytest.mark.parametrize("function", [key_of_a_cell, attribute_of_a_cell, error_of_its_own])
def test_a_message_quotes_no_value_that_a_function_reached_by_other_ways(function):
    df = protected()
    with pytest.raises(ArgumentTypeError) as caught:
        ask(df, function, bounds=(0, 1))
    assert "secret42" not in str(caught.value)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    with pytest.raises(ArgumentTypeError, match="columns: TypeError"):
        ask(df, text_of_a_cell, bounds=(0, 1))


def test_it_is_tried_on_no_row():
    """The same call on tables of other rows shows a function the same made-up table, and the kinds of blocks."""
    seen = []

    def look(d):
        seen.append(d)
        return 1.0

    for table in (people(), people().iloc[:1], people().iloc[:0]):
        tables = len(seen)
        assert rehearsal.rehearse(look, table.dtypes, rehearsal.no_number) == ()
        assert len(seen) == tables + 2  # with categories, also one without rows
    for other in seen[2::2]:
        pd.testing.assert_frame_equal(seen[0], other)
    ask(protected(), lambda d: seen.append(d), epsilon=4, bounds=(0, 1), blocks=1)
    assert seen[0].dtypes.to_dict() == seen[-1].dtypes.to_dict()  # of made-up rows and of a block
    assert set(seen[0]["city"]) == {"a", "b"}


def test_it_may_ask_no_question_while_it_is_tried():
    df = protected()
    texts = []

    def nosy(block):
        try:
            df.dp(epsilon=1).count()
        except PandasDPError as error:
            texts.append(str(error))
        return 1.0

    worker = threading.Thread(target=lambda: ask(df, nosy, bounds=(0, 1), blocks=3), daemon=True)
    worker.start()
    worker.join(10)
    assert not worker.is_alive()
    assert len(texts) == 2 + 3  # two made-up tables, three blocks
    assert set(texts) == {"a query was asked from inside another query; ask one after the other"}
    assert df.dp.session.spent == "epsilon=1"


def test_an_interrupt_while_it_is_tried_costs_nothing():
    df = protected()

    def stop(block):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask(df, stop, bounds=(0, 1))
    assert df.dp.session.spent == "epsilon=0"
    assert df.dp(epsilon=1).count() is not None


def test_warnings_and_numpy_errors_of_a_trial_do_not_show(recwarn):
    df = protected()
    ask(
        df,
        lambda d: float(np.log(d["age"] - 1).to_numpy() @ np.array([1, 2, 3, 4])) if len(d) == 4 else 1.0,
        bounds=(0, 1),
    )
    assert not recwarn.list


@pytest.mark.parametrize("dtype", ["float64", "Float64", "double[pyarrow]", "Int64"])
def test_blocks_show_the_constants_that_stand_for_missing_values(dtype):
    """Half of the cells are 1 and half are missing, which count as 90: a mean of 45.5, in each of 20 blocks of 500 rows."""
    df = pd.DataFrame(
        {"x": pd.Series([1, None] * 5000, dtype=dtype), "when": pd.Series([pd.Timestamp("2024-01-01"), None] * 5000)}
    )
    rules = {"x": {"nulls": 90, "bounds": (0, 100)}, "when": {"nulls": pd.Timestamp("2024-01-03")}}
    df.dp.protect(epsilon=10**5, schema=rules, name=fresh())
    centres = df.dp(epsilon=10**4).kmeans(["x"], k=2, blocks=20)
    assert sorted(centres["x"]) == pytest.approx([1, 90], abs=0.01)
    answer = df.dp(epsilon=10**4).sample_and_aggregate(lambda d: float(d["x"].mean()), bounds=(0, 100), blocks=20)
    assert answer.value == pytest.approx(45.5, abs=8)  # a mean of 500 such cells has a deviation of 2
    later = df.dp(epsilon=10**4).sample_and_aggregate(
        lambda d: (d["when"] - pd.Timestamp("2024-01-01")).dt.days.mean(), bounds=(0, 2), blocks=20
    )
    assert later.value == pytest.approx(1, abs=0.2)
    assert df["x"].isna().sum() == 5000
