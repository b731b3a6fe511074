"""When memory is given back follows from the cells of other tables, so nothing that shows may depend on it."""

from __future__ import annotations

import gc
import warnings

import pandas as pd
import pytest
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


HELD, GARBAGE, GONE = "held", "garbage that is not collected yet", "gone"


def let_go(frame, how):
    """Hold a frame, or leave it to the collector, or let it go at once."""
    if how == GARBAGE:
        Report(frame)
    return frame if how == HELD else None


def terms_replaced(how):
    """What is warned of when a table is protected on other terms than another one before, and whether that is a file again."""
    name = fresh()
    frame = pd.DataFrame({"x": [1, 2, 3]})
    frame.dp.protect(epsilon=1, name=name)
    frame = let_go(frame, how)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        pd.DataFrame({"x": [1]}).dp.protect(epsilon=2, name=name)
    return [str(one.message)[:40] for one in seen]


def another_budget(how):
    """Whether an object that shared a budget with another one leaves it for its own."""
    frame, name = pd.DataFrame({"x": [1, 2, 3]}), fresh()
    frame.dp.protect(epsilon=1, name=name)
    frame, other = let_go(frame, how), pd.DataFrame({"x": [1]})
    other.dp.protect(epsilon=1, name=name)
    return moves(other)


def after_a_step(how):
    """Whether what steps made of a table leaves the budget of that table."""
    frame = pd.DataFrame({"x": [1, 2, 3]})
    frame.dp.protect(epsilon=1, name=fresh())
    made = frame.dp.query("x > 1")
    frame = let_go(frame, how)
    return moves(made)


def moves(frame):
    try:
        frame.dp.protect(epsilon=1, name=fresh())
    except pandas_dp.ArgumentValueError as error:
        return str(error)[:40]
    return "moved"


@pytest.mark.parametrize(
    ("program", "told"),
    [
        (terms_replaced, ["this replaces the terms of another table"]),
        (another_budget, "this table already spends from the budget"[:40]),
        (after_a_step, "this table already spends from the budget"[:40]),
    ],
)
@pytest.mark.parametrize("how", [HELD, GARBAGE, GONE])
def test_what_is_told_does_not_depend_on_whether_another_object_is_there_yet(program, told, how):
    """Of a frame that was let go in a reference cycle a row of another table decided when it went."""
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert program(how) == told
    finally:
        gc.enable()


def test_the_same_object_file_or_version_is_no_other_table(tmp_path, monkeypatch):
    """The cell that reads and protects them is typed right and runs again: nothing to warn of, and the object may move."""
    monkeypatch.setattr(readers, "SETTLED", 0)
    path = tmp_path / "visits.parquet"
    pd.DataFrame({"x": range(300)}).to_parquet(path)
    name, frame = fresh(), pd.DataFrame({"x": [1, 2, 3]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for epsilon in (2, 1):
            pandas_dp.read_parquet(path).dp.protect(epsilon=epsilon, name=name)
        for epsilon in (2, 1):
            typed = {"name": name + "2", "table": "visits", "version": "1"}
            pd.DataFrame({"x": [1, 2, 3]}).dp.protect(epsilon=epsilon, **typed)
        for epsilon in (2, 1):
            frame.dp.protect(epsilon=epsilon, name=(first := fresh()))
            frame.dp.query("x > 1")
        frame["y"] = 1
        frame.dp.protect(epsilon=2, name=first)
        second = frame.dp.protect(epsilon=1, name=fresh())
        assert frame.dp.protect(epsilon=1, name=fresh()) is not second


def test_a_session_holds_the_rows_of_eight_versions():
    frame = pd.DataFrame({"x": [1, 2, 3]})
    session = frame.dp.protect(epsilon=100, name=fresh(), table="visits", version="0")
    for version in range(1, 9):
        pd.DataFrame({"x": [1, 2, 3]}).dp.protect(session=session, table="visits", version=str(version))
    assert len(session._tables.versions) == 8
    session.close()
    assert not session._tables.versions
