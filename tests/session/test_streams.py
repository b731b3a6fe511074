"""Streams: one price at the opening, any number of questions, nothing beyond what was paid."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import signal
import threading
import weakref
from fractions import Fraction

import pandas as pd
import pytest
from support.frames import protected, refused

from pandas_dp import (
    ArgumentValueError,
    BudgetExceededError,
    NoSessionError,
    PandasDPError,
    QueryFailedError,
    StreamClosedError,
)
from pandas_dp.core import gate
from pandas_dp.core.measurement import Measurement, Reply
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.mechanisms.sparse_vector import SparseVector, StartedSparseVector
from pandas_dp.core.statistics.scores import CountWhere

SURE = 10**4  # an epsilon at which noise is 0 for certain (to 1e-2000)


def test_answers_at_a_high_price():
    df = protected(epsilon=10**6)
    stream = df.dp(epsilon=SURE).above_threshold(3, max_above=3)
    assert stream.ask("age > 100") is False
    assert stream.ask("age >= 18 and sex == 'm'") is True  # four rows
    assert stream.ask(lambda d: d.age > 50) is False  # two rows
    assert stream.ask(pd.col("pay") >= 1000) is True  # four rows, the missing one does not count
    assert stream.left == "1 of 3 True answers"
    assert stream.ask("city in ['x']") is True
    assert stream.left == "nothing"


@pytest.mark.parametrize(("threshold", "above"), [(3, True), (3.5, True), (4.5, False), (Fraction(21, 5), False)])
def test_a_threshold_between_whole_numbers(threshold, above):
    assert protected(epsilon=10**6).dp(epsilon=SURE).above_threshold(threshold).ask("sex == 'f'") is above


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_a_condition_counts_what_a_query_counts(relation):
    df = protected(epsilon=10**6, unit="pid", max_rows=2, neighbors=relation)
    for condition in ("age == 18", "age < 40", "pay >= 0", "sex != 'f' or pay > 1100"):
        count = df.dp(epsilon=SURE).query(condition).count().value
        stream = df.dp(epsilon=SURE).above_threshold(count)
        assert stream.ask(condition) is True, condition
        assert df.dp(epsilon=SURE).above_threshold(count + 1).ask(condition) is False


def test_steps_come_first():
    df = protected(epsilon=10**6)
    stream = df.dp(epsilon=SURE).query("sex == 'm'").assign(half=lambda d: d.age / 2).above_threshold(3)
    assert stream.ask("half > 9") is False
    assert stream.ask("half == 9") is True
    with pytest.raises(ArgumentValueError, match="column"):
        df.dp(epsilon=SURE).above_threshold(3).ask("half > 9")


# ------------------------------------------------------------------------------------------------------- the price
def test_one_charge_at_the_opening():
    df = protected(epsilon=3)
    session = df.dp.session
    stream = df.dp(epsilon=1).above_threshold(10**6, max_above=2)
    assert session.spent == "epsilon=1"
    for _ in range(50):
        stream.ask("age > 3")
    assert session.spent == "epsilon=1"
    (entry,) = session.releases.query("kind == 'query'").itertuples()
    assert (entry.query, entry.price) == ("above_threshold(1000000, max_above=2)", "epsilon=1")


def test_a_stream_the_budget_does_not_pay(monkeypatch):
    df = protected(epsilon=1)
    with refused(monkeypatch, df, BudgetExceededError):
        df.dp(epsilon=1.1).above_threshold(3)


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize(("most", "unit"), [(1, {}), (7, {}), (3, {"unit": "pid", "max_rows": 4})])
@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_the_declared_loss_is_the_price_exactly(delta, most, unit, relation):
    df = protected(epsilon=1, delta=delta, neighbors=relation, **unit)
    stream = df.dp(epsilon=0.3).above_threshold(10**6, max_above=most)
    loss = stream._inner._run.request.loss
    assert loss.epsilon == Fraction("0.3")
    assert len(loss.parts) == 1
    for _ in range(3):
        stream.ask("age > 10**6")
    assert stream._inner._run.spent == loss


def test_answers_are_never_stored():
    df = protected(epsilon=3, version="1", table="people")
    streams = [df.dp(epsilon=1).above_threshold(3) for _ in range(3)]  # the same call: three charges
    assert df.dp.session.spent == "epsilon=3"
    assert len({id(stream._inner._run.started) for stream in streams}) == 3
    assert not any(entry.recorded for entry in df.dp.session._ledger.entries(df.dp.session.name))


def test_interleaved_with_other_queries_and_streams():
    df = protected(epsilon=10**6)
    one, two = df.dp(epsilon=SURE).above_threshold(5), df.dp(epsilon=SURE).above_threshold(2, max_above=2)
    assert one.ask("sex == 'f'") is False
    assert df.dp(epsilon=SURE).count() == 8
    assert two.ask("sex == 'f'") is True
    assert one.ask("age > 20") is True
    assert df.dp(epsilon=SURE).query("sex == 'f'").count() == 4
    assert two.ask("age > 20") is True
    assert df.dp.session.spent == "epsilon=40000"


# --------------------------------------------------------------------------------------------------------- the end
def test_refused_after_the_last_positive_answer(monkeypatch):
    df = protected(epsilon=10**6)
    stream = df.dp(epsilon=SURE).above_threshold(3)
    assert stream.ask("age > 0")
    for condition in ("age > 0", "age > 1000"):
        with refused(
            monkeypatch, df, StreamClosedError, match=r"df.dp\(epsilon=10000\).above_threshold\(3, max_above=1\)"
        ):
            stream.ask(condition)
    assert "left nothing" in repr(stream)


def test_closing_the_stream_or_its_session():
    df = protected(epsilon=3)
    one, two = (df.dp(epsilon=1).above_threshold(10**6) for _ in range(2))
    one.close()
    with pytest.raises(StreamClosedError, match="closed"):
        one.ask("age > 3")
    assert two.ask("age > 3") is False
    view = weakref.ref(two._inner._run.view)
    session = df.dp.session
    session.close()
    with pytest.raises(NoSessionError):
        two.ask("age > 3")
    assert two.left == "nothing"
    gc.collect()
    assert view() is None
    assert session.spent == "epsilon=2"


def test_closed_while_a_question_runs(monkeypatch):
    df = protected(epsilon=3)
    stream = df.dp(epsilon=1).above_threshold(10**6)
    original = StartedSparseVector.draw

    def draw(self, exact, fill):
        other = threading.Thread(target=stream.close)
        other.start()
        other.join()
        return original(self, exact, fill)

    monkeypatch.setattr(StartedSparseVector, "draw", draw)
    assert stream.ask("age > 3") is False
    assert not stream._inner.open
    assert stream._inner._run is None


def test_neither_pickled_nor_copied():
    df = protected(epsilon=3)
    stream = df.dp(epsilon=1).above_threshold(3)
    for leave in (pickle.dumps, copy.copy, copy.deepcopy):
        for thing in (stream, stream._inner):
            with pytest.raises(TypeError, match="cannot be pickled or copied"):
                leave(thing)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_gets_no_second_answers(tmp_path):
    df = protected(epsilon=3, ledger=tmp_path / "a.dpledger")
    stream = df.dp(epsilon=1).above_threshold(3)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            stream.ask("age > 0")
            told = b"answered"
        except BaseException as error:
            told = type(error).__name__.encode()
        os.write(write, told)
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 100) == b"ForkedSessionError"
    assert stream._inner.open


# -------------------------------------------------------------------------------------------------- what goes wrong
def test_a_failure_inside_is_one_text_and_the_end(monkeypatch):
    df = protected(epsilon=3)
    stream = df.dp(epsilon=1).above_threshold(3)

    def fail(self, view, unit):
        raise ValueError(f"the cell is {view.rows}")

    with monkeypatch.context() as patch:
        patch.setattr(CountWhere, "compute", fail)
        with pytest.raises(QueryFailedError) as caught:
            stream.ask("age > 3")
    assert str(caught.value) == QueryFailedError.TEXT
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    with pytest.raises(StreamClosedError):
        stream.ask("age > 3")
    assert df.dp.session.spent == "epsilon=1"


def test_a_failure_at_the_opening_keeps_the_price_spent(monkeypatch):
    df = protected(epsilon=3)
    with monkeypatch.context() as patch:
        patch.setattr("pandas_dp.tables.protected.open_view", lambda *given: 1 / 0)
        with pytest.raises(QueryFailedError):
            df.dp(epsilon=1).above_threshold(3)
    assert df.dp.session.spent == "epsilon=1"


def test_an_interrupt_ends_the_stream(monkeypatch):
    df = protected(epsilon=3)
    stream = df.dp(epsilon=1).above_threshold(3)

    def interrupt(self, view, unit):
        signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(CountWhere, "compute", interrupt)
        with pytest.raises(KeyboardInterrupt) as caught:
            stream.ask("age > 3")
    assert str(caught.value) == QueryFailedError.TEXT
    with pytest.raises(StreamClosedError):
        stream.ask("age > 3")


GREEDY = {
    "a second sparse vector": Measurement(CountWhere("c"), SparseVector(0, Fraction(1), Fraction(1), 1)),
    "noise that was not declared": Measurement(CountWhere("c"), DiscreteLaplace(Fraction(10**6))),
}


@pytest.mark.parametrize("name", GREEDY)
def test_a_recipe_cannot_look_at_more_than_it_declared(name, monkeypatch):
    df = protected(epsilon=3)
    stream = df.dp(epsilon=1).above_threshold(10**6)
    run = stream._inner._run
    computed = []
    monkeypatch.setattr(CountWhere, "compute", lambda *given: computed.append(1))

    def greedy():
        yield Reply(None)
        yield GREEDY[name]

    run.recipe = greedy()
    run.recipe.send(None)
    run.spent = run.request.loss
    with pytest.raises(QueryFailedError):
        stream._inner.ask(None)
    assert computed == []


def test_a_stream_is_no_query():
    """A recipe that waits for a question where nobody asks is a failure, not a hang."""
    df = protected(epsilon=3)
    request = df.dp(epsilon=1).above_threshold(3)._inner._run.request
    with pytest.raises(QueryFailedError):
        gate.release(request)


def test_no_question_from_inside_another():
    df = protected(epsilon=30)
    stream = df.dp(epsilon=1).above_threshold(10**6)
    seen = []

    def ask_more(part):
        try:
            stream.ask("age > 3")
        except PandasDPError as error:
            seen.append(str(error))
        return 1.0

    df.dp(epsilon=1).sample_and_aggregate(ask_more, bounds=(0, 2))
    assert set(seen) == {"pandas_dp was called from inside a query; ask, open and close before or after it"}
    assert stream.ask("age > 3") is False


def test_threads_share_the_positive_answers():
    df = protected(epsilon=10**6)
    stream = df.dp(epsilon=SURE).above_threshold(1, max_above=10)
    seen, refusals = [], []

    def ask():
        for _ in range(20):
            try:
                seen.append(stream.ask("age > 0"))
            except StreamClosedError:
                refusals.append(1)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [True] * 10
    assert len(refusals) == 150
