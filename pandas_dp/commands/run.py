"""``pandas-dp run PLAN --data FILE --ledger LEDGER --out DIR``: the questions of a plan file, in their order."""

from __future__ import annotations

import argparse
import re
import signal
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from importlib.resources import files
from textwrap import indent
from typing import Any, cast

import pandas as pd

from pandas_dp import __version__
from pandas_dp.commands import data_files, second_budgets, words
from pandas_dp.commands.answer_files import FORMATS, AnswerFiles, one_job
from pandas_dp.commands.dry_run import Foreseen, Rehearsal, rehearse
from pandas_dp.commands.exits import CODES, DONE, DRY, STOPPED, finishing, told
from pandas_dp.commands.ledger import extend, lost
from pandas_dp.commands.plans import ROWS, TERMS, PipelinePlan, check_period, check_text
from pandas_dp.commands.query import IN_CODE
from pandas_dp.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    BudgetExceededError,
    LedgerError,
    QueryFailedError,
    UnverifiedFrameError,
)
from pandas_dp.facts.progress import shown
from pandas_dp.queries import json_values
from pandas_dp.release.base import Release
from pandas_dp.session.session import Session

TEXT = "ask the questions of a plan file, in their order, on one budget"
MORE = """A job that failed is started again with the same version: what was answered is in the ledger and costs nothing. New
content gets a new version, and is charged."""
IN_PLAN = IN_CODE | {
    json_values.EXAMPLE: 'price = { epsilon = 0.5 }, calls = [{ call = "count", args = ["age"] }]',
}
TABLE = {"table": "name", "version": "version"}  # arguments in code, and what [table] calls them
REPLACED = (  # which follows from names and times of files alone
    "The data files were written, moved or deleted meanwhile. Start the same command again: it uses the charge if nothing was "
    "drawn for it yet. While a job runs, write only files with new names"
)
EXAMPLE = files("pandas_dp.commands").joinpath("plan.toml").read_text("utf-8")


def add(commands: Any) -> None:
    """Add the command to a parser's subcommands."""
    raw = argparse.RawDescriptionHelpFormatter  # an example keeps its lines
    run = commands.add_parser(
        "run",
        help=TEXT,
        description=f"{TEXT}. {MORE}",
        epilog=f"a plan:\n{indent(EXAMPLE, '  ')}\n{CODES}",
        formatter_class=raw,
    )
    known = {"--data": {"help": data_files.HELP}, "--format": {"choices": FORMATS}}
    words.add_options(run, "run", known | {"--progress": {"action": argparse.BooleanOptionalAction}})
    data_files.add_csv_form(run)


def run(options: argparse.Namespace) -> int:
    """Carry it out; see `exits` for the codes."""
    if options.lacking and (error := _lacking(options, options.version is None)) is not None:
        raise error
    plan = PipelinePlan.read(options.plan)
    options.name = plan.terms.name
    version = plan.version if options.version is None else check_text(options.version, "--version")
    if (error := _lacking(options, version is None and plan.terms.when[0] is None)) is not None:
        raise error
    where, written = (options.ledger, plan.table, version), data_files.CsvForm.of(options)
    empty = data_files.empty_frame(options.data, plan.schema, written)
    terms = replace(plan.terms.for_table(empty, options.ledger), reason=options.reason)
    twice = second_budgets.check(terms.name, options, in_plan=True)
    check_period(terms, options.period, '[budget] period = "D", time = "visited_at"')
    questions = {name: repr(query) for name, query in plan.queries.items()}
    with data_files.dtypes_told(options.data, "[schema.{}] and below it", empty, questions):
        seen = rehearse(terms, empty, plan.schema, where, plan.priced, options.rows, options.period, goes_on=True)
    if person := terms.person_column(empty, options.ledger):
        told(ROWS.format(column=person, line=f'unit = "{person}" and max_rows = 10 in [budget]'), DONE)
    if twice:
        told(twice, DONE)
    if options.dry_run:
        print("\n".join(seen.lines()))
        return DONE if seen.paid else DRY
    package = f"pandas_dp {__version__}"
    asked = ", ".join(filter(None, [str(version or ""), " to ".join(options.period)]))  # what the answers are about
    facts = {"budget": terms.name, "table": plan.table, "version": asked, "package": package}
    answers = AnswerFiles(options.out, options.format, facts)
    with one_job(options.ledger, plan.table, asked), answers.alone() as files:
        files.check_apart([question.name for question in seen.questions], (options.data, options.ledger, options.plan))
        with shown("reads the table"):
            frame = data_files.same_frame(options.data, plan.schema, empty, written)
        progress = sys.stderr.isatty() if options.progress is None else options.progress
        options.new = False
        session = terms.protect(frame, plan.schema, *where)
        session._goes_on = True
        frame = cast("Any", frame).dp.period(*options.period) if options.period else frame
        with closing(session), finishing() as stopped:
            files.set_aside([question.name for question in seen.questions])
            return _in_order(seen, frame, session, files, progress, stopped, partial(here, options=options))


def here(text: str, options: argparse.Namespace) -> str:
    """A text with what is written in a plan in place of code.

    Examples
    --------
    >>> here("a query needs a price: df.dp(epsilon=0.5)", argparse.Namespace(ledger=None))
    'a query needs a price: price = { epsilon = 0.5 }'
    >>> here("protect(epsilon=3, unit='pid', max_rows=10)", argparse.Namespace(ledger=None))
    '[budget] epsilon = 3, unit = "pid", max_rows = 10'
    """
    for code, plan in IN_PLAN.items():
        text = text.replace(code, plan)
    text = words.GIVEN.sub(lambda found: words.entry(found[1], found[2]) if found[1] in TERMS else found[0], text)
    ledger, name = options.ledger or "visits.dpledger", getattr(options, "name", "visits")
    new = (lambda *pair: f"[budget] {words.entry(*pair)}") if getattr(options, "new", False) else None
    text = words.raised(text, ledger, name, new)
    return words.OPENED.sub(_terms, words.PRICED.sub(_price, words.periods(text)))


def _price(found: re.Match[str]) -> str:
    said = ", ".join(words.entry(*pair) for pair in words.arguments(found[1]))
    return f"price = {{ {said} }}{' with ' if found[2] else ''}" if said else found[0]


def _terms(found: re.Match[str]) -> str:
    """Terms of a budget and a table; the text as it is where some are for code alone. A ledger is an option."""
    given = dict(words.arguments(found[1]))
    budget = [words.entry(*pair) for pair in given.items() if pair[0] in TERMS]
    table = [words.entry(TABLE[name], value) for name, value in given.items() if name in TABLE]
    if not budget or given.keys() - {*TERMS, *TABLE, "ledger"}:
        return found[0]
    return f"[budget] {', '.join(budget)}" + (f" and [table] {', '.join(table)}" if table else "")


def _lacking(options: argparse.Namespace, unversioned: bool) -> ArgumentTypeError | None:
    """What is said of a command that lacks something: all of it at once, in the line to type. None where it lacks nothing."""
    needed = {"data": "visits.parquet", "ledger": "visits.dpledger", "out": "answers"}
    missing = {name: example for name, example in needed.items() if not getattr(options, name)}
    if options.dry_run:
        missing = {"data": needed["data"]} if "data" in missing else {}
    elif unversioned:
        missing["version"] = "2026-11-28"
    if not (options.lacking or missing):
        return None
    lacks = " and ".join(["a PLAN"] * len(options.lacking) + [f"--{name}" for name in missing])
    line = [
        "pandas-dp",
        *options.typed,
        *options.lacking,
        *(f"--{name}={example}" for name, example in missing.items()),
    ]
    version = "; with a version, here or in [table] of the plan, a job that is started again pays nothing"
    return ArgumentTypeError(f"run needs {lacks}: {words.line(line)}{version * ('version' in missing)}")


def _in_order(
    seen: Rehearsal,
    frame: pd.DataFrame,
    session: Session,
    files: AnswerFiles,
    progress: bool,
    stopped: Callable[[], int | None],
    typed: Callable[[str], str],
) -> int:
    """Ask the questions one after another, and write each answer before the next is asked, or the job stops."""

    def index(complete: bool) -> None:
        files.index(complete=complete, spent=str(session.spent), left=str(session.left))

    many = len(seen.questions)
    index(False)
    for place, question in enumerate(seen.questions, 1):
        if (number := stopped()) is not None:
            name, done = signal.Signals(number).name, f"{place - 1} of {many} answers are written"
            return told(f"stopped by {name} between two questions; {done}: the same command goes on", STOPPED + number)
        if progress:
            print(f"{place}/{many} {question.name}", file=sys.stderr, flush=True)
        try:
            release, stored = _asked(question, frame)
        except BudgetExceededError as error:
            more = f"; to raise the total, on record and then in the plan: {error._raised}" if error._raised else ""
            written = "No answer was written" if place == 1 else f"Answers before it that are written: {place - 1}"
            return told(
                f"over budget: query {question.name!r} asks for {error.asked}; {session.left} is left. "
                f"{typed('. '.join(filter(None, [f'{error.fits}{more}', error.where, written, _lost(session)])))}",
                DRY,
            )
        files.add(question.name, release, stored)
        index(False)
    index(True)
    if files.removed:
        print(f"removed {files.removed} file{'s' * (files.removed != 1)} that a killed job had begun to write")
    print(f"{many} answer{'s' * (many != 1)}; spent {session.spent}; left {session.left}")
    if paid := lost(session._ledger, session.name):
        print(f"in this budget {paid}")
    return DONE


def _lost(session: Session) -> str:
    """Say that some of the budget was paid for nothing, and how its owner goes on; empty where none was."""
    ledger, name = session._ledger, session.name
    if not (told := lost(ledger, name)):
        return ""
    raised = f"raise the total on record and in the plan: {extend(ledger, name)}"
    return f"{told}. If the plan cannot finish because of this, {raised}"


def _asked(question: Foreseen, frame: pd.DataFrame) -> tuple[Release, bool]:
    """The answer of one question, and whether it was stored."""
    try:
        stored = question.query.preview(frame).stored
        try:
            return question.query(frame), stored
        except QueryFailedError as error:
            try:
                question.query.preview(frame)
            except UnverifiedFrameError:
                raise QueryFailedError(f"{error}. {REPLACED}") from None
            raise
    except (ArgumentTypeError, ArgumentValueError, LedgerError, QueryFailedError) as error:
        raise type(error)(f"query {question.name!r}: {error}") from None
