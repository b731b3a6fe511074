"""The database under a ledger: which file may be one, transactions, forks, and what an error of SQLite means.

A ledger file is either complete or absent: it is built under another name and appears under its own by one
atomic link. So an empty, truncated or foreign file is never taken for a ledger that is still to be written.

For all charges: when one was committed, the one file that the owner named holds it, whatever dies afterwards and wherever
that file is moved alone. SQLite keeps the *old* pages in a journal during a commit, which is done when that journal goes. By
then the file was synced, and the folder is synced after, so that no power cut brings the journal back. Where folders cannot be
synced the journal is emptied and synced. A log of new pages would be quicker, beside a file that is a valid older state.
"""

from __future__ import annotations

import atexit
import os
import sqlite3
import threading
import time
import uuid
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from pandas_dp.core import records
from pandas_dp.core.files import LEFT, READ_ONLY, check_disk, check_file, left, read_only
from pandas_dp.errors import ForkedSessionError, LedgerBusyError, LedgerError

BUSY_SECONDS, NAP = 30.0, 0.002  # how long a call waits for another process's charge, and between two looks
UNLOCKED = (
    "another program used the ledger in the middle of a charge, so locks were lost, and a charge may be missing from the file. "
    "A program must not copy or open the file of a ledger that it has open: type pandas-dp ledger backup"
)
PIECE = 25_000  # pages, about 100 MB: what is copied without letting others write
# How a transaction begins: one that writes waits for the lock first; a copy is made of several short ones.
DURABLE, READ, COPY = "BEGIN IMMEDIATE", "BEGIN", ""

T = TypeVar("T")
# get the path of a file whenever it is opened: see `pandas_dp.session.ledger_files`
watches: list[Callable[[str], None]] = []
guard = threading.RLock()  # over the two dictionaries of what is open: the one below and the ledgers'
_opened: dict[str, Store] = {}


class Store:
    """One SQLite database, in memory or in a file, and the only connection of this process to it.

    Parameters
    ----------
    path : str or None
        A canonical path, see `canonical`; the file is created if there is none. None: in memory.

    Raises
    ------
    LedgerError
        The file is not a ledger, cannot be written, or lies on a shared disk. It is left as it was.
    """

    def __init__(self, path: str | None) -> None:
        self.path = path
        self.dead: str | None = None  # why nothing may be read or written any more
        self.refusal = ""  # why nothing may be charged, though all may be read
        self.identifier = ""  # random, of the file: copies have the same
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._inside = False  # a transaction is under way
        self._identity: tuple[int, int] | None = None
        self._connection: sqlite3.Connection | None = None
        if path is None:
            self._connection = connect(None)
            self._connection.executescript(records.SCHEMA)
            weakref.finalize(self, self._connection.close)
            return
        with guard:
            if name := open_as(path):
                raise LedgerError(f"this process has the ledger open already: type ledger={name!r}")
            check_disk(path)
            if not os.path.lexists(path):
                create(path, records.begin)
            self.transact(READ, lambda connection: None)
            _opened[path] = self

    def transact(self, begin: str, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` as one transaction and return its result once that is committed.

        For all inputs: when anything is raised, the transaction was rolled back or was never seen to commit,
        and the lock is free. It is one frame, not a context manager, so that Ctrl-C finds no gap in between.
        """
        if self._pid != os.getpid():
            self._enter_fork()
        with self._lock:
            if self.dead is not None:
                raise LedgerError(self.dead)
            if self._inside:  # a signal handler or a finalizer that charges while its own thread is charging
                raise LedgerError("this thread is in the middle of another charge; ask again")
            try:
                self._inside = True
                connection = self._ready()
                if begin == DURABLE and self.refusal:
                    raise LedgerError(self.refusal)
                if begin == DURABLE and self.path is not None:
                    _wait(connection)
                else:
                    connection.execute(begin)
                if self.path is not None and self._look() != self._identity:
                    raise self.die("the ledger file was replaced while it was in use; nothing was charged")
                result = work(connection)
                if begin:
                    connection.execute("COMMIT")
                return result
            except sqlite3.Error as error:
                raise self._failure(error) from error
            except UnicodeDecodeError as error:  # also of SQLite's own messages, which quote the file
                raise self.die(records.DAMAGED) from error
            finally:
                self._inside = False
                self._roll_back()

    def copy(self, target: sqlite3.Connection) -> None:
        """Copy everything, in pieces between which others may charge; it begins anew where they did.

        Raises
        ------
        LedgerBusyError
            They did so all the time.
        """
        end = time.monotonic() + BUSY_SECONDS

        def watch(status: int, remaining: int, total: int) -> None:
            if time.monotonic() > end:
                raise LedgerBusyError("other processes kept charging the ledger; ask again")

        self.transact(COPY, lambda source: source.backup(target, pages=PIECE, progress=watch, sleep=0.01))

    def die(self, why: str) -> LedgerError:
        """Refuse everything from now on; return the error to raise."""
        self.dead = why
        self._disconnect()
        return LedgerError(why)

    def revive(self) -> None:
        """Start afresh from the file, with all checks, after an error that made this store refuse."""
        with self._lock:
            self.dead = self._identity = None
        self.transact(READ, lambda connection: None)

    def close(self) -> None:
        """Close for good."""
        with guard, self._lock:
            if self.path is not None and _opened.get(self.path) is self:
                del _opened[self.path]
            self.die("the ledger was closed")

    def _ready(self) -> sqlite3.Connection:
        """Return the connection, with no transaction on it; connect if there is none."""
        self._roll_back()
        if self._connection is None:
            self._connection = self._reach(self.path or "")
        return self._connection

    def _reach(self, path: str) -> sqlite3.Connection:
        """Connect to the file."""
        for watch in watches:
            watch(path)
        if not check_file(path):
            raise LedgerError(records.DAMAGED)
        connection = connect(path)
        try:
            if _settle(connection, path) or not records.is_own(connection):
                raise self.die(records.DAMAGED)
            self.identifier, doubt = records.identify(connection)
            self.refusal = doubt or self.refusal
            self._identity = self._identity or self._look()  # of the first time: `transact` compares
        except BaseException:
            connection.close()
            raise
        return connection

    def _enter_fork(self) -> None:
        """Go on in a forked child with a connection of its own, or not at all."""
        if self._connection is not None:
            raise ForkedSessionError(
                "this ledger belongs to the process that opened it, and this is a fork of that process. "
                "Processes share a budget through a ledger file: type protect(..., ledger='visits.dpledger')"
            )
        self._pid = os.getpid()

    def _look(self) -> tuple[int, int]:
        """What tells the file from any other of the same name."""
        try:
            file = os.stat(self.path or "")
        except OSError:
            raise self.die("the ledger file was removed while it was in use; nothing was charged") from None
        return file.st_dev, file.st_ino

    def _failure(self, error: sqlite3.Error) -> LedgerError:
        """Say what an error means, and decide whether the store may go on."""
        code = getattr(error, "sqlite_errorcode", None) or 0
        kind = code & 0xFF
        if kind in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return LedgerBusyError("another process holds the ledger's lock; nothing was charged. Ask again")
        if kind == sqlite3.SQLITE_FULL:
            return LedgerError("the disk is full: the charge could not be written, nothing was released")
        if kind in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return self.die(records.DAMAGED)
        if code in (sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_DIR_FSYNC):
            return self.die("the disk did not confirm a charge: open the ledger again once the disk is sound")
        if code == sqlite3.SQLITE_IOERR_DELETE_NOENT:  # another process has put the journal back
            return self.die(UNLOCKED)
        if self.path is not None:
            self._disconnect()  # the next call starts from the file
        if kind == sqlite3.SQLITE_READONLY:
            return LedgerError(f"{READ_ONLY}: nothing can be charged to it")
        return LedgerError(f"the ledger could not be read or written ({error}); nothing was released")

    def _roll_back(self) -> None:
        if self._connection is not None and self._connection.in_transaction:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and self._pid == os.getpid():  # closing another process's would drop its locks
            with suppress(sqlite3.Error):
                connection.close()


def open_as(path: str) -> str:
    """The name under which this process has a ledger file open, if any: opening it once more, and closing, drops its locks."""
    with guard:
        return next((other for other in _opened if _same(path, other)), "")


def _same(one: str, other: str) -> bool:
    """Whether two names are one file, as where upper and lower case are the same or a folder is mounted twice."""
    with suppress(OSError):
        return one == other or os.path.samefile(one, other)
    return False


def create(path: str, write: Callable[[sqlite3.Connection], None]) -> bool:
    """Create a file that only its owner may read, complete from the first moment; False if somebody else just did."""
    for suffix in ("-journal", "-wal"):
        if left(path + suffix) and not os.path.lexists(path):  # in this order: somebody may have created it, and charge
            raise LedgerError(LEFT.format(name=os.path.basename(path), suffix=suffix))
    temporary = f"{path}.{uuid.uuid4().hex}.new"
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        connection = connect(temporary)
        try:
            _settle(connection, path)
            write(connection)
        finally:
            connection.close()
        try:
            os.link(temporary, path)
        except FileExistsError:
            return False
        if os.name == "posix":  # the new name itself must survive a power cut
            folder = os.open(os.path.dirname(path), os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)
        return True
    except (OSError, sqlite3.Error) as error:
        raise LedgerError(f"the ledger cannot be created ({error})") from error
    finally:
        for suffix in ("", "-journal"):
            with suppress(OSError):
                os.unlink(temporary + suffix)


def _settle(connection: sqlite3.Connection, path: str) -> bool:
    """Make every commit durable in the one file; return whether it has the older form, which is left as it is."""
    if connection.execute("PRAGMA journal_mode").fetchone() == ("wal",):
        return True
    built = {name for (name,) in connection.execute("PRAGMA compile_options")}
    folders = os.name == "posix" and os.access(os.path.dirname(path), os.R_OK) and "DISABLE_DIRSYNC" not in built
    connection.execute(f"PRAGMA journal_mode={'DELETE' if folders else 'TRUNCATE'}")
    connection.execute(f"PRAGMA synchronous={'EXTRA' if folders else 'FULL'}")
    return False


def _wait(connection: sqlite3.Connection) -> None:
    """Begin to write, with short naps: SQLite's own, of a tenth of a second, can miss all free moments of a busy file."""
    end = time.monotonic() + BUSY_SECONDS
    connection.execute("PRAGMA busy_timeout=0")
    while True:
        try:
            connection.execute(DURABLE)
            break
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
        time.sleep(NAP)
    connection.execute(f"PRAGMA busy_timeout={round(1000 * BUSY_SECONDS)}")


def connect(path: str | None) -> sqlite3.Connection:
    """Connect to an existing file, or to a new database in memory. Transactions are begun by hand."""
    name = ":memory:" if path is None else f"{Path(path).as_uri()}?mode={'ro' if read_only(path) else 'rw'}"
    connection = sqlite3.connect(
        name, uri=path is not None, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        # on a Mac a plain fsync does not reach the disk; without spills the first page is written first and in every journal
        for pragma in ("synchronous=FULL", "fullfsync=ON", "cell_size_check=ON", "cache_spill=OFF"):
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection


def _before_fork() -> None:
    """Wait for charges under way, then close every file: SQLite must not cross a fork, not even idle."""
    guard.acquire()
    for store in _opened.values():
        store._lock.acquire()
        store._disconnect()


def _after_fork() -> None:
    """On both sides: free the locks, all held by the forking thread. Each side connects at its next call."""
    for store in _opened.values():
        store._lock.release()
    guard.release()


def _close_all() -> None:
    for store in list(_opened.values()):
        store.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
atexit.register(_close_all)
