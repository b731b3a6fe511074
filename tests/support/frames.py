"""Frames and sessions for tests: a fresh budget each, and a watch on whether data was opened."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
import pytest

from pandas_dp.tables import protected as protected_module

BOUNDS = {"age": (0, 120), "pay": (0, 5000)}


def people() -> pd.DataFrame:
    """A small table of the usual kinds."""
    return pd.DataFrame(
        {
            "pid": [1, 1, 2, 3, 4, 4, 4, 5],
            "age": [31, 31, 45, 62, 18, 18, 18, 77],
            "pay": [1000.0, 1200.5, 3000.0, np.nan, 500.0, 700.0, 0.0, 4999.0],
            "sex": list("fffmmmmf"),
            "city": pd.Categorical(["x", "x", "y", "z", "x", "y", "x", "z"]),
            "when": pd.to_datetime(["2013-01-01"] * 7 + ["2013-02-01"]),
        }
    )


def on_rows(result: object) -> Callable[..., object]:
    """A function of a table of people that returns this, but 1.0 for a made-up table on which it is tried."""
    return lambda table, *more: 1.0 if "a" in set(table["city"]) else result


def fresh(prefix: str = "t") -> str:
    """A budget's name that no other test uses."""
    return f"{prefix}-{uuid.uuid4().hex[:12]}"


def protected(frame: pd.DataFrame | None = None, epsilon: object = 10, **terms: object) -> pd.DataFrame:
    """A frame with a budget of its own."""
    frame = people() if frame is None else frame
    frame.dp.protect(epsilon=epsilon, name=terms.pop("name", fresh()), **terms)
    return frame


class Watch:
    """How often data was opened."""

    def __init__(self) -> None:
        self.opened = 0


@contextlib.contextmanager
def watching(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watch]:
    """Count the times that a view of data is opened."""
    watch, original = Watch(), protected_module.open_view

    def count(*args: object) -> object:
        watch.opened += 1
        return original(*args)

    with monkeypatch.context() as patch:
        patch.setattr(protected_module, "open_view", count)
        yield watch


@contextlib.contextmanager
def refused(
    monkeypatch: pytest.MonkeyPatch, frame: pd.DataFrame, error: type, match: str = "."
) -> Iterator[pytest.ExceptionInfo]:
    """A call that must be refused by its argument: price 0, data untouched, no cell in the text."""
    session = getattr(frame.dp, "session", None)
    before = None if session is None else (session.spent, len(session.releases))
    with watching(monkeypatch) as watch, pytest.raises(error, match=match) as caught:
        yield caught
    assert watch.opened == 0
    assert before is None or (session.spent, len(session.releases)) == before
    assert caught.value.__cause__ is None
