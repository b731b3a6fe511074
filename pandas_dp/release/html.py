"""What notebooks show, with a small chart in each row of a table. Keys, names and notes are text of others: all is escaped.

Colours are those of the page around, whatever its theme: text as it is or paler, and one accent that stands out on white
and on black.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from html import escape
from typing import Any, TypeAlias

import pandas as pd

from pandas_dp.aggregates.uncertainty import duration_unit
from pandas_dp.release.plots import Column
from pandas_dp.release.text import hidden_columns, most_columns

MOST_CHARTED = 2  # columns: of a wider table the numbers alone have room on a page
MUTED = "opacity: .75; font-size: 90%"
# stands for a chart while pandas writes and escapes the table: characters that no text has by chance
MARK, MARKED = "\ue000{}\ue001", re.compile("\ue000([0-9]{1,9})\ue001")
End: TypeAlias = "pd.Series[Any] | None"
Facts = Sequence[str | tuple[str, str]]
"""Lines below an answer; pairs are a name and what it is."""


def visible(value: object) -> str:
    r"""Escape a text of others; what would not show, or would turn the text around it, is written as its code.

    Examples
    --------
    >>> print(visible("<b>&\u202e\ud800"))
    &lt;b&gt;&amp;\u202e\ud800
    """
    shown = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(value))
    return escape("".join(shown))


def scalar_html(text: str, facts: Facts) -> str:
    """Show one answer above its facts.

    Examples
    --------
    >>> scalar_html("<b>", ["epsilon 1"])
    "<div><strong>&lt;b&gt;</strong><div style='opacity: .75; font-size: 90%'>epsilon 1</div></div>"
    """
    return f"<div><strong>{escape(text)}</strong>{_facts(facts)}</div>"


def table_html(table: pd.DataFrame, facts: Facts, drawn: Sequence[Column] = ()) -> str:
    """Show a table above its facts, with as many rows as pandas would show, and a small chart in each row.

    Parameters
    ----------
    table : DataFrame
    facts : sequence
    drawn : sequence of Column
        The columns of the table, in its order, each with its ends where they are known; a few are charted.
    """
    shown, most = table.copy(deep=False), pd.get_option("display.max_rows")
    charts: list[str] = []
    place = 0
    for _, values, lower, upper in drawn if len(drawn) <= MOST_CHARTED else ():
        place += 1 if lower is None else 3
        ends, made = scale(values, lower, upper), row_charts(values, lower, upper, most)
        if ends is not None and made is not None:
            above = shown.columns[place - 1]
            words = scale_words(ends, values)
            name = (*above[:-1], words) if isinstance(above, tuple) else words
            shown.insert(place, name, [MARK.format(len(charts) + i) for i in range(len(made))], allow_duplicates=True)
            charts, place = charts + made, place + 1
    text = shown.to_html(max_rows=most, max_cols=most_columns(), escape=True, notebook=True)
    text = MARKED.sub(lambda found: charts[int(found[1])] if int(found[1]) < len(charts) else "", text)
    return f"<div>{text}{_facts([*hidden_columns(shown), *facts])}</div>"


def bar_html(share: float, text: str) -> str:
    """Show how much of something is used.

    Parameters
    ----------
    share : float
        Between 0 and 1.
    text : str
        The same for those who do not see it.
    """
    return (
        f"<div role='img' aria-label='{escape(text, quote=True)}' style='max-width: 30em; height: .7em; margin: .4em 0; "
        f"border: 1px solid {ACCENT}; border-radius: .35em; overflow: hidden'>"
        f"<div style='width: {100 * min(max(share, 0.0), 1.0):.1f}%; height: 100%; background: {ACCENT}'></div></div>"
    )


def _facts(facts: Facts) -> str:
    lines = (escape(f) if isinstance(f, str) else f"<em>{escape(f[0])}</em> {escape(f[1])}" for f in facts)
    return f"<div style='{MUTED}'>{'<br>'.join(lines)}</div>"


ACCENT = "#3b82c4"
WIDTH, HEIGHT, MARGIN = 146, 14, 4


def row_charts(values: pd.Series[Any], lower: End, upper: End, most: int | None) -> list[str] | None:
    """Draw each row of one column as SVG, all on one scale.

    Parameters
    ----------
    values, lower, upper : Series
        Values and, where they are known, their ends.
    most : int or None
        Rows that will be shown: of a longer table the last and first ones are drawn, and the others are empty texts.

    Returns
    -------
    list of str or None
        None for what is no number, duration or date, and where nothing is finite.
    """
    ends = scale(values, lower, upper)
    if ends is None:
        return None
    parts = (_floats(part) for part in (values, lower, upper))
    cells = [[math.nan] * len(values) if part is None else part.tolist() for part in parts]
    hidden = range(0) if most is None else range(most, len(values) - most)
    dated = values.dtype.kind == "M"
    rows = enumerate(zip(*cells, strict=True))
    return ["" if row in hidden else _row(x, a, b, *ends, dated) for row, (x, a, b) in rows]


def scale(values: pd.Series[Any], lower: End, upper: End) -> tuple[float, float] | None:
    """Left and right end of the charts of one column: all that is drawn, and zero but for dates; None for no charts."""
    parts = [_floats(part) for part in (values, lower, upper)]
    if parts[0] is None:
        return None
    known = [part for part in parts if part is not None]
    finite = [x for part in known for x in (float(part.min()), float(part.max())) if math.isfinite(x)]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    if values.dtype.kind != "M":
        low, high = min(low, 0.0), max(high, 0.0)
    return (low, high) if high > low and math.isfinite(high - low) else None


def scale_words(ends: tuple[float, float], like: pd.Series[Any]) -> str:
    """Write the ends of a scale, with three digits: each column has its own.

    Examples
    --------
    >>> scale_words((-1.25, 44739.5), pd.Series([1.5]))
    '-1.25 to 44,700'
    """
    if like.dtype.kind == "M":
        days = pd.Series(ends).astype("int64").astype(like.dtype)
        return " to ".join(str(day.date()) for day in days)
    if like.dtype.kind == "m":
        spans = [pd.Timedelta(int(end), unit=like.array.unit) for end in ends]
        unit, length = duration_unit(max(map(abs, spans)))
        return f"{' to '.join(_three(span / length) for span in spans)} {unit}"
    return " to ".join(map(_three, ends))


def _three(x: float) -> str:
    return f"{float(f'{x:.3g}'):,.12g}"


def _floats(part: pd.Series[Any] | None) -> pd.Series[Any] | None:
    """Numbers as they are, durations and dates as numbers; None for anything else."""
    if part is None or part.dtype.kind not in "iufmM":
        return None
    if part.dtype.kind in "mM":
        return part.astype("int64").astype(float).where(part.notna().to_numpy())
    return part.astype(float)


def _row(value: float, lower: float, upper: float, low: float, high: float, dated: bool) -> str:
    def at(x: float) -> float:
        return MARGIN + (WIDTH - 2 * MARGIN) * (x - low) / (high - low)

    middle, drawn, known = HEIGHT / 2, [], math.isfinite(lower) and math.isfinite(upper)
    # filled without an end it would look exact
    look = f'fill="{ACCENT}"' if known else f'fill="none" stroke="{ACCENT}"'
    if math.isfinite(value):
        left, right = sorted((at(value), at(low if dated else 0.0)))
        if dated:
            drawn.append(f'<circle cx="{at(value):.1f}" cy="{middle}" r="3" {look}/>')
        else:
            drawn.append(f'<rect x="{left:.1f}" y="3" width="{right - left:.1f}" height="{HEIGHT - 6}" {look}/>')
    if known:
        a, b = at(lower), at(upper)
        caps = "".join(f"M{x:.1f} 3V{HEIGHT - 3}" for x in (a, b))
        drawn.append(f'<path d="M{a:.1f} {middle}H{b:.1f}{caps}" stroke="currentColor" fill="none"/>')
    # the numbers stand beside it: readers of screens pass it over
    return f'<svg width="{WIDTH}" height="{HEIGHT}" aria-hidden="true">{"".join(drawn)}</svg>' if drawn else ""
