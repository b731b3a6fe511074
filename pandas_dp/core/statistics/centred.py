"""Sums of positions from the middle of the bounds: under replace-one they move by less than the features of `Moments`."""

from __future__ import annotations

from dataclasses import dataclass

from pandas_dp.core.measurement import AddsUp, Exact, View
from pandas_dp.core.privacy import PrivacyUnit, Sensitivity
from pandas_dp.core.statistics.sums import Moments


@dataclass(frozen=True)
class Centred(AddsUp):
    """S = F1 - F2 of the features of `Moments`, with what goes with it: for weights (a, b) a S and b N, or a S alone for b = 0.

    N = F1 + F2 counts rows in units of T = `Moments.row_total`, and S adds up the positions y of -1 to 1 between the bounds,
    times T. Of degree 2 S and Q = F1 + F2 - F3, the sum of T y^2, rounded; weights stand for nothing there.

    Notes
    -----
    For all inputs a unit that counts j <= k rows adds s to S and j T to N, |s| <= j T, as its features are non-negative and add
    up to j T; an absent one, and one of nulls, adds 0. So neighbours, under either relation, differ by s - s' and (j - j') T
    with |s - s'| <= (j + j') T. Both norms are convex in j and j', hence largest where these are 0 or k: at j = j' = k the
    change is 2 a k T at most, at j' = 0 its entries are a k T and b k T. So L1 <= max(2 a, a + b) k T and
    L2^2 <= max(4 a^2, a^2 + b^2) (k T)^2.

    Of degree 2 a unit is a row, with y and y^2: |y - y'| (1 + |y + y'|) is at most 9/4, at y = 1 and y' = -1/2, and
    (y - y')^2 (1 + (y + y')^2) at most 4, as d^2 (1 + (2 - d)^2) rises in d from 0 to 2; a row that counts nowhere is one with
    y = 0. F3 is within 1 of T (1 - y^2) / 2, so Q is off by 2 at most: L1 <= 9/4 T + 4, L2 <= 2 T + 4.

    In groups a row that leaves one for another moves both: up to twice as far, which is more than `Moments` do. Refused.
    """

    moments: Moments
    weights: tuple[int, int] = (1, 0)

    def __post_init__(self) -> None:
        """Refuse groups: see the class notes."""
        if self.moments.by is not None:
            raise ValueError("in groups one unit moves centred sums twice as far")

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """See the class notes."""
        t, (a, b) = unit.rows * self.moments.row_total, self.weights
        if self.moments.degree == 1:
            return Sensitivity(max(2 * a, a + b) * t, max(4 * a * a, a * a + b * b) * t * t, max(2 * a, b) * t)
        if unit.column is not None:
            raise ValueError("squares of units that are no rows")
        return Sensitivity(9 * t // 4 + 4, (2 * t + 4) ** 2, 2 * t)

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """One or two Python ints."""
        first, second, *rest = self.moments.compute(view, unit).open()
        if rest:
            return Exact([first - second, first + second - rest[0]])
        return Exact([w * x for w, x in zip(self.weights, (first - second, first + second), strict=True) if w])
