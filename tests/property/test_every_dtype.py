"""One unit moves no statistic by more than it says, for every dtype a frame can have: real columns, real engine.

As in the core's own test, each unit's random choice of rows is replaced by its first rows in order, the same for both tables.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.coupling import first_of_each
from support.dtypes import DECIMALS, NUMBERS, TEXTS, TIMES, column

from pandas_dp.core import bounding
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.partition import Bins, Cross, Keys
from pandas_dp.core.privacy import NeighboringRelation, PrivacyUnit
from pandas_dp.core.statistics.counts import Distinct, DistinctBy, RowCounts
from pandas_dp.core.statistics.lattice_counts import LatticeCounts
from pandas_dp.core.statistics.products import Products
from pandas_dp.core.statistics.sums import Moments, Total
from pandas_dp.engines.pandas import PandasView
from pandas_dp.facts.kinds import Kind, kind_of

DAY = 86_400 * 10**9
CELLS = st.one_of(st.none(), st.integers(0, 9))


def lattice_of(kind: Kind, bits: int) -> Lattice:
    if kind.name == "datetime":
        start = pd.Timestamp("2013-01-03").value
        return Lattice.between(Fraction(start), Fraction(start + 5 * DAY), bits)
    if kind.name == "timedelta":
        return Lattice.between(Fraction(-DAY), Fraction(6 * DAY), bits)
    return Lattice.between(Fraction(-1), Fraction(7), bits)


@cache
def statistics(dtype: object):
    return list(_statistics(dtype))


def _statistics(dtype: object):
    kind = kind_of(column([1], dtype).dtype)
    yield RowCounts("x")
    yield Distinct("x")
    yield Distinct("u")
    yield DistinctBy("x", Keys("g", (2, 0), other=True))
    if not kind.numeric:
        yield RowCounts(by=Keys("x", ("k1", "k2", "k3"), other=True, null=True))
        yield RowCounts("x", by=Keys("x", ("k1", "k2")))
        return
    fine, coarse = lattice_of(kind, 30), lattice_of(kind, 6)
    yield Total("x", fine)
    yield Moments("x", fine, 1)
    yield Moments("x", lattice_of(kind, 20), 2)
    yield Products(("x", "g"), (lattice_of(kind, 20), Lattice.between(Fraction(0), Fraction(2), 20)))
    yield LatticeCounts("x", coarse)
    yield Moments("x", fine, 1, by=Keys("g", (0, 1)))
    edges = (coarse.lower, (coarse.lower + coarse.upper) / 2, coarse.upper)
    bins = Bins("x", tuple(int(e) for e in edges), other=True, null=True)
    yield RowCounts(by=bins)
    yield RowCounts(by=Cross((Keys("g", (2, 0), other=True), bins)))
    yield Moments("x", fine, 1, by=Cross((Keys("g", (0, 1, 2)), bins), (7, 0, 2)))


def vector(statistic, view: PandasView, unit: PrivacyUnit) -> np.ndarray:
    value = statistic.compute(view, unit).open()
    if isinstance(statistic, LatticeCounts):
        (points,) = value
        table = np.zeros(statistic.lattice.cells + 1, dtype=object)
        table[points.offsets] = points.counts
        return table
    return np.array(value, dtype=object)


def frame_of(units: list[list[int | None]], dtype: object) -> pd.DataFrame:
    rows = [(i, cell) for i, unit in enumerate(units) for cell in unit]
    return pd.DataFrame(
        {
            "u": pd.Series([i for i, _ in rows], dtype="int64"),
            "g": pd.Series([j % 3 for j in range(len(rows))], dtype="int64"),
            "x": column([cell for _, cell in rows], dtype),
        }
    )


@pytest.mark.one_in(8)
@pytest.mark.parametrize("dtype", [*NUMBERS, *DECIMALS, *TIMES, *TEXTS], ids=str)
@settings(max_examples=25, deadline=None)
@given(
    others=st.lists(st.lists(CELLS, max_size=4), max_size=2),
    unit=st.lists(CELLS, max_size=5),
    other=st.lists(CELLS, max_size=5),
    bounds=st.sampled_from([None, (1, 1, 1), (2, 2, 2), (3, 2, 2)]),
    relation=st.sampled_from(list(NeighboringRelation)),
)
def test_one_unit(dtype, others, unit, other, bounds, relation):
    replace = relation is NeighboringRelation.REPLACE_ONE
    if bounds is None:  # units of one row: the last row is there, gone or another
        privacy = PrivacyUnit(relation=relation)
        base = [[cell] for unit_ in others for cell in unit_]
        before, after = [*base, (unit or [1])[:1]], [*base, *([(other or [2])[:1]] if replace else [])]
    else:
        privacy = PrivacyUnit("u", *bounds, relation)
        before, after = [*others, unit], [*others, other if replace else []]
    original = bounding.keep_at_most
    bounding.keep_at_most = first_of_each
    try:
        views = [PandasView(frame_of(table, dtype), {}, {}) for table in (before, after)]
        for statistic in statistics(dtype):
            one, two = (vector(statistic, view, privacy) for view in views)
            moved, stated = two - one, statistic.sensitivity(privacy)
            if isinstance(statistic, LatticeCounts):
                assert max(map(abs, np.cumsum(moved))) <= stated.linf
            assert sum(map(abs, moved)) <= stated.l1
            assert sum(d * d for d in moved) <= stated.l2_squared
            if stated.range is not None:
                assert max(moved) - min(moved) <= stated.range
    finally:
        bounding.keep_at_most = original
