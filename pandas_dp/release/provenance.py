"""Where a release comes from and what it cost: public facts alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from pandas_dp.aggregates.asked import AskedQuery
from pandas_dp.aggregates.base import Answer, Guarantee
from pandas_dp.aggregates.told import left_out
from pandas_dp.aggregates.uncertainty import ErrorModel
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.steps import periods


@dataclass(frozen=True, eq=False)
class Provenance:
    """Where a release comes from: public facts only.

    Attributes
    ----------
    query : AskedQuery
    mechanism : str
    unit : PrivacyUnit
    lineage : str
        ``"source"``: the protected table itself; ``"declared"``: made from it by checked steps;
        ``"vouched"``: by the owner's word.
    error : ErrorModel, Guarantee or None
        What is known of the error.
    notes : tuple of str
    extras : tuple of Series
        Further columns of a vector, in its order.
    spent : str
        The price that was charged, ``"nothing"`` for a public number.
    assumes : str or None
        What the guarantee takes on the caller's word.
    found : str or None
        What a first look at the data chose for the answer, such as its bounds.
    stored : bool
        Whether the answer was paid for earlier and came out of the ledger. Said on the screen, not in JSON or CSV: the files
        of a job that is started again stay as they are.
    content : tuple or None
        Public names of the rows that were asked: two answers with equal ones are about the same rows. Not in files. None of
        answers that were pickled by an earlier version.
    entry : int or None
        Number of the ledger's entry that paid for it. Not in files.
    """

    query: AskedQuery
    mechanism: str
    unit: PrivacyUnit
    lineage: str
    error: ErrorModel | Guarantee | None
    notes: tuple[str, ...]
    extras: tuple[pd.Series[Any], ...]
    spent: str
    assumes: str | None = None
    found: str | None = None
    stored: bool = False
    content: tuple[Any, ...] | None = None
    entry: int | None = None

    @property
    def periods(self) -> tuple[int, int] | None:
        """First and last of the periods whose rows were asked, where the question named any."""
        return periods.named(self.query.steps)

    @classmethod
    def of(
        cls,
        answer: Answer,
        query: AskedQuery,
        notes: tuple[str, ...],
        unit: PrivacyUnit,
        lineage: str,
        spent: str,
        *rest: Any,
    ) -> Provenance:
        """Put together what an answer says of itself, what its table does, and where it comes from: `rest` from `stored` on."""
        left = left_out(unit, query.aggregate) if query.aggregate.bounded else ()
        spent += query.beside
        notes = (*answer.notes, *notes, *query.notes, *query.earlier, *left)
        known = (answer.error, notes, answer.extras, spent, answer.assumes, answer.found, *rest)
        return cls(query, answer.mechanism, unit, lineage, *known)
