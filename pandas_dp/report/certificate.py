"""The certificate of a ledger's budgets: one page for whoever answers for the data."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from pandas_dp.core.ledger import Ledger
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.report.accounts import read
from pandas_dp.report.books import Answered
from pandas_dp.report.certificate_page import document

if TYPE_CHECKING:
    from pandas_dp.tables import Table

LEDGER = b"SQLite format 3\0"  # as every ledger starts


class Page(str):
    """A page of HTML that a prompt shows as one line: thousands of characters of it tell nobody anything."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Say what it is and how to read it."""
        return f"<certificate, {len(self):,} characters of HTML; session.report('report.html') writes it, print() shows it>"


def certificate(
    ledger: Ledger, name: str | None, answered: Answered | None = None, held: Mapping[str, Table] | None = None
) -> Page:
    """Return the page about a budget and its parts, or about all budgets of a ledger.

    Parameters
    ----------
    ledger : Ledger
    name : str or None
        None: every budget.
    answered : Answered, optional
        The releases whose values are shown.
    held : mapping of Table, optional
        The tables of the live session, under "lineage:name".

    Returns
    -------
    Page
        A text, a whole document of HTML. Every text of others in it is escaped.

    Raises
    ------
    LedgerError
        The ledger is damaged, or has no such budget.
    LedgerBusyError
        Other processes charged it all the time.
    """
    return Page(document(read(ledger, name, answered, held)))


def write(text: str, path: str | os.PathLike[str] | None) -> str | None:
    """Write a page to a file, whole or not at all; without a path return it.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        Not the name of an ordinary file.
    OSError
        It cannot be written; a file that was there is as it was.
    """
    if path is None:
        return text
    name = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(name, str) or not name:
        raise ArgumentTypeError("path must be the name of a file: session.report('report.html')")
    try:
        full = os.path.realpath(name)
    except ValueError:  # a character that no name can have
        raise ArgumentValueError("path must be the name of a file: session.report('report.html')") from None
    if os.path.exists(full) and not os.path.isfile(full):
        raise ArgumentValueError(
            "path must be the name of a file, not of a folder or device: session.report('report.html')"
        )
    if _is_ledger(full):
        raise ArgumentValueError("path names a ledger, which would be lost: session.report('report.html')")
    temporary = f"{full}.{uuid.uuid4().hex}.new"
    try:
        with open(temporary, "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.replace(temporary, full)
    finally:
        with suppress(OSError):
            os.unlink(temporary)
    return None


def _is_ledger(path: str) -> bool:
    """Whether a file is a ledger: written over, its budgets could be spent once more."""
    if not os.path.exists(path):
        return False
    with open(path, "rb") as file:
        return file.read(len(LEDGER)) == LEDGER
