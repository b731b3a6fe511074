"""A charge pays for one draw: for that of another process, where the one that paid ended before it drew."""

from __future__ import annotations

from fractions import Fraction as F

import pytest
from support.ledgers import ONE, UNIT, pure

from pandas_dp.core import records
from pandas_dp.core.budget import Budget
from pandas_dp.core.ledger import open_ledger
from pandas_dp.core.ledger_reading import MARK
from pandas_dp.core.privacy import PrivacyLoss
from pandas_dp.errors import BudgetExceededError, LedgerError
from pandas_dp.session import ledger_files


def charge(ledger, key="k", epsilon="0.4", waits=True, **more):
    return ledger.reserve("data", key, "count()", f"epsilon={epsilon}", pure(epsilon), UNIT, waits=waits, **more)


@pytest.fixture
def opened(ledger):
    ledger.open("data", ONE, UNIT)
    return ledger


def test_a_charge_that_waits_is_used_once(opened):
    first = charge(opened)
    assert (charge(opened), charge(opened), opened.state("data").epsilon) == (first, first, F(2, 5))
    assert opened.stored("data", "k") is None
    opened.begin("data", first)
    with pytest.raises(LedgerError, match="another process draws for this charge"):
        opened.begin("data", first)
    assert charge(opened) == first + 2  # after the entry of the draw
    assert opened.state("data").epsilon == F(4, 5)
    opened.record("data", first, "[1]")
    assert opened.stored("data", "k") == (first, "[1]")
    assert [(e.kind, e.query, e.price) for e in opened.entries("data")][2] == ("draw", f"entry {first}", "")
    opened.verify()
    assert ledger_files.damaged(opened) == []


OTHERS = {
    "another question": {"key": "l"},
    "another price": {"epsilon": "0.3"},
    "one that asks for a draw of its own": {"waits": False},
}


@pytest.mark.parametrize("other", OTHERS)
def test_nobody_else_uses_it(opened, other):
    first = charge(opened)
    assert charge(opened, **OTHERS[other]) == first + 1
    assert opened.waiting("data", "k", opened.rule("data").charge(pure("0.4"))) == first


def test_an_ordinary_charge_never_waits(opened):
    """Nor does one that an older version wrote: it had drawn without a word."""
    first = charge(opened, waits=False)
    assert charge(opened) == first + 1
    with pytest.raises(LedgerError):
        opened.begin("data", first)
    for none in (1, first + 5):
        with pytest.raises(LedgerError):
            opened.begin("data", none)


def test_it_is_used_where_nothing_is_left(opened):
    first = charge(opened, epsilon="1")
    with pytest.raises(BudgetExceededError):
        charge(opened, "l")
    assert charge(opened, epsilon="1") == first


def test_it_is_charged_again_once_sums_are_of_another_currency(opened):
    """The divergence that the past was counted at is that of any mechanism, not of this one."""
    first = charge(opened, epsilon="0.1")
    opened.amend("data", Budget.of(3, F(1, 10**6)), UNIT, "extend: more")
    assert charge(opened, epsilon="0.1") > first + 1


def test_a_charge_waits_by_its_entry_alone(opened):
    """A mark that an older version stored for one, or for an entry that a kill took back, is not believed, and gives way."""
    first, marks = charge(opened), []
    opened.begin("data", first)
    for sequence in (first, first + 2):
        marks.append((1, sequence, MARK, records.digest("results", 1, sequence, MARK)))
    opened._store._connection.executemany("INSERT INTO results VALUES (?, ?, ?, ?)", marks)
    second = charge(opened, "l", waits=False)
    assert second == first + 2
    for key, paid in (("k", first), ("l", second)):
        assert opened.waiting("data", key, opened.rule("data").charge(pure("0.4"))) is None
        assert opened.stored("data", key) is None
        with pytest.raises(LedgerError):
            opened.begin("data", paid)
    assert [e.recorded for e in opened.entries("data")] == [False] * 4
    opened.record("data", second, "[1]")
    assert opened.stored("data", "l") == (second, "[1]")


def test_what_waits_is_told_from_what_was_paid_for_nothing(opened):
    first = charge(opened)
    assert [e.recorded for e in opened.entries("data")] == [False, True]
    opened.begin("data", first)
    assert [e.recorded for e in opened.entries("data")] == [False, False, False]


@pytest.mark.parametrize("since", [None, PrivacyLoss()])
def test_where_an_older_copy_was_put_back_every_draw_is_charged(tmp_path, since):
    """The copy does not know of the draw that was made since."""
    path, copy = tmp_path / "visits.dpledger", str(tmp_path / "copy.dpledger")
    ledger = open_ledger(path)
    ledger.open("data", Budget.of(3), UNIT)
    first = charge(ledger)
    ledger_files.backup(ledger, copy)
    ledger.begin("data", first)
    ledger.close()
    older = open_ledger(copy)
    ledger_files.restore(older, since, "said")
    if since is None:
        with pytest.raises(BudgetExceededError):
            charge(older)
    else:
        assert charge(older) > first
    older.close()


def test_an_older_copy_that_is_put_back_in_silence_is_noticed(tmp_path, monkeypatch):
    """Its charges are those of the newer file, but for the draw."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = tmp_path / "visits.dpledger"
    ledger = open_ledger(path)
    ledger.open("data", ONE, UNIT)
    first = charge(ledger)
    older = path.read_bytes()
    ledger.begin("data", first)
    ledger.close()
    path.write_bytes(older)
    again = open_ledger(path)
    with pytest.raises(LedgerError, match="older than one that was open here"):
        charge(again)
    again.close()
