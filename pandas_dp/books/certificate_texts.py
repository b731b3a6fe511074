"""What a certificate says in words: the theorem behind a total, what is assumed, and what a reader should be warned of."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from typing import Any

from pandas_dp.core.filters import Filter, GDPFilter, HybridFilter, PlanFilter, PureFilter, ZCDPFilter
from pandas_dp.core.ledger import LedgerEntry
from pandas_dp.core.privacy import PrivacyUnit, show

LARGE_EPSILON = Fraction(10)  # above it a guarantee is weak, in the words of Ponomareva et al. 2023, "How to DP-fy ML"
LARGE_DELTA = Fraction(1, 1000)  # from it on, one unit in a thousand might be published outright
COMPUTED = "The question in the terms of the code, by which it is stored"
GROUPS = (1, 2, 5)  # units whose joint promise is told
ADAPTIVE = "It holds for questions, prices and a moment to stop that were chosen after seeing answers."


def theorem(rule: Filter) -> tuple[str, str]:
    """Return how a budget counts and the theorem by which its total holds."""
    if isinstance(rule, PlanFilter):
        return (
            "Prices declared beforehand (a plan), plain epsilons beside it",
            "Every mechanism of pure differential privacy is a post-processing of randomised response, so mechanisms whose "
            "epsilons were fixed before the first answer are together no worse than those (Kairouz, Oh, Viswanath 2015; "
            "Vadhan, Wang 2021). What is asked beside the plan is a privacy filter whose total was fixed then, too. "
            "Questions may depend on answers; the prices of the plan may not, and were declared.",
        )
    if isinstance(rule, PureFilter):
        return (
            "Pure differential privacy: epsilons are added",
            "The epsilons of all answers add up to at most the total: a question beyond it is refused, and the refusal is a "
            f"function of earlier answers (privacy filter: Rogers, Roth, Ullman, Vadhan 2016). {ADAPTIVE}",
        )
    if isinstance(rule, GDPFilter):
        return (
            "Gaussian differential privacy: squares of mu are added",
            "Gaussian mechanisms whose mu² sum to at most a limit are together as private as one Gaussian mechanism of that "
            "mu² (Smith, Thakurta 2022; Koskela, Tobaben, Honkela 2023), whose epsilon and delta are exact (Balle, Wang "
            f"2018). {ADAPTIVE}",
        )
    converts = "converted to epsilon and delta by Canonne, Kamath, Steinke 2020"
    if isinstance(rule, ZCDPFilter):
        return (
            "Zero-concentrated differential privacy: rhos are added",
            f"The rhos of all answers sum to at most a limit (Bun, Steinke 2016), {converts}; one order serves as a "
            f"filter (Feldman, Zrnic 2021). {ADAPTIVE}",
        )
    order = f"of order {float(rule.order or 0):.6g}"
    if isinstance(rule, HybridFilter):
        return (
            "Sums of epsilons, or of Rényi divergences: the hybrid filter",
            "Admitted is what keeps the deltas within their reserved part and either the sum of all epsilons within the total "
            f"or the sum of all Rényi divergences {order} within its limit, {converts}. Both sums count every charge, which "
            "is why the two tests may be joined by “or”; the proof stands in the documentation of HybridFilter (its two "
            f"halves: Rogers, Roth, Ullman, Vadhan 2016; Feldman, Zrnic 2021). {ADAPTIVE}",
        )
    return (
        "Rényi differential privacy at one order",
        f"The Rényi divergences {order} of all answers sum to at most a limit, {converts}; one fixed order is a privacy "
        f"filter (Feldman, Zrnic 2021). {ADAPTIVE}",
    )


def whose(unit: PrivacyUnit) -> tuple[str, str]:
    """Return the unit that is hidden, and the neighbouring relation, in words."""
    thing = "row" if unit.column is None else f"value of {unit.column!r}"
    if unit.column is None:
        hidden = "one row of the table"
    else:
        hidden = f"all rows with one {thing}; at most {unit.rows:,} of them count"
        if (unit.groups, unit.rows_per_group) != (unit.rows, unit.rows):
            hidden += f", in at most {unit.groups:,} groups of one answer and at most {unit.rows_per_group:,} in each"
    if unit.add_remove:
        return hidden, f"add_remove: two tables are neighbours where one has one {thing} more"
    return (
        hidden,
        f"replace_one: two tables are neighbours where one {thing} has other content in one than in the other",
    )


def warnings(rule: Filter, unit: PrivacyUnit, entries: list[LedgerEntry], answers: list[Any]) -> list[tuple[str, str]]:
    """Return what a reader should be warned of, as (in short, in full). `answers` are releases."""
    return [*_of_terms(rule, unit), *of_uses(entries, answers)]


def of_uses(entries: list[LedgerEntry], answers: list[Any]) -> list[tuple[str, str]]:
    """The warnings that do not come from the terms of a budget, which its parts have from it."""
    assumed = dict.fromkeys(answer.assumes for answer in answers if answer.assumes is not None)
    rests = "An answer rests on an assumption"
    return [*_of_entries(entries), *((rests, f"The guarantee of an answer below assumes {text}.") for text in assumed)]


def _of_terms(rule: Filter, unit: PrivacyUnit) -> Iterator[tuple[str, str]]:
    budget = rule.budget
    if budget.epsilon > LARGE_EPSILON:
        yield (
            f"The total is large: epsilon={show(budget.epsilon)}",
            f"The presence of one unit may make an outcome up to e^epsilon = {_power(budget.epsilon)} times as likely. "
            "Rule: warned above 10, where Ponomareva et al. 2023 (“How to DP-fy ML”) call the formal guarantee weak; they "
            "call it strong up to 1 and reasonable up to 10.",
        )
    if budget.delta >= LARGE_DELTA:
        yield (
            f"Delta is large: delta={show(budget.delta)}",
            "Up to this probability the bound by epsilon need not hold, and a mechanism that publishes each unit with this "
            "probability would be allowed. Rule: warned from 1/1000 on, whatever the table.",
        )
    if isinstance(rule, GDPFilter):
        yield (
            "This accountant rests on a computation, not on a proof alone",
            "Its theorem is proved for continuous Gaussian noise. The noise is drawn on a fine lattice; the exact delta of "
            "that was computed for up to 16 fixed steps, and exceeds the continuous one by less than the "
            "hundred-thousandth of delta that is kept back.",
        )
    if unit.column is None:
        yield (
            "Rows are protected, not people",
            "No column says which rows belong together. Whoever has several rows has only the promise for a group of that "
            "many rows, see below.",
        )
    else:
        most = "1 row counts" if unit.rows == 1 else f"{unit.rows:,} rows count"
        yield (
            "Rows may be left out of answers",
            f"Of one {unit.column!r} at most {most}, and none where {unit.column!r} is missing. Counts and sums are smaller by "
            "what is left out, and intervals do not cover it.",
        )
    if not unit.add_remove:
        yield (
            "Presence is not hidden, content is",
            "Under replace_one the number of units in the table may be told exactly; what each of them contributed is "
            "hidden.",
        )


def _of_entries(entries: list[LedgerEntry]) -> Iterator[tuple[str, str]]:
    vouched = [entry for entry in entries if entry.kind == "adopt"]
    if vouched:
        count = "One table was" if len(vouched) == 1 else f"{len(vouched):,} tables were"
        yield (
            f"{count} vouched for",
            "Answers from such a table are private only if it was derived row by row, as the owner says: "
            + "; ".join(f"entry {entry.sequence}, “{entry.query}”" for entry in vouched)
            + ".",
        )
    for entry in entries:
        if entry.kind == "claim":
            yield (
                "The owner says that other people stand in a table",
                f"Entry {entry.sequence}: “{entry.query}”. Who stands in a table of another budget, too, has spent from both.",
            )
        elif entry.kind == "carried":
            yield (
                "Answers were given before this budget was named",
                f"Entry {entry.sequence}: they were charged to it, {entry.price}, also where that exceeds the total; beyond it "
                "nothing more is paid.",
            )
        elif entry.kind == "outside":
            yield "Answers were given that this budget does not cover", f"Entry {entry.sequence}: {entry.query}."
    if any(entry.kind == "amend" for entry in entries):
        yield (
            "The total was raised",
            "What was answered before is then private at the new total, provided that released answers did not decide on "
            "the raise. The entries and their reasons stand in the record below.",
        )


def assumptions(rule: Filter, unit: PrivacyUnit) -> Iterator[str]:
    """Yield what the promise takes for granted, whatever was asked."""
    delta = rule.budget.delta
    if delta:
        yield (
            "Delta must be far below one divided by the number of units. That number is private and not on this page: "
            f"whoever knows it checks that it is far below {int(1 / delta):,}."
        )
    if unit.column is not None:
        yield f"Whatever belongs to one person has one value of {unit.column!r}."
    yield from (
        "Bounds, keys, bins and whatever else stands in a question or a schema are public facts: nobody read them off the "
        "data.",
        "Only what is listed below was published. Whoever holds the table itself can read it; how long an answer took was "
        "not hidden.",
        "What is released about the same people elsewhere adds up with this: other budgets, other ledgers, other tables.",
        "The record finds damage, not forgers: whoever may write the ledger could write another one.",
        "Tables that bear one version have one content: that is the owner's word. A row that was moved to another part of a "
        "partition under one version may have spent what both parts did.",
    )


def _power(epsilon: Fraction) -> str:
    """e^epsilon, which may be beyond every float."""
    with localcontext() as context:
        context.prec, context.Emax, context.rounding = 20, 10**9, ROUND_CEILING
        value = (Decimal(epsilon.numerator) / epsilon.denominator).exp()
        return f"{value:,.0f}" if value < 10**6 else f"{value:.2e}"
