"""Intervals for sums over ranges and for cumulative shares hold what they promise: by exact laws, and by simulation."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr
from scipy.stats import binom
from support.views import table

from pandas_dp.aggregates import ranges
from pandas_dp.aggregates.base import Terms
from pandas_dp.aggregates.hierarchy import Hierarchy
from pandas_dp.aggregates.ranges import Combination, Ecdf, PartsError, RangeCounts, SharesError
from pandas_dp.aggregates.uncertainty import Additive
from pandas_dp.core.mechanisms.gaussian import DiscreteGaussian
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.partition import Bins
from pandas_dp.core.privacy import NeighboringRelation, Price, PrivacyUnit, Sensitivity
from pandas_dp.core.statistics.strategies import Haar, Tree
from pandas_dp.facts.labels import Labels

LEVELS = [0.2, 0.8, 0.95, 0.99, 1 - 1e-6]
WEIGHTS = [(4,), (4, 4), (4, -4, 4, 4, 4), (4,) * 40, (4, 1, 1), (3, 2, -1), (1,)]  # in quarters


def gaussian(sigma: float) -> DiscreteGaussian:
    squared = Sensitivity(l1=1, l2_squared=1, linf=1)
    return DiscreteGaussian.calibrate(squared, None, Fraction(0), Fraction(1 / (2 * sigma**2)))


NOISES = [*(DiscreteLaplace(Fraction(b)) for b in ("0.2", "1", "4", "25")), *map(gaussian, (0.4, 1, 5, 30))]


def law(noise) -> np.ndarray:
    """Probabilities of the noise from -reach to reach, all but 1e-12 of them."""
    reach = int(60 + 30 * noise.standard_deviation)
    z = np.arange(-reach, reach + 1)
    if isinstance(noise, DiscreteLaplace):
        p = np.exp(-np.abs(z) / float(noise.scale))
        return p / p.sum()
    return ndtr((z + 0.5) / noise.standard_deviation) - ndtr((z - 0.5) / noise.standard_deviation)


def absolute_law(noise, quarters: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Values of |sum a_i Z_i| and their probabilities, by convolution on the lattice of quarters."""
    one, size = law(noise), 1 << 16
    reach = (one.size - 1) // 2
    spectrum = np.ones(size // 2 + 1, dtype=complex)
    for weight in sorted(set(quarters)):
        spread = np.zeros(size)
        spread[(weight * np.arange(-reach, reach + 1)) % size] = one
        spectrum *= np.fft.rfft(spread) ** quarters.count(weight)
    place = np.arange(size)
    return np.minimum(place, size - place) / 4, np.fft.irfft(spectrum, size)


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_half_widths_of_sums_hold_for_the_exact_law(noise):
    """Convolved by Fourier transforms, exact to 1e-9; never too narrow, and not much too wide for a wide noise."""
    for quarters in WEIGHTS:
        length = np.sqrt(sum(w * w for w in quarters)) / 4
        values, probabilities = absolute_law(noise, quarters)
        for level in LEVELS:
            half = noise.combined(level) * length
            assert probabilities[values > half].sum() <= (1 - level) * (1 + 1e-6) + 1e-9
        if noise.standard_deviation > 4:  # broken twin: three fifths of it are too narrow for every sum
            half = noise.combined(0.95) * length
            assert probabilities[values > 0.6 * half].sum() > 0.05


def test_a_sum_of_one_plain_count_has_that_counts_interval():
    noise = DiscreteLaplace(Fraction(5))
    plain = PartsError(noise, Hierarchy(4))
    assert plain.between(1, 2) == Additive(noise)
    assert isinstance(plain.between(1, 3), Combination)
    assert plain.between(1, 3).length == pytest.approx(np.sqrt(2))
    series = pd.Series([1.0, 2.0, 3.0, 4.0])
    lower, upper = plain.bounds(series, 0.95)
    assert (upper - lower).tolist() == [2 * noise.half_width(0.95)] * 4


BINS = Bins("x", tuple(range(13)))
COUNTS = [0, 3, 20, 50, 80, 10, 0, 0, 7, 30, 60, 5]
VIEW = table([(0, "a", x) for x, count in enumerate(COUNTS) for _ in range(count)])
FORMS = [Tree(BINS), Tree(BINS, 3, 2), Tree(BINS, 2, 4), Haar(BINS)]
RUNS = 400


def labels() -> Labels:
    return Labels("x", (), tuple(range(13)))


def answers(aggregate, form, unit, price, patch):
    """Answers of the recipe in a given form, each with noise of its own."""
    patch.setattr(ranges, "strategy", lambda by, unit, gaussian, workload: form)
    terms = Terms(unit, price)
    for _ in range(RUNS):
        recipe = aggregate.steps(terms)
        look = next(recipe)
        with pytest.raises(StopIteration) as stop:
            recipe.send(look.mechanism.draw(look.statistic.compute(VIEW, unit)))
        yield stop.value.value


def too_many(misses: int, comparisons: int) -> bool:
    """Whether an interval of 95 % was missed more often than in one of a million tests of this size."""
    return bool(misses > binom.isf(1e-6 / comparisons, RUNS, 0.05))


SPANS = [(0, 12), (2, 5), (1, 2), (3, 11), (0, 7)]


def sums(values):
    """Each bin and each span of bins, along the last axis."""
    return np.concatenate([values, *(values[..., slice(*span)].sum(axis=-1, keepdims=True) for span in SPANS)], axis=-1)


def half_widths(answer):
    """Half of the interval of 95 % of each bin and each span, shape (bins + spans,)."""
    value, error = answer.value, answer.error
    totals = [value[slice(*span)].sum() for span in SPANS]
    ends = [error.between(*span).bounds(total, 0.95) for span, total in zip(SPANS, totals, strict=True)]
    return np.array(
        [
            *(np.asarray(error.bounds(value, 0.95)[1]) - value),
            *(upper - total for (_, upper), total in zip(ends, totals, strict=True)),
        ]
    )


PRICES = [Price(Fraction(1, 2)), Price(Fraction(1, 2), Fraction(1, 10**5))]


@pytest.mark.one_in(6)
@pytest.mark.parametrize("price", PRICES, ids=["laplace", "gaussian"])
@pytest.mark.parametrize("form", FORMS, ids=lambda form: repr(form)[:4] + str(getattr(form, "levels", "")))
@pytest.mark.parametrize("relation", list(NeighboringRelation))
def test_intervals_cover_bins_and_ranges(form, price, relation, monkeypatch):
    """400 answers a case; all intervals of a case together are accused wrongly with probability at most 1e-6."""
    unit, true = PrivacyUnit(relation=relation), np.array(COUNTS)
    found = list(answers(RangeCounts(BINS, labels()), form, unit, price, monkeypatch))
    values = np.stack([answer.value.to_numpy() for answer in found])  # shape (RUNS, bins)
    off = np.abs(sums(values) - sums(true))  # shape (RUNS, bins + spans)
    half = half_widths(found[0])
    assert half == pytest.approx(half_widths(found[-1]))  # they follow from public facts alone
    misses, narrow = (off > half).sum(axis=0), (off > half / 3).sum(axis=0)
    assert not any(too_many(m, misses.size) for m in misses)
    assert all(too_many(m, misses.size) for m in narrow)  # broken twin: a third of the width
    error = found[0].error
    sigma = np.sqrt((error.noise.standard_deviation**2 + 1) * error.hierarchy.variances)
    assert np.all(np.abs(values.mean(axis=0) - true) < 6 * sigma / np.sqrt(RUNS))  # unbiased; normal to 2e-9 a bin


@pytest.mark.one_in(2)
@pytest.mark.parametrize("price", PRICES, ids=["laplace", "gaussian"])
@pytest.mark.parametrize("form", [FORMS[0], FORMS[3]], ids=["tree", "haar"])
def test_intervals_cover_shares(form, price, monkeypatch):
    unit = PrivacyUnit()
    true = np.concatenate(([0], np.cumsum(COUNTS))) / sum(COUNTS)
    misses, narrow = np.zeros(13, dtype=int), np.zeros(13, dtype=int)
    for answer in answers(Ecdf(BINS, Labels("x", tuple(range(13)))), form, unit, price, monkeypatch):
        shares = answer.value.to_numpy()
        assert shares[0] == 0
        assert shares[-1] == 1
        assert np.all(np.diff(shares) >= 0)
        lower, upper = (np.asarray(end) for end in answer.error.bounds(answer.value, 0.95))
        assert np.all((lower >= 0) & (lower <= shares) & (shares <= upper) & (upper <= 1))
        misses += (true < lower) | (true > upper)
        narrow += np.abs(true - shares) > (upper - lower) / 6
    assert not any(too_many(m, 13) for m in misses)
    assert any(too_many(m, 13) for m in narrow)


def test_shares_of_nothing():
    """With a noisy total that may be noise alone nothing is known of them."""
    aggregate = Ecdf(Bins("x", (0, 1, 2)), Labels("x", (0, 1, 2)))
    look = aggregate.look(terms := Terms(PrivacyUnit(), Price(Fraction(1))))
    answer = aggregate.answer([2, -5], look, terms)
    assert answer.value.fillna(-9).tolist() == [0, -9, 1]
    lower, upper = answer.error.bounds(answer.value, 0.95)
    assert (lower.tolist(), upper.tolist()) == ([0, 0, 1], [0, 1, 1])


def test_shares_error_in_numbers():
    error = SharesError(gaussian(10), (0.0, 50.0, 100.0), (0.0, 1.0, 0.0))
    value = pd.Series([0, 0.5, 1], index=[0, 10, 20])
    lower, upper = error.bounds(value, 0.95)
    half = gaussian(10).combined(0.95) / 100
    assert lower.tolist() == pytest.approx([0, 0.5 - half, 1])
    assert upper.tolist() == pytest.approx([0, 0.5 + half, 1])
    assert half == pytest.approx(0.2, abs=0.03)
