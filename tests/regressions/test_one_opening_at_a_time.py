"""Whose a frame is, is looked up and acted on by one thread at a time, and by nobody in the middle of that."""

from __future__ import annotations

import threading

import pandas as pd
import pytest

import pandas_dp
from pandas_dp import ArgumentValueError, PandasDPError
from pandas_dp.core.ledger import Ledger
from pandas_dp.session import registry
from tests.support import interpreter
from tests.support.frames import fresh


def ages() -> pd.DataFrame:
    return pd.DataFrame({"age": [31, 45, 62] * 1000})


def budget(**terms):
    return ages().dp.protect(epsilon=10, name=fresh(), **terms)


def meanwhile(monkeypatch, method, act):
    """At the first call of a method of ledgers another thread acts, and is waited for a while; returns what it raised."""
    began, raised, original = threading.Event(), [], getattr(Ledger, method)

    def other():
        try:
            act()
        except PandasDPError as error:
            raised.append(error)

    def waits(*args, **options):
        if not began.is_set():
            began.set()
            thread.start()
            thread.join(0.5)
        return original(*args, **options)

    thread = threading.Thread(target=other)
    monkeypatch.setattr(Ledger, method, waits)
    return thread, raised


WAYS = {
    "adopt": lambda frame, session: session.adopt(frame, reason="another part"),
    "join": lambda frame, session: frame.dp.protect(session=session),
    "protect": lambda frame, session: frame.dp.protect(epsilon=10, name=fresh()),
}


@pytest.mark.parametrize("way", WAYS)
def test_two_threads_put_no_frame_on_two_budgets(monkeypatch, way):
    """One adopted, and before that was on the disk the other found the frame free: both budgets answered for it."""
    one, two, frame = budget(), budget(), ages()
    thread, raised = meanwhile(monkeypatch, "note", lambda: WAYS[way](frame, two))
    one.adopt(frame, reason="a part")
    thread.join()
    assert [type(error) for error in raised] == [ArgumentValueError]
    assert "already spends from the budget" in str(raised[0])
    assert frame.dp.session is one


def test_two_threads_put_no_file_on_two_budgets(monkeypatch, tmp_path):
    ages().to_parquet(tmp_path / "ages.parquet")
    first, second = (pandas_dp.read_parquet(tmp_path / "ages.parquet") for _ in range(2))
    one, two = budget(), budget()
    thread, raised = meanwhile(monkeypatch, "note", lambda: two.adopt(second, reason="a part"))
    one.adopt(first, reason="a part")
    thread.join()
    assert [type(error) for error in raised] == [ArgumentValueError]


OPENERS = {
    "protect": lambda frame, mine, path: frame.dp.protect(epsilon=1, name=fresh()),
    "a file": lambda frame, mine, path: frame.dp.protect(epsilon=1, name=fresh(), ledger=path),
    "join": lambda frame, mine, path: frame.dp.protect(session=mine.dp.session),
    "adopt": lambda frame, mine, path: mine.dp.session.adopt(frame, reason="a part"),
    "open_session": lambda frame, mine, path: pandas_dp.open_session(path, name="there"),
    "a part": lambda frame, mine, path: mine.dp.allot(fresh(), epsilon=0.1),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("inner", OPENERS)
@pytest.mark.parametrize("outer", OPENERS)
def test_what_comes_in_the_middle_of_an_opening_is_refused(monkeypatch, tmp_path, outer, inner):
    """The handler of a signal or a finalizer runs in the thread that holds the lock, which lets it in."""
    frame, mine, path = ages(), ages(), tmp_path / "books.dpledger"
    ages().dp.protect(epsilon=1, name="there", ledger=path).close()
    mine.dp.protect(epsilon=10, name=fresh())
    raised = []

    def interrupted(*args, **options):
        monkeypatch.undo()
        try:
            OPENERS[inner](frame, mine, path)
        except PandasDPError as error:
            raised.append(str(error))
        return original(*args, **options)

    places = {"a part": (registry, "find"), "open_session": (registry, "find"), "adopt": (Ledger, "note")}
    place, name = places.get(outer, (registry.frames, "check_free"))
    original = getattr(place, name)
    monkeypatch.setattr(place, name, interrupted)
    OPENERS[outer](frame, mine, path)
    assert mine.dp.session.spent == ("epsilon=0.1" if outer == "a part" else "epsilon=0")
    assert len(raised) == 1
    assert raised[0].startswith("pandas_dp was called in the middle of opening a budget")


IMPLICIT = """
import pandas as pd
import pandas_dp
from pandas_dp.core.ledger import Ledger
from pandas_dp.session.session import implicits
df, raised, original = pd.DataFrame({"age": [31, 45, 62] * 1000}), [], Ledger.open

def interrupted(*args, **options):
    Ledger.open = original
    try:
        df.dp(epsilon=5).count()
    except pandas_dp.PandasDPError as error:
        raised.append(str(error)[:36])
    return original(*args, **options)

Ledger.open = interrupted
df.dp(epsilon=5).count()
print(raised, len(implicits), df.dp.session.spent)
"""


def test_a_first_question_in_the_middle_of_another_opens_no_second_session():
    done = interpreter.run(IMPLICIT)
    assert done.stdout == "['pandas_dp was called in the middle o'] 1 epsilon=5\n", done.stderr


def test_after_a_refused_opening_the_next_one_is_open():
    with pytest.raises(PandasDPError):
        budget().adopt(budget(), reason="no frame")
    budget().adopt(ages(), reason="a part")
