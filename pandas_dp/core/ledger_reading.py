"""What a ledger says: budgets, sums, entries and stored results, read in pieces while others go on charging."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pandas_dp.core import records
from pandas_dp.core.budget import Budget, Charge, State
from pandas_dp.core.database import READ, Store
from pandas_dp.core.filters import Filter
from pandas_dp.core.period_sums import Sums, read
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.core.records import Row
from pandas_dp.errors import LedgerError

PIECE = 10_000  # entries that are read at once
MARK = b"{}"  # what older versions stored in place of a result that was still to be drawn: no answer, and not believed
# of an entry: its charge pays for a draw that is told by an entry of its own, and there is none yet
UNDRAWN = """time LIKE '% waits' AND NOT EXISTS (SELECT 1 FROM entries AS later WHERE later.budget = entries.budget AND
    later.sequence > entries.sequence AND later.kind = 'draw' AND later.query = 'entry ' || entries.sequence)"""
# entries of a budget under a key: the index only says where to look
UNDER = """SELECT sequence FROM entries NOT INDEXED WHERE budget = ?1 AND +key = ?2 AND sequence IN
    (SELECT sequence FROM entries INDEXED BY entries_by_key WHERE budget = ?1 AND key = ?2)"""


@dataclass(frozen=True)
class LedgerEntry:
    """One line of the record.

    Attributes
    ----------
    sequence : int
        1, 2, 3, ... within the budget.
    time : datetime
        When it was written, for display only.
    kind : str
        ``"open"``, ``"query"``, ``"amend"``, or the kind of a note.
    query, price : str
        Public texts.
    charge : Charge or None
        What was charged; None for entries that cost nothing.
    recorded : bool
        Whether the noisy result is stored too, or nothing was drawn for the charge yet, see `Ledger.begin`.
    """

    sequence: int
    time: datetime
    kind: str
    query: str
    price: str
    charge: Charge | None
    recorded: bool


class Readable:
    """The part of a `Ledger` that writes nothing."""

    _store: Store
    _seen: dict[str, int]  # by name: the last entry this process knows of
    _ids: dict[str, int]  # and the number of its budget

    @property
    def path(self) -> str | None:
        """The canonical path; None in memory."""
        return self._store.path

    def heads(self) -> dict[str, str]:
        """Return the names of all budgets, oldest first, and the digest of each one's last entry."""
        query = "SELECT name, head FROM budgets ORDER BY id"
        return dict(self._store.transact(READ, lambda connection: connection.execute(query).fetchall()))

    def budget(self, name: str) -> tuple[Budget, PrivacyUnit] | None:
        """Return the terms of a budget, or None when there is none of this name."""
        row = self._store.transact(READ, lambda connection: self._find(connection, name))
        return None if row is None else (row.rule.budget, row.privacy_unit)

    def rule(self, name: str) -> Filter:
        """Return the filter that decides about this budget."""
        return self._read(name).rule

    def state(self, name: str) -> State:
        """Return what is spent, in O(1); of a budget with periods what a new one starts with, see `periods`."""
        return State.from_text(self._read(name).state)

    def periods(self, name: str) -> tuple[State, dict[int, State], Sums]:
        """Return what every period starts with, the sums of each that was asked, and what is held of all of them."""

        def look(connection: sqlite3.Connection) -> tuple[State, dict[int, State], Sums]:
            row = self._row(connection, name)
            return State.from_text(row.state), read(connection, row.id, row.state), Sums.of(row.state)

        return self._store.transact(READ, look)

    def stored(self, name: str, key: str) -> tuple[int, str] | None:
        """Return the latest recorded result of an identical query after its sequence number; None where there is none.

        Raises
        ------
        LedgerError
            It is damaged. Another draw would be charged, so it is never made without being asked for.
        """

        def look(connection: sqlite3.Connection) -> Any:
            row = self._row(connection, name)
            found = connection.execute(
                f"SELECT sequence, result, digest FROM results WHERE budget = ?1 AND sequence IN ({UNDER}) "  # noqa: S608
                "AND result IS NOT ?3 ORDER BY sequence DESC LIMIT 1",
                (row.id, records.fingerprint(records.encode(key)), MARK),
            ).fetchone()
            return found and (*found, records.digest("results", row.id, *found[:2]))

        found = self._store.transact(READ, look)
        if found is None:
            return None
        sequence, text, written, digest = found
        if written != digest:
            raise LedgerError(
                f"the stored answer of this question (entry {sequence}) is damaged and cannot be given again; nothing was "
                "charged. A new draw is paid like a new question: type fresh=True, df.dp(epsilon=0.5, fresh=True)"
            )
        return sequence, text.decode("utf-8", "surrogatepass")

    def waiting(self, name: str, key: str, charge: Charge) -> int | None:
        """Return an entry of just this charge under a key that waits for its draw, if there is one; see `Ledger.begin`."""
        return self._store.transact(READ, lambda found: waiting(found, self._row(found, name), key, charge))

    def shown(self, name: str) -> dict[int, str]:
        """Return what was said of the answers, by sequence number; damaged texts are left out."""
        budget, told = self._read(name).id, {}
        for i, text, written in self._pieces("sequence, result, digest FROM answers", budget):
            if written == records.digest("answers", budget, i, text):
                told[i] = text.decode("utf-8", "surrogatepass")
        return told

    def entries(self, name: str) -> list[LedgerEntry]:
        """Return the whole record of a budget, oldest first."""
        # digits behind the second are random, see `records.append`
        columns = (
            "sequence, substr(time, 1, 19) || '+00:00', kind, query, price, charge, "
            f"ifnull(result != x'{MARK.hex()}', 0) OR {UNDRAWN} FROM entries LEFT JOIN results USING (budget, sequence)"
        )
        try:
            return [
                LedgerEntry(i, datetime.fromisoformat(t), kind, query, price, c and Charge.from_text(c), bool(r))
                for i, t, kind, query, price, c, r in self._pieces(columns, self._read(name).id)
            ]
        except (ValueError, TypeError, AttributeError, ArithmeticError) as error:
            raise LedgerError(records.DAMAGED) from error

    def _read(self, name: str) -> Row:
        return self._store.transact(READ, lambda connection: self._row(connection, name))

    def _pieces(self, columns: str, budget: int) -> Iterator[Any]:
        """Read what is only added to in pieces, between which others may charge: nobody can while somebody reads."""
        query, last = f"SELECT {columns} WHERE budget = ? AND sequence > ? ORDER BY sequence LIMIT {PIECE}", 0

        def look(connection: sqlite3.Connection) -> list[Any]:
            return connection.execute(query, (budget, last)).fetchall()

        while rows := self._store.transact(READ, look):
            yield from rows
            last = rows[-1][0]

    def verify(self) -> None:
        """Read every entry and raise LedgerError on any damage to the tables, entries and sums; stored answers are not read.

        It takes some twenty microseconds an entry. Read is a copy, so that nobody has to wait for it.
        """
        with closing(sqlite3.connect("")) as copy:  # a file that has no name and goes with the connection
            self._store.copy(copy)
            try:
                records.verify(copy)
            except (sqlite3.Error, UnicodeDecodeError) as error:
                raise LedgerError(records.DAMAGED) from error

    def chains(self) -> dict[str, tuple[str, int, str]]:
        """Return of each budget a name that only copies of this file have, too, and number and digest of its last entry."""
        rows = self._store.transact(READ, records.rows)
        return {row.name: (f"{self._store.identifier}/{row.id}", row.last, row.head) for row in rows}

    def _find(self, connection: sqlite3.Connection, name: str) -> Row | None:
        """Read the row of a budget, in O(1); refuse one that is damaged or lost entries this process saw."""
        row = records.find(connection, name)
        seen = self._seen.get(records.plain(name), 0)
        if (0 if row is None else row.last) < seen:
            raise self._store.die("the ledger lost charges that this process saw: it was replaced or damaged")
        if row is not None:
            self._seen[row.name], self._ids[row.name] = row.last, row.id
        return row

    def _row(self, connection: sqlite3.Connection, name: str) -> Row:
        row = self._find(connection, name)
        if row is None:
            raise LedgerError(f"the ledger has no budget named {name!r}")
        return row


def waiting(connection: sqlite3.Connection, row: Row, key: str, charge: Charge) -> int | None:
    """Return an entry of just this charge under a key that waits for its draw, if there is one; see `Ledger.begin`.

    None where an older copy was put back: the draw may have been made since that was copied.
    """
    asked = row.id, records.fingerprint(records.encode(key)), charge.to_text()
    found = connection.execute(f"{UNDER} AND charge = ?3 AND {UNDRAWN} LIMIT 1", asked).fetchone()
    return None if found is None or records.restored(connection, row) else found[0]


def charged(connection: sqlite3.Connection, row: Row, key: str) -> int | None:
    """Return the sequence number of the first entry under a key, if there is one."""
    asked = row.id, records.fingerprint(records.encode(key))
    found = connection.execute(f"{UNDER} ORDER BY sequence LIMIT 1", asked).fetchone()
    return found and found[0]  # type: ignore[no-any-return]
