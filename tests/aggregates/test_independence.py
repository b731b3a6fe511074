"""Independence of the rows and columns of noisy counts: false alarms, power, and what is refused.

False alarms at 0.05 are to be between 0.03 and 0.07. Of 700 tables a right test has more than 13 % with probability below 1e-7
for a true rate of 0.07, and none for one of 0.03; a rate of 0.23, as of the twin, is above 13 % with probability 1 - 1e-8. The
simulated tables have fresh randomness in each run, the others a fixed seed.
"""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from support.frames import fresh

import pandas_dp
from pandas_dp.aggregates import independence
from pandas_dp.aggregates.independence import _poisson, chi_square
from pandas_dp.core.mechanisms.gaussian import DiscreteGaussian
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace

TABLES = 700
RARE, FINE = np.array([0.97, 0.03]), 5


def even(size: int) -> np.ndarray:
    return np.full(size, 1 / size)


def halving(size: int) -> np.ndarray:
    weights = 0.5 ** np.arange(size)
    return weights / weights.sum()


def noise_of(law: str, scale: int):
    """Of Gaussian noise of the same variance."""
    return (
        DiscreteLaplace(Fraction(scale))
        if law == "Laplace"
        else DiscreteGaussian(Fraction(2 * scale**2 * 4**FINE), FINE)
    )


def share_below(chances: np.ndarray, rows: int, scale: int, law: str = "Laplace", tables: int = TABLES) -> float:
    """How many p-values are below 0.05, of noisy tables with these chances of cells."""
    rng, noise, below = np.random.default_rng(1), noise_of(law, scale), 0
    exact = rng.multinomial(rows, chances.ravel(), tables).reshape(tables, *chances.shape)
    if law == "Laplace":
        p = 1 - np.exp(-1 / scale)
        drawn = rng.geometric(p, exact.shape) - rng.geometric(p, exact.shape)
    else:
        drawn = np.rint(rng.normal(0, scale * 2**0.5, exact.shape)).astype(np.int64)
    for table in exact + drawn:
        try:
            below += chi_square(table, noise).p_value <= 0.05
        except pandas_dp.ArgumentValueError:  # too few rows, by chance
            below += 0.05
    return below / tables


@pytest.fixture
def few_draws(monkeypatch):
    """An exact test, too, with a step of 0.005 in its p-values."""
    monkeypatch.setattr(independence, "DRAWS", 199)
    monkeypatch.setattr(independence, "FEWEST", 199)


@pytest.mark.one_in(12)
@pytest.mark.parametrize(
    ("rows_of", "columns_of", "rows", "scale", "law"),
    [  # laws by turns
        (even(2), even(2), 100, 2, "Laplace"),
        (RARE, RARE, 100, 5, "Gaussian"),
        (RARE, RARE, 1000, 10, "Laplace"),
        (even(2), halving(5), 1000, 10, "Gaussian"),
        (even(4), even(5), 1000, 1, "Laplace"),
        (halving(5), halving(5), 500, 5, "Gaussian"),
        (halving(5), halving(5), 10_000, 10, "Laplace"),
        (halving(10), halving(10), 700, 2, "Gaussian"),
        (halving(10), halving(10), 5000, 10, "Laplace"),
        (halving(10), halving(10), 5000, 10, "Gaussian"),
    ],
    ids=str,
)
@pytest.mark.usefixtures("few_draws")
def test_of_independent_tables_five_of_a_hundred_are_called_dependent(rows_of, columns_of, rows, scale, law):
    assert 0 < share_below(np.outer(rows_of, columns_of), rows, scale, law) < 0.13


@pytest.mark.slow
@pytest.mark.usefixtures("few_draws")
def test_counts_cut_cell_by_cell_fail_the_test(monkeypatch):
    """The twin: empty cells seem fuller than they are, and tables with skew margins dependent."""
    of_margins = independence._expected
    monkeypatch.setattr(independence, "ROWS_A_CELL", 0)
    monkeypatch.setattr(independence, "_expected", lambda tables: of_margins(np.maximum(tables, 0)))
    monkeypatch.setattr(independence, "DRAWS", 99)
    monkeypatch.setattr(independence, "FEWEST", 99)
    assert share_below(np.outer(halving(10), halving(10)), 500, 10, tables=600) > 0.13


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1, 5])
@pytest.mark.usefixtures("few_draws")
def test_power_is_nearly_that_of_the_exact_counts(scale):
    chances = np.outer(even(2), even(5))
    chances[:, :2] += np.array([[0.02, -0.02], [-0.02, 0.02]])
    rng, rows = np.random.default_rng(2), 1000 * scale
    exact = [
        stats.chi2_contingency(rng.multinomial(rows, chances.ravel()).reshape(2, 5))[1] <= 0.05 for _ in range(2000)
    ]
    # 6 standard deviations of a difference of shares of 300 and 2,000
    assert share_below(chances, rows, scale, tables=300) > np.mean(exact) - 0.08 - 6 * 0.5 * (1 / 300 + 1 / 2000) ** 0.5


@pytest.mark.parametrize("mean", [0, 0.3, 5, 9000, 20_000])
def test_poisson_numbers_have_their_law(mean):
    """By the distribution function at nine places, each within 6 standard deviations: wrong with probability below 1e-7."""
    found, size = _poisson(mean, 100_000), 100_000
    assert (found >= 0).all()
    for quantile in np.linspace(0.1, 0.9, 9):
        place = stats.poisson.ppf(quantile, mean)
        chance = stats.poisson.cdf(place, mean)
        assert abs((found <= place).mean() - chance) < 6 * (0.25 / size) ** 0.5


def test_it_takes_less_than_a_second():
    """Processor time of the largest tables, on a machine that is busy."""
    start = time.process_time()
    for shape in ((10, 10), (25, 40)):
        chi_square(np.full(shape, 1000), DiscreteLaplace(Fraction(2)))
    assert time.process_time() - start < 4


# -------------------------------------------------------------------------------------------------------------- as is typed
def people(**terms):
    rng = np.random.default_rng(4)
    df = pd.DataFrame({"ward": np.resize(["A", "B"], 4000), "uid": np.arange(4000) // 2})
    df["sex"] = rng.choice(["f", "m"], 4000)
    df["state"] = np.where(rng.random(4000) < 0.4, df["ward"], "C")
    df.dp.protect(epsilon=1000, name=fresh(), **terms)
    return df.dp(epsilon=1)


KEYS = {"ward": ["A", "B"], "sex": ["f", "m"], "state": ["A", "B", "C"]}


def crosstab(asked, one, other, **options):
    return asked.crosstab(one, other, keys={one: KEYS[one], other: KEYS[other]}, **options)


def test_a_crosstab_is_tested_for_nothing():
    asked = people()
    left = asked._frame.dp.session
    apart, alike = crosstab(asked, "ward", "state"), crosstab(asked, "ward", "sex")
    before = str(left.left)
    statistic, p_value = apart.independence()
    assert statistic > 1000
    assert p_value == 1e-4
    assert alike.independence().statistic < 100
    with_sums = crosstab(asked, "ward", "state", margins=True)
    assert with_sums.independence().statistic == statistic
    counts = asked.pivot_table(
        "uid", "ward", "state", aggfunc="count", keys={"ward": KEYS["ward"], "state": KEYS["state"]}
    )
    assert counts.independence().p_value == 1e-4
    assert str(left.left) != before  # of the last table alone, which is another question
    left.close()


def test_too_few_rows_are_refused():
    """By the noisy counts: 8,999 rows are too few and 9,000 are not."""
    counts, noise = np.full((2, 3), 1500), DiscreteLaplace(Fraction(500))
    assert chi_square(counts, noise).p_value == 1
    counts[0, 0] -= 1
    with pytest.raises(pandas_dp.ArgumentValueError, match=r"too few rows .* from 9,000 rows on"):
        chi_square(counts, noise)


def test_of_others_it_is_refused_and_says_why():
    asked = people()
    table, shares = crosstab(asked, "ward", "state"), crosstab(asked, "ward", "state", normalize="index")
    means = asked.pivot_table("uid", "ward", "sex", keys={"ward": KEYS["ward"], "sex": KEYS["sex"]}, bounds=(0, 2000))
    for other in (
        shares,
        means,
        table.head(1),
        table.round(-2),
        asked.agg({"uid": ["mean", "std"]}, bounds={"uid": (0, 2000)}),
    ):
        with pytest.raises(pandas_dp.ArgumentTypeError, match="counts by two columns, as they were released"):
            other.independence()
    one = asked.crosstab("ward", "sex", keys={"ward": ["A"], "sex": ["f", "m"]})
    with pytest.raises(pandas_dp.ArgumentValueError, match="two rows and two columns"):
        one.independence()
    asked._frame.dp.session.close()
    owned = people(unit="uid", max_rows=2)
    with pytest.raises(pandas_dp.ArgumentTypeError, match="rows of one 'uid' are not independent"):
        crosstab(owned, "ward", "state").independence()
    owned._frame.dp.session.close()
