"""Public values as JSON."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.aggregates.uncertainty import Interval, RankBound, ScoreGap


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
        return {"level": value.level, "rank_within": value.rows}
    return {"level": value.level, "score_within": value.score}


def _scalar(value: Any) -> Any:
    if value is None or value is pd.NaT or value is pd.NA:
        return None
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, dt.date | pd.Timedelta):  # Timestamp and datetime are dates
        return value.isoformat()
    return value if isinstance(value, bool | int | str) else str(value)
