"""Noise on a user's own function with the user's own sensitivity: what is answered, what is refused, what it assumes."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from support.frames import fresh, on_rows, people, protected, refused, watching

import pandas_dp
from pandas_dp.core.mechanisms.gaussian import DiscreteGaussian
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace

SURE = 10**4  # an epsilon at which noise is far below what is asked
NAMES = ["rows", "pay"]


def rows(d):
    return len(d)


def both(d):
    return [len(d), d["pay"].clip(0, 1000).sum() / 1000]


def known(**terms):
    return protected(epsilon=10**6, **terms)


# ------------------------------------------------------------------------------------------------------------- answers
@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("function", [rows, lambda d: np.float32(8), lambda d: np.int64(len(d)), lambda d: (8.0,)])
def test_one_number(function, relation):
    answer = known(neighbors=relation).dp(epsilon=SURE).release(function, sensitivity=1)
    assert isinstance(answer, float)
    assert answer == pytest.approx(8, abs=0.01)


FORMS = {
    "list": both,
    "tuple": lambda d: tuple(both(d)),
    "array": lambda d: np.array(both(d)),
    "dict": lambda d: dict(zip(NAMES[::-1], both(d)[::-1], strict=True), more=1),
    "Series": lambda d: pd.Series(both(d)[::-1], index=NAMES[::-1]),
}


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("form", FORMS)
def test_several_numbers(form, norm):
    answer = known().dp(epsilon=SURE).release(FORMS[form], sensitivity=2, names=NAMES, norm=norm)
    assert answer.index.tolist() == NAMES
    assert answer.tolist() == pytest.approx([8, 5.2], abs=0.02)


def test_the_function_gets_the_rows_that_count_with_constants_for_what_is_missing():
    seen = []

    def look(d):
        seen.append(d.to_dict("list"))
        return len(d)

    df = known(unit="pid", max_rows=2, schema={"pay": {"bounds": (0, 5000), "nulls": 7}})
    answer = df.dp(epsilon=SURE).query("age < 70").release(look, sensitivity=2)
    assert answer == pytest.approx(6, abs=0.01)  # of unit 4 two of three rows
    assert sorted(seen[-1]["pid"]) == [1, 1, 2, 3, 4, 4]
    assert 7.0 in seen[-1]["pay"]


def test_the_noise_is_whole_steps_of_a_power_of_two_whatever_the_function_returns():
    df = known()
    for epsilon in (0.5, 3):
        for sensitivity, step in ((1, 2.0**-20), (2, 2.0**-19), (0.3, 2.0**-22)):
            answer = df.dp(epsilon=epsilon).release(lambda d: 0.1 + 0.2, sensitivity=sensitivity)
            assert (answer / step).is_integer()
    several = df.dp(epsilon=1).release(lambda d: [0.1] * 5, sensitivity=1, names=list("abcde"))
    assert all((x * 2**23).is_integer() for x in several)


NOTHING = [None, np.nan, np.inf, -np.inf, True, "8", [8], {"a": 8}, pd.NA, 1j, pd.Series([8.0]), (8, 9)]


@pytest.mark.parametrize("result", NOTHING, ids=repr)
def test_a_result_that_is_no_number_counts_as_0_and_nothing_tells_it(result):
    answer = known().dp(epsilon=SURE).release(on_rows(result), sensitivity=1)
    assert answer == pytest.approx(0, abs=0.01)
    assert answer.notes == known().dp(epsilon=SURE).release(on_rows(8), sensitivity=1).notes


@pytest.mark.parametrize("error", [ValueError, KeyError, ZeroDivisionError, SystemExit, MemoryError, RecursionError])
def test_a_function_that_raises_on_rows_counts_as_0_and_nothing_tells_it(error, recwarn):
    def raises(d):
        if "a" not in set(d["city"]):
            raise error("secret42")
        return [1, 2]

    df = known()
    before = df.dp.session.spent.epsilon
    answer = df.dp(epsilon=SURE).release(raises, sensitivity=1, names=NAMES)
    assert answer.tolist() == pytest.approx([0, 0], abs=0.01)
    assert df.dp.session.spent.epsilon == before + SURE
    assert not recwarn.list


@pytest.mark.parametrize(
    ("wild", "end"),
    [(1e308, 1), (-1e308, -1), (10**400, 1), (-(10**400), -1)],
    ids=["float", "below", "int", "int below"],
)
def test_results_beyond_the_lattice_count_as_its_ends(wild, end):
    answer = known().dp(epsilon=SURE).release(on_rows(wild), sensitivity=1)
    assert answer == pytest.approx(end * 2.0**41, rel=1e-6)


# ------------------------------------------------------------------------------------------------------ noise and price
def test_laplace_noise_of_the_sensitivity_and_its_interval():
    df = protected()
    answer = df.dp(epsilon=0.5).release(rows, sensitivity=3)
    step = Fraction(1, 2**19)
    law = DiscreteLaplace(Fraction(3) / step / Fraction(1, 2))  # sensitivity over epsilon, in steps: rounding is free
    assert answer.mechanism == "discrete Laplace"
    assert answer.interval(0.9).upper - answer == pytest.approx(float(law.half_width(0.9) * step), rel=1e-9)


@pytest.mark.parametrize("price", [{"rho": 0.125}, {"epsilon": 1, "delta": 1e-6}])
@pytest.mark.parametrize("norm", [1, 2])
def test_gaussian_noise_of_several(price, norm):
    df = protected(delta=1e-5)
    answer = df.dp(**price).release(lambda d: [1] * 4, sensitivity=3, names=list("abcd"), norm=norm)
    assert answer.mechanism == "discrete Gaussian"
    half = answer.interval(0.95).upper - answer.value
    assert half.nunique() <= 2  # last digits of floats
    sigma = 6.0 if "rho" in price else math.sqrt(float(gaussian(1, 1e-6).variance)) * 3
    assert half["a"] == pytest.approx(1.96 * sigma, rel=1e-3)


def gaussian(epsilon, delta):
    from pandas_dp.core.mechanisms.gaussian import analytic_variance

    return DiscreteGaussian(analytic_variance(Fraction(epsilon), Fraction(delta)))


@pytest.mark.parametrize(("norm", "times"), [(1, 1), (2, 2)])
def test_laplace_noise_of_several_fits_the_norm(norm, times):
    answer = protected().dp(epsilon=1).release(lambda d: [1] * 4, sensitivity=3, names=list("abcd"), norm=norm)
    half = (answer.interval(0.95).upper - answer.value)["a"]
    assert half == pytest.approx(3 * times * -math.log(0.05), rel=1e-5)


def test_it_costs_its_price_and_is_charged_each_time():
    df = protected(epsilon=3)
    for spent in (1, 2, 3):
        answer = df.dp(epsilon=1).release(rows, sensitivity=1)
        assert str(answer.spent) == "epsilon=1"
        assert df.dp.session.spent.epsilon == spent
    assert df.dp.session.releases["query"].tolist()[-1] == "release(function, sensitivity=1)"
    with pytest.raises(pandas_dp.BudgetExceededError):
        df.dp(epsilon=1).release(rows, sensitivity=1)


def test_the_smallest_price_for_an_error():
    df = known()
    answer = df.dp(within=5, confidence=0.95).release(rows, sensitivity=2)
    assert answer.interval(0.95).upper - answer == pytest.approx(5, rel=5e-3)
    assert answer.interval(0.95).upper - answer <= 5


def test_a_preview_says_the_error_and_reads_nothing(monkeypatch):
    df = protected()
    with watching(monkeypatch) as watch:
        ahead = df.dp.preview(epsilon=0.5).release(rows, sensitivity=3)
    answer = df.dp(epsilon=0.5).release(rows, sensitivity=3)
    assert watch.opened == 0
    assert ahead.half_width == pytest.approx(answer.interval(0.95).upper - answer)
    assert "assumes one row more or fewer changes" in str(ahead)


# ---------------------------------------------------------------------------------------------------------- what it assumes
WORDS = [
    ({}, {}, "one row more or fewer changes the result by at most 2"),
    ({"neighbors": "replace_one"}, {}, "one row more, fewer or changed changes the result by at most 2"),
    (
        {"unit": "pid", "max_rows": 3},
        {},
        "one 'pid' more or fewer changes the result by at most 2",
    ),
    (
        {"unit": "pid", "max_rows": 3, "neighbors": "replace_one"},
        {"names": NAMES, "norm": 2},
        "one 'pid' more, fewer or with other rows changes the result by at most 2 in L2 norm",
    ),
]


@pytest.mark.parametrize(("terms", "given", "words"), WORDS)
def test_what_is_assumed_stands_on_the_answer_its_text_and_the_certificate(tmp_path, terms, given, words):
    df = protected(**terms)
    answer = df.dp(epsilon=1).release(both if given else rows, sensitivity=2, **given)
    assert answer.assumes == words
    assert f"assumes {words}" in " ".join(str(answer).split()) or f"assumes {words}" in repr(answer)
    path = tmp_path / "certificate.html"
    df.dp.session.report(path)
    told = path.read_text().replace("&#x27;", "'").replace("&#39;", "'")
    assert words in told


def test_with_periods_the_word_is_about_a_pair_of_a_unit_and_a_period():
    """One unit more or fewer moves `single` by 1, and what one does on one of its two days by 2: the noise has to hide that."""
    df = pd.DataFrame({"at": pd.to_datetime(["2026-11-23", "2026-11-24"] * 50), "pid": np.arange(100) // 2})

    def single(d):
        days = d.groupby("pid")["at"].nunique()
        return int((days == 1).sum()) - int((days == 2).sum())

    df.dp.protect(epsilon=2, unit="pid", max_rows=2, period="D", time="at", name="a pair's word")
    asked = df.dp.period("2026-11-23", "2026-11-24")
    words = "one 'pid' in one day more or fewer changes the result by at most 2"
    assert asked.dp(epsilon=1).release(single, sensitivity=2).assumes == words
    assert words in " ".join(str(asked.dp.preview(epsilon=1).release(single, sensitivity=2)).split())


# ------------------------------------------------------------------------------------------------------------- refusals
SPELT = r"release\(rows, sensitivity=1\)"
REFUSED = {
    "sensitivity of 0": (lambda d: d.release(rows, sensitivity=0), ValueError, "sensitivity must be positive"),
    "below 0": (lambda d: d.release(rows, sensitivity=-1), ValueError, "sensitivity must be positive"),
    "nan": (lambda d: d.release(rows, sensitivity=np.nan), ValueError, "sensitivity must be finite"),
    "infinite": (lambda d: d.release(rows, sensitivity=np.inf), ValueError, "sensitivity must be finite"),
    "tiny": (lambda d: d.release(rows, sensitivity=1e-260), ValueError, "between 1e-250 and 1e250"),
    "huge": (lambda d: d.release(rows, sensitivity=1e260), ValueError, "between 1e-250 and 1e250"),
    "text": (lambda d: d.release(rows, sensitivity="1"), TypeError, "sensitivity must be a number"),
    "true": (lambda d: d.release(rows, sensitivity=True), TypeError, "sensitivity must be a number"),
    "missing": (lambda d: d.release(rows), TypeError, "needs sensitivity"),
    "from data": (lambda d: d.release(rows, sensitivity=people()["age"].max()), TypeError, "NumPy"),
    "no function": (lambda d: d.release(5, sensitivity=1), TypeError, "function must be callable"),
    "norm of 3": (
        lambda d: d.release(both, sensitivity=1, names=NAMES, norm=3),
        ValueError,
        r"root of the sum of their squares with norm=2$",
    ),
    "norm of true": (
        lambda d: d.release(both, sensitivity=1, names=NAMES, norm=True),
        ValueError,
        r"root of the sum of their squares with norm=2$",
    ),
    "norm of inf": (
        lambda d: d.release(both, sensitivity=1, names=NAMES, norm="inf"),
        ValueError,
        r"their squares with norm=2$",
    ),
    "norm of text": (
        lambda d: d.release(both, sensitivity=1, names=NAMES, norm="L1"),
        ValueError,
        r"names=NAMES, norm=1\)$",
    ),
    "norm of l2": (
        lambda d: d.release(both, sensitivity=1, names=NAMES, norm="l2"),
        ValueError,
        r"names=NAMES, norm=2\)$",
    ),
    "an L2 sensitivity": (  # with norm=1, as it was advised, there is too little noise for it
        lambda d: d.release(both, l2_sensitivity=1, names=NAMES),
        TypeError,
        r"sensitivity=1, names=NAMES, norm=2\)$",
    ),
    "names of text": (lambda d: d.release(both, sensitivity=1, names="ab"), TypeError, "names must be a public list"),
    "names of data": (lambda d: d.release(both, sensitivity=1, names=people()["sex"]), TypeError, "public list"),
    "no names": (lambda d: d.release(both, sensitivity=1, names=[]), ValueError, "1 to 1,000 different"),
    "names twice": (lambda d: d.release(both, sensitivity=1, names=["a", "a"]), ValueError, "1 to 1,000 different"),
    "numbers as names": (lambda d: d.release(both, sensitivity=1, names=[1, 2]), TypeError, "public list of text"),
    "a list": (lambda d: d.release(both, sensitivity=1), TypeError, "a list, which is not a number"),
    "a Series": (lambda d: d.release(lambda t: t["age"], sensitivity=1), TypeError, "a Series, which is not a number"),
    "a number": (lambda d: d.release(rows, sensitivity=1, names=NAMES), TypeError, "not several numbers"),
    "too few": (lambda d: d.release(both, sensitivity=1, names=list("abc")), TypeError, "than there are names"),
    "other names": (lambda d: d.release(lambda t: {"a": 1}, sensitivity=1, names=["b"]), TypeError, "without all the"),
    "no such column": (lambda d: d.release(lambda t: t["ag"].max(), sensitivity=1), TypeError, "KeyError 'ag'"),
    "a question inside": (lambda d: d.release(lambda t: d.count(), sensitivity=1), TypeError, "a question"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(monkeypatch, name):
    ask, error, text = REFUSED[name]
    df = protected()
    with refused(monkeypatch, df, error, text):
        ask(df.dp(epsilon=1))


def test_a_function_that_uses_the_protected_table_itself_is_refused(monkeypatch):
    df = protected()
    with refused(monkeypatch, df, TypeError, "the protected table or column 'df'"):
        df.dp(epsilon=1).release(lambda d: float(df["age"].max()), sensitivity=1)


def test_a_function_that_gives_nothing_on_made_up_rows_is_answered_with_a_caution():
    answer = known().dp(epsilon=SURE).release(lambda d: 1 / 0, sensitivity=1)
    assert answer == pytest.approx(0, abs=0.01)
    assert any("without a result it counts as 0" in note for note in answer.notes)


def test_it_is_drawn_once_and_not_refined():
    df = protected(name=fresh())
    answer = df.dp(epsilon=1).release(rows, sensitivity=1)
    with pytest.raises(pandas_dp.PandasDPError):
        df.dp(epsilon=2).refine(answer)
