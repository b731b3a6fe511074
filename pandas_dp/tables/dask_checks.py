"""Work of Dask without its own looks at partitions: whether a partition is refused by them follows from its cells.

For all inputs: rows that Dask gives are those of the work as it was, but for blocks of CSV, of which each cell is read by
itself, and for objects of which Dask makes text: what is none is missing. What comes in another dtype, or lacks a column, is
fitted to what was declared later on. A function of the owner's own, and a reader that fails by itself, still fail.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import Any

import dask.dataframe as dd
import pandas as pd
from dask.dataframe._pyarrow import is_object_string_dtype
from dask.dataframe.dask_expr import new_collection
from dask.dataframe.dask_expr._expr import ArrowStringConversion, Projection
from dask.dataframe.dask_expr.io.io import FromPandas

from pandas_dp.tables.conforming import conformed
from pandas_dp.tables.csv_blocks import cell_by_cell, of_csv

LOOKS = ("verify_meta", "enforce_metadata")  # operands that ask for one


def unchecked(frame: dd.DataFrame) -> dd.DataFrame:
    """The same work without looks at dtypes and names of partitions."""
    expr = frame.expr
    for node in frame.expr.walk():  # from the last one on, so that each still has its name when it is replaced
        if type(node) is ArrowStringConversion:
            expr = expr.substitute(node, Texts.of(node.frame))
        if isinstance(node, FromPandas):
            plain = node.substitute_parameters({"frame": node.frame, "pyarrow_strings_enabled": False})
            rows = Rows(*plain.operands) if type(node) is FromPandas else plain
            expr = expr.substitute(node, Texts.of(rows) if node.pyarrow_strings_enabled else rows)
        looks = [look for look in LOOKS if look in node._parameters and node.operand(look)]
        changed: dict[str, Any] = dict.fromkeys(looks, False) if looks and node._meta.ndim == 2 else {}
        function = node.operand("func") if "func" in node._parameters else None
        if of_csv(function):
            changed["func"] = cell_by_cell(function)
        if changed:
            expr = expr.substitute(node, node.substitute_parameters(changed))
    return new_collection(expr)


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


def _texts(rows: Any, names: tuple[Any, ...]) -> Any:
    """Text of objects in columns of these names, cell by cell; of a Series where it has one."""
    if isinstance(rows, pd.Series):
        return _texts(rows.to_frame("texts"), ("texts",) * bool(names))["texts"].rename(rows.name)
    if not isinstance(rows, pd.DataFrame):
        return rows
    made, text = rows.copy(deep=False), pd.StringDtype("pyarrow")
    for place, (name, dtype) in enumerate(rows.dtypes.items()):
        if name in names and is_object_string_dtype(dtype):
            made.isetitem(place, conformed(rows.iloc[:, place], text).array)
    if is_object_string_dtype(rows.index.dtype) and rows.index.nlevels == 1:
        made.index = pd.Index(
            conformed(pd.Series(rows.index.array, dtype=rows.index.dtype), text), name=rows.index.name
        )
    return made


class Texts(ArrowStringConversion):  # type: ignore[misc]
    """Dask's text of objects; its own way fails where a cell is no text, or the label of a row has no time in its zone."""

    _parameters = ("frame", "names")
    operation = staticmethod(_texts)

    @classmethod
    def of(cls, frame: Any) -> Texts:
        """Of the columns that are declared to hold objects or text."""
        meta = frame._meta
        dtypes = meta.dtypes.items() if meta.ndim == 2 else [(meta.name, meta.dtype)]
        return cls(frame, tuple(name for name, dtype in dtypes if is_object_string_dtype(dtype)))


class Rows(FromPandas):  # type: ignore[misc]
    """Rows in memory, cut into partitions whatever their labels are."""

    @cached_property
    def _divisions_and_locations(self) -> tuple[Any, list[int]]:
        with suppress(Exception):  # labels without order or hash, or without a time in their zone
            found: tuple[Any, list[int]] = super()._divisions_and_locations
            return found
        rows = len(self.frame._data)
        size = self.chunksize or -(-rows // self.operand("npartitions"))
        places = [*range(0, rows, size), rows]
        return (None,) * len(places), places
