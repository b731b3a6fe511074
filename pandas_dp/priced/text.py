"""How a call is written for the ledger and for people."""

from __future__ import annotations

from typing import Any

from pandas_dp.errors import ArgumentTypeError
from pandas_dp.kinds import Kind


def refuse_dates(kind: Kind, name: str, column: str, durations: bool = False) -> None:
    """Refuse sums of dates, and squares of durations."""
    if kind.name == "datetime" or (durations and kind.name == "timedelta"):
        raise ArgumentTypeError(f"{name}() of dates has no meaning; ask mean({column!r}) or median({column!r})")


def bounds_text(bounds: Any) -> str:
    """Write bounds as an argument, or nothing."""
    if isinstance(bounds, str):
        return f"bounds={bounds!r}, "
    return "" if bounds is None else f"bounds=({bounds[0]}, {bounds[1]}), "


def call_text(name: str, column: str, bounds: Any, **more: Any) -> str:
    """Write a call for the ledger and for people."""
    parts = [
        repr(column),
        bounds_text(bounds).rstrip(", "),
        *(f"{key}={value!r}" for key, value in more.items()),
    ]
    return f"{name}({', '.join(part for part in parts if part)})"
