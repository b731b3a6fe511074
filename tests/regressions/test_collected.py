"""When memory is given back follows from the cells of other tables, so nothing that shows may depend on it."""

from __future__ import annotations

import gc
import warnings

import pandas as pd
from support.frames import fresh

import pandas_dp
from pandas_dp.tables import readers


class Report:
    """Keeps a method of its own, so that only the collector ends it and its frame."""

    def __init__(self, frame):
        self.frame, self.show = frame, self.line

    def line(self):
        return self.frame.dp(epsilon=1).count()


def program(path, collect):
    """What is left after a file, and a version, are protected, let go and protected again, beside another table."""
    told = []
    for again in ("file", "version"):
        words = {} if again == "file" else {"table": "visits", "version": "1"}

        def table(again=again):
            return pandas_dp.read_parquet(path) if again == "file" else pd.DataFrame({"x": [1, 2, 3]})

        frame = table()
        session = frame.dp.protect(epsilon=10, name=fresh(), **words)
        report = Report(frame)
        report.show()
        del frame, report
        other = pd.DataFrame({"x": [1]})
        other.dp.protect(session=session, **words | ({"version": "2"} if words else {}))
        if collect:
            gc.collect()
        frame = table()
        frame.dp.protect(session=session, **words)
        answer = frame.dp(epsilon=1).count()
        told.append((session.left, answer.notes))
        session.close()
    return told


def test_what_is_free_does_not_depend_on_when_memory_is_given_back(tmp_path, monkeypatch):
    monkeypatch.setattr(readers, "SETTLED", 0)
    path = tmp_path / "visits.parquet"
    pd.DataFrame({"x": range(300)}).to_parquet(path)
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kept, collected = program(path, collect=False), program(path, collect=True)
    finally:
        gc.enable()
    assert kept == collected
    assert [left for left, _ in kept] == ["epsilon=9", "epsilon=9"]


def test_a_session_holds_the_rows_of_eight_versions():
    frame = pd.DataFrame({"x": [1, 2, 3]})
    session = frame.dp.protect(epsilon=100, name=fresh(), table="visits", version="0")
    for version in range(1, 9):
        pd.DataFrame({"x": [1, 2, 3]}).dp.protect(session=session, table="visits", version=str(version))
    assert len(session._tables.versions) == 8
    session.close()
    assert not session._tables.versions
