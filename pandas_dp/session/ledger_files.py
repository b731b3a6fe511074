"""What a ledger file is beside its charges: a back-up, an older copy put back.

A file cannot tell that a newer one was there. So a *witness* outside it remembers how far it was: names of empty files in the
state directory of this account, and, where the owner has one, a counter elsewhere. Both are told of every entry once it is on
the disk, so they never know of more than a sound file has. To an older copy, or the second of two that were used, nothing is
charged where the witness is; it may be read. Where there is no witness nothing is refused for lack of one.
"""

from __future__ import annotations

import atexit
import os
import re
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from typing import Protocol

from pandas_dp.core import database, files, period_sums, records
from pandas_dp.core import ledger as books
from pandas_dp.core.budget import Charge, State
from pandas_dp.core.filters import Filter, PlanFilter, PureFilter
from pandas_dp.core.ledger import Ledger
from pandas_dp.core.privacy import PrivacyLoss
from pandas_dp.errors import ArgumentTypeError, LedgerBusyError, LedgerError, PandasDPError
from pandas_dp.session.ledger_forms import RESTORE, naming, prepare

MOST = 1000  # entries of a program after which it removes what is remembered of others that are smaller
# budget, number of its last entry, and its digest or nothing
KEPT = re.compile("([1-9][0-9]{0,17})-([1-9][0-9]{0,17})-([0-9a-f]{64}|)")
Seen = tuple[int, str]  # number and digest of the last entry of one budget, an empty one where it was not looked up


class Witness(Protocol):
    """A counter outside the file, such as a row of a database elsewhere. Each budget has a name of its own in it."""

    def last(self, chain: str) -> Seen | None:
        """Return what `saw` was told last; None for a name it does not know."""

    def saw(self, chain: str, entries: int, head: str) -> None:
        """Remember it, unless more entries were seen: calls of several threads and processes may come in any order.

        Called after each entry, so between a charge and its draw: if this raises, nothing is released and the charge stays.
        """


def look(ledger: Ledger) -> None:
    """Compare a ledger that was just opened with what is remembered of it."""
    known = _remembered(ledger._store.identifier)
    refusal = ledger._store.refusal or ledger._store.transact(database.READ, _torn) or _behind(ledger, known)
    ledger._store.refusal = naming(refusal, str(ledger.path))
    ledger.told = tell
    remember(ledger)


def tell(ledger: Ledger, name: str, entry: int, counter: Callable[[str, int, str], None] | None = None) -> None:
    """Tell this account of an entry that is on the disk, and a counter outside.

    What this account remembers outlives any kill, and a power cut where the disk had it by then. Of two copies that are charged
    at one time each looks for the other's entries after its own is there to be seen, so one of them at least is refused.

    Raises
    ------
    LedgerError
        Another copy of this ledger was charged since it was opened: nothing is released.
    """
    store, chain = ledger._store, f"{ledger._store.identifier}/{ledger._ids[name]}"
    query = "SELECT sequence, head FROM entries WHERE budget = ? AND sequence BETWEEN ? AND ?"
    asked = ledger._ids[name], entry - 1, entry
    heads: dict[int, str] = {}
    with suppress(LedgerBusyError):  # then the number alone is remembered
        heads = store.transact(database.READ, lambda connection: dict(connection.execute(query, asked).fetchall()))
    now, others = (entry, heads.get(entry, "")), []
    with suppress(OSError):  # where nothing can be remembered there is no such folder
        place, budget = _place(store.identifier), str(ledger._ids[name])
        try:  # a new file costs thirty times as much
            os.replace(_named(place, budget, (entry - 1, heads.get(entry - 1, ""))), _named(place, budget, now))
        except FileNotFoundError:
            _keep(place, budget, now)
        others = [seen for _, other, seen in _kept(place) if other == budget and seen[0] >= entry and seen != now]
    for seen in others:  # of this very ledger, by another program, or of a copy
        store.refusal = store.refusal or _behind(ledger, {chain: seen})
    if store.refusal:
        raise LedgerError(store.refusal)
    if entry % MOST == 0:
        remember(ledger)
    if counter is not None:
        counter(*ledger.chains()[name])


def attach(ledger: Ledger, witness: Witness | None) -> Ledger:
    """Compare a ledger with a counter outside, which is told of every charge from now on.

    Raises
    ------
    LedgerError
        The ledger is older than the counter.
    """
    if witness is None:
        return ledger
    if not all(callable(getattr(witness, method, None)) for method in ("last", "saw")):
        raise ArgumentTypeError("witness= must have the methods last(chain) and saw(chain, entries, head)")
    if ledger.path is None:
        raise ArgumentTypeError("witness= needs a ledger file: protect(..., ledger='visits.dpledger', witness=counter)")
    known = {chain: witness.last(chain) for chain, _, _ in ledger.chains().values()}
    refusal = _behind(ledger, {chain: seen for chain, seen in known.items() if seen is not None})
    if refusal:
        ledger._store.refusal = refusal
        raise LedgerError(refusal)
    ledger.told = partial(tell, counter=witness.saw)
    return ledger


def remember(ledger: Ledger) -> None:
    """Write down how far a ledger is, for whoever opens it next on this account; where that is not possible, say nothing."""
    with suppress(PandasDPError, OSError):
        if not ledger._store.refusal:
            # what this process saw itself: the file may be another one by now, which must not be believed
            now = {f"{ledger._store.identifier}/{ledger._ids[name]}": (n, "") for name, n in ledger._seen.items()}
            with suppress(PandasDPError):
                held = {chain: (entries, head) for chain, entries, head in ledger.chains().values()}
                now = {chain: max(held.get(chain, (0, "")), now.get(chain, (0, ""))) for chain in held | now}
            _write(ledger._store.identifier, now)


def damaged(ledger: Ledger) -> list[tuple[str, int]]:
    """Return budget and entry of every stored text, noisy results and what was said of them, that is not as it was written."""
    found = set()
    with closing(sqlite3.connect("")) as copy:
        ledger._store.copy(copy)
        try:
            names = {row.id: row.name for row in records.rows(copy)}
            for table in records.STORED:
                query = f"SELECT budget, sequence, result, digest, kind FROM {table} LEFT JOIN entries USING (budget, sequence)"  # noqa: S608
                for budget, sequence, text, digest, kind in copy.execute(query):
                    if kind != "query" or digest != records.digest(table, budget, sequence, text):
                        found.add((names.get(budget, "?"), sequence))
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise LedgerError(records.DAMAGED) from error
    return sorted(found, key=str)


def backup(ledger: Ledger, to: str) -> None:
    """Write a whole copy of a ledger file under a new name. Nothing can be charged to that until `restore`.

    Raises
    ------
    LedgerError
        There is something of this name, which is left as it is, or nothing can be written.
    """

    def write(connection: sqlite3.Connection) -> None:
        ledger._store.copy(connection)
        connection.execute("BEGIN")
        records.mark(connection, f"this file is a back-up of {datetime.now(UTC):%Y-%m-%d %H:%M} UTC: type {RESTORE}")
        connection.execute("COMMIT")

    if os.path.lexists(to) or not database.create(files.canonical(to), write):  # a link would lead to another file
        raise LedgerError(f"{to} exists already, and a back-up never replaces a file: name a new one")


def restore(ledger: Ledger, loss: PrivacyLoss | None, price: str) -> None:
    """Go on with an older copy: charge to every budget what may have been answered since, even beyond its total.

    Parameters
    ----------
    ledger : Ledger
    loss : PrivacyLoss or None
        An upper bound on what was answered; None: all that each budget had left.
    price : str
        The same in words.
    """

    def write(connection: sqlite3.Connection) -> None:
        for row in records.rows(connection):
            rule, state = row.rule, State.from_text(row.state)
            charge = _rest(rule, state) if loss is None else rule.charge(loss)
            after = period_sums.charge_all(
                connection, row.id, row.state, partial(records.charged_state, rule, charge=charge)
            )
            text = "an older copy was put back: what may have been answered since"
            records.append(connection, row._replace(state=after), "restored", text, price, charge)

    refusal, ledger._store.refusal = ledger._store.refusal, ""
    try:
        ledger._store.transact(database.DURABLE, write)
        # after that: of a transaction over several budgets that is cut short some may be charged
        ledger._store.transact(database.DURABLE, lambda connection: records.mark(connection, ""))
    except BaseException:
        ledger._store.refusal = refusal
        raise
    with suppress(OSError):
        before = _kept(_place(ledger._store.identifier))  # first: what others remember of it from here on stays
        _write(ledger._store.identifier, {chain: (n, head) for chain, n, head in ledger.chains().values()}, before)


def _rest(rule: Filter, state: State) -> Charge:
    """A charge that leaves nothing: what a budget may have paid since is within its total.

    Where divergences are counted it has no finite epsilon, as what was answered may have had none.
    """
    budget = rule.budget
    if isinstance(rule, PlanFilter):  # beside the plan, and above the total: then no planned price is paid either
        return rule.charge(PrivacyLoss.pure(budget.epsilon + sum((e * n for e, n in budget.plan), Fraction(0))))
    if isinstance(rule, PureFilter):
        return Charge(max(budget.epsilon - state.epsilon, Fraction(0)), Fraction(0), Fraction(0))
    reserved = max(budget.delta_reserved - state.delta, Fraction(0))
    return Charge(None, max(rule.limit - state.renyi, Fraction(0)), reserved)


def _torn(connection: sqlite3.Connection) -> str:
    """Say whether a file was moved in the middle of a charge, without the journal that it needs, or nothing.

    For all inputs: where nothing is said, each budget's row, entries, index and periods are of one moment. Of the pages of one
    transaction any first part may be there, and a page that was split leaves out entries of long before, so all are counted.
    That takes some four microseconds an entry.
    """
    records.check_rows(connection)
    rows = records.rows(connection)
    held = "SELECT count(*), max(sequence) FROM entries NOT INDEXED WHERE budget = ?"
    last = "SELECT head FROM entries WHERE budget = ? AND sequence = ?"
    whole = connection.execute("PRAGMA integrity_check(entries)").fetchone() == ("ok",)
    for row in rows:
        whole = whole and connection.execute(held, (row.id,)).fetchone() == (row.last, row.last)
        whole = whole and connection.execute(last, (row.id, row.last)).fetchone() == (row.head,)
        try:
            period_sums.read(connection, row.id, row.state)
        except LedgerError:
            whole = False
    return "" if whole else records.DAMAGED


def _behind(ledger: Ledger, known: Mapping[str, Seen]) -> str:
    """Say why a ledger is not the one that was seen, or nothing. What was seen must have been read before this."""
    identifier = ledger._store.identifier

    def compare(connection: sqlite3.Connection) -> str:
        rows = {f"{identifier}/{row.id}": row for row in records.rows(connection)}
        for chain, (entries, head) in known.items():
            row = rows.get(chain)
            query = "SELECT head FROM entries WHERE budget = ? AND sequence = ?"
            here = connection.execute(query, (chain.rpartition("/")[2], entries)).fetchone()
            if here == (head,) or (here is not None and not head):  # of which the number alone is known
                continue
            last = 0 if row is None else row.last
            name = "a budget that is not in it" if row is None else f"budget {row.name!r}"
            many = f"{last:,} entries, {entries:,} were seen" if last < entries else f"entry {entries:,} differs"
            return (
                f"this ledger is older than one that was open here ({name}: {many}): an old copy was put back, or two "
                f"copies were used. Put the newer one here, or: {naming(RESTORE, str(ledger.path))}"
            )
        return ""

    return ledger._store.transact(database.READ, compare)


def _place(identifier: str) -> str:
    """Name of the folder of what is remembered of a ledger.

    Raises
    ------
    OSError
        There is no place for one.
    """
    base = os.environ.get("XDG_STATE_HOME") or os.environ.get("LOCALAPPDATA") or os.path.expanduser("~/.local/state")
    if not os.path.isabs(base) or not re.fullmatch("[0-9a-f]{32}", identifier):
        raise FileNotFoundError
    return os.path.join(base, "pandas_dp", "ledgers", identifier)


def _kept(place: str) -> list[tuple[str, str, Seen]]:
    """What lies in a folder: names of files, and for each its budget, the number of an entry and its digest."""
    found = [(name, KEPT.fullmatch(name)) for name in os.listdir(place)]
    return [(name, kept[1], (int(kept[2]), kept[3])) for name, kept in found if kept]


def _last(kept: list[tuple[str, str, Seen]]) -> dict[str, Seen]:
    """The last entry of each budget."""
    return dict(sorted((budget, seen) for _, budget, seen in kept))


def _remembered(identifier: str) -> dict[str, Seen]:
    """What the witness of this account knows of a ledger; nothing where it cannot be read."""
    with suppress(OSError):
        return {f"{identifier}/{budget}": seen for budget, seen in _last(_kept(_place(identifier))).items()}
    return {}


def _named(place: str, budget: str, seen: Seen) -> str:
    """The name for an entry; of a digest that is none, as a ledger file from elsewhere may have it, the number alone."""
    name = f"{budget}-{seen[0]}-{seen[1]}"
    return os.path.join(place, name if KEPT.fullmatch(name) else f"{budget}-{seen[0]}-")


def _keep(place: str, budget: str, seen: Seen) -> None:
    """Remember an entry by the name of an empty file.

    Nothing is ever written into one, and a name goes only where one of a larger entry is or comes: whatever several programs do
    at one moment, and wherever one is killed, the largest entry of each budget stays.
    """
    with suppress(FileExistsError):
        os.close(os.open(_named(place, budget, seen), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _write(identifier: str, seen: Mapping[str, Seen], before: list[tuple[str, str, Seen]] | None = None) -> None:
    """Remember some entries in place of smaller ones, or of whatever was remembered `before`."""
    place, last = _place(identifier), {chain.rpartition("/")[2]: told for chain, told in seen.items()}
    for folder in (os.path.dirname(place), place):
        os.makedirs(folder, mode=0o700, exist_ok=True)
    for budget, told in last.items():
        _keep(place, budget, told)
    kept = _kept(place) if before is None else before
    last = _last(kept) if before is None else last
    for name, budget, told in kept:
        if last.get(budget) != told:
            with suppress(FileNotFoundError):  # another program did it
                os.unlink(os.path.join(place, name))


@atexit.register
def _at_exit() -> None:
    """Before the files are closed."""
    for ledger in list(books._ledgers.values()):
        remember(ledger)


database.watches.append(prepare)
books.opened.append(look)
books.closed.append(remember)
