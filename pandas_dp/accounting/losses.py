"""What one mechanism costs: its noise, what it tells of a group, what it costs on a secret sample, and how it is composed.

What is composed is any private mechanism, or one whose law is known well enough to count it for less. Numbers err on the safe
side: sixty digits within, fifteen decimals on show, always rounded outwards.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.books.amounts import group_delta
from pandas_dp.core.mechanisms.gaussian import SMALLEST_GAUSSIAN_EPSILON, analytic_variance
from pandas_dp.core.privacy import GaussianLoss, PrivacyLoss, PureLoss, show
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts.argument_help import example
from pandas_dp.facts.kinds import exact_number
from pandas_dp.facts.numbers import positive_epsilon, positive_int, small_delta, typed
from pandas_dp.facts.public_only import listed

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
    digits = Context(prec=_SHOWN, rounding=ROUND_CEILING)
    near = digits.divide(Decimal(x.numerator), Decimal(x.denominator))
    return float(digits.next_plus(near) if Fraction(float(near)) < x != Fraction(near) else near)


def float_below(x: Fraction) -> float:
    """Round down to a float of fifteen digits; a value that has no more digits stays what it is."""
    digits = Context(prec=_SHOWN, rounding=ROUND_FLOOR)
    near = digits.divide(Decimal(x.numerator), Decimal(x.denominator))
    return float(digits.next_minus(near) if Fraction(float(near)) > x != Fraction(near) else near)


LINE = "compose([0.1, 0.5], delta=1e-6), compose([(0.1, 1e-8)], delta=1e-6) or compose({0.1: 46}, delta=1e-6)"
MOST_KINDS = 10_000


@dataclass(frozen=True)
class LaplaceDistribution(PureLoss):
    """Laplace noise on the real line of scale sensitivity / epsilon, which reveals less than any epsilon-DP mechanism may."""

    def renyi(self, order: Fraction) -> Fraction:
        """Renyi divergence of an order a > 1, rounded up (Mironov 2017, Proposition 6).

        ln( a/(2a-1) e^((a-1) epsilon) + (a-1)/(2a-1) e^(-a epsilon) ) / (a-1). The argument of the logarithm is at
        least 1 + 1e-30 for the orders and epsilons in use, so of sixty digits at least thirty are left; an absolute
        1e-50 covers what is lost.
        """
        with localcontext(EXACT):
            a, e = decimal(order), decimal(self.epsilon)
            inner = (a * ((a - 1) * e).exp() + (a - 1) * (-a * e).exp()) / (2 * a - 1)
            exact = above((inner * (1 + decimal(Fraction(1, 10**50)))).ln() / (a - 1))
        return min(exact, super().renyi(order))

    @property
    def rho(self) -> Fraction:
        """ZCDP parameter epsilon - 1 + exp(-epsilon), rounded up (Harrison, Manurangsi 2026)."""
        with localcontext(EXACT):
            e = decimal(self.epsilon)
            exact = above(e - 1 + (-e).exp() + decimal(Fraction(1, 10**50)))
        return min(exact, super().rho)


@example("Loss(0.1)")
@dataclass(frozen=True, repr=False)
class Loss:
    """Any mechanism that is (epsilon, delta)-differentially private; all that is known of it.

    Parameters
    ----------
    epsilon : number
        Between 1e-9 and 1e6.
    delta : number, default 0
        In [0, 1).

    Notes
    -----
    Counted as randomized response, of which every epsilon-DP mechanism is a post-processing, with everything revealed
    with probability delta (Kairouz, Oh, Viswanath 2015).

    Examples
    --------
    >>> Loss(0.1, 1e-9)
    Loss(0.1, 1e-9)
    """

    epsilon: Any
    delta: Any = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive_epsilon(self.epsilon))
        object.__setattr__(self, "delta", small_delta(self.delta))

    def __repr__(self) -> str:
        delta = f", {show(self.delta)}" if self.delta else ""
        return f"{type(self).__name__}({show(self.epsilon)}{delta})"

    @property
    def part(self) -> PureLoss:
        """What accountants of divergences read."""
        return PureLoss(self.epsilon)


@example("Laplace(0.1), of epsilon = sensitivity / scale")
class Laplace(Loss):
    """Continuous Laplace noise of scale sensitivity / epsilon.

    Examples
    --------
    >>> Laplace(0.1)
    Laplace(0.1)
    """

    @property
    def part(self) -> PureLoss:
        """What accountants of divergences read."""
        return LaplaceDistribution(self.epsilon)


@example("Exponential(0.1)")
class Exponential(Loss):
    """One pick of the exponential mechanism, whose losses span a range of epsilon: rho is at most epsilon^2 / 8.

    Examples
    --------
    >>> Exponential(1).part.rho
    Fraction(1, 8)
    """

    @property
    def part(self) -> PureLoss:
        """What accountants of divergences read."""
        return PureLoss(self.epsilon, bounded_range=True)


@example("Gaussian(0.005), of rho = sensitivity**2 / (2 sigma**2)")
@dataclass(frozen=True, repr=False)
class Gaussian:
    """Gaussian noise of standard deviation sigma, with rho = sensitivity^2 / (2 sigma^2).

    Examples
    --------
    >>> Gaussian(0.005)
    Gaussian(0.005)
    """

    rho: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", positive_epsilon(self.rho, "rho"))

    def __repr__(self) -> str:
        return f"Gaussian({show(self.rho)})"

    @property
    def delta(self) -> Fraction:
        """No part of its law is set aside."""
        return Fraction(0)

    @property
    def part(self) -> GaussianLoss:
        """What accountants of divergences read."""
        return GaussianLoss(self.rho)


AnyLoss = Loss | Gaussian
Losses = tuple[tuple[AnyLoss, int], ...]
"""Different losses, each with how often it is paid."""


def one(loss: Any, line: str = LINE) -> AnyLoss:
    """Read a number, an (epsilon, delta) pair or a loss."""
    if isinstance(loss, Loss | Gaussian):
        return loss
    pair = loss if isinstance(loss, tuple) else (loss,)
    if not 1 <= len(pair) <= 2:
        raise ArgumentValueError(f"a loss is a number, a pair (epsilon, delta) or Gaussian(rho): {line}")
    try:
        return Loss(*pair)
    except ArgumentTypeError:
        raise ArgumentTypeError(f"a loss is a number, a pair (epsilon, delta) or Gaussian(rho): {line}") from None
    except ArgumentValueError as error:
        raise ArgumentValueError(f"{error}: {line}") from None


def several(losses: Any) -> Losses:
    """Read a list of losses, or a dict of how often each is paid; equal ones are counted together."""
    if isinstance(losses, dict):
        pairs: Iterable[tuple[Any, int]] = [
            (key, typed(LINE, positive_int, times, "how often each is paid")) for key, times in losses.items()
        ]
    elif listed(losses) and isinstance(losses, list | np.ndarray | pd.Series):
        pairs = [(loss, 1) for loss in losses]
    else:
        raise ArgumentTypeError(f"losses must be a list, or a dict of how often each is paid: {LINE}")
    counts: dict[Hashable, int] = {}
    for item, times in pairs:
        loss = one(item)
        counts[loss] = counts.get(loss, 0) + times
    if not 1 <= len(counts) <= MOST_KINDS:
        raise ArgumentValueError(f"losses must hold at least one and at most {MOST_KINDS:,} different ones: {LINE}")
    return tuple(counts.items())  # type: ignore[arg-type]


def total_of(losses: Losses) -> PrivacyLoss:
    """Sum them, as sessions do."""
    delta = sum((loss.delta * times for loss, times in losses), Fraction(0))
    return PrivacyLoss(tuple((loss.part, times) for loss, times in losses), delta)


def open_delta(delta: Any, line: str, argument: str = "delta") -> Fraction:
    """Exact delta strictly between 0 and 1."""
    exact = typed(line, small_delta, delta, argument)
    if exact == 0:
        raise ArgumentValueError(f"{argument} must be above 0; without one the epsilons simply add up: {line}")
    return exact


SAMPLINGS = {"poisson": "add_remove", "without_replacement": "replace_one", "with_replacement": "replace_one"}
SMALLEST_RATE = Fraction(1, 10**9)


@example("gaussian_sigma(1, 1e-6, sensitivity=1)")
def gaussian_sigma(epsilon: Any, delta: Any, sensitivity: Any = 1) -> float:
    """Least standard deviation of Gaussian noise that is (epsilon, delta)-differentially private, rounded up.

    Parameters
    ----------
    epsilon, delta : number
        At least 1e-8; in (0, 1).
    sensitivity : number, default 1
        L2 sensitivity.

    Returns
    -------
    float

    Raises
    ------
    ArgumentTypeError, ArgumentValueError

    Notes
    -----
    The analytic calibration (Balle, Wang 2018, Theorem 8), valid at every epsilon; the delta of this sigma is at least
    (1 - 2e-5) delta and at most delta. The classic sqrt(2 ln(1.25/delta)) / epsilon is proved for epsilon <= 1 only, where
    it is larger; from an epsilon of about 8 on it does not hold.

    Examples
    --------
    >>> round(gaussian_sigma(1, 1e-5), 3)
    3.731
    """
    line = "gaussian_sigma(1, 1e-6, sensitivity=1)"
    exact, slack = typed(line, positive_epsilon, epsilon), typed(line, small_delta, delta)
    if exact < SMALLEST_GAUSSIAN_EPSILON or slack == 0:
        raise ArgumentValueError(f"Gaussian noise needs an epsilon of at least 1e-8 and a delta above 0: {line}")
    size = typed(line, exact_number, sensitivity, "sensitivity")
    if size <= 0:
        raise ArgumentValueError(f"sensitivity must be positive: {line}")
    with localcontext(EXACT):
        return float_above(above(decimal(size) * decimal(analytic_variance(exact, slack)).sqrt()))


@example("group_privacy(0.1, 3)")
def group_privacy(loss: Any, size: Any) -> Any:
    """What a guarantee for one unit says about a group of units.

    Parameters
    ----------
    loss : number, pair (epsilon, delta), Loss, Laplace, Exponential or Gaussian
        Guarantee for one unit.
    size : int
        Units in the group.

    Returns
    -------
    The same kind as `loss`
        k epsilon; delta (e^(k epsilon) - 1) / (e^epsilon - 1), rounded up and at most 1, where nothing is promised any more;
        for Gaussian noise k^2 rho.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError

    Notes
    -----
    Source: Dwork, Roth 2014, Theorem 2.2, with the deltas of a path of k neighbours added up: sum over i < k of
    e^(i epsilon) delta; Bun, Steinke 2016, Proposition 1.9. Renyi divergence of a single order has no such rule.

    Examples
    --------
    >>> group_privacy(0.1, 3)
    0.3
    >>> epsilon, delta = group_privacy((0.5, 1e-6), 3)
    >>> epsilon, round(delta * 1e6, 3)
    (1.5, 5.367)
    >>> group_privacy(Gaussian(0.01), 3)
    Gaussian(0.09)
    """
    line = "group_privacy(0.1, 3)"
    known, times = one(loss, line), typed(line, positive_int, size, "size")
    if isinstance(known, Gaussian):
        return Gaussian(known.rho * times**2)
    epsilon, delta = known.epsilon * times, group_delta(known.epsilon, Fraction(known.delta), times)
    if isinstance(loss, Loss):
        if delta >= 1:
            raise ArgumentValueError("delta of this group is 1, which promises nothing: type a smaller size=")
        return type(known)(epsilon, delta)
    return (float_above(epsilon), float_above(delta)) if isinstance(loss, tuple) else float_above(epsilon)


@example("subsampled(1, rate=0.01)")
def subsampled(
    epsilon: Any,
    delta: Any = 0,
    *,
    rate: Any = None,
    sampling: str = "poisson",
    relation: str | None = None,
    draws: Any = None,
    rows: Any = None,
) -> tuple[float, float]:
    """(epsilon, delta) of a mechanism that is run on a secret random sample of the units.

    Parameters
    ----------
    epsilon, delta : number
        Guarantee of the mechanism on whatever it is given, for the relation of the result.
    rate : number
        In [1e-9, 1]: probability of taking a unit (``"poisson"``), or sample size / number of units
        (``"without_replacement"``).
    sampling : {"poisson", "without_replacement", "with_replacement"}
    relation : {"add_remove", "replace_one"}, optional
        Of neighbouring tables: poisson goes with ``"add_remove"``, the two others with ``"replace_one"``.
    draws, rows : int
        Instead of `rate`, with ``"with_replacement"``: sample size m and number of units n.

    Returns
    -------
    (epsilon, delta)
        Rounded up.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        Also for combinations whose amplification is not the formula of this name: sampling without replacement under
        add_remove, Poisson sampling under replace_one, and a delta or a single rate for draws with replacement.

    Notes
    -----
    With q the rate, epsilon' = ln(1 + q (e^epsilon - 1)) and delta' = q delta (Balle, Barthe, Gaboardi 2018). Draws with
    replacement may take a unit several times: a pure epsilon becomes m ln(1 + (e^epsilon - 1) / n), one draw changed at a
    time, which is more than epsilon when m is not small against n. The sample must stay secret:
    ``df.sample(random_state=...)`` by the analyst gains nothing.

    Examples
    --------
    >>> epsilon, delta = subsampled(1, 1e-6, rate=0.01)
    >>> round(epsilon, 5), delta
    (0.01704, 1e-08)
    """
    how = f", sampling={sampling!r}" if isinstance(sampling, str) else ""
    line = f"subsampled(1, rate=0.01{how})"
    exact, slack = typed(line, positive_epsilon, epsilon), typed(line, small_delta, delta)
    _check_sampling(sampling, relation)
    if sampling == "with_replacement":
        return float_above(_with_replacement(exact, slack, rate, draws, rows)), 0.0
    if rate is None or draws is not None or rows is not None:
        raise ArgumentValueError(f"{sampling} sampling takes rate=, not draws= and rows=: {line}")
    share = typed(line, exact_number, rate, "rate")
    if not SMALLEST_RATE <= share <= 1:
        raise ArgumentValueError(f"rate must lie between 1e-9 and 1: {line}")
    amplified = exact if share == 1 else _amplified(exact, share)
    return float_above(amplified), float_above(share * slack)


def _amplified(epsilon: Fraction, rate: Fraction) -> Fraction:
    """ln(1 + rate (e^epsilon - 1)), rounded up; of the sixty digits at least forty-two are left at the smallest terms."""
    with localcontext(EXACT):
        return above((1 + decimal(rate) * (decimal(epsilon).exp() - 1)).ln())


def _with_replacement(epsilon: Fraction, delta: Fraction, rate: Any, draws: Any, rows: Any) -> Fraction:
    line = "subsampled(1, sampling='with_replacement', draws=100, rows=10_000)"
    if rate is not None or draws is None or rows is None:
        raise ArgumentValueError(f"draws with replacement take draws= and rows=, not rate=: {line}")
    if delta:
        raise ArgumentValueError(f"draws with replacement are offered for delta=0 only: {line}")
    taken, units = typed(line, positive_int, draws, "draws"), typed(line, positive_int, rows, "rows")
    return epsilon * taken if units == 1 else taken * _amplified(epsilon, Fraction(1, units))


def _check_sampling(sampling: Any, relation: Any) -> None:
    if not isinstance(sampling, str) or sampling not in SAMPLINGS:
        raise ArgumentValueError(f"sampling must be one of {', '.join(SAMPLINGS)}: sampling='poisson'")
    if relation is None or relation == SAMPLINGS[sampling]:
        return
    fitting = "poisson" if relation == "add_remove" else "without_replacement"
    raise ArgumentValueError(
        f"{sampling} sampling amplifies for relation={SAMPLINGS[sampling]!r} only: sampling={fitting!r}"
    )
