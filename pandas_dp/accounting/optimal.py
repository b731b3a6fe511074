"""The best that can be said of k mechanisms of which only their epsilons are known, fixed beforehand.

Every epsilon-DP mechanism is a post-processing of randomized response, whose loss is +epsilon with probability
e^epsilon / (1 + e^epsilon) and else -epsilon. So the composition is no worse than that of randomized responses, and
delta(g) = sum over losses v > g of P(v) (1 - e^(g - v)) is attained.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pandas_dp.accounting.rounding import EXACT, SLACK, above, decimal
from pandas_dp.core.plans import grid_step, law_of_losses

MOST_QUERIES = 100_000
MOST_DIFFERENT = 20_000


def optimal_epsilon(parts: list[tuple[Fraction, int]], target: Fraction) -> Fraction:
    """Least total epsilon at this delta, rounded up: exact for equal epsilons, else an upper bound.

    Parameters
    ----------
    parts : list of (epsilon, times)
        Different epsilons.
    target : Fraction
        Delta, positive.
    """
    if len(parts) == 1:
        return _equal(*parts[0], target)
    return min(_different(parts, target), sum((epsilon * times for epsilon, times in parts), Fraction(0)))


def _equal(epsilon: Fraction, times: int, target: Fraction) -> Fraction:
    """K equal epsilons (Kairouz, Oh, Viswanath 2015, Theorem 3.3), solved for the total.

    With l positive losses of k the sum is v = (2l - k) epsilon. Between two of these values delta(g) = A - e^g B,
    where A and B are the probabilities of larger losses under the one and the other table, so the root is a logarithm.
    """
    with localcontext(EXACT):
        e, goal = decimal(epsilon), decimal(target)
        shrink = (-e).exp()
        p = (1 / (1 + shrink)) ** times  # of l = k
        q = p * (-times * e).exp()
        more_p = more_q = Decimal(0)
        growth = (times * e).exp()  # e^v
        for positive in range(times, -1, -1):
            loss = (2 * positive - times) * e
            if more_p - max(growth, Decimal(1)) * more_q > goal:
                root = ((more_p * (1 + decimal(SLACK)) - goal) / more_q).ln()
                return above(min(root, loss + 2 * e))
            if loss <= 0:
                return Fraction(0)
            more_p, more_q = more_p + p, more_q + q
            ratio = Decimal(positive) / (times - positive + 1)
            p, q, growth = p * ratio * shrink, q * ratio / shrink, growth * shrink * shrink
    raise ArithmeticError("the smallest loss is not above zero")


def _different(parts: list[tuple[Fraction, int]], target: Fraction) -> Fraction:
    """Different epsilons: upper bound of Murtagh and Vadhan (2016, Theorem 1.5) on a grid.

    The exact value is #P-hard. Rounding each epsilon up to a multiple of a step only makes it larger, and then all
    sums lie on a grid. The law is built in floats by adding and multiplying positive numbers, so its relative error is
    a few units in the last place a query; all of it goes to the safe side.
    """
    step = grid_step(parts)
    law = law_of_losses(parts, step)  # (cells + 1,)
    last = law.size - 1
    queries, width = sum(times for _, times in parts), 2 * float(step)
    slack = 1e-14 * (queries + last * float(step) + 100)
    goal = float(target) * (1 - 1e-15) / (1 + slack)
    # the losses are (2j - last) step; the first index of a loss >= 0, and the first whose delta is small enough
    low, high = -(-last // 2), last
    if low < high and _delta(law, low, width) <= goal:
        high = low
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _delta(law, middle, width) <= goal else (middle, high)
    tail = law[high:]
    more_p = float(tail.sum()) * (1 + slack)
    more_q = float(tail @ np.exp(-width * np.arange(tail.size))) * (1 - slack)  # times e^loss
    loss = (2 * high - last) * step
    if more_p <= float(target) * (1 - 1e-15) or more_q <= 0:
        return max(loss if more_q <= 0 else Fraction(0), Fraction(0))
    root = math.log((more_p - float(target) * (1 - 1e-15)) / more_q)
    return max(Fraction(0), loss + min(Fraction(0), Fraction(root) + Fraction(slack)))


def _delta(law: NDArray[np.float64], index: int, width: float) -> float:
    """Return delta(g) at the loss of this index."""
    tail = law[index + 1 :]
    return float(tail @ -np.expm1(-width * np.arange(1, tail.size + 1)))


def is_exact(parts: list[tuple[Fraction, int]]) -> bool:
    """Whether nothing is rounded but the last digits: one epsilon, or all on one grid."""
    step = grid_step(parts) if len(parts) > 1 else parts[0][0]
    return all((epsilon / step).denominator == 1 for epsilon, _ in parts)
