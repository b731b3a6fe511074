"""Regressions of a review of streams: what went wrong once and must not again."""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import count

import numpy as np
import pandas as pd
import pytest
from support.frames import people, protected, refused

from pandas_dp import ArgumentTypeError, ArgumentValueError, StreamClosedError
from pandas_dp.core import gate
from pandas_dp.core.mechanisms.sparse_vector import SparseVector
from pandas_dp.core.privacy import PrivacyLoss
from pandas_dp.session import alone

CANDIDATES = {
    "the table": lambda df: df,
    "rows of it": lambda df: df[df.age > 20],
    "a copy": lambda df: df.copy(),
    "a step of it": lambda df: df.dp.query("age > 20"),
}


@pytest.mark.parametrize("made", CANDIDATES)
def test_a_protected_table_is_no_public_candidate(made, monkeypatch):
    """Guesses would have been its exact counts, at any price."""
    df = protected(epsilon=3)
    candidate = CANDIDATES[made](df)
    with refused(monkeypatch, df, ArgumentValueError, match="oracle: candidates must be public"):
        df.dp(epsilon=1).oracle("median", candidates=[people(), candidate])


def test_the_table_of_another_budget_is_no_public_candidate():
    df, other = protected(epsilon=3), protected(epsilon=3)
    with pytest.raises(ArgumentValueError, match="public"):
        df.dp(epsilon=1).oracle("median", candidates=[other])


def test_a_question_while_another_thread_asks():
    """It waits; that the stream were closed was said to it."""
    df = protected(pd.DataFrame({"x": np.arange(50_000)}), epsilon=3)
    stream = df.dp(epsilon=1).above_threshold(10**9)
    seen: list[object] = []
    interval = sys.getswitchinterval()

    def ask() -> None:
        for _ in range(15):
            try:
                seen.append(stream.ask("x > 3"))
            except StreamClosedError as error:
                seen.append(str(error))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert seen == [False] * 60


def test_which_end_a_stream_came_to():
    df = protected(epsilon=10**6)
    ended, closed = (df.dp(epsilon=10**4).above_threshold(3) for _ in range(2))
    assert ended.ask("age > 0")
    ended.close()
    closed.close()
    for stream, said in ((ended, "the answers that its price pays for"), (closed, "was closed")):
        with pytest.raises(StreamClosedError, match=said):
            stream.ask("age > 0")


@pytest.mark.slow
def test_a_closed_stream_keeps_no_rows():
    """Neither its list of columns, which was a slice of the rows, nor the table it was opened on."""
    size = 2_000_000
    tracemalloc.start()
    try:
        df = protected(pd.DataFrame({"x": np.arange(size, dtype=np.float64)}), epsilon=3)
        streams = [df.dp(epsilon=1).above_threshold(10**9), df.dp(epsilon=1).query("x > 3").above_threshold(10**9)]
        assert not any(stream.ask("x > 3") for stream in streams)
        held = tracemalloc.get_traced_memory()[0]
        df.dp.session.close()
        del df
        gc.collect()
        assert held - tracemalloc.get_traced_memory()[0] > 16 * size - 10**6  # the table, and the rows of the step
    finally:
        tracemalloc.stop()
    assert "left nothing" in repr(streams[0])


@pytest.mark.parametrize(
    "column",
    [
        pd.period_range("2020-01", periods=8, freq="M"),
        pd.interval_range(0, 8),
        pd.arrays.SparseArray([0.0, 0, 1, 0, 0, 0, 0, np.nan]),
    ],
    ids=["period", "interval", "sparse"],
)
def test_a_column_that_cannot_be_answered_does_not_stand_in_the_way(column):
    """Such a table was called changed, though nobody had touched it."""
    frame = people().assign(odd=column)
    df = protected(frame, epsilon=10**6)
    stream = df.dp(epsilon=10**4).above_threshold(8, max_above=2)
    assert stream.ask("age > 0") is True
    assert stream.ask("odd.isna()") is False
    df["odd"] = df["odd"].array.copy()
    assert df.dp(epsilon=10**4).above_threshold(8).ask("age > 0") is True


def test_equal_losses_add_up_to_one_part():
    """A thousand noisy counts of one stream took a second each: all their losses were added again at every look."""
    one, other = PrivacyLoss.pure(Fraction(1, 10)), PrivacyLoss.pure(Fraction(1, 7))
    total = sum([one] * 1000, other) + other
    assert [times for _, times in total.parts] == [1, 1000, 1]
    assert total.epsilon == 100 + Fraction(2, 7)
    assert total.renyi(Fraction(9)) == 1000 * one.renyi(Fraction(9)) + 2 * other.renyi(Fraction(9))


@pytest.mark.parametrize("level", ["0.9", None, [0.9], pd.NaT])
def test_a_level_that_is_no_number(level):
    stream = protected(epsilon=3).dp(epsilon=1).above_threshold(3)
    with pytest.raises(ArgumentTypeError, match=r"level=0\.95"):
        stream.margin(level=level)


@pytest.mark.parametrize("threshold", [float("nan"), True, None, 10**301])
def test_a_refused_threshold_names_the_line(threshold, monkeypatch):
    df = protected(epsilon=3)
    with refused(monkeypatch, df, (ArgumentTypeError, ArgumentValueError), match=r"above_threshold\(1000\)"):
        df.dp(epsilon=1).above_threshold(threshold)


def interrupted(call, number):
    """Let Ctrl-C come as the function of that number returns, of those around a door; return what was raised, if it came."""
    files, before, seen = {gate.__file__, alone.__file__, contextlib.__file__}, sys.gettrace(), 0

    def interrupt(frame, event, argument):
        nonlocal seen
        seen += event == "return"
        if event == "return" and seen == number:
            raise KeyboardInterrupt
        return interrupt

    sys.settrace(lambda frame, event, argument: interrupt if frame.f_code.co_filename in files else None)
    try:
        call()
    except BaseException as error:
        return error  # with the frames that it passed through, as a prompt keeps it
    finally:
        sys.settrace(before)
    return None if seen < number else KeyboardInterrupt()


def free(lock):
    """Whether another thread finds a door open."""
    with ThreadPoolExecutor(1) as other:
        return other.submit(lambda: lock.acquire(blocking=False) and not lock.release()).result()


DOORS = {
    "a question": lambda df: df.dp(epsilon=0.01, fresh=True).count(),
    "a stream": lambda df: df.dp(epsilon=0.01).above_threshold(1000).ask("True"),
    "a budget": lambda df: df.copy().dp.protect(session=df.dp.session, reason="the same people"),
}


@pytest.mark.parametrize("door", DOORS)
def test_an_interrupt_at_the_door_leaves_it_open(door):
    """After one just behind the door its thread was refused every later query, and others waited, while the error was kept."""
    df, kept = protected(epsilon=1000), []
    for number in count(1):
        kept.append(interrupted(lambda: DOORS[door](df), number))
        assert not getattr(gate._inside, "guarded", False)  # warnings of this thread are shown again
        assert free(gate._door)
        assert free(alone.lock)
        df.dp(epsilon=0.01, fresh=True).count()
        df.copy().dp.protect(session=df.dp.session, reason="the same people")
        if kept[-1] is None:
            break
    assert len(kept) > 5
    assert any(isinstance(error, KeyboardInterrupt) for error in kept)


@pytest.mark.parametrize(("condition", "count"), [("True", 8), ("not True", 0), (lambda d: True, 8)])
def test_a_condition_that_reads_no_column(condition, count):
    """It ended in an error of numpy."""
    df = protected(epsilon=10**6)
    stream = df.dp(epsilon=10**4).oracle("pmw", domain={"age": [0, 30, 100], "sex": ["f", "m"]}, updates=2)
    assert abs(stream.ask(condition) - count) <= 1


def test_one_secret_a_stream(monkeypatch):
    """The noise of the threshold is drawn when the first question is asked, and never again; each stream has its own.

    A door that drew it anew for every question passed all other fast tests.
    """
    started: list[SparseVector] = []
    original = SparseVector.start
    monkeypatch.setattr(SparseVector, "start", lambda self, *given: started.append(self) or original(self, *given))
    df = protected(epsilon=10)
    threshold = df.dp(epsilon=1).above_threshold(10**6, max_above=2)
    oracle = df.dp(epsilon=1).oracle("pmw", domain={"age": [0, 30, 100]}, updates=50)
    for opened, stream in enumerate((threshold, oracle), start=1):
        for _ in range(5):
            stream.ask("age < 30")
            assert len(started) == opened
    secrets = [set(map(id, stream._inner._run.started.values())) for stream in (threshold, oracle)]
    assert [len(mine) for mine in secrets] == [1, 1]
    assert not secrets[0] & secrets[1]


@pytest.mark.parametrize("condition", ["b", "b == True", "not b == False and b", "object.isna() and b"])
def test_a_missing_truth_value_counts_nowhere_whatever_lies_beneath(condition):
    """Masked columns keep some value under the mask."""
    hidden = pd.arrays.BooleanArray(np.ones(8, dtype=bool), np.arange(8) > 2)
    df = protected(people().assign(b=hidden, object=None), epsilon=10**6)
    stream = df.dp(epsilon=10**4).above_threshold(4, max_above=1)
    assert stream.ask(condition) is False
    assert df.dp(epsilon=10**4).above_threshold(3).ask(condition) is True
    assert df.dp(epsilon=10**4).query(condition).count() == 3
