"""Any text at all gives a tree or our own error."""

# ruff: noqa: RUF005 - every order of writing is the point
from __future__ import annotations

import warnings

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.steps.expression import Column, Constant, Expression, IsIn, Method, Operation
from pandas_dp.steps.parse import parse_assignments, parse_expression

COLUMNS = ["x", "y", "g", "when", "flag", "a b", "count", "class", "per cent"]


OUTSIDE = pd.DataFrame({"x": [1.0, 2.0], "g": ["a", "b"]})


def op(name: str, *operands: object) -> Expression:
    return Operation(name, tuple(o if isinstance(o, Expression) else Constant(o) for o in operands))


def method(name: str, operand: Expression, **options: object) -> Expression:
    return Method(name, (operand,), tuple(options.items()))  # type: ignore[arg-type]


def among(operand: Expression, *constants: object) -> Expression:
    return IsIn((operand,), tuple(map(Constant, constants)))


x, y, g, flag = Column("x"), Column("y"), Column("g"), Column("flag")

TOKENS = [
    "x",
    "y",
    "g",
    "flag",
    "`a b`",
    "`",
    "'a'",
    "'",
    '"',
    "1",
    "2.5",
    "-",
    "+",
    "*",
    "**",
    "/",
    "//",
    "%",
    "&",
    "|",
    "~",
]
TOKENS += [
    "and",
    "or",
    "not",
    "in",
    "is",
    "(",
    ")",
    "[",
    "]",
    ",",
    ".",
    ".isna()",
    ".isin([1])",
    ".mean()",
    ".between(1, 2)",
]
TOKENS += [
    "<",
    "<=",
    "==",
    "!=",
    "=",
    "@",
    ":",
    "if",
    "else",
    "lambda",
    "None",
    "True",
    "\n",
    "#",
    "\\",
    "{",
    "}",
    ";",
    "\x00",
]


def check_fuzz(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            tree = parse_expression(text, COLUMNS)
        except (ArgumentTypeError, ArgumentValueError):
            return
    assert isinstance(tree, Expression)
    assert tree.columns() <= set(COLUMNS)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=40) | st.text(st.characters(max_codepoint=127), max_size=20))
def test_any_text_gives_a_tree_or_our_own_error(text):
    check_fuzz(text)


@settings(max_examples=600, deadline=None)
@given(st.lists(st.sampled_from(TOKENS), max_size=12))
def test_any_tokens_give_a_tree_or_our_own_error(tokens):
    check_fuzz(" ".join(tokens))
    check_fuzz("".join(tokens))


def test_assignments_may_use_earlier_ones():
    text = """
        bmi = x / y ** 2
        `is high` = bmi > 25
    """
    assert parse_assignments(text, ["x", "y"], argument="eval") == [
        ("bmi", op("/", x, op("**", y, 2))),
        ("is high", op(">", Column("bmi"), 25)),
    ]


@pytest.mark.parametrize(
    "text",
    ["x + 1", "", "a = b = x", "a, b = x, y", "a += 1", "a.b = x", "a = x; b = y", "a = ", "= x", "a == x", "import os"]
    + ["a = x.mean()", "a = nope", "a: int = 1", "a = b\nb = x", "\x00", "a[0] = x", "a = " + "x + " * 3000 + "x", 3],
)
def test_what_is_no_assignment_is_refused(text):
    with pytest.raises((ArgumentTypeError, ArgumentValueError), match=r"^eval: "):
        parse_assignments(text, COLUMNS, argument="eval")


def test_names_of_constants_stand_for_their_values():
    def read(text, value=3):
        return parse_expression(text, COLUMNS, constants={"c": value})

    assert read("x >= c") == read("c <= x") == op(">=", x, 3)
    assert read("x.between(0, c)") == read("0 <= x <= c")
    assert read("g in ['a', c]", "b") == among(g, "a", "b")
    with pytest.raises(ArgumentValueError, match="there is no column 'c'"):
        read("x >= `c`")  # in backticks a name is a column's
    with pytest.raises(ArgumentTypeError, match="expression: tuple is not a constant"):
        read("x >= c", (1, 2))
