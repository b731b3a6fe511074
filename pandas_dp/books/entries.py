"""What a ledger says of its budgets, read from a chain that is whole, and the record of a budget as a table.

Public facts alone: terms, texts of entries, sums of charges, and values that were released. A file holds what was said of each
answer; of a ledger in memory the live session has it.
"""

from __future__ import annotations

import ast
import os
import textwrap
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

import pandas as pd

from pandas_dp.core.budget import State
from pandas_dp.core.filters import Filter
from pandas_dp.core.gate import Given
from pandas_dp.core.ledger import Ledger, LedgerEntry
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.core.records import plain
from pandas_dp.errors import LedgerBusyError, LedgerError
from pandas_dp.release import summary
from pandas_dp.release.html import MUTED
from pandas_dp.release.summary import Shown, shown

if TYPE_CHECKING:
    from pandas_dp.release.values import Release
    from pandas_dp.tables.protected import Table


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
    kept = {i: summary.read(text) for i, text in ledger.shown(name).items()}
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


PRICE, QUERY, WIDTH = 28, 60, 110  # characters shown, and of a line of terms
# kinds of entries that hold terms; so many are told in full: the opening, the latest
TERMS, MOST_TERMS = ("open", "amend"), 5
MOST_KEPT = 1000  # releases: no service of many questions fills its memory with them
COLUMNS = ("sequence", "time", "kind", "query", "price")
ALL = "in full: .to_string(), or a column such as ['query']"


class Answered:
    """What was answered, for reports. A ledger file keeps it for good; one in memory has the latest releases beside it."""

    def __init__(self) -> None:
        self._releases: OrderedDict[tuple[str, int], Release | Shown] = OrderedDict()

    def keep(self, ledger: Ledger, name: str, given: Given, release: Release) -> None:
        """Keep one more answer; in memory the oldest of too many is forgotten."""
        if ledger.path is None:
            # functions of users are let go: they may hold tables of their own
            kept = release if release.query.aggregate.stored else shown(release)
            self._releases[plain(name), given.sequence] = kept
            if len(self._releases) > MOST_KEPT:
                self._releases.popitem(last=False)

    def of(self, name: str) -> dict[int, Shown]:
        """Return what is said of the answers of a budget, by entry."""
        kept = {i: release for (known, i), release in self._releases.items() if known == name}
        return {i: told if isinstance(told, Shown) else shown(told) for i, told in kept.items()}


class Books(pd.DataFrame):
    """Every entry of a budget: a DataFrame that prints short. Selections and copies are plain."""

    @property
    def _constructor(self) -> Any:
        return pd.DataFrame

    def _short(self) -> pd.DataFrame | None:
        """The entries with their long texts cut; None where the columns are others by now."""
        if tuple(self.columns) != COLUMNS:
            return None
        return pd.DataFrame(
            {
                "time": [f"{time:%Y-%m-%d %H:%M}" for time in self["time"]],
                "kind": self["kind"].array,
                "price": [_cell(kind, text, PRICE) for kind, text in zip(self["kind"], self["price"], strict=True)],
                "query": [_cell(kind, text, QUERY) for kind, text in zip(self["kind"], self["query"], strict=True)],
            },
            index=pd.Index(self["sequence"].array),
        )

    def _terms(self) -> list[str]:
        """The terms of the budget in full, a text for each entry that holds some."""
        held = self[self["kind"].isin(TERMS)]
        if len(held) > MOST_TERMS:
            held = pd.concat([held.iloc[:1], held.iloc[1 - MOST_TERMS :]])
        told = zip(held["sequence"], held["kind"], held["price"], held["query"], strict=True)
        return [f"{sequence} {kind}: {price}, {query}" for sequence, kind, price, query in told]

    def __repr__(self) -> str:
        """Show one line for each entry."""
        short = self._short()
        if short is None:
            return repr(pd.DataFrame(self))
        padded = short.apply(lambda column: column.str.ljust(max(map(len, column), default=0)))
        lines = padded.to_string(max_rows=pd.get_option("display.max_rows"), justify="left").splitlines()
        terms = [line for text in self._terms() for line in textwrap.wrap(text, WIDTH, subsequent_indent="   ")]
        return "\n".join([*(line.rstrip() for line in lines), *terms, ALL])

    def _repr_html_(self) -> str:
        """Show the same in a notebook."""
        short = self._short()
        if short is None:
            return pd.DataFrame(self).to_html(max_rows=pd.get_option("display.max_rows"), notebook=True)
        with pd.option_context("display.max_colwidth", None):  # what is long is cut already, in the middle
            table = short.to_html(max_rows=pd.get_option("display.max_rows"), notebook=True)
        for tag in ("td", "th"):  # texts, all of them
            table = table.replace(f"<{tag}>", f"<{tag} style='text-align: left'>")
        terms = "<br>".join(escape(text) for text in self._terms())
        return f"<div>{table}<div style='{MUTED}'>{terms}</div></div>"


def _cell(kind: str, text: str, most: int) -> str:
    """A text for one line; of terms, which are told below, the first ones."""
    if kind not in TERMS or len(text) <= most or ", " not in text:
        return cut(text, most)
    parts = text.split(", ")
    while len(parts) > 1 and len(", ".join([*parts, "..."])) > most:
        parts.pop()
    return cut(", ".join([*parts, "..."]), most)


def cut(text: str, most: int) -> str:
    """A text without its middle where it is long: a question ends with what was asked of its rows."""
    return text if len(text) <= most else f"{text[: most - most // 3 - 3]}...{text[-(most // 3) :]}"
