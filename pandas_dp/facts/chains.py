"""Chains of calls as they stand in the user's code, with what they lack, where a name or a mask in them is not taken."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from keyword import iskeyword
from typing import Any, NoReturn

from pandas_dp.errors import ArgumentTypeError
from pandas_dp.facts.written import LONGEST_LINE, Written, code, typed_text

BOUNDED = ("sum", "mean", "var", "std", "median", "quantile")  # questions about groups
OWN = ("filter", "transform", "apply", "pipe", "agg", "aggregate")
ENDS = ("min", "max")  # which groups have not got
CONDITION = (
    *(ast.Compare, ast.BinOp, ast.UnaryOp, ast.Name, ast.Constant, ast.Load, ast.cmpop),
    *(ast.BitAnd, ast.BitOr, ast.Invert, ast.USub),
)


def _unpriced(*args: Any, **options: Any) -> NoReturn:
    """A question that stands behind ``preview`` without its price."""
    raise ArgumentTypeError("a preview needs a price: df.dp.preview(epsilon=0.5).count()")


COMMON = "count size sum mean median value_counts histogram groupby agg describe crosstab"
UNPRICED = dict.fromkeys(COMMON.split(), _unpriced)


def behind(written: Written, asked: Any) -> str:
    """What stands behind a call that makes groups, such as ``['cost'].mean()``, with the bounds that it lacks."""
    first, groups, own = typed_text(written.node), written.node, ""
    while isinstance(
        up := written.above.get(groups), ast.Attribute | ast.Subscript
    ):  # a function of theirs is no question
        groups, own = up, getattr(up, "attr", "")
    if own in OWN and any(isinstance(one, ast.Lambda) for one in getattr(written.above.get(groups), "args", ())):
        return f"; groups have no {own!r} of a function"
    typed = {getattr(node, "value", None) for node in written.above if isinstance(node, ast.Constant)}
    line = whole(written.node, written.above, asked).removeprefix(first)
    lost = [end for end in ENDS if end in typed and ".agg(" in line and f"'{end}'" not in line]
    return f"{line}; groups have no {lost[0]!r}, the value of one row" if lost else line


def whole(last: Any, above: Mapping[Any, Any], asked: Any) -> str:
    """The chain that a call begins, in which questions about groups have the bounds that they lack.

    Columns of what is `asked` are selected in brackets where they stood behind a point.
    """
    columns = [*asked._empty()]
    while isinstance(up := above.get(last), ast.Call | ast.Attribute | ast.Subscript):
        if last is not (up.func if isinstance(up, ast.Call) else up.value):
            break
        last = up
        inner = getattr(last, "value", None)
        if isinstance(inner, ast.Attribute) and inner.attr in columns:
            last.value = ast.Subscript(inner.value, ast.Constant(inner.attr))
        if isinstance(last, ast.Call) and isinstance(last.func, ast.Attribute):
            _drawn(last, last.func)
            _kept(last, last.func, asked)
            _meant(last, last.func, asked)
            if last.func.attr in (*BOUNDED, "agg"):
                bound(last, last.func, asked)
    return typed_text(last)


def _drawn(call: ast.Call, func: ast.Attribute) -> None:
    """Leave out of a plot what answers do not take: they draw bars with their intervals."""
    kind = isinstance(func.value, ast.Attribute) and func.value.attr == "plot"
    if kind or func.attr == "plot":
        call.func, call.args = (func.value if kind else func), []
        call.keywords = [word for word in call.keywords if word.arg in ("ax", "level", "y")]


def _kept(call: ast.Call, func: ast.Attribute, asked: Any) -> None:
    """Say of groups by one column which keys they have, and whether missing values are one."""
    if func.attr not in ("groupby", "value_counts"):
        return
    words = {word.arg: word.value for word in call.keywords}
    if "dropna" in words:
        null = [ast.keyword("null", ast.Constant(True))] if getattr(words["dropna"], "value", True) is False else []
        call.keywords = [word for word in call.keywords if word.arg != "dropna"] + null
    by = getattr(call.args[0], "value", None) if call.args else None
    if func.attr == "groupby" and isinstance(by, str) and not {"keys", "bins"} & {*words}:
        lacks = asked._lacks(("by", "keys", "bins"), {"by": by})
        call.keywords = [*(ast.keyword(name, code(text)) for name, text in lacks.items()), *call.keywords]


def _meant(call: ast.Call, func: ast.Attribute, asked: Any) -> None:
    """Put in the place of a question that groups have not got the one that says the same of each of them."""
    first = call.args[0] if len(call.args) == 1 and not call.keywords else None
    named = getattr(first, "value", None)
    selected = func.value.slice if isinstance(func.value, ast.Subscript) else None
    if func.attr == "transform" and named in (*BOUNDED, "count"):
        func.attr, call.args = named, []
    elif (
        func.attr == "describe"
        and isinstance(func.value, ast.Subscript)
        and isinstance(selected, ast.Constant | ast.List)
    ):
        func.attr, func.value = "agg", func.value.value
        columns: list[Any] = getattr(selected, "elts", [selected])
        for word in call.keywords:  # a pair is that of each column
            if word.arg == "bounds" and isinstance(word.value, ast.Tuple):
                word.value = ast.Dict(columns, [word.value] * len(columns))
        call.args = [ast.Dict(columns, [code("['count', 'mean', 'std', 'median']")] * len(columns))]
    elif func.attr == "agg":
        of_groups = any(getattr(node, "attr", "") == "groupby" for node in ast.walk(func))
        if isinstance(selected, ast.Constant):  # which pandas names by itself
            for word in call.keywords:
                if isinstance(word.value, ast.Constant) and word.arg not in ("bounds", "error_bar"):
                    word.value = ast.Tuple([selected, word.value])
        ends = [word for word in call.keywords if getattr(_second(word.value), "value", "") in ENDS]
        if of_groups and any(_second(word.value) for word in call.keywords if word not in ends):
            call.keywords = [word for word in call.keywords if word not in ends]
        within: list[Any] = [node for one in (*call.args, *call.keywords) for node in ast.walk(one)]
        for node in within:
            if of_groups and isinstance(node, ast.List):
                node.elts = [one for one in node.elts if getattr(one, "value", "") not in ENDS] or node.elts
            if getattr(_second(node), "value", "") == "size" and (full := asked._full()):
                node.elts = [ast.Constant(full), ast.Constant("count")]
            if isinstance(node, ast.Constant) and node.value == "size":
                node.value = "count"


def _second(node: Any) -> Any:
    """The function of a named answer."""
    return node.elts[1] if isinstance(node, ast.Tuple) and len(node.elts) == 2 else None


def bound(call: ast.Call, func: ast.Attribute, asked: Any) -> None:
    """Give a question about groups the bounds that it lacks."""
    if func.attr in BOUNDED and not call.args and not call.keywords and isinstance(func.value, ast.Call):
        call.args = [*map(ast.Constant, asked._examples()[0][:1])]  # no column was named yet
    first, selected = call.args[0] if call.args else None, getattr(func.value, "slice", ast.Constant(None))
    several = func.attr == "agg" or isinstance(selected, ast.List)
    of: list[Any] = getattr(selected, "elts", [selected])
    if func.attr == "agg":
        pairs = [*zip(first.keys, first.values, strict=True)] if isinstance(first, ast.Dict) else []
        pairs += [
            (word.value.elts[0], word.value)
            for word in call.keywords
            if isinstance(word.value, ast.Tuple) and word.value.elts
        ]
        if isinstance(first, ast.List) and isinstance(selected, ast.Constant):  # of the one column
            pairs, several = [(selected, first)], False
        of = [column for column, asks in pairs if any(f"'{name}'" in ast.unparse(asks) for name in BOUNDED)]
    elif isinstance(first, ast.Constant) and isinstance(first.value, str):
        of, several = [first], False
    named = [one.value for one in of if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    ends = {name: pair for name in named if (pair := bounds_of(asked, name))}
    if ends and not any(word.arg == "bounds" for word in call.keywords):
        text = f"{{{', '.join(f'{name!r}: {pair}' for name, pair in ends.items())}}}"
        call.keywords.append(ast.keyword("bounds", code(text if several else next(iter(ends.values())))))


def bounds_of(asked: Any, column: str) -> str:
    """How the bounds of a column are typed that a question about it lacks; no text where it lacks none."""
    return str(asked._lacks(("bounds",), {"column": column}).get("bounds", ""))


def completed(
    name: str, asked: Any, price: str, needs: Callable[[ast.Call, str, str | None], Mapping[str, str]], meant: str = ""
) -> str:
    """The chain in which a name was looked up behind a point, as a question that lacks nothing; no text if it is unknown.

    Parameters
    ----------
    name : str
        A question, or a column that is selected in brackets.
    asked : Any
        The frame.
    price : str
        How a price that is missing before it is typed; no text where it is there.
    needs : callable
        What a call lacks, of a question, and of a column that is selected.
    meant : str
        How a question is spelled right.
    """
    if (found := _looked_up(name)) is None:
        return ""
    node, above = found.node, found.above
    question: Any = above[node] if name in asked._empty() else node
    call = above.get(question)
    if not isinstance(question, ast.Attribute) or not isinstance(call, ast.Call) or call.func is not question:
        return ""
    question.attr = meant or question.attr
    if price:  # which may stand in the question
        typed = [word for word in call.keywords if word.arg in ("epsilon", "rho")]
        call.keywords = [word for word in call.keywords if word not in typed]
        node.value = ast.Call(node.value, [], typed or [ast.keyword("epsilon", code(price))])
    more = needs(call, question.attr, name if question is not node else None)
    call.keywords += [ast.keyword(argument, code(text)) for argument, text in more.items()]
    if question is not node:
        question.value = ast.Subscript(node.value, ast.Constant(name))
    _kept(call, question, asked)
    _meant(call, question, asked)
    if question.attr in (*BOUNDED, "agg"):
        bound(call, question, asked)
    line = whole(call, above, asked)
    return line if len(line) <= LONGEST_LINE else ""


def _looked_up(name: str) -> Written | None:
    """Where a name was just looked up behind a point."""
    found = Written.here(ast.Attribute)
    return found if found is not None and found.node.attr == name else None


def first_text(name: str) -> str:
    """The text with which a name that was just looked up is called first; no text if there is none."""
    if (found := _looked_up(name)) is None:
        return ""
    call = found.above[found.node]
    first = call.args[0] if isinstance(call, ast.Call) and call.func is found.node and call.args else None
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""


def arguments(name: str) -> str:
    """What stands in the brackets of the call of a name that was just looked up; no text if there is none."""
    found = _looked_up(name)
    call = found and found.above[found.node]
    if found is None or not isinstance(call, ast.Call) or call.func is not found.node:
        return ""
    return typed_text(ast.Call(ast.Name("f"), call.args, call.keywords))[2:-1]


def masked(asked: Any, name: str = "") -> str:
    """The chain that goes on from a mask, with its condition in ``query``; no text if that cannot be read.

    The mask stands in brackets, or behind a `name`: ``.loc[mask, column]``, ``.where(mask)``.
    """
    found = _looked_up(name) if name else Written.here(ast.Subscript)
    if found is None:
        return ""
    node = found.above[found.node] if name else found.node
    mask: Any = node.slice if isinstance(node, ast.Subscript) else next(iter(getattr(node, "args", ())), None)
    mask, column = mask.elts if isinstance(mask, ast.Tuple) and len(mask.elts) == 2 else (mask, None)
    columns = {*asked._empty()}
    text = "" if mask is None else condition(mask, found.frame or named_rows(mask, columns), columns)
    truth = "" if text or mask is None else column_of(mask, found.frame or named_rows(mask, columns), columns)
    if truth and str(asked._empty()[truth].dtype) in ("bool", "boolean"):
        text = _named(truth).id
    if not text:
        return ""
    frame: Any = found.node.value
    if column is None and isinstance(frame, ast.Subscript):
        frame, column = frame.value, frame.slice
    if column is not None and getattr(frame, "attr", "") == "dp":  # a question needs a price
        frame = ast.Call(frame, [], [ast.keyword("epsilon", ast.Constant(0.5))])
    return put(found.above, node, ast.Call(ast.Attribute(frame, "query"), [ast.Constant(text)], []), column, asked)


def put(above: Mapping[Any, Any], node: Any, made: Any, column: Any, asked: Any) -> str:
    """The chain that goes on from what is made, or a column of it, in the place of a node."""
    made = made if column is None else ast.Subscript(made, column)
    for field, value in ast.iter_fields(above[node]):
        if value is node:
            setattr(above[node], field, made)
    return whole(made, {**above, made: above[node]}, asked)


def by_a_step(written: Written, asked: Any) -> str:
    """The chain about rows that pandas chose of a frame, where a step chooses them; no text if that cannot be read."""
    node: Any = written.node
    while isinstance(node, ast.Call | ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Attribute) and node.attr == "dp":
            break
        node = node.func if isinstance(node, ast.Call) else node.value
    frame = getattr(node, "value", None)
    called: Any = frame.func if isinstance(frame, ast.Call) else getattr(frame, "value", None)
    base = called.value if getattr(called, "attr", "") in ("query", "loc") else called
    if not isinstance(base, ast.Name):
        return ""
    text: Any
    if isinstance(frame, ast.Subscript):
        text = condition(frame.slice, base.id, {*asked._empty()})
    else:
        typed = getattr(frame, "args", ())
        text = next((one.value for one in typed if isinstance(one, ast.Constant)), "")
    if not isinstance(text, str) or not text or "@" in text:
        return ""
    node.value = ast.Call(ast.Attribute(ast.Attribute(base, "dp"), "query"), [ast.Constant(text)], [])
    return whole(written.node, written.above, asked)


def compared(column: str) -> str:
    """The condition in which a column is compared with what is typed there, as ``query`` takes it; no text where unknown."""
    found = Written.here(ast.Compare)
    if found is None or len(found.node.ops) > 1 or not isinstance(found.node.comparators[0], ast.Constant):
        return ""
    return ast.unparse(ast.Compare(_named(column), found.node.ops, found.node.comparators))


def joined(written: Written | None, left: str, right: str) -> str:
    """A merge whose columns of keys have two names, as it is typed once the lookup has that of the table."""
    call = written.node if written else ast.Call(ast.Name("df.dp.merge"), [], [])
    called, lookup = ast.unparse(call.func), ast.unparse(call.args[0]) if call.args else "lookup"
    return f"{called}({lookup}.rename(columns={{{right!r}: {left!r}}}), on={left!r})"


def named_rows(node: Any, columns: set[Any]) -> str:
    """The name of what columns are taken of; no text if there is none, or if several have them."""
    held = {
        one.value.id
        for one in ast.walk(node)
        if isinstance(one, ast.Subscript | ast.Attribute)
        and isinstance(one.value, ast.Name)
        and (one.attr if isinstance(one, ast.Attribute) else getattr(one.slice, "value", ())) in columns
    }
    return held.pop() if len(held) == 1 else ""


def column_of(node: ast.expr, frame: str, columns: set[str]) -> str:
    """Which column of a frame some code is."""
    name: Any = node.attr if isinstance(node, ast.Attribute) else getattr(getattr(node, "slice", None), "value", None)
    known = isinstance(name, str) and name in columns
    return name if known and ast.unparse(getattr(node, "value", node)) == frame else ""


def _named(column: str) -> ast.Name:
    return ast.Name(column if column.isidentifier() and not iskeyword(column) else f"`{column}`")


def condition(node: ast.expr, frame: str, columns: set[str]) -> str:
    """A mask that compares columns of a frame with what is typed there, as ``query`` takes it."""

    class Own(ast.NodeTransformer):
        def generic_visit(self, one: ast.AST) -> ast.AST:
            if isinstance(one, ast.Name):  # a variable, which may have the name of a column
                return ast.Name("")
            column = column_of(one, frame, columns) if isinstance(one, ast.Attribute | ast.Subscript) else ""
            return _named(column) if column else super().generic_visit(one)

    made = Own().visit(code(ast.unparse(node)))
    names = {_named(column).id for column in columns if isinstance(column, str) and "`" not in column}
    known = all(
        isinstance(one, CONDITION) and (not isinstance(one, ast.Name) or one.id in names) for one in ast.walk(made)
    )
    return ast.unparse(made) if known and isinstance(made, ast.Compare | ast.BinOp | ast.UnaryOp) else ""
