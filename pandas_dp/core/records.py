"""How a ledger is written down: five tables, appended to, each entry chained to the one before.

Entries and results are only ever added. The row of a budget carries its sums, so that a charge reads one row, the digest of
its last entry, and a seal over all its columns, so that a flipped bit cannot lower the sums. Stored texts have a digest that
holds where they belong.

Pages of one transaction reach the disk in the order of their numbers, so a process that is killed may leave any first part of
them. All that decides on a charge is in entries therefore, also that one waits for its draw, and that this was begun: they are
chained, and the row of the budget ends the chain, so `verify` tells a part from the whole. A text is stored in another
transaction than the entry it belongs to, and no index is believed without the entry itself.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import uuid
from contextlib import closing
from dataclasses import asdict, fields, replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache, partial
from typing import NamedTuple

from pandas_dp.core import period_sums
from pandas_dp.core.budget import Budget, Charge, State
from pandas_dp.core.filters import Filter, filter_for
from pandas_dp.core.period_sums import DAMAGED as DAMAGED
from pandas_dp.core.privacy import NeighboringRelation, PrivacyLoss, PrivacyUnit, show
from pandas_dp.errors import LedgerError

APPLICATION_ID = int.from_bytes(b"pdDP", "big")
SCHEMA_VERSION, OLDEST_VERSION = 4, 2  # 1, without plans, was never released
PERIODS_VERSION = 5  # of a file with a budget that has periods: an older program refuses it
STORED = ("results", "answers")
ALL = "all that was left"  # the price of an older copy of which nobody knows what was answered since
REFINED = "refine("  # begins the text of an entry that paid the difference between two draws
RESULTS, ANSWERS = (
    f"""CREATE TABLE {table} (
    budget INTEGER NOT NULL, sequence INTEGER NOT NULL, result BLOB NOT NULL, digest BLOB NOT NULL,
    PRIMARY KEY (budget, sequence)
)"""
    for table in STORED
)
META = "CREATE TABLE meta (id TEXT NOT NULL, doubt TEXT NOT NULL, seal TEXT NOT NULL)"
SCHEMA = f"""
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
CREATE TABLE budgets (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, epsilon TEXT NOT NULL, delta TEXT NOT NULL,
    delta_reserved TEXT NOT NULL, accountant TEXT NOT NULL, renyi_order TEXT NOT NULL, plan TEXT NOT NULL,
    unit TEXT NOT NULL,
    state TEXT NOT NULL, last INTEGER NOT NULL, head TEXT NOT NULL, seal TEXT NOT NULL
);
CREATE TABLE entries (
    budget INTEGER NOT NULL, sequence INTEGER NOT NULL, time TEXT NOT NULL, kind TEXT NOT NULL,
    query TEXT NOT NULL, price TEXT NOT NULL, charge TEXT, key BLOB, head TEXT NOT NULL,
    PRIMARY KEY (budget, sequence)
) WITHOUT ROWID;
CREATE INDEX entries_by_key ON entries (budget, key) WHERE key IS NOT NULL;
{RESULTS};
{ANSWERS};
{META};
"""


def begin(connection: sqlite3.Connection) -> None:
    """Write an empty ledger."""
    connection.executescript(f"BEGIN; {SCHEMA}")
    mark(connection, "", uuid.uuid4().hex)
    connection.execute("COMMIT")


def mark(connection: sqlite3.Connection, doubt: str, identifier: str | None = None) -> None:
    """Write down why nothing may be charged to this file, an empty text where it may; a new file gets its identifier."""
    held = (identifier or identify(connection)[0], doubt)
    connection.execute("DELETE FROM meta")
    connection.execute("INSERT INTO meta VALUES (?, ?, ?)", (*held, _seal(held)))


def identify(connection: sqlite3.Connection) -> tuple[str, str]:
    """Return the random identifier of a ledger, which copies share, and why nothing may be charged to this file.

    Raises
    ------
    LedgerError
    """
    found = connection.execute("SELECT id, doubt, seal FROM meta").fetchall()
    if len(found) != 1 or found[0][2] != _seal(found[0][:2]):
        raise LedgerError(DAMAGED)
    return found[0][0], found[0][1]


def schema(connection: sqlite3.Connection) -> frozenset[tuple[object, ...]]:
    """Return all tables, indexes, views and triggers."""
    return frozenset(connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall())


@lru_cache
def own_schema(version: int = SCHEMA_VERSION) -> frozenset[tuple[object, ...]]:
    """Return those that this version writes."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(SCHEMA + (period_sums.TABLE if version == PERIODS_VERSION else ""))
        return schema(connection)


def is_own(connection: sqlite3.Connection) -> bool:
    """Whether tables, indexes, views and triggers are those of the version that the file says."""
    return schema(connection) == own_schema(*connection.execute("PRAGMA user_version").fetchone())


class Row(NamedTuple):
    """The row of one budget as stored, without its seal."""

    id: int
    name: str
    epsilon: str
    delta: str
    delta_reserved: str
    accountant: str
    renyi_order: str
    plan: str
    unit: str
    state: str
    last: int
    head: str

    @property
    def rule(self) -> Filter:
        """The budget's filter, at the order on record."""
        return _rule(self.epsilon, self.delta, self.delta_reserved, self.accountant, self.renyi_order, self.plan)

    @property
    def privacy_unit(self) -> PrivacyUnit:
        """The unit on record."""
        terms = json.loads(self.unit)
        return PrivacyUnit(**{**terms, "relation": NeighboringRelation(terms["relation"])})

    def amended(self, rule: Filter, state: State, unit: PrivacyUnit) -> Row:
        """Return the row on other terms."""
        text = state.to_text() + self.state[len(self.state.partition(";")[0]) :]  # and what it holds of periods
        return Row(self.id, self.name, *_terms(rule), unit_text(unit), text, self.last, self.head)


_SELECT = f"SELECT {', '.join(Row._fields)}, seal FROM budgets "  # noqa: S608 (constant text)
_ENTRIES = "SELECT sequence, time, kind, query, price, charge, key, head FROM entries WHERE budget = ? "


def find(connection: sqlite3.Connection, name: str) -> Row | None:
    """Read the row of a budget; None when there is none.

    Raises
    ------
    LedgerError
        Its seal does not fit.
    """
    found = connection.execute(_SELECT + "WHERE name = ?", (plain(name),)).fetchone()
    return None if found is None else _unseal(found)


def rows(connection: sqlite3.Connection) -> list[Row]:
    """Read the rows of all budgets, oldest first."""
    return [_unseal(found) for found in connection.execute(_SELECT + "ORDER BY id").fetchall()]


def insert(connection: sqlite3.Connection, name: str, rule: Filter, unit: PrivacyUnit) -> None:
    """Add a budget with nothing spent, and the entry that says so."""
    make_room(connection, unit)
    identifier = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM budgets").fetchone()[0]
    row = Row(identifier, plain(name), *_terms(rule), unit_text(unit), State.zero().to_text(), 0, plain(name))
    connection.execute("INSERT INTO budgets VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)", (*row, _seal(row)))
    append(connection, row, "open", words(unit), words(rule.budget))


def make_room(connection: sqlite3.Connection, unit: PrivacyUnit) -> None:
    """Add the table of periods where a unit has some; files of budgets without are as they were."""
    if unit.periods is not None and connection.execute("PRAGMA user_version").fetchone() != (PERIODS_VERSION,):
        connection.execute(period_sums.TABLE)
        connection.execute(f"PRAGMA user_version = {PERIODS_VERSION}")


def used(connection: sqlite3.Connection, row: Row) -> bool:
    """Whether anything was ever asked of a budget, even for free, or noted about it."""
    query = "SELECT 1 FROM entries WHERE budget = ? AND kind NOT IN ('open', 'amend') LIMIT 1"
    return connection.execute(query, (row.id,)).fetchone() is not None


def had(connection: sqlite3.Connection, row: Row, budget: Budget) -> bool:
    """Whether a budget had this total before it was extended: when it was opened or last replaced, or later."""
    query = (
        "SELECT 1 FROM entries WHERE budget = :id AND kind IN ('open', 'amend') AND price = :price AND sequence >= "
        "(SELECT max(sequence) FROM entries WHERE budget = :id AND kind = 'open') LIMIT 1"
    )
    return connection.execute(query, {"id": row.id, "price": words(budget)}).fetchone() is not None


def restored(connection: sqlite3.Connection, row: Row, all_of_it: bool = False) -> bool:
    """Whether an older copy was put back, so that charges are missing; or with all that was left, which is no bound."""
    found = connection.execute("SELECT price FROM entries WHERE budget = ? AND kind = 'restored'", (row.id,)).fetchall()
    return any(price == ALL or not all_of_it for (price,) in found)


def append(
    connection: sqlite3.Connection,
    row: Row,
    kind: str,
    query: str,
    price: str,
    charge: Charge | None = None,
    key: str | None = None,
    waits: bool = False,
) -> int:
    """Append an entry and write the row, its new sums included; return the sequence number.

    Random digits behind the second, which nobody is shown, tell it from the entry that a copy of the file gets in this second.
    Behind them stands whether it waits for its draw, see `Ledger.begin`.
    """
    # of SQLite, which is seeded anew where a fork opens the file, so that a charge needs no generator of the system
    digits = connection.execute("SELECT abs(random() % 1000000)").fetchone()[0]
    when = datetime.now(UTC).replace(microsecond=digits).isoformat(timespec="microseconds") + " waits" * waits
    said = kind, plain(query), plain(price), None if charge is None else charge.to_text()
    entry = (row.last + 1, when, *said, None if key is None else fingerprint(encode(key)))
    row = row._replace(last=row.last + 1, head=_seal((row.head, *entry)))
    connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (row.id, *entry, row.head))
    connection.execute(
        "UPDATE budgets SET epsilon = ?, delta = ?, delta_reserved = ?, accountant = ?, renyi_order = ?, "
        "plan = ?, unit = ?, state = ?, last = ?, head = ?, seal = ? WHERE id = ?",
        (*row[2:], _seal(row), row.id),
    )
    return row.last


def recharge(connection: sqlite3.Connection, row: Row, rule: Filter) -> tuple[State, dict[int, State]]:
    """Sum up the charges of a pure budget, and of each of its periods, in the currencies of another filter.

    All entries having been verified.

    A charge of the pure filter is an epsilon alone, so the divergence is that of any epsilon-DP mechanism. A refinement is no
    such mechanism by itself, and what was charged for a back-up may have been anything.
    """
    state, states, unknown = State.zero(), dict[int, State](), restored(connection, row)
    query = "SELECT charge, query FROM entries WHERE budget = ? AND charge NOT NULL ORDER BY sequence"
    for text, asked in connection.execute(query, (row.id,)):
        charge = Charge.from_text(text)
        if unknown or asked.startswith(REFINED) or charge.epsilon is None:
            raise LedgerError(
                "what this budget paid does not tell its divergences, so it gets no delta: name= opens another one"
            )
        again = replace(rule.charge(PrivacyLoss.pure(charge.epsilon)), periods=charge.periods)
        state = period_sums.spread(states, state, again, State.plus)
    return state, states


def check_rows(connection: sqlite3.Connection) -> None:
    """Raise LedgerError if the row of a budget is lost or damaged; entries are not read.

    Budgets are numbered 1, 2, 3 and never removed, and each has entries, which are in the order of these numbers.
    """
    whole = connection.execute("PRAGMA integrity_check(budgets)").fetchone() == ("ok",)
    (last,) = connection.execute("SELECT coalesce(max(budget), 0) FROM entries").fetchone()
    known = [row.id for row in rows(connection)]
    if not whole or known != list(range(1, len(known) + 1)) or last != len(known):
        raise LedgerError(DAMAGED)


def verify(connection: sqlite3.Connection, pages: bool = True) -> None:
    """Read everything but stored texts; raise LedgerError unless the file, its tables, seals, chains and sums are whole.

    Without `pages` charges alone are looked at, which can be whole where an index or a stored answer is not.
    """
    if (pages and connection.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",)) or not is_own(connection):
        raise LedgerError(DAMAGED)
    entries = 0
    for row in rows(connection):
        head, last, state, states, person = row.name, 0, State.zero(), dict[int, State](), Fraction(0)
        for *entry, recorded in connection.execute(_ENTRIES + "ORDER BY sequence", (row.id,)):
            head, last = _seal((head, *entry)), last + 1
            if entry[0] != last or head != recorded:
                raise LedgerError(DAMAGED)
            if entry[5] is not None:
                charge = Charge.from_text(entry[5])
                state = period_sums.spread(states, state, charge, partial(charged_state, row.rule))
                if charge.periods is not None:  # of any other one the lifetime admits nothing more
                    person = period_sums.capped(row.rule.budget.lifetime, State.zero(), person, charge) or Fraction(0)
        held = period_sums.read(connection, row.id, row.state)
        whole = held.keys() == states.keys() and person == period_sums.Sums.of(row.state).person
        whole = whole and all(_equal(states[period], sums) for period, sums in held.items())
        if not whole or (head, last) != (row.head, row.last) or not _equal(state, State.from_text(row.state)):
            raise LedgerError(DAMAGED)
        entries += last
    if (entries,) != connection.execute("SELECT count(*) FROM entries").fetchone():
        raise LedgerError(DAMAGED)


def _equal(state: State, sums: State) -> bool:
    """Whether sums are those of the entries, but for that of divergences, whose order can change once."""
    return replace(state, renyi=sums.renyi) == sums


def charged_state(rule: Filter, state: State, charge: Charge) -> State:
    """Sums after a charge; those of a plan say which prices were taken from it."""
    return (rule.admit(state, charge) if rule.budget.plan else None) or state.plus(charge)


_ARGUMENTS = {
    "column": "unit",
    "rows": "max_rows",
    "groups": "max_groups",
    "rows_per_group": "max_rows_per_group",
    "relation": "neighbors",
}


def typed(terms: Budget | PrivacyUnit) -> dict[str, str]:
    """Return terms as the arguments of ``protect`` and what one would type for them."""
    values = {field.name: getattr(terms, field.name) for field in fields(terms)}
    plan, when = values.pop("plan", ()), values.pop("periods", None)
    values = {name: x for name, x in values.items() if name != "lifetime" or x is not None}
    if when is not None:  # the offsets of the zone are in the row
        period, time, _, zone, _ = json.loads(when)
        values |= {"period": period, "time": time} | ({} if zone is None else {"zone": zone})
    written = {
        _ARGUMENTS.get(name, name): show(x) if isinstance(x, Fraction) else repr(str(x) if isinstance(x, str) else x)
        for name, x in values.items()
    }
    if plan:
        written["plan"] = "{" + ", ".join(f"{show(price)}: {times}" for price, times in plan) + "}"
    return written


def words(terms: Budget | PrivacyUnit) -> str:
    """Write terms as one would type them."""
    return ", ".join(f"{name}={value}" for name, value in typed(terms).items())


@lru_cache(maxsize=256)
def unit_text(unit: PrivacyUnit) -> str:
    """Write a unit as its row holds it: as ever where it has no periods."""
    return json.dumps({name: term for name, term in asdict(unit).items() if name != "periods" or term is not None})


def encode(text: str) -> bytes:
    """Write any text as bytes, lone surrogates too."""
    return text.encode("utf-8", "surrogatepass")


def fingerprint(text: bytes) -> bytes:
    """Digest of a text, however long."""
    return hashlib.sha256(text).digest()


def digest(table: str, budget: int, sequence: int, text: object) -> bytes | None:
    """Digest of a stored text and of its place; None where it is no text."""
    return fingerprint(f"{table} {budget} {sequence} ".encode() + text) if type(text) is bytes else None


def plain(text: str) -> str:
    """Text that SQLite can hold: lone surrogates are written as escapes."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


@lru_cache(maxsize=256)
def _rule(epsilon: str, delta: str, delta_reserved: str, accountant: str, order: str, plan: str) -> Filter:
    parts = tuple((Fraction(price), times) for price, times in json.loads(plan))
    each, *cap = map(Fraction, epsilon.split())
    budget = Budget(each, Fraction(delta), Fraction(delta_reserved), accountant, parts, *cap)
    return filter_for(budget, Fraction(order) if order else None)


def _terms(rule: Filter) -> tuple[str, str, str, str, str, str]:
    budget, order = rule.budget, "" if rule.order is None else str(rule.order)
    plan = json.dumps([(str(price), times) for price, times in budget.plan])
    total = str(budget.epsilon) if budget.lifetime is None else f"{budget.epsilon} {budget.lifetime}"
    return total, str(budget.delta), str(budget.delta_reserved), budget.accountant, order, plan


def _seal(row: tuple[object, ...]) -> str:
    return hashlib.sha256(repr(tuple(row)).encode()).hexdigest()


def _unseal(found: tuple[object, ...]) -> Row:
    row = Row._make(found[:-1])
    if found[-1] != _seal(row):
        raise LedgerError(DAMAGED)
    return row
