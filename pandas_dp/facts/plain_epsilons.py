"""The epsilon that is worth as much as a rho or a mu, where no such price or total is taken."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from decimal import ROUND_CEILING
from fractions import Fraction

from pandas_dp.core.budget import Budget
from pandas_dp.core.filters import filter_for
from pandas_dp.core.privacy import LARGEST_EPSILON, SMALLEST_EPSILON, PrivacyLoss
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts.numbers import rounded, three_digits

ROUNDS = 45  # of halving: sixteen orders of magnitude, to a millionth


def epsilon_of(rho: Fraction, loss: Callable[[Fraction], PrivacyLoss] = PrivacyLoss.pure) -> Fraction | None:
    """The largest epsilon of three digits whose loss is charged at most this rho; None where there is none.

    One that is too small for a question has no loss.

    Examples
    --------
    >>> print(epsilon_of(Fraction(1, 50)))
    1/5
    """

    def costs(epsilon: Fraction) -> Fraction | None:
        with suppress(ArgumentTypeError, ArgumentValueError):
            return loss(epsilon).rho
        return None

    low, high = float(SMALLEST_EPSILON) / 2, float(LARGEST_EPSILON)
    for _ in range(ROUNDS):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if (costs(Fraction(middle)) or 0) > rho else (middle, high)
    offers = (three_digits(Fraction(low), ROUND_CEILING), three_digits(Fraction(low)))
    return next((offer for offer in offers if offer >= SMALLEST_EPSILON and 0 < (costs(offer) or 0) <= rho), None)


def total_of(limit: Fraction, delta: Fraction, accountant: str) -> Fraction:
    """The least total of six digits with this delta that admits so much: rho of "zcdp", mu^2 of "gdp".

    Examples
    --------
    >>> float(total_of(Fraction(1), Fraction(1, 10**6), "gdp"))
    4.88656
    """
    low, high = float(SMALLEST_EPSILON), float(LARGEST_EPSILON)
    for _ in range(ROUNDS):
        middle = math.sqrt(low * high)
        rule = filter_for(Budget.of(Fraction(middle), delta, None, accountant))
        low, high = (low, middle) if getattr(rule, "limit", 0) >= limit else (middle, high)
    return rounded(Fraction(high), 6)
