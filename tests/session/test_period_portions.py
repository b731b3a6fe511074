"""Parts of a budget for each period: set aside in periods that are named, of which each pays, and nowhere else to be spent."""

from __future__ import annotations

from fractions import Fraction as F

import pandas as pd
import pytest

import pandas_dp
from pandas_dp.core.ledger import open_ledger
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.errors import ArgumentValueError, BudgetExceededError

MON, TUE, WED, THU = (f"2026-11-{day}" for day in (23, 24, 25, 26))


def table(*more):
    """Four nights of five patients, a row each."""
    rows = [(day, who) for day in (MON, TUE, WED, THU) for who in range(5)] + list(more)
    return pd.DataFrame({"at": pd.to_datetime([day for day, _ in rows]), "who": [who for _, who in rows]})


def protect(frame, name, **terms):
    return frame.dp.protect(
        **{"epsilon": 1, "unit": "who", "max_rows": 2, "period": "D", "time": "at", "name": name} | terms
    )


def test_each_named_day_pays_and_each_has_the_amount():
    frame = table()
    session = protect(frame, "set aside")
    team = frame.dp.period(MON, TUE).dp.allot("team", epsilon=0.25)
    assert [str(session.left.period(day)) for day in (MON, TUE, WED)] == ["epsilon=0.75", "epsilon=0.75", "epsilon=1"]
    assert session.spent.epsilon == F("0.5")
    team.dp(epsilon=0.125).count()
    team.dp.period(TUE).dp(epsilon=0.125).count()
    left = team.dp.session.left
    assert (left.period(MON), left.period(TUE)) == ("epsilon=0.125", "epsilon=0")
    assert left.period(THU) == "epsilon=0.25, if the part includes this day"
    assert left.startswith("epsilon=0.25 in each day set aside and not asked yet")
    with pytest.raises(BudgetExceededError, match="2026-11-24 cannot pay this"):
        team.dp(epsilon=0.125, fresh=True).count()
    assert session.releases["query"].iloc[-1] == f"period('{MON}', '{TUE}').allot('team', epsilon=0.25)"


def test_a_part_answers_nothing_of_other_days():
    frame = table()
    protect(frame, "other days")
    team = frame.dp.period(MON, TUE).dp.allot("team", epsilon=0.25)
    for steps in (lambda: team.dp.period(WED), lambda: team.dp.period(WED, THU)):
        with pytest.raises(ArgumentValueError, match="no day is left"):
            steps().dp(epsilon=0.1).count()
    team.dp.period(TUE, THU).dp(epsilon=0.25).count()  # of which Tuesday alone is the team's
    assert str(team.dp.session.left.period(TUE)) == "epsilon=0"


def test_days_are_named_or_it_is_refused_and_one_that_cannot_pay_refuses_all():
    frame = table()
    session = protect(frame, "refused")
    with pytest.raises(ArgumentValueError, match=r"per day: say which days count: df\.dp\.period\('2026-11-28'\)"):
        frame.dp.allot("team", epsilon=0.25)
    frame.dp.period(TUE).dp(epsilon=1).count()
    with pytest.raises(BudgetExceededError, match="2026-11-24 cannot pay this"):
        frame.dp.period(MON, WED).dp.allot("team", epsilon=0.25)
    assert str(session.left.period(MON)) == "epsilon=1"


def test_the_same_days_again_are_free_and_other_days_pay_for_the_same_part(tmp_path):
    frame = table()
    for _ in range(2):
        session = protect(frame, "nightly", ledger=tmp_path / "books", table="visits")
        for day in (MON, TUE):
            team = frame.dp.period(day).dp.allot("team", epsilon=0.25)
            team.dp(epsilon=0.25).count()
        assert [str(session.left.period(day)) for day in (MON, TUE, WED)] == [
            "epsilon=0.75", "epsilon=0.75", "epsilon=1",
        ]  # fmt: skip
        assert team.dp.session.spent.epsilon == F("0.5")
        session.close()
    books = open_ledger(tmp_path / "books")
    books.verify()
    books.close()


def test_a_part_counts_in_the_lifetime_when_it_is_set_aside():
    frame = table()
    session = protect(frame, "lifetime", lifetime=1)
    frame.dp.period(MON, WED).dp.allot("team", epsilon=0.25)
    assert session.spent.epsilon == F("0.75")
    with pytest.raises(BudgetExceededError, match="not enough lifetime"):
        frame.dp.period(THU).dp.allot("others", epsilon=0.5)


def test_whole_and_part_together_reach_the_total_of_a_day_and_of_three(monkeypatch):
    """The law of all draws: of one pair of a unit and a day, and of a unit in three days."""
    drawn, draw = [], DiscreteLaplace.draw

    def noting(self, exact, *rest):
        drawn.append((list(exact.open()), self.scale))
        return draw(self, exact, *rest)

    monkeypatch.setattr(DiscreteLaplace, "draw", noting)

    def laws(frame, name):
        drawn.clear()
        protect(frame, name)
        team = frame.dp.period(MON, WED).dp.allot("team", epsilon=0.25)
        team.dp(epsilon=0.125).count()
        for day in (MON, TUE, WED):
            team.dp.period(day).dp(epsilon=0.125).count()
            frame.dp.period(day).dp(epsilon=0.75).count()
        return list(drawn)

    without = laws(table(), "without")
    for days, total in (((MON,), 1), ((MON, TUE, WED), 3)):
        together = zip(without, laws(table(*((day, 9) for day in days for _ in range(4))), str(total)), strict=True)
        assert sum(sum(map(abs, map(int.__sub__, one, two))) / F(scale) for (one, scale), (two, _) in together) == total


def test_parts_of_files_and_of_dask_are_read_for_their_days_alone(tmp_path, monkeypatch):
    dataframe = pytest.importorskip("dask.dataframe")
    pytest.importorskip("pandas_dp.dask")
    table().to_parquet(tmp_path / "visits.parquet")
    drawn, draw = [], DiscreteLaplace.draw

    def noting(self, exact, *rest):
        drawn.append(list(exact.open()))
        return draw(self, exact, *rest)

    monkeypatch.setattr(DiscreteLaplace, "draw", noting)
    lazy = dataframe.from_pandas(table(), npartitions=2)
    for name, frame in (("scan", pandas_dp.scan_parquet(tmp_path / "visits.parquet")), ("dask", lazy)):
        protect(frame, name)
        team = frame.dp.period(MON, TUE).dp.allot("team", epsilon=0.5)
        drawn.clear()
        team.dp(epsilon=0.25).count()
        team.dp.period(TUE, THU).dp(epsilon=0.25).count()
        assert drawn == [[10], [5]]
        with pytest.raises(ArgumentValueError, match="no day is left"):
            team.dp.period(WED).dp(epsilon=0.1).count()
