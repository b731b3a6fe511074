"""The same price as a plain epsilon, for what takes no rho and no delta."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pandas_dp.aggregates.base import Aggregate, Terms
from pandas_dp.core.privacy import Price, show
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, PandasDPError
from pandas_dp.facts.numbers import Accuracy
from pandas_dp.facts.plain_epsilons import epsilon_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pandas_dp.steps.changes import Step
    from pandas_dp.tables.protected import Table


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
