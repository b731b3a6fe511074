"""Every question of a command looked at before the first is asked: on the columns alone, charging nothing.

For all inputs: no row is read, and nothing is written to a ledger that exists; one that does not exist is not made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import pandas as pd

from pandas_dp.aggregates.base import SAY
from pandas_dp.books import odometer, period_words
from pandas_dp.books.amounts import paid, state_of
from pandas_dp.commands.plans import BudgetTerms, existing_ledger, fitting
from pandas_dp.core.budget import State
from pandas_dp.core.filters import Filter
from pandas_dp.core.ledger import Ledger
from pandas_dp.facts.names import check_name
from pandas_dp.facts.schema import Schema
from pandas_dp.queries.query import Query
from pandas_dp.questions.preview_request import NOTHING
from pandas_dp.release.preview import Preview
from pandas_dp.session.session import Session
from pandas_dp.tables.frames import check_frame
from pandas_dp.tables.schema_checks import check_schema

Where = tuple[str | None, str | None, str | None]
"""Path of the ledger, name and version of the table."""
Questions = Callable[[pd.DataFrame], Iterable[tuple[str, Query]]]

SPARE = (
    "no room    if an answer is lost to SIGKILL or a power cut after its draw began: its question is charged again. Leave room "
    "for the most expensive question, or raise the total in that case: pandas-dp ledger extend"
)
WAITS = "nothing, charged before"


@dataclass(frozen=True)
class Foreseen:
    """One question, looked at.

    Attributes
    ----------
    name : str
        Empty for the one question of a command.
    query : Query
    preview : Preview
    stored : bool
        Whether its answer is in the ledger, or will be when its turn comes.
    paid : bool
        Whether enough is left when its turn comes.
    """

    name: str
    query: Query
    preview: Preview
    stored: bool
    paid: bool


@dataclass(frozen=True)
class Rehearsal:
    """What a command will do.

    Attributes
    ----------
    questions : tuple of Foreseen
    promise, left, then : str
        What the whole budget promises, what is left of it now, and after all questions that it pays.
    spare : bool
        Whether what is left then pays any of them once more, as one whose answer is lost has to be.
    """

    questions: tuple[Foreseen, ...]
    promise: str
    left: str
    then: str
    spare: bool

    @property
    def paid(self) -> bool:
        """Whether the budget pays all of them."""
        return all(question.paid for question in self.questions)

    def lines(self) -> Iterator[str]:
        """Write a table for people."""
        rows = [("query", "costs", "error")]
        for question in self.questions:
            costs = "nothing, stored" if question.stored else question.preview.price
            if question.preview.charge == NOTHING and not question.preview.free:
                costs = WAITS
            costs += "" if question.paid else ", NOT ASKED" if question.stored else ", NOT PAID"
            rows.append((question.name, costs, typed(question.preview.error)))
        widths = [max(len(row[place]) for row in rows) for place in range(2)]
        for name, costs, error in rows:
            yield f"{name:<{widths[0]}}  {costs:<{widths[1]}}  {error}".rstrip()
        yield f"the budget: {self.promise}"
        yield f"left now    {self.left}"
        yield f"left after  {self.then}"
        if self.paid and not self.spare:
            yield SPARE


def typed(text: str) -> str:
    """Text of a preview, with the option to type instead of the argument."""
    return text.replace(SAY, "say roughly how many rows: --rows 10000")


def rehearse(
    terms: BudgetTerms,
    frame: pd.DataFrame,
    schema: Schema,
    where: Where,
    questions: Questions,
    rows: int | None = None,
    period: Sequence[str] = (),
    goes_on: bool = False,
    refuse: bool = False,
) -> Rehearsal:
    """Look at questions in their order.

    Parameters
    ----------
    terms : BudgetTerms
    frame : DataFrame
        The columns without a row.
    schema : Schema
    where : tuple
        Path of the ledger, name of the table and version.
    questions : callable
        Names and queries for the protected columns.
    rows : int, optional
        About how many rows count, from outside the data: the expected error of means depends on it.
    period : sequence of str
        The first and the last period that the questions are about, or one, where the budget is for each.
    goes_on : bool
        Whether charges of a job that was killed before it drew are used.
    refuse : bool
        Whether what a new budget cannot pay is refused, before a ledger is made for it.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        What a question would be refused for, with its name.
    LedgerError
        The ledger cannot be read, or has the budget on other terms.
    BudgetExceededError
        With `refuse`.
    """
    path, table, version = where
    check_frame(frame, terms.unit)
    check_schema(schema, frame)
    ledger = _ledger(terms, path)
    session = Session(ledger, terms.name, terms.unit)
    session._goes_on = goes_on
    session._tables.attach(session, frame, schema, table, version)
    try:
        asked = cast("Any", frame).dp.period(*period) if period else frame
        previews = [(name, query, preview_of(name, query, asked, rows)) for name, query in questions(asked)]
        span = next((preview.charge.periods for _, _, preview in previews if preview.charge.periods), None)
        rule, state = ledger.rule(terms.name), state_of(ledger, terms.name, span)
        foreseen, after = _in_turn(rule, state, previews)
        for question in foreseen if refuse and ledger.path is None else ():
            if not question.paid:
                question.query(asked)
        return Rehearsal(
            tuple(foreseen),
            odometer.promise(rule, terms.unit),
            period_words.rest(rule, state, terms.unit),
            period_words.rest(rule, after, terms.unit),
            all(paid(rule, after, preview.charge) is not None for _, _, preview in previews if not preview.stored),
        )
    finally:
        session.close()
        if ledger.path is None:
            ledger.close()


def _ledger(terms: BudgetTerms, path: str | None) -> Ledger:
    """The ledger that has the budget, or one in memory where it is new."""
    ledger = existing_ledger(path)
    if ledger is not None:
        check_name(terms.name, ledger.heads())
        if ledger.budget(terms.name) is not None:
            terms.open(ledger)  # of a known name it compares the terms, and writes nothing
            return ledger
    ledger = Ledger(None)
    terms.open(ledger)
    return ledger


def preview_of(name: str, query: Query, frame: pd.DataFrame, rows: int | None) -> Preview:
    """Preview a question; whatever it is refused for comes with its name, if it has one.

    Raises
    ------
    PandasDPError
        Nothing else.
    """
    where = f"query {name!r}: " if name else ""
    found: Preview = fitting(where, f": {query!r}", lambda: query.preview(frame, rows=rows))
    return found


def _in_turn(rule: Filter, state: State, previews: list[tuple[str, Query, Preview]]) -> tuple[list[Foreseen], State]:
    """Charge the questions one after another in thought; a pipeline ends at the first that is not paid."""
    foreseen, seen, dry = [], set(), False
    for name, query, preview in previews:
        stored = preview.stored or query in seen
        after = state if stored else paid(rule, state, preview.charge)
        dry = dry or after is None
        if after is not None and not dry:
            state = after
        seen.add(query)
        foreseen.append(Foreseen(name, query, preview, stored, not dry))
    return foreseen, state
