"""Counts: rows, non-null rows, counts by public part (histograms, value counts, grouped sizes), and units by their rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_dp.aggregates.base import Answer, Caution, Counts, ExpectedError, Steps, Terms, Unit, noise_of
from pandas_dp.aggregates.uncertainty import Additive, HalfWidth, NoError
from pandas_dp.core.measurement import Measurement, Noisy
from pandas_dp.core.mechanisms.noise import Noise
from pandas_dp.core.partition import Bins, Cross, Keys, Partition
from pandas_dp.core.privacy import PrivacyLoss
from pandas_dp.core.statistics import counts
from pandas_dp.core.statistics.counts import UnitSizes
from pandas_dp.errors import ArgumentTypeError
from pandas_dp.facts.labels import CrossLabels, Labels

PUBLIC = "none: the number is public"


@dataclass(frozen=True)
class Count(Counts):
    """Number of rows, or of non-null rows of a column.

    Where the owner said that the number of rows is public, under replace-one, that of the unfiltered table is returned as it
    is, at price 0.
    """

    column: str | None = None

    counts_rows = True
    each = ""

    def _public(self, terms: Terms) -> int | None:
        return terms.public_rows if self.column is None else None

    def loss(self, terms: Terms) -> PrivacyLoss:
        """Nothing for a public number."""
        return PrivacyLoss() if self._public(terms) is not None else super().loss(terms)

    def steps(self, terms: Terms) -> Steps:
        """Answer a public number without a look."""
        rows = self._public(terms)
        if rows is not None:
            note = "exact and free: the owner says that the number of rows is public (rows=)"
            return Answer(rows, PUBLIC, NoError(typed=not terms.counted), (note,))
        return (yield from super().steps(terms))

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """Nothing for a public number."""
        if self._public(terms) is not None:
            return ExpectedError(PUBLIC, None, "exact", 0)
        return super().expected(terms, rows)

    def look(self, terms: Terms) -> Measurement:
        """One integer."""
        return terms.noised(counts.RowCounts(self.column))

    def answer(self, noisy: Noisy, look: Measurement, terms: Terms) -> Answer:
        """Return the noisy integer as it is, also below zero."""
        noise = noise_of(look)
        return Answer(noisy[0], noise.name, Additive(noise))


@dataclass(frozen=True)
class CountBy(Counts):
    """Number of rows in each public part, or of rows with a value in `column`.

    Parameters
    ----------
    by : Partition
    labels : Labels or CrossLabels
        Index of the answer.
    column : str or None
    name : str or None
        Name of the answer.
    sort : bool
        Largest first, as pandas' value_counts has it.
    """

    by: Partition
    labels: Labels | CrossLabels
    column: str | None = None
    name: str | None = None
    sort: bool = False

    counts_rows = True

    def look(self, terms: Terms) -> Measurement:
        """One integer for each part."""
        return terms.noised(counts.RowCounts(self.column, self.by))

    def answer(self, noisy: Noisy, look: Measurement, terms: Terms) -> Answer:
        """Return a Series over all listed parts, in the listed order unless sorted."""
        series = pd.Series(int64s(noisy), index=self.labels.index(), name=self.name)
        if self.sort:
            series = series.sort_values(ascending=False, kind="stable")
        noise = noise_of(look)
        return Answer(series, noise.name, Additive(noise), self.notes(noisy, noise))

    def of_cell(self, cell: Noisy) -> int:
        """The count of one part: only noise at the smallest prices could leave 64 bits."""
        return min(max(cell[0], -(1 << 63)), (1 << 63) - 1)

    def error_of_cell(self, cell: Noisy, noise: HalfWidth) -> Additive:
        """That of every part alike."""
        return Additive(noise)

    def notes(self, noisy: Noisy, noise: HalfWidth) -> tuple[Caution, ...]:
        """Say so where all listed parts may be empty: from released counts alone, so it is free.

        If they are it is said with 95 % or more; falsely, where one part has twice the rows that are asked for, with 1 or 2 %.
        """
        inside = listed(self.by)
        counts = noisy if inside.all() else [*compress(noisy, inside.tolist())]
        if max(counts) > noise.half_width(1 - 0.05 / len(counts)):
            return ()
        factors = self.by.factors if isinstance(self.by, Cross) else (self.by,)
        keys, bins = "keys are spelt differently or have another type in the column", "bins miss the data"
        beside = dict.fromkeys(keys if isinstance(factor, Keys) else bins for factor in factors)
        return (Caution(f"all counts could be 0: perhaps the {' or the '.join(beside)}"),)


def listed(by: Partition) -> NDArray[np.bool_]:
    """Which parts are no part for other or missing values, shape (parts,)."""
    if isinstance(by, Cross):
        # of the parts alone: there may be far more combinations than memory
        places = np.arange(by.count) if by.allowed is None else np.array(by.allowed, dtype=np.intp)
        columns: Any = np.unravel_index(places, [factor.count for factor in by.factors])
        inside = np.ones(by.count, dtype=bool)
        for factor, codes in zip(by.factors, columns, strict=True):
            inside &= listed(factor)[codes]
        return inside
    return np.arange(by.count) < (by.bins if isinstance(by, Bins) else len(by.keys))


def int64s(noisy: Noisy) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Noisy integers as int64, cut to its range (only noise at the smallest prices could leave it)."""
    try:
        return np.array(noisy, dtype=np.int64)
    except OverflowError:
        return np.array([min(max(x, -(1 << 63)), (1 << 63) - 1) for x in noisy], dtype=np.int64)


WANTED = 95  # percent of the units that keep all rows under the bound that is suggested


def widening_edges(limit: int) -> tuple[int, ...]:
    """Right ends of the bins up to a limit: 1, 2, 3, 5, 10, 20, 50, 100, ..., and the limit."""
    powers = range(len(str(limit)))
    rising = (1, 2, 3, *(first * 10**power for power in powers for first in (5, 10, 20)))
    return (*(edge for edge in rising if edge < limit), limit)


def found_bound(noisy: list[int], edges: tuple[int, ...], noise: Noise) -> int:
    """The least bound of which noisy counts do not show that it drops rows of more than 5 % of the units; else the last edge.

    Of few units, whose counts drown in noise, it is a small one rather than the largest: then noise stays small as well.
    """
    for place, edge in enumerate(edges, 1):
        if -balance(noisy, place) <= margin(noisy, place, noise.combined(WANTED / 100)):
            return edge
    return edges[-1]


def balance(noisy: Noisy, place: int) -> int:
    """At least 0 where, by these counts, units in bins from a place on are at most 5 % of all units."""
    return (100 - WANTED) * sum(noisy[:place]) - WANTED * sum(noisy[place:])


def margin(noisy: Noisy, place: int, each: float) -> float:
    """How far noise moves that balance, where `each` is the half-width of a sum with weights of norm 1."""
    return each * math.sqrt((100 - WANTED) ** 2 * place + WANTED**2 * (len(noisy) - place))


@dataclass(frozen=True)
class RowsPerUnit(Counts):
    """Number of units by their number of rows; more than the last edge is a bin of its own.

    Parameters
    ----------
    edges : tuple of int
        Right ends of the bins.
    """

    edges: tuple[int, ...]
    bounded = False
    unit = Unit("units")

    def check(self, terms: Terms) -> None:
        """Units of one row each have nothing to be counted."""
        if terms.unit.column is None:
            raise ArgumentTypeError(
                "rows_per_unit() needs a session with a column as its unit: "
                "df.dp.protect(epsilon=3, unit='patient_id', max_rows=10)"
            )

    def labelled(self, index: pd.Index[Any]) -> pd.Index[Any]:
        """Whole numbers of rows: 1, 2, 3, 4 to 5, ..., more than 1,000."""
        bins = [(int(bin_.left), bin_.right) for bin_ in index]
        ends = [f"{left + 1:,} to {right:,.0f}" if left + 1 < right else f"{right:,.0f}" for left, right in bins]
        last = f"more than {self.edges[-1]:,}"
        return pd.Index(
            [last if right == math.inf else end for end, (_, right) in zip(ends, bins, strict=True)], name=index.name
        )

    def look(self, terms: Terms) -> Measurement:
        """One integer for each bin."""
        return terms.noised(UnitSizes(self.edges))

    def answer(self, noisy: Noisy, look: Measurement, terms: Terms) -> Answer:
        """Return a Series over all bins."""
        noise = noise_of(look)
        index = pd.IntervalIndex.from_breaks([0.0, *self.edges, math.inf], name="rows")
        series = pd.Series(int64s(noisy), index=index, name="units")
        if max(noisy) <= noise.half_width(1 - 0.05 / len(noisy)):  # false with 1 or 2 % where a bin has twice as many
            notes: tuple[str, ...] = (Caution("useless: all counts could be 0; try a larger epsilon"),)
        else:
            notes = (Caution(self._kept(noisy)), Caution(self._suggested(noisy, noise)))  # what it was asked for
        return Answer(series, noise.name, Additive(noise), notes)

    def _kept(self, noisy: Noisy) -> str:
        """Share of the units that keep all their rows under each bound: sums of noisy counts over their total."""
        sums = np.maximum.accumulate(np.cumsum([0.0, *noisy])[1:].clip(0))  # shape (bins,); shares never fall
        shares = sums[:-1] / sums[-1]
        said = ", ".join(f"{edge:,}: {100 * share:.0f} %" for edge, share in zip(self.edges, shares, strict=True))
        return f"share of units that keep all rows, by max_rows: {said}"

    def _suggested(self, noisy: Noisy, noise: Noise) -> str:
        """The least bound under which 95 % of the units keep all rows for sure, from the noisy counts and their noise alone.

        With K units that keep all rows and L that do not, 5 K - 95 L >= 0 is wanted of the exact counts. Of noisy ones it must
        be at least the half-width of its noise, a weighted sum, at a level that holds for all bounds together: a bound that
        does not keep 95 % is suggested with probability at most 5 %.
        """
        each = noise.combined(1 - 0.05 / len(self.edges))
        for place, edge in enumerate(self.edges, 1):
            if balance(noisy, place) >= margin(noisy, place, each):
                return f"max_rows={edge} keeps all rows of at least {WANTED} % of the units, with 95 % confidence"
        most = f"no max_rows up to {self.edges[-1]:,} is certain to keep all rows of {WANTED} % of the units"
        return f"{most}; a larger limit= or epsilon may find one"
