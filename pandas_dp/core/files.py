"""Which files may hold a ledger: by name, by form, and on a disk of this machine, where every process sees all locks.

A ledger is a SQLite file, which processes lock. Locks of network file systems are known to fail: two machines could each spend
the whole budget.
"""

from __future__ import annotations

import os
import re
import stat
import time
from contextlib import suppress
from pathlib import Path

from pandas_dp.core import records
from pandas_dp.errors import ArgumentTypeError, LedgerError

MOUNTS = "/proc/self/mountinfo"
# of networks, of clusters, and of folders that a virtual machine shares with its host, such as WSL's
SHARED = (
    "9p afs autofs beegfs ceph cifs drvfs fuse gfs2 gpfs lustre nfs nfs4 ocfs2 orangefs panfs prl_fs smb3 smbfs vboxsf "
    "virtiofs vmhgfs"
)
READ_ONLY = "the ledger file or its folder is read-only"
LEFT = "'{name}{suffix}' belongs to another ledger: move it back beside its file, or delete it if that file is gone for good"


def canonical(path: str | os.PathLike[str]) -> str:
    """Return the one absolute name of a ledger file, or refuse a name that cannot be one. Touches nothing.

    Raises
    ------
    LedgerError, ArgumentTypeError
        No file name, ``":memory:"``, a URI, ``..`` in the path, a folder, or one that does not exist; no path at all.
    """
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str):
        raise ArgumentTypeError("ledger= must be the name of a file: type ledger='visits.dpledger'")
    named = False
    with suppress(UnicodeEncodeError):  # half of a pair of surrogates is in no name
        named = bool(text) and b"\0" not in os.fsencode(text)
    if not named or text.startswith(":memory:") or text.lower().startswith("file:"):
        raise LedgerError(
            "ledger= must be the name of a file: type ledger='visits.dpledger', or leave it out to use memory"
        )
    full = os.path.realpath(text)
    if ".." in Path(text).parts:
        raise LedgerError(f"ledger= must not contain '..': type the whole path, ledger={full!r}")
    if os.path.isdir(full):
        raise LedgerError("ledger= names a folder: type the name of a file in it, such as 'visits.dpledger'")
    if not os.path.isdir(os.path.dirname(full)):
        raise LedgerError(f"the folder {os.path.dirname(full)!r} does not exist: make it first, or name another one")
    return full


def check_disk(path: str) -> None:
    """Refuse the canonical path of a ledger on a disk that other machines may share. Touches nothing.

    Known on Linux alone, from the table of mounts; other systems are not checked.

    Raises
    ------
    LedgerError
    """
    kind = file_system(path)
    # fuse-overlayfs: the root of containers without privileges, on a disk of this machine
    if kind.partition(".")[0] in SHARED.split() and kind != "fuse.fuse-overlayfs":
        raise LedgerError(
            f"ledger= lies on a disk that other machines may share ({kind}): locks are not reliable there, and two processes "
            "could spend the same budget. Name a file on a disk of this machine: type ledger='/var/lib/me/visits.dpledger'"
        )


def file_system(path: str) -> str:
    """Return the type of the file system that a canonical path lies on; an empty text where that is not known."""
    best, kind = "", ""
    with suppress(OSError, IndexError), open(MOUNTS, encoding="utf-8", errors="surrogateescape") as table:
        for line in table:
            place, _, source = line.partition(" - ")
            point = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), place.split()[4])
            # of two mounts on one folder the later one covers the other
            if len(point) >= len(best) and (path + "/").startswith(point.rstrip("/") + "/"):
                best, kind = point, source.split()[0]
    return kind


def left(path: str) -> bool:
    """Whether SQLite would take pages from a file beside a ledger. A journal that is not whole, or done, begins with zeros."""
    try:
        with open(path, "rb") as file:
            return file.read(1) not in (b"", b"" if path.endswith("-wal") else b"\0")
    except OSError:
        return os.path.lexists(path)


def check_file(path: str) -> bool:
    """Refuse a file that is not a ledger of this version or an older one, before SQLite sees it. Writes nothing.

    Returns whether it has the form of this version: no log of charges beside it.

    Must not run while this process has the file open in SQLite: closing a second handle drops SQLite's locks.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise LedgerError("ledger= is not an ordinary file")
        for _ in range(100):  # a ledger under construction has its two names for an instant
            if os.stat(path).st_nlink == 1:
                break
            time.sleep(0.01)
        else:  # each name would get a journal of its own, and a crash under one be missed under the other
            raise LedgerError("the ledger file has a second name (a hard link): remove one that has no '-journal'")
        with open(path, "rb") as file:
            header = file.read(100)
    except OSError as error:
        raise LedgerError(f"the ledger cannot be read ({error.strerror})") from error
    if header[:16] != b"SQLite format 3\0" or int.from_bytes(header[68:72], "big") != records.APPLICATION_ID:
        raise LedgerError("ledger= names a file that is not a ledger of pandas_dp; it was left untouched")
    version = int.from_bytes(header[60:64], "big")
    if version > records.PERIODS_VERSION:
        raise LedgerError("the ledger was written by a newer pandas_dp: type pip install --upgrade pandas_dp")
    if 0 < version < records.OLDEST_VERSION:
        raise LedgerError("the ledger was written by an unreleased pandas_dp, which this one cannot read")
    logged = header[18:20] == b"\2\2"  # the form of older versions, with a write-ahead log
    if version < 1:
        raise LedgerError(records.DAMAGED)
    if not logged and left(f"{path}-wal"):  # the log of another file: SQLite would put its pages into this one
        raise LedgerError(LEFT.format(name=os.path.basename(path), suffix="-wal"))
    return not logged and version >= records.SCHEMA_VERSION  # an older one without a log is in the middle of the change


def read_only(path: str) -> bool:
    """Whether a ledger file that is there can be read, and nothing can be charged to it."""
    writable = all(os.access(place, os.W_OK) for place in (path, os.path.dirname(path)))
    return not (writable and os.stat(path).st_mode & 0o222)
