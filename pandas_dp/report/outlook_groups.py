"""What is known in advance of answers by group: see `outlook`, which this module completes."""

from __future__ import annotations

import math
from dataclasses import replace

from pandas_dp.aggregates.base import Terms, noise_of
from pandas_dp.aggregates.cross_tables import CrossTable
from pandas_dp.aggregates.ranges import combined_half_width
from pandas_dp.aggregates.selections import GroupModes
from pandas_dp.report.base import LEVEL
from pandas_dp.report.outlook import PLAIN, ROWS, Outlook, _guarantee, _guaranteed, _over_rows, outlook

__all__ = ["outlook"]


@outlook.register
def _modes(aggregate: GroupModes, terms: Terms, rows: int | None) -> Outlook:
    answer = aggregate.answer([0] * len(aggregate.labels.index()), aggregate.look(terms), terms)
    found = _guaranteed(answer.mechanism, _guarantee(answer), ROWS)
    return replace(found, error=f"each: {found.error}")


@outlook.register
def _table(aggregate: CrossTable, terms: Terms, rows: int | None) -> Outlook:
    """Errors of cells; of shares to the first order, see `Share`: its weights have a length of at most sqrt(m) there."""
    found, notes = outlook(aggregate.question, terms, rows), ("All: sums of noisy cells, which err by more",)
    if aggregate.normalize is not None:
        height, width = len(aggregate.rows), len(aggregate.columns)
        cells, more = {"index": (width, " of a row"), "columns": (height, " of a column")}.get(
            aggregate.normalize, (height * width, "")
        )
        half = combined_half_width(noise_of(aggregate.look(terms)), LEVEL) * math.sqrt(cells)
        shares = _over_rows(
            half, rows or (None if more else terms.public_rows), PLAIN, more, "each share at most about"
        )
        found = replace(shares, mechanism=found.mechanism, scale=found.scale)
    return replace(found, notes=(*found.notes, *notes)) if aggregate.margins else found
