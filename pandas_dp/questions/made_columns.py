"""Code that pandas would compute with a column of a priced frame: the step that does it of each row, and what is asked then."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pandas_dp.errors import ArgumentTypeError, PandasDPError
from pandas_dp.facts.chains import column_of, condition, put, whole
from pandas_dp.facts.of_frame import SPANS, grouped, of_rows, rows_of
from pandas_dp.facts.written import LONGEST_LINE, Written, code, typed_text
from pandas_dp.questions.lacking import needed
from pandas_dp.steps.functions import ACCESSORS, METHODS

if TYPE_CHECKING:
    from pandas_dp.questions.rows import PreparedFrame

OPERATORS = (ast.BinOp, ast.UnaryOp, ast.Compare)
OF_ROWS = ("query", "filter", "where", "mask")
HOLDS = ("isin", "between", "gt", "ge", "lt", "le", "eq", "ne", "isna", "isnull", "notna", "notnull")
TYPES = {"int": int, "float": float, "str": str, "bool": bool}
SAME = ("fillna", "clip", "round", "astype", "abs", "replace", "map", "where", "mask")  # values of the column itself


def line_of(frame: PreparedFrame, column: str, *kinds: type[ast.expr]) -> str:
    """What to type in the place of the code, one of these kinds, that a column stands in just now; no text if unknown."""
    with suppress(Exception):  # code may be anything
        found = Written.here(*kinds)
        if found is None:
            return ""
        within = [one for one in ast.walk(found.node) if isinstance(one, ast.Subscript | ast.Attribute)]
        first = next(
            one
            for one in within
            if column in (getattr(one, "attr", ""), getattr(getattr(one, "slice", None), "value", ""))
        )
        node: Any = first if isinstance(found.node, ast.Call) and _joins(found.node) else found.node
        node = _largest(node.value if isinstance(node, ast.Attribute) and node is not first else node, found.above)
        line = _line(frame, node, found.above, ast.unparse(first.value))
        return line if len(line) <= LONGEST_LINE else ""
    return ""


def _largest(node: Any, above: Mapping[Any, Any]) -> Any:
    """The whole code about each row that some code is a part of."""
    while (up := above.get(node)) is not None:
        call = above.get(up)
        called = isinstance(call, ast.Call) and call.func is up
        if isinstance(up, ast.Attribute):
            of = getattr(node, "attr", "")
            known = f"{of}.{up.attr}" if of in ACCESSORS else up.attr
            if not (known in METHODS or of in ACCESSORS or up.attr in ACCESSORS):
                break
            node = call if called else up
        elif isinstance(up, ast.Subscript):
            if up.value is not node or getattr(node, "attr", "") != "str":
                break
            node = up
        elif isinstance(up, ast.Call):
            if node not in up.args or ast.unparse(up.func).partition(".")[0] not in ("np", "pd") or _joins(up):
                break
            node = up
        elif isinstance(up, OPERATORS):
            node = up
        else:
            break
    return node


def _joins(call: ast.Call) -> bool:
    """Whether a function of pandas makes a table of columns."""
    return ast.unparse(call.func) in ("pd.crosstab", "pd.get_dummies", "pd.concat", "pd.merge", "pd.pivot_table")


def _line(frame: PreparedFrame, node: Any, above: Mapping[Any, Any], base: str) -> str:
    """What to type in the place of the code about each row."""
    up, inner = above.get(node), node
    while isinstance(up, ast.List | ast.Tuple | ast.keyword):
        up, inner = above.get(up), up
    if isinstance(up, ast.Subscript) and inner is up.slice:
        return _chosen(frame, node, above, up, base) if _same(frame, up.value, base) else ""
    if not isinstance(up, ast.Call) or up.func is inner or not isinstance(up.func, ast.Attribute):
        return _asked(frame, node, above, base)
    name = up.func.attr
    if ast.unparse(up.func) == "pd.crosstab":
        columns = [column_of(one, base, {*frame._empty()}) for one in up.args]
        call = ast.Call(ast.Attribute(code(base), "crosstab"), [*map(ast.Constant, columns)], up.keywords)
        if not all(columns) or len(columns) != 2:
            return ""
        lacks = frame._lacks(
            ("index", "columns", "keys", "bins"), dict(zip(("index", "columns"), columns, strict=True))
        )
        call.keywords += [ast.keyword(argument, code(text)) for argument, text in lacks.items()]
        return put(above, up, call, None, frame)
    if not _same(frame, up.func.value, base):
        return ""
    if name == "groupby":
        written = Written(up, dict(above))
        text, first = grouped(written, frame, False, base), typed_text(up)
        lower = "; a bin holds its lower edge" * ("cut(" in first and "bins=" in text)
        return text and text + whole(up, above, frame).removeprefix(first) + lower
    if name == "assign":
        made = of_rows(Written(up, dict(above)), frame, base)
        return made if name in made else ""
    return _chosen(frame, node, above, up, base) if name in OF_ROWS else ""


def _same(frame: PreparedFrame, node: Any, base: str) -> bool:
    """Whether a chain begins with what the column was taken of: of a frame without a price the advice would be pandas'."""
    columns = {*frame._empty()}
    first, own = (Written(of, {}).priced(columns) for of in (node, code(base)))
    return ast.unparse(first) == ast.unparse(own)


def _chosen(frame: PreparedFrame, node: Any, above: Mapping[Any, Any], place: Any, base: str) -> str:
    """The chain that goes on from rows which are chosen by a condition, as text or as a function of a row."""
    text = condition(node, base, {*frame._empty()}) or ast.unparse(
        _Named(base, {*frame._empty()}).visit(code(ast.unparse(node)))
    )
    step: Any = None
    with suppress(PandasDPError):
        frame.query(text)
        step = "query", ast.Constant(text)
    if step is None:
        of_row = f"lambda d: {rows_of(node, base, frame._empty())}"
        frame.filter(_function(of_row))
        step = "filter", code(of_row)
    held: Any = place.value if isinstance(place, ast.Subscript) else place.func.value
    if isinstance(held, ast.Attribute) and held.attr == "loc":
        held = held.value
    column = place.slice.elts[1] if isinstance(place, ast.Subscript) and isinstance(place.slice, ast.Tuple) else None
    if isinstance(held, ast.Subscript) and column_of(held, base, {*frame._empty()}):
        held, column = held.value, held.slice
    return put(above, place, ast.Call(ast.Attribute(held, step[0]), [step[1]], []), column, frame)


class _Named(ast.NodeTransformer):
    """Columns of a frame as their names."""

    def __init__(self, base: str, columns: set[Any]) -> None:
        self.base, self.columns = base, columns

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Name a column."""
        column = column_of(node, self.base, self.columns)
        return ast.Name(column if column.isidentifier() else f"`{column}`") if column else self.generic_visit(node)


def _asked(frame: PreparedFrame, node: Any, above: Mapping[Any, Any], base: str) -> str:
    """The column as a step makes it, and the question that was put about it."""
    up, columns = above.get(node), {*frame._empty()}
    call: Any = above.get(up)
    question = up.attr if isinstance(up, ast.Attribute) and isinstance(call, ast.Call) and call.func is up else ""
    if column_of(node, base, columns):
        return "" if isinstance(up, ast.Attribute) else f"{base}[{column_of(node, base, columns)!r}]"
    named, of_row = _name(node, base, columns), rows_of(node, base, frame._empty())
    try:
        if named in SPANS and question == "value_counts":
            raise ArgumentTypeError("spans of time are bins")
        made = frame.assign(**{named: _function(f"lambda d: {of_row}")})
    except PandasDPError:  # periods, which are bins
        by = ast.Call(ast.Attribute(code(base), "groupby"), [node], [])
        group = grouped(Written(by, {}), frame, False, base) if question == "value_counts" else ""
        return group and f"{group}.size()"
    column = made[named]
    if isinstance(up, ast.Attribute) and not (question and hasattr(type(column), question)):
        return ""
    step = ast.Call(ast.Attribute(code(base), "assign"), [], [ast.keyword(named, code(f"lambda d: {of_row}"))])
    if question:
        more = needed(made, type(column), call, question, named)
        call.keywords += [ast.keyword(argument, code(text)) for argument, text in more.items()]
        return put(above, node, step, ast.Constant(named), made)
    return typed_text(ast.Subscript(step, ast.Constant(named)))


def _name(node: Any, base: str, columns: set[Any]) -> str:
    """How a column is named that some code makes."""
    func: Any = node.func if isinstance(node, ast.Call) else node
    attr = getattr(func, "attr", "")
    if isinstance(node, ast.Compare) or attr in HOLDS or attr in ("startswith", "endswith", "contains"):
        return "holds"
    if getattr(getattr(func, "value", None), "attr", "") == "dt":
        return str(attr)
    if attr == "cut":
        return "band"
    if isinstance(func, ast.Subscript) or getattr(getattr(func, "value", None), "attr", "") == "str":
        return "part"
    own = column_of(func.value, base, columns) if attr in SAME else ""
    return own if own.isidentifier() else "made"


def _function(text: str) -> Any:
    """A function of a row, of code that names its rows, and functions of NumPy of each number, alone."""
    tree = code(text)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and getattr(node.func, "attr", "") == "cut"
            and isinstance(node.args[0], ast.Name)
        ):
            node.args[0] = code("[0, 1]")  # whose edges decide nothing here
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id not in ("d", "np", "pd", *TYPES):
            raise NameError(node.id)
        if (
            isinstance(node, ast.Attribute)
            and ast.unparse(node.value) == "np"
            and not isinstance(getattr(np, node.attr), np.ufunc)
        ):
            raise NameError(node.attr)
        if (
            isinstance(node, ast.Attribute)
            and ast.unparse(node.value) == "pd"
            and node.attr not in ("Timestamp", "Timedelta")
        ):
            raise NameError(node.attr)
        if (isinstance(node, ast.Lambda) and node is not tree) or isinstance(node, ast.NamedExpr | ast.comprehension):
            raise NameError("lambda")
    return eval(  # noqa: S307  # it is the user's own line, without any name of theirs
        compile(ast.Expression(ast.fix_missing_locations(tree)), "<step>", "eval"),
        {"np": np, "pd": pd, "__builtins__": TYPES},
    )
