"""A second budget by accident: a name or a ledger file that is mistyped or forgotten would open a fresh total."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress

import pandas as pd

from pandas_dp.core import ledger as books
from pandas_dp.core.files import canonical
from pandas_dp.core.ledger import Ledger
from pandas_dp.errors import ArgumentValueError, LedgerError
from pandas_dp.facts.names import check_name, is_slip
from pandas_dp.session import advice, ledger_forms
from pandas_dp.session.registry import files_in_use, is_open, listed
from pandas_dp.session.session import PART

SUFFIX = ".dpledger"
MOST_FILES = 100  # whose budgets are looked at, where nothing else says that a file is meant
REASON = "df.dp.protect(..., {argument}={name!r}, reason='...')"
TWICE = (
    "the ledger {old!r} beside {new!r} has a budget named {name!r}, too; for people who are in both, the two add up. To "
    "continue that one instead, type df.dp.session.close(), and then"
)


def check_new(path: str | None, name: str, reason: str | None, known: Sequence[str]) -> None:
    """Refuse a new budget whose name looks like another one, and in a file also one with a similar name, or with none.

    Whoever mistypes or forgets the name after a restart would have a second budget about the same people, and never know. A
    `reason` says that another one is meant where its name is only similar.

    Raises
    ------
    ArgumentValueError, LedgerError
    """
    check_name(name, known)
    if path is None:
        return
    whole = [other for other in known if PART not in other]
    where, how = f"the ledger {os.path.basename(path)!r}", "type another name="
    if name != advice.USUAL:
        whole = similar(name, whole) if reason is None else []
        how = f"say why, on record: {REASON.format(argument='name', name=name)}"
    if whole:
        error = LedgerError(
            f"{where} has no budget named {name!r}; it has {listed(whole)}. For a new one, which adds to what they spend, {how}"
        )
        error._budgets = tuple(whole)
        raise error


def similar(name: str, known: Sequence[str]) -> list[str]:
    """Names of whole budgets of which another name is likely a slip."""
    return [other for other in known if PART not in other and is_slip(name, other)]


def check_new_file(ledger: str | os.PathLike[str] | None, name: str) -> None:
    """Refuse to make a ledger file where one of a similar name lies beside it, or was in use before Python went to this folder.

    Raises
    ------
    ArgumentValueError
        With the lines that go on with that file, or make a new one.
    """
    if not isinstance(ledger, str | os.PathLike):  # none, or what is refused as a ledger
        return
    own, line = os.fspath(ledger), REASON.format(argument="ledger", name=os.fspath(ledger))
    if (file := similar_file(ledger, name)) is not None:
        folder, there = os.path.dirname(canonical(own)), f"but there is {file!r}"
    elif (path := in_use_elsewhere(ledger, name)) is not None:
        folder, file = os.path.split(path)
        there = f"since Python runs in {os.getcwd()!r} now, but this program uses {path!r}"
    else:
        return
    lines = advice.on_record(folder, file, None if name == advice.USUAL else name)
    there = f"there is no ledger {os.path.basename(own)!r}, {there}. For a new one, with a full budget, say why"
    raise ArgumentValueError("\n".join([f"{there}, on record: {line}. To continue, type", *lines]))


def in_use_elsewhere(ledger: str | os.PathLike[str], name: str) -> str | None:
    """The file of an open budget to which the same words led in another working directory, where they lead to none now."""
    words = os.path.normpath(os.fspath(ledger))
    if os.path.isabs(words) or os.path.lexists(canonical(ledger)):
        return None
    used = (path for path, known in files_in_use() if path.endswith(os.sep + words) and name in (known, advice.USUAL))
    return next(used, None)


def similar_file(ledger: str | os.PathLike[str], name: str) -> str | None:
    """A ledger file in the folder of one that is not there, whose name is likely meant, and that may have this budget.

    A budget of another name that was typed would be new in that file as well.
    """
    path = canonical(ledger)
    own = _stem(os.path.basename(path))
    beside = () if os.path.lexists(path) else (file for file in _beside(path) if is_slip(own, _stem(file)))
    found = ((file, _budgets(os.path.join(os.path.dirname(path), file))) for file in beside)
    return next((file for file, held in found if held and (name == advice.USUAL or name in held)), None)


def also_in(ledger: str | os.PathLike[str], name: str) -> str | None:
    """A ledger file beside this one that has a budget of the same name, where that was typed."""
    path = canonical(ledger)
    files = [file for file in _beside(path) if file.endswith(SUFFIX)] if name != advice.USUAL else []
    at = os.path.dirname(path)
    others = (file for file in files[:MOST_FILES] if not _same(os.path.join(at, file), path))
    return next((file for file in others if name in _budgets(os.path.join(at, file))), None)


def beside(frame: pd.DataFrame, ledger: Ledger, name: str, reason: str | None) -> Iterator[str]:
    """What is said of a budget that was just opened: of ledger files beside it, which it does not count."""
    if ledger.path is None:
        for folder, file in advice.ledgers_beside(frame):
            held = [] if is_open(os.path.join(folder, file)) else advice.on_record(folder, file)
            if held:
                yield "\n".join([advice.BESIDE.format(file=file), *held])
    elif reason is None and (other := also_in(ledger.path, name)) is not None:
        folder, own = os.path.split(ledger.path)
        yield "\n".join([TWICE.format(name=name, new=own, old=other), *advice.on_record(folder, other, name)])


def _beside(path: str) -> list[str]:
    with suppress(OSError):
        folder, own = os.path.split(path)
        return sorted(file for file in os.listdir(folder) if file != own)
    return []


def _same(path: str, other: str) -> bool:
    """Whether a name is a link to another file, or a second name of it."""
    with suppress(OSError):
        return os.path.samefile(path, other)
    return False


def _stem(file: str) -> str:
    """The name of a file without what stands behind it, as in ``visits.dpledger.old``."""
    return file.partition(SUFFIX)[0] if SUFFIX in file else os.path.splitext(file)[0]


def _budgets(path: str) -> list[str]:
    """Names of the budgets of a ledger file; none where it is none, or cannot be read."""
    known = books._ledgers.get(os.path.realpath(path))
    if known is not None:
        with suppress(LedgerError):
            return list(known.heads())
    return ledger_forms.budgets_in(path) if known is None and os.path.isfile(path) else []
