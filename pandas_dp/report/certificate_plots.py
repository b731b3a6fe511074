"""Small drawings of released vectors as inline SVG: bars with whiskers, in the colours of the page around them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pandas_dp.report.shown import Drawing
from pandas_dp.report.text import plain

WIDTH, HEIGHT = 720, 190  # of the drawing, in its own units
LEFT, RIGHT, TOP, BOTTOM = 76, 8, 12, 24  # margins
MOST_LABELS = 12  # below the bars
LETTER = 7  # width of one, at the size of the style sheet
BAR, WIDEST = 0.7, 56  # of the place of one; of all places

Numbers = Sequence[float]


def plot(drawing: Drawing, labels: list[str], number: str, text: Any) -> str:
    """Return one vector as SVG.

    Parameters
    ----------
    drawing : Drawing
        At least one finite value.
    labels : list of str
        Of the entries.
    number : str
        Distinguishes the drawing from all others of the page.
    text : callable
        Escapes a text.
    """
    drawn, lower, upper = (_floats(drawing[part]) for part in ("values", "lower", "upper"))
    ends = None if drawing["lower"] is None else (lower, upper)
    finite = [x for x in drawn if math.isfinite(x)]
    reach = [x for part in (drawn, lower, upper) for x in part if math.isfinite(x)]
    low, high = min(0.0, *reach), max(0.0, *reach)
    title = f"{drawing['name']} ({drawing['unit']})" if drawing["unit"] else drawing["name"]
    whiskers = ", with their intervals as whiskers" if ends else ""
    told = f"Bars of {len(drawn):,} released values, from {plain(min(finite))} to {plain(max(finite))}{whiskers}."
    return (
        f'<svg role="img" viewBox="0 0 {WIDTH} {HEIGHT}" aria-labelledby="title-{number} desc-{number}">'
        f'<title id="title-{number}">{text(title)}</title><desc id="desc-{number}">{text(told)}</desc>'
        f"{_axis(low, high)}{_bars(drawn, ends, low, high)}{_labels(labels, text)}</svg>"
    )


def _floats(values: list[float | None] | None) -> list[float]:
    return [math.nan if x is None else float(x) for x in values or ()]


def _height(x: float, low: float, high: float) -> float:
    """Where a value lies, from the top."""
    scale = max(-low, high) or 1.0  # by which all are divided, for their span may overflow, and half of it underflow
    share = (x / scale - low / scale) / (high / scale - low / scale) if high > low else 0.0
    return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)


def _axis(low: float, high: float) -> str:
    """Lines at the lowest value, at zero and at the highest one."""
    drawn = []
    for x in dict.fromkeys((low, 0.0, high)):
        y = _height(x, low, high)
        if x == 0 or abs(y - _height(0.0, low, high)) > 2 * LETTER:  # else the two numbers would lie on each other
            drawn.append(
                f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
                f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{plain(x)}</text>'
            )
    return "".join(drawn)


def _bars(values: Numbers, ends: tuple[Numbers, Numbers] | None, low: float, high: float) -> str:
    """A bar for each value, then a whisker for each interval."""
    place = (WIDTH - LEFT - RIGHT) / len(values)
    width = min(BAR * place, WIDEST)
    zero, drawn = _height(0.0, low, high), []
    for i, x in enumerate(values):
        if math.isfinite(x):
            y, left = _height(x, low, high), LEFT + (i + 0.5) * place - width / 2
            size = f'width="{width:.2f}" height="{abs(y - zero):.1f}"'
            drawn.append(f'<rect class="bar" x="{left:.2f}" y="{min(y, zero):.1f}" {size}/>')
    for i, (a, b) in enumerate(zip(*ends, strict=True) if ends else ()):
        if math.isfinite(a) and math.isfinite(b):
            x, half = LEFT + (i + 0.5) * place, min(4.0, width / 2)
            y1, y2 = _height(a, low, high), _height(b, low, high)
            caps = "".join(f"M{x - half:.2f} {y:.1f}H{x + half:.2f}" for y in (y1, y2))
            drawn.append(f'<path class="whisker" d="M{x:.2f} {y1:.1f}V{y2:.1f}{caps}"/>')
    return "".join(drawn)


def _labels(labels: list[str], text: Any) -> str:
    """Names below the bars: all where there is room, else some at equal distances."""
    every = math.ceil(len(labels) / MOST_LABELS)
    place = (WIDTH - LEFT - RIGHT) / len(labels)
    room = max(int(every * place / LETTER) - 1, 3)
    return "".join(
        f'<text x="{LEFT + (i + 0.5) * place:.1f}" y="{HEIGHT - 6}" text-anchor="middle">'
        f"{text(label if len(label) <= room else label[: room - 1] + '…')}</text>"
        for i, label in enumerate(labels)
        if i % every == 0
    )
