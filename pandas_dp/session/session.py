"""Sessions: one budget, its unit and relation, and the tables it answers for."""

from __future__ import annotations

import contextlib
import os
import uuid
import weakref
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING, Any

import pandas as pd

from pandas_dp.aggregates.asked import AskedQuery
from pandas_dp.aggregates.base import Answer
from pandas_dp.books import odometer, period_words
from pandas_dp.books.amounts import state_of
from pandas_dp.books.odometer import Odometer, extended, group_text
from pandas_dp.books.views import PART as PART
from pandas_dp.books.views import Answered, Books, draw_budget, session_card, session_text
from pandas_dp.core import gate
from pandas_dp.core.budget import Budget, State
from pandas_dp.core.ledger import Ledger
from pandas_dp.core.privacy import PrivacyLoss, PrivacyUnit
from pandas_dp.errors import (
    OF_BUDGETS,
    ArgumentTypeError,
    ArgumentValueError,
    LedgerError,
    NoSessionError,
    PandasDPError,
    did_you_mean,
)
from pandas_dp.facts import progress
from pandas_dp.facts.argument_help import explain
from pandas_dp.facts.numbers import positive_int
from pandas_dp.facts.schema import Schema
from pandas_dp.release.base import Release
from pandas_dp.release.provenance import Provenance
from pandas_dp.release.summary import shown
from pandas_dp.release.values import make_release
from pandas_dp.session import alone, periods, refining
from pandas_dp.tables import frames
from pandas_dp.tables.frames import SessionTables, check_frame
from pandas_dp.tables.protected import Table, caution_of, marks_of

if TYPE_CHECKING:
    from pandas_dp.release.reconcile import Reconciled

# by its own id and those of its parts, the one that a process may have: see `registry`
implicits: dict[str, Session] = {}
LEAST_TOTAL = 3  # what the documentation opens a budget with
TERMS = ", with unit= and max_rows= where somebody may have several rows, with delta= where keys are to be found"
closed: list[Session] = []  # since one was opened last


def first_total(spent: Fraction) -> str:
    """The call that names a total above what was answered before."""
    return f"df.dp.protect(epsilon={max(LEAST_TOTAL, floor(spent) + 1)})"


@explain
class Session:
    """One budget and the tables it answers for; opened by ``df.dp.protect(...)``.

    Attributes
    ----------
    name : str
        The budget's name in its ledger; a ledger file and a name always mean the same budget.
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

    _holds: type[SessionTables] = SessionTables

    def __init__(
        self, ledger: Ledger, name: str, unit: PrivacyUnit, implicit: bool = False, whole: Session | None = None
    ) -> None:
        self.id = f"dp:{uuid.uuid4()}"
        self.name, self.unit, self._implicit = name, unit, implicit
        # of an implicit one: that which its answers were charged to first; of one that made room: that which took its place
        self._successor: Session | None = None
        self._doubted = False  # an implicit one on whose frame a protect(...) was refused
        self._ledger, self._whole = ledger, whole  # the session that paid for this one, where it is a part
        if implicit or (whole is not None and whole.id in implicits):
            implicits[self.id] = self if whole is None else implicits[whole.id]
        self._typical: tuple[str, PrivacyLoss] | None = None  # price and loss of the last answer
        self._drawn: OrderedDict[int, refining.Drawn] = OrderedDict()  # by entry
        self._goes_on = False  # one of a job that is started again after it was killed, see `Ledger.begin`
        self._answered: Answered = Answered() if whole is None else whole._answered
        self._rule = self._ledger.rule(self.name)
        self._tables = self._holds()
        self._streams: weakref.WeakSet[gate.OpenRecipe] = weakref.WeakSet()
        self._parts: weakref.WeakSet[Session] = weakref.WeakSet()
        if whole is not None:
            whole._parts.add(self)
        # in this order, so that a thread which closes the whole at this moment finds the part, or the part finds it closed
        self._closed: bool = whole is not None and whole._closed

    def _unnamed(self) -> ArgumentValueError:
        """What is said where an implicit session is given what only a budget has that somebody named."""
        line = first_total(self._state.epsilon)
        return ArgumentValueError(
            f"this session was opened automatically for a first question; set its total first: {line}{TERMS}"
        )

    def _succeed(self, marks: Sequence[str]) -> None:
        """Be the budget of what bears the mark of an implicit session, if it has none yet."""
        for known in (implicits[mark] for mark in marks if mark in implicits):
            known._successor = known._successor or self

    def _settle(self, unit: PrivacyUnit, replaced: str = "") -> None:
        """Take over what ``protect`` put on record; where that replaced the terms, earlier frames are told their line."""
        if replaced:
            frames.let_go(self, replaced)
            self._tables.by_name.clear()
            self._tables.versions.clear()
        self.unit = unit
        self._rule = self._ledger.rule(self.name)

    def _terms(self, name: str = "", **more: str) -> str:
        """The line that puts a frame on this budget, or on one of its terms under another name; a part is its whole's."""
        if (other := self._whole or self._successor) is not None:
            return other._terms(name, **more)
        return odometer.to_type(self._rule.budget, self.unit, name or self.name, self._ledger.path, **more)

    @property
    def _state(self) -> State:
        return state_of(self._ledger, self.name)

    if not TYPE_CHECKING:  # a type checker shall still find a misspelt name

        def __getattr__(self, name):
            """Say what a session has, for a name that it has not got."""
            if name.startswith("_"):
                raise AttributeError(name)
            known = [other for other in dir(type(self)) if not other.startswith("_")]
            close = f"{OF_BUDGETS[name]}." if name in OF_BUDGETS else did_you_mean(name, known) or "."
            raise AttributeError(f"a session has no {name!r}{close} There are: {', '.join(known)}")

    def adopt(
        self, frame: pd.DataFrame, reason: str, *, table: str | None = None, version: str | None = None
    ) -> Session:
        """Answer for a frame that, as the owner states, was derived row by row from a protected table.

        Parameters
        ----------
        frame : DataFrame
        reason : str
            Why this is sound; recorded in the ledger. Releases from this frame say ``on the owner's word``.
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
        This is sound if each row was computed from one row only. If rows may repeat, the frame needs the unit column; the cap
        on rows per unit then applies as always.

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
        frames.check_no_part(self)
        if not isinstance(reason, str) or not reason.strip():
            raise ArgumentTypeError(
                "reason must say how each row comes from one row of a protected table: adopt(df, reason='...')"
            )
        check_frame(frame, self.unit)
        with alone.lock, alone.opening():
            frames.check_free(frame, self)
            self._succeed(marks_of(frame))
            self._ledger.note(self.name, "adopt", reason)
            self._tables.hold(self, frame, "vouched", None, table, version)
        return self

    def extend(self, to: Any = None, to_delta: Any = None, *, reason: str) -> Session:
        """Raise the total to the one given, on record. Repeating the call changes nothing, so cells can be run again.

        Parameters
        ----------
        to : number, optional
            The new total epsilon, not what is added; unchanged if left out.
        to_delta : number, optional
            The new total delta. A budget without a delta counts Renyi divergences from then on, also for its earlier answers.
        reason : str
            Recorded in the ledger.

        Returns
        -------
        Session

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
            A total can only be raised. A total that the budget had earlier changes nothing, because it may come from a cell
            that is run again.

        Notes
        -----
        All answers together are then private at the new total, if the decision to raise it did not depend on released answers.

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
        if self._implicit:
            raise self._unnamed()
        old = self.budget
        budget = extended(old, to, to_delta, reason, self._ledger.entries(self.name), part=self._whole is not None)
        if budget != old:
            if (known := self._ledger.budget(self.name)) is not None and known[1] != self.unit:
                raise LedgerError("the terms of this budget were replaced: protect the frame again, df.dp.protect(...)")
            self._amend(budget, self.unit, f"extend: {reason}")
        return self

    def _raised(self, term: str, rho: Any = None) -> str:
        """The line that raises one of the totals; it is typed with another number, or as it is. To a `rho`, if it is higher."""
        return odometer.to_raise(self.budget, term) if rho is None else odometer.to_rho(self._rule, self._state, rho)

    def _amend(self, budget: Budget, unit: PrivacyUnit, why: str) -> None:
        """Go on with another total, or with another bound on the rows of a unit, on record."""
        self._ledger.amend(self.name, budget, unit, why)
        self._settle(unit)

    def close(self) -> None:
        """End the session and its streams: it answers nothing more and forgets its tables. The ledger stays.

        Its parts end with it. The answers of a budget in memory, which reports show, are kept by this object alone.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="ended")
        >>> session.close()
        >>> session.adopt(df, reason="too late")
        Traceback (most recent call last):
            ...
        pandas_dp.errors.NoSessionError: this session is closed; protect the frame again: df.dp.protect(epsilon=3, name='ended')
        """
        gate.check_outside()
        self._closed = True
        closed.append(self)
        for part in list(self._parts):
            part.close()
        for stream in list(self._streams):
            stream.close()
        self._drawn.clear()
        self._tables.by_name.clear()
        self._tables.versions.clear()
        frames.forget_session(self)

    def _ask(self, query: AskedQuery, table: Table, columns: tuple[str, ...], fresh: bool) -> Release:
        """Send a query through the gate and wrap the answer."""
        request = table.request(query, columns, fresh)
        return self._given(request, query, table, columns, request.key)

    def _given(
        self, request: gate.Request, query: AskedQuery, table: Table, columns: tuple[str, ...], terms: str | None
    ) -> Release:
        """Send a request through the gate, wrap its answer, and note from which rows in memory it was drawn."""
        sent = request
        if self._ledger.path is not None:

            def told(answer: Answer) -> str:
                return shown(self._wrap(answer, query, table, request.unit, request.price)).to_json()

            waits = self._goes_on and not (request.key is None or request.fresh or request.base)
            sent = replace(request, told=told, waits=waits)
        caution_of(request, table, columns)
        with progress.shown("answers", query):
            given = periods.released(sent, table)
        if self._closed:  # by another thread meanwhile, which may have given the table another budget
            raise NoSessionError(f"this session is closed; protect the frame again: {self._terms()}")
        if request.loss.parts:
            self._typical = request.price, request.loss
        refining.remember(self._drawn, given, table, query, columns, request, terms)
        if request.periods is not None:
            notes = *table.notes, *periods.notes(self._ledger, self.name, table, given)
            table = replace(table, notes=notes, content=refining.content_of(self._drawn, given, table))
        release = self._wrap(given.answer, query, table, request.unit, request.price, not given.paid, given.sequence)
        self._answered.keep(self._ledger, self.name, given, release)
        return release

    def _wrap(
        self,
        answer: Answer,
        query: AskedQuery,
        table: Table,
        unit: PrivacyUnit,
        spent: str,
        stored: bool = False,
        entry: int | None = None,
    ) -> Release:
        """Tell an answer where it comes from, with all steps that lead to its rows."""
        query = replace(query, steps=table.steps + query.steps) if table.steps else query
        declared = table.lineage == "source" and query.steps
        lineage = "declared" if declared else table.lineage
        content = self.name, unit, table.content, table.schema.null_rules
        return make_release(
            answer, Provenance.of(answer, query, table.notes, unit, lineage, spent, stored, content, entry)
        )

    @property
    def schema(self) -> Schema:
        """The schema given last."""
        return self._tables.schema

    def _open(self) -> None:
        gate.check_outside()
        if self._closed:
            raise NoSessionError(f"this session is closed; protect the frame again: {self._terms()}")

    @property
    def budget(self) -> Budget:
        """The total as the ledger has it: epsilon, delta, the part of delta that mechanisms may use up, and the accountant."""
        return self._ledger.rule(self.name).budget

    @property
    def spent(self) -> Odometer:
        """What is spent, as a text, with ``.epsilon``, ``.delta`` and ``.guarantee``; see `Odometer`."""
        return odometer.spent_of(self._ledger, self.name, self.unit)

    @property
    def left(self) -> Odometer:
        """What is left, as ``spent``; with a delta first how many more calls like the last one that is."""
        return odometer.left(self._ledger.rule(self.name), self._state, self.unit, self._typical)

    def group(self, size: int = 1, *, periods: int | None = None) -> str:
        """Say in words what the whole budget promises to a group of units, such as a household of three.

        Parameters
        ----------
        size : int
        periods : int, optional
            For a budget for each period: the number of periods in which a unit is present.

        Returns
        -------
        str

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
            For ``periods=`` if the budget has no periods, or every row is a unit, or together with a size above 1.

        Notes
        -----
        Tables that differ in k units are k steps apart: k epsilon, and delta (e^(k epsilon) - 1) / (e^epsilon - 1). Source:
        Dwork, Roth 2014, Theorem 2.2.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="group example")
        >>> session.group(3)
        'any 3 rows together: epsilon=9'
        """
        if periods is not None:
            return period_words.group_text(self.budget, self.unit, self._state, positive_int(size, "size"), periods)
        promised = odometer.promised(self._ledger.rule(self.name), self._state)
        return group_text(promised, self.unit, positive_int(size, "size"))

    @property
    def releases(self) -> pd.DataFrame:
        """Every entry of the ledger for this budget: what was asked, when, and its price. Prints short; columns are full."""
        return Books.of(self._ledger.entries(self.name))

    def reconcile(self, complete: Any = (), nonnegative: Any = False, whole: Any = False) -> Reconciled:
        """Make all tables of counts that were answered on this budget agree with each other; nothing is charged.

        Parameters
        ----------
        complete, nonnegative, whole
            As `pandas_dp.reconcile` takes them.

        Returns
        -------
        Reconciled
            The largest set of tables about the same rows, after the same steps, among the latest thousand answers that this
            process was given. Its notes say how many other tables there are.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
            As `pandas_dp.reconcile`; also where there are no two tables.

        Notes
        -----
        Privacy is that of the answers together, since only these are looked at. See `pandas_dp.reconcile`.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"sex": ["f", "m"] * 3000})
        >>> session = df.dp.protect(epsilon=3, name="session reconcile example")
        >>> rows = df.dp(epsilon=1).count()
        >>> sexes = df.dp(epsilon=1).groupby("sex", keys=["f", "m"]).size()
        >>> both = session.reconcile(complete=["sex"])
        >>> bool(abs(both[0] - both[1].sum()) < 1e-6), session.left
        (True, 'epsilon=1')
        """
        return self._answered.reconciled(self.name, complete, nonnegative, whole)

    def plot(self, ax: Any = None) -> Any:
        """Draw what was spent after each answer, as ``session.spent.epsilon`` counts it, and the total as a line.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure is made without one.

        Returns
        -------
        matplotlib Axes

        Raises
        ------
        ImportError
            Without matplotlib: ``pip install 'pandas-dp[plot]'``.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="session plot example")
        >>> from matplotlib.figure import Figure
        >>> session.plot(Figure().subplots()).get_title()
        "privacy budget 'session plot example'"
        """
        return draw_budget(self._ledger.rule(self.name), self.unit, self._ledger.entries(self.name), self.name, ax)

    def report(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        about: Mapping[str, Any] | str | None = None,
        values: bool = False,
    ) -> str | None:
        """Make the certificate of this budget and its parts: one page of HTML for the data protection officer.

        It is also made for programs: as a statement, or as a draft for the public registry of deployments.

        Parameters
        ----------
        path : str or path, optional
            Where to write it; a file or link of this name is replaced in one step. The end of the name decides: ``.html`` is
            the page, which a browser saves as PDF; ``.json`` the statement, with every fact of the page and exact numbers as
            texts; ``.yaml`` the draft for the registry. None: the page is returned; a prompt shows it as one line.
        about : mapping or str, optional
            For ``.json`` and ``.yaml``: what only you know, or the name of a TOML file with it: who publishes what, for what
            purpose, since when. The registry requires slug, name, data_curators, intended_use, data_product_type,
            data_product_region, description, publication_date and authors.
        values : bool, default False
            Whether a ``.json`` statement holds the released answers.

        Returns
        -------
        str or None

        Raises
        ------
        LedgerError
            The ledger is damaged: its whole chain of entries is read first.
        ArgumentValueError
            The path ends with something else, `about` has an unknown field, or lacks one that the registry requires.

        Notes
        -----
        Its first section says in plain words who is protected, by how much, what was published and what is not covered. Then
        follow warnings, what is spent and left, every question with its price and answer (of a budget in memory the latest
        thousand answers), and the record. Nothing of the data but released values is on it. It loads nothing and runs no
        script.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="report example")
        >>> session.report().startswith("<!DOCTYPE html>")
        True
        """
        from pandas_dp.books import report

        gate.check_outside()  # what a user's function writes may tell of a row
        held = (self._whole or self)._tables.by_name
        return report.report(self._ledger, self.name, path, about, values, self._answered, held)

    def __repr__(self) -> str:
        """Say what is protected, spent and left; nothing of the data."""
        try:
            return session_text(*self._told)
        except PandasDPError as error:
            return f"<pandas_dp session {self.name!r}: {error}>"

    def _repr_html_(self) -> str | None:
        with contextlib.suppress(PandasDPError):  # the plain text says what is wrong
            return session_card(*self._told)
        return None

    @property
    def _told(self) -> tuple[Any, ...]:
        standing = "closed" if self._closed else "implicit" if self._implicit else ""
        return self._ledger, self.name, self.unit, self._typical, standing

    def __reduce__(self) -> Any:
        """Refuse: a copy would be a second budget."""
        raise TypeError("a session cannot be pickled or copied; there type pandas_dp.open_session('visits.dpledger')")
