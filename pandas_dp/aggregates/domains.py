"""Public domains of several columns: all combinations of their bins and keys, and which of them fulfil a condition."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_dp.core.partition import Bins, Keys
from pandas_dp.errors import ArgumentValueError
from pandas_dp.steps.expression import Expression

MOST_CHECKED = 1 << 26  # ends of cells at which one condition is evaluated


@dataclass(frozen=True)
class Axis:
    """Parts of one column.

    Parameters
    ----------
    parts : Bins or Keys
        Without parts for other and missing values. Keys are all text or all bool.
    whole : bool
        Whether the column holds whole numbers.
    """

    parts: Keys | Bins
    whole: bool = False

    def ends(self) -> list[pd.Series[Any]]:
        """One value of each part; for bins the smallest, and the largest: shape (parts,) each."""
        if not isinstance(self.parts, Bins):
            text = isinstance(self.parts.keys[0], str)
            return [pd.Series(list(self.parts.keys), dtype="str" if text else "bool")]
        edges = self.parts.edges
        if self.whole:
            whole = np.array([math.ceil(edge) for edge in edges])
            return [pd.Series(whole[:-1]), pd.Series(np.maximum(whole[:-1], whole[1:] - 1))]
        exact = np.array(edges, dtype=np.float64)
        return [pd.Series(exact[:-1]), pd.Series(np.nextafter(exact[1:], -np.inf))]


@dataclass(frozen=True)
class Domain:
    """All combinations of the parts of some columns, its cells, in row-major order."""

    axes: tuple[Axis, ...]

    @property
    def cells(self) -> int:
        """Number of combinations."""
        return math.prod(axis.parts.count for axis in self.axes)

    def holding(self, condition: Expression) -> NDArray[np.bool_]:
        """Which cells fulfil a condition, shape (cells,).

        Raises
        ------
        ArgumentValueError
            The condition reads another column, or holds at one end of a bin and not at the other.
        """
        known = [axis.parts.column for axis in self.axes]
        foreign = sorted(condition.columns().difference(known))
        if foreign:
            raise ArgumentValueError(f"ask: {foreign[0]!r} is not a column of the domain, which has {', '.join(known)}")
        used = [axis for axis in self.axes if axis.parts.column in condition.columns()]
        counts = [axis.parts.count for axis in used]
        if 2 ** sum(isinstance(axis.parts, Bins) for axis in used) * math.prod(counts) > MOST_CHECKED:
            raise ArgumentValueError(
                "ask: the condition reads too many columns of bins at once; ask about fewer of them"
            )
        places = np.indices(counts).reshape(len(used), math.prod(counts))  # shape (used, combinations)
        found: NDArray[np.bool_] | None = None
        for corner in product(*(axis.ends() for axis in used)):
            columns = {
                axis.parts.column: values.take(place).array
                for axis, values, place in zip(used, corner, places, strict=True)
            }
            holds = condition.condition(pd.DataFrame(columns, index=pd.RangeIndex(places.shape[1])))
            if found is not None and not np.array_equal(found, holds):
                raise ArgumentValueError(
                    "ask: the condition splits a bin of the domain; compare with its edges, such as age >= 30 where 30 is an "
                    "edge, or give the domain more of them"
                )
            found = holds
        shape = [axis.parts.count if axis in used else 1 for axis in self.axes]
        every = tuple(axis.parts.count for axis in self.axes)
        return np.broadcast_to(np.asarray(found).reshape(shape), every).ravel()
