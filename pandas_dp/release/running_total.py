"""Running totals of released answers about periods: free, as what was released alone is looked at."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from operator import add
from typing import Any

import pandas as pd

from pandas_dp.aggregates.base import Caution
from pandas_dp.aggregates.count import Count, CountBy
from pandas_dp.aggregates.moments import Sum
from pandas_dp.aggregates.uncertainty import Additive, EachOf
from pandas_dp.aggregates.weighted_noise import CellNoise, Law, half_width
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts.argument_help import example
from pandas_dp.facts.labels import CrossLabels
from pandas_dp.facts.periods import Periods
from pandas_dp.release.base import Release
from pandas_dp.release.reconcile import answers_of, entries_of, made_of
from pandas_dp.release.values import Vector
from pandas_dp.steps.periods import InPeriods

LINE = "pandas_dp.running_total([monday, tuesday, wednesday])"
ASK = "df.dp.period('2026-11-28').dp(epsilon=0.5).count()"
FREE = "the sums of entries {} of the ledger: nothing is charged, their privacy is that of these answers together"
SUMS = "count(), sum('cost', bounds=(0, 100)), or one of them by groupby('ward', keys=[...])"
MOST_NAMED = 3  # gaps that a note names


@dataclass(frozen=True)
class Added:
    """Noise of several independent draws, added up.

    Attributes
    ----------
    law : Law
        Of the sum, in whole steps.
    """

    law: Law

    def half_width(self, level: float) -> int:
        """Steps within which it stays with this probability: a whole number m of them reaches as far as m + 1/2 on the axis."""
        return max(0, math.ceil(half_width(self.law, level) - 0.5))


@example(LINE)
def running_total(answers: Any) -> Any:
    """Add up the answers about days, months or other periods of one budget. Nothing is charged.

    Parameters
    ----------
    answers : list of Release
        Answers of ``count`` or ``sum``, or of counts or sums by listed keys or bins of one column, about periods that do not
        overlap: the same question about one growing table, asked of ``df.dp.period(...)`` for each, at any prices. Days and
        whole months may be mixed.

    Returns
    -------
    Series, or DataFrame with a column for each key
        The total up to the end of each answer's periods, in the order of time; the index names the last period of each.
        With ``.interval()`` and ``.table()``.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        For answers to different questions, or with different budgets, units or steps; without periods; or if periods overlap.

    Notes
    -----
    The noise of the answers is independent, so the variance of a total is the sum of their variances, and its interval uses
    the distribution of that sum. After n days at epsilon each, the standard deviation of a running count is sqrt(2 n) /
    epsilon. It grows more slowly if months are asked, too. Spend half the price on each day, and half on each month, on its
    last night. The total is then that of finished months and the days since: at the end of a year sqrt(2 * 12) / (epsilon /
    2), which is 9.8 / epsilon, not 27 / epsilon. A total adds what each answer counted: if the rows of a unit are capped, up
    to the cap in every period. Privacy is that of the answers together, under both relations, because only these are used.
    Source: the sum of independent answers, Dwork, McSherry, Nissim, Smith 2006; levels of time, Dwork, Naor, Pitassi, Rothblum
    2010; Chan, Shi, Song 2011.

    Examples
    --------
    >>> import pandas as pd, pandas_dp
    >>> df = pd.DataFrame({"at": pd.date_range("2026-11-01", periods=9000, freq="min")})
    >>> session = df.dp.protect(epsilon=2, period="D", time="at", name="running total example")
    >>> days = [df.dp.period(f"2026-11-0{day}").dp(epsilon=1).count() for day in (1, 2, 3)]
    >>> total = pandas_dp.running_total(days)
    >>> total.index.tolist(), bool(4250 < total["2026-11-03"] < 4390)
    (['2026-11-01', '2026-11-02', '2026-11-03'], True)
    """
    listed = answers_of("running_total", answers, LINE)
    for place, one in enumerate(listed):
        _check(place, one, listed[0])
    listed.sort(key=lambda one: one._provenance.periods)
    periods = next(step.periods for step in listed[0].query.steps if isinstance(step, InPeriods))
    return _summed(listed, periods, _gaps(listed, periods))


def _check(place: int, answer: Release, first: Release) -> None:
    """Refuse what cannot be added up."""
    origin, asked, error = answer._provenance, answer.query.aggregate, answer._provenance.error
    if origin.periods is None:
        raise ArgumentTypeError(f"answer {place} does not say which periods it is about: ask {ASK}")
    plain = isinstance(error, Additive) and error.within is None and error.kind.name in ("number", "bool")
    if not isinstance(asked, Count | CountBy | Sum) or isinstance(_labels(asked), CrossLabels) or not plain:
        raise ArgumentTypeError(f"answer {place} cannot be added up: ask {SUMS} of each period")
    if isinstance(answer, Vector) and answer._changed():
        raise ArgumentTypeError(f"answer {place} was changed since it was released: give it as it was")
    if origin.content is None or first._provenance.content is None or _whose(answer) != _whose(first):
        raise ArgumentTypeError(
            f"answer {place} has a different budget, unit or schema from answer 0: ask both in one session"
        )
    if repr(asked) != repr(first.query.aggregate) or answer.query.groups != first.query.groups:
        raise ArgumentTypeError(
            f"answer {place} answers another question than answer 0, {first.query.call}: ask the same of each period"
        )
    if _others(answer) != _others(first):
        raise ArgumentTypeError(f"answer {place} was asked after different steps from answer 0: ask both of one frame")


def _labels(asked: Any) -> Any:
    """The parts that an answer has a number of each; None where it is one number."""
    return getattr(asked, "labels", None)


def _whose(answer: Release) -> tuple[Any, ...]:
    """The budget and what it counts; the content may grow from night to night."""
    name, unit, _, nulls = answer._provenance.content or (None,) * 4
    return name, unit, nulls


def _others(answer: Release) -> list[Any]:
    return [step for step in answer.query.steps if not isinstance(step, InPeriods)]


def _gaps(answers: Sequence[Release], periods: Periods) -> tuple[Caution, ...]:
    """Say which periods between the answers no answer is about; where two answers are about one, refuse them."""
    gaps = []
    spans = [answer._provenance.periods or (0, 0) for answer in answers]
    for (_, end), (start, _) in pairwise(spans):
        if start <= end:
            raise ArgumentValueError(
                f"two answers are about {periods.name(start)!r}, which would count twice: leave one of them out"
            )
        if start > end + 1:
            names = dict.fromkeys((periods.name(end + 1), periods.name(start - 1)))
            gaps.append(" to ".join(names))
    more = f" and {len(gaps) - MOST_NAMED} more times" * (len(gaps) > MOST_NAMED)
    return (Caution(f"no answer is about {', '.join(gaps[:MOST_NAMED])}{more}: the totals leave them out"),) * bool(
        gaps
    )


def _cells(answer: Release) -> list[Any]:
    """The noisy numbers of an answer, in the order of its parts."""
    asked: Any = answer.query.aggregate
    if _labels(asked) is None:
        return [answer.value]
    return answer.value.reindex(_labels(asked).index()).tolist()


def _summed(answers: Sequence[Release], periods: Periods, gaps: tuple[Caution, ...]) -> Any:
    draws: Counter[tuple[float, CellNoise]] = Counter()
    errors = []
    for answer in answers:
        error: Any = answer._provenance.error
        draws[1.0, CellNoise.of(error.noise)] += 1
        errors.append(Additive(Added(Law.of(draws)), error.step, error.kind))
    rows = list(accumulate(map(_cells, answers), lambda total, more: list(map(add, total, more))))
    spans = [answer._provenance.periods or (0, 0) for answer in answers]
    index = pd.Index([periods.name(end) for _, end in spans], name=periods.word)
    last, labels = answers[-1], _labels(answers[-1].query.aggregate)
    value: Any = pd.DataFrame(rows, index=index, columns=["running_total"] if labels is None else labels.index())
    value = value["running_total"] if labels is None else value
    steps = (*_others(last), InPeriods(periods, spans[0][0], spans[-1][1]))
    query = replace(last.query, steps=steps, call=f"{last.query.call}, running total of {len(answers)} answers")
    notes = dict.fromkeys(note for answer in answers for note in answer.notes)
    told, changes = (*notes, FREE.format(entries_of(answers)), *gaps), {"query": query, "content": None, "entry": None}
    return made_of(answers, "added up", last._provenance, value, EachOf(tuple(errors)), told, **changes)
