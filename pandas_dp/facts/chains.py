"""Chains of calls as they stand in the user's code, with what they lack, where a name or a mask in them is not taken."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from keyword import iskeyword
from typing import Any, NoReturn

import pandas as pd

from pandas_dp.errors import ArgumentTypeError
from pandas_dp.facts.kinds import kind_or_none
from pandas_dp.facts.written import (
    LONGEST_LINE,
    as_written,
    asked_frame,
    nodes_of,
    parsed_at,
    typed_text,
    user_frame,
    whole_chain,
)

PARTS = {  # of dates, and all that they can be
    "month": "range(1, 13)",
    "quarter": "range(1, 5)",
    "day": "range(1, 32)",
    "hour": "range(24)",
    "dayofweek": "range(7)",
    "weekday": "range(7)",
}
CONDITION = (
    *(ast.Compare, ast.BinOp, ast.UnaryOp, ast.Name, ast.Constant, ast.Load, ast.cmpop),
    *(ast.BitAnd, ast.BitOr, ast.Invert, ast.USub),
)


def completed(
    name: str,
    price: str,
    columns: Iterable[str],
    lacks: Callable[[str], str],
    needs: Callable[[ast.Call, str, str | None], Mapping[str, str]],
    meant: str = "",
) -> str:
    """The chain in which a name was looked up behind a point, as a question that lacks nothing; no text if it is unknown.

    Parameters
    ----------
    name : str
        A question, or a column that is selected in brackets.
    price : str
        How a price that is missing before it is typed; no text where it is there.
    columns, lacks
        As for `behind`.
    needs : callable
        What a call lacks, of a question, and of a column that is selected.
    meant : str
        How a question is spelled right.
    """
    node, above = _looked_up(name)
    if node is None:
        return ""
    question: Any = above[node] if name in {*columns} else node
    call = above.get(question)
    if not isinstance(question, ast.Attribute) or not isinstance(call, ast.Call) or call.func is not question:
        return ""
    question.attr = meant or question.attr
    if price:
        node.value = ast.Call(node.value, [], [ast.keyword("epsilon", ast.Constant(float(price)))])
    more = needs(call, question.attr, name if question is not node else None)
    call.keywords += [ast.keyword(argument, ast.parse(text, mode="eval").body) for argument, text in more.items()]
    if question is not node:
        question.value = ast.Subscript(node.value, ast.Constant(name))
    line = typed_text(whole_chain(call, above, columns, lacks))
    return line if len(line) <= LONGEST_LINE else ""


def _unpriced(name: str) -> Callable[..., NoReturn]:
    """A question that stands behind ``preview`` without its price, where it says how it is typed."""

    def refused(*args: Any, **options: Any) -> NoReturn:
        call, line = as_written(name, args, options), f"df.dp.preview(epsilon=0.5).{name}(...)"
        if call is not None and isinstance(call.func, ast.Attribute):
            call.func.value = ast.Call(call.func.value, [], [ast.keyword("epsilon", ast.Constant(0.5))])
            line = typed_text(call)
        raise ArgumentTypeError(f"a preview needs a price: {line}")

    return refused


COMMON = (
    "count",
    "size",
    "sum",
    "mean",
    "median",
    "value_counts",
    "histogram",
    "groupby",
    "agg",
    "describe",
    "crosstab",
)
UNPRICED = {name: _unpriced(name) for name in COMMON}


def first_text(name: str) -> str:
    """The text with which a name that was just looked up is called first; no text if there is none."""
    node, above = _looked_up(name)
    call = above.get(node)
    first = call.args[0] if isinstance(call, ast.Call) and call.func is node and call.args else None
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""


def _looked_up(name: str) -> tuple[Any, dict[Any, Any]]:
    """Where a name was just looked up behind a point, and all nodes of that code with those above them."""
    caller = user_frame()
    place, above = (None, {}) if caller is None else nodes_of(caller)
    ends = () if place is None else (place[1], place[3])
    nodes = (node for node in above if isinstance(node, ast.Attribute) and node.attr == name)
    return next((one for one in nodes if (one.end_lineno, one.end_col_offset) == ends), None), above


def masked(columns: Iterable[Any], lacks: Callable[[str], str], name: str = "") -> str:
    """The chain that goes on from a mask, with its condition in ``query``; no text if that cannot be read.

    The mask stands in brackets, or behind a `name`: ``.loc[mask, column]``, ``.where(mask)``.
    """
    caller = user_frame()
    place, above = (None, {}) if caller is None else nodes_of(caller)
    found = (node for node in above if isinstance(node, ast.Subscript))
    node: Any
    if name:
        before, above = _looked_up(name)
        node = above.get(before)
    else:
        before = node = next(
            (one for one in found if (one.lineno, one.end_lineno, one.col_offset, one.end_col_offset) == place), None
        )
    mask: Any = node.slice if isinstance(node, ast.Subscript) else next(iter(getattr(node, "args", ())), None)
    mask, column = mask.elts if isinstance(mask, ast.Tuple) and len(mask.elts) == 2 else (mask, None)
    text = "" if mask is None else _condition(mask, asked_frame(before.value) or "", {*columns})
    if not text:
        return ""
    frame: Any = before.value
    if column is None and isinstance(frame, ast.Subscript):
        frame, column = frame.value, frame.slice
    if column is not None and getattr(frame, "attr", "") == "dp":  # a question needs a price
        frame = ast.Call(frame, [], [ast.keyword("epsilon", ast.Constant(0.5))])
    made: Any = ast.Call(ast.Attribute(frame, "query"), [ast.Constant(text)], [])
    made = made if column is None else ast.Subscript(made, column)
    above[made] = above[node]
    for field, value in ast.iter_fields(above[node]):
        if value is node:
            setattr(above[node], field, made)
    return typed_text(whole_chain(made, above, columns, lacks))


def compared(column: str) -> str:
    """The condition in which a column is compared with what is typed there, as ``query`` takes it; no text where unknown."""
    caller = user_frame()
    found = None if caller is None else parsed_at(caller)
    if not isinstance(found, ast.Compare) or len(found.ops) > 1 or not isinstance(found.comparators[0], ast.Constant):
        return ""
    return ast.unparse(ast.Compare(_named(column), found.ops, found.comparators))


def grouped(call: ast.Call, empty: pd.DataFrame) -> str:
    """Groups by parts of dates or of text, or by intervals of `pd.cut`, as they are asked for; no text for others."""
    columns = {*empty}
    frame, by = asked_frame(call) or "", call.args[0] if call.args else None
    if not isinstance(call.func, ast.Attribute):
        return ""
    if isinstance(by, ast.Call) and by.args and ast.unparse(by.func) == "pd.cut":
        column, more = _column(by.args[0], frame, columns), {word.arg: word.value for word in by.keywords}
        edges = by.args[1] if len(by.args) == 2 else more.pop("bins", None)
        if not column or edges is None or isinstance(edges, ast.Constant):
            return ""
        if more:  # labels, and which edge an interval holds
            cut = ast.unparse(ast.Call(ast.Name("cut"), [edges], [ast.keyword(*word) for word in more.items()]))
            return _of_made(call, "band", f"d[{column!r}].{cut}", call.keywords)
        return typed_text(ast.Call(call.func, [ast.Constant(column)], [ast.keyword("bins", edges), *call.keywords]))
    day = by.value.value if isinstance(by, ast.Attribute) and isinstance(by.value, ast.Attribute) else None
    part = by.attr if isinstance(by, ast.Attribute) and ast.unparse(by.value).endswith(".dt") else ""
    if day is not None and part in PARTS and (column := _column(day, frame, columns)):
        kind = kind_or_none(empty[column].dtype)
        read = ".str.to_datetime('%Y-%m-%d')" if kind is not None and kind.name == "key" else ""
        name, made, keys = part, f"d[{column!r}]{read}.dt.{part}", [ast.keyword("keys", ast.Name(PARTS[part]))]
    elif isinstance(by, ast.Subscript) and isinstance(text := by.value, ast.Attribute) and text.attr == "str":
        if not (column := _column(text.value, frame, columns)):
            return ""
        name, made = "part", f"d[{column!r}].str[{ast.unparse(by.slice)}]"
        keys = [ast.keyword("keys", ast.Name("['A', 'B']"))]
    elif (
        isinstance(by, ast.Compare | ast.BoolOp | ast.BinOp) and frame.isidentifier() and _condition(by, frame, columns)
    ):
        own = {node for node in ast.walk(by) if isinstance(node, ast.Name) and node.id == frame}
        for node in own:
            node.id = "d"
        name, made, keys = "holds", ast.unparse(by), []
    else:
        return ""
    words = call.keywords if any(word.arg == "keys" for word in call.keywords) else [*keys, *call.keywords]
    return _of_made(call, name, made, words)


def joined(call: ast.Call | None, left: str, right: str) -> str:
    """A merge whose columns of keys have two names, as it is typed once the lookup has that of the table."""
    called, lookup = map(ast.unparse, (call.func, call.args[0])) if call and call.args else ("df.dp.merge", "lookup")
    return f"{called}({lookup}.rename(columns={{{right!r}: {left!r}}}), on={left!r})"


def _of_made(call: ast.Call, name: str, made: str, words: list[ast.keyword]) -> str:
    """Groups by a column that a step makes."""
    func: Any = call.func
    frame = f"{ast.unparse(func.value)}.assign({name}=lambda d: {made})"
    return typed_text(ast.Call(ast.Name(f"{frame}.groupby"), [ast.Constant(name)], words))


def _column(node: ast.expr, frame: str, columns: set[str]) -> str:
    """Which column of a frame some code is."""
    if isinstance(node, ast.Attribute):
        name: Any = node.attr
    else:
        name = getattr(getattr(node, "slice", None), "value", None)
    known = isinstance(name, str) and name in columns
    return name if known and ast.unparse(getattr(node, "value", node)) == frame else ""


def _named(column: str) -> ast.Name:
    return ast.Name(column if column.isidentifier() and not iskeyword(column) else f"`{column}`")


def _condition(node: ast.expr, frame: str, columns: set[str]) -> str:
    """A mask that compares columns of a frame with what is typed there, as ``query`` takes it."""

    class Own(ast.NodeTransformer):
        def generic_visit(self, one: ast.AST) -> ast.AST:
            if isinstance(one, ast.Name):  # a variable, which may have the name of a column
                return ast.Name("")
            column = _column(one, frame, columns) if isinstance(one, ast.Attribute | ast.Subscript) else ""
            return _named(column) if column else super().generic_visit(one)

    made = Own().visit(ast.parse(ast.unparse(node), mode="eval").body)
    names = {_named(column).id for column in columns if isinstance(column, str) and "`" not in column}
    known = all(
        isinstance(one, CONDITION) and (not isinstance(one, ast.Name) or one.id in names) for one in ast.walk(made)
    )
    return ast.unparse(made) if known and isinstance(made, ast.Compare | ast.BinOp | ast.UnaryOp) else ""
