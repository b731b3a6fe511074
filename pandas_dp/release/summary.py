"""A release as texts and numbers: what a page says of it, and what a ledger file keeps of it."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from pandas_dp.aggregates.base import Caution
from pandas_dp.aggregates.uncertainty import LEVEL
from pandas_dp.errors import ArgumentTypeError
from pandas_dp.release.plots import _as_numbers
from pandas_dp.release.text import named, plain

if TYPE_CHECKING:
    from pandas_dp.release.values import Release

MOST_ROWS = 40  # of one answer
MOST_PLOTS = 4  # of one answer
MOST_BARS = 400  # more than there are points in a drawing would only be black
Drawing = dict[str, Any]
"""name, unit, values, and lower and upper ends (or None), each a list of floats; NaN as None."""


@dataclass(frozen=True)
class Shown:
    """What is said of one release; public, as the release is.

    Attributes
    ----------
    text : str
        The value with its error bar; of a vector the line that stands above its table.
    mechanism, lineage : str
    computed : str or None
        All arguments; None for questions that hold functions, whose texts may hold anything.
    assumes : str or None
    notes, cautions : list of str
    labels : list of str
        Of the entries that are drawn.
    drawings : list of Drawing
    head : list of str
        Names of the table's columns; empty for a single value.
    rows : list of list of str
    """

    text: str
    mechanism: str
    lineage: str
    computed: str | None
    assumes: str | None
    notes: list[str]
    cautions: list[str]
    labels: list[str]
    drawings: list[Drawing]
    head: list[str]
    rows: list[list[str]]

    def to_json(self) -> str:
        """Write it for a ledger."""
        return json.dumps(asdict(self))


def shown(release: Release) -> Shown:
    """Return what is said of a release."""
    aggregate, vector = release.query.aggregate, isinstance(release.value, pd.Series | pd.DataFrame)
    labels, drawings, head, rows = _vector(release) if vector else ([], [], [], [])
    told = release._price_line(LEVEL, release.interval()) if vector else release._text()
    more = len(release.value) - MOST_ROWS if vector else 0
    told += f". {more:,} more entries are not shown" if more > 0 else ""
    return Shown(
        told,
        release.mechanism,
        release.lineage,
        repr(aggregate) if aggregate.stored else None,
        release.assumes,
        [str(note) for note in release.notes if not isinstance(note, Caution)],
        release._cautions(),
        labels,
        drawings,
        head,
        rows,
    )


def read(text: str | None) -> Shown | None:
    """Return what `Shown.to_json` wrote; None for anything else."""
    try:
        found = json.loads(text or "")
        made = Shown(**found)
    except (ValueError, TypeError, RecursionError):
        return None
    return made if _sound(made) else None


def _sound(made: Shown) -> bool:
    """Whether every part is of its kind: a ledger can be written by anybody who may write the file."""

    def texts(part: Any) -> bool:
        return isinstance(part, list) and all(isinstance(entry, str) for entry in part)

    def numbers(part: Any) -> bool:
        return isinstance(part, list) and all(x is None or type(x) in (int, float) for x in part)

    def drawable(part: Any) -> bool:
        keys = isinstance(part, dict) and set(part) == {"name", "unit", "values", "lower", "upper"}
        if not keys or not texts([part["name"], part["unit"]]) or not numbers(part["values"]):
            return False
        ends = (part["lower"], part["upper"])
        if not any(x is not None for x in part["values"]):
            return False
        return ends == (None, None) or all(numbers(end) and len(end) == len(part["values"]) for end in ends)

    return (
        texts([made.text, made.mechanism, made.lineage])
        and all(part is None or isinstance(part, str) for part in (made.computed, made.assumes))
        and all(map(texts, (made.notes, made.cautions, made.labels, made.head)))
        and isinstance(made.rows, list)
        and all(texts(row) and len(row) == len(made.head) for row in made.rows)
        and isinstance(made.drawings, list)
        and all(drawable(part) and len(part["values"]) == len(made.labels) for part in made.drawings)
    )


def _vector(release: Any) -> tuple[list[str], list[Drawing], list[str], list[list[str]]]:
    """Labels, drawings, head and rows of a Series or table."""
    value, table, known = release.value, release.table(), release.interval()
    index = release.query.aggregate.labelled(value.index)
    first = ", ".join(str(name) for name in value.index.names if name is not None) or "Entry"
    cut = table.iloc[:MOST_ROWS]
    rows = [
        [str(label), *map(_cell, row)]
        for label, row in zip(index[:MOST_ROWS], cut.itertuples(index=False, name=None), strict=True)
    ]
    few = len(value) <= MOST_BARS
    drawings = [drawing(column) for column in release._drawn(known)[:MOST_PLOTS]] if few else []
    drawn = [one for one in drawings if one is not None]
    labels = [str(label) for label in index] if drawn else []
    return labels, drawn, [first, *map(named, table.columns)], rows


def drawing(column: Any) -> Drawing | None:
    """Numbers of one column; None for texts and dates."""
    try:
        name, values, lower, upper, unit = _as_numbers(column)
    except ArgumentTypeError:
        return None
    if values.dtype.kind == "M" or not any(math.isfinite(x) for x in values.to_numpy(dtype=float, na_value=math.nan)):
        return None
    ends = [None, None] if lower is None or upper is None else [_floats(lower), _floats(upper)]
    return {"name": str(name), "unit": unit, "values": _floats(values), "lower": ends[0], "upper": ends[1]}


def _floats(values: Any) -> list[float | None]:
    numbers = values.to_numpy(dtype=float, na_value=math.nan).tolist()
    return [x if math.isfinite(x) else None for x in numbers]


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    return plain(value.item() if hasattr(value, "item") else value)
