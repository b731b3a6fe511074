"""What is known of noise beforehand, in words and numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from pandas_dp.aggregates.base import IN_ROWS, PLAIN, Aggregate, Unit
from pandas_dp.core.mechanisms.gaussian import DiscreteGaussian
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace

HOURS = Unit(duration=True)


@pytest.mark.parametrize(
    ("unit", "size", "text", "value"),
    [
        (IN_ROWS, Fraction(6), "6 rows", 6),
        (IN_ROWS, Fraction(13, 3), "4.34 rows", 13 / 3),
        (PLAIN, Fraction(600), "600", 600.0),
        (PLAIN, 1234.5, "1,235", 1234.5),
        (PLAIN, 0.0012345, "0.00124", 0.0012345),
        (PLAIN, 1e30, "1E+30", 1e30),
        (HOURS, 90 * 60 * 10**9, "1.5 h", pd.Timedelta("90min")),
        (HOURS, 1.5e9, "1.5 s", pd.Timedelta("1.5s")),
        (HOURS, 0, "0 ns", pd.Timedelta(0)),
    ],
)
def test_sizes_in_words_and_numbers(unit, size, text, value):
    assert unit.text(size) == text
    assert unit.value(size) == value
    assert type(unit.value(size)) is type(value)


def test_no_data_move_a_variance_by_more_than_four_noises_over_the_rows():
    """The derivation of the bound, on a grid of all shares that data can have; its largest value is reached."""
    p, d = np.meshgrid(np.linspace(0, 1, 401), np.linspace(-1, 1, 801))
    p, d = p[np.abs(d) <= 1 - p], d[np.abs(d) <= 1 - p]
    slopes = np.abs(p - d + d**2) + np.abs(p + d + d**2) + np.abs(1 - p - d**2)
    assert (2 * slopes).max() == pytest.approx(4)


@pytest.mark.parametrize(
    ("noise", "told"),
    [
        (DiscreteLaplace(Fraction(3)), "scale 1.5 rows"),
        (DiscreteGaussian(Fraction(4)), "standard deviation 1 rows"),
        (DiscreteGaussian(Fraction(64), 2), "standard deviation 1 rows"),
    ],
)
def test_noise_is_told_by_what_people_know_of_it(noise, told):
    assert IN_ROWS.scale(noise, Fraction(1, 2)) == told


def test_no_recipe_can_do_without():
    assert "expected" in Aggregate.__abstractmethods__
