"""A budget for each period through the public API: late rows, corrections, re-runs, versions, back-fill, and what they cost."""

from __future__ import annotations

import os
from datetime import datetime
from fractions import Fraction as F

import pandas as pd
import pytest
from support import interpreter

import pandas_dp
from pandas_dp.core import records
from pandas_dp.core.ledger import Ledger, open_ledger
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.privacy import PrivacyLoss
from pandas_dp.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    BudgetExceededError,
    LedgerError,
    NoSessionError,
    QueryFailedError,
)
from pandas_dp.session import ledger_files
from pandas_dp.tables.protected import Table

MON, TUE, WED = "2026-11-23", "2026-11-24", "2026-11-25"


def visits(*rows: tuple[str, object, float]) -> pd.DataFrame:
    """Rows of (time, patient, cost)."""
    times, who, cost = zip(*rows, strict=True)
    return pd.DataFrame({"at": pd.to_datetime(list(times)), "who": list(who), "cost": list(cost)})


def table(nights: int = 3) -> pd.DataFrame:
    return visits(*((f"2026-11-{23 + night} 10:00", who, 10.0 * who) for night in range(nights) for who in range(5)))


def protect(frame, name, **terms):
    usual = {"epsilon": 1, "unit": "who", "max_rows": 2, "period": "D", "time": "at", "name": name}
    return frame.dp.protect(**(usual | terms))


def count(frame, *days, price=0.5, **options):
    return frame.dp.period(*days).dp(epsilon=price, **options).count()


@pytest.fixture
def ledger(tmp_path):
    return tmp_path / "visits.dpledger"


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


def test_five_nights_at_the_whole_total():
    frame = table(5)
    session = protect(frame, "five nights")
    for night in range(5):
        count(frame, f"2026-11-{23 + night}", price=1)
    assert session.spent.epsilon == 5
    assert session.spent.period.epsilon == 1
    with pytest.raises(BudgetExceededError, match="2026-11-23 cannot pay this; other days have budgets of their own"):
        count(frame, MON, price=1, fresh=True)


def test_a_question_over_some_days_is_charged_to_each():
    frame = table()
    session = protect(frame, "some days")
    count(frame, MON, WED, price=0.25)
    count(frame, TUE, price=0.75)
    assert [str(session.left.period(day)) for day in (MON, TUE, WED, "2026-11-26")] == [
        "epsilon=0.75", "epsilon=0", "epsilon=0.75", "epsilon=1",
    ]  # fmt: skip
    assert session.spent.epsilon == F("1.5")


def test_a_refusal_over_some_days_changes_none():
    frame = table()
    session = protect(frame, "a refusal")
    count(frame, TUE, price=0.75)
    before = str(session.spent), len(session.releases)
    with pytest.raises(BudgetExceededError) as refused:
        count(frame, MON, WED)
    assert refused.value.where.startswith("2026-11-24 cannot")
    assert (str(session.spent), len(session.releases)) == before


def test_every_question_says_which_periods_count():
    frame = table()
    session = protect(frame, "which periods")
    for ask in (
        lambda: frame.dp(epsilon=0.5).count(),
        lambda: frame.dp(epsilon=0.5).groupby("who", keys=[1, 2]).size(),
        lambda: frame.dp(epsilon=0.5).above_threshold(3),
        lambda: frame.dp.preview(epsilon=0.5).count(),
        lambda: frame.dp(epsilon=0.5).oracle("pmw", domain={"cost": [0, 30, 60]}),
    ):
        with pytest.raises(
            ArgumentValueError, match=r"per day: say which days count: (df|frame)\.dp\.period\('2026-11-28'\)"
        ):
            ask()
    with pytest.raises(ArgumentValueError, match="no day is left"):
        count(frame.dp.period(MON), TUE)
    with pytest.raises(ArgumentValueError, match="comes after"):
        frame.dp.period(WED, MON)
    with pytest.raises(ArgumentValueError):
        frame.dp.period("1990-01-01", "2026-11-23")
    assert session.spent.epsilon == 0


def test_steps_of_steps_pay_where_they_meet():
    frame = table()
    session = protect(frame, "steps of steps")
    count(frame.dp.period(MON, TUE).dp.query("cost > 5"), TUE, WED)
    assert [str(session.left.period(day)) for day in (MON, TUE, WED)] == ["epsilon=1", "epsilon=0.5", "epsilon=1"]


@pytest.mark.parametrize(
    "step",
    [
        lambda dp: dp.assign(at=pd.Timestamp("2026-11-23")),
        lambda dp: dp.drop(columns=["at"]),
        lambda dp: dp.rename(columns={"at": "then"}),
        lambda dp: dp.fillna({"at": pd.Timestamp("2026-11-23")}),
    ],
)
def test_steps_leave_the_time_alone(step):
    frame = table()
    protect(frame, "time alone")
    with pytest.raises(ArgumentValueError, match="steps must leave 'at' as it is"):
        step(frame.dp)


def test_what_needs_the_whole_table_is_refused():
    frame = table()
    with pytest.raises(
        ArgumentValueError, match="under replace_one the number of rows of every period would be public"
    ):
        protect(frame, "replaced", neighbors="replace_one", unit=None, max_rows=None)
    with pytest.raises(ArgumentTypeError, match="type max_rows=10"):
        protect(frame, "private bound", max_rows="private")
    with pytest.raises(ArgumentTypeError, match="need a period"):
        protect(frame, "time alone", period=None)


def test_tables_of_one_budget_have_its_time():
    frame = table()
    session = protect(frame, "two tables")
    with pytest.raises(ArgumentValueError, match="a table without a column 'at' has no day"):
        pd.DataFrame({"who": [1]}).dp.protect(session=session)
    with pytest.raises(ArgumentTypeError, match="has a time zone"):
        frame.assign(at=frame["at"].dt.tz_localize("UTC")).dp.protect(session=session)


# The table of events: what happens to the rows of a night that was asked


def test_late_rows_are_paid_from_what_their_night_has_left():
    early = table()
    session = protect(early, "late rows", table="visits")
    count(early, MON, price=0.75)
    late = pd.concat([table(), visits(("2026-11-23 23:59", 9, 1.0))], ignore_index=True)
    protect(late, "late rows", table="visits")
    count(late, MON, price=0.25, fresh=True)
    with pytest.raises(BudgetExceededError):
        count(late, MON, price=0.1)
    count(late, TUE, price=1)
    assert session.spent.period.epsilon == 1


def test_a_rerun_of_a_night_is_free_and_says_when_it_was_drawn(drawn, ledger):
    first = table()
    session = protect(first, "nights", table="visits", ledger=ledger)
    answer = count(first, MON)
    session.close()
    grown = pd.concat([table(), visits(("2026-11-23 23:59", 9, 1.0))], ignore_index=True)
    again = protect(grown, "nights", table="visits", ledger=ledger)
    stored = count(grown, MON)
    assert stored == answer
    assert any(
        note.startswith("as of 20") and note.endswith("a new answer needs another version, or fresh=True in Python")
        for note in stored.notes
    )
    assert len(drawn) == 1
    assert again.spent.epsilon == F("0.5")
    count(grown, MON, fresh=True)
    assert drawn[1][0] == [drawn[0][0][0] + 1]  # of the rows there are by now
    again.close()


def test_an_answer_is_as_of_its_draw_where_a_job_paid_before_and_was_killed(monkeypatch, ledger):
    frame = table()
    session = protect(frame, "nights", table="visits", ledger=ledger)
    session._goes_on = True

    class Before(datetime):
        @classmethod
        def now(cls, tz=None):
            return cls(2026, 11, 20, 3, tzinfo=tz)

    with monkeypatch.context() as then:
        then.setattr(records, "datetime", Before)
        then.setattr(Ledger, "begin", lambda *_: 1 / 0)
        with pytest.raises(QueryFailedError):
            count(frame, MON)
    drawn = count(frame, MON)
    assert session.spent.period.epsilon == F("0.5")  # which was paid on the 20th
    for answer in (drawn, count(frame, MON)):
        (note,) = [note for note in answer.notes if note.startswith("as of ")]
        assert not note.startswith("as of 2026-11-20"), note
    session.close()


def test_new_questions_are_about_the_rows_read_last(drawn):
    early, grown = table(), pd.concat([table(), visits(("2026-11-24 23:59", 9, 1.0))], ignore_index=True)
    protect(early, "read last", table="visits")
    count(early, MON)
    protect(grown, "read last", table="visits")
    count(grown, TUE)
    assert [exact for exact, _ in drawn] == [[5], [6]]


def test_a_stored_answer_is_not_reconciled_with_one_about_rows_that_came_later(ledger):
    """Each of the two is about its own rows, and of neither would the interval be right."""
    keys, parts = {"who": [0, 1], "cost": [0.0]}, {"other": True, "null": True}
    early, grown = table(), pd.concat([table(), visits(("2026-11-23 23:59", 9, 1.0))], ignore_index=True)

    said = {"epsilon": 5, "unit": None, "max_rows": None, "table": "visits", "ledger": ledger}

    def by_patient(frame):
        return frame.dp.period(MON).dp(epsilon=1).value_counts("who", keys=keys["who"], **parts)

    def crossed(frame):
        return frame.dp.period(MON).dp(epsilon=1).crosstab("who", "cost", keys=keys, **parts)

    session = protect(early, "stored", **said)
    by_patient(early)
    protect(grown, "stored", **said)
    stored, other = by_patient(grown), crossed(grown)
    with pytest.raises(ArgumentTypeError, match="not about the same rows"):
        pandas_dp.reconcile([stored, other])
    session.close()
    restarted = table()
    session = protect(restarted, "stored", **said)
    with pytest.raises(
        ArgumentTypeError, match="not about the same rows"
    ):  # nobody knows which rows they were drawn from
        pandas_dp.reconcile([by_patient(restarted), crossed(restarted)])
    session.close()


def test_a_version_of_a_corrected_night_is_paid_from_that_night(drawn):
    frame, corrected = table(), table().iloc[1:].reset_index(drop=True)
    session = protect(frame, "versions", table="visits", version="1")
    count(frame, MON)
    protect(corrected, "versions", table="visits", version="2")
    count(corrected, MON)
    assert [exact for exact, _ in drawn] == [[5], [4]]
    assert str(session.left.period(MON)) == "epsilon=0"


def test_rows_without_a_time_are_in_no_night(drawn):
    frame = pd.concat([table(), pd.DataFrame({"at": pd.to_datetime([None]), "who": [9], "cost": [1.0]})])
    protect(frame, "no time")
    answer = count(frame, MON, WED)
    assert drawn[0][0] == [15]
    assert any("rows without 'at' are in no day" in note for note in answer.notes)


def test_bounds_are_for_each_pair(drawn):
    """Three rows a night of one patient, of which two count: four in two nights."""
    frame = visits(*((f"2026-11-{day} 10:0{minute}", 1, 1.0) for day in (23, 24) for minute in range(3)))
    protect(frame, "pairs")
    count(frame, MON, TUE, price=0.25)
    frame.dp.period(MON, TUE).dp(epsilon=0.25).nunique("who")
    frame.dp.period(MON, TUE).dp(epsilon=0.25).sum("cost", bounds=(0, 1))
    assert [exact for exact, _ in drawn[:2]] == [[4], [1]]


def test_back_fill_is_paid_from_the_days_it_is_about(ledger):
    frame = table()
    session = protect(frame, "back-fill", ledger=ledger)
    count(frame, WED, price=1)
    old = visits(("2020-01-01 10:00", 1, 1.0))
    protect(old, "back-fill", ledger=ledger)
    count(old, "2020-01-01", price=1)
    assert session.spent.epsilon == 2
    session.close()


def test_other_periods_after_the_first_question_are_refused(ledger):
    frame = table()
    session = protect(frame, "fixed", ledger=ledger)
    count(frame, MON)
    for other in ({"period": "W"}, {"period": None, "time": None}):
        with pytest.raises(LedgerError, match="period="):
            protect(frame, "fixed", ledger=ledger, **other)
    session.close()


def test_a_table_with_versions_that_is_over_budget_is_told_of_periods():
    frame = table()
    frame.dp.protect(epsilon=1, name="versions alone", table="visits", version="1")
    with pytest.raises(BudgetExceededError, match=r"a budget for each: df\.dp\.protect\(epsilon=1, period='D'"):
        frame.dp(epsilon=2).count()


def test_extend_raises_every_period():
    frame = table()
    session = protect(frame, "extended")
    count(frame, MON, price=1)
    session.extend(to=1.5, reason="a correction")
    count(frame, MON, price=0.5, fresh=True)
    assert str(session.left.period(TUE)) == "epsilon=1.5"


def test_answers_before_the_budget_count_in_every_night():
    """What an implicit session answered names no night."""
    code = (
        "import warnings; warnings.simplefilter('ignore')\n"
        "import pandas as pd, pandas_dp\n"
        "df = pd.DataFrame({'at': pd.to_datetime(['2026-11-23', '2026-11-24'])})\n"
        "df.dp(epsilon=0.25).count()\n"
        "session = df.dp.protect(epsilon=1, period='D', time='at', name='after')\n"
        "print(session.left.period('2026-11-23'), session.left.period('2030-01-01'))\n"
    )
    told = interpreter.run(code)
    assert told.stdout.split() == ["epsilon=0.75", "epsilon=0.75"], told.stderr


# What the answers come to, by the law of their draws


def loss(frames, asked, name, drawn, **terms):
    """The most that all answers together can speak for one of two tables, in exact terms of their noise."""
    laws = []
    for side, frame in enumerate(frames):
        drawn.clear()
        protect(frame, f"{name} {side}", **terms)
        for ask in asked:
            ask(frame)
        laws.append(list(drawn))
    together = zip(*laws, strict=True)
    return sum((sum(map(abs, map(int.__sub__, one, two))) / scale for (one, scale), (two, _) in together), start=F(0))


ASKED = [
    lambda frame: count(frame, MON, price=0.25),
    lambda frame: count(frame, MON, WED, price=0.25),
    lambda frame: frame.dp.period(MON, TUE).dp(epsilon=0.5).histogram("cost", bins=[0, 20, 100]),
    lambda frame: count(frame, TUE, price=0.25),
    lambda frame: count(frame, WED, price=0.75),
]


def test_one_pair_of_a_unit_and_a_night_reaches_the_total_of_a_night(drawn):
    one = visits(*((f"{MON} 10:0{minute}", 7, 5.0) for minute in range(4)))
    both = [pd.concat([table(), *more], ignore_index=True) for more in ([], [one])]
    assert loss(both, ASKED, "one pair", drawn) == 1


def test_one_unit_in_three_nights_reaches_three_totals(drawn):
    three = visits(*((f"{day} 10:0{minute}", 7, 5.0) for day in (MON, TUE, WED) for minute in range(4)))
    both = [pd.concat([table(), *more], ignore_index=True) for more in ([], [three])]
    assert loss(both, ASKED, "three nights", drawn) == 3


def test_a_row_that_moves_to_another_night_reaches_two_totals(drawn):
    """A corrected time: the row is in one night before, and in another afterwards."""
    moved = [visits(*((f"{day} 10:0{minute}", 7, 5.0) for minute in range(2))) for day in (MON, WED)]
    both = [pd.concat([table(), more], ignore_index=True) for more in moved]
    asked = [lambda frame, day=day: count(frame, day, price=1) for day in (MON, WED)]
    assert loss(both, asked, "moved", drawn) == 2


def test_a_charge_to_one_of_two_nights_is_found(drawn, monkeypatch):
    """The planted fault: a question over some nights is charged to the last of them."""
    span = Table.span
    monkeypatch.setattr(Table, "span", lambda self, steps: (span(self, steps)[1],) * 2)
    one = visits(*((f"{MON} 10:0{minute}", 7, 5.0) for minute in range(4)))
    both = [pd.concat([table(), *more], ignore_index=True) for more in ([], [one])]
    asked = [*ASKED[:2], *ASKED[3:], lambda frame: count(frame, MON, price=0.75), lambda frame: count(frame, MON, TUE)]
    assert loss(both, asked, "one of two", drawn) > 1


def test_rows_of_other_nights_change_nothing(drawn):
    """Neither the law of a night's answers nor what is charged."""
    several = [table(), table(1), pd.concat([table(1), visits((f"{TUE} 10:00", 0, 99.0))], ignore_index=True)]
    found = []
    for side, frame in enumerate(several):
        drawn.clear()
        session = protect(frame, f"other nights {side}")
        count(frame, MON)
        frame.dp.period(MON).dp(epsilon=0.5).sum("cost", bounds=(0, 50))
        found.append((list(drawn), str(session.spent), len(session.releases)))
    assert found[0] == found[1] == found[2]


# Parts, streams, plans, files


def test_a_partition_is_charged_to_its_periods_once():
    frame = table()
    session = protect(frame, "parted", unit=None, max_rows=None)
    parts = frame.dp.period(MON, TUE).dp.partition("who", [1, 2], epsilon=0.5)
    parts[1].dp(epsilon=0.5).count()
    parts[2].dp(epsilon=0.25).count()
    frame.dp.period(MON, TUE).dp.partition("who", [1, 2], epsilon=0.5)
    assert [str(session.left.period(day)) for day in (MON, TUE, WED)] == ["epsilon=0.5", "epsilon=0.5", "epsilon=1"]
    with pytest.raises(BudgetExceededError):
        parts[1].dp(epsilon=0.25).count()
    with pytest.raises(ArgumentValueError, match="say which days count"):
        frame.dp.partition("who", [1, 2], epsilon=0.25)


def test_a_stream_is_charged_to_its_periods_when_it_is_opened():
    frame = table()
    session = protect(frame, "stream")
    stream = frame.dp.period(MON, TUE).dp(epsilon=1).above_threshold(3)
    stream.ask("cost > 5")
    assert [str(session.left.period(day)) for day in (MON, TUE, WED)] == ["epsilon=0", "epsilon=0", "epsilon=1"]


def test_a_plan_holds_for_each_period():
    frame = table()
    protect(frame, "planned", delta=1e-6, plan={0.25: 3})
    for day in (MON, TUE):
        for _ in range(3):
            count(frame, day, price=0.25, fresh=True)
    with pytest.raises(BudgetExceededError):
        count(frame, MON, TUE, price=0.9)


def test_a_refinement_pays_the_difference_in_each_period():
    frame = table()
    session = protect(frame, "refined", unit=None, max_rows=None)
    count(frame, MON, TUE, price=0.25)
    asked = frame.dp.period(MON, TUE)
    answer = asked.dp(epsilon=0.25, fresh=True).count()
    asked.dp(epsilon=0.25).refine(answer)
    assert str(session.left.period(MON)) == str(session.left.period(TUE)) == "epsilon=0.25"


def grown(name, **terms):
    """A session, a night of a table that grew from 100 rows to 500, and how many it has of each cost: asked before it did."""
    frames = [visits(*((f"{MON} 10:00", who, 0.0) for who in range(many))) for many in (100, 500)]
    session = protect(frames[0], name, epsilon=500, table="visits", **terms)

    def costs(frame, **options):
        return frame.dp.period(MON).dp(epsilon=50, **options).value_counts("cost", keys=[0.0, 1.0])

    costs(frames[0])
    frames[1].dp.protect(session=session, table="visits")
    stored, now = costs(frames[1]), costs(frames[1], fresh=True)
    assert (stored.tolist(), now.tolist()) == ([100, 0], [500, 0])
    return session, frames[1].dp.period(MON), stored, now


def test_answers_from_before_a_table_grew_are_not_averaged_with_those_since():
    session, night, stored, now = grown("grown units")
    with pytest.raises(LedgerError, match="from the rows it was drawn from"):
        night.dp(epsilon=50).refine(stored)
    assert night.dp(epsilon=50).refine(now).tolist() == [500, 0]
    assert str(session.left.period(MON)) == "epsilon=350"


def test_a_mean_of_draws_comes_back_for_nothing_whatever_the_table_holds_by_then(ledger):
    given = []
    for many in (100, 100, 500):
        frame = visits(*((f"{MON} 10:00", who, 0.0) for who in range(many)))
        session = protect(frame, "means", epsilon=500, table="visits", ledger=ledger)
        night = frame.dp.period(MON)
        answers = [night.dp(epsilon=1).count()]
        for price in (2, 3):
            answers.append(night.dp(epsilon=price).refine(answers[-1]))
        given.append(([int(answer) for answer in answers], answers[-1].query.averages, str(session.left.period(MON))))
        session.close()
    assert given[0] == given[1] == given[2]
    assert given[0][-1] == "epsilon=494"
    assert len(given[0][1]) == 2


def test_answers_from_before_a_table_grew_are_not_reconciled_with_those_since():
    _, night, stored, now = grown("grown rows", unit=None, max_rows=None)
    new = night.dp(epsilon=60).count()
    with pytest.raises(ArgumentTypeError, match="not about the same rows"):
        pandas_dp.reconcile([stored, new], complete=["cost"])
    assert pandas_dp.reconcile([now, new], complete=["cost"])[0].round().tolist() == [500, 0]


def test_files_are_read_for_the_nights_alone(tmp_path, drawn):
    for day in range(3):
        visits(*((f"2026-11-{23 + day} 10:00", who, 1.0) for who in range(5))).to_parquet(tmp_path / f"{day}.parquet")
    scan = pandas_dp.scan_parquet(str(tmp_path / "*.parquet"))
    session = protect(scan, "scanned", table="visits")
    count(scan, TUE)
    count(scan, MON, WED)
    assert [exact for exact, _ in drawn] == [[5], [15]]
    assert session.spent.epsilon == F("2")


def test_dask_reads_the_nights_alone(drawn):
    dataframe = pytest.importorskip("dask.dataframe")
    pytest.importorskip("pandas_dp.dask")
    frame = dataframe.from_pandas(table(), npartitions=2)
    session = protect(frame, "dask", table="visits")
    count(frame, TUE)
    count(frame, MON, WED)
    assert [exact for exact, _ in drawn] == [[5], [15]]
    assert session.spent.epsilon == F("2")
    with pytest.raises(ArgumentValueError, match="say which days count"):
        frame.dp(epsilon=0.5).count()


def test_an_older_copy_that_is_put_back_is_charged_in_every_night(tmp_path, ledger):
    frame = table()
    session = protect(frame, "older copy", ledger=ledger)
    count(frame, MON)
    session.close()
    books = open_ledger(ledger)
    ledger_files.backup(books, str(tmp_path / "copy.dpledger"))
    books.close()
    copy = open_ledger(tmp_path / "copy.dpledger")
    ledger_files.restore(copy, PrivacyLoss.pure(F("0.25")), "epsilon=0.25")
    copy.verify()
    again = protect(frame, "older copy", ledger=tmp_path / "copy.dpledger")
    assert [str(again.left.period(day)) for day in (MON, TUE)] == ["epsilon=0.25", "epsilon=0.75"]
    with pytest.raises(BudgetExceededError):
        count(frame, TUE, price=1)
    assert "no bound for a 'who'" in again.spent
    again.close()


NIGHT = """
import os, pandas as pd, pandas_dp
if os.fork() and os.fork():
    assert [os.wait()[1] for _ in range(2)] == [0, 0]
    os._exit(0)
df = pd.DataFrame({{"at": pd.to_datetime(["2026-11-23"] * 5), "who": range(5)}})
session = df.dp.protect(epsilon=1, unit="who", max_rows=2, period="D", time="at", ledger={ledger!r}, name="two jobs")
paid = 0
for _ in range(20):
    try:
        df.dp.period("2026-11-23").dp(epsilon=0.125, fresh=True).count()
        paid += 1
    except pandas_dp.BudgetExceededError:
        break
print(paid, flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_two_jobs_at_once_never_exceed_the_total_of_a_night(ledger):
    jobs = interpreter.run(NIGHT.format(ledger=str(ledger)))
    assert jobs.returncode == 0, jobs.stderr
    assert sum(map(int, jobs.stdout.split())) == 8
    books = open_ledger(ledger)
    books.verify()
    books.close()


def test_a_session_of_a_worker(ledger):
    frame = table()
    protect(frame, "visits", ledger=ledger).close()
    session = pandas_dp.open_session(ledger, "visits")
    worker = table()
    worker.dp.protect(session=session)
    count(worker, MON, price=1)
    assert session.unit.period == "day"
    session.close()
    with pytest.raises(NoSessionError):
        count(worker, TUE)


@pytest.mark.parametrize("many", [pytest.param(40, id="40"), pytest.param(400, id="400", marks=pytest.mark.slow)])
def test_nights_one_after_the_other(ledger, many):
    """One price each night, on one ledger, each night a process that knows nothing of the one before."""
    for night in range(many):
        day = pd.Timestamp("2026-01-01") + pd.Timedelta(days=night)
        frame = visits((f"{day:%Y-%m-%d} 10:00", 1, 1.0))
        session = protect(frame, "nights", ledger=ledger, table="visits")
        count(frame, f"{day:%Y-%m-%d}", price=1)
        assert session.spent.epsilon == night + 1
        session.close()
