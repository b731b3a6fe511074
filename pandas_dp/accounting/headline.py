"""How many identical queries fit into (3, 1e-6): the one table that shows what each theorem is worth."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pandas as pd

from pandas_dp.accounting.inverses import TOTAL, most_queries
from pandas_dp.accounting.losses import AnyLoss, Exponential, Gaussian, Laplace, Loss
from pandas_dp.core.budget import Budget, State
from pandas_dp.core.filters import HybridFilter
from pandas_dp.core.privacy import PrivacyLoss

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
    """Charge queries of one epsilon, after some `first` ones, until one is refused."""
    state = State.zero()
    for price in first:
        after = rule.admit(state, rule.charge(PrivacyLoss.pure(price)))
        if after is None:
            return 0
        state = after
    charge, count = rule.charge(PrivacyLoss.pure(epsilon)), 0
    while (after := rule.admit(state, charge)) is not None:
        state, count = after, count + 1
    return count
