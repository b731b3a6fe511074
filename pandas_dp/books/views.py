"""A session's books as people see them: in a notebook what is spent and left, the latest answers and a plot, and every entry.

Public facts alone: terms, texts of entries, sums of charges, and values that were released.
"""

from __future__ import annotations

import math
import os
import textwrap
from collections import OrderedDict
from fractions import Fraction
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

import pandas as pd

from pandas_dp.books import budget_words, odometer
from pandas_dp.books.amounts import PART as PART
from pandas_dp.books.amounts import Most, state_of, sum_of_rhos
from pandas_dp.core.budget import State
from pandas_dp.core.filters import Filter, PureFilter
from pandas_dp.core.gate import Given
from pandas_dp.core.ledger import Ledger, LedgerEntry
from pandas_dp.core.period_sums import spread
from pandas_dp.core.privacy import PrivacyLoss, PrivacyUnit, show
from pandas_dp.core.records import charged_state, plain
from pandas_dp.errors import Spelled
from pandas_dp.release.html import MUTED, bar_html
from pandas_dp.release.plots import ONE, axes_of, load_pyplot
from pandas_dp.release.summary import Shown, shown
from pandas_dp.release.text import COUNTED, protected

if TYPE_CHECKING:
    from pandas_dp.release.reconcile import Reconciled
    from pandas_dp.release.values import Release

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
        self._counts: OrderedDict[tuple[str, int], Release] = OrderedDict()  # tables, also of a ledger file

    def keep(self, ledger: Ledger, name: str, given: Given, release: Release) -> None:
        """Keep one more answer; in memory the oldest of too many is forgotten."""
        if release.query.aggregate.counts_rows:
            self._counts[name, given.sequence] = release
            if len(self._counts) > MOST_KEPT:
                self._counts.popitem(last=False)
        if ledger.path is None:
            # functions of users are let go: they may hold tables of their own
            kept = release if release.query.aggregate.stored else shown(release)
            self._releases[plain(name), given.sequence] = kept
            if len(self._releases) > MOST_KEPT:
                self._releases.popitem(last=False)

    def reconciled(self, name: str, complete: Any, nonnegative: bool, whole: bool) -> Reconciled:
        """Make the tables of a budget agree."""
        from pandas_dp.release.reconcile import reconcile_most  # importing the package shall cost little

        answers = [release for (known, _), release in self._counts.items() if known == name]
        return reconcile_most(answers, complete, nonnegative, whole)

    def of(self, name: str) -> dict[int, Shown]:
        """Return what is said of the answers of a budget, by entry."""
        kept = {i: release for (known, i), release in self._releases.items() if known == name}
        return {i: told if isinstance(told, Shown) else shown(told) for i, told in kept.items()}


class Books(Spelled, pd.DataFrame):
    """Every entry of a budget: a DataFrame that prints short. Selections and copies are plain."""

    @classmethod
    def of(cls, entries: list[LedgerEntry]) -> Books:
        """Of the entries of a ledger."""
        return cls([(e.sequence, e.time, e.kind, e.query, e.price) for e in entries], columns=list(COLUMNS))

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


SHOWN = 5  # latest answers
Last = tuple[str, PrivacyLoss] | None


def session_text(ledger: Ledger, name: str, unit: PrivacyUnit, last: Last, standing: str) -> str:
    """Say what is protected, spent and left, a line each; nothing of the data.

    Parameters are those of `session_card`.
    """
    lines = [("protects", protected(unit)), *_books(ledger, name, unit, last), ("ledger", _place(ledger))]
    told = "".join(f"\n  {what:<8} {text}" for what, text in lines)
    return f"<pandas_dp session {name!r}{f', {standing}' if standing else ''}{told}>"


def _books(ledger: Ledger, name: str, unit: PrivacyUnit, last: Last) -> list[tuple[str, str]]:
    """What is spent and left, and where divergences are counted, by which sums."""
    rule, state = ledger.rule(name), state_of(ledger, name)
    spent, _, used = odometer.spent_of(ledger, name, unit).partition(COUNTED)
    left, _, rest = odometer.left(rule, state, unit, last).partition(COUNTED)
    if last is not None and isinstance(rule, PureFilter) and not unit.period:  # the others say it in their own words
        more = odometer.more_calls(rule, state, last[1])
        left += f", about {more:,} more {'call' if more == 1 else 'calls'} at {last[0]}" if more else ""
    if not rule.budget.plan and not budget_words.is_over(rule, state):  # a plan says of how many calls
        total, where = f" of {show(rule.budget.epsilon)}", f" in the {unit.period} that spent most"
        spent = spent.replace(where, total + where) if unit.period else spent + total
    counted = [("counted", f"spent {used or 'nothing'}; left {rest}")] if rest else []
    return [("spent", spent), ("left", left), *counted]


def session_card(ledger: Ledger, name: str, unit: PrivacyUnit, last: Last, standing: str) -> str:
    """Write the same as HTML, with a bar and the latest answers.

    Parameters
    ----------
    ledger : Ledger
    name : str
        Of the budget.
    unit : PrivacyUnit
    last : (str, PrivacyLoss) or None
        Price and loss of the last answer.
    standing : str
        What else is to be said of the session, such as ``"closed"``; may be empty.
    """
    rule, spent = ledger.rule(name), odometer.spent_of(ledger, name, unit)
    share = Fraction(getattr(spent, "period", spent).epsilon) / rule.budget.epsilon
    where = f" in the {unit.period} that spent most" * bool(unit.period)
    books = _books(ledger, name, unit, last)
    lines = "<br>".join(escape(f"{what} {text}") for what, text in books[:2])
    theory = "<br>".join(escape(f"{what}: {text}") for what, text in books[2:])
    answers = [entry for entry in ledger.entries(name) if entry.kind == "query"]
    rows = "".join(
        f"<tr><td style='text-align: left'>{escape(cut(entry.query, QUERY))}</td>"
        f"<td>{escape(cut(entry.price, PRICE))}</td></tr>"
        for entry in answers[: -SHOWN - 1 : -1]
    )
    older = len(answers) - SHOWN
    table = (
        f"<table><thead><tr><th style='text-align: left'>latest answers{f' (of {len(answers):,})' if older > 0 else ''}</th>"
        f"<th>price</th></tr></thead><tbody>{rows}</tbody></table>"
    )
    return (
        f"<div><strong>privacy budget {escape(repr(name))}</strong> "
        f"<span style='{MUTED}'>{f'{standing}, ' if standing else ''}protects {escape(protected(unit))}</span>"
        f"{bar_html(float(share), f'{math.ceil(100 * share)} % of the epsilon is spent' + where)}"
        f"<div>{lines}</div><div style='{MUTED}'>{theory}</div>{table if answers else ''}"
        f"<div style='{MUTED}'>ledger {escape(_place(ledger))}</div></div>"
    )


def _place(ledger: Ledger) -> str:
    return "not saved; lost when Python stops" if ledger.path is None else f"saved in {os.path.basename(ledger.path)!r}"


MOST_POINTS = 500  # of a long record so many answers are drawn, at equal distances


def draw_budget(rule: Filter, unit: PrivacyUnit, entries: list[LedgerEntry], name: str, ax: Any) -> Any:
    """Draw what all answers up to each one come to.

    Parameters
    ----------
    rule : Filter
        The one that decides now.
    unit : PrivacyUnit
    entries : list of LedgerEntry
        Oldest first.
    name : str
    ax : matplotlib Axes or None

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ImportError
        Without matplotlib; the text says what to install.
    """
    ax = load_pyplot().subplots()[1] if ax is None else axes_of(ax, 1, ONE)[0]
    charged = [(entry, entry.charge) for entry in entries if entry.charge is not None]
    every, state, total = len(charged) // MOST_POINTS + 1, State.zero(), float(rule.budget.epsilon)
    rho: Fraction | None = Fraction(0)  # of the prices, while each is one
    places, amounts, start, states = [0], [0.0], State.zero(), dict[int, State]()  # of periods that which spent most
    for number, (entry, charge) in enumerate(charged, 1):
        more = None if rho is None else sum_of_rhos([entry])
        rho = None if rho is None or more is None else rho + more
        if charge.epsilon and not charge.renyi and not isinstance(rule, PureFilter):  # asked before a delta was added
            charge = rule.charge(PrivacyLoss.pure(charge.epsilon))
        if charge.periods is not None:
            start = spread(states, start, charge, partial(charged_state, rule))
            state = Most.of(rule, start, dict(states), 1)
        else:
            state = charged_state(rule, state, charge)
        if number % every == 0 or number == len(charged):
            places.append(number)
            told = odometer.spent(rule, state, unit, rho)
            amounts.append(float(getattr(told, "period", told).epsilon))
    ax.step(places, amounts, where="post", label="spent")
    ax.axhline(total, linestyle="--", color=ax.xaxis.label.get_color(), linewidth=1, label="total")
    ax.set(xlabel="answers", ylabel="epsilon", ylim=(0, 1.05 * total))
    ax.set_title(f"privacy budget {name!r}".replace("$", r"\$"), fontsize="medium")
    ax.legend()
    return ax
