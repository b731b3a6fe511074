"""Revenue at each of many public prices: what the choice of the best price needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pandas_dp.core.bounding import bound_rows
from pandas_dp.core.lattice import integer_info
from pandas_dp.core.measurement import Exact, View
from pandas_dp.core.privacy import PrivacyUnit, Sensitivity

MOST_STEPS = 1 << 31
MOST_SOLD = (1 << 31) - 1  # so that a revenue in steps stays below 2**62


@dataclass(frozen=True)
class Revenue:
    """Revenue r min(#{bid >= r}, supply) at each listed price r, in steps; missing bids and those below all prices buy nothing.

    Parameters
    ----------
    column : str
        The bids, not clipped from above.
    prices : tuple or range of int
        In steps, rising strictly, at least 1 and at most 2**31.
    step : Fraction
        What one step is worth in the column's unit.
    supply : int or None
        How many can be sold; None: no limit.

    Notes
    -----
    Each unit keeps at most k of its bids that buy at some price. P is the largest price, D(r) the change of
    N(r) = #{bid >= r}. Under add/remove all D(r) have one sign and |D(r)| <= k, so revenues move one way, each by at
    most k P. Under replace-one D(r) counts the unit's new bids from r on less its old ones, so |D(r)| <= k again; where
    D(r) = A > 0 and D(t) = -B < 0, |D(r) - D(t)| = A + B bids of one side lie between r and t, so A + B <= k and the
    changes differ by r A + t B <= k P. So the range is k P under **both** relations. A supply of s cuts counts to
    a = min(N', s) - min(N, s), which is no larger and has the same sign, and of absolute value at most s; where it rises
    by a at r and falls by b at t, a + b <= s as well: for r < t min(N(r), s) <= s - a and N(r) >= N(t) >= b, for r > t the
    same holds of N'. So k becomes min(k, s). For all tables a revenue lies in 0..2**62: counts are cut at 2**31 - 1.
    Source: McSherry, Talwar 2007, Section 4.
    """

    column: str
    prices: Sequence[int]
    step: Fraction
    supply: int | None = None

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """See the class notes."""
        sold = unit.rows if self.supply is None else min(unit.rows, self.supply)
        largest = sold * self.prices[-1]
        return Sensitivity(
            l1=len(self.prices) * largest,
            l2_squared=len(self.prices) * largest**2,
            linf=largest,
            range=largest,
        )

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Exact revenues in steps, an int64 array of shape (prices,)."""
        bids, present = view.column(self.column)
        cuts = self._cuts(bids.dtype)
        # bids that buy at the lowest price, shape (rows,); NaN does not
        buys = bids >= cuts[0] if cuts.size else np.zeros(bids.size, dtype=bool)
        if present is not None:
            buys &= present
        if unit.column is None:
            bids = bids[buys]
        else:
            units, count = view.units(unit.column)
            positions = np.flatnonzero(buys & (units >= 0))
            bids = bids[positions[bound_rows(units[positions], count, unit)]]
        bids = np.sort(bids)
        sold = np.zeros(len(self.prices), dtype=np.int64)
        sold[: cuts.size] = bids.size - np.searchsorted(bids, cuts, side="left")
        np.minimum(sold, MOST_SOLD if self.supply is None else min(self.supply, MOST_SOLD), out=sold)
        return Exact(sold * np.array(self.prices, dtype=np.int64))

    def _cuts(self, dtype: np.dtype[np.generic]) -> NDArray[np.generic]:
        """Prices as numbers of the bids' dtype, never falling; those above all integers of a dtype are left out.

        A float bid stands for its decimal, so a price is rounded to the same float: it buys at its own price.
        """
        top, bottom = self.step.numerator, self.step.denominator
        if dtype.kind == "f":
            cuts = np.array([price * top / bottom for price in self.prices], dtype=np.float64).astype(dtype)
            # a price too small for the dtype would become 0, where bids of 0 buy
            return np.asarray(np.maximum(cuts, np.nextafter(0, 1, dtype=dtype)))
        info = integer_info(dtype)
        whole = [-(-price * top // bottom) for price in self.prices]  # a whole bid of at least the price
        return np.array([price for price in whole if price <= info.max], dtype=info.dtype)
