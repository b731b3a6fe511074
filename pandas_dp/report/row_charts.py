"""A small chart in each row of a table: the value as a bar from zero, what is known of it as a line with ends."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

ACCENT = "#3b82c4"
WIDTH, HEIGHT, MARGIN = 146, 14, 4


def row_charts(
    values: pd.Series[Any], lower: pd.Series[Any] | None, upper: pd.Series[Any] | None, most: int | None
) -> list[str] | None:
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
    drawn, low_ends, high_ends = parts = [_floats(part) for part in (values, lower, upper)]
    if drawn is None:
        return None
    known = [part for part in parts if part is not None]
    finite = [x for part in known for x in (float(part.min()), float(part.max())) if math.isfinite(x)]
    dated = values.dtype.kind == "M"
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    if not dated:
        low, high = min(low, 0.0), max(high, 0.0)
    if not high > low or not math.isfinite(high - low):
        return None
    rows = len(drawn)
    shown = range(rows) if most is None or rows <= most else (*range(most), *range(rows - most, rows))
    made = [""] * rows
    for row in shown:
        ends = (
            None if low_ends is None or high_ends is None else (float(low_ends.iloc[row]), float(high_ends.iloc[row]))
        )
        made[row] = _row(float(drawn.iloc[row]), ends, low, high, dated)
    return made


def _floats(part: pd.Series[Any] | None) -> pd.Series[Any] | None:
    """Numbers as they are, durations and dates as numbers; None for anything else."""
    if part is None or part.dtype.kind not in "iufmM":
        return None
    if part.dtype.kind in "mM":
        return part.astype("int64").astype(float).where(part.notna().to_numpy())
    return part.astype(float)


def _row(value: float, ends: tuple[float, float] | None, low: float, high: float, dated: bool) -> str:
    def at(x: float) -> float:
        return MARGIN + (WIDTH - 2 * MARGIN) * (x - low) / (high - low)

    middle, drawn = HEIGHT / 2, []
    if math.isfinite(value):
        left, right = sorted((at(value), at(low if dated else 0.0)))
        if dated:
            drawn.append(f'<circle cx="{at(value):.1f}" cy="{middle}" r="3" fill="{ACCENT}"/>')
        else:
            drawn.append(
                f'<rect x="{left:.1f}" y="3" width="{right - left:.1f}" height="{HEIGHT - 6}" fill="{ACCENT}"/>'
            )
    if ends is not None and all(map(math.isfinite, ends)):
        a, b = map(at, ends)
        caps = "".join(f"M{x:.1f} 3V{HEIGHT - 3}" for x in (a, b))
        drawn.append(f'<path d="M{a:.1f} {middle}H{b:.1f}{caps}" stroke="currentColor" fill="none"/>')
    # the numbers stand beside it: readers of screens pass it over
    return f'<svg width="{WIDTH}" height="{HEIGHT}" aria-hidden="true">{"".join(drawn)}</svg>' if drawn else ""
