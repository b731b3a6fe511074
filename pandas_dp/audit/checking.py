"""The audit that users call: one question, two tables, one claim, and trials that have nothing in common but the tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import pandas as pd

from pandas_dp.audit.neighbors import check_pair
from pandas_dp.audit.outputs import Raised, Seen, observe
from pandas_dp.audit.search import AuditResult, expected_bound, load_beta, weigh
from pandas_dp.core.budget import Budget, State
from pandas_dp.core.ledger import Ledger
from pandas_dp.core.privacy import LARGEST_EPSILON, PrivacyUnit
from pandas_dp.core.randomness import random_words
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts.argument_help import example
from pandas_dp.facts.kinds import exact_number
from pandas_dp.facts.numbers import MOST_CONFIDENCE, positive_epsilon, positive_int, small_delta
from pandas_dp.facts.schema import Schema
from pandas_dp.queries.query import Query
from pandas_dp.release.values import Release
from pandas_dp.session import opening, registry
from pandas_dp.session.session import Session
from pandas_dp.tables.schema_checks import check_schema

FEWEST = 100  # samples
DOUBLINGS = 12  # of the samples, up to which more are a way out
LEAST_CONFIDENCE = Fraction(1, 2)
LINE = "pandas_dp.audit.check(lambda df: df.dp(epsilon=1).count('age'), table, neighbor)"
OWN = (
    "It gets a DataFrame that is protected already, for one trial, on a budget of its own (leave df.dp.protect out): "
    "lambda df: df.dp(epsilon=1).count()"
)


@example(LINE)
def check(
    question: Query | Callable[[pd.DataFrame], Any],
    table: pd.DataFrame,
    neighbor: pd.DataFrame,
    *,
    epsilon: Any = None,
    delta: Any = None,
    samples: int = 5000,
    confidence: Any = 0.999999,
    unit: str | None = None,
    max_rows: int | None = None,
    max_groups: int | None = None,
    max_rows_per_group: int | None = None,
    neighbors: str = "add_remove",
    schema: Schema | Mapping[str, Mapping[str, Any]] | None = None,
) -> AuditResult:
    """Ask two neighbouring tables the same question many times, and compute a lower bound on its epsilon.

    Parameters
    ----------
    question : Query or callable
        What ``pandas_dp.query(epsilon=...)`` made, or any function of a DataFrame: its value, texts, labels, types,
        exceptions, warnings and what it prints are all looked at. Each call gets a fresh copy that is protected by a budget of
        its own which pays for everything, so it may ask ``df.dp(...)``, or compute and add noise by itself.
    table, neighbor : DataFrame
        Made-up tables that differ in one row, or one unit: nothing about them stays private. Small ones, with extreme
        values in the row that differs, show most.
    epsilon, delta : number, optional
        The claim. By default it is the price of a query, or the most that a call was charged. For a function that adds its own
        noise, or is charged other than pure epsilons, you must type it.
    samples : int
        Calls on each table.
    confidence : number
        One minus the rate of false alarms, at least 0.5.
    unit, max_rows, max_groups, max_rows_per_group, neighbors, schema : optional
        As for ``df.dp.protect``: what the tables differ in, and the terms on which the copies are protected.

    Returns
    -------
    AuditResult
        ``epsilon_lower``, ``passed`` and ``verdict``; it prints what told the tables apart best.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        Also if a table is protected, if the tables are not neighbours, if there are too few samples to show a violation of the
        claim at all, and if every call raises the same error.
    ImportError
        Without scipy: ``pip install 'pandas-dp[audit]'``.

    Notes
    -----
    One event is chosen with half of the samples and counted in the other half, and Clopper-Pearson intervals bound epsilon. So
    if the claim is true, a violation is reported with probability at most 1 - confidence, provided that the calls are
    independent (a function must keep nothing from call to call). "No violation found" proves nothing: other tables may show
    more, and at epsilon 1 events of probability below about 200 / samples are not seen. At epsilon 1 and the default
    confidence, noise of half the right size is found with probability 0.99 by about 1,600 samples, of two thirds by 4,800, and
    of four fifths by 16,200. Of an output with more than 64 numbers the first 64 are compared. Source: Tramer, Terzis,
    Jagielski, Song, Ruan, Carlini 2022; Bichsel, Steffen, Bogunovic, Vechev 2021.

    Examples
    --------
    >>> import pandas as pd, pandas_dp
    >>> table = pd.DataFrame({"age": [20, 40, 90]})
    >>> pandas_dp.audit.check(pandas_dp.query(epsilon=1).count(), table, table.iloc[:-1], samples=500).passed
    True
    >>> mine = lambda df: df.dp(epsilon=1).sum("age", bounds=(0, 100)) / len(df)  # whose number of rows nobody hides
    >>> pandas_dp.audit.check(mine, table, table.iloc[:-1], samples=500).verdict
    'VIOLATION: at least ... where 1 was claimed, false alarm at most 1e-06'
    """
    load_beta()
    if not callable(question):
        raise ArgumentTypeError(f"question must be a query or a function of a DataFrame: {LINE}")
    claim = _claim(question, epsilon, delta)
    slack = claim[1] if claim is not None else Fraction(0)
    number = positive_int(samples, "samples")
    if number < FEWEST:
        raise ArgumentValueError(f"samples must be at least {FEWEST}: {LINE[:-1]}, samples=5000)")
    alpha = _alpha(confidence)
    bounded = opening.privacy_unit(unit, max_rows, max_groups, max_rows_per_group, neighbors)
    if claim is not None:
        _check_samples(claim, number, alpha)
    trials = Trials(question, check_pair(table, neighbor, bounded), bounded, schema, slack)
    try:
        outputs = trials.run(number)
    finally:
        trials.close()
    if claim is None:
        claim = _charged(trials.charged), Fraction(0)
        _check_samples(claim, number, alpha)
    return weigh(*outputs, float(claim[0]), alpha, float(claim[1]))


def _claim(question: Any, epsilon: Any, delta: Any) -> tuple[Fraction, Fraction] | None:
    """Epsilon and delta that are claimed; None: what the calls will be charged."""
    slack = Fraction(0) if delta is None else small_delta(delta)
    if epsilon is not None:
        return positive_epsilon(epsilon), slack
    if slack:
        raise ArgumentTypeError(f"a claim with a delta names its epsilon: {LINE[:-1]}, epsilon=1, delta=1e-6)")
    if not isinstance(question, Query):
        return None
    terms = question._terms
    if terms.get("rho") is not None:
        raise ArgumentTypeError(
            f"rho is not an epsilon: name one that it implies, with its delta: {LINE[:-1]}, epsilon=1, delta=1e-6); "
            "pandas_dp.accounting.epsilon_for gives it"
        )
    known = small_delta(terms.get("delta", 0)) if delta is None else slack
    return (positive_epsilon(terms["epsilon"]), known) if known and terms.get("epsilon") is not None else None


def _charged(charged: Fraction | None) -> Fraction:
    """The claim of a question that was charged by the package."""
    if not charged:
        why = "costs more than pure epsilons" if charged is None else "was charged nothing"
        raise ArgumentTypeError(f"the question {why}: name what it claims: {LINE[:-1]}, epsilon=1)")
    return charged


def _check_samples(claim: tuple[Fraction, Fraction], samples: int, alpha: float) -> None:
    """Refuse an audit that could only pass: its bound stays below the claim whatever the answers are."""

    def most(number: int) -> float:
        return expected_bound(1, 0, number, alpha, float(claim[1]))

    if most(samples) <= claim[0]:
        enough = next((n for n in (samples << k for k in range(1, DOUBLINGS)) if most(n) > 1.5 * float(claim[0])), None)
        more = "" if enough is None else f"take samples={enough}, or "
        raise ArgumentValueError(
            f"{samples:,} samples show an epsilon of at most {most(samples):.3g}, whatever the answers are, and "
            f"{float(claim[0]):g} is claimed: {more}ask the question at a smaller price, such as epsilon=1"
        )


def _alpha(confidence: Any) -> float:
    """Rate of false alarms."""
    level = exact_number(confidence, "confidence")
    if not LEAST_CONFIDENCE <= level <= MOST_CONFIDENCE:
        raise ArgumentValueError("confidence must lie between 0.5 and 1: confidence=0.999999")
    return float(1 - level)


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
                _check_answers(outputs[0] + outputs[1])
            if number == 2 * min(SAME, samples):
                _check_asked(outputs[0] + outputs[1])
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
            counted = self._unit.column is None and not self._unit.add_remove
            session._tables.attach(session, frame, self._schema, rows=counted)
            yield frame
            # by a protect(...) of the question, for which a budget that nothing was asked on makes room
            if session._closed:
                raise ArgumentValueError(f"the question closed the session of its frame. {OWN}")
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


def _check_answers(outputs: list[Seen]) -> None:
    """Refuse what is no answer yet, or would be told apart by nothing."""
    for value in (seen.value for seen in outputs):
        kind = type(value)
        if isinstance(value, Release | Raised | str | pd.DataFrame):
            continue
        if kind.__module__.split(".")[0] == "pandas_dp":
            raise ArgumentTypeError(
                f"the question returned a {kind.__name__}, which is not an answer yet: end it with a question, such as "
                "lambda df: df.dp(epsilon=1).count(), and return what a stream answered, not the stream"
            )
        nameless = next(cls for cls in kind.__mro__ if "__repr__" in vars(cls)) is object  # it shows its address
        if isinstance(value, Iterator) or nameless:
            raise ArgumentTypeError(
                f"the question returned a {kind.__name__}, in which no answer can be seen: return numbers, texts, "
                "lists, dicts, Series or DataFrames, such as lambda df: list(answers(df))"
            )


def _check_asked(outputs: list[Seen]) -> None:
    """Refuse a question that only raises, always the same: it was not put as it was meant."""
    first = outputs[0].value
    if isinstance(first, Raised) and all(seen.value == first for seen in outputs):
        raise ArgumentValueError(f"the question {first!r}. {OWN}")
