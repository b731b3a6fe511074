"""The search for the event that tells two sides apart best, and the bound on epsilon that it gives on other samples.

Half of the samples serves to find the event, whatever the search does; on the other half that one event is counted, and
Clopper-Pearson intervals turn the counts into a lower bound on epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from functools import lru_cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pandas_dp.audit.outputs import Codes, Floats, Outputs, Samples, encode, shown
from pandas_dp.core.randomness import random_words
from pandas_dp.errors import ArgumentTypeError, Spelled
from pandas_dp.release.html import scalar_html

DIGITS = 4  # significant digits of a bound, rounded down


@dataclass(frozen=True, repr=False)
class AuditResult(Spelled):
    """What one audit found: a lower bound on epsilon, and the event that shows it.

    Attributes
    ----------
    epsilon_lower : float
        With probability at least ``confidence`` no epsilon below this one holds at `delta`.
    claimed : float
        The claimed epsilon.
    delta : float
        The claimed delta.
    expected : float
        About what Laplace noise that spends the claim to the full would have shown with as many samples: far less than the
        claim where these are few.
    event : str
        What told the tables apart best in the half of the samples that chose it, in words.
    counts : tuple of int
        How often it was met in the other half, where it is more likely and where less; of ``samples / 2`` each.
    samples : int
        On each table.
    false_alarm : float
        Probability, at most, that a right claim is called violated.
    """

    epsilon_lower: float
    claimed: float
    delta: float
    expected: float
    event: str
    counts: tuple[int, int]
    samples: int
    false_alarm: float

    @property
    def violated(self) -> bool:
        """Whether the claim is refuted, up to false alarms."""
        return self.epsilon_lower > self.claimed

    @property
    def passed(self) -> bool:
        """Whether no violation was found, which is no proof that there is none."""
        return not self.violated

    @property
    def confidence(self) -> float:
        """One minus the rate of false alarms."""
        return 1 - self.false_alarm

    @property
    def verdict(self) -> str:
        """The finding in one line."""
        claim = f"{self.claimed:g}" + (f" (delta {self.delta:g})" if self.delta else "")
        if self.violated:
            return (
                f"VIOLATION: at least {_down(self.epsilon_lower)} where {claim} was claimed, "
                f"false alarm at most {self.false_alarm:.2g}"
            )
        return f"no violation found: at least {_down(self.epsilon_lower)} of the claimed {claim}"

    def _facts(self) -> list[str]:
        """What the verdict rests on."""
        tested = self.samples - self.samples // 2
        none = "" if self.epsilon_lower else "none stands out; best in the first half: "
        facts = [
            f"event    {none}{self.event}",
            f"counts   {self.counts[0]:,} to {self.counts[1]:,}, of {tested:,} outputs each",
            f"samples  {self.samples:,} on each table; half of them chose the event",
        ]
        if not self.violated:
            facts += [
                f"power    noise that spends {self.claimed:g} in full shows about {_down(self.expected)} here",
                "This proves nothing by itself: other tables, or more samples, may show more.",
            ]
        return facts

    def __bool__(self) -> bool:
        """Refuse: a result stood for true wherever it is not compared."""
        raise ArgumentTypeError("an audit's result is neither true nor false: found.passed")

    def __repr__(self) -> str:
        """Say what was found and what it rests on."""
        return "\n  ".join([self.verdict, *self._facts()])

    def _repr_html_(self) -> str:
        return scalar_html(self.verdict, self._facts())


def _down(bound: float) -> str:
    """Write a bound with few digits, rounded down."""
    exact = Decimal(bound)
    place = (exact.adjusted() if exact else 0) - DIGITS + 1
    return f"{exact.quantize(Decimal(1).scaleb(place), rounding=ROUND_FLOOR).normalize():f}"


MISSING = "an audit needs scipy, which is not installed; type: pip install 'pandas-dp[audit]'"


def load_beta() -> Any:
    """Return the inverse of the regularised incomplete beta function, or raise an ImportError that says what to install."""
    try:
        from scipy.special import betaincinv
    except ImportError:
        raise ImportError(MISSING) from None
    return betaincinv


def lower_bound(high: int, low: int, trials: int, alpha: float, delta: float) -> float:
    """Bound from below the epsilon of a mechanism with an event that was met `high` times on one side, `low` on the other.

    For all mechanisms whose trials are independent, and events that were chosen without these trials, it is above the
    epsilon that the mechanism keeps at `delta` with probability at most `alpha`: each end of the two intervals is missed
    with probability at most alpha / 2, and where both hold, ln((p - delta) / q) of the ends bounds that of the event.
    Negative, down to -inf, where the counts show nothing.
    """
    ends = _lower_end(np.array([high]), trials, alpha), _upper_end(np.array([low]), trials, alpha)
    return float(log_ratio(*ends, delta)[0])


def expected_bound(p0: float, p1: float, samples: int, alpha: float, delta: float = 0.0) -> float:
    """Bound, at least 0, that an event of these probabilities gets from so many samples a side at its expected counts."""
    m = samples - samples // 2
    return max(0.0, lower_bound(round(p0 * m), round(p1 * m), m, alpha, delta))


def tight_bound(claim: float, samples: int, alpha: float, delta: float = 0.0) -> float:
    """Bound that continuous Laplace noise spending exactly `claim` gets from so many samples a side.

    Its best event has probability 1/2 on one side and exp(-claim)/2 on the other; taken at the expected counts.
    """
    return expected_bound(0.5, 0.5 * math.exp(-claim), samples, alpha, delta)


def log_ratio(p0: Floats, p1: Floats, delta: float) -> Floats:
    """ln((p0 - delta) / p1), -inf where nothing is left of p0; entry by entry."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(p0 - delta, 0.0)) - np.log(p1))


@lru_cache(maxsize=16)
def ends(trials: int, alpha: float) -> tuple[Floats, Floats]:
    """Both ends of the intervals for k = 0, ..., trials, shape (trials + 1,): where all events of a search look theirs up."""
    k = np.arange(trials + 1)
    return _lower_end(k, trials, alpha), _upper_end(k, trials, alpha)


def _lower_end(k: NDArray[Any], n: int, alpha: float) -> Floats:
    return np.where(k > 0, load_beta()(np.maximum(k, 1), n - k + 1, alpha / 2), 0.0)


def _upper_end(k: NDArray[Any], n: int, alpha: float) -> Floats:
    return np.where(k < n, load_beta()(k + 1, np.maximum(n - k, 1), 1 - alpha / 2), 1.0)


MOST_THRESHOLDS = 100
PAIRED = 8  # coordinates whose differences are looked at
LARGEST = 1e100  # of numbers that are added up
ODD_BITS = 9999  # lowest bit of zero
SIDES = ("table", "neighbor")
LEARN, CHOOSE, TEST = 0, 1, 2  # parts of the samples: a quarter, a quarter and a half
Masks = Sequence[NDArray[np.bool_]]


class Score(NamedTuple):
    """A real number for each sample; an event is a half-line of them. A learnt one means what is likelier on a side."""

    name: str
    values: Floats  # shape (samples,)
    learnt: bool = True


def weigh(outputs0: Outputs, outputs1: Outputs, claim: float, alpha: float, delta: float = 0.0) -> AuditResult:
    """Bound the epsilon of a mechanism from below by as many outputs of it on each of two neighbours.

    Parameters
    ----------
    outputs0, outputs1 : sequence, or array of shape (n,) or (n, d)
        Independent outputs, at least 8 on each side.
    claim, delta : float
        Claimed is P0(E) <= exp(claim) P1(E) + delta for all events, and the same with the sides exchanged.
    alpha : float
        Rate of false alarms: a mechanism that keeps the claim is accused with at most this probability.
    """
    n, samples = len(outputs0), encode(outputs0, outputs1)
    sizes = [n // 4, n // 2 - n // 4, n - n // 2]
    parts = np.repeat([LEARN, CHOOSE, TEST], sizes)  # shape (n,)
    part = np.concatenate([parts[np.argsort(random_words(n))] for _ in SIDES])  # shape (2 n,)
    chosen = [(part == CHOOSE) & (samples.side == side) for side in (0, 1)]
    best, words, inside, likelier = -math.inf, "nothing", np.zeros(2 * n, dtype=np.bool_), 0
    for name, score, learnt in _scores(samples, part == LEARN):
        for sign in (1.0, -1.0):
            bound, cut, side = _best_threshold(sign * score, chosen, alpha, delta)
            if bound > best:
                best, inside, likelier = bound, sign * score >= cut, side
                words = _words(name, sign, sign * cut, learnt, side)
    met = [np.flatnonzero(inside & (part == TEST) & (samples.side == side)) for side in (0, 1)]
    high, low = met[likelier].size, met[1 - likelier].size
    if met[likelier].size and "one that" in words:
        first = int(met[likelier][0])
        words += f", such as {shown((outputs0, outputs1)[likelier][first - likelier * n])}"
    if samples.found > samples.numbers.shape[1]:
        words += f" (of {samples.found:,} numbers the first {samples.numbers.shape[1]} were compared)"
    found = max(0.0, lower_bound(high, low, n - n // 2, alpha, delta))
    return AuditResult(found, claim, delta, tight_bound(claim, n, alpha, delta), words, (high, low), n, alpha)


def _words(name: str, sign: float, cut: float, learnt: bool, side: int) -> str:
    """An event in words."""
    if learnt:
        return f"{name} is one that was met more often on the {SIDES[side]}"
    return f"{name} is {'at least' if sign > 0 else 'at most'} {cut:.6g}, more often on the {SIDES[side]}"


def _best_threshold(score: Floats, chosen: Masks, alpha: float, delta: float) -> tuple[float, float, int]:
    """Best bound over events {score >= cut}: the bound, the cut, and the side on which the event is likelier."""
    sides = [np.sort(score[c]) for c in chosen]
    cuts = np.unique(np.concatenate(sides))
    if cuts.size > MOST_THRESHOLDS:
        at = np.unique(np.concatenate([np.linspace(0, 1, MOST_THRESHOLDS), [1e-3, 3e-3, 1 - 3e-3, 1 - 1e-3]]))
        cuts = cuts[np.round(at * (cuts.size - 1)).astype(int)]
    inside = [s.size - np.searchsorted(s, cuts, side="left") for s in sides]  # shape (cuts,) each
    best = (-math.inf, 0.0, 0)
    known = [ends(side.size, alpha) for side in sides]
    for likelier in (0, 1):
        high, low = known[likelier][0][inside[likelier]], known[1 - likelier][1][inside[1 - likelier]]
        bounds = log_ratio(high, low, delta)
        i = int(np.argmax(bounds))
        best = max(best, (float(bounds[i]), float(cuts[i]), likelier))
    return best


def _scores(samples: Samples, fit: NDArray[np.bool_]) -> Iterator[Score]:
    """Yield what the two sides may be told apart by."""
    x, learn = samples.numbers, _Learner(samples.side, fit)
    other = "the parts of the output that are not numbers (types, texts, labels, errors, warnings)"
    yield Score(other, learn.ratio(samples.structure))
    d = x.shape[1]
    for j in range(d):
        name = "the number" if d == 1 else f"number {j + 1}"
        yield Score(name, x[:, j], False)
        yield Score(f"the interval of {name}", learn.ratio(learn.bins(x[:, j])))
        bit = _lowest_bit(x[:, j])
        if np.ptp(bit[fit]) > 0:
            yield Score(f"the exponent of the lowest bit of {name}", bit, False)
            yield Score(f"the lowest bit of {name}", learn.ratio(np.unique(bit, return_inverse=True)[1]))
    if d >= 2:
        yield from _joint_scores(x, learn)
    # last, so that what tells as much by itself is taken: of this, outputs that were not met before tell nothing
    whole = np.unique(np.column_stack([samples.structure, x]), axis=0, return_inverse=True)[1]
    if 2 * np.unique(whole[fit]).size < fit.sum():  # otherwise hardly any output is seen twice
        yield Score("the whole output", learn.ratio(whole))


def _joint_scores(x: Floats, learn: _Learner) -> Iterator[Score]:
    """Yield functions of several numbers."""
    d, x = x.shape[1], np.clip(x, -LARGEST, LARGEST)
    for word, score in (("sum", x.sum(axis=1)), ("largest", x.max(axis=1)), ("smallest", x.min(axis=1))):
        name = f"the {word} of the numbers"
        yield Score(name, score, False)
        yield Score(f"the interval of {name}", learn.ratio(learn.bins(score)))
    yield Score("the place of the largest number", learn.ratio(x.argmax(axis=1)))
    for i, j in combinations(range(min(d, PAIRED)), 2):
        yield Score(f"number {i + 1} minus number {j + 1}", x[:, i] - x[:, j], False)
    bayes = sum((learn.ratio(learn.bins(x[:, j], 16)) for j in range(d)), np.zeros(len(x)))
    yield Score("the combination of the numbers' intervals", bayes)
    features = np.column_stack([x, np.sign(x), np.sign(x) * np.log1p(np.abs(x))])
    yield Score("the combination of the numbers", learn.logistic(features))


@dataclass(frozen=True)
class _Learner:
    """Scores learnt on a part of the samples."""

    side: Codes
    fit: NDArray[np.bool_]

    def ratio(self, codes: Codes) -> Floats:
        """Log-likelihood ratio of each sample's code, with one more count of each."""
        size = int(codes.max()) + 1
        counts = [np.bincount(codes[self.fit & (self.side == side)], minlength=size) + 1.0 for side in (0, 1)]
        return np.asarray(np.log(counts[0] / counts[1])[codes])

    def bins(self, x: Floats, most: int = 64) -> Codes:
        """Values by quantile."""
        edges = np.unique(np.quantile(x[self.fit], np.linspace(0, 1, most + 1)[1:-1], method="nearest"))
        # an edge is a bin of its own when values repeat, as whole numbers do
        return np.asarray(np.searchsorted(edges, x, side="left") + np.searchsorted(edges, x, side="right"))

    def logistic(self, features: Floats, rounds: int = 12, ridge: float = 1e-3) -> Floats:
        """Linear score by Newton's method."""
        used = features[:, np.ptp(features[self.fit], axis=0) > 0]  # deviations of what is constant need not round to 0
        z = (used - used[self.fit].mean(axis=0)) / used[self.fit].std(axis=0)
        z = np.column_stack([np.ones(len(z)), np.clip(z, -8, 8)])  # shape (samples, features + 1)
        a, target = z[self.fit], 1.0 - self.side[self.fit]
        weights = np.zeros(z.shape[1])
        for _ in range(rounds):
            p = 1 / (1 + np.exp(-np.clip(a @ weights, -30, 30)))
            curvature = (a * (p * (1 - p))[:, None]).T @ a + ridge * len(a) * np.eye(len(weights))
            weights += np.linalg.solve(curvature, a.T @ (target - p) - ridge * len(a) * weights)
        return np.asarray(z @ weights)


def _lowest_bit(x: Floats) -> Floats:
    """Return k such that a number is an odd multiple of 2**k: noise drawn as floats gives itself away there."""
    mantissa, exponent = np.frexp(x)
    whole: NDArray[Any] = (np.abs(mantissa) * 2.0**53).astype(np.int64)
    _, lowest = np.frexp((whole & -whole).astype(float))
    return np.where(whole == 0, float(ODD_BITS), exponent - 53.0 + lowest - 1)
