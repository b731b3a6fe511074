"""``pandas-dp query FILE QUESTION --epsilon 0.5 --ledger LEDGER --name NAME``: one question, one answer."""

from __future__ import annotations

import argparse
import json
import re
import shlex
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any, cast

from pandas_dp.commands import data_files, second_budgets, words
from pandas_dp.commands.dry_run import rehearse, typed
from pandas_dp.commands.exits import CODES, DONE, DRY, finishing, told
from pandas_dp.commands.plans import ROWS, UNIT, BudgetTerms, check_period, check_text, existing_ledger, refuse_in_code
from pandas_dp.core.privacy import NeighboringRelation
from pandas_dp.errors import ArgumentTypeError, LedgerError, did_you_mean
from pandas_dp.facts.kinds import exact_number
from pandas_dp.facts.numbers import positive_epsilon, positive_int, small_delta
from pandas_dp.facts.periods import EXAMPLES
from pandas_dp.facts.progress import shown
from pandas_dp.facts.schema import Schema
from pandas_dp.queries.json_values import read_decimal
from pandas_dp.queries.texts import EXAMPLE, read_query
from pandas_dp.session.registry import listed
from pandas_dp.session.session import PART

PRICES = ("epsilon", "delta", "rho", "within", "confidence")
LINE = (
    "pandas-dp query visits.parquet \"mean('age', bounds=(0, 120))\" --epsilon 0.5 --ledger visits.dpledger --name visits "
    "--total 3"
)
SCHEMA = "--schema schema.toml, a file with the lines [{}] and"
PEOPLE = "--unit {column} --max-rows 10"
TEXT = "ask one question of a table in a file"
ANOTHER = (
    "{name!r} answers for another table already; without --version a file counts as new content, so every question is charged "
    "again. Is it the same table? Add --version 2026-11-28 to each call"
)
IN_CODE = {
    ", then df.dp.session.close() and protect again": ", then open this one",
    "; if you do not know one, max_rows='private' finds it for a twentieth of the total": "",
}
FILE = "visits.parquet"
NEEDS = {FILE: "a FILE", "count()": "a QUESTION", "--epsilon=0.5": "a price"}
NAMED = (*PRICES, *UNIT, "name", "table", "version")
WHEN = {
    "each": "period",
    "time": "time",
    "zone": "zone",
}  # what says of a row which period it is in, and the term in code
OPENS = {"epsilon": "total", "delta": "total-delta", "period": "each"}  # options that are called otherwise than in code
TIME = "--time visited_at"
FOUND = re.compile(  # of keys that are discovered: what gives the budget a delta, and the question with one
    r"(?:(df\.dp\.session\.extend\(to_delta=([^,()]+), [^()]*\)); )?"
    r"(?:df\.dp|pandas_dp\.query)\(epsilon=[^,()]+, delta=([^,()]+)\)\.\w+\(.*\)$"
)


def add(commands: Any) -> None:
    """Add the command to a parser's subcommands."""
    query = commands.add_parser("query", help=TEXT, description=f"{TEXT}: {LINE}", epilog=CODES)
    known = {
        "data": {"help": data_files.HELP},
        "ask": {"help": f'what you would write after df.dp(...): "{EXAMPLE}"'},
        "--neighbors": {"choices": [str(relation.value) for relation in NeighboringRelation]},
        "--each": {"choices": list(EXAMPLES)},
    }
    words.add_options(query, "query", known)
    data_files.add_csv_form(query)


def run(options: argparse.Namespace) -> int:
    """Carry it out; see `exits` for the codes."""
    missing = _missing(options)
    if options.lacking or {*missing} - {"--epsilon=0.5", "--total=3"} or len(missing) > 1:
        given = options.typed
        if options.lacking == ["count()"] and options.data.endswith(")"):  # what stands there is the question
            given, options.lacking = [given[0], FILE, *given[1:]], []
        whole = words.line(["pandas-dp", *given, *options.lacking, *missing])
        own = f" (if one person can have several rows, add {PEOPLE.format(column='patient_id')})"
        new = options.unit is None and existing_ledger(options.ledger) is None
        fresh = "" if options.ledger and options.name else ", or every call would have a fresh budget"
        lacks = " and ".join(NEEDS.get(one, one.partition("=")[0]) for one in (*options.lacking, *missing))
        raise ArgumentTypeError(f"query needs {lacks}{fresh}{own * new}: {whole}")
    price = {name: _number(getattr(options, name), name) for name in PRICES if getattr(options, name) is not None}
    query = read_query(options.ask, price)
    refuse_in_code(query)
    rows = None if options.rows is None else positive_int(options.rows, "--rows")
    twice = second_budgets.check(options.name, options, in_plan=False)
    terms = _terms(options)
    schema = Schema({}) if options.schema is None else Schema.from_toml(options.schema)
    table = terms.name if options.table is None else check_text(options.table, "--table")
    version = None if options.version is None else check_text(options.version, "--version")
    where, written = (options.ledger, table, version), data_files.CsvForm.of(options)
    empty = data_files.empty_frame(options.data, schema, written)
    terms = terms.for_table(empty, options.ledger)
    check_period(terms, options.period, f"--each D --time {terms.when[1] or 'visited_at'} where the budget is opened")

    with data_files.dtypes_told(options.data, SCHEMA, empty, {"": options.ask}):
        asked, refuse = [("", query)], not options.dry_run
        try:
            seen = rehearse(terms, empty, schema, where, lambda _: asked, rows, options.period, refuse=refuse)
        except LedgerError as error:
            more = (
                f". To continue with the terms it has: {words.line(_without_terms(options))}" if error._budgets else ""
            )
            raise LedgerError(f"{error}{more}") from None
    if person := terms.person_column(empty, options.ledger):
        told(
            ROWS.format(column=person, line=f"--total {options.total} {PEOPLE.format(column=shlex.quote(person))}"),
            DONE,
        )
    if twice:
        told(twice, DONE)
    if options.dry_run:
        print(here(repr(seen.questions[0].preview), options))
        return DONE if seen.paid else DRY
    with shown("reads the table"):
        frame = data_files.same_frame(options.data, schema, empty, written)
    ledger = existing_ledger(options.ledger)
    options.new = False
    again = version is None and not options.period and ledger is not None and ledger.budget(terms.name) is not None
    with closing(terms.protect(frame, schema, *where)), finishing():  # the answer is paid, so it is printed
        release = query(cast("Any", frame).dp.period(*options.period) if options.period else frame)
        # JSON that every terminal and pipe can write
        print(json.dumps(json.loads(release.to_json())) if options.json else repr(release), flush=True)
    if again:
        told(ANOTHER.format(name=terms.name), DONE)
    return DONE


def _without_terms(options: argparse.Namespace) -> Iterator[str]:
    """The command line without the terms of a budget."""
    terms = ("total", "total_delta", "neighbors", "lifetime", *UNIT, *WHEN)
    names, value = {f"--{term.replace('_', '-')}" for term in terms}, False
    yield "pandas-dp"
    for word in options.typed:
        ends = word.partition("=")[0] in names
        if not (ends or value):
            yield word
        value = ends and "=" not in word  # which comes next


def _missing(options: argparse.Namespace) -> list[str]:
    """The options without which no question is asked, as one would type them."""
    opened = options.total is not None or existing_ledger(options.ledger) is not None
    needed = {
        "--epsilon=0.5": any(getattr(options, price) for price in ("epsilon", "rho", "within")),
        "--ledger=visits.dpledger": options.ledger,
        "--name=visits": options.name,
        "--total=3": opened,
    }
    return [option for option, given in needed.items() if not given]


def here(text: str, options: argparse.Namespace) -> str:
    """A text with what is typed here in place of code."""
    ledger, name = options.ledger or "visits.dpledger", options.name or "visits"
    new = getattr(options, "new", False)

    def found(keys: re.Match[str]) -> str:
        more, total, delta = keys.groups("")
        first = [f"--total-delta={total}"] if total and new else []
        return f"{more}; " * bool(more and not new) + words.line(
            ["pandas-dp", *options.typed, *first, f"--delta={delta}"]
        )

    text = FOUND.sub(found, text) if options.epsilon and not options.delta else text
    text = in_shell(text, ledger, name, new)
    if options.each in EXAMPLES and not (options.time or options.period):  # else it would be lacking next
        text = text.replace(TIME, f"{TIME} --period {EXAMPLES[options.each]}")
    return text


def in_shell(text: str, ledger: str = "visits.dpledger", name: str = "visits", new: bool = False) -> str:
    """A text with the options to type in place of arguments in code.

    Examples
    --------
    >>> in_shell("discover keys (needs a delta): df.dp(epsilon=1, delta=1e-6).value_counts('sex')")
    "discover keys (needs a delta): --epsilon 1 --delta 1e-6 with value_counts('sex')"
    >>> in_shell("unit needs max_rows: protect(epsilon=3, unit='pid', max_rows=10)")
    'unit needs max_rows: --total 3 --unit pid --max-rows 10'
    >>> in_shell("raise it on record: df.dp.session.extend(to=6, reason='...')")
    'raise it on record: pandas-dp ledger extend visits.dpledger --name visits --to 6 --reason ...'
    """
    for code, shell in IN_CODE.items():
        text = text.replace(code, shell)
    text = words.GIVEN.sub(lambda found: words.option(found[1], found[2]) if found[1] in NAMED else found[0], text)
    text = words.raised(
        typed(text), ledger, name, (lambda *pair: words.option(OPENS[pair[0]], pair[1])) if new else None
    )
    text = words.PRICED.sub(lambda found: _options(found, {}) + (" with " if found[2] else ""), words.periods(text))
    return words.OPENED.sub(lambda found: _options(found, OPENS), text)


def _options(found: re.Match[str], names: dict[str, str]) -> str:
    """Arguments as options; the text as it is where they are no named ones."""
    pairs = words.arguments(found[1])
    return " ".join(words.option(names.get(name, name), value) for name, value in pairs) or found[0]


def _number(text: str, name: str) -> Any:
    """A number of the command line, exact; a distance of dates as text with its unit."""
    try:
        value = read_decimal(text)
    except (ValueError, ArithmeticError):
        if name == "within":
            return text
        raise ArgumentTypeError(f"--{name} must be a number, such as --{name} 0.5") from None
    exact_number(value, f"--{name}")
    return value


def _terms(options: argparse.Namespace) -> BudgetTerms:
    """The terms of the command line, or where it has no total those on record."""
    said: dict[str, Any] = {term: getattr(options, term) for term in (*UNIT, "neighbors")}
    if options.total_delta is not None:
        said["delta"] = _number(options.total_delta, "total-delta")
        small_delta(said["delta"], "--total-delta")
    said |= {term: getattr(options, option) for option, term in WHEN.items()}
    if options.lifetime is not None:
        said["lifetime"] = _number(options.lifetime, "lifetime")
    said = {term: value for term, value in said.items() if value is not None}
    if options.total is not None:
        total = _number(options.total, "total")
        positive_epsilon(total, "--total")
        return replace(BudgetTerms.of({"name": options.name, "epsilon": total, **said}), reason=options.reason)
    if said:
        raise ArgumentTypeError(
            "the terms of a budget are named with its total: add --total 3, or leave them out to continue it"
        )
    ledger = existing_ledger(options.ledger)
    known = None if ledger is None else BudgetTerms.recorded(ledger, options.name)
    if known is None:
        names = [] if ledger is None else [name for name in ledger.heads() if PART not in name]
        close = did_you_mean(options.name, names)
        held = f"it has {listed(names)}{f'{close} Or ' if close else '; or '}" if names else ""
        raise ArgumentTypeError(
            f"the ledger knows no budget {options.name!r} yet; {held}open it with its total: --total 3, and where somebody can "
            f"own several rows {PEOPLE.format(column='patient_id')}"
        )
    return known
