"""Choices: what is refused costs nothing and reads nothing, and a score of the whole table can do no harm."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from support.frames import fresh, on_rows, people, protected, refused

import pandas_dp

KEYS = ["x", "y", "z"]
CANDIDATES = [10, 20]
PER_ROW = "pay >= candidate"


def mean_of(d, candidate):
    return d["pay"].mean()


REFUSED = {
    "k of 0": (lambda d: d.top_k("city", 0, keys=KEYS), ValueError, "k must be at least 1"),
    "k of 4 keys": (
        lambda d: d.top_k("city", 4, keys=KEYS),
        ValueError,
        r"d\.top_k\('city', 3, keys=KEYS\)",
    ),
    "k of a half": (lambda d: d.top_k("city", 1.5, keys=KEYS), TypeError, "k must be a whole number"),
    "no keys": (lambda d: d.top_k("city", 2), TypeError, "keys"),
    "no column": (lambda d: d.top_k("town", 2, keys=KEYS), ValueError, "no column named 'town'"),
    "no prices": (lambda d: d.best_price("pay"), TypeError, r"prices=\[1, 2, 5\]\) or bounds=\(0, 500\)"),
    "both": (lambda d: d.best_price("pay", prices=[1], bounds=(0, 2)), TypeError, "either prices= or bounds="),
    "empty prices": (lambda d: d.best_price("pay", prices=[]), ValueError, "prices must hold between 1 and 1,000,000"),
    "a number": (lambda d: d.best_price("pay", prices=5), TypeError, "prices must be a public list"),
    "prices from data": (lambda d: d.best_price("pay", prices=people()["pay"]), TypeError, "public list"),
    "price of 0": (lambda d: d.best_price("pay", prices=[0, 1]), ValueError, "prices must be positive"),
    "price below 0": (lambda d: d.best_price("pay", prices=[1, -2.5]), ValueError, "prices must be positive"),
    "price of nan": (lambda d: d.best_price("pay", prices=[1, np.nan]), ValueError, "prices must be finite"),
    "infinite price": (lambda d: d.best_price("pay", prices=[1, np.inf]), ValueError, "prices must be finite"),
    "price too large": (lambda d: d.best_price("pay", prices=[1, 1e251]), ValueError, "between 1e-250 and 1e250"),
    "price too small": (lambda d: d.best_price("pay", prices=[1e-251]), ValueError, "between 1e-250 and 1e250"),
    "bounds too large": (lambda d: d.best_price("pay", bounds=(0, 1e251)), ValueError, "between 1e-250 and 1e250"),
    "price as text": (lambda d: d.best_price("pay", prices=["1"]), TypeError, "prices must be a number"),
    "price twice": (lambda d: d.best_price("pay", prices=[1, 2, 1.0]), ValueError, "a price twice"),
    "prices too fine": (lambda d: d.best_price("pay", prices=[1e-10, 1]), ValueError, r"round\(p, 2\)"),
    "bounds from 1": (lambda d: d.best_price("pay", bounds=(1, 2)), ValueError, r"bounds=\(0, 500\)"),
    "bounds to 0": (lambda d: d.best_price("pay", bounds=(0, 0)), ValueError, r"bounds=\(0, 500\)"),
    "bounds of one": (lambda d: d.best_price("pay", bounds=[0]), ValueError, r"bounds=\(0, 500\)"),
    "supply of 0": (lambda d: d.best_price("pay", prices=[1], supply=0), ValueError, "supply must be at least 1"),
    "supply of a half": (lambda d: d.best_price("pay", prices=[1], supply=0.5), TypeError, "supply must be a whole"),
    "price of text": (lambda d: d.best_price("sex", prices=[1]), TypeError, "a column of numbers"),
    "price of dates": (lambda d: d.best_price("when", prices=[1]), TypeError, "a column of numbers"),
    "no candidates": (lambda d: d.select([], score=PER_ROW), ValueError, "candidates must hold between 1"),
    "candidate twice": (lambda d: d.select([1, 2, 1.0], score=PER_ROW), ValueError, "a value twice"),
    "candidates as text": (lambda d: d.select("ab", score=PER_ROW), TypeError, "candidates must be a public list"),
    "candidates of data": (lambda d: d.select(people()["pay"], score=PER_ROW), TypeError, "public list"),
    "missing candidate": (lambda d: d.select([1, None], score=PER_ROW), TypeError, "numbers, texts, dates"),
    "candidate of nan": (lambda d: d.select([1, np.nan], score=PER_ROW), ValueError, "missing"),
    "odd candidate": (lambda d: d.select([1, [2]], score=PER_ROW), TypeError, "numbers, texts, dates or tuples"),
    "cap of 0": (lambda d: d.select(CANDIDATES, score=PER_ROW, cap=0), ValueError, "cap must be positive"),
    "cap below 0": (lambda d: d.select(CANDIDATES, score=PER_ROW, cap=-1), ValueError, "cap must be positive"),
    "cap of nan": (
        lambda d: d.select(CANDIDATES, score=PER_ROW, cap=np.nan),
        ValueError,
        "cap must be finite: .*cap=1",
    ),
    "cap as text": (
        lambda d: d.select(CANDIDATES, score=PER_ROW, cap="1"),
        TypeError,
        "cap must be a number: .*cap=1",
    ),
    "an end of cap as text": (
        lambda d: d.select(CANDIDATES, score=PER_ROW, cap=(-1, "x")),
        TypeError,
        r"cap must be a number: .*cap=\(-2, 0\)",
    ),
    "sensitivity of 0": (
        lambda d: d.select([1], score=mean_of, sensitivity=0),
        ValueError,
        "sensitivity must be positive",
    ),
    "sensitivity of text": (
        lambda d: d.select([1, 2], score=PER_ROW, sensitivity=1),
        TypeError,
        "a function of a table",
    ),
    "weights of 2": (lambda d: d.select(CANDIDATES, score=PER_ROW, weights=[1, 1]), ValueError, "add up to exactly 1"),
    "weight of 0": (lambda d: d.select(CANDIDATES, score=PER_ROW, weights=[0, 1]), ValueError, "2 positive numbers"),
    "one weight": (lambda d: d.select(CANDIDATES, score=PER_ROW, weights=[1]), ValueError, "one for each candidate"),
    "thirds": (
        lambda d: d.select([1, 2, 3], score=PER_ROW, weights=[1 / 3] * 3),
        ValueError,
        "thirds as Fraction",
    ),
    "no candidate in it": (lambda d: d.select(CANDIDATES, score="pay >= 3"), ValueError, "depend on the candidate"),
    "unknown name": (lambda d: d.select(CANDIDATES, score="wage >= candidate"), ValueError, "no column 'wage'"),
    "text as number": (lambda d: d.select(CANDIDATES, score="sex >= candidate"), TypeError, "score: "),
    "the name of a sum": (
        lambda d: d.select(["f", "m"], score="count"),
        ValueError,
        r"score='(sex|city) == candidate'\)",
    ),
    "no number": (
        lambda d: d.select(["f", "m"], score="candidate"),
        TypeError,
        "score must give numbers or conditions",
    ),
    "not row-wise": (lambda d: d.select(CANDIDATES, score=mean_of), ValueError, "sensitivity=largest_change"),
    "score of data": (lambda d: d.select(CANDIDATES, score=lambda d, c: people()["pay"] > c), TypeError, "score: "),
    "score of None": (lambda d: d.select(CANDIDATES, score=None), TypeError, "score must be text or a function"),
    "score of pd.col": (lambda d: d.select(CANDIDATES, score=pd.col("pay") > 3), TypeError, "score must be text or"),
    "tuple in a text": (
        lambda d: d.select([(1, 2), (3, 4)], score=PER_ROW),
        TypeError,
        "score: tuple is not a constant",
    ),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", REFUSED)
def test_refused_at_price_0(monkeypatch, name):
    ask, error, text = REFUSED[name]
    df = protected()
    with refused(monkeypatch, df, error, text):
        ask(df.dp(epsilon=1))


@pytest.mark.parametrize(
    "ask",
    [
        lambda d: d.mode("city", keys=KEYS),
        lambda d: d.top_k("city", 1, keys=KEYS),
        lambda d: d.best_price("pay", prices=[1]),
        lambda d: d.select([1, 2], score=PER_ROW),
        lambda d: d.select([1, 2], score=mean_of, sensitivity=1),
    ],
)
@pytest.mark.parametrize("price", [{"epsilon": 1, "delta": 1e-7}, {"rho": 0.1}])
def test_a_price_that_is_no_epsilon(monkeypatch, ask, price):
    df = protected(delta=1e-6)
    with refused(monkeypatch, df, ValueError, "takes a plain epsilon"):
        ask(df.dp(**price))


def test_a_column_that_is_called_candidate(monkeypatch):
    df = protected(people().rename(columns={"sex": "candidate"}), epsilon=1000)
    with refused(monkeypatch, df, ValueError, r"d\['candidate'\] == candidate"):
        df.dp(epsilon=1).select(["f", "m"], score="candidate == 'f'")
    assert df.dp(epsilon=100).select(["f", "q"], score=lambda d, candidate: d["candidate"] == candidate) == "f"


def test_whole_table_scores_of_units_under_replace_one(monkeypatch):
    df = protected(unit="pid", max_rows=2, neighbors="replace_one")
    with refused(monkeypatch, df, ValueError, "score per row, such as"):
        df.dp(epsilon=1).select([1, 2], score=mean_of, sensitivity=1)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((0, 1, 2), ValueError, "lowest must be positive"),
        ((2, 1, 2), ValueError, "below highest"),
        ((1, 2, 1), ValueError, "ratio must be above 1"),
        ((1, 2, "2"), TypeError, "ratio must be a number"),
        ((1, np.inf, 2), ValueError, "highest must be finite"),
        ((1, 2, 1 + 1e-15), ValueError, "at most 1,000,000 prices"),
        ((1e-300, 1e300, 1e10), ValueError, r"round\(p, 2\)"),
    ],
)
def test_geometric_prices_refuse(arguments, error, text):
    with pytest.raises(error, match=text):
        pandas_dp.geometric_prices(*arguments)


# --------------------------------------------------------------------------------------- functions of the whole table
def choose(df, score, epsilon=1000, **terms):
    return df.dp(epsilon=epsilon).select([1, 2, 3], score=score, **{"sensitivity": 1, **terms})


def test_the_function_chooses():
    df = protected(epsilon=10**6)
    assert (
        choose(df, lambda d, c: -abs(d["age"].median() / 10 - c - 1), epsilon=10**5) == 2
    )  # of 18, ..., 31, 31, ..., 77
    assert choose(df, lambda d, c: on_rows(c == 2)(d)) in (1, 2, 3)  # a bool is no number


@pytest.mark.parametrize(
    ("score", "match"),
    [
        (lambda d, c: d["agee"].mean(), "score fails on a made-up table .* KeyError 'agee'; did you mean 'age'"),
        (lambda d: 1.0, "score fails on a made-up table .* TypeError"),
        (lambda d, c: "secret42", r"score returned text, which is not a number: return float\(\.\.\.\)"),
        (lambda d, c: d["age"] > c, "score returned a Series"),
    ],
)
def test_a_score_of_the_table_is_tried_before_it_is_paid(monkeypatch, score, match):
    df = protected()
    with refused(monkeypatch, df, TypeError, match):
        choose(df, score, epsilon=1)


def test_a_score_that_fails_on_made_up_rows_says_so():
    notes = choose(protected(), lambda d, c: 1 / (len(d) - 4), epsilon=1).notes
    assert any(note.startswith("score raised a ZeroDivisionError on a made-up table") for note in notes)


class Odd(float):
    def as_integer_ratio(self):
        raise ValueError("secret42")


@pytest.mark.parametrize(
    "result",
    [np.nan, np.inf, None, "secret42", [1], object(), 1j, True, Odd(3), pd.Series([1.0])],
    ids=lambda x: "an object" if type(x) is object else repr(x),
)
def test_garbage_counts_nothing(result, capsys):
    """Two candidates get garbage, the third 1000: it is chosen but for a probability below exp(-100)."""
    df = protected(epsilon=10**6)
    assert choose(df, lambda d, c: 1000 if c == 3 else on_rows(result)(d)) == 3
    assert choose(df, lambda d, c: -1000 if c == 3 else on_rows(result)(d)) != 3
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("error", [ValueError, SystemExit, MemoryError, RecursionError, GeneratorExit])
def test_what_raises_counts_nothing(error, capsys):
    df = protected(epsilon=10**6)

    def stop(d, c):
        if c < 3:
            raise error(f"secret42 {d.to_string()}")
        return 1000

    assert choose(df, stop) == 3
    assert capsys.readouterr() == ("", "")


def test_asking_from_inside_is_refused_and_counts_nothing():
    df = protected(epsilon=2000)
    priced, seen = df.dp(epsilon=1), []

    def nosy(d, c):
        if c == 3 or "a" in set(d["city"]) or d.empty:  # made-up tables
            return 1000
        try:
            priced.count()
        except Exception as error:
            seen.append(type(error).__name__)
            raise
        return 2000

    assert choose(df, nosy) == 3
    assert seen == ["PandasDPError"] * 2
    assert df.dp.session.spent == "epsilon=1000"
    assert df.dp(epsilon=1).count() is not None  # the next call works


def test_the_data_stay_as_they_are():
    frame = people()
    df = protected(frame, epsilon=10**6)

    def spoil(d, c):
        d.loc[:, "age"] = 0
        d.drop(d.index, inplace=True)
        return len(d)

    choose(df, spoil)
    pd.testing.assert_frame_equal(frame, people(), check_like=False)


def test_such_an_answer_is_not_stored_and_says_what_it_assumes():
    df = protected(epsilon=10)
    for spent in ("epsilon=1", "epsilon=2"):
        answer = choose(df, lambda d, c: len(d), epsilon=1, sensitivity=1)
        assert df.dp.session.spent == spent
    assert answer.assumes == "one row more or fewer changes each score by at most 1"
    assert df.dp(epsilon=1).select([1, 2], score=PER_ROW).assumes is None


def test_asking_again_is_free():
    df = protected(epsilon=5, name=fresh())
    for ask in (
        lambda d: d.top_k("city", 2, keys=KEYS),
        lambda d: d.best_price("pay", prices=[1, 1000.5]),
        lambda d: d.best_price("pay", prices=(1000.5, 1)),
        lambda d: d.best_price("pay", bounds=(0, 5000)),
        lambda d: d.select([1, 1000], score=PER_ROW),
    ):
        first = ask(df.dp(epsilon=1))
        again = ask(df.dp(epsilon=1))
        assert list(first) == list(again) if isinstance(first, pd.Series) else first == again
    assert df.dp.session.spent == "epsilon=4"  # the order of prices does not matter


def test_bounds_and_keys_of_a_schema():
    df = protected(epsilon=100, schema={"pay": {"bounds": (0, 5000)}, "city": {"keys": KEYS}})
    assert 0 < df.dp(epsilon=1).best_price("pay") <= 5000
    assert set(df.dp(epsilon=1).top_k("city", 3)) == set(KEYS)


def test_under_replace_one_the_word_is_about_changed_rows_too():
    df = protected(neighbors="replace_one", rows=True)
    answer = choose(df, lambda d, c: len(d), epsilon=1, sensitivity=0.5)
    assert answer.assumes == "one row more, fewer or changed changes each score by at most 0.5"


def test_questions_of_a_column():
    df = protected(epsilon=10)
    assert list(df.dp(epsilon=1)["city"].top_k(2, keys=KEYS)) == list(df.dp(epsilon=1).top_k("city", 2, keys=KEYS))
    assert df.dp(epsilon=1)["pay"].best_price(prices=[1, 2]) == df.dp(epsilon=1).best_price("pay", prices=[1, 2])
    assert df.dp.session.spent == "epsilon=2"


@pytest.mark.parametrize("size", [1e-250, 1e-20, 1e20, 1e250])
def test_odd_sizes_answer_at_the_smallest_and_the_largest_price(size):
    """What an answer says about itself is computed after the charge: it must not fail."""
    df = protected(epsilon=10**6, unit="pid", max_rows=10**9)
    for epsilon in (1e-9, 10**5):
        dp = df.dp(epsilon=epsilon)
        for answer in (
            dp.best_price("pay", prices=[size]),
            dp.best_price("pay", bounds=(0, size)),
            dp.select([1, 2], score=PER_ROW, cap=size),
            dp.select([1, 2], score=lambda d, c: c, sensitivity=size),
        ):
            assert answer.interval().score > 0
            assert "within" in repr(answer)
