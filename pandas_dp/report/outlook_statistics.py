"""What is known in advance of the noise of the ends of a column, of several columns together and of distinct values."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from pandas_dp.aggregates.base import Terms, noise_of
from pandas_dp.aggregates.covariance import Correlation, Covariance, Together, largest_lengths
from pandas_dp.aggregates.distinct import DistinctCount, DistinctCounts, Shares, widest
from pandas_dp.aggregates.extremes import Extreme, rest_of
from pandas_dp.aggregates.ranges import combined_half_width
from pandas_dp.aggregates.regression import LinearRegression
from pandas_dp.aggregates.several import Several
from pandas_dp.aggregates.summary import SUMS_SHARE, TYPICAL, Summary
from pandas_dp.core.mechanisms.quantiles import RecursiveQuantiles
from pandas_dp.core.privacy import show
from pandas_dp.core.statistics.products import ROW_TOTAL
from pandas_dp.report.base import LEVEL
from pandas_dp.report.outlook import PLAIN, ROWS, Outlook, Unit, _guaranteed, _noisy, _over_rows, _scale
from pandas_dp.report.outlook_groups import outlook
from pandas_dp.uncertainty import RankBound

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
    """What is known of each part at its share."""
    parts = zip(aggregate.parts, aggregate.terms_of(terms), strict=True)
    known = {part.call: (part.share, outlook(part.question, own, rows)) for part, own in parts}
    mechanism = ", ".join(dict.fromkeys(found.mechanism for _, found in known.values()))
    error = "; ".join(f"{call} {found.error}" for call, (_, found) in known.items())
    halves = {call: found.half_width for call, (_, found) in known.items()}
    notes = tuple(f"{call} takes {show(100 * share)} % of the price" for call, (share, _) in known.items())
    beside = tuple(f"{call}: {note}" for call, (_, found) in known.items() for note in found.notes)
    return Outlook(mechanism, None, error, halves, (*notes, *beside))


@outlook.register
def _summary(aggregate: Summary, terms: Terms, rows: int | None) -> Outlook:
    """The mean as a quotient of sums with noise of squared length at most 5; the ranks by the recursion."""
    noise = noise_of(aggregate._variance.look(aggregate._sums(terms)))
    ranks = aggregate.rank_error(aggregate._rest(terms), TYPICAL).at(LEVEL)
    size = combined_half_width(noise, LEVEL) * math.sqrt(5) / aggregate.squares.cells**2
    mean = _over_rows(size * float(aggregate.squares.width / 2), rows or terms.public_rows, PLAIN, "", "at most about")
    count = ROWS.text(combined_half_width(noise, LEVEL) * math.sqrt(3) / aggregate.squares.cells**2)
    words = f"count ± {count}; mean {mean.error}; quantiles: {RankBound(ranks, LEVEL).words}"
    share = f"{show(100 * SUMS_SHARE)} % of the price buys count, mean and std, the rest min, max and quartiles"
    return Outlook(f"{noise.name}, {RecursiveQuantiles.name}", None, words, None, (share,))


def _of_products(aggregate: Together, terms: Terms) -> str:
    noise = noise_of(aggregate.look(terms))
    return f"{_scale(noise, Fraction(1, ROW_TOTAL), ROWS)}, on nine sums for each pair of columns"
