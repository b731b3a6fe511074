"""A release as texts and numbers: as JSON, as a page says it, and as a ledger file keeps it."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pandas_dp.aggregates.base import Caution
from pandas_dp.aggregates.uncertainty import LEVEL, Interval, RankBound, ScoreGap
from pandas_dp.errors import ArgumentTypeError
from pandas_dp.release.plots import _as_numbers
from pandas_dp.release.text import named, plain

if TYPE_CHECKING:
    from pandas_dp.release.values import Release

MOST_ROWS = 200  # of one answer
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
        return json.dumps(vars(self))


def shown(release: Release) -> Shown:
    """Return what is said of a release."""
    aggregate, vector = release.query.aggregate, isinstance(release.value, pd.Series | pd.DataFrame)
    known = release.interval() if vector else None
    told = release._price_line(LEVEL, known) if vector else release._text()
    more = len(release.value) - MOST_ROWS if vector else 0
    told += f". {more:,} more entries are not shown" if more > 0 else ""
    computed = repr(aggregate) if aggregate.stored else None
    notes = [str(note) for note in release.notes if not isinstance(note, Caution)]
    said = (told, release.mechanism, release.lineage, computed, release.assumes, notes, release._cautions())
    return Shown(*said, *(_vector(release, known) if vector else ([], [], [], [])))


def read(text: str | None) -> Shown | None:
    """Return what `Shown.to_json` wrote; None for anything else."""
    try:
        made = Shown(**json.loads(text or ""))
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


def _vector(release: Any, known: Any) -> tuple[list[str], list[Drawing], list[str], list[list[str]]]:
    """Labels, drawings, head and rows of a Series or table."""
    value = release.value
    index = release.query.aggregate.labelled(value.index)
    first = ", ".join(str(name) for name in value.index.names if name is not None) or "Entry"
    cut = release._legible(known).iloc[:MOST_ROWS]
    rows = [
        [_label(label), *map(_cell, row)]
        for label, row in zip(index[:MOST_ROWS], cut.itertuples(index=False, name=None), strict=True)
    ]
    few = len(value) <= MOST_BARS and not release.query.aggregate.mixed  # a drawing has one scale
    drawings = [drawing(column) for column in release._drawn(known)[:MOST_PLOTS]] if few else []
    drawn = [one for one in drawings if one is not None]
    labels = [_label(label) for label in index] if drawn else []
    return labels, drawn, [first, *map(named, cut.columns)], rows


def _label(label: Any) -> str:
    return ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)


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
    return value if isinstance(value, str) else plain(value.item() if hasattr(value, "item") else value)


def jsonable(value: Any) -> Any:
    """Return plain lists, dictionaries, texts and numbers; dates and durations in ISO 8601, others as text.

    Examples
    --------
    >>> jsonable(pd.Series([1, 2], index=[pd.Interval(0, 1), pd.Interval(1, 2)], name="rows"))
    {'index': ['(0, 1]', '(1, 2]'], 'name': 'rows', 'values': [1, 2]}
    >>> jsonable([pd.Timestamp("2013-01-31"), pd.Timedelta("90 min"), float("nan")])
    ['2013-01-31T00:00:00', 'P0DT1H30M0S', None]
    """
    if isinstance(value, pd.DataFrame | pd.Series | Interval | RankBound | ScoreGap):
        return jsonable(_parts(value))
    if isinstance(value, Mapping):
        return {str(key): jsonable(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(entry) for entry in value]
    if isinstance(value, np.generic):
        return jsonable(value.item())
    return _scalar(value)


def _parts(value: Any) -> dict[str, Any]:
    if isinstance(value, pd.DataFrame):
        columns = [value.iloc[:, i].tolist() for i in range(value.shape[1])]
        return {"index": value.index.tolist(), "columns": value.columns.tolist(), "values": columns}
    if isinstance(value, pd.Series):
        return {"index": value.index.tolist(), "name": value.name, "values": value.tolist()}
    if isinstance(value, Interval):
        return {"level": value.level, "lower": value.lower, "upper": value.upper}
    if isinstance(value, RankBound):
        of = {} if value.blocks is None else {"of_blocks": value.blocks}
        return {"level": value.level, "rank_within": value.rows, **of}
    return {"level": value.level, "score_within": value.score}


def _scalar(value: Any) -> Any:
    if value is None or value is pd.NaT or value is pd.NA:
        return None
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, dt.date | pd.Timedelta):  # Timestamp and datetime are dates
        return value.isoformat()
    return value if isinstance(value, bool | int | str) else str(value)
