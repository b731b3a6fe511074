"""Refining answers: what is charged, who may have it, and everything that has to be refused, before anything is charged."""

from __future__ import annotations

import dataclasses
import gc
import os
import threading
import weakref
from collections import OrderedDict
from fractions import Fraction as F

import pandas as pd
import pytest
from support.frames import fresh, protected

import pandas_dp
from pandas_dp import ArgumentTypeError, ArgumentValueError, BudgetExceededError
from pandas_dp.core import gate
from pandas_dp.core.ledger import Ledger, open_ledger
from pandas_dp.core.mechanisms.refined import RefinedLaplace
from pandas_dp.core.privacy import PrivacyLoss
from pandas_dp.errors import LedgerError, QueryFailedError
from pandas_dp.session import ledger_files, refining
from pandas_dp.tables.protected import Table

SURE = 10**5
COLUMN = list(range(100)) * 3


def held(**terms) -> pd.DataFrame:
    df = pd.DataFrame({"age": COLUMN, "city": ["x", "y", "z"] * 100})
    df.dp.protect(**{"epsilon": 5 * SURE, "name": fresh(), **terms})
    return df


QUESTIONS = {
    "count": lambda d: d.count(),
    "count of values": lambda d: d.count("age"),
    "steps": lambda d: d.query("age > 40").count(),
    "sum": lambda d: d.sum("age", bounds=(0, 100)),
    "mean": lambda d: d.mean("age", bounds=(0, 100)),
    "var": lambda d: d.var("age", bounds=(0, 100)),
    "histogram": lambda d: d.histogram("age", bins=[0, 50, 100]),
    "size": lambda d: d.groupby("city", keys=["x", "y", "z"]).size(),
    "sum by group": lambda d: d.groupby("city", keys=["x", "y"])["age"].sum(bounds=(0, 100)),
    "crosstab": lambda d: d.crosstab("city", "age", keys={"city": ["x", "y"], "age": [1, 2]}),
}


@pytest.mark.parametrize("neighbors", ["add_remove", "replace_one"])
@pytest.mark.parametrize("name", QUESTIONS)
def test_the_last_level_is_what_one_draw_at_that_price_is(name, neighbors):
    df, ask = held(neighbors=neighbors), QUESTIONS[name]
    rough = ask(df.dp(epsilon=F(1, 10)))
    better = df.dp(epsilon=SURE).refine(rough)
    whole = ask(df.dp(epsilon=SURE + F(1, 10)))
    spent = df.dp.session.spent.epsilon
    assert F(spent) == F(1, 10) + SURE + SURE + F(1, 10)
    assert type(better) is type(whole)
    assert better.query.price.epsilon == SURE + F(1, 10)
    assert better.mechanism == whole.mechanism
    # at such a price there is next to no noise: below 0.01 in 60 variances, and whole numbers are alike
    pd.testing.assert_frame_equal(better.table(), whole.table(), rtol=0, atol=0.2)


def test_only_the_difference_is_charged_and_each_level_is_given_again_for_nothing():
    df = held(epsilon=1)
    answer, levels = df.dp(epsilon=0.25).count(), []
    for _ in range(3):
        levels.append(answer)
        answer = df.dp(epsilon=0.25).refine(answer)
        entry, level = levels[-1]._provenance.entry, (len(levels) + 1) / 4
        assert answer.spent == f"epsilon=0.25 (epsilon={level:g} in all)"
        assert f"refines entry {entry}" in answer.notes
    assert df.dp.session.spent.epsilon == 1
    for level in levels:
        again = df.dp(epsilon=0.25).refine(level)
        assert again._provenance.stored
    assert df.dp.session.spent.epsilon == 1
    assert df.dp.session.releases["price"].tolist()[1:] == ["epsilon=0.25"] * 4
    assert df.dp.session.releases["query"].tolist()[2] == "refine(count())"
    with pytest.raises(BudgetExceededError):
        df.dp(epsilon=0.25).refine(answer)


def test_the_noise_is_refined_and_not_drawn_anew(monkeypatch):
    seen = []
    draw = RefinedLaplace.draw

    def noting(self, exact, fill):
        seen.append((self.worse, self.better, self.base))
        return draw(self, exact, fill)

    monkeypatch.setattr(RefinedLaplace, "draw", noting)
    df = held(epsilon=10)
    first = df.dp(epsilon=F(1, 2)).count()
    second = df.dp(epsilon=F(3, 2)).refine(first)
    df.dp(epsilon=1).refine(second)
    assert seen == [(2, F(1, 2), (first.value,)), (F(1, 2), F(1, 3), (second.value,))]


REFUSED = {
    "no answer": (lambda df, a: df.dp(epsilon=1).refine(3), ArgumentTypeError, "refine needs an answer"),
    "steps": (lambda df, a: df.dp(epsilon=1).query("age > 3").refine(a), ArgumentValueError, "no steps"),
    "fresh": (lambda df, a: df.dp(epsilon=1, fresh=True).refine(a), ArgumentValueError, "no fresh=True"),
    "rho": (lambda df, a: df.dp(rho=1).refine(a), BudgetExceededError, "Gaussian noise"),
    "within": (lambda df, a: df.dp(within=3, delta=1e-6).refine(a), ArgumentValueError, "no preview"),
    "too exact": (lambda df, a: df.dp(within="1e-9").refine(a), ArgumentTypeError, "within"),
    "preview": (lambda df, a: df.dp.preview(epsilon=1).refine(a), ArgumentValueError, "no preview"),
    "a public number": (lambda df, a: df.dp(epsilon=1).refine(a + 1), ArgumentTypeError, "needs an answer"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused_for_nothing(name):
    df = held(epsilon=10)
    answer = df.dp(epsilon=1).count()
    refused, error, match = REFUSED[name]
    with pytest.raises(error, match=match):
        refused(df, answer)
    assert df.dp.session.spent.epsilon == 1


CHOICES = {
    "mode": lambda d: d.mode("city", keys=["x", "y"]),
    "median": lambda d: d.median("age", bounds=(0, 100)),
    "several looks": lambda d: d.median("age", bounds=(0, 100), error_bar=True),
    "blocks": lambda d: d.sample_and_aggregate(lambda b: b["age"].mean(), blocks=20, bounds=(0, 100)),
}


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize("terms", [{}, {"delta": 1e-6}])
def test_selections_and_several_looks_are_not_refined(name, terms):
    df = held(epsilon=10, **terms)
    answer = CHOICES[name](df.dp(epsilon=1))
    before = df.dp.session.spent
    with pytest.raises(LedgerError, match=r"not choices, quantiles|only the latest thousand"):
        df.dp(epsilon=1).refine(answer)
    assert df.dp.session.spent == before


def test_in_a_part_of_a_hybrid_budget_it_is_refined_and_not_across_parts():
    df = held(epsilon=20, delta=1e-6)
    one, two = df.dp.allot("one", epsilon=3), df.dp.allot("two", epsilon=3)
    answer = one.dp(epsilon=1).count()
    with pytest.raises(LedgerError, match="only the latest thousand answers"):
        two.dp(epsilon=1).refine(answer)
    with pytest.raises(LedgerError, match=r"without a delta|only the latest thousand"):
        df.dp(epsilon=1).refine(answer)
    assert one.dp(epsilon=1).refine(answer).query.price.epsilon == 2
    assert one.dp.session.spent.epsilon == 2


def test_other_rows_under_the_same_name_are_not_those_it_was_drawn_from():
    """They are another draw, of what the owner says is the same content; and of another version none at all."""
    name = fresh()
    df = held(epsilon=20, table="visits", version="1", name=name)
    answer = df.dp(epsilon=1).count()
    again = pd.DataFrame({"age": COLUMN, "city": ["x", "y", "z"] * 100})
    again.dp.protect(epsilon=20, name=name, table="visits", version="1")
    mean = again.dp(epsilon=1).refine(answer)
    assert "these are not the rows in memory that it was drawn from" in " ".join(mean.notes)
    assert df.dp.session.spent.epsilon == 2
    assert df.dp(epsilon=1).refine(answer).query.refines == (answer._provenance.entry,)
    other = pd.DataFrame({"age": COLUMN, "city": ["x", "y", "z"] * 100})
    other.dp.protect(epsilon=20, name=name, table="visits", version="2")
    with pytest.raises(LedgerError, match="from the rows it was drawn from"):
        other.dp(epsilon=1).refine(answer)
    assert df.dp.session.spent.epsilon == 3


def test_another_process_gets_what_is_stored_and_refines_nothing_else(tmp_path):
    """A process that starts again has the same file and the same words, and other rows perhaps."""
    path = tmp_path / "v.dpledger"
    df = held(epsilon=20, ledger=path, table="visits", version="1", name="v")
    rough = df.dp(epsilon=1).count()
    better = df.dp(epsilon=2).refine(rough)
    rough_sum = df.dp(epsilon=1).sum("age", bounds=(0, 100))
    df.dp.session._ledger.close()
    df = held(epsilon=20, ledger=path, table="visits", version="1", name="v")
    again = df.dp(epsilon=1).count()
    assert again == rough
    assert df.dp(epsilon=2).refine(again) == better
    assert df.dp(epsilon=1).sum("age", bounds=(0, 100)) == rough_sum
    assert df.dp.session.spent.epsilon == 4
    mean = df.dp(epsilon=1).refine(rough_sum := df.dp(epsilon=1).sum("age", bounds=(0, 100)))
    assert mean.query.averages == ((rough_sum._provenance.entry, rough_sum.query.price),)
    assert df.dp.session.spent.epsilon == 5
    df.dp.session._ledger.close()


def test_there_is_one_child_at_one_price():
    df = held(epsilon=20)
    rough = df.dp(epsilon=1).count()
    df.dp(epsilon=2).refine(rough)
    with pytest.raises(LedgerError, match=r"refined at another price or from another draw \(entry 3\)"):
        df.dp(epsilon=1).refine(rough)
    assert df.dp.session.spent.epsilon == 3


def test_a_newer_draw_takes_the_place_of_the_base():
    df = held(epsilon=20)
    rough = df.dp(epsilon=1).count()
    newer = df.dp(epsilon=1, fresh=True).count()
    with pytest.raises(LedgerError, match="no longer the latest one"):
        df.dp(epsilon=1).refine(rough)
    assert df.dp(epsilon=1).refine(newer).query.price.epsilon == 2
    assert df.dp.session.spent.epsilon == 3


@pytest.mark.parametrize("fault", ["no result", "failed"])
def test_a_child_whose_value_was_lost_may_have_been_seen(fault, monkeypatch):
    df = held(epsilon=20)
    rough = df.dp(epsilon=1).count()
    with monkeypatch.context() as patch:
        if fault == "no result":
            patch.setattr(Ledger, "record", lambda *args: (_ for _ in ()).throw(LedgerError("full")))
            df.dp(epsilon=1).refine(rough)
        else:
            patch.setattr(RefinedLaplace, "draw", lambda *args: 1 / 0)
            with pytest.raises(QueryFailedError):
                df.dp(epsilon=1).refine(rough)
    for epsilon in (1, 2):
        with pytest.raises(
            LedgerError, match="cannot be refined again: it is being refined, or was when a process ended"
        ):
            df.dp(epsilon=epsilon).refine(rough)
    assert df.dp.session.spent.epsilon == 2


def test_two_threads_get_one_child(monkeypatch):
    df = held(epsilon=20)
    rough, made = df.dp(epsilon=1).count(), []
    threads = [threading.Thread(target=lambda: made.append(df.dp(epsilon=1).refine(rough))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 4
    assert len(set(made)) == 1
    assert df.dp.session.spent.epsilon == 2


def test_two_processes_get_one_child(monkeypatch):
    """The check stands in the transaction: whoever looked before another process charged is refused there."""
    df = held(epsilon=20)
    rough = df.dp(epsilon=1).count()
    kept = []
    monkeypatch.setattr(gate, "_refining", lambda request, base: kept.append(request) or (lambda: iter(())))
    with pytest.raises(QueryFailedError):
        df.dp(epsilon=1).refine(rough)
    request = kept[0]
    with pytest.raises(LedgerError, match="it is being refined"):
        request.ledger.reserve(
            request.name, request.key, request.query, request.price, request.loss, request.whole, sole=True
        )


def test_a_budget_that_refined_gets_no_delta():
    df = held(epsilon=20)
    answer = df.dp(epsilon=1).count()
    df.dp(epsilon=1).refine(answer)
    with pytest.raises(LedgerError, match="does not tell its divergences, so it gets no delta"):
        df.dp.session.extend(to_delta=1e-6, reason="keys")
    assert df.dp.session.extend(to=30, reason="more").budget.epsilon == 30
    assert df.dp(epsilon=1).count("age") is not None


def test_only_the_latest_answers_are_remembered(monkeypatch):
    monkeypatch.setattr(refining, "MOST_DRAWN", 2)
    df = held(epsilon=20)
    answers = [df.dp(epsilon=1, fresh=True).count() for _ in range(3)]
    assert len(df.dp.session._drawn) == 2
    with pytest.raises(LedgerError, match="only the latest thousand"):
        df.dp(epsilon=1).refine(answers[0])
    assert df.dp(epsilon=1).refine(answers[2]) is not None


def test_a_small_answer_does_not_look_through_those_before():
    """A thousand of them would take longer than the noise."""

    class Closed(OrderedDict):
        def items(self):
            pytest.fail("looked through")

        __iter__ = keys = values = items

    df = held(epsilon=20)
    df.dp.session._drawn = Closed()
    answers = [df.dp(epsilon=1, fresh=True).count() for _ in range(3)]
    assert len(df.dp.session._drawn) == 3
    assert df.dp(epsilon=1).refine(answers[-1]) is not None


def test_of_many_numbers_the_latest_are_remembered(monkeypatch):
    monkeypatch.setattr(refining, "FEW", 2)
    monkeypatch.setattr(refining, "MOST_NUMBERS", 7)
    df = held(epsilon=20)
    small = df.dp(epsilon=1).count()
    large = [df.dp(epsilon=1, fresh=True).histogram("city", keys=["x", "y", "z"]) for _ in range(3)]
    known = {entry: one.noisy is not None for entry, one in df.dp.session._drawn.items()}
    assert known == {one._provenance.entry: last for one, last in zip([small, *large], [0, 0, 1, 1], strict=True)}
    assert df.dp(epsilon=1).refine(large[2]) is not None


def test_a_frame_that_is_not_protected_is_told_so():
    df = protected(epsilon=5)
    answer = df.dp(epsilon=1).count()
    with pytest.raises(pandas_dp.UnverifiedFrameError):
        df.copy().dp(epsilon=1).refine(answer)


def test_rows_that_are_let_go_of_are_not_kept_for_a_refinement():
    df = held(epsilon=20)
    df.dp(epsilon=1).count()
    session = df.dp.session
    table = weakref.ref(next(iter(session._tables.by_name.values())))
    [drawn] = session._drawn.values()
    assert drawn.table() is table()
    session.close()
    del df, drawn
    gc.collect()
    assert table() is None
    assert session._drawn == {}


def test_a_refined_table_has_the_notes_and_the_interval_of_its_level():
    df = held(epsilon=20)
    rough = df.dp(epsilon=F(1, 10)).histogram("age", bins=[0, 50, 100])
    better = df.dp(epsilon=F(9, 10)).refine(rough)
    alone = df.dp(epsilon=1).histogram("age", bins=[0, 50, 100])
    width = [(each.interval()["upper"] - each.interval()["lower"]).tolist() for each in (rough, better, alone)]
    assert width[1] == width[2]
    assert width[0] > width[1]
    assert "refines entry 2" in better.notes
    assert (better.spent, better.epsilon) == ("epsilon=0.9 (epsilon=1 in all)", 1.0)


CHANGED = {
    "nulls": lambda df: df.dp.protect(epsilon=20, name=df.dp.session.name, schema={"x": {"nulls": 100}}),
    "rows": lambda df: df.dp.protect(epsilon=20, name=df.dp.session.name, neighbors="replace_one", rows=True),
}


@pytest.mark.parametrize("change", CHANGED)
def test_other_public_facts_are_other_content(change):
    df = pd.DataFrame({"x": [1.0, None] * 50, "g": ["a", "b"] * 50})
    relation = "replace_one" if change == "rows" else "add_remove"
    df.dp.protect(epsilon=20, name=fresh(), neighbors=relation)
    questions = [
        lambda d: d.count("x") if change == "nulls" else d.count(),
        lambda d: d.sum("x", bounds=(0, 100)),
        lambda d: d.mean("x", bounds=(0, 100)),
        lambda d: d.histogram("x", bins=[0, 50, 101]),
    ]
    answers = [ask(df.dp(epsilon=1)) for ask in questions]
    CHANGED[change](df)
    before = df.dp.session.spent
    for answer in answers if change == "nulls" else answers[:1]:
        with pytest.raises(LedgerError, match=r"with the schema and the public facts it had|only the latest thousand"):
            df.dp(epsilon=1).refine(answer)
    assert df.dp.session.spent == before


def test_a_child_belongs_to_one_draw():
    df = held(epsilon=20)
    first = df.dp(epsilon=1).count()
    child = df.dp(epsilon=1).refine(first)
    newer = df.dp(epsilon=1, fresh=True).count()
    with pytest.raises(LedgerError, match=r"from another draw \(entry 3\)"):
        df.dp(epsilon=1).refine(newer)
    assert df.dp(epsilon=1).refine(first) == child
    assert df.dp.session.spent.epsilon == 3


def test_an_answer_of_another_session_is_none_of_this_one():
    one, two = held(epsilon=20), held(epsilon=20)
    mine, yours = one.dp(epsilon=1).count(), two.dp(epsilon=1).count()
    assert mine._provenance.entry == yours._provenance.entry
    with pytest.raises(LedgerError, match="only the latest thousand answers"):
        one.dp(epsilon=1).refine(yours)
    assert one.dp.session.spent.epsilon == 1


@pytest.mark.parametrize("price", [(F(1, 2), "epsilon=0.5"), None])
def test_after_an_older_copy_was_put_back_nothing_is_refined(tmp_path, price):
    """The copy does not hold the child that was drawn since: the base would get another one."""
    path, copy = tmp_path / "v.dpledger", tmp_path / "copy.dpledger"
    df = held(epsilon=20, ledger=path, name="v")
    rough = df.dp(epsilon=1).count()
    ledger_files.backup(df.dp.session._ledger, copy)
    df.dp(epsilon=F(1, 2)).refine(rough)
    df.dp.session._ledger._store._disconnect()
    os.replace(copy, path)
    df.dp.session._ledger.close()
    ledger = open_ledger(path)
    ledger_files.restore(
        ledger,
        None if price is None else PrivacyLoss.pure(price[0]),
        "all that was left" if price is None else price[1],
    )
    request = df.dp.session._drawn[rough._provenance.entry].request
    with pytest.raises(LedgerError, match="a copy of the ledger was put back"):
        ledger.reserve(
            "v",
            f"{request.key} refined",
            "refine(count())",
            "epsilon=0.5",
            PrivacyLoss.pure(F(1, 2)),
            request.whole,
            sole=True,
        )
    ledger.close()


def test_a_ledger_file_keeps_what_is_said_of_a_refined_answer(tmp_path):
    df = held(epsilon=20, ledger=tmp_path / "v.dpledger", name="v")
    better = df.dp(epsilon=1).refine(df.dp(epsilon=1).count())
    told = df.dp.session._ledger.shown("v")
    assert len(told) == 2
    assert "2 in all" in told[better._provenance.entry]
    df.dp.session._ledger.close()


def test_public_facts_are_stated_before_or_after_and_not_in_between(monkeypatch):
    """Another thread states them between the look whether they are the same and the draw: it waits."""
    df = pd.DataFrame({"x": [1.0, None] * 50})
    df.dp.protect(epsilon=5 * SURE, name=fresh())
    session = df.dp.session
    base = df.dp(epsilon=1).count("x")
    request, threads = Table.request, []

    def slow(self, *args, **options):
        made = request(self, *args, **options)
        if not threads:
            change = {"epsilon": 5 * SURE, "name": session.name, "schema": {"x": {"nulls": 100}}}
            threads.append(threading.Thread(target=lambda: df.dp.protect(**change)))
            threads[0].start()
            threads[0].join(0.3)
        return made

    monkeypatch.setattr(Table, "request", slow)
    better = df.dp(epsilon=SURE).refine(base)
    threads[0].join()
    assert better == 50
    assert df.dp(epsilon=SURE).count("x") == 100


def test_a_session_that_is_behind_raises_nothing():
    df = pd.DataFrame({"age": COLUMN, "u": COLUMN})
    session = df.dp.protect(epsilon=20, unit="u", max_rows=5, name=fresh())
    known = session.unit
    session._amend(session.budget, dataclasses.replace(known, rows=9, groups=9, rows_per_group=9), "another process")
    session.unit = known
    with pytest.raises(LedgerError, match="the terms of this budget were replaced"):
        session.extend(to=30, reason="more")
    assert session._ledger.budget(session.name)[1].rows == 9
