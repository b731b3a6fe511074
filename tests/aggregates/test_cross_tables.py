"""Error bars of margins and shares: they hold as often as they say, and twins that take a sum for one cell do not.

False alarms: a count of hits falls six standard deviations below its mean with probability below 1e-8.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from pandas_dp.aggregates.base import Terms
from pandas_dp.aggregates.cross_tables import CrossTable, Share
from pandas_dp.aggregates.distinct import SumOf
from pandas_dp.aggregates.moments import Mean
from pandas_dp.aggregates.uncertainty import Additive
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.measurement import Exact
from pandas_dp.core.mechanisms.gaussian import DiscreteGaussian
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.partition import Cross, Keys
from pandas_dp.core.privacy import Price, PrivacyUnit, Sensitivity
from pandas_dp.facts.kinds import Kind
from pandas_dp.facts.labels import CrossLabels, Labels

ONE = Sensitivity(1, 1, 1)
NOISES = [
    DiscreteLaplace(Fraction(20)),
    DiscreteLaplace(Fraction(1)),
    DiscreteGaussian.calibrate(ONE, None, Fraction(0), Fraction(1, 800)),
]
LEVEL, RUNS = 0.9, 4000
LEAST = RUNS * LEVEL - 6 * math.sqrt(RUNS * LEVEL * (1 - LEVEL))


def draws(noise, terms: int) -> np.ndarray:
    """Noise of as many cells, shape (RUNS, terms)."""
    return np.array(noise.draw(Exact([0] * (RUNS * terms)))).reshape(RUNS, terms)


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.name)
@pytest.mark.parametrize("terms", [2, 12])
def test_sums_of_cells(noise, terms):
    sums = np.abs(draws(noise, terms).sum(axis=1))
    assert np.sum(sums <= SumOf(noise, terms).half_width(LEVEL)) >= LEAST
    if noise is not NOISES[1]:  # whole numbers, coarse at this scale
        assert np.sum(sums <= 0.5 * SumOf(noise, terms).half_width(LEVEL)) < LEAST  # half of it would not do
    assert np.sum(sums <= SumOf(noise, 1).half_width(LEVEL)) < LEAST  # the twin: the bar of one cell


@pytest.mark.one_in(3)
@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.name)
@pytest.mark.parametrize(("exact", "part"), [([900, 100, 0, 0], 1), ([500] * 12, 6), ([3, 1, 0], 1)])
def test_shares(noise, exact, part):
    cells = np.array(exact) + draws(noise, len(exact))
    true = sum(exact[:part]) / sum(exact)
    hits = twin = 0
    for row in cells.tolist():
        share = Share(sum(row[:part]), sum(row), (part, len(row)), noise)
        low, high = share.bounds(share.value, LEVEL)
        hits += low <= true <= high
        assert low <= share.value <= high or math.isnan(share.value)
        if sum(row) > 0:  # the twin: as if the sum were exact and the part one cell
            lower, upper = Additive(SumOf(noise, 1)).bounds(sum(row[:part]), LEVEL)
            twin += lower / sum(row) <= true <= upper / sum(row)
    assert hits >= LEAST
    if part == 6:
        assert twin < LEAST


def test_shares_of_everything_and_of_nothing():
    noise = NOISES[0]
    assert Share(5, 5, (4, 4), noise).value == 1
    assert Share(5, 5, (4, 4), noise).bounds(1.0, LEVEL) == (1.0, 1.0)
    for whole in (0, -3):
        share = Share(1, whole, (1, 4), noise)
        assert math.isnan(share.value)
        assert share.bounds(share.value, LEVEL) == (0.0, 1.0)
    barely = Share(3, 10, (1, 4), noise)  # a sum that noise alone could be
    assert barely.bounds(barely.value, LEVEL) == (0.0, 1.0)
    low, high = Share(-50, 10**6, (1, 4), noise).bounds(-5e-5, LEVEL)
    assert low == -5e-5  # an interval holds its value
    assert 0 <= high < 1e-3


def test_huge_sums():
    for size in (10**20, 10**160, 10**400):
        low, high = Share(size // 4, size, (1, 4), NOISES[0]).bounds(0.25, LEVEL)
        assert low == pytest.approx(0.25)
        assert high == pytest.approx(0.25)


def test_margins_of_no_rows_to_speak_of_say_what_they_take():
    """A sum of nine cells has more noise than a cell, so it takes more rows: the note is right for all."""
    keys = ("a", "b", "c")
    by, labels = Keys("g", keys), Labels("g", keys)
    lattice = Lattice.between(Fraction(0), Fraction(1), 30)
    mean = Mean("x", lattice, Kind("number"), Cross((by, by)), CrossLabels((labels, labels)))
    terms = Terms(PrivacyUnit(), Price(Fraction(1)))
    notes = {}
    for margins in (False, True):
        asked = CrossTable(mean, margins)
        answer = asked.answer([0] * 18, asked.look(terms), terms)
        assert answer.value.isna().all(axis=None)
        lower, upper = answer.error.bounds(answer.value["a"], LEVEL)
        assert (lower.eq(0) & upper.eq(1)).all()
        notes[margins], empty = answer.notes
        assert empty.startswith("no group has a value")
    assert "has too few rows: 11 or more" in notes[False]
    assert "has too few rows: 36 or more" in notes[True]  # 5.19 and 18 scales: more than four draws are bounded
    some = CrossTable(mean, True).answer([2 * lattice.cells] * 18, asked.look(terms), terms)  # four rows of each cell
    assert some.value.notna().loc["All", "All"]
    assert some.value.loc[[*keys], [*keys]].isna().all(axis=None)
    assert "no group has a value" not in " ".join(some.notes)
