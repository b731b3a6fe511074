"""Plots of releases with their error bars. matplotlib is loaded when a plot is asked for, and not before."""

from __future__ import annotations

import math
import textwrap
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.errors import ArgumentTypeError
from pandas_dp.report.text import duration_unit

BAR_WIDTH = 0.8
MOST_TICKS, MOST_CELLS = 30, 60
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
    for i, (name, values, lower, upper, _) in enumerate(prepared):
        at = [place + (i - (len(columns) - 1) / 2) * width for place in range(len(labels))]
        if points or values.dtype.kind == "M":
            ax.plot(at, values.to_numpy(), "o", label=_literal(name))
        else:
            ax.bar(at, values.to_numpy(), width=width, alpha=0.6, label=_literal(name))
        if lower is not None and upper is not None:
            ax.vlines(at, lower.to_numpy(), upper.to_numpy(), colors=ax.xaxis.label.get_color(), linewidth=1)
    _label(ax, labels)
    if len(columns) > 1:
        ax.legend()
    name, *_, unit = prepared[0] if len(columns) == 1 else ("", "")
    return _titled(ax, title, axis, f"{name} ({unit})" if unit else name)


def draw_vector(drawing: str, columns: list[Column], index: pd.Index[Any], title: str, ax: Any) -> Any:
    """Draw an answer with an index as its question wants it: bars, ``"steps"``, ``"cells"`` or ``"cells and sums"``."""
    labels, axis = [str(label) for label in index], ", ".join(str(name) for name in index.names if name is not None)
    if drawing == "steps":
        return _steps(columns[0], title, ax, axis)
    if drawing == "bars":
        return draw(columns, labels, title, ax, axis=axis)
    return _cells(columns, labels, title, ax, axis, drawing == "cells and sums")


def _steps(column: Column, title: str, ax: Any, axis: str = "") -> Any:
    """Draw shares below each edge as steps, over the edges as numbers or dates, and what is known of them as a band.

    Parameters, returns and raises as `draw`.
    """
    name, values, lower, upper, _ = _as_numbers(column)
    if ax is None:
        ax = load_pyplot().subplots()[1]
    places = values.index.to_numpy()
    if places.dtype.kind not in "iufmM":
        places = range(len(values))
        _label(ax, [str(label) for label in values.index])
    ax.step(places, values.to_numpy(), where="post", label=_literal(name))
    if lower is not None and upper is not None:
        ax.fill_between(places, lower.to_numpy(), upper.to_numpy(), step="post", alpha=0.3)
    return _titled(ax, title, axis, name)


def _cells(columns: list[Column], labels: list[str], title: str, ax: Any, axis: str, sums: bool) -> Any:
    """Draw a table as a heat map, in small tables with the values and half the widths of their intervals in the cells.

    Parameters
    ----------
    columns, labels, title, ax, axis
        See `draw`.
    sums : bool
        The last row and column are sums of the others: they are named, but too large for the colours of the others.
    """
    prepared = [_as_numbers(column) for column in columns]
    if ax is None:
        ax = load_pyplot().subplots()[1]
    values = np.column_stack([values.to_numpy(dtype=float) for _, values, *_ in prepared])  # shape (rows, columns)
    inner = values[:-1, :-1] if sums and min(values.shape) > 1 else values
    finite = inner[np.isfinite(inner)]
    ends = {"vmin": finite.min(), "vmax": finite.max()} if finite.size else {}
    image = ax.imshow(values, cmap="cividis", aspect="auto", **ends)
    ax.figure.colorbar(image, ax=ax)
    if values.size <= MOST_CELLS:
        for j, (_, column, lower, upper, _) in enumerate(prepared):
            for i, value in enumerate(column):
                half = "" if lower is None or upper is None else f"\n±{_short((upper.iloc[i] - lower.iloc[i]) / 2)}"
                dark = image.norm(value) < 0.6  # cividis is light above
                ax.text(j, i, f"{_short(value)}{half}", ha="center", va="center", color="white" if dark else "black")
    names = [_literal(str(name)) for name, *_ in prepared]
    ax.set_xticks(range(len(names)), names, rotation=90 if sum(map(len, names)) > LONG_LABELS else 0)
    every = math.ceil(len(labels) / MOST_TICKS) or 1
    ax.set_yticks(range(0, len(labels), every), [_literal(label) for label in labels[::every]])
    return _titled(ax, title, "", axis)


def _short(x: float) -> str:
    return f"{x:,.0f}" if abs(x) >= 100 else f"{x:.3g}"


def _titled(ax: Any, title: str, below: str, beside: str) -> Any:
    ax.set_xlabel(_literal(below))
    ax.set_ylabel(_literal(_wrapped(beside, ax.yaxis.label, ax.get_window_extent().height)))
    ax.set_title("", fontsize="medium")
    ax.set_title(_literal(_wrapped(title, ax.title, ax.get_window_extent().width)), fontsize="medium")
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
