"""Questions without a frame: written once, asked of any protected frame, kept in a plan file; and a total split over them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.accessor.accessor import Accessor
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, UnverifiedFrameError
from pandas_dp.facts import numbers
from pandas_dp.facts.argument_help import example
from pandas_dp.facts.call import ITEM, Call, kept, shown
from pandas_dp.facts.public_only import check_all_typed, listed, refuse_private
from pandas_dp.queries import json_values
from pandas_dp.questions.unknown_names import missing_question
from pandas_dp.steps.trace import ANY, trace

PIPED = "pandas hands a copy to what df.pipe() calls: type query(df), or df.dp.pipe(query)"


class Query:
    """A question with its price and steps, but without a frame; made by ``pandas_dp.query(epsilon=...)``.

    Every method of ``df.dp(epsilon=...)`` is one of a query and returns a longer query. Names are checked at once, arguments
    when it is asked: they depend on the columns of the frame. Queries never change, compare by what they ask, and can be
    pickled where their arguments can.

    Examples
    --------
    >>> import pandas as pd, pandas_dp
    >>> older = pandas_dp.query(epsilon=0.5).query("age > 40").count()
    >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
    >>> session = df.dp.protect(epsilon=3, name="recorded example")
    >>> older.preview(df).error
    '± 6 rows (95 %)'
    >>> 1900 < older(df) < 2100
    True
    """

    __slots__ = ("_calls", "_terms")

    def __init__(self, terms: Mapping[str, Any], calls: tuple[Call, ...] = ()) -> None:
        check_all_typed("query", terms.items())
        numbers.offer(**(DEFAULTS | dict(terms)))
        self._terms, self._calls = dict(terms), calls

    def __call__(self, frame: pd.DataFrame) -> Any:
        """Ask it of a protected frame, at its price.

        Parameters
        ----------
        frame : DataFrame

        Returns
        -------
        Release, or the stream that it opens

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError
            As the same question typed on the frame.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="asked query example")
        >>> older = pandas_dp.query(epsilon=0.5).query("age > 40").count()
        >>> 1900 < older(df) < 2100
        True
        """
        return self._put(frame, lambda dp: dp(**self._terms))

    def preview(self, frame: pd.DataFrame, *, rows: int | None = None) -> Any:
        """Say what it would cost on a protected frame and how accurate it would be; see ``df.dp.preview``.

        Parameters
        ----------
        frame : DataFrame
        rows : int, optional
            About how many rows count, from outside the data.

        Returns
        -------
        Preview

        Raises
        ------
        UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="previewed query example")
        >>> pandas_dp.query(epsilon=0.5).mean("age", bounds=(0, 100)).preview(df, rows=3000).error
        'at most about ± 0.200 with 3,000 rows (95 %)'
        """
        return self._put(frame, lambda dp: dp.preview(**self._terms, rows=rows))

    @property
    def plain_epsilon(self) -> Any:
        """Its price if that is a plain epsilon, as a plan takes it; else None."""
        others = {
            name for name, value in self._terms.items() if name not in ("epsilon", "fresh") and value != DEFAULTS[name]
        }
        return None if others else self._terms.get("epsilon")

    def to_dict(self) -> dict[str, Any]:
        """Return plain dictionaries, lists, numbers and texts, as JSON has them, for a plan file.

        Returns
        -------
        dict
            ``price``, and ``calls`` in their order. Dates, durations, decimals, fractions and ranges are dictionaries with
            one key that names their type.

        Raises
        ------
        ArgumentTypeError
            An argument is a function, an expression or a table: such a query is kept in code.

        Examples
        --------
        >>> import pandas_dp
        >>> pandas_dp.query(epsilon=0.5).mean("cost", bounds=(0, 100)).to_dict()
        {'price': {'epsilon': 0.5}, 'calls': [{'call': 'mean', 'args': ['cost'], 'options': {'bounds': [0, 100]}}]}
        """
        return {
            "price": {name: json_values.encoded(value, f"{name}=") for name, value in self._terms.items()},
            "calls": [written(call) for call in self._calls],
        }

    @classmethod
    def from_dict(cls, plan: Mapping[str, Any]) -> Query:
        """Return the query that ``to_dict`` wrote; its names are checked at once.

        Parameters
        ----------
        plan : dict

        Returns
        -------
        Query

        Raises
        ------
        ArgumentTypeError, ArgumentValueError, AttributeError

        Examples
        --------
        >>> import pandas_dp
        >>> pandas_dp.Query.from_dict({"price": {"epsilon": 1}, "calls": [{"call": "count"}]})
        pandas_dp.query(epsilon=1).count()
        """
        price, calls = json_values.checked(plan, DEFAULTS)
        made = cls(price)
        for call in map(read, calls):
            made = made._then(call)
        return made

    def _then(self, call: Call) -> Query:
        """The query with one more call, of a name that there is."""
        return self[call.args[0]] if call.name == ITEM else self._method(call.name)(*call.args, **call.options)

    def _put(self, frame: pd.DataFrame, priced: Callable[[Accessor], Any]) -> Any:
        """Repeat the calls on what a frame makes of the price."""
        dp = carried(frame)
        if dp is None:
            raise ArgumentTypeError("a query is asked of a protected DataFrame: query(df)")
        if self._stage is not None:
            raise ArgumentTypeError(f"this query has no question yet: {self!r}.count()")
        try:
            made = priced(dp)
            for call in self._calls:
                made = made[call.args[0]] if call.name == ITEM else getattr(made, call.name)(*call.args, **call.options)
        except UnverifiedFrameError as error:
            if not isinstance(frame, pd.DataFrame):  # the files of a scan were changed
                raise
            raise UnverifiedFrameError(f"{error.TEXT}: {PIPED}", error._lines) from None
        return made

    @property
    def _stage(self) -> type | None:
        """The class that the next call is a method of; None where the question was put."""
        from pandas_dp.questions.frame import (
            PricedColumn,  # the questions: importing the package shall cost little
            PricedFrame,
        )
        from pandas_dp.questions.groups import PricedGroups
        from pandas_dp.questions.rows import PreparedFrame

        stage: type | None = PricedFrame
        for call in self._calls:
            if call.name == ITEM:
                stage = PricedColumn if stage is PricedFrame else stage
            elif call.name == "groupby":
                stage = PricedGroups
            elif stage is not PricedFrame or not hasattr(PreparedFrame, call.name):
                stage = None
        return stage

    @property
    def _before(self) -> str:
        """What stands before the call of a question, behind the steps."""
        names = [call.name for call in self._calls]
        first = next((place for place, name in enumerate(names) if name in (ITEM, "groupby")), None)
        return "" if first is None else f"{''.join(map(str, self._calls[first:])).removeprefix('.')}."

    def _method(self, name: str) -> Callable[..., Query]:
        """What records the call of a method."""
        stage = self._stage
        if not isinstance(name, str) or name.startswith("_"):
            raise AttributeError(name)
        if stage is None:
            raise AttributeError(f"this query already has its question; steps come before it: {self!r}")
        method = getattr(stage, name, None)
        if method is None:
            raise AttributeError(
                missing_question(stage, name, "" if stage.__name__ == "PricedColumn" else "'column', ")
            )
        signature = inspect.signature(method)
        own = signature.replace(parameters=list(signature.parameters.values())[1:])  # without self

        def record(*args: Any, **options: Any) -> Query:
            if not _fit(own, args, options):
                method(self, *args, **options)  # refuses them in the words of a priced frame
            given = (*zip(own.parameters, args, strict=False), *options.items())
            check_all_typed(name, given)
            refuse_private(name, given)
            for _, value in given:
                if isinstance(value, pd.api.typing.Expression):  # its text shows what stands in it
                    trace(value, ANY, name)  # type: ignore[arg-type]  # it is evaluated as pandas does it
            return Query(self._terms, (*self._calls, Call(name, kept(args), kept(options))))

        record.__name__, record.__doc__ = name, method.__doc__
        record.__signature__ = own  # type: ignore[attr-defined]  # what help() and completion show
        return record

    def __getattr__(self, name: str) -> Callable[..., Query]:
        """A step or question, to be called with its arguments."""
        return self._method(name)

    def __getitem__(self, column: str) -> Query:
        """Select one column, as in pandas."""
        stage = self._stage
        if not isinstance(column, str):
            raise ArgumentTypeError("select one column by name: query(epsilon=0.5)['cost'].mean(bounds=(0, 100))")
        if stage is None or not hasattr(stage, "__getitem__"):
            raise ArgumentTypeError(f"there is no column to select here: {self!r}")
        return Query(self._terms, (*self._calls, Call(ITEM, (column,), {})))

    def __dir__(self) -> list[str]:
        """What can come next."""
        return sorted({*super().__dir__(), *(name for name in dir(self._stage or object) if not name.startswith("_"))})

    def _key(self) -> Any:
        return numbers.offer(**(DEFAULTS | self._terms)), tuple(call.key for call in self._calls)

    def __eq__(self, other: object) -> bool:
        """Whether both ask the same in the same way at the same price."""
        return bool(self._key() == other._key()) if isinstance(other, Query) else NotImplemented

    def __hash__(self) -> int:
        """Hash of what is asked."""
        return hash(self._key())

    def __repr__(self) -> str:
        """Show the call as typed."""
        price = ", ".join(f"{name}={shown(value)}" for name, value in self._terms.items())
        return f"pandas_dp.query({price}){''.join(map(str, self._calls))}"

    def __reduce__(self) -> Any:
        """Pickle what was typed."""
        return Query, (self._terms, self._calls)


@example("pandas_dp.query(epsilon=0.5)", typed=True)
def query(
    epsilon: Any = None,
    delta: Any = 0,
    rho: Any = None,
    *,
    within: Any = None,
    confidence: Any = 0.95,
    fresh: bool = False,
    max_groups: int | None = None,
) -> Query:
    """Start a question without a frame: ``query(epsilon=0.5).mean("cost", bounds=(0, 100))``.

    Parameters
    ----------
    epsilon, delta, rho, within, confidence, fresh, max_groups
        As ``df.dp(...)`` takes them.

    Returns
    -------
    Query
        Steps and a question follow; then ``query(df)`` or ``df.dp.pipe(query)`` asks it.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError

    Examples
    --------
    >>> import pandas_dp
    >>> pandas_dp.query(epsilon=0.5).query("age > 30").mean("cost", bounds=(0, 100))
    pandas_dp.query(epsilon=0.5).query('age > 30').mean('cost', bounds=(0, 100))
    """
    asked = numbers.unquoted(epsilon), delta, rho, within, confidence, fresh, max_groups
    given = dict(zip(DEFAULTS, asked, strict=True))
    return Query({name: value for name, value in given.items() if value is not DEFAULTS[name]})


DEFAULTS: dict[str, Any] = {name: known.default for name, known in inspect.signature(query).parameters.items()}


def _fit(signature: inspect.Signature, args: tuple[Any, ...], options: dict[str, Any]) -> bool:
    """Whether a method takes these arguments."""
    try:
        signature.bind(*args, **options)
    except TypeError:
        return False
    return True


def carried(held: Any) -> Accessor | None:
    """The accessor of a DataFrame, or of what stands for one, such as a scanned table or a Dask DataFrame."""
    found = Accessor(held) if isinstance(held, pd.DataFrame) else getattr(held, "dp", None)
    return found if isinstance(found, Accessor) else None


def written(call: Call) -> dict[str, Any]:
    """A call for a plan file."""
    if call.name == ITEM:
        return {"column": call.args[0]}
    where = f"an argument of {call.name}(): "
    made: dict[str, Any] = {"call": call.name}
    if call.args:
        made["args"] = [json_values.encoded(value, where) for value in call.args]
    if call.options:
        made["options"] = {
            name: json_values.encoded(value, f"{name}= of {call.name}(): ") for name, value in call.options.items()
        }
    return made


def read(plan: Mapping[str, Any]) -> Call:
    """A call of a plan file, as `written` wrote it."""
    if "column" in plan:
        return Call(ITEM, (plan["column"],), {})
    return Call(plan["call"], tuple(plan.get("args", ())), plan.get("options", {}))


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
        in_order = listed(within) and isinstance(within, list | tuple | np.ndarray | pd.Index)
        wanted = list(within) if in_order else []
        if len(wanted) != len(queries):
            raise ArgumentTypeError(f"within must be a list with one number for each query: {LINE}")
        for error in wanted:
            numbers.accuracy(error, Fraction(1, 2), None, 0, None)  # one that no query takes is no factor of anything
        errors = [float(e) if isinstance(e, Decimal) else e for e in wanted]

        def least(factor: float) -> list[Fraction]:
            return [_least(frame, query, error * factor) for query, error in zip(queries, errors, strict=True)]

        from pandas_dp.questions.several import prices_for  # importing the package shall cost little

        prices = prices_for(total, least, LINE)
    elif weights is not None:
        prices = [total * share for share in numbers.shares(weights, len(queries), "query", LINE)]
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
            errors = "; errors go beside the total: split(1, queries, within=[20, 5], frame=df)"
            raise ArgumentTypeError(
                f"split() shares out an epsilon, and queries[{place}] has {name}=, which it would drop: make it by "
                f"pandas_dp.query(epsilon=1){errors if name == 'within' else ''}"
            )


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
    kept = {name: value for name, value in query._terms.items() if name in ("confidence", "fresh", "max_groups")}
    return Query(kept | terms, query._calls)


def _typed(price: Fraction) -> Any:
    """A price as one would type it, where a decimal of at most 15 digits is exact."""
    decimal = float(price)
    return decimal if Fraction(repr(decimal)) == price else price
