"""How much more a budget pays, in the words of somebody who asks: from public sums alone."""

from __future__ import annotations

from fractions import Fraction

from pandas_dp.core.budget import State
from pandas_dp.core.filters import Filter, GDPFilter, HybridFilter, PureFilter
from pandas_dp.core.privacy import PrivacyLoss


def more_calls(rule: Filter, state: State, loss: PrivacyLoss) -> int:
    """How many more queries of one positive loss a budget admits, if nothing else is asked.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from pandas_dp.core.budget import Budget, State
    >>> from pandas_dp.core.filters import filter_for
    >>> more_calls(filter_for(Budget.of(1)), State.zero(), PrivacyLoss.pure(Fraction("0.3")))
    3
    """
    charge, budget = rule.charge(loss), rule.budget
    summed = isinstance(rule, PureFilter | HybridFilter) and charge.epsilon is not None and not state.unbounded
    by_sum = (budget.epsilon - state.epsilon) // charge.epsilon if summed and charge.epsilon else 0
    if isinstance(rule, PureFilter):
        return 0 if charge.delta else max(by_sum, 0)
    fits = max(by_sum, (rule.limit - state.renyi) // charge.renyi, 0)
    return min(fits, (budget.delta_reserved - state.delta) // charge.delta) if charge.delta else fits


def left_text(rule: Filter, state: State, like: tuple[str, PrivacyLoss] | None) -> str:
    """Say what is left, and where divergences are counted, how many calls like one, by its price and loss, that is."""
    if isinstance(rule, PureFilter):
        return rule.left(state)
    gaussian = "rho=0.01", PrivacyLoss.gaussian(Fraction(1, 100))
    price, loss = like or (
        gaussian if isinstance(rule, GDPFilter) else ("epsilon=0.1", PrivacyLoss.pure(Fraction(1, 10)))
    )
    calls = more_calls(rule, state, loss)
    return f"{rule.left(state)}; about {calls:,} more call{'' if calls == 1 else 's'} at {price}"
