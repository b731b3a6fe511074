"""Eighty digits of what the calculators compute, by other means."""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from fractions import Fraction as F

DIGITS = Context(prec=120, Emin=-999999, Emax=999999)


def dec(x):
    return DIGITS.divide(Decimal(F(x).numerator), Decimal(F(x).denominator))


def exp(x):
    """e^x as a fraction that is right to more than a hundred digits."""
    return F(DIGITS.exp(dec(x)))


def ln(x):
    return F(DIGITS.ln(dec(x)))


def sqrt(x):
    return F(DIGITS.sqrt(dec(x)))


def pi():
    """Machin's formula."""

    def arctan_of_inverse(n):
        total, power, k = F(0), F(1, n), 0
        while power > F(1, 10**110):
            total += (-1) ** k * power / (2 * k + 1)
            power, k = power / n**2, k + 1
        return total

    return 16 * arctan_of_inverse(5) - 4 * arctan_of_inverse(239)


def normal_below(x):
    """Phi(x) = 1/2 + x exp(-x^2/2) / sqrt(2 pi) (1 + x^2/3 + x^4/(3 5) + ...)."""
    with localcontext(DIGITS):
        d = dec(x)
        term, total, k = d, Decimal(0), 1
        while abs(term) > Decimal("1e-110"):
            total, k = total + term, k + 2
            term = term * d * d / k
        return F(Decimal("0.5") + total * (-d * d / 2).exp() / (2 * dec(pi())).sqrt())


def gaussian_delta(epsilon, mu):
    return normal_below(mu / 2 - epsilon / mu) - exp(epsilon) * normal_below(-mu / 2 - epsilon / mu)
