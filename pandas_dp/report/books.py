"""The record of a budget as a table that fits on a screen."""

from __future__ import annotations

import textwrap
from collections import OrderedDict
from html import escape
from typing import TYPE_CHECKING, Any

import pandas as pd

from pandas_dp.core.gate import Given
from pandas_dp.core.ledger import Ledger
from pandas_dp.core.records import plain
from pandas_dp.report.html import MUTED
from pandas_dp.report.shown import Shown, shown

if TYPE_CHECKING:
    from pandas_dp.release import Release

PRICE, QUERY, WIDTH = 28, 60, 110  # characters shown, and of a line of terms
TERMS, MOST_TERMS = (
    ("open", "amend"),
    5,
)  # kinds of entries that hold terms; so many are told in full: the opening, the latest
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
