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

*Theorem 3.* A budget may have a *lifetime*, a cap. Then a question about |S| periods is admitted iff, beside the filter of
every j in S, its epsilon is finite, its delta is 0, and |S| times that epsilon and `Sums.person`, the sum of the same of all
questions before, are at most the cap. Everything that is released is then (cap, 0)-private for the neighbours that differ in
*all* rows of one unit that have a time, in every version. *Proof.* A question over S reads rows of periods in S alone. From
the one table to the other leads a chain of at most |S| neighbours, each without one more pair of the unit in S, and from each
to the next its law changes by at most its epsilon: |S| epsilons in all. Whether it is admitted is a function of public sums.
So for these neighbours the session is one with a `PureFilter` whose total is the cap, whatever the other sums admit. A charge
that names no period, as of an older copy put back, may have been about any number of them: from then on nothing is admitted.

A charge that names one of two periods whose rows it reads breaks Theorem 1: the other period never pays. One that adds its
epsilon to the lifetime once for two periods breaks Theorem 3.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from pandas_dp.core.budget import Charge, State, shorten
from pandas_dp.core.filters import Filter
from pandas_dp.errors import LedgerError

MOST = 10_000  # periods of one question
LIFETIME = -1  # beside the periods that cannot pay: the cap on all of them
TABLE = """CREATE TABLE periods (
    budget INTEGER NOT NULL, period INTEGER NOT NULL, state TEXT NOT NULL, seal INTEGER NOT NULL, PRIMARY KEY (budget, period)
) WITHOUT ROWID"""
DAMAGED = (
    "the ledger is damaged; nothing can be charged to it. Restore the file from a back-up, with no charge missing, or ask "
    "under another ledger: what was released stays spent beside it"
)
Span = tuple[int, int]
States = dict[int, State]


class Sums(NamedTuple):
    """What the row of a budget holds of its periods behind the sums that a new one starts with.

    How many periods have sums, and the sums of their numbers and of their seals: it is sealed itself, so a row of a period that
    is lost or altered is damage, and never a period of which nothing is spent. `widest` is the most periods of one charge.
    `person` adds up, where there is a cap, the epsilon of each charge times the number of its periods.
    """

    many: int = 0
    numbers: int = 0
    seals: int = 0
    widest: int = 0
    person: Fraction = Fraction(0)

    @classmethod
    def of(cls, text: str) -> Sums:
        """Read what stands behind the sums of a budget."""
        numbers = text.partition(";")[2].split()
        many, of, seals, widest = map(int, numbers[:4] or "0000")
        return cls(many, of, seals, widest, Fraction(*numbers[4:]))

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


def pay(connection: sqlite3.Connection, budget: int, held: str, rule: Filter, charge: Charge) -> str | dict[int, State]:
    """Let every period of a charge pay, or none.

    For all inputs: where a text is returned, the new one of the budget's row, each period of the charge has the sums that the
    filter gives for those it had, and `Sums.person` is at most the cap, if there is one. Otherwise nothing was written, and
    what is returned are the periods that cannot pay, and their sums, and under `LIFETIME`, if there is a cap, `Sums.person`.

    Raises
    ------
    LedgerError
    """
    span = charge.periods or (0, -1)
    states, start = read(connection, budget, held, span), State.from_text(held)
    if len(states) <= span[1] - span[0]:  # some period is new, or its row is lost
        check(connection, budget, held)
    asked = {period: states.get(period, start) for period in range(span[0], span[1] + 1)}
    made = {state: rule.admit(state, charge) for state in set(asked.values())}
    poor = {period: state for period, state in asked.items() if made[state] is None}
    person = capped(rule.budget.lifetime, start, Sums.of(held).person, charge)
    if person is None or (poor and rule.budget.lifetime):
        poor[LIFETIME] = replace(start, epsilon=Sums.of(held).person, unbounded=start != State.zero())
    if person is None or poor:
        return poor
    paid = {period: state for period, state in ((period, made[state]) for period, state in asked.items()) if state}
    sums = _write(connection, budget, Sums.of(held), states, paid)
    return sums._replace(widest=max(sums.widest, len(asked)), person=person).behind(held)


def capped(lifetime: Fraction | None, start: State, person: Fraction, charge: Charge) -> Fraction | None:
    """What `Sums.person` is after a charge; None where the cap does not admit it. Nothing is added up where there is none."""
    if lifetime is None:
        return person
    first, last = charge.periods or (0, -1)
    after = shorten(person + (last - first + 1) * (charge.epsilon or 0))
    plain = charge.epsilon is not None and not charge.delta and start == State.zero()
    return after if plain and after <= lifetime else None


def charge_all(connection: sqlite3.Connection, budget: int, held: str, after: Callable[[State], State]) -> str:
    """Let a budget pay, and of one with periods each, those to come as well: what was answered may have been about any.

    Returns the new text of the row.

    Raises
    ------
    LedgerError
    """
    states, start = read(connection, budget, held), after(State.from_text(held))
    return rewrite(connection, budget, held, start, states, {j: after(s) for j, s in states.items()})


def rewrite(connection: sqlite3.Connection, budget: int, held: str, start: State, old: States, new: States) -> str:
    """Put other sums in place of those of all periods and of new ones, and return the new text of the budget's row."""
    return _write(connection, budget, Sums.of(held), old, new).behind(start.to_text()) if new else start.to_text()


def _write(connection: sqlite3.Connection, budget: int, sums: Sums, old: States, new: States) -> Sums:
    """Write sums of periods in place of those before, and return what the row of the budget then holds."""
    texts = {state: state.to_text() for state in {*old.values(), *new.values()}}
    rows = [(budget, period, texts[state], _seal(budget, period, texts[state])) for period, state in new.items()]
    connection.executemany("INSERT OR REPLACE INTO periods VALUES (?, ?, ?, ?)", rows)
    more = new.keys() - old.keys()
    seals = sum(row[-1] for row in rows) - sum(_seal(budget, period, texts[state]) for period, state in old.items())
    return sums._replace(many=sums.many + len(more), numbers=sums.numbers + sum(more), seals=sums.seals + seals)


def spread(states: dict[int, State], start: State, charged: Charge, after: Callable[[State, Charge], State]) -> State:
    """Add what an entry says to the sums of its periods, of all where it names none; return what a new one starts with."""
    first, last = charged.periods or (0, -1)
    for period in states if charged.periods is None else range(first, last + 1):
        states[period] = after(states.get(period, start), charged)
    return after(start, charged) if charged.periods is None else start


def _seal(budget: int, period: int, state: str) -> int:
    """A digest of 44 bits: half a million of them add up in the 63 that SQLite counts in."""
    return int.from_bytes(hashlib.sha256(b"%d %d %b" % (budget, period, state.encode())).digest()[:8]) >> 20
