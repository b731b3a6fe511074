"""Opening and joining budgets, and finding the session that answers for a frame."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import pandas as pd

from pandas_dp import tables
from pandas_dp.arguments import check_facts, planned_prices, positive_epsilon, positive_int, small_delta
from pandas_dp.core.budget import Budget
from pandas_dp.core.gate import check_outside
from pandas_dp.core.ledger import Ledger, open_ledger
from pandas_dp.core.privacy import NeighboringRelation, PrivacyUnit
from pandas_dp.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    NoSessionError,
    UnknownSessionError,
    UnverifiedFrameError,
    did_you_mean,
)
from pandas_dp.kinds import kind_of
from pandas_dp.public_arguments import GUARDS, is_private
from pandas_dp.schema import Schema
from pandas_dp.schema_files import has_dtype
from pandas_dp.session import ATTRIBUTE, DERIVED, PART, Session
from pandas_dp.tables import Table, check_frame

IMPLICIT_EPSILON = 5
IMPLICIT_WARNING = (
    "no session protects this DataFrame: one was opened for it with a total of epsilon={total}, one row a unit, "
    "add_remove; it ends with the process. To set the total and the unit type first: "
    "df.dp.protect(epsilon=3, unit='patient_id', max_rows=10)"
)


_sessions: dict[str, Session] = {}  # by id; closed ones stay, so that their frames are told so
_lock = threading.RLock()  # opening and joining, so that two threads never open two implicit sessions
_ever: list[Session] = []  # the first session of this process: from then on nothing is protected implicitly
_refusals: list[str] = []  # nor after a protect(...) that was refused: whoever typed it wanted other terms
REFUSED = (
    "the last df.dp.protect(...) was refused, and without it nothing is answered: correct it as its error said and type it "
    "again, such as df.dp.protect(epsilon=3, unit='patient_id', max_rows=10)"
)
P = ParamSpec("P")
T = TypeVar("T")


def _new_lock() -> None:
    """A child of a fork must not wait for a thread that it does not have."""
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)


def privacy_unit(unit: Any, max_rows: Any, max_groups: Any, max_rows_per_group: Any, neighbors: Any) -> PrivacyUnit:
    """Return the unit from what ``protect`` accepts."""
    if neighbors not in tuple(NeighboringRelation):
        raise ArgumentValueError("neighbors must be 'add_remove' or 'replace_one'")
    relation = NeighboringRelation(neighbors)
    if unit is None:
        if any(bound is not None for bound in (max_rows, max_groups, max_rows_per_group)):
            raise ArgumentTypeError("max_rows needs a unit: protect(epsilon=3, unit='patient_id', max_rows=10)")
        return PrivacyUnit(relation=relation)
    if not isinstance(unit, str):
        raise ArgumentTypeError("unit must be the name of a column: unit='patient_id'")
    if max_rows is None:
        raise ArgumentTypeError(
            f"unit needs max_rows: protect(epsilon=3, unit={unit!r}, max_rows=10); where you know none, ask on a small budget "
            f"first: protect(epsilon=0.1, unit={unit!r}, max_rows=1, name='rows'), df.dp(epsilon=0.1).rows_per_unit(), to "
            "which max_rows does nothing, then df.dp.session.close() and protect again; what both release adds up"
        )
    k = positive_int(max_rows, "max_rows")
    m = k if max_groups is None else min(positive_int(max_groups, "max_groups"), k)
    c = k if max_rows_per_group is None else min(positive_int(max_rows_per_group, "max_rows_per_group"), k)
    return PrivacyUnit(unit, k, m, c, relation)


def protect(
    frame: pd.DataFrame,
    epsilon: Any,
    delta: Any,
    unit: PrivacyUnit,
    schema: Schema | Mapping[str, Mapping[str, Any]] | None,
    accountant: str,
    delta_reserved: Any,
    plan: Any,
    ledger: str | os.PathLike[str] | None,
    name: str,
    table: str | None,
    version: str | None,
) -> Session:
    """Open or join the budget `name` of a ledger and answer for this frame; see ``df.dp.protect``."""
    if not isinstance(name, str) or not name or PART in name:
        raise ArgumentTypeError("name must be a text without '::', which marks parts of a budget: name='visits'")
    reserved = None if delta_reserved is None else small_delta(delta_reserved, "delta_reserved")
    budget = Budget.of(positive_epsilon(epsilon), small_delta(delta), reserved, accountant)
    if plan is not None:
        if reserved is not None:
            raise ArgumentValueError("plan= pays plain epsilons, which use up no delta: leave delta_reserved= out")
        budget = budget.planned(planned_prices(plan))
    facts = None if schema is None else Schema.of(schema)
    check_frame(frame, unit)
    check_schema(facts, frame)
    opened = open_ledger(ledger)
    with _lock:
        session = _find(opened, name)
        tables.check_free(frame, session)
        if session is not None:
            check_version(frame, session, table, version)
        mistaken, implicit = (False, False) if session is None else (session._answers(frame), session._implicit)
        first = opened.open(name, budget, unit, mistaken, implicit)
        whole = first and not (_mark(frame) or "").endswith(DERIVED)
        if session is None:
            session = _new(Session(opened, name, unit))
        session._settle(unit)
        session._attach(frame, facts, table, version, look=True, whole=whole)
        return session


def noting_refusals(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """Make ``protect`` end implicit sessions where it is refused, for whatever reason.

    None is opened any more in this process, for no frame: a copy of the refused one has another identity. One that
    answers for the frame already waits until ``protect`` succeeds. Sessions that were opened on stated terms stay.
    """

    @wraps(method)
    def watched(accessor: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        check_outside()  # whether a user's function calls it may depend on a row, and would show
        try:
            return method(accessor, *args, **kwargs)
        except BaseException:
            with _lock:
                _refusals.append("protect")
                table = tables.lookup(accessor._frame)
                if table is not None and table.session._implicit:
                    table.session._doubted = True
            raise

    return watched


def part_of(session: Session, name: str, budget: Budget, unit: PrivacyUnit) -> Session:
    """Open the session of a part that its whole has paid for, or find it."""
    full = session.name + PART + name
    with _lock:
        known = _find(session._ledger, full)
        if known is not None and known._whole is session:
            return known
        session._ledger.open(full, budget, unit)
        return _new(type(session)(session._ledger, full, unit, whole=session))


def rejoin(ledger: Ledger, name: str, unit: PrivacyUnit) -> Session:
    """Return the open session of a budget that is on record, or a new one, on the terms on record."""
    check_outside()
    with _lock:
        session = _find(ledger, name) or _new(Session(ledger, name, unit))
        session._settle(unit)
        return session


def join(
    frame: pd.DataFrame,
    session: Session,
    schema: Schema | Mapping[str, Mapping[str, Any]] | None,
    table: str | None,
    version: str | None,
) -> Session:
    """Answer for one more table about the same units on an open session."""
    if not isinstance(session, Session):
        raise ArgumentTypeError("session must be a session: df2.dp.protect(session=df.dp.session)")
    session._open()
    tables.check_no_part(session)
    if version is not None and table is None:
        raise ArgumentTypeError("a version needs its table: protect(session=session, table='visits', version='1')")
    facts = None if schema is None else Schema.of(schema)
    check_frame(frame, session.unit)
    check_schema(facts, frame)
    tables.check_free(frame, session)
    check_version(frame, session, table, version)
    session._attach(frame, facts, table, version)
    return session


def check_schema(schema: Schema | None, frame: pd.DataFrame) -> None:
    """Check that a schema speaks of this table's columns, in terms that fit their kinds."""
    for column in schema or ():
        if column not in frame.columns:
            close = did_you_mean(column, frame.columns)
            raise ArgumentValueError(
                f"schema names {column!r}, which is not a column of this table{close}; leave it out"
            )
        facts, dtype = Schema.of(schema)[column], frame[column].dtype
        try:
            kind = kind_of(dtype)
            if facts.dtype is not None and not has_dtype(dtype, facts.dtype):
                raise ArgumentTypeError(
                    f"the column has dtype {dtype}, not {facts.dtype!r}: df[{column!r}] = df[{column!r}].astype("
                    f"{facts.dtype!r}) before df.dp.protect(...), or in the schema {{'dtype': {str(dtype)!r}}}"
                )
            check_facts(facts, kind, column)
        except (ArgumentTypeError, ArgumentValueError) as error:
            raise type(error)(f"schema of {column!r}: {error}") from None


def check_version(frame: pd.DataFrame, session: Session, table: str | None, version: str | None) -> None:
    """A version is one content, or two would share answers and parts: a look at the data that is the owner's, in `protect`."""
    held = session._held.get(f"source:{table}")
    if version is None or held is None or held.token != repr(("source", table, version)) or held.equals(frame):
        return
    raise ArgumentValueError(
        "this version already stands for other content: give this one another version, or if it is another table another "
        "name: df.dp.protect(..., table='visits', version='2')"
    )


def check_public(lookup: Any) -> None:
    """Refuse a protected table, and what was made of one, where public data is asked for."""
    if is_private(lookup):
        raise ArgumentValueError(
            "merge: the lookup is a protected table, or was made of one, and what it holds is private. A lookup is public, "
            "such as the labels of codes: {'code': ['a', 'b'], 'label': ['first', 'second']}. Join two tables of people "
            "before df.dp.protect"
        )


def is_protected(held: Any) -> bool:
    """Whether a table or column is protected or was made of what is, by its mark or its memory; see `tables.lists`."""
    if not isinstance(held, pd.DataFrame | pd.Series):
        return tables.lists(held)
    columns = [held] if isinstance(held, pd.Series) else (held.iloc[:, place] for place in range(held.shape[1]))
    return _mark(held) is not None or any(map(tables.holds, columns))


GUARDS.append(is_protected)


def _mark(frame: pd.DataFrame | pd.Series[Any]) -> str | None:
    return str(frame.attrs[ATTRIBUTE]) if ATTRIBUTE in frame.attrs else None


def _find(ledger: Ledger, name: str) -> Session | None:
    same = [s for s in _sessions.values() if s._ledger is ledger and s.name == name and not s._closed]
    return same[-1] if same else None


def _new(session: Session) -> Session:
    _sessions[session.id] = session
    if not _ever:
        _ever.append(session)
    return session


def throwaway(session: Session) -> None:
    """Close a session on made-up data and forget it, with its parts: thousands of them shall leave nothing behind."""
    for known in [s for s in _sessions.values() if s is session or s._whole is session]:
        known.close()
        _sessions.pop(known.id, None)


def owners(frame: pd.DataFrame) -> list[Session | None]:
    """Sessions behind a table, by its mark or its memory; None: one that this process does not know."""
    mark = _mark(frame)
    marked = [] if mark is None else [_sessions.get(mark.removesuffix(DERIVED))]
    columns = (frame.iloc[:, place] for place in range(frame.shape[1]))
    return [*marked, *(session for column in columns for session in tables.owners(column))]


def table_of(frame: pd.DataFrame) -> Table:
    """Return the protected table of a frame; without any session, open the implicit one.

    Raises
    ------
    UnverifiedFrameError, UnknownSessionError, NoSessionError
    """
    check_outside()
    table = tables.lookup(frame)
    if table is not None:
        if (table.session._whole or table.session)._doubted:
            raise NoSessionError(REFUSED)
        return table
    mark = _mark(frame)
    mark = None if mark is None else mark.removesuffix(DERIVED)
    if mark in _sessions and _sessions[mark]._closed:
        raise NoSessionError("the session of this frame is closed; protect it again: df.dp.protect(epsilon=...)")
    if mark is not None and mark not in _sessions:
        raise UnknownSessionError(
            "this frame carries the mark of a session of another process; name the ledger of that session: "
            "df.dp.protect(session=pandas_dp.open_session('visits.dpledger')), or with its terms "
            "df.dp.protect(epsilon=..., ledger='visits.dpledger')"
        )
    scan = tables.scan_of(frame)
    if scan is not None and scan.refusal is not None:
        raise NoSessionError(scan.refusal)
    check_frame(frame, PrivacyUnit())
    with _lock:
        if _ever:
            raise UnverifiedFrameError
        if _refusals:
            raise NoSessionError(REFUSED)
        opened = _open_implicitly(frame)
    warnings.warn(IMPLICIT_WARNING.format(total=IMPLICIT_EPSILON), UserWarning, stacklevel=5)
    return opened


def _open_implicitly(frame: pd.DataFrame) -> Table:
    ledger = open_ledger(None)
    ledger.open("data", Budget.of(positive_epsilon(IMPLICIT_EPSILON)), PrivacyUnit())
    session = _new(Session(ledger, "data", PrivacyUnit(), implicit=True))
    session._attach(frame, None, None, None, whole=True)
    opened = tables.lookup(frame)
    if opened is None:
        raise UnverifiedFrameError
    return opened


def session_of(frame: pd.DataFrame) -> Session | None:
    """Return the open session that answers for this very object, or None."""
    table = tables.lookup(frame)
    return table.session if table is not None else None
