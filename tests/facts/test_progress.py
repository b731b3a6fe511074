"""A line on a terminal says what takes long, in public words, and is gone when it is over."""

from __future__ import annotations

import io
import sys
import time

import pandas as pd
import pytest
from support.frames import fresh

from pandas_dp.facts import progress


def terminal(monkeypatch):
    """In the test itself: between its phases pytest puts its own in place."""
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    return stream


def lines(stream):
    """Without the seconds."""
    return [text.rpartition(",")[0] for text in stream.getvalue().split("\r") if text.strip()]


def asked(function, blocks):
    df = pd.DataFrame({"x": [1.0, 2.0, 3.0] * 100})
    df.dp.protect(epsilon=100, name=fresh())
    return df.dp(epsilon=9).sample_and_aggregate(function, bounds=(0, 4), blocks=blocks, aggregator="median")


def test_blocks_are_counted(monkeypatch):
    told = terminal(monkeypatch)
    asked(lambda d: d["x"].mean(), 50)
    assert {f"pandas_dp runs your function: block {place} of 50" for place in range(1, 51)} <= {*lines(told)}
    assert told.getvalue().endswith(" \r")
    assert told.getvalue().rpartition("\r")[0].rpartition("\r")[2].strip() == ""


def test_nothing_is_told_before_it_takes_long(monkeypatch):
    told = terminal(monkeypatch)
    monkeypatch.setattr(progress, "PATIENCE", 600.0)
    asked(lambda d: d["x"].mean(), 50)
    assert told.getvalue() == ""


def test_work_that_tells_nothing_by_itself_is_told_with_its_call(monkeypatch):
    told = terminal(monkeypatch)
    monkeypatch.setattr(progress, "PATIENCE", 0.2)
    with progress.shown("answers sum('x', bounds=(0, 9))"):
        end = time.monotonic() + 60
        while not told.getvalue() and time.monotonic() < end:
            time.sleep(0.01)
    assert lines(told)[0].startswith("pandas_dp answers sum('x', bounds=(0, 9))")
    assert not progress._shown


def test_nothing_is_told_into_a_file(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    asked(lambda d: d["x"].mean(), 50)
    assert stream.getvalue() == ""


@pytest.mark.parametrize("broken", ["closed", "none"])
def test_a_terminal_that_is_gone_costs_no_answer(broken, monkeypatch):
    stream = None
    if broken == "closed":
        stream = io.StringIO()
        stream.close()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    assert 0 <= asked(lambda d: d["x"].mean(), 50) <= 4


def test_what_is_told_follows_from_no_row(monkeypatch):
    """Blocks without rows are told as well, of which one alone is worked on."""
    seen = []
    for rows in (1, 3000):
        df = pd.DataFrame({"x": [1.0] * rows})
        df.dp.protect(epsilon=100, name=fresh())
        told = terminal(monkeypatch)
        df.dp(epsilon=9).sample_and_aggregate(lambda d: 1.0, bounds=(0, 4), blocks=20, aggregator="median")
        seen.append([line for line in lines(told) if "of 20" in line])
    assert {*seen[0]} == {*seen[1]} == {f"pandas_dp runs your function: block {place} of 20" for place in range(1, 21)}
