"""Outputs as numbers and codes: all that a caller can see of an answer counts, down to the lowest bits."""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_dp.release.values import ObjectRelease, Release

FEATURES = 64  # numbers of an output that are compared
MOMENTS = (dt.date, dt.timedelta, np.datetime64, np.timedelta64)
LONGEST = 80  # characters of an output that is shown
Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Outputs = Sequence[Any] | NDArray[Any]


@dataclass(frozen=True)
class Raised:
    """An exception as an output, with what hangs on it."""

    text: str

    def __repr__(self) -> str:
        return f"raises {self.text}"


class Seen(NamedTuple):
    """Everything a caller sees of one call."""

    value: Any
    warned: list[str]
    printed: str


def observe(call: Callable[[], Any]) -> Callable[[], Seen]:
    """Turn everything a caller can see into the output: value or exception, warnings, what was printed."""

    def observed() -> Seen:
        printed = io.StringIO()
        with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(printed):
            warnings.simplefilter("always")
            with contextlib.redirect_stderr(printed):
                value = output_of(call)
        return Seen(value, [f"{w.category.__name__}: {w.message}" for w in caught], printed.getvalue())

    return observed


def output_of(call: Callable[[], Any]) -> Any:
    """Return what a call returns; an exception is an output, too."""
    try:
        return call()
    except Exception as error:  # noqa: BLE001 - whatever it is, the caller would have seen it
        chain = {id(e): e for e in (error, error.__cause__, error.__context__) if e is not None}
        return Raised(" < ".join(f"{type(e).__name__}: {e}" for e in chain.values()))


def shown(output: Any) -> str:
    """Write an output in one short line."""
    if isinstance(output, Seen):
        text = "; ".join([f"{output.value!r}", *output.warned, *filter(None, [output.printed])])
    else:
        text = repr(output)
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 3]}..."


@dataclass(frozen=True)
class Samples:
    """Outputs of both sides as numbers, and all else about them as a code.

    Attributes
    ----------
    numbers : array, shape (samples, d)
        Finite.
    structure : array of int, shape (samples,)
    side : array of int, shape (samples,)
        0 or 1.
    found : int
        Most numbers that an output had; the first `d` are compared.
    """

    numbers: Floats
    structure: Codes
    side: Codes
    found: int


def encode(outputs0: Outputs, outputs1: Outputs) -> Samples:
    """Encode the outputs of both sides: sequences of anything, or arrays of shape (n,) or (n, d)."""
    side = np.repeat([0, 1], [len(outputs0), len(outputs1)])
    if all(isinstance(o, np.ndarray) and o.dtype.kind in "fiub" for o in (outputs0, outputs1)):
        rows = [np.asarray(o, dtype=float).reshape(len(o), -1) for o in (outputs0, outputs1)]
        numbers = np.concatenate(rows)  # shape (samples, d)
        bad = np.isnan(numbers) + 2.0 * np.isposinf(numbers) + 3.0 * np.isneginf(numbers)
        kinds = np.unique(bad, axis=0, return_inverse=True)[1]
        return Samples(np.where(bad > 0, 0.0, numbers), kinds, side, numbers.shape[1])
    names: dict[str, int] = {}
    codes, found = [], []
    for output in (*outputs0, *outputs1):
        values: list[float] = []
        text = "".join(_flatten(output, values))
        codes.append(names.setdefault(text, len(names)))
        found.append(values)
    most = max(map(len, found))
    numbers = np.zeros((len(found), min(FEATURES, most)))  # shape (samples, d)
    for row, values in zip(numbers, found, strict=True):
        row[: len(values)] = values[:FEATURES]  # how many there are is part of the structure
    return Samples(numbers, np.array(codes), side, most)


def _flatten(value: Any, numbers: list[float]) -> Iterator[str]:
    """Yield what is not a number as text; append what is one."""
    yield f"<{type(value).__name__}"
    if isinstance(value, bool | np.bool_):
        numbers.append(float(value))
    elif isinstance(value, MOMENTS):  # before numbers, which numpy's durations are, too
        yield _moment(value, numbers)
    elif isinstance(value, int | float | np.integer | np.floating | Decimal | Fraction):
        yield _number(value, numbers)
    elif isinstance(value, pd.DataFrame):
        yield f" {list(value.index)} {value.index.dtype} {value.index.name!r} {value.attrs}"
        for name in value.columns:
            yield f" {name!r}:"
            yield from _flatten(value[name], numbers)
    elif isinstance(value, pd.Series):
        yield f" {list(value.index)} {value.index.dtype} {value.index.name!r} {value.dtype} {value.name!r} {value.attrs}"
        yield from _flatten(value.to_numpy(), numbers)
    elif isinstance(value, dict):
        for key in value:  # in their order
            yield f" {key!r}:"
            yield from _flatten(value[key], numbers)
    elif isinstance(value, pd.Index | pd.api.extensions.ExtensionArray | np.ndarray):
        yield f" {value.dtype} {value.shape}"
        for item in np.asarray(value, dtype=None if isinstance(value, np.ndarray) else object).ravel().tolist():
            yield from _flatten(item, numbers)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _flatten(item, numbers)
    elif isinstance(value, set | frozenset):
        yield f" {sorted(map(repr, value))}"  # their order is that of hashes
    elif isinstance(value, ObjectRelease):
        yield from _flatten(value.value, numbers)
    else:
        yield f" {value!r}"
    if isinstance(value, Release):
        yield " price and error:"
        yield from _flatten([value.interval(), value.mechanism, value.notes, value.spent, value.query.call], numbers)
    yield ">"


def _number(value: Any, numbers: list[float]) -> str:
    """Append a number, a large whole one in two parts that lose no digit; return what is no finite float of it."""
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        numbers.append(0.0)
        return f" {value}"
    numbers.append(number)
    rest = int(value) - int(number) if isinstance(value, int | np.integer) else 0
    if not rest:
        return ""
    numbers.append(float(rest))
    return " and a rest"


def _moment(value: Any, numbers: list[float]) -> str:
    """Tell dates and durations as seconds and nanoseconds, those beyond them and missing ones as text."""
    kind = pd.Timedelta if isinstance(value, dt.timedelta | np.timedelta64) else pd.Timestamp
    with contextlib.suppress(TypeError, ValueError, OverflowError):
        timed = kind(value)
        if not pd.isna(timed):
            numbers.extend(map(float, divmod(timed.as_unit("ns").value, 10**9)))
            return f" {getattr(timed, 'tzinfo', None)}"
    return f" {value!r}"
