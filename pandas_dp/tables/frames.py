"""Protected tables: which DataFrame object a session answers, and with which rows.

The object decides, and the rows are those that it held when it was protected. Nothing here looks at what it holds later, or
compares rows, dtypes or memory: whether two tables are equal is private, and ``df["age"] = df["age"].fillna(0)`` leaves the
memory as it was exactly if nothing was missing.
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, did_you_mean, told
from pandas_dp.facts.kinds import Kind, kind_of
from pandas_dp.facts.periods import Periods
from pandas_dp.facts.public_only import ATTRIBUTE
from pandas_dp.facts.schema import Schema
from pandas_dp.tables import readers
from pandas_dp.tables.protected import DERIVED, ProtectedFrame, Table, kinds_of
from pandas_dp.tables.readers import ByObject
from pandas_dp.tables.schema_checks import check_alike, inherited

if TYPE_CHECKING:
    from pandas_dp.session.session import Session
    from pandas_dp.tables.parquet import Source

UNVERSIONED = "unversioned-"  # begins the names of contents without a version
MOST_HELD = 8  # versions and files whose first rows a session holds
ALIAS = "this frame stands for {name}: the answer is about the rows first protected under that name"


_tables: ByObject[Table] = ByObject()
_scans: ByObject[Source] = ByObject()  # frames without rows that stand for scanned tables, protected or not
_sources: ByObject[bool] = ByObject()  # frames that were protected as whole tables, also by sessions that are closed

register, lookup = _tables.remember, _tables.of
remember_scan, scan_of = _scans.remember, _scans.of

# names of files that sessions have answered for: an object that stands for them can be gone while its session goes on
_read: dict[Session, set[Any]] = {}


def elsewhere(frame: pd.DataFrame, session: Session | None) -> Session | None:
    """An open session, other than a given one, that this very object belongs to, or one of the files that it was read from."""
    known = lookup(frame)
    if known is not None and not known.session._closed:
        return None if known.session is session else known.session
    names = _names(frame)
    others = ((other, read) for other, read in list(_read.items()) if other is not session)
    return next((other for other, read in others if not names.isdisjoint(read)), None)


def check_free(frame: pd.DataFrame, session: Session | None, claimed: bool = False) -> None:
    """A frame that already belongs to another open budget cannot be given a second one, nor can files.

    An implicit session makes room for any other; where the owner `claimed` that these are other people, files do.
    """
    other = elsewhere(frame, session)
    if other is not None and not other._implicit and not claimed:
        # an object that was read from its files has no session of its own yet
        ended = "df.dp.session" if lookup(frame) is not None else other._terms()
        raise ArgumentValueError(
            f"this table already spends from the budget {other.name!r}; tables about the same people belong on one budget. To "
            f"continue it: {other._terms()}. For another budget: {ended}.close(), then protect again; the epsilons of both "
            "add up"
        )


def _names(frame: pd.DataFrame) -> frozenset[Any]:
    """What tells the files that a frame stands for, or was read from, also before pandas made it of another one."""
    scan = scan_of(frame)
    return scan.names if scan is not None else readers.names_behind(frame)


def remember_source(session: Session, frame: pd.DataFrame, whole: bool) -> None:
    """Note that a session answers for a table, `whole` if it bore no mark of another one, and for files until it is closed."""
    if whole:
        _sources.remember(frame, True)
    if names := _names(frame):
        _read.setdefault(session, set()).update(names)


def was_source(frame: pd.DataFrame) -> bool:
    """Whether this very object was ever protected as a whole table."""
    return _sources.of(frame) is not None


def kept(frame: pd.DataFrame, lineage: str, table: str | None, version: str | None) -> Table | None:
    """What an object stands for, if it goes on to do so: no columns came or went, and no new version is typed.

    Of what was written into it since, names of columns alone are public.
    """
    known = lookup(frame)
    if known is None or (version is not None and known.token != _typed(lineage, table, version)):
        return None
    return known if list(known.source.columns) == list(frame.columns) else None


def read_token(frame: pd.DataFrame) -> str | None:
    """The name that the package's readers gave to an unchanged file, if this very object comes from one.

    It says where a frame comes from, not what it holds by now, so nothing is stored under it.
    """
    scan, read = scan_of(frame), readers.frames.of(frame)
    return scan.token if scan is not None else read.token if read is not None else None


def derive(session: Session, rows: pd.DataFrame, table: Table, steps: tuple[Any, ...]) -> pd.DataFrame:
    """A frame of what steps made of a table's rows, for which a session answers."""
    frame = ProtectedFrame(rows)
    frame.attrs[ATTRIBUTE] = session.id + DERIVED
    scan = None if table.scan is None else table.scan.after(steps)
    made = replace(
        table,
        session=session,
        source=frame.copy(deep=False),
        lineage=table.lineage if table.lineage == "vouched" else "declared",
        steps=table.steps + steps,
        schema=table.schema.after(steps),
        scan=scan,
        cache={},
        _columns={},
    )
    if scan is not None:
        remember_scan(frame, scan)
    register(frame, made)
    return frame


def let_go(session: Session, line: str) -> None:
    """Answer no more for tables that were protected on other terms, which the line has."""
    for _, table in list(_tables.values()):
        if table.session is session:
            table.replaced = table.replaced or line


def are_others(session: Session, frame: pd.DataFrame, lineage: str, table: str | None, version: str | None) -> bool:
    """Whether a session answers for other tables, and neither for this very object nor for its file or typed version.

    As in `is_only`, tables whose objects are gone count, too: when Python gives back the memory of one follows from cells.
    """
    known, held = lookup(frame), session._tables
    here = known is not None and known.session is session and not known.replaced
    same = read_token(frame) if version is None else _typed(lineage, table, version)
    return not here and same not in held.versions and bool(held.by_name)


def is_only(session: Session, frame: pd.DataFrame) -> bool:
    """Whether a session answers for this very object, and never did for others, but for what steps made of it."""
    known = lookup(frame)
    here = known is not None and known.session is session and not known.replaced and known.lineage != "declared"
    return here and session._tables.objects == 1


def hand_on(left: Session, session: Session) -> None:
    """Leave the files of a session to the one that takes its place."""
    _read.setdefault(session, set()).update(_read.pop(left, ()))


def forget_session(session: Session) -> None:
    """Drop every table of a session."""
    _read.pop(session, None)
    for number in [n for n, (_, table) in list(_tables.items()) if table.session is session]:
        _tables.pop(number, None)


def new_token() -> str:
    """Return a name for a content that has no version: it means nothing outside this process."""
    return f"{UNVERSIONED}{uuid.uuid4().hex}"


def check_frame(frame: pd.DataFrame, unit: PrivacyUnit) -> None:
    """Check what is public about a frame: its column names, and that files which it stands for are as they were scanned."""
    if not isinstance(frame, pd.DataFrame):
        raise ArgumentTypeError(
            "a session takes a pandas DataFrame; a scanned table joins it by scan.dp.protect(session=session), as does a Dask "
            "DataFrame"
        )
    check_names(frame.columns)
    if (scan := scan_of(frame)) is not None:
        scan.check()
    if unit.column is not None:
        if unit.column not in frame.columns:
            close = did_you_mean(unit.column, frame.columns)
            raise ArgumentValueError(f"unit={unit.column!r} is not a column of this table{close}")
        with told(f"unit={unit.column!r}: "):
            kind_of(frame[unit.column].dtype)  # or every answer would fail after it is paid
    if unit.periods is not None:
        periods = Periods.from_text(unit.periods)
        periods.check(kind_of_time(frame, periods.time))


def kind_of_time(frame: pd.DataFrame, name: Any) -> Kind | None:
    """The kind of the column that says when a row happened; None where there is no such column."""
    if not isinstance(name, str) or name not in frame.columns:
        return None
    with told(f"time={name!r}: "):
        return kind_of(frame[name].dtype)


def check_names(names: pd.Index[Any]) -> None:
    """Check that a name means one column: among dates, "2026-01" would mean those of a month."""
    if isinstance(names, pd.MultiIndex):
        raise ArgumentTypeError("columns must have one level: df.columns = ['a', 'b', ...]")
    if isinstance(names, pd.DatetimeIndex | pd.PeriodIndex | pd.TimedeltaIndex):
        raise ArgumentTypeError(
            "columns must be named by text. A part of a date, period or duration would name several columns: "
            "df.columns = df.columns.astype('str')"
        )
    if names.has_duplicates:
        raise ArgumentValueError("column names must be unique: df.columns = ['a', 'b', ...]")


def late(frame: pd.DataFrame, name: object) -> str | None:
    """What is said of a column that a frame was given after it was protected; None of any other one."""
    table = lookup(frame)
    if table is None or name not in frame.columns or name in table.empty.columns:
        return None
    made = name if isinstance(name, str) and name.isidentifier() else "new"
    return (
        f"{name!r} was put into this frame after it was protected, so the session does not have it: make it by "
        f"df.dp.assign({made}=lambda d: ...), or type df.dp.protect(session=df.dp.session)"
    )[:400]


def check_no_part(session: Session) -> None:
    """Refuse more tables for a part of a budget: one of a partition answers for its own rows, or a row could be in two."""
    if session._whole is not None:
        raise ArgumentValueError(
            "a part of a budget cannot take another table: df2.dp.protect(session=...) with the session that it is a part of, "
            "then df2.dp.allot(...) or df2.dp.partition(...)"
        )


def _typed(lineage: str, table: str | None, version: str | None) -> str:
    """The token of a version that the owner typed, or of a table of which each night adds rows."""
    return repr((lineage, table, version))


class SessionTables:
    """The tables that a session answers for.

    Attributes
    ----------
    by_name : dict
        The latest by lineage and name.
    versions : dict
        By typed version or file: the table that was protected first. The last `MOST_HELD` of them are held until the session
        ends: when memory is given back follows from the cells of other tables, so nothing that shows may depend on it. A file
        means nothing beside this: not after the session, nor in another process.
    typed : set of str
        Tokens of versions under which rows were held once.
    objects : int
        How many were protected, those that are gone included; what steps make of one is none.
    """

    def __init__(self) -> None:
        self.by_name: dict[str, Table] = {}
        self.versions: dict[str, Table] = {}
        self.typed: set[str] = set()
        self.objects = 0

    @property
    def schema(self) -> Schema:
        """The schema given last."""
        return next((table.schema for table in reversed(self.by_name.values())), Schema({}))

    def attach(
        self,
        session: Session,
        frame: pd.DataFrame,
        schema: Schema | None,
        table: str | None = None,
        version: str | None = None,
        *,
        lineage: str = "source",
        rows: bool | int | None = None,
    ) -> bool:
        """Answer for a frame; whether it counts as other content than the table of this name before.

        The very object stays as it was, also on other terms; see `kept`.
        """
        known = kept(frame, lineage, table, version)
        known = known if known is not None and known.session is session else None
        if known is not None and not known.replaced:
            known.schema = known.schema if schema is None else schema
            known.rows_public = known.rows_public if rows is None else rows
            return False
        return self.hold(session, frame, lineage, schema, table, version, rows, known)

    def hold(
        self,
        session: Session,
        frame: pd.DataFrame,
        lineage: str,
        schema: Schema | None,
        table: str | None,
        version: str | None,
        rows: bool | int | None = None,
        known: Table | None = None,
    ) -> bool:
        """Answer for a frame as it is now, or as it was `known`, or, under a version that is known, as the first one was.

        The steps that made it of a table of this session stay: texts say them, and what is refused after them still is.
        """
        held, scan, before = self.by_name.get(f"{lineage}:{table}"), scan_of(frame), lookup(frame)
        before = before if before is not None and before.session is session else None
        steps = scan.steps if scan is not None else before.steps if before is not None else ()
        typed = None if version is None else _typed(lineage, table, version)
        # of an object that was put in before other rows may be there by now, as in what pandas made of a table
        whole = lineage == "source" and (lookup(frame) is None or known is not None)
        key = typed or (read_token(frame) if whole else None)
        first = self.versions.get(key or "")
        if version is None and first is not None and first.kinds != kinds_of(frame):
            key = first = None  # a file that was read, and columns put in or taken out since
        if schema is None:
            said = before if before is not None and steps else held
            schema = inherited(said.schema if said is not None else self.schema, frame)
        source = frame if known is None else known.source
        # of a table with periods its name says which stored answer comes back, and nothing of what it holds
        grows = table is not None and version is None and session.unit.periods is not None
        token = typed or (_typed(lineage, table, None) if grows else new_token())
        made = Table(
            session,
            # a shallow copy without the labels of rows, which may fail as cells do
            source.set_axis(pd.RangeIndex(len(source))).set_flags(allows_duplicate_labels=True),
            token,
            # under a version whose rows were let go others may stand, which parts must not take for the same
            token if token not in self.typed and not grows else new_token(),
            lineage,
            steps,
            rows or False,
            scan,
            schema,
            again=known.again if known is not None else scan is None and was_source(frame),
        )
        if first is not None and not first.replaced:
            check_alike(made, first, table, version)
            public = rows if rows is not None else first.rows_public
            name = "the file" if version is None else f"version {version!r} of {table or session.name!r}"
            made = replace(first, schema=schema, rows_public=public, notes=(ALIAS.format(name=name),))
        elif key is not None:
            self.typed.add(token)
            self.versions[key] = made
            if len(self.versions) > MOST_HELD:
                del self.versions[next(iter(self.versions))]
        self.by_name[f"{lineage}:{table}"] = made
        self.objects += before is None
        remember_source(session, frame, whole=lineage == "source" and ATTRIBUTE not in frame.attrs)
        frame.attrs[ATTRIBUTE] = session.id
        register(frame, made)
        return held is not None and version is None and made.token != held.token
