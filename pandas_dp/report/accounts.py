"""What a ledger says of its budgets, read from a chain that is whole, and what a live session adds to it.

Public facts alone: terms, texts of entries, sums of charges, and values that were released. A file holds what was said of each
answer; of a ledger in memory the live session has it.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pandas_dp.core.budget import State
from pandas_dp.core.filters import Filter
from pandas_dp.core.ledger import Ledger, LedgerEntry
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.core.records import plain
from pandas_dp.errors import LedgerBusyError, LedgerError
from pandas_dp.report import shown
from pandas_dp.report.books import Answered
from pandas_dp.report.shown import Shown

if TYPE_CHECKING:
    from pandas_dp.protected import Table

PART = "::"  # between the name of a budget and that of a part of it
TRIES = 5  # readings of a ledger to which other processes go on charging


@dataclass(frozen=True)
class Account:
    """One budget as its ledger has it, all read at one head of its chain."""

    name: str
    rule: Filter
    state: State
    unit: PrivacyUnit
    entries: list[LedgerEntry]
    head: str
    answers: dict[int, Shown]

    @property
    def whole(self) -> str | None:
        """The name of the budget of which this is a part."""
        return self.name.rpartition(PART)[0] or None


@dataclass(frozen=True)
class Certificate:
    """What the page says.

    Attributes
    ----------
    accounts : list of Account
        The budgets it is about, each before its parts.
    others : list of str
        Names of the other budgets in the ledger.
    ledger : str or None
        Name of the ledger's file; None: in memory.
    live : bool
        Whether a session made the page; otherwise a file alone did.
    tables : list of (str, str)
        Tables that the live session answers for, in words, and the public facts stated about each.
    made : datetime
    """

    accounts: list[Account]
    others: list[str]
    ledger: str | None
    live: bool
    tables: list[tuple[str, str]]
    made: datetime = field(default_factory=lambda: datetime.now(UTC))

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of the budgets."""
        return frozenset(account.name for account in self.accounts)


def read(
    ledger: Ledger, name: str | None, answered: Answered | None = None, held: Mapping[str, Table] | None = None
) -> Certificate:
    """Read a budget and its parts, or all budgets, at one moment; see `certificate`.

    Raises
    ------
    LedgerError, LedgerBusyError
    """
    tables = [_told(key, table) for key, table in (held or {}).items()]
    name = None if name is None else plain(name)  # as the ledger writes it
    path = None if ledger.path is None else os.path.basename(ledger.path)
    for _ in range(TRIES):
        ledger.verify()
        heads = ledger.heads()
        if name is not None and name not in heads:
            raise LedgerError(f"the ledger has no budget named {name!r}")
        wanted = [n for n in heads if name is None or n == name or n.startswith(name + PART)]
        accounts, names = [_account(ledger, n, heads[n], answered) for n in _ordered(wanted)], set(wanted)
        if ledger.heads() == heads:
            others = [n for n in heads if n not in names]
            return Certificate(accounts, others, path, answered is not None, tables)
    raise LedgerBusyError("other processes charged the ledger all the time; ask for the report again")


def _ordered(names: list[str]) -> list[str]:
    """Oldest first, each budget before its parts."""
    place = {name: at for at, name in enumerate(names)}
    return sorted(names, key=lambda name: (place.get(name.split(PART)[0], place[name]), place[name]))


def _account(ledger: Ledger, name: str, head: str, answered: Answered | None) -> Account:
    terms = ledger.budget(name)
    unit = PrivacyUnit() if terms is None else terms[1]
    kept = {i: shown.read(text) for i, text in ledger.shown(name).items()}
    answers = {i: told for i, told in kept.items() if told is not None} | (answered.of(name) if answered else {})
    return Account(name, ledger.rule(name), ledger.state(name), unit, ledger.entries(name), head, answers)


def _told(key: str, table: Table) -> tuple[str, str]:
    """A table in words: its name and version where the owner gave them, and how it came to be protected."""
    lineage, _, name = key.partition(":")
    words = "a table without a name" if name == "None" else name
    with suppress(ValueError, SyntaxError):  # a token that is no version is no tuple either
        version: Any = ast.literal_eval(table.token)[2]
        words += f", version {version}"
    return words + (" (vouched)" if lineage == "vouched" else ""), repr(table.schema) if list(table.schema) else ""
