"""What one mechanism costs: its noise, what it tells of a group, and what it costs on a secret sample."""

from __future__ import annotations

from decimal import localcontext
from fractions import Fraction
from typing import Any

from pandas_dp.accounting.losses import EXACT, Gaussian, Loss, above, decimal, float_above, one
from pandas_dp.books.odometer import group_delta
from pandas_dp.core.mechanisms.gaussian import SMALLEST_GAUSSIAN_EPSILON, analytic_variance
from pandas_dp.errors import ArgumentValueError
from pandas_dp.facts.argument_help import example
from pandas_dp.facts.kinds import exact_number
from pandas_dp.facts.numbers import positive_epsilon, positive_int, small_delta, typed

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
