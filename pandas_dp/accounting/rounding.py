"""Numbers that err on the safe side: sixty digits within, fifteen decimals on show, always rounded outwards."""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

EXACT = Context(prec=60, Emin=MIN_EMIN, Emax=MAX_EMAX)
SLACK = Fraction(1, 10**40)  # far above the error of any formula here, whose roundings are below 1e-59 each
_SHOWN = 15  # a float gives back every decimal of this many digits
_LARGEST = Fraction(10) ** 300


def decimal(x: Fraction) -> Decimal:
    """Sixty digits of a rational."""
    return EXACT.divide(Decimal(x.numerator), Decimal(x.denominator))


def above(x: Decimal) -> Fraction:
    """A rational at least the true value of a formula that was evaluated to `x` without cancellation."""
    return Fraction(x) + abs(Fraction(x)) * SLACK


def float_above(x: Fraction) -> float:
    """Round up to a float of fifteen digits; a value that has no more digits stays what it is.

    A float stands for the decimal it is written as, here as in the rest of the package: 3/10 gives 0.3.
    """
    if x > _LARGEST:
        return math.inf
    near = Context(prec=_SHOWN, rounding=ROUND_CEILING).divide(Decimal(x.numerator), Decimal(x.denominator))
    if Fraction(near) != x and Fraction(float(near)) < x:
        near = Context(prec=_SHOWN, rounding=ROUND_CEILING).next_plus(near)
    return float(near)


def float_below(x: Fraction) -> float:
    """Round down to a float of fifteen digits; a value that has no more digits stays what it is."""
    near = Context(prec=_SHOWN, rounding=ROUND_FLOOR).divide(Decimal(x.numerator), Decimal(x.denominator))
    if Fraction(near) != x and Fraction(float(near)) > x:
        near = Context(prec=_SHOWN, rounding=ROUND_FLOOR).next_minus(near)
    return float(near)
