"""How much more a budget pays, in the words of somebody who asks: from public sums alone."""

from __future__ import annotations

from pandas_dp.core.filters import Filter, PureFilter, State
from pandas_dp.core.privacy import PrivacyLoss


def more_calls(rule: Filter, state: State, loss: PrivacyLoss) -> int:
    """How many more queries of one positive loss a budget admits, if nothing else is asked.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from pandas_dp.core.filters import Budget, filter_for
    >>> more_calls(filter_for(Budget.of(1)), State.zero(), PrivacyLoss.pure(Fraction("0.3")))
    3
    """
    charge, budget = rule.charge(loss), rule.budget
    by_sum = 0 if charge.epsilon is None or state.unbounded else (budget.epsilon - state.epsilon) // charge.epsilon
    if isinstance(rule, PureFilter):
        return 0 if charge.delta else max(by_sum, 0)
    fits = max(by_sum, (rule.limit - state.renyi) // charge.renyi, 0)
    return min(fits, (budget.delta_reserved - state.delta) // charge.delta) if charge.delta else fits


def left_text(rule: Filter, state: State, price: str, loss: PrivacyLoss) -> str:
    """Say what is left, and where Renyi divergences are counted, how many calls that is."""
    if isinstance(rule, PureFilter):
        return rule.left(state)
    calls = more_calls(rule, state, loss)
    return f"{rule.left(state)}; about {calls:,} more call{'' if calls == 1 else 's'} at {price}"
