"""Answers to a public list of sums over parts, from the counts that are best for them."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.aggregates.base import (
    AT,
    IN_ROWS,
    Answer,
    ExpectedError,
    SingleLook,
    Terms,
    in_numbers,
    least_noised,
    noise_of,
    noised,
    scale_of,
)
from pandas_dp.aggregates.matrices import WHOLE, Floats, Query, Strategy, inverse, least, measured, rows_of
from pandas_dp.aggregates.ranges import hierarchy_of
from pandas_dp.aggregates.uncertainty import LEVEL, Ends
from pandas_dp.core.measurement import Measurement, Noisy
from pandas_dp.core.mechanisms.noise import Noise
from pandas_dp.core.partition import Partition
from pandas_dp.core.statistics.strategies import Haar, Tree, Weighted
from pandas_dp.facts.labels import Labels
from pandas_dp.facts.numbers import Accuracy

ONE_DRAW = 1 - 1e-9  # share of the length of an answer's weights from which it is of one draw


@dataclass(frozen=True)
class QueriesError:
    """Answers that are weighted sums of independent noise: of each the length of its weights, and whether it is of one draw."""

    noise: Noise
    lengths: tuple[float, ...]
    single: tuple[bool, ...]

    def half_widths(self, level: float) -> Floats:
        """Of each answer; see `Noise.combined`."""
        unit = np.where(self.single, self.noise.half_width(level), self.noise.combined(level))
        found: Floats = unit * np.array(self.lengths)
        return found

    def bounds(self, value: pd.Series[Any], level: float) -> Ends:
        """Ends for each answer."""
        half = self.half_widths(level)
        return value - half, value + half


@dataclass(frozen=True)
class WorkloadAnswers(SingleLook):
    """Weighted sums of the numbers of rows in the parts, as a Series of floats: least-squares answers that fit each other.

    Parameters
    ----------
    by : Partition
    labels : Labels
        Of the queries.
    queries : tuple of Query
    """

    by: Partition
    labels: Labels
    queries: tuple[Query, ...]

    counting = frozenset({"count"})

    def look(self, terms: Terms) -> Measurement:
        """Noisy integers in the form of the chosen strategy."""
        return noised(self._strategy(terms), terms.price, terms.unit)

    def drawn(self, terms: Terms) -> tuple[str, ...]:
        """An optimised strategy is floats' work: noisy integers are read again by the very strategy that they were drawn by."""
        chosen = self._strategy(terms)
        if not isinstance(chosen, Weighted):
            return ()
        return (hashlib.sha256(repr(chosen.weights).encode()).hexdigest(),)

    def answer(self, noisy: Noisy, look: Measurement, terms: Terms) -> Answer:
        """Return a Series over the queries."""
        error, strategy, rows = self._error(look, terms), self._measured(look, terms), self._rows()
        parts = inverse(strategy) @ (strategy.T @ np.array(noisy, dtype=np.float64))
        series = pd.Series(rows @ parts, index=self.labels.index(), name="count")
        return Answer(series, self._name(look, terms), error)

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """The widest interval, and the error of all queries together, beside that of sums of noisy counts."""
        look, plain = self.look(terms), noised(Tree(self.by), terms.price, terms.unit)
        error = self._error(look, terms)
        half = float(error.half_widths(LEVEL).max())
        after, before = (
            noise_of(one).standard_deviation * math.sqrt(float(np.mean(np.square(self._error(one, terms).lengths))))
            for one in (look, plain)
        )
        together = (
            f"all queries: standard deviation {IN_ROWS.text(after)} on average, {IN_ROWS.text(before)} by counts alone"
        )
        step = Fraction(1, WHOLE) if isinstance(look.statistic, Weighted) else Fraction(1)
        words = f"each at most ± {IN_ROWS.text(half)} {AT}"
        scale = scale_of(noise_of(look), step, IN_ROWS)
        return ExpectedError(self._name(look, terms), scale, words, half, (together,))

    def epsilon_for(self, wanted: Accuracy, terms: Terms) -> Fraction:
        """Invert the widest of the half-widths."""
        in_numbers(wanted)
        return least_noised(
            lambda offer: float(self._error(self.look(offer), offer).half_widths(wanted.level).max()), wanted, terms
        )

    def _strategy(self, terms: Terms) -> Strategy:
        return least(self.by, terms.unit, terms.price.gaussian, self.queries)

    def _rows(self) -> Floats:
        return rows_of(self.queries, self.by.count)

    def _measured(self, look: Measurement, terms: Terms) -> Floats:
        return measured(_of(look), terms.unit)

    def _error(self, look: Measurement, terms: Terms) -> QueriesError:
        strategy, rows = self._measured(look, terms), self._rows()
        weights = np.abs(rows @ inverse(strategy) @ strategy.T)  # shape (queries, entries)
        lengths = np.sqrt((weights**2).sum(axis=1))
        single = weights.max(axis=1) >= lengths * ONE_DRAW
        return QueriesError(noise_of(look), tuple(lengths.tolist()), tuple(single.tolist()))

    def _name(self, look: Measurement, terms: Terms) -> str:
        chosen = _of(look)
        if isinstance(chosen, Weighted):
            return f"{noise_of(look).name} on {len(chosen.weights):,} weighted sums made for the queries"
        return f"{noise_of(look).name} on {hierarchy_of(chosen, terms.unit)}"


def _of(look: Measurement) -> Strategy:
    if not isinstance(look.statistic, Tree | Haar | Weighted):
        raise TypeError("this measurement does not count parts")
    return look.statistic
