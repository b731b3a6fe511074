"""Questions about each unit, such as a patient with all their rows, as they can be asked: no list of units is public."""

from __future__ import annotations

import ast
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pandas_dp.errors import ArgumentValueError
from pandas_dp.facts.chains import bounds_of
from pandas_dp.facts.written import Written
from pandas_dp.tables import frames

if TYPE_CHECKING:
    from pandas_dp.questions.rows import PreparedFrame

ROWS = "how many rows units have is the question .rows_per_unit()"
OTHERWISE = "what each unit has is a table of one row for each, made before df.dp.protect(...)"


def refuse_units(frame: PreparedFrame, column: str) -> None:
    """Refuse groups and keys that are the units themselves, and say what can be asked of them."""
    table = frames.lookup(frame._frame)
    if table is None or column != table.session.unit.column:
        return
    told = ROWS
    with suppress(Exception):  # code may be anything
        told = _told(frame, column)
    raise ArgumentValueError(f"{column!r} is the unit of the budget, and no list of units is public; {told}")


def _told(frame: PreparedFrame, unit: str) -> str:
    """What is said of the chain that goes on from the groups."""
    found = Written.here(ast.Call)
    if found is None or not isinstance(found.node.func, ast.Attribute) or found.node.func.attr != "groupby":
        return ROWS
    node, base, names, column = found.node, ast.unparse(found.node.func.value), list[str](), ""
    while isinstance(up := found.above.get(node), ast.Attribute | ast.Subscript | ast.Call):
        if isinstance(up, ast.Attribute):
            names.append(up.attr)
        elif isinstance(up, ast.Subscript):
            column = str(getattr(up.slice, "value", ""))
        node = up
    kind: Any = frame._kind(column).name if column in frame._empty() else ""
    if names[:2] == ["sum", "mean"] and kind in ("number", "bool"):
        bounds = f"bounds={pair}" if (pair := bounds_of(frame, column)) else ""
        asked = f"{base}[{column!r}].sum({bounds}) / {base}[{unit!r}].nunique()"
        return f"the mean of their sums, at two prices: {asked}"
    if names[:1] in (["any"], ["max"]) and kind == "bool":
        return f"how many of them have one: {base}.query({column!r})[{unit!r}].nunique()"
    return OTHERWISE if names and names[0] not in ("size", "count") else ROWS
