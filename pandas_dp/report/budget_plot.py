"""A plot of a budget: how it was spent, answer by answer."""

from __future__ import annotations

from typing import Any

from pandas_dp.core.budget import State
from pandas_dp.core.filters import Filter, PureFilter
from pandas_dp.core.ledger import LedgerEntry
from pandas_dp.core.privacy import PrivacyLoss, PrivacyUnit
from pandas_dp.core.records import charged_state
from pandas_dp.report.odometer import spent
from pandas_dp.report.plots import ONE, axes_of, load_pyplot

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
            amounts.append(float(spent(rule, state, unit).epsilon))
    ax.step(places, amounts, where="post", label="spent")
    ax.axhline(total, linestyle="--", color=ax.xaxis.label.get_color(), linewidth=1, label="total")
    ax.set_xlabel("answers")
    ax.set_ylabel("epsilon")
    ax.set_ylim(0, 1.05 * total)
    ax.set_title(f"privacy budget {name!r}".replace("$", r"\$"), fontsize="medium")
    ax.legend()
    return ax
