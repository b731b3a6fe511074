"""The exact law of everything that draws: a class or a sampler without an entry here fails the suite.

`MECHANISMS` has, for each class that draws, mechanisms with pairs of neighbouring exact inputs, the law of the outputs as it
follows from the definition alone, and a twin with too little noise. `SAMPLERS` has, for each public function of the core that
takes random bytes, draws with known arguments, their law, and the law of a twin.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction as F
from functools import cache
from itertools import combinations_with_replacement, pairwise, product
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats
from support.key_laws import tail

from pandas_dp.aggregates.weighted_noise import MeanNoise
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.measurement import Exact
from pandas_dp.core.mechanisms import (
    gaussian,
    key_selection,
    laplace,
    quantiles,
    randomized_response,
    refined,
    selection,
    sparse_vector,
    winsorized,
)
from pandas_dp.core.mechanisms import smooth as smooth_mechanism
from pandas_dp.core.mechanisms.quantiles import Ladder, Quantile, RecursiveQuantiles
from pandas_dp.core.mechanisms.smooth import SmoothNoise
from pandas_dp.core.privacy import PrivacyLoss, PrivacyUnit, Sensitivity
from pandas_dp.core.randomness import random_bytes
from pandas_dp.core.samplers import tables
from pandas_dp.core.statistics.counts import KeySensitivity
from pandas_dp.core.statistics.lattice_counts import LatticeCounts, Points
from pandas_dp.core.statistics.smooth import LOG_BITS, SmoothSensitivity
from tests.core.samplers.laws import (
    discrete_laplace_law,
    exponential_mechanism_law,
    permute_and_flip_law,
)

Probabilities = dict[Hashable, float]


@dataclass(frozen=True)
class Law:
    """One mechanism and what it has to be.

    Attributes
    ----------
    mechanism : Mechanism or Interactive
    sensitivity : Sensitivity
        Of the statistic that it is for: the claim is the loss for it.
    pairs : list of (exact, exact)
        Neighbouring exact inputs, as far apart as the sensitivity allows.
    law : callable of (mechanism, exact)
        Probability of each output, from the definition.
    twin : Mechanism
        One with less noise, which spends more than the claim.
    near : float
        The share of the claim that these pairs spend.
    output : callable
        An output as a key of the law.
    draw : callable of (mechanism, exact, n), optional
        n outputs.
    """

    mechanism: Any
    sensitivity: Any
    pairs: list[tuple[Any, Any]]
    law: Callable[[Any, Any], Probabilities]
    twin: Any
    near: float = 0.9
    output: Callable[[Any], Hashable] = tuple
    draw: Callable[[Any, Any, int], list[Any]] | None = None

    def draws(self, mechanism: Any, exact: Any, n: int) -> list[Hashable]:
        """Outputs of a mechanism, from the operating system's bytes."""
        if self.draw is not None:
            return list(map(self.output, self.draw(mechanism, exact, n)))
        return [self.output(mechanism.draw(Exact(exact), random_bytes)) for _ in range(n)]


def vectors(sensitivity: Sensitivity, size: int, span: int = 2) -> list[tuple[list[int], list[int]]]:
    """All pairs of small integer vectors within a sensitivity, the first of them 0."""
    zero, pairs = [0] * size, []
    for moved in product(range(-span, span + 1), repeat=size):
        norms = sum(map(abs, moved)), sum(x * x for x in moved), max(map(abs, moved))
        if any(moved) and all(
            a <= b for a, b in zip(norms, (sensitivity.l1, sensitivity.l2_squared, sensitivity.linf), strict=True)
        ):
            pairs.append((zero, list(moved)))
    return pairs


def independent(laws: Sequence[Probabilities]) -> Probabilities:
    """Law of the tuple of independent outputs."""
    joint: Probabilities = {(): 1.0}
    for law in laws:
        joint = {(*before, out): p * q for before, p in joint.items() for out, q in law.items()}
    return joint


# --------------------------------------------------------------------------------------------------------- additive noise
def moved_by(law: Callable[[Any], dict[int, float]]) -> Callable[[Any, Any], Probabilities]:
    """Law of exact integers plus independent noise, whose least likely values are left out."""

    def of(mechanism: Any, exact: list[int]) -> Probabilities:
        one = {z: p for z, p in law(mechanism).items() if p > 1e-9}
        return independent([{x + z: p for z, p in one.items()} for x in exact])

    return of


@cache
def laplace_noise(mechanism: Any) -> dict[int, float]:
    return discrete_laplace_law(mechanism.scale)


@cache
def gaussian_noise(mechanism: Any) -> dict[int, float]:
    """Of the fine lattice, rounded: sums over all fine steps that come to the same integer."""
    law: dict[int, float] = defaultdict(float)
    sigma, unit = math.sqrt(float(mechanism.variance)), 1 << mechanism.refine
    z = np.arange(-math.ceil(12 * sigma), math.ceil(12 * sigma) + 1)
    weights = np.exp(-(z.astype(float) ** 2) / (2 * float(mechanism.variance)))
    for place, p in zip(((2 * z + unit) // (2 * unit)).tolist(), (weights / weights.sum()).tolist(), strict=True):
        law[place] += p
    return dict(law)


def at_once(mechanism: Any, exact: list[int], n: int) -> list[tuple[int, ...]]:
    """Many draws as one long vector."""
    flat = mechanism.draw(Exact(exact * n), random_bytes)
    return [tuple(flat[i : i + len(exact)]) for i in range(0, len(flat), len(exact))]


ONE, TWO = Sensitivity(1, 1, 1), Sensitivity(2, 2, 1, range=2)
LAPLACE = [
    Law(made, s, vectors(s, size), moved_by(laplace_noise), replace(made, scale=made.scale / 3), 0.99, draw=draw)
    for s, size in ((ONE, 1), (TWO, 2))
    for made in [laplace.DiscreteLaplace.calibrate(F(1), s)]
    for draw in ([None, at_once] if size == 1 else [None])
]
GAUSSIAN = [
    Law(
        made,
        ONE,
        vectors(ONE, 1),
        moved_by(gaussian_noise),
        replace(made, variance=made.variance / 3),
        0.9,
        draw=draw,
    )
    for made, draw in (
        (gaussian.DiscreteGaussian.calibrate(ONE, None, F(0), F(1, 8)), at_once),
        (gaussian.DiscreteGaussian(F(9)), None),
    )
]


# ------------------------------------------------------------------------------------------------------------ refinements
@dataclass(frozen=True)
class Chain:
    """A draw and its refinements, of falling scales, all of them public: together worth the last one alone."""

    scales: tuple[F, ...]
    anew: bool = False  # each level drawn by itself

    def loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """What the charges add up to."""
        first = laplace.DiscreteLaplace(self.scales[0]).loss(sensitivity).epsilon or F(0)
        steps = [refined.RefinedLaplace(a, b, ()).loss(sensitivity).epsilon or F(0) for a, b in pairwise(self.scales)]
        return PrivacyLoss.pure(sum(steps, first))

    def draw(self, exact: Exact, fill: Any) -> list[int]:
        """All levels, one after the other."""
        levels = [laplace.DiscreteLaplace(self.scales[0]).draw(exact, fill)]
        for place in range(1, len(self.scales)):
            if self.anew:
                mechanism: Any = laplace.DiscreteLaplace(self.scales[place])
            else:
                mechanism = refined.RefinedLaplace(self.scales[place - 1], self.scales[place], tuple(levels[-1]))
            levels.append(mechanism.draw(exact, fill))
        return [y for level in levels for y in level]


def chain_law(mechanism: Chain, exact: list[int]) -> Probabilities:
    """By the identity Z1 = Z2 + W: what a level adds to the next one, from the last to the first."""
    noise = [discrete_laplace_law(scale) for scale in mechanism.scales]
    one: dict[tuple[int, ...], float] = {(z,): p for z, p in noise[-1].items() if p > 1e-12}
    if mechanism.anew:
        joint = independent([{z: p for z, p in law.items() if p > 1e-12} for law in noise])
        one = {tuple(out): p for out, p in joint.items()}  # type: ignore[call-overload]
    else:
        for worse, better in reversed(list(pairwise(mechanism.scales))):
            added = between(worse, better)
            one = {
                (levels[0] + w, *levels): p * q for levels, p in one.items() for w, q in added.items() if p * q > 1e-12
            }
    whole: Probabilities = {(): 1.0}
    for x in exact:
        whole = {
            (*before, tuple(x + z for z in levels)): p * q
            for before, p in whole.items()
            for levels, q in one.items()
            if p * q > 1e-12
        }
    depth = len(mechanism.scales)
    return {tuple(each[level] for level in range(depth) for each in out): p for out, p in whole.items()}  # type: ignore[attr-defined]


def between(worse: F, better: F) -> dict[int, float]:
    """The law of W: 0 with probability (p2/p1) ((1 - p1)/(1 - p2))^2, else discrete Laplace noise of the worse scale."""
    p1, p2 = math.exp(-1 / worse), math.exp(-1 / better)
    none = p2 / p1 * ((1 - p1) / (1 - p2)) ** 2
    law = {w: (1 - none) * p for w, p in discrete_laplace_law(worse).items()}
    return law | {0: law[0] + none}


CHAINS = [
    Law(Chain(scales), s, vectors(s, size), chain_law, Chain(scales, anew=True), 0.99)
    for scales, s, size in (
        ((F(2), F(1)), ONE, 1),
        ((F(1, 2), F(1, 4)), TWO, 2),
        ((F(2, 3), F(1, 2), F(1, 3)), ONE, 1),
    )
]


# ------------------------------------------------------------------------------------------------------------- selections
def selected(mechanism: Any, scores: Sequence[int]) -> Probabilities:
    """Law of the picks: one pick, again and again among those that are left."""
    flips = isinstance(mechanism, selection.PermuteAndFlip)
    counts = None if flips else mechanism.counts

    def of(left: tuple[int, ...], picks: int) -> Probabilities:
        if picks == 0:
            return {(): 1.0}
        here = [scores[i] for i in left]
        weights = None if counts is None else [counts[i] for i in left]
        one = (
            permute_and_flip_law(here, mechanism.rate)
            if flips
            else exponential_mechanism_law(here, mechanism.rate, weights)
        )
        law = {}
        for place, p in one.items():
            rest = left[:place] + left[place + 1 :]
            law |= {(left[place], *more): p * q for more, q in of(rest, picks - 1).items()}
        return law

    return of(tuple(range(len(scores))), mechanism.picks)


def in_parts(mechanism: Any, scores: Sequence[int]) -> Probabilities:
    """A choice of one in each part, independently."""
    size = len(scores) // mechanism.parts
    parts = [scores[at : at + size] for at in range(0, len(scores), size)]
    return independent([{out: p for (out,), p in selected(mechanism.choice, part).items()} for part in parts])


RANGED, UP = Sensitivity(3, 3, 1, range=2), Sensitivity(3, 3, 1, range=1)
SCORES = [([4, 0, 1], [3, 1, 2]), ([9, 8, 0], [8, 9, 1])]
SCORES += [([0, 0, 0], list(moved)) for moved in product((-1, 0, 1), repeat=3)]


def choices(family: Any) -> list[Law]:
    made = [family.calibrate(F(2), RANGED), family.calibrate(F(2), RANGED, 2)]
    if family is selection.ExponentialMechanism:
        made.append(family.calibrate(F(2), RANGED, 1, (1, 5, 2)))
    return [Law(m, RANGED, SCORES, selected, replace(m, rate=6 * m.rate), 0.3) for m in made]


BY_PART = Sensitivity(2, 2, 1)
PARTS = [([0, 0, 5, 0], [1, 0, 5, 1]), ([0, 0, 0, 0], [1, 0, -1, 0])]
PARTS += [([1, 1, 0, 0], [0, 2, 0, 0]), ([0, 9, 0, 9], [1, 9, 1, 9])]


# --------------------------------------------------------------------------------------------------------------- quantiles
def points(rows: Sequence[int]) -> list[Points]:
    offsets, counts = np.unique(np.array(rows, dtype=np.int64), return_counts=True)
    return [Points(offsets, counts.astype(np.int64))]


def rows_of(exact: list[Points]) -> list[int]:
    ((offsets, counts),) = exact
    return np.repeat(offsets, counts).tolist()


def by_rank(q: F, rate: F, rows: Sequence[int], low: int, high: int) -> dict[int, float]:
    """Points low..high in proportion to exp(-rate (distance of q n from [rows below, rows at or below]))."""
    target, weights = q * len(rows), {}
    for o in range(low, high + 1):
        below, upto = sum(row < o for row in rows), sum(row <= o for row in rows)
        weights[o] = math.exp(-float(rate * max(below - target, target - upto, 0)))
    return {o: w / sum(weights.values()) for o, w in weights.items()}


def quantile(mechanism: Quantile, exact: list[Points]) -> Probabilities:
    law = by_rank(mechanism.q, mechanism.rate, rows_of(exact), 0, mechanism.cells)
    return {(o,): p for o, p in law.items()}


TIES = 1  # random bits of a row where laws are enumerated, in place of 16


def recursive(mechanism: RecursiveQuantiles, exact: list[Points]) -> Probabilities:
    """Over all places of the rows within their points: the middle level first, the others on its two sides."""

    def of(
        levels: tuple[F, ...], first: F, last: F, rows: list[int], low: int, high: int
    ) -> dict[tuple[int, ...], float]:
        if not levels:
            return {(): 1.0}
        middle, law = len(levels) // 2, {}
        relative = (levels[middle] - first) / (last - first)
        spread = F(1) if relative in (0, 1) else 2 * max(relative, 1 - relative)
        for v, p in by_rank(relative, mechanism.rate / spread, rows, low, high).items():
            left = of(levels[:middle], first, levels[middle], [r for r in rows if r < v], low, v)
            right = of(levels[middle + 1 :], levels[middle], last, [r for r in rows if r >= v], v, high)
            for (a, pa), (b, pb) in product(left.items(), right.items()):
                law[(*a, v, *b)] = law.get((*a, v, *b), 0) + p * pa * pb
        return law

    rows, law, places = rows_of(exact), defaultdict(float), 1 << TIES
    for within in product(range(places), repeat=len(rows)):
        placed = [row * places + place for row, place in zip(rows, within, strict=True)]
        for out, p in of(mechanism.levels, F(0), F(1), placed, 0, (mechanism.cells + 1) * places - 1).items():
            law[tuple(v >> TIES for v in out)] += p / places ** len(rows)
    return dict(law)


def with_few_ties(mechanism: RecursiveQuantiles, exact: list[Points], n: int) -> list[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quantiles, "TIES", TIES)
        return [mechanism.draw(Exact(exact), random_bytes) for _ in range(n)]


def added(values: Sequence[int], most: int) -> list[tuple[Any, Any]]:
    """All tables of up to `most` rows, and each with a row more."""
    tables_ = [rows for n in range(most + 1) for rows in combinations_with_replacement(values, n)]
    return [(points(sorted((*rows, row))), points(rows)) for rows in tables_[::-1] for row in values]


RANKS = LatticeCounts("x", Lattice(F(1), 0, 4)).sensitivity(PrivacyUnit())
QUANTILE = [
    Law(made, RANKS, added((0, 1, 4), 3), quantile, replace(made, rate=2 * made.rate), 0.5)
    for q in (F(1, 2), F(0), F(2, 3))
    for made in [Quantile.calibrate(q, 4, F(1), RANKS)]
]
THREE = RecursiveQuantiles.calibrate((F(1, 4), F(1, 2), F(3, 4)), 1, F(2), RANKS)
RECURSIVE = [
    Law(THREE, RANKS, added((0, 1), 1), recursive, replace(THREE, rate=12 * THREE.rate), 0.3, draw=with_few_ties),
]


def ladder(mechanism: Ladder, exact: list[Points]) -> Probabilities:
    """A point, then for the cuts around it the rows of each cell, counted one by one, with noise."""
    rows, law = rows_of(exact), {}
    for (o,), p in quantile(mechanism.choices[0], exact).items():
        edges = [-1, *quantiles.cuts([o], mechanism.choices[0].cells), 10**9]
        cells = [sum(low < row <= high for row in rows) for low, high in pairwise(edges)]
        for noisy, chance in moved_by(laplace_noise)(mechanism.noise, cells).items():
            law[(o, *noisy)] = p * chance
    return law


RUNGS = Ladder((Quantile.calibrate(F(1, 2), 1, F(1, 2), RANKS),), laplace.DiscreteLaplace.calibrate(F(1), RANKS))
LADDER = [
    Law(RUNGS, RANKS, added((0, 1), 2), ladder, replace(RUNGS, noise=laplace.DiscreteLaplace(F(1, 3))), 0.8),
]


def winsorized_law(mechanism: Any, exact: list[Points]) -> Probabilities:
    """Two quartiles, independent, then the clipped sum with noise for their distance."""
    rows, law = rows_of(exact), defaultdict(float)
    lower, upper = (by_rank(q, mechanism.epsilon / 8, rows, 0, mechanism.cells) for q in (F(1, 4), F(3, 4)))
    for (x, p), (y, q) in product(lower.items(), upper.items()):
        a, b = min(x, y), max(x, y)
        beyond = math.ceil(mechanism.reach * (b - a))
        low, high = max(a - beyond, 0), min(b + beyond, mechanism.cells)
        total = sum(min(max(row, low), high) - low for row in rows)
        noise_ = {0: 1.0} if low == high else _wide(F(2 * (high - low)) / mechanism.epsilon)
        for z, r in noise_.items():
            law[(a, b, total + z)] += p * q * r
    return dict(law)


@cache
def _wide(scale: F) -> dict[int, float]:
    return {z: p for z, p in discrete_laplace_law(scale).items() if abs(z) <= 16 * scale}


VALUE = Sensitivity(2, 2, 1)  # one value of a public number of them is replaced
WINSORIZED = winsorized.WinsorizedSum.calibrate(F(2), F(1), 3, VALUE)
REPLACED = [
    (points(sorted((*rest, a))), points(sorted((*rest, b))))
    for rest in ((0, 3), (0, 0), (1, 3), (3, 3))
    for a, b in product((0, 3), (0, 1, 3))
]
OF_VALUES = Ladder((Quantile.calibrate(F(1, 2), 1, F(1, 2), VALUE),), laplace.DiscreteLaplace.calibrate(F(2), VALUE))
LADDER += [
    Law(
        OF_VALUES,
        VALUE,
        [(points(sorted((*rest, 0))), points(sorted((*rest, 1)))) for rest in ((0, 1), (0, 0), (1, 1))],
        ladder,
        replace(OF_VALUES, noise=laplace.DiscreteLaplace(F(1, 3))),
        0.85,
    ),
]


# --------------------------------------------------------------------------------------------------------- smooth noise
@np.vectorize
def _quartic(z: float) -> float:
    return float(integrate.quad(lambda t: 1 / (1 + t**4), z, math.inf, epsabs=1e-13)[0] * math.sqrt(2) / math.pi)


UPPER: dict[str, Callable[[np.ndarray], np.ndarray]] = {  # P(Z > z) for z >= 0
    "cauchy": stats.cauchy.sf,
    "student_t": stats.t(3).sf,
    "polynomial": _quartic,
    "polynomial_laplace": lambda z: (1 + z) ** -3 / 2,
    "laplace": lambda z: np.exp(-z) / 2,
    "gaussian": stats.norm.sf,
}
FARTHEST = 150  # outputs beyond are one


def rounded(upper: Callable[[np.ndarray], np.ndarray], scale: float, value: int = 0) -> dict[int, float]:
    """Law of value + scale Z, rounded; what lies FARTHEST or farther from 0 is one output on each side."""
    tails = upper((np.arange(FARTHEST + abs(value) + 1) + 0.5) / scale).tolist()

    def below(z: int) -> float:  # P(output <= z), seen from the nearer tail
        k = z - value
        return 1 - tails[k] if k >= 0 else tails[-k - 1]

    law = {-FARTHEST: below(-FARTHEST), FARTHEST: tails[FARTHEST - value - 1]}
    for z in range(-FARTHEST + 1, FARTHEST):
        k = abs(z - value)
        law[z] = 1 - 2 * tails[0] if k == 0 else tails[k - 1] - tails[k]
    return law


def smooth_law(mechanism: SmoothNoise, exact: list[tuple[int, int]]) -> Probabilities:
    return independent(
        [
            rounded(UPPER[mechanism.law], math.exp(log_scale / 2**LOG_BITS) / float(mechanism.alpha), value)
            for value, log_scale in exact
        ]
    )


def ended(output: list[int]) -> tuple[int, ...]:
    return tuple(min(max(z, -FARTHEST), FARTHEST) for z in output)


@dataclass(frozen=True)
class _Bold(SmoothNoise):
    """Smooth noise with a share of its width."""

    @property
    def alpha(self) -> F:
        return super().alpha * 3


def smooth_noise(law: str, near: float) -> Law:
    delta = F(1, 10**3) if law in smooth_mechanism.NEED_DELTA else F(0)
    made = SmoothNoise(law, F(2), delta)
    width = 3 << LOG_BITS  # S is 20.1
    less = width - math.floor(made.beta * 2**LOG_BITS)
    pairs = []
    for a, b in ((width, less), (less, width), (width, width)):
        most = math.floor(math.exp(min(a, b) / 2**LOG_BITS))  # as far as the smaller one of both allows
        pairs += [([(0, a)], [(moved, b)]) for moved in (most, -most, 0)]
    s = SmoothSensitivity(20, 400, 20, beta=made.beta)
    return Law(made, s, pairs, smooth_law, _Bold(law, F(2), delta), near, ended)


# --------------------------------------------------------------------------------------------------------------- key lists
def keyed(counts: Sequence[int]) -> tuple[list[int], Any]:
    """Counts of the keys that are there: those of 0 rows are not."""
    there = [place for place, count in enumerate(counts) if count]
    return [counts[place] for place in there], lambda found: [["abc"[there[i]]] for i in found]


def names_of(exact: Any) -> list[tuple[str, int]]:
    counts, names = exact
    return [(name, count) for (name,), count in zip(names(np.arange(len(counts))), counts, strict=True)]


def listing(output: list[list[Any]]) -> Hashable:
    return tuple(map(tuple, output))


def combined(each: list[tuple[str, dict[tuple[Any, ...] | None, float]]]) -> Probabilities:
    law: Probabilities = {(): 1.0}
    for _, outcomes in sorted(each):
        law = {
            before if out is None else (*before, out): p * q for before, p in law.items() for out, q in outcomes.items()
        }
    return law


def threshold_law(mechanism: Any, exact: Any) -> Probabilities:
    """Each key by itself: not listed, or listed with its noisy count."""
    p, t, each = math.exp(-1 / float(mechanism.noise.scale)), mechanism.threshold, []
    for name, count in names_of(exact):
        outcomes: dict[Any, float] = {None: 1 - tail(p, t - count)}
        outcomes |= {(name, y): (1 - p) / (1 + p) * p ** abs(y - count) for y in range(t, t + 40)}
        each.append((name, outcomes))
    return combined(each)


def chance(epsilon: float, delta: float, n: int) -> float:
    """The largest probability that both limits allow, one unit after the other."""
    found = 0.0
    for _ in range(n):
        found = min(math.exp(epsilon) * found + delta, 1 - math.exp(-epsilon) * (1 - found - delta), 1.0)
    return found


def optimal_law(mechanism: Any, exact: Any) -> Probabilities:
    each = []
    for name, count in names_of(exact):
        listed = chance(float(mechanism.epsilon), float(mechanism.delta), count)
        each.append((name, {None: 1 - listed, (name,): listed}))
    return combined(each)


KEYS = KeySensitivity(1, 1, 1)
KEY_PAIRS = [(keyed(a), keyed(b)) for a, b in (((0, 3), (1, 3)), ((2, 1), (1, 1)), ((3, 0), (4, 0)), ((0, 0), (0, 1)))]
THRESHOLD = key_selection.NoisyThreshold.calibrate(laplace.DiscreteLaplace(F(1)), KEYS, F(1, 20))
OPTIMAL = key_selection.OptimalSelection(F(1), F(1, 20))


# --------------------------------------------------------------------------------------------------------- sparse vector
def transcripts(most: int, questions: int) -> list[tuple[int, ...]]:
    """All transcripts; a stream ends with its last positive answer."""
    found = set()
    for bits in product((0, 1), repeat=questions):
        cut = next((i + 1 for i in range(questions) if sum(bits[: i + 1]) == most), questions)
        found.add(bits[:cut])
    return sorted(found)


def sparse_law(x: Sequence[int], most: int, p: F, q: F, threshold: int = 0) -> dict[tuple[int, ...], F]:
    """Exact probability of every transcript for exact results x, P(u >= z) = p^z, P(v >= z) = q^z."""
    first = max(0, max(x) - threshold)  # from here on no bound is negative
    result = {}
    for bits in transcripts(most, len(x)):
        total = F(0)
        for z in range(first):
            term = (1 - p) * p**z
            for bit, xi in zip(bits, x, strict=False):
                tail_ = q ** max(0, threshold + z - xi)
                term *= tail_ if bit else 1 - tail_
            total += term
        coefficients = [F(1)]  # of powers of q^(z - first)
        for bit, xi in zip(bits, x, strict=False):
            c = q ** (threshold + first - xi)
            shifted = [F(0), *(c * a for a in coefficients)]
            kept = [*coefficients, F(0)]
            coefficients = shifted if bit else [a - b for a, b in zip(kept, shifted, strict=True)]
        total += sum(c * (1 - p) * p**first / (1 - p * q**j) for j, c in enumerate(coefficients))
        result[bits] = total
    assert sum(result.values()) == 1
    return result


def streamed(mechanism: Any, exact: list[int]) -> Probabilities:
    p, q = (F(math.exp(-1 / scale)) for scale in (mechanism.threshold_scale, mechanism.question_scale))
    return {out: float(p_) for out, p_ in sparse_law(exact, mechanism.most, p, q, mechanism.threshold).items()}


def from_started(mechanism: Any, exact: list[int], n: int) -> list[Any]:
    """Whole transcripts of what `start` gives."""
    found = []
    for _ in range(n):
        started, bits = mechanism.start(ONE, random_bytes), []
        for x in exact:
            bits += started.draw(Exact([x]), random_bytes)
            if sum(bits) == mechanism.most:
                break
        found.append(bits)
    return found


SPARSE = sparse_vector.SparseVector(1, F(2), F(3), 2)
STREAMED = [
    (x, [a + b for a, b in zip(x, move, strict=True)])
    for x in ([0, 1, 0], [-1, 2, 1])
    for move in product((-1, 1), repeat=3)
]
BOLD = replace(SPARSE, question_scale=F(1), threshold_scale=F(1))
SPARSE_LAWS = [Law(SPARSE, ONE, STREAMED, streamed, BOLD, 0.8, draw=from_started)]


# ------------------------------------------------------------------------------------------------------ randomized response
def response(mechanism: Any, codes: Any) -> Probabilities:
    """Sorted answers of independent entries."""
    law: Probabilities = defaultdict(float)
    for out in product(range(mechanism.parts), repeat=len(codes)):
        kept = F(mechanism.keep, 1 << 64)
        each = [
            (1 - (kept if code >= 0 else 0)) / mechanism.parts + (kept if code == part else 0)
            for code, part in zip(codes, out, strict=True)
        ]
        law[tuple(sorted(out))] += float(math.prod(each))
    return dict(law)


RESPONSE = randomized_response.RandomizedResponse.calibrate(F(1), 3)
ANSWERS = [(np.array(a), np.array(b)) for a, b in (([0, 1], [0, 2]), ([0], [1]), ([-1], [2]), ([0, 0], [0, -1]))]

MECHANISMS: dict[type, list[Law]] = {
    laplace.DiscreteLaplace: LAPLACE,
    gaussian.DiscreteGaussian: GAUSSIAN,
    refined.RefinedLaplace: CHAINS,
    selection.PermuteAndFlip: choices(selection.PermuteAndFlip),
    selection.ExponentialMechanism: choices(selection.ExponentialMechanism),
    selection.PartByPart: [
        Law(
            selection.PartByPart(choice(F(1, 2)), 2),
            BY_PART,
            PARTS,
            in_parts,
            selection.PartByPart(choice(F(4)), 2),
            0.4,
        )
        for choice in (selection.PermuteAndFlip, selection.ExponentialMechanism)
    ],
    quantiles.Quantile: QUANTILE,
    quantiles.RecursiveQuantiles: RECURSIVE,
    quantiles.Ladder: LADDER,
    winsorized.WinsorizedSum: [
        Law(WINSORIZED, VALUE, REPLACED, winsorized_law, replace(WINSORIZED, epsilon=4 * WINSORIZED.epsilon), 0.4)
    ],
    smooth_mechanism.SmoothNoise: [smooth_noise(law, 0.1) for law in smooth_mechanism.DRAWS],
    key_selection.NoisyThreshold: [
        Law(
            THRESHOLD,
            KEYS,
            KEY_PAIRS,
            threshold_law,
            replace(THRESHOLD, threshold=THRESHOLD.threshold - 1),
            0.4,
            listing,
        )
    ],
    key_selection.OptimalSelection: [
        Law(OPTIMAL, KEYS, KEY_PAIRS, optimal_law, replace(OPTIMAL, delta=F(1, 8)), 0.9, listing)
    ],
    sparse_vector.SparseVector: SPARSE_LAWS,
    sparse_vector.StartedSparseVector: SPARSE_LAWS,  # it draws for them
    randomized_response.RandomizedResponse: [
        Law(RESPONSE, ONE, ANSWERS, response, replace(RESPONSE, keep=2 * RESPONSE.keep), 0.9)
    ],
}
NO_MECHANISMS: dict[type, str] = {
    tables.CodeTable: "takes no exact input: it stands among the samplers",
    MeanNoise: "draws nothing: it says how far off the mean of draws is",
}
