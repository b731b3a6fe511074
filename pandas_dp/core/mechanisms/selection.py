"""Choosing one of finitely many public candidates: permute-and-flip and the exponential mechanism."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pandas_dp.core.measurement import Exact, Noisy
from pandas_dp.core.privacy import PrivacyLoss, Sensitivity
from pandas_dp.core.randomness import Fill, random_bytes
from pandas_dp.core.samplers.selection import exponential_mechanism, permute_and_flip


@dataclass(frozen=True)
class PermuteAndFlip:
    """Chooses candidates by permute-and-flip: one kept with probability exp(-rate (best - score)) in random order.

    With several ``picks`` it chooses again among those that are left.

    Notes
    -----
    For all integer score vectors whose changes differ by at most `score_range` between any two candidates the loss is
    pure rate * score_range for each pick (the picks before are public). It is not bounded-range, so no smaller zCDP
    parameter is claimed. Source: McKenna, Sheldon 2020, Theorems 1-3.
    """

    rate: Fraction
    picks: int = 1

    name = "permute-and-flip"

    @classmethod
    def calibrate(cls, epsilon: Fraction, sensitivity: Sensitivity, picks: int = 1) -> PermuteAndFlip:
        """Return the sharpest choice whose loss is epsilon."""
        return cls(epsilon / (sensitivity.score_range * picks), picks)

    def loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """Pure rate * score_range for each pick."""
        return PrivacyLoss.pure(self.rate * sensitivity.score_range).times(self.picks)

    def draw(self, exact: Exact, fill: Fill = random_bytes) -> Noisy:
        """Indexes of the chosen candidates, in the order of their choice."""
        return _peel(permute_and_flip, exact, self.rate, self.picks, fill)


@dataclass(frozen=True)
class ExponentialMechanism:
    """Chooses candidate i with probability proportional to counts_i exp(rate score_i).

    Without ``counts``, the base measure, all are 1. With several ``picks`` it chooses again among those that are left.

    Notes
    -----
    For all integer score vectors whose changes differ by at most `score_range` between any two candidates the loss is
    pure rate * score_range for each pick (the picks before are public), and bounded-range with the same parameter.
    Source: McSherry, Talwar 2007, Theorem 6; Dong, Durfee, Rogers 2020.
    """

    rate: Fraction
    picks: int = 1
    counts: tuple[int, ...] | None = None

    name = "exponential mechanism"

    @classmethod
    def calibrate(
        cls, epsilon: Fraction, sensitivity: Sensitivity, picks: int = 1, counts: tuple[int, ...] | None = None
    ) -> ExponentialMechanism:
        """Return the sharpest choice whose loss is epsilon."""
        return cls(epsilon / (sensitivity.score_range * picks), picks, counts)

    def loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """Pure rate * score_range for each pick, bounded-range."""
        return PrivacyLoss.pure(self.rate * sensitivity.score_range, bounded_range=True).times(self.picks)

    def draw(self, exact: Exact, fill: Fill = random_bytes) -> Noisy:
        """Indexes of the chosen candidates, in the order of their choice."""
        if self.counts is None:
            return _peel(exponential_mechanism, exact, self.rate, self.picks, fill)
        return _peel(exponential_mechanism, exact, self.rate, self.picks, fill, np.array(self.counts, dtype=np.int64))


@dataclass(frozen=True)
class PartByPart:
    """Chooses one candidate in each part of the rows, from scores of part after part; as many candidates in each.

    Notes
    -----
    Within a part the changes of two scores differ by at most the L1 norm of that part's change: where one rises by a and
    the other falls by b, that is a + b. So the loss of a part's choice is pure rate times that norm, bounded-range for the
    exponential mechanism; the choices are independent and the norms add up to at most `l1`.
    Source: as `PermuteAndFlip` and `ExponentialMechanism`; McSherry 2009 for disjoint parts.
    """

    choice: PermuteAndFlip | ExponentialMechanism
    parts: int

    @property
    def name(self) -> str:
        """That of the choice."""
        return self.choice.name

    def loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """Pure rate * l1 in all."""
        return PrivacyLoss.pure(self.choice.rate * sensitivity.l1, isinstance(self.choice, ExponentialMechanism))

    def draw(self, exact: Exact, fill: Fill = random_bytes) -> Noisy:
        """Index of the chosen candidate of each part."""
        scores = np.asarray(exact.held(), dtype=np.int64).reshape(self.parts, -1)
        return [self.choice.draw(Exact(part), fill)[0] for part in scores]


def _peel(
    choose: Callable[..., int],
    exact: Exact,
    rate: Fraction,
    picks: int,
    fill: Fill,
    counts: NDArray[np.int64] | None = None,
) -> Noisy:
    scores = np.asarray(exact.held(), dtype=np.int64)
    left, chosen = np.arange(scores.size), []
    for _ in range(picks):
        weights = () if counts is None else (counts[left],)
        place = choose(scores[left], rate, *weights, fill=fill)
        chosen.append(int(left[place]))
        left = np.delete(left, place)
    return chosen
