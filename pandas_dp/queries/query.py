"""Questions without a frame: written once, asked of any protected frame, kept in a plan file."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import pandas as pd

from pandas_dp.accessor.accessor import Accessor
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, PandasDPError, UnverifiedFrameError
from pandas_dp.facts import numbers
from pandas_dp.facts.argument_help import example
from pandas_dp.facts.call import ITEM, Call, kept, shown
from pandas_dp.facts.public_only import check_all_typed, refuse_private
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
        except PandasDPError as error:
            if error._priced is not None:  # of the question alone, which knows no more than its last call
                text, words = error._priced
                error.args = (str(error).replace(text, self._typed(words)),)
            raise
        return made

    def _typed(self, words: Mapping[str, str]) -> str:
        """The call as typed, but for words of its price, of which those without a text are left out."""
        terms = {name: str(value) if type(value) is Decimal else shown(value) for name, value in self._terms.items()}
        first = {name: text for name, text in words.items() if text and any(of in terms for of in words)}
        price = ", ".join(f"{name}={text}" for name, text in {**first, **terms, **words}.items() if text)
        return f"pandas_dp.query({price}){''.join(map(str, self._calls))}"

    @property
    def _stage(self) -> type | None:
        """The class that the next call is a method of; None where the question was put."""
        # the questions: importing the package shall cost little
        from pandas_dp.questions.frame import PricedColumn, PricedFrame
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
            raise AttributeError(
                f"this query already has its question: query(df) asks it; steps come before it, {self!r}"
            )
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
        if stage is None or stage.__name__ == "PricedColumn" or not hasattr(stage, "__getitem__"):
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
    try:
        return Query({name: value for name, value in given.items() if value is not DEFAULTS[name]})
    except (ArgumentTypeError, ArgumentValueError) as error:
        error.args = (str(error).replace("df.dp(", "pandas_dp.query("),)
        raise


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
