"""What is known in advance of the noise of the ends of a column, of several columns together and of distinct values."""

from __future__ import annotations

from fractions import Fraction

from pandas_dp.aggregates.base import Terms
from pandas_dp.aggregates.extremes import Extreme, rest_of
from pandas_dp.report.outlook import ROWS, Outlook, _guaranteed, outlook

__all__ = ["outlook"]


@outlook.register
def _extreme(aggregate: Extreme, terms: Terms, rows: int | None) -> Outlook:
    (mechanism,) = aggregate._quantile(Fraction(1, 2))._mechanisms(rest_of(terms))
    return _guaranteed(mechanism.name, aggregate._error(terms), ROWS)
