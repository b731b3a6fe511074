"""A total split so that every error is the same multiple of the wanted one: arithmetic on public facts alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from pandas_dp.errors import ArgumentValueError

MILLION = 10**6
FACTOR, HALVINGS = 1024.0, 24  # an error is searched between 1/1024 and 1024 times the wanted one, to 7 digits


def prices_for(total: Fraction, least: Callable[[float], list[Fraction]], line: str) -> list[Fraction]:
    """Prices that sum to the total, of some wanted errors, all times the least common factor that this pays for.

    The least epsilon for an error never rises as the error grows, so bisection finds the factor.

    Parameters
    ----------
    total : Fraction
    least : callable (factor)
        Least epsilon of each answer for its wanted error times a factor.
    line : str
        What to type instead.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        What `least` raises, and where no factor up to 1024 is enough.
    """
    low, high = 1 / FACTOR, 1.0
    found = least(high)
    if sum(found) > total:
        low, high = 1.0, FACTOR
        found = least(high)
        if sum(found) > total:
            raise ArgumentValueError(f"epsilon is too small for errors 1,000 times as large as within= says: {line}")
    for _ in range(HALVINGS):
        middle = math.sqrt(low * high)
        trial = least(middle)
        if sum(trial) <= total:
            high, found = middle, trial
        else:
            low = middle
    # what whole numbers of rows leave over makes every answer better in the same proportion
    step = total / MILLION
    prices = [max(step * (price * MILLION // sum(found)), price) for price in found]
    return [prices[0] + total - sum(prices), *prices[1:]]
