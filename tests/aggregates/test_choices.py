"""What a choice says about its own error, from public facts, and that it is true."""

from __future__ import annotations

import math
import pickle
import time
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from support.frames import fresh

import pandas_dp
from pandas_dp import ArgumentValueError
from pandas_dp.aggregates.base import Terms
from pandas_dp.aggregates.choices import TopK
from pandas_dp.aggregates.quantiles import Mode
from pandas_dp.aggregates.uncertainty import ScoreGap
from pandas_dp.core.mechanisms.selection import ExponentialMechanism, PermuteAndFlip
from pandas_dp.core.partition import Keys
from pandas_dp.core.privacy import NeighboringRelation, Price, PrivacyUnit
from pandas_dp.core.statistics.scores import Revenue
from pandas_dp.engines.pandas import PandasView
from pandas_dp.facts.labels import Labels
from pandas_dp.facts.numbers import Accuracy
from tests.core.mechanisms.test_choices_exact import law_of
from tests.core.samplers.laws import exact_exp, exponential_mechanism_law, permute_and_flip_law

COLOURS = ("black", "brown", "blond", "red")
REPLACE = PrivacyUnit(relation=NeighboringRelation.REPLACE_ONE)
TENTH = Price(Fraction(1, 10))


def rate_of(unit: PrivacyUnit, pure: bool = False) -> Fraction:
    """Rate of the mode of four colours at epsilon 0.1."""
    look = Mode(Keys("hair", COLOURS)).look(Terms(unit, TENTH, pure))
    assert isinstance(look.mechanism, PermuteAndFlip if pure else ExponentialMechanism)
    return look.mechanism.rate


def test_hair_colour():
    """500 of one colour, 400 of the next, epsilon 0.1: the bound is 4 exp(-5) = 0.027, the truth less."""
    rate = rate_of(REPLACE)
    assert rate == Fraction(1, 20)
    assert 4 * math.exp(-100 * rate) == pytest.approx(0.02695, abs=5e-6)
    for rivals, failure in (((400, 0, 0), 0.0067), ((400, 400, 400), 0.0198)):
        law = exponential_mechanism_law((500, *rivals), rate)
        assert 1 - law[0] == pytest.approx(failure, abs=5e-5)
        assert 1 - permute_and_flip_law((500, *rivals), rate)[0] <= 1 - law[0]
    rate = rate_of(PrivacyUnit())
    assert rate == Fraction(1, 10)  # all counts move one way
    assert 1 - exponential_mechanism_law((500, 400, 0, 0), rate)[0] == pytest.approx(4.5e-5, abs=5e-7)


def test_four_nationalities_within_8_77_over_epsilon():
    """With probability 1 - exp(-3) the count is at least OPT - 2 (ln 4 + 3) / epsilon: 8.77 / epsilon, not 6.8."""
    aggregate = Mode(Keys("hair", COLOURS))
    look = aggregate.look(Terms(REPLACE, TENTH))
    gap = aggregate.answer([0], look, Terms(REPLACE, TENTH)).error.at(1 - math.exp(-3))
    assert gap.score * 0.1 == pytest.approx(8.7726, abs=1e-3)


def worst_gap(scores: tuple[int, ...], picks: tuple[int, ...]) -> int:
    """Most that a pick's score lies below the true one of its rank."""
    ranked = sorted(scores, reverse=True)
    return max(ranked[i] - scores[pick] for i, pick in enumerate(picks))


@pytest.mark.parametrize("pure", [True, False])
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("scores", [(5, 5, 5, 5), (30, 10, 10, 10), (20, 15, 10, 0), (9, 8, 7, 6)])
def test_the_bound_on_the_gap_holds_exactly(pure, k, scores):
    keys = Keys("hair", COLOURS)
    aggregate = TopK(keys, Labels("hair", COLOURS), k)
    terms = Terms(PrivacyUnit(), Price(Fraction(1)), pure)
    look = aggregate.look(terms)
    family = PermuteAndFlip if pure else ExponentialMechanism
    law = law_of(family, scores, k, None, exact_exp(-look.mechanism.rate))
    error = aggregate.answer(list(range(k)), look, terms).error
    for level in (0.2, 0.5, 0.9, 0.99):
        bound = error.at(level).score
        assert sum(p for picks, p in law.items() if worst_gap(scores, picks) > bound) <= 1 - level + 1e-12


@pytest.mark.parametrize("family", [PermuteAndFlip, ExponentialMechanism])
@pytest.mark.parametrize("scores", [(5, 5, 5, 5), (30, 10, 10, 10), (20, 18, 18, 18), (9, 8, 7, 6)])
def test_on_average_a_choice_is_within_the_logarithm_of_the_best(family, scores):
    for rate in (Fraction(1, 20), Fraction(1, 3), Fraction(2)):
        law = law_of(family, scores, 1, None, exact_exp(-rate))
        gap = float(sum(p * (max(scores) - scores[i]) for (i,), p in law.items()))
        assert gap <= math.log(4) / rate


@pytest.mark.parametrize(("k", "epsilon"), [(1, 1.0), (1, 0.2), (3, 1.0), (2, 4.0)])
@pytest.mark.parametrize("bids", [np.arange(1, 2001) / 20, np.full(700, 37.5), np.geomspace(0.5, 400, 3000)], ids=len)
def test_what_the_best_price_earns_on_average(k, epsilon, bids):
    """McSherry and Talwar's bound on a grid of P / 2**10, P = 100, for units of k bids; it says something in each case."""
    asked = Revenue("bid", range(1, 1025), Fraction(100, 1024))
    unit = PrivacyUnit("u", k, k, k) if k > 1 else PrivacyUnit()
    frame = pd.DataFrame({"bid": bids, "u": np.arange(len(bids))})
    revenue = asked.compute(PandasView(frame, {}), unit).held() * float(asked.step)
    best = int(revenue.argmax())
    sold = revenue[best] / (float(asked.step) * (best + 1))
    weights = np.exp((revenue - revenue[best]) * epsilon / (k * 100))
    average = float((weights * revenue).sum() / weights.sum())
    bound = revenue[best] - 3 * k * 100 / epsilon * math.log(math.e + (epsilon / k) ** 2 * revenue[best] * sold / 100)
    assert 0 < bound <= average
    assert average >= revenue[best] - k * 100 / epsilon * math.log(1024)


FRAME = pd.DataFrame({"uid": np.arange(60) // 3, "state": list("aabbbc") * 10, "bid": np.arange(60) / 4})
QUESTIONS = {
    "mode": (lambda d: d.mode("state", keys=list("abcd")), 20),
    "top_k": (lambda d: d.top_k("state", 2, keys=list("abcd")), 30),
    "best_price": (lambda d: d.best_price("bid", prices=[1, 2.5, 10]), 200),
    "best_price, fine": (lambda d: d.best_price("bid", bounds=(0, 10), supply=2), 500),
    "select": (lambda d: d.select([1, 5, 9], score="bid.clip(0, 2) * candidate", cap=18), 300),
    "weights": (lambda d: d.select([1, 5], score="bid >= candidate", weights=[0.25, 0.75]), 40),
}


@pytest.fixture(params=["rows", "units", "replace_one", "delta"])
def frame(request):
    made = FRAME.copy()
    more = {
        "rows": {},
        "units": {"unit": "uid", "max_rows": 2},
        "replace_one": {"neighbors": "replace_one", "unit": "uid", "max_rows": 2},
        "delta": {"delta": 1e-6},
    }[request.param]
    made.dp.protect(epsilon=1000, name=fresh("choices"), **more)
    return made


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_price_is_the_least_that_is_accurate_enough(frame, name):
    ask, within = QUESTIONS[name]
    bought = ask(frame.dp(within=within, confidence=0.9))
    assert bought.interval(0.9).score <= within
    assert ask(frame.dp(epsilon=bought.epsilon * 0.99)).interval(0.9).score > within


def test_a_score_of_the_whole_table_has_a_price_too(frame):
    ask = lambda: frame.dp(within=25).select([1, 2], score=lambda d, c: (d["bid"] > c).sum(), sensitivity=1)  # noqa: E731
    unit = frame.dp.session.unit
    if unit.column is not None and not unit.add_remove:
        with pytest.raises(ArgumentValueError, match="score per row"):
            ask()
        return
    bought = ask()
    assert bought.interval().score <= 25
    assert bought.assumes == "one row more or fewer changes each score by at most 1"
    assert "assumes one row more or fewer changes each score by at most 1" in repr(bought)
    assert '"assumes": "one row' in bought.to_json()


WORDS = {
    "mode": "its count is within 5 of the largest (95 %)",  # ln(4 * 20) = 4.39
    "top_k": "its count is within 11 of the true one of its rank (95 %)",  # 2 ln(4 * 2 * 20)
    "best_price": "its revenue is within 41.0 of the largest (95 %)",  # 10 ln(3 * 20)
    "best_price, fine": "its revenue is within 141 of the largest (95 %)",  # 10 ln(2^16 * 20) = 140.9
    "select": "its score is within 73.7 of the largest (95 %)",  # 18 ln(3 * 20)
    "weights": "its score is within 4.39 of the largest (95 %)",  # ln(4 * 20)
}


@pytest.mark.parametrize("name", WORDS)
def test_words(name):
    made = FRAME.copy()
    made.dp.protect(epsilon=1000, name=fresh("words"))
    answer = QUESTIONS[name][0](made.dp(epsilon=1))
    assert str(answer.interval()) == WORDS[name]
    assert pickle.loads(pickle.dumps(answer)).interval() == answer.interval()
    average = {"best_price": "11.0", "best_price, fine": "111"}.get(name)  # 10 ln(3) = 10.99, 10 ln(2^16) = 110.9
    assert answer.notes == (() if average is None else (f"on average its revenue is within {average} of the largest",))


@pytest.mark.parametrize(
    ("score", "text"),
    [
        (0.0123401, "0.0124"),
        (4.1, "4.1"),
        (4.0941, "4.10"),
        (99.91, "100"),
        (1234.1, "1,235"),
        (1.2e-30, "1.2E-30"),
        (1.2301e30, "1.24E+30"),
    ],
)
def test_bounds_are_written_rounded_up(score, text):
    assert ScoreGap(score, 0.95, "revenue").words == f"its revenue is within {text} of the largest"


def test_top_k_is_a_series_by_rank():
    made = FRAME.copy()
    made.dp.protect(epsilon=10**6, name=fresh())
    answer = made.dp(epsilon=10**5).top_k("state", 2, keys=list("abcd"))
    expected = pd.Series(["b", "a"], index=pd.RangeIndex(1, 3, name="rank"), name="state")
    pd.testing.assert_series_equal(answer.value, expected)
    assert answer.mechanism == "permute-and-flip"
    assert sorted(made.dp(epsilon=1).top_k("state", 4, keys=list("abcd"))) == list("abcd")


def test_one_question_in_two_spellings_is_one_answer():
    made = FRAME.copy()
    session = made.dp.protect(epsilon=1, name=fresh())
    for score in ("bid >= candidate", "candidate <= bid", lambda d, c: d.bid >= c, lambda d, x: x <= d["bid"]):
        made.dp(epsilon=1).select([1, 2], score=score)
    made.dp(epsilon=1).select((1, 2), score="bid >= candidate")
    assert session.spent == "epsilon=1"


def test_candidates_of_every_kind_come_back_as_they_are():
    made = FRAME.assign(day=pd.date_range("2024-01-01", periods=60))
    made.dp.protect(epsilon=10**6, name=fresh())
    dp = made.dp(epsilon=10**4)
    assert dp.select(["a", "b"], score="state == candidate") == "b"
    assert dp.select(["a", "b"], score="state in ['c', candidate]") == "b"
    assert dp.select([(0, 5), (3, 15)], score=lambda d, c: d.bid.between(*c)).value == (3, 15)
    days = [pd.Timestamp("2024-01-05"), pd.Timestamp("2024-02-20")]
    assert dp.select(days, score="day <= candidate") == days[1]
    assert dp.assign(bid=pd.col("bid") * 2).query("state == 'a'").select([1, 99], score="bid <= candidate") == 99


def test_weights_decide_where_scores_do_not():
    """At epsilon 1e-9 the first of a hundred draws comes 97 times in expectation; fewer than 75 with probability < 1e-12."""
    made = FRAME.copy()
    made.dp.protect(epsilon=10, name=fresh())
    dp = made.dp(epsilon=1e-9, fresh=True)
    drawn = [dp.select([1, 2], score="bid >= candidate", weights=[0.97, 0.03]).value for _ in range(100)]
    assert drawn.count(1) >= 75


def test_the_best_price_of_the_slides():
    made = pd.DataFrame({"bid": [100, 100, 100, 401]})
    made.dp.protect(epsilon=10**6, name=fresh())
    dp = made.dp(epsilon=10**5)
    assert dp.best_price("bid", prices=[99, 101, 401, 402]) == 401
    assert dp.best_price("bid", prices=[99, 100, 101]) == 100
    answer = dp.best_price("bid", bounds=(0, 402))
    assert answer <= 401 < answer + 40 * 402 / 2**16  # farther with probability below exp(-50)


@pytest.mark.parametrize(
    ("lowest", "highest", "ratio"), [(1, 1000, 1.05), (0.01, 3.33, 1.2), (7, 8, 3), (1000, 1e5, 1.001)]
)
def test_geometric_prices_lose_at_most_the_ratio(lowest, highest, ratio):
    grid = [Fraction(price) for price in pandas_dp.geometric_prices(lowest, highest, ratio)]
    ratio = Fraction(str(ratio))
    assert (grid[0], grid[-1]) == (Fraction(str(lowest)), Fraction(str(highest)))
    assert all(a < b <= a * ratio for a, b in pairwise(grid))
    assert len(grid) <= 1.2 * math.log(grid[-1] / grid[0]) / math.log(ratio) + 2


def test_within_of_a_duration_is_refused():
    wanted = Accuracy(Fraction(10**9), 0.95, duration=True)
    with pytest.raises(TypeError, match="within=5"):
        Mode(Keys("hair", COLOURS)).epsilon_for(wanted, Terms(PrivacyUnit(), Price()))


@pytest.mark.slow
def test_a_best_price_costs_at_most_two_sorts():
    """10,000 prices, a million bids: the least CPU time of nine calls in turns, from the call to the answer (1.3 sorts).

    Stable ones: on some processors numpy sorts otherwise with vector instructions, ten times faster.
    """
    bids = np.random.default_rng(1).lognormal(3, 1, 10**6).round(2)
    prices = [round(0.1 * i, 1) for i in range(1, 10_001)]
    frame = pd.DataFrame({"bid": bids})
    frame.dp.protect(epsilon=10**6, name=fresh())

    def seconds(call):
        start = time.process_time()
        call()
        return time.process_time() - start

    runs = [
        (
            seconds(lambda: frame.dp(epsilon=1, fresh=True).best_price("bid", prices=prices)),
            seconds(lambda: np.sort(bids, kind="stable")),
        )
        for _ in range(9)
    ]
    ours, sort = (min(times) for times in zip(*runs, strict=True))
    assert ours <= 2 * sort
