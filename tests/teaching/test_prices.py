"""The revenue curve and its tilt: against sums over a fine grid of prices, and between neighbours."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pandas as pd
import pytest

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.teaching import revenue

CASES = [
    ([100, 100, 100, 401], 500, 10, None),
    ([3, 4], 5, 2, None),
    ([3, 4], 5, 2, 1),
    ([0, -1, 7, 900], 8, 40, 2),
    ([2], 2, 0.01, None),
]


@pytest.mark.parametrize(("bids", "upper", "epsilon", "supply"), CASES)
def test_the_law_is_that_of_a_fine_grid(bids, upper, epsilon, supply):
    found = revenue(bids, upper=upper, epsilon=epsilon, supply=supply)
    prices = (np.arange(400_000) + 0.5) * upper / 400_000
    sold = np.minimum((np.array(bids)[:, None] >= prices).sum(axis=0), supply or len(bids))
    weights = np.exp(epsilon * (prices * sold - float(found.optimum)) / upper)
    weights /= weights.sum()
    assert found.expected == pytest.approx(float((weights * prices * sold).sum()), rel=1e-4, abs=1e-9)
    for low, high in ((0, upper), (0, upper / 2), (upper / 3, upper / 2)):
        inside = (low < prices) & (prices <= high)
        assert found.probability(low, high) == pytest.approx(float(weights[inside].sum()), rel=1e-3)
    assert found.table()["chance"].sum() == pytest.approx(1)
    assert found.promised <= found.expected <= found.optimum


def test_the_promise_is_kept():
    """Many bids, where it says something."""
    for size, epsilon in ((100, 1), (500, 0.5), (500, 5)):
        found = revenue([0.3 + 0.4 * (i % 7) / 7 for i in range(size)], upper=1, epsilon=epsilon)
        assert 0 < found.promised < found.expected < float(found.optimum)


def densities(found) -> np.ndarray:
    prices = np.linspace(0.01, float(found.upper), 500)
    return np.array([found.probability(p - 0.005, p) for p in prices])


@pytest.mark.parametrize("supply", [None, 1])
def test_no_neighbour_tells_more_than_epsilon(supply):
    terms = {"upper": 5, "epsilon": 2, "supply": supply}
    laws = {bids: densities(revenue(list(bids), **terms)) for bids in product((1, 3, 9), repeat=2)}
    laws |= {(bid,): densities(revenue([bid], **terms)) for bid in (1, 3, 9)}
    worst = max(
        float(np.abs(np.log(laws[one] / laws[two])).max())
        for one, two in product(laws, repeat=2)
        if (len(one) == len(two) and one[0] == two[0]) or one[:1] == two or two[:1] == one
    )
    assert (1.2 if supply else 1.5) < worst <= 2 + 1e-9


def test_the_slides():
    """100, 100, 100, 401: nobody buys at 402. Two offers, 3 and 4: at 3 both buy, but one item is sold once."""
    found = revenue([100, 100, 100, 401], upper=500, epsilon=1)
    assert [found.at(price) for price in (100, 101, 401, 402)] == [400, 101, 401, 0]
    prices = (3, 3.01, 4, 4.01)
    assert [float(revenue([3, 4], upper=5, epsilon=1).at(p)) for p in prices] == [6, 3.01, 4, 0]
    assert [float(revenue([3, 4], upper=5, epsilon=1, supply=1).at(p)) for p in prices] == [3, 3.01, 4, 0]


def test_what_is_refused():
    df = pd.DataFrame({"x": [1.0, 2.0]})
    df.dp.protect(epsilon=1, name="no bids")
    with pytest.raises(ArgumentTypeError, match=r"protected.*revenue\("):
        revenue(df["x"], upper=5, epsilon=1)
    for arguments in ({"bids": []}, {"upper": 0}, {"epsilon": 0}, {"supply": 0}):
        with pytest.raises(ArgumentValueError, match=r"revenue\("):
            revenue(**({"bids": [1, 2], "upper": 5, "epsilon": 1} | arguments))
    found = revenue([1, 2], upper=5, epsilon=1)
    for low, high in ((2, 1), (-1, 2), (1, 6), (1, 1)):
        with pytest.raises(ArgumentValueError, match="probability"):
            found.probability(low, high)
    with pytest.raises(ArgumentValueError, match="upper"):
        found.at(6)
    assert math.isclose(found.probability(0, 5), 1)


def test_the_picture():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    axes = figure.subplots(2)
    assert revenue([3, 4], upper=5, epsilon=1).plot(axes) is axes
    curve, tilt = axes
    assert len(tilt.lines) == 3
    assert curve.get_title().startswith("NOT PRIVATE")
    for line, (low, high) in zip(tilt.lines, ((0, 3), (3, 4), (4, 5)), strict=True):
        x, y = line.get_data()
        area = float(np.trapezoid(y, x)) if hasattr(np, "trapezoid") else float(np.trapz(y, x))
        assert area == pytest.approx(revenue([3, 4], upper=5, epsilon=1).probability(low, high), rel=1e-4)
