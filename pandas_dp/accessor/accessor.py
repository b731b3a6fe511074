"""The accessor ``df.dp``: thin and stateless; it only knows its frame."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import pandas as pd

from pandas_dp.accessor import private_bound
from pandas_dp.core import gate
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, StepFailedError
from pandas_dp.facts import numbers
from pandas_dp.facts.argument_help import Guide, Line, explain, explained, letting_go, uncopied
from pandas_dp.facts.chains import UNPRICED
from pandas_dp.facts.schema import Schema
from pandas_dp.questions.lacking import chosen, completed_line
from pandas_dp.questions.unknown_names import NO_COLUMN, in_own_columns, missing_question, of_counts
from pandas_dp.session import alone, opening, periods, registry
from pandas_dp.session.advice import with_total
from pandas_dp.session.ledger_files import Witness
from pandas_dp.session.session import Session
from pandas_dp.steps.changes import Step, applied
from pandas_dp.steps.steps import RowSteps, take_steps
from pandas_dp.tables import frames

if TYPE_CHECKING:
    from pandas_dp.questions.frame import PricedFrame

    PreviewFrame = Any  # its questions are those of PricedFrame, but each returns a Preview

T = TypeVar("T")


@cache
def _questions() -> type[PricedFrame]:
    """The questions there are, loaded with the first price: importing the package shall cost little."""
    from pandas_dp.questions.frame import PricedFrame

    globals().update(PricedFrame=PricedFrame, PreviewFrame=PricedFrame)  # where completion reads annotations
    return PricedFrame


@explain
class Accessor(RowSteps[pd.DataFrame]):
    """Differentially private answers from this DataFrame.

    Every question names its price and gets a plain number or Series with ``.interval()``, ``.table()`` and ``.notes``::

        df.dp.protect(epsilon=3)  # the total; also unit="patient_id", max_rows=10
        df.dp(epsilon=0.5).mean("age", bounds=(0, 100))  # a question at that price
        df.dp.session  # spent, left; .releases, .report("certificate.html")

    **Before the price**

    * ``df.dp.protect(...)``: open the budget, or join it. ``df.dp.allot(...)``, ``df.dp.partition(...)``: parts of it.
    * ``df.dp.period("2026-11-28")``: the rows of a day, where the budget is for each.
    * ``df.dp.preview(epsilon=0.5)``: price and error of a question; reads and charges nothing.
    * ``df.dp(epsilon=0.5)``, with ``delta=1e-7`` for Gaussian noise and unknown keys, ``df.dp(rho=0.01)``: a price.
    * ``df.dp(within=20)``: the smallest price for that error.
    * ``query``, ``filter``, ``assign``, ``eval``, ``clip``, ``fillna``, ``dropna``, ``drop``, ``rename``, ``merge``,
      ``explode``: frames that stay protected.

    **After the price**, with bounds, bins and keys that are public, never from the data

    * How many: ``count``, ``size``, ``nunique``, ``value_counts``, ``histogram``, ``unique``, ``rows_per_unit``.
    * How much: ``sum``, ``mean``, ``var``, ``std``, ``agg``, ``describe``.
    * Ranks: ``median``, ``quantile``, ``min``, ``max``, ``ecdf``.
    * Groups and tables: ``groupby("sex", keys=[...])["age"].mean()``, ``crosstab``, ``pivot_table``.
    * Several columns: ``cov``, ``corr``, ``linear_regression``, ``kmeans``, ``mst_cost``.
    * The best of a list: ``mode``, ``top_k``, ``select``, ``best_price``.
    * Your own function: ``release``, ``sample_and_aggregate``, ``groupby_mean_sa``.
    * Many questions for one price: ``above_threshold``, ``oracle``. One answer per row: ``randomized_response``.
    * A better answer for the difference of the prices: ``refine``. One column: ``df.dp(epsilon=0.5)["age"].median()``.

    ``help(df.dp(epsilon=1).mean)`` explains a question and costs nothing.
    """

    __slots__ = ("_frame",)

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame

    def _late(self, name: object) -> str | None:
        """See `frames.late`."""
        return frames.late(self._frame, name)

    __reduce__ = uncopied

    def _empty(self) -> pd.DataFrame:
        return registry.table_of(self._frame).empty

    def _given(self, frame: pd.DataFrame) -> pd.DataFrame:
        """What the user gets for a frame: itself, but for a scanned table and a Dask DataFrame."""
        return frame

    def _then(self, more: tuple[Step, ...]) -> pd.DataFrame:
        return self._given(self._apply(more))

    def _apply(self, done: tuple[Step, ...]) -> pd.DataFrame:
        """Apply steps to the rows as they were protected and keep the result protected."""
        table = registry.table_of(self._frame)
        table.check_steps(done)
        table.check()
        rows = gate.guarded(lambda: applied(done, table.source), StepFailedError)
        return frames.derive(table.session, rows, table, done)

    def __call__(
        self,
        epsilon: Any = None,
        delta: Any = 0,
        rho: Any = None,
        *,
        within: Any = None,
        confidence: Any = 0.95,
        fresh: bool = False,
        max_groups: int | None = None,
    ) -> PricedFrame:
        """Put a price on one call, or say how accurate its answer should be.

        Parameters
        ----------
        epsilon : number
            Price of one question. Decimals are exact, also in quotes: ten calls at 0.1 cost 1.
        delta : number
            With epsilon: Gaussian noise at this (epsilon, delta), if the question can use it; for unknown keys, their
            discovery.
        rho : number
            Instead of epsilon: the price of Gaussian noise in zero-concentrated differential privacy (zCDP). For one count,
            rho=0.01 gives noise of standard deviation 7; half of rho gives 1.4 times the noise.
        within : number, Timedelta or text
            In place of a price: with probability ``confidence``, the answer is within this distance of the exact one. For
            durations, ``"5min"``; for medians and quantiles, a typical distance in ranks; for selections, in count or score.
            The smallest epsilon for this is charged, rounded up to four digits; on a budget that counts rho that of Laplace
            noise or the rho of Gaussian noise, whichever adds less to it. Means, variances and standard deviations need
            a price: their error depends on the number of rows.
        confidence : number
            Only with ``within``: the probability that the answer is within this distance, strictly between 0 and 1.
        fresh : bool
            Buy a new draw even if the same question was answered before (which is free otherwise).
        max_groups : int, optional
            Cap on the groups in which one unit counts here, below that of ``protect``. The noise of groups, bins and keys is
            smaller. For a unit in more groups, a random choice of groups counts.

        Returns
        -------
        PricedFrame
            Has the questions: ``.count()``, ``.mean("age", bounds=(0, 100))`` and others. Nothing is charged before one.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="price example")
        >>> 2900 < df.dp(epsilon=0.5).count() < 3100, 44 < df.dp(epsilon=1).mean("age", bounds=(0, 100)) < 48
        (True, True)
        >>> count = df.dp(within=20).count()  # the least epsilon for that
        >>> session.spent
        'epsilon=1.6462'
        """
        return _questions()(self._frame, *numbers.offer(epsilon, delta, rho, within, confidence, fresh, max_groups))

    def preview(
        self,
        epsilon: Any = None,
        delta: Any = 0,
        rho: Any = None,
        *,
        within: Any = None,
        confidence: Any = 0.95,
        fresh: bool = False,
        max_groups: int | None = None,
        rows: int | None = None,
    ) -> PreviewFrame:
        """Tell what one call would cost and how accurate its answer would be. Nothing is read, charged or stored.

        Parameters
        ----------
        epsilon, delta, rho, within, confidence, fresh, max_groups
            As for ``df.dp(...)``; with ``within``, a preview shows the epsilon that would be charged.
        rows : int, optional
            Your own guess of how many rows count (in each group), because the error of a mean depends on it. Only this preview
            uses it; the table is not read. Without it, the error is given as a number divided by the number of rows.

        Returns
        -------
        PricedFrame
            It has the steps and questions of ``df.dp(...)``, but each question returns a `Preview`.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError, UnverifiedFrameError
            What the question itself would raise for its arguments and frame. A price over budget is not an error here.

        Notes
        -----
        A preview depends on public facts only: the price, the bounds and keys that were given, the session and its ledger. If
        no session protects the frame, one is opened, as by a question.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="preview example")
        >>> df.dp.preview(epsilon=0.5).query("age > 40").count()
        query('age > 40').count()
          price    epsilon=0.5
          budget   enough; left afterwards: epsilon=2.5
          noise    discrete Laplace, scale 2 rows
          error    ± 6 rows (95 %)
        >>> df.dp.preview(within=50).count().price
        'epsilon=0.05943'
        >>> session.spent
        'epsilon=0'
        """
        from pandas_dp.questions.preview_request import Ahead  # importing the package shall cost little

        known = None if rows is None else numbers.positive_int(rows, "rows")
        try:
            price, again, groups = numbers.offer(epsilon, delta, rho, within, confidence, fresh, max_groups)
        except (ArgumentTypeError, ArgumentValueError) as error:
            error.args = (str(error).replace("df.dp(", "df.dp.preview("),)
            raise
        ahead = Ahead(known, str(price) if within is not None else None)
        return _questions()(self._frame, price, again, groups, ahead)

    @registry.noting_refusals  # a call that does not fit is refused as well
    @explained
    def protect(
        self,
        epsilon: Any = None,
        delta: Any = 0,
        unit: str | None = None,
        max_rows: int | str | None = None,
        max_groups: int | None = None,
        max_rows_per_group: int | None = None,
        neighbors: str = "add_remove",
        schema: Schema | Mapping[str, Mapping[str, Any]] | None = None,
        accountant: str = "auto",
        delta_reserved: Any = None,
        plan: Any = None,
        ledger: str | os.PathLike[str] | None = None,
        name: str = "data",
        table: str | None = None,
        version: str | None = None,
        session: Session | None = None,
        rows: bool | int | None = None,
        reason: str | None = None,
        witness: Witness | None = None,
        rho: Any = None,
        period: str | None = None,
        time: str | None = None,
        zone: str | None = None,
        lifetime: Any = None,
    ) -> Session:
        """Open the session of this frame, or join an open one.

        Parameters
        ----------
        epsilon, delta : number
            The total. With delta = 0 epsilons add up; with delta > 0 many more small questions fit, counted by Renyi
            divergence.
        unit : str, optional
            The person column: it says whose row it is. Rows with a missing value in it are in no answer. None: every row is a
            unit.
        max_rows, max_groups, max_rows_per_group : int, optional
            Caps for each unit: rows in all (needed with ``unit``), groups, rows in one group. The last two are max_rows by
            default. Further rows of a unit are in no answer, so counts are too small. In a sum, the total of all rows of a
            unit counts, clipped to that of max_rows rows at a bound. ``max_rows="private"`` uses a twentieth of the total to
            find one of 1, 2, 3, 5, 10, 20, ..., 1000 that keeps all rows of about 95 % of the units. It is recorded in the
            ledger.
        neighbors : {"add_remove", "replace_one"}
            What is hidden: whether a unit is in the table, or only the content of its rows.
        schema : Schema or dict, optional
            Public bounds and keys by column. Its keys are used if a call names none, so none are discovered. A table that
            joins without a schema takes over the schema of the table before it, for the columns that both have; ``schema={}``
            prevents this.
        accountant : {"auto", "pure", "hybrid", "rdp", "zcdp", "gdp"}
            How prices are counted; fixed by the first question. All of them hold if prices are chosen after seeing answers.
            "pure" adds epsilons. "hybrid", the default with a delta, admits a question if the sum of epsilons or the Renyi
            divergence of one order admits it. "rdp" counts this divergence alone, and "zcdp" sums rho. "gdp" is exact for
            Gaussian noise (10 % more answers) and allows no other noise.
        delta_reserved : number, optional
            Part of delta for discovering keys and for noise that adapts to the data; a tenth by default.
        plan : Plan, dict of price to count, or list of prices or queries, optional
            Epsilons declared before the first answer, such as ``{0.1: 40}``. Together they cost less than their sum, and the
            rest pays for other questions. Questions may depend on earlier answers, these prices may not. Needs a delta. A
            `pandas_dp.plan`, given without epsilon, sets the total and the accountant.
        ledger : path, optional
            File on a disk of this machine that keeps the budget. Without one, the budget is lost when Python stops.
        name : str
            The budget's name. A ledger file and a name always mean the same budget: protecting again continues it. For the
            second budget in a file, the name must be typed.
        table, version : str, optional
            Public name and version, such as the day of the run. A question that was asked about the same version returns its
            stored answer. You vouch that a version has one content. It must not depend on the rows, as a checksum does.
        session : Session, optional
            Answer for this frame on that session's budget instead of opening one; see also `pandas_dp.open_session`.
        rows : True or int, optional
            With ``neighbors="replace_one"`` and no unit: True says that the number of rows is public; an int is the public
            number itself. True refers to the rows that an object has when it is first protected.
        reason : str, optional
            Why a frame made from a table of an open budget may have its own budget, or why a ledger file, or a budget in it,
            is made beside one of a similar name, or of the same name in the previous working directory. It is recorded, and
            shown on the certificate.
        rho : number, optional
            In place of epsilon: the total in zero-concentrated differential privacy (zCDP). The delta is 1e-10 unless you type
            another one; the session tells the epsilon.
        witness : object with ``last(chain)`` and ``saw(chain, entries, head)``, optional
            A counter outside the ledger file: see the page on ledgers.
        period : {"h", "D", "W", "M", "Y"}, optional
            For a table that grows: the total and the caps apply to *each* hour, day, week from Monday, month or year. What is
            protected is one unit in one period. For somebody in k periods, the epsilon is up to k times as large. Like the
            unit, the period is fixed by the first question. Every question then names its periods:
            ``df.dp.period("2026-11-28")``.
        time, zone : str, optional
            With ``period``: the column with the time of a row and, if it holds instants, the zone whose clocks count, such as
            ``"Europe/Berlin"`` (default UTC). A row without a time is in no answer. The time should be one that is never
            corrected.
        lifetime : number, optional
            With ``period`` and ``unit``: a cap on the epsilon of one unit in all periods together. A question about k periods
            counts k times its epsilon. At the cap, nothing more is answered. It adds up plain epsilons, so such a budget has
            no delta, except for a plan. It is set before the first answer and never raised.

        Returns
        -------
        Session

        Raises
        ------
        ArgumentTypeError, ArgumentValueError, LedgerError

        Notes
        -----
        Until something is asked, the process that opened the budget may protect on other terms, which replace the recorded
        ones. So a mistake can be corrected; frames protected before are then no longer protected by this budget. Later only
        the total can change, by ``session.extend(to=5, reason="...")``. A cell with the earlier terms then joins the raised
        budget.

        The session answers for the rows as they are now. What is written into the frame later is not seen:
        prepare rows before, or by steps such as ``df.dp.fillna(...)``. Protecting the same object again does not change
        its answers, unless columns were added or removed or a new version is typed. Another object is another table,
        unless it has the same table and version, or `pandas_dp.read_parquet` read both, while the session is open, from a file
        that nobody has written since.
        What pandas makes of a protected frame joins the same budget and is marked as vouched for by you; it joins another one
        only with a `reason`. What an implicit session spent is charged to this budget, even beyond its total; with a `unit` it
        is only noted.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"pid": [1, 1, 2], "cost": [10.0, 20.0, 30.0]})
        >>> session = df.dp.protect(epsilon=3, unit="pid", max_rows=10, name="protect example")
        >>> session.left
        'epsilon=3'
        """
        _questions()  # completion of `df.dp.preview(...)` has to find them
        content = opening.Content(schema, table, version, rows)
        if session is not None:
            if any(term is not None for term in (epsilon, unit, rho, period, time, zone, lifetime)):
                raise ArgumentTypeError("session= brings its own total and unit: df2.dp.protect(session=session)")
            return opening.join(self._frame, session, content, reason)
        opening.check_unit(self._frame, unit)
        terms, planned = getattr(plan, "terms", None), getattr(plan, "_unit", None)
        if terms is not None and epsilon is None and rho is None:
            if delta or accountant != "auto":
                raise ArgumentTypeError("this plan brings its own total: df.dp.protect(plan=plan)")
            epsilon, delta, accountant, plan = (terms[name] for name in ("epsilon", "delta", "accountant", "plan"))
            delta_reserved = terms["delta_reserved"] if delta_reserved is None else delta_reserved
        if (epsilon is None) == (rho is None):
            both = "one total, epsilon= or rho=" if rho is not None else "the total"
            said = {"unit": unit, "max_rows": max_rows, "ledger": ledger, "name": name}
            line = with_total(said)
            lacks = () if "  # " in line else (("rho", ""),) if rho is not None else (("epsilon", "3"),)
            raise Line(line, lacks).refuse(f"protect needs {both}")
        if rho is not None and plan is not None:
            raise ArgumentTypeError("a plan needs a total epsilon: df.dp.protect(epsilon=3, delta=1e-6, plan={0.1: 4})")
        total = (
            opening.total(epsilon, delta, delta_reserved, accountant, plan)
            if rho is None
            else opening.total_of_rho(rho, delta, delta_reserved, accountant)
        )
        total = periods.capped(total, lifetime, period, unit)
        when = periods.opened(self._frame, period, time, zone, neighbors)
        private = private_bound.is_private(max_rows)
        if private:
            private_bound.check(accountant, plan, when)

        def bounded(rows: Any) -> PrivacyUnit:
            bounds = opening.privacy_unit(unit, rows, max_groups, max_rows_per_group, neighbors)
            return bounds if when is None else replace(bounds, periods=when.text())

        with alone.lock:  # of two threads that want a private bound, the later one finds it on record
            found = private_bound.on_record(ledger, name) if private else None
            bounds = bounded(found or 1 if private else max_rows)
            if planned is not None and ((private and not found) or bounds.rows > planned.rows):
                made = f"{planned.rows} row{'s' * (planned.rows > 1)} per unit; its errors do not hold with {max_rows=}"
                first = "protect the frame first, then pandas_dp.plan(queries, frame=df)"
                raise ArgumentValueError(f"this plan was made for {made}: {first}")
            opened = opening.protect(
                *(self._frame, total, bounds, content),
                ledger=ledger,
                name=name,
                reason=reason,
                witness=witness,
                rho=rho,
            )
            if private and found is None:
                private_bound.find(opened, rho, self, bounded)
        return opened

    def period(self, first: Any, last: Any = None) -> pd.DataFrame:
        """Keep the rows of one period, or of all periods from a first to a last. For a budget with ``period=``.

        Parameters
        ----------
        first : str or date
            ``"2026-11-28"`` for a day, ``"2026-11-28T07"`` for an hour, ``"2026-W48"``, ``"2026-11"``, ``"2026"``. Type it, or
            pass it to the job as an argument. It must not come from the rows, as ``df.visited_at.max()`` would.
        last : str or date, optional
            The last one, included; 10,000 at most.

        Returns
        -------
        DataFrame
            Protected as before. A question about it is charged in full to each of its periods, and answered only if all can
            pay.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError

        Notes
        -----
        A step that looks at the time of each row alone, so neighbouring tables stay neighbours. Rows without a time are in no
        period.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"at": pd.date_range("2026-11-27", periods=4000, freq="min")})
        >>> session = df.dp.protect(epsilon=1, period="D", time="at", name="period example")
        >>> night = df.dp.period("2026-11-27")
        >>> 1300 < night.dp(epsilon=0.5).count() < 1600
        True
        >>> session.left.period("2026-11-27"), session.left.period("2026-11-28")
        ('epsilon=0.5', 'epsilon=1')
        """
        return self._then(periods.in_periods(registry.table_of(self._frame), first, last))

    def allot(self, name: str, epsilon: Any) -> pd.DataFrame:
        """Set a part of the budget aside, for a team or a report, and give the frame that spends it.

        Parameters
        ----------
        name : str
            Name of the part. The same name and amount give the same part again, for free.
        epsilon : number
            Charged here, as a whole and at once; questions asked of the new frame are paid out of it.

        Returns
        -------
        DataFrame
            The same rows. Its ``.dp.session`` says what is left of the part.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        All answers of a part together are one mechanism with this epsilon, under the session's relation and unit. What is left
        of a part is not refunded.

        In a budget for each period, name the periods: ``df.dp.period("2026-11-28").dp.allot(...)``.
        Each period is charged, and in each the part has this epsilon. The same name in other periods extends the same part,
        which is charged to these as well. A period that is in both ranges is charged twice, without need.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="allot example")
        >>> nightly = df.dp.allot("nightly", epsilon=1)
        >>> count = nightly.dp(epsilon=0.25).count()
        >>> nightly.dp.session.left, session.left
        ('epsilon=0.75', 'epsilon=2')
        """
        from pandas_dp.session import portions  # here, so that importing the package costs little

        return self._given(portions.allot(self._frame, name, epsilon))

    def partition(self, by: str, keys: Any = None, *, epsilon: Any = None) -> dict[Hashable, pd.DataFrame]:
        """Split the rows by the listed values of a column. All parts together cost what one of them may spend.

        Parameters
        ----------
        by : str
            Column of text, bools or numbers. Not objects or categories, because such a cell could equal two keys.
        keys : list, optional
            Listed values; from the schema if left out. Rows with other values belong to no part.
        epsilon : number
            What each part may spend. Prices and questions may depend on answers about all parts. To spend more later, type
            another total: this opens another set of the same parts, which is charged in addition.

        Returns
        -------
        dict of key to DataFrame
            In the listed order. The same partition of the same table is free if asked again, also after a restart if the table
            has a version. A version must have one content. Give corrected rows another version: otherwise a row could first be
            in one part and then in another, and twice epsilon would be spent on it.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        A row is in at most one part. Under add_remove, one row more or less changes one part, so epsilon is charged once.
        Under replace_one a row may leave one part and enter another, so it is charged twice. If units have several rows, these
        may be in all parts: use ``groupby``, which caps the number of groups of a unit. Source: McSherry 2009.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000, "sex": ["F", "M", "F"] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="partition example")
        >>> parts = df.dp.partition("sex", ["F", "M"], epsilon=1)
        >>> 1900 < parts["F"].dp(epsilon=0.5).count() < 2100, 900 < parts["M"].dp(epsilon=1).count() < 1100
        (True, True)
        >>> session.left, parts["F"].dp.session.left
        ('epsilon=2', 'epsilon=0.5')
        """
        from pandas_dp.session import portions  # here, so that importing the package costs little

        parts = portions.partition(self._frame, by, keys, epsilon, self._apply)
        return {key: self._given(frame) for key, frame in parts.items()}

    def pipe(self, function: Callable[[pd.DataFrame], T]) -> T:
        """Pass this frame to a query that ``pandas_dp.query(...)`` made, or to any function of a frame.

        ``df.pipe`` passes a copy, which is not protected.

        Parameters
        ----------
        function : Query or callable
            Gets the frame as its only argument.

        Returns
        -------
        object
            What it returns: a Release for a query.

        Raises
        ------
        ArgumentTypeError

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="pipe example")
        >>> 2900 < df.dp.pipe(pandas_dp.query(epsilon=0.5).count()) < 3100
        True
        """
        if not callable(function):
            line = "df.dp.pipe(pandas_dp.query(epsilon=0.5).count())"
            raise ArgumentTypeError(f"pipe() takes a function of the frame, or a query: {line}")
        return function(self._given(self._frame))

    @property
    def session(self) -> Session:
        """The session that answers for this frame: what is spent, what is left and what was asked.

        Raises
        ------
        AttributeError
            No session answers for this frame. The message gives the line that opens one, or continues an open one.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> hasattr(df.dp, "session")
        False
        >>> df.dp.protect(epsilon=3, name="session of a frame") is df.dp.session
        True
        """
        if (session := registry.session_of(self._frame)) is None:
            raise AttributeError  # with what `__getattr__` says
        return session

    def __getattribute__(self, name: str) -> Any:
        """Say what a call of this object returns where completion looks for it, and there alone.

        The class has annotations of its own, an empty dict, as soon as anybody looks for those.
        """
        return {"return": _questions()} if name == "__annotations__" else object.__getattribute__(self, name)

    def __getattr__(self, name: str) -> Any:
        """Say how a question is put, where one is asked without its price."""
        if name.startswith("_"):
            raise AttributeError(name)
        if name == "session":
            raise AttributeError(str(registry.unprotected(self._frame)))
        from pandas_dp.questions.unknown_names import in_own_columns

        if name in self._frame.columns and not hasattr(_questions(), name):
            line = completed_line(self(epsilon=0.5), name, "0.5") or f"df.dp(epsilon=0.5)[{name!r}].mean(...)"
            raise AttributeError(f"{name!r} is a column; a question needs a price: {line}")
        if hasattr(Session, name):
            first = "" if hasattr(self, "session") else "df.dp.protect(epsilon=3), then "
            line = self.session._raised("epsilon") if name == "extend" and not first else f"df.dp.session.{name}"
            raise AttributeError(f"{name!r} belongs to the session: {first}{line}")
        if not hasattr(_questions(), name):
            own = [known for known in dir(type(self)) if not known.startswith("_")]
            hint = missing_question(_questions(), name, "'column', ", own=own)
            raise AttributeError(chosen(self(epsilon=0.5), name) or in_own_columns(self(epsilon=0.5), hint))
        line = completed_line(self(epsilon=0.5), name, "0.5") or f"df.dp(epsilon=0.5).{name}(...)"
        raise AttributeError(f"df.dp has no {name!r}; a question needs a price: {line}")

    def __len__(self) -> int:
        """Say how rows are counted."""
        raise ArgumentTypeError(
            "len() would tell the exact number of rows; ask it at a price: df.dp(epsilon=0.5).count()"
        )

    @letting_go
    def __getitem__(self, key: Any) -> Any:
        """Say how a column is selected and how rows are, where one is asked without its price."""
        told, frame = NO_COLUMN, self(epsilon=0.5)
        if hasattr(self, "session"):
            told = chosen(frame) or in_own_columns(frame, told, key if isinstance(key, str) else "")
        raise ArgumentTypeError(told)

    @letting_go
    def __setitem__(self, key: Any, value: Any) -> None:
        """Say how a column is made."""
        raise ArgumentTypeError(
            "a new column is made by a step, which gives a new frame: df = df.dp.assign(minor=lambda d: d.age < 18)"
        )

    def __repr__(self) -> str:
        """Say whether the frame is protected; nothing of the data."""
        session = registry.session_of(self._frame)
        unprotected = f"<df.dp: not protected; type df.dp.protect(epsilon=3){of_counts(self._frame)}>"
        told = unprotected if session is None else repr(session)
        return told.replace("<pandas_dp session", "<df.dp of session", 1)


take_steps(Accessor, pd.DataFrame)
vars(Accessor.preview).update(UNPRICED)
Accessor.__doc__ = Guide(Accessor.__doc__, __package__)  # type: ignore[assignment]


def dp(frame: pd.DataFrame) -> Accessor:
    """Return ``frame.dp``, typed: type checkers take ``frame.dp`` for a column.

    Parameters
    ----------
    frame : DataFrame

    Returns
    -------
    Accessor

    Raises
    ------
    ArgumentTypeError

    Examples
    --------
    >>> import pandas as pd, pandas_dp
    >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
    >>> session = df.dp.protect(epsilon=3, name="typed example")
    >>> pandas_dp.dp(df).session.left
    'epsilon=3'
    """
    if not isinstance(frame, pd.DataFrame):
        raise ArgumentTypeError("dp() takes a pandas DataFrame")
    return Accessor(frame)


pd.api.extensions.register_dataframe_accessor("dp")(Accessor)


@pd.api.extensions.register_series_accessor("dp")
class SeriesAccessor:
    """Says where the questions of a column are: a Series is an object of its own, and nobody knows of what rows it was made."""

    def __init__(self, column: pd.Series[Any]) -> None:
        name = column.name if isinstance(column.name, str) else "age"
        raise AttributeError(
            f"ask the protected frame, which knows its rows: df.dp(epsilon=0.5)[{name!r}].mean(bounds=(lower, upper))"
        )
