"""Every question on tables whose rows are elsewhere: what it is asked of, at a price without noise worth speaking of."""

from __future__ import annotations

from typing import Any

import pandas as pd
from support.frames import fresh
from support.questions import BY_UNIT, EVERY, FOUND, FROM_BLOCKS, ROW_BY_ROW, STREAMS, table

QUESTIONS = {name: ask for name, ask in (EVERY | FOUND).items() if name not in STREAMS}
DRAWN = {*FROM_BLOCKS, "vote", "median of blocks", "winsorized mean", "winsorized blocks", "smooth blocks"}
DRAWN |= {"groups by noisy size"}
SAME = [name for name in QUESTIONS if name not in DRAWN]


def with_nulls() -> pd.DataFrame:
    """Every fifth cost, every seventh age and every eleventh ward are missing."""
    frame = table()
    frame["cost"] = frame["cost"].astype("float64").mask(frame.index % 5 == 0)
    frame["age"] = frame["age"].mask(frame.index % 7 == 0)
    frame.loc[frame.index % 11 == 0, "ward"] = None
    return frame


def prepared(held: Any, steps: bool) -> Any:
    """The table after steps of several kinds, which leave every column as it is but for missing values."""
    if not steps:
        return held
    made = held.dp.query("age > 21 and uid < 45").dp.eval("more = cost + age").dp.fillna({"cost": 5})
    return made.dp.filter(lambda d: d.more != 50).dp.rename({"more": "extra"})


def answer(name: str, held: Any, unit: bool = False, steps: bool = False) -> Any:
    """What a question returns of a table, at a price without noise worth speaking of."""
    units = {"unit": "uid", "max_rows": 4} if unit or name in BY_UNIT else {}
    neighbors = "replace_one" if name in ROW_BY_ROW else "add_remove"
    held.dp.protect(10**6, 0.5, delta_reserved=0.4, neighbors=neighbors, name=fresh(), **units)
    price = {"epsilon": 10**5, "delta": 1e-6} if name in FOUND else {"epsilon": 10**5}
    return QUESTIONS[name](prepared(held, steps).dp(**price)).value
