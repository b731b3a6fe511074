"""From what a user writes, a string, a function or ``pd.col``, to one expression tree."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pandas as pd

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, did_you_mean, told
from pandas_dp.steps.accessors import PROPERTIES
from pandas_dp.steps.expression import Column, Constant, Expression, Operation, lift, shorten
from pandas_dp.steps.functions import ACCESSORS, METHODS, call, compare, logical, negate, refusal
from pandas_dp.steps.operations import COMPARED
from pandas_dp.steps.quotes import WORDS, in_quotes, with_values
from pandas_dp.steps.trace import trace, unknown_column

Source = str | Callable[[Any], Any] | pd.api.typing.Expression

_ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}
_COMPARE = {node: op for op, (*_, node) in COMPARED.items()}
# Strings and `backticked names` are stepped over as a whole; what stands between is one character at a time.
ASSIGNED = re.compile(r"(?<![=!<>])=(?!=)")
_TOKEN = re.compile(
    r"""(?P<long>'''|\"\"\")(?:\\.|(?!(?P=long)).)*(?P=long)|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`[^`]*`|.""", re.DOTALL
)


def parse_expression(
    source: Source,
    columns: Iterable[str],
    *,
    argument: str = "expression",
    constants: Mapping[str, Any] = MappingProxyType({}),
) -> Expression:
    """Return the tree of a row-wise expression.

    Parameters
    ----------
    source : str, callable or pandas Expression
        ``"age >= 65 and ward != 'ICU'"`` as ``DataFrame.query`` reads it, ``lambda d: d.height / d.weight``, or
        ``pd.col("age") > 65``.
    columns : iterable of str
        Names of the table's columns; public.
    argument : str
        What the argument is called in error messages.
    constants : mapping of str to constant, optional
        Names that stand for public values in a text.

    Returns
    -------
    Expression
        Its ``repr`` is the same for every spelling of the same operations.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        If the expression is not row-wise, or cannot be read. Nothing else is raised.

    Notes
    -----
    A value that a function brings from outside is taken for a public constant, as in ``lambda d: d.x > limit``.
    Whether it really is public cannot be seen from it.
    """
    names = frozenset(name for name in columns if isinstance(name, str))
    if isinstance(source, str):
        text, quoted = _prepare(source, argument)
        tree = _parse(f"({text}\n)", "eval", argument, source)  # the parentheses let a long text run over several lines
        return _Reader(names, quoted, argument, constants).read(tree.body)
    if callable(source):  # a pd.col expression is
        return trace(source, names, argument)
    raise ArgumentTypeError(
        f"{argument}: has to be text, a function of the table or pd.col(...), not {type(source).__name__}"
    )


def parse_assignments(text: str, columns: Iterable[str], *, argument: str) -> list[tuple[str, Expression]]:
    """Return names and expressions of lines like ``"bmi = weight / height**2"``; a line may use earlier names.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        If a line is no assignment, or its expression is refused.
    """
    if not isinstance(text, str):
        raise ArgumentTypeError(f"{argument}: has to be text like 'bmi = weight / height ** 2'")
    names = set(columns)
    found = []
    for line in [*filter(None, map(str.strip, text.splitlines()))] or [""]:  # no line is no assignment either
        source, quoted = _prepare(line, argument)
        match _parse(source, "exec", argument, line):
            case ast.Module(body=[ast.Assign(targets=[ast.Name(id=name)], value=value)]):
                name = quoted.get(name, name)
                found.append((name, _Reader(frozenset(names), quoted, argument, {}).read(value)))
                names.add(name)
            case _:
                raise ArgumentValueError(f"{argument}: every line has to be 'name = expression'")
    return found


def _prepare(text: str, argument: str) -> tuple[str, dict[str, str]]:
    """Return Python source for pandas' query syntax, and the column each placeholder in it stands for.

    As in pandas, ``&`` and ``|`` bind like ``and`` and ``or``, and a name in backticks may be any column.
    """
    prefix = "_quoted"
    while prefix in text:
        prefix += "_"
    quoted: dict[str, str] = {}
    pieces = []
    for token in (match.group() for match in _TOKEN.finditer(text)):
        if token == "@":  # noqa: S105
            raise ArgumentValueError(
                f"{argument}: '@' isn't supported; write the value, or a function, as in .filter(lambda d: d.x > limit)"
            )
        if len(token) > 1 and token[0] == "`":
            placeholder = f"{prefix}{len(quoted)}_"
            quoted[placeholder] = token[1:-1]
            token = f" {placeholder} "
        pieces.append({"&": " and ", "|": " or "}.get(token, token))
    return "".join(pieces).strip(), quoted


def parsed(text: str, mode: str) -> Any:
    """The syntax tree of a text, None where it is not Python's."""
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an odd escape in a text constant
        return ast.parse(text, mode=mode)
    return None


def _parse(source: str, mode: str, argument: str, written: str) -> Any:
    if (tree := parsed(source, mode)) is not None:
        return tree
    mended = in_quotes(written)
    if mended != written and parsed(_prepare(mended, argument)[0], mode):
        raise ArgumentValueError(f"{argument}: dates and text are written in quotes: {mended!r}")
    raise ArgumentValueError(
        f"{argument}: cannot be read: write it like \"age >= 65 and ward != 'ICU'\"; a name that is not "
        f"valid in Python needs `backticks`{'; for equality write ==' * bool(ASSIGNED.search(source))}"
    )


@dataclass(frozen=True)
class _Reader:
    """Turns a syntax tree into an expression; whatever it does not know, it refuses."""

    names: frozenset[str]
    quoted: dict[str, str]
    argument: str
    constants: Mapping[str, Any]

    def read(self, node: ast.AST) -> Expression:
        """Return the expression of a node; errors name the argument."""
        try:
            with told(f"{self.argument}: "):
                return self._read(node)
        except RecursionError:
            raise ArgumentValueError(f"{self.argument}: the expression is nested too deeply") from None

    def _read(self, node: ast.AST) -> Expression:
        match node:
            case ast.Name(id=name) if name in self.constants:
                return lift(self.constants[name])
            case ast.Name(id=name):
                return self._column(self.quoted.get(name, name))
            case ast.Constant(value=value):
                return lift(value)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return Constant(-value)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return Operation("negative", (self._read(operand),))
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self._read(operand)
            case ast.UnaryOp(operand=operand):
                return negate(self._read(operand))
            case ast.BinOp(op=op, left=left, right=right) if type(op) in _ARITHMETIC:
                return Operation(_ARITHMETIC[type(op)], (self._read(left), self._read(right)))
            case ast.BoolOp(op=op, values=values):
                return logical("and" if isinstance(op, ast.And) else "or", *map(self._read, values))
            case ast.Compare():
                return self._compare(node)
            case ast.Call(func=ast.Attribute() as function):
                operand, name = _member(function)
                if name in METHODS:
                    return self._call(node, operand, name)
            case ast.Attribute():
                operand, name = _member(node)
                if name in PROPERTIES:
                    return PROPERTIES[name](self._read(operand))
        raise self._refusal(node)

    def _column(self, name: str) -> Expression:
        if name not in self.names:
            raise unknown_column(self.argument, name, self.names)
        return Column(name)

    def _compare(self, node: ast.Compare) -> Expression:
        links = []
        for left, op, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
            self._check_quotes(left, op, right)
            if type(op) in _COMPARE:
                if isinstance(right, ast.List | ast.Tuple | ast.Set):
                    raise ArgumentValueError("a list is compared with in, as in ward in ['A', 'B']")
                links.append(compare(_COMPARE[type(op)], self._read(left), self._read(right)))
            elif isinstance(op, ast.In | ast.NotIn):
                if not isinstance(right, ast.List | ast.Tuple | ast.Set):
                    raise ArgumentValueError("in needs a list of constants, as in ward in ['A', 'B']")
                found = call("isin", self._read(left), [self._argument(right)], {})
                links.append(negate(found) if isinstance(op, ast.NotIn) else found)
            else:
                raise ArgumentValueError("'is' is not supported: write == or .isna()")
        return links[0] if len(links) == 1 else logical("and", *links)

    def _check_quotes(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> None:
        """Refuse names that are no columns where a column is compared with them: likely texts without their quotes.

        Raises
        ------
        ArgumentValueError
        """
        names = {*self.names, *self.constants, *self.quoted}
        listed = right.elts if isinstance(right, ast.List | ast.Tuple | ast.Set) else [right]
        missing = [one.id for one in listed if isinstance(one, ast.Name) and one.id not in names]
        if not missing or not isinstance(left, ast.Name) or left.id not in names or did_you_mean(missing[0], names):
            return
        error = unknown_column(self.argument, missing[0], self.names)
        line = self._as_typed(ast.Compare(left, [op], [with_values(right, missing)]))
        error.args = (f"{error}; {'write' if missing[0].lower() in WORDS else 'text is written in quotes:'} {line}",)
        raise error

    def _as_typed(self, node: ast.AST) -> str:
        text = ast.unparse(node)
        for placeholder, name in self.quoted.items():
            text = text.replace(placeholder, f"`{name}`")
        return text

    def _call(self, node: ast.Call, operand: ast.AST, name: str) -> Expression:
        if any(isinstance(arg, ast.Starred) for arg in node.args) or any(word.arg is None for word in node.keywords):
            raise ArgumentValueError(f"{name}() is called without * and **")
        kwargs = {str(word.arg): self._argument(word.value) for word in node.keywords}
        return call(name, self._read(operand), [self._argument(arg) for arg in node.args], kwargs)

    def _argument(self, node: ast.AST) -> Any:
        """Return an argument of a call: a list of constants, None, the text of an option, or an expression."""
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            return [self._argument(item) for item in node.elts]
        if isinstance(node, ast.Dict) and all(node.keys):
            entries = zip(node.keys, node.values, strict=True)
            return {self._key(name): self._argument(value) for name, value in entries}
        if isinstance(node, ast.Constant):
            return node.value
        value = self._read(node)
        return value.value if isinstance(value, Constant) else lift(value)

    def _key(self, node: ast.AST | None) -> Any:
        key = None if node is None else self._argument(node)
        if isinstance(key, list | dict | Expression):
            raise ArgumentTypeError("the keys of a dict are public constants, as in {'a': 1, 'b': 2}")
        return key

    def _refusal(self, node: ast.AST) -> ArgumentValueError:
        match node:
            case ast.Subscript(value=ast.Attribute(attr="str"), slice=ast.Slice(lower, upper, None)):
                ends = ", ".join(ast.unparse(end) for end in (lower or ast.Constant(0), upper) if end)
                return ArgumentValueError(f"a part of a text is written as .str.slice({ends}), not as .str[...]")
            case ast.Subscript(value=ast.Attribute(attr="str"), slice=ast.Constant() | ast.UnaryOp() as place):
                return ArgumentValueError(
                    f"a letter of a text is written as .str.get({ast.unparse(place)}), not as .str[...]"
                )
        name = _first_refused(node)
        if name in METHODS:
            return ArgumentValueError(f"{name} is called on a column: x.{name}(...)")
        if name in PROPERTIES:
            return ArgumentValueError(f"x.{name} is written without ()")
        if name is not None:
            return ArgumentValueError(refusal(name))
        match node:
            case ast.IfExp():
                return ArgumentValueError("'if' is not supported: write condition * a + ~condition * b, or filter")
            case ast.BinOp(op=ast.BitXor()):
                return ArgumentValueError(
                    "'^' is not supported: write ** for powers, or (a and not b) or (b and not a)"
                )
        return ArgumentValueError(
            f"{shorten(self._as_typed(node), 60)} is not among the operations that can be checked row by row: + - * / // % **, "
            f"comparisons, in [...], and, or, not, & | ~, and .{', .'.join(sorted((*METHODS, *PROPERTIES)))}"
        )


def _first_refused(node: ast.AST) -> str | None:
    """The first name in a chain such as ``x.rank().abs()`` or ``x.iloc[0]`` that is neither method nor property here."""
    first = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None
    while isinstance(node, ast.Call | ast.Attribute | ast.Subscript):
        called = isinstance(node, ast.Call)
        link = node.func if isinstance(node, ast.Call) else node
        if isinstance(link, ast.Attribute):
            node, name = _member(link)
            first = first if name in (METHODS if called else PROPERTIES) else name
        else:
            node = link.value if isinstance(link, ast.Subscript) else link
    return first


def _member(node: ast.Attribute) -> tuple[ast.expr, str]:
    """What an attribute belongs to, and its name with the accessor before it: ``x`` and ``dt.year`` of ``x.dt.year``."""
    inner = node.value
    if isinstance(inner, ast.Attribute) and inner.attr in ACCESSORS:
        return inner.value, f"{inner.attr}.{node.attr}"
    return inner, node.attr
