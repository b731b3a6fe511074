"""The database under a ledger: which file may be one, transactions, forks, and what an error of SQLite means.

A ledger file is either complete or absent: it is built under another name and appears under its own by one
atomic link. So an empty, truncated or foreign file is never taken for a ledger that is still to be written.
"""

from __future__ import annotations

import atexit
import os
import sqlite3
import stat
import threading
import time
import uuid
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from pandas_dp.core.disks import check_disk
from pandas_dp.core.records import APPLICATION_ID, DAMAGED, OLDEST_VERSION, SCHEMA, SCHEMA_VERSION, migrate, outdated
from pandas_dp.errors import ArgumentTypeError, ForkedSessionError, LedgerBusyError, LedgerError

BUSY_SECONDS = 30.0  # how long a call waits for another process's charge

# How a transaction begins. RELAXED ones survive a crash of the process, but perhaps not of the machine.
DURABLE = ("PRAGMA synchronous=FULL", "BEGIN IMMEDIATE")
RELAXED = ("PRAGMA synchronous=NORMAL", "BEGIN IMMEDIATE")
READ = ("BEGIN",)

T = TypeVar("T")
Identity = tuple[tuple[int, int], tuple[int, int]]

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
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._inside = False  # a transaction is under way
        self._identity: Identity | None = None
        self._connection: sqlite3.Connection | None = None
        if path is None:
            self._connection = _connect(None)
            self._connection.executescript(SCHEMA)
            weakref.finalize(self, self._connection.close)
            return
        with guard:
            if any(_same(path, other) for other in _opened):
                raise LedgerError("this process has the ledger open already: type open_ledger(path)")
            check_disk(path)
            if not os.path.lexists(path):
                _create(path)
            if self.transact(READ, outdated):
                self.transact(DURABLE, migrate)
            _opened[path] = self

    def transact(self, begin: tuple[str, ...], work: Callable[[sqlite3.Connection], T]) -> T:
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
                raise LedgerError("the ledger is in the middle of a charge of this very thread; ask again")
            try:
                self._inside = True
                connection = self._ready()
                for statement in begin if self.path is not None else begin[-1:]:
                    connection.execute(statement)
                if self.path is not None and self._look() != self._identity:
                    raise self.die("the ledger file was replaced while it was in use; nothing was charged")
                result = work(connection)
                connection.execute("COMMIT")
                return result
            except sqlite3.Error as error:
                raise self._failure(error) from error
            except UnicodeDecodeError as error:  # also of SQLite's own messages, which quote the file
                raise self.die(DAMAGED) from error
            finally:
                self._inside = False
                self._roll_back()

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
        """Connect to the file and remember which one it is."""
        _check(path)
        connection = _connect(path)
        try:
            if connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
                raise self.die(DAMAGED)
            connection.execute("SELECT count(*) FROM budgets").fetchone()  # opens the log, too
            before, self._identity = self._identity, self._look()
            if before is not None and before[0] != self._identity[0]:
                raise self.die("the ledger file was replaced while it was in use; nothing was charged")
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

    def _look(self) -> Identity:
        """What tells the file and its log from any other files of the same names."""
        try:
            file, log = os.stat(self.path or ""), os.stat(f"{self.path}-wal")
        except OSError:
            raise self.die("the ledger file was removed while it was in use; nothing was charged") from None
        return (file.st_dev, file.st_ino), (log.st_dev, log.st_ino)

    def _failure(self, error: sqlite3.Error) -> LedgerError:
        """Say what an error means, and decide whether the store may go on."""
        code = getattr(error, "sqlite_errorcode", None) or 0
        kind = code & 0xFF
        if kind in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return LedgerBusyError("another process holds the ledger's lock; nothing was charged. Ask again")
        if kind == sqlite3.SQLITE_FULL:
            return LedgerError("the disk is full: the charge could not be written, nothing was released")
        if kind in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return self.die(DAMAGED)
        if code in (sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_DIR_FSYNC):
            return self.die("the disk did not confirm a charge: open the ledger again once the disk is sound")
        if self.path is not None:
            self._disconnect()  # the next call starts from the file
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


def _is_name(text: str) -> bool:
    """Whether the file system can hold a name: half of a pair of surrogates is no character."""
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True


def canonical(path: str | os.PathLike[str]) -> str:
    """Return the one absolute name of a ledger file, or refuse a name that cannot be one. Touches nothing.

    Raises
    ------
    LedgerError
        No file name, ``":memory:"``, a URI, ``..`` in the path, a folder, or a folder that does not exist.
    ArgumentTypeError
        Not a path at all.
    """
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str):
        raise ArgumentTypeError("ledger= must be the name of a file: type ledger='visits.dpledger'")
    if (
        not text
        or "\0" in text
        or not _is_name(text)
        or text.startswith(":memory:")
        or text.lower().startswith("file:")
    ):
        raise LedgerError(
            "ledger= must be the name of a file: type ledger='visits.dpledger', or leave it out to use memory"
        )
    full = os.path.realpath(text)
    if ".." in Path(text).parts:
        raise LedgerError(f"ledger= must not climb up by '..': type the whole path, ledger={full!r}")
    if os.path.isdir(full):
        raise LedgerError("ledger= names a folder: type the name of a file in it, such as 'visits.dpledger'")
    if not os.path.isdir(os.path.dirname(full)):
        raise LedgerError("the folder of ledger= does not exist: make it first, or name another one")
    return full


def _same(one: str, other: str) -> bool:
    """Whether two names are one file, as where upper and lower case are the same or a folder is mounted twice."""
    with suppress(OSError):
        return one == other or os.path.samefile(one, other)
    return False


def _check(path: str) -> None:
    """Refuse a file that is not a ledger this version can write, before SQLite sees it. Writes nothing.

    Must not run while this process has the file open in SQLite: closing a second handle drops SQLite's locks.
    """
    try:
        info = os.stat(path)
        if not stat.S_ISREG(info.st_mode):
            raise LedgerError("ledger= is not an ordinary file")
        for _ in range(100):  # a ledger under construction has its two names for an instant
            if os.stat(path).st_nlink == 1:
                break
            time.sleep(0.01)
        else:  # each name would get a log of its own, and miss the charges in the other
            raise LedgerError("the ledger file has a second name (a hard link): remove one of the two")
        with open(path, "rb") as file:
            header = file.read(100)
    except OSError as error:
        raise LedgerError(f"the ledger cannot be read ({error.strerror})") from error
    if header[:16] != b"SQLite format 3\0" or int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise LedgerError("ledger= names a file that is not a ledger of pandas_dp; it was left untouched")
    version = int.from_bytes(header[60:64], "big")
    if version > SCHEMA_VERSION:
        raise LedgerError("the ledger was written by a newer pandas_dp: type pip install --upgrade pandas_dp")
    if 0 < version < OLDEST_VERSION:
        raise LedgerError("the ledger was written by an unreleased pandas_dp, which this one cannot go on with")
    if version < 1 or header[18:20] != b"\2\2":  # not in write-ahead mode: its log would be ignored
        raise LedgerError(DAMAGED)
    writable = os.access(path, os.R_OK | os.W_OK) and os.access(os.path.dirname(path), os.W_OK)
    if not writable or not info.st_mode & 0o222:
        raise LedgerError("the ledger file or its folder is read-only: nothing can be charged to it")


def _create(path: str) -> None:
    """Create an empty ledger that only its owner may read, unless somebody else just did."""
    temporary = f"{path}.{uuid.uuid4().hex}.new"
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        connection = _connect(temporary)
        try:
            if connection.execute("PRAGMA journal_mode=WAL").fetchone() != ("wal",):
                raise LedgerError("this file system cannot hold a ledger: choose a folder on a local disk")
            connection.executescript(SCHEMA)
        finally:
            connection.close()
        with suppress(FileExistsError):
            os.link(temporary, path)
        if os.name == "posix":  # the new name itself must survive a power cut
            folder = os.open(os.path.dirname(path), os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)
    except (OSError, sqlite3.Error) as error:
        raise LedgerError(f"the ledger cannot be created ({error})") from error
    finally:
        for suffix in ("", "-wal", "-shm"):
            with suppress(OSError):
                os.unlink(temporary + suffix)


def _connect(path: str | None) -> sqlite3.Connection:
    """Connect to an existing file, or to a new database in memory. Transactions are begun by hand."""
    name = ":memory:" if path is None else f"{Path(path).as_uri()}?mode=rw"
    connection = sqlite3.connect(
        name, uri=path is not None, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA fullfsync=ON")  # on a Mac a plain fsync does not reach the disk
        connection.execute("PRAGMA cell_size_check=ON")
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
