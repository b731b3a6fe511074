"""The theorems of composition, each as a function from losses and delta to a total epsilon, rounded up."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from importlib import import_module
from typing import Any, NamedTuple

from pandas_dp.accounting.losses import EXACT, SLACK, Gaussian, Laplace, Losses, above, decimal, total_of
from pandas_dp.aggregates.uncertainty import narrowed
from pandas_dp.books.amounts import gaussian_epsilon
from pandas_dp.core.filters import renyi_limit
from pandas_dp.core.plans import DeclaredPlan, grid_step
from pandas_dp.core.privacy import PrivacyLoss

_FAR = Fraction(10**10)  # a total so large that its budget of Renyi divergence is not cut off at 0
MOST_QUERIES = 100_000
MOST_DIFFERENT = 20_000
INSTALL = "needs dp-accounting: pip install 'pandas-dp[pld]'"
FAST_FOURIER_ERROR = Fraction(1, 10**12)  # the library's delta can be below the true one by about 1e-16
_FINEST, _POINTS, _CELLS = 1e-4, 500, 10**7
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
    return Paid(gaussian_epsilon(mu, delta))


def pld(losses: Losses, delta: Fraction) -> Paid:
    """Convolution of privacy loss distributions, which hold the deltas of the losses too, on a grid of losses, all rounded up.

    By the optional package dp-accounting (Google, Apache 2.0), loaded when first needed. Laplace and Gaussian noise have their
    own laws; every other loss is counted as randomized response.
    """
    if sum(times for _, times in losses) > MOST_QUERIES:
        return Paid(None, f"not computed for more than {MOST_QUERIES:,} queries")
    if delta < 10 * FAST_FOURIER_ERROR:
        return Paid(None, "its rounding errors are too large for a delta below 1e-11")
    try:
        library = import_module("dp_accounting.pld.privacy_loss_distribution")
        common = import_module("dp_accounting.pld.common")
    except ImportError:
        return Paid(None, INSTALL)
    grid, target = _grid(losses), delta + total_of(losses).delta - FAST_FOURIER_ERROR
    composed: Any = None
    for loss, times in losses:
        if isinstance(loss, Gaussian):
            deviation = 1 / (2 * float(loss.rho)) ** 0.5 * (1 - 1e-12)
            law = library.from_gaussian_mechanism(deviation, value_discretization_interval=grid)
        elif isinstance(loss, Laplace) and not loss.delta:
            scale = 1 / float(loss.epsilon) * (1 - 1e-12)
            law = library.from_laplace_mechanism(scale, value_discretization_interval=grid)
        else:
            terms = common.DifferentialPrivacyParameters(float(loss.epsilon), float(loss.delta))
            law = library.from_privacy_parameters(terms, value_discretization_interval=grid)
        law = law.self_compose(times) if times > 1 else law
        composed = law if composed is None else composed.compose(law)
    epsilon = float(composed.get_epsilon_for_delta(float(target)))
    return Paid(Fraction(epsilon) * (1 + Fraction(1, 10**12)) if epsilon < 1e300 else Fraction(10) ** 400)


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


def optimal_epsilon(parts: list[tuple[Fraction, int]], target: Fraction) -> Fraction:
    """Least total epsilon at this delta, rounded up: exact for equal epsilons, else an upper bound.

    The best that can be said of mechanisms of which only their epsilons are known, fixed beforehand. Every epsilon-DP mechanism
    is a post-processing of randomized response, whose loss is +epsilon with probability e^epsilon / (1 + e^epsilon) and else
    -epsilon. So the composition is no worse than that of randomized responses, and delta(g) = sum over losses v > g of
    P(v) (1 - e^(g - v)) is attained.

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
    sums lie on a grid. It is the law by which sessions pay for a plan, whose rounding goes to the safe side.
    """
    plan, goal = DeclaredPlan(parts), float(target) * (1 - 1e-15)
    if plan.delta(0.0) <= goal:
        return Fraction(0)
    most = float(plan.losses[-1]) * (1 + 1e-9) + 1e-9  # beyond the largest loss, where delta is 0
    return Fraction(narrowed(lambda epsilon: plan.delta(epsilon) <= goal, 0.0, most)[1])


def is_exact(parts: list[tuple[Fraction, int]]) -> bool:
    """Whether nothing is rounded but the last digits: one epsilon, or all on one grid."""
    step = grid_step(parts) if len(parts) > 1 else parts[0][0]
    return all((epsilon / step).denominator == 1 for epsilon, _ in parts)


def _grid(losses: Losses) -> float:
    """Interval of the grid: the least epsilon over a power of two, so that floats divide it without a rest.

    The library rounds every loss up, +epsilon and -epsilon alike, and what that adds accumulates over the queries.
    """
    epsilons = [(2 * float(x.rho)) ** 0.5 if isinstance(x, Gaussian) else float(x.epsilon) for x, _ in losses]
    total = sum(epsilon * times for epsilon, (_, times) in zip(epsilons, losses, strict=True))
    finest = max(min(_FINEST, min(epsilons) / _POINTS), total / _CELLS)
    return min(epsilons) / 2.0 ** max(0, math.ceil(math.log2(min(epsilons) / finest)))


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
