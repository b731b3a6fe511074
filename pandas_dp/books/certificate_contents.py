"""What a certificate tells: budgets read from a chain that is whole, the theorem behind a total, assumptions, warnings.

The sentences lie beside this file, in ``certificate.toml``; here is decided when each of them holds. A ledger file holds what
was said of each answer; of a ledger in memory the live session has it.
"""

from __future__ import annotations

import ast
import os
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from pandas_dp.books import budget_words, odometer, period_words
from pandas_dp.books.amounts import Most, state_of, sum_of_rhos
from pandas_dp.books.views import PART, Answered
from pandas_dp.core.budget import State
from pandas_dp.core.filters import Filter, ZCDPFilter
from pandas_dp.core.ledger import Ledger, LedgerEntry
from pandas_dp.core.privacy import PrivacyUnit, show
from pandas_dp.core.records import plain
from pandas_dp.errors import LedgerBusyError, LedgerError, did_you_mean
from pandas_dp.facts.numbers import of_total, three_digits
from pandas_dp.facts.periods import Periods
from pandas_dp.release import summary
from pandas_dp.release.summary import Shown

if TYPE_CHECKING:
    from pandas_dp.facts.schema import Schema
    from pandas_dp.tables.protected import Table

TRIES = 5  # readings of a ledger to which other processes go on charging
LARGE_EPSILON = Fraction(10)  # above it a guarantee is weak, in the words of Ponomareva et al. 2023, "How to DP-fy ML"
LARGE_DELTA = Fraction(1, 1000)  # from it on, one unit in a thousand might be published outright
COMPUTED = "The question as the code writes it; its answer is stored under this text"
MOST_QUESTIONS = 100  # of a budget that stand on its page, the latest; what is said of all of them counts them all
TOLD = ("claim", "carried", "outside", "restored")  # kinds of entries that a reader is warned of
GROUPS = (1, 2, 5)  # units whose joint promise is told
# numbers of periods of which it is told what they come to: a day, a week, a year
PERIODS = {"hour": (24, 168), "day": (7, 365), "week": (4, 52), "month": (3, 12), "year": (2, 10)}
WORDS = tomllib.loads(files("pandas_dp.books").joinpath("certificate.toml").read_text("utf-8"))

OVER: str = WORDS["statement"]["over"]


@dataclass(frozen=True)
class Account:
    """One budget as its ledger has it, all read at one head of its chain."""

    name: str
    rule: Filter
    state: State
    unit: PrivacyUnit
    entries: list[LedgerEntry]
    head: str
    answers: dict[int, Shown]

    @property
    def spent(self) -> odometer.Odometer:
        """What is spent, as the session says it."""
        return odometer.spent(self.rule, self.state, self.unit, sum_of_rhos(self.entries))

    @property
    def whole(self) -> str | None:
        """The name of the budget of which this is a part."""
        return self.name.rpartition(PART)[0] or None


@dataclass(frozen=True)
class Certificate:
    """What the page says.

    Attributes
    ----------
    accounts : list of Account
        The budgets it is about, each before its parts.
    others : list of str
        Names of the other budgets in the ledger.
    ledger : str or None
        Name of the ledger's file; None: in memory.
    live : bool
        Whether a session made the page; otherwise a file alone did.
    tables : list of (str, str)
        Tables that the live session answers for, in words, and the public facts stated about each.
    made : datetime
    """

    accounts: list[Account]
    others: list[str]
    ledger: str | None
    live: bool
    tables: list[tuple[str, str]]
    made: datetime = field(default_factory=lambda: datetime.now(UTC))

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of the budgets."""
        return frozenset(account.name for account in self.accounts)


def read(ledger: Ledger, name: str | None, answered: Answered | None, held: Mapping[str, Table] | None) -> Certificate:
    """Read a budget and its parts, or all budgets, at one moment; see `certificate`.

    Raises
    ------
    LedgerError, LedgerBusyError
    """
    tables = [_told(key, table) for key, table in (held or {}).items()]
    name = None if name is None else plain(name)  # as the ledger writes it
    path = None if ledger.path is None else os.path.basename(ledger.path)
    for _ in range(TRIES):
        ledger.verify()
        heads = ledger.heads()
        if name is not None and name not in heads:
            raise LedgerError(f"the ledger has no budget named {name!r}{did_you_mean(name, heads)}")
        wanted = [n for n in heads if name is None or n == name or n.startswith(name + PART)]
        accounts, names = [_account(ledger, n, heads[n], answered) for n in _ordered(wanted)], set(wanted)
        if ledger.heads() == heads:
            others = [n for n in heads if n not in names]
            return Certificate(accounts, others, path, answered is not None, tables)
    raise LedgerBusyError("other processes kept charging the ledger; ask for the report again")


def _ordered(names: list[str]) -> list[str]:
    """Oldest first, each budget before its parts."""
    place = {name: at for at, name in enumerate(names)}
    return sorted(names, key=lambda name: (place.get(name.split(PART)[0], place[name]), place[name]))


def _account(ledger: Ledger, name: str, head: str, answered: Answered | None) -> Account:
    terms = ledger.budget(name)
    unit = PrivacyUnit() if terms is None else terms[1]
    kept = {i: summary.read(text) for i, text in ledger.shown(name).items()}
    answers = {i: told for i, told in kept.items() if told is not None} | (answered.of(name) if answered else {})
    return Account(name, ledger.rule(name), state_of(ledger, name), unit, ledger.entries(name), head, answers)


def _told(key: str, table: Table) -> tuple[str, str]:
    """A table in words: its name and version where the owner gave them, and how it came to be protected."""
    lineage, _, name = key.partition(":")
    words = "a table without a name" if name == "None" else name
    with suppress(ValueError, SyntaxError):  # a token that is no version is no tuple either
        version: Any = ast.literal_eval(table.token)[2]
        words += "" if version is None else f", version {version}"
    known = filter(None, [_stated(table.schema), "" if table.rows_public is False else "the number of its rows"])
    return words + (" (vouched)" if lineage == "vouched" else ""), "; ".join(known)


def _stated(schema: Schema) -> str:
    """What was stated as public, in words."""
    told = schema._said().items()
    return "; ".join(
        f"{column}: {', '.join(f'{fact} {value}' for fact, value in known.items())}" for column, known in told
    )


def promise(account: Account) -> str:
    """What the budget promises; of one for each period first what is spent for somebody who is in all of them."""
    told, unit = odometer.promise(account.rule, account.unit, account.state), account.unit
    so_far = f"So far: {account.spent.partition(';')[0]}. " if unit.period and unit.column is not None else ""
    return f"{so_far}{told[:1].upper()}{told[1:]}."


def asked_before(asked: list[LedgerEntry]) -> dict[int, int]:
    """Map each entry to the one before it that asked the same."""
    last: dict[str, int] = {}
    before = {}
    for entry in asked:
        if entry.query in last:
            before[entry.sequence] = last[entry.query]
        last[entry.query] = entry.sequence
    return before


def in_short(account: Account, warned: int) -> Iterator[tuple[str, str]]:
    """Yield the certificate in a few plain words: who, by how much, what, and what not."""
    words, unit, rule = WORDS["short"], account.unit, account.rule
    it = "one row" if unit.column is None else f"one {unit.column!r}"
    whose = words["row"] if unit.column is None else words["unit"].format(column=unit.column, rows=unit.rows)
    state = account.state
    if isinstance(state, Most):
        yield from _in_periods(rule, unit, state)
        it = f"what {it} does in one {unit.period}" if unit.column is not None else it
        facts = {"column": unit.column, "period": unit.period, "rows": unit.rows, "periods": when(unit)}
        whose = words["row"] if unit.column is None else words["period"].format(**facts)
    yield "Who is protected", f"{whose} {words[unit.relation.value].format(it=it)}"
    promised, spent, left = odometer.promised(rule, state), account.spent, odometer.left(rule, state, unit, None)
    if promised is None:
        yield "By how much", words["no_bound"]
    else:
        told = _odds("factor", promised.epsilon, promised.delta, it=it)
        if isinstance(state, Most) and unit.column is not None:
            facts = {"column": unit.column, "period": unit.period}
            told += " " + (
                _odds("person", three_digits(Fraction(spent.epsilon), ROUND_CEILING), Fraction(spent.delta), **facts)
                if spent.epsilon.is_finite()
                else words["no_person"].format(**facts)
            )
        yield "By how much", told
    count = sum(entry.kind == "query" for entry in account.entries)
    rest = f"epsilon {show(three_digits(Fraction(left.epsilon)))}" if left.epsilon > 0 else "used up"
    finite = spent.epsilon.is_finite()
    paid = f"epsilon {show(of_total(Fraction(spent.epsilon), rule.budget.epsilon))}" if finite else "no finite epsilon"
    told = words["published" if not unit.period else "published_periods"] if count else words["none"]
    total = show(rule.budget.epsilon)
    if isinstance(rule, ZCDPFilter) and not unit.period and finite:  # of whose epsilons no difference tells anything
        total, whole = f"about {show(budget_words.whole_rho(rule))} (epsilon {total})", rule.limit
        paid = f"rho {show(of_total(Fraction(spent.rho), whole))} ({paid})"
        rest = f"rho {show(three_digits(Fraction(left.rho)))}" if left.rho > 0 else "used up"
    rest = str(left) if unit.period else rest
    paid = str(spent) if unit.period else paid
    of = f"{count:,} question{'s' * (count > 1)}"
    answers = "its answer" if count == 1 else "their answers"
    answers = answers if count <= MOST_QUESTIONS else f"the answers of the latest {MOST_QUESTIONS:,}"
    yield "What was published", told.format(count=of, answers=answers, spent=paid, total=total, left=rest)
    for number, line in enumerate(words["uncovered"]):
        yield "" if number else "What is not covered", line
    if warned:
        yield "Please read", f"{warned} warning{'s' * (warned > 1)} below"


def _odds(kind: str, epsilon: Fraction, delta: Fraction, **facts: Any) -> str:
    """By what factor the odds about somebody can be raised."""
    words = WORDS["short"]
    told: str = words[kind].format(factor=_power(epsilon), epsilon=show(epsilon), **facts)
    return told + (" " + words["may_fail"].format(delta=show(delta)) if delta else "")


def _in_periods(rule: Filter, unit: PrivacyUnit, state: Most) -> Iterator[tuple[str, str]]:
    """What the budget comes to for somebody in several periods, before anything is said of one."""
    words = WORDS["short"]["somebody"]
    if unit.column is None:
        yield words["who"].format(unit="person"), words["rows"].format(period=unit.period)
        return
    many = f"{len(state.periods):,} {unit.period}{'s' * (len(state.periods) != 1)} asked so far"
    promised = [f"{k:,}: {period_words.promise(rule, unit, k, state)}" for k in PERIODS[unit.period]]
    spent = odometer.spent(rule, state, unit).partition(";")[0]
    cap = rule.budget.lifetime
    kept = "no_cap" if cap is None else "cap" if state.start == State.zero() else "lost_cap"
    facts = {"period": unit.period, "column": unit.column, "cap": show(cap or Fraction(0))}
    told = words["unit"].format(many=many, spent=spent, promised="; ".join(promised), **facts)
    yield words["who"].format(unit=repr(unit.column)), f"{words[kept].format(**facts)} {told}"


def when(unit: PrivacyUnit) -> str:
    """What the periods of a budget are: ``days of Europe/Berlin by 'visited_at'``."""
    return "" if unit.periods is None else str(Periods.from_text(unit.periods))


def theorem(rule: Filter, unit: PrivacyUnit) -> tuple[str, str]:
    """Return how a budget counts and the theorem by which its total holds."""
    words = WORDS["theorem"][rule.budget.accountant]
    counted, why = words["counted"], words["why"].format(order=f"{float(rule.order or 0):.6g}", **WORDS["often"])
    if unit.period:
        said = WORDS["theorem"]["periods"]
        counted, why = said["counted"].format(counted=counted, period=unit.period), f"{why} {said['why']}"
        why += f" {said['lifetime']}" if rule.budget.lifetime is not None else ""
    return counted, why


def whose(unit: PrivacyUnit) -> tuple[str, str]:
    """Return the unit that is hidden, and the neighbouring relation, in words."""
    thing = "row" if unit.column is None else f"value of {unit.column!r}"
    if unit.column is None:
        hidden = "one row of the table"
    else:
        hidden = f"all rows with one {thing}; at most {unit.rows:,} of them count"
        if (unit.groups, unit.rows_per_group) != (unit.rows, unit.rows):
            hidden += f", in at most {unit.groups:,} groups of one answer and at most {unit.rows_per_group:,} in each"
    if unit.period:
        hidden += f", and this in one {unit.period}, each by itself ({when(unit)})"
        thing = "row" if unit.column is None else f"{thing} in one {unit.period}"
    change = f"one of them has one more {thing}"
    if not unit.add_remove:
        change = f"the content of one {thing} differs"
    return hidden, f"{unit.relation}: two tables are neighbours if {change}"


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
    yield from (_warning(entry.kind, entry=entry) for entry in entries if entry.kind in TOLD)
    if any(entry.kind == "amend" and entry.query.startswith("extend: ") for entry in entries):
        yield _warning("raised")


def assumptions(rule: Filter, unit: PrivacyUnit) -> Iterator[str]:
    """Yield what the promise takes for granted, whatever was asked."""
    words, delta = WORDS["assumed"], rule.budget.delta
    if delta:
        yield words["delta"].format(limit=int(1 / delta))
    if unit.column is not None:
        yield words["unit"].format(column=unit.column)
    if unit.periods is not None:
        yield words["periods"].format(time=Periods.from_text(unit.periods).time, period=unit.period)
    yield from words["always"]
    yield f"{words['same' if unit.periods is None else 'grown']} {words['moved']}"


def _power(epsilon: Fraction) -> str:
    """e^epsilon, which may be beyond every float, rounded up to three digits."""
    with localcontext() as context:
        context.prec, context.Emax, context.rounding = 20, 10**9, ROUND_CEILING
        value = (Decimal(epsilon.numerator) / epsilon.denominator).exp()
        value = value.quantize(Decimal(1).scaleb(value.adjusted() - 2))
        return f"{value:,f}" if value < 10**6 else f"{value:.2e}"
