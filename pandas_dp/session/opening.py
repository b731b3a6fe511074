"""Opening budgets and joining them: what ``protect`` and ``open_session`` accept, and whose rows a frame has."""

from __future__ import annotations

import os
from fractions import Fraction
from functools import partial
from itertools import count
from typing import Any, NamedTuple

import pandas as pd

from pandas_dp.books.amounts import zcdp_epsilon
from pandas_dp.core.budget import Budget
from pandas_dp.core.files import canonical
from pandas_dp.core.filters import ZCDPFilter
from pandas_dp.core.ledger import Ledger, open_ledger
from pandas_dp.core.privacy import NeighboringRelation, PrivacyUnit
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, LedgerError, did_you_mean
from pandas_dp.facts.argument_help import Line, example
from pandas_dp.facts.names import check_name
from pandas_dp.facts.numbers import planned_prices, positive_epsilon, positive_int, small_delta, unquoted
from pandas_dp.facts.public_only import mark_of
from pandas_dp.facts.schema import Schema
from pandas_dp.facts.written import caution
from pandas_dp.session import advice, alone, ledger_files, periods, registry, second_budgets
from pandas_dp.session.registry import enter, find, marked, rejoin
from pandas_dp.session.session import PART, Session
from pandas_dp.tables import frames
from pandas_dp.tables import schema_checks as table_checks
from pandas_dp.tables.frames import check_frame
from pandas_dp.tables.protected import marks_of

USUAL_DELTA = Fraction(1, 10**10)  # with which a rho is mostly told as an epsilon
# budgets that this process opened, whose terms it may type anew
_opened_here: set[tuple[str | None, str, int]] = set()
# of which unit the number of rows was said to be public: previews show it, and no other terms may hide it afterwards
_counted: dict[tuple[str | None, str], PrivacyUnit] = {}
_told: set[tuple[str | None, str]] = set()  # budgets of which it was said that they protect rows, not people


def privacy_unit(unit: Any, max_rows: Any, max_groups: Any, max_rows_per_group: Any, neighbors: Any) -> PrivacyUnit:
    """Return the unit from what ``protect`` accepts."""
    if not isinstance(neighbors, str) or neighbors not in tuple(NeighboringRelation):
        raise ArgumentValueError(
            "neighbors must be 'add_remove' or 'replace_one' (elsewhere called unbounded and bounded DP)"
        )
    relation = NeighboringRelation(neighbors)
    if unit is None:
        if any(bound is not None for bound in (max_rows, max_groups, max_rows_per_group)):
            raise Line("protect(unit='patient_id', ...)", (("unit", "'patient_id'"),)).refuse("max_rows needs a unit")
        return PrivacyUnit(relation=relation)
    if not isinstance(unit, str):
        raise ArgumentTypeError("unit must be the name of a column: unit='patient_id'")
    if max_rows is None:
        private = "; if you do not know one, max_rows='private' finds it for a twentieth of the total"
        raise Line(f"protect(unit={unit!r}, max_rows=10)", (("max_rows", "10"),), private).refuse("unit needs max_rows")
    k = positive_int(max_rows, "max_rows")
    m = k if max_groups is None else min(positive_int(max_groups, "max_groups"), k)
    c = k if max_rows_per_group is None else min(positive_int(max_rows_per_group, "max_rows_per_group"), k)
    return PrivacyUnit(unit, k, m, c, relation)


def check_unit(frame: pd.DataFrame, unit: Any) -> None:
    """Refuse a unit that is no column first: what lacks beside it would be told in a line with that name."""
    if isinstance(unit, str) and isinstance(frame, pd.DataFrame) and unit not in frame.columns:
        check_frame(frame, PrivacyUnit(unit))


def total_of_rho(rho: Any, delta: Any, reserved: Any, accountant: Any) -> Budget:
    """The total that admits so much rho of zero-concentrated differential privacy: about the least epsilon that pays it."""
    if accountant not in ("auto", "zcdp"):
        line = Line("df.dp.protect(rho=..., delta=1e-6)", (("accountant", ""),))
        raise line.refuse("rho= is a total of zCDP: leave accountant= out", ArgumentValueError)
    exact, slack = positive_epsilon(rho, "rho"), small_delta(delta) or USUAL_DELTA
    part = slack / 10 if reserved is None else small_delta(reserved, "delta_reserved")
    least = float(zcdp_epsilon(exact, slack - part))
    # each is farther from the least one, as a step of its own can be too small to change six digits
    tried = (Budget.of(Fraction(f"{least * (1 + i * 1e-6):.6g}"), slack, part, "zcdp") for i in count(1))
    return next(budget for budget in tried if ZCDPFilter(budget).limit >= exact)


def total(epsilon: Any, delta: Any = 0, reserved: Any = None, accountant: Any = "auto", plan: Any = None) -> Budget:
    """Return the total from what ``protect`` accepts."""
    part = None if reserved is None else small_delta(reserved, "delta_reserved")
    budget = Budget.of(positive_epsilon(unquoted(epsilon)), small_delta(delta), part, accountant)
    if plan is None:
        return budget
    if reserved is not None:
        raise ArgumentValueError("plan= takes plain epsilons, which use no delta: leave delta_reserved= out")
    return budget.planned(planned_prices(plan))


def protect(
    frame: pd.DataFrame,
    budget: Budget,
    unit: PrivacyUnit,
    said: Content,
    *,
    ledger: str | os.PathLike[str] | None = None,
    name: str = "data",
    reason: Any = None,
    witness: ledger_files.Witness | None = None,
    rho: Any = None,
) -> Session:
    """Open or join the budget `name` of a ledger and answer for this frame; see ``df.dp.protect``."""
    if not isinstance(name, str) or not name or PART in name:
        raise ArgumentTypeError("name must be text without '::', which marks parts of a budget: name='visits'")
    content = said.checked(frame, unit, budget)
    with alone.lock, alone.opening():
        if reason is None:
            second_budgets.check_new_file(ledger, name)
        opened = ledger_files.attach(open_ledger(ledger), witness)
        session = find(opened, name)
        lineage = _lineage(frame, session, reason, f"df.dp.protect(..., name={name!r}, reason='...')")
        here, terms = (opened.path, name, os.getpid()), opened.budget(name)
        unit = periods.as_on_record(unit, terms)
        mistaken = here in _opened_here and _counted.get(here[:2], unit) == unit
        check = partial(second_budgets.check_new, opened.path, name, reason)
        with advice.going_on(opened, registry.session_of(frame) is not None, rho):
            new = opened.open(name, budget, unit, mistaken, check=check)
        if new:
            _opened_here.add(here)
        session = session or enter(Session(opened, name, unit))
        replaced = terms is not None and terms != opened.budget(name)
        line = session._terms(advice.another(opened), reason="...") if replaced else ""
        lost = replaced and frames.are_others(session, frame, lineage, content.table, content.version)
        session._settle(unit, replaced=line)
        other = _taken_on(frame, session, lineage, reason, content)
        person = None if unit.column is not None else advice.person_column(frame)
        person = None if (opened.path, name) in _told else person
        if person is not None:
            _told.add((opened.path, name))
    if lost:
        caution(advice.LOST.format(line=line))
    for text in second_budgets.beside(frame, opened, name, reason) if new else ():
        caution(text)
    if person is not None:
        caution(advice.for_people(session, person, here in _opened_here, table=content.table, version=content.version))
    if other and lineage == "source":
        caution(advice.ANOTHER.format(name=name, line=session._terms(table="visits", version="2026-11-28")))
    return session


class Content(NamedTuple):
    """What is said of a table, public: facts, name, version and the number of its rows."""

    schema: Any = None
    table: Any = None
    version: Any = None
    rows: Any = None

    def checked(self, frame: pd.DataFrame, unit: PrivacyUnit, budget: Budget) -> Content:
        """The same where a frame and what is said of it fit what a budget protects and counts; the facts as a `Schema`."""
        facts = None if self.schema is None else Schema.of(self.schema)
        check_frame(frame, unit)
        table_checks.check_schema(facts, frame, frames.scan_of(frame))
        table_checks.check_typed(self.table, self.version)
        public = _public_rows(frame, self.rows, unit, self.table, self.version)
        registry.check_counted(unit, budget.accountant)
        return self._replace(schema=facts, rows=public)


def _taken_on(frame: pd.DataFrame, session: Session, lineage: str, reason: str | None, content: Content) -> bool:
    """Let a session answer for a frame, with what is to be said of it on record; see `SessionTables`."""
    if (left := _unasked(frame, session)) is not None:
        registry.leave(left, session)
    registry.carry(session, marks_of(frame))
    if content.rows is True:
        _counted[session._ledger.path, session.name] = session.unit
    if lineage == "vouched":
        session._ledger.note(session.name, "adopt", reason or "made by pandas from a table of this budget")
    elif reason is not None:
        session._ledger.note(session.name, "claim", reason)
    return session._tables.attach(session, frame, *content[:3], lineage=lineage, rows=content.rows)


def _unasked(frame: pd.DataFrame, session: Session | None) -> Session | None:
    """The session in memory that an object leaves for this one: nothing was asked on it, and it has no other table.

    Nor was the number of its rows said to be public: previews showed it, and no other terms may hide it.
    """
    known = frames.lookup(frame)
    if known is None or (other := known.session) is session or other._implicit or other._whole is not None:
        return None
    counted = (other._ledger.path, other.name) in _counted
    left = other._ledger.path is None and not counted and frames.is_only(other, frame) and advice.unasked(other)
    return other if left else None


def _lineage(frame: pd.DataFrame, session: Session | None, reason: Any, line: str) -> str:
    """Whether a frame is a table of its own, or was made by pandas from one that spends from a budget: its mark tells.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        It spends from another open budget, and no reason says why it may have this one.
    """
    if reason is not None and (not isinstance(reason, str) or not reason.strip()):
        raise ArgumentTypeError(f"reason must say why this frame is about other people: {line}")
    if _unasked(frame, session) is not None:
        return "source"
    known = frames.lookup(frame)
    # on terms that were replaced nothing was answered, so the owner may say, on record, that it is about other people
    moved = known is not None and known.replaced and known.session is not session and reason is not None
    very = known is not None and not moved and not known.session._implicit and not known.session._closed
    frames.check_free(frame, session, claimed=reason is not None and not very)
    if known is not None and very:
        return known.lineage
    budgets = dict.fromkeys(one._whole or one for one in marked(frame))
    if not budgets:
        return "source"
    if list(budgets) == [session]:
        return "vouched"
    if reason is None:
        if len(budgets) > 1:
            names = " and ".join(repr(one.name) for one in budgets)
            raise ArgumentValueError(
                f"these files were made from tables of several budgets, {names}, which already count what is asked about their "
                "people. Ask those tables: df.dp.query(...), or read the files of one budget alone. If they are about other "
                f"people, say so on record: {line}"
            )
        whole = next(iter(budgets))
        raise ArgumentValueError(
            f"this frame was made from a table of the budget {whole.name!r}, which already counts every question about these "
            f"people. Ask that table: df.dp.query(...), or let that budget answer for the frame: {whole._terms()}. To begin "
            f"anew: {whole._terms()}.close(), then protect again; the epsilons of both budgets add up. If it is about other "
            f"people, say so on record: {line}"
        )
    return "source"


def _public_rows(
    frame: pd.DataFrame, rows: Any, unit: PrivacyUnit, table: str | None, version: str | None
) -> bool | int | None:
    """What ``rows=`` says of the number of rows."""
    if rows is None:
        return None
    if unit.add_remove or unit.column is not None:
        hidden = "neighbors='add_remove' hides" if unit.add_remove else f"unit={unit.column!r} does not require"
        whole = ", or where each row is a unit add neighbors='replace_one'"
        raise ArgumentValueError(
            f"rows= says that the number of rows is public, which {hidden}: leave it out{whole * (unit.column is None)}"
        )
    if rows is True and mark_of(frame) is not None and not frames.was_source(frame):
        raise ArgumentValueError(
            "rows=True: this frame was made from a protected table, so its number of rows is not public: leave rows= out"
        )
    if rows is True and frames.was_source(frame) and frames.scan_of(frame) is None:
        known = frames.kept(frame, "source", table, version)
        if known is None or known.again or known.session._implicit:
            raise ArgumentValueError(
                "rows=True: this object was protected before and may hold other rows now; their number is not public: type "
                "the number that is public, rows=1000, or leave rows= out"
            )
    return rows if isinstance(rows, bool) else positive_int(rows, "rows")


def join(frame: pd.DataFrame, session: Session, said: Content, reason: Any = None) -> Session:
    """Answer for one more table about the same units on an open session."""
    if not isinstance(session, Session):
        raise ArgumentTypeError("session= must be a pandas_dp Session: df2.dp.protect(session=df.dp.session)")
    session._open()
    frames.check_no_part(session)
    if session._implicit:  # which ends as soon as a table is put on a budget
        raise session._unnamed()
    if said.version is not None and said.table is None:
        raise ArgumentTypeError("a version needs its table: protect(session=session, table='visits', version='1')")
    content = said.checked(frame, session.unit, session.budget)
    with alone.lock, alone.opening():
        lineage = _lineage(frame, session, reason, "df2.dp.protect(session=session, reason='...')")
        _taken_on(frame, session, lineage, reason, content)
    return session


@example("pandas_dp.open_session('visits.dpledger', name='data')")
def open_session(ledger: str | os.PathLike[str], name: str = "data") -> Session:
    """Return the session of a budget that a ledger file holds already, on the terms it has there.

    Unit, relation and total are read from the ledger and nothing new is opened, so a worker process cannot get them wrong:
    ``df.dp.protect(session=pandas_dp.open_session("visits.dpledger"))``.

    Parameters
    ----------
    ledger : path
        The file that keeps the books, on a disk of this machine.
    name : str
        The budget's name in it.

    Returns
    -------
    Session
        In one process always the same while it is not closed. Under ``replace_one`` it does not take the number of rows of a
        table for public: ``count()`` is charged and noisy.

    Raises
    ------
    LedgerError
        There is no such file, or no such budget in it; neither is ever made here.
    ArgumentTypeError, ArgumentValueError

    Notes
    -----
    All processes that open the file draw on the one budget: a charge is one transaction of the file, on the disk before
    anything is released, so together they get what one process would get. It does not matter how a process was started (fork,
    spawn, forkserver, a pool). A budget in memory cannot be shared: a fork is refused (`ForkedSessionError`), and another
    program does not find it.

    Examples
    --------
    >>> import os, tempfile
    >>> import pandas as pd, pandas_dp
    >>> df = pd.DataFrame({"age": [31, 45, 62]})
    >>> folder = tempfile.TemporaryDirectory()
    >>> books = os.path.join(folder.name, "ages.dpledger")
    >>> df.dp.protect(epsilon=3, ledger=books).close()
    >>> session = pandas_dp.open_session(books)  # as a worker does
    >>> pd.DataFrame({"age": [28, 71]}).dp.protect(session=session).left
    'epsilon=3'
    >>> session.close()
    >>> folder.cleanup()
    """
    if not isinstance(name, str) or not name:
        raise ArgumentTypeError("name must be text: pandas_dp.open_session('visits.dpledger', name='data')")
    if PART in name:
        raise ArgumentValueError(
            f"name={name!r} is a part of a budget: open the whole one, name={name.partition(PART)[0]!r}, and take the part "
            "from your frame, as in df.dp.allot('nightly', epsilon=1); it is paid once"
        )
    path = canonical(ledger)
    line = f"df.dp.protect(epsilon=3, ledger={os.path.basename(path)!r}, name={name!r})"
    if not os.path.isfile(path):
        raise LedgerError(
            f"there is no ledger of this name, and open_session() makes none: type its path, or make one, once: {line}"
        )
    with alone.lock, alone.opening():
        return _on_record(open_ledger(path), name, line)


def _on_record(opened: Ledger, name: str, line: str) -> Session:
    """The session of a budget that a ledger holds; `line` opens it once.

    Raises
    ------
    LedgerError
    """
    terms = opened.budget(name)
    if terms is None:
        known = [known for known in opened.heads() if PART not in known]
        check_name(name, opened.heads())
        told = f"; to open one type once {line}"
        if known:
            there = f"pandas_dp.open_session({os.path.basename(opened.path or '')!r}, name={known[-1]!r})"
            told = f"{did_you_mean(name, known)}; it holds {registry.listed(known)}: {there}"
        raise LedgerError(f"the ledger has no budget named {name!r}{told}")
    return rejoin(opened, name, terms[1])
