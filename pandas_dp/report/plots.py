"""Plots of releases with their error bars. matplotlib is loaded when a plot is asked for, and not before."""

from __future__ import annotations

import math
import textwrap
from typing import Any

import pandas as pd

from pandas_dp.errors import ArgumentTypeError
from pandas_dp.report.text import duration_unit

BAR_WIDTH = 0.8
MOST_TICKS = 30
LONG_LABELS = 40  # characters of all labels together that fit side by side
LETTER_WIDTH = 0.6  # of the font's size, on average and rounded up
SHORTEST_LINE = 12  # letters
MISSING = "a plot needs matplotlib, which is not installed; type: pip install 'pandas-dp[plot]'"
PLOT = (
    ".plot(ax=None, level=0.95), with error bars; for another kind .table().plot.bar() and the like, which are pandas'"
)

Column = tuple[str, "pd.Series[Any]", "pd.Series[Any] | None", "pd.Series[Any] | None"]
"""Name, values and, where known, lower and upper ends."""


def draw(columns: list[Column], labels: list[str], title: str, ax: Any, axis: str = "", points: bool = False) -> Any:
    """Draw bars (points for dates and single answers) with error bars.

    Parameters
    ----------
    columns : list of Column
        One column, or several that stand side by side at each label; all as long as `labels`.
    labels : list of str
    title : str
    ax : matplotlib Axes or None
        None makes a new figure.
    axis : str
        Name of the labels.
    points : bool
        Points instead of bars.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ImportError
        Without matplotlib; the text says what to install.
    ArgumentTypeError
        For answers that are not numbers, dates or durations.
    """
    prepared = [_as_numbers(column) for column in columns]
    if ax is None:
        ax = load_pyplot().subplots()[1]
    width = BAR_WIDTH / max(len(columns), 1)
    for i, (name, values, lower, upper, unit) in enumerate(prepared):
        at = [place + (i - (len(columns) - 1) / 2) * width for place in range(len(labels))]
        if points or values.dtype.kind == "M":
            ax.plot(at, values.to_numpy(), "o", label=_literal(name))
        else:
            ax.bar(at, values.to_numpy(), width=width, alpha=0.6, label=_literal(name))
        if lower is not None and upper is not None:
            ax.vlines(at, lower.to_numpy(), upper.to_numpy(), colors="black", linewidth=1)
        if len(columns) == 1:
            label = f"{name} ({unit})" if unit else name
            ax.set_ylabel(_literal(_wrapped(label, ax.yaxis.label, ax.get_window_extent().height)))
    _label(ax, labels)
    ax.set_xlabel(_literal(axis))
    ax.set_title("", fontsize="medium")
    ax.set_title(_literal(_wrapped(title, ax.title, ax.get_window_extent().width)), fontsize="medium")
    if len(columns) > 1:
        ax.legend()
    return ax


def _as_numbers(column: Column) -> tuple[Any, ...]:
    """Name, values, ends and unit: durations in one unit, dates without their zone, numbers as float."""
    name, values, *_ = column
    ends: tuple[Any, ...] = column[1:]
    kind = values.dtype.kind
    if kind == "m":
        longest = max(abs(end).max() for end in ends if end is not None)
        unit, scale = duration_unit(longest)
        return name, *(None if x is None else x / scale for x in ends), unit
    if kind == "M":
        zone = getattr(values.dtype, "tz", None)
        naive = [x if x is None or zone is None else x.dt.tz_localize(None) for x in ends]
        return name, *naive, str(zone or "")
    if kind not in "iufb":
        raise ArgumentTypeError("plot() draws numbers, dates and durations; show this answer with .table()")
    return name, *(None if x is None else x.astype(float) for x in ends), ""


def _label(ax: Any, labels: list[str]) -> None:
    every = math.ceil(len(labels) / MOST_TICKS) or 1
    long = sum(len(label) for label in labels[::every]) > LONG_LABELS
    ax.set_xticks(
        list(range(0, len(labels), every)),
        [_literal(label) for label in labels[::every]],
        rotation=90 if long else 0,
    )


def _wrapped(words: str, place: Any, pixels: float) -> str:
    """Break words into lines for which there is room in a matplotlib text."""
    letter = LETTER_WIDTH * place.get_fontsize() * place.figure.dpi / 72  # pixels
    return "\n".join(textwrap.wrap(words, max(int(pixels / letter), SHORTEST_LINE)))


def _literal(text: str) -> str:
    r"""Keep matplotlib from reading a key as a formula.

    Examples
    --------
    >>> print(_literal("5$"))
    5\$
    """
    return text.replace("$", r"\$")


def load_pyplot() -> Any:
    """Return matplotlib.pyplot, or raise an ImportError that says what to install."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError(MISSING) from None
    return pyplot
