"""What a query costs for a wanted error, and how far off it is at a price: from public facts alone, charging nothing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

import pandas as pd

from pandas_dp.aggregates.asked import AskedQuery
from pandas_dp.aggregates.base import SAY, Aggregate, ExpectedError, Terms, in_numbers, least_epsilon
from pandas_dp.aggregates.told import bought, least_rho
from pandas_dp.aggregates.told import up as up
from pandas_dp.aggregates.uncertainty import LEVEL
from pandas_dp.core.privacy import Price, PrivacyLoss
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts import numbers
from pandas_dp.facts.numbers import Accuracy
from pandas_dp.queries.query import DEFAULTS, Query
from pandas_dp.tables.protected import Table

WITHOUT = "the error of {!r} depends on the number of rows: say about how many, plan(queries, frame=df, rows=10_000)"
NO_ERROR = "the error of {!r} is not known in advance: give that query a price, pandas_dp.query(epsilon=0.5)"


class Choice(NamedTuple):
    """A price of one query, and what it costs."""

    price: Price
    loss: PrivacyLoss


@dataclass(frozen=True)
class Put:
    """A query put to a frame, as far as public facts tell.

    Attributes
    ----------
    query : Query
    table : Table
        Which is asked for public facts alone.
    asked : AskedQuery
    terms : Terms
    offer : Price or Accuracy
        Its price, or the error that it wants.
    rows : int or None
        About how many rows count, as the caller says.
    """

    query: Query
    table: Table
    asked: AskedQuery
    terms: Terms
    offer: Price | Accuracy
    rows: int | None

    @classmethod
    def of(cls, query: Query, frame: pd.DataFrame, pure: bool, rows: int | None) -> Put:
        """Take a query as far as its price, under a budget that counts pure epsilons only or not."""
        # the questions: importing the package shall cost little
        from pandas_dp.questions.frame import PricedFrame
        from pandas_dp.questions.plain_prices import plainly

        offer, fresh, groups = numbers.offer(**(DEFAULTS | query._terms))
        price = offer if isinstance(offer, Price) else Price(Fraction(1), offer.delta)

        def made(table: Table, asked: AskedQuery, columns: Any, again: bool) -> Put:  # in place of a preview
            unit = table.counted(asked.groups, table.session.unit)
            terms = replace(table.terms(asked.steps, price, unit), pure=pure)
            with plainly(table, offer, asked.aggregate, asked.steps, asked.groups):
                asked.aggregate.check(terms)
                if price.gaussian:
                    asked.aggregate.loss(terms)
            return cls(query, table, asked, terms, offer, rows)

        ahead: Any = made
        put = query._put(frame, lambda dp: PricedFrame(dp._frame, price, fresh, groups, ahead))
        if not isinstance(put, Put):
            raise ArgumentTypeError(
                f"{query!r} is not one question with a price: open a stream in code, and ask its questions there"
            )
        return put

    @property
    def aggregate(self) -> Aggregate:
        """What is asked."""
        return self.asked.aggregate

    @property
    def plain(self) -> Fraction:
        """Its price, if that is a plain epsilon; else 0."""
        offer = self.offer
        return offer.epsilon or Fraction(0) if isinstance(offer, Price) and not offer.gaussian else Fraction(0)

    @property
    def wanted(self) -> str:
        """The error that it wants, as typed."""
        return str(self.offer) if isinstance(self.offer, Accuracy) else ""

    def at(self, price: Price) -> Choice:
        """A price with its loss."""
        return Choice(price, self.aggregate.loss(replace(self.terms, price=price)))

    def look(self, price: Price) -> Any:
        """The measurement of a question that needs one, at a price."""
        aggregate: Any = self.aggregate
        return aggregate.look(replace(self.terms, price=price))

    def error(self, price: Price) -> ExpectedError:
        """What is known of the error at a price."""
        return self.aggregate.expected(replace(self.terms, price=price), self.rows)

    def choices(self, factor: Fraction, gaussian: bool) -> list[Choice]:
        """Prices at which the error is so many times as large as the query's own price makes it, or as it wants it.

        For a wanted error the least with Laplace noise, and where `gaussian` the least with that, if it can have it.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
            No price is known for a wanted error.
        """
        offer = self.offer
        if isinstance(offer, Price):
            return [self.at(over(offer, factor))]
        wanted = replace(offer, within=offer.within * factor)
        found = [self.at(Price(self._least(wanted), wanted.delta))]
        if gaussian and not wanted.delta:
            found += [self.at(Price(rho=rho)) for rho in self._gaussian(wanted)]
        return found

    def _least(self, wanted: Accuracy) -> Fraction:
        """The least epsilon for an error."""

        def least(error: Accuracy) -> Fraction:
            try:
                return self.aggregate.epsilon_for(error, self.terms)
            except ArgumentTypeError:
                return self._by_rows(error, lambda epsilon: Price(epsilon, error.delta))

        try:
            return bought(least, wanted)
        except ArgumentValueError as error:  # even the largest epsilon
            raise ArgumentValueError(f"{self.query!r}: {error}") from None

    def _gaussian(self, wanted: Accuracy) -> list[Fraction]:
        """The least rho for an error; none where the query has no Gaussian noise."""
        try:
            rho = least_rho(self.aggregate, wanted, self.terms)
            return [] if rho is None else [rho]
        except ArgumentTypeError:
            with suppress(ArgumentValueError):
                return [self._by_rows(wanted, lambda rho: Price(rho=rho))]
            return []

    def _by_rows(self, wanted: Accuracy, price: Callable[[Fraction], Price]) -> Fraction:
        """The least amount for an error that depends on how many rows there are."""
        known = self.error(price(Fraction(1)))
        if known.half_width is None:
            raise ArgumentTypeError((WITHOUT if SAY in known.error else NO_ERROR).format(self.query))
        if isinstance(known.half_width, dict):
            raise ArgumentTypeError(NO_ERROR.format(self.query))
        in_numbers(wanted, isinstance(known.half_width, pd.Timedelta))
        if wanted.level != LEVEL:
            raise ArgumentTypeError(f"the error of {self.query!r} is known only at 95 %: leave confidence= out")

        def fits(amount: Fraction) -> bool:
            half = self.error(price(amount)).half_width
            return bool((half.value if wanted.duration else half) <= wanted.within)

        return least_epsilon(fits)


def over(price: Price, factor: Fraction) -> Price:
    """A price with errors so many times as large, about."""
    if factor == 1:
        return price
    if price.rho is not None:
        return Price(rho=up(price.rho / factor**2))
    return replace(price, epsilon=up((price.epsilon or Fraction(0)) / factor))
