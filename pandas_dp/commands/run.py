"""``pandas-dp run PLAN --data FILE --ledger LEDGER --out DIR``: the questions of a plan file, in their order."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import pandas as pd

from pandas_dp.commands import data_files
from pandas_dp.commands.answer_files import FORMATS, AnswerFiles
from pandas_dp.commands.dry_run import Rehearsal, rehearse
from pandas_dp.commands.exits import CODES, DONE, DRY, told
from pandas_dp.commands.plans import PipelinePlan, check_text
from pandas_dp.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    BudgetExceededError,
    LedgerError,
    QueryFailedError,
)
from pandas_dp.queries.query import Query
from pandas_dp.session.session import Session

LINE = "pandas-dp run plan.toml --data visits.parquet --ledger visits.dpledger --out answers --version 2026-11-28"
TEXT = "ask the questions of a plan file, in their order, on one budget"
MORE = """A job that failed is started again with the same version: what was answered is in the ledger and costs nothing. New
content gets a new version, and is charged."""
EXAMPLE = """a plan:
  [budget]
  name = "visits"
  epsilon = 3
  unit = "patient_id"
  max_rows = 10

  [table]
  version = "2026-11-28"

  [schema.cost]
  bounds = [0, 5000]

  [[queries]]
  name = "cost_by_ward"
  price = { epsilon = 0.5 }
  ask = "groupby('ward', keys=['A', 'B'])['cost'].mean()"
"""


def add(commands: Any) -> None:
    """Add the command to a parser's subcommands."""
    raw = argparse.RawDescriptionHelpFormatter  # an example keeps its lines
    run = commands.add_parser(
        "run", help=TEXT, description=f"{TEXT}. {MORE}", epilog=f"{EXAMPLE}\n{CODES}", formatter_class=raw
    )
    run.add_argument("plan", metavar="PLAN", help="TOML file with [budget], [table], [schema.COLUMN] and [[queries]]")
    run.add_argument("--data", metavar="FILE", required=True, help=f"the table: {', '.join(data_files.FORMATS)}")
    run.add_argument("--ledger", metavar="FILE", help="file that keeps the books; made where it is missing")
    run.add_argument("--out", metavar="DIR", help="directory of the answers")
    run.add_argument("--version", help="public name of this content, instead of the plan's")
    run.add_argument("--format", choices=FORMATS, default="csv", help="tables beside the JSON files (default: csv)")
    run.add_argument("--dry-run", action="store_true", help="only show costs and errors: reads no row, charges nothing")
    run.add_argument("--rows", type=int, help="about how many rows there are, for the errors that --dry-run shows")
    run.add_argument(
        "--progress",
        action=argparse.BooleanOptionalAction,
        help="a line on stderr for each question (default: on a terminal)",
    )


def run(options: argparse.Namespace) -> int:
    """Carry it out; see `exits` for the codes."""
    plan = PipelinePlan.read(options.plan)
    version = plan.version if options.version is None else check_text(options.version, "--version")
    if not options.dry_run:
        for name, example in (("ledger", "visits.dpledger"), ("out", "answers")):
            if not getattr(options, name):
                raise ArgumentTypeError(f"run needs --{name} {example}, or --dry-run: {LINE}")
        if version is None:
            raise ArgumentTypeError(
                "the content needs a version, so that a job that is started again pays nothing: [table] version = "
                f'"2026-11-28" in the plan, or {LINE}'
            )
    where = (options.ledger, plan.table, version)
    empty = data_files.empty_frame(options.data, plan.schema)
    with data_files.dtypes_told(options.data):
        seen = rehearse(plan.terms, empty, plan.schema, where, plan.priced, options.rows)
    if options.dry_run:
        print("\n".join(seen.lines()))
        return DONE if seen.paid else DRY
    files = AnswerFiles(options.out, options.format)
    files.check_apart([question.name for question in seen.questions], (options.data, options.ledger, options.plan))
    frame = data_files.same_frame(options.data, plan.schema, empty)
    session = plan.terms.protect(frame, plan.schema, *where)
    progress = sys.stderr.isatty() if options.progress is None else options.progress
    return Pipeline(plan, version, session, files, progress).run(frame, seen)


class Pipeline:
    """The questions of one plan on one protected table."""

    def __init__(self, plan: PipelinePlan, version: Any, session: Session, files: AnswerFiles, progress: bool) -> None:
        self._plan, self._version, self._session = plan, version, session
        self._files, self._progress = files, progress

    def run(self, frame: pd.DataFrame, seen: Rehearsal) -> int:
        """Ask them one after another, and write each answer before the next is asked."""
        self._index(False)
        for place, question in enumerate(seen.questions, 1):
            if self._progress:
                print(f"{place}/{len(seen.questions)} {question.name}", file=sys.stderr, flush=True)
            try:
                self._ask(question.name, question.query, frame)
            except BudgetExceededError as error:
                return told(
                    f"the budget does not pay query {question.name!r}, which asks {error.asked}; left is "
                    f"{self._session.left}. {error.fits}. {self._rest(place - 1)}",
                    DRY,
                )
            self._index(False)
        self._index(True)
        many, removed = len(seen.questions), self._files.removed
        if removed:
            print(f"removed {removed} file{'s' * (removed != 1)} that a killed job had begun to write")
        print(f"{many} answer{'s' * (many != 1)}; spent {self._session.spent}; left {self._session.left}")
        return DONE

    def _ask(self, name: str, query: Query, frame: pd.DataFrame) -> None:
        try:
            stored = query.preview(frame).stored
            release = query(frame)
        except (ArgumentTypeError, ArgumentValueError, LedgerError, QueryFailedError) as error:
            raise type(error)(f"query {name!r}: {error}") from None
        self._files.add(name, release, stored)

    def _rest(self, answered: int) -> str:
        return "No answer was written" if not answered else f"The {answered} before it are written"

    def _index(self, complete: bool) -> None:
        session = self._session
        self._files.index(
            budget=session.name,
            table=self._plan.table,
            version=self._version,
            complete=complete,
            spent=str(session.spent),
            left=str(session.left),
        )
