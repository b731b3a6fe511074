"""What a certificate says in words: the theorem behind a total, what is assumed, and what a reader should be warned of.

The sentences lie beside this file, in ``certificate.toml``; here is decided when each of them holds.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from importlib.resources import files
from typing import Any

from pandas_dp.core.filters import Filter
from pandas_dp.core.ledger import LedgerEntry
from pandas_dp.core.privacy import PrivacyUnit, show

LARGE_EPSILON = Fraction(10)  # above it a guarantee is weak, in the words of Ponomareva et al. 2023, "How to DP-fy ML"
LARGE_DELTA = Fraction(1, 1000)  # from it on, one unit in a thousand might be published outright
COMPUTED = "The question in the terms of the code, by which it is stored"
GROUPS = (1, 2, 5)  # units whose joint promise is told
WORDS = tomllib.loads(files("pandas_dp.books").joinpath("certificate.toml").read_text("utf-8"))


def theorem(rule: Filter) -> tuple[str, str]:
    """Return how a budget counts and the theorem by which its total holds."""
    words = WORDS["theorem"][rule.budget.accountant]
    return words["counted"], words["why"].format(order=f"{float(rule.order or 0):.6g}", **WORDS["often"])


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
    return [*_of_entries(entries), *(_warning("assumes", text=text) for text in assumed)]


def _warning(kind: str, **facts: Any) -> tuple[str, str]:
    words = WORDS["warning"][kind]
    return words["short"].format(**facts), words["full"].format(**facts)


def _of_terms(rule: Filter, unit: PrivacyUnit) -> Iterator[tuple[str, str]]:
    budget = rule.budget
    if budget.epsilon > LARGE_EPSILON:
        yield _warning("large_epsilon", epsilon=show(budget.epsilon), power=_power(budget.epsilon))
    if budget.delta >= LARGE_DELTA:
        yield _warning("large_delta", delta=show(budget.delta))
    if budget.accountant == "gdp":
        yield _warning("computation")
    if unit.column is None:
        yield _warning("rows")
    else:
        most = "1 row counts" if unit.rows == 1 else f"{unit.rows:,} rows count"
        yield _warning("left_out", column=unit.column, most=most)
    if not unit.add_remove:
        yield _warning("presence")


def _of_entries(entries: list[LedgerEntry]) -> Iterator[tuple[str, str]]:
    vouched = [f"entry {entry.sequence}, “{entry.query}”" for entry in entries if entry.kind == "adopt"]
    if vouched:
        count = "One table was" if len(vouched) == 1 else f"{len(vouched):,} tables were"
        yield _warning("vouched", count=count, reasons="; ".join(vouched))
    yield from (_warning(entry.kind, entry=entry) for entry in entries if entry.kind in ("claim", "carried", "outside"))
    if any(entry.kind == "amend" for entry in entries):
        yield _warning("raised")


def assumptions(rule: Filter, unit: PrivacyUnit) -> Iterator[str]:
    """Yield what the promise takes for granted, whatever was asked."""
    words, delta = WORDS["assumed"], rule.budget.delta
    if delta:
        yield words["delta"].format(limit=int(1 / delta))
    if unit.column is not None:
        yield words["unit"].format(column=unit.column)
    yield from words["always"]


def _power(epsilon: Fraction) -> str:
    """e^epsilon, which may be beyond every float."""
    with localcontext() as context:
        context.prec, context.Emax, context.rounding = 20, 10**9, ROUND_CEILING
        value = (Decimal(epsilon.numerator) / epsilon.denominator).exp()
        return f"{value:,.0f}" if value < 10**6 else f"{value:.2e}"
