"""Neighbouring tables on which leaks show, and one question of every method: what the audits run through."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from support.drawing import Drawer, capture

Rows = list[tuple[Any, Any, Any]]
LOW, HIGH = 0, 10  # public bounds of x
BOUNDS, BINS, KEYS = (LOW, HIGH), (0, 5, 11), ["a", "b", "c"]
MIXED: Rows = [("p", 2.0, "a"), ("q", 8.0, "b"), ("r", 5.0, "a"), ("s", 9.0, "a")]
ADD_REMOVE, REPLACE_ONE = "add_remove", "replace_one"
RELATIONS = [ADD_REMOVE, REPLACE_ONE]


@dataclass(frozen=True)
class Pair:
    """Two neighbouring tables of rows (unit, x, g).

    Attributes
    ----------
    name : str
    rows : (list, list)
    about : str
        Letters of the columns that it is about; methods that read none of them skip it. Empty: all methods.
    max_rows : int or None
        With a number, column u is the unit; None: every row is one.
    """

    name: str
    rows: tuple[Rows, Rows]
    about: str = ""
    max_rows: int | None = None

    def __str__(self) -> str:
        return self.name

    def frames(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        return frame(self.rows[0]), frame(self.rows[1])

    def terms(self, relation: str) -> dict[str, Any]:
        unit = {} if self.max_rows is None else {"unit": "u", "max_rows": self.max_rows}
        return {"neighbors": relation, **unit}


@dataclass(frozen=True)
class Method:
    """One question: how it is asked of ``df.dp(epsilon=...)``, and the columns it reads."""

    name: str
    ask: Callable[[Any], Any]
    reads: str


def frame(rows: Rows) -> pd.DataFrame:
    """Table of rows (unit, x, g) with the same dtypes whatever it holds."""
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    units, values, keys = (list(column) for column in columns)
    return pd.DataFrame(
        {
            "u": pd.Series(units, dtype="str"),
            "x": np.array(values, dtype="float64"),
            "g": pd.Series(keys, dtype="str"),
        }
    )


_sessions: dict[frozenset[tuple[str, Any]], Any] = {}


def session(**terms: Any) -> Any:
    """A session on these terms, one for all audits: opening one reads all that its ledger holds."""
    key = frozenset(terms.items())
    if key not in _sessions:
        _sessions[key] = frame([]).dp.protect(epsilon=10**6, name=f"audits {uuid.uuid4().hex}", **terms)
    return _sessions[key]


def protected(table: pd.DataFrame, **terms: Any) -> pd.DataFrame:
    """The table, answered by the session on these terms."""
    table.dp.protect(session=session(**terms))
    return table


def drawer(
    table: pd.DataFrame, ask: Callable[[Any], Any], epsilon: Any = 1, price_delta: Any = 0, **terms: Any
) -> Drawer:
    """Put one question through the public API and return what draws its answer again."""
    protected(table, **terms)
    return Drawer(capture(lambda: ask(table.dp(epsilon=epsilon, delta=price_delta, fresh=True))))


METHODS = [
    Method("count", lambda dp: dp.count(), ""),
    Method("count column", lambda dp: dp.count("x"), "x"),
    Method("sum", lambda dp: dp.sum("x", bounds=(-HIGH, HIGH)), "x"),
    Method("mean", lambda dp: dp.mean("x", bounds=BOUNDS), "x"),
    Method("var", lambda dp: dp.var("x", bounds=BOUNDS), "x"),
    Method("histogram bins", lambda dp: dp.histogram("x", bins=BINS), "x"),
    Method("histogram keys", lambda dp: dp.histogram("g", keys=KEYS), "g"),
    Method("median", lambda dp: dp.median("x", bounds=BOUNDS), "x"),
    Method("mode", lambda dp: dp.mode("g", keys=KEYS), "g"),
    Method("groupby mean", lambda dp: dp.groupby("g", keys=KEYS)["x"].mean(bounds=BOUNDS), "gx"),
    Method(
        "groupby_mean_sa",
        lambda dp: dp.groupby_mean_sa("g", "x", keys=KEYS, bounds=BOUNDS, blocks=2, aggregator="mean"),
        "gx",
    ),
]
METHOD = {method.name: method for method in METHODS}


def several(value: float, count: int, key: str = "a", unit: str = "p") -> Rows:
    """Rows of equal value, each of a unit of its own unless one is named."""
    return [(unit, value, key)] * count


def added(name: str, more: Rows, rows: Rows = MIXED, about: str = "", max_rows: int | None = None) -> Pair:
    """Rows, and the same with one unit more at the end."""
    return Pair(name, (rows, rows + more), about, max_rows)


def replaced(name: str, old: Rows, new: Rows, rows: Rows = MIXED, about: str = "", max_rows: int | None = None) -> Pair:
    """Rows in which the last unit has other content."""
    return Pair(name, (rows + old, rows + new), about, max_rows)


HEAVY_LOW, HEAVY_HIGH = several(LOW, 5, "b", "z"), several(HIGH, 5, "a", "z")

PAIRS = {
    ADD_REMOVE: [
        added("empty, one row", several(HIGH, 1), []),
        added("one row, two", several(5, 1), several(5, 1)),
        added("all low, one high", several(HIGH, 1), several(LOW, 6), "x"),
        added("all high, one low", several(LOW, 1), several(HIGH, 6), "x"),
        added("around the median", several(8, 1), several(2, 5) + several(8, 4), "x"),
        *(added(f"at the edge {edge}", several(edge, 1), about="x") for edge in BINS),
        added("NaN added", several(np.nan, 1), about="x"),
        added("inf added", several(np.inf, 1), about="x"),
        added("-inf added", several(-np.inf, 1), about="x"),
        added("key seen once", several(LOW, 1, "c"), about="g"),
        added("unlisted key", several(HIGH, 1, "z"), about="g"),
        added("missing key", [("z", HIGH, None)], about="g"),
        Pair("last row removed", (MIXED, MIXED[:-1])),
        Pair("first row removed", (MIXED, MIXED[1:])),
        added("duplicate row", [MIXED[1]]),
        added("unit of one row", several(HIGH, 1, "a", "z"), max_rows=2),
        added("unit of many rows", HEAVY_HIGH, max_rows=2),
        added("unit of many rows and keys", HEAVY_LOW + HEAVY_HIGH, about="gx", max_rows=2),
        added("unit without a value", several(np.nan, 3, "a", "z"), about="x", max_rows=2),
    ],
    REPLACE_ONE: [
        replaced("one row", several(LOW, 1), several(HIGH, 1), []),
        replaced("two rows, one moved", several(LOW, 1), several(HIGH, 1), several(5, 1)),
        replaced("all low, one high", several(LOW, 1), several(HIGH, 1), several(LOW, 6), "x"),
        replaced("all high, one low", several(HIGH, 1), several(LOW, 1), several(HIGH, 6), "x"),
        replaced("around the median", several(2, 1), several(8, 1), several(2, 4) + several(8, 4), "x"),
        *(replaced(f"across the edge {edge}", several(edge - 0.01, 1), several(edge, 1), about="x") for edge in BINS),
        replaced("off the last edge", several(HIGH, 1), several(BINS[-1], 1), about="x"),
        replaced("becomes NaN", several(HIGH, 1), several(np.nan, 1), about="x"),
        replaced("becomes inf", several(LOW, 1), several(np.inf, 1), about="x"),
        replaced("becomes -inf", several(HIGH, 1), several(-np.inf, 1), about="x"),
        replaced("key seen once", several(HIGH, 1, "a"), several(LOW, 1, "c"), about="g"),
        replaced("unlisted key", several(HIGH, 1, "a"), several(HIGH, 1, "z"), about="g"),
        replaced("missing key", several(HIGH, 1), [("z", HIGH, None)], about="g"),
        replaced("last row", MIXED[-1:], several(LOW, 1, "b"), MIXED[:-1]),
        Pair("first row", (MIXED, several(HIGH, 1, "c") + MIXED[1:])),
        replaced("duplicate row", several(HIGH, 1, "c"), [MIXED[0]]),
        replaced("unit of one row", several(LOW, 1, "b", "z"), several(HIGH, 1, "a", "z"), max_rows=2),
        replaced("unit of many rows", HEAVY_LOW, HEAVY_HIGH, max_rows=2),
        replaced("many rows become one", HEAVY_HIGH, several(LOW, 1, "b", "z"), max_rows=2),
        replaced("values go missing", HEAVY_HIGH, several(np.nan, 5, "a", "z"), about="x", max_rows=2),
    ],
}
SHUFFLED = Pair("order shuffled", (MIXED, [MIXED[i] for i in (2, 0, 3, 1)]))
SHUFFLED_UNITS = Pair(
    "order of units shuffled", (HEAVY_LOW + HEAVY_HIGH + MIXED, MIXED + HEAVY_HIGH + HEAVY_LOW), max_rows=2
)


def suits(pair: Pair, method: Method) -> bool:
    """Whether a method reads what the pair is about."""
    return not pair.about or bool(set(pair.about) & set(method.reads))
