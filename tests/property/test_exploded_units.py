"""Units keep their bound where ``explode`` makes several rows of one: no statistic moves by more than it says.

Each unit's choice of rows depends on its own rows alone, so taking its first ones in order is one way that the random choice
can fall, the same in both tables.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.coupling import first_of_each

from pandas_dp.core import bounding
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.partition import Keys
from pandas_dp.core.privacy import NeighboringRelation, PrivacyUnit
from pandas_dp.core.statistics.counts import Distinct, RowCounts
from pandas_dp.core.statistics.lattice_counts import LatticeCounts
from pandas_dp.core.statistics.sums import Moments, Total
from pandas_dp.engines.pandas import PandasView
from pandas_dp.facts.schema import Schema
from pandas_dp.steps.changes import Explode, Step
from pandas_dp.tables import protected
from tests.support.steps import explode

TAGS = Keys("tags", ("a", "b"), other=True, null=True)
LATTICE = Lattice.between(Fraction(-3), Fraction(5), 4)
STATISTICS = [
    RowCounts(),
    RowCounts("tags"),
    RowCounts(by=TAGS),
    RowCounts("x", by=TAGS),
    Total("x", LATTICE),
    Total("x", LATTICE, by=TAGS),
    Moments("x", LATTICE, 2),
    LatticeCounts("x", LATTICE),
    Distinct("tags"),
]
LISTS = st.none() | st.lists(st.sampled_from(["a", "b", "c", None]), max_size=5)
ROWS = st.tuples(LISTS, st.none() | st.integers(-9, 9))
UNITS = st.lists(ROWS, max_size=4)
BOUNDS = [(1, 1, 1), (2, 2, 2), (3, 1, 3), (3, 2, 2), (5, 3, 1)]
Units = list[list[tuple[Any, Any]]]


def frame_of(units: Units, arrow: bool = False) -> pd.DataFrame:
    """Table of the rows (tags, x) of each unit, under labels that repeat."""
    rows = [(number, *row) for number, unit in enumerate(units) for row in unit]
    lists = np.fromiter((row[1] for row in rows), object, len(rows))
    typed = pd.Series(lists, dtype=pd.ArrowDtype(pa.list_(pa.string())) if arrow else object)
    units = np.array([row[0] for row in rows], dtype=np.int64)
    frame = pd.DataFrame({"u": units, "tags": typed, "x": pd.array([row[2] for row in rows], "Int64")})
    return frame.set_axis(np.zeros(len(rows)))


def opened(frame: pd.DataFrame, done: tuple[Step, ...]) -> PandasView:
    """The rows as the gate opens them."""
    return protected.open_view(protected.Table(None, frame, frame.index, "token"), done, Schema({}), frozenset(frame))


def vector(statistic: Any, view: PandasView, unit: PrivacyUnit) -> Any:
    value = statistic.compute(view, unit).open()
    if not isinstance(statistic, LatticeCounts):
        return np.array(value, dtype=object)
    (points,) = value
    table = np.zeros(statistic.lattice.cells + 1, dtype=object)
    table[points.offsets] = points.counts
    return table


def within(statistic: Any, views: list[PandasView], unit: PrivacyUnit, bound: PrivacyUnit | None = None) -> bool:
    """Whether two tables' exact results differ by no more than is stated for a unit, where rows are kept by ``bound``."""
    before, after = (vector(statistic, view, bound or unit) for view in views)
    moved, stated = after - before, statistic.sensitivity(unit)
    largest = max(map(abs, np.cumsum(moved) if isinstance(statistic, LatticeCounts) else moved))
    return bool(
        sum(map(abs, moved)) <= stated.l1
        and sum(d * d for d in moved) <= stated.l2_squared
        and (largest <= stated.linf or isinstance(statistic, Moments))
    )


@contextlib.contextmanager
def coupled() -> Iterator[None]:
    original, bounding.keep_at_most = bounding.keep_at_most, first_of_each
    try:
        yield
    finally:
        bounding.keep_at_most = original


@settings(max_examples=60, deadline=None)
@given(
    others=st.lists(UNITS, max_size=2),
    unit=UNITS,
    other=UNITS,
    most=st.integers(1, 4),
    bounds=st.sampled_from(BOUNDS),
    relation=st.sampled_from(list(NeighboringRelation)),
    arrow=st.booleans(),
)
def test_a_unit_moves_a_statistic_by_no_more_than_it_says(others, unit, other, most, bounds, relation, arrow):
    privacy = PrivacyUnit("u", *bounds, relation)
    second = other if relation is NeighboringRelation.REPLACE_ONE else []
    frames = [frame_of([*others, own], arrow) for own in (unit, second)]
    done = explode("tags", most, frames[0].iloc[:0])
    views = [opened(frame, done) for frame in frames]
    with coupled():
        for statistic in STATISTICS:
            assert within(statistic, views, privacy), statistic


HEAVY: Units = [[(["a", "b", "c"], 5), (["a", "a", "b"], 5), (["b"], 5)], [(["a"], 1)]]
LIGHT: Units = [[], HEAVY[1]]
WITHOUT_BOUND = PrivacyUnit("u", 10**6, 10**6, 10**6)


def bounded_before(frame: pd.DataFrame, unit: PrivacyUnit) -> PandasView:
    """Rows are kept before lists become rows, and all that come of them count."""
    kept = bounding.bound_rows(frame.u.to_numpy(), int(frame.u.max()) + 1, unit)
    return opened(frame.iloc[kept], (Explode("tags", 3),))


def numbered_anew(frame: pd.DataFrame, unit: PrivacyUnit) -> PandasView:
    """Each entry becomes a unit of its own."""
    made = Explode("tags", 3).apply(frame)
    return opened(made.assign(u=np.arange(len(made))), ())


@pytest.mark.parametrize("relation", NeighboringRelation)
@pytest.mark.parametrize(("broken", "bound"), [(bounded_before, WITHOUT_BOUND), (numbered_anew, None)])
def test_rows_bounded_too_early_or_of_other_units_are_found(broken, bound, relation):
    privacy = PrivacyUnit("u", 2, 2, 2, relation)
    frames = [frame_of(units) for units in (HEAVY, LIGHT)]
    with coupled():
        assert all(within(s, [opened(f, (Explode("tags", 3),)) for f in frames], privacy) for s in STATISTICS)
        views = [broken(frame, privacy) for frame in frames]
        found = [statistic for statistic in STATISTICS if not within(statistic, views, privacy, bound)]
    assert RowCounts() in found
    assert Total("x", LATTICE) in found
