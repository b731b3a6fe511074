"""Exact laws of the samplers, a chi-squared test against them, and a repeatable source of bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

# By Pearson's limit, whose p-values are a few times too small so far out: each test, of several, is false below 1e-6.
# A broken twin must be refused as surely.
FALSE_ALARM = 1e-8
SIXTY_DIGITS = Context(prec=60, Emin=-(10**9), Emax=10**9, traps=[])

Probabilities = Mapping[int, float]


def exact_exp(x: Fraction) -> Fraction:
    """exp(x) to 50 digits and more, by the standard library's decimal."""
    return Fraction(SIXTY_DIGITS.exp(SIXTY_DIGITS.divide(Decimal(x.numerator), Decimal(x.denominator))))


# ------------------------------------------------------------------------------------------------------ bytes
def seeded(seed: int) -> Callable[[int], bytes]:
    """A repeatable fill: SHAKE-256 of the seed and the number of the call."""
    calls = 0

    def fill(count: int) -> bytes:
        nonlocal calls
        calls += 1
        return hashlib.shake_256(f"{seed}/{calls}".encode()).digest(count)

    return fill


# ------------------------------------------------------------------------------------------------------- laws
def discrete_laplace_law(scale: Fraction) -> dict[int, float]:
    """P(Z = z) for all z within 60 scales and more: the rest has probability below exp(-60)."""
    p, reach = exact_exp(-1 / scale), int(60 * scale) + 2
    center = (1 - p) / (1 + p)
    half = [float(center * exact_exp(-z / scale)) for z in range(reach + 1)]
    return {z: half[abs(z)] for z in range(-reach, reach + 1)}


def discrete_gaussian_law(variance: Fraction) -> dict[int, float]:
    """P(Z = z) for all z within 12 standard deviations and more: the rest has probability below exp(-70)."""
    reach = int(12 * float(variance) ** 0.5) + 2
    half = [exact_exp(-z * z / (2 * variance)) for z in range(reach + 1)]
    total = 2 * sum(half) - 1
    return {z: float(half[abs(z)] / total) for z in range(-reach, reach + 1)}


def permute_and_flip_law(scores: Sequence[int], rate: Fraction) -> dict[int, float]:
    """P(r) = p_r * integral over 0..1 of the product of (1 - p_s t) for s != r, from rational enclosures.

    P(r) rises with p_r and falls with every other p_s, so enclosures of these enclose it; both ends agree to
    1e-30.
    """
    unit = Fraction(1, 10**40)
    low, high = [], []
    for score in scores:
        x = exact_exp((score - max(scores)) * rate)
        low.append(max(x - unit, Fraction(0)) if score < max(scores) else Fraction(1))
        high.append(x + unit if score < max(scores) else Fraction(1))
    law = {}
    for r in range(len(scores)):
        ends = [
            _wins(mine[r], [p for s, p in enumerate(theirs) if s != r]) for mine, theirs in ((low, high), (high, low))
        ]
        assert 0 <= ends[1] - ends[0] < Fraction(1, 10**30)
        law[r] = float(ends[0])
    return law


def _wins(mine: Fraction, theirs: Iterable[Fraction]) -> Fraction:
    polynomial = [Fraction(1)]  # of t, constant first
    for p in theirs:
        shifted = [Fraction(0), *polynomial]
        polynomial = [a - p * b for a, b in zip([*polynomial, Fraction(0)], shifted, strict=True)]
    return mine * sum((a / (k + 1) for k, a in enumerate(polynomial)), Fraction(0))


def exponential_mechanism_law(
    scores: Sequence[int], rate: Fraction, counts: Sequence[int] | None = None
) -> dict[int, float]:
    """The softmax of scores * rate, weighted by counts."""
    counts = [1] * len(scores) if counts is None else counts
    best = max(score for score, count in zip(scores, counts, strict=True) if count)
    weights = [
        count * exact_exp((score - best) * rate) if count else Fraction(0)
        for score, count in zip(scores, counts, strict=True)
    ]
    return {i: float(weight / sum(weights)) for i, weight in enumerate(weights)}


# ------------------------------------------------------------------------------------------------------- test
def chi_squared(draws: Iterable[int] | NDArray[np.int64], law: Probabilities) -> float:
    """p-value of Pearson's test of draws against a law; values expected fewer than ten times are pooled.

    A value outside the law counts in the pool. A pool expected fewer than five times is tested by itself as a
    Poisson variable, and the smaller of both p-values doubled.
    """
    draws = np.fromiter(draws, dtype=np.int64) if not isinstance(draws, np.ndarray) else draws
    values, counts = np.unique(draws, return_counts=True)
    seen = dict(zip(values.tolist(), counts.tolist(), strict=True))
    cells = [(seen.get(z, 0), p * draws.size) for z, p in law.items() if p * draws.size >= 10]
    observed, expected = np.array(cells, dtype=float).reshape(-1, 2).T
    pool, pool_expected = draws.size - observed.sum(), max(draws.size - expected.sum(), 1e-9 * draws.size)
    if pool_expected >= 5:
        return _pearson(np.append(observed, pool), np.append(expected, pool_expected))
    rest = stats.poisson.sf(pool - 1, pool_expected)
    return min(1.0, 2 * min(float(rest), _pearson(observed, expected * (observed.sum() / expected.sum()))))


def _pearson(observed: NDArray[np.float64], expected: NDArray[np.float64]) -> float:
    if observed.size < 2:
        return 1.0
    return float(special.chdtrc(observed.size - 1, ((observed - expected) ** 2 / expected).sum()))


def same_law(one: Iterable[int], other: Iterable[int]) -> float:
    """p-value of the test that two samples have one law; values seen fewer than twenty times are pooled."""
    one, other = (np.asarray(list(sample), dtype=np.int64) for sample in (one, other))
    values, cell = np.unique(np.concatenate([one, other]), return_inverse=True)
    table = np.array([np.bincount(part, minlength=values.size) for part in (cell[: one.size], cell[one.size :])])
    common = table.sum(axis=0) >= 20
    rest = table[:, ~common].sum(axis=1, keepdims=True)
    table = np.hstack([table[:, common], rest] if rest.sum() >= 20 else [table[:, common]])
    return float(stats.chi2_contingency(table, correction=False).pvalue)


def wide_cells(draws: NDArray[np.int64], quantile: Callable[[float], float], below: Callable[[int], float]) -> float:
    """p-value of a wide law by 256 cells of about equal probability, and by the lowest six bits.

    quantile(u) places the edges, below(z) = P(Z < z) gives their cells' exact probabilities. The smaller
    of both p-values is doubled.
    """
    edges = [round(quantile(k / 256)) for k in range(1, 256)]
    cdf = [0.0, *(below(edge) for edge in edges), 1.0]
    law = dict(enumerate(np.diff(cdf).tolist()))
    cells = chi_squared(np.searchsorted(np.array(edges), draws, side="right"), law)
    low_bits = chi_squared(draws & 63, dict.fromkeys(range(64), 1 / 64))
    return min(1.0, 2 * min(cells, low_bits))
