from itertools import pairwise

import pytest

from pandas_dp.aggregates.units import widening_edges


def test_bins_widen_up_to_the_limit():
    assert widening_edges(1) == (1,)
    assert widening_edges(4) == (1, 2, 3, 4)
    assert widening_edges(30) == (1, 2, 3, 5, 10, 20, 30)
    assert widening_edges(1000) == (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)


@pytest.mark.parametrize("limit", [*range(1, 300), 999, 10**6 - 1, 10**9])
def test_edges_rise_to_the_limit(limit):
    edges = widening_edges(limit)
    assert edges[-1] == limit
    assert all(a < b <= 2.5 * a for a, b in pairwise(edges))
