"""The expression tree: every computation a row-wise step may do, as frozen data.

A node computes each row of its result from the same row of its columns and from constants. There is no node
that sees two rows, so a tree cannot either. That, and that no cell can make an evaluation raise, is what the
privacy of steps rests on.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.steps import date_texts, dates, operations, parts, selection, text
from pandas_dp.steps.values import (
    ConstantValue,
    Mask,
    Values,
    booleans,
    plain,
    read_column,
    read_constant,
    truth,
    write,
)

MAX_DEPTH = 100  # keeps every walk over a tree, pickle's too, well inside Python's recursion limit
MAX_NODES = 10_000  # a loop of x = x + x would double the tree at every turn

MOST_PAIRS = 50  # a longer map is written as its digest
_NO_COLUMN = "needs a column, not a constant: change the constant itself"
Option = ConstantValue | None | tuple[ConstantValue, ...]
VERSION = 5  # part of what a node is stored by: raised where the same tree comes to compute something else


def shorten(text: str, limit: int = 120) -> str:
    """Return text for an error message, cut where it grows long."""
    return text if len(text) <= limit else text[: limit - 3] + "..."


def quote(name: object) -> str:
    """Return a column name for an error message."""
    return shorten(repr(name), 60)


class Expression:
    """A node. Nodes are immutable, hashable and picklable; two are equal exactly when their ``repr`` is."""

    operands: tuple[Expression, ...] = ()
    """The nodes this one computes from."""

    def apply(self, *operands: Values) -> Values:
        """Compute this node, given its operands' values, row by row."""
        raise NotImplementedError

    def __post_init__(self) -> None:
        depth = 1 + max((operand._depth for operand in self.operands), default=0)
        nodes = 1 + sum(operand._nodes for operand in self.operands)
        if depth > MAX_DEPTH or nodes > MAX_NODES:
            raise ArgumentValueError(
                f"an expression has at most {MAX_NODES:,} operations, {MAX_DEPTH} deep: split it into several assigns"
            )
        object.__setattr__(self, "_depth", depth)
        object.__setattr__(self, "_nodes", nodes)

    _depth = 1
    _nodes = 1

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __str__(self) -> str:
        return _write(self)[0]

    def columns(self) -> frozenset[str]:
        """Names of the columns the expression reads."""
        return frozenset().union(*(operand.columns() for operand in self.operands))

    def values(self, frame: pd.DataFrame) -> Values:
        """Value in every row of ``frame``; errors name the operation and depend on columns' dtypes only."""
        operands = [operand.values(frame) for operand in self.operands]
        try:
            with np.errstate(all="ignore"):  # a warning would tell of a cell: a signalling NaN is one like others
                return self.apply(*operands)
        except (ArgumentTypeError, ArgumentValueError) as error:
            raise type(error)(f"{shorten(str(self))}: {error}") from None

    def evaluate(self, frame: pd.DataFrame) -> pd.Series[Any]:
        """Value in every row of ``frame``, on its index.

        Parameters
        ----------
        frame : DataFrame, n rows
            With the columns of ``columns()``. Rows are taken by position; index labels may repeat.

        Returns
        -------
        Series, shape (n,)
            A column by itself comes back as it is. Whole numbers are int64 or uint64, other computed ones float64, as are
            sums, differences, products and negatives of NumPy's integers, conditions bool, dates and durations datetime64
            and timedelta64, or nullable where a column is, and what ``astype("int64")`` gives. The dtype depends on the
            dtypes of the columns only. Of NumPy's integers, what is computed is written as the float next to it: see `beyond`.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
            If the dtypes do not fit the operations. ``frame.iloc[:0]`` raises exactly what ``frame`` does.

        Notes
        -----
        Whole numbers and decimals are computed exactly, see `exact`, others in float64. A missing operand makes a missing
        result. What a comparison with a missing cell is, its dtype says, as in pandas: unknown in nullable and Arrow
        dtypes and in ``string``, and ``not``, ``and`` and ``or`` of what is unknown follow Kleene's logic. In NumPy's
        dtypes, ``str``, objects and categories it is False, and ``!=`` True.
        """
        return write(self.values(frame), frame.index)

    def condition(self, frame: pd.DataFrame) -> Mask:
        """Truth in every row, shape (n,); what is unknown does not hold.

        Raises
        ------
        ArgumentTypeError
            If the expression is not a condition.
        """
        return np.broadcast_to(truth(self.values(frame)), (len(frame),))


@dataclass(frozen=True, eq=False)
class Column(Expression):
    """A column by its name."""

    name: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", str.__str__(self.name))  # a kind of text could have a repr of its own
        super().__post_init__()

    def columns(self) -> frozenset[str]:
        """The one column."""
        return frozenset((self.name,))

    def values(self, frame: pd.DataFrame) -> Values:
        """Cells of the column."""
        return read_column(self.evaluate(frame))

    def evaluate(self, frame: pd.DataFrame) -> pd.Series[Any]:
        """Return the column itself, in its own dtype."""
        column = frame[self.name] if self.name in frame.columns else None
        if not isinstance(column, pd.Series):
            raise ArgumentValueError(f"there has to be exactly one column {quote(self.name)}")
        return column

    def __str__(self) -> str:
        return self.name if self.name.isidentifier() else f"`{self.name[:60]}`"


@dataclass(frozen=True, eq=False)
class Constant(Expression):
    """A public value: true/false, a number, text, a date or a duration.

    Numpy scalars, Decimal, datetime and timedelta become their Python or pandas counterparts; dates with a
    time zone become UTC, and dates and durations count microseconds unless they need nanoseconds.

    Raises
    ------
    ArgumentTypeError
        If the value is of another type; a list, an array or a Series is never a constant.
    ArgumentValueError
        If the value is missing (NaN, None, NaT) or outside the range of its type.
    """

    value: ConstantValue

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", plain(self.value))
        super().__post_init__()

    def values(self, frame: pd.DataFrame) -> Values:
        """Values of shape ()."""
        return read_constant(self.value)

    def __repr__(self) -> str:
        if isinstance(self.value, pd.Timestamp | pd.Timedelta):
            return f"Constant({type(self.value).__name__}({self.value.isoformat()!r}))"
        return f"Constant({self.value!r})"

    def __str__(self) -> str:
        if isinstance(self.value, pd.Timestamp | pd.Timedelta):
            return repr(str(self.value))
        return repr(self.value)


def lift(value: Any) -> Expression:
    """Return an expression as it is, anything else as a constant."""
    return value if isinstance(value, Expression) else Constant(value)


@dataclass(frozen=True, eq=False)
class Operation(Expression):
    """One of ``OPERATIONS`` on its operands: arithmetic, comparison, logic or a row-wise function."""

    op: str
    operands: tuple[Expression, ...]
    version: int = field(default=VERSION, init=False)

    def apply(self, *operands: Values) -> Values:
        """Kind and dtype by the operation and the kinds of the operands."""
        return OPERATIONS[self.op](*operands)


@dataclass(frozen=True, eq=False)
class IsIn(Expression):
    """Whether a value is one of a public list; the order and repeats of the list do not matter."""

    operands: tuple[Expression, ...]
    constants: tuple[Constant, ...] = ()
    version: int = field(default=VERSION, init=False)

    def __post_init__(self) -> None:
        unique = {repr(constant): constant for constant in self.constants}
        object.__setattr__(self, "constants", tuple(unique[key] for key in sorted(unique)))
        super().__post_init__()

    def apply(self, *operands: Values) -> Values:
        """Truth values."""
        return selection.isin([constant.value for constant in self.constants], *operands)


@dataclass(frozen=True, eq=False)
class Method(Expression):
    """A row-wise method whose options are public constants, by name and in one order."""

    name: str
    operands: tuple[Expression, ...]
    options: tuple[tuple[str, Option], ...] = ()
    version: int = field(default=VERSION, init=False)

    def apply(self, *operands: Values) -> Values:
        """Kind and dtype by the method, its options and the kinds of the operands."""
        if any(np.ndim(operand.missing) == 0 for operand in operands):
            raise ArgumentTypeError(_NO_COLUMN)
        return ROWWISE[self.name](*operands, **dict(self.options))


@dataclass(frozen=True, eq=False)
class Map(Expression):
    """The value that belongs to the key a cell equals, missing where it equals none.

    Attributes
    ----------
    operands : tuple of one Expression
    pairs : tuple of pairs of constants
        Keys, each once, and their values; in one order.
    """

    operands: tuple[Expression, ...]
    pairs: tuple[tuple[ConstantValue, ConstantValue], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "pairs", tuple(sorted(self.pairs, key=lambda pair: repr(Constant(pair[0])))))
        super().__post_init__()

    def apply(self, *operands: Values) -> Values:
        """Kind by that of the values."""
        if np.ndim(operands[0].missing) == 0:
            raise ArgumentTypeError(_NO_COLUMN)
        keys, values = zip(*self.pairs, strict=True)
        return selection.take(values, selection.positions(operands[0], keys), operands[0])

    @functools.cached_property
    def _exact(self) -> str:
        """All that is mapped, or the SHA-256 of it where it is long: what the node is equal and recorded by."""
        listed = ", ".join(f"{Constant(wanted)!r}: {Constant(value)!r}" for wanted, value in self.pairs)
        if len(self.pairs) <= MOST_PAIRS:
            return f"{{{listed}}}"
        return f"{{... {len(self.pairs):,} pairs, sha256 {hashlib.sha256(listed.encode()).hexdigest()}}}"

    def __repr__(self) -> str:
        return f"Map({self.operands[0]!r}, {self._exact}, version={VERSION})"


OPERATIONS: dict[str, Callable[..., Values]] = {
    **{op: functools.partial(operations.arithmetic, op) for op in operations.OPERATORS},
    **{name: functools.partial(operations.function, name) for name in operations.FUNCTIONS},
    **{op: functools.partial(operations.compare, op) for op in operations.COMPARED},
    "and": functools.partial(operations.logical, False),
    "or": functools.partial(operations.logical, True),
    "not": operations.negated,
    "isna": lambda operand: booleans(operand.missing),
    "at_least": functools.partial(selection.clip, np.maximum),
    "at_most": functools.partial(selection.clip, np.minimum),
    "round": operations.round_half_even,
    "fillna": selection.fill,
    "where": selection.where,
    "case_when": selection.case_when,
    **{f"dt.{name}": functools.partial(dates.part, name) for name in dates.PARTS},
    **{f"dt.{name}": functools.partial(dates.flag, name) for name in dates.FLAGS},
    **{f"dt.{name}": functools.partial(dates.span, name) for name in dates.SPANS},
}
ROWWISE: dict[str, Callable[..., Values]] = {
    **{f"str.{name}": functools.partial(text.change, name) for name in text.CHANGES},
    **{f"str.{name}": functools.partial(text.holds, name) for name in text.TESTS},
    **{f"str.{name}": functools.partial(text.count, name) for name in text.COUNTS},
    "str.contains": lambda operand, pat, case, regex: (parts.matches if regex else text.holds)(
        "contains", operand, pat=pat, case=case, regex=regex
    ),
    **{f"str.{name}": functools.partial(parts.matches, name) for name in ("match", "fullmatch")},
    "str.extract": parts.extract,
    "str.split": parts.split,
    "str.rsplit": functools.partial(parts.split, right=True),
    "str.get": parts.element,
    "str.len": parts.length,
    "struct.field": parts.field,
    "str.to_datetime": date_texts.to_datetime,
    "dt.strftime": date_texts.strftime,
    **{f"dt.{name}": functools.partial(date_texts.rounded, name) for name in ("floor", "ceil", "round")},
    "dt.tz_localize": dates.placed_in,
    "dt.tz_convert": dates.converted,
    "astype": text.astype,
    "cut": selection.cut,
}
_DEFAULTS = {  # options that are not written
    *((name, None) for name in ("start", "stop", "step", "end", "tz", "pat")),
    ("case", True),
    ("fillchar", " "),
    ("n", -1),
    ("right", True),
    ("include_lowest", False),
}
_ATOM, _UNARY, _COMPARED = 9, 7, 4
_BINDING = {"or": 1, "and": 2, "not": 3, "+": 5, "-": 5, "*": 6, "/": 6, "//": 6, "%": 6, "negative": _UNARY, "**": 8}
_METHODS = {
    "isna": "isna()",
    "abs": "abs()",
    "fillna": "fillna({})",
    "round": "round({})",
    "at_least": "clip({})",
    "at_most": "clip(upper={})",
    **{f"dt.{name}": f"dt.{name}" for name in (*dates.PARTS, *dates.FLAGS, *dates.SPANS)},
}


def _write(node: Expression) -> tuple[str, int]:
    """Write a node as ``query`` reads it, and how tightly that text binds: what is looser goes in parentheses."""

    def inner(operand: Expression, least: int) -> str:
        text, binding = _write(operand)
        return text if binding >= least else f"({text})"

    first = node.operands[0] if node.operands else node
    if isinstance(node, IsIn):
        return f"{inner(first, _COMPARED + 1)} in [{', '.join(map(str, node.constants))}]", _COMPARED
    if isinstance(node, Method):
        options = ", ".join(
            f"{name}={_option(value)}" for name, value in node.options if (name, value) not in _DEFAULTS
        )
        return f"{inner(first, _ATOM)}.{node.name}({options})", _ATOM
    if isinstance(node, Map):
        pairs = ", ".join(f"{Constant(wanted)}: {Constant(value)}" for wanted, value in node.pairs)
        content = f"{{{pairs}}}" if len(node.pairs) <= MOST_PAIRS else node._exact
        return f"{inner(first, _ATOM)}.map({content})", _ATOM
    if not isinstance(node, Operation):
        text = str(node)
        return text, _UNARY if text.startswith("-") else _ATOM
    if node.op in _METHODS:
        return f"{inner(first, _ATOM)}.{_METHODS[node.op].format(*node.operands[1:])}", _ATOM
    if node.op == "case_when":
        cases = zip(node.operands[1::2], node.operands[2::2], strict=True)
        return f"{inner(first, _ATOM)}.case_when([{', '.join(f'({case}, {value})' for case, value in cases)}])", _ATOM
    if node.op == "where":
        return f"{inner(first, _ATOM)}.where({', '.join(map(str, node.operands[1:]))})", _ATOM
    if node.op in ("not", "negative"):
        binding = _BINDING[node.op]
        return ("not " if node.op == "not" else "-") + inner(first, binding), binding
    if len(node.operands) == 1:
        return f"np.{node.op}({first})", _ATOM
    binding = _BINDING.get(node.op, _COMPARED)
    left = inner(first, binding + (binding in (_COMPARED, _BINDING["**"])))
    return f" {node.op} ".join([left, *(inner(operand, binding + 1) for operand in node.operands[1:])]), binding


def _option(value: Option) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_option, value))}]"
    return str(Constant(value))  # type: ignore[arg-type]
