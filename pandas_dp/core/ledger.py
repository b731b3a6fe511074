"""The durable record of what was spent: the truth about every budget. What it says, stored answers too: `ledger_reading`.

A charge is one transaction: read the sums of the budget, ask its filter, append an entry, write the new sums,
commit. In a file the commit reaches the disk before `reserve` returns, so nothing can be released that was
not charged, whatever dies afterwards. Nothing stored depends on data except results that were released.

The sums are one row, so a charge costs the same after ten entries and after a million. Each entry carries a
digest of itself and of the one before; the row carries the last digest and a seal. This finds damage, not
forgers: whoever may write the file may also write a smaller sum. An older copy put in its place is noticed by the processes
that have it open, and by later ones through `pandas_dp.session.ledger_files`, which remembers outside the file how far it was.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial

from pandas_dp.core import records
from pandas_dp.core.budget import Budget, Charge, State
from pandas_dp.core.database import DURABLE, READ, Store, guard
from pandas_dp.core.files import canonical
from pandas_dp.core.filters import Filter, GDPFilter, PureFilter, filter_for
from pandas_dp.core.ledger_reading import MARK, UNDRAWN, LedgerEntry, Readable, charged, waiting
from pandas_dp.core.period_sums import MOST, charge_all, pay, read, rewrite
from pandas_dp.core.privacy import PrivacyLoss, PrivacyUnit, show
from pandas_dp.core.records import Row
from pandas_dp.errors import LedgerError

__all__ = ["Ledger", "LedgerEntry", "open_ledger"]
LOST = "was when a process ended or a copy of the ledger was put back"
_NOTHING = Charge(Fraction(0), Fraction(0), Fraction(0))
Names = Sequence[str]
Check = Callable[[Names], object]
# Each gets a ledger file when it was opened, and before it is closed: see `pandas_dp.session.ledger_files`
opened: list[Callable[[Ledger], None]] = []
closed: list[Callable[[Ledger], None]] = []
# Errors in words for people, of a charge that a filter does not admit and of other terms: see `pandas_dp.books.budget_words`
refusals: list[Callable[[Filter, dict[int, State], str, Charge, PrivacyUnit], Exception]] = []
differences: list[Callable[[Row, Budget, PrivacyUnit, bool], Exception]] = []


class Ledger(Readable):
    """Budgets and what was charged to them, in memory or in a file. `open_ledger` opens each file only once.

    Safe for threads. A ledger in memory belongs to its process. A ledger file may be shared by the processes
    of one machine.

    Parameters
    ----------
    path : str, path or None
        None: in memory.

    Raises
    ------
    LedgerError
        The file cannot be a ledger, is not one, or cannot be written. It is left as it was.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self._store = Store(None if path is None else canonical(path))
        self._seen: dict[str, int] = {}  # by name: the last entry this process knows of
        self._ids: dict[str, int] = {}  # and the number of its budget
        self.told: Callable[[Ledger, str, int], None] | None = None  # gets every entry before anything is drawn
        self._parsed = ("", State.zero())  # the last sums written, which the next charge is likely to read
        if self.path is not None:
            try:
                for told in opened:
                    told(self)
            except BaseException:
                self._store.close()
                raise
            with guard:
                _ledgers[self.path] = self

    def open(
        self, name: str, budget: Budget, unit: PrivacyUnit, mistaken: bool = False, also: Names = (), check: Check = len
    ) -> bool:
        """Open a budget, or join one on the terms it has or, if its total was raised since, those it had before.

        Before one is opened, the rows of all budgets are checked: damage must not make an old budget look new.

        Other terms replace those on record, which keeps both, while nothing was asked and whoever opened it was `mistaken`:
        nothing was released that could have been promised another unit. A budget that is new opens those named `also` with it;
        before, `check` is told the names there are, and may refuse, while nobody else can open one.

        Returns
        -------
        bool
            True: newly opened; False: joined, with all that was spent before.

        Raises
        ------
        LedgerError
            It has other terms and was used. The message names the term and what to type.
        """

        def settle(connection: sqlite3.Connection) -> Row | None:
            row = self._find(connection, name)  # another process may have been faster
            if row is None:
                if self.path is not None:
                    records.check_rows(connection)
                check([known for (known,) in connection.execute("SELECT name FROM budgets ORDER BY id")])
                for new in (name, *(other for other in also if self._find(connection, other) is None)):
                    records.insert(connection, new, filter_for(budget), unit)
            elif not _same(connection, row, budget, unit):
                used = records.used(connection, row)
                if used or not mistaken:
                    raise differences[0](row, budget, unit, used)
                why = "nothing was asked on the terms before"
                self._replace(connection, row, budget, unit, "open", f"{records.words(unit)}; {why}")
            return row

        def look(connection: sqlite3.Connection) -> bool:
            row = self._find(connection, name)
            return row is not None and _same(connection, row, budget, unit)

        if self._store.refusal:  # also where the budget is on record, and nothing would be written
            raise LedgerError(self._store.refusal)
        return not self._store.transact(READ, look) and self._store.transact(DURABLE, settle) is None

    def reserve(
        self,
        name: str,
        key: str | None,
        query: str,
        price: str,
        loss: PrivacyLoss,
        unit: PrivacyUnit,
        *,
        once: bool = False,
        sole: bool = False,
        waits: bool = False,
        periods: tuple[int, int] | None = None,
    ) -> int:
        """Charge a query, durably, before anything is computed.

        For all inputs: when this returns, the charge is part of the sums and every later call of any thread
        or process meets it. When it raises, nothing may be released; a refused charge left no trace.

        Parameters
        ----------
        name : str
            The budget.
        key : str or None
            Identifies the query among all of this budget; None: its result is never served again.
        query, price : str
            Public texts, for the record and for the refusal.
        loss : PrivacyLoss
            The whole price; the budget's own filter turns it into the charge.
        unit : PrivacyUnit
            The unit that the loss is for.
        once : bool
            What was charged under this key before, by whatever process, is paid: it is not charged again.
        sole : bool
            Whether this is the difference between two draws, see `RefinedLaplace`: only in a plain pure budget, for in all
            others the step is not worth the difference, and only if nothing was charged under this key, with or without a
            result: the one better draw of its base may have been seen.
        waits : bool
            Whether the draw is made only after `begin`. Where an equal charge under this key waits for its own, as that of a
            process which was killed before, it is taken, and nothing is charged.
        periods : (int, int), optional
            The first and the last of the periods whose rows are read, where the budget has sums for each: every one of them
            pays, or nothing is charged. See `period_sums`.

        Returns
        -------
        int
            The sequence number, for `record`.

        Raises
        ------
        BudgetExceededError
            The filter does not admit the charge.
        LedgerError, LedgerBusyError
            The charge could not be written, or another process replaced the unit.
        """

        def charge(connection: sqlite3.Connection) -> int | tuple[Filter, dict[int, State], Charge]:
            row = self._row(connection, name)
            if row.unit != records.unit_text(unit):
                raise LedgerError("the terms of this budget were replaced: protect the frame again, df.dp.protect(...)")
            paid = charged(connection, row, key or "") if once or sole else None
            if sole and (paid or type(row.rule) is not PureFilter or records.restored(connection, row)):
                raise LedgerError(f"this answer cannot be refined again: it is being refined, or {LOST}")
            if paid:
                return paid
            rule, asked = row.rule, row.rule.charge(loss)
            asked = asked if periods is None else replace(asked, periods=periods)
            if waits and (found := waiting(connection, row, key or "", asked)):
                return found
            made = pay(connection, row.id, row.state, rule, asked) if periods else self._charged(row, asked)
            if not isinstance(made, str):
                return rule, made, asked
            return records.append(connection, row._replace(state=made), "query", query, price, asked, key, waits)

        if (periods is None) != (unit.periods is None) or (periods and not 0 <= periods[1] - periods[0] < MOST):
            raise LedgerError(f"a budget for each period, and no other one, is asked about 1 to {MOST:,} periods")
        result = self._store.transact(DURABLE, charge)
        if isinstance(result, tuple):
            rule, poor, asked = result
            raise refusals[0](rule, poor, price, asked, unit)
        return self._saw(name, result)

    def _charged(self, row: Row, asked: Charge) -> str | dict[int, State]:
        """The new sums of a budget; those it has, where it cannot pay."""
        text, state = self._parsed
        state = state if text == row.state else State.from_text(row.state)
        after = row.rule.admit(state, asked)
        if after is None:
            return {0: state}
        self._parsed = (after.to_text(), after)
        return self._parsed[0]

    def record(self, name: str, sequence: int, result: str | None, told: str | None = None) -> None:
        """Store the noisy result of a charged query and what is said of it, for reports of this file; the first ones stay.

        But for the mark of an older version, which is no result. May be lost without harm.

        Raises
        ------
        LedgerError
            There is no such budget, or nothing can be written. What was not charged gets no result.
        """

        def write(connection: sqlite3.Connection) -> None:
            row = self._row(connection, name)
            for table, given in zip(records.STORED, (result, told), strict=True):
                if given is not None:
                    text = records.encode(given)
                    connection.execute(
                        f"INSERT INTO {table} SELECT budget, sequence, ?, ? FROM entries "  # noqa: S608 - two words
                        "WHERE budget = ? AND sequence = ? AND kind = 'query' ON CONFLICT (budget, sequence) DO UPDATE "
                        "SET result = excluded.result, digest = excluded.digest WHERE result = ?",
                        (text, records.digest(table, row.id, sequence, text), row.id, sequence, MARK),
                    )

        self._store.transact(DURABLE, write)

    def begin(self, name: str, sequence: int) -> None:
        """Take, durably, the one draw that a charge waits for.

        For all inputs: of all calls for one entry, by whatever threads and processes, at most one returns. So a charge pays for
        one draw, whoever takes it: what a process did that ended before this, it did without noise, and released nothing. An
        entry of its own makes a copy of the file from before an older one, which `restore` and witnesses know for what it is.

        Raises
        ------
        LedgerError
            It was taken before, or cannot be written. Nothing may be drawn.
        """

        def write(connection: sqlite3.Connection, row: Row) -> int:
            query = f"SELECT 1 FROM entries NOT INDEXED WHERE budget = ? AND sequence = ? AND {UNDRAWN}"  # noqa: S608
            if connection.execute(query, (row.id, sequence)).fetchone() is None:
                raise LedgerError("another process draws for this charge")
            return records.append(connection, row, "draw", f"entry {sequence}", "")

        self._append(name, write)

    def amend(self, name: str, budget: Budget, unit: PrivacyUnit, why: str) -> None:
        """Replace the total of a budget, or how many rows of a unit count, on record; what is spent stays spent.

        Everything released is then private at the new total, provided that the owner did not let released
        answers decide on it. The Renyi order stays the one at which divergences were summed so far.

        How many rows count may follow from released answers: each answer's loss is that of any change of one unit, under the
        bound that it was asked with, so losses of answers under several bounds add up as others do. `reserve` refuses a
        question under a bound that is no longer on record.

        Raises
        ------
        LedgerError
            The column or the relation of the unit differs from that on record, or more is spent than the new total.
        """

        def write(connection: sqlite3.Connection, row: Row) -> int:
            known = row.privacy_unit
            if (known.column, known.relation, known.periods) != (unit.column, unit.relation, unit.periods):
                raise differences[0](row, budget, unit, True)
            return self._replace(connection, row, budget, unit, "amend", why)

        self._append(name, write)

    def _replace(
        self, connection: sqlite3.Connection, row: Row, budget: Budget, unit: PrivacyUnit, kind: str, why: str
    ) -> int:
        """Put a budget on other terms; see `open` and `amend` for when its unit may be another one."""
        old, state = row.rule, State.from_text(row.state)
        used, known = records.used(connection, row), row.rule.budget.accountant
        if used and not (old.budget.pure or budget.pure) and budget.accountant != known:  # sums of another currency
            raise LedgerError(f"the accountant of a used budget cannot change: type accountant={known!r} to continue")
        new = filter_for(budget, old.order if used else None)
        states = read(connection, row.id, row.state)
        # of what is not Gaussian it knows no sum
        over = isinstance(old, GDPFilter) and any(old.admit(s, _NOTHING) is None for s in (state, *states.values()))
        if over or records.restored(connection, row, all_of_it=True):
            raise LedgerError(
                "more was put on record than this budget can count, so its total cannot be raised: name= opens another one"
            )
        if used and (old.budget.plan or budget.plan):
            raise LedgerError(
                "a plan is declared before the first answer: open another budget, protect(..., name='plan')"
            )
        if used and old.budget.lifetime != budget.lifetime:
            raise LedgerError("the cap for a lifetime is set before the first answer: open another budget, name='new'")
        if isinstance(old, PureFilter) and not isinstance(new, PureFilter):
            records.verify(connection)  # a damaged entry must not make the past look cheap
            before, (state, states) = states, records.recharge(connection, row, new)
            row = row._replace(state=rewrite(connection, row.id, row.state, state, before, states))
        # Sums only grow: the test they pass now would have admitted every earlier charge too.
        if any(new.admit(sums, _NOTHING) is None for sums in (state, *states.values())):
            raise LedgerError(
                "more is spent than the new total, see session.spent: type a larger one, and delta= where Gaussian noise or "
                "deltas were paid"
            )
        records.make_room(connection, unit)
        return records.append(connection, row.amended(new, state, unit), kind, why, records.words(budget))

    def carry(self, name: str, text: str, losses: list[PrivacyLoss]) -> None:
        """Charge what was answered elsewhere, in one entry, also where the filter would refuse it: it then refuses all else."""

        def write(connection: sqlite3.Connection, row: Row) -> int:
            total = State.zero()
            for loss in losses:
                total = total.plus(row.rule.charge(loss))
            charge = Charge(total.epsilon, total.renyi, Fraction(0))
            made = charge_all(connection, row.id, row.state, partial(records.charged_state, row.rule, charge=charge))
            price = f"epsilon={show(total.epsilon)}"
            return records.append(connection, row._replace(state=made), "carried", text, price, charge)

        self._append(name, write)

    def note(self, name: str, kind: str, text: str) -> None:
        """Append an entry that costs nothing, such as an adopted frame."""
        self._append(name, lambda connection, row: records.append(connection, row, kind, text, ""))

    def _append(self, name: str, write: Callable[[sqlite3.Connection, Row], int]) -> None:
        """Let `write` append an entry to the row of a budget, durably."""
        self._saw(name, self._store.transact(DURABLE, lambda found: write(found, self._row(found, name))))

    def _saw(self, name: str, sequence: int) -> int:
        name = records.plain(name)
        self._seen[name] = max(sequence, self._seen.get(name, 0))
        if self.told is not None:
            self.told(self, name, sequence)
        return sequence

    def close(self) -> None:
        """Close the ledger. One in memory is gone with it; `open_ledger` opens a file again."""
        for told in closed:
            told(self)
        with guard:
            if self.path is not None and _ledgers.get(self.path) is self:
                del _ledgers[self.path]
            self._store.close()


_ledgers: dict[str, Ledger] = {}
_memory: list[Ledger] = []


def open_ledger(path: str | os.PathLike[str] | None = None) -> Ledger:
    """Open a ledger file, or the one ledger in memory of this process.

    The same file, under whatever name, gives the same object as long as that is not closed. A missing file is
    created, except when this process has it open.
    """
    with guard:
        if path is None:
            if not _memory or _memory[0]._store.dead is not None:
                _memory[:] = [Ledger(None)]
            return _memory[0]
        known = _ledgers.get(canonical(path))
        if known is None:
            return Ledger(path)
        if known._store.dead is not None:
            known._store.revive()
        return known


def _same(connection: sqlite3.Connection, row: Row, budget: Budget, unit: PrivacyUnit) -> bool:
    """Whether a budget has these terms, or had this total before it was extended."""
    return row.privacy_unit == unit and (row.rule.budget == budget or records.had(connection, row, budget))
