"""How much more a budget pays, in the words of somebody who asks: from public sums alone."""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction
from typing import Any

from pandas_dp.core.budget import Budget, Charge, State, say, three_digits
from pandas_dp.core.filters import Filter, GDPFilter, HybridFilter, PureFilter
from pandas_dp.core.ledger import LedgerEntry
from pandas_dp.core.privacy import PrivacyLoss, PrivacyUnit, show
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts.numbers import positive_epsilon, small_delta
from pandas_dp.release.text import COUNTED

SUMMED_NO_MORE = "epsilons are not added up any more, for Gaussian noise has none"
DIGITS, MOST = Context(prec=60), 10_000  # at such an epsilon the delta of a group is 1 for every delta in use


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
    """Say what is left; where divergences are counted, first how many calls like one, by its price and loss, that is.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from pandas_dp.core.filters import filter_for
    >>> text = left_text(filter_for(Budget.of(3, Fraction("1e-6"))), State.zero(), None)
    >>> text.partition(COUNTED)[0]
    'about 40 more calls at epsilon=0.1, and delta=1e-7 for finding keys'
    """
    if isinstance(rule, PureFilter):
        return rule.left(state)
    gaussian = "rho=0.01", PrivacyLoss.gaussian(Fraction(1, 100))
    price, loss = like or (
        gaussian if isinstance(rule, GDPFilter) else ("epsilon=0.1", PrivacyLoss.pure(Fraction(1, 10)))
    )
    calls = more_calls(rule, state, loss)
    why = f"; {SUMMED_NO_MORE}" if isinstance(rule, HybridFilter) and state.unbounded else ""
    sums, keys = rule.left(state), ""
    if rule.budget.delta_reserved:  # the last sum, and one that is spent as it is
        sums, _, keys = sums.rpartition(", ")
    more = f"about {calls:,} more call{'' if calls == 1 else 's'} at {price}"
    return f"{more}{', and ' if keys else ''}{keys}{COUNTED}{sums}{why}"


def first_gaussian(rule: Filter, state: State, charge: Charge) -> str | None:
    """Say what the first Gaussian noise of a budget does to it: later prices are not added up any more; None for others.

    The example is a price of a quarter of the total, for it is large prices that this makes dearer.
    """
    if not isinstance(rule, HybridFilter) or state.unbounded or charge.epsilon is not None:
        return None
    price = three_digits(rule.budget.epsilon / 4)
    before, after = (more_calls(rule, at, PrivacyLoss.pure(price)) for at in (state, state.plus(charge)))
    fewer = f"after this answer the budget pays about {after:,} more at epsilon={say(price)} instead of {before:,}: "
    return (fewer if after < before else "") + (
        "Gaussian noise has no epsilon, so the budget no longer adds up epsilons, it counts Renyi divergence alone, and that "
        "makes large prices dearer"
    )


def raised(term: str, argument: str, known: Fraction, asked: Fraction, entries: list[LedgerEntry]) -> Fraction:
    """The larger of a total and what was asked for it, which must not be new and smaller.

    Raises
    ------
    ArgumentValueError
    """
    terms = (entry.price.split(", ") for entry in entries if entry.kind in ("open", "amend"))
    before = (part.partition("=")[2] for parts in terms for part in parts if part.startswith(f"{term}="))
    if asked < known and not any(show(Fraction(text)) == show(asked) for text in before):  # earlier versions: 0.000001
        raise ArgumentValueError(
            f"{argument} must be the new total: it is {term}={show(known)} and can only be raised. A smaller one for "
            "other data needs another name: df2.dp.protect(..., name='other')"
        )
    return max(asked, known)


def extended(
    old: Budget, to: Any, to_delta: Any, reason: Any, entries: list[LedgerEntry], part: bool = False
) -> Budget:
    """The budget that a total raised to these terms makes; the old one where it has or had them.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
    """
    if to is None and to_delta is None:
        raise ArgumentTypeError("name the new total: session.extend(to=5, reason='...')")
    if not isinstance(reason, str) or not reason.strip():
        raise ArgumentTypeError("reason must say why the total is raised: session.extend(to=5, reason='...')")
    if old.plan or part:
        line = "df.dp.protect(..., name='more')" if old.plan else "df.dp.allot('more', epsilon=1)"
        raise ArgumentValueError(f"the total of a plan or of a part of a budget is fixed: open another one, {line}")
    epsilon = raised("epsilon", "to", old.epsilon, positive_epsilon(old.epsilon if to is None else to, "to"), entries)
    slack = small_delta(old.delta if to_delta is None else to_delta, "to_delta")
    delta = raised("delta", "to_delta", old.delta, slack, entries)
    if (epsilon, delta) == (old.epsilon, old.delta):
        return old
    more = (delta - old.delta) / 10 if old.delta_reserved else 0
    reserved = None if old.delta == 0 else old.delta_reserved + more
    return Budget.of(epsilon, delta, reserved, old.accountant if old.delta else "auto")


def group_text(budget: Budget, unit: PrivacyUnit, size: int) -> str:
    """Say what a budget promises a group of units.

    Examples
    --------
    >>> group_text(Budget.of(1), PrivacyUnit(), 3)
    'any 3 rows together: epsilon=3'
    """
    who = f"any {size:,} rows together" if unit.column is None else f"any {size:,} units of {unit.column!r} together"
    epsilon = size * budget.epsilon
    if not budget.delta:
        return f"{who}: epsilon={show(epsilon)}"
    delta = _group_delta(budget, size) if size == 1 or epsilon < MOST else Decimal(1)
    if delta >= 1:
        return (
            f"{who}: too many to be hidden together by this budget, their delta would be 1 at epsilon={show(epsilon)}"
        )
    return f"{who}: epsilon={show(epsilon)}, delta={show(Fraction(delta))}"


def _group_delta(budget: Budget, size: int) -> Decimal:
    """Delta of a group, rounded up to the five digits that are shown."""
    shown = Context(prec=5, rounding=ROUND_CEILING)
    if size == 1:
        return shown.divide(Decimal(budget.delta.numerator), Decimal(budget.delta.denominator))
    with localcontext(DIGITS):
        epsilon, delta = (Decimal(x.numerator) / x.denominator for x in (budget.epsilon, budget.delta))
        # of sixty digits a small epsilon cancels a few: 1e-30 more covers every rounding
        delta *= ((size * epsilon).exp() - 1) / (epsilon.exp() - 1) * (1 + Decimal("1e-30"))
    return shown.plus(delta)
