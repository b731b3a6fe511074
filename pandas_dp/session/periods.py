"""What the period of a row is, as ``protect`` accepts it, and the step to the rows of some periods."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from pandas_dp.books.budget_words import of_part
from pandas_dp.core import gate
from pandas_dp.core.budget import Budget
from pandas_dp.core.database import READ
from pandas_dp.core.ledger import Ledger
from pandas_dp.core.privacy import NeighboringRelation, PrivacyUnit, show
from pandas_dp.core.records import ALL
from pandas_dp.errors import ArgumentValueError, BudgetExceededError
from pandas_dp.facts.argument_help import Line
from pandas_dp.facts.numbers import positive_epsilon
from pandas_dp.facts.periods import Periods
from pandas_dp.facts.public_only import refuse_private
from pandas_dp.steps.periods import InPeriods, period
from pandas_dp.tables import frames
from pandas_dp.tables.frames import UNVERSIONED
from pandas_dp.tables.protected import Table

if TYPE_CHECKING:
    from pandas_dp.session.session import Session

# when an entry paid, and where its draw has an entry of its own, see `Ledger.begin`, when that was made
DRAWN = """SELECT time, CASE WHEN time LIKE '% waits' THEN (SELECT later.time FROM entries AS later WHERE later.budget = ?1 AND
    later.sequence > ?2 AND later.kind = 'draw' AND later.query = 'entry ' || ?2 LIMIT 1) END
    FROM entries WHERE budget = ?1 AND sequence = ?2"""
GROWS = (
    "Are these other people or new events each night? One name for all nights and a budget for each: "
    "df.dp.protect(epsilon=1, period='D', time='visited_at')"
)


def opened(frame: pd.DataFrame, period: Any, time: Any, zone: Any, neighbors: Any) -> Periods | None:
    """Return what the period of a row is, from what ``protect`` accepts."""
    if period is None:
        if time is not None or zone is not None:
            lacks = (("period", "'D'"), *(() if time is not None else (("time", "'visited_at'"),)))
            line = Line("df.dp.protect(..., period='D', time='visited_at')", lacks)
            raise line.refuse("time= and zone= need a period")
        return None
    if isinstance(neighbors, str) and neighbors == NeighboringRelation.REPLACE_ONE:
        raise ArgumentValueError(
            "with period= the relation is add_remove: under replace_one the number of rows of every period would be public. "
            "Leave neighbors= out"
        )
    return Periods.opened(period, time, frames.kind_of_time(frame, time), zone)


def capped(budget: Budget, lifetime: Any, period: Any, unit: Any) -> Budget:
    """The same total with a cap on what a unit that is in every period may spend, as ``protect`` accepts it.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
    """
    if lifetime is None:
        return budget
    cap = positive_epsilon(lifetime, "lifetime")
    if period is None or unit is None:
        lacks: tuple[tuple[str, str], ...] = (("unit", "'patient_id'"),) if unit is None else ()
        lacks += (("period", "'D'"), ("time", "'visited_at'")) if period is None else ()
        example = "lifetime=30, unit='patient_id', max_rows=10, period='D', time='visited_at'"
        line = Line(f"df.dp.protect(epsilon=1, {example})", lacks)
        raise line.refuse("lifetime= caps what one unit spends in all periods together, so it needs both")
    if budget.delta and not budget.plan:
        raise ArgumentValueError(
            "lifetime= adds up plain epsilons, but Gaussian noise has no finite epsilon, and discovered keys need a delta: "
            "leave delta= and rho= out"
        )
    if cap < budget.epsilon:
        raise ArgumentValueError(
            f"lifetime= is less than the total of one period: type a smaller epsilon=, or lifetime={show(budget.epsilon)}"
        )
    return replace(budget, lifetime=cap)


def as_on_record(unit: PrivacyUnit, terms: tuple[Any, PrivacyUnit] | None) -> PrivacyUnit:
    """The same unit with the zone's offsets on record: a changed database of time zones moves no row to another period."""
    known = unit if terms is None else terms[1]
    if None in (unit.periods, known.periods):
        return unit
    same = Periods.from_text(known.periods or "").terms == Periods.from_text(unit.periods or "").terms
    return replace(unit, periods=known.periods) if same else unit


def in_periods(table: Table, first: Any, last: Any) -> tuple[InPeriods, ...]:
    """The step to the rows of some periods; see ``df.dp.period``."""
    periods = table.periods
    refuse_private("period", [("first", first), ("last", last)])
    if periods is None:
        raise ArgumentValueError(
            "period() needs a budget for each period: df.dp.protect(epsilon=1, period='D', time='visited_at')"
        )
    return period(periods, first, last, table.empty)


def notes(ledger: Ledger, name: str, table: Table, given: gate.Given) -> tuple[str, ...]:
    """What an answer about some periods says of itself: which rows are in none, and when a stored one was drawn."""
    periods = table.periods
    if periods is None:
        return ()
    said = f"rows without {periods.time!r} are in no {periods.word}; late rows share the budget of their {periods.word}"
    asked = ledger._ids[name], given.sequence
    # of a charge that waits for its draw, by when that was made: a job that was killed may have paid days before
    time, drawn = ledger._store.transact(READ, lambda connection: connection.execute(DRAWN, asked).fetchone())
    time = drawn or time
    # also of an answer that is drawn just now: the files of a job that is started again stay as they are
    return said, f"as of {time[:16].replace('T', ' ')} UTC: a new answer needs another version, or fresh=True in Python"


def fit(error: Exception | None, session: Session) -> None:
    """Let a refusal propose what its budget can get: another part, or no larger total, if an older copy may have used it up."""
    if not isinstance(error, BudgetExceededError):
        return
    if session._whole is not None:
        of_part(error)
    elif error._raised and any(known.price == ALL for known in session._ledger.entries(session.name)):
        error._raised = ""


@contextmanager
def fitting(session: Session) -> Iterator[None]:
    """Whatever is refused meanwhile proposes what its budget can get."""
    try:
        yield
    except BudgetExceededError as error:
        fit(error, session)
        raise


def released(request: gate.Request, table: Table) -> gate.Given:
    """Answer a request; a refusal of a table with versions says that one which grows can have a budget for each period."""
    try:
        with fitting(table.session):
            return gate.release(request)
    except BudgetExceededError as error:
        if (
            table.session._whole is None
            and table.session.unit.periods is None
            and table.content == table.token
            and not table.content.startswith(UNVERSIONED)
        ):
            error.where = GROWS
        raise
