"""What a ledger file is as it lies there: one that an older version wrote, or one with a charge that was cut short.

A journal beside a file holds old pages of it, and SQLite puts them back whenever it finds one. Where the file was charged
elsewhere meanwhile that would take paid charges back. So a file that is whole as it lies there keeps what it has, and old pages
are put back only into a file that is not, by the very transaction that was cut short.
"""

from __future__ import annotations

import os
import re
import shlex
import sqlite3
import time
from contextlib import closing, suppress
from io import FileIO
from pathlib import Path

from pandas_dp.core import database, files, records
from pandas_dp.errors import LedgerBusyError, LedgerError

RESTORE = "pandas-dp ledger restore visits.dpledger --spent-since epsilon=0.5"
CONVERTED = {
    True: "an older version kept a log of charges beside this file; its log was here and is in it now",
    False: "an older version kept a log of charges beside this file; none was here, and what one held is not known",
}
LOGLESS = (
    "there is no budget in this file: an older version kept its charges in a log beside it, and the log is not here. Put "
    "{log} back beside it. Where you know that there never was a budget, delete the file and protect anew"
)
UNKNOWN = (
    "an older version kept its charges in a log beside this file, and its log was not here when it was converted. If every "
    "program that used it ended by itself, there was none: type pandas-dp ledger restore visits.dpledger --spent-since "
    "epsilon=0. Otherwise type an upper bound for what the log held, or --all"
)
STALE = (
    "an older version kept its charges in a log beside this file, and the log that is here is from another time: nothing was "
    f"changed. Put back the log that was beside it then, or use a back-up, and type {RESTORE}"
)
TORN = (
    "a charge was cut short in this ledger file, and the journal beside it is from another time: nothing was changed. Put "
    f"back the journal that was beside it then, or use a back-up, and type {RESTORE}"
)
UNPREPARED = {
    True: f"{files.READ_ONLY}, and a charge was cut short in it: open it once where it may be written",
    False: f"{files.READ_ONLY}, and an older version wrote it: open it once where it may be written",
}
EXAMPLE = "restore visits.dpledger"  # as texts name a file that they do not know
LOCKS, LOCKED = 0x40000000, 512  # the bytes of a file that SQLite locks


def naming(text: str, path: str) -> str:
    """A text with the file itself in the line to type."""
    return text.replace(EXAMPLE, f"restore {shlex.quote(path)}")


def prepare(path: str) -> None:
    """Look at a ledger file before it is opened: convert one of an older version, and notice a charge that was cut short.

    Raises
    ------
    LedgerError
    """
    try:
        _prepare(path)
    except OSError as error:  # of the disk, of the system, or of a journal that is somebody else's
        raise LedgerError(
            f"the ledger could not be read or written ({error.strerror}); nothing was released"
        ) from error


def _prepare(path: str) -> None:
    _unname(path)
    new, journal = files.check_file(path), f"{path}-journal"
    if files.read_only(path):
        end = time.monotonic() + database.BUSY_SECONDS
        while files.left(journal) and time.monotonic() < end:  # of somebody who is charging, for some milliseconds
            time.sleep(database.NAP)
        if not new or files.left(journal):
            raise LedgerError(UNPREPARED[new])
        return
    if files.left(journal):
        _finish(path, journal)
    if not new or files.left(journal):
        _convert(path)


def _unname(path: str) -> None:
    """Take away the name under which a ledger was built, which a kill may leave it beside its own, see `database.create`.

    Nothing was ever charged to a file with two names, see `files.check_file`, so no journal is of the name that goes. Whoever
    builds it at this moment needs that no more.
    """
    folder, own = os.path.split(path)
    built = re.compile(f"{re.escape(own)}\\.[0-9a-f]{{32}}\\.new")
    with suppress(OSError):
        for name in os.listdir(folder) if os.stat(path).st_nlink > 1 else ():
            if built.fullmatch(name) and os.path.samefile(path, os.path.join(folder, name)):
                os.unlink(os.path.join(folder, name))


def _convert(path: str) -> None:
    """Take everything into the file that an older version left in a log beside it, and write no log any more.

    Under an exclusive lock, which waits until nobody else has the file open. Entries say so, once: where this dies halfway the
    next one begins anew, and nothing is lost.
    """
    log = files.left(f"{path}-wal")
    try:
        if log:
            _check_log(path)
        _take_in(path, log)
    except (sqlite3.Error, UnicodeDecodeError) as error:  # somebody else has the file, or it is damaged
        kind = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if kind in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise LedgerBusyError("another process has the ledger open; nothing was charged. Ask again") from error
        if kind in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL):  # of the disk, and the file may be sound
            raise LedgerError(f"the ledger could not be read or written ({error}); nothing was released") from error
        raise LedgerError(records.DAMAGED) from error


def _take_in(path: str, log: bool) -> None:
    """The change itself.

    Without a log the file first becomes one that keeps none, in a transaction of its own. Else this change would write a log,
    and where it dies halfway the next one could not tell that from a log of the older version.
    """
    with closing(database.connect(path)) as connection:
        connection.execute("PRAGMA locking_mode=EXCLUSIVE")
        connection.execute("BEGIN IMMEDIATE")  # takes back a charge that was cut short, too
        if not log and connection.execute("PRAGMA journal_mode").fetchone() == ("wal",):
            if not records.rows(connection):
                raise LedgerError(LOGLESS.format(log=f"{os.path.basename(path)}-wal"))
            for line in ("COMMIT", "PRAGMA journal_mode=DELETE", "BEGIN IMMEDIATE"):  # nothing is written into a log
                connection.execute(line)
        migrate(connection, log, path)
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode=DELETE")


def _check_log(path: str) -> None:
    """Refuse a log of another moment before anything is changed: whoever closes a file puts the log beside it into it.

    A log has all that its file has, and more. With fewer entries, or with such as do not follow each other, it is another one.

    Raises
    ------
    LedgerError
    """
    alone, opened = _held(path), f"{Path(path).as_uri()}?mode=ro"
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
        with closing(sqlite3.connect(opened, timeout=database.BUSY_SECONDS, uri=True)) as connection:
            connection.backup(copy)
        with suppress(sqlite3.Error, UnicodeDecodeError, LedgerError):
            found = {row.name: row.last for row in records.rows(copy)}
            migrate(copy, True, path)
            if all(found.get(name, 0) >= last for name, last in alone) and _whole(copy, pages=True):
                return
    raise LedgerError(naming(STALE, path))


def _held(path: str) -> list[tuple[str, int]]:
    """How many entries each budget has in a file as it lies there, without what a log adds."""
    with suppress(sqlite3.Error, UnicodeDecodeError), closing(_as_it_lies(path)) as connection:
        held: list[tuple[str, int]] = connection.execute("SELECT name, last FROM budgets").fetchall()
        return held
    return []


def budgets_in(path: str) -> list[str]:
    """Names of the budgets of a ledger file as it lies there; none where it is no ledger. Locks and changes nothing.

    Must not run while this process has the file open: closing a second handle drops SQLite's locks.
    """
    with suppress(sqlite3.Error, UnicodeDecodeError), closing(_as_it_lies(path)) as connection:
        if connection.execute("PRAGMA application_id").fetchone() == (records.APPLICATION_ID,):
            return [name for (name,) in connection.execute("SELECT name FROM budgets ORDER BY id")]
    return []


def _as_it_lies(path: str) -> sqlite3.Connection:
    return sqlite3.connect(f"{Path(path).as_uri()}?mode=ro&immutable=1", uri=True)


def migrate(connection: sqlite3.Connection, log: bool, path: str) -> None:
    """Bring a file of an older version to this one, within the transaction around it: all of it or nothing.

    Its identifier follows from its place and its first entry, so that an older copy of it, put back there, is noticed. One at
    another place is not: two ledgers that were made in the same second have equal first entries.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version >= records.SCHEMA_VERSION:  # converted before, or by somebody who was faster
        return
    if version < 3:
        connection.execute(records.ANSWERS)
    connection.execute(records.META)
    first = connection.execute("SELECT head FROM entries WHERE sequence = 1 ORDER BY budget LIMIT 1").fetchone()
    named = records.fingerprint(repr((path, first)).encode("utf-8", "surrogateescape")).hex()[:32]
    records.mark(connection, "" if log else UNKNOWN, named)
    connection.create_function("plain", 1, lambda text: records.fingerprint(text) if type(text) is bytes else None)
    connection.create_function("placed", 4, records.digest)
    for table in records.STORED:  # one that is damaged stays so
        new, old = f"placed('{table}', budget, sequence, result)", "plain(result)"
        connection.execute(f"UPDATE {table} SET digest = {new} WHERE digest = {old}")  # noqa: S608 - two words
    connection.execute(f"PRAGMA user_version = {records.SCHEMA_VERSION}")
    for row in records.rows(connection):
        records.append(connection, row, "converted", CONVERTED[log], "")


def _finish(path: str, journal: str) -> None:
    """Empty the journal of a charge that was cut short where the file is whole without it; else SQLite puts its pages back.

    A whole file has every entry up to its last one: it is as before the charge, or as after it, or was charged elsewhere since,
    for all that a charge writes is chained, see `core.records`. Beside the journal of another moment only its charges must be
    whole. Nobody charges meanwhile: the bytes are locked that SQLite locks. Systems without POSIX's locks leave all to SQLite.

    Raises
    ------
    LedgerError
        The charges are not whole, and the journal is not of the transaction that the file is in the middle of.
    """
    if not hasattr(os, "lockf"):
        return
    end = time.monotonic() + database.BUSY_SECONDS
    # all locks of this process go when anything closes the file: the connection is closed last
    with closing(_as_it_lies(path)) as connection, open(path, "r+b", buffering=0) as file:
        while not _locked(file):
            if not files.left(journal):  # of somebody who is charging
                return
            if time.monotonic() > end:
                raise LedgerBusyError("another process holds the ledger's lock; nothing was charged. Ask again")
            time.sleep(database.NAP)
        if not files.left(journal):
            return
        whole = _whole(connection, pages=True)
        if not whole and _belongs(file, journal):
            return
        if not whole and not _whole(connection, pages=False):
            raise LedgerError(naming(TORN, path))
        os.fsync(file.fileno())
        with open(journal, "r+b") as beside:
            beside.truncate()
            os.fsync(beside.fileno())
    if not whole:  # where things are found is written anew, if it can be
        with suppress(sqlite3.Error), closing(database.connect(path)) as connection:
            connection.execute("REINDEX")


def _locked(file: FileIO) -> bool:
    """Take all of SQLite's locks on a file, unless somebody has one."""
    file.seek(LOCKS)
    with suppress(OSError):
        os.lockf(file.fileno(), os.F_TLOCK, LOCKED)
        return True
    return False


def _whole(connection: sqlite3.Connection, pages: bool) -> bool:
    with suppress(sqlite3.Error, UnicodeDecodeError, LedgerError):
        records.identify(connection)
        records.verify(connection, pages)
        return True
    return False


def _belongs(file: FileIO, journal: str) -> bool:
    """Whether a journal is of the transaction that a file is in the middle of.

    Each transaction raises a counter in the first page, which it writes first, and whose old form is in its journal.
    """
    held = Path(journal).read_bytes()
    start, size = (int.from_bytes(held[i : i + 4], "big") for i in (20, 24))
    for at in range(start, len(held), size + 8):  # its number, a page, a sum
        if held[at : at + 4] == b"\0\0\0\1":
            file.seek(24)
            gone = int.from_bytes(file.read(4), "big") - int.from_bytes(held[at + 28 : at + 32], "big")
            return gone % 2**32 in (0, 1)
    return False
