"""Plans: several queries with the prices that wanted errors need or a total buys, and what pays for them together."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pandas as pd

from pandas_dp.books.amounts import RHO_DIGITS, Most, paid, refused
from pandas_dp.core.privacy import Price, show
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, Spelled
from pandas_dp.facts import numbers
from pandas_dp.facts.argument_help import example
from pandas_dp.facts.numbers import rounded
from pandas_dp.queries.json_values import toml
from pandas_dp.queries.planning import Planned, Terms, Wanted, accounts, for_errors, for_total
from pandas_dp.queries.pricing import Put
from pandas_dp.queries.query import Query, carried
from pandas_dp.queries.together import groups_of
from pandas_dp.release import reconcile as reconciling
from pandas_dp.session.opening import total_of_rho
from pandas_dp.session.registry import table_of

CAN = (
    "plan(df) asks its queries, plan.table() lists them, plan.to_toml() is the text of a plan file, and "
    "df.dp.protect(plan=plan) opens a budget that pays for them"
)
LINE = "pandas_dp.plan([pandas_dp.query(within=20).count(), pandas_dp.query(within=50).count('age')], frame=df)"
MOST_QUERIES = 1000
PAYING = ("pure", "hybrid", "rdp", "zcdp", "gdp", "plan")


class Plan(Spelled, Sequence[Query]):
    """Queries with their prices, and what pays for them together; made by `plan`. It is a sequence of `Query`.

    Attributes
    ----------
    epsilon, delta : Fraction
        The total.
    accountant : str
        How that total is counted; "plan" where it pays for prices that are declared beforehand.
    rho : Fraction or None
        What the prices add up to where the accountant is "zcdp", which counts it.
    accounts : dict of str to Fraction or None
        The least epsilon by each accountant that was looked at; None of one that cannot count these queries.

    Examples
    --------
    >>> import pandas as pd, pandas_dp
    >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
    >>> session = df.dp.protect(epsilon=3, name="plan object example")
    >>> plan = pandas_dp.plan([pandas_dp.query(within=20).count(), pandas_dp.query(within=50).count("age")], frame=df)
    >>> plan.total, plan[1]
    ('epsilon=0.20563', pandas_dp.query(epsilon=0.05943).count('age'))
    >>> rows, ages = plan(df)
    >>> session.spent == plan.total
    True
    """

    def __init__(self, planned: Planned, puts: Sequence[Put], of: Sequence[int]) -> None:
        paid, self.accounts, groups = planned
        self.epsilon, self.delta, self.accountant = paid.epsilon, paid.terms.delta, paid.terms.accountant
        rhos = sum((choice.loss.rho for choice in paid.chosen), Fraction(0))
        self.rho = rounded(rhos, RHO_DIGITS, ROUND_HALF_EVEN) if self.accountant == "zcdp" and rhos else None
        self._reserved = paid.terms.reserved
        self._groups, self._of = [(group.places, group.complete) for group in groups], tuple(of)
        chosen = list(zip(puts, paid.chosen, strict=True))
        queries = [_at(put.query, price) for put, (price, _) in chosen]
        errors = [put.error(price).error.replace("preview(..., rows=", "plan(..., rows=") for put, (price, _) in chosen]
        for group in groups:
            told = group.errors([paid.chosen[at] for at in group.places])
            for at, error in zip(group.places, told, strict=True):
                errors[at] = error
        self._unit = puts[0].table.session.unit  # for which the errors are found
        self._paid = [query for query, (_, (_, loss)) in zip(queries, chosen, strict=True) if loss.parts]
        rows = [
            (str(put.asked), str(price) if loss.parts else "nothing", error, put.wanted)
            for (put, (price, loss)), error in zip(chosen, errors, strict=True)
        ]
        self._queries, self._rows = tuple(queries[at] for at in of), [rows[at] for at in of]

    def __len__(self) -> int:
        """Number of queries."""
        return len(self._queries)

    def __getitem__(self, place: Any) -> Any:
        """One of the queries at its price, by its place."""
        return self._queries[place]

    @property
    def total(self) -> str:
        """The total in words."""
        return f"epsilon={show(self.epsilon)}" + (f", delta={show(self.delta)}" if self.delta else "")

    @property
    def terms(self) -> dict[str, Any]:
        """What ``df.dp.protect(plan=plan)`` opens."""
        declared = self.accountant == "plan"
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "accountant": "auto" if declared else self.accountant,
            "plan": self._paid if declared else None,
            "delta_reserved": self._reserved,
        }

    if not TYPE_CHECKING:  # see `Spelled`

        def _spelt(self, name):
            """Say which name is close, or what a plan can do."""
            return f": {CAN}" if name in ("save", "to_dict", "to_file") else super()._spelt(name) or f": {CAN}"

    def table(self) -> pd.DataFrame:
        """Return a row for each query: what it asks, its price, its error, and the error that was wanted.

        Returns
        -------
        DataFrame

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="plan table example")
        >>> pandas_dp.plan([pandas_dp.query(within=20).count()], frame=df).table().loc[0, "error"]
        '± 20 rows (95 %)'
        """
        return pd.DataFrame(self._rows, columns=["question", "price", "error", "wanted"])

    @example("pathlib.Path('plan.toml').write_text(plan.to_toml())")
    def to_toml(self) -> str:
        """Return the queries at their prices as text for a plan file, where they stand below ``[budget]``.

        Returns
        -------
        str

        Raises
        ------
        ArgumentTypeError
            An argument is a function, an expression or a table: such a query is asked in code. So is one with ``fresh=True``.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="plan file example")
        >>> print(pandas_dp.plan([pandas_dp.query(within=20).count()], frame=df).to_toml())
        [[queries]]
        name = "query_1"
        price = { "epsilon" = 0.1462 }
        calls = [{ "call" = "count" }]
        <BLANKLINE>
        """
        if any(query._terms.get("fresh") for query in self):
            raise ArgumentTypeError("a plan file cannot hold fresh=True: ask these queries in code")
        written = [query.to_dict() for query in self]
        return "\n".join(
            f'[[queries]]\nname = "query_{place}"\nprice = {toml(said["price"])}\ncalls = {toml(said["calls"])}\n'
            for place, said in enumerate(written, 1)
        )

    def __call__(self, frame: pd.DataFrame) -> list[Any]:
        """Ask all queries of a protected frame, in their order; none if its budget does not pay for all.

        Parameters
        ----------
        frame : DataFrame

        Returns
        -------
        list of Release
            Of a plan with ``reconcile=True`` tables are those after `reconcile`.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="asked plan example")
        >>> answers = pandas_dp.plan([pandas_dp.query(within=20).count()], frame=df)(df)
        >>> 2900 < answers[0] < 3100
        True
        """
        _check_paid(self, frame)
        answers = {at: query(frame) for at, query in zip(self._of, self, strict=True)}
        for places, complete in self._groups:
            made = reconciling.reconcile([answers[at] for at in places], complete=complete)
            answers |= dict(zip(places, made, strict=True))
        return [answers[at] for at in self._of]

    def __repr__(self) -> str:
        """Show a line for each query, and what pays for them."""
        widths = [max(len(row[place]) for row in self._rows) for place in (1, 2)]
        lines = [f"  {price:<{widths[0]}}  {error:<{widths[1]}}  {call}" for call, price, error, _ in self._rows]
        known = [f"{name} {show(epsilon)}" for name, epsilon in self.accounts.items() if epsilon is not None]
        beside = [f"  lowest epsilon by accountant: {', '.join(known)}"] * (len(known) > 1)
        number = f"{len(self):,} quer{'y' if len(self) == 1 else 'ies'}"
        rho = "" if self.rho is None else f" (rho about {show(rounded(self.rho, 4))})"
        return "\n".join([f"{number} for {self.total}{rho}, accountant {self.accountant!r}", *lines, *beside])


@example(LINE, typed=True)
def plan(
    queries: Any,
    frame: pd.DataFrame,
    *,
    epsilon: Any = None,
    delta: Any = 0,
    accountant: str = "auto",
    rows: Any = None,
    reconcile: bool = False,
    complete: Any = None,
    rho: Any = None,
) -> Plan:
    """Find prices for several queries: the lowest total for wanted errors, or the errors for a total. Nothing is charged.

    Parameters
    ----------
    queries : list of Query
        Queries made by ``pandas_dp.query(within=20)`` get the lowest price for this error; others keep their price.
    frame : DataFrame
        The frame that will be asked: its columns, schema and unit determine the noise. No row is read.
    epsilon : number, optional
        A total. All errors are then about the same multiple of those that the queries want or that their prices give, as small
        as the total allows. Queries at epsilon=1 and epsilon=3 get a quarter and three quarters of it.
    delta : number
        Delta of the total. With a delta, all accountants are compared, and queries get Gaussian noise if they can have it and
        it is cheaper.
    accountant : {"auto", "pure", "hybrid", "rdp", "zcdp", "gdp", "plan"}
        How the total will be counted, as for ``protect``, or "plan" for declared prices. The default is the one with the
        lowest epsilon; or "pure", which needs no delta, if it costs at most 1 % more. Where the frame has a budget that counts
        rho and no delta is typed, the default is to count as that budget does, with its delta.
    rows : int, optional
        Roughly how many rows count, if that is public: the errors of means depend on it.
    reconcile : bool
        Whether wanted errors are those after `reconcile`, which ``plan(df)`` then calls. Tables of counts that share columns
        then cost less.
    complete : list of str, optional
        With ``reconcile=True``: columns for which no row is outside the listed keys or bins of any table, as for `reconcile`.
    rho : number, optional
        A total in zero-concentrated differential privacy in place of epsilon, as for ``protect``.

    Returns
    -------
    Plan
        ``plan(df)`` asks its queries, ``df.dp.protect(plan=plan)`` opens a budget that pays for them.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        For an error that no epsilon reaches, or that is not known in advance.

    Notes
    -----
    A price is the least one of four digits for an error with 95 %, or with the ``confidence=`` of the query; a total is
    rounded up to four digits, that of "pure" is the exact sum. A budget of that total admits the queries in any order. Where
    no session protects the frame one is opened, as by a question; `protect` then names the total.
    With ``reconcile`` a linear program bent by variances, which is convex for Gaussian noise, finds the least sum; for Laplace
    noise it finds prices that no small change makes cheaper. The exact law of each error is checked at the end, and prices
    raised where needed. Such errors are those of the whole list: each answer alone errs by more. A table that others tell
    enough of costs next to nothing.

    Examples
    --------
    >>> import pandas as pd, pandas_dp
    >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
    >>> session = df.dp.protect(epsilon=3, name="plan example")
    >>> ask = pandas_dp.query(within=20)
    >>> pandas_dp.plan([ask.count(), ask.query("age > 40").count()], frame=df).total
    'epsilon=0.2924'
    >>> pandas_dp.plan([ask.count(), ask.query("age > 40").count()], frame=df, epsilon=1).table()["error"].tolist()
    ['± 6 rows (95 %)', '± 6 rows (95 %)']
    >>> session.spent
    'epsilon=0'
    """
    if not isinstance(queries, list | tuple | Plan) or not all(isinstance(query, Query) for query in queries):
        raise ArgumentTypeError(f"queries must be a list of queries: {LINE}")
    if not 1 <= len(queries) <= MOST_QUERIES:
        raise ArgumentValueError(f"queries must be a list of 1 to {MOST_QUERIES:,} queries: {LINE}")
    if carried(frame) is None:
        raise ArgumentTypeError(f"frame must be the DataFrame that will be asked: {LINE}")
    if epsilon is not None and rho is not None:
        raise ArgumentValueError("a plan has one total, epsilon= or rho=: plan(queries, frame=df, rho=0.1)")
    total = None if epsilon is None else numbers.positive_epsilon(numbers.unquoted(epsilon))
    known = None if rows is None else numbers.positive_int(rows, "rows")
    together = numbers.flag(reconcile, "reconcile")
    if rho is not None:
        budget = total_of_rho(rho, delta, None, accountant)
        total, terms = budget.epsilon, [Terms(budget.accountant, budget.delta, budget.delta_reserved)]
    else:
        terms = _terms(accountant, numbers.small_delta(delta), frame)
    if complete is not None and not together:
        raise ArgumentValueError("complete= goes with reconcile=True: plan(..., reconcile=True, complete=['sex'])")
    unique: dict[Any, int] = {}
    drawn = [(query, place if query._terms.get("fresh") else None) for place, query in enumerate(queries)]
    of = [unique.setdefault(one, len(unique)) for one in drawn]
    puts = [Put.of(query, frame, not terms[-1].delta, known) for query, _ in unique]
    groups = groups_of(puts, () if complete is None else complete) if together else []
    wanted = Wanted(puts, groups, terms)
    return Plan(for_errors(wanted) if total is None else for_total(wanted, total), puts, of)


def _terms(accountant: Any, delta: Fraction, frame: pd.DataFrame) -> list[Terms]:
    """What the total may be counted by."""
    if accountant == "auto":
        dp = None if delta else carried(frame)
        known = None if dp is None else table_of(dp._frame).session.budget
        if known is not None and known.accountant == "zcdp":
            return [Terms("zcdp", known.delta, known.delta_reserved)]
        return accounts(delta)
    if accountant not in PAYING:
        raise ArgumentValueError(f"accountant must be one of {', '.join(map(repr, PAYING))}, or left out")
    if (accountant == "pure") == bool(delta):
        line = "has no use for a delta: leave delta= out" if delta else "needs a delta: delta=1e-6"
        raise ArgumentValueError(f"accountant={accountant!r} {line}")
    return [Terms(accountant, delta)]


def _check_paid(queries: Sequence[Query], frame: pd.DataFrame) -> None:
    """Refuse queries, before the first is asked, that the budget of a frame does not pay for all."""
    previews = [query.preview(frame) for query in queries]  # which also refuses what is no frame
    dp, seen = carried(frame), set[Query]()
    if dp is None:
        return
    session = table_of(dp._frame).session
    rule, ledger = session._rule, session._ledger
    start, states, sums = ledger.periods(session.name)
    person = sums.person
    for query, preview in zip(queries, previews, strict=True):
        if preview.stored or (query in seen and not query._terms.get("fresh")):
            continue
        first, last = preview.charge.periods or (0, 0)
        for period in range(first, last + 1):
            state = states.get(period, start)
            after = rule.admit(state, preview.charge)
            if after is None:
                spent = Most.of(rule, start, states, 1, person) if preview.charge.periods else state
                raise refused(rule, spent, preview.price, preview.charge, session.unit)
            states[period] = after
        whole = Most.of(rule, start, {}, 1, person)
        if (made := paid(rule, whole, preview.charge)) is None:
            raise refused(rule, whole, preview.price, preview.charge, session.unit)
        person = getattr(made, "person", person)
        seen.add(query)


def _at(query: Query, price: Price) -> Query:
    """The same query at another price."""
    kept = {name: value for name, value in query._terms.items() if name in ("fresh", "max_groups")}
    amounts = {"epsilon": price.epsilon, "delta": price.delta or None, "rho": price.rho}
    return Query(kept | {name: _typed(x) for name, x in amounts.items() if x is not None}, query._calls)


def _typed(price: Fraction) -> Any:
    """A price as one would type it, where a decimal of at most 15 digits is exact."""
    decimal = float(price)
    return decimal if Fraction(repr(decimal)) == price else price
