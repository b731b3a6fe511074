"""A question taken as far as its price: what it would cost, and how far off its answer would be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from pandas_dp.aggregates.above_threshold import StreamRecipe
from pandas_dp.aggregates.asked import AskedQuery
from pandas_dp.aggregates.base import ExpectedError, Terms
from pandas_dp.aggregates.told import left_out
from pandas_dp.books.amounts import paid, refused, state_of
from pandas_dp.books.odometer import first_gaussian, left_text
from pandas_dp.books.period_words import of_lifetime
from pandas_dp.core.budget import Charge
from pandas_dp.core.filters import PureFilter
from pandas_dp.release.preview import Preview
from pandas_dp.session.periods import fit
from pandas_dp.tables.protected import Table

NOTHING = Charge(Fraction(0), Fraction(0), Fraction(0))
NOTEWORTHY = 1.1  # an error less than so many times that of one row a unit is no reason to lower the bound


@dataclass(frozen=True)
class Ahead:
    """What a priced frame does with a query instead of asking it.

    Parameters
    ----------
    rows : int or None
        About how many rows count, as the caller says.
    wanted : str or None
        The wanted error that the price was found for.
    """

    rows: int | None = None
    wanted: str | None = None

    def __call__(self, table: Table, query: AskedQuery, columns: tuple[str, ...], fresh: bool) -> Any:
        """Preview a query: the very request that the gate would get is made, and its view never opened."""
        session = table.session
        request = table.request(query, columns, fresh)
        ledger, name, loss = request.ledger, request.name, request.loss
        rule, state = ledger.rule(name), state_of(ledger, name, request.periods)
        stored = request.key is not None and not fresh and ledger.stored(name, request.key) is not None
        charge = replace(rule.charge(loss), periods=request.periods)
        waits = session._goes_on and not fresh and ledger.waiting(name, request.key or "", charge) is not None
        after = state if stored or waits else paid(rule, state, charge)
        typical, rest = session._typical, state if after is None else after
        if loss.parts and after is not None and not isinstance(query.aggregate, StreamRecipe):
            typical = request.price, loss
        switch = None if stored or waits or after is None else first_gaussian(rule, state, charge)
        error = None if after is not None else refused(rule, state, request.price, charge, request.whole)
        fit(error, session)
        known = self._expected(query, table.terms(query.steps, query.price, request.unit))
        return Preview(
            call=request.query,
            price=request.price,
            wanted=self.wanted,
            charge=NOTHING if stored or waits else charge,
            currency=None if isinstance(rule, PureFilter) else rule.currency,
            limit=None if isinstance(rule, PureFilter) else rule.limit,
            stored=stored,
            refusal=None if error is None else str(error),
            left=left_text(rule, rest, typical) + of_lifetime(rule.budget.lifetime, rest, request.whole),
            outlook=known if switch is None else replace(known, notes=(switch, *known.notes)),
        )

    def _expected(self, query: AskedQuery, terms: Terms) -> ExpectedError:
        """The noise of the answer, and what the bound on the rows of a unit costs in it and leaves out."""
        known, unit = query.aggregate.expected(terms, self.rows), terms.unit
        known = replace(known, notes=(*known.notes, *query.notes))
        if unit.column is None or not query.aggregate.bounded:
            return known
        notes = (*known.notes, *map(str, left_out(unit, query.aggregate)))
        if unit.rows > 1 and known.half_width is not None and not isinstance(known.half_width, dict):
            single = replace(terms, unit=replace(unit, rows=1, groups=1, rows_per_group=1))
            least = query.aggregate.expected(single, self.rows)
            # where max_rows_per_group is 1, many an error is that of a single row already
            if known.half_width > NOTEWORTHY * least.half_width:
                notes += (f"with max_rows=1: {least.error}; rows_per_unit() shows what that leaves out",)
        return replace(known, notes=notes)
