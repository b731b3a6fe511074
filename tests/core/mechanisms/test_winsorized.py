"""The loss of a Winsorized sum, exact: all tables of a few values, all quartiles, by the code's own choices and sums."""

from __future__ import annotations

import math
from fractions import Fraction as F
from functools import cache
from itertools import combinations_with_replacement, permutations

import numpy as np
import pytest

from pandas_dp.core.measurement import Exact
from pandas_dp.core.mechanisms import quantiles, winsorized
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.mechanisms.quantiles import Quantile
from pandas_dp.core.mechanisms.winsorized import WinsorizedSum
from pandas_dp.core.privacy import Sensitivity
from pandas_dp.core.statistics.lattice_counts import Points

CELLS, EPSILON = 100, F(1)
VALUES = (0, 1, 2, 98, 99, 100)  # with a wide run of free points between them, which nearly all of the law is on
OUTPUTS = list(
    combinations_with_replacement(sorted((*VALUES, 50)), 2)
)  # all free points in the middle have one probability
ONE_VALUE = Sensitivity(l1=2, l2_squared=2, linf=1)  # replace-one on K values
REACHES = [F(3, 2), F(0), F(200)]
Table = tuple[int, ...]


def points(values: Table) -> Points:
    offsets, counts = np.unique(np.array(values, dtype=np.int64), return_counts=True)
    return Points(offsets, counts.astype(np.int64))


def neighbours(k: int) -> list[tuple[Table, Table]]:
    """All pairs of tables of k values that differ in one of them."""
    rest = combinations_with_replacement(VALUES, k - 1)
    return [(tuple(sorted((*r, x))), tuple(sorted((*r, y)))) for r in rest for x, y in permutations(VALUES, 2)]


def law(quantile: Quantile, table: Points) -> dict[int, float]:
    """Probability of each lattice point: every group of points in turn, by the scores and sizes that the code makes."""
    chances: dict[int, float] = {}
    seen: list[tuple[np.ndarray, F, np.ndarray]] = []
    group, place = 0, 0

    def choose(scores, rate, counts, fill):
        seen[:] = [(scores, rate, counts)]
        return group

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quantiles, "exponential_mechanism", choose)
        patch.setattr(quantiles, "uniform_below", lambda count, fill: place)
        quantile.point(table, None)
        ((scores, rate, counts),) = seen
        weights = counts * np.exp(float(rate) * (scores - scores.max()))
        for group in range(scores.size):
            for place in range(int(counts[group])):  # noqa: B007 - read by the sampler above
                chances[quantile.point(table, None)] = float(weights[group] / weights.sum() / counts[group])
    assert sorted(chances) == list(range(CELLS + 1))
    return chances


def quartiles(mechanism: WinsorizedSum, table: Points) -> dict[tuple[int, int], float]:
    """Joint law of the two quartiles, in order, at some outputs."""
    lower, upper = (law(mechanism._quartile(q), table) for q in (winsorized.LOWER, winsorized.UPPER))
    return {(a, b): lower[a] * upper[b] + (lower[b] * upper[a] if a < b else 0) for a, b in OUTPUTS}


def exact_sum(mechanism: WinsorizedSum, table: Points, a: int, b: int) -> int:
    """The clipped sum before noise."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DiscreteLaplace, "draw", lambda self, exact, fill: exact.open())
        return mechanism._sum(table, a, b, None)[0]


def largest_loss(mechanism: WinsorizedSum, k: int) -> float:
    """Over all neighbours and outputs; far out, the noise of a sum loses its whole shift over the scale."""

    @cache
    def known(values: Table) -> tuple[dict, dict]:
        table = points(values)
        return quartiles(mechanism, table), {(a, b): exact_sum(mechanism, table, a, b) for a, b in OUTPUTS}

    noises = {(a, b): mechanism.noise(a, b) for a, b in OUTPUTS}
    worst = 0.0
    for one, two in neighbours(k):
        (first, sums), (second, other_sums) = known(one), known(two)
        for output, noise in noises.items():
            shift = abs(sums[output] - other_sums[output])
            assert noise is not None or shift == 0
            far = 0.0 if noise is None else shift / float(noise.scale)
            worst = max(worst, abs(math.log(first[output] / second[output])) + far)
    return worst


@pytest.mark.one_in(6)
@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("reach", REACHES, ids=str)
def test_the_loss_never_exceeds_epsilon(reach: F, k: int):
    mechanism = WinsorizedSum.calibrate(EPSILON, reach, CELLS, ONE_VALUE)
    assert mechanism.loss(ONE_VALUE).epsilon == EPSILON
    assert largest_loss(mechanism, k) <= float(EPSILON) * (1 + 1e-12)


def twice_the_quartiles(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(WinsorizedSum, "_quartile", lambda self, q: Quantile(q, self.epsilon / 4, self.cells))


def half_the_noise(patch: pytest.MonkeyPatch) -> None:
    original = WinsorizedSum.noise

    def noise(self: WinsorizedSum, a: int, b: int) -> DiscreteLaplace | None:
        right = original(self, a, b)
        return None if right is None else DiscreteLaplace(right.scale / 2)

    patch.setattr(WinsorizedSum, "noise", noise)


@pytest.mark.slow
@pytest.mark.parametrize("fault", [twice_the_quartiles, half_the_noise])
def test_broken_twins_exceed_it(fault, monkeypatch: pytest.MonkeyPatch):
    right = largest_loss(WinsorizedSum.calibrate(EPSILON, F(200), CELLS, ONE_VALUE), 4)
    fault(monkeypatch)
    wrong = largest_loss(WinsorizedSum.calibrate(EPSILON, F(200), CELLS, ONE_VALUE), 4)
    assert 0.8 <= right <= 1 + 1e-12
    assert wrong > 1.1, (right, wrong)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("reach", REACHES, ids=str)
def test_a_clipped_sum_moves_by_at_most_the_width_and_attains_it(reach: F):
    """The mean of K values moves by (u - l) / K, for every pair of quartiles and every neighbour of two values."""
    mechanism = WinsorizedSum(EPSILON, reach, CELLS)
    pairs = [tuple(points(values) for values in pair) for pair in neighbours(2)]
    for a, b in OUTPUTS:
        low, high = mechanism.ends(a, b)
        assert 0 <= low <= a <= b <= high <= CELLS
        moved = max(abs(exact_sum(mechanism, x, a, b) - exact_sum(mechanism, y, a, b)) for x, y in pairs)
        assert moved == high - low


def test_several_touched_parts_share_epsilon():
    touched = Sensitivity(l1=6, l2_squared=6, linf=1, touched=3)
    mechanism = WinsorizedSum.calibrate(EPSILON, F(3, 2), CELLS, touched)
    assert mechanism.epsilon == EPSILON / 3
    assert mechanism.loss(touched).epsilon == EPSILON


def test_without_noise_it_is_the_winsorized_mean():
    """At an epsilon of 10**5 a quartile misses its point, and noise of scale below 1/1000 is not 0, with chance < 1e-300."""
    values = (10, 20, 30, 40, 50, 60, 70, 900)  # quartiles of 8 values: any point between the 2nd and 3rd, 6th and 7th
    a, b, total = WinsorizedSum(F(10**7), F(1), 1000).draw(Exact([points(values)]))
    assert 20 <= a <= 30
    assert 60 <= b <= 70
    low, high = max(a - (b - a), 0), b + (b - a)
    assert total == sum(min(max(x, low), high) - low for x in values)
