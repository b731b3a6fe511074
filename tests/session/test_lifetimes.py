"""A cap on what one unit spends in all periods together, through the public API: kept, shown first, and never raised."""

from __future__ import annotations

import html
import json
import math
import re
from fractions import Fraction as F

import pandas as pd
import pytest

import pandas_dp
from pandas_dp.core.ledger import open_ledger
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.privacy import PrivacyLoss
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, BudgetExceededError
from pandas_dp.session import ledger_files

MON, TUE, WED, THU = (f"2026-11-{day}" for day in (23, 24, 25, 26))


def table(*more):
    rows = [(day, who) for day in (MON, TUE, WED, THU) for who in range(5)] + list(more)
    return pd.DataFrame({"at": pd.to_datetime([day for day, _ in rows]), "who": [who for _, who in rows]})


def protect(frame, name, **terms):
    usual = {
        "epsilon": 1,
        "unit": "who",
        "max_rows": 2,
        "period": "D",
        "time": "at",
        "lifetime": F("2.5"),
        "name": name,
    }
    return frame.dp.protect(**(usual | terms))


def count(frame, *days, price=1):
    return frame.dp.period(*days).dp(epsilon=price).count()


def test_all_texts_say_first_what_a_unit_has_spent_of_its_lifetime():
    frame = table()
    session = protect(frame, "told")
    assert session.left == "epsilon=1 in each day; epsilon=2.5 of the lifetime of a 'who'"
    count(frame, MON)
    count(frame, TUE, THU, price=F("0.25"))
    assert session.spent == (
        "epsilon=1.75 of a lifetime of 2.5 for a 'who' present in every day asked (4); epsilon=1 in the day that spent most"
    )
    assert (session.spent.epsilon, session.spent.period.epsilon) == (F("1.75"), 1)
    left = session.left
    assert (left.epsilon, left.period("2026-12-01").epsilon, left.period(MON).epsilon) == (0, F("0.75"), 0)
    assert left.period("2026-12-01") == "epsilon=0.75 (what the lifetime leaves)"
    assert left.endswith("; epsilon=0.75 of the lifetime of a 'who'")
    assert "more for one in several days (lifetime: epsilon=2.5)" in left.guarantee
    assert session.group(periods=2) == "one 'who' in 2 days: epsilon=2"
    assert session.group(periods=365) == "one 'who' in 365 days: epsilon=2.5"
    page = " ".join(html.unescape(re.sub("<[^>]+>", " ", session.report())).split())
    assert (
        "cost one 'who' in all days together at most epsilon 2.5, its lifetime. epsilon=1.75 of a lifetime of 2.5"
        in page
    )
    assert "no guarantee" not in page
    assert "365: epsilon=2.5" in page
    assert "lifetime=2.5" in session._terms()


@pytest.mark.parametrize(
    ("first", "price", "fits"),
    [
        ("0.9", "0.2", "epsilon=0.05 would fit"),  # the day has 0.1 left, the lifetime 0.2 for four days
        ("0.98", "0.2", "epsilon=0.02 would fit and spend all that is left"),
    ],
)
def test_what_would_fit_fits_the_lifetime_too(first, price, fits):
    frame = table()
    protect(frame, f"both_{first}", lifetime=F("1.1"))
    count(frame, MON, price=F(first))
    days = frame.dp.period(MON, THU)
    with pytest.raises(BudgetExceededError, match=re.escape(f"; {fits} (")) as told:
        days.dp(epsilon=F(price)).count()
    assert days.dp.preview(epsilon=F(price)).count().refusal == str(told.value)
    days.dp(epsilon=F(told.value.fits.split()[0].removeprefix("epsilon="))).count()


def test_a_day_that_is_used_up_is_told_that_there_is_no_gaussian_noise():
    """Nor that a delta would buy it."""
    frame = table().assign(what="x")
    protect(frame, "plain")
    count(frame, MON)
    questions = (
        ({"rho": 0.01}, lambda d: d.count()),
        ({"epsilon": 0.1, "delta": 1e-9}, lambda d: d.value_counts("what")),
    )
    for terms, ask in questions:
        with pytest.raises(ArgumentValueError, match="a budget with a lifetime counts plain epsilons only") as told:
            ask(frame.dp.period(MON).dp(**terms))
        assert ask(frame.dp.period(MON).dp.preview(**terms)).refusal == str(told.value)


def test_a_day_that_is_used_up_is_told_what_of_the_lifetime_is_used_up():
    frame = table()
    protect(frame, "up", lifetime=1)
    count(frame, MON)
    with pytest.raises(BudgetExceededError, match="the lifetime is used up"):
        count(frame, MON, price=F("0.1"))


def test_the_statement_has_the_cap(tmp_path):
    frame = table()
    session = protect(frame, "stated")
    count(frame, MON)
    session.report(tmp_path / "s.json")
    (said,) = json.loads((tmp_path / "s.json").read_text())["budgets"]
    assert said["total"]["person"] == {"epsilon": "1", "delta": "0"}
    assert said["total"]["lifetime"] == "5/2"


def test_a_unit_in_all_nights_reaches_its_lifetime_and_no_more(monkeypatch):
    """The law of all draws, of tables with and without a unit that is in every night; refusals are the same in both."""
    drawn, draw = [], DiscreteLaplace.draw

    def noting(self, exact, *rest):
        drawn.append((list(exact.open()), self.scale))
        return draw(self, exact, *rest)

    monkeypatch.setattr(DiscreteLaplace, "draw", noting)

    def told(frame, name):
        drawn.clear()
        protect(frame, name)
        ended = []
        for days, price in (
            ((MON, WED), "0.25"),
            ((THU,), "1"),
            ((MON,), "0.5"),
            ((TUE, WED), "0.25"),
            ((WED,), "0.25"),
        ):
            try:
                count(frame, *days, price=F(price))
            except BudgetExceededError as error:
                ended.append(str(error))
        return list(drawn), ended

    without, refused = told(table(), "without")
    everywhere = table(*((day, 9) for day in (MON, TUE, WED, THU) for _ in range(4)))
    inside, again = told(everywhere, "everywhere")
    assert refused == again
    assert len(refused) == 1
    together = zip(without, inside, strict=True)
    assert sum(abs(one[0] - two[0]) / F(scale) for (one, scale), (two, _) in together) == F("2.5")


@pytest.mark.parametrize(
    ("terms", "error", "told"),
    [
        ({"period": None, "time": None}, ArgumentTypeError, "lifetime= caps what one unit spends in all periods"),
        ({"unit": None, "max_rows": None}, ArgumentTypeError, "it needs both"),
        ({"delta": 1e-6}, ArgumentValueError, "leave delta= and rho= out"),
        ({"epsilon": None, "rho": 0.1}, ArgumentValueError, "leave delta= and rho= out"),
        (
            {"lifetime": F("0.5")},
            ArgumentValueError,
            "less than the total of one period: type a smaller epsilon=, or lifetime=1",
        ),
        ({"lifetime": "30"}, ArgumentTypeError, "lifetime"),
        ({"lifetime": 0}, ArgumentValueError, "lifetime"),
        ({"lifetime": math.inf}, ArgumentValueError, "lifetime"),
    ],
)
def test_what_has_no_lifetime_is_refused_with_the_line_to_type(terms, error, told):
    with pytest.raises(error, match=told):
        protect(table(), "refused", **terms)


def test_a_plan_has_a_lifetime_too():
    frame = table()
    session = protect(frame, "planned", delta=1e-6, plan={0.25: 3})
    for day in (MON, TUE, WED):
        for _ in range(3):
            frame.dp.period(day).dp(epsilon=0.25, fresh=True).count()
    assert (session.spent.epsilon, session.spent.delta) == (F("2.25"), 0)
    count(frame, THU, price=0.25)
    with pytest.raises(BudgetExceededError, match="the lifetime is used up"):
        frame.dp.period(THU).dp(epsilon=0.25, fresh=True).count()


def test_a_lifetime_is_not_raised_and_gets_no_delta():
    frame = table()
    session = protect(frame, "fixed")
    count(frame, MON)
    with pytest.raises(ArgumentValueError, match="gets no delta"):
        session.extend(to_delta=1e-6, reason="found keys")
    with pytest.raises(ArgumentValueError, match=r"cannot have more than the lifetime, 2\.5"):
        session.extend(to=3, reason="more")
    session.extend(to=2, reason="more for each day")
    frame.dp.period(MON).dp(epsilon=1, fresh=True).count()
    assert session.left.endswith("; epsilon=0.5 of the lifetime of a 'who'")


def test_a_plan_of_questions_is_paid_from_the_lifetime_as_a_whole():
    frame = table()
    session = protect(frame, "all or none")
    days = frame.dp.period(MON, WED)
    count(frame, THU)
    plan = pandas_dp.plan([pandas_dp.query(within=13).count(), pandas_dp.query(within=13).count("who")], frame=days)
    with pytest.raises(BudgetExceededError, match="not enough lifetime"):
        plan(days)
    assert session.spent.epsilon == 1


def test_an_older_copy_put_back_ends_a_lifetime_and_every_text_says_so(tmp_path):
    frame = table()
    session = protect(frame, "copy", ledger=tmp_path / "books")
    count(frame, MON)
    session.close()
    books = open_ledger(tmp_path / "books")
    ledger_files.backup(books, str(tmp_path / "copy.dpledger"))
    books.close()
    copy = open_ledger(tmp_path / "copy.dpledger")
    ledger_files.restore(copy, PrivacyLoss.pure(F("0.25")), "epsilon=0.25")
    again = protect(frame, "copy", ledger=tmp_path / "copy.dpledger")
    with pytest.raises(BudgetExceededError, match="used up, as an older copy of the ledger was put back"):
        count(frame, TUE, price=F("0.1"))
    assert again.spent.startswith("no bound for a 'who' present in every day asked (1)")
    assert again.left.epsilon == 0
    assert again.group(periods=7).endswith("no bound, as answers that name none count in each")
    page = again.report()
    assert "so the cap for a lifetime, epsilon 2.5, no longer holds" in page
    for promise in (again.spent, again.spent.period, again.left, again.left.period(MON), again.left.period(TUE)):
        assert re.match(r"all answers together: epsilon=1(\.25)?, for one unit of 'who' more or", promise.guarantee)
        assert "lifetime" not in promise.guarantee
    again.report(tmp_path / "s.json")
    (said,) = json.loads((tmp_path / "s.json").read_text())["budgets"]
    assert "lifetime" not in said["total"]
    assert "lifetime" not in said["promise"] + said["spent"]["words"] + said["accounting"]["why"]
    assert "(lifetime" not in page
    assert "second total" not in page
    again.close()


def test_a_delta_that_comes_after_answers_about_days():
    frame = table()
    session = protect(frame, "later delta", lifetime=None)
    count(frame, MON, price=0.5)
    count(frame, MON, TUE, price=0.25)
    session.extend(to_delta=1e-6, reason="Gaussian noise")
    answer = frame.dp.period(WED).dp(rho=0.001).count()
    assert "for one 'who' in one day" in repr(answer)
    assert session.left.period(MON).epsilon <= F("0.25")
    assert session.left.period(THU).epsilon == 1
    with pytest.raises(BudgetExceededError, match="2026-11-23 cannot pay"):
        frame.dp.period(MON).dp(epsilon=0.5, fresh=True).count()
