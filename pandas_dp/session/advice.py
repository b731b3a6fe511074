"""What is said of budgets beside the answers: lines that go on with them, and what a user may have overlooked."""

from __future__ import annotations

import ast
import glob
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import pandas as pd

from pandas_dp.books.amounts import state_of
from pandas_dp.books.odometer import goes_on, to_rho, to_type
from pandas_dp.core.ledger import Ledger, open_ledger
from pandas_dp.errors import LedgerError
from pandas_dp.facts.written import Written
from pandas_dp.session.session import PART, Session
from pandas_dp.tables import readers

ANOTHER = (
    "{name!r} answers for another table already; this object counts as new content, so every question is charged again. Is it "
    "the same table? Read it with pandas_dp.read_parquet('visits.parquet'), or name it: {line}"
)
BESIDE = (
    "this budget is kept in memory and does not count what was spent in the ledger {file!r} in this folder. To "
    "continue a budget of that ledger instead, type"
)
PERSON = re.compile(
    r"(id|user|patient|person|customer|client|member|subject|employee|student|household|participant|respondent)s?"
    r"([_ ]?(id|no|nr|number|key))?",
    re.IGNORECASE,
)
FRESH = re.compile(r"(.+ another name), .*?df\.dp\.protect\(\.\.\., name=('[^']*')\)(.*)", re.DOTALL)
ROWS = (
    "this budget protects single rows, and column {column!r} looks like a person identifier: if one person can have "
    "several rows, type {line}"
)
LOST = (
    "this replaces the terms of another table, and questions about that table are no longer answered. If it is about other "
    "people, protect it again under another name: {line}"
)
USUAL = "data"  # the name of a budget that is given none
NAMES = ("other", "second", "third", "fourth", "fifth")
MOST_LINES = 3  # budgets of which a refusal shows the line
AGAIN = "if the content is the same, add the table= and version= that it had: then stored answers are free"


def person_column(frame: pd.DataFrame) -> str | None:
    """The first column whose name, which is public, says whose a row is."""
    return next((name for name in frame.columns if isinstance(name, str) and PERSON.fullmatch(name)), None)


def another(ledger: Ledger) -> str:
    """A name to type for a budget of its own."""
    return next((name for name in NAMES if ledger.budget(name) is None), "...")


def unasked(session: Session) -> bool:
    """Whether nothing was put on the record of a budget but its terms."""
    return all(entry.kind in ("open", "amend") for entry in session._ledger.entries(session.name))


def for_people(session: Session, column: str, here: bool, **said: str | None) -> str:
    """What is said of a budget for rows where a column may tell persons: the line for these, which may replace it `here`."""
    unit, ledger = replace(session.unit, column=column, rows=10, groups=10, rows_per_group=10), session._ledger
    open_yet = here and unasked(session)
    name = session.name if open_yet else another(ledger)
    terms = {"unit": repr(column), "max_rows": "10"} | ({} if open_yet else {"name": repr(name)})
    call = Written.here(ast.Call)
    # what stands behind two stars may be any of these terms
    typed = call and getattr(call.node.func, "attr", "") == "protect" and all(word.arg for word in call.node.keywords)
    own = call.with_arguments((), {}, terms) if call and typed else None
    line = own or to_type(
        session._rule.budget, unit, name, ledger.path, **{of: text for of, text in said.items() if text}
    )
    frame = call.frame if call and call.frame.isidentifier() else "df"
    closed = f"{frame}.dp.session.close(), since the unit of this budget cannot change any more, and then "
    return ROWS.format(column=column, line=f"{line}, before anything is asked" if open_yet else closed + line)


def ledgers_beside(frame: pd.DataFrame) -> list[tuple[str, str]]:
    """Folder and name of the first ledger files where Python runs, and where a frame was read from."""
    known = readers.frames.of(frame)
    folders = {os.path.realpath(at): at for at in (known.folder if known is not None else ".", ".")}
    return [(at, name) for at in reversed(folders.values()) for name in sorted(glob.glob("*.dpledger", root_dir=at))][
        :MOST_LINES
    ]


def on_record(folder: str, name: str, budget: str | None = None, first: bool = False) -> list[str]:
    """The lines that go on with the budgets of a ledger file, or with one of them; none where it cannot be read.

    Where it holds none, as after a ``protect`` that was refused, the line that opens the `first` one, if that is asked for.
    """
    path = os.path.join(folder, name)
    with suppress(LedgerError, OSError, ValueError):  # a name that no file has
        if os.path.getsize(path):  # of an empty file a ledger would be made
            ledger = open_ledger(path)
            if first and not ledger.heads():
                said = "# opens one: the ledger holds none yet"
                return [f"df.dp.protect(epsilon=3, ledger={os.path.normpath(path)!r})  {said}"]
            return going(ledger, [known for known in ledger.heads() if budget in (None, known)])
    return []


def first_continue(beside: Sequence[tuple[str, str]]) -> str:
    """What is said where ledger files lie beside a table that no session is open for, with the lines that go on."""
    names = f"ledger{'s' * (len(beside) > 1)} {', '.join(repr(name) for _, name in beside)}"
    whose = "its budget" if len(beside) == 1 else "the budget of this table"
    lines = [line for file in beside for line in on_record(*file, first=True)]
    again = f", and {AGAIN}" if any("  # continues" in line for line in lines) else ""
    return "\n".join([f"this folder holds the {names}, but no session is open: first continue {whose}{again}", *lines])


def with_total(said: Mapping[str, Any]) -> str:
    """The line that names a total, with what else was said: of a budget that the named ledger holds, the one on record."""
    given = {term: str(value) if isinstance(value, os.PathLike) else value for term, value in said.items()}
    terms = {term: value for term, value in given.items() if isinstance(value, str | int) and value != USUAL}
    file, name = terms.get("ledger"), terms.get("name")
    if isinstance(file, str) and not isinstance(name, int) and (known := on_record("", file, name)):
        return known[-1]
    return f"df.dp.protect({', '.join(['epsilon=3', *(f'{term}={value!r}' for term, value in terms.items())])})"


def going(ledger: Ledger, names: Iterable[str]) -> list[str]:
    """The lines that go on with budgets of a ledger, of many the latest."""
    whole = [name for name in names if PART not in name][-MOST_LINES:]
    found = [(name, ledger.budget(name)) for name in whole]
    return [goes_on(ledger, name, terms[1]) for name, terms in found if terms]


@contextmanager
def going_on(ledger: Ledger, asked: bool, rho: Any = None) -> Iterator[None]:
    """Show below a refusal that names budgets of a ledger the whole lines that go on with them.

    Where the frame has a session open, `asked`, a fresh budget is opened after that is closed. Where a `rho` was typed, the
    line that raises a total is that which makes it so much rho: an earlier order of divergences stays.
    """
    try:
        yield
    except LedgerError as error:
        if error._budgets:
            text = str(error)
            for name in error._budgets if rho is not None else ():
                line = to_rho(ledger.rule(name), state_of(ledger, name), rho)
                text = re.sub(r"df\.dp\.session\.extend\(to=[^,]*, reason='...'\)", line, text) if line else text
            text = text.replace("df.dp.protect(...", "df.dp.session.close(); df.dp.protect(...") if asked else text
            made = LedgerError("\n".join([f"{text}. To continue, type", *going(ledger, error._budgets)]))
            if found := FRESH.fullmatch(str(made)):  # shown as the call that was typed
                made._needs = found[1] + ", after df.dp.session.close()" * asked, (("name", found[2]),), found[3]
            raise made from None
        raise
