"""Sessions: one budget, its unit and relation, and the tables it answers for."""

from __future__ import annotations

import uuid
import weakref
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from pandas_dp import tables
from pandas_dp.aggregates.base import Answer, Terms
from pandas_dp.asked import AskedQuery
from pandas_dp.calls import explain
from pandas_dp.core import gate
from pandas_dp.core.budget import State
from pandas_dp.core.ledger import Ledger
from pandas_dp.core.privacy import Price, PrivacyLoss, PrivacyUnit
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, NoSessionError, did_you_mean
from pandas_dp.release import Provenance, Release, make_release
from pandas_dp.report.allowance import extended
from pandas_dp.report.books import Answered
from pandas_dp.report.shown import shown
from pandas_dp.report.statements import Statements
from pandas_dp.schema import Schema
from pandas_dp.steps.explode import check_units
from pandas_dp.tables import ProtectedFrame, Table, check_frame, open_view

ATTRIBUTE = "pandas_dp"
PART = "::"  # between the name of a budget and that of a part of it
DERIVED = " step"  # ends the mark of a frame that steps made
ALIAS = "this frame stands for {name}: the rows first protected under that answered"


def _typed(lineage: str, table: str | None, version: str) -> str:
    """The token of a version that the owner typed."""
    return repr((lineage, table, version))


@explain
class Session(Statements):
    """One budget and the tables it answers for; opened by ``df.dp.protect(...)``.

    Attributes
    ----------
    name : str
        The budget's name in its ledger; a ledger and a name are one budget for ever.
    unit : PrivacyUnit
        Whose presence is hidden, how much of it can count, and the neighbouring relation.
    budget : Budget
        The total: epsilon, delta, the part of delta reserved for mechanisms that use it up, and the accountant.
    schema : Schema
        The public facts given last.
    id : str
        What protected frames carry in ``df.attrs``; it means nothing outside this process.

    Examples
    --------
    >>> import pandas as pd, pandas_dp
    >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
    >>> session = df.dp.protect(epsilon=3, name="session example")
    >>> count = df.dp(epsilon=0.5).count()
    >>> session.spent, session.left
    ('epsilon=0.5', 'epsilon=2.5')
    >>> session.releases[["query", "price"]].iloc[-1].tolist()
    ['count()', 'epsilon=0.5']
    """

    def __init__(
        self, ledger: Ledger, name: str, unit: PrivacyUnit, implicit: bool = False, whole: Session | None = None
    ) -> None:
        self.id = f"dp:{uuid.uuid4()}"
        self.name, self.unit, self._implicit, self._closed = name, unit, implicit, False
        self._successor: Session | None = None  # of an implicit one: that which its answers were charged to first
        self._doubted = False  # an implicit one on whose frame a protect(...) was refused
        self._ledger, self._whole = ledger, whole  # the session that paid for this one, where it is a part
        self._typical: tuple[str, PrivacyLoss] | None = None  # price and loss of the last answer
        self._answered: Answered = Answered() if whole is None else whole._answered
        self._rule = self._ledger.rule(self.name)
        self._held: dict[str, Table] = {}
        # by typed version or file: the table that was protected first, while anything holds it
        self._versions: weakref.WeakValueDictionary[str, Table] = weakref.WeakValueDictionary()
        self._typed: set[str] = set()
        self._streams: weakref.WeakSet[gate.Stream] = weakref.WeakSet()

    def _settle(self, unit: PrivacyUnit, replaced: bool = False) -> None:
        """Take over what ``protect`` put on record; where that replaced the terms, earlier frames are not answered any more."""
        if replaced:
            tables.let_go(self)
            self._held.clear()
        self.unit = unit
        self._rule = self._ledger.rule(self.name)

    @property
    def _state(self) -> State:
        return self._ledger.state(self.name)

    if not TYPE_CHECKING:  # a type checker shall still find a misspelt name

        def __getattr__(self, name):
            """Say what a session has, for a name that it has not got."""
            if name.startswith("_"):
                raise AttributeError(name)
            known = [other for other in dir(type(self)) if not other.startswith("_")]
            close = did_you_mean(name, known) or "."
            raise AttributeError(f"a session has no {name!r}{close} There are: {', '.join(known)}")

    def adopt(
        self, frame: pd.DataFrame, reason: str, *, table: str | None = None, version: str | None = None
    ) -> Session:
        """Answer for a frame on the owner's word that it was derived row by row from a protected table.

        Parameters
        ----------
        frame : DataFrame
        reason : str
            Why this is sound; recorded in the ledger. Releases from this frame say ``vouched``.
        table, version : str, optional
            Public name and version of the content, under which answers are stored for re-runs.

        Returns
        -------
        Session

        Raises
        ------
        ArgumentTypeError, ArgumentValueError

        Notes
        -----
        Sound are operations in which each row depends on its own row only. Where rows may repeat, the frame needs the
        unit column, and its contribution bound is then enforced as ever.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="adopt example")
        >>> minor = session.adopt(df.assign(minor=df["age"] < 18), reason="a column made of its own row")
        >>> session.releases["kind"].tolist()
        ['open', 'adopt']
        """
        self._open()
        tables.check_no_part(self)
        if not isinstance(reason, str) or not reason.strip():
            raise ArgumentTypeError("reason must say why this frame is derived row by row: adopt(df, reason='...')")
        check_frame(frame, self.unit)
        tables.check_free(frame, self)
        self._ledger.note(self.name, "adopt", reason)
        self._hold(frame, "vouched", None, table, version)
        return self

    def extend(self, to: Any = None, to_delta: Any = None, *, reason: str) -> Session:
        """Raise the total to the one given, on record. Doing it again changes nothing, so cells can be run again.

        Parameters
        ----------
        to : number, optional
            The new total epsilon, not what is added to it; as it was where left out.
        to_delta : number, optional
            The new total delta. A budget that had none counts Renyi divergences from then on, also those of its past.
        reason : str
            Recorded in the ledger.

        Returns
        -------
        Session

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
            A total can only be raised. One that the budget had before it was raised further is taken for a cell that
            runs again.

        Notes
        -----
        Everything released is then private at the new total, provided that released answers did not decide on it.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="extend example")
        >>> session.extend(to=5, reason="the follow-up study").left
        'epsilon=5'
        >>> session.extend(to=5, reason="the follow-up study").left  # the cell runs again
        'epsilon=5'
        """
        self._open()
        old = self.budget
        budget = extended(old, to, to_delta, reason, self._ledger.entries(self.name), part=self._whole is not None)
        if budget != old:
            self._ledger.amend(self.name, budget, self.unit, f"extend: {reason}")
            self._rule = self._ledger.rule(self.name)
        return self

    def close(self) -> None:
        """End the session and its streams: nothing is answered any more, the tables are let go. The ledger stays.

        The package forgets the session but for its id. What was answered on a budget in memory, which reports show, is kept by
        this object alone and goes with it.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="close example")
        >>> session.close()
        >>> df.dp(epsilon=0.5).count()
        Traceback (most recent call last):
            ...
        pandas_dp.errors.NoSessionError: the session of this frame is closed; protect it again: df.dp.protect(epsilon=...)
        """
        gate.check_outside()
        self._closed = True
        for stream in list(self._streams):
            stream.close()
        self._held.clear()
        tables.forget_session(self)

    def _ask(self, query: AskedQuery, table: Table, columns: tuple[str, ...], fresh: bool) -> Release:
        """Send a query through the gate and wrap the answer."""
        request = self._request(query, table, columns, fresh)
        if self._ledger.path is not None:

            def told(answer: Answer) -> str:
                return shown(self._wrap(answer, query, table, request.unit, request.price)).to_json()

            request = replace(request, told=told)
        given = gate.release(request)
        if request.loss.parts:
            self._typical = request.price, request.loss
        release = self._wrap(given.answer, query, table, request.unit, request.price, not given.paid)
        self._answered.keep(self._ledger, self.name, given, release)
        return release

    def _request(self, query: AskedQuery, table: Table, columns: Iterable[str], fresh: bool) -> gate.Request:
        """Write a query about the rows as they were protected as the gate takes it."""
        self._open()
        unit = self.unit  # read once: should another thread replace it from here on, the ledger refuses the charge
        steps = table.steps + query.steps
        self._check_steps(steps)
        read = {*columns, *(c for step in query.steps for c in step.reads)}
        owner = {unit.column} if unit.column else set()
        table.check()
        terms = self._terms(table, query.steps, query.price, unit)
        query.aggregate.check(terms)
        loss = query.aggregate.loss(terms)
        # a file that is read as text is other content than the same file read as numbers
        kinds = table.kinds_of(read | owner | {c for step in table.steps for c in step.reads})
        content = table.token, table.schema.after(query.steps).null_rules, kinds
        # where a public number of rows decides how many blocks there are, integers of other blocks are read in another way
        rows = (terms.public_rows,) if query.aggregate.by_rows and terms.public_rows is not None else ()
        return gate.Request(
            ledger=self._ledger,
            name=self.name,
            rule=self._rule,
            key=None if not loss.parts else query.key(repr(content + rows), unit, steps),
            query=str(replace(query, steps=steps) if table.steps else query),
            price=str(query.price) if loss.parts else "nothing",
            loss=loss,
            unit=unit,
            recipe=lambda: query.aggregate.steps(terms),
            view=lambda: open_view(table, query.steps, frozenset(read | owner)),
            fresh=fresh,
        )

    def _wrap(
        self, answer: Answer, query: AskedQuery, table: Table, unit: PrivacyUnit, spent: str, stored: bool = False
    ) -> Release:
        """Tell an answer where it comes from, with all steps that lead to its rows."""
        query = replace(query, steps=table.steps + query.steps) if table.steps else query
        declared = table.lineage == "source" and query.steps
        lineage = "declared" if declared else table.lineage
        answer = replace(answer, notes=(*answer.notes, *table.notes))
        return make_release(answer, Provenance.of(answer, query, unit, lineage, spent, stored))

    def _check_steps(self, steps: tuple[Any, ...]) -> None:
        """Refuse steps that would change whose row is whose."""
        if any(self.unit.column in step.touches for step in steps):
            raise ArgumentValueError(f"steps must leave the unit column {self.unit.column!r} as it is")
        check_units(steps, self.unit.column)

    def _terms(self, table: Table, steps: tuple[Any, ...], price: Price, unit: PrivacyUnit) -> Terms:
        """Public facts for a recipe; under replace-one, where the owner says so, the number of rows of the whole table."""
        changed = any(step.is_filter or step.factor > 1 for step in table.steps + steps)
        public = not unit.add_remove and unit.column is None and not changed
        given = table.public_rows if public else None
        return Terms(unit, price, self._rule.budget.pure, given, given is not None and table.rows_public is True)

    def _derive(self, rows: pd.DataFrame, table: Table, steps: tuple[Any, ...]) -> pd.DataFrame:
        """A frame of what steps made of a table's rows, for which this session answers."""
        frame = ProtectedFrame(rows)
        frame.attrs[ATTRIBUTE] = self.id + DERIVED
        scan = None if table.scan is None else table.scan.after(steps)
        made = replace(
            table,
            session=self,
            source=frame.copy(deep=False),
            lineage=table.lineage if table.lineage == "vouched" else "declared",
            steps=table.steps + steps,
            schema=table.schema.after(steps),
            scan=scan,
            cache={},
            _columns={},
        )
        if scan is not None:
            tables.remember_scan(frame, scan)
        tables.register(frame, made)
        return frame

    def _attach(
        self,
        frame: pd.DataFrame,
        schema: Schema | None,
        table: str | None = None,
        version: str | None = None,
        *,
        lineage: str = "source",
        rows: bool | int | None = None,
    ) -> bool:
        """Answer for a frame; whether it counts as other content than the table of this name before.

        The very object stays as it was: of what was written into it since, names of columns alone are public.
        """
        known = tables.lookup(frame)
        if known is not None and known.session is self and not known.replaced:
            typed = version is not None and known.token != _typed(lineage, table, version)
            if not typed and list(known.source.columns) == list(frame.columns):
                known.schema = known.schema if schema is None else schema
                known.rows_public = known.rows_public if rows is None else rows
                return False
        return self._hold(frame, lineage, schema, table, version, rows)

    def _hold(
        self,
        frame: pd.DataFrame,
        lineage: str,
        schema: Schema | None,
        table: str | None,
        version: str | None,
        rows: bool | int | None = None,
    ) -> bool:
        """Answer for a frame as it is now, or, under a version that is known, as the first one was; see `_attach`."""
        held, scan = self._held.get(f"{lineage}:{table}"), tables.scan_of(frame)
        token = _typed(lineage, table, version) if version is not None else tables.read_token(frame)
        first = self._versions.get(token or "")
        if version is None and first is not None and first.kinds != tables.kinds_of(frame):
            token = first = None  # a file that was read, and columns put in or taken out since
        if schema is None:
            schema = tables.inherited(held.schema if held is not None else self.schema, frame)
        made = Table(
            self,  # and a shallow copy without the labels of rows, which may fail as cells do
            frame.set_axis(pd.RangeIndex(len(frame))).set_flags(allows_duplicate_labels=True),
            token or tables.new_token(),
            # under a version whose rows were let go others may stand, which parts must not take for the same
            token if token and token not in self._typed else tables.new_token(),
            lineage,
            () if scan is None else scan.steps,
            rows or False,
            scan,
            schema,
        )
        if first is not None and not first.replaced:
            tables.check_alike(made, first, table, version)
            said = rows if rows is not None else first.rows_public
            name = "the file" if version is None else f"version {version!r} of {table or self.name!r}"
            made = replace(first, schema=schema, rows_public=said, notes=(ALIAS.format(name=name),))
        elif token is not None:
            self._typed.add(made.token)
            self._versions[made.token] = made
        self._held[f"{lineage}:{table}"] = made
        if lineage == "source":
            tables.remember_source(self, frame, whole=ATTRIBUTE not in frame.attrs)
        frame.attrs[ATTRIBUTE] = self.id
        tables.register(frame, made)
        return held is not None and version is None and made.token != held.token

    @property
    def schema(self) -> Schema:
        """The schema given last."""
        return next((t.schema for t in reversed(self._held.values())), Schema({}))

    @property
    def _ended(self) -> bool:
        """Whether this session, or one that it is a part of, was closed."""
        return self._closed or (self._whole is not None and self._whole._ended)

    def _open(self) -> None:
        gate.check_outside()
        if self._closed:
            raise NoSessionError("this session is closed; protect the frame again: df.dp.protect(epsilon=...)")
        if self._whole is not None:
            self._whole._open()

    def __reduce__(self) -> Any:
        """Refuse: a copy would be a second budget."""
        raise TypeError("a session cannot be pickled or copied; there type pandas_dp.open_session('visits.dpledger')")
