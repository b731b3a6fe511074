"""Work of Dask without its own looks at partitions: whether a partition is refused by them follows from its cells.

For all inputs: rows that Dask gives are those of the work as it was, but for blocks of CSV, of which text is never read as
numbers and a line that has too many cells is no row. What comes in another dtype, or lacks a column, is fitted to what was
declared later on. A function of the owner's own, and a reader that fails by itself, still fail.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import dask.dataframe as dd
import pandas as pd
from dask.dataframe.dask_expr import new_collection
from dask.dataframe.dask_expr._expr import Projection

from pandas_dp.kinds import Kind, kind_or_none

LOOKS = ("verify_meta", "enforce_metadata")  # operands that ask for one
OF_CSV = {"reader", "head", "dtypes", "enforce", "kwargs"}  # arguments of the function that reads a block


def unchecked(frame: dd.DataFrame) -> dd.DataFrame:
    """The same work without looks at dtypes and names of partitions."""
    expr = frame.expr
    for node in frame.expr.walk():  # from the last one on, so that each still has its name when it is replaced
        looks = [look for look in LOOKS if look in node._parameters and node.operand(look)]
        changed: dict[str, Any] = dict.fromkeys(looks, False) if looks and node._meta.ndim == 2 else {}
        function = node.operand("func") if "func" in node._parameters else None
        if isinstance(function, partial) and function.keywords.keys() >= OF_CSV:
            mild = _mild(function.keywords["head"], function.keywords["kwargs"])
            changed["func"] = partial(function, dtypes={}, enforce=False, kwargs=mild)
        if changed:
            expr = expr.substitute(node, node.substitute_parameters(changed))
    return new_collection(expr)


def _mild(head: pd.DataFrame, given: dict[str, Any]) -> dict[str, Any]:
    """Arguments of a reader of CSV by which it takes no text for numbers, and does not fail because of a line."""
    fixed = given.get("converters") or {}
    texts = {n: "str" for n, dtype in head.dtypes.items() if kind_or_none(dtype) == Kind("key") and n not in fixed}
    made = given | {"dtype": texts}
    if isinstance(given.get("parse_dates"), list):
        made["parse_dates"] = [name for name in given["parse_dates"] if name not in texts]
    # Arrow's own reader has none of these
    return made if given.get("engine") == "pyarrow" else {"on_bad_lines": "skip", "encoding_errors": "replace"} | made


def optimized(frame: dd.DataFrame) -> Any:
    """The expression that Dask would carry out; columns that a partition lacks are not taken out of it."""
    expr = frame.optimize(fuse=False).expr
    for node in expr.walk():
        if type(node) is Projection and isinstance(node.operand("columns"), list):
            expr = expr.substitute(node, Chosen(*node.operands))
    return expr.fuse()


def _chosen(rows: Any, columns: list[Any]) -> Any:
    known = isinstance(rows, pd.DataFrame)
    return rows[[name for name in columns if name in rows.columns]] if known else rows


class Chosen(Projection):  # type: ignore[misc]
    """Those of some columns that a partition has."""

    operation = staticmethod(_chosen)
