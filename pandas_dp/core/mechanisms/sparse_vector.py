"""The sparse vector technique: many questions "is it above?", of which only the positive answers are paid."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from pandas_dp.core.measurement import Exact, Interactive, Noisy
from pandas_dp.core.privacy import PrivacyLoss, Sensitivity
from pandas_dp.core.randomness import Bits, Fill
from pandas_dp.core.samplers.scalar import draw_geometric
from pandas_dp.errors import QueryFailedError


@dataclass(frozen=True)
class SparseVector(Interactive):
    """Answers 1 where x + v >= threshold + u, until it has done so `most` times; for one integer x a look.

    u is geometric, P(u = z) proportional to exp(-z / threshold_scale) for z = 0, 1, 2, ..., and drawn once, when it is
    started; v is geometric with `question_scale`, and drawn afresh for every question. Neither is ever shown.

    Notes
    -----
    *Claim.* Let every x move by at most D (`linf`) between neighbours, all questions adaptively chosen. All answers
    together, however many, are pure a + most b with a = D / threshold_scale, b = 2 D / question_scale; where all x move
    in one direction (`rising`) b = D / question_scale is enough.

    *Proof.* Fix a transcript, hence the questions, with at most `most` ones, and let x_i, y_i be the exact results on two
    neighbours. Given u the answers are independent, so its probability is the sum over z >= 0 of P(u = z) times
    P(v < threshold + z - x_i) for each 0 and P(v >= threshold + z - x_i) for each 1. Compare the term z of the one table
    with the term z + D of the other: P(u = z) = exp(a) P(u = z + D). For a 0, threshold + z - x_i <= threshold + z + D -
    y_i, so the factor does not fall. For a 1 the bound rises by D + x_i - y_i, which lies in 0..2 D, and
    P(v >= t) <= exp(s / question_scale) P(v >= t + s) for all integers t and s >= 0, as P(v >= t) = min(1, exp(-t / scale)).
    Summing over z gives exp(a + most b). If all x_i <= y_i, the bounds rise by at most D, so b = D / question_scale
    from x to y; and from y to x compare equal z: for a 0 the factor does not fall, for a 1 the bound rises by y_i - x_i <= D.
    Source: Lyu, Su, Li 2017, Algorithm 1, with one-sided noise; Dwork, Naor, Reingold, Rothblum, Vadhan 2009.
    """

    threshold: int
    threshold_scale: Fraction
    question_scale: Fraction
    most: int

    name = "sparse vector"

    def loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """Of all answers together; see the class notes."""
        sides = 1 if sensitivity.rising else 2
        each = Fraction(sides * sensitivity.linf) / self.question_scale
        return PrivacyLoss.pure(Fraction(sensitivity.linf) / self.threshold_scale + self.most * each)

    def start(self, sensitivity: Sensitivity, fill: Fill) -> StartedSparseVector:
        """Draw the noise of the threshold."""
        return StartedSparseVector(self, sensitivity, fill)


class StartedSparseVector:
    """A sparse vector whose loss is paid: the noisy threshold, and how many positive answers are left."""

    __slots__ = ("_left", "_paid", "_terms", "_threshold")

    def __init__(self, terms: SparseVector, paid: Sensitivity, fill: Fill) -> None:
        self._terms, self._paid, self._left = terms, paid, terms.most
        self._threshold = terms.threshold + _geometric(terms.threshold_scale, fill)

    def loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """Nothing more, for what was paid.

        Raises
        ------
        QueryFailedError
            A result may move further than those paid for, or against them.
        """
        if sensitivity.linf > self._paid.linf or (self._paid.rising and not sensitivity.rising):
            raise QueryFailedError
        return PrivacyLoss()

    def draw(self, exact: Exact, fill: Fill) -> Noisy:
        """Return [1] for above, [0] for below.

        Raises
        ------
        QueryFailedError
            All positive answers were given.
        """
        if self._left < 1:
            raise QueryFailedError
        (x,) = exact.open()
        above = x + _geometric(self._terms.question_scale, fill) >= self._threshold
        self._left -= above
        return [int(above)]

    def __repr__(self) -> str:
        """Show nothing of the secret."""
        return "<started sparse vector>"

    def __reduce__(self) -> Any:
        """Refuse: a copy would give the positive answers again."""
        raise TypeError("a started sparse vector cannot be pickled or copied")


def _geometric(scale: Fraction, fill: Fill) -> int:
    numerator, denominator = scale.as_integer_ratio()
    return draw_geometric(numerator, denominator, Bits(fill))
