"""How many units own how many rows, in public bins that widen."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.aggregates.base import Answer, Caution, Counts, Terms, Unit, noise_of, noised
from pandas_dp.aggregates.count import int64s
from pandas_dp.aggregates.uncertainty import Additive
from pandas_dp.core.measurement import Measurement, Noisy
from pandas_dp.core.mechanisms.noise import Noise
from pandas_dp.core.statistics.units import UnitSizes
from pandas_dp.errors import ArgumentTypeError

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
                "rows_per_unit() needs a session whose unit is a column: "
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
        return noised(UnitSizes(self.edges), terms.price, terms.unit)

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
