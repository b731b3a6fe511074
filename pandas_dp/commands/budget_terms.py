"""The terms of a budget as a plan file, the command line or a ledger has them: the arguments of ``df.dp.protect``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from pandas_dp import opening
from pandas_dp.accessor import dp
from pandas_dp.core.budget import Budget
from pandas_dp.core.ledger import Ledger, open_ledger
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.core.records import plain
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, did_you_mean
from pandas_dp.facts import numbers
from pandas_dp.names import check_name
from pandas_dp.schema import Schema
from pandas_dp.session import PART, Session

UNIT = ("unit", "max_rows", "max_groups", "max_rows_per_group")
TERMS = ("name", "epsilon", "delta", "accountant", "delta_reserved", "neighbors", *UNIT)
EXAMPLE = 'name = "visits", epsilon = 3, unit = "patient_id", max_rows = 10'


@dataclass(frozen=True)
class BudgetTerms:
    """What ``df.dp.protect`` is told, checked without a frame.

    Attributes
    ----------
    name : str
    budget : Budget
    unit : PrivacyUnit
    given : mapping
        The arguments of ``protect`` beside ledger, schema, table and version.
    """

    name: str
    budget: Budget
    unit: PrivacyUnit
    given: Mapping[str, Any]

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> BudgetTerms:
        """Check terms by name.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
        """
        for term in given:
            if term not in TERMS:
                raise ArgumentValueError(f"a budget has no {term!r}{did_you_mean(term, TERMS)}: {EXAMPLE}")
        for term, example in (("name", '"visits"'), ("epsilon", "3")):
            if term not in given:
                raise ArgumentTypeError(f"a budget needs its {term}: {term} = {example}")
        name = given["name"]
        if not isinstance(name, str) or not name or PART in name:
            raise ArgumentTypeError('name must be a text without "::", which marks parts of a budget: name = "visits"')
        column, rows, groups, each = (given.get(term) for term in UNIT)
        unit = opening.privacy_unit(column, rows, groups, each, given.get("neighbors", "add_remove"))
        accountant = given.get("accountant", "auto")
        if not isinstance(accountant, str):
            raise ArgumentTypeError('accountant must be a text: accountant = "auto"')
        reserved = given.get("delta_reserved")
        budget = Budget.of(
            numbers.positive_epsilon(given["epsilon"]),
            numbers.small_delta(given.get("delta", 0)),
            None if reserved is None else numbers.small_delta(reserved, "delta_reserved"),
            accountant,
        )
        return cls(name, budget, unit, dict(given))

    @classmethod
    def recorded(cls, ledger: Ledger, name: str) -> BudgetTerms | None:
        """Return the terms that a ledger has on record, or None where it knows no budget of this name."""
        known = ledger.budget(name)
        if known is None:
            return None
        budget, unit = known
        given: dict[str, Any] = {
            "name": name,
            "epsilon": budget.epsilon,
            "delta": budget.delta,
            "neighbors": unit.relation.value,
        }
        if budget.plan:
            given["plan"] = dict(budget.plan)
        elif budget.delta:
            given |= {"accountant": budget.accountant, "delta_reserved": budget.delta_reserved or None}
        if unit.column is not None:
            given |= dict(zip(UNIT, (unit.column, unit.rows, unit.groups, unit.rows_per_group), strict=True))
        return cls(name, budget, unit, given)

    def open(self, ledger: Ledger) -> None:
        """Open the budget in a ledger, or compare the terms of the one that is there.

        Raises
        ------
        ArgumentValueError, LedgerError
        """
        self.check_name(ledger)
        ledger.open(self.name, self.budget, self.unit)

    def check_name(self, ledger: Ledger) -> None:
        """Refuse a name that cannot be told from one in the ledger."""
        check_name(plain(self.name), ledger.heads())

    def protect(self, frame: pd.DataFrame, schema: Schema, ledger: str, table: str, version: str | None) -> Session:
        """Protect a frame on this budget, which is opened where the ledger has none.

        Notes
        -----
        The number of rows is never taken for public, as it is under ``replace_one`` for the table that opens a budget: then
        a job that is started again would ask at other prices than the first one.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError, LedgerError
        """
        self.open(open_ledger(ledger))
        return dp(frame).protect(**self.given, schema=schema, ledger=ledger, table=table, version=version)


def existing_ledger(path: str | os.PathLike[str] | None) -> Ledger | None:
    """Return the ledger in a file, or None where there is none yet; none is made."""
    return open_ledger(path) if path is not None and os.path.isfile(path) else None
