"""Whole numbers and decimals without rounding, in a form that dtypes and constants choose.

For all inputs: element i of a result depends on element i of the operands and on constants only, and no cell makes any of it
raise; the form of a result depends on the forms of the operands and on constants only.

Integers of up to 64 bits are those of the machine. Where signed and unsigned ones meet, and for decimals, they are Python's,
and all cells share a power of ten. What a form cannot hold is missing where missing cells are unknown (`Nulls.NA`), in nullable
and Arrow dtypes.

NumPy's integers are floats as soon as some row misses its own, and unsigned as soon as one is large: what that means for all of
this, `beyond` says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np

from pandas_dp.steps.beyond import LEAST, WHOLE, fits_both, merged, written
from pandas_dp.steps.odd_cells import DIGITS
from pandas_dp.steps.values import Kind, Mask, Nulls, Values, nulls_among, read_constant

UFUNCS: dict[str, Any] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "//": np.floor_divide,
    "%": np.remainder,
}
MOST = np.iinfo(np.uint64).max
LONGEST = 18  # digits that int64 holds, whichever they are


def alike(*values: Values, chosen: bool = False, aligned: bool = True) -> list[Values] | None:
    """Numbers in one form that holds all of them; None where that takes floats, beside a column or a constant that is one.

    Beside decimals a float constant is the decimal that was typed. Where values are chosen, not computed, a whole one is an
    integer. Decimals have as many places as each other, if they are to be aligned.
    """
    numpy = any(not value.constant and value.nulls is not Nulls.NA and value.data.dtype.kind != "b" for value in values)
    if numpy and nulls_among(*values) is Nulls.NA:
        return None
    decimals = any(value.data.dtype.kind == "O" for value in values)
    forms = [_form(value, decimals, chosen) for value in values]
    whole = [value for value in forms if value is not None]
    if len(whole) < len(values):
        return None
    natural = [value.data.dtype.kind == "u" for value in whole]
    held = np.dtype(np.uint64 if any(natural) else np.int64)
    fits = all(n or (v.constant and v.data >= 0) for n, v in zip(natural, whole, strict=True)) or not any(natural)
    if not fits and numpy:
        return None
    if fits and not decimals:
        return [replace(value, data=value.data.astype(held, copy=False)) for value in whole]
    scale = max(value.scale for value in whole)
    return [_scaled(value, scale if aligned else value.scale) for value in whole]


def _form(value: Values, decimals: bool, chosen: bool) -> Values | None:
    """A number as it is held, true and false as 1 and 0; None for floats."""
    kind = value.data.dtype.kind
    if kind == "b":
        return replace(value, kind=Kind.NUMBER, data=value.data.astype(np.int64))
    if kind != "f":
        return merged(value) if value.infinite is None else None
    number = float(value.data) if value.constant else np.nan
    if not np.isfinite(number):
        return None
    if not decimals:
        fits = number.is_integer() and LEAST <= number <= MOST and repr(number) != "-0.0"  # a sign that no integer has
        return read_constant(int(number)) if chosen and fits else None
    sign, digits, exponent = Decimal(repr(number)).as_tuple()
    scale, shift = max(-int(exponent), 0), max(int(exponent), 0)
    if scale > DIGITS or len(digits) + shift > DIGITS:
        return None
    exact = int("".join(map(str, digits))) * 10**shift * (-1 if sign else 1)
    return replace(value, data=np.array(exact, dtype=object), scale=scale)


def _scaled(value: Values, scale: int) -> Values:
    """The same numbers as Python's integers, times a smaller power of ten."""
    data = np.asarray(value.data.astype(object) * 10 ** (scale - value.scale), dtype=object)
    return replace(value, data=data, scale=scale)


def _made(data: Any, missing: Mask, nulls: Nulls, scale: int = 0) -> Values:
    """Whole numbers; of Python's those of too many digits are missing, so that none grows without end."""
    data = np.asarray(data)
    if data.dtype.kind == "O":
        missing, nulls = missing | (np.abs(data) >= 10**DIGITS).astype(bool), max(nulls, Nulls.NAN)
        data = np.where(missing, 0, data)
    return Values(Kind.NUMBER, data, np.broadcast_to(missing, data.shape), nulls=nulls, scale=scale)


def arithmetic(op: str, left: Values, right: Values) -> Values | None:
    """``left op right``; None where floats have to do."""
    if left.constant and right.constant:
        return _of_constants(op, left.data.item(), right.data.item())
    nulls = nulls_among(left, right)
    if op not in UFUNCS or (nulls is not Nulls.NA and op not in ("//", "%")):
        return None
    both = alike(left, right, aligned=op != "*")
    if both is None:
        return None
    if op == "//" and right.constant and right.data == -1 and nulls is not Nulls.NA:
        return None  # a number that is turned around may be more than int64 holds
    if op == "-" and both[0].data.dtype.kind == "u":  # a difference may be negative
        both = [_scaled(value, 0) for value in both]
    x, y = both
    missing = np.asarray(x.missing | y.missing)
    if op in ("//", "%"):
        return _divided(op, x, y, missing, nulls)
    scale = x.scale + y.scale if op == "*" else x.scale
    if scale > DIGITS:
        return None
    with np.errstate(all="ignore"):
        result = np.asarray(UFUNCS[op](x.data, y.data))
    if result.dtype.kind != "O":
        missing = missing | _wrapped(op, x.data, y.data, result)
    return _made(result, missing, nulls, scale)


def _of_constants(op: str, x: Any, y: Any) -> Values | None:
    """A constant as Python computes it, of integers and in their range."""
    if not (isinstance(x, int) and isinstance(y, int)) or (op == "**" and not 0 <= y <= 64):
        return None
    found = x**y if op == "**" else None
    if op in UFUNCS and (y or op not in ("//", "%")):
        found = UFUNCS[op](np.array(x, dtype=object), y)
    return read_constant(int(found)) if found is not None and LEAST <= found <= MOST else None


def _divided(op: str, x: Values, y: Values, missing: Mask, nulls: Nulls) -> Values:
    """Quotients rounded down, or remainders. Where zero divides they are unknown, or else what floats are: infinite or NaN."""
    zero = np.asarray(y.data == 0).astype(bool)
    with np.errstate(all="ignore"):
        result = np.asarray(UFUNCS[op](x.data, np.where(zero, np.ones((), y.data.dtype), y.data)))
    scale = 0 if op == "//" else x.scale
    if nulls is Nulls.NA:
        wrapped = (x.data == LEAST) & (y.data == -1) if op == "//" and result.dtype.kind == "i" else False
        return _made(result, missing | zero | wrapped, nulls, scale)
    if y.constant and not zero:
        far = abs(int(y.data)) == 1 if op == "//" else not fits_both(abs(int(y.data)))
        return written(_made(result, missing, Nulls.NAN if far else nulls, scale))
    found = _made(result, missing | (zero & ((x.data == 0) | (op == "%")).astype(bool)), Nulls.NAN, scale)
    if op == "%":
        return found
    signs = np.where((x.data > 0).astype(bool), np.inf, -np.inf)
    turned = 2.0**63 * ((x.data == LEAST) & (y.data == -1)) if result.dtype.kind == "i" else 0.0
    return replace(found, infinite=np.where(zero & ~found.missing, signs, turned))


def _wrapped(op: str, x: Any, y: Any, result: Any) -> Mask:
    """Where a sum, a difference or a product of machine integers is another number."""
    if op == "*":
        return _products_wrapped(x, y, result.dtype)
    if result.dtype.kind == "u":  # a sum
        return np.asarray(result < x)
    if y.ndim == 0:
        return np.asarray(result < x if (y > 0) == (op == "+") else result > x)
    second = y if op == "+" else ~y
    return np.asarray(((x ^ result) & (second ^ result)) < 0)


def _products_wrapped(x: Any, y: Any, dtype: np.dtype[Any]) -> Mask:
    """By the product in float64, which is off by less than one part in 2**50, and exactly where that does not tell."""
    limits = np.iinfo(dtype)
    size = np.asarray(x.astype(np.float64) * y.astype(np.float64))
    np.abs(size, out=size)
    found = np.asarray(size > float(limits.max) * (1 - 2.0**-50))
    near: Any = np.flatnonzero(found & (size < float(limits.max) * (1 + 2.0**-50))) if found.any() else []
    if len(near):
        pairs = (np.broadcast_to(part, found.shape).ravel()[near].tolist() for part in (x, y))
        found.ravel()[near] = [not limits.min <= a * b <= limits.max for a, b in zip(*pairs, strict=True)]
    return found


def negative(operand: Values) -> Values | None:
    """``-x``, which of an unsigned number has a sign; None of floats, and of NumPy's unsigned ones, which hold none."""
    found = alike(operand)
    if found is None or (found[0].data.dtype.kind == "u" and operand.nulls is not Nulls.NA):
        return None
    x = _scaled(found[0], 0) if found[0].data.dtype.kind == "u" else found[0]
    wrapped = x.data == LEAST if x.data.dtype.kind == "i" and x.nulls is Nulls.NA else False
    return _made(np.negative(x.data), np.asarray(x.missing | wrapped), max(x.nulls, Nulls.NAN), x.scale)


def absolute(x: Values) -> Values | None:
    """``abs(x)``, of which the float next to it is that of x; None of floats."""
    found = alike(x)
    if found is None or x.data.dtype.kind == "b":
        return None if found is None else found[0]
    wrapped = x.data == LEAST if x.data.dtype.kind == "i" and x.nulls is Nulls.NA else False
    size = _made(np.abs(x.data), np.asarray(x.missing | wrapped), x.nulls, x.scale)
    return size if x.rest is None else replace(size, rest=np.where(x.data < 0, -x.rest, x.rest))


def cut(x: Values, up: bool) -> Values | None:
    """The next whole number below or above; None of floats."""
    found = alike(x)
    if found is None or x.data.dtype.kind == "b":
        return None if found is None else found[0]
    if not x.scale:
        return x
    step = 10**x.scale
    return _made(-(-x.data // step) if up else x.data // step, x.missing, x.nulls)


def whole(operand: Values) -> Values:
    """Numbers cut toward zero that int64 holds; the others are missing. Whatever held them, they are nullable integers."""
    data, missing, size = operand.data, operand.missing, 2.0**63
    if data.dtype.kind in "bi" and operand.infinite is None:
        return Values(Kind.NUMBER, merged(operand).data.astype(np.int64), missing, nulls=Nulls.NA)
    if data.dtype.kind == "f":
        with np.errstate(all="ignore"):  # a signalling NaN is one like others
            fits = (data >= -size) & (data < size)
            data = data.astype(np.int64)  # anything where one does not fit
        if operand.rest is not None:
            fits = (fits & ~((operand.data == -size) & (operand.rest < 0))) | (
                (operand.data == size) & (operand.rest < 0)
            )
            data = np.where(operand.data == size, LEAST, data) + operand.rest  # of 2**63, turned around twice
    elif data.dtype.kind == "O":
        cut = np.abs(data) // 10**operand.scale
        cut = np.where((data < 0).astype(bool), -cut, cut)
        fits = np.asarray((cut >= LEAST) & (cut < 2**63)).astype(bool)
        data = np.where(fits, cut, 0).astype(np.int64)
    else:
        data = merged(operand).data
        fits = np.asarray(data <= np.iinfo(np.int64).max)
        data = data.astype(np.int64)
    if operand.infinite is not None:
        fits = fits & (operand.infinite == 0)
    return Values(Kind.NUMBER, data, missing | ~fits, nulls=Nulls.NA)


def rounded(operand: Values, places: int) -> Values | None:
    """Half to even at a decimal place; None of floats. Tens and more of NumPy's are, too: int64 need not hold them."""
    found = alike(operand)
    if found is None:
        return None
    (x,) = found
    lost = x.scale - places
    if lost <= 0:
        return operand
    if x.nulls is not Nulls.NA:
        return None
    if lost > LONGEST:
        x = _scaled(x, x.scale)
    step = np.array(10**lost, dtype=x.data.dtype)
    one = np.ones((), dtype=x.data.dtype)
    with np.errstate(all="ignore"):
        down = np.asarray(x.data // step)
        rest = np.asarray(down * step)
        np.subtract(x.data, rest, out=rest)
        np.add(rest, down & one, out=rest)  # of a half: what is odd is rounded up
        np.add(down, np.asarray(rest > step // 2), out=down, casting="unsafe")
        np.multiply(down, step, out=down)
    missing = x.missing if down.dtype.kind == "O" else x.missing | _beyond(x.data, 10**lost)
    return _made(down, missing, x.nulls, x.scale)


def _beyond(data: Any, step: int) -> Mask:
    """Which machine integers are rounded to a multiple that their dtype does not hold."""
    limits = np.iinfo(data.dtype)
    most, least = limits.max // step, -(-limits.min // step)  # multiples; a half goes to the even one
    last, first = most * step + step // 2 - most % 2, least * step - step // 2 + least % 2
    return np.asarray((data > min(last, limits.max)) | (data < max(first, limits.min)))


def limited(limit: Callable[..., Any], operand: Values, bound: Values) -> Values | None:
    """The larger or the smaller of numbers and a constant; None where floats have to do, or it is not written as it is."""
    kind, low, end = operand.data.dtype.kind, limit is np.maximum, bound.data.item()
    if operand.nulls is not Nulls.NA and (abs(end) >= WHOLE or _form(bound, False, True) is None):
        return None
    held = np.iinfo(operand.data.dtype) if kind in "iu" else None
    least, most = (held.min, held.max) if held is not None else (-(10**DIGITS), 10**DIGITS)
    if kind != "f" and operand.infinite is None and (end <= least if low else end >= most):
        return operand  # a limit outside of what the column holds
    both = alike(replace(operand, rest=None), bound, chosen=True)
    if both is None:
        return None
    x, y = both
    found = _made(limit(x.data, y.data), x.missing, x.nulls, x.scale)
    return found if operand.rest is None else replace(found, rest=np.where(found.data == x.data, operand.rest, 0))
