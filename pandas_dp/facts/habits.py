"""Calls that hold all that is needed, in another order or form: the same call as it is typed here."""

from __future__ import annotations

import ast
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pandas_dp.facts.chains import bounds_of, column_of, whole
from pandas_dp.facts.public_only import EXAMPLES
from pandas_dp.facts.written import as_dict, code, typed_text

if TYPE_CHECKING:
    from pandas_dp.facts.advice import Refused

BY_COLUMN = {"fillna": "a dict of columns", "rename": "a dict of columns"}
PAIRED = ("corr", "cov")
COUNTED = ("count", "sum", "mean", "std", "var", "median", "groupby", "value_counts")


def reread(call: Refused) -> str:
    """What a call takes and the line to type, where its arguments stand in another order or form; no text for others."""
    if call.written is None or not hasattr(call.asked, "_empty"):
        return ""
    node = call.written.node
    columns = {*call.asked._frame.columns} if call.name == "protect" else call.columns  # no budget knows it yet
    named = ((one, column_of(one, call.written.frame, columns)) for one in node.args)
    node.args = [ast.Constant(column) if column else one for one, column in named]
    why = (
        _of_persons(call.name, node, columns, call.written.frame)
        or _by_column(call.name, node, columns)
        or _in_order(call.name, node, columns)
        or _as_rows(call.name, node, columns)
    )
    if not why:
        return ""
    typed = {word.arg: _value(word.value) for word in node.keywords if word.arg}
    values = dict(zip(call.names, map(_value, node.args), strict=False)) | typed
    lacks = call.asked._lacks(call.names, values) if hasattr(call.asked, "_lacks") else {}
    lacks |= _bounds(call, values)
    node.keywords += [ast.keyword(name, code(text)) for name, text in lacks.items() if name not in typed]
    line = whole(node, call.written.above, call.asked) if hasattr(call.asked, "_lacks") else typed_text(node)
    return f"{call.name}() {why}: {line}"


def _bounds(call: Refused, values: dict[str, Any]) -> dict[str, str]:
    """Bounds by column, and columns, that a question about several of them lacks."""
    of = values.get("func") or values.get("columns") or [values.get("y"), *(values.get("x") or ())]
    if call.name == "kmeans" and "columns" not in values:
        of = call.asked._examples()[0][:2]
    if call.name not in ("agg", "kmeans", "linear_regression", *PAIRED) or not all(
        isinstance(column, str) for column in of
    ):
        return {}
    known = call.columns  # others are made by a step
    pairs = {column: bounds_of(call.asked, column) if column in known else "(lower, upper)" for column in of}
    pairs = {column: pair for column, pair in pairs.items() if pair}
    made = {"columns": repr([*of])} if call.name == "kmeans" else {}
    kinds = [column for column in values.get("x") or () if column in known and call.frame._kind(column).name == "key"]
    made |= {"keys": as_dict(dict.fromkeys(kinds, EXAMPLES["keys"]))} if kinds else {}
    return made | ({"bounds": as_dict(pairs)} if pairs else {})


def _value(node: ast.expr) -> Any:
    """A literal; an object for anything else, which is not looked at."""
    with suppress(ValueError, TypeError):
        return ast.literal_eval(node)
    return object()


def _of_persons(name: str, node: ast.Call, columns: set[Any], frame: str) -> str:
    """Whose rows a budget protects, named by place, by a column in its place or by the column's own name."""
    if name != "protect":
        return ""
    placed = [*map(_value, node.args)]
    if len(placed) in (2, 3) and _is_column(placed[1], columns):
        names = ("unit", "max_rows") if len(placed) == 3 else ("unit",)
        node.keywords = [*map(ast.keyword, names, node.args[1:]), *node.keywords]
        node.args = node.args[:1]
        return _capped(node)
    for word in node.keywords:
        if word.arg == "unit" and (column := column_of(word.value, frame, columns)):
            word.value = ast.Constant(column)
            return _capped(node)
        if word.arg in columns and type(_value(word.value)) is int:
            cap = ast.keyword("max_rows", word.value)
            word.arg, word.value = "unit", ast.Constant(word.arg)
            node.keywords.append(cap)
            return _capped(node)
    return ""


def _capped(node: ast.Call) -> str:
    """The person column by its name, and how many rows of each count."""
    if not any(word.arg == "max_rows" for word in node.keywords):
        node.keywords.append(ast.keyword("max_rows", ast.Constant(10)))
    return "takes the person column as unit=, and how many rows of each count as max_rows="


def _by_column(name: str, node: ast.Call, columns: set[Any]) -> str:
    """What is given of a column beside its name, as a dict."""
    values = [*map(_value, node.args)]
    if name in BY_COLUMN and len(values) == 2 and _is_column(values[0], columns):
        pair = ast.Dict([node.args[0]], [node.args[1]])
        node.args, node.keywords = ([], [ast.keyword("columns", pair)]) if name == "rename" else ([pair], [])
        return f"takes {BY_COLUMN[name]}"
    if name == "agg" and len(values) == 2 and _is_column(values[1], columns) and not isinstance(values[0], dict):
        node.args = [ast.Dict([node.args[1]], [node.args[0]])]
        return "takes functions by column"
    bounds = next((word for word in node.keywords if word.arg == "bounds"), None)
    listed = values[0] if len(values) == 1 and isinstance(values[0], list) else values
    if name in PAIRED and len(listed) > 1 and all(_is_column(one, columns) for one in listed):
        each = getattr(node.args[0], "elts", node.args)
        of_each = isinstance(getattr(bounds, "value", None), ast.Tuple)
        if bounds is not None and of_each:
            bounds.value = ast.Dict([*each], [bounds.value] * len(each))
        if of_each or listed is values:
            node.args = [ast.List(each)]
            return "takes a list of columns" + ", and bounds by column" * of_each
    return ""


def _in_order(name: str, node: ast.Call, columns: set[Any]) -> str:
    """What stands in another order, or under another name."""
    values = [*map(_value, node.args)]
    if (
        name in ("top_k", "quantile")
        and len(values) == 2
        and _is_column(values[1], columns)
        and not _is_column(values[0], columns)
    ):
        node.args = node.args[::-1]
        return "takes the column first"
    if (
        name == "linear_regression"
        and len(values) == 2
        and isinstance(values[0], list)
        and _is_column(values[1], columns)
    ):
        node.args = node.args[::-1]
        return "takes y first, and then the columns x that explain it"
    if name == "linear_regression" and len(values) == 1 and isinstance(values[0], str) and "~" in values[0]:
        y, _, x = values[0].partition("~")
        explaining = [part.strip() for part in x.split("+")]
        made: dict[str, str] = {}
        names = [
            _made_of(part.strip(), f"x{i}" if i else "y", made, columns) for i, part in enumerate([y, *explaining])
        ]
        if all(names):
            func: Any = node.func
            if made:
                steps = ", ".join(f"{step}=lambda d: {text}" for step, text in made.items())
                func.value = code(f"{ast.unparse(func.value)}.assign({steps})")
            node.args = [ast.Constant(names[0]), ast.List([*map(ast.Constant, names[1:])])]
            return "takes y, and then the columns x that explain it"
    for word in node.keywords:
        if name in COUNTED[1:5] and word.arg == "error_bar" and not any(one.arg == "method" for one in node.keywords):
            node.keywords.remove(word)
            return "tells its error without being asked"
        if (
            name == "linear_regression"
            and word.arg == "bounds"
            and isinstance(word.value, ast.Dict)
            and len(values) == 2
        ):
            of = {values[0], *(values[1] if isinstance(values[1], list) else [values[1]])}
            pairs = [
                pair
                for pair in zip(word.value.keys, word.value.values, strict=True)
                if pair[0] and _value(pair[0]) in of
            ]
            if len(pairs) < len(word.value.keys):
                word.value = ast.Dict([key for key, _ in pairs], [value for _, value in pairs])
                return "takes bounds of its own columns alone"
        if name == "linear_regression" and word.arg == "X":
            word.arg = "x"
            return "takes x=, not X="
    if name == "crosstab" and len(values) == 1 and isinstance(values[0], list) and len(values[0]) == 2:
        node.args = node.args[0].elts  # type: ignore[attr-defined]  # of a list
        return "takes its two columns one after the other"
    if name == "kmeans" and len(values) == 1 and type(values[0]) is int and all(w.arg != "k" for w in node.keywords):
        node.args, node.keywords = [], [ast.keyword("k", node.args[0]), *node.keywords]
        return "takes k by name"
    ends = next((word for word in node.keywords if word.arg == "bounds"), None)
    pair: Any = None if ends is None else _value(ends.value)
    if ends is not None and _is_pair(pair) and pair[0] > pair[1]:
        ends.value = ast.Tuple(ends.value.elts[::-1])  # type: ignore[attr-defined]  # of a pair
        return "takes bounds with the lower end first"
    if len(values) == 2 and _is_pair(values[1]) and ends is None and name in COUNTED[1:6]:
        typed: Any = node.args[1]
        both = typed.elts if values[1][0] <= values[1][1] else typed.elts[::-1]
        node.args, node.keywords = node.args[:1], [ast.keyword("bounds", ast.Tuple(both)), *node.keywords]
        return "takes bounds by name, as a pair"
    return ""


def _made_of(text: str, name: str, made: dict[str, str], columns: set[Any]) -> str:
    """A column, or the name of one that a step makes of others; no text where it cannot be read."""
    if text in columns:
        return text
    with suppress(SyntaxError):
        tree = code(text)
        named = [one for one in ast.walk(tree) if isinstance(one, ast.Name) and one.id in columns]
        for one in named:
            one.id = f"d[{one.id!r}]"
        made[name] = ast.unparse(tree)
        return name if named else ""
    return ""


def _as_rows(name: str, node: ast.Call, columns: set[Any]) -> str:
    """A condition or a formula in the place of a column, as a step."""
    first = _value(node.args[0]) if node.args else None
    func: Any = node.func
    if not isinstance(first, str) or first in columns:
        return ""
    if name == "assign" and len(node.args) == 1 and "=" in first:
        func.attr = "eval"
        return "takes columns by name; a text goes into eval()"
    made = _condition(first, columns) if name in COUNTED else ""
    if made and name == "count":
        func.value, node.args = code(f"{ast.unparse(func.value)}.query({made!r})"), []
        return "takes a column; a condition goes into query()"
    if made:
        func.value = code(f"{ast.unparse(func.value)}.eval({f'holds = {made}'!r})")
        node.args[0] = ast.Constant("holds")
        return "takes a column; a condition is made one first"
    return ""


def _condition(text: str, columns: set[Any]) -> str:
    """A text that compares columns; no text for any other one."""
    with suppress(SyntaxError):
        tree = code(text)
        names = {one.id for one in ast.walk(tree) if isinstance(one, ast.Name)}
        return text if names and names <= columns and isinstance(tree, ast.Compare | ast.BoolOp) else ""
    return ""


def _is_column(value: Any, columns: set[Any]) -> bool:
    return isinstance(value, str) and value in columns


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(type(end) in (int, float) for end in value)
