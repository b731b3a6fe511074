"""What a unit does in one period moves no statistic farther than is stated, whatever it does in others: all small tables.

The tables are those of `test_every_sensitivity`, in which the last pair of a unit and a period is added: the same unit has rows
in another period, and another unit has rows in both. With units for owners, as if there were no periods, the rows of the other
period decide which rows of this one count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest
from core.test_every_sensitivity import coupled as coupled
from support.sensitivities import ADD, BOUNDS, MORE, STATISTICS, Case, Scoring, View

from pandas_dp.core import bounding
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.core.statistics import scores

DAYS = '["D","t","naive",null,[]]'
FIXED = (("a", 0), ("b", 2))  # what is done in other periods, and by the other unit
Row = tuple[int, Any, Any, int]


class Daily(View):
    """Rows of (unit, g, x, day)."""

    def __init__(self, rows: list[Row]) -> None:
        super().__init__([row[:3] for row in rows])
        self.days = np.array([row[3] for row in rows], dtype=np.int64)

    def periods(self, said: str) -> Any:
        assert said == DAYS
        return self.days, 2


class DailyScoring(Daily, Scoring):
    """The same for conditions that are numbers."""


def tables(case: Case, unit: PrivacyUnit) -> Iterator[tuple[list[Row], list[Row]]]:
    """All pairs of neighbours: what unit 1 does on day 1 is added to what it does on day 0."""
    contents = [rows for n in range(unit.rows + 2) for rows in combinations_with_replacement(case.rows, n)]
    for other in (FIXED[:1], FIXED):
        base = [*((0, *row, 1) for row in FIXED), *((1, *row, 0) for row in other)]
        yield from ((base, base + [(1, *row, 1) for row in rows]) for rows in contents)


def units(case: Case) -> Iterator[PrivacyUnit]:
    """Kinds of units of several rows that a statistic is for."""
    if ADD in case.relations and case.bounds:
        yield from (replace(PrivacyUnit("u", *bounds), periods=DAYS) for bounds in (*BOUNDS, MORE))


def beyond(case: Case) -> tuple[list[str], float]:
    """What moves farther than is stated, and the largest share of it that is attained."""
    view = DailyScoring if isinstance(case.statistic, scores.RowScores) else Daily
    wrong, most = [], 0.0
    for unit in units(case):
        stated, known = case.statistic.sensitivity(unit), {}
        for pair in tables(case, unit):
            for key in map(tuple, pair):  # all pairs share the table to which something is added
                known[key] = known[key] if key in known else case.values(view(key), unit)
            before, after = (known[tuple(rows)] for rows in pair)
            for name, moved, allowed in case.moved(before, after, stated):
                if moved > allowed * (1 + 1e-12):
                    wrong.append(f"{name} {moved} > {allowed} for {unit}: {pair}")
                elif allowed:
                    most = max(most, float(moved) / float(allowed))
    return wrong, most


CASES = [
    pytest.param(case, id=f"{cls.__name__} {i}", marks=[pytest.mark.slow] if i else [])
    for cls, cases in STATISTICS.items()
    for i, case in enumerate(cases)
    if any(True for _ in units(case))
]


# which these few tables do not move: the unit is there on another day as well, or the other rows decide
UNMOVED = {"Distinct 1", "Revenue 1", "BlockResults 1"}


@pytest.mark.parametrize("case", CASES)
def test_what_a_unit_does_in_one_period_moves_it_no_farther(case, request):
    wrong, most = beyond(case)
    assert wrong == []
    assert most >= (0 if request.node.callspec.id in UNMOVED else 0.3)


def by_unit(view: Any, unit: PrivacyUnit) -> Any:
    """The planted fault: which rows count is drawn from those of all periods together."""
    return view.units(unit.column)


def test_rows_of_other_periods_decide_nothing():
    """The rows of a pair that count are a function of its own rows: another period of the same unit changes none."""
    unit = replace(PrivacyUnit("u", 1, 1, 1), periods=DAYS)
    owners, many = bounding.owners(Daily([(0, "a", 0, 0), (0, "a", 0, 1), (1, "a", 0, 1), (-1, "a", 0, 1)]), unit)
    assert (owners.tolist(), many) == ([0, 1, 2, -1], 3)
    late = Daily([(0, "a", 0, 0), (0, "a", 0, -1)])  # a row without a time is nobody's
    assert bounding.owners(late, unit)[0].tolist() == [0, -1]


@pytest.mark.parametrize("name", ["RowCounts", "Total", "UnitSizes"])
def test_owners_without_periods_are_found(name, monkeypatch):
    """A unit with one row yesterday and one today moves the number of units with one row, and that with two."""
    monkeypatch.setattr(bounding, "owners", by_unit)
    cases = next(cases for cls, cases in STATISTICS.items() if cls.__name__ == name)
    lost = [case for case in cases if beyond(case)[0] or beyond(case)[1] < 0.3]
    unit = replace(PrivacyUnit("u", 1, 1, 1), periods=DAYS)
    twice = Daily([(0, "a", 2, 0), (0, "a", 2, 1)])
    kept = cases[0].statistic.compute(twice, unit).open()
    assert lost or kept != {"RowCounts": [2], "Total": [4], "UnitSizes": [2, 0, 0]}[name]
