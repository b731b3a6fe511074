"""Text, whatever stores it: as cells, in methods of ``.str``, and what ``astype`` makes of text and of other cells.

For all inputs: element i of a result depends on element i of the operand alone, and whether an operation is refused depends on
the kind of the operand. No cell can make any of it fail; what cannot be converted counts as missing.
"""

from __future__ import annotations

import contextlib
import math
import re
import unicodedata
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pandas_dp.errors import ArgumentTypeError
from pandas_dp.steps import categories, exact
from pandas_dp.steps.odd_cells import DIGITS, bare
from pandas_dp.steps.values import (
    LONGEST,
    Kind,
    Mask,
    Nulls,
    Values,
    advice,
    booleans,
    family,
    numbers,
    plain,
    read_constant,
)

_TRUTHS = "isalnum isalpha isascii isdecimal isdigit islower isnumeric isspace istitle isupper startswith endswith"


def _fits(length: int, cell: str) -> bool:
    """Whether a text may become so long; otherwise it is missing, as whether memory is enough would follow from a cell."""
    return length <= max(LONGEST, len(cell))


def _replaced(cell: str, pat: str, repl: str, n: int = -1) -> str | None:
    found = cell.count(pat) if n < 0 else min(n, cell.count(pat))
    return cell.replace(pat, repl, n) if _fits(len(cell) + found * (len(repl) - len(pat)), cell) else None


def _sliced_out(cell: str, start: int | None, stop: int | None, repl: str) -> str | None:
    """As pandas has it: between a start and a stop before it, the text is put in at the start."""
    first, last, _ = slice(start, stop).indices(len(cell))
    found = cell[:first] + repl + cell[max(first, last) :]
    return found if _fits(len(found), cell) else None


_OF_PYTHON = (
    "lower upper capitalize casefold title swapcase strip lstrip rstrip removeprefix removesuffix zfill ljust rjust"
)
CHANGES: dict[str, Callable[..., str | None]] = {
    **{name: getattr(str, name) for name in f"{_OF_PYTHON} center".split()},
    "slice": lambda cell, start=None, stop=None, step=None: cell[start:stop:step],
    "slice_replace": _sliced_out,
    "replace": _replaced,
    "repeat": lambda cell, repeats: cell * repeats if _fits(len(cell) * repeats, cell) else None,
    "normalize": lambda cell, form: unicodedata.normalize(form, cell),
}
TESTS: dict[str, Callable[..., bool]] = {
    **{name: getattr(str, name) for name in _TRUTHS.split()},
    "contains": lambda cell, pat, case, regex: pat in cell if case else pat.upper() in cell.upper(),
}
COUNTS: dict[str, Callable[..., int]] = {"count": str.count, "find": str.find, "rfind": str.rfind}


def change(name: str, operand: Values, **options: Any) -> Values:
    """Text changed by one of ``CHANGES``; a cell that is missing or no text gives a missing one.

    Raises
    ------
    ArgumentTypeError
        If the operand is no column of text.
    """
    operand = as_text(name, operand)
    function = CHANGES[name]
    return found_texts([function(cell, *options.values()) for cell in python_text(operand)], operand)


def holds(name: str, operand: Values, **options: Any) -> Values:
    """Truth of one of ``TESTS``; for a missing cell unknown, where `Nulls.NA` says so, and False otherwise, as for no text.

    Raises
    ------
    ArgumentTypeError
        If the operand is no column of text.
    """
    operand = as_text(name, operand)
    function = TESTS[name]
    found = (function(cell, *options.values()) for cell in python_text(operand))
    holds = np.fromiter(found, bool, len(operand.missing)) & ~operand.incomparable
    return booleans(holds, operand.missing, operand.nulls)


def count(name: str, operand: Values, **options: Any) -> Values:
    """A whole number of one of ``COUNTS``, in float64; missing for a cell that is missing or no text.

    Raises
    ------
    ArgumentTypeError
        If the operand is no column of text.
    """
    operand = as_text(name, operand)
    found = (COUNTS[name](cell, *options.values()) for cell in python_text(operand))
    counts = np.fromiter(found, np.float64, len(operand.missing))
    return numbers(np.where(operand.incomparable, np.nan, counts), operand.nulls)


def joined(left: Values, right: Values) -> Values:
    """One text after the other; missing where one is, or both together are longer than a text may become."""
    sides = [categories.objects(side) if side.kind is Kind.CATEGORY else side for side in (left, right)]
    x, y = (python_text(side) for side in sides)
    if not np.ndim(x) and not np.ndim(y):
        return read_constant(plain(x.item() + y.item()))
    pairs = np.broadcast(x, y)
    missing = np.broadcast_to(sides[0].incomparable | sides[1].incomparable, pairs.shape)
    cells = [a + b if len(a) + len(b) <= LONGEST or not a or not b else None for a, b in pairs]
    return found_texts(cells, *sides, missing=missing)


def found_texts(cells: list[str | None], *sources: Values, missing: Mask | None = None) -> Values:
    """Text made from columns of text, missing where one of them was or where there is none."""
    none = np.fromiter((cell is None for cell in cells), bool, len(cells))
    return texts(cells, none | (sources[0].incomparable if missing is None else missing), *sources)


def texts(cells: Any, missing: Mask, *sources: Values, nulls: Nulls = Nulls.NAN) -> Values:
    """Text made from columns and constants of text: held by Arrow where all of them are, which depends on dtypes alone.

    Python's own text may hold what is no valid Unicode, and Arrow's may not.
    """
    arrow = all(isinstance(source.data, str) or _held_by_arrow(source) for source in sources)
    held = np.empty(len(missing), dtype=object)
    held[:] = cells
    held[missing] = None
    nulls = max([nulls, *(source.nulls for source in sources)])
    dtype: Any = pd.StringDtype("pyarrow" if arrow else "python", na_value=pd.NA if nulls is Nulls.NA else np.nan)
    return Values(Kind.TEXT, pd.array(held, dtype=dtype), missing, nulls=nulls)


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
    # whatever its dtype says
    return values.kind is Kind.TEXT and isinstance(values.data, pd.arrays.ArrowExtensionArray)


def as_text(name: str, operand: Values) -> Values:
    """The operand as text or objects."""
    if operand.kind is Kind.CATEGORY:
        return categories.objects(operand)
    if family(operand.kind) is not Kind.TEXT:
        raise ArgumentTypeError(f"str.{name} needs text, not {operand.kind.value}{advice(operand)}")
    return operand


# Decimal notation, read from left to right in one pass; \d is 0-9 alone here.
_NUMBER = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)
_NUMPY = {kind for kind in np.sctypeDict.values() if issubclass(kind, np.bool_ | np.integer | np.floating)}
_NUMBER_TYPES = frozenset(map(id, {bool, int, float} | (_NUMPY - {np.timedelta64})))


def astype(operand: Values, dtype: str) -> Values:
    """Cells as ``"float64"``, ``"int64"``, ``"bool"`` or ``"string"``.

    ``"int64"`` cuts numbers toward zero, and those that it cannot hold are missing, so they are nullable whatever held them.
    Text, objects and categories become numbers cell by cell, missing where a cell is none. Truth is that of ``x != 0`` where x
    is present. Text is made of numbers, true and false; that of a whole number has no point, also where pandas stores it as a
    float.

    Raises
    ------
    ArgumentTypeError
        If values of this kind are never converted to the target.
    """
    return TARGETS[dtype](operand)


def _float(operand: Values) -> Values:
    if family(operand.kind) is Kind.NUMBER:
        return numbers(np.asarray(operand.floats()), operand.nulls)
    if operand.kind is Kind.CATEGORY:
        return numbers(categories.each(number, operand))
    if family(operand.kind) is not Kind.TEXT:
        raise _refused("numbers", operand)
    cells = python_text(operand) if operand.kind is Kind.TEXT else operand.data
    return numbers(np.fromiter(map(number, cells), np.float64, len(operand.missing)), operand.nulls)


def _int(operand: Values) -> Values:
    if operand.kind is Kind.CATEGORY:
        operand = categories.objects(operand)
    if family(operand.kind) is Kind.TEXT:
        cells = python_text(operand) if operand.kind is Kind.TEXT else operand.data
        found = [_whole(cell) for cell in cells]
        missing = np.fromiter((cell is None for cell in found), bool, len(found))
        data = np.fromiter((cell or 0 for cell in found), np.int64, len(found))
        return Values(Kind.NUMBER, data, missing, nulls=Nulls.NA)
    if family(operand.kind) is not Kind.NUMBER:
        raise _refused("numbers", operand)
    return exact.whole(operand)


def _bool(operand: Values) -> Values:
    if family(operand.kind) is not Kind.NUMBER:
        raise ArgumentTypeError(f"{operand.kind.value} are not truth values: compare, as in d.x == 'yes'")
    return booleans(np.asarray((operand.data != 0) & ~operand.missing), operand.missing, operand.nulls)


def _string(operand: Values) -> Values:
    if operand.kind is Kind.CATEGORY:
        operand = categories.objects(operand)
    if family(operand.kind) is Kind.TEXT:
        return texts(python_text(operand), operand.incomparable, operand)
    if family(operand.kind) is not Kind.NUMBER:
        raise _refused("text", operand)
    cells = np.where(operand.missing, 0, operand.data).astype(operand.data.dtype).tolist()
    if operand.rest is not None:
        cells = [int(cell) + more if more else cell for cell, more in zip(cells, operand.rest.tolist(), strict=True)]
    if operand.infinite is not None:
        cells = [far or cell for cell, far in zip(cells, operand.infinite.tolist(), strict=True)]
    longest = 10**DIGITS if operand.nulls is Nulls.NA else 2**64  # beyond, NumPy's are floats
    return texts([_digits(cell, operand.scale, longest) for cell in cells], operand.missing, nulls=operand.nulls)


def _digits(cell: bool | int | float, scale: int, longest: int) -> str:
    """A whole number without a point, whatever stores it: one missing value makes floats of a column of integers."""
    if scale:
        whole, places = divmod(abs(cell), 10**scale)
        return f"{'-' * (cell < 0)}{whole}.{places:0{scale}}".rstrip("0").rstrip(".")
    if type(cell) is int:
        return str(cell if abs(cell) < longest else float(cell))
    return str(int(cell)) if type(cell) is float and cell.is_integer() and abs(cell) < 2**64 else str(cell)


TARGETS: dict[str, Callable[[Values], Values]] = {"float64": _float, "int64": _int, "bool": _bool, "string": _string}


def number(cell: Any) -> float:
    """A cell as a float, NaN where it is no number; no code of its own runs, see `bare`."""
    cell = bare(cell)
    kind = type(cell)
    if kind is str:
        return float(cell) if _NUMBER.fullmatch(cell) else math.nan
    if kind is Decimal and not cell.is_nan():
        return float(cell)
    if id(kind) not in _NUMBER_TYPES:
        return math.nan
    try:
        return float(cell)
    except OverflowError:  # of an integer, which Python keeps exact; text as long gives an infinity too
        return math.inf if cell > 0 else -math.inf


def decimal(cell: Any) -> Decimal | None:
    """A cell as a decimal: of a float the shortest one that it is; None where it is no number, see `number`."""
    cell = bare(cell)
    kind = type(cell)
    if kind is Decimal:
        return cell  # type: ignore[no-any-return]
    finite = kind is int or kind is bool or (kind is float and math.isfinite(cell))
    known = _NUMBER.fullmatch(cell) if kind is str else finite
    with contextlib.suppress(InvalidOperation):  # of more digits in an exponent than Python reads
        return Decimal(cell if kind is not float else repr(cell)) if known else None
    return None


def _whole(cell: Any) -> int | None:
    """A cell cut toward zero, None where it is no number or int64 does not hold it; by exact type, as `number`."""
    cell = bare(cell)
    near, kind = number(cell), type(cell)
    if not abs(near) <= 2.0**63:
        return None
    exact = int(near)
    if kind is str:
        with contextlib.suppress(InvalidOperation, ValueError):  # of more digits in an exponent than Python reads
            exact = int(Decimal(cell))
    elif kind is not float:
        exact = int(cell)
    return exact if -(2**63) <= exact < 2**63 else None


def _refused(target: str, operand: Values) -> ArgumentTypeError:
    hint = advice(operand) or ": of dates take parts, as in d.visit.dt.year, or differences / pd.Timedelta('1 day')"
    return ArgumentTypeError(f"{operand.kind.value} do not become {target}{hint}")
