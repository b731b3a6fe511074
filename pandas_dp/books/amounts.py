"""The amounts of a budget: what answers come to, proved, as an epsilon and a delta, rounded to the safe side."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal, Inexact, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from pandas_dp.aggregates.uncertainty import narrowed
from pandas_dp.books.budget_words import is_over, of_poor, unstepped, whole_rho
from pandas_dp.core.budget import Charge, State
from pandas_dp.core.filters import (
    Filter,
    GDPFilter,
    HybridFilter,
    PureFilter,
    RenyiFilter,
    ZCDPFilter,
    best_order,
    filter_for,
    renyi_limit,
)
from pandas_dp.core.ledger import Ledger, LedgerEntry
from pandas_dp.core.mechanisms.gaussian import gaussian_delta
from pandas_dp.core.period_sums import LIFETIME, capped
from pandas_dp.core.privacy import PrivacyUnit, show
from pandas_dp.errors import Spelled
from pandas_dp.facts.numbers import rounded

PART = "::"  # between the name of a budget and that of a part of it
PLACES = 12  # decimals of an epsilon, and digits of a delta
DIGITS, MOST = Context(prec=60), 10_000  # at such an epsilon the delta of a group is 1 for every delta in use
ROUNDING = Fraction(1, 2**30)  # more than a charge is rounded up
FAR = Fraction(10**6)  # an epsilon of which the divergence of any order is positive
RHO_DIGITS = 9  # of a sum of rhos: those that the tiny steps do not change by which each is rounded up
MOST_DIGITS = 400  # of either, a delta of the smallest float included


@dataclass(frozen=True)
class Most(State):
    """The sums of the period that has spent most, of which all else is told, and those of all.

    `person` is what a unit in all of them has spent of its lifetime, where there is a cap. A part of a budget has the periods
    alone in which it was set aside.
    """

    start: State = field(default_factory=State.zero)
    periods: Mapping[int, State] = field(default_factory=dict)
    widest: int = 0
    person: Fraction = Fraction(0)
    part: bool = False

    @property
    def plain(self) -> State:
        """These sums alone."""
        return State(self.epsilon, self.unbounded, self.renyi, self.delta, self.planned)

    def asked(self, charge: Charge) -> dict[int, State]:
        """The sums of each period that a charge names."""
        first, last = charge.periods or (0, -1)
        return {period: self.periods.get(period, self.start) for period in range(first, last + 1)}

    @classmethod
    def of(
        cls, rule: Filter, start: State, periods: Mapping[int, State], widest: int, person: Fraction = Fraction(0)
    ) -> Most:
        """Of the sums that a new period starts with and those of the others; a filter says which of them spent most."""
        worst = max({start, *periods.values()}, key=lambda sums: _cost(rule, sums))
        told = worst.epsilon, worst.unbounded, worst.renyi, worst.delta, worst.planned
        return cls(*told, start, periods, widest, person)


def _cost(rule: Filter, sums: State) -> tuple[Any, ...]:
    """By which sums are compared: what they prove, and of equal epsilons what they leave."""
    epsilon, delta = proved(rule, sums)
    return epsilon is None, epsilon or 0, delta, sums.unbounded, sums.renyi, sums.epsilon


def state_of(ledger: Ledger, name: str, periods: tuple[int, int] | None = None) -> State:
    """What is spent of a budget; of one with periods the sums of that which spent most, of some or of all."""
    terms = ledger.budget(name)
    if terms is None or terms[1].periods is None:
        return ledger.state(name)
    start, states, sums = ledger.periods(name)
    first, last = periods or (-math.inf, math.inf)
    asked = {period: spent for period, spent in states.items() if first <= period <= last}
    return replace(Most.of(ledger.rule(name), start, asked, sums.widest, sums.person), part=PART in name)


def kept(rule: Filter, state: State) -> Filter:
    """A filter for what is told of it, without a lifetime that holds no more: since an older copy was put back."""
    lost = rule.budget.lifetime and isinstance(state, Most) and state.start != State.zero()
    return filter_for(replace(rule.budget, lifetime=None), rule.order) if lost else rule


def paid(rule: Filter, state: State, charge: Charge) -> State | None:
    """The sums after a charge, in thought; None where the budget, or the lifetime of one for each period, cannot pay it."""
    if not isinstance(state, Most):
        return rule.admit(state, charge)
    person, asked = capped(rule.budget.lifetime, state.start, state.person, charge), state.asked(charge)
    after = {sums: rule.admit(sums, charge) for sums in asked.values()}
    made = {period: then for period, sums in asked.items() if (then := after[sums]) is not None}
    if person is None or len(made) < len(asked):
        return None
    told = Most.of(rule, state.start, {**state.periods, **made}, state.widest, person)
    return replace(told, part=state.part)


def refused(rule: Filter, state: State, asked: str, charge: Charge, unit: PrivacyUnit) -> Exception:
    """The error for a charge that `paid` says is not."""
    every = state.asked(charge) if isinstance(state, Most) else {0: state}
    poor = {period: sums for period, sums in every.items() if rule.admit(sums, charge) is None}
    if isinstance(state, Most) and rule.budget.lifetime:
        poor[LIFETIME] = replace(state.start, epsilon=state.person, unbounded=state.start != State.zero())
    return of_poor(rule, poor, asked, charge, unit)


class Odometer(Spelled, str):
    """A text that says what is spent or left in every currency, and carries the two that have the same meaning everywhere.

    Attributes
    ----------
    epsilon, delta : Decimal
        Of what is spent: what the answers so far come to, above the total only where answers from before the budget was opened,
        or since a back-up was made, were charged to it; infinite where these have no finite epsilon. Where the budget counts
        divergences that is the smaller of their sum, converted, and of the sum of the epsilons. Of what is left: the total
        without that, at least 0. Rounded at the 12th decimal, deltas at the 12th digit of the total one, spent ones up, left
        ones down.
    guarantee : str
        What the budget promises: its total, whatever is asked in which order. The amounts are for display.
    rho : Decimal
        Of a budget that counts rho (zCDP), which others do not have: what its answers so far add up to, and what is left of the
        total, rounded to nine digits.

    Examples
    --------
    >>> import pandas as pd, pandas_dp
    >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
    >>> session = df.dp.protect(epsilon=3, name="odometer example")
    >>> _ = df.dp(epsilon=0.1).count(), df.dp(epsilon=0.2).count("age")
    >>> session.spent, session.spent.epsilon, session.left.epsilon
    ('epsilon=0.3', Decimal('0.3'), Decimal('2.7'))
    >>> session.left.guarantee
    'all answers together: epsilon=3, for one row more or less, even if questions depend on earlier answers'
    """

    __slots__ = ("delta", "epsilon", "guarantee", "rho")  # rho where it is what is counted
    epsilon: Decimal
    delta: Decimal
    guarantee: str
    rho: Decimal

    def __new__(cls, text: str, epsilon: Decimal, delta: Decimal, guarantee: str) -> Odometer:
        """Attach the amounts to the text."""
        self = super().__new__(cls, text)
        self.epsilon, self.delta, self.guarantee = epsilon, delta, guarantee
        return self

    if not TYPE_CHECKING:  # see `Spelled`

        def _spelt(self, name):
            """Say of a sum that is none of its names where it is told."""
            return ": the text tells what else is counted" if name in ("rho", "renyi") else super()._spelt(name)

    def _in_rho(self, rho: Fraction) -> Self:
        """Attach how much rho that is."""
        self.rho = Decimal(show(rounded(rho, RHO_DIGITS, ROUND_HALF_EVEN))) if rho > 0 else Decimal(0)
        return self

    def __getnewargs__(self) -> tuple[str, Decimal, Decimal, str]:  # type: ignore[override]
        """Let pickle and copy keep the amounts."""
        return str(self), self.epsilon, self.delta, self.guarantee


def proved(rule: Filter, state: State, rho: Fraction | None = None) -> tuple[Fraction | None, Fraction]:
    """The least epsilon that holds for what was answered by sum or by divergence, and its delta.

    It is at most the total, but where more was charged than that: then the epsilons of all charges add up. Where one
    has none, or uses up more delta than the budget has, nothing holds, and the epsilon is None.
    """
    budget = rule.budget
    total = budget.epsilon, budget.delta
    if is_over(rule, state):
        uncounted = state.unbounded or state.delta > (0 if isinstance(rule, PureFilter) else budget.delta_reserved)
        return (None, Fraction(1)) if uncounted else (state.epsilon, state.delta)
    summed = (state.epsilon, state.delta) if not state.unbounded else total
    if isinstance(rule, PureFilter):
        return min(summed, total)
    slack = budget.delta - budget.delta_reserved  # what the conversion takes
    known = state.renyi if isinstance(rule, ZCDPFilter) else rho
    found = [max(_converted(rule, state, slack), Fraction(0))] + ([] if known is None else [zcdp_epsilon(known, slack)])
    return min(summed, total, (min(found), slack + state.delta))


def rho_of_groups(rule: Filter, state: State) -> Fraction | None:
    """The rho of one unit from which that of groups follows; None where a budget counts none, or its answers spent delta.

    While no charge has a delta, the divergence of every order a of the transcript of two neighbours is at most a times the
    limit, for charges are public and the filter admits no more. A group of k units is k neighbours apart, for which it is then
    at most a k^2 times the limit (Bun, Steinke 2016, Proposition 27). Outside an event that a delta stands for this holds for
    each two neighbours with an event of their own, and no such rule for a chain of them is proved here.
    """
    every = [state.start, *state.periods.values()] if isinstance(state, Most) else [state]
    counted = isinstance(rule, ZCDPFilter) and not any(one.delta or is_over(rule, one) for one in every)
    return rule.limit if counted and isinstance(rule, ZCDPFilter) else None


def sum_of_rhos(entries: Iterable[LedgerEntry]) -> Fraction | None:
    """The sum of all prices, where each was a rho: what was answered is as private as that says; None for others."""
    charged = [entry for entry in entries if entry.charge is not None]
    if not charged or not all(entry.kind == "query" and entry.price.startswith("rho=") for entry in charged):
        return None
    rhos = (Fraction(entry.price.partition(",")[0].removeprefix("rho=")) for entry in charged)
    return sum(rhos, Fraction(0)) * (1 + ROUNDING)


def _converted(rule: RenyiFilter, state: State, slack: Fraction) -> Fraction:
    """Epsilon of the divergence so far, rounded up.

    At one order it differs from the total by as much as the divergence from its limit, which was rounded down: see
    `renyi_limit`. For sums of mu^2 it is the exact curve of one Gaussian mechanism, by bisection.
    """
    rest = rule.limit - state.renyi
    if not isinstance(rule, GDPFilter):
        return rule.budget.epsilon - rest * (rule.order if isinstance(rule, ZCDPFilter) else 1)
    return gaussian_epsilon(math.sqrt(state.renyi) * (1 + 1e-9), slack)


def zcdp_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """An epsilon that rho of zero-concentrated differential privacy keeps with a delta, about the least; rounded up.

    Every order proves one; the order decides how small it is.

    Examples
    --------
    >>> round(float(zcdp_epsilon(Fraction(1, 100), Fraction("9e-7"))), 3)
    0.625
    """
    if not rho:
        return Fraction(0)
    found = Fraction(float(rho) + 2 * math.sqrt(float(rho) * -math.log(delta)))
    for _ in range(3):  # the best order follows from the epsilon, which follows from the order
        order = best_order(found, delta)
        found = min(found, order * rho + FAR - renyi_limit(FAR, delta, order))
    return max(order * rho + FAR - renyi_limit(FAR, delta, order), Fraction(0))


def gaussian_epsilon(mu: float, delta: Fraction) -> Fraction:
    """Least epsilon at which one Gaussian mechanism of this mu keeps a delta, rounded up, by bisection."""
    goal = float(delta) * (1 - 1e-5)  # the cancellation in tiny epsilons costs less than this
    if not mu or gaussian_delta(0.0, mu) <= goal:
        return Fraction(0)
    low, high = 0.0, 1.0
    while gaussian_delta(high, mu) > goal:
        low, high = high, 2 * high
    return Fraction(narrowed(lambda epsilon: gaussian_delta(epsilon, mu) <= goal, low, high)[1])


def deciding(rule: Filter, state: State) -> list[tuple[str, Any, Any]]:
    """The sums that decide about the next question, and their limits."""
    rows: list[tuple[str, Any, Any]] = []
    if not isinstance(rule, RenyiFilter):
        return []  # the sum of epsilons is the first row, or a plan, told in words
    if isinstance(rule, HybridFilter) and not state.unbounded:
        rows.append(("Sum of the epsilons", state.epsilon, rule.budget.epsilon))
    order = "" if isinstance(rule, GDPFilter) else f" of order {float(rule.order or 0):.6g}"
    summed = f"the Rényi divergences{order}" if rule.currency == RenyiFilter.currency else rule.currency
    used, limit = unstepped(state.renyi), rule.limit
    if isinstance(rule, ZCDPFilter):
        summed, limit = f"{summed}, about", min(max(whole_rho(rule), used), limit)
    rows.append((f"Sum of {summed}", used, limit))
    if rule.budget.delta_reserved:
        rows.append(("Delta used up by questions", state.delta, rule.budget.delta_reserved))
    return rows


def told_as(
    text: str, epsilon: Fraction | None, delta: Fraction, rounding: str, guarantee: str, total: Fraction
) -> Odometer:
    """A text with both amounts.

    Of delta there are so many decimals that the total has 12 digits: of 12 decimals a small one would be many times itself.
    """
    places = PLACES - math.floor(math.log10(total)) if total else PLACES
    amount = Decimal("Infinity") if epsilon is None else _decimal(epsilon, rounding)
    return Odometer(text, amount, _decimal(delta, rounding, places), guarantee)


def _decimal(x: Fraction, rounding: str, places: int = PLACES) -> Decimal:
    """A rational with at most so many decimals, rounded in the direction that promises less."""
    scaled = x * 10**places
    whole = math.ceil(scaled) if rounding == ROUND_CEILING else math.floor(scaled)
    # of text, and with digits enough: what the caller's decimal context says rounds nothing here
    return Context(prec=MOST_DIGITS).normalize(Decimal(f"{whole}e{-places}")) if whole else Decimal(0)


def group_delta(epsilon: Fraction, delta: Fraction, size: int) -> Fraction:
    """Delta of k units of which each has these terms, rounded up: delta (e^(k epsilon) - 1) / (e^epsilon - 1), at most 1."""
    if size == 1 or not delta:
        return delta
    if size * epsilon >= MOST:
        return Fraction(1)
    with localcontext(DIGITS):
        e, one = (Decimal(x.numerator) / x.denominator for x in (epsilon, delta))
        # of sixty digits a small epsilon cancels a few: 1e-30 more covers every rounding
        grown = one * ((size * e).exp() - 1) / (e.exp() - 1) * (1 + Decimal("1e-30"))
    return min(Fraction(grown), Fraction(1))


def told_amount(x: Fraction, rounding: str = ROUND_CEILING) -> str:
    """A sum, exactly where it is a short decimal, else rounded: up, but for what is left."""
    if 10**12 % x.denominator == 0:
        return show(x, rounding)
    short = Context(prec=6, rounding=rounding)
    told = Fraction(short.divide(Decimal(x.numerator), Decimal(x.denominator)))
    return f"{'about ' * short.flags[Inexact]}{show(told, rounding)}"
