"""Counts on the lattice: both ways of counting agree with a plain count."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from pandas_dp.core.lattice import Lattice
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.core.statistics import lattice_counts
from pandas_dp.core.statistics.lattice_counts import LatticeCounts
from tests.support.views import ArrayView


class RawView(ArrayView):
    """One column as it is."""

    def __init__(self, values: np.ndarray, present: np.ndarray | None = None) -> None:
        self.values, self.mask, self.rows = values, present, values.size

    def column(self, name):
        return self.values, self.mask


def counts(values: np.ndarray, present: np.ndarray | None, lattice: Lattice) -> dict[int, int]:
    (points,) = LatticeCounts("x", lattice).compute(RawView(values, present), PrivacyUnit()).open()
    assert (np.diff(points.offsets) > 0).all()
    return dict(zip(points.offsets.tolist(), points.counts.tolist(), strict=True))


@pytest.mark.parametrize("rows", [0, 1, 50, 3_000])
@pytest.mark.parametrize("bits", [1, 6, 7, 8, 11, 20])
def test_counts_are_those_of_the_offsets(rows: int, bits: int) -> None:
    lattice = Lattice.between(Fraction(0), Fraction(100), bits)
    values = np.resize(np.array([0.0, 1.0, 99.5, 100.0, -5.0, 1e9, np.nan, 33.3, 64.0, *range(100)]), rows)
    present = np.resize([True, True, True, True, False], rows)
    for mask in (None, present):
        known = ~np.isnan(values) if mask is None else mask & ~np.isnan(values)
        assert counts(values, mask, lattice) == Counter(lattice.offsets(values[known]).tolist())


def test_every_point_of_a_lattice_can_be_counted() -> None:
    lattice = Lattice(Fraction(1), -10, 5_000)
    values = np.arange(-20, 5_020)
    found = counts(values, None, lattice)
    assert found == {0: 11, **dict.fromkeys(range(1, 5_000), 1), 5_000: 30}


@pytest.mark.parametrize("rows", [0, 1, 300, 1_000, 1_001])
def test_rows_are_counted_some_at_a_time(rows: int, monkeypatch) -> None:
    monkeypatch.setattr(lattice_counts, "ROWS", 100)
    lattice = Lattice(Fraction(1), 0, 99)
    values = np.arange(rows) * 7 % 130
    assert counts(values, None, lattice) == Counter(np.minimum(values, 99).tolist())


@pytest.mark.parametrize("most", [0, 1 << 22])
@pytest.mark.parametrize("cells", [5, 4_000])
def test_points_of_parts_are_added(cells: int, most: int, monkeypatch) -> None:
    monkeypatch.setattr(lattice_counts, "MOST_TABLE", most)  # 0: by merging lists of points
    statistic, values = LatticeCounts("x", Lattice(Fraction(1), 0, cells)), np.arange(5_000) ** 2 % 4_111
    parts = (statistic.compute(RawView(part), PrivacyUnit()) for part in np.split(values, [0, 10, 900, 4_000]))
    ((offsets, found),) = statistic.merge(parts).open()
    ((wanted, once),) = statistic.compute(RawView(values), PrivacyUnit()).open()
    assert (offsets == wanted).all()
    assert (found == once).all()
