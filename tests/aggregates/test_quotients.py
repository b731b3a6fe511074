"""Quotients of noisy sums: a mean keeps to its public bounds, and the interval of a share is all that its noise allows."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from pandas_dp.aggregates.base import Terms
from pandas_dp.aggregates.cross_tables import Share
from pandas_dp.aggregates.distinct import Proportions, quotient_ends
from pandas_dp.aggregates.moments import Mean
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.privacy import Price, PrivacyUnit
from pandas_dp.facts.kinds import Kind

FAR = 10**9


@pytest.mark.parametrize("noisy", [(-5, 3), (3, -5), (-FAR, FAR), (FAR, -FAR), (-FAR, -FAR), (0, 0)], ids=str)
def test_a_mean_keeps_to_its_bounds_whatever_the_noise(noisy):
    """With many rows on top it has a value; without them it has none, and its interval is all of the bounds."""
    asked = Mean("x", Lattice.between(Fraction(-4), Fraction(100), 20), Kind("number"))
    terms = Terms(PrivacyUnit(), Price(Fraction(1)))
    more = 3 * FAR
    for of_rows in ((noisy[0] + more, noisy[1]), (noisy[0], noisy[1] + more)):
        answer = asked.answer(of_rows, asked.look(terms), terms)
        lower, upper = answer.error.bounds(answer.value, 0.95)
        assert -4 <= lower <= answer.value <= upper <= 100
        assert lower < upper
    answer = asked.answer(noisy, asked.look(terms), terms)
    assert math.isnan(answer.value)
    assert answer.error.bounds(answer.value, 0.95) == (-4, 100)
    assert answer.notes == ("too few rows for a value: 11 or more would have given one with 99 % probability",)


@pytest.mark.parametrize("total", [60.0, 200.0, 10_000.0])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.9])
def test_the_ends_of_a_share_are_where_its_noise_reaches_the_half_width(total, share):
    """F - t N is noise of weights with squared length 1 - 2 t + G t^2: at the ends it is just h times as long."""
    half, parts = 20.0, 5
    found = quotient_ends(np.array([share * total]), np.array([total]), half, 1, 1, parts, (-np.inf, np.inf))
    for t in map(float, np.concatenate(found)):
        assert (share * total - t * total) ** 2 == pytest.approx(half**2 * (1 - 2 * t + parts * t * t))
    assert float(found[0][0]) < share < float(found[1][0])


def test_nothing_is_known_of_a_share_of_noise():
    low, high = quotient_ends(np.array([10.0]), np.array([40.0]), 20.0, 1, 1, 5, (0, 1))  # 40^2 < 20^2 * 5
    assert (low[0], high[0]) == (0, 1)


@pytest.mark.parametrize("counts", [(-30, 200, 150), (200, -500, 100)], ids=str)
def test_shares_of_counts_below_zero_have_a_width(counts):
    """Below 0 is noise: the interval of 0 reaches as far as that of a count of 0 would."""
    noise = DiscreteLaplace(Fraction(20))
    value = pd.Series([0.0, 0.5, 0.5])
    lower, upper = Proportions(noise, counts).bounds(value, 0.95)
    assert (lower < upper).all()
    ends = Share(counts[0], sum(counts), (1, 3), noise).bounds(0.0, 0.95)
    assert ends[1] > 0.1
    assert ends[1] == pytest.approx(upper[0])
