"""How a certificate looks: its style sheet and small drawings of released vectors as inline SVG. It loads nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pandas_dp.release.summary import Drawing
from pandas_dp.release.text import plain

LIGHT = {
    "paper": "#ffffff",
    "ink": "#1b1f24",
    "muted": "#59616b",
    "line": "#d0d5da",
    "panel": "#f5f7f9",
    "accent": "#1f5f99",
    "warning": "#8a4b00",
    "warned": "#fff6e8",
}
DARK = {
    "paper": "#14171a",
    "ink": "#e6e9ec",
    "muted": "#a3acb5",
    "line": "#3a4149",
    "panel": "#1d2126",
    "accent": "#7db7ea",
    "warning": "#f0b45c",
    "warned": "#2a2318",
}


def _theme(colours: dict[str, str]) -> str:
    return "".join(f"--{name}: {colour}; " for name, colour in colours.items())


CSS = (
    f"""
:root {{ color-scheme: light dark; {_theme(LIGHT)}}}
@media screen and (prefers-color-scheme: dark) {{ :root {{ {_theme(DARK)}}} }}
"""
    + """
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2.5rem 1.25rem 4rem; max-width: 54rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", "Liberation Sans", Arial, sans-serif; overflow-wrap: anywhere; }
h1, h2, h3, h4 { line-height: 1.25; margin: 0; }
h1 { font-size: 1.9rem; }
h2 { font-size: 1.4rem; margin-top: 3rem; padding-bottom: .4rem; border-bottom: 2px solid var(--ink); }
h3 { font-size: 1.1rem; margin: 2.2rem 0 .6rem; }
h4 { font: 600 .95rem/1.45 ui-monospace, "Cascadia Mono", "Liberation Mono", Menlo, monospace; }
p, ul { margin: .5rem 0; }
ul { padding-left: 1.2rem; }
li { margin: .25rem 0; }
code { font: .9em ui-monospace, "Cascadia Mono", "Liberation Mono", Menlo, monospace; unicode-bidi: isolate; }
.lead { font-size: 1.1rem; color: var(--muted); margin-top: .3rem; }
.promise { margin: 1.2rem 0; padding: .9rem 1.1rem; border-left: 4px solid var(--accent); background: var(--panel);
  font-size: 1.1rem; }
.muted, figcaption, caption, dt { color: var(--muted); }
.muted, figcaption { font-size: .9rem; }
figcaption { font-weight: 500; }
dl { display: grid; grid-template-columns: minmax(8rem, 11rem) 1fr; gap: .35rem 1.2rem; margin: .8rem 0; }
dt, dd { margin: 0; }
table { border-collapse: collapse; width: 100%; margin: .6rem 0; font-size: .93rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-size: .9rem; padding-bottom: .3rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .8rem .35rem 0; border-bottom: 1px solid var(--line);
  unicode-bidi: isolate; }
table.texts { table-layout: fixed; }
thead th { border-bottom-color: var(--ink); }
tbody th { font-weight: 500; }
.number { text-align: right; }
th.number, td.number { padding-right: .2rem; padding-left: .8rem; overflow-wrap: normal; }
.warnings { list-style: none; padding: 0; }
.warnings li { padding: .7rem 1rem; margin: .6rem 0; background: var(--warned); border-left: 4px solid var(--warning); }
.warnings strong { color: var(--warning); display: block; }
article { border: 1px solid var(--line); border-radius: 6px; padding: .9rem 1.1rem; margin: .9rem 0; }
dl.small { font-size: .9rem; gap: .1rem 1.2rem; margin: .6rem 0 0; }
dl.small code { color: var(--muted); }
.answer { font-size: 1.25rem; margin: .5rem 0; }
.caution { color: var(--warning); }
figure { margin: .8rem 0 .4rem; }
svg { display: block; width: 100%; height: auto; }
svg text { font: 12px system-ui, "Segoe UI", "Liberation Sans", Arial, sans-serif; fill: var(--muted); }
.grid { stroke: var(--line); }
.bar { fill: var(--accent); fill-opacity: .55; }
.vague { fill: none; stroke: var(--accent); }
.whisker { stroke: var(--ink); stroke-width: 1.2; fill: none; }
@media (max-width: 34rem) { dl { grid-template-columns: 1fr; gap: .1rem; } dd { margin-bottom: .5rem; } }
@page { margin: 18mm 16mm; }
@media print {
  :root { font-size: 10pt; }
  body { max-width: none; padding: 0; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  h2, h3, h4, caption, .promise { break-after: avoid; }
  h2, h3, h4, figure, tr, dd, .warnings li, .promise { break-inside: avoid; }
  article.short { break-inside: avoid; }
  thead { display: table-header-group; }
}
"""
)


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
    whole = (
        [math.isfinite(a) and math.isfinite(b) for a, b in zip(*ends, strict=True)] if ends else [False] * len(values)
    )
    for i, x in enumerate(values):
        if math.isfinite(x):
            vague = "" if whole[i] else " vague"  # filled without a whisker it would look exact
            y, left = _height(x, low, high), LEFT + (i + 0.5) * place - width / 2
            size = f'width="{width:.2f}" height="{abs(y - zero):.1f}"'
            drawn.append(f'<rect class="bar{vague}" x="{left:.2f}" y="{min(y, zero):.1f}" {size}/>')
    for i, (a, b) in enumerate(zip(*ends, strict=True) if ends else ()):
        if whole[i]:
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
