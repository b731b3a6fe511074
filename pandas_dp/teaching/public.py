"""What may be taught with: numbers that are public, and recognised as protected where they can be."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts.kinds import exact_number
from pandas_dp.facts.numbers import typed
from pandas_dp.facts.public_only import is_private, listed
from pandas_dp.release.plots import axes_of, load_pyplot
from pandas_dp.tables.frames import elsewhere

MOST_VALUES = 500  # all windows of all widths, and all orders of visits, are gone through
MARK = "NOT PRIVATE"


def refuse_protected(values: Any, call: str, line: str) -> None:
    """Refuse what is known to be protected: everything taught with is shown."""
    frames = values if isinstance(values, list | tuple) else [values]
    for held in frames:
        frame = held.to_frame() if isinstance(held, pd.Series) else held
        if is_private(held) or (isinstance(frame, pd.DataFrame) and elsewhere(frame, None) is not None):
            raise ArgumentTypeError(
                f"these values are protected, and {call}() would show them; teach with public numbers: {line}"
            )


def public_numbers(values: Any, argument: str, call: str, line: str) -> list[Fraction]:
    """Exact numbers, refused where they are known to be protected, shape (n,)."""
    refuse_protected(values, call, line)
    if not listed(values) or not isinstance(values, Sequence | np.ndarray | pd.Series | pd.Index):
        raise ArgumentTypeError(f"{argument} must be a list, an array or a Series of public numbers: {line}")
    try:
        flat = np.ndim(values) == 1
    except ValueError:  # entries of different lengths
        flat = False
    if not flat or not 1 <= len(values) <= MOST_VALUES:
        raise ArgumentValueError(f"{argument} must hold between 1 and {MOST_VALUES} numbers: {line}")
    try:
        return [exact_number(value, argument) for value in values]
    except (ArgumentTypeError, ArgumentValueError):
        raise ArgumentTypeError(f"{argument} must all be finite numbers: {line}") from None


def numbers_by_label(
    values: Any, argument: str, call: str, line: str
) -> tuple[tuple[Hashable, ...], tuple[Fraction, ...]]:
    """Labels, and a number for each: of a dict, of a Series with its index, or of a list with 0, 1, 2, ..."""
    refuse_protected(values, call, line)
    if isinstance(values, Mapping):
        return tuple(values), tuple(public_numbers(list(values.values()), argument, call, line))
    found = tuple(public_numbers(values, argument, call, line))
    labels = tuple(values.index) if isinstance(values, pd.Series) else tuple(range(len(found)))
    if len(set(labels)) != len(labels):
        raise ArgumentValueError(f"{argument} must name each candidate once: {line}")
    return labels, found


def positive(value: Any, argument: str, line: str, most: int = 10**6) -> Fraction:
    """Exact positive number."""
    exact = typed(line, exact_number, value, argument)
    if not 0 < exact <= most:
        raise ArgumentValueError(f"{argument} must be positive and at most {most:,}: {line}")
    return exact


def axes_for(axes: Any, count: int, height: float, columns: int = 1) -> list[Any]:
    """The given matplotlib Axes, or new ones."""
    if axes is None:
        _, axes = load_pyplot().subplots(count // columns, columns, figsize=(7, height), layout="constrained")
    words = "one matplotlib Axes: .plot(plt.subplots()[1])"
    if count > 1:
        words = f"{('two', 'three')[count - 2]} matplotlib Axes: .plot(plt.subplots({count})[1])"
    return axes_of(axes, count, f"axes must be {words}")
