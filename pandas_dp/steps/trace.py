"""Stand-ins for a table and its columns that record what a function does with them.

A callable or a ``pd.col`` expression is run once on a ``TracedFrame``, which holds column names and no data.
Row-wise operations on it come back as a tree; everything else raises on the line where it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, PandasDPError, did_you_mean, told
from pandas_dp.facts.public_only import check_typed
from pandas_dp.steps.accessors import PROPERTIES
from pandas_dp.steps.expression import Column, Expression, lift, quote
from pandas_dp.steps.functions import (
    ACCESSORS,
    ARITHMETIC,
    METHODS,
    SHORT,
    call,
    compare,
    logical,
    negate,
    operation,
    refusal,
)
from pandas_dp.steps.operations import COMPARED, FUNCTIONS, OPERATORS

_DATA = (pd.Series, pd.DataFrame, pd.Index, pd.api.extensions.ExtensionArray, np.ndarray)
_NOT_A_TRUTH = (
    "a column has no single truth value: use &, | and ~ in place of 'and', 'or', 'not', 'if' and chained comparisons, with "
    "each comparison in parentheses, as in (d.x > 0) & (d.x < 9), or .between(0, 9), or .isin([...]) in place of 'in'"
)


def unknown_column(argument: str, name: object, names: Iterable[object]) -> ArgumentValueError:
    """Return the error for a name that is no column, with the closest one that is."""
    error = ArgumentValueError(f"{argument}: there is no column {quote(name)}{did_you_mean(name, names)}")
    error._unknown = name
    return error


def _operator(build: Callable[..., Expression], op: str, *, reflected: bool = False) -> Callable[..., Any]:
    def method(self: TracedColumn, other: object) -> TracedColumn:
        return self._build(build, op, other, self) if reflected else self._build(build, op, self, other)

    return method


def _refuse(text: str) -> Callable[..., Any]:
    def method(self: TracedColumn | TracedFrame, *_args: object, **_kwargs: object) -> NoReturn:
        raise ArgumentValueError(f"{self._argument}: {text}")

    return method


# What a numpy function on a column stands for.
_UFUNCS: dict[Any, Callable[..., Expression]] = {
    **{ufunc: partial(operation, op) for op, ufunc in (OPERATORS | FUNCTIONS).items()},
    np.float_power: partial(operation, "**"),
    **{getattr(np, name): partial(compare, op) for op, (_, name, _) in COMPARED.items()},
    **dict.fromkeys((np.logical_and, np.bitwise_and), partial(logical, "and")),
    **dict.fromkeys((np.logical_or, np.bitwise_or), partial(logical, "or")),
    **dict.fromkeys((np.logical_not, np.invert), negate),
    np.isnan: partial(operation, "isna"),
}


class TracedColumn:
    """A column, or what was computed from columns, while a function is traced."""

    __pandas_priority__ = 10_000  # pandas objects leave operations with this one to it
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, expression: Expression, argument: str) -> None:
        self._expression = expression
        self._argument = argument

    def _build(self, build: Callable[..., Expression], *args: object) -> TracedColumn:
        with told(f"{self._argument}: "):
            return TracedColumn(build(*map(self._open, args)), self._argument)

    @staticmethod
    def _open(value: object) -> object:
        if isinstance(value, TracedColumn):
            return value._expression
        check_typed(value)
        if isinstance(value, _DATA):
            raise ArgumentTypeError(
                "a Series, Index or array from outside is data that nobody checked, and it would have to be matched "
                "to the rows. Use columns of this table, as in lambda d: d.x > d.y, and public constants"
            )
        if isinstance(value, list | tuple):
            return [TracedColumn._open(item) for item in value]
        if isinstance(value, dict):
            return {name: TracedColumn._open(item) for name, item in value.items()}
        return value

    __and__, __rand__ = _operator(logical, "and"), _operator(logical, "and", reflected=True)
    __or__, __ror__ = _operator(logical, "or"), _operator(logical, "or", reflected=True)

    def __invert__(self) -> TracedColumn:
        return self._build(negate, self)

    def __neg__(self) -> TracedColumn:
        return self._build(operation, "negative", self)

    def __pos__(self) -> TracedColumn:
        return self

    def __abs__(self) -> TracedColumn:
        return self._build(operation, "abs", self)

    def __round__(self, decimals: int = 0) -> TracedColumn:
        return self._build(METHODS["round"], self, decimals)

    __call__ = _refuse("a column is not called: leave out the () after it, as in d.when.dt.year")
    __bool__ = _refuse(_NOT_A_TRUTH)
    __iter__ = _refuse("a column cannot be iterated: that would take its rows one by one")
    __len__ = _refuse("the number of rows is private: pay for it with df.dp(epsilon=...).count()")
    __getitem__ = _refuse("x[...]" + refusal("iloc").removeprefix(".iloc"))
    __setitem__ = _refuse("a column cannot be changed in place: use .assign(name=...)")
    __contains__ = _refuse(_NOT_A_TRUTH)
    __float__ = __int__ = __index__ = __complex__ = _refuse("a column is not one number: it has a value in every row")
    __array__ = _refuse("a column does not become an array, which" + refusal("values").removeprefix(".values"))
    __xor__ = __rxor__ = _refuse("'^' is not supported: write (a & ~b) | (~a & b)")

    def __array_function__(self, function: Any, _types: object, _args: object, _kwargs: object) -> NoReturn:
        raise ArgumentValueError(f"{self._argument}: np{refusal(function.__name__)}")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: object, **kwargs: object) -> TracedColumn:
        build = _UFUNCS.get(ufunc)
        if method != "__call__":
            raise ArgumentValueError(
                f"{self._argument}: np.{ufunc.__name__}.{method} combines rows. Only operations within one row keep the "
                "guarantee"
            )
        if build is None or kwargs:
            allowed = ", ".join(sorted(set(FUNCTIONS) - {"negative"}))
            raise ArgumentValueError(
                f"{self._argument}: np{refusal(ufunc.__name__)}; of numpy's, besides operators: {allowed}"
            )
        return self._build(build, *inputs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # protocols that are not there, such as __array_interface__
            raise AttributeError(name)
        if name in ACCESSORS:
            return TracedAccessor(self, name)
        return self._member(name)

    def _member(self, name: str) -> Any:
        """One of ``PROPERTIES`` computed, or what calls one of ``METHODS``."""
        if name in PROPERTIES:
            return self._build(PROPERTIES[name], self)
        if name not in METHODS:
            raise ArgumentValueError(f"{self._argument}: {refusal(name)}")

        def method(*args: object, **kwargs: object) -> TracedColumn:
            words = tuple(kwargs)
            count = len(args)

            def build(operand: Expression, *given: object) -> Expression:
                return call(name, operand, given[:count], dict(zip(words, given[count:], strict=True)))

            return self._build(build, self, *args, *kwargs.values())

        return method


for _name in SHORT.split():
    setattr(TracedColumn, f"__{_name}__", _operator(operation, ARITHMETIC[_name]))
    setattr(TracedColumn, f"__r{_name}__", _operator(operation, ARITHMETIC[_name], reflected=True))
for _op, (_name, *_) in COMPARED.items():
    setattr(TracedColumn, f"__{_name}__", _operator(compare, _op))


class TracedAccessor:
    """``.dt``, ``.str``, ``.list`` or ``.struct`` of a traced column."""

    def __init__(self, column: TracedColumn, space: str) -> None:
        self._column = column
        self._space = space

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._column._member(f"{self._space}.{name}")

    def __getitem__(self, part: object) -> Any:
        if self._space == "str" and isinstance(part, slice):
            return self.slice(part.start, part.stop, part.step)
        if self._space in ("str", "list") and isinstance(part, int):
            return self._column.str.get(part)
        raise ArgumentValueError(f"{self._column._argument}: write .str[0:1] or .str.slice(0, 1) for a part of a text")


class _Names:
    """Says yes to every name: as ``frame.columns`` while tracing, so that the frame itself can refuse unknown ones."""

    def __contains__(self, name: object) -> bool:
        return True


ANY = _Names()


class TracedFrame:
    """A table without rows or data, while a function is traced."""

    def __init__(self, names: frozenset[str] | _Names, argument: str) -> None:
        self._names: Any = names
        self._argument = argument

    columns = ANY

    def __getitem__(self, name: object) -> TracedColumn:
        if not isinstance(name, str):
            raise ArgumentTypeError(
                f"{self._argument}: d[...] takes the name of one column; rows are chosen by .filter(...)"
            )
        if name not in self._names:
            raise unknown_column(self._argument, name, self._names)
        return TracedColumn(Column(name), self._argument)

    def __getattr__(self, name: str) -> TracedColumn:
        if name.startswith("__"):
            raise AttributeError(name)
        if hasattr(pd.DataFrame, name):  # as in pandas, a method hides the column of its name
            if name in self._names:
                raise ArgumentValueError(f"{self._argument}: .{name} is a method of a table: write d[{quote(name)}]")
            raise ArgumentValueError(f"{self._argument}: {refusal(name)}")
        return self[name]

    __setitem__ = _refuse("a table cannot be changed in place: use .assign(name=...)")
    __bool__ = _refuse(_NOT_A_TRUTH)
    __iter__ = _refuse("a table cannot be iterated: name its columns, as in d.x")
    __len__ = _refuse("the number of rows is private: pay for it with df.dp(epsilon=...).count()")
    __array__ = _refuse("a table does not become an array: name its columns, as in d.x")


def trace(function: Callable[[Any], Any], names: frozenset[str] | _Names, argument: str) -> Expression:
    """Run a function, or a ``pd.col`` expression, on a traced frame and return the tree of what it computed.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        If it does anything that is not row-wise, returns no column, or raises an error of its own.
    """
    frame = TracedFrame(names, argument)
    try:
        # An expression of pandas carries a closure and can only be evaluated; pandas' own methods do it like this.
        result = function._eval_expression(frame) if isinstance(function, pd.api.typing.Expression) else function(frame)
        if isinstance(result, TracedColumn):
            return result._expression
    except PandasDPError:
        raise
    except Exception as error:  # the function is the caller's own and has seen no data
        raise ArgumentTypeError(
            f"{argument}: the function could not be traced, it raised {type(error).__name__}. It is called once, with "
            "a stand-in for the table that knows columns and row-wise operations only"
        ) from error
    if isinstance(result, TracedAccessor):
        raise ArgumentValueError(f"{argument}: {refusal(result._space)}")
    if isinstance(result, (TracedFrame, list, *_DATA)):
        raise ArgumentTypeError(
            f"{argument}: the function has to return a computed column, as in lambda d: d.x / d.y, not a "
            f"{'table' if isinstance(result, TracedFrame) else type(result).__name__}"
        )
    with told(f"{argument}: "):
        check_typed(result)
        return lift(result)
