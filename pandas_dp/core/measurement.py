"""The protocols the trusted rooms agree on: a statistic, a mechanism, and the measurement that pairs them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pandas_dp.core.lattice import Raw
from pandas_dp.core.partition import Partition
from pandas_dp.core.privacy import PrivacyLoss, PrivacyUnit, Sensitivity
from pandas_dp.core.randomness import Fill

Noisy = list[int]
"""What a measurement releases: public integers, one for each entry of the statistic."""


class View(Protocol):
    """The prepared rows of one table, as raw numbers and codes. Only statistics, inside the gate, look at it."""

    rows: int

    def column(self, name: str) -> Raw:
        """Raw numbers of a column and which are present (None: all); dates and durations in nanoseconds."""

    def present(self, name: str) -> NDArray[np.bool_] | None:
        """Which rows hold a value in a column of any kind; None when all do."""

    def parts(self, partition: Partition) -> NDArray[np.intp]:
        """Part of each row, -1 for none."""

    def units(self, column: str) -> tuple[NDArray[np.int64], int]:
        """Unit of each row (-1: the key is missing, the row does not count) and the number of units."""

    def computed(self, expression: Any) -> Raw:
        """Raw numbers of what a row-wise expression makes of each row."""

    def block_results(
        self,
        function: Callable[[Any], Any],
        block: NDArray[np.intp],
        blocks: int,
        columns: tuple[str, ...] | None = None,
    ) -> list[Any]:
        """What a user's function returns for each block of rows, rebuilt so that a block tells of no other one.

        Parameters
        ----------
        function : callable
            Its exceptions count as the result None.
        block : ndarray of intp, shape (rows,)
            Block of each row, -1 for none.
        blocks : int
        columns : tuple of str or None
            What a block shows; None: all columns.
        """


class Exact:
    """Exact integers on their way to a mechanism: nothing of them shows in a repr, a pickle or a comparison."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    def open(self) -> Any:
        """Return the integers; only mechanisms call this."""
        return self._value

    def __repr__(self) -> str:
        """Show nothing."""
        return "<exact>"

    def __reduce__(self) -> Any:
        """Refuse to leave the process."""
        raise TypeError("exact results cannot be pickled")


class Statistic(Protocol):
    """Which exact integers are needed, and how far one unit can move them. Frozen public arguments, nothing else."""

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """From public arguments only."""

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Only the gate calls this."""


class Mechanism(Protocol):
    """How public integers are drawn from exact ones."""

    def loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """Privacy loss of one draw, for any statistic of this sensitivity."""

    def draw(self, exact: Exact, fill: Fill) -> Noisy:
        """Draw the public integers."""


@dataclass(frozen=True)
class Measurement:
    """One paid look: a statistic and the mechanism that draws it."""

    statistic: Statistic
    mechanism: Mechanism
