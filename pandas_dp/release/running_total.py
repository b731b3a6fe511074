"""Running totals of released answers about periods: free, as what was released alone is looked at."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pandas as pd

from pandas_dp.aggregates.base import Answer, Caution
from pandas_dp.aggregates.count import Count
from pandas_dp.aggregates.moments import Sum
from pandas_dp.aggregates.uncertainty import Additive, EachOf
from pandas_dp.aggregates.weighted_noise import CellNoise, Law
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts.argument_help import example
from pandas_dp.facts.periods import Periods
from pandas_dp.release.base import NO_MORE, Release
from pandas_dp.release.count_tables import Settled
from pandas_dp.release.reconcile import entries_of, mechanisms_of
from pandas_dp.release.values import SeriesRelease, make_release
from pandas_dp.steps.periods import InPeriods

LINE = "pandas_dp.running_total([monday, tuesday, wednesday])"
ASK = "df.dp.period('2026-11-28').dp(epsilon=0.5).count()"
FREE = "the sums of entries {} of the ledger: nothing is charged, their privacy is that of these answers together"
MOST_NAMED = 3  # gaps that a note names


@example(LINE)
def running_total(answers: Any) -> SeriesRelease:
    """Add up the answers about days, months or other periods of one budget, one after the other: nothing is charged.

    Parameters
    ----------
    answers : list of Release
        What ``count`` or ``sum`` said of periods that do not overlap: one question of one growing table, asked of
        ``df.dp.period(...)`` for each, at any prices. Days and whole months may stand side by side.

    Returns
    -------
    Series
        The total up to the end of each answer's periods, in the order of time; the index names the last period of each.
        With ``.interval()`` and ``.table()``.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        For answers of different questions, budgets, units or steps, for those that name no periods, and where periods overlap.

    Notes
    -----
    The noise of the answers is independent, so the variance of a total is the sum of theirs, and its interval follows the law
    of that sum. After n days of epsilon each the standard deviation of a running count is sqrt(2 n) / epsilon. It grows more
    slowly where months are asked, too: half the price for each day and half for each month, on its last night, make a total of
    finished months and the days since, at the end of a year sqrt(2 * 12) / (epsilon / 2), which is 9.8 / epsilon and not
    27 / epsilon. A total adds what each answer counted: where a unit's rows are bounded, that many in every period.
    Privacy is that of the answers together, under both relations, since only these are looked at.
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
    listed = list(answers) if isinstance(answers, list | tuple) else []
    if len(listed) < 2 or not all(isinstance(one, Release) for one in listed):
        raise ArgumentTypeError(f"running_total takes a list of two answers or more: {LINE}")
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
    sums = isinstance(asked, Count) or (isinstance(asked, Sum) and asked.labels is None)
    if not sums or not isinstance(error, Additive) or error.kind.name not in ("number", "bool"):
        raise ArgumentTypeError(
            f"answer {place} is none that adds up: ask count() or sum('cost', bounds=(0, 100)) of each period, of numbers"
        )
    if origin.content is None or first._provenance.content is None or _whose(answer) != _whose(first):
        raise ArgumentTypeError(
            f"answer {place} is of another budget, unit or schema than answer 0: ask both of one session"
        )
    if repr(asked) != repr(first.query.aggregate) or answer.query.groups != first.query.groups:
        raise ArgumentTypeError(
            f"answer {place} is of another question than answer 0, {first.query.call}: ask the same of each period"
        )
    if _others(answer) != _others(first):
        raise ArgumentTypeError(f"answer {place} was asked behind other steps than answer 0: ask both of one frame")


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


def _summed(answers: Sequence[Release], periods: Periods, gaps: tuple[Caution, ...]) -> SeriesRelease:
    weights: Counter[tuple[float, CellNoise]] = Counter()
    values, errors = [], []
    for place, answer in enumerate(answers, 1):
        error: Any = answer._provenance.error
        weights[float(error.step), CellNoise.of(error.noise)] += 1
        errors.append(Settled(Law.of(weights)))
        so_far = [one.value for one in answers[:place]]
        values.append(sum(so_far) if all(isinstance(value, int) for value in so_far) else math.fsum(so_far))
    ends = [answer._provenance.periods or (0, 0) for answer in answers]
    index = pd.Index([periods.name(end) for _, end in ends], name=periods.word)
    value = pd.Series(values, index=index, name="running_total")
    last, shown = answers[-1], entries_of(answers)
    steps = (*_others(last), InPeriods(periods, ends[0][0], ends[-1][1]))
    notes = dict.fromkeys(note for answer in answers for note in answer.notes)
    origin = replace(
        last._provenance,
        query=replace(last.query, steps=steps, call=f"{last.query.call}, running total of {len(answers)} answers"),
        mechanism=f"{mechanisms_of(answers)}, added up",
        spent=f"{NO_MORE} than entries {shown} cost together",
        stored=False,
        error=EachOf(tuple(errors)),
        notes=(*notes, FREE.format(shown), *gaps),
        content=None,
        entry=None,
    )
    made: Any = make_release(Answer(value, origin.mechanism, origin.error), origin)
    return made  # type: ignore[no-any-return]
