"""What a budget for each period says of itself: first what it comes to for somebody who is in all of them."""

from __future__ import annotations

import json
import math
from fractions import Fraction as F

import pandas as pd
import pytest

from pandas_dp.books import odometer, period_words
from pandas_dp.books.amounts import Most, group_delta
from pandas_dp.core.budget import Budget, State
from pandas_dp.core.filters import filter_for
from pandas_dp.core.privacy import PrivacyLoss, PrivacyUnit
from pandas_dp.errors import ArgumentValueError

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
    assert period_words.promise(HYBRID, UNIT, 1, state) == "epsilon=1, delta=1e-6"
    assert period_words.promise(HYBRID, UNIT, 7, state) == (
        "epsilon=7, delta=7e-6 as long as every question names one day"
    )
    _, wide = asked(HYBRID, "0.5", widest=2)
    assert period_words.promise(HYBRID, UNIT, 7, wide).startswith("epsilon=7, delta=0.0006")
    rule, pure = asked(PURE, "1")
    assert period_words.promise(PURE, UNIT, 7, pure) == "epsilon=7"
    put_on_record = Most.of(rule, State.zero().plus(rule.charge(PrivacyLoss.pure(F(1)))), pure.periods, 1)
    assert period_words.promise(PURE, UNIT, 7, put_on_record) == "no bound, as answers that name none count in each"


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
    assert str(answer.unit) == "all rows of one 'who' in one day (at most 2 count)"
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
