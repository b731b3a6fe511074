"""Error bars of which the scale was bought: they cover, are no wider than they need be, and a narrow twin is found."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats
from scipy.stats import binom
from support.frames import protected

from pandas_dp.aggregates import smooth
from pandas_dp.aggregates.smooth import TAILS, quantile_of_law
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
    for tail in (0.3, 0.025, 1e-6):
        assert TAILS[law](quantile_of_law(law, tail)) == pytest.approx(tail)


def widths_and_hits(law, monkeypatch, narrower=1.0):
    """How wide the intervals of many draws are, and how many hold the median."""
    frame = protected(pd.DataFrame({"x": np.repeat(np.arange(1000), 3)}), epsilon=10**6, delta=0.9)
    price = {"epsilon": 1, "delta": 1e-4 if law in NEED_DELTA else 0}
    if narrower != 1:
        original = smooth.quantile_of_law
        monkeypatch.setattr(smooth, "quantile_of_law", lambda law, tail: original(law, tail) / narrower)
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
    """A right interval covers too seldom with probability below 1e-9."""
    widths, hits = widths_and_hits(law, monkeypatch)
    assert hits.sum() >= binom.ppf(1e-9, DRAWN, LEVEL)
    assert np.median(widths) < 100_000


@pytest.mark.slow
def test_narrow_twin_is_found(monkeypatch):
    """Thirty times narrower: covers about half of the time, which is never seen with a right one."""
    assert widths_and_hits("laplace", monkeypatch, narrower=30)[1].sum() < binom.ppf(1e-9, DRAWN, LEVEL)
