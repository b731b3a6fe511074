"""What people are told of a budget: what is spent of it, what is left, and why a charge was not admitted and what would be.

The filters decide, in `pandas_dp.core.filters`; here is only said what they decided, rounded to the safe side.
"""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR
from fractions import Fraction

from pandas_dp.aggregates.uncertainty import narrowed
from pandas_dp.core import ledger
from pandas_dp.core.budget import Budget, Charge, State
from pandas_dp.core.filters import Filter, GDPFilter, PlanFilter, PureFilter, RenyiFilter, ZCDPFilter, filter_for
from pandas_dp.core.period_sums import LIFETIME
from pandas_dp.core.privacy import LARGEST_EPSILON, SMALLEST_EPSILON, PrivacyLoss, PrivacyUnit, show
from pandas_dp.core.records import Row, typed
from pandas_dp.errors import ArgumentValueError, BudgetExceededError, LedgerError
from pandas_dp.facts.numbers import of_total, rounded, say, three_digits
from pandas_dp.facts.periods import Periods

USUAL_DELTA = Fraction(1, 10**6)  # of a budget that gets one for finding keys
MOST_DELTA = Fraction(1, 100)  # of a total that is proposed
SMALL = "ask with a small delta: it must be far below 1 / people, such as delta=1e-7"
_EXTENDED = r"(, or give the budget a delta|; raise it on record): df\.dp\.session\.extend\([^()]*\)"
STEPS = Fraction(1, 10**9)  # more than sums of divergences are rounded up
MOST_POOR = 3  # periods that a refusal names


def refusal(
    rule: Filter, state: State, asked: str, charge: Charge, where: str = "", most: Fraction = LARGEST_EPSILON
) -> BudgetExceededError | ArgumentValueError:
    """Build the error for a charge that was not admitted; `asked` is its price as typed, `where` what periods cannot pay it.

    No more than `most` is said to fit, which is what a lifetime leaves for each period.
    """
    gaussian = charge.epsilon is None
    if isinstance(rule, GDPFilter) and charge.renyi > rule.limit and not (gaussian and not charge.delta):
        return ArgumentValueError(
            "accountant='gdp' allows Gaussian noise only: ask counts, sums, means and histograms of listed "
            f"keys with rho= or delta=, such as df.dp(rho=0.01), instead of {asked}; nothing was charged"
        )
    if is_over(rule, state):
        currency, fits = getattr(rule, "currency", "epsilon"), _would_fit([])
    elif isinstance(rule, PureFilter):
        currency, fits = _of_pure(rule, state, charge, most)
    else:
        currency, fits = _of_divergences(rule, state, charge)
    error = BudgetExceededError(asked, spent(rule, state), left(rule, state), currency, fits, where)
    error._raised = more_epsilon(rule, state, charge) if fits.startswith("nothing fits") and not where else ""
    return error


def of_part(error: BudgetExceededError) -> None:
    """A refusal of a part of a budget proposes another part in place of a larger total, which no part can get."""
    error.fits = re.sub(_EXTENDED, "", error.fits)
    if error._raised:
        error._raised = ""
        error.where += (
            ". " * bool(error.where) + "The total of a part is fixed; another part: df.dp.allot('more', epsilon=1)"
        )


def of_poor(rule: Filter, poor: dict[int, State], asked: str, charge: Charge, unit: PrivacyUnit) -> Exception:
    """The same for the sums that cannot pay it: the budget's, or those of periods, of which it names the poorest.

    Beside periods the lifetime is told alone where it pays no price of this kind in any other period.
    """
    order = sorted(poor.keys() - {LIFETIME}, key=lambda period: (_amounts(poor[period]), -period), reverse=True)
    where = "" if unit.periods is None or not order else poorest(Periods.from_text(unit.periods), order)
    if LIFETIME not in poor:
        return refusal(rule, poor[order[0]], asked, charge, where)
    each, many = _of_each(rule, poor[LIFETIME], charge)
    if not order or charge.epsilon is None or charge.delta or each < SMALLEST_EPSILON:
        return of_lifetime(rule, poor[LIFETIME], asked, charge, unit)
    where += f"; the lifetime leaves {_tell('epsilon', each)}" + f" in each of {many:,} {unit.period}s" * (many > 1)
    return refusal(rule, poor[order[0]], asked, charge, where, each)


def _of_each(rule: Filter, person: State, charge: Charge) -> tuple[Fraction, int]:
    """What a lifetime leaves in each period of a charge, and how many these are."""
    rest = Fraction(0) if person.unbounded else max((rule.budget.lifetime or Fraction(0)) - person.epsilon, Fraction(0))
    first, last = charge.periods or (0, 0)
    return rest / (last - first + 1), last - first + 1


def of_lifetime(
    rule: Filter, person: State, asked: str, charge: Charge, unit: PrivacyUnit
) -> BudgetExceededError | ArgumentValueError:
    """The same for the cap on all periods together; `person` is what a unit in all of them has spent, unbounded if unknown."""
    another = "another budget, df.dp.protect(..., name='new'), adds to it"
    if charge.epsilon is None or charge.delta:
        return ArgumentValueError(
            "a budget with a lifetime counts plain epsilons only, so there is no Gaussian noise and no key discovery: "
            f"list keys=, leave out delta= and rho=; {another}; nothing was charged"
        )
    each, many = _of_each(rule, person, charge)
    fits = f"epsilon={say(each)} would fit" if each >= SMALLEST_EPSILON else "the lifetime is used up"
    cap = show(rule.budget.lifetime or Fraction(0))
    where = f"lifetime={cap} is for a {unit.column!r} in all {unit.period}s together, for good; {another}"
    if person.unbounded:
        fits = "the lifetime is used up, as an older copy of the ledger was put back"
    price = asked if many == 1 else f"{asked} in each of {many:,} {unit.period}s"
    spent, left = _tell("epsilon", person.epsilon, ROUND_CEILING), _tell("epsilon", each * many)
    return BudgetExceededError(price, spent, left, "lifetime", fits, where)


def _amounts(state: State) -> tuple[object, ...]:
    return state.unbounded, state.epsilon, state.renyi, state.delta


def poorest(periods: Periods, order: list[int]) -> str:
    """Which periods cannot pay, the poorest first."""
    named, more = ", ".join(periods.name(period) for period in order[:MOST_POOR]), len(order) - MOST_POOR
    others = f" and {more:,} more {periods.word}{'s' * (more > 1)}" if more > 0 else ""
    return f"{named}{others} cannot pay this; other {periods.word}s have budgets of their own"


def difference(row: Row, budget: Budget, unit: PrivacyUnit, used: bool) -> LedgerError:
    """Say in which terms a budget that was used, or another process opened, differs from what was asked for, and what to do."""
    old, new = ({**typed(u), **typed(b)} for u, b in ((row.privacy_unit, row.rule.budget), (unit, budget)))
    known, usual = row.rule.budget, typed(Budget.of(row.rule.budget.epsilon, row.rule.budget.delta))
    # what follows from a delta, or from max_rows, is not told beside it
    follow = {
        term for term in ("accountant", "delta_reserved") if old["delta"] != new["delta"] and old[term] == usual[term]
    }
    follow |= {term for term in ("max_groups", "max_rows_per_group") if old[term] == old["max_rows"] != new["max_rows"]}
    terms = [term for term in old | new if old.get(term) != new.get(term) and term not in follow] or ["epsilon"]
    total = "".join(f"{to}={new[term]}, " for to, term in (("to", "epsilon"), ("to_delta", "delta")) if term in terms)
    way_out = f"{'once something was asked' if used else 'since another process opened it'}, this cannot be changed"
    if row.privacy_unit == unit and total:
        lower = budget.epsilon < known.epsilon or budget.delta < known.delta
        way_out = f"to raise it on record, continue and then type df.dp.session.extend({total}reason='...')"
        way_out = "a total can only be raised" if lower else way_out
    error = LedgerError(
        f"the budget {row.name!r} has {', '.join(f'{t}={old.get(t)}, not {new.get(t)}' for t in terms)}: {way_out}. A fresh "
        f"budget needs another name, df.dp.protect(..., name={row.name + '_2'!r}); the two budgets add up"
    )
    error._budgets = (row.name,)
    return error


ledger.refusals.append(of_poor)
ledger.differences.append(difference)


def is_over(rule: Filter, state: State) -> bool:
    """Whether more was charged than the total: answers from before it was opened, or since a copy. It pays nothing more."""
    return rule.admit(state, Charge(Fraction(0), Fraction(0), Fraction(0))) is None


def _of_pure(rule: PureFilter, state: State, charge: Charge, most: Fraction) -> tuple[str, str]:
    """Which currency ran out, and what would fit."""
    pots = rule.pots(state) if isinstance(rule, PlanFilter) else []
    rest = rule.beside - rule.others(state) if isinstance(rule, PlanFilter) else rule.budget.epsilon - state.epsilon
    share, rest = "" if pots or most < rest else " all", min(rest, most)
    offers = [f"epsilon={show(e)}" for (e, n), used in pots if used < n and e <= most]
    fits = _would_fit(offers + ([f"epsilon={say(rest)}"] if rest >= SMALLEST_EPSILON else []), share)
    if charge.epsilon is not None and not charge.delta:
        return "epsilon", fits
    if pots:
        return "delta", f"a plan allows plain epsilons only: list keys=, leave out delta= and rho= ({fits})"
    more = _more_delta(max(10 * charge.delta, USUAL_DELTA))
    return "delta", (
        "this budget has no delta, so there is no Gaussian noise and no key discovery: list keys=, leave out delta= "
        f"and rho= ({fits}), or {f'give the budget a delta: {more}' if more else SMALL}"
    )


def _of_divergences(rule: RenyiFilter, state: State, charge: Charge) -> tuple[str, str]:
    """Which currency ran out, and what would fit."""
    rest, gaussian = rule.budget.delta_reserved - state.delta, charge.epsilon is None
    rho, epsilon = three_digits((rule.limit - state.renyi) / rule.rho_worth), _largest_epsilon(rule, state)
    offers = [f"rho={say(rho)}"] if gaussian and rho >= SMALLEST_EPSILON else []
    if epsilon >= SMALLEST_EPSILON:
        offers.append(f"epsilon={say(epsilon)}" + (" without delta= and rho=" if gaussian else ""))
    fits = _would_fit(offers)
    if charge.delta <= rest:
        currency = rule.currency if gaussian or rule.by_sum(state) is None else "epsilon"
        return currency, _would_fit(offers, " nearly all")
    fits += " in a query that needs no delta" if offers else ""
    fits += f"; of the delta reserved for finding keys and smooth noise (a tenth by default) {say(rest)} is left"
    if rest and rule.admit(state, replace(charge, delta=rest)) is not None:
        return "delta", f"{fits}: delta={say(rest)} would fit"
    more = _more_delta(rule.budget.delta + 10 * (charge.delta - rest)) if rule.budget.delta_reserved else ""
    return "delta", fits + (
        f"; raise it on record: {more}" if more else f"; {SMALL}" if rule.budget.delta_reserved else ""
    )


def _more_delta(total: Fraction) -> str:
    """The line that raises the total delta, of which a tenth is for finding keys; none where that would promise nothing."""
    return f"df.dp.session.extend(to_delta={say(total)}, reason='...')" if total < MOST_DELTA else ""


def more_epsilon(rule: Filter, state: State, charge: Charge) -> str:
    """The line that raises the total to one that pays a charge, in the order that counts so far; none where that is no use."""
    total = rule.budget.epsilon + (charge.epsilon or 0)
    while total <= LARGEST_EPSILON and not rule.budget.plan:
        if (
            filter_for(replace(rule.budget, epsilon=total), getattr(rule, "order", None)).admit(state, charge)
            is not None
        ):
            return f"df.dp.session.extend(to={say(total)}, reason='...')"
        total *= 2
    return ""


def _largest_epsilon(rule: RenyiFilter, state: State) -> Fraction:
    """Largest epsilon that a pure query may still ask, as one would type it; 0 when none."""
    by_sum = rule.by_sum(state) or Fraction(0)
    rest = rule.limit - state.renyi

    def over(epsilon: float) -> bool:
        return rule.charge(PrivacyLoss.pure(Fraction(epsilon))).renyi > rest

    least, most = float(SMALLEST_EPSILON) / 2, float(LARGEST_EPSILON)
    return max(by_sum, three_digits(Fraction(narrowed(over, least, most, 64, ratio=True)[0])))


def _would_fit(offers: list[str], share: str = "") -> str:
    """The largest prices, and how much of what is left each of them would spend."""
    spends = f" and spend{share} that is left" if share else ""
    return " or ".join(offers) + f" would fit{spends}" if offers else "nothing fits any more"


def spent(rule: Filter, state: State) -> str:
    """Say what is spent, in every currency that the filter sums."""
    if isinstance(rule, PlanFilter):
        pots = [f"{used:,} of {n:,} planned calls at epsilon={show(e)}" for (e, n), used in rule.pots(state)]
        return ", ".join([*pots, _tell("epsilon", rule.others(state), ROUND_CEILING) + " beside the plan"])
    if isinstance(rule, PureFilter):
        return _tell("epsilon", state.epsilon, ROUND_CEILING) + " and Gaussian noise" * state.unbounded
    noise = " (with Gaussian noise)" * state.unbounded
    told = show(of_total(unstepped(state.renyi), rule.limit)) if state.renyi else ""
    divergence = [f"{rule.currency} about {told}{noise}"] if told else []
    # of Gaussian noise no epsilon counts, and the divergence is that of all answers
    summed = [] if state.unbounded else [_tell("epsilon", state.epsilon, ROUND_CEILING)]
    return ", ".join([*summed, *divergence, *([_tell("delta", state.delta, ROUND_CEILING)] if state.delta else [])])


def left(rule: Filter, state: State) -> str:
    """Say what is left: of the plan and beside it, or of the epsilons, the divergence and the reserved delta."""
    if is_over(rule, state):
        return "nothing"
    if isinstance(rule, PlanFilter):
        pots = [f"{n - used:,} of {n:,} planned calls at epsilon={show(e)}" for (e, n), used in rule.pots(state)]
        return ", ".join([*pots, _tell("epsilon", rule.beside - rule.others(state)) + " beside the plan"])
    if isinstance(rule, PureFilter):
        return _tell("epsilon", rule.budget.epsilon - state.epsilon)
    left = rule.by_sum(state)
    by_sum = "" if left is None else _tell("epsilon", left) + " by addition or "
    reserved = rule.budget.delta_reserved
    delta = ", " + _tell("delta", reserved - state.delta) + " for finding keys" if reserved else ""
    better = " (whichever allows more)" if by_sum else ""
    whole = f" of {show(whole_rho(rule))}" if isinstance(rule, ZCDPFilter) else ""
    limit = whole_rho(rule) if isinstance(rule, ZCDPFilter) else rule.limit
    rest = _tell(rule.currency, limit - unstepped(state.renyi)) + whole
    return f"{by_sum}{rest}{better}{delta}"


def whole_rho(rule: ZCDPFilter) -> Fraction:
    """The rho that was typed as a total, or what the total comes to, rounded down.

    The limit is that of an epsilon of six digits that pays for what was typed, so it is above that by some millionths of it.
    """
    found = (rounded(rule.limit * (1 - STEPS), digits, ROUND_FLOOR) for digits in range(3, 7))
    return next(rho for rho in found if rule.limit - rho <= rule.limit / 10**4)


def unstepped(x: Fraction) -> Fraction:
    """A sum of divergences without the tiny steps by which each was rounded up, where it is a short decimal then."""
    short = rounded(x * (1 - STEPS), 7) if x else x
    return min(short, x)


def _tell(name: str, x: Fraction, rounding: str = ROUND_FLOOR) -> str:
    """Write a sum honestly: exactly as a short decimal or fraction, else rounded (what is spent upwards) and saying so."""
    exact = x <= 0 or x.denominator < 1000 or 10**12 % x.denominator == 0
    sign, told = ("=", max(x, Fraction(0))) if exact else (" about ", three_digits(x, rounding))
    return f"{name}{sign}{show(told, rounding)}"
