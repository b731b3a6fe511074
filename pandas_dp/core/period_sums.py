"""The sums that each period of a budget has for itself: which charges are admitted, and how the sums are written down.

A budget of a unit with periods protects *unit-periods*: pair (v, j) is all rows of unit v in period j, in every table that
is ever asked. X and X' are neighbours if X' is X without the rows of one pair, in every version of it. A question reads the
rows of a public, finite set S of periods, and its loss l is that of one pair. It is admitted iff for *every* j in S the
filter of the budget admits l at the sums of j; then l is added to the sums of every j in S, in one transaction. Else nothing
changes.

*Theorem 1.* Whoever picks questions, S, prices and when to stop, and also the other rows of later versions, after having
seen all answers about all periods: everything that is released is private for these neighbours with the total of *one*
period, as the filter states it (pure: epsilon; plan, hybrid, rdp, gdp: epsilon and delta; zcdp: rho outside an event whose
probability is the sum of the deltas that were charged). *Proof.* Fix neighbours that differ in (v, j). (a) A question with j
not in S: its statistic reads rows of other periods only, and which rows of a pair count is drawn for each pair by itself, so
given the past its answer has one law under both. (b) Admission is a function of public sums, so of the past. (c) A question
with j in S: given the past both laws are within l, for what counts of one pair has the bounds that the sensitivity of the
statistic is stated for. Let the analyst together with everything about other periods (all rows but those of (v, j), the
noise, sums and refusals on their account) be one randomised player. It is the same under both tables, and talks to a single
session with one filter, that of j: it is one of the strategies over which the theorem of that filter is stated, see
`core.filters`, and the whole transcript is its post-processing. A stream is charged in full when it is opened, and S is
fixed then. (Block composition: Lécuyer, Spahn, Vodrahalli, Geambasu, Hsu 2019.)

*Theorem 2.* Somebody who is present in k periods, a set K, is covered as follows. *Pure*: by the sum over K of what each
period spent, at most k epsilon: a chain of k neighbours leads to the table without him, and a question over S costs |S and
K| epsilons. *With a delta*: always by (k epsilon, delta (e^(k epsilon) - 1) / (e^epsilon - 1)), the group bound of the whole
transcript, which Theorem 1 makes (epsilon, delta); and by (k epsilon, k delta) as long as every charge named one period, for
then the periods are k interactive mechanisms that run side by side (Vadhan, Wang 2021; Lyu 2022). `Sums.widest` says whether
that is so.

A charge that names one of two periods whose rows it reads breaks Theorem 1: the other period never pays.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from typing import NamedTuple

from pandas_dp.core.budget import Charge, State
from pandas_dp.errors import LedgerError

MOST = 10_000  # periods of one question
TABLE = """CREATE TABLE periods (
    budget INTEGER NOT NULL, period INTEGER NOT NULL, state TEXT NOT NULL, seal INTEGER NOT NULL, PRIMARY KEY (budget, period)
) WITHOUT ROWID"""
DAMAGED = (
    "the ledger is damaged; nothing can be charged to it. Restore the file from a back-up, with no charge missing, or ask "
    "under another ledger: what was released stays spent beside it"
)
Span = tuple[int, int]
After = Callable[[State], State | None]
States = dict[int, State]


class Sums(NamedTuple):
    """What the row of a budget holds of its periods behind the sums that a new one starts with.

    How many periods have sums, and the sums of their numbers and of their seals: it is sealed itself, so a row of a period that
    is lost or altered is damage, and never a period of which nothing is spent. `widest` is the most periods of one charge.
    """

    many: int = 0
    numbers: int = 0
    seals: int = 0
    widest: int = 0

    @classmethod
    def of(cls, text: str) -> Sums:
        """Read what stands behind the sums of a budget."""
        return cls(*(int(number) for number in text.partition(";")[2].split()))

    def behind(self, state: str) -> str:
        """Write it behind them."""
        return f"{state.partition(';')[0]};{' '.join(map(str, self))}"


def check(connection: sqlite3.Connection, budget: int, held: str) -> None:
    """Compare the rows of periods with what the row of their budget holds.

    Raises
    ------
    LedgerError
    """
    query = "SELECT count(*), coalesce(sum(period), 0), coalesce(sum(seal), 0) FROM periods WHERE budget = ?"
    if connection.execute(query, (budget,)).fetchone() != Sums.of(held)[:3]:
        raise LedgerError(DAMAGED)


def read(connection: sqlite3.Connection, budget: int, held: str, span: Span | None = None) -> dict[int, State]:
    """Sums of the periods that have any, of a span or of all; `held` is what the row of the budget holds.

    Raises
    ------
    LedgerError
        A seal does not fit, or, where all are read, one is missing.
    """
    if ";" not in held:  # nor is there a table, in a file without such budgets
        return {}
    if span is None:
        check(connection, budget, held)
    first, last = span or (-(1 << 62), 1 << 62)
    query = "SELECT period, state, seal FROM periods WHERE budget = ? AND period BETWEEN ? AND ? ORDER BY period"
    rows = connection.execute(query, (budget, first, last)).fetchall()
    if any(seal != _seal(budget, period, text) for period, text, seal in rows):
        raise LedgerError(DAMAGED)
    known = {text: State.from_text(text) for _, text, _ in rows}  # most periods have the same sums
    return {period: known[text] for period, text, _ in rows}


def pay(connection: sqlite3.Connection, budget: int, held: str, span: Span, after: After) -> str | dict[int, State]:
    """Let every period of a span pay, or none.

    For all inputs: where a text is returned, the new one of the budget's row, each period of the span has the sums that `after`
    gives for those it had. Otherwise nothing was written, and what is returned are the periods that cannot pay, and their sums.

    Raises
    ------
    LedgerError
    """
    states, start = read(connection, budget, held, span), State.from_text(held)
    if len(states) <= span[1] - span[0]:  # some period is new, or its row is lost
        check(connection, budget, held)
    asked = {period: states.get(period, start) for period in range(span[0], span[1] + 1)}
    made = {state: after(state) for state in set(asked.values())}
    if poor := {period: state for period, state in asked.items() if made[state] is None}:
        return poor
    paid = {period: state for period, state in ((period, made[state]) for period, state in asked.items()) if state}
    sums = _write(connection, budget, Sums.of(held), states, paid)
    return sums._replace(widest=max(sums.widest, len(asked))).behind(held)


def charge_all(connection: sqlite3.Connection, budget: int, held: str, after: Callable[[State], State]) -> str:
    """Let a budget pay, and of one with periods each, those to come as well: what was answered may have been about any.

    Returns the new text of the row.

    Raises
    ------
    LedgerError
    """
    states, start = read(connection, budget, held), after(State.from_text(held)).to_text()
    if not states:
        return start
    return _write(connection, budget, Sums.of(held), states, {j: after(s) for j, s in states.items()}).behind(start)


def _write(connection: sqlite3.Connection, budget: int, sums: Sums, old: States, new: States) -> Sums:
    """Write sums of periods in place of those before, and return what the row of the budget then holds."""
    texts = {state: state.to_text() for state in {*old.values(), *new.values()}}
    rows = [(budget, period, texts[state], _seal(budget, period, texts[state])) for period, state in new.items()]
    connection.executemany("INSERT OR REPLACE INTO periods VALUES (?, ?, ?, ?)", rows)
    more = new.keys() - old.keys()
    seals = sum(row[-1] for row in rows) - sum(_seal(budget, period, texts[state]) for period, state in old.items())
    return Sums(sums.many + len(more), sums.numbers + sum(more), sums.seals + seals, sums.widest)


def spread(states: dict[int, State], start: State, charged: Charge, after: Callable[[State, Charge], State]) -> State:
    """Add what an entry says to the sums of its periods, of all where it names none; return what a new one starts with."""
    first, last = charged.periods or (0, -1)
    for period in states if charged.periods is None else range(first, last + 1):
        states[period] = after(states.get(period, start), charged)
    return after(start, charged) if charged.periods is None else start


def _seal(budget: int, period: int, state: str) -> int:
    """A digest of 44 bits: half a million of them add up in the 63 that SQLite counts in."""
    return int.from_bytes(hashlib.sha256(b"%d %d %b" % (budget, period, state.encode())).digest()[:8]) >> 20
