"""What queries cost together by every theorem side by side; how many fit into a total, and how dear each of them may be."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from decimal import localcontext
from fractions import Fraction
from typing import Any

import pandas as pd

from pandas_dp.accounting.losses import (
    EXACT,
    SLACK,
    AnyLoss,
    Exponential,
    Gaussian,
    Laplace,
    Loss,
    Losses,
    decimal,
    float_above,
    float_below,
    one,
    open_delta,
    several,
    total_of,
)
from pandas_dp.accounting.rules import MOST_QUERIES, RULES, Paid
from pandas_dp.aggregates.uncertainty import narrowed
from pandas_dp.books.odometer import more_calls
from pandas_dp.core.budget import Budget, State
from pandas_dp.core.filters import HybridFilter, filter_for
from pandas_dp.core.privacy import LARGEST_EPSILON, SMALLEST_EPSILON, PrivacyLoss
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, did_you_mean
from pandas_dp.facts.argument_help import example
from pandas_dp.facts.numbers import positive_epsilon, positive_int, typed

Total = tuple[Fraction, Fraction]
Verdict = tuple[bool, str]
"""Whether losses fit into a total, and why the theorem says nothing where it does not."""

TOTAL = "total=(3, 1e-6)"
COROLLARY = "advanced_corollary"
INVERSES = {name: rule.adaptive for name, rule in RULES.items()} | {"hybrid": "yes"}
MOST_COUNTED = 10**9


@example("compose([0.1, 0.5], delta=1e-6)")
def compose(losses: Any, *, delta: Any) -> pd.DataFrame:
    """Total epsilon of queries asked of the same data, by every theorem of composition.

    Parameters
    ----------
    losses : list or dict
        A list of epsilons, of pairs (epsilon, delta), or of `Laplace`, `Exponential` and `Gaussian`, in any mixture; or a
        dict of how often each is paid: ``{0.1: 46}``.
    delta : number
        In (0, 1): what the theorem may use. The deltas of the losses are added to it.

    Returns
    -------
    DataFrame
        One row for each rule. Columns: epsilon, rounded up (NaN where the rule says nothing); delta, at which it holds;
        adaptive, whether it also holds when epsilons are chosen after seeing answers, with a total fixed before; note,
        among others where the theorem is worse than plain addition.

        * ``basic``: the sum (Dwork, McSherry, Nissim, Smith 2006).
        * ``advanced``: sqrt(2 ln(1/delta) sum e^2) + sum e (exp(e) - 1) (Dwork, Rothblum, Vadhan 2010).
        * ``fully_adaptive``: sqrt(2 ln(1/delta) S) + S/2, S = sum e^2 (Whitehouse, Ramdas, Rogers, Wu 2023).
        * ``zcdp_simple``: rho + 2 sqrt(rho ln(1/delta)) (Bun, Steinke 2016), rho = sum e tanh(e/2) or less.
        * ``zcdp``: the same rho, converted at the best order (Canonne, Kamath, Steinke 2020).
        * ``rdp``: the Renyi divergence of each loss, at the best order (Mironov 2017; same conversion).
        * ``optimal``: nothing better follows from the epsilons (Kairouz, Oh, Viswanath 2015); with different ones an upper
          bound on a grid (Murtagh, Vadhan 2016).
        * ``gaussian``: exact for continuous Gaussian noise alone (Balle, Wang 2018; Dong, Roth, Su 2022).
        * ``pld``: privacy loss distributions (Sommer, Meiser, Mohammadi 2019), if dp-accounting is installed.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        With the line to type instead.

    Notes
    -----
    A session decides by one rule that was fixed when it was opened. Taking the least of these numbers afterwards is no
    guarantee when epsilons depended on answers. All but ``pld`` are computed with sixty digits or with an error bound that
    is added; the floats shown stand for the decimals they are written as.

    Examples
    --------
    >>> compose({0.1: 46}, delta=1e-6).loc[["basic", "advanced", "optimal"], "epsilon"].round(4).to_dict()
    {'basic': 4.6, 'advanced': 4.0489, 'optimal': 2.9964}
    >>> compose([0.1] * 10, delta=1e-6).loc["advanced", "note"]
    'worse than plain addition: 1.77 > 1'
    """
    counted = several(losses)
    slack = open_delta(delta, "compose([0.1, 0.5], delta=1e-6)")
    total = total_of(counted)
    if slack + total.delta >= 1:
        raise ArgumentValueError(
            "the deltas of the losses add up to 1 or more, which promises nothing: type smaller ones"
        )
    rows = {}
    for name, rule in RULES.items():
        answer = rule.epsilon(counted, slack)
        rows[name] = {
            "epsilon": math.nan if answer.epsilon is None else float_above(answer.epsilon),
            "delta": float_above(total.delta if name == "basic" else slack + total.delta),
            "adaptive": rule.adaptive,
            "note": _note(answer, total.epsilon),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("rule")


def _note(answer: Paid, plain: Fraction | None) -> str:
    if answer.epsilon is None or plain is None or answer.epsilon <= plain:
        return answer.note
    digits = 3 if answer.epsilon > plain * Fraction(101, 100) else 6
    worse = f"worse than plain addition: {float_above(answer.epsilon):.{digits}g} > {float(plain):.{digits}g}"
    return f"{worse}; {answer.note}" if answer.note else worse


@example("queries_for(0.1, total=(3, 1e-6))")
def queries_for(epsilon: Any, total: Any, rule: str | None = None) -> Any:
    """How many queries of one price fit into a total, by every theorem.

    Parameters
    ----------
    epsilon : number, pair (epsilon, delta) or loss
        Price of each query; also ``Laplace(0.1)``, ``Exponential(0.1)`` or ``Gaussian(rho)``.
    total : (epsilon, delta)
        With delta in (0, 1); the deltas of the queries are part of it.
    rule : str, optional
        A row of `compose`, or ``"hybrid"``: what a session of this package admits, opened with this total.

    Returns
    -------
    int or DataFrame
        The number by one rule; without `rule` a frame with columns queries, adaptive and note. Never too many.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        With the line to type instead.

    Examples
    --------
    >>> queries_for(epsilon=0.1, total=(3, 1e-6), rule="optimal")
    46
    >>> queries_for(epsilon=0.1, total=(3, 1e-6)).loc[["basic", "advanced", "hybrid"], "queries"].to_dict()
    {'basic': 30, 'advanced': 26, 'hybrid': 40}
    """
    line = f"queries_for(epsilon=0.1, {TOTAL})"
    loss, pair = one(epsilon, line), _total(total, line)
    found = _solved("queries", INVERSES, rule, line, lambda name: most_queries(name, loss, pair))
    return found if rule is not None else found.astype({"queries": "Int64"})


@example("epsilon_for(queries=100, total=(3, 1e-6))")
def epsilon_for(queries: Any, total: Any, rule: str | None = None, mechanism: type[Loss] = Loss) -> Any:
    """Largest equal epsilon at which so many queries fit into a total, by every theorem.

    Parameters
    ----------
    queries : int
    total : (epsilon, delta)
        With delta in (0, 1).
    rule : str, optional
        A row of `compose`; ``"hybrid"``: what a session of this package admits, opened with this total; or
        ``"advanced_corollary"``, the textbook's epsilon / (2 sqrt(2 k ln(1/delta))), for a total epsilon below 1 and
        delta at most 1/2 (Dwork, Roth 2014, Corollary 3.21).
    mechanism : {Loss, Laplace, Exponential}
        What the queries are known to be; Loss: any epsilon-DP mechanism.

    Returns
    -------
    float or DataFrame
        The epsilon by one rule; without `rule` a frame with columns epsilon, adaptive and note. Rounded down; 0 where less
        than 1e-9 would be left.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        With the line to type instead.

    Examples
    --------
    >>> epsilon_for(queries=100, total=(3, 1e-6), rule="basic")
    0.03
    >>> epsilon_for(queries=100, total=(3, 1e-6)).loc[["advanced", "zcdp"], "epsilon"].round(4).to_dict()
    {'advanced': 0.0518, 'zcdp': 0.0608}
    """
    line = f"epsilon_for(queries=100, {TOTAL})"
    count, pair = typed(line, positive_int, queries, "queries"), _total(total, line)
    if not any(mechanism is known for known in (Loss, Laplace, Exponential)):
        raise ArgumentTypeError("mechanism must be Loss, Laplace or Exponential: mechanism=Laplace")
    names = INVERSES | {COROLLARY: "no"}
    found = _solved("epsilon", names, rule, line, lambda name: _largest_epsilon(name, count, pair, mechanism))
    # for Gaussian noise there is no epsilon to look for
    return found if rule is not None else found.drop(index="gaussian").astype({"epsilon": "float64"})


def _solved(column: str, names: dict[str, str], rule: Any, line: str, solve: Callable[[str], tuple[Any, str]]) -> Any:
    """What one rule says, or a table of what all of them say; `names` are the rules, and whether they are adaptive."""
    if rule is None:
        rows = [(found, adaptive, note) for name, adaptive in names.items() for found, note in (solve(name),)]
        return pd.DataFrame(rows, pd.Index(names, name="rule"), [column, "adaptive", "note"])
    if not isinstance(rule, str) or rule not in names:
        hint = did_you_mean(rule, names)
        raise ArgumentValueError(f"rule must be one of {', '.join(names)}{hint}: {line[:-1]}, rule='optimal')")
    found, note = solve(rule)
    if found is None:
        raise ArgumentValueError(f"rule {rule!r}: {note}; leave rule= out for all others")
    return found


def most_queries(name: str, loss: AnyLoss, total: Total) -> tuple[int | None, str]:
    """Largest number that fits: double until one does not fit, then halve the interval."""
    if name == "hybrid":
        return more_calls(filter_for(Budget.of(*total)), State.zero(), total_of(((loss, 1),))), ""
    if name == "basic" and isinstance(loss, Loss):
        by_delta = total[1] // loss.delta if loss.delta else MOST_COUNTED
        return min(total[0] // loss.epsilon, by_delta), ""
    cap = MOST_QUERIES if name in ("optimal", "pld") else MOST_COUNTED
    (fits, note), low, high = _fits(name, ((loss, 1),), total), 0, 1
    if note:
        return None, note
    while fits:
        low = high
        if low == cap:
            return cap, f"at least {cap:,}; not counted further"
        high = min(2 * high, cap)
        fits, _ = _fits(name, ((loss, high),), total)
    more = range(low + 1, high)
    return low + bisect_left(more, True, key=lambda count: not _fits(name, ((loss, count),), total)[0]), ""


def _fits(name: str, losses: Losses, total: Total) -> Verdict:
    """Whether one rule admits all of these within the total."""
    if name == "hybrid":
        ((loss, times),) = losses
        return (most_queries(name, loss, total)[0] or 0) >= times, ""
    left = total[1] - total_of(losses).delta
    if name == "basic" and left == 0:
        left = total[1]  # nothing of it is used
    if left <= 0:
        return False, ""
    answer = RULES[name].epsilon(losses, left)
    if answer.epsilon is None:
        return False, answer.note
    return answer.epsilon <= total[0], ""


def _largest_epsilon(name: str, queries: int, total: Total, mechanism: type[Loss]) -> tuple[float | None, str]:
    """Largest epsilon that fits, rounded down."""
    if name == COROLLARY:
        return _corollary(queries, total)
    if name == "basic":
        return float_below(total[0] / queries), ""

    def verdict(epsilon: float) -> Verdict:
        return _fits(name, ((mechanism(epsilon), queries),), total)

    start = float(max(total[0] / queries, SMALLEST_EPSILON))
    _, note = verdict(start)
    if note:
        return None, note
    return _last(lambda epsilon: verdict(epsilon)[0], start, 24 if name == "pld" else 60), ""


def _last(fits: Callable[[float], bool], start: float, steps: int) -> float:
    """Largest float that fits, as far as so many halvings find it; it has been tried itself, so it is never too large."""
    least, most = float(SMALLEST_EPSILON), float(LARGEST_EPSILON)
    low = high = min(start, most)
    while not fits(low):
        if low == least:
            return 0.0
        low, high = max(low / 2, least), low
    while low == high or fits(high):
        low, high = high, min(2 * high, most)
        if low == most:
            return most
    low, _ = narrowed(lambda epsilon: not fits(epsilon), low, high, steps, ratio=True)
    rounded = [float_below(Fraction(f"{low:.{digits}g}")) for digits in (6, 12)]
    return next((x for x in rounded if x >= low and fits(x)), low)


def _corollary(queries: int, total: Total) -> tuple[float | None, str]:
    """Epsilon / (2 sqrt(2 k ln(1/delta))): then sqrt(..) is half of the total and k e (exp(e) - 1) less than the rest."""
    epsilon, delta = total
    if epsilon >= 1 or delta > Fraction(1, 2):
        return None, "for a total epsilon below 1 and delta at most 1/2"
    with localcontext(EXACT):
        exact = Fraction(decimal(epsilon) / (2 * (-2 * queries * decimal(delta).ln()).sqrt()))
    return float_below(exact * (1 - SLACK)), ""


def _total(total: Any, line: str) -> Total:
    if not isinstance(total, tuple | list) or len(total) != 2:
        raise ArgumentTypeError(f"total must be a pair (epsilon, delta): {line}")
    return typed(line, positive_epsilon, total[0], "total's epsilon"), open_delta(total[1], line, "total's delta")


PRICES = tuple(map(Fraction, ("0.01", "0.1", "0.5", "1")))
BUDGET = (Fraction(3), Fraction(1, 10**6))
ORDER = Fraction("8.9332")


def _same_deviation(epsilon: Fraction) -> Gaussian:
    """Gaussian noise as spread out as Laplace noise of this epsilon: sigma = sqrt(2) sensitivity / epsilon."""
    return Gaussian(epsilon**2 / 4)


ROWS: list[tuple[str, str, Callable[[Fraction], AnyLoss], str]] = [
    ("basic", "basic", Loss, "yes"),
    ("advanced, Dwork-Rothblum-Vadhan 2010", "advanced", Loss, "no"),
    ("advanced, fully adaptive, Whitehouse et al. 2023", "fully_adaptive", Loss, "yes"),
    ("zCDP, Bun-Steinke 2016 conversion", "zcdp_simple", Loss, "yes"),
    ("zCDP, Canonne-Kamath-Steinke 2020 conversion", "zcdp", Loss, "yes"),
    ("zCDP, Laplace's own rho", "zcdp", Laplace, "yes"),
    ("RDP, any pure mechanism", "rdp", Loss, "at an order fixed before"),
    ("RDP, Laplace", "rdp", Laplace, "at an order fixed before"),
    ("optimal, Kairouz-Oh-Viswanath 2015", "optimal", Loss, "no"),
    ("PLD, Laplace", "pld", Laplace, "no"),
    ("Gaussian of the same deviation, zCDP, Bun-Steinke", "zcdp_simple", _same_deviation, "yes"),
    ("Gaussian of the same deviation, zCDP, Canonne et al.", "zcdp", _same_deviation, "yes"),
    ("Gaussian of the same deviation, exact (GDP)", "gaussian", _same_deviation, "yes, Gaussian noise alone"),
    ("exponential mechanism, rho = epsilon^2/8", "zcdp", Exponential, "yes"),
]


def headline() -> pd.DataFrame:
    """Count them for queries of 0.01, 0.1, 0.5 and 1.

    Returns
    -------
    DataFrame, shape (accountants, 5)
        A column for each price, and whether the count holds when prices are chosen after seeing answers. <NA>: the
        optional package dp-accounting is not installed.

    Notes
    -----
    The last two rows are counted by driving the filter of this package's sessions, charge by charge. With the total
    delta of 1e-6 a session keeps a tenth for key discovery and smooth noise; the other row lets the conversion use 1e-6.
    """
    table: dict[str, list[int | str | None]] = {}
    for name, rule, mechanism, adaptive in ROWS:
        table[name] = [*(most_queries(rule, mechanism(price), BUDGET)[0] for price in PRICES), adaptive]
    for name, hybrid in session_filters().items():
        table[name] = [*(admitted(hybrid, price) for price in PRICES), "yes"]
    columns = [str(float(price)) for price in PRICES]
    frame = pd.DataFrame.from_dict(table, orient="index", columns=[*columns, "adaptive"])
    return frame.astype(dict.fromkeys(columns, "Int64")).rename_axis(f"queries within {TOTAL}")


def session_filters() -> dict[str, HybridFilter]:
    """The hybrid filter of sessions: with a total delta of 1e-6, and with 1e-6 for the conversion alone."""
    epsilon, delta = BUDGET
    return {
        "hybrid filter of this package, default split of delta": HybridFilter(Budget.of(epsilon, delta)),
        f"hybrid filter, 1e-6 for the conversion, order {float(ORDER)}": HybridFilter(
            Budget.of(epsilon, delta / (1 - Fraction(1, 10))), ORDER
        ),
    }


def admitted(rule: HybridFilter, epsilon: Fraction, first: tuple[Fraction, ...] = ()) -> int:
    """How many queries of one epsilon fit after some `first` ones."""
    state = State.zero()
    for price in first:
        state = state.plus(rule.charge(PrivacyLoss.pure(price)))
    return more_calls(rule, state, PrivacyLoss.pure(epsilon))
