"""Which answers of a session may be drawn once more for the difference of the prices, and from which rows."""

from __future__ import annotations

import weakref
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from pandas_dp.aggregates.asked import AskedQuery
from pandas_dp.core import gate
from pandas_dp.core.filters import PureFilter
from pandas_dp.core.measurement import View
from pandas_dp.core.privacy import PrivacyLoss, show
from pandas_dp.core.records import REFINED
from pandas_dp.errors import LedgerError, QueryFailedError
from pandas_dp.release.base import Release
from pandas_dp.session.alone import opening
from pandas_dp.tables.protected import Table

AVERAGE = (
    "Counts and tables of counts of rows are averaged instead: again = df.dp(epsilon=0.5, fresh=True).count(), then "
    "pandas_dp.reconcile([answer, again])"
)
MOST_DRAWN = 1000  # answers of a session that may be refined: the latest


class Drawn(NamedTuple):
    """How an entry was asked, and the table whose rows this process held when it drew it, and since; None: it did not.

    `terms` is the key that the question had by itself, at its price: it names the rules for missing values, what was public of
    the rows and their steps.
    """

    table: weakref.ref[Table] | None
    query: AskedQuery
    columns: tuple[str, ...]
    request: gate.Request
    terms: str | None


def remember(
    drawn: dict[int, Drawn],
    given: gate.Given,
    table: Table,
    query: AskedQuery,
    columns: tuple[str, ...],
    request: gate.Request,
    terms: str | None,
) -> None:
    """Note how an answer was asked, and whether this process drew it just now from rows in memory."""
    if request.key is None or given.sequence in drawn:  # one without a key may hold a user's function
        return
    held = weakref.ref(table) if given.paid and table.scan is None else None
    # without what holds rows: a table that is let go of goes
    drawn[given.sequence] = Drawn(held, query, columns, replace(request, view=_gone, told=None), terms)
    for old in list(drawn)[:-MOST_DRAWN]:
        drawn.pop(old, None)


def _gone() -> View:
    """The rows of a base, which are never looked at again through it."""
    raise QueryFailedError


def refine(answer: Release, table: Table, more: Fraction) -> Release:
    """Draw an answer once more, as if both prices had been paid at first; see `RefinedLaplace`.

    The rows are those that the base was drawn from: the very table, whose rows this process has held since, read by the rules
    that it was read by then.

    Raises
    ------
    LedgerError, BudgetExceededError
    """
    session, origin = table.session, answer._provenance
    base, entry = session._drawn.get(origin.entry or 0), origin.entry or 0
    given = (origin.content or ("",))[0] == session.name and base is not None
    if base is None or not given or repr(answer.query.aggregate) != repr(base.query.aggregate):
        raise LedgerError("only an answer that this session gave can be refined, one of the latest thousand")
    if type(session._rule) is not PureFilter or session._implicit or base.request.key is None:
        raise LedgerError(
            f"refine() needs a budget without a delta and without a plan: df.dp.protect(epsilon=3). {AVERAGE}"
        )
    key = f"{base.request.key} refined"
    price = replace(base.query.price, epsilon=(base.query.price.epsilon or 0) + more)
    query = replace(base.query, price=price, refines=(*base.query.refines, entry))
    with opening():  # which holds back whoever states other public facts: both requests are of the same ones
        then = table.request(base.query, base.columns, fresh=False)
        asked = table.request(query, base.columns, fresh=False)
    held = base.table is not None and base.table() is table
    same = held and then.key == base.terms
    if not same and session._ledger.stored(session.name, key) is None:
        raise LedgerError(
            "an answer is refined from the rows it was drawn from: in the process that drew it, for the same frame, held "
            f"in memory, with the schema and the public facts it had. {AVERAGE}"
        )
    request = replace(
        asked,
        key=key,
        query=f"{REFINED}{asked.query})",
        price=f"epsilon={show(more)}",
        loss=PrivacyLoss.pure(more),
        base=base.request,
        drawn=entry,
    )
    return session._given(request, query, table, base.columns, asked.key)
