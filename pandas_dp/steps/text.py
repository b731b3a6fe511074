"""Text, cell by cell, in one form for every storage; cells that are no text count as missing.

For all inputs: element i of a result depends on element i of the operand and on constants only. Python's own methods
of text are used in every storage, since Arrow's change some letters differently.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pandas_dp.errors import ArgumentTypeError
from pandas_dp.steps import categories
from pandas_dp.steps.values import TEXTUAL, Kind, Mask, Values, advice, booleans, numbers

CHANGES: dict[str, Callable[..., str]] = {
    "lower": str.lower,
    "upper": str.upper,
    "strip": str.strip,
    "lstrip": str.lstrip,
    "rstrip": str.rstrip,
    "slice": lambda cell, start=None, stop=None, step=None: cell[start:stop:step],
}
TESTS: dict[str, Callable[..., bool]] = {
    "contains": lambda cell, pat, case, regex: pat in cell if case else pat.upper() in cell.upper(),
    "startswith": str.startswith,
    "endswith": str.endswith,
}


def change(name: str, operand: Values, **options: Any) -> Values:
    """Text changed by one of ``CHANGES``; a cell that is missing or no text gives a missing one.

    Raises
    ------
    ArgumentTypeError
        If the operand is no column of text.
    """
    operand = _column(name, operand)
    function = CHANGES[name]
    return texts([function(cell, *options.values()) for cell in python_text(operand)], operand.incomparable, operand)


def holds(name: str, operand: Values, **options: Any) -> Values:
    """Truth of one of ``TESTS``; False for a cell that is missing or no text.

    Raises
    ------
    ArgumentTypeError
        If the operand is no column of text.
    """
    operand = _column(name, operand)
    function = TESTS[name]
    found = (function(cell, *options.values()) for cell in python_text(operand))
    return booleans(np.fromiter(found, bool, len(operand.missing)) & ~operand.incomparable)


def length(operand: Values) -> Values:
    """Number of characters, in float64; missing for a cell that is missing or no text.

    Raises
    ------
    ArgumentTypeError
        If the operand is no column of text.
    """
    operand = _column("len", operand)
    counts = np.fromiter(map(len, python_text(operand)), np.float64, len(operand.missing))
    return numbers(np.where(operand.incomparable, np.nan, counts))


def texts(cells: Any, missing: Mask, *sources: Values) -> Values:
    """Text made from columns and constants of text: held by Arrow where all of them are, which depends on dtypes alone.

    Python's own text may hold what is no valid Unicode, and Arrow's may not.
    """
    arrow = all(isinstance(source.data, str) or _held_by_arrow(source) for source in sources)
    held = np.empty(len(missing), dtype=object)
    held[:] = cells
    held[missing] = None
    dtype: Any = pd.StringDtype("pyarrow" if arrow else "python", na_value=np.nan)
    return Values(Kind.TEXT, pd.array(held, dtype=dtype), missing)


def python_text(values: Values) -> Any:
    """Cells as Python text, empty where missing or no text; shape of ``data``."""
    if isinstance(values.data, str):
        return np.array(values.data, dtype=object)  # numpy's own text would lose NULs at its end
    cells = _objects(values)
    cells[values.incomparable] = ""
    odd = np.fromiter((type(cell) is not str for cell in cells), bool, len(cells))  # they could compare as they like
    cells[odd] = [str.__str__(cell) for cell in cells[odd]]
    return cells


def _objects(values: Values) -> Any:
    """Cells as Python objects; bytes that are no UTF-8, which Arrow does not look for, become replacement characters."""
    try:
        return np.array(values.data, dtype=object)
    except (UnicodeDecodeError, pa.ArrowException):  # every valid cell is the same either way
        chunks = values.data.__arrow_array__().cast(pa.large_binary()).to_pylist()
        cells = np.empty(len(chunks), dtype=object)
        cells[:] = ["" if chunk is None else chunk.decode(errors="replace") for chunk in chunks]
        return cells


def arrow_text(values: Values) -> Any:
    """Return the text as Arrow holds it, or None where Python objects hold it (which may not be valid Unicode)."""
    if isinstance(values.data, str):
        return pa.scalar(values.data, pa.large_string())
    if not _held_by_arrow(values):
        return None
    cells = values.data.__arrow_array__().cast(pa.large_string())
    return cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells


def _held_by_arrow(values: Values) -> bool:
    return values.kind is Kind.TEXT and isinstance(
        values.data, pd.arrays.ArrowExtensionArray
    )  # whatever its dtype says


def _column(name: str, operand: Values) -> Values:
    """The operand as text or objects."""
    if operand.kind is Kind.CATEGORY:
        return categories.objects(operand)
    if operand.kind not in TEXTUAL:
        raise ArgumentTypeError(f"str.{name} needs text, not {operand.kind.value}{advice(operand)}")
    return operand
