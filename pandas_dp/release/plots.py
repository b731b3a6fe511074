"""Plots of releases with their error bars. matplotlib is loaded when a plot is asked for, and not before."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, NoReturn, ParamSpec, TypeVar

import numpy as np
import pandas as pd

from pandas_dp.aggregates.base import ROWS
from pandas_dp.aggregates.uncertainty import duration_unit
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, did_you_mean
from pandas_dp.facts.argument_help import example
from pandas_dp.facts.public_only import comparable
from pandas_dp.release.text import named, with_half

BAR_WIDTH = 0.8
UNKNOWN = "hatched or hollow: the error is not known"
ONE = "ax must be one matplotlib Axes: .plot(ax=ax); a column of a table is chosen by .plot(y='n')"
MOST_TICKS, MOST_CELLS, MOST_PANELS, MOST_NAMED = 30, 60, 20, 10
PANEL, FIGURE_HEIGHT = (6.4, 1.9), 4.8  # inches
LAYOUT = "constrained"  # makes room for long labels, and for what stands below the axes
LONG_LABELS = 40  # characters of all labels together that fit side by side
SHORTEST_LINE = 12  # letters
KINDS = ("bar", "barh", "line", "area", "pie", "hist", "box", "scatter")  # of pandas' plots
MISSING = "a plot needs matplotlib, which is not installed; type: pip install 'pandas-dp[plot]'"
PLOT = ".plot(), with error bars; other kinds of plots are pandas', of what .value holds, and have none"

Column = tuple[str, "pd.Series[Any]", "pd.Series[Any] | None", "pd.Series[Any] | None"]
"""Name, values and, where known, lower and upper ends."""
Scales = Callable[[Hashable], Hashable]
"""What an entry is measured in, by its label."""
Panel = tuple[Column, list[str]]
"""A column, or the entries of one that share a unit, and their labels."""

P = ParamSpec("P")
R = TypeVar("R")


def plotting(method: Callable[P, R]) -> Callable[P, R]:
    """Make a method name `PLOT` where its arguments do not fit, and where a kind of pandas' plots is asked for."""

    def refused(*args: Any, **kwargs: Any) -> NoReturn:
        raise ArgumentTypeError(f"bars and points are drawn by {PLOT}")

    made = example(PLOT)(method)
    vars(made).update(dict.fromkeys(KINDS, refused))
    return made


class Curve(NamedTuple):
    """What a plot says of its answer: the line with the price as title, and what would make it misleading below."""

    title: str
    cautions: Sequence[str] = ()


def draw(column: Column, labels: list[str], line: Curve, ax: Any, axis: str = "", points: bool = False) -> Any:
    """Draw bars (points for dates and single answers) with error bars.

    Parameters
    ----------
    column : Column
        As long as `labels`.
    labels : list of str
    line : Curve
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
        For answers that are not numbers, dates or durations, and for what is no matplotlib Axes.
    """
    prepared = _as_numbers(column)
    ax = _one(ax)
    beside, vague = _bars(ax, prepared, labels, points)
    return _titled(ax, line, axis, beside, [UNKNOWN] if vague else ())


def draw_vector(
    drawing: str, columns: list[Column], value: Any, line: Curve, ax: Any, y: Any = None, scales: Scales | None = None
) -> Any:
    """Draw an answer with an index as its question wants it: bars, ``"steps"``, ``"cells"`` or ``"cells and sums"``.

    Parameters
    ----------
    drawing : str
    columns : list of Column
    value : Series or DataFrame
        The answer, whose columns they are.
    line : Curve
    ax : matplotlib Axes, array of them or None
        Of several columns that are no cells: one for each.
    y : label or list of labels, optional
        Of the columns to draw, which are bars then; all by default.
    scales : callable, optional
        Of rows about different functions: what tells apart those that one axis does not fit; see `Aggregate.scale_of`.

    Returns
    -------
    matplotlib Axes
        Of several columns that are no cells: an array of them.

    Raises
    ------
    ArgumentTypeError
        As `draw`, and for one Axes where several are needed.
    ArgumentValueError
        For a column that is not there, and for too many at once.
    """
    index = value.index
    labels, axis = [named(label) for label in index], ", ".join(str(name) for name in index.names if name is not None)
    table = isinstance(value, pd.DataFrame)
    if not columns:
        raise ArgumentValueError("this table has no columns to draw: no key was found")
    if y is not None and not table:
        raise ArgumentValueError("y chooses columns of a table, and this answer is a single one: .plot()")
    if y is not None:
        drawing, columns = "bars", [columns[place] for place in _chosen(list(value.columns), y)]
    if drawing == "steps":
        return _steps(columns[0], line, _one(ax), axis)
    if drawing == "bars":
        panels = [(column, labels) for column in columns]
        if scales is not None:
            panels = [panel for column in columns for panel in _by_scale(column, labels, scales)] or panels
        if len(panels) == 1:
            return draw(*panels[0], line, ax, axis)
        return _panels(panels, line, ax, axis, columns[0][0] if table else "")
    across = ", ".join(str(name) for name in value.columns.names if name is not None)
    return _cells(columns, labels, line, _one(ax), (across, axis), drawing == "cells and sums")


def _by_scale(column: Column, labels: list[str], scales: Scales) -> list[Panel]:
    """The entries of a column, without those that are not known, by what they are measured in."""
    name, values, lower, upper = column
    places: dict[Hashable, list[int]] = {}
    for place, (row, known) in enumerate(zip(values.index, values.notna(), strict=True)):
        if known:
            places.setdefault(scales(row), []).append(place)

    def part(at: list[int], scale: Hashable) -> Column:
        cut = [None if x is None else x.iloc[at] for x in (lower, upper)]
        return (f"{name} (rows)" if scale == ROWS else name, values.iloc[at], cut[0], cut[1])

    return [(part(at, scale), [labels[place] for place in at]) for scale, at in places.items()]


def _panels(panels: list[Panel], line: Curve, given: Any, axis: str, first: str) -> Any:
    """Draw each panel on a scale of its own, one below the other: their units may differ.

    Parameters, returns and raises as `draw_vector`; `first` is the name of a column that could be drawn alone, or empty.
    """
    count = len(panels)
    if not 0 < count <= MOST_PANELS:
        raise ArgumentValueError(
            f"plot() draws 1 to {MOST_PANELS} columns at once: .plot(y={first!r}) draws one of them"
        )
    prepared = [_as_numbers(column) for column, _ in panels]
    shared, widest = all(labels is panels[0][1] for _, labels in panels), max(len(labels) for _, labels in panels)
    if given is None:
        size = (PANEL[0], max(PANEL[1] * count + 1, FIGURE_HEIGHT))
        axes = load_pyplot().subplots(count, 1, sharex=shared, squeeze=False, figsize=size, layout=LAYOUT)[1].ravel()
    else:
        alone = f".plot(y={first!r}, ax=ax) draws one of them, " if first else ""
        wanted = (
            f"each of these {count} panels has a scale of its own: {alone}.plot(ax=axes) takes an array of {count} axes"
        )
        axes = axes_of(given, count, wanted)
    hatched = False
    for place, (ax, one, (_, labels)) in enumerate(zip(axes, prepared, panels, strict=True)):
        beside, vague = _bars(ax, one, labels)
        hatched, last = hatched or vague, place == count - 1
        told = Curve(line.title if place == 0 else "", line.cautions if last else ())
        below = axis if last or given is not None else ""
        _titled(ax, told, below, beside, [UNKNOWN] if last and hatched else ())
        if not shared:
            ax.set_xlim(-0.6, widest - 0.4)  # bars of one width in all panels
    return axes


def _chosen(labels: list[Any], y: Any) -> list[int]:
    """Places of the columns that are named, by their labels or, where those are pairs, by the first part."""
    places = []
    for wanted in y if isinstance(y, list) and y else [y]:
        found = [
            place
            for place, label in enumerate(labels)
            if comparable(wanted) and wanted in ((label, label[0]) if isinstance(label, tuple) and label else (label,))
        ]
        if not found:
            close = did_you_mean(wanted, labels) if isinstance(wanted, str) else ""
            known = ", ".join(repr(label) for label in labels[:MOST_NAMED])
            raise ArgumentValueError(
                f"y must be a column of this answer, such as .plot(y={labels[0]!r}): {known}{close}"
            )
        places += found
    return places


def _one(ax: Any) -> Any:
    """The one Axes to draw on: that which is given, or that of a new figure."""
    return load_pyplot().subplots(layout=LAYOUT)[1] if ax is None else axes_of(ax, 1, ONE)[0]


def axes_of(given: Any, count: int, line: str) -> list[Any]:
    """As many matplotlib Axes as are drawn on; where these are others, `line` says what to type."""
    axes = list(given.flat if isinstance(given, np.ndarray) else given if isinstance(given, list | tuple) else [given])
    # an expression has every attribute
    drawn = [ax for ax in axes if hasattr(ax, "vlines") and not isinstance(ax, pd.api.typing.Expression)]
    if len(axes) != count or len(drawn) != count:
        raise ArgumentTypeError(line)
    return axes


def _bars(ax: Any, prepared: tuple[Any, ...], labels: list[str], points: bool = False) -> tuple[str, bool]:
    """Draw one column, prepared by `_as_numbers`; return its name with its unit, and whether the error of a value is not known.

    What is known without its error would look exact: it is hatched, or hollow.
    """
    name, values, lower, upper, unit = prepared
    at, ends = np.arange(len(labels)), [end for end in (lower, upper) if end is not None]
    known = np.full(len(labels), bool(ends))
    for end in ends:
        known &= np.isfinite(end.to_numpy())
    vague = ~known & values.notna().to_numpy()
    if points or values.dtype.kind == "M":
        (drawn,) = ax.plot(at, values.to_numpy(), "o", label=_literal(name))
        if vague.any():
            inner = {"color": ax.get_facecolor(), "markersize": drawn.get_markersize() - 2}
            ax.plot(at[vague], values.to_numpy()[vague], "o", **inner)
    else:
        bars = ax.bar(at, values.to_numpy(), width=BAR_WIDTH, alpha=0.6, label=_literal(name))
        for place in np.flatnonzero(vague):
            bars[place].set(hatch="//", fill=False)
    if ends:
        color = ax.xaxis.label.get_color()
        ax.vlines(at[known], lower.to_numpy()[known], upper.to_numpy()[known], colors=color, linewidth=1)
    _label(ax, labels)
    return f"{name} ({unit})" if unit else name, bool(vague.any())


def _steps(column: Column, line: Curve, ax: Any, axis: str) -> Any:
    """Draw shares below each edge as steps, over the edges as numbers or dates, and what is known of them as a band.

    Parameters, returns and raises as `draw`.
    """
    name, values, lower, upper, _ = _as_numbers(column)
    places = values.index.to_numpy()
    if places.dtype.kind not in "iufmM":
        places = range(len(values))
        _label(ax, [str(label) for label in values.index])
    ax.step(places, values.to_numpy(), where="post", label=_literal(name))
    if lower is not None and upper is not None:
        ax.fill_between(places, lower.to_numpy(), upper.to_numpy(), step="post", alpha=0.3)
    return _titled(ax, line, axis, name)


def _cells(columns: list[Column], labels: list[str], line: Curve, ax: Any, axes: tuple[str, str], sums: bool) -> Any:
    """Draw a table as a heat map, in small tables with the values and half the widths of their intervals in the cells.

    Parameters
    ----------
    columns, labels, line, ax
        See `draw`.
    axes : (str, str)
        Names of the columns and of the labels.
    sums : bool
        The last row and column are sums of the others: they are named, but too large for the colours of the others.
    """
    prepared = [_as_numbers(column) for column in columns]
    values = np.column_stack([values.to_numpy(dtype=float) for _, values, *_ in prepared])  # shape (rows, columns)
    inner = values[:-1, :-1] if sums and min(values.shape) > 1 else values
    finite = inner[np.isfinite(inner)]
    ends = {"vmin": finite.min(), "vmax": finite.max()} if finite.size else {}
    image = ax.imshow(values, cmap="cividis", aspect="auto", **ends)
    if values.size > MOST_CELLS:
        ax.figure.colorbar(image, ax=ax)
    else:
        for j, (_, column, lower, upper, _) in enumerate(prepared):
            count = columns[j][1].dtype.kind in "iu"
            for i, value in enumerate(column):
                half = math.nan if lower is None or upper is None else (upper.iloc[i] - lower.iloc[i]) / 2
                told = (
                    with_half(int(value) if count else value, half) if math.isfinite(half) else f"{_short(value)}\n± ?"
                )
                dark = image.norm(value) < 0.6  # cividis is light above
                ax.text(j, i, told, ha="center", va="center", color="white" if dark else "black")
    names = [_literal(str(name)) for name, *_ in prepared]
    ax.set_xticks(range(len(names)), names, rotation=90 if sum(map(len, names)) > LONG_LABELS else 0)
    every = math.ceil(len(labels) / MOST_TICKS) or 1
    ax.set_yticks(range(0, len(labels), every), [_literal(label) for label in labels[::every]])
    return _titled(ax, line, *axes)


def _short(x: float) -> str:
    return f"{x:,.0f}" if abs(x) >= 100 else f"{x:.3g}"


def _titled(ax: Any, line: Curve, below: str, beside: str, more: Sequence[str] = ()) -> Any:
    ax.set_xlabel(_literal(below))
    ax.set_ylabel(_literal(_wrapped(beside, ax.yaxis.label, ax.get_window_extent().height)))
    width = ax.get_window_extent().width
    ax.set_title("", fontsize="medium")
    ax.set_title(_literal(_wrapped(line.title, ax.title, width)), fontsize="medium")
    if cautions := [*line.cautions, *more]:  # below the name of the labels, wherever that comes to stand
        options = {"fontsize": "x-small", "ha": "center", "va": "top", "annotation_clip": False}
        told = ax.annotate("", (0.5, 0), (0, -3), ax.xaxis.label, "offset points", **options)
        told.set_text("\n".join(_literal(_wrapped(caution, told, width)) for caution in cautions))
    return ax


def _as_numbers(column: Column) -> tuple[Any, ...]:
    """Name, values, ends and unit: durations in one unit, dates without their zone, numbers as float."""
    name, values, *others = column
    if values.isna().all() and others[0] is not None:  # one that is missing says not what it is missing of
        values = pd.Series(pd.NaT, values.index, dtype=others[0].dtype) if others[0].dtype.kind == "m" else values
    ends: tuple[Any, ...] = (values, *others)
    kind = values.dtype.kind
    if kind == "m":
        longest = max(abs(end).max() for end in ends if end is not None and end.notna().any())
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
    if labels == [""]:  # a single answer
        ax.set_xticks([])
        return
    every = math.ceil(len(labels) / MOST_TICKS) or 1
    long = sum(len(label) for label in labels[::every]) > LONG_LABELS
    told = [_literal(label) for label in labels[::every]]
    ax.set_xticks(range(0, len(labels), every), told, rotation=90 if long else 0)


def _wrapped(words: str, place: Any, pixels: float) -> str:
    """Break words into lines for which there is room in a matplotlib text, by their true length."""

    def length(text: str) -> float:
        place.set_text(_literal(text))
        box = place.get_window_extent()
        return float(box.height if place.get_rotation() else box.width)

    letters = int(1.2 * len(words) * pixels / max(length(words), 1.0))  # or fewer
    while letters > SHORTEST_LINE and length("\n".join(textwrap.wrap(words, letters))) > pixels:
        letters -= 1
    return "\n".join(textwrap.wrap(words, max(letters, SHORTEST_LINE)))


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
