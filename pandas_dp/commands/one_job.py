"""One job at a time for each version and each directory of answers.

Two of one version would both pay, and publish two different answers; two in one directory would mix those of two versions.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Iterator
from typing import IO

from pandas_dp.errors import LedgerBusyError, LedgerError

try:
    import fcntl
except ImportError:  # on Windows
    import msvcrt

LENGTH = 1 << 16  # where the lock lies: far beyond the text, which others read meanwhile


@contextlib.contextmanager
def one_job(ledger: str, table: str, version: str) -> Iterator[None]:
    """Keep other jobs of this version out until the block ends, or the process does, in whatever way.

    Raises
    ------
    LedgerBusyError
        Another job runs. Its text says since when, and which process it is.
    LedgerError
        There can be no file beside the ledger.
    """
    ledger = os.path.realpath(ledger)
    name = hashlib.sha256(f"{table}\0{version}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(held(f"{ledger}-{name}.job", f"runs version {version!r} of {table!r}"))
        except OSError:
            raise LedgerError(f"no file can be written beside {ledger}: a job needs one as a lock") from None
        yield


@contextlib.contextmanager
def held(path: str, what: str) -> Iterator[None]:
    """Hold a lock until the block ends; `what` another job does that holds it.

    The lock is the operating system's, on a file that says who runs: there are no stale ones.

    Raises
    ------
    LedgerBusyError, OSError
    """
    try:
        file = _held(path)
    except BlockingIOError:
        raise LedgerBusyError(
            f"another job {what}{_who(path)}: when it has ended, the same command gets its answers for free"
        ) from None
    with file:
        file.truncate(0)
        file.write(f"since {time.strftime('%Y-%m-%d %H:%M:%S %z')}, process {os.getpid()}".encode())
        file.flush()
        try:
            yield
        finally:
            with contextlib.suppress(OSError):  # on Windows an open file stays
                os.unlink(path)


def _held(path: str) -> IO[bytes]:
    """The file, locked. One that its job removed meanwhile keeps nobody out, so another is made."""
    while True:
        # never through a link, which might lead to a file of somebody's
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666), "r+b")
        try:
            _lock(file)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
                    return file
        except OSError:
            file.close()
            raise
        file.close()


def _lock(file: IO[bytes]) -> None:
    """Lock a file that is open, or raise BlockingIOError."""
    if os.name != "nt":
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    file.seek(LENGTH)
    try:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]  # there alone
    except PermissionError:
        raise BlockingIOError from None


def _who(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return f", {text}" if (text := file.read(100)) else ""
    except (OSError, ValueError):
        return ""
