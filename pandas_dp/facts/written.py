"""The user's line: the call as it stands there, that call with other arguments, warnings. No value of a variable is told."""

from __future__ import annotations

import ast
import linecache
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from itertools import islice
from types import FrameType
from typing import Any

from pandas_dp.facts.call import QUESTION

PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
DEEPEST = 100
BOUNDED = ("sum", "mean", "var", "std", "median", "quantile")  # questions about groups
ENDS = ("min", "max")  # which groups have not got
LONGEST_FILE = 200_000  # characters of a longer one are not read: Python takes a second for so many
LONGEST_LINE = 300  # a call that is longer is told by its arguments


def as_written(name: str, args: tuple[Any, ...], options: Mapping[str, Any]) -> ast.Call | None:
    """The call of a method, in the code that made it; None where that cannot be read, or is the package's own.

    Names of variables stay names: what they hold is not looked at.
    """
    caller = user_frame()
    found = None if caller is None else parsed_at(caller)
    if not isinstance(found, ast.Call) or not isinstance(found.func, ast.Attribute) or found.func.attr != name:
        return None
    same = len(found.args) == len(args) and {word.arg for word in found.keywords} == set(options)
    return found if same and not any(isinstance(value, ast.Starred) for value in found.args) else None


def code_of(argument: str, column: str | None = None) -> str | None:
    """An argument, or what it gives for a column, in the code that called the package; None where that cannot be read."""
    caller = user_frame()
    found: Any = None if caller is None else parsed_at(caller)
    node = next((word.value for word in getattr(found, "keywords", ()) if word.arg == argument), None)
    if node is not None and column is not None:
        of = isinstance(node, ast.Dict) and zip(node.keys, node.values, strict=True)
        whole = ast.Subscript(node, ast.Constant(column))
        node = (
            next((one for key, one in of if isinstance(key, ast.Constant) and key.value == column), None)
            if of
            else whole
        )
    return None if node is None else typed_text(node)


def typed_out(value: Any, *arguments: str) -> bool:
    """Whether a number, or a whole list, is a literal there, by place or as one of these arguments, and in no variable."""
    caller = user_frame()
    found = None if caller is None else parsed_at(caller)
    if found is None:
        return False
    words = [word.value for node in ast.walk(found) for word in getattr(node, "keywords", ()) if word.arg in arguments]
    each = [one for node in words if isinstance(node, ast.Dict) for one in node.values]
    several = isinstance(value, list | tuple)
    for node in (*getattr(found, "args", ()), *words, *each):
        with suppress(ValueError, TypeError):
            ranged = isinstance(node, ast.Call) and ast.unparse(node.func) == "range"
            held = range(*map(ast.literal_eval, node.args)) if ranged else ast.literal_eval(node)
            if isinstance(held, list | tuple | range) == several and (
                [*held] == [*value] if several else held == value
            ):
                return True
    return False


def caution(text: str) -> None:
    """Warn at the user's line, each time: Python tells a text once for a line, and cells of a notebook share their numbers."""
    caller = user_frame() or sys._getframe(1)
    module = caller.f_globals.get("__name__")
    warnings.warn_explicit(text, UserWarning, caller.f_code.co_filename, caller.f_lineno, module)


def user_frame() -> FrameType | None:
    """The frame that called the package."""
    caller: FrameType | None = sys._getframe(1)
    while caller is not None and caller.f_code.co_filename.startswith(PACKAGE):
        caller = caller.f_back
    return caller


def parsed_at(caller: FrameType) -> ast.expr | None:
    """The expression that a frame is in."""
    spans = islice(caller.f_code.co_positions(), caller.f_lasti // 2, None)
    first, last, start, end = next(spans, (None,) * 4)
    lines = linecache.getlines(caller.f_code.co_filename, caller.f_globals)
    if first is None or last is None or start is None or end is None or not 0 < last <= len(lines):
        return None
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError):  # a file that was written since, or any text
        text = [line.encode() for line in lines[first - 1 : last]]
        text[-1] = text[-1][:end]
        text[0] = text[0][start:]
        found = ast.parse(f"({b''.join(text).decode()})", mode="eval").body
        return found if _shallow(found) else None
    return None


def behind(call: ast.Call, columns: Iterable[str], lacks: Callable[[str], str]) -> str:
    """What stands behind the call that was made, in the chain that it begins, such as ``['cost'].mean()``.

    Parameters
    ----------
    call : ast.Call
        As `as_written` found it.
    columns : iterable of str
        Which are selected in brackets where they stood behind a point.
    lacks : callable
        How the bounds of a column are typed that a question about it lacks; no text where it lacks none.
    """
    caller = user_frame()
    place, above = (None, {}) if caller is None else nodes_of(caller)
    calls = (node for node in above if isinstance(node, ast.Call))
    first = next(
        (one for one in calls if (one.lineno, one.end_lineno, one.col_offset, one.end_col_offset) == place), None
    )
    if first is None or ast.dump(first) != ast.dump(call):
        return ""
    typed = {getattr(node, "value", None) for node in above if isinstance(node, ast.Constant)}
    line = typed_text(whole_chain(first, above, columns, lacks)).removeprefix(typed_text(first))
    lost = [end for end in ENDS if end in typed and ".agg(" in line and f"'{end}'" not in line]
    return f"{line}; groups have no {lost[0]!r}, the value of one row" if lost else line


def nodes_of(caller: FrameType) -> tuple[Any, dict[Any, Any]]:
    """Where in its code a frame is, and the nodes of the statement there with those above them; none where it is too deep."""
    place = next(islice(caller.f_code.co_positions(), caller.f_lasti // 2, None), None)
    text = "".join(linecache.getlines(caller.f_code.co_filename, caller.f_globals))
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        tree = ast.parse(text) if len(text) < LONGEST_FILE else ast.parse("")
        line = (place and place[0]) or 0
        # of a long file to look at all of it would take seconds; a decorator stands before its statement begins
        after = [one for one in tree.body if (one.end_lineno or 0) >= line]
        tree.body = [one for one in after if one.lineno <= line] or after[:1]
        if _shallow(tree):
            return place, {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    return place, {}


def whole_chain(first: Any, above: Mapping[Any, Any], columns: Iterable[str], lacks: Callable[[str], str]) -> Any:
    """The chain that a call begins, in which questions about groups have the bounds that they lack."""
    last = first
    while isinstance(above.get(last), ast.Call | ast.Attribute | ast.Subscript) and last in vars(above[last]).values():
        last = above[last]
        inner = getattr(last, "value", None)
        if isinstance(inner, ast.Attribute) and inner.attr in {*columns}:
            last.value = ast.Subscript(inner.value, ast.Constant(inner.attr))
        if isinstance(last, ast.Call) and isinstance(last.func, ast.Attribute):
            _meant(last, last.func)
        if isinstance(last, ast.Call) and isinstance(last.func, ast.Attribute) and last.func.attr in (*BOUNDED, "agg"):
            _bound(last, last.func, lacks)
    return last


def _meant(call: ast.Call, func: ast.Attribute) -> None:
    """Put in the place of a question that groups have not got the one that says the same of each of them."""
    first = call.args[0] if len(call.args) == 1 and not call.keywords else None
    named = first.value if isinstance(first, ast.Constant) else None
    selected = func.value.slice if isinstance(func.value, ast.Subscript) else None
    if func.attr == "transform" and named in (*BOUNDED, "count"):
        func.attr, call.args = named, []
    elif func.attr == "describe" and isinstance(func.value, ast.Subscript) and isinstance(selected, ast.Constant):
        func.attr, func.value = "agg", func.value.value
        asked = ast.List([ast.Constant(one) for one in ("count", "mean", "std", "median")])
        call.args = [ast.Dict([selected], [asked])]
    elif func.attr == "agg":
        of_groups = any(getattr(node, "attr", "") == "groupby" for node in ast.walk(func))
        for node in [node for one in (*call.args, *call.keywords) for node in ast.walk(one)]:
            if of_groups and isinstance(node, ast.List):
                node.elts = [one for one in node.elts if getattr(one, "value", "") not in ENDS] or node.elts
            if isinstance(node, ast.Constant) and node.value == "size":
                node.value = "count"


def _bound(call: ast.Call, func: ast.Attribute, lacks: Callable[[str], str]) -> None:
    """Give a question about groups the bounds that it lacks."""
    selected = func.value.slice if isinstance(func.value, ast.Subscript) else ast.Constant(None)
    asked: list[tuple[ast.expr | None, ast.expr]] = []
    if func.attr == "agg":
        of = call.args[0] if call.args else None
        asked = [*zip(of.keys, of.values, strict=True)] if isinstance(of, ast.Dict) else []
        asked += [
            (word.value.elts[0], word.value)
            for word in call.keywords
            if isinstance(word.value, ast.Tuple) and word.value.elts
        ]
        asked = [pair for pair in asked if any(f"'{name}'" in ast.unparse(pair[1]) for name in BOUNDED)]
    elif call.args and isinstance(call.args[0], ast.Constant) and isinstance(call.args[0].value, str):
        asked = [(call.args[0], func)]
    else:
        asked = [(one, func) for one in getattr(selected, "elts", [selected])]
    named = [one.value for one, _ in asked if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    pairs = {name: pair for name in named if (pair := lacks(name))}
    if pairs and not any(word.arg == "bounds" for word in call.keywords):
        several = f"{{{', '.join(f'{name!r}: {pair}' for name, pair in pairs.items())}}}"
        alone = func.attr != "agg" and not isinstance(selected, ast.List)
        text = next(iter(pairs.values())) if alone else several
        call.keywords.append(ast.keyword("bounds", ast.parse(text, mode="eval").body))


def _shallow(node: ast.AST) -> bool:
    """Whether code is nested no deeper than it can be written again: Python does that by calling itself."""
    level = [node]
    for _ in range(DEEPEST):
        level = [child for one in level for child in ast.iter_child_nodes(one)]
    return not level


def is_expression(text: str) -> bool:
    """Whether a text can be typed as an argument."""
    with suppress(SyntaxError):
        return bool(ast.parse(text, mode="eval"))
    return False


def rewritten(
    call: ast.Call,
    parameters: tuple[str, ...],
    given: Mapping[str, Any],
    needs: Mapping[str, str],
    renamed: Mapping[str | int, str] | None = None,
) -> str | None:
    """A call with other arguments, as one line.

    Parameters
    ----------
    call : ast.Call
    parameters : tuple of str
        Names of what stands by place.
    given : dict of str to Any
        Of which what is given by column gets more columns.
    needs : dict of str to str
        How arguments are typed that it lacks, or that it should not have, as no text; and another question in its place.
    renamed : dict, optional
        Names of what was given under another name, or by place; no text for what is left out.
    """
    renamed, needs = renamed or {}, dict(needs)
    func, args, then = call.func, list(call.args), ""
    if QUESTION in needs and isinstance(func, ast.Attribute):
        question, _, then = needs.pop(QUESTION).partition(".")
        frame: Any = func.value
        if then and isinstance(frame, ast.Subscript):  # of a column that was selected
            frame, args = frame.value, [frame.slice, *args]
        func = ast.Attribute(frame, question)
    named = {name: [value for i, value in enumerate(args) if renamed.get(i) == name] for name in renamed.values()}
    moved = [ast.keyword(n, ast.Tuple(v) if len(v) > 1 else v[0]) for n, v in named.items() if n and v]  # two: a pair
    placed = [value for i, value in enumerate(args) if i not in renamed]
    words = [ast.keyword(renamed.get(word.arg or "", word.arg), word.value) for word in call.keywords] + moved
    if 0 in renamed and (text := needs.pop(parameters[0], "")):  # what should have stood there
        placed.insert(0, ast.parse(text, mode="eval").body)
    for name, text in needs.items():
        typed = ast.parse(text, mode="eval").body if text else None
        at = parameters.index(name) if name in parameters[: len(placed)] else None
        known = placed[at] if at is not None else next((word.value for word in words if word.arg == name), None)
        if isinstance(typed, ast.Dict) and known is not None and isinstance(given.get(name), Mapping):
            typed = _merged(known, typed, given[name])
        if at is not None:
            placed[at] = typed or placed[at]
        elif typed is None or known is None:
            words = [word for word in words if word.arg != name] + ([ast.keyword(name, typed)] if typed else [])
        else:
            words = [ast.keyword(name, typed) if word.arg == name else word for word in words]
    line = typed_text(ast.Call(func, placed, words)) + f".{then}()" * bool(then)
    return line if len(line) <= LONGEST_LINE else None


def asked_frame(call: ast.expr) -> str | None:
    """What stands before ``.dp`` in a chain of calls."""
    node: ast.expr = call
    while isinstance(node, ast.Call | ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Attribute) and node.attr == "dp" and ast.unparse(node.value) != "pandas_dp":
            return ast.unparse(node.value)
        node = node.func if isinstance(node, ast.Call) else node.value
    return None


def with_delta(call: ast.Call, delta: str) -> str | None:
    """A call whose price has this delta, too; None where its price stands elsewhere, or is no epsilon."""
    made = ast.parse(ast.unparse(call), mode="eval").body
    for node in ast.walk(made):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("dp", "preview"):
            if len(node.args) > 1 or any(word.arg in ("rho", None) for word in node.keywords):
                return None
            words = [word for word in node.keywords if word.arg != "delta"]
            node.keywords = [*words, ast.keyword("delta", ast.parse(delta, mode="eval").body)]
            return typed_text(made)
    return None


def corrected(call: ast.Call, wrong: str, right: str) -> str:
    """A call with another text wherever one stood."""
    for node in ast.walk(call):
        if isinstance(node, ast.Constant) and node.value == wrong:
            node.value = right
    return typed_text(call)


def pivoted(call: ast.Call) -> ast.Call:
    """The call of ``crosstab`` with ``values=`` as one of ``pivot_table``, which takes them first."""
    frame = call.func.value if isinstance(call.func, ast.Attribute) else call.func
    values = [word.value for word in call.keywords if word.arg == "values"]
    rest = [word for word in call.keywords if word.arg != "values"]
    return ast.Call(ast.Attribute(frame, "pivot_table"), [*values, *call.args], rest)


class _Plain(ast.NodeTransformer):
    """Numbers as one types them: 1e-6 for 1e-06."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        """Write it without a zero."""
        return ast.Name(repr(node.value).replace("e-0", "e-")) if type(node.value) is float else node


def typed_text(call: ast.expr) -> str:
    """Code as one types it."""
    return ast.unparse(_Plain().visit(call))


def _merged(known: ast.expr, more: ast.Dict, given: Mapping[Any, Any]) -> ast.expr:
    """What is given by column, and more of it; without what is typed as None."""
    new = {key.value: value for key, value in zip(more.keys, more.values, strict=True) if isinstance(key, ast.Constant)}
    none = {name for name, value in new.items() if isinstance(value, ast.Constant) and value.value is None}
    kept: list[tuple[ast.expr | None, ast.expr]]
    if isinstance(known, ast.Dict):
        pairs = zip(known.keys, known.values, strict=True)
        kept = [pair for pair in pairs if not (isinstance(pair[0], ast.Constant) and pair[0].value in new)]
    elif none:
        kept = [(ast.Constant(name), ast.Subscript(known, ast.Constant(name))) for name in given if name not in none]
    else:
        same = {f"{ast.unparse(known)}[{name!r}]" for name in new}
        added = {name: value for name, value in new.items() if ast.unparse(value) not in same}
        return ast.BinOp(known, ast.BitOr(), ast.Dict([*map(ast.Constant, added)], [*added.values()]))
    kept += [(ast.Constant(name), value) for name, value in new.items() if name not in none]
    return ast.Dict([key for key, _ in kept], [value for _, value in kept])
