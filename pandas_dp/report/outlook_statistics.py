"""What is known in advance of the noise of the ends of a column, of several columns together and of distinct values."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from pandas_dp.aggregates.base import Terms, noise_of
from pandas_dp.aggregates.count import Count, CountBy
from pandas_dp.aggregates.covariance import Correlation, Covariance, Together, largest_lengths
from pandas_dp.aggregates.distinct import DistinctCount, DistinctCounts, Shares, widest
from pandas_dp.aggregates.extremes import Extreme, rest_of
from pandas_dp.aggregates.moments import Variance
from pandas_dp.aggregates.ranges import combined_half_width
from pandas_dp.aggregates.regression import LinearRegression
from pandas_dp.aggregates.several import Several
from pandas_dp.aggregates.shared_moments import Moment, SharedMoments
from pandas_dp.aggregates.summary import SUMS_SHARE, TYPICAL, Summary
from pandas_dp.aggregates.sums import Sum
from pandas_dp.core.mechanisms.quantiles import RecursiveQuantiles
from pandas_dp.core.privacy import show
from pandas_dp.core.statistics.products import ROW_TOTAL
from pandas_dp.report.base import LEVEL
from pandas_dp.report.outlook import (
    AT,
    PLAIN,
    ROWS,
    SAY,
    Outlook,
    Unit,
    _guaranteed,
    _noisy,
    _over_rows,
    _scale,
    unit_of,
)
from pandas_dp.report.outlook_groups import outlook
from pandas_dp.uncertainty import Noise, RankBound

__all__ = ["outlook"]


@outlook.register
def _extreme(aggregate: Extreme, terms: Terms, rows: int | None) -> Outlook:
    (mechanism,) = aggregate._quantile(Fraction(1, 2))._mechanisms(rest_of(terms))
    return _guaranteed(mechanism.name, aggregate._error(terms), ROWS)


@outlook.register
def _covariance(aggregate: Covariance, terms: Terms, rows: int | None) -> Outlook:
    noise, halves = noise_of(aggregate.look(terms)), aggregate.halves
    apart, alone = largest_lengths(len(halves))
    worst = np.outer(halves, halves) * np.where(np.eye(len(halves)) > 0, alone, apart)
    size = combined_half_width(noise, LEVEL) * float(worst.max())
    found = _over_rows(size, rows or terms.public_rows, PLAIN, "", "the widest at most about")
    return replace(found, mechanism=noise.name, scale=_of_products(aggregate, terms))


@outlook.register
def _correlation(aggregate: Correlation, terms: Terms, rows: int | None) -> Outlook:
    words = "not known in advance: it is that of the covariances over the variances"
    return Outlook(noise_of(aggregate.look(terms)).name, _of_products(aggregate, terms), words)


@outlook.register
def _regression(aggregate: LinearRegression, terms: Terms, rows: int | None) -> Outlook:
    words = "not known in advance: it is that of the covariances over how much the explaining columns vary"
    return Outlook(noise_of(aggregate.look(terms)).name, _of_products(aggregate, terms), words)


@outlook.register
def _distinct(aggregate: DistinctCount, terms: Terms, rows: int | None) -> Outlook:
    return _noisy(noise_of(aggregate.look(terms)), Fraction(1), Unit("values"))


@outlook.register
def _distinct_by_group(aggregate: DistinctCounts, terms: Terms, rows: int | None) -> Outlook:
    return _noisy(noise_of(aggregate.look(terms)), Fraction(1), Unit("values"), "each ")


@outlook.register
def _shares(aggregate: Shares, terms: Terms, rows: int | None) -> Outlook:
    """Error of F_i - t N over the number of rows; see `Proportions`."""
    noise = noise_of(aggregate.look(terms))
    size = combined_half_width(noise, LEVEL) * widest(aggregate.counts.by.count)
    found = _over_rows(size, rows or terms.public_rows, PLAIN, "", "each share at most about")
    return replace(found, mechanism=noise.name, scale=f"{_scale(noise, Fraction(1), ROWS)}, on the counts")


@outlook.register
def _several(aggregate: Several, terms: Terms, rows: int | None) -> Outlook:
    """What is known of each part at its share, or at the sum of those that share a look: a line for each."""
    known: dict[int, Outlook] = {}
    prices: dict[int, str] = {}
    names = [" ".join(str(name) for name in (part.column, part.row) if name is not None) for part in aggregate.parts]
    for lot in aggregate.lots(terms):
        bought = lot.question
        shared = isinstance(bought, SharedMoments)
        found = moments(bought, lot.terms, rows) if shared else (outlook(bought, lot.terms, rows),)  # type: ignore[arg-type]
        known |= zip(lot.places, found, strict=True)
        for place in lot.places:
            others = " and ".join(names[other] for other in lot.places if other != place)
            share = "all" if lot.share == 1 else f"{100 * float(lot.share):.3g} %"
            prices[place] = f"{share} of the price" + (f", shared with {others}" if others else "")
    found = tuple(known[place] for place in range(len(names)))
    errors = [each.error.replace(f"; {SAY}", "") for each in found]
    say = (SAY,) if any(SAY in each.error for each in found) else ()
    beside = tuple(f"{name}: {note}" for name, each in zip(names, found, strict=True) for note in each.notes)
    return Outlook(
        mechanism=", ".join(dict.fromkeys(each.mechanism for each in found)),
        scale=None,
        error="; ".join([*(f"{name}: {error}" for name, error in zip(names, errors, strict=True)), *say]),
        half_width={part.call: each.half_width for part, each in zip(aggregate.parts, found, strict=True)},
        notes=(*say, *beside),
        parts=tuple(
            (name, f"{error}; {prices[place]}") for place, (name, error) in enumerate(zip(names, errors, strict=True))
        ),
    )


def moments(aggregate: SharedMoments, terms: Terms, rows: int | None) -> tuple[Outlook, ...]:
    """What is known of each question; of a variance as much as of one asked alone at this price."""
    noise = noise_of(aggregate.look(terms))
    return tuple(_moment(aggregate, question, noise, terms, rows) for question in aggregate.questions)


def _moment(aggregate: SharedMoments, question: Moment, noise: Noise, terms: Terms, rows: int | None) -> Outlook:
    grouped = aggregate.by is not None
    if isinstance(question, Count | CountBy | Sum):
        unit = unit_of(question.kind) if isinstance(question, Sum) else ROWS
        model = aggregate.linear_error(question, noise)
        half = float(model.noise.half_width(LEVEL) * model.step)
        return Outlook(noise.name, None, f"{'each ' if grouped else ''}± {unit.text(half)} {AT}", unit.value(half))
    if isinstance(question, Variance) or aggregate.degree == 1:
        return outlook(question, terms, rows)
    # a quotient of three sums, with noise of squared length at most 5
    size = combined_half_width(noise, LEVEL) * math.sqrt(5) / aggregate.lattice.cells**2
    known, more = (rows, " of a group") if grouped else (rows or terms.public_rows, "")
    found = _over_rows(size * float(aggregate.lattice.width / 2), known, PLAIN, more, "at most about")
    return replace(found, mechanism=noise.name)


@outlook.register
def _shared(aggregate: SharedMoments, terms: Terms, rows: int | None) -> Outlook:
    known = moments(aggregate, terms, rows)
    return replace(known[0], error="; ".join(found.error for found in known), half_width=None)


@outlook.register
def _summary(aggregate: Summary, terms: Terms, rows: int | None) -> Outlook:
    """Sums, and the ranks by the recursion."""
    count, mean, _ = moments(aggregate.moments, aggregate._sums(terms), rows)
    ranks = aggregate.rank_error(aggregate._rest(terms), TYPICAL).at(LEVEL)
    words = (
        f"count {count.error.removesuffix(AT).strip()}; mean {mean.error}; quantiles: {RankBound(ranks, LEVEL).words}"
    )
    share = f"{show(100 * SUMS_SHARE)} % of the price buys count, mean and std, the rest min, max and quartiles"
    return Outlook(f"{count.mechanism}, {RecursiveQuantiles.name}", None, words, None, (share,))


def _of_products(aggregate: Together, terms: Terms) -> str:
    noise = noise_of(aggregate.look(terms))
    return f"{_scale(noise, Fraction(1, ROW_TOTAL), ROWS)}, on nine sums for each pair of columns"
