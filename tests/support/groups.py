"""A small table for questions about groups, and the public facts about it."""

from __future__ import annotations

import numpy as np
import pandas as pd
from support.frames import protected

BIG = 10**4  # at this price a count is off by one with probability below 1e-4000
KEYS = {"sex": ["f", "m"], "city": ["x", "y", "z"]}
MONTHS = pd.period_range("2013-01", "2013-03", freq="M")


def people(rows: int = 60) -> pd.DataFrame:
    n = np.arange(rows)
    return pd.DataFrame(
        {
            "pid": n // 3,
            "sex": pd.Series(list("fmmfk"), dtype="str").take(n % 5).reset_index(drop=True),
            "city": pd.Series(["x", "y", None, "z"], dtype="str").take(n % 4).reset_index(drop=True),
            "ok": n % 7 < 3,
            "age": np.where(n % 11 == 0, np.nan, n % 50),
            "pay": np.where(n % 6 == 0, np.nan, 10.0 * (n % 13)),
            "when": pd.Timestamp("2013-01-01") + pd.to_timedelta(n * 2, unit="D"),
        }
    )


def table(rows: int = 60) -> pd.DataFrame:
    return protected(people(rows), epsilon=10**6)
