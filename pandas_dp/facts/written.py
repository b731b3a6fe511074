"""The user's line: the call as it stands there, that call with other arguments, warnings. No value of a variable is told."""

from __future__ import annotations

import ast
import linecache
import os
import sys
import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.facts.call import QUESTION

PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
# what calls the package for the user's own line
THROUGH = (PACKAGE, *(os.path.dirname(str(module.__file__)) + os.sep for module in (np, pd)))
DEEPEST = 100
LONGEST_FILE = 200_000  # characters of a longer one are not read: Python takes a second for so many
PRICE = ("epsilon", "delta")  # what of a price stands by place
LONGEST_LINE = 300  # a call that is longer is told by its arguments


class Written:
    """A call, a name behind a point or brackets in the code that called the package, and the statement that it stands in.

    Names of variables stay names: what they hold is not looked at.

    Attributes
    ----------
    node : ast.expr
    above : dict
        The node that holds it, of each node of the statement.
    """

    def __init__(self, node: Any, above: dict[Any, Any]) -> None:
        self.node, self.above = node, above

    @classmethod
    def here(cls, *kinds: type[ast.expr]) -> Written | None:
        """What is evaluated there, if it is of these kinds, no two of which end at one place; None if it cannot be read."""
        caller = user_frame()
        place = None if caller is None else next(islice(caller.f_code.co_positions(), caller.f_lasti // 2, None), None)
        if caller is None or place is None:
            return None
        _, line, _, column = place  # where it ends: of a chain on several lines Python tells another beginning
        above = _nodes(caller, line or 0)
        found = (
            one for one in above if isinstance(one, kinds) and (one.end_lineno, one.end_col_offset) == (line, column)
        )
        node = next(found, None)
        return None if node is None else cls(node, above)

    @classmethod
    def call(cls, name: str, args: tuple[Any, ...], options: Mapping[str, Any]) -> Written | None:
        """The call of a method with these arguments; None where it cannot be read, or is the package's own."""
        found = cls.here(ast.Call)
        if found is None or not isinstance(found.node.func, ast.Attribute) or found.node.func.attr != name:
            return None
        same = len(found.node.args) == len(args) and {word.arg for word in found.node.keywords} == set(options)
        return found if same and not any(isinstance(value, ast.Starred) for value in found.node.args) else None

    @property
    def frame(self) -> str:
        """What stands before ``.dp``; no text if there is none."""
        node = self.node
        while isinstance(node, ast.Call | ast.Attribute | ast.Subscript):
            if isinstance(node, ast.Attribute) and node.attr == "dp" and ast.unparse(node.value) != "pandas_dp":
                return ast.unparse(node.value)
            node = node.func if isinstance(node, ast.Call) else node.value
        return ""

    def priced(self, columns: Collection[Any]) -> ast.expr:
        """What a chain about these columns begins with, which has a price: a frame and its price, or what holds them."""
        node = self.node.value if isinstance(self.node, ast.Attribute) else self.node
        while isinstance(node, ast.Call | ast.Attribute | ast.Subscript):
            if isinstance(node, ast.Call):
                if not isinstance(node.func, ast.Attribute) or node.func.attr in ("dp", "preview"):
                    break
                node = node.func
            else:
                named = node.attr if isinstance(node, ast.Attribute) else getattr(node.slice, "value", None)
                if named not in (None, "dt", "str", "loc") and named not in columns:
                    break
            node = node.value
        return node

    def with_arguments(
        self,
        parameters: tuple[str, ...],
        given: Mapping[str, Any],
        needs: Mapping[str, str],
        renamed: Mapping[str | int, str] | None = None,
    ) -> str | None:
        """The call with other arguments, as one line; None if that is too long.

        Parameters
        ----------
        parameters : tuple of str
            Names of what stands by place.
        given : dict of str to Any
            Of which what is given by column gets more columns.
        needs : dict of str to str
            How arguments are typed that it lacks, or that it should not have, as no text; and another question in its place.
        renamed : dict, optional
            Names of what was given under another name, or by place; no text for what is left out.
        """
        call, renamed, needs = self.node, renamed or {}, dict(needs)
        func, args, then = call.func, list(call.args), ""
        if QUESTION in needs:
            question, _, then = needs.pop(QUESTION).partition(".")
            frame: Any = func.value
            if then and isinstance(frame, ast.Subscript):  # of a column that was selected
                frame, args = frame.value, [frame.slice, *args]
            func = ast.Attribute(frame, question)
        named = {name: [value for i, value in enumerate(args) if renamed.get(i) == name] for name in renamed.values()}
        moved = [
            ast.keyword(n, ast.Tuple(v) if len(v) > 1 else v[0]) for n, v in named.items() if n and v
        ]  # two: a pair
        placed = [value for i, value in enumerate(args) if i not in renamed]
        words = [ast.keyword(renamed.get(word.arg or "", word.arg), word.value) for word in call.keywords] + moved
        if 0 in renamed and (text := needs.pop(parameters[0], "")):  # what should have stood there
            placed.insert(0, code(text))
        for name, text in needs.items():
            typed = code(text) if text else None
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

    def with_price(self, words: Mapping[str, str], instead: str) -> str | None:
        """The call at another price; None where that cannot be read.

        Parameters
        ----------
        words : dict of str to str
            Arguments of a price as they are typed, those that it shall not have as no text.
        instead : str
            What the question is asked of, where no price stands there but a name.
        """
        made: Any = code(ast.unparse(self.node))
        for node in ast.walk(made):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in ("dp", "preview")
            ):
                typed = [ast.keyword(name, value) for name, value in zip(PRICE, node.args, strict=False)]
                if len(node.args) > len(typed) or any(word.arg is None for word in node.keywords):
                    return None
                if {word.arg for word in typed} & {*words}:
                    node.args, node.keywords = [], [*typed, *node.keywords]
                places = [i for i, word in enumerate(node.keywords) if not words.get(word.arg or "", "-")]
                kept = {word.arg: word for word in node.keywords if words.get(word.arg or "", "-")}
                new = {name: ast.keyword(name, code(text)) for name, text in words.items() if text}
                added = [word for name, word in new.items() if name not in kept]
                listed = [new.get(name or "", word) for name, word in kept.items()]
                at = places[0] if places else len(listed)
                node.keywords = [*listed[:at], *added, *listed[at:]]
                return typed_text(made)
        made.func.value = code(instead)
        return typed_text(made)

    def with_text(self, wrong: str, right: str) -> str:
        """The call with another text wherever one stood."""
        for node in ast.walk(self.node):
            if isinstance(node, ast.Constant) and node.value == wrong:
                node.value = right
        return typed_text(self.node)

    def selecting(self, more: Mapping[str, str]) -> str | None:
        """The call of a question with its first argument, a list of columns, in brackets, and more; None where it has none."""
        call = self.node
        if not call.args or not isinstance(call.func, ast.Attribute):
            return None
        chosen = ast.Attribute(ast.Subscript(call.func.value, call.args[0]), call.func.attr)
        line = typed_text(
            ast.Call(
                chosen, call.args[1:], [*call.keywords, *(ast.keyword(name, code(text)) for name, text in more.items())]
            )
        )
        return line if len(line) <= LONGEST_LINE else None

    def pivoted(self) -> Written:
        """The call of ``crosstab`` with ``values=`` as one of ``pivot_table``, which takes them first."""
        call = self.node
        values = [word.value for word in call.keywords if word.arg == "values"]
        rest = [word for word in call.keywords if word.arg != "values"]
        return Written(ast.Call(ast.Attribute(call.func.value, "pivot_table"), [*values, *call.args], rest), {})

    def words(self, *arguments: str) -> Iterator[ast.expr]:
        """What is typed as these arguments, in it and in what it is asked of."""
        for node in ast.walk(self.node):
            yield from (word.value for word in getattr(node, "keywords", ()) if word.arg in arguments)


def code_of(argument: str, column: str | None = None) -> str | None:
    """An argument, or what it gives for a column, in the code that called the package; None where that cannot be read."""
    found = Written.here(ast.Call)
    node: Any = found and next((word.value for word in found.node.keywords if word.arg == argument), None)
    if isinstance(node, ast.Dict) and column is not None:
        node = dict(zip(map(ast.unparse, filter(None, node.keys)), node.values, strict=False)).get(repr(column))
    elif node is not None and column is not None:
        node = ast.Subscript(node, ast.Constant(column))
    return None if node is None else typed_text(node)


def typed_out(value: Any, *arguments: str) -> bool:
    """Whether a number, or a whole list, is a literal there, by place or as one of these arguments, and in no variable."""
    if (found := Written.here(ast.Call, ast.Attribute)) is None:
        return False
    words = [*found.words(*arguments)]
    each = [one for node in words if isinstance(node, ast.Dict) for one in node.values]
    several = isinstance(value, list | tuple)
    for node in (*getattr(found.node, "args", ()), *words, *each):
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
    """The frame that called the package, itself or by a function of pandas or NumPy."""
    caller: FrameType | None = sys._getframe(1)
    while caller is not None and caller.f_code.co_filename.startswith(THROUGH):
        caller = caller.f_back
    return caller


def _nodes(caller: FrameType, line: int) -> dict[Any, Any]:
    """The nodes of the statement on a line of a frame's code, with those above them; none where it is too deep."""
    text = "".join(linecache.getlines(caller.f_code.co_filename, caller.f_globals))
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError):  # a file that was written since, or any text
        tree = ast.parse(text if len(text) < LONGEST_FILE else "")
        # of a long file to look at all of it would take seconds; a decorator stands before its statement begins
        after = [one for one in tree.body if (one.end_lineno or 0) >= line]
        tree.body = [one for one in after if one.lineno <= line] or after[:1]
        level: list[ast.AST] = [tree]
        for _ in range(DEEPEST):  # what is nested deeper cannot be written again: Python does that by calling itself
            level = [child for one in level for child in ast.iter_child_nodes(one)]
        if not level:
            return {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    return {}


def code(text: str) -> ast.expr:
    """A text as an expression."""
    return ast.parse(text, mode="eval").body


def is_expression(text: str) -> bool:
    """Whether a text can be typed as an argument."""
    with suppress(SyntaxError):
        return bool(code(text))
    return False


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


def as_dict(typed: Mapping[str, str]) -> str:
    """What is typed of each column, as a dict."""
    return f"{{{', '.join(f'{name!r}: {text}' for name, text in typed.items())}}}"
