"""What a budget for each period has spent and has left: first what it comes to for somebody who is in all of them.

Nobody shall take the total of one period for a promise to a person. See `pandas_dp.core.period_sums` for the theorems.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from typing import Any

from pandas_dp.books import budget_words
from pandas_dp.books.amounts import Most, Odometer, group_delta, proved, rho_of_groups, told_as, zcdp_epsilon
from pandas_dp.core.budget import Budget, State
from pandas_dp.core.filters import Filter, ZCDPFilter
from pandas_dp.core.privacy import PrivacyUnit, show
from pandas_dp.errors import ArgumentValueError
from pandas_dp.facts.argument_help import uncopied
from pandas_dp.facts.numbers import positive_int, three_digits
from pandas_dp.facts.periods import Periods
from pandas_dp.release.text import COUNTED

LEAST_BOUND = Fraction(1, 10)  # a delta from which on nothing is promised
NONE_NAMED = ", as answers that name none count in each"
Bound = tuple[Fraction, Fraction] | None  # epsilon and delta


class PeriodSpent(Odometer):
    """What is spent: `epsilon` and `delta` are those of somebody who is in all periods that were asked.

    Attributes
    ----------
    period : Odometer
        What is spent in the period that spent most.
    """

    __slots__ = ("period",)
    period: Odometer


class PeriodLeft(Odometer):
    """What is left: `epsilon` and `delta` are those that every period has, at most what the lifetime leaves."""

    __slots__ = ("_left", "_state", "_unit")
    _left: Callable[[State], Odometer]
    _state: Most
    _unit: PrivacyUnit

    @classmethod
    def of(
        cls, state: Most, unit: PrivacyUnit, budgets: Callable[[State], Odometer], lifetime: Fraction | None
    ) -> PeriodLeft:
        """Say what every period has left; a new one has what is left of the sums that it starts with."""

        def left(one: State) -> Odometer:
            told = budgets(one)
            if lifetime is None or told.epsilon <= _of_lifetime(lifetime, state):
                return told
            least = _of_lifetime(lifetime, state)
            text = f"{_terms(least, Fraction(0), ROUND_FLOOR)} (what the lifetime leaves)"
            return told_as(text, least, Fraction(told.delta), ROUND_FLOOR, told.guarantee, Fraction(0))

        least, new = left(state.plain), left(state.start)
        less, _, counted = least.partition(COUNTED)
        text = f"{new.partition(COUNTED)[0]} in each {unit.period}" + " set aside" * state.part
        if state.periods:
            poorest = [period for period, sums in state.periods.items() if sums == state.plain]  # in every currency
            named = Periods.from_text(unit.periods or "").name(poorest[0]) if poorest else ""
            named = f" ({'such as ' * (len(poorest) > 1)}{named})" if poorest else ""
            text += " and" * state.part + f" not asked yet, {less} in the one that spent most{named}"
        text += of_lifetime(lifetime, state, unit) + (f"{COUNTED}{counted}" if counted else "")
        made = cls(text, least.epsilon, least.delta, least.guarantee)
        made._left, made._state, made._unit = left, state, unit
        if isinstance(rho := getattr(least, "rho", None), Decimal):
            made.rho = rho
        return made

    def period(self, name: str) -> Odometer:
        """What one period has left, by its name.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"at": pd.date_range("2026-11-27", periods=4000, freq="min")})
        >>> session = df.dp.protect(epsilon=1, period="D", time="at", name="left example")
        >>> count = df.dp.period("2026-11-27").dp(epsilon=0.25).count()
        >>> session.left.period("2026-11-27"), session.left.period("2026-11-28")
        ('epsilon=0.75', 'epsilon=1')
        """
        number = Periods.from_text(self._unit.periods or "").number(name)
        left = self._left(self._state.periods.get(number, self._state.start))
        if not self._state.part or number in self._state.periods:
            return left
        return Odometer(
            f"{left}, if the part includes this {self._unit.period}", left.epsilon, left.delta, left.guarantee
        )

    __reduce__ = uncopied


def _of_lifetime(lifetime: Fraction, state: Most) -> Fraction:
    """What a cap leaves, which is nothing once answers were charged that name no period."""
    return max(lifetime - state.person, Fraction(0)) if state.start == State.zero() else Fraction(0)


def of_lifetime(lifetime: Fraction | None, state: State, unit: PrivacyUnit) -> str:
    """The same in words, an empty text where there is no cap."""
    if lifetime is None or not isinstance(state, Most):
        return ""
    return f"; {_terms(_of_lifetime(lifetime, state), Fraction(0), ROUND_FLOOR)} of the lifetime of a {unit.column!r}"


def rest(rule: Filter, state: State, unit: PrivacyUnit) -> str:
    """What is left in the periods that a job is about, and of the lifetime."""
    if not isinstance(state, Most):
        return budget_words.left(rule, state)
    return budget_words.left(rule, state.plain) + of_lifetime(rule.budget.lifetime, state, unit)


def somebody(rule: Filter, state: Most, unit: PrivacyUnit) -> Bound:
    """Epsilon and delta of one unit that is in all periods that were asked, None where no bound holds.

    Where every row is a unit it is in one period alone. With a cap for a lifetime all was paid in plain epsilons. Where rhos
    are counted, it may be what `in_rho` proves, at the delta of one period.
    """
    if rule.budget.lifetime is not None:
        return (state.person, Fraction(0)) if state.start == State.zero() else None
    each = [proved(rule, spent) for spent in (state.start, *state.periods.values())]
    if unit.column is None:
        each = [proved(rule, state)]
    known = [(epsilon, delta) for epsilon, delta in each if epsilon is not None]
    if len(known) < len(each) or (unit.column is not None and state.start != State.zero()):
        return None
    added = sum((epsilon for epsilon, _ in known), Fraction(0)), sum((delta for _, delta in known), Fraction(0))
    sums: Bound = added if added[1] < LEAST_BOUND else None
    if unit.column is None:
        return sums
    if rule.budget.delta and state.widest > 1:
        sums = _of_totals(rule.budget, len(state.periods), state.widest)
    return in_rho(rule, state, of_somebody(state), sums)


def of_somebody(state: Most) -> Fraction:
    """The rho of one unit that is in all periods that were asked, see `in_rho`."""
    return max(state.widest, 1) * sum((one.renyi for one in state.periods.values()), Fraction(0))


def in_rho(rule: Filter, state: Most, rho: Fraction, other: Bound) -> Bound:
    """Epsilon and delta of so much rho, where a budget counts it, no answer spent delta, and it proves more than another bound.

    *Claim.* Let a unit be in the periods K, let question i cost rho_i for each of its periods, of which k_i are in K, and let
    no k_i be above w. While no answer spent delta, the divergence of order a of all answers, with and without the unit, is for
    each a at most a w times the sum over K of what was spent, so at most a w |K| times the limit of one. *Proof.* From the
    table with the unit to that without it lead k_i neighbours, as far as question i reads. Given the past its law is rho_i-zCDP
    for each two of them, so it is k_i^2 rho_i over the chain (Bun, Steinke 2016, Proposition 27). What goes on interactively
    has a finite epsilon e and is charged e tanh(e/2): over the chain it is one draw of randomized response of k_i e, whose rho
    is k_i e tanh(k_i e/2) <= k_i^2 e tanh(e/2), as tanh is concave. Prices are public functions of the past, and k_i^2 rho_i
    is at most w k_i rho_i, which is w times what question i adds to the sums of the periods in K. QED
    """
    delta = rule.budget.delta
    if rho_of_groups(rule, state) is None or (other and zcdp_epsilon(rho, max(other[1], delta)) >= other[0]):
        return other
    return zcdp_epsilon(rho, delta), delta


def in_periods(rule: Filter, many: int, state: Most) -> tuple[Bound, bool]:
    """Epsilon and delta that the totals promise one unit in so many periods, None where that is nothing; whether as rhos.

    As rhos while questions are about no more periods than they were so far.
    """
    plain = _of_totals(rule.budget, many, state.widest)
    if many == 1 or not isinstance(rule, ZCDPFilter):
        return plain, False
    found = in_rho(rule, state, min(max(state.widest, 1), many) * many * rule.limit, plain)
    return found, found is not plain


def _of_totals(budget: Budget, many: int, widest: int) -> Bound:
    if budget.lifetime is not None and budget.lifetime <= many * budget.epsilon:
        return budget.lifetime, Fraction(0)
    alone = widest <= 1 or not budget.delta
    delta = many * budget.delta if alone else group_delta(budget.epsilon, budget.delta, many)
    return (many * budget.epsilon, delta) if delta < LEAST_BOUND else None


def promise(rule: Filter, unit: PrivacyUnit, many: int, state: Most) -> str:
    """Say what the totals promise one unit in so many periods, whatever is asked from here on."""
    budget = rule.budget
    if state.start != State.zero():
        return f"no bound{NONE_NAMED}"
    found, of_rhos = in_periods(rule, many, state)
    if found is None:
        return f"no bound: delta would be {show(LEAST_BOUND)} or more"
    apart = (
        budget.delta and many > 1 and (state.widest <= 1 or (of_rhos and state.widest < many)) and not budget.lifetime
    )
    named = f"one {unit.period}" if state.widest <= 1 else f"at most {state.widest:,} {unit.period}s"
    terms = [f"every question names {named}"] * bool(apart) + ["no question spends delta"] * of_rhos
    return _terms(*found) + (f" as long as {' and '.join(terms)}" if terms else "")


def group_text(rule: Filter, unit: PrivacyUnit, state: State, size: int, periods: Any) -> str:
    """Say what the total promises one unit in so many periods.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
    """
    many = positive_int(periods, "periods")
    if not isinstance(state, Most) or unit.column is None or size != 1:
        raise ArgumentValueError(
            "periods= gives the promise for one unit in several periods: it needs a budget for each period, unit= and "
            "a size of 1, session.group(periods=7)"
        )
    return f"one {unit.column!r} in {many:,} {unit.period}s: {promise(rule, unit, many, state)}"


def _terms(epsilon: Fraction, delta: Fraction, rounding: str = ROUND_CEILING) -> str:
    told = f"epsilon={show(three_digits(epsilon, rounding) if epsilon.denominator > 10**6 else epsilon)}"
    return told + (f", delta={show(three_digits(delta, ROUND_CEILING))}" if delta else "")


def spent(rule: Filter, state: Most, unit: PrivacyUnit, one: Odometer) -> PeriodSpent:
    """Say what is spent, first by somebody who is in all periods that were asked; `one` is what is spent in the poorest."""
    found = somebody(rule, state, unit)
    words, _, counted = one.partition(COUNTED)
    poorest = f"{words} in the {unit.period} that spent most"
    if unit.column is None:
        text = f"{poorest}, for one row ({len(state.periods):,} asked)"
    else:
        total = "no bound" if found is None else _terms(*found)
        total += f" of a lifetime of {show(rule.budget.lifetime)}" if rule.budget.lifetime else ""
        until = _until(rule, state) if found is None else ""
        text = f"{total} for a {unit.column!r} present in every {unit.period} asked ({len(state.periods):,}){until}; {poorest}"
    text += f"{COUNTED}{counted}" if counted else ""
    epsilon, delta = found or (None, Fraction(1))
    told = told_as(text, epsilon, delta, ROUND_CEILING, one.guarantee, rule.budget.delta)
    made = PeriodSpent(told, told.epsilon, told.delta, told.guarantee)
    made.period = one
    known = unit.column is not None and state.start == State.zero() and rho_of_groups(rule, state) is not None
    return made._in_rho(of_somebody(state)) if known else made


def _until(rule: Filter, state: Most) -> str:
    """In how many periods somebody may be at most for anything to be promised."""
    if state.start != State.zero():
        return NONE_NAMED
    many = 0
    while many < len(state.periods) and in_periods(rule, many + 1, state)[0] is not None:
        many += 1
    return f": nothing is promised in more than {many:,}"
