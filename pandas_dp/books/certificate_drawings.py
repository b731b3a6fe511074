"""Small drawings of released vectors for a certificate, as inline SVG that loads nothing."""

from __future__ import annotations

import math

from pandas_dp.release.html import visible
from pandas_dp.release.summary import Drawing
from pandas_dp.release.text import plain

WIDTH, HEIGHT = 720, 190  # of the drawing, in its own units
LEFT, RIGHT, TOP, BOTTOM = 76, 8, 12, 24  # margins
MOST_LABELS = 12  # below the bars
LETTER = 7  # width of one, at the size of the style sheet
BAR, WIDEST = 0.7, 56  # of the place of one; of all places


def plot(drawing: Drawing, labels: list[str], number: str) -> str:
    """Return one vector as SVG.

    Parameters
    ----------
    drawing : Drawing
        At least one finite value.
    labels : list of str
        Of the entries.
    number : str
        Distinguishes the drawing from all others of the page.
    """
    drawn = _floats(drawing["values"])
    lower, upper = (_floats(drawing[end] or [None] * len(drawn)) for end in ("lower", "upper"))
    finite = [x for x in drawn if math.isfinite(x)]
    reach = [x for x in (*drawn, *lower, *upper) if math.isfinite(x)]
    low, high = min(0.0, *reach), max(0.0, *reach)
    title = f"{drawing['name']} ({drawing['unit']})" if drawing["unit"] else drawing["name"]
    whiskers = ", with their intervals as whiskers" if drawing["lower"] is not None else ""
    told = f"Bars of {len(drawn):,} released values, from {plain(min(finite))} to {plain(max(finite))}{whiskers}."
    return (
        f'<svg role="img" viewBox="0 0 {WIDTH} {HEIGHT}" aria-labelledby="title-{number} desc-{number}">'
        f'<title id="title-{number}">{visible(title)}</title><desc id="desc-{number}">{visible(told)}</desc>'
        f"{_axis(low, high)}{_bars(drawn, lower, upper, low, high)}{_labels(labels)}</svg>"
    )


def _floats(values: list[float | None]) -> list[float]:
    return [math.nan if x is None else float(x) for x in values]


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


def _bars(values: list[float], lower: list[float], upper: list[float], low: float, high: float) -> str:
    """A bar for each value, then a whisker for each interval."""
    place = (WIDTH - LEFT - RIGHT) / len(values)
    width, zero = min(BAR * place, WIDEST), _height(0.0, low, high)
    bars, whiskers = [], []
    for i, (x, a, b) in enumerate(zip(values, lower, upper, strict=True)):
        middle, known = LEFT + (i + 0.5) * place, math.isfinite(a) and math.isfinite(b)
        if math.isfinite(x):
            vague = "" if known else " vague"  # filled without a whisker it would look exact
            y, left = _height(x, low, high), middle - width / 2
            size = f'width="{width:.2f}" height="{abs(y - zero):.1f}"'
            bars.append(f'<rect class="bar{vague}" x="{left:.2f}" y="{min(y, zero):.1f}" {size}/>')
        if known:
            half, ends = min(4.0, width / 2), [_height(end, low, high) for end in (a, b)]
            caps = "".join(f"M{middle - half:.2f} {y:.1f}H{middle + half:.2f}" for y in ends)
            whiskers.append(f'<path class="whisker" d="M{middle:.2f} {ends[0]:.1f}V{ends[1]:.1f}{caps}"/>')
    return "".join(bars + whiskers)


def _labels(labels: list[str]) -> str:
    """Names below the bars: all where there is room, else some; long ones cut where they stay different."""
    every = math.ceil(len(labels) / MOST_LABELS)
    place = (WIDTH - LEFT - RIGHT) / len(labels)
    room = max(int(every * place / LETTER) - 1, 3)
    chosen = labels[::every]
    first = [label if len(label) <= room else label[: room - 1] + "…" for label in chosen]
    last = [label if len(label) <= room else "…" + label[1 - room :] for label in chosen]
    return "".join(
        f'<text x="{LEFT + (i * every + 0.5) * place:.1f}" y="{HEIGHT - 6}" text-anchor="middle">{visible(label)}</text>'
        for i, label in enumerate(max(first, last, key=lambda shown: len({*shown})))
    )
