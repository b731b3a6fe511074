"""Partitions that take their time or fail, made on workers, which import this module."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pandas as pd

CELL = "a cell of Alice"


def rows_of(part: int) -> pd.DataFrame:
    """100 rows of 30 units, some of whose rows are in other partitions, too."""
    n = np.arange(100 * part, 100 * part + 100)
    return pd.DataFrame({"pid": n % 30, "cost": n / 7, "sex": np.array(["F", "M"])[n % 2]})


def slow_rows_of(part: int, folder: str) -> pd.DataFrame:
    """The same after a while; a file says which process works on them."""
    (Path(folder) / f"{part} {os.getpid()}").touch()
    time.sleep(0.25)
    return rows_of(part)


def broken(rows: pd.DataFrame) -> pd.DataFrame:
    """A step of the owner's own, before the table is protected."""
    if len(rows):
        raise ValueError(CELL)
    return rows
