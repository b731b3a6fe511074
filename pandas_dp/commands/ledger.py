"""``pandas-dp ledger show|verify|export|report|extend|backup|restore FILE``: a ledger file, for its owner."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from pandas_dp.books import budget_words, odometer
from pandas_dp.books.amounts import state_of
from pandas_dp.books.report import report
from pandas_dp.books.views import PART
from pandas_dp.commands import words
from pandas_dp.commands.exits import DONE
from pandas_dp.core.budget import State
from pandas_dp.core.filters import Filter
from pandas_dp.core.ledger import Ledger, open_ledger
from pandas_dp.core.ledger_reading import LedgerEntry
from pandas_dp.core.privacy import PrivacyLoss, PrivacyUnit
from pandas_dp.core.records import ALL
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, LedgerError, meant_file
from pandas_dp.facts import numbers
from pandas_dp.facts.periods import Periods
from pandas_dp.queries.json_values import read_decimal
from pandas_dp.release import summary
from pandas_dp.release.text import protected
from pandas_dp.session import ledger_files

REPORTED = re.compile(r"session\.report\('([^']*)'(, about=\{[^}]*\})?(, values=True)?\)")
# a text from its start, or to its end: what stands in quotes is no call
OPENING = re.compile(
    r"(period\([^()]*\)\.)*(allot|partition)\(|(.*\.)?(above_threshold|oracle)\(('(pmw|median)', )?[^()'\"]*\)$",
    re.DOTALL,
)
UNANSWERED = (
    "{count:,} charged without an answer (the process ended before it was stored, or the question failed, or is under way), "
    "the last {entry.query}, {entry.price}{since}"
)


def add(commands: Any) -> None:
    """Add the command to a parser's subcommands."""
    ledger = commands.add_parser(
        "ledger", help="show, verify, export, report, extend or back up the books of a ledger file"
    )
    what = ledger.add_subparsers(dest="what", required=True)
    for name, text in words.OPTIONS["ledger"].items():
        command = what.add_parser(name, help=text, description=text)
        command.add_argument("file", metavar="FILE")
        one = command.add_mutually_exclusive_group(required=True) if name == "restore" else command
        words.add_options(one, f"ledger {name}")


def run(options: argparse.Namespace) -> int:
    """Carry it out; see `exits` for the codes.

    Raises
    ------
    LedgerError
        The file cannot be read as a ledger, or is damaged.
    """
    if not os.path.isfile(options.file):  # opening would make a new one
        raise LedgerError(f"{options.file}: there is no such file{meant_file(options.file)}")
    try:
        ledger = open_ledger(options.file)
        if options.what == "report":
            options.out = options.out or f"{os.path.basename(options.file)}.html"
            page = report(
                ledger, options.name, None if options.out == "-" else options.out, options.about, options.values
            )
            print(
                f"the report is written to {options.out}"
                if page is None
                else page.encode("ascii", "xmlcharrefreplace").decode()
            )
            return DONE
        if options.what == "extend":
            print(_extended(ledger, options))
            return DONE
        if options.what == "backup":
            ledger_files.backup(ledger, options.to)
            print(f"the back-up is written to {options.to}; nothing can be charged to it until it is restored")
            return DONE
        if options.what == "restore":
            loss, price = (None, ALL) if options.all else _since(options.spent_since)
            ledger_files.restore(ledger, loss, price)
            print(f"{options.file} is restored; charged to each of its budgets ({len(ledger.heads()):,}): {price}")
            return DONE
        for line in {"show": _shown, "verify": _verified, "export": _exported}[options.what](ledger):
            print(line)
    except LedgerError as error:
        raise LedgerError(f"{options.file}: {error}") from None
    return DONE


def here(text: str, options: argparse.Namespace) -> str:
    """A text with what is typed here in place of code.

    Examples
    --------
    >>> here("session.report('statement.json', values=True)", argparse.Namespace(file="v.dpledger"))
    'pandas-dp ledger report v.dpledger --out statement.json --values'
    """
    line = f"pandas-dp ledger report {shlex.quote(options.file)} --out"
    text = REPORTED.sub(
        lambda found: (
            f"{line} {shlex.quote(found[1])}{' --about about.toml' * bool(found[2])}{' --values' * bool(found[3])}"
        ),
        text.replace("about={...} or a TOML file", "--about about.toml, a TOML file").replace("a mapping, or ", ""),
    )
    return words.raised(text, options.file, getattr(options, "name", None) or "visits")


def _shown(ledger: Ledger) -> Iterator[str]:
    for name in ledger.heads():
        rule, state, (_, unit) = ledger.rule(name), state_of(ledger, name), ledger.budget(name) or (None, PrivacyUnit())
        entries = ledger.entries(name)
        yield f"{name}: protects {protected(unit)}"
        yield f"  promise  {odometer.promise(rule, unit, state)}"
        spent, left = _sums(rule, state, unit)
        yield f"  spent    {spent}"
        yield f"  left     {left}"
        if told := lost(ledger, name):
            yield f"  lost     {told}. A larger total is put on record: {extend(ledger, name)}"
        yield f"  entries  {len(entries):,}, the last at {entries[-1].time:%Y-%m-%d %H:%M} UTC"


def _sums(rule: Filter, state: State, unit: PrivacyUnit) -> tuple[str, str]:
    """What is spent and left; of a budget for each period first by somebody who is in all of them."""
    if unit.period:
        return odometer.spent(rule, state, unit), odometer.left(rule, state, unit, None)
    return budget_words.spent(rule, state), budget_words.left(rule, state)


def extend(ledger: Ledger, name: str) -> str:
    """The line to type for a larger total."""
    return f"pandas-dp ledger extend {shlex.quote(str(ledger.path))} --name {shlex.quote(name)} --to ... --reason ..."


def lost(ledger: Ledger, name: str) -> str:
    """Say how much of a budget was paid for nothing, and for which question last; empty where nothing was."""
    if not (found := unanswered(ledger, name)):
        return ""
    told = ledger.shown(name)
    since = {entry.query: entry.sequence for entry in ledger.entries(name) if entry.sequence in told}
    still = [entry for entry in found if since.get(entry.query, 0) < entry.sequence]
    words = ": asked again, it is charged again" if still else "; answered since, in the same words"
    return UNANSWERED.format(count=len(found), entry=[*found, *still][-1], since=words)


def unanswered(ledger: Ledger, name: str) -> list[LedgerEntry]:
    """Charges of a budget without an answer: the process ended between the two, or the question failed or is under way.

    Those that wait for their draw are none: the same command uses them. Nor are those that opened a part or a stream.
    """
    told = ledger.shown(name)
    paid = (entry for entry in ledger.entries(name) if entry.kind == "query" and entry.charge is not None)
    asked = (entry for entry in paid if not OPENING.match(entry.query))
    return [entry for entry in asked if not entry.recorded and entry.sequence not in told]


def _extended(ledger: Ledger, options: argparse.Namespace) -> str:
    """Raise a total, and say what is left."""
    name, terms = options.name, ledger.budget(options.name)
    if terms is None:
        raise ArgumentValueError(f"the ledger knows no budget {name!r}; it has {', '.join(map(repr, ledger.heads()))}")
    if options.to is None and options.to_delta is None:
        raise ArgumentTypeError("extend needs the new total: --to 5, or --to-delta 1e-6")
    to, to_delta = (
        None if typed is None else _decimal(typed, f"{option} needs a number: {option} 5")
        for option, typed in (("--to", options.to), ("--to-delta", options.to_delta))
    )
    old, unit = terms
    budget = odometer.extended(old, to, to_delta, options.reason, ledger.entries(name), PART in name)
    if budget != old:
        ledger.amend(name, budget, unit, f"extend: {options.reason}")
    rule, state = ledger.rule(name), state_of(ledger, name)
    spent, left = _sums(rule, state, unit)
    return f"{name}: {odometer.promise(rule, unit, state)}; spent {spent}; left {left}"


def _decimal(typed: str, needed: str) -> Any:
    try:
        return read_decimal(typed)
    except (ValueError, ArithmeticError):
        raise ArgumentTypeError(needed) from None


def _since(typed: list[str]) -> tuple[PrivacyLoss, str]:
    """Read what was spent since, as prices are typed."""
    loss = PrivacyLoss()
    for term in typed:
        name, _, value = term.partition("=")
        if name not in ("epsilon", "rho", "delta") or not value:
            raise ArgumentTypeError("--spent-since needs prices: --spent-since epsilon=0.5")
        if value == "0":
            continue
        number = _decimal(value, "--spent-since needs numbers: --spent-since epsilon=0.5")
        if name == "delta":
            loss += PrivacyLoss((), numbers.small_delta(number))
        else:
            amount = numbers.positive_epsilon(number, name)
            loss += PrivacyLoss.pure(amount) if name == "epsilon" else PrivacyLoss.gaussian(amount)
    return loss, ", ".join(typed)


def _verified(ledger: Ledger) -> Iterator[str]:
    ledger.verify()
    damaged = ledger_files.damaged(ledger)
    for name, (chain, entries, head) in ledger.chains().items():
        yield f"{name}: {entries:,} entries, none changed; chain {chain}, its head {head}"
    if damaged:
        told = ", ".join(f"{name!r} {sequence}" for name, sequence in damaged[:5])
        raise LedgerError(
            f"stored answers are damaged ({len(damaged):,}; budget and entry: {told}): these questions are refused until a "
            "new draw is paid, fresh=True. No charge is damaged"
        )
    yield "no stored answer was changed; a removed one would not be noticed"


def _exported(ledger: Ledger) -> Iterator[str]:
    ledger.verify()
    for name in ledger.heads():
        answers, (_, unit) = ledger.shown(name), ledger.budget(name) or (None, PrivacyUnit())
        periods = Periods.from_text(unit.periods) if unit.periods is not None else None
        for entry in ledger.entries(name):
            told = summary.read(answers.get(entry.sequence))
            record = {"budget": name} | asdict(entry) | {"answer": None if told is None else asdict(told)}
            del record["recorded"]  # whether there is an answer to give again: not a part of the entry
            if entry.charge is not None and (span := record["charge"].pop("periods")) and periods:
                record["charge"]["periods"] = [periods.name(j) for j in span]
            yield json.dumps(summary.jsonable(record))
