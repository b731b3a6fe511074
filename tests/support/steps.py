"""Steps as data, without a protected table: what `RowSteps` makes of arguments beside a table's names and dtypes."""

from __future__ import annotations

from inspect import unwrap
from typing import Any

import pandas as pd

from pandas_dp.steps.changes import Step
from pandas_dp.steps.steps import RowSteps


class Alone(RowSteps[Any]):
    """Steps of nothing but names and dtypes."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame

    def _empty(self) -> pd.DataFrame:
        return self.frame.iloc[:0]

    def _then(self, more: tuple[Step, ...]) -> tuple[Step, ...]:
        return more


def query(expr: Any, empty: pd.DataFrame) -> tuple[Step, ...]:
    return unwrap(RowSteps.query)(Alone(empty), expr)


def filter_(condition: Any, empty: pd.DataFrame) -> tuple[Step, ...]:
    return unwrap(RowSteps.filter)(Alone(empty), condition)


def assign(empty: pd.DataFrame, /, **columns: Any) -> tuple[Step, ...]:
    return unwrap(RowSteps.assign)(Alone(empty), **columns)


def eval_(expr: Any, empty: pd.DataFrame) -> tuple[Step, ...]:
    return unwrap(RowSteps.eval)(Alone(empty), expr)


def clip(lower: Any, upper: Any, empty: pd.DataFrame, *, columns: Any = None) -> tuple[Step, ...]:
    return unwrap(RowSteps.clip)(Alone(empty), lower, upper, columns)


def fillna(value: Any, empty: pd.DataFrame) -> tuple[Step, ...]:
    return unwrap(RowSteps.fillna)(Alone(empty), value)


def dropna(subset: Any, empty: pd.DataFrame) -> tuple[Step, ...]:
    return unwrap(RowSteps.dropna)(Alone(empty), subset)


def drop(columns: Any, empty: pd.DataFrame) -> tuple[Step, ...]:
    return unwrap(RowSteps.drop)(Alone(empty), columns)


def rename(columns: Any, empty: pd.DataFrame) -> tuple[Step, ...]:
    return unwrap(RowSteps.rename)(Alone(empty), columns)


def merge(lookup: Any, on: Any, how: Any, empty: pd.DataFrame) -> tuple[Step, ...]:
    return unwrap(RowSteps.merge)(Alone(empty), lookup, on, how)


def explode(column: Any, max: Any, empty: pd.DataFrame) -> tuple[Step, ...]:
    return unwrap(RowSteps.explode)(Alone(empty), column, max=max)
