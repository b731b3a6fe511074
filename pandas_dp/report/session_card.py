"""A session in a notebook: a bar of what is spent, what that leaves in words, and the latest answers."""

from __future__ import annotations

import os
from html import escape

from pandas_dp.core.filters import PureFilter
from pandas_dp.core.ledger import Ledger
from pandas_dp.core.privacy import PrivacyLoss, PrivacyUnit, show
from pandas_dp.report import odometer
from pandas_dp.report.allowance import more_calls
from pandas_dp.report.books import PRICE, QUERY, cut
from pandas_dp.report.html import MUTED, bar_html

SHOWN = 5  # latest answers
Last = tuple[str, PrivacyLoss] | None


def session_text(ledger: Ledger, name: str, unit: PrivacyUnit, last: Last, standing: str) -> str:
    """Say what is protected, spent and left; nothing of the data."""
    rule, state = ledger.rule(name), ledger.state(name)
    left = odometer.left(rule, state, unit, last)
    return (
        f"<pandas_dp session {name!r}: {standing}protects {unit} ({unit.relation}); "
        f"spent {odometer.spent(rule, state, unit)}; left {left}; {_place(ledger)}>"
    )


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
        What else is to be said of the session, with a comma, such as ``"closed, "``.
    """
    rule, state = ledger.rule(name), ledger.state(name)
    spent, left = odometer.spent(rule, state, unit), odometer.left(rule, state, unit, last)
    share = float(spent.epsilon) / float(rule.budget.epsilon)
    # where divergences are counted, epsilons may add up to more than the total
    comes_to = (
        "" if isinstance(rule, PureFilter) else f": together epsilon={spent.epsilon:.3g} of {show(rule.budget.epsilon)}"
    )
    lines = [f"spent {spent}{comes_to}", f"left {left}"]
    if last is not None and isinstance(rule, PureFilter):  # the others say it beside what is left
        more = more_calls(rule, state, last[1])
        lines.append(f"about {more:,} more {'answer' if more == 1 else 'answers'} like the last one, at {last[0]}")
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
        f"<span style='{MUTED}'>{standing}protects {escape(f'{unit} ({unit.relation})')}</span>"
        f"{bar_html(share, f'{100 * share:.0f} % of the epsilon is spent')}"
        f"<div>{'<br>'.join(map(escape, lines))}</div>{table if answers else ''}"
        f"<div style='{MUTED}'>{escape(_place(ledger))}</div></div>"
    )


def _place(ledger: Ledger) -> str:
    return "ends with the process" if ledger.path is None else f"ledger {os.path.basename(ledger.path)!r}"
