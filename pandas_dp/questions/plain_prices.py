"""The same price as a plain epsilon, for what takes no rho and no delta."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager, suppress
from decimal import ROUND_CEILING
from fractions import Fraction
from typing import TYPE_CHECKING

from pandas_dp.aggregates.base import Aggregate, Terms
from pandas_dp.aggregates.uncertainty import narrowed
from pandas_dp.core.privacy import LARGEST_EPSILON, SMALLEST_EPSILON, Price, PrivacyLoss, show
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, PandasDPError
from pandas_dp.facts.numbers import Accuracy, three_digits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pandas_dp.steps.changes import Step
    from pandas_dp.tables.protected import Table

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

    least, most = float(SMALLEST_EPSILON) / 2, float(LARGEST_EPSILON)
    found = Fraction(narrowed(lambda e: (costs(Fraction(e)) or 0) > rho, least, most, ROUNDS, ratio=True)[0])
    offers = (offer for offer in (three_digits(found, ROUND_CEILING), three_digits(found)) if offer >= SMALLEST_EPSILON)
    return next((offer for offer in offers if 0 < (costs(offer) or 0) <= rho), None)


@contextmanager
def plainly(
    table: Table, price: Price | Accuracy, aggregate: Aggregate, steps: tuple[Step, ...], groups: int | None
) -> Iterator[None]:
    """Have a refusal of the price name the plain epsilon that costs as much."""
    try:
        yield
    except (ArgumentTypeError, ArgumentValueError) as error:
        if error._plain:
            unit = table.counted(groups, table.session.unit)
            _name(
                error, price, aggregate, lambda at: table.terms(steps, at, unit), table.session._rule.budget.accountant
            )
        raise


def _name(
    error: PandasDPError,
    price: Price | Accuracy,
    aggregate: Aggregate,
    terms: Callable[[Price], Terms],
    accountant: str,
) -> None:
    if accountant == "gdp":
        error.args = (f"{error._plain}, and accountant='gdp' allows Gaussian noise only: this budget has none of that",)
        return
    words, most, typed = {"delta": ""}, "", str(getattr(price, "typed", ""))
    if isinstance(price, Price):
        epsilon = price.epsilon
        if price.rho is not None:
            epsilon = epsilon_of(price.rho, lambda offer: aggregate.loss(terms(Price(offer))))
            most = f"; this one costs at most {price}"
        if epsilon is None:
            return
        words, typed = {"rho": "", "delta": "", "epsilon": show(epsilon)}, str(Price(epsilon))
        try:
            aggregate.check(terms(Price(epsilon)))
        except (ArgumentTypeError, ArgumentValueError) as wrong:
            error.args = (f"{error._plain}, and at {typed}{most.replace('; this one', ', which')}, {wrong}",)
            return
    error.args, error._priced = (f"{error._plain}{most}: df.dp({typed})",), (f"df.dp({typed})", words)
