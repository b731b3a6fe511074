"""The theorems of composition, each as a function from losses and delta to a total epsilon, rounded up."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import localcontext
from fractions import Fraction
from typing import NamedTuple

from pandas_dp.accounting.library import FAST_FOURIER_ERROR, INSTALL, pld_epsilon
from pandas_dp.accounting.losses import Gaussian, Losses, total_of
from pandas_dp.accounting.optimal import MOST_DIFFERENT, MOST_QUERIES, is_exact, optimal_epsilon
from pandas_dp.accounting.rounding import EXACT, above, decimal
from pandas_dp.core.filters import renyi_limit
from pandas_dp.core.mechanisms.gaussian import gaussian_delta
from pandas_dp.core.privacy import PrivacyLoss

_FAR = Fraction(10**10)  # a total so large that its budget of Renyi divergence is not cut off at 0
NO_EPSILON = "Gaussian noise has no finite epsilon"


class Paid(NamedTuple):
    """Total epsilon at the delta of the conversion, rounded up; None: the theorem says nothing, `note` why."""

    epsilon: Fraction | None
    note: str = ""


class Rule(NamedTuple):
    """One theorem, and whether it holds when each epsilon is chosen after seeing the answers so far."""

    epsilon: Callable[[Losses, Fraction], Paid]
    adaptive: str


def basic(losses: Losses, delta: Fraction) -> Paid:
    """Sum of the epsilons; uses no delta of its own."""
    total = total_of(losses).epsilon
    return Paid(total, "" if total is not None else NO_EPSILON)


def advanced(losses: Losses, delta: Fraction) -> Paid:
    """sqrt(2 ln(1/delta) sum e^2) + sum e (exp(e) - 1)."""
    if any(isinstance(loss, Gaussian) or loss.epsilon > 700 for loss, _ in losses):
        return Paid(None, NO_EPSILON if total_of(losses).epsilon is None else "far worse than plain addition")
    with localcontext(EXACT):
        log = -decimal(delta).ln()
        sizes = [(decimal(loss.epsilon), times) for loss, times in losses if not isinstance(loss, Gaussian)]
        spread = (2 * log * sum(times * e * e for e, times in sizes)).sqrt()
        return Paid(above(spread + sum(times * e * (e.exp() - 1) for e, times in sizes)))


def fully_adaptive(losses: Losses, delta: Fraction) -> Paid:
    """sqrt(2 ln(1/delta) S) + S/2 with S = sum e^2."""
    if total_of(losses).epsilon is None:
        return Paid(None, NO_EPSILON)
    squares = sum((times * loss.epsilon**2 for loss, times in losses if not isinstance(loss, Gaussian)), Fraction(0))
    return Paid(simple_conversion(squares / 2, delta))


def zcdp_simple(losses: Losses, delta: Fraction) -> Paid:
    """Rho + 2 sqrt(rho ln(1/delta)) for the sum rho of the zCDP parameters."""
    return Paid(simple_conversion(total_of(losses).rho, delta))


def zcdp(losses: Losses, delta: Fraction) -> Paid:
    """Best conversion of the sum of the zCDP parameters."""
    return Paid(best_conversion(PrivacyLoss.gaussian(total_of(losses).rho), delta)[0])


def rdp(losses: Losses, delta: Fraction) -> Paid:
    """Sum of the Renyi divergences of the best order."""
    epsilon, order = best_conversion(total_of(losses), delta)
    return Paid(epsilon, f"order {float(order):.4g}")


def optimal(losses: Losses, delta: Fraction) -> Paid:
    """Composition of randomized responses."""
    total = total_of(losses)
    if total.epsilon is None:
        return Paid(None, NO_EPSILON)
    counts: dict[Fraction, int] = {}
    for loss, times in losses:
        if not isinstance(loss, Gaussian):
            counts[loss.epsilon] = counts.get(loss.epsilon, 0) + times
    most = MOST_QUERIES if len(counts) == 1 else MOST_DIFFERENT
    if sum(counts.values()) > most:
        return Paid(None, f"not computed for more than {most:,} queries")
    with localcontext(EXACT):
        kept = decimal(Fraction(1))
        for loss, times in losses:
            kept *= (1 - decimal(loss.delta)) ** times
        # (1 - total) = kept (1 - target); what rounding loses is far below 1e-50, and target >= delta in any case
        target = Fraction(1 - decimal(1 - delta - total.delta) / kept) - Fraction(1, 10**50)
    parts = list(counts.items())
    note = "" if is_exact(parts) else "upper bound: epsilons rounded up to a grid"
    return Paid(optimal_epsilon(parts, max(delta, target)), note)


def gaussian(losses: Losses, delta: Fraction) -> Paid:
    """Gaussian noise alone: mu^2 = 2 rho adds, and the total is one Gaussian mechanism."""
    if not all(isinstance(loss, Gaussian) for loss, _ in losses):
        return Paid(None, "for Gaussian noise alone")
    mu = math.sqrt(2 * float(total_of(losses).rho)) * (1 + 1e-12)
    goal = float(delta) * (1 - 1e-5)  # the cancellation in tiny epsilons costs less than this
    low, high = 0.0, 1.0
    if gaussian_delta(0.0, mu) <= goal:
        return Paid(Fraction(0))
    while gaussian_delta(high, mu) > goal:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(middle, mu) > goal else (low, middle)
    return Paid(Fraction(high))


def pld(losses: Losses, delta: Fraction) -> Paid:
    """Convolution of privacy loss distributions, which hold the deltas of the losses too."""
    if sum(times for _, times in losses) > MOST_QUERIES:
        return Paid(None, f"not computed for more than {MOST_QUERIES:,} queries")
    if delta < 10 * FAST_FOURIER_ERROR:
        return Paid(None, "its rounding errors are too large for a delta below 1e-11")
    epsilon = pld_epsilon(losses, delta + total_of(losses).delta)
    return Paid(epsilon, INSTALL if epsilon is None else "")


def simple_conversion(rho: Fraction, delta: Fraction) -> Fraction:
    """Total epsilon of rho-zCDP by the simple formula of Bun and Steinke (2016, Proposition 1.3)."""
    with localcontext(EXACT):
        return above(decimal(rho) + 2 * (-decimal(rho) * decimal(delta).ln()).sqrt())


def best_conversion(total: PrivacyLoss, delta: Fraction) -> tuple[Fraction, Fraction]:
    """Total epsilon by the Renyi divergence of about the best order, and that order.

    The conversion epsilon = r + ln(1 - 1/a) - ln(a delta) / (a - 1) is the one of Canonne, Kamath and Steinke (2020).
    It holds at every order a > 1, so floats may propose one; then it is computed exactly.
    """
    log_delta = math.log(delta.numerator) - math.log(delta.denominator)

    def proposed(exponent: float) -> float:  # at the order 1 + t
        t = math.exp2(exponent)
        return float(total.renyi(Fraction(1 + t))) - math.log1p(1 / t) - (math.log1p(t) + log_delta) / t

    best = float(min(range(-20, 41), key=proposed))
    width = 1.0
    while width > 1e-7:  # a search by steps that shrink; around the best order all others are nearly as good
        best = min((best - width / 2, best, best + width / 2), key=proposed)
        width /= 2
    order = Fraction(1 + math.exp2(best))
    return max(Fraction(0), total.renyi(order) + _FAR - renyi_limit(_FAR, delta, order)), order


RULES = {
    "basic": Rule(basic, "yes"),
    "advanced": Rule(advanced, "no"),
    "fully_adaptive": Rule(fully_adaptive, "yes"),
    "zcdp_simple": Rule(zcdp_simple, "yes"),
    "zcdp": Rule(zcdp, "yes"),
    "rdp": Rule(rdp, "at an order fixed before"),
    "optimal": Rule(optimal, "no"),
    "gaussian": Rule(gaussian, "yes, Gaussian noise alone"),
    "pld": Rule(pld, "no"),
}
