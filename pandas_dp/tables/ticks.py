"""Moments and spans of single cells, as whole ticks of a unit."""

from __future__ import annotations

import contextlib
import datetime as dt
import re
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.engines.encode import NANOSECONDS
from pandas_dp.facts.kinds import DATE
from pandas_dp.steps.bare import bare

MISSING, LARGEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
# as pandas writes it, and Dask makes text of it
SPAN = re.compile(r"-?\d+ days( [+-]?\d{2}:\d{2}:\d{2}(\.\d{1,9})?)?", re.ASCII)
MOMENTS = (dt.date, np.datetime64)  # a timestamp is a date, too
SPANS = (dt.timedelta, np.timedelta64)


def moment_of(cell: Any, unit: str) -> int:
    """Ticks of a moment, one without a time zone being that of UTC; `MISSING` for whatever is none."""
    cell = bare(cell)
    if type(cell) is str:
        cell = cell.strip()
        if not DATE.fullmatch(cell):
            return MISSING
    elif not issubclass(type(cell), MOMENTS):
        return MISSING
    with contextlib.suppress(Exception, SystemExit):  # out of range, or a time zone of the user's own
        moment = pd.Timestamp(cell)
        return _ticks(moment if moment.tz is None else moment.tz_convert("UTC").tz_localize(None), unit)
    return MISSING


def span_of(cell: Any, unit: str) -> int:
    """Ticks of a span; `MISSING` for whatever is none."""
    with contextlib.suppress(Exception):  # out of range
        cell = bare(cell)
        written = type(cell) is str and SPAN.fullmatch(cell.strip())
        return _ticks(pd.Timedelta(cell), unit) if written or issubclass(type(cell), SPANS) else MISSING
    return MISSING


def _ticks(moment: Any, unit: str) -> int:
    if moment is pd.NaT:
        return MISSING
    ticks = int(moment.asm8.view("i8")) * NANOSECONDS[moment.unit] // NANOSECONDS[unit]
    return ticks if abs(ticks) <= LARGEST else MISSING
