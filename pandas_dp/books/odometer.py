"""What a budget has spent, has left and promises, from public sums alone: texts for people, exact decimals for programs."""

from __future__ import annotations

import os
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Any

from pandas_dp.aggregates.uncertainty import narrowed
from pandas_dp.books import budget_words, period_words
from pandas_dp.books.amounts import Most, group_delta, kept, proved, state_of, sum_of_rhos, told_as, zcdp_epsilon
from pandas_dp.books.amounts import Odometer as Odometer
from pandas_dp.books.budget_words import USUAL_DELTA, is_over
from pandas_dp.core import records
from pandas_dp.core.budget import Budget, Charge, State
from pandas_dp.core.filters import (
    Filter,
    GDPFilter,
    HybridFilter,
    PlanFilter,
    PureFilter,
    RenyiFilter,
    ZCDPFilter,
    filter_for,
)
from pandas_dp.core.ledger import Ledger, LedgerEntry
from pandas_dp.core.privacy import LARGEST_EPSILON, PrivacyLoss, PrivacyUnit, show
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts.numbers import of_total, positive_epsilon, rounded, say, small_delta, three_digits, typed
from pandas_dp.facts.public_only import DOTS
from pandas_dp.release.text import COUNTED

WHILE_NONE = ", as long as no question spends delta"
NOTHING = "nothing: more was charged than this budget can count"
SUMMED_NO_MORE = "the sum of epsilons no longer counts, since Gaussian noise has no finite epsilon"


def spent_of(ledger: Ledger, name: str, unit: PrivacyUnit) -> Odometer:
    """Say what is spent of a budget of a ledger, see `spent`."""
    state = state_of(ledger, name)
    rho = sum_of_rhos(ledger.entries(name)) if state.unbounded and not state.epsilon else None
    return spent(ledger.rule(name), state, unit, rho)


def spent(rule: Filter, state: State, unit: PrivacyUnit, rho: Fraction | None = None) -> Odometer:
    """Say what is spent; where divergences are counted, first the epsilon that all answers come to.

    Where all prices were rhos, with this sum, that is converted at the order that proves most. Of a budget for each period,
    first what it comes to for somebody who is in all of them, see `period_words`.
    """
    if isinstance(state, Most):
        rule = kept(rule, state)
        return period_words.spent(rule, state, unit, spent(rule, state.plain, unit))
    epsilon, delta = proved(rule, state, rho)
    over = f", above the total of {show(rule.budget.epsilon)}" if is_over(rule, state) else ""
    words = budget_words.spent(rule, state) + over
    if not isinstance(rule, PureFilter):
        together = "no finite epsilon" if epsilon is None else f"epsilon={show(of_total(epsilon, rule.budget.epsilon))}"
        words = together if state == State.zero() else f"{together}{COUNTED}{words}"
    told = told_as(words, epsilon, delta, ROUND_CEILING, promise(rule, unit, state), rule.budget.delta)
    return told._in_rho(state.renyi) if isinstance(rule, ZCDPFilter) else told


def goes_on(ledger: Ledger, name: str, unit: PrivacyUnit) -> str:
    """The call that puts a frame on a budget that is open, with the terms that it has, and how much of it is spent."""
    budget, told = ledger.rule(name).budget, spent_of(ledger, name, unit)
    epsilon = getattr(told, "period", told).epsilon
    known = show(of_total(Fraction(epsilon), budget.epsilon)) if epsilon.is_finite() else "all"
    where = f" in the {unit.period} that spent most" * bool(unit.period)
    return f"{to_type(budget, unit, name, ledger.path)}  # continues: {known} of {show(budget.epsilon)} spent{where}"


def to_type(budget: Budget, unit: PrivacyUnit, name: str, path: str | None, **more: str) -> str:
    """The call that puts a frame on a budget with these terms."""
    whole = unit.rows
    plan = {show(price): count for price, count in budget.plan}
    near, said = path and os.path.relpath(path), records.typed(unit)
    terms: dict[str, str] = {
        "epsilon": show(budget.epsilon),
        "delta": show(budget.delta) if budget.delta else "",
        "unit": repr(unit.column) if unit.column else "",
        "max_rows": str(whole) if unit.column else "",
        "max_groups": str(unit.groups) if unit.groups != whole else "",
        "max_rows_per_group": str(unit.rows_per_group) if unit.rows_per_group != whole else "",
        "neighbors": "" if unit.add_remove else "'replace_one'",
        **{term: said[term] for term in ("period", "time", "zone") if term in said},
        "lifetime": show(budget.lifetime) if budget.lifetime else "",
        "accountant": "" if plan or budget.accountant in ("pure", "hybrid") else repr(budget.accountant),
        "delta_reserved": "" if budget.delta_reserved in (0, budget.delta / 10) else show(budget.delta_reserved),
        "plan": f"{{{', '.join(f'{price}: {count}' for price, count in plan.items())}}}" if plan else "",
        "ledger": "" if not path else repr(path if near is None or near.startswith(os.pardir) else near),
        "name": "" if name == "data" else repr(name),
        **{term: repr(text) for term, text in more.items()},
    }
    return f"df.dp.protect({', '.join(f'{term}={text}' for term, text in terms.items() if text)})"


def promised(rule: Filter, state: State) -> Budget | None:
    """The total, or what was spent where that is more; None where what was put on record has no finite epsilon and delta."""
    epsilon = proved(rule, state)[0]
    if not is_over(rule, state):
        return rule.budget
    return None if epsilon is None else replace(rule.budget, epsilon=epsilon)


def left(rule: Filter, state: State, unit: PrivacyUnit, like: tuple[str, PrivacyLoss] | None) -> Odometer:
    """Say what is left, and where divergences are counted, how many calls like one that is."""
    if isinstance(state, Most):
        one_rule = kept(rule, state)
        return period_words.PeriodLeft.of(
            state, unit, lambda one: left(one_rule, one, unit, like), rule.budget.lifetime
        )
    epsilon, delta = proved(rule, state)
    over = is_over(rule, state)  # what is left is a part of the total, and there is none
    rest = Fraction(0) if over or epsilon is None else max(rule.budget.epsilon - epsilon, Fraction(0))
    slack = Fraction(0) if over else rule.budget.delta - delta
    told = told_as(
        left_text(rule, state, like), rest, slack, ROUND_FLOOR, promise(rule, unit, state), rule.budget.delta
    )
    return told._in_rho(budget_words.whole_rho(rule) - state.renyi) if isinstance(rule, ZCDPFilter) else told


def promise(rule: Filter, unit: PrivacyUnit, state: State | None = None) -> str:
    """Say what a budget guarantees, for whom, and that it does so for questions that depend on answers."""
    budget = rule.budget if state is None else promised(kept(rule, state), state)
    if budget is None:
        return f"all answers together: {NOTHING}"
    total = f"epsilon={show(budget.epsilon)}"
    if rule.budget.delta:
        total += f", delta={show(rule.budget.delta)}"
    whose = "row" if unit.column is None else f"unit of {unit.column!r}"
    change = "more or less" if unit.add_remove else "with other content"
    if unit.period:
        change += f" in one {unit.period}, more for one in several {unit.period}s"
        change += f" (lifetime: epsilon={show(budget.lifetime)})" if budget.lifetime else ""
    return f"all answers together: {total}, for one {whose} {change}, even if questions depend on earlier answers"


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
    rest = rule.beside - rule.others(state) if isinstance(rule, PlanFilter) else budget.epsilon - state.epsilon
    by_sum = rest // charge.epsilon if summed and charge.epsilon else 0
    if isinstance(rule, PlanFilter) and summed and rest >= 0:
        by_sum += sum(n - used for (epsilon, n), used in rule.pots(state) if epsilon == charge.epsilon)
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
    if isinstance(rule, PureFilter) or is_over(rule, state):
        return budget_words.left(rule, state)
    pure, gaussian = PrivacyLoss.pure(Fraction(1, 10)), PrivacyLoss.gaussian(Fraction(1, 100))
    price, loss = like or (("rho=0.01", gaussian) if isinstance(rule, GDPFilter) else ("epsilon=0.1", pure))
    calls = more_calls(rule, state, loss)
    if not calls and loss.delta and loss.epsilon:  # the delta for finding keys may have run out alone
        price, loss = f"epsilon={say(loss.epsilon)}", PrivacyLoss.pure(loss.epsilon)
        calls = more_calls(rule, state, loss)
    why = f"; {SUMMED_NO_MORE}" if isinstance(rule, HybridFilter) and state.unbounded else ""
    sums, keys = budget_words.left(rule, state), ""
    if rule.budget.delta_reserved:  # the last sum, and one that is spent as it is
        sums, _, keys = sums.rpartition(", ")
    more = f"about {calls:,} more call{'' if calls == 1 else 's'}" if calls else "too little for a call"
    return f"{more} at {price}{', and ' if keys else ''}{keys}{COUNTED}{sums}{why}"


def first_gaussian(rule: Filter, state: State, charge: Charge) -> str | None:
    """Say what the first Gaussian noise of a budget does to it: later prices are not added up any more; None for others.

    The example is a price of a quarter of the total, for it is large prices that this makes dearer.
    """
    if not isinstance(rule, HybridFilter) or state.unbounded or charge.epsilon is not None:
        return None
    price = three_digits(rule.budget.epsilon / 4)
    before, after = (more_calls(rule, at, PrivacyLoss.pure(price)) for at in (state, state.plus(charge)))
    fewer = f"after this answer the budget pays for about {after:,} more calls at epsilon={say(price)} instead of {before:,}: "
    return (fewer if after < before else "") + (
        "Gaussian noise has no finite epsilon, so from then on the budget counts Renyi divergence alone, and "
        "large prices cost more"
    )


def raised(
    term: str, argument: str, known: Fraction, asked: Fraction, entries: list[LedgerEntry], line: str
) -> Fraction:
    """The larger of a total and what was asked for it, which must not be new and smaller.

    Raises
    ------
    ArgumentValueError
    """
    terms = (entry.price.split(", ") for entry in entries if entry.kind in ("open", "amend"))
    before = (part.partition("=")[2] for parts in terms for part in parts if part.startswith(f"{term}="))
    if asked < known and not any(show(Fraction(text)) == show(asked) for text in before):  # earlier versions: 0.000001
        raise ArgumentValueError(
            f"{argument}= must be larger than the present total, which is {term}={show(known)} and can only be raised: {line}. "
            "A smaller one for other data needs another name: df2.dp.protect(epsilon=3, name='other')"
        )
    return max(asked, known)


def to_rho(rule: Filter, state: State, rho: Any) -> str:
    """The line that raises a total to the least epsilon, of six digits, that admits so much rho; no text where it does already.

    The order at which divergences were summed so far stays.
    """
    wanted, order = positive_epsilon(rho, "rho"), getattr(rule, "order", None) if state != State.zero() else None

    def enough(epsilon: Fraction) -> bool:
        raised = filter_for(replace(rule.budget, epsilon=epsilon), order)
        return isinstance(raised, RenyiFilter) and raised.limit >= wanted * raised.rho_worth

    if isinstance(rule, PureFilter):
        return to_raise(rule.budget, "epsilon")
    if enough(rule.budget.epsilon) or not enough(Fraction(LARGEST_EPSILON)):
        return ""
    ends = float(rule.budget.epsilon), float(LARGEST_EPSILON)
    least = Fraction(narrowed(lambda e: enough(Fraction(e)), *ends, 50, ratio=True)[0])
    totals = (rounded(least * (1 + i * Fraction(1, 10**6)), 6) for i in range(10))
    total = next(filter(enough, totals), None)
    return f"df.dp.session.extend(to={show(total)}, reason='...')" if total else ""


def to_raise(budget: Budget, term: str) -> str:
    """The line that doubles a total, epsilon or delta; a budget without a delta gets one."""
    if term == "epsilon":
        return f"df.dp.session.extend(to={say(2 * budget.epsilon)}, reason='...')"
    more = say(min(2 * budget.delta, (1 + budget.delta) / 2) or USUAL_DELTA)
    return f"df.dp.session.extend(to_delta={more}, reason='...')"


def extended(old: Budget, to: Any, to_delta: Any, reason: Any, entries: list[LedgerEntry], part: bool) -> Budget:
    """The budget that a total raised to these terms makes; the old one where it has or had them.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
    """
    if old.plan or part:
        line = "df.dp.protect(epsilon=3, name='more')" if old.plan else "df.dp.allot('more', epsilon=1)"
        raise ArgumentValueError(f"the total of a plan or of a part of a budget is fixed: open another one, {line}")
    lines = to_raise(old, "epsilon"), to_raise(old, "delta")
    if to is None and to_delta is None:
        raise ArgumentTypeError(f"name the new total: {lines[0]}")
    total = typed(lines[0], positive_epsilon, old.epsilon if to is None else to, "to")
    slack = typed(lines[1], small_delta, old.delta if to_delta is None else to_delta, "to_delta")
    epsilon = raised("epsilon", "to", old.epsilon, total, entries, lines[0])
    delta = raised("delta", "to_delta", old.delta, slack, entries, lines[1])
    if not isinstance(reason, str) or not reason.strip(DOTS):
        said = [
            f"{name}={say(value)}" for name, value in (("to", to and total), ("to_delta", to_delta and slack)) if value
        ]
        line = f"df.dp.session.extend({', '.join(said)}, reason='...')"
        raise ArgumentTypeError(f"reason must say why the total is raised: {line}")
    if (epsilon, delta) == (old.epsilon, old.delta):
        return old
    if delta and old.lifetime:
        raise ArgumentValueError(
            "a budget with a lifetime adds up plain epsilons and gets no delta: open another one, and their epsilons add up: "
            "df.dp.protect(..., name='new')"
        )
    if old.lifetime and epsilon > old.lifetime:
        raise ArgumentValueError(
            f"a period cannot have more than the lifetime, {show(old.lifetime)}, which is fixed: open another budget, which "
            "adds to it, by df.dp.protect(..., name='new')"
        )
    more = (delta - old.delta) / 10 if old.delta_reserved else 0
    reserved = None if old.delta == 0 else old.delta_reserved + more
    return replace(Budget.of(epsilon, delta, reserved, old.accountant if old.delta else "auto"), lifetime=old.lifetime)


def group_text(budget: Budget | None, unit: PrivacyUnit, size: int, rho: Fraction | None = None) -> str:
    """Say what a budget promises a group of units.

    Examples
    --------
    >>> group_text(Budget.of(1), PrivacyUnit(), 3)
    'any 3 rows together: epsilon=3'
    """
    who = ("rows" if unit.column is None else f"units of {unit.column!r}") + f" in one {unit.period}" * bool(
        unit.period
    )
    return f"any {size:,} {who} together: {of_group(budget, size, rho)}"


def of_group(budget: Budget | None, size: int, rho: Fraction | None = None) -> str:
    """Say what a budget promises so many units together; `rho` is that of one, see `rho_of_groups`."""
    if budget is None:
        return NOTHING
    if rho is not None and size > 1:
        epsilon = three_digits(zcdp_epsilon(size**2 * rho, budget.delta), ROUND_CEILING)
        about = show(rounded(size**2 * rho, 4, ROUND_HALF_EVEN))
        return f"epsilon={show(epsilon)}, delta={show(budget.delta)} (rho about {about}){WHILE_NONE}"
    epsilon = size * budget.epsilon
    if not budget.delta:
        return f"epsilon={show(epsilon)}"
    delta = group_delta(budget.epsilon, budget.delta, size)
    shown = Context(prec=5, rounding=ROUND_CEILING).divide(Decimal(delta.numerator), Decimal(delta.denominator))
    if shown >= 1:
        return f"too many for this budget to protect together: delta would be 1 at epsilon={show(epsilon)}"
    return f"epsilon={show(epsilon)}, delta={show(Fraction(shown))}"
