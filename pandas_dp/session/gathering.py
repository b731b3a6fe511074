"""A word before rows that are elsewhere all come to this process: which columns, and what a row of them takes."""

from __future__ import annotations

from typing import Any

from pandas_dp.core.gate import Request
from pandas_dp.core.measurement import AddsUp, ByClass, Measurement
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.core.statistics.blocks import BlockMeans, BlockTotals
from pandas_dp.facts.written import caution
from pandas_dp.tables.protected import Table

A_ROW = 50  # bytes of each column, with the copies that are made while a question is worked out; text takes its letters beside
GATHERS = (
    "this question needs the rows all at once: unless its answer is stored, {whence} to this process, where a row takes about "
    "{size} bytes, and more with long text. Whether that fits depends on the number of rows; questions that are worked out "
    "part by part, such as counts, sums, means and quantiles, always fit."
)


def caution_of(request: Request, table: Table, columns: tuple[str, ...]) -> None:
    """Warn where a question on files or partitions will hold all of their rows; what is said follows from public facts."""
    look = next(request.recipe(), None)
    if not isinstance(look, Measurement) or by_parts(look.statistic, request.unit):
        return
    read = dict.fromkeys([*columns, request.unit.column] if request.unit.column is not None else columns)
    names = ", ".join(map(repr, read))
    columns_come = f"the column{'s' * (len(read) > 1)} {names} of all rows come{'s' * (len(read) == 1)}"
    whence = columns_come if read else "they all come"
    caution(GATHERS.format(whence=whence, size=A_ROW * max(len(read), 1)))


def by_parts(statistic: Any, unit: PrivacyUnit) -> bool:
    """Whether a statistic, or the one that it is made of, is worked out part by part; see `computed`."""
    made_of = [statistic, *(vars(statistic).values() if hasattr(statistic, "__dict__") else ())]
    made_of = [BlockTotals(one) if isinstance(one, BlockMeans) else one for one in made_of]
    return any(
        (isinstance(one, AddsUp) and one.adds_up(unit)) or (isinstance(one, ByClass) and unit.column is None)
        for one in made_of
    )
