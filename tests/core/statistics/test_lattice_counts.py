"""Counts on the lattice: both ways of counting agree with a plain count."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from pandas_dp.core.lattice import Lattice
from pandas_dp.core.privacy import PrivacyUnit
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
