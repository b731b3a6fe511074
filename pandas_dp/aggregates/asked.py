"""A query: what is asked, of rows prepared how, at which price. Frozen, picklable, without data."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from pandas_dp.aggregates.base import Aggregate
from pandas_dp.core.privacy import Price, PrivacyUnit


@dataclass(frozen=True)
class AskedQuery:
    """One question with all its public arguments.

    Attributes
    ----------
    call : str
        How the user wrote it, for people: ``mean('cost')``.
    aggregate : Aggregate
    steps : tuple
        Row-wise steps that lead from the protected table to the rows asked.
    price : Price
    notes : tuple of str
        What a reader of the answer should know of how it was asked, such as where its keys come from.
    groups : int or None
        In how many groups a unit counts in this question alone; None: in as many as its budget allows.
    own : int
        How many of the steps, the last ones, follow from the call, which says them.
    refines : tuple of int
        Entries of the ledger that paid for worse draws of this answer, whose noise is its own and more, or of one it averages.
    averages : tuple of (int, Price)
        Entries that paid for other draws of this question, of which with its own the answer is the mean, and their prices.
    """

    call: str
    aggregate: Aggregate
    steps: tuple[Any, ...]
    price: Price
    notes: tuple[str, ...] = ()
    groups: int | None = None
    own: int = 0
    refines: tuple[int, ...] = ()
    averages: tuple[tuple[int, Price], ...] = ()

    @property
    def within(self) -> set[int]:
        """Entries that paid for earlier draws that this answer is made of: its privacy is theirs, too."""
        return {*self.refines, *(entry for entry, _ in self.averages)}

    @property
    def earlier(self) -> tuple[str, ...]:
        """What it has to do with earlier draws of the same question."""
        if not self.averages:
            return tuple(f"refines entry {entry}" for entry in self.refines[-1:])
        entries = ", ".join(str(entry) for entry, _ in self.averages)
        return (
            f"the mean of a new draw and entr{'ies' if len(self.averages) > 1 else 'y'} {entries}, weighted by precision",
        )

    @property
    def beside(self) -> str:
        """What was paid beside the price of this draw, in words."""
        if not self.averages:
            return f" ({self.price} in all)" if self.refines else ""
        return f" (beside {' and '.join(str(price) for _, price in self.averages)})"

    def __str__(self) -> str:
        """Say it as the ledger records it."""
        return "".join(f"{step}." for step in self.steps[: len(self.steps) - self.own]) + self.call

    def key(self, table: str, unit: PrivacyUnit, steps: tuple[Any, ...]) -> str | None:
        """Return the name under which the answer is stored: a digest of public facts only, never of data.

        The version of the recipe is one of them: noisy integers are found by the recipe that reads them as they were drawn.
        None for questions that are never stored.
        """
        if not self.aggregate.stored:
            return None
        recipe = f"{self.aggregate!r} {self.aggregate.version}"
        text = "\n".join((repr(table), recipe, repr(steps), repr(self.price), repr(unit)))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
