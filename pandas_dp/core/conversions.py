"""How much divergence an (epsilon, delta) pays for: constants of a filter, rounded down."""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction

from pandas_dp.core.mechanisms.gaussian import gaussian_delta

DIVERGENCE_BITS = 64  # divergences are multiples of 2**-64


def renyi_limit(epsilon: Fraction, delta: Fraction, order: Fraction) -> Fraction:
    """Largest Renyi divergence of this order that implies (epsilon, delta), rounded down; never below 0.

    For all orders above 1: epsilon - ln(1 - 1/order) + ln(order delta) / (order - 1). (Divergence 0 means
    equal distributions, so 0 is sound where the formula is negative.)
    """
    with localcontext(Context(prec=50, Emin=MIN_EMIN, Emax=MAX_EMAX)):
        per_order = 1 / _decimal(order - 1)
        logs = -_decimal((order - 1) / order).ln(), _decimal(order * delta).ln() * per_order
        terms = (_decimal(epsilon), *logs)
        # Fewer than ten roundings, each below 1e-49 of its term, or (in a logarithm) of 1 or 1/(order-1).
        slack = (sum(abs(term) for term in terms) + 1 + per_order) * Decimal("1e-45")
        limit = Fraction(sum(terms) - slack)
    return max(Fraction(0), Fraction(math.floor(limit * 2**DIVERGENCE_BITS), 2**DIVERGENCE_BITS))


def gdp_limit(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Largest mu^2 of a Gaussian mechanism that is (epsilon, delta (1 - 1e-5))-private, rounded down."""
    low, high = 0.0, 1.0
    target = float(delta) * (1 - 1e-5)
    while gaussian_delta(float(epsilon), high) <= target:
        low, high = high, 2 * high
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if middle > 0 and gaussian_delta(float(epsilon), middle) <= target else (low, middle)
    return Fraction(math.floor(Fraction(low * (1 - 1e-9)) ** 2 * (1 << DIVERGENCE_BITS)), 1 << DIVERGENCE_BITS)


def best_order(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Find an order at which renyi_limit / order, the budget of zCDP, is about largest.

    Floats only propose: every order is valid, and the limit is computed exactly for the one returned.
    """
    total, log_delta = float(epsilon), math.log(delta.numerator) - math.log(delta.denominator)

    def rho(exponent: float) -> float:  # at the order 1 + t
        t = math.exp2(exponent)
        return (total + math.log1p(1 / t) + (math.log1p(t) + log_delta) / t) / (1 + t)

    coarse = max(range(-20, 61), key=rho)
    mantissa, power = math.frexp(math.exp2(max((coarse + step / 64 for step in range(-64, 65)), key=rho)))
    return 1 + round(mantissa * 2**16) * Fraction(2) ** (power - 16)  # 16 digits: short on record


def _decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)
