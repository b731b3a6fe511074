"""How a call is written for the ledger and for people."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.errors import ArgumentTypeError, did_you_mean
from pandas_dp.kinds import Kind

MOST_LISTED, MOST_CHARACTERS = 40, 120  # longer lists of keys and edges are not written out

_ROWS = "rows are never released: ask about them, such as .count() or .mean({column}bounds=(lower, upper))"
_BEFORE = "prepare the columns before df.dp.protect(...), or with .assign(...) and .query(...)"
_OWN = "ask one question a call, or give your own function: .sample_and_aggregate(function, bounds=(lower, upper))"
_HINTS = {
    "unique": "list the public keys and count each: .histogram({column}keys=[...]); how many there are: .nunique(...)",
    "hist plot": "ask .histogram({column}bins=[...]) and type .plot() after the answer",
    "head tail iloc loc iat at sample values to_numpy iterrows itertuples nlargest nsmallest sort_values shape": _ROWS,
    "agg aggregate": "several answers for one price: df.dp(epsilon=0.5).agg({'cost': ['mean', 'std']}, bounds=...)",
    "apply pipe transform map": _OWN,
    "dropna": "missing values are left out of every answer; .fillna(...) replaces them",
    "astype str dt cat merge join": _BEFORE,
}
HINTS = {name: hint for names, hint in _HINTS.items() for name in names.split()}
_GROUPS = {
    "median quantile var std histogram value_counts mode ecdf": (
        "by group there are count, size, sum and mean; ask the others group by group, each at its price: "
        "df.dp(epsilon=0.5).query(\"{by} == 'A'\").{name}({column}...)"
    ),
    "agg aggregate apply transform pipe filter describe": (
        "ask one question a call: .groupby('{by}', keys=[...])['column'].mean(bounds=(lower, upper)), then .count(), ..."
    ),
    "min max first last nth head tail": "one row's value is never released; by group there are count, size, sum and mean",
    "groups ngroups get_group nunique": "the groups are the keys that you listed; df.dp(epsilon=0.5).query(...) is one of them",
}
GROUP_HINTS = {name: hint for names, hint in _GROUPS.items() for name in names.split()}
ONE_GROUPING = (
    "groupby() takes one column and its keys; for a second one ask group by group: "
    "df.dp(epsilon=0.5).query(\"sex == 'F'\").groupby('race', keys=[...]).count()"
)
ONE_COLUMN = (
    "select one column of the groups, and ask again for the next: .groupby('{by}', keys=[...])['cost'].mean(...)"
)


def missing_question(asked: type, name: str, column: str, by: str | None = None) -> str:
    """Say what can be asked instead of something that cannot.

    Parameters
    ----------
    asked : type
        Its public methods are the questions there are.
    name : str
    column : str
        How the column stands first in a call: ``"'column', "``, or nothing where it is selected already.
    by : str, optional
        The column of groups.
    """
    if by is not None and name in GROUP_HINTS:
        hint = GROUP_HINTS[name].replace("{by}", by).replace("{name}", name).replace("{column}", column)
        return f"there is no question {name!r} of groups: {hint}"
    questions = [known for known in dir(asked) if not known.startswith("_")]
    if name in HINTS:
        return f"there is no question {name!r}: {HINTS[name].replace('{column}', column)}"
    close = did_you_mean(name, questions) or "."
    return f"there is no question {name!r}{close} There are: {', '.join(questions)}"


def refuse_dates(kind: Kind, name: str, column: str, durations: bool = False) -> None:
    """Refuse sums of dates, and squares of durations."""
    if kind.name == "datetime" or (durations and kind.name == "timedelta"):
        raise ArgumentTypeError(f"{name}() of dates has no meaning; ask mean({column!r}) or median({column!r})")


def value_text(value: Any) -> str:
    """Write a public value as one types it."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, pd.Timestamp | pd.Timedelta):
        return repr(str(value).removesuffix(" 00:00:00"))
    return listing(value) if isinstance(value, tuple) else repr(value)


def listing(values: tuple[Any, ...]) -> str:
    """Write a list of keys or edges, or how many they are where they are many."""
    text = f"[{', '.join(map(value_text, values))}]" if len(values) <= MOST_LISTED else ""
    return text if 0 < len(text) <= MOST_CHARACTERS else f"[... {len(values):,} values]"


def edges(labels: tuple[Any, ...], count: int) -> tuple[Any, ...]:
    """Edges of `count` bins, from the pairs that label them."""
    return (labels[0][0], *(right for _, right in labels[:count]))


def bounds_text(bounds: Any) -> str:
    """Write bounds as an argument, or nothing."""
    if isinstance(bounds, str):
        return f"bounds={bounds!r}, "
    return "" if bounds is None else f"bounds=({value_text(bounds[0])}, {value_text(bounds[1])}), "


def call_text(name: str, column: str, bounds: Any, **more: Any) -> str:
    """Write a call for the ledger and for people."""
    parts = [
        repr(column),
        bounds_text(bounds).rstrip(", "),
        *(f"{key}={value_text(value)}" for key, value in more.items()),
    ]
    return f"{name}({', '.join(part for part in parts if part)})"
