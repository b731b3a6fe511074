"""Random expressions of numbers, and the same rows in each dtype that may come to hold them.

Which of NumPy's three dtypes holds whole numbers, other rows decide: one missing cell makes floats of them, one from 2**63 on
makes them unsigned. And in every dtype other rows decide which way a computation takes that has a shorter one for small cells.
"""

from __future__ import annotations

import functools
import itertools
import random
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.steps.expression import Column, Constant, Expression, IsIn, Map, Method, Operation

SMALL = [0, 1, 2, 3, 5, 7, 10, 100, 511, 2**26, 2**31 + 1, 2**40, 10**18, 10**18 + 1]
AROUND = [2**53 + d for d in (-1, 0, 1, 2, 3)] + [2**62 + d for d in (-1, 0, 1, -256, 512)]
AROUND += [2**63 + d for d in (-1, -2, -511, -512, -513, -1023, -1024, -1025, 0, 1, 1024, 2048)]
LARGE = [2**64 + d for d in (-1, -2, -1023, -1024, -1025, -2048)]
CELLS = [c for x in (*SMALL, *AROUND) for c in dict.fromkeys((x, -x)) if c >= -(2**63)] + LARGE
CONSTANTS: list[Any] = [*CELLS, 2.0, 0.5, -0.5, 1e18, -1e300, 1e30, 2.0**63, 2.0**64, -(2.0**63), -0.0, float("inf")]
PAIRS = random.Random(5).sample([*itertools.product(CELLS, CELLS)], 500) + [(c, d) for c in CELLS for d in (3, -7)]
NUMPY = ("int64", "float64", "uint64")
DTYPES = (*NUMPY, "int32", "uint8", "float32", "bool", "boolean", "Int32", "Int64", "UInt64", "Float64")
DTYPES += ("int8[pyarrow]", "int64[pyarrow]", "uint64[pyarrow]", "double[pyarrow]", "decimal")
LAST: dict[str, tuple[Any, ...]] = {"int64": (0, -(2**63)), "float64": (None,), "uint64": (2**64 - 1, 2**63)}
LAST |= {"int32": (0, -(2**31)), "uint8": (0, 255), "bool": (False, True)}
X, Y = Column("x"), Column("y")
Frames = list[tuple[tuple[str, str, str], list[int], pd.DataFrame]]


def holds(dtype: str, cell: int) -> bool:
    """Whether a dtype holds a whole number."""
    if dtype in ("float64", "Float64", "double[pyarrow]", "float32"):
        return int((np.float32 if dtype == "float32" else float)(cell)) == cell
    if dtype in ("bool", "boolean"):
        return cell in (0, 1)
    limits = None if dtype == "decimal" else np.iinfo(dtype.lower().removesuffix("[pyarrow]"))
    return limits is None or limits.min <= cell <= limits.max


def column(dtype: str, cells: list[Any]) -> pd.Series[Any]:
    """A column of a dtype."""
    if dtype == "decimal":
        held: Any = pd.ArrowDtype(pa.decimal128(38, 0))
        return pd.Series(pd.array([None if c is None else Decimal(c) for c in cells], dtype=held))
    made: Any = float if "loat" in dtype or "double" in dtype else bool if "bool" in dtype else int
    return pd.Series([None if c is None else made(c) for c in cells], dtype=dtype)


@functools.cache
def frames(first: str, second: str) -> Frames:
    """Rows in each dtype that may hold them: all, those of small cells, and some; under each another last row."""
    found: Frames = []
    for x, y in itertools.product(*(NUMPY if dtype in NUMPY else (dtype,) for dtype in (first, second))):
        held = [row for row, (a, b) in enumerate(PAIRS) if holds(x, a) and holds(y, b)]
        small = [row for row in held if max(map(abs, PAIRS[row])) < 2**52]
        for turn, (part, rows) in enumerate((("all", held), ("small", small), ("some", held[::7]))):
            names = {"x": x, "y": y}
            lasts = [LAST.get(dtype, (None, 0)) for dtype in names.values()]
            cells = {
                name: column(dtype, [*(PAIRS[row][place] for row in rows), lasts[place][turn % len(lasts[place])]])
                for place, (name, dtype) in enumerate(names.items())
            }
            n: Any = pd.array([(7, 2**40, 2**60 + 1)[row % 3] for row in rows] + [1], dtype="Int64")
            b = np.array([row % 2 == 0 for row in rows] + [True])
            found.append(((x, y, part), rows, pd.DataFrame({**cells, "n": n, "b": b})))
    return found


def tree(choose: random.Random, depth: int) -> Expression:
    """An expression of two columns x and y, and now and then of a nullable n and a truth value b."""
    found = _number(choose, choose.randrange(1, depth + 1))
    if choose.random() < 0.12:
        return Method("astype", (found,), (("dtype", "string"),))
    return Operation(choose.choice(["==", "<", ">="]), (found, _constant(choose))) if choose.random() < 0.1 else found


def _constant(choose: random.Random) -> Constant:
    return Constant(choose.choice(CONSTANTS))


def _number(choose: random.Random, depth: int) -> Expression:
    if depth == 0:
        return choose.choices([X, Y, Column("n"), Column("b")], [6, 3, 0.7, 0.3])[0]

    def other() -> Expression:
        return _number(choose, choose.randrange(depth)) if choose.random() < 0.3 else _constant(choose)

    kind, first = choose.random(), _number(choose, depth - 1)
    pair = (first, other()) if choose.random() < 0.6 else (other(), first)
    if kind < 0.4:
        return Operation(choose.choices(["+", "-", "*", "/", "//", "%", "**"], [3, 3, 2, 1, 4, 5, 0.7])[0], pair)
    if kind < 0.55:
        return Operation(choose.choice(["negative", "abs"] * 4 + ["floor", "ceil", "sqrt", "log1p"]), (first,))
    if kind < 0.62:
        return Operation("round", (first, Constant(choose.choice([0, 2, -1, -3, -9, -17, -18, -19]))))
    if kind < 0.72:
        return Operation(choose.choice(["at_least", "at_most", "fillna"]), (first, _constant(choose)))
    if kind < 0.86:
        condition = _condition(choose, depth - 1)
        if choose.random() < 0.15:
            return Operation("where", (first, condition))
        if choose.random() < 0.25:
            return Operation("case_when", (pair[0], condition, pair[1], _condition(choose, depth - 1), other()))
        return Operation("where", (pair[0], condition, pair[1]))
    if kind < 0.98:
        return Method("astype", (first,), (("dtype", choose.choice(["int64"] * 5 + ["float64"] * 3 + ["bool"])),))
    keys = dict(choose.sample([*itertools.pairwise(CELLS)], 4))
    return Map((first,), tuple(keys.items()))


def _condition(choose: random.Random, depth: int) -> Expression:
    kind, first = choose.random(), _number(choose, choose.randrange(depth + 1))
    if kind < 0.6:
        other = _constant(choose) if choose.random() < 0.7 else _number(choose, choose.randrange(depth + 1))
        return Operation(choose.choice(["==", "!=", "<", "<=", ">", ">="]), (first, other))
    if kind < 0.75:
        return IsIn((first,), tuple(_constant(choose) for _ in range(3)))
    if kind < 0.85 or not depth:
        return Operation("isna", (first,))
    parts = _condition(choose, depth - 1), _condition(choose, depth - 1)
    return Operation("not", parts[:1]) if kind < 0.9 else Operation(choose.choice(["and", "or"]), parts)


def cells(expression: Expression, rows: list[int], frame: pd.DataFrame) -> dict[int, Any] | str:
    """What an expression writes of each row but the last, None where that is missing; or how it is refused."""
    try:
        found = expression.evaluate(frame).iloc[:-1]
    except (ArgumentTypeError, ArgumentValueError) as error:
        return type(error).__name__
    listed = zip(found.tolist(), found.isna().tolist(), strict=True)
    return dict(zip(rows, (None if gone else cell for cell, gone in listed), strict=True))


def difference(expression: Expression, held: Frames) -> str | None:
    """Where two dtypes, or two choices of other rows, make another result of one row."""
    seen: dict[int, tuple[Any, Any]] = {}
    refusals: set[str] = set()
    for name, rows, frame in held:
        found = cells(expression, rows, frame)
        refusals.add(found if isinstance(found, str) else "")
        for row, cell in found.items() if isinstance(found, dict) else ():
            before, was = seen.setdefault(row, (name, cell))
            if was != cell:
                return f"{expression}: {PAIRS[row]} gives {was!r} among {before}, and {cell!r} among {name}"
    return f"{expression}: refused of some dtypes" if len(refusals) > 1 else None
