"""The protocols the trusted rooms agree on: a statistic, a mechanism, and the measurement that pairs them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pandas_dp.core.lattice import Raw
from pandas_dp.core.partition import Partition
from pandas_dp.core.privacy import PrivacyLoss, PrivacyUnit, Sensitivity
from pandas_dp.core.randomness import Fill

Noisy = list[int]
"""What a measurement releases: public integers, one for each entry of the statistic."""

Listing = list[list[Any]]
"""What a selection of keys releases: a list for each listed key, in an order that follows from the keys alone. It holds the
cell of each column, text or a number, then the noisy count where one was drawn. JSON keeps it as it is."""

Names = Callable[[NDArray[np.intp]], list[Any]]
"""codes of keys -> the keys, as text or plain numbers (of dates and durations their nanoseconds), or lists of them."""

Shown = tuple[str, ...] | None  # columns that a block shows; None: all


class View(Protocol):
    """The prepared rows of one table, as raw numbers and codes. Only statistics, inside the gate, look at it."""

    rows: int
    weights: NDArray[np.int64] | None  # how many rows each one stands for, see `ByClass`; None: itself
    fill: Fill  # the bytes that choose among the rows of a unit, or blocks, in statistics that add up

    def column(self, name: str) -> Raw:
        """Raw numbers of a column and which are present (None: all); dates and durations in nanoseconds."""

    def present(self, name: str) -> NDArray[np.bool_] | None:
        """Which rows hold a value in a column of any kind; None when all do."""

    def parts(self, partition: Partition) -> NDArray[np.intp]:
        """Part of each row, -1 for none."""

    def coded(self, partition: Partition) -> tuple[NDArray[np.signedinteger[Any]], NDArray[np.intp]]:
        """Code of each row, -2 or more, and the part of each code from -2 on, -1 for none: rows stay in few bytes."""

    def units(self, column: str) -> tuple[NDArray[np.int64], int]:
        """Unit of each row (-1: the key is missing, the row does not count) and the number of units."""

    def periods(self, said: str) -> tuple[NDArray[np.int64], int]:
        """Code of the period of each row (-1: in none) and the number of codes; see `PrivacyUnit.periods`."""

    def combinations(self, columns: tuple[str | Partition, ...]) -> tuple[NDArray[np.int64], int, Names]:
        """Code of each row's combination of keys (-1: none), the number of codes, and lists of cells that they stand for.

        A row has none where it has no key in any of the columns, or lies in no part; the cell of a partition is the part.
        """

    def computed(self, expression: Any) -> Raw:
        """Raw numbers of what a row-wise expression makes of each row."""

    def block_results(
        self, function: Callable[[Any], Any], block: NDArray[np.intp], blocks: int, columns: Shown = None
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
        """Return the integers, a row of them as Python ints, which never wrap; only mechanisms call this."""
        return self._value.tolist() if isinstance(self._value, np.ndarray) and self._value.ndim == 1 else self._value

    def held(self) -> Any:
        """Return them as they are held, to be added to others."""
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


class Batched(ABC):
    """A view whose rows also come in parts, so that not all of them are in memory at once.

    Attributes
    ----------
    condense : callable or None
        Makes a view of one row of each class that a statistic tells apart, with their numbers of rows as `View.weights`.
    """

    condense: Callable[[ByClass], View] | None = None

    @abstractmethod
    def batches(self, unit: str | None) -> Iterator[View]:
        """Views of the parts, at least one, of which one at a time is needed: a row is in its part what it is in the whole.

        Each row lies in exactly one of them. Where a column tells whose rows they are, all rows of a unit lie in the same
        one, and rows without a unit, which count nowhere, may lie in none.
        """

    def summaries(self, statistic: Statistic, unit: PrivacyUnit) -> Iterator[Exact]:
        """What a statistic is for each part, computed wherever its rows are."""
        # by map, which has no name for a part that would keep it while the next one is made
        return map(partial(statistic.compute, unit=unit), self.batches(unit.column))


class AddsUp:
    """A statistic that is for any rows the sum of what it is for parts of them, where each part holds whole units.

    It is then a function of each unit's rows by themselves, and of random choices among these, drawn for each unit by itself,
    added up in integers. So for all ways to cut a table into parts of whole units `merge` gives the very integers that
    `compute` gives for the whole, where no unit's rows are drawn from; else integers of the same law: sums of integers know
    no order and no rounding, and choices of different units are independent in the whole as well. All bounds that
    `sensitivity` states are those of one unit's share of the sum, which is in its part what it is in the whole.
    """

    def adds_up(self, unit: PrivacyUnit) -> bool:
        """Whether it is one for units of this kind."""
        return True

    def merge(self, parts: Iterator[Exact]) -> Exact:
        """Add up the integers of at least one part, entry by entry."""
        return Exact(reduce(added, (part.held() for part in parts)))


def added(one: Any, other: Any) -> Any:
    """Entry by entry the sums of two lists of Python ints, or of two arrays of int64 or Python ints of one shape.

    For all inputs they are exact: int64s are added where the ends of both arrays keep all sums within 2**61, so that twice one
    fits as well, else Python ints.
    """
    if isinstance(one, list):
        return [a + b for a, b in zip(one, other, strict=True)]
    least, most = (int(end(one)) + int(end(other)) for end in (np.min, np.max))
    return one + other if max(-least, most) < 1 << 61 else one.astype(object) + other


class ByClass:
    """A statistic that, where rows are units, asks of a table no more than which classes of rows it has, and their sizes.

    For all rows: one of a class is for it like any other of that class, whatever else they hold. So one row that stands for
    all of its class, beside their number, gives the very integers that the rows give, in some order of the classes. Of which
    class a row is follows from its own cells: rows may be condensed part by part, in any order, and what is left of them again.
    """

    def classes(self, view: View) -> tuple[Any, ...]:
        """Code of the class of each row, -1 for a row that counts nowhere, shape (rows,), and the number of codes."""
        raise NotImplementedError


def computed(statistic: Statistic, view: View, unit: PrivacyUnit) -> Exact:
    """Exact integers of a statistic, or of what it is made of, part by part where that gives the same ones."""
    if isinstance(view, Batched):
        if isinstance(statistic, AddsUp) and statistic.adds_up(unit):
            return statistic.merge(view.summaries(statistic, unit))
        if isinstance(statistic, ByClass) and unit.column is None and view.condense is not None:
            view = view.condense(statistic)
    return statistic.compute(view, unit)


class Mechanism(Protocol):
    """How public integers are drawn from exact ones."""

    def loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """Privacy loss of one draw, for any statistic of this sensitivity."""

    def draw(self, exact: Exact, fill: Fill) -> Noisy | Listing:
        """Draw the public integers, or the keys that become public."""


class Interactive(ABC):
    """A mechanism that answers look after look from one secret, which stays at the door; hashable public terms."""

    @abstractmethod
    def loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """Privacy loss of everything it will ever answer, for statistics of at most this sensitivity."""

    @abstractmethod
    def start(self, sensitivity: Sensitivity, fill: Fill) -> Mechanism:
        """Draw the secret; only the gate calls this, after the loss is paid.

        What is returned adds nothing to that loss, however often it draws, and refuses what the loss does not cover.
        """


@dataclass(frozen=True)
class Measurement:
    """One paid look: a statistic and the mechanism that draws it."""

    statistic: Statistic
    mechanism: Mechanism | Interactive


@dataclass(frozen=True)
class Reply:
    """What the recipe of a stream yields to wait for a question: the value goes out, the next question comes in.

    ``left`` says what is left of the stream. The value that a recipe returns is the last one.
    """

    value: Any
    left: str = "nothing"
    last: bool = False
