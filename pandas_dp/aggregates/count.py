"""Counts: rows, non-null rows, and counts by public part (histograms, value counts, grouped sizes)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_dp.aggregates.base import Answer, Caution, Counts, ExpectedError, Steps, Terms, noise_of, noised
from pandas_dp.aggregates.uncertainty import Additive, HalfWidth, NoError
from pandas_dp.core.measurement import Measurement, Noisy
from pandas_dp.core.partition import Bins, Cross, Keys, Partition
from pandas_dp.core.privacy import PrivacyLoss
from pandas_dp.core.statistics import counts
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
            note = "exact and free: the owner says that the number of rows is public, rows="
            return Answer(rows, PUBLIC, NoError(typed=not terms.counted), (note,))
        return (yield from super().steps(terms))

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """Nothing for a public number."""
        if self._public(terms) is not None:
            return ExpectedError(PUBLIC, None, "exact", 0)
        return super().expected(terms, rows)

    def look(self, terms: Terms) -> Measurement:
        """One integer."""
        return noised(counts.RowCounts(self.column), terms.price, terms.unit)

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
        return noised(counts.RowCounts(self.column, self.by), terms.price, terms.unit)

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
        counts = [*compress(noisy, listed(self.by).tolist())]
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
