"""What expressions of steps have to give, row by row, in Python alone: integers, fractions, Kleene's logic and its calendar."""

from __future__ import annotations

import calendar
import datetime
import math
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd

from pandas_dp.steps.expression import Column, Constant, Expression, IsIn, Map, Method, Operation

NEVER, NAN, NA = 0, 1, 2  # what a dtype says of missing cells
FITS = {"i": (-(2**63), 2**63 - 1), "u": (0, 2**64 - 1)}
EPOCH = datetime.datetime(1970, 1, 1)


class Refused(Exception):
    """Operands of kinds that do not go together."""


@dataclass(frozen=True)
class Cells:
    """Cells of a column, None where missing, or one of a constant.

    Forms: ``i`` and ``u`` integers of 64 bits, ``w`` any integers and fractions, ``f`` floats, ``b`` truth, ``t`` text, ``o``
    objects, ``c`` categories, ``l`` lists,
    ``s`` structs, ``D`` dates and ``Z`` those of a zone, both as nanoseconds since 1970 in UTC, ``T`` durations in
    nanoseconds.
    """

    cells: list[Any]
    form: str
    nulls: int = NEVER
    constant: bool = False
    zone: str | None = None
    unit: str = "ns"
    scale: int = 0  # decimal places of ``w``
    inner: str = ""  # the form of entries of ``l``, where they are no text
    kept: Any = (
        True  # whether integers are written as they are, or as the floats next to them: one answer, or of each row
    )


def expected(tree: Expression, columns: dict[str, Cells]) -> Cells:
    """What an expression gives for columns of one length."""
    match tree:
        case Column(name=name):
            return columns[name]
        case Constant(value=value):
            return constant(value)
    operands = [expected(operand, columns) for operand in tree.operands]
    match tree:
        case IsIn(constants=constants):
            return is_in(operands[0], [constant(listed.value) for listed in constants])
        case Map(pairs=pairs):
            return mapped(operands[0], pairs)
        case Method(name=name, options=options):
            return METHODS[name](*operands, **dict(options))
        case Operation(op=op):
            return OPERATIONS[op](*operands)
    raise AssertionError(type(tree))


def constant(value: Any) -> Cells:
    """A constant of a tree."""
    if isinstance(value, bool):
        return Cells([value], "b", constant=True)
    if isinstance(value, int):
        return Cells([value], "u" if value >= 2**63 else "i", constant=True)
    if isinstance(value, pd.Timestamp):
        form = "D" if value.tz is None else "Z"
        return Cells([value.as_unit("ns").value], form, constant=True, zone=value.tz and str(value.tz), unit=value.unit)
    if isinstance(value, pd.Timedelta):
        return Cells([value.as_unit("ns").value], "T", constant=True, unit=value.unit)
    form = "t" if isinstance(value, str) else "f"
    places = 0 if form == "t" or not math.isfinite(value) else max(-int(Decimal(repr(value)).as_tuple().exponent), 0)
    return Cells([value], form, constant=True, scale=places)


def rows(*operands: Cells) -> list[tuple[Any, ...]]:
    """Cells of several operands, row by row."""
    length = max((len(operand.cells) for operand in operands if not operand.constant), default=1)
    return list(zip(*(o.cells * length if o.constant else o.cells for o in operands), strict=True))


def made(cells: list[Any], form: str, *operands: Cells, nulls: int = NEVER, **more: Any) -> Cells:
    """A result, whose missing cells mean what they mean in the operands."""
    return Cells(cells, form, max(nulls, *(operand.nulls for operand in operands)), **more)


# Numbers


def exact(number: Any, form: str) -> Any:
    """A number as Python has it; a float constant as it is typed."""
    return Fraction(Decimal(repr(number))) if form == "f" else number


def common(*operands: Cells, chosen: bool = False, compared: bool = False) -> str:
    """The form in which numbers meet."""
    forms = [operand.form for operand in operands]
    if set(forms) - set("iuwfb"):
        raise Refused
    numpy = any(not o.constant and o.nulls != NA and o.form != "b" for o in operands)
    if not compared and numpy and any(o.nulls == NA for o in operands):  # integers that may be floats elsewhere
        return "f"
    wide = any(o.form == "w" for o in operands)
    for place, operand in enumerate(operands):
        if operand.form == "f":
            typed = operand.constant and math.isfinite(operand.cells[0])
            whole = typed and operand.cells[0].is_integer() and -(2**63) <= operand.cells[0] < 2**64
            whole = whole and str(operand.cells[0]) != "-0.0"
            if not (typed and (wide or (chosen and whole))):
                return "f"
            forms[place] = "w" if wide else "u" if operand.cells[0] >= 2**63 else "i"
    if "w" in forms:
        return "w"
    if "u" not in forms:
        return "i"
    natural = all(f == "u" or (o.constant and o.cells[0] >= 0) for f, o in zip(forms, operands, strict=True))
    return "u" if natural else "w"


def held(number: Any, form: str, nulls: int, scale: int = 0) -> Any:
    """A whole number as its form holds it: beyond that unknown, and NumPy's are as large as they get."""
    if form == "w":
        return number if abs(number) * 10**scale < 10**76 else None
    if form == "f":
        return number
    least, most = FITS[form]
    if least <= number <= most:
        return number
    return None if nulls == NA else number


def of_float(number: Any) -> Any:
    """A float, None for NaN."""
    return None if math.isnan(number) else float(number)


NUMPY: dict[str, Any] = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.true_divide, "//": np.floor_divide}
NUMPY |= {"%": np.remainder, "**": np.power}
PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "//": lambda x, y: x // y,
    "%": lambda x, y: x % y,
}


def arithmetic(op: str, left: Cells, right: Cells) -> Cells:
    """Of numbers, dates and durations, and the sum of texts."""
    if op == "+" and {left.form, right.form} <= set("toc"):
        return joined(left, right)
    if {left.form, right.form} & set("DZT"):
        return of_times(op, left, right)
    form = common(left, right) if op in PYTHON else common(left, right) and "f"
    if left.constant and right.constant:  # of integers alone, here
        x, y = left.cells[0], right.cells[0]
        return constant(x**y if op == "**" else PYTHON[op](x, y))
    nulls = max(left.nulls, right.nulls)
    form = "f" if op in "+-*" and nulls != NA else form
    found: list[Any] = []
    if form == "f":
        with np.errstate(all="ignore"):
            # of columns, as the last bit may differ between NumPy's ways with one number and with many
            x, y = (np.array([np.nan if c is None else near(c) for c in side.cells]) for side in (left, right))
            x, y = x[0] if left.constant else x, y[0] if right.constant else y
            missing = np.isnan(x) | np.isnan(y)
            numbers = np.broadcast_to(NUMPY[op](x, y), missing.shape).tolist()
        cells = [None if gone else of_float(number) for gone, number in zip(missing, numbers, strict=True)]
        if op != "/":
            for place, pair in enumerate(rows(left, right)):
                x, y = (
                    None if c is None else whole(c, side.scale) for c, side in zip(pair, (left, right), strict=True)
                )
                known = x is not None and y is not None and cells[place] is not None and abs(cells[place]) <= 2.0**106
                if known and (op != "**" or y >= 0):
                    cells[place] = x**y if op == "**" else PYTHON[op](x, y)
        return made(cells, "f", left, right, nulls=NAN)
    form = "w" if op == "-" and form == "u" else form
    kept = nulls == NA
    scale = {"*": left.scale + right.scale, "//": 0}.get(op, max(left.scale, right.scale))
    divisor = right.constant and right.cells[0] != 0
    for x, y in rows(left, right):
        if x is None or y is None:
            found.append(None)
        elif op in ("//", "%") and not y:
            found.append(None if nulls == NA or op == "%" or not x else math.copysign(math.inf, x))
        else:
            found.append(held(PYTHON[op](exact(x, left.form), exact(y, right.form)), form, nulls, scale))
    missing = op in ("//", "%") and not divisor
    return made(found, form, left, right, nulls=NAN if missing or form == "w" else NEVER, scale=scale, kept=kept)


def whole(number: Any, scale: int = 0) -> int | None:
    """A whole number that two floats hold, exactly; None for another one."""
    floats = near(number)
    if not floats.is_integer() or abs(floats) > 2.0**106:
        return None
    return int(floats if scale or isinstance(number, float) else number)


def near(number: Any) -> float:
    """The float next to a number."""
    return number.numerator / number.denominator if isinstance(number, Fraction) else float(number)


def each(function: Callable[[Any], Any], operand: Cells, form: str | None = None, nulls: int = NEVER) -> Cells:
    """What a function makes of cells that are there."""
    cells = [None if cell is None else function(cell) for cell in operand.cells]
    found = made(cells, form or operand.form, operand, nulls=nulls, kept=operand.kept)
    return replace(found, zone=operand.zone, unit=operand.unit)


def of_one(whole: Callable[[Any], Any]) -> Callable[[Cells], Cells]:
    """A function of numbers that is exact of whole ones."""

    def found(operand: Cells) -> Cells:
        form = common(operand)
        nulls = NAN if form in "fw" else NEVER
        return each(lambda x: held(whole(x), form, operand.nulls, operand.scale), operand, form, nulls)

    return found


def negative(operand: Cells) -> Cells:
    if operand.form in "Tf":
        return each(lambda x: turned(-x, operand), operand)
    form = common(operand).replace("u", "w")
    change = lambda x: turned(held(-x, form, operand.nulls, operand.scale), operand)  # noqa: E731
    found = each(change, operand, form, NAN if form == "w" else NEVER)
    return replace(found, scale=operand.scale)


def absolute(operand: Cells) -> Cells:
    return each(abs, operand) if operand.form == "T" else of_one(lambda x: turned(abs(x), operand))(operand)


def turned(number: Any, operand: Cells) -> Any:
    """NumPy's least integer stays what it is, in floats, too."""
    return -number if number == 2**63 and operand.form != "u" and operand.nulls != NA else number


def of_numpy(name: str) -> Callable[[Cells], Cells]:
    """A function in float64."""

    def found(operand: Cells) -> Cells:
        common(operand)
        with np.errstate(all="ignore"):
            # of columns, as the last bit may differ between NumPy's ways with one number and with many
            given = np.array([np.nan if x is None else near(x) for x in operand.cells], dtype=np.float64)
            cells = [of_float(number) for number in getattr(np, name)(given)]
        return made(cells, "f", operand, nulls=NAN)

    return found


def rounded(operand: Cells, places: Cells) -> Cells:
    lost = places.cells[0]

    def to_even(x: Any) -> Any:
        if operand.form == "f" and lost >= 0 and float(x).is_integer():
            return x
        if operand.form == "f" and abs(x) >= 2**53 and whole(x) is not None:
            return round(whole(x), lost)
        if operand.form == "f":
            with np.errstate(all="ignore"):
                found = float(np.round(np.float64(x), lost))
            return found if math.isfinite(found) else x
        step = Fraction(10) ** -lost
        return x if (Fraction(x) / step).denominator == 1 else round(Fraction(x) / step) * step

    if operand.form in "iu" and lost < -18:
        return made([None if x is None else to_even(x) for x in operand.cells], "w", operand, nulls=NAN)
    found = of_one(to_even)(operand)
    return replace(found, nulls=max(found.nulls, NAN if lost < 0 else NEVER))


def limited(limit: Callable[..., Any]) -> Callable[[Cells, Cells], Cells]:
    def found(operand: Cells, bound: Cells) -> Cells:
        if operand.form not in "iuwf" or bound.form not in "iuf":
            raise Refused
        end = bound.cells[0]
        least, most = FITS.get(operand.form, (-(10**76), 10**76))
        if operand.form != "f" and (end <= least if limit is max else end >= most):
            return operand
        form = common(operand, bound, chosen=True)
        if form == "f":
            return each(lambda x: limit(number(x), number(end)), operand, "f", NAN)
        found = each(lambda x: limit(x, exact(end, bound.form)), operand, form, NAN if form == "w" else NEVER)
        if operand.nulls == NA or abs(end) < 2**53:
            return found
        return replace(found, kept=[x == y for x, y in zip(operand.cells, found.cells, strict=True)])

    return found


# Truth


def compared(op: str, left: Cells, right: Cells) -> Cells:
    """Three-valued where a dtype has NA, and two-valued otherwise."""
    left, right = as_time(left, right), as_time(right, left)
    kinds = {kind(left), kind(right)}
    listed = "c" in (left.form, right.form)
    if listed and op not in ("==", "!="):
        raise Refused
    if "other" in kinds or (not listed and len(kinds) > 1):
        raise Refused
    if listed and not (left.constant or right.constant) and not kinds <= {"text", "c"}:
        raise Refused
    floats = kinds == {"number"} and common(left, right, compared=True) == "f"
    nulls = max(left.nulls, right.nulls)
    found = []
    for x, y in rows(left, right):
        if x is None or y is None:
            found.append(None if nulls == NA else op == "!=")
            continue
        if floats:
            one, other = whole(x, left.scale), whole(y, right.scale)
            x, y = near(x), near(y)
            if x == y and abs(x) >= 2**53 and one is not None and other is not None:
                x, y = one, other
        elif kinds == {"number"}:
            x, y = exact(x, left.form), exact(y, right.form)
        holds = {"==": x == y, "!=": x != y}
        found.append(holds[op] if op in holds else {"<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y}[op])
    return Cells(found, "b", nulls)


def kind(operand: Cells) -> str:
    """Under which a value is compared."""
    return {"t": "text", "o": "text", "c": "c", "D": "D", "Z": "Z", "T": "T", "l": "other", "s": "other"}.get(
        operand.form, "number"
    )


def truth(operand: Cells) -> list[Any]:
    if operand.form != "b":
        raise Refused
    return operand.cells


def kleene_and(*conditions: Cells) -> Cells:
    cells = [False if False in row else None if None in row else True for row in rows(*map(conditional, conditions))]
    return made(cells, "b", *conditions)


def kleene_or(*conditions: Cells) -> Cells:
    cells = [True if True in row else None if None in row else False for row in rows(*map(conditional, conditions))]
    return made(cells, "b", *conditions)


def kleene_not(condition: Cells) -> Cells:
    return each(lambda cell: not cell, conditional(condition))


def conditional(operand: Cells) -> Cells:
    return replace(operand, cells=truth(operand))


def is_in(operand: Cells, listed: list[Cells]) -> Cells:
    """Never unknown, as pandas' own."""
    found = [compared("==", replace(operand, nulls=NAN), one).cells for one in listed]
    return Cells([any(row) for row in zip(*found, strict=True)] if found else [False] * len(operand.cells), "b")


# Choices


def chosen(codes: list[int], values: list[Cells]) -> Cells:
    """Of each row the value of its code; missing for one that is none."""
    timed = next((value for value in values if value.form in "DZT"), None)
    if timed is not None:
        values = [as_time(value, timed) for value in values]
    kinds = {{"b": "b", "c": "text"}.get(value.form, kind(value)) for value in values}
    if len(kinds) > 1 or "other" in kinds:
        raise Refused
    if timed is not None:
        several = sum(not value.constant for value in values) > 1  # as the unit of one may follow from a cell
        unit = "ns" if several else min((value.unit for value in values), key=UNITS.__getitem__)
        values = [replace(value, cells=[within(x, unit) for x in value.cells], unit=unit) for value in values]
    form = "o" if {value.form for value in values} & {"o", "c"} else values[0].form
    lacking = NAN if max(codes, default=0) >= len(values) else NEVER
    if kinds == {"number"}:
        form = common(*values, chosen=True)
    spread = [value.cells * len(codes) if value.constant else value.cells for value in values]
    found = [spread[code][row] if code < len(values) else None for row, code in enumerate(codes)]
    if form in "iuw":
        found = [None if x is None else Fraction(Decimal(repr(x))) if isinstance(x, float) else x for x in found]
    elif form == "f":
        scales = [values[code].scale if code < len(values) else 0 for code in codes]
        found = [None if x is None else number(x, scale) for x, scale in zip(found, scales, strict=True)]
    elif form == "b" and max(value.nulls for value in values) < NA:
        found = [bool(x) for x in found]
    columns = [place for place, value in enumerate(values) if not value.constant]
    own = values[columns[0]].kept if columns else True
    own = own if isinstance(own, list) else [own] * len(codes)
    kept = [not columns or (code == columns[0] and own[row]) for row, code in enumerate(codes)]
    if kinds == {"number"} and len(columns) > 1:
        lacking = NAN
    return made(found, form, *values, nulls=lacking, kept=kept)


def number(cell: Any, scale: int = 0) -> Any:
    """A number that is exact where it is whole, and large."""
    exact = whole(cell, scale)
    return near(cell) if exact is None or abs(exact) < 2**53 else exact


def where(operand: Cells, condition: Cells, *other: Cells) -> Cells:
    if operand.constant and condition.constant and all(value.constant for value in other):
        raise Refused
    codes = [0 if held else 1 for held in truth(condition)]
    length = len(rows(operand, condition, *other))
    return chosen(codes * length if condition.constant else codes, [operand, *other])


def case_when(operand: Cells, *cases: Cells) -> Cells:
    ends = next((place for place in range(0, len(cases), 2) if cases[place].constant and cases[place].cells[0]), None)
    operand, cases = (operand, cases) if ends is None else (cases[ends + 1], cases[:ends])
    conditions, values = list(map(truth, cases[::2])), [*cases[1::2], operand]
    length = len(rows(operand, *cases))
    spread = [held * length if case.constant else held for held, case in zip(conditions, cases[::2], strict=True)]
    codes = [next((c for c, held in enumerate(spread) if held[row]), len(spread)) for row in range(length)]
    return chosen(codes, values)


def filled(operand: Cells, value: Cells) -> Cells:
    if operand.form == "c":
        if value.form in "DZT":
            raise Refused
        return Cells([value.cells[0] if x is None else x for x in operand.cells], "o", NAN)
    value = as_time(value, operand)
    if (
        kind(operand) != kind(value)
        or "other" in kind(operand)
        or ("b" in (operand.form, value.form) and operand.form != value.form)
    ):
        raise Refused
    if kind(operand) == "number" and operand.form != "b":
        form = common(operand, value, chosen=True)
        change = number if form == "f" else lambda x: Fraction(Decimal(repr(x))) if isinstance(x, float) else x
        return made(
            [change(value.cells[0] if x is None else x) for x in operand.cells], form, operand, kept=operand.kept
        )
    return replace(operand, cells=[value.cells[0] if x is None else x for x in operand.cells])


def mapped(operand: Cells, pairs: Any) -> Cells:
    keys, values = [constant(wanted) for wanted, _ in pairs], [constant(value) for _, value in pairs]
    return taken(operand, [positions(operand, keys)], values)


def positions(operand: Cells, keys: list[Cells]) -> list[int]:
    found = [compared("==", replace(operand, nulls=NAN), wanted).cells for wanted in keys]
    return [next((p for p, row in enumerate(cells) if row), -1) for cells in zip(*found, strict=True)]


def taken(operand: Cells, codes: list[list[int]], values: list[Cells]) -> Cells:
    (positions,) = codes
    form = "f" if kind(values[0]) == "number" and values[0].form != "b" else values[0].form
    absent = False if form == "b" and operand.nulls < NA else None
    cells = [absent if p < 0 else values[p].cells[0] for p in positions]
    cells = [number(x) if form == "f" and x is not None else x for x in cells]
    return made(cells, form, operand, nulls=NEVER if form == "b" else NAN)


def cut(operand: Cells, bins: Any, right: bool, labels: Any, include_lowest: bool) -> Cells:
    if operand.form not in "iuwfDZT":
        raise Refused
    edges, plain = [constant(edge) for edge in bins], replace(operand, nulls=NAN)
    passed = [
        compared("<=" if not right or (include_lowest and p == 0) else "<", edge, plain).cells
        for p, edge in enumerate(edges)
    ]
    counts = [sum(row) for row in zip(*passed, strict=True)]
    codes = [-1 if count in (0, len(bins)) else count - 1 for count in counts]
    return taken(operand, [codes], [constant(label) for label in labels])


# Text


def text_of(operand: Cells) -> Cells:
    if operand.form not in "toc":
        raise Refused
    return operand


def texts(change: Callable[..., Any], form: str = "t") -> Callable[..., Cells]:
    def found(operand: Cells, **options: Any) -> Cells:
        operand = text_of(operand)
        cells = [change(x, *options.values()) if isinstance(x, str) else None for x in operand.cells]
        return made(cells, form, operand, nulls=NAN)

    return found


def tests(holds: Callable[..., bool]) -> Callable[..., Cells]:
    def found(operand: Cells, **options: Any) -> Cells:
        operand = text_of(operand)
        absent = None if operand.nulls == NA else False
        cells = [absent if x is None else isinstance(x, str) and holds(x, *options.values()) for x in operand.cells]
        return made(cells, "b", operand)

    return found


UNARY = ["lower", "upper", "capitalize", "casefold", "title", "swapcase", "strip", "lstrip", "rstrip"]
UNARY += ["removeprefix", "removesuffix", "zfill", "ljust", "rjust", "center"]
IS = [name for name in dir(str) if name.startswith("is") and name not in ("isidentifier", "isprintable")]


def as_float(function: Callable[..., int]) -> Callable[..., float]:
    return lambda *given: float(function(*given))


def short(text: str, cell: str) -> str | None:
    """A text that did not grow beyond 10,000 characters."""
    return text if len(text) <= max(10_000, len(cell)) else None


def slice_replace(cell: str, start: int | None, stop: int | None, repl: str) -> str | None:
    rest = "" if stop is None else cell[stop:] if cell[start:stop] != "" else cell[start:]
    return cell[:start] * (start is not None) + repl + rest


def pattern_flags(case: bool) -> int:
    return re.ASCII | (0 if case else re.IGNORECASE)


def get(operand: Cells, i: int) -> Cells:
    if operand.form != "l":
        operand = text_of(operand)
    form = operand.inner or ("o" if operand.form == "c" else operand.form)
    cells = [
        cell[i] if isinstance(cell, str | list) and -len(cell) <= i < len(cell) else None for cell in operand.cells
    ]
    return made(cells, "t" if form == "l" else form, operand, nulls=NAN)


def length(operand: Cells) -> Cells:
    if operand.form != "l":
        return texts(lambda cell: float(len(cell)), "f")(operand)
    return made([None if cell is None else float(len(cell)) for cell in operand.cells], "f", operand, nulls=NAN)


def field(operand: Cells, name_or_index: str) -> Cells:
    if operand.form != "s" or name_or_index not in ("a", "b"):
        raise Refused
    cells = [None if cell is None else cell[name_or_index] for cell in operand.cells]
    return made(cells, {"a": "i", "b": "t"}[name_or_index], operand)


def joined(left: Cells, right: Cells) -> Cells:
    """Of two texts."""
    form = "t"
    cells = []
    for x, y in rows(left, right):
        there = isinstance(x, str) and isinstance(y, str)
        cells.append(x + y if there and (len(x) + len(y) <= 10_000 or not x or not y) else None)
    return made(cells, form, left, right, nulls=NAN)


def contains(cell: str, pat: str, case: bool, regex: bool) -> bool:
    if regex:
        return bool(re.search(pat, cell, pattern_flags(case)))
    return pat in cell if case else pat.upper() in cell.upper()


def as_number(cell: Any) -> Any:
    """What text says as a number, exactly."""
    if isinstance(cell, bool) or not isinstance(cell, str):
        return cell
    try:
        found = Decimal(cell)
    except ArithmeticError:
        return None
    return Fraction(found) if found.is_finite() and cell.isascii() and "_" not in cell else None


def astype(operand: Cells, dtype: str) -> Cells:
    number = kind(operand) == "number"
    if dtype == "bool":
        if not number:
            raise Refused
        absent = None if operand.nulls == NA else False
        return made([absent if x is None else x != 0 for x in operand.cells], "b", operand)
    if not number and operand.form not in "toc":
        raise Refused
    if dtype == "string":
        if operand.form in "oc":
            return texts(str)(operand)
        return each(written, operand, "t", NAN)
    cells = operand.cells if number else [as_number(x) for x in operand.cells]
    if dtype == "float64":
        return made([None if x is None else of_float(near(x)) for x in cells], "f", operand, nulls=NAN)
    whole = [None if x is None or (isinstance(x, float) and not math.isfinite(x)) else math.trunc(x) for x in cells]
    fit = [x if x is not None and -(2**63) <= x < 2**63 else None for x in whole]
    return Cells(fit, "i", NA)


def written(cell: Any) -> str:
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 2**64 else str(cell)
    if isinstance(cell, Fraction) and cell.denominator > 1:
        with localcontext(prec=100):
            return f"{Decimal(cell.numerator) / Decimal(cell.denominator):f}"
    return str(cell)


# Dates


def as_time(value: Cells, other: Cells) -> Cells:
    """A text constant beside dates and durations; a date without a zone is what clocks show in that of the others."""
    if value.constant and value.form == "D" and other.form == "Z":
        return constant(pd.Timestamp(value.cells[0]).tz_localize(other.zone))
    if not (value.constant and value.form == "t" and other.form in "DZT"):
        return value
    try:
        return constant(
            pd.Timedelta(value.cells[0]) if other.form == "T" else pd.Timestamp(value.cells[0], tz=other.zone)
        )
    except ValueError:
        raise Refused from None


UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def within(count: Any, unit: str) -> Any:
    """A count of nanoseconds, None where a unit cannot hold it."""
    return count if count is not None and -(2**63) < count // UNITS[unit] < 2**63 and count % UNITS[unit] == 0 else None


def of_times(op: str, left: Cells, right: Cells) -> Cells:
    forms = left.form, right.form
    of_two = {"+": "T", "-": "T", "%": "T", "/": "f", "//": "i"}
    form = of_two.get(op) if forms == ("T", "T") else None
    if form is None and right.form == "T" and left.form in "DZ" and op in "+-":
        form = left.form
    if form is None and left.form == "T" and right.form in "DZ" and op == "+":
        form = right.form
    if form is None and left.form == right.form and left.form in "DZ" and op == "-":
        form = "T"
    if form is None:
        raise Refused
    found: list[Any] = []
    for x, y in rows(left, right):
        x, y = within(x, "ns"), within(y, "ns")
        if x is None or y is None:
            found.append(None)
        elif op in ("//", "%"):
            found.append((x // y if op == "//" else x % y) if y else None)
        elif form != "f":
            found.append(within(x + y if op == "+" else x - y, "ns"))
        elif y and not x % y:
            found.append(float(x // y))
        else:
            with np.errstate(all="ignore"):
                found.append(of_float(np.float64(x) / np.float64(y)))
    zone = left.zone if left.form == form else right.zone
    return made(found, form, left, right, nulls=NAN, zone=zone if form in "DZ" else None)


CYCLE = 146_097 * 86_400  # seconds of 400 years, after which the calendar repeats itself
LAST = round((datetime.datetime(9999, 12, 31, 23, 59, 59) - EPOCH).total_seconds())
FIRST = round((datetime.datetime.min - EPOCH).total_seconds())
PARTS: dict[str, Callable[[datetime.datetime], int]] = {
    "quarter": lambda d: (d.month + 2) // 3,
    "month": lambda d: d.month,
    "day": lambda d: d.day,
    "day_of_week": lambda d: d.weekday(),
    "day_of_year": lambda d: d.timetuple().tm_yday,
    "hour": lambda d: d.hour,
    "minute": lambda d: d.minute,
    "second": lambda d: d.second,
    "microsecond": lambda d: d.microsecond,
    "days_in_month": lambda d: month_length(d),
}


FLAGS: dict[str, Callable[[datetime.datetime], bool]] = {
    "is_leap_year": lambda d: calendar.isleap(d.year),
    "is_month_start": lambda d: d.day == 1,
    "is_month_end": lambda d: d.day == month_length(d),
    "is_quarter_start": lambda d: d.day == 1 and d.month in (1, 4, 7, 10),
    "is_quarter_end": lambda d: d.day == month_length(d) and d.month in (3, 6, 9, 12),
    "is_year_start": lambda d: (d.month, d.day) == (1, 1),
    "is_year_end": lambda d: (d.month, d.day) == (12, 31),
}
SPANS: dict[str, Callable[[int], int]] = {
    "days": lambda count: count // (86_400 * 10**9),
    "seconds": lambda count: count // 10**9 % 86_400,
    "microseconds": lambda count: count % 10**9 // 1000,
    "nanoseconds": lambda count: count % 1000,
}


def month_length(moment: datetime.datetime) -> int:
    return calendar.monthrange(moment.year, moment.month)[1]


def away(seconds: int, zone: str | None) -> int:
    """By how many seconds clocks of a zone differ from UTC, at a moment of UTC."""
    inner = min(max(seconds, FIRST + 86_400), LAST - 86_400)  # no clock is changed on the days around
    known = (EPOCH + datetime.timedelta(seconds=inner)).replace(tzinfo=datetime.UTC)
    offset = known.astimezone(ZoneInfo(zone or "UTC")).utcoffset()
    return round(offset.total_seconds())


def shown(count: int, operand: Cells) -> tuple[datetime.datetime, int] | None:
    """What clocks show, in 400 years that are like others, and how many of these come before."""
    seconds = count // 10**9
    if operand.form == "Z":
        if not FIRST <= seconds <= LAST:
            return None
        seconds += away(seconds, operand.zone)
    cycles, seconds = divmod(seconds, CYCLE)
    return EPOCH + datetime.timedelta(seconds=seconds, microseconds=count % 10**9 // 1000), cycles


def of_dates(read: Callable[..., Any], form: str = "f", absent: Any = None) -> Callable[..., Cells]:
    """A fact of what clocks show, of the cycle of years and of the count of nanoseconds."""

    def found(operand: Cells, **options: Any) -> Cells:
        if operand.form not in "DZ":
            raise Refused
        absent_here = None if operand.nulls == NA else absent

        def one(count: Any) -> Any:
            clocks = None if count is None else shown(count, operand)
            return absent_here if clocks is None else read(*clocks, count, **options)

        return made([one(count) for count in operand.cells], form, operand, nulls=NEVER if form == "b" else NAN)

    return found


def part(name: str) -> Callable[[Cells], Cells]:
    return of_dates(lambda moment, *_: float(PARTS[name](moment)))


def flag(name: str) -> Callable[[Cells], Cells]:
    return of_dates(lambda moment, *_: FLAGS[name](moment), "b", False)


def span(name: str) -> Callable[[Cells], Cells]:
    def found(operand: Cells) -> Cells:
        if operand.form != "T":
            raise Refused
        cells = [None if count is None else float(SPANS[name](count)) for count in operand.cells]
        return made(cells, "f", operand, nulls=NAN)

    return found


def strftime(moment: datetime.datetime, cycles: int, _: int, date_format: str) -> Any:
    year = moment.year + 400 * cycles
    if not 1 <= year <= 9999:
        return None
    moment = moment.replace(year=year)
    for directive, known in (("%Y", year), ("%G", moment.isocalendar().year)):  # without zeros in some libraries of C
        date_format = date_format.replace(directive, f"{known:04}")
    return moment.strftime(date_format)


def to_step(name: str) -> Callable[..., Cells]:
    def found(operand: Cells, freq: pd.Timedelta) -> Cells:
        if operand.form not in "DT":
            raise Refused
        step, change = freq.as_unit("ns").value, {"floor": math.floor, "ceil": math.ceil, "round": round}[name]
        known = [within(count, "ns") for count in operand.cells]
        cells = [None if count is None else within(change(Fraction(count, step)) * step, "ns") for count in known]
        return made(cells, operand.form, operand, nulls=NAN)

    return found


def tz_localize(operand: Cells, tz: str | None) -> Cells:
    if operand.form == "D" and tz is None:
        return operand
    if operand.form != ("Z" if tz is None else "D"):
        raise Refused

    def move(count: Any) -> Any:
        if within(count, "ns") is None or not FIRST <= count // 10**9 <= LAST:
            return None
        seconds = count // 10**9
        if tz is None:
            return within(count + away(seconds, operand.zone) * 10**9, "ns")
        known = [seconds - offset for offset in {away(seconds - day, tz) for day in (-86_400, 86_400)}]
        meant = [moment for moment in known if moment + away(moment, tz) == seconds]
        return within(count + (meant[0] - seconds) * 10**9, "ns") if len(meant) == 1 else None

    cells = [move(count) for count in operand.cells]
    return made(cells, "D" if tz is None else "Z", operand, nulls=NAN, zone=tz)


def tz_convert(operand: Cells, tz: str) -> Cells:
    if operand.form != "Z":
        raise Refused
    return replace(operand, zone=tz)


def to_datetime(operand: Cells, format: str) -> Cells:
    def read(cell: str) -> Any:
        try:
            iso = format == "ISO8601"
            found = datetime.datetime.fromisoformat(cell) if iso else datetime.datetime.strptime(cell, format)
        except ValueError:
            return None
        if found.tzinfo is not None and "%z" not in format:
            return None
        count = (
            found.replace(tzinfo=None) - EPOCH - (found.utcoffset() or datetime.timedelta(0))
        ) // datetime.timedelta(microseconds=1)
        return count * 1000

    zoned = "%z" in format
    return replace(texts(read, "Z" if zoned else "D")(operand), zone="UTC" if zoned else None, unit="us")


def of_op(function: Callable[..., Cells], *first: Any) -> Callable[..., Cells]:
    return lambda *operands: function(*first, *operands)


OPERATIONS: dict[str, Callable[..., Cells]] = {
    **{op: of_op(arithmetic, op) for op in NUMPY},
    **{op: of_op(compared, op) for op in ("==", "!=", "<", "<=", ">", ">=")},
    **{name: of_numpy(name) for name in ["sqrt", "exp", "log", "log2", "log10", "log1p", "expm1"]},
    "negative": negative,
    "abs": absolute,
    "floor": of_one(lambda x: float(np.floor(x)) if isinstance(x, float) else math.floor(x)),
    "ceil": of_one(lambda x: float(np.ceil(x)) if isinstance(x, float) else math.ceil(x)),
    "round": rounded,
    "at_least": limited(max),
    "at_most": limited(min),
    "and": kleene_and,
    "or": kleene_or,
    "not": kleene_not,
    "isna": lambda operand: Cells([cell is None for cell in operand.cells], "b"),
    "fillna": filled,
    "where": where,
    "case_when": case_when,
    **{f"dt.{name}": part(name) for name in PARTS},
    "dt.year": of_dates(lambda moment, cycles, _: float(moment.year + 400 * cycles)),
    "dt.nanosecond": of_dates(lambda _, __, count: float(count % 1000)),
    **{f"dt.{name}": flag(name) for name in FLAGS},
    **{f"dt.{name}": span(name) for name in SPANS},
}
METHODS: dict[str, Callable[..., Cells]] = {
    **{f"str.{name}": texts(getattr(str, name)) for name in UNARY},
    **{f"str.{name}": tests(getattr(str, name)) for name in IS},
    **{f"str.{name}": texts(as_float(getattr(str, name)), "f") for name in ("count", "find", "rfind")},
    "str.slice_replace": texts(slice_replace),
    "str.replace": texts(lambda cell, pat, repl, n: short(cell.replace(pat, repl, n), cell)),
    "str.repeat": texts(lambda cell, repeats: short(cell * repeats, cell)),
    "str.normalize": texts(lambda cell, form: unicodedata.normalize(form, cell)),
    "str.match": tests(lambda cell, pat, case: bool(re.match(pat, cell, pattern_flags(case)))),
    "str.fullmatch": tests(lambda cell, pat, case: bool(re.fullmatch(pat, cell, pattern_flags(case)))),
    "str.extract": texts(lambda cell, pat: found[1] if (found := re.search(pat, cell, re.ASCII)) else None),
    "str.split": texts(lambda cell, pat, n: cell.split(pat, n), "l"),
    "str.rsplit": texts(lambda cell, pat, n: cell.rsplit(pat, n), "l"),
    "str.get": get,
    "str.to_datetime": to_datetime,
    "struct.field": field,
    "dt.strftime": of_dates(strftime, "t"),
    **{f"dt.{name}": to_step(name) for name in ("floor", "ceil", "round")},
    "dt.tz_localize": tz_localize,
    "dt.tz_convert": tz_convert,
    "str.slice": texts(lambda cell, start, stop, step: cell[start:stop:step]),
    "str.len": length,
    "str.contains": tests(contains),
    "str.startswith": tests(lambda cell, pat: cell.startswith(pat)),
    "str.endswith": tests(lambda cell, pat: cell.endswith(pat)),
    "astype": astype,
    "cut": cut,
}
