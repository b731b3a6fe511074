"""Sessions of this process: which are open, which one answers for a frame, and the one that a first question opens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import pandas as pd

from pandas_dp.books.odometer import goes_on
from pandas_dp.core.budget import Budget
from pandas_dp.core.files import canonical
from pandas_dp.core.gate import check_outside
from pandas_dp.core.ledger import Ledger
from pandas_dp.core.privacy import PrivacyLoss, PrivacyUnit, show
from pandas_dp.errors import (
    ArgumentValueError,
    ForkedSessionError,
    LedgerError,
    NoSessionError,
    PandasDPError,
    UnknownSessionError,
    UnverifiedFrameError,
)
from pandas_dp.facts.written import caution
from pandas_dp.session import alone
from pandas_dp.session.advice import MOST_LINES, first_continue, ledgers_beside, unasked
from pandas_dp.session.session import PART, TERMS, Session, closed, first_total, implicits
from pandas_dp.tables import frames
from pandas_dp.tables.frames import check_frame
from pandas_dp.tables.protected import Table, marks_of

_sessions: dict[str, Session] = {}  # by id
_named: dict[tuple[Ledger, str], Session] = {}  # those of them that were opened last, by the name of their budget
# ids of closed ones, whose frames are told so; with that of the budget that a part belonged to, or that took its place
# and the lines that protect on their terms again
_ended: dict[str, tuple[str, str]] = {}
_ever: list[str] = []  # the id of the first session of this process: from then on nothing is protected implicitly
_refusals: list[str] = []  # nor after a protect(...) that was refused: whoever typed it wanted other terms
REFUSED = (
    "the last df.dp.protect(...) was refused, and without it nothing is answered: correct it as its error message said and "
    "type it again, such as df.dp.protect(epsilon=3, unit='patient_id', max_rows=10)"
)
EPSILON = 5
OPENED = (
    f"this DataFrame was not protected, so a session was opened for it, with a total of epsilon={EPSILON}, one row per unit, "
    "add_remove; it is lost when Python stops. To set the total and the unit yourself, first type: "
    "df.dp.protect(epsilon=3, unit='patient_id', max_rows=10)"
)
REPLACED = (
    "the terms of this budget were replaced: protect the frame again. If a table about other people has this budget now, type "
    "{before}; else {now}"
)
SUCCEEDED = (
    "this session ended when a budget was named for its answers; nothing was charged: protect the frame, then ask again"
)
MOST_NAMES = 10
CARRIED = "answers given before protect was called"
OUTSIDE = "answers about rows ({price}) came before this budget; it does not limit what they tell about a {unit!r}"
_carried: set[tuple[str | None, str]] = set()  # budgets that the answers of the implicit session are on record of

P = ParamSpec("P")
T = TypeVar("T")


def noting_refusals(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """Make ``protect`` end implicit sessions where it is refused, for whatever reason.

    None is opened any more in this process, for no frame. One that answers for this frame waits until ``protect`` succeeds.
    """

    @wraps(method)
    def watched(accessor: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        check_outside()  # whether a user's function calls it may depend on a row, and would show
        try:
            return method(accessor, *args, **kwargs)
        except BaseException:
            with alone.lock:
                _refusals[:] = ["protect"]
                table = frames.lookup(accessor._frame)
                if table is not None and table.session._implicit:
                    table.session._doubted = True
            raise

    return watched


def part_of(session: Session, name: str, budget: Budget, unit: PrivacyUnit) -> Session:
    """Open the session of a part that its whole has paid for, or find it."""
    full = session.name + PART + name
    with alone.lock, alone.opening():
        known = find(session._ledger, full)
        if known is not None and known._whole is session:
            return known
        session._ledger.open(full, budget, unit)
        return enter(type(session)(session._ledger, full, unit, whole=session))


def rejoin(ledger: Ledger, name: str, unit: PrivacyUnit) -> Session:
    """Return the open session of a budget that is on record, or a new one, on the terms on record."""
    session = find(ledger, name) or enter(Session(ledger, name, unit))
    session._settle(unit)
    carry(session)
    return session


def marked(frame: pd.DataFrame) -> list[Session]:
    """The open sessions of whose tables a frame bears the mark; of an implicit one that which took over its answers."""
    return [session for mark in marks_of(frame) if (session := _heir(mark)) is not None]


def _heir(mark: str) -> Session | None:
    """The open session that has by now what bears a mark."""
    session = implicits[mark]._successor if mark in implicits else _sessions.get(mark)
    while session is None and mark in _ended:  # a part that is closed leaves its frames to the whole
        mark, _ = _ended[mark]
        session = _sessions.get(mark)
    while session is not None and session._closed:
        session = session._whole or session._successor
    return None if session is None or session._implicit else session


def find(ledger: Ledger, name: str) -> Session | None:
    """The open session of a budget, if this process has one."""
    known = _named.get((ledger, name))
    return None if known is None or known._closed else known


def enter(session: Session) -> Session:
    """Know a new session, and let go of those that are closed."""
    with alone.lock:
        while closed:
            known = closed.pop()
            if _forget(known):
                heir = known._whole or known._successor
                _ended[known.id] = "" if heir is None else heir.id, known._terms()
        _sessions[session.id] = _named[session._ledger, session.name] = session
        _ever[:] = _ever or [session.id]
    return session


def leave(left: Session, session: Session) -> None:
    """Close a session on which nothing was asked, and leave to another one what pandas made of its frame.

    A question of another thread, which may have come between the look and this, finds the mark after its charge and is not
    answered, or was charged before the mark and is found here.

    Raises
    ------
    ArgumentValueError
    """
    left._closed = True
    if not unasked(left):
        left._closed = False
        raise ArgumentValueError(f"another thread is using this budget; to continue it: {left._terms()}")
    frames.hand_on(left, session)
    left._successor = session
    left.close()


def throwaway(session: Session) -> None:
    """Close a session on made-up data and forget it, with its parts: thousands of them shall leave nothing behind."""
    parts = list(session._parts)
    session.close()
    for known in (*parts, session):
        _forget(known)


def _forget(session: Session) -> bool:
    """Let go of a session; False where that is done."""
    if _named.get((session._ledger, session.name)) is session:
        del _named[session._ledger, session.name]
    return _sessions.pop(session.id, None) is not None


def owners(frame: pd.DataFrame) -> list[Session | None]:
    """The sessions of whose tables a frame bears the mark; None: one that this process does not know."""
    return [_sessions.get(mark) for mark in marks_of(frame)]


def table_of(frame: pd.DataFrame) -> Table:
    """Return the protected table of a frame; without any session, open the implicit one.

    Raises
    ------
    UnverifiedFrameError, UnknownSessionError, NoSessionError
    """
    check_outside()
    table = frames.lookup(frame)
    if table is not None:
        if (table.session._whole or table.session)._doubted:
            raise NoSessionError(REFUSED)
        if table.replaced:
            raise NoSessionError(REPLACED.format(now=table.session._terms(), before=table.replaced))
        return table
    if (refusal := _marked_refusal(frame)) is not None:
        raise refusal
    check_frame(frame, PrivacyUnit())
    with alone.lock, alone.opening():
        if frames.lookup(frame) is not None:  # by now, as another thread asked it first
            return table_of(frame)
        if _ever:
            raise unverified()
        if _refusals:
            raise NoSessionError(REFUSED)
        opened = _open_implicitly(frame)
    caution(OPENED)
    return opened


def _marked_refusal(frame: pd.DataFrame) -> PandasDPError | None:
    """What is said of a frame whose session is closed or of another process, and of a scan that nothing may be asked of."""
    for mark in marks_of(frame):
        if mark in _ended or (mark in _sessions and _sessions[mark]._closed):
            line = heir._terms() if (heir := _heir(mark) or _sessions.get(mark)) else _ended[mark][1]
            return NoSessionError(f"the session of this frame is closed; protect it again: {line}")
        if mark not in _sessions:
            return UnknownSessionError(
                "this frame carries the mark of a session of another process; name the ledger of that session: "
                "df.dp.protect(session=pandas_dp.open_session('visits.dpledger')), or with its terms "
                "df.dp.protect(epsilon=..., ledger='visits.dpledger')"
            )
    scan = frames.scan_of(frame)
    return None if scan is None or scan.refusal is None else NoSessionError(scan.refusal)


def unprotected(frame: pd.DataFrame) -> PandasDPError:
    """What is said of a frame that no session answers for, where one is asked for its session."""
    table = frames.lookup(frame)
    if table is not None and table.replaced:
        return NoSessionError(REPLACED.format(now=table.session._terms(), before=table.replaced))
    told = _marked_refusal(frame) or (unverified() if _ever else None)
    return told or NoSessionError(f"no session answers for this DataFrame yet: {first_total(Fraction(0))}{TERMS}")


def _open_implicitly(frame: pd.DataFrame) -> Table:
    if beside := ledgers_beside(frame):
        raise NoSessionError(first_continue(beside))
    ledger = Ledger(None)  # of its own, so that protect(...) finds every name free
    ledger.open("data", Budget.of(EPSILON), PrivacyUnit())
    session = enter(Session(ledger, "data", PrivacyUnit(), implicit=True))
    session._tables.attach(session, frame, None)
    (opened,) = session._tables.by_name.values()
    return opened


def files_in_use() -> list[tuple[str, str]]:
    """Ledger files of which a budget answers in this process, and its name."""
    known = [(session._ledger.path, session) for session in [*_sessions.values()]]
    return [(path, session.name) for path, session in known if path is not None and not session._closed]


def is_open(path: str) -> bool:
    """Whether a budget of a ledger file answers in this process."""
    file = canonical(path)
    return any(session._ledger.path == file for session in [*_sessions.values()])


def listed(names: Sequence[str]) -> str:
    """Names of budgets, of many the latest."""
    more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    return ", ".join(map(repr, names[-MOST_NAMES:])) + more


def unverified() -> UnverifiedFrameError:
    """What is said of an object that no session answers for: how it joins each budget that is open.

    The marks of frames decide nothing here: of a few operations rows decide whether pandas hands them on.
    """
    lines: list[str] = []
    for session in reversed([*_sessions.values()]):  # those opened last, without a look into the books of all others
        if len(lines) < MOST_LINES and not (session._closed or session._implicit or session._whole is not None):
            with suppress(ForkedSessionError, LedgerError):
                lines.insert(0, goes_on(session._ledger, session.name, session.unit))
    before = "with what was answered before; " if implicits else ""
    first = f"{first_total(sum(_spent(), Fraction(0)))}  # {before}{TERMS.removeprefix(', with ')}"
    return UnverifiedFrameError(lines=lines or [first])


def session_of(frame: pd.DataFrame) -> Session | None:
    """Return the open session that answers for this very object, or None."""
    table = frames.lookup(frame)
    return table.session if table is not None and not table.replaced else None


def _spent() -> list[Fraction]:
    """Epsilons of what the implicit session answered; in a fork, which cannot read that, all that it could."""
    if not implicits:
        return []
    try:
        first = next(iter(implicits.values()))
        entries = first._ledger.entries(first.name)
        return [entry.charge.epsilon or Fraction(0) for entry in entries if entry.charge]
    except ForkedSessionError:
        return [Fraction(EPSILON)]


def check_counted(unit: PrivacyUnit, accountant: str) -> None:
    """Refuse a budget that cannot count what was answered before it: of Gaussian noise alone.

    Raises
    ------
    ArgumentValueError
    """
    if accountant == "gdp" and unit.column is None and _spent():
        raise ArgumentValueError(
            "accountant='gdp' counts Gaussian noise alone, and answers with other noise were given before this budget was "
            "named: type accountant='hybrid'"
        )


def carry(session: Session, marks: Sequence[str] = ()) -> None:
    """End the implicit session, and charge a budget, once, what it spent, also beyond the total.

    A frame with its mark, among `marks`, takes this budget, so that what pandas made of the same table takes no other one.

    Which table its answers were about is not known of a frame that was read again. So every budget that this process opens
    or joins afterwards is charged them. Under replace_one a row that leaves and one that comes pay. For a unit with several
    rows no number covers what was told of single rows: the record says so.
    """
    if not implicits:
        return
    first = next(iter(implicits.values()))
    first._ledger._store.refusal = SUCCEEDED  # first: a question that waits in another thread is not paid any more
    spent, budget = _spent(), (session._ledger.path, session.name)
    session._succeed(marks)
    first.close()
    if not spent or budget in _carried:
        return
    if session.unit.column is None:
        times = 1 if session.unit.add_remove else 2
        session._ledger.carry(session.name, CARRIED, [PrivacyLoss.pure(times * epsilon) for epsilon in spent])
    else:
        price = f"epsilon={show(sum(spent, Fraction(0)))} each row"
        outside = OUTSIDE.format(price=price, unit=session.unit.column)
        session._ledger.note(session.name, "outside", outside)
    _carried.add(budget)
    if session.unit.column is not None:  # last, as a warning may be an error
        caution(outside)
