"""Groups and steps that were given columns of the frame itself, as they are asked for: by names, and of the rows of a step."""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

import pandas as pd

from pandas_dp.facts.chains import column_of, condition, named_rows, whole
from pandas_dp.facts.kinds import kind_or_none
from pandas_dp.facts.public_only import PERIODS
from pandas_dp.facts.written import Written, code, typed_text

PARTS = {  # of dates, and all that they can be, or how they are listed
    "year": "[2025, 2026]",
    "month": "range(1, 13)",
    "quarter": "range(1, 5)",
    "day": "range(1, 32)",
    "hour": "range(24)",
    "dayofweek": "range(7)",
    "weekday": "range(7)",
    "week": "range(1, 54)",
    "day_name": "['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday']",
}
MADE = {"week": ".strftime('%V').astype('int64')", "day_name": ".day_name()"}  # where a step takes another name
SPANS = {"to_period": "M", "strftime": "M", "date": "D"}  # of time, which are bins


class _By(NamedTuple):
    """One of the columns of groups: its name, the step that makes it, and how its keys or bins are typed."""

    name: str
    made: str = ""
    argument: str = ""
    text: str = ""


def grouped(written: Written, asked: Any, unknown: bool, rows: str = "") -> str:
    """Groups by parts of dates or of text, or by intervals of `pd.cut`, as they are asked for; no text for others.

    A name that is `unknown` may be that of a part of dates. What they are made of stands there as these `rows`.
    """
    call = written.node
    rows = rows or written.frame or named_rows(call, {*asked._empty()})
    by = call.args[0] if call.args else next((word.value for word in call.keywords if word.arg == "by"), None)
    given = by.elts if isinstance(by, ast.List) else [by]
    known = [part for one in given if (part := part_of(one, rows, asked, unknown)) is not None]
    if len(known) < len(given) or all(isinstance(one, ast.Constant) and one.value in asked._empty() for one in given):
        return ""
    words = [word for word in call.keywords if word.arg != "by"]
    typed = {word.arg for word in words}
    for argument in ("keys", "bins"):
        lacking = {part.name: text for part in known if (text := _lacked(part, argument, asked))}
        several = f"{{{', '.join(f'{name!r}: {text}' for name, text in lacking.items())}}}"
        known_of = next((word.value for word in words if word.arg == argument), None)
        if isinstance(known_of, ast.Dict):  # of which some may be typed
            has = [getattr(key, "value", None) for key in known_of.keys]
            more = {name: text for name, text in lacking.items() if name not in has}
            known_of.keys += [*map(ast.Constant, more)]
            known_of.values += [*map(code, more.values())]
        elif lacking and argument not in typed:
            words.append(ast.keyword(argument, code(next(iter(lacking.values())) if len(known) == 1 else several)))
    frame: Any = call.func.value
    if made := [ast.keyword(part.name, code(f"lambda d: {part.made}")) for part in known if part.made]:
        frame = ast.Call(ast.Attribute(frame, "assign"), [], made)
    names: list[ast.expr] = [ast.Constant(part.name) for part in known]
    return typed_text(
        ast.Call(ast.Attribute(frame, "groupby"), [ast.List(names) if len(known) > 1 else names[0]], words)
    )


def _lacked(part: _By, argument: str, asked: Any) -> str:
    """How keys or bins of a column of groups are typed."""
    if part.made or part.argument:
        return part.text if part.argument == argument else ""
    text = str(asked._lacks(("by", "keys", "bins"), {"by": [part.name]}).get(argument, ""))
    return text and ast.unparse(code(text).values[0])  # type: ignore[attr-defined]


def part_of(by: Any, frame: str, asked: Any, unknown: bool) -> _By | None:
    """What one of the columns of groups is; None where that cannot be read."""
    empty = asked._empty()
    known = {*empty}
    if isinstance(by, ast.Constant):
        name: Any = by.value
        if name in known or name not in PARTS or not unknown:
            return _By(name) if name in known else None
        # as it would be named, of the one column of dates
        dates = [name for name in empty if getattr(kind_or_none(empty[name].dtype), "name", "") == "datetime"]
        return _part(dates[0], name, empty) if len(dates) == 1 else None
    if isinstance(by, ast.Call) and ast.unparse(by.func) == "pd.Grouper":
        said: dict[Any, Any] = {word.arg: getattr(word.value, "value", None) for word in by.keywords}
        column, span = said.get("key", ""), str(said.get("freq", "M")).rstrip("SE")
        if column not in known or not {*said} <= {"key", "freq"} or not span:
            return None
        return _By(column) if span == "M" else _By(column, "", "bins", PERIODS.replace("freq='M'", f"freq={span!r}"))
    if isinstance(by, ast.Call) and by.args and ast.unparse(by.func) == "pd.cut":
        column, more = column_of(by.args[0], frame, known), {word.arg: word.value for word in by.keywords}
        edges = by.args[1] if len(by.args) == 2 else more.pop("bins", None)
        if not column or edges is None or isinstance(edges, ast.Constant):
            return None
        if not more:
            return _By(column, "", "bins", ast.unparse(edges))
        # labels, and which edge an interval holds
        cut = ast.unparse(ast.Call(ast.Name("cut"), [edges], [ast.keyword(*word) for word in more.items()]))
        return _By("band", f"d[{column!r}].{cut}")
    if isinstance(by, ast.Subscript) and isinstance(text := by.value, ast.Attribute) and text.attr == "str":
        column = column_of(text.value, frame, known)
        return _By("part", f"d[{column!r}].str[{ast.unparse(by.slice)}]", "keys", "['A', 'B']") if column else None
    if isinstance(by, ast.Attribute | ast.Subscript) and (column := column_of(by, frame, known)):
        return _By(column)
    if isinstance(by, ast.Compare | ast.BinOp) and condition(by, frame, known):
        return _By("holds", rows_of(by, frame, empty))
    called: Any = by.func if isinstance(by, ast.Call) else by
    of: Any = getattr(called, "value", None)
    if ast.unparse(of).endswith(".dt.isocalendar()") if of else False:
        of = of.func.value
    if getattr(of, "attr", "") == "dt" and (column := column_of(of.value, frame, known)):
        monthly = called.attr != "strftime" or [*map(ast.unparse, by.args)] == ["'%Y-%m'"]
        if called.attr in SPANS and monthly:
            typed: list[Any] = [one.value for one in getattr(by, "args", ()) if isinstance(one, ast.Constant)]
            span = typed[0] if typed and called.attr == "to_period" else SPANS[called.attr]
            if span == "M":
                return _By(column)
            return _By(column, "", "bins", PERIODS.replace("freq='M'", f"freq={span!r}"))
        return _part(column, called.attr, empty) if called.attr in PARTS else None
    return None


def _part(column: str, name: str, empty: pd.DataFrame) -> _By:
    """A part of dates, which a step makes of a column of dates or of text that holds them."""
    return _By(name, f"d[{column!r}]{_read(empty, column)}.dt{MADE.get(name, f'.{name}')}", "keys", PARTS[name])


def of_rows(written: Written, asked: Any, rows: str = "") -> str:
    """A step that was given columns or masks of the frame itself, as one of its rows; no text for others."""
    call = written.node
    frame = rows or written.frame or named_rows(call, {*asked._empty()})
    first = call.args[0] if len(call.args) == 1 else None
    if call.func.attr == "assign":
        columns = [word for word in call.keywords if _outside(word.value, frame)]
        for word in columns:
            word.value = _of_row(word.value, frame, asked)
    else:
        columns = [first] if call.func.attr in ("query", "filter") and _outside(first, frame) else []
        for mask in columns:
            text = condition(mask, frame, {*asked._empty()})
            call.func.attr = "query" if text else "filter"
            call.args = [ast.Constant(text) if text else _of_row(mask, frame, asked)]
    if not columns:
        return ""
    return whole(call, written.above, asked) if hasattr(asked, "_lacks") else typed_text(call)


def _outside(node: Any, frame: str) -> bool:
    """Whether an argument is computed of the frame, and not of rows that a function gets."""
    if node is None or isinstance(node, ast.Lambda) or not frame:
        return False
    return any(isinstance(one, ast.expr) and ast.unparse(one) == frame for one in ast.walk(node))


def _of_row(node: ast.expr, frame: str, asked: Any) -> ast.expr:
    return code(f"lambda d: {rows_of(node, frame, asked._empty())}")


def rows_of(node: ast.expr, frame: str, empty: pd.DataFrame) -> str:
    """Code about a frame as that of a step, which gets its rows as ``d``."""
    return ast.unparse(_Rows(frame, empty).visit(code(ast.unparse(node))))


class _Rows(ast.NodeTransformer):
    """Code about a frame as that of a step, which gets its rows as ``d``, and has methods in place of functions of columns."""

    def __init__(self, frame: str, empty: pd.DataFrame) -> None:
        self.frame, self.empty = frame, empty

    def visit(self, node: ast.AST) -> Any:
        """Put the rows in the place of the frame."""
        return ast.Name("d") if isinstance(node, ast.expr) and ast.unparse(node) == self.frame else super().visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        called, first = ast.unparse(node.func), node.args[0] if node.args else ast.Name("")
        column = column_of(first, "d", {*self.empty})
        if called == "pd.cut" and column:
            return ast.Call(ast.Attribute(first, "cut"), node.args[1:], node.keywords)
        if called == "pd.to_datetime" and column and len(node.args) == 1 and not node.keywords:
            return code(f"{ast.unparse(first)}{_read(self.empty, column)}")
        if called == "np.where" and len(node.args) == 3:
            of = next(
                (one for one in ast.walk(first) if isinstance(one, ast.expr) and column_of(one, "d", {*self.empty})),
                None,
            )
            chosen = ast.List([ast.Tuple([first, node.args[1]]), ast.Tuple([ast.Constant(True), node.args[2]])])
            return node if of is None else ast.Call(ast.Attribute(of, "case_when"), [chosen], [])
        return node


def _read(empty: pd.DataFrame, column: str) -> str:
    """How dates are read from a column of text; no text for a column of dates."""
    kind = kind_or_none(empty[column].dtype)
    return ".str.to_datetime('%Y-%m-%d')" if kind is not None and kind.name == "key" else ""
