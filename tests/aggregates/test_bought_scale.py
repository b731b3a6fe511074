"""Error bars of which the scale was bought: they cover, are no wider than they need be, and a narrow twin is found.

The law of both together is checked by its exact tail given 400,000 draws of the noise of ln S, the whole by 400 answers.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats
from scipy.stats import binom
from support.frames import protected

from pandas_dp.aggregates import smooth
from pandas_dp.aggregates.smooth import TAILS, UNIT, factor_of
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.mechanisms.smooth import DRAWS, NEED_DELTA

DRAWN, LEVEL = 400, 0.9
MEDIAN = 499

DENSITIES = {
    "polynomial_laplace": lambda z: 1.5 * (1 + z) ** -4.0,
    "polynomial": lambda z: math.sqrt(2) / math.pi / (1 + z**4),
    "cauchy": stats.cauchy.pdf,
    "student_t": stats.t(3).pdf,
    "laplace": stats.laplace.pdf,
    "gaussian": stats.norm.pdf,
}


@pytest.mark.parametrize("law", DRAWS)
def test_tails(law):
    for z in (0.5, 2, 5):
        exact = 2 * integrate.quad(DENSITIES[law], z, math.inf, epsabs=0, epsrel=1e-10, limit=200)[0]
        assert exact * (1 - 1e-9) <= TAILS[law](z)
        assert TAILS[law](z) <= exact * (1 + 1e-6) or law == "polynomial"


@pytest.mark.one_in(6)
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("spread", [0.01, 0.3, 1])
@pytest.mark.parametrize("law", DRAWS)
def test_the_scale_and_the_noise_together(law, spread, level):
    """By draws of the noise of ln S alone, of Z the exact tail: as often as said, and where a bound is, seldomer."""
    noise = DiscreteLaplace(Fraction(spread) / Fraction(UNIT))
    drawn = np.random.default_rng(1).laplace(0, spread, 400_000)
    beyond = np.exp(drawn + factor_of(law, noise, level))
    if law == "polynomial":
        missed = np.mean([min(TAILS[law](z), 1) for z in beyond[:20_000].tolist()])
    else:
        missed = np.mean([TAILS[law](z) for z in beyond[:20_000].tolist()])
    assert missed == pytest.approx(1 - level, rel=0.15)


@pytest.mark.parametrize("law", DRAWS)
def test_a_known_scale_costs_nothing(law):
    """Where ln S is hardly noisy, c is that of Z alone."""
    noise = DiscreteLaplace(Fraction(1, 10**6) / Fraction(UNIT))
    assert TAILS[law](math.exp(factor_of(law, noise, LEVEL))) == pytest.approx(1 - LEVEL, rel=1e-3)


def widths_and_hits(law, monkeypatch, narrower=1.0):
    """How wide the intervals of many draws are, and how many hold the median."""
    frame = protected(pd.DataFrame({"x": np.repeat(np.arange(1000), 3)}), epsilon=10**6, delta=0.9)
    price = {"epsilon": 1, "delta": 1e-4 if law in NEED_DELTA else 0}
    if narrower != 1:
        original = smooth.factor_of
        monkeypatch.setattr(smooth, "factor_of", lambda *told: original(*told) - math.log(narrower))
    found = []
    for _ in range(DRAWN):
        answer = frame.dp(**price, fresh=True).median(
            "x", bounds=(0, 100_000), step=1, method="smooth", noise=law, error_bar=True
        )
        lower, upper = answer.interval(LEVEL)
        found.append((upper - lower, lower <= MEDIAN <= upper))
    return np.array(found).T


@pytest.mark.slow
@pytest.mark.parametrize("law", DRAWS)
def test_coverage(law, monkeypatch):
    """A right interval covers too seldom with probability below 1e-9, and so does one of the whole range, which is refused."""
    widths, hits = widths_and_hits(law, monkeypatch)
    assert hits.sum() >= binom.ppf(1e-9, DRAWN, LEVEL)
    assert hits.sum() <= binom.ppf(1 - 1e-9, DRAWN, 0.93)
    assert np.median(widths) < 100_000


@pytest.mark.slow
def test_narrow_twin_is_found(monkeypatch):
    """Four times narrower: covers two in three, which is never seen with a right one."""
    assert widths_and_hits("laplace", monkeypatch, narrower=4)[1].sum() < binom.ppf(1e-9, DRAWN, LEVEL)
