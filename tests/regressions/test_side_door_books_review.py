"""Books that told less than was spent, replayed what they should not, or kept what was closed."""

from __future__ import annotations

import gc
import tracemalloc

import pandas as pd
import pytest
from support.frames import fresh, people

import pandas_dp
from pandas_dp.session import opening, registry


def opened_and_closed(sessions: int) -> None:
    for _ in range(sessions):
        df = pd.DataFrame({"a": range(100)})
        session = df.dp.protect(epsilon=1, name=fresh())
        df.dp(epsilon=0.5).count()
        df.dp(epsilon=0.25).histogram("a", bins=range(101))
        part = df.dp.allot("part", epsilon=0.125)
        part.dp(epsilon=0.125).count()
        session.close()


def left_behind(sessions: int) -> int:
    """Bytes that sessions leave in the process once they are closed."""
    opened_and_closed(20)  # what is loaded and kept once
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        opened_and_closed(sessions)
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_closed_sessions_leave_their_ids_behind_and_nothing_else(monkeypatch):
    """They left a megabyte for every eighty of them: their releases, with intervals and queries."""
    # the least of three: a table of names that grows to twice its size is no leak, and a leak is there each time
    assert min(left_behind(100) for _ in range(3)) < 200_000
    assert len([session for session in registry._sessions.values() if session._closed]) <= 2  # the last, and its part
    kept, new = [], registry.enter
    monkeypatch.setattr(opening, "enter", lambda session: kept.append(session) or new(session))
    assert left_behind(100) > 600_000  # as it was, with the same measure


def test_frames_of_closed_sessions_are_told_so_however_many_came_later():
    df = people()
    session = df.dp.protect(epsilon=1, name=fresh())
    made = df.dp.query("age > 30")
    part = df.dp.allot("part", epsilon=0.5)
    session.close()
    opened_and_closed(3)
    assert session.id in registry._ended
    for frame in (df, made, part, df.copy()):
        with pytest.raises(pandas_dp.NoSessionError, match="closed"):
            frame.dp(epsilon=0.1).count()


def test_a_closed_session_still_tells_all_to_who_holds_it(tmp_path):
    for path in (None, tmp_path / "l.dpledger"):
        df = people()
        session = df.dp.protect(epsilon=1, name=fresh(), ledger=path)
        count = df.dp(epsilon=0.5).count()
        opened_and_closed(1)
        session.close()
        opened_and_closed(1)
        assert session.spent == "epsilon=0.5"
        assert session.releases["query"].tolist()[-1] == "count()"
        assert repr(count) in session.report()


def test_refused_protects_are_a_flag(monkeypatch):
    monkeypatch.setattr(registry, "_refusals", [])
    for _ in range(3):
        with pytest.raises(pandas_dp.ArgumentValueError):
            people().dp.protect(epsilon=-1)
    assert registry._refusals == ["protect"]
