"""Files for the command line, and commands as a new process would run them."""

from __future__ import annotations

import os
import sqlite3
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
from support.interpreter import Done, run

from pandas_dp.core.ledger import Ledger

SECRET = "SENTINEL-4711"  # a cell; no command may print it
PLAN = """
[budget]
name = "visits"
epsilon = 3
unit = "pid"
max_rows = 4

[table]
version = 2026-11-28

[schema.cost]
bounds = [0, 100]
[schema.ward]
keys = ["A", "B"]

[[queries]]
name = "rows"
price = { epsilon = 0.5 }
ask = "count()"

[[queries]]
name = "by_ward"
price = { epsilon = 0.25 }
ask = "query('cost > 10').groupby('ward')['cost'].mean()"

[[queries]]
name = "middle"
price = { epsilon = 0.25 }
calls = [{ column = "cost" }, { call = "median" }]
"""


def visits(rows: int = 400) -> pd.DataFrame:
    """A table with a cell that would be recognised."""
    n = np.arange(rows)
    frame = pd.DataFrame({"pid": n // 4, "cost": n % 101, "ward": np.where(n % 3, "A", "B"), "note": "nothing"})
    frame["day"] = pd.Timestamp("2013-01-01") + pd.to_timedelta(n % 59, unit="D")
    frame.loc[7, "note"] = SECRET
    return frame


def command(*arguments: object, before: str = "") -> Done:
    """Run a command in a process that knows no session, after some code."""
    return run(f"{before}\nfrom pandas_dp.__main__ import main\nmain({list(map(str, arguments))!r})")


def spent(path: Path, name: str = "visits") -> Fraction:
    """What a ledger file has charged to a budget."""
    ledger = Ledger(path)
    try:
        return ledger.state(name).epsilon
    finally:
        ledger.close()


def entries(path: Path) -> list[tuple[str, str]]:
    """Kind and price of the entries of a ledger file, by sqlite alone."""
    if not os.path.exists(path):
        return []
    connection = sqlite3.connect(path)
    try:
        return connection.execute("SELECT kind, price FROM entries ORDER BY budget, sequence").fetchall()
    finally:
        connection.close()
