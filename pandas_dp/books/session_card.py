"""A session in a notebook: what is spent, what that leaves, the latest answers, and a plot of how it was spent."""

from __future__ import annotations

import math
import os
from fractions import Fraction
from html import escape
from typing import Any

from pandas_dp.books import odometer
from pandas_dp.books.entries import PRICE, QUERY, cut
from pandas_dp.core.budget import State
from pandas_dp.core.filters import Filter, PureFilter
from pandas_dp.core.ledger import Ledger, LedgerEntry
from pandas_dp.core.privacy import PrivacyLoss, PrivacyUnit, show
from pandas_dp.core.records import charged_state
from pandas_dp.release.html import MUTED, bar_html
from pandas_dp.release.plots import ONE, axes_of, load_pyplot
from pandas_dp.release.text import COUNTED, protected

SHOWN = 5  # latest answers
Last = tuple[str, PrivacyLoss] | None


def session_text(ledger: Ledger, name: str, unit: PrivacyUnit, last: Last, standing: str) -> str:
    """Say what is protected, spent and left, a line each; nothing of the data.

    Parameters are those of `session_card`.
    """
    lines = [("protects", protected(unit)), *_books(ledger, name, unit, last), ("kept", _place(ledger))]
    told = "".join(f"\n  {what:<8} {text}" for what, text in lines)
    return f"<pandas_dp session {name!r}{f', {standing}' if standing else ''}{told}>"


def _books(ledger: Ledger, name: str, unit: PrivacyUnit, last: Last) -> list[tuple[str, str]]:
    """What is spent and left, and where divergences are counted, by which sums."""
    rule, state = ledger.rule(name), ledger.state(name)
    spent, _, used = odometer.spent(rule, state, unit).partition(COUNTED)
    left, _, rest = odometer.left(rule, state, unit, last).partition(COUNTED)
    if last is not None and isinstance(rule, PureFilter):  # the others say it in their own words
        more = odometer.more_calls(rule, state, last[1])
        left += f", about {more:,} more {'call' if more == 1 else 'calls'} at {last[0]}"
    if not rule.budget.plan and not odometer.is_over(rule, state):  # a plan says of how many calls
        spent += f" of {show(rule.budget.epsilon)}"
    return [
        ("spent", spent),
        ("left", left),
        *([("counted", f"spent {used or 'nothing'}; left {rest}")] if rest else []),
    ]


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
    rule, state = ledger.rule(name), ledger.state(name)
    share = Fraction(odometer.spent(rule, state, unit).epsilon) / rule.budget.epsilon
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
        f"{bar_html(float(share), f'{math.ceil(100 * share)} % of the epsilon is spent')}"
        f"<div>{lines}</div><div style='{MUTED}'>{theory}</div>{table if answers else ''}"
        f"<div style='{MUTED}'>kept {escape(_place(ledger))}</div></div>"
    )


def _place(ledger: Ledger) -> str:
    return "in memory: ends with the process" if ledger.path is None else f"in {os.path.basename(ledger.path)!r}"


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
    charges = [entry.charge for entry in entries if entry.charge is not None]
    every, state, total = len(charges) // MOST_POINTS + 1, State.zero(), float(rule.budget.epsilon)
    places, amounts = [0], [0.0]
    for number, charge in enumerate(charges, 1):
        if charge.epsilon and not charge.renyi and not isinstance(rule, PureFilter):  # asked before a delta was added
            charge = rule.charge(PrivacyLoss.pure(charge.epsilon))
        state = charged_state(rule, state, charge)
        if number % every == 0 or number == len(charges):
            places.append(number)
            amounts.append(float(odometer.spent(rule, state, unit).epsilon))
    ax.step(places, amounts, where="post", label="spent")
    ax.axhline(total, linestyle="--", color=ax.xaxis.label.get_color(), linewidth=1, label="total")
    ax.set_xlabel("answers")
    ax.set_ylabel("epsilon")
    ax.set_ylim(0, 1.05 * total)
    ax.set_title(f"privacy budget {name!r}".replace("$", r"\$"), fontsize="medium")
    ax.legend()
    return ax
