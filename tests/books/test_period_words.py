"""What a budget for each period says of itself: first what it comes to for somebody who is in all of them."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from fractions import Fraction as F
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from pandas_dp.books import odometer, period_words
from pandas_dp.books.amounts import Most, group_delta, rho_of_groups
from pandas_dp.core.budget import Budget, State
from pandas_dp.core.filters import filter_for
from pandas_dp.core.privacy import PrivacyLoss, PrivacyUnit
from pandas_dp.errors import ArgumentValueError
from pandas_dp.session.opening import total_of_rho

DAYS = '["D","t","naive",null,[]]'
UNIT, ROW = PrivacyUnit("who", 2, 2, 2, periods=DAYS), PrivacyUnit(periods=DAYS)
PURE, HYBRID = Budget.of(1), Budget.of(1, F("1e-6"))


def asked(budget, *prices, widest=1):
    rule = filter_for(budget)
    states = {day: State.zero().plus(rule.charge(PrivacyLoss.pure(F(price)))) for day, price in enumerate(prices)}
    return rule, Most.of(rule, State.zero(), states, widest)


def test_of_pure_noise_the_nights_add_up():
    told = odometer.spent(*asked(PURE, "1", "0.25", "0.5"), UNIT)
    assert told == "epsilon=1.75 for a 'who' present in every day asked (3); epsilon=1 in the day that spent most"
    assert (told.epsilon, told.delta, told.period.epsilon) == (F("1.75"), 0, 1)


def test_412_days():
    told = odometer.spent(*asked(PURE, *["1"] * 412), UNIT)
    assert told.epsilon == 412
    assert told.startswith("epsilon=412 for a 'who' present in every day asked (412)")


def test_with_a_delta_and_questions_about_one_day_each_both_numbers_add_up():
    rule, state = asked(HYBRID, "0.5", "0.5")
    told = odometer.spent(rule, state, UNIT)
    one = odometer.spent(rule, state.plain, UNIT)
    assert told.epsilon == 2 * one.epsilon
    assert told.delta == 2 * one.delta


@pytest.mark.parametrize(("many", "bounded"), [(7, True), (12, True), (14, False), (400, False)])
def test_with_a_delta_and_questions_over_several_days_delta_grows(many, bounded):
    """At (1, 1e-6): 6.4e-4 in 7 days, 0.70 in 14."""
    told = odometer.spent(*asked(HYBRID, *["1"] * many, widest=2), UNIT)
    if bounded:
        assert told.epsilon == many
        assert told.delta >= group_delta(F(1), F("1e-6"), many)
        assert f"epsilon={many}, delta=" in told
    else:
        assert math.isinf(told.epsilon)
        assert told.startswith(
            f"no bound for a 'who' present in every day asked ({many}): nothing is promised in more than 12"
        )


def test_rows_without_a_unit_are_in_one_day_alone():
    told = odometer.spent(*asked(PURE, "1", "0.25"), ROW)
    assert told == "epsilon=1 in the day that spent most, for one row (2 asked)"
    assert told.epsilon == 1


def test_charges_that_name_no_day_leave_no_bound_for_a_person():
    rule, state = asked(PURE, "0.5")
    told = odometer.spent(
        rule, Most.of(rule, State.zero().plus(rule.charge(PrivacyLoss.pure(F("0.1")))), state.periods, 1), UNIT
    )
    assert math.isinf(told.epsilon)
    assert "as answers that name none count in each" in told


def test_the_promise_for_several_days_says_what_ends_it():
    """A later question over two days ends (k epsilon, k delta); a charge that names no day ends any promise to a person."""
    rule, state = asked(HYBRID, "0.5")
    assert period_words.promise(filter_for(HYBRID), UNIT, 1, state) == "epsilon=1, delta=1e-6"
    assert period_words.promise(filter_for(HYBRID), UNIT, 7, state) == (
        "epsilon=7, delta=7e-6 as long as every question names one day"
    )
    _, wide = asked(HYBRID, "0.5", widest=2)
    assert period_words.promise(filter_for(HYBRID), UNIT, 7, wide).startswith("epsilon=7, delta=0.0006")
    rule, pure = asked(PURE, "1")
    assert period_words.promise(filter_for(PURE), UNIT, 7, pure) == "epsilon=7"
    put_on_record = Most.of(rule, State.zero().plus(rule.charge(PrivacyLoss.pure(F(1)))), pure.periods, 1)
    assert (
        period_words.promise(filter_for(PURE), UNIT, 7, put_on_record)
        == "no bound, as answers that name none count in each"
    )


def test_what_is_left_is_told_day_by_day():
    left = odometer.left(*asked(PURE, "0.75"), UNIT, None)
    assert left == "epsilon=1 in each day not asked yet, epsilon=0.25 in the one that spent most (0001-01-01)"
    assert left.epsilon == F("0.25")
    assert (left.period("0001-01-01"), left.period("2026-11-28")) == ("epsilon=0.25", "epsilon=1")


def nights(name, many=3, **terms):
    days = [f"2026-11-{23 + night}" for night in range(many)]
    frame = pd.DataFrame({"at": pd.to_datetime(days * 4), "who": sorted(range(4)) * many})
    usual = {"epsilon": 1, "unit": "who", "max_rows": 2, "period": "D", "time": "at", "name": name}
    session = frame.dp.protect(**(usual | terms))
    for day in days:
        frame.dp.period(day).dp(epsilon=1).count()
    return frame, session


def test_session_certificate_statement_and_answers_say_it():
    frame, session = nights("all say it")
    for text in (str(session), session._repr_html_(), session.report()):
        assert "epsilon=3 for a" in text
        assert "present in every day asked (3)" in text
    page = session.report()
    assert page.index("This is no guarantee for a") < page.index(">Who is protected<")
    assert page.index("So far: epsilon=3 for a") < page.index("All answers together: epsilon=1")
    assert "every day asked so far, the factor of the answers so far is at most 20.1 (epsilon 3)." in page
    assert "epsilon=1, to 2026-11-23<" in page
    assert "asked again of another" not in page
    assert "365: epsilon=365" in page
    assert session.group(periods=7) == "one 'who' in 7 days: epsilon=7"
    assert session.group(3) == "any 3 units of 'who' in one day together: epsilon=3"
    answer = frame.dp.period("2026-11-23").dp(epsilon=1).count()
    assert "epsilon 1 for one 'who' in one day" in repr(answer)
    assert str(answer.unit) == "all rows of one 'who' in one day (uses at most 2 of them)"
    assert (
        "all answers together: epsilon=1, for one unit of 'who' more or less in one day, more for one in several"
        in (session.left.guarantee)
    )


def test_the_certificate_tells_a_second_answer_to_the_same_question():
    frame, session = nights("twice", many=2, epsilon=2)
    frame.dp.period("2026-11-23").dp(epsilon=1, fresh=True).count()
    assert session.report().count("entry 2 asked the same; this one has another price, table") == 1


def test_the_statement_keeps_the_total_of_a_day_apart(tmp_path):
    _, session = nights("stated")
    session.report(tmp_path / "s.json")
    (said,) = json.loads((tmp_path / "s.json").read_text())["budgets"]
    assert said["total"]["per_period"] == {"epsilon": "1", "delta": "0"}
    assert said["total"]["person"] == {"epsilon": "3", "delta": "0"}
    assert (said["total"]["periods_asked"], "epsilon" in said["total"]) == (3, False)
    paid = said["questions"][0]["charge"]
    assert (paid["epsilon"], paid["from"], paid["to"]) == ("1", "2026-11-23", "2026-11-23")


def test_groups_of_periods_are_refused_where_there_are_none():
    frame = pd.DataFrame({"who": [1]})
    session = frame.dp.protect(epsilon=1, name="no periods")
    with pytest.raises(ArgumentValueError, match="needs a budget for each period"):
        session.group(periods=7)


def test_the_line_that_goes_on_has_the_periods():
    frame, session = nights("goes on", many=1)
    with pytest.raises(Exception, match="period='D', time='at'"):
        frame.copy(deep=False).dp(epsilon=1).count()
    session.close()


def test_days_that_spent_most_in_different_currencies_are_no_day_that_spent_both():
    """One day has spent the whole epsilon, another a little of Gaussian noise: neither is above its total."""
    frame, session = nights("two currencies", many=1, delta=1e-6)
    frame.dp.period("2026-11-24").dp(rho=0.001).count()
    assert "above the total" not in session.spent
    assert "no finite epsilon" not in session.spent
    assert math.isfinite(session.spent.epsilon)
    assert session.left.epsilon == 0
    assert "Nothing is promised" not in session.report()
    ahead = frame.dp.period("2026-11-24").dp.preview(epsilon=0.25).count()
    assert ahead.refusal is None
    frame.dp.period("2026-11-24").dp(epsilon=0.25).count()
    frame.dp.period("2026-11-25").dp(epsilon=1).count()


def spent_rho(*prices, widest=1, total=F(8, 100)):
    """A month each, in Gaussian noise, of a budget of rho."""
    rule = filter_for(total_of_rho(total, 0, None, "auto"))
    states = {
        month: State.zero().plus(rule.charge(PrivacyLoss.gaussian(F(price)))) for month, price in enumerate(prices)
    }
    return rule, Most.of(rule, State.zero(), states, widest)


def exact_delta(epsilon, rho):
    """Of one Gaussian mechanism, of continuous noise: that of mu = sqrt(2 rho) (Balle, Wang 2018)."""
    mu, e = math.sqrt(2 * rho), float(epsilon)
    return norm.cdf(mu / 2 - e / mu) - math.exp(e + norm.logcdf(-mu / 2 - e / mu))


@pytest.mark.parametrize("many", [1, 2, 6, 12, 400])
def test_rhos_of_months_add_up_for_somebody_who_is_in_all_of_them(many):
    """Of twelve months nothing was promised, and six were told as 5.96 at 5.4e-10."""
    rule, state = spent_rho(*["0.08"] * many)
    told = odometer.spent(rule, state, UNIT)
    assert float(told.rho) == pytest.approx(0.08 * many)
    delta = exact_delta(told.epsilon, 0.08 * many)  # each answer moves by its whole sensitivity
    assert float(told.delta) / 300 < delta <= float(told.delta)
    if many > 1:
        assert told.delta == F("1e-10")
        promised = period_words.promise(rule, UNIT, many, state)
        assert promised.endswith(", delta=1e-10 as long as every question names one day and no question spends delta")
        epsilon = float(promised.removeprefix("epsilon=").partition(",")[0])
        assert float(told.epsilon) <= epsilon <= 1.01 * float(told.epsilon)


def test_questions_about_several_months_move_by_more():
    rule, state = spent_rho(*["0.02"] * 6, widest=3)
    told = odometer.spent(rule, state, UNIT)
    assert float(told.rho) == pytest.approx(3 * 6 * 0.02)
    # two questions about three months each, which move by three times as much
    assert exact_delta(told.epsilon, 2 * 3**2 * 0.02) <= float(told.delta)
    assert exact_delta(0.9 * float(told.epsilon), 2 * 3**2 * 0.02) > 1e-13
    assert "at most 3 days and no question spends delta" in period_words.promise(rule, UNIT, 6, state)
    assert period_words.promise(rule, UNIT, 3, state).endswith("delta=1e-10 as long as no question spends delta")


def test_where_a_delta_was_spent_no_rule_for_rhos_holds():
    rule, state = spent_rho(*["0.01"] * 12)
    states = {**state.periods, 3: dataclasses.replace(state.periods[3], delta=F("1e-12"))}
    known = period_words.in_rho(rule, state, F(1, 10), None)
    assert known is not None
    assert period_words.in_rho(rule, state, F(1, 10), (F(1), F(0))) == (1, 0)
    assert period_words.in_rho(rule, state, F(1, 10), (F(10), F(0))) == known
    assert period_words.in_rho(rule, Most.of(rule, State.zero(), states, 1), F(1, 10), None) is None
    hybrid = filter_for(HYBRID)
    assert period_words.in_rho(hybrid, Most.of(hybrid, State.zero(), {}, 1), F(1, 10), None) is None


def test_what_goes_on_interactively_costs_a_chain_no_more_than_the_square_of_its_length():
    """Randomized response of k e, against k^2 times the rho that e is charged: divergences of exact laws."""
    for e, k, a in product([0.01, 0.3, 1, 4], [2, 3, 10], [1.01, 2, 7, 50]):
        p = np.array([k * e, 0.0]) - np.logaddexp(k * e, 0)  # logarithms of both chances
        divergence = np.logaddexp(*(a * p + (1 - a) * p[::-1])) / (a - 1)
        assert divergence <= a * k**2 * float(PrivacyLoss.pure(F(str(e))).rho)


@pytest.mark.parametrize("size", [2, 5, 30])
@pytest.mark.parametrize("rho", ["0.01", "0.5", "3"])
def test_a_group_of_k_is_told_k_squared_rhos(rho, size):
    """Of rho=3 and four rows it was said that delta would be 1."""
    rule = filter_for(total_of_rho(F(rho), 0, None, "auto"))
    told = odometer.group_text(rule.budget, PrivacyUnit(), size, rho_of_groups(rule, State.zero()))
    found = re.fullmatch(
        r"any \d+ rows together: epsilon=(\S+), delta=1e-10 \(rho about (\S+)\), as long as no question spends delta",
        told,
    )
    epsilon, whole = float(found[1]), size**2 * float(F(rho))
    assert float(found[2]) == pytest.approx(whole, rel=1e-3)
    assert 1e-10 / 1000 < exact_delta(epsilon, whole) <= 1e-10
    spent = dataclasses.replace(State.zero(), delta=F("1e-12"))
    assert rho_of_groups(rule, spent) is None
    over = dataclasses.replace(State.zero(), renyi=rule.limit + 1)
    assert rho_of_groups(rule, over) is None
