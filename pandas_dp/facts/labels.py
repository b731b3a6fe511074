"""Labels of the parts that keys and bins make of a column: the index of an answer."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.errors import ArgumentValueError
from pandas_dp.facts.public_only import legible

SEVERAL_DAYS = re.compile(r"\d{4}([-/](0?[1-9]|1[0-2]))?", re.ASCII)


@dataclass(frozen=True)
class Labels:
    """Public labels of the parts of a partition, as index of an answer.

    Parameters
    ----------
    name : str or None
        Name of the index.
    values : tuple
        One label for each part that is no bin.
    edges : tuple
        Those of the bins, which are the first parts: two or more, or none.
    """

    name: str | None
    values: tuple[Any, ...]
    edges: tuple[Any, ...] = ()

    def __len__(self) -> int:
        """Number of parts."""
        return max(len(self.edges) - 1, 0) + len(self.values)

    def index(self) -> pd.Index[Any]:
        """Return the index: intervals for bins, plain labels otherwise; a copy, since arrays below an index can be changed."""
        return self._index.copy(name=self.name, deep=True)

    @cached_property
    def _index(self) -> pd.Index[Any]:
        if not self.edges:
            if {*map(type, self.values)} == {int}:  # there may be millions
                with suppress(OverflowError):
                    return pd.Index(np.array(self.values, dtype=np.int64))
            # pandas' text columns hold no lone surrogate, which cannot be written as UTF-8
            texts = "".join(value for value in self.values if isinstance(value, str))
            dtype = None if legible(texts) and not _rounded(self.values) else object
            plain: pd.Index[Any] = pd.Index(_in_one_unit(self.values), dtype=dtype, tupleize_cols=False)
            return plain
        binned: pd.Index[Any] = pd.IntervalIndex.from_breaks(list(self.edges), closed="left")
        return pd.Index([*binned, *self.values], dtype=object) if self.values else binned


@dataclass(frozen=True)
class CrossLabels:
    """Public labels of the parts of a `Cross`, as index of several levels.

    Parameters
    ----------
    factors : tuple of Labels or CrossLabels
        Those of several columns have a level for each.
    allowed : tuple of int or None
        As in `Cross`.
    """

    factors: tuple[Labels | CrossLabels, ...]
    allowed: tuple[int, ...] | None = None

    def index(self) -> pd.MultiIndex:
        """Return the index; its levels have their labels in the listed order, so that unstacking keeps it."""
        return self._index.copy(deep=True)

    @cached_property
    def _index(self) -> pd.MultiIndex:
        indexes: list[Any] = [factor.index() for factor in self.factors]
        sizes = [len(index) for index in indexes]
        places = range(math.prod(sizes)) if self.allowed is None else self.allowed
        columns: Any = np.unravel_index(np.array(places, dtype=np.intp), sizes)
        levels: list[Any] = []
        codes: list[Any] = []
        for index, place in zip(indexes, columns, strict=True):
            several = isinstance(index, pd.MultiIndex)
            levels += index.levels if several else [index]
            codes += [own[place] for own in index.codes] if several else [place]
        return pd.MultiIndex(levels, codes, names=[level.name for level in levels])


def one_day(key: Any) -> Any:
    """Return a key among dates; refuse a month or a year, which pandas would take for its first moment."""
    if isinstance(key, str) and (found := SEVERAL_DAYS.fullmatch(key)):
        what, freq = ("month", "M") if found[1] else ("year", "Y")
        raise ArgumentValueError(
            f"{key!r} is a {what}, and keys are single days: type {str(pd.Timestamp(key))[:10]!r}, or for each {what} "
            f"bins=pd.period_range({key!r}, {key!r}, freq={freq!r})"
        )
    return key


def crossed(labels: Labels | CrossLabels, more: Labels) -> CrossLabels:
    """Return the labels of every part with every one of another column, which changes fastest."""
    if isinstance(labels, Labels):
        return CrossLabels((labels, more))
    size, allowed = len(more), labels.allowed
    places = None if allowed is None else tuple(place * size + i for place in allowed for i in range(size))
    return CrossLabels((*labels.factors, more), places)


def _rounded(values: tuple[Any, ...]) -> bool:
    """Whether pandas, which makes floats of whole numbers beside floats or a missing one, could round two labels to one."""
    whole = [v for v in values if isinstance(v, int)]
    return len(whole) < len(values) and any(abs(v) > 1 << 53 for v in whole)


def _in_one_unit(values: tuple[Any, ...]) -> list[Any]:
    """Dates of years that nanoseconds do not count make one dtype with others in microseconds."""
    stamps = [v for v in values if isinstance(v, pd.Timestamp)]
    if not stamps:
        return list(values)
    coarse = any(v.unit == "us" for v in stamps) and not any(v.nanosecond for v in stamps)
    return [v.as_unit("us") if coarse and isinstance(v, pd.Timestamp) else v for v in values]
