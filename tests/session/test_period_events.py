"""More events in the life of a table that grows: what each costs, by the law of all draws."""

from __future__ import annotations

from fractions import Fraction as F

import pandas as pd
import pytest

from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.errors import LedgerError

MON, TUE, WED = "2026-11-23", "2026-11-24", "2026-11-25"


def table(*more, zone=None):
    rows = [(day, who) for day in (MON, TUE, WED) for who in range(5)] + list(more)
    times = pd.to_datetime([f"{day} 10:00" for day, _ in rows])
    return pd.DataFrame({"at": times if zone is None else times.tz_localize(zone), "who": [who for _, who in rows]})


def protect(frame, name, **terms):
    usual = {"epsilon": 1, "unit": "who", "max_rows": 2, "period": "D", "time": "at", "name": name}
    return frame.dp.protect(**(usual | terms))


@pytest.fixture
def drawn(monkeypatch):
    """Exact numbers and scales of all draws so far: their law."""
    seen = []
    draw = DiscreteLaplace.draw

    def noting(self, exact, *rest):
        seen.append((list(exact.open()), self.scale))
        return draw(self, exact, *rest)

    monkeypatch.setattr(DiscreteLaplace, "draw", noting)
    return seen


def loss(first, second, ask, drawn, name, **terms):
    """The most that answers about versions can speak for one of two histories of a table, in exact terms of their noise."""
    laws = []
    for side, history in enumerate((first, second)):
        drawn.clear()
        for version, frame in enumerate(history):
            protect(frame, f"{name} {side}", table="visits", version=str(version), **terms)
            ask(frame)
        laws.append(list(drawn))
    together = zip(*laws, strict=True)
    return sum(
        (sum(map(abs, map(int.__sub__, one, two))) / F(scale) for (one, scale), (two, _) in together), start=F(0)
    )


def half(frame):
    frame.dp.period(MON).dp(epsilon=0.5).count()


def test_a_correction_within_its_night_costs_no_more_than_the_night(drawn):
    """The pair has other rows in the second version, and none of them in the neighbour."""
    history = [table((MON, 9)), table((MON, 9), (MON, 9))]
    assert loss(history, [table(), table()], half, drawn, "corrected") <= 1
    assert loss([table(*[(MON, 9)] * 2)] * 2, [table()] * 2, half, drawn, "both full") == 1


def test_a_corrected_unit_is_another_pair_of_the_same_night(drawn):
    """A row that belonged to unit 8 and then to 9: both pay, so what it tells is up to two totals of one night."""

    def patients(frame):
        frame.dp.period(MON).dp(epsilon=1).groupby("who", keys=[8, 9]).size()

    def before():
        return table(*[(MON, 8)] * 2)

    assert loss([before()], [table()], patients, drawn, "one unit") == 1
    assert loss([before()], [table(*[(MON, 9)] * 2)], patients, drawn, "another unit") == 2


def test_a_night_that_is_loaded_twice(drawn):
    """With a unit its bound holds; where every row is a unit each of them counts as two."""
    once, twice = [table((MON, 9), (MON, 9))], [pd.concat([table((MON, 9), (MON, 9))] * 2, ignore_index=True)]
    without = [pd.concat([table()] * 2, ignore_index=True)]

    def night(frame):
        frame.dp.period(MON).dp(epsilon=1).count()

    assert loss(once, [table()], night, drawn, "once") == 1
    assert loss(twice, without, night, drawn, "twice") == 1
    rows = {"unit": None, "max_rows": None}
    assert loss([table((MON, 9))], [table()], night, drawn, "a row", **rows) == 1
    assert loss([table((MON, 9), (MON, 9))], [table()], night, drawn, "the row twice", **rows) == 2


def test_a_question_about_a_night_that_still_fills_says_so():
    frame = table()
    protect(frame, "fills")
    notes = frame.dp.period(MON).dp(epsilon=0.5).count().notes
    assert any("late rows share the budget of their day" in note for note in notes)


def test_another_time_or_zone_after_the_first_question_is_refused(tmp_path):
    frame = table(zone="UTC").assign(seen=lambda d: d["at"])
    session = protect(frame, "fixed", ledger=tmp_path / "books", zone="Europe/Berlin")
    half(frame)
    for other in ({"time": "seen"}, {"zone": "Europe/Paris"}, {"zone": None}):
        with pytest.raises(LedgerError, match=r"time=|zone="):
            protect(frame, "fixed", ledger=tmp_path / "books", **({"zone": "Europe/Berlin"} | other))
    session.close()


def test_rows_of_a_unit_are_counted_night_by_night():
    """One row in each of three nights: never two rows of one unit, as the bound is for each night."""
    frame = table()
    protect(frame, "rows of a unit", epsilon=10**5)
    told = frame.dp.period(MON, WED).dp(epsilon=10**4).rows_per_unit()
    assert told.round().tolist()[:3] == [15, 0, 0]


def test_another_object_opens_parts_of_its_own_and_pays_for_them():
    """Under the table's name alone a second object may hold other rows: a row could be in two parts."""
    first, second = table(), table((MON, 9))
    session = protect(first, "parted", unit=None, max_rows=None, table="visits")
    for frame in (first, first, second):
        protect(frame, "parted", unit=None, max_rows=None, table="visits")
        frame.dp.period(MON).dp.partition("who", [1, 2], epsilon=0.25)
    assert str(session.left.period(MON)) == "epsilon=0.5"


def test_an_answer_about_several_days_says_that_each_of_them_paid():
    frame = table()
    protect(frame, "several days")
    assert "epsilon 0.25 for one 'who' in each of 3 days" in repr(frame.dp.period(MON, WED).dp(epsilon=0.25).count())
    assert "epsilon 0.25 for one 'who' in one day" in repr(frame.dp.period(MON).dp(epsilon=0.25).count())
