"""A total split over several queries, by weights or by how accurate each answer shall be: arithmetic on public facts alone."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts import numbers
from pandas_dp.facts.argument_help import example
from pandas_dp.facts.kinds import exact_number
from pandas_dp.facts.public_only import listed
from pandas_dp.queries.query import DEFAULTS, Query, carried
from pandas_dp.questions.several import prices_for

LINE = "pandas_dp.split(1, [pandas_dp.query(epsilon=1).count(), pandas_dp.query(epsilon=1).count('age')], weights=[0.6, 0.4])"
MOST_QUERIES = 1000


@example("pandas_dp.split(1, [query, query]), with queries such as pandas_dp.query(epsilon=1).count()", typed=True)
def split(
    epsilon: Any, queries: Any, *, weights: Any = None, within: Any = None, frame: pd.DataFrame | None = None
) -> list[Query]:
    """Split a total over several queries: the same ones come back at prices that sum to it. Nothing is charged or read.

    Parameters
    ----------
    epsilon : number
        The total.
    queries : list of Query
        Made by ``pandas_dp.query(epsilon=1)``; their epsilons are replaced. Those with a delta, rho or within are refused:
        the total is an epsilon, and shares of it are no such prices.
    weights : list of numbers, optional
        Share of each query; positive, with sum 1. Equal shares where left out.
    within : list of numbers, optional
        Instead: the errors wanted, in the unit of each answer. The prices make every error about the same multiple of the
        wanted one, as small as the total allows.
    frame : DataFrame, optional
        With ``within``: the protected frame that will be asked, whose unit and columns decide on the noise.

    Returns
    -------
    list of Query
        To be asked of the frame, or declared: ``df.dp.protect(epsilon=3, delta=1e-6, plan=queries)``.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        Also for what has no price without the data, such as the error of a mean.

    Examples
    --------
    >>> import pandas as pd, pandas_dp
    >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
    >>> session = df.dp.protect(epsilon=3, name="split example")
    >>> ask = pandas_dp.query(epsilon=1)
    >>> rough, fine = pandas_dp.split(1, [ask.count(), ask.query("age > 40").count()], weights=[0.2, 0.8])
    >>> rough.preview(df).price, fine.preview(df).price
    ('epsilon=0.2', 'epsilon=0.8')
    >>> [query.preview(df).error for query in pandas_dp.split(1, [rough, fine], within=[20, 10], frame=df)]
    ['± 9 rows (95 %)', '± 4 rows (95 %)']
    """
    total = numbers.positive_epsilon(epsilon)
    if not isinstance(queries, list | tuple) or not all(isinstance(query, Query) for query in queries):
        raise ArgumentTypeError(f"queries must be a list of queries: {LINE}")
    if not 1 <= len(queries) <= MOST_QUERIES:
        raise ArgumentValueError(f"queries must hold between 1 and {MOST_QUERIES:,} queries: {LINE}")
    for place, query in enumerate(queries):
        _check_plain(query, place)
    if weights is not None and within is not None:
        raise ArgumentTypeError(f"give weights= or within=, not both: {LINE}")
    if within is not None:
        if frame is None or carried(frame) is None:
            raise ArgumentTypeError(
                "within= needs the frame that will be asked: split(1, queries, within=[20, 5], frame=df)"
            )
        wanted = _one_each(within, len(queries), "within")
        for error in wanted:
            numbers.accuracy(error, Fraction(1, 2), None, 0, None)  # one that no query takes is no factor of anything
        prices = _prices_for(frame, total, queries, [float(e) if isinstance(e, Decimal) else e for e in wanted])
    elif weights is not None:
        prices = [total * share for share in _shares(_one_each(weights, len(queries), "weights"))]
    else:
        prices = [total / len(queries)] * len(queries)
    return [_at(query, epsilon=_typed(price)) for query, price in zip(queries, prices, strict=True)]


def _check_plain(query: Query, place: int) -> None:
    """Refuse a price that a share of an epsilon cannot stand for.

    Raises
    ------
    ArgumentTypeError
    """
    for name in ("within", "delta", "rho"):
        if query._terms.get(name, DEFAULTS[name]) != DEFAULTS[name]:
            errors = "; wanted errors are named beside the total: split(1, queries, within=[20, 5], frame=df)"
            raise ArgumentTypeError(
                f"split() shares out an epsilon, and queries[{place}] has {name}=, which it would drop: make it by "
                f"pandas_dp.query(epsilon=1){errors if name == 'within' else ''}"
            )


def _one_each(values: Any, count: int, argument: str) -> list[Any]:
    if not listed(values) or not isinstance(values, list | tuple | np.ndarray | pd.Index) or len(values) != count:
        raise ArgumentTypeError(f"{argument} must be a list with one number for each query: {LINE}")
    return list(values)


def _shares(weights: list[Any]) -> list[Fraction]:
    exact = [exact_number(weight, "weights") for weight in weights]
    if min(exact) <= 0 or sum(exact) != 1:
        raise ArgumentValueError("weights must be positive and sum to exactly 1, such as weights=[0.6, 0.4]")
    return exact


def _prices_for(frame: pd.DataFrame, total: Fraction, queries: Any, wanted: list[Any]) -> list[Fraction]:
    """Prices of the wanted errors; see `prices_for`.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        What a query itself raises for its arguments or its wanted error, and where no factor is enough.
    """

    def least(factor: float) -> list[Fraction]:
        return [_least(frame, query, error * factor) for query, error in zip(queries, wanted, strict=True)]

    return prices_for(total, least, LINE)


def _least(frame: pd.DataFrame, query: Query, error: Any) -> Fraction:
    """Least epsilon of a query for a wanted error.

    Raises
    ------
    ArgumentValueError
        Its answer is public and costs nothing.
    """
    charge = _at(query, within=error, fresh=True).preview(frame).charge
    if not charge.epsilon:
        raise ArgumentValueError(f"{query!r} costs nothing here: leave it out of the list")
    return Fraction(charge.epsilon)


def _at(query: Query, **terms: Any) -> Query:
    """The same query at another price."""
    kept = {name: value for name, value in query._terms.items() if name in ("confidence", "fresh")}
    return Query(kept | terms, query._calls)


def _typed(price: Fraction) -> Any:
    """A price as one would type it, where a decimal of at most 15 digits is exact."""
    decimal = float(price)
    return decimal if Fraction(repr(decimal)) == price else price
