"""Which disks may hold a ledger: those of this machine, where every process sees the locks of every other.

A ledger is a SQLite file, which processes lock. Locks of network file systems are known to fail: two machines could each spend
the whole budget.
"""

from __future__ import annotations

import re
from contextlib import suppress

from pandas_dp.errors import LedgerError

MOUNTS = "/proc/self/mountinfo"
# of networks, of clusters, and of folders that a virtual machine shares with its host, such as WSL's
SHARED = (
    "9p afs autofs beegfs ceph cifs drvfs fuse gfs2 gpfs lustre nfs nfs4 ocfs2 orangefs panfs prl_fs smb3 smbfs vboxsf "
    "virtiofs vmhgfs"
)


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
