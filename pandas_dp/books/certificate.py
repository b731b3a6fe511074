"""The certificate of a ledger's budgets: one page for whoever answers for the data."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pandas_dp.books.certificate_html import document
from pandas_dp.books.entries import Answered, read
from pandas_dp.core.ledger import Ledger
from pandas_dp.errors import ArgumentTypeError
from pandas_dp.release.csv import replace_file

if TYPE_CHECKING:
    from pandas_dp.tables.protected import Table


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
    DataFileError
        It cannot be written; a file that was there is as it was.
    """
    if path is None:
        return text
    name = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(name, str) or not name:
        raise ArgumentTypeError("path must be the name of a file: session.report('report.html')")
    replace_file(name, text.encode())
    return None
