"""What a session or a ledger file is reported as: a page for people, a statement for programs, a draft for the registry."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pandas_dp.books import certificate, deployments, statement
from pandas_dp.books import certificate_contents as contents
from pandas_dp.books.views import Answered
from pandas_dp.core.ledger import Ledger
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.release.csv import replace_file

if TYPE_CHECKING:
    from pandas_dp.tables.protected import Table

FORMS = {".html": "html", ".htm": "html", ".json": "json", ".yaml": "yaml", ".yml": "yaml"}


def report(
    ledger: Ledger,
    name: str | None,
    path: str | os.PathLike[str] | None,
    about: Any = None,
    values: bool = False,
    answered: Answered | None = None,
    held: Mapping[str, Table] | None = None,
) -> str | None:
    """Write the certificate, the statement or an entry of the registry, whole or not at all.

    Parameters
    ----------
    ledger : Ledger
    name : str or None
        A budget and its parts; None: every budget.
    path : str, path or None
        Its end decides what is written. None: the certificate is returned.
    about : mapping, str or path, optional
        The owner's word, see `deployments.checked`.
    values : bool
        Whether a statement holds the released answers.
    answered : Answered, optional
        The releases of a live session.
    held : mapping of Table, optional
        The tables of the live session, under "lineage:name".

    Returns
    -------
    str or None

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        Not the name of an ordinary file of these kinds, or `about` says what it cannot.
    LedgerError, LedgerBusyError
        The ledger is damaged, has no such budget, or other processes charged it all the time.
    DataFileError
        It cannot be written; a file that was there is as it was.
    """
    form, said = _form(path), deployments.checked(about)
    if not isinstance(values, bool):
        raise ArgumentTypeError("values must be True or False: session.report('statement.json', values=True)")
    if form == "html" and (about is not None or values):
        raise ArgumentValueError(f"about and values belong to a statement: {deployments.LINE}")
    if form == "yaml" and values:
        raise ArgumentValueError(
            "values belong to a statement, session.report('statement.json', values=True): an entry has none"
        )
    made = contents.read(ledger, name, answered, held)
    if form == "html":
        text: str = certificate.page(made)
    else:
        text = statement.statement(made, said, values) if form == "json" else deployments.entry(made, said)
    if path is None:
        return text
    replace_file(os.fspath(path), text.encode())
    return None


def _form(path: Any) -> str:
    """What the end of a path asks for."""
    if path is None:
        return "html"
    name = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(name, str) or not name:
        raise ArgumentTypeError("path must be the name of a file: session.report('report.html')")
    stem, suffix = os.path.splitext(name)
    form = FORMS.get(suffix.lower(), "html" if os.path.isdir(name) else None)
    if form is None:
        line = f"session.report({os.path.basename(stem) + '.html'!r})"
        raise ArgumentValueError(
            "path must end with .json for a statement that programs read, with .yaml for the registry of deployments, or with "
            f".html, which a browser opens, prints and saves as PDF: {line}"
        )
    return form
