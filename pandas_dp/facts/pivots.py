"""Lines in another form: tables of pandas that are asked of groups here, and questions at another price."""

from __future__ import annotations

import ast
from typing import Any

from pandas_dp.facts.chains import BOUNDED, bound
from pandas_dp.facts.written import Written, code, typed_text

NAMES = ("values", "index", "columns", "aggfunc")
CELLS = ("mean", "sum", "count")  # what a table has in its cells


def as_groups(written: Written, asked: Any) -> str:
    """The call of ``pivot_table`` as one about groups, with what that lacks; no text where a table answers it."""
    call, known = written.node, {*asked._empty()}
    given = dict(zip(NAMES, call.args, strict=False)) | {word.arg: word.value for word in call.keywords}
    sides = [_columns(given[side], known) for side in ("index", "columns") if side in given]
    by, func = [name for side in sides for name in side], given.get("aggfunc")
    values: Any = given.get("values")
    name: Any = "mean" if func is None else getattr(func, "value", None)
    if not by or not all(sides) or (len(by) == len(sides) == 2 and values and name in CELLS):
        return ""
    parts = [word.value for word in call.keywords if word.arg in ("keys", "bins")]
    if {getattr(key, "value", None) for part in parts for key in getattr(part, "keys", ())} - {*by}:
        return ""  # one of the three is missing, and another one meant
    frame, words = call.func.value, [word for word in call.keywords if word.arg in ("keys", "bins", "other", "null")]
    if not any(word.arg in ("keys", "bins") for word in words):
        for argument, text in asked._lacks(("by", "keys", "bins"), {"by": by}).items():
            typed: Any = code(text)
            words.append(ast.keyword(argument, typed if len(by) > 1 else typed.values[0]))
    columns: list[ast.expr] = [ast.Constant(one) for one in by]
    groups: ast.expr = ast.Call(
        ast.Attribute(frame, "groupby"), [ast.List(columns) if len(by) > 1 else columns[0]], words
    )
    more = [word for word in call.keywords if word.arg == "bounds"]
    question: Any
    if name in ("size", "count", "nunique", *BOUNDED) and (name == "size" or isinstance(values, ast.Constant)):
        groups = groups if name == "size" else ast.Subscript(groups, values)
        question = ast.Call(ast.Attribute(groups, name), [], more)
    elif isinstance(func, ast.List) and isinstance(values, ast.Constant):
        question = ast.Call(ast.Attribute(groups, "agg"), [ast.Dict([values], [func])], [])
    else:
        return ""
    if question.func.attr in (*BOUNDED, "agg"):
        bound(question, question.func, asked)
    wide = len(sides) == 2 and question.func.attr != "agg"
    return typed_text(question) + ".unstack()" * wide


def _columns(node: Any, known: set[Any]) -> list[str]:
    """Names of columns in one argument; none where it holds anything else."""
    names: list[Any] = [getattr(one, "value", None) for one in getattr(node, "elts", [node])]
    return names if all(isinstance(name, str) and name in known for name in names) else []


def at_price(typed: str, price: str, frame: Any) -> str:
    """A line at another price than that of the frame; no text where that stands elsewhere, behind steps."""
    made = Written(code(typed), {})
    first: Any = made.priced({*frame._empty()})
    if not (priced := isinstance(first, ast.Call) and getattr(first.func, "attr", "") == "dp") and frame._steps:
        return ""
    before = ast.unparse(first.func) if priced else "df.dp"
    return f"{before}({price}){typed_text(made.node).removeprefix(ast.unparse(first))}"
