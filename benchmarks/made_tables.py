"""Invented tables of the usual kinds; every random number is public."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd

STATES = [f"S{i:02d}" for i in range(50)]
SEXES = ["F", "M"]
SIZES = list(range(1, 101))
KINDS = ("rows", "people", "sparse")
UNIT_ROWS = 5
_numbers = itertools.count()


def protect(frame: pd.DataFrame, **terms: object) -> pd.DataFrame:
    """Open a budget of its own that no benchmark uses up."""
    frame.dp.protect(epsilon=10**6, name=f"benchmark {next(_numbers)}", **terms)
    return frame


def make(kind: str, rows: int) -> pd.DataFrame:
    """Return a protected table: "rows" for questions about rows; "people" and "sparse" for units of five rows on average.

    Unit ids are dense (0, 1, 2, ...) in "people" and anywhere in 62 bits in "sparse".
    """
    rng = np.random.default_rng(7)
    income = np.minimum(rng.lognormal(10.5, 0.8, rows), 500_000.0)
    age = rng.integers(0, 100, rows)
    if kind == "rows":
        return protect(
            pd.DataFrame(
                {
                    "age": age,
                    "income": income,
                    "income32": income.astype(np.float32),
                    "holes": np.where(rng.random(rows) < 0.1, np.nan, rng.normal(50, 20, rows)),
                    "state": _texts(STATES, rng, rows),
                    "sex": _texts(SEXES, rng, rows),
                    "region": pd.Categorical.from_codes(rng.integers(0, 50, rows), STATES),
                    "gender": pd.Categorical.from_codes(rng.integers(0, 2, rows), SEXES),
                }
            )
        )
    units = max(rows // UNIT_ROWS, 1)
    uid = rng.integers(0, units, rows)
    if kind == "sparse":
        uid = rng.integers(0, 2**62, units)[uid]
    return protect(pd.DataFrame({"uid": uid, "age": age, "income": income}), unit="uid", max_rows=UNIT_ROWS)


def _texts(keys: list[str], rng: np.random.Generator, rows: int) -> pd.Series:
    return pd.Series(pd.Categorical.from_codes(rng.integers(0, len(keys), rows), keys)).astype("str")
