"""Trials: one question asked again and again, each time of a fresh copy with a budget of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import pandas as pd

from pandas_dp.audit.outputs import Raised, Seen, observe
from pandas_dp.core.budget import Budget, State
from pandas_dp.core.ledger import Ledger
from pandas_dp.core.privacy import LARGEST_EPSILON, PrivacyUnit
from pandas_dp.core.randomness import random_words
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts.schema import Schema
from pandas_dp.release.values import Release
from pandas_dp.session import registry
from pandas_dp.session.session import Session
from pandas_dp.tables.schema_checks import check_schema

NAME = "audit"
SAME = 20  # first trials on each table: where all raise the same, the question is mistaken
Question = Callable[[pd.DataFrame], Any]


def turns(samples: int) -> Iterator[int]:
    """Both sides in random order, again and again: each of them `samples` times."""
    for first in (random_words(samples) & 1).tolist():
        yield from (first, 1 - first)


class Trials:
    """A question to two tables, whose answers to different trials have nothing in common but the tables.

    Each trial has a shallow copy of a table, which changes to it in place leave as it was, and a new budget: no stored answer
    and no spending of another trial is met. With delta = 0 that budget counts pure epsilons, as a session without delta does.

    Attributes
    ----------
    charged : Fraction or None
        Largest epsilon that a trial was charged; None once a charge was no pure epsilon.
    """

    def __init__(
        self,
        question: Question,
        tables: tuple[pd.DataFrame, pd.DataFrame],
        unit: PrivacyUnit,
        schema: Schema | Mapping[str, Mapping[str, Any]] | None,
        delta: Fraction,
    ) -> None:
        self._question, self._tables, self._unit = question, tables, unit
        self._schema = None if schema is None else Schema.of(schema)
        for table in tables:
            check_schema(self._schema, table)
        self._budget = Budget.of(Fraction(LARGEST_EPSILON), Fraction(1, 2) if delta else Fraction(0))
        self._ledger, self._count, self._used = Ledger(None), 0, True
        self.charged: Fraction | None = Fraction(0)

    def run(self, samples: int) -> tuple[list[Seen], list[Seen]]:
        """Ask both tables so many times, in turns of random order: a drift of the machine is no difference between them."""
        outputs: tuple[list[Seen], list[Seen]] = ([], [])
        for side in turns(samples):
            outputs[side].append(self._trial(side))
            number = len(outputs[0]) + len(outputs[1])
            if number == 2:
                self._check_answers(outputs[0] + outputs[1])
            if number == 2 * min(SAME, samples):
                self._check_asked(outputs[0] + outputs[1])
        return outputs

    def close(self) -> None:
        """Free the memory of all budgets."""
        self._ledger.close()

    def _trial(self, side: int) -> Seen:
        """One call with all that its caller sees; the name of its budget, which may stand in an error, is none of that."""
        with self._protected(self._tables[side]) as frame:
            seen = observe(lambda: self._question(frame))()
        if isinstance(seen.value, Raised):
            return seen._replace(value=Raised(seen.value.text.replace(self._name, NAME)))
        return seen

    @contextmanager
    def _protected(self, table: pd.DataFrame) -> Iterator[pd.DataFrame]:
        """A copy on a budget of which nothing was spent: a new one, where the last trial wrote anything to its own."""
        if self._used:
            self._count += 1
            self._ledger.open(self._name, self._budget, self._unit)
        session = registry.enter(Session(self._ledger, self._name, self._unit))
        try:
            frame = table.copy(deep=False)
            session._tables.attach(
                session, frame, self._schema, rows=self._unit.column is None and not self._unit.add_remove
            )
            yield frame
            self._used = len(session._ledger.entries(session.name)) > 1  # the first one opened it
            if self._used:
                self._keep(session._state)
        finally:
            registry.throwaway(session)

    @property
    def _name(self) -> str:
        return f"{NAME} {self._count}"

    def _keep(self, spent: State) -> None:
        """Keep the largest epsilon."""
        if spent.unbounded or spent.delta:
            self.charged = None
        elif self.charged is not None:
            self.charged = max(self.charged, spent.epsilon)

    @staticmethod
    def _check_answers(outputs: list[Seen]) -> None:
        """Refuse what is no answer yet, or would be told apart by nothing."""
        for value in (seen.value for seen in outputs):
            kind = type(value)
            if isinstance(value, Release | Raised | str | pd.DataFrame):
                continue
            if kind.__module__.split(".")[0] == "pandas_dp":
                raise ArgumentTypeError(
                    f"the question returned a {kind.__name__}, which is no answer yet: end it with a question, such as "
                    "lambda df: df.dp(epsilon=1).count(), and return what a stream answered, not the stream"
                )
            if isinstance(value, Iterator) or _nameless(kind):
                raise ArgumentTypeError(
                    f"the question returned a {kind.__name__}, in which no answer can be seen: return numbers, texts, "
                    "lists, dicts, Series or DataFrames, such as lambda df: list(answers(df))"
                )

    @staticmethod
    def _check_asked(outputs: list[Seen]) -> None:
        """Refuse a question that only raises, always the same: it was not put as it was meant."""
        first = outputs[0].value
        if isinstance(first, Raised) and all(seen.value == first for seen in outputs):
            raise ArgumentValueError(
                f"the question {first!r}. It gets a DataFrame that is protected already, for one trial, on a budget of its own "
                "(leave df.dp.protect out): lambda df: df.dp(epsilon=1).count()"
            )


def _nameless(kind: type) -> bool:
    """Whether objects of a type show nothing but their address."""
    return next(cls for cls in kind.__mro__ if "__repr__" in vars(cls)) is object
