"""Prices that are declared before the first answer: what they cost together, and what that leaves for others.

Every epsilon-DP mechanism, interactive ones too, is a post-processing of one randomized response, whose loss is +epsilon with
probability e^epsilon / (1 + e^epsilon) and else -epsilon (Kairouz, Oh, Viswanath 2015; Vadhan, Wang 2021). So mechanisms
whose epsilons are fixed beforehand, in any order and with queries that depend on answers, are together no worse than their
randomized responses: delta(g) = sum over losses v > g of P(v) (1 - e^(g - v)). This is false where an epsilon may depend on
an answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Parts = Sequence[tuple[Fraction, int]]
"""Different epsilons, each with how often it is paid."""
MOST_PLANNED = 10_000  # prices of a plan
_CELLS = 200_000
_ADDITIONS = 2 * 10**9
_LOST = 1e-300  # of probability, at most: what floats round down to 0, at most 1e-323 in each addition


class DeclaredPlan:
    """The loss of all declared prices together, and what a filter of plain epsilons may spend beside them.

    Parameters
    ----------
    parts : sequence of (epsilon, times)
    """

    def __init__(self, parts: Parts) -> None:
        self.step = grid_step(parts)
        self.law = law_of_losses(parts, self.step)  # (cells + 1,)
        last, queries = self.law.size - 1, sum(times for _, times in parts)
        self.losses = (2 * np.arange(last + 1) - last) * float(self.step)
        # relative: a few units in the last place for each factor of a probability, and for each term of a sum
        self.slack = 1e-14 * (queries + last + 100)

    def delta(self, total: float) -> float:
        """Upper bound of delta at a total epsilon."""
        g = total - 1e-12 * (1 + abs(total) + float(self.losses[-1]))  # lower by more than floats err: delta falls in g
        first = int(np.searchsorted(self.losses, g, side="right"))
        if first == self.losses.size:
            return 0.0
        return float(self.law[first:] @ -np.expm1(g - self.losses[first:])) * (1 + self.slack) + _LOST

    def beside(self, epsilon: Fraction, delta: Fraction) -> Fraction | None:
        """Largest epsilon, down to six digits, of a filter beside the plan; None where the plan alone is too much.

        A filter that spends at most e is one mechanism with an epsilon of e, hence one more randomized response, whose
        loss the law is mixed with.
        """
        total, goal = float(epsilon), float(delta) * (1 - 1e-9)

        def fits(e: float) -> bool:
            yes = 1 / (1 + math.exp(-e))
            return (yes * self.delta(total - e) + (1 - yes) * self.delta(total + e)) * (1 + 1e-9) <= goal

        if not fits(0.0):
            return None
        low, high = 0.0, total
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (middle, high) if fits(middle) else (low, middle)
        return Fraction(math.floor(low * 10**6), 10**6)


def grid_step(parts: Parts) -> Fraction:
    """The coarsest step of which all epsilons are multiples, if that makes few cells; else one that makes few cells."""
    queries = sum(times for _, times in parts)
    total = sum((epsilon * times for epsilon, times in parts), Fraction(0))
    cells = max(2 * queries, min(_CELLS, _ADDITIONS // queries))
    common = math.lcm(*(epsilon.denominator for epsilon, _ in parts))
    exact = Fraction(math.gcd(*(int(epsilon * common) for epsilon, _ in parts)), common)
    return exact if total / exact <= cells else total / (cells - queries)


def law_of_losses(parts: Parts, step: Fraction) -> NDArray[np.float64]:
    """Probability of each sum of the positive losses, in steps; shape (cells + 1,)."""
    law = np.ones(1)  # floats: sums and products of positive numbers, whose error `Plan.slack` covers
    for epsilon, times in parts:
        cells = math.ceil(epsilon / step)
        no = math.exp(-float(cells * step))
        yes, no = 1 / (1 + no), no / (1 + no)
        for _ in range(times):
            longer = np.zeros(law.size + cells)
            longer[: law.size] = no * law
            longer[cells:] += yes * law
            law = longer
    return law
